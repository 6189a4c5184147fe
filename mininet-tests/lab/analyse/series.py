# SPDX-License-Identifier: GPL-2.0
"""What a run's pictures are drawn from: goodput, queue delay and backlog over time, and how delays are distributed.

Of a flow whose ACKs were recorded, from these. Of another from tcp_info: its round trips are
then the kernel's smoothed ones, and are noted at each sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.layout import Layout, lay_out
from ..model.plan import Flow, Plan
from .figures import (
    QUEUE_SAMPLE,
    SAMPLE,
    Seen,
    acks_of_flows,
    delays_of,
    layouts_of,
    propagation_s,
    queue_delays,
    rounded,
    unpacked,
)

# A run has so many bins, but none is shorter than this, or than a round trip of flows that send for a time: in it
# a sender's window passes once.
BINS = 60
LEAST_BIN_S = 0.02
# More points of a flow or queue than this are not told apart in a picture.
DRAWN_POINTS = 1500
DELAY_QUANTILES = np.linspace(0, 1, 201)


def series(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run without error; what was not recorded is left out.

    ``window_s``
        begin and end of the measured window, or None
    ``bin_s``, ``flows``
        of each flow its ``name``, ``propagation_s``, ``goodput_bit_s`` of each bin from the beginning of the run,
        ``delay_s`` and ``delay_time_s``: queue delays, and when they became known
    ``delay_quantiles_s``
        of the measured flows' delays in the window, in the whole run where there is none: 0, 0.5 % ... 100 %
    ``queues``
        of each device whose queue was sampled: ``time_s``, ``packets``, ``bytes``, ``drops``
    """
    layout = lay_out(plan.topology)
    seen = _seen(plan, raw)
    flows = [(flow, seen[plan.port(flow)]) for flow in plan.flows if plan.port(flow) in seen]
    found: dict[str, Any] = {"window_s": plan.window_s}
    if flows:
        edges_s = _edges_s(plan, layout, flows)
        found["bin_s"] = rounded(edges_s[1], 9)
        layouts = layouts_of(plan)
        found["flows"] = [_of_flow(layout, layouts, flow, one, edges_s) for flow, one in flows]
        delay_s = queue_delays(plan, seen, *(plan.window_s or (0.0, float("inf"))))
        if len(delay_s):
            found["delay_quantiles_s"] = [rounded(value) for value in np.quantile(delay_s, DELAY_QUANTILES)]
    if plan.sampled:
        found["queues"] = _queues(plan, raw)
    return found


def _seen(plan: Plan, raw: Mapping[str, Any]) -> Mapping[int, Seen]:
    """Of each flow of which something is known, by its port."""
    if plan.record.acks:
        return acks_of_flows(raw["trace"], raw["begin_s"])
    records = unpacked(raw["samples"], SAMPLE)
    found = {}
    for index, flow in enumerate(plan.flows):
        own = records[records["flow"] == index]
        if len(own):
            found[plan.port(flow)] = _sampled(own, raw["flows"][index])
    return found


def _sampled(own: NDArray[Any], result: Mapping[str, Any]) -> Seen:
    """From the samples of a flow, and its end, which lies between two."""
    end = [] if result["ended_ns"] is None else [(result["ended_ns"], 0, result["bytes_acked"])]
    rows = [*zip(own["time_ns"], own["srtt_us"], own["bytes_acked"], strict=True), *end]
    time_ns, rtt_us, acked_bytes = np.array(rows, dtype=float).T
    return Seen(time_ns / 1e9, rtt_us / 1e6, acked_bytes)


def _edges_s(plan: Plan, layout: Layout, flows: list[tuple[Flow, Seen]]) -> NDArray[np.floating[Any]]:
    """Of the bins: until the last ACK, or until flows that send for a time hand over no more."""
    end_s = max(float(seen.time_s[-1]) for _, seen in flows)
    shortest_s = LEAST_BIN_S
    if all(flow.seconds for flow, _ in flows):
        end_s = min(end_s, plan.end_s)
        shortest_s = max(shortest_s, *(propagation_s(layout, flow) for flow, _ in flows))
    return np.linspace(0, end_s, 1 + min(BINS, max(1, int(end_s / shortest_s))))


def _of_flow(
    layout: Layout,
    layouts: Sequence[tuple[float, Layout]],
    flow: Flow,
    seen: Seen,
    edges_s: NDArray[np.floating[Any]],
) -> dict[str, Any]:
    bits = np.array([seen.at(seen.acked_bytes, edge) for edge in edges_s]) * 8
    valid = np.flatnonzero((seen.rtt_s > 0) & (seen.time_s <= edges_s[-1]))
    chosen = valid[:: max(1, len(valid) // DRAWN_POINTS)]
    return {
        "name": flow.name,
        "propagation_s": rounded(propagation_s(layout, flow)),
        "goodput_bit_s": [round(rate) for rate in np.diff(bits) / np.diff(edges_s)],
        "delay_time_s": [rounded(time, 4) for time in seen.time_s[chosen]],
        "delay_s": [rounded(delay) for delay in delays_of(layouts, flow, seen)[chosen]],
    }


def _queues(plan: Plan, raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    records = unpacked(raw["queues"], QUEUE_SAMPLE)
    found = []
    for index, device in enumerate(plan.sampled):
        own = records[records["queue"] == index]
        own = own[:: max(1, len(own) // DRAWN_POINTS)]
        counts = {name: own[name].tolist() for name in ("packets", "bytes", "drops")}
        found.append({"device": device, "time_s": [rounded(time, 4) for time in own["time_ns"] / 1e9], **counts})
    return found
