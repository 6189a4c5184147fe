# SPDX-License-Identifier: GPL-2.0
"""One pktpair flow from a kept trace, as the 1994 memorandum draws its flows.

Queue against time: the setpoint, the estimate, and the truth, which is what the
flow's packets found of their own at the bottleneck (its figures 11 to 15);
what is outstanding; the rate ordered and the share; the gaps and their average.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ..analyse.figures import Floats, events
from ..model.errors import LabError
from . import pictures

# Smallest packet of data that counts as one: acknowledgements queue, too.
DATA_BYTES = 100


@dataclass
class Traced:
    """What is drawn of a flow; times from its first event, queues in packets."""

    time_s: Floats
    setpoint: Floats
    estimate: Floats
    outstanding: Floats
    window: Floats
    rate_mbit: Floats
    share_mbit: Floats
    service_ms: Floats
    gap_time_s: Floats
    gap_ms: Floats
    queue_time_s: Floats
    queue: Floats


def flows_of(trace: str) -> dict[int, int]:
    """Trains of each flow in a trace, by its port."""
    return dict(Counter(int(sample["sport"]) for _, sample in events(trace, "pktpair_sample")))


def traced_flow(trace: str, port: int) -> Traced:
    """One flow's events."""
    samples = [
        (moment, sample)
        for moment, sample in events(trace, "pktpair_sample")
        if int(sample["sport"]) == port and int(sample["service_ns"])
    ]
    queued = [
        (moment, int(packet["flow_packets"]))
        for moment, packet in events(trace, "fq_rr_enqueue")
        if int(packet["sport"]) == port and int(packet["len"]) >= DATA_BYTES
    ]
    if not samples:
        raise LabError(f"flow {port} never had a service time")
    begin_s = min(moment for moment, _ in samples[:1] + queued[:1])

    def column(name: str, scale: float = 1) -> Floats:
        return np.array([int(sample[name]) * scale for _, sample in samples])

    gaps = [(moment, s) for moment, s in samples if s["verdict"] == "sample"]
    return Traced(
        time_s=np.array([moment - begin_s for moment, _ in samples]),
        setpoint=column("setpoint_q8", 1 / 256),
        estimate=column("backlog_q8", 1 / 256),
        outstanding=column("outstanding"),
        window=column("cwnd"),
        rate_mbit=column("rate_bytes_ps", 8e-6),
        share_mbit=8e3 * column("mss") / column("service_ns"),
        service_ms=column("service_ns", 1e-6),
        gap_time_s=np.array([moment - begin_s for moment, _ in gaps]),
        gap_ms=np.array([int(s["gap_ns"]) / int(s["covered_segments"]) * 1e-6 for _, s in gaps]),
        queue_time_s=np.array([moment - begin_s for moment, _ in queued]),
        queue=np.array([packets for _, packets in queued], dtype=float),
    )


def draw(flow: Traced, port: int, path: Path) -> Path:
    """Four panels over time."""
    blue, orange, green = pictures.COLOURS[:3]
    with matplotlib.rc_context(pictures.STYLE):
        figure = Figure(figsize=(9, 9.5), layout="constrained")
        queue, pipe, rate, gap = figure.subplots(4, 1, sharex=True)
        queue.plot(flow.queue_time_s, flow.queue, ".", ms=1.5, color=blue, label="queue found at fq_rr")
        queue.plot(flow.time_s, flow.estimate, lw=0.8, color=orange, label="estimated queue")
        queue.plot(flow.time_s, flow.setpoint, lw=1.2, color=green, label="setpoint (below zero: drains)")
        queue.set_ylabel("packets")
        pipe.plot(flow.time_s, flow.window, lw=1, color=blue, label="window")
        pipe.plot(flow.time_s, flow.outstanding, lw=1, color=orange, label="outstanding")
        pipe.set_ylabel("packets")
        rate.plot(flow.time_s, flow.rate_mbit, lw=0.8, color=blue, label="rate ordered")
        rate.plot(flow.time_s, flow.share_mbit, lw=1.2, color=orange, label="share of the bottleneck")
        rate.set_ylabel("payload, Mbit/s")
        gap.plot(flow.gap_time_s, flow.gap_ms, ".", ms=1.5, color=blue, label="gap per segment")
        gap.plot(flow.time_s, flow.service_ms, lw=1.2, color=orange, label="service time, averaged")
        gap.set_ylabel("ms")
        gap.set_xlabel("time, s")
        pictures.bounded(pipe, flow.window, flow.outstanding)
        pictures.bounded(rate, flow.rate_mbit, flow.share_mbit)
        pictures.bounded(gap, flow.gap_ms, flow.service_ms)
        for axis in (queue, pipe, rate, gap):
            axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), markerscale=6)
        queue.set_title(f"tcp_pktpair, flow from port {port}")
        return pictures.save(figure, path)


def plot(recording: Path, port: int | None, out: Path | None) -> Path:
    """Draw a flow of a recording: the first, unless ``port`` says which."""
    try:
        trace = recording.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{recording}: {getattr(error, 'strerror', None) or 'is not a trace'}") from None
    known = flows_of(trace)
    if not known:
        raise LabError(f"{recording} has no sample of tcp_pktpair; lab run --trace SCENARIO records them")
    port = min(known) if port is None else port
    if port not in known:
        raise LabError(f"{recording} has no flow {port}; it has: {', '.join(map(str, sorted(known)))}")
    path = out or recording.with_name(f"{recording.stem}-{port}.png")
    try:
        return draw(traced_flow(trace, port), port, path)
    except (OSError, ValueError) as error:
        raise LabError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
