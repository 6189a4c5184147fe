# SPDX-License-Identifier: GPL-2.0
"""tcp_pktpair's estimates, held against what fq_rr's trace events show.

The backlog that a queue estimate is about is what the flow's newest packet, the one that
ends at ``snd_nxt``, found before it when it came to the bottleneck's queue. It comes there
after the estimate was made: the estimate is a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.errors import RunError
from ..model.flows import FULL_PACKET_BYTES
from ..model.plan import TCP_HEADER_BYTES, Flow, Plan
from .figures import Floats, events, rounded

# What a plan has to record for these figures.
EVENTS = ("pktpair:pktpair_sample", "fq_rr:fq_rr_enqueue")


@dataclass
class Trains:
    """What became of a flow's trains in a span of time, and the estimates of that time.

    :param verdicts: trains by verdict
    :param span_ns: sum of the times that samples cover
    :param segments: sum of the segments that samples cover
    :param service_ns: the estimate of the service time after each train
    :param lengths: segments of each train
    :param error_packets: estimate of the queue less its backlog, for each train after which there was an
        estimate and whose newest packet came to the queue
    :param error_paper_packets: likewise of the memorandum's equation (12)
    """

    verdicts: dict[str, int]
    span_ns: int
    segments: int
    service_ns: Floats
    lengths: Floats
    error_packets: Floats
    error_paper_packets: Floats

    @property
    def gap_ns(self) -> float:
        """Sum of times over sum of segments of the trains that gave a sample."""
        return self.span_ns / self.segments if self.segments else 0.0

    @property
    def sampled(self) -> float:
        """Share of trains that gave a sample."""
        trains = sum(self.verdicts.values())
        return self.verdicts.get("sample", 0) / trains if trains else 0.0


def backlog_met(trace: str, port: int) -> dict[int, int]:
    """Packets of the flow that each packet found in the queue, by the sequence number that it ends at."""
    met: dict[int, int] = {}
    for _, packet in events(trace, "fq_rr_enqueue"):
        if int(packet["sport"]) == port:
            # a retransmission is not the newest packet
            met.setdefault(int(packet["end_seq"]), int(packet["flow_packets"]))
    return met


def trains(trace: str, port: int, begin_s: float, end_s: float) -> Trains:
    """The trains of a flow that came back between two moments of the guest's clock."""
    met = backlog_met(trace, port)
    verdicts: dict[str, int] = {}
    span_ns = segments = 0
    errors, paper, service, lengths = [], [], [], []
    for moment, sample in events(trace, "pktpair_sample"):
        if int(sample["sport"]) != port or not begin_s <= moment < end_s:
            continue
        verdicts[sample["verdict"]] = verdicts.get(sample["verdict"], 0) + 1
        if sample["verdict"] == "sample":
            span_ns += int(sample["gap_ns"])
            segments += int(sample["covered_segments"])
        lengths.append(int(sample["train"]))
        backlog = met.get(int(sample["snd_nxt"]))
        if int(sample["service_ns"]) and backlog is not None:
            service.append(int(sample["service_ns"]))
            errors.append(int(sample["backlog_q8"]) / 256 - backlog)
            paper.append(int(sample["backlog_paper_q8"]) / 256 - backlog)
    return Trains(
        verdicts,
        span_ns,
        segments,
        *(np.array(values, dtype=float) for values in (service, lengths, errors, paper)),
    )


def trains_in_window(plan: Plan, raw: Mapping[str, Any], flow: Flow) -> Trains:
    """The trains of a flow that came back in the measured window."""
    assert plan.window_s is not None
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    return trains(raw["trace"], plan.port(flow), begin_s, end_s)


def mean_gap(plan: Plan, raw: Mapping[str, Any], rate_mbit: float) -> dict[str, Any]:
    """Of the trains of full packets in the window: the sum of their times over that of their segments."""
    if plan.window_s is None:
        raise RunError("there is no time at which all flows send")
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    time_ns = segments = samples = 0
    verdicts: dict[str, int] = {}
    for moment, sample in events(raw["trace"], "pktpair_sample"):
        if not begin_s <= moment < end_s:
            continue
        verdicts[sample["verdict"]] = verdicts.get(sample["verdict"], 0) + 1
        if sample["verdict"] == "sample" and int(sample["mss"]) == FULL_PACKET_BYTES - TCP_HEADER_BYTES:
            time_ns += int(sample["gap_ns"])
            segments += int(sample["covered_segments"])
            samples += 1
    packet_time_ns = FULL_PACKET_BYTES * 8e3 / rate_mbit
    mean = time_ns / segments / packet_time_ns if segments else 0.0
    return {"samples": samples, "trains": verdicts, "mean_gap_packet_times": rounded(mean)}


def service_figures(seen: Trains, ideal_ns: float) -> dict[str, Any]:
    """Relative errors of the mean gap and of the mean service time; what became of the trains."""
    return {
        "trains": seen.verdicts,
        "trains_sampled": rounded(seen.sampled, 4),
        "gap_error": rounded(seen.gap_ns / ideal_ns - 1, 4) if seen.segments else None,
        "service_error": rounded(np.mean(seen.service_ns) / ideal_ns - 1, 4) if len(seen.service_ns) else None,
        "train_segments": rounded(np.median(seen.lengths), 0) if len(seen.lengths) else None,
    }


def queue_figures(seen: Trains) -> dict[str, Any]:
    """Errors of the queue estimate, and of the memorandum's equation (12)."""
    return error_figures(seen.error_packets, "error") | error_figures(seen.error_paper_packets, "paper_error")


def error_figures(error_packets: Floats, name: str) -> dict[str, Any]:
    """Median and 95th percentile of the absolute error, and the mean error with its sign."""
    if not len(error_packets):
        return {}
    size = np.abs(error_packets)
    return {
        f"{name}_median_packets": rounded(np.quantile(size, 0.5), 3),
        f"{name}_p95_packets": rounded(np.quantile(size, 0.95), 3),
        f"{name}_mean_packets": rounded(np.mean(error_packets), 3),
    }
