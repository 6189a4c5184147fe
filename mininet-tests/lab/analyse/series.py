# SPDX-License-Identifier: GPL-2.0
"""What a run's pictures are drawn from: goodput, queue delay and backlog over time, and how delays are distributed.

Of a flow whose ACKs were recorded, from these. Of another from tcp_info: its round trips are
then the kernel's smoothed ones, and are noted at each sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.layout import Layout, lay_out
from ..model.plan import Flow, Plan
from .figures import QUEUE_SAMPLE, SAMPLE, Floats, acks_of_flows, propagation_s, rounded, unpacked

# A run has so many bins, but none is shorter than an interval in which some packets pass.
BINS = 100
LEAST_BIN_S = 0.02
# More points of a flow or queue than this are not told apart in a picture.
DRAWN_POINTS = 1000
DELAY_QUANTILES = np.linspace(0, 1, 201)


@dataclass
class Seen:
    """A flow's bytes and round trips as they became known; times from the beginning of the run."""

    time_s: Floats
    acked_bytes: Floats
    rtt_s: Floats

    def acked_by(self, moment_s: float) -> float:
        """Payload acknowledged up to a moment."""
        index = int(np.searchsorted(self.time_s, moment_s, side="right"))
        return float(self.acked_bytes[index - 1]) if index else 0.0


def series(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run without error; what was not recorded is left out."""
    layout = lay_out(plan.topology)
    found: dict[str, Any] = {}
    flows = [(flow, seen) for flow, seen in zip(plan.flows, _seen(plan, raw), strict=True) if seen is not None]
    if flows:
        end_s = max(float(seen.time_s[-1]) for _, seen in flows)
        bin_s = max(LEAST_BIN_S, end_s / BINS)
        found = {"bin_s": rounded(bin_s), "flows": [_drawn(layout, flow, seen, bin_s, end_s) for flow, seen in flows]}
        found |= _delay_quantiles(plan, layout, flows)
    if plan.sampled:
        found["queues"] = _queues(plan, raw)
    return found


def _seen(plan: Plan, raw: Mapping[str, Any]) -> list[Seen | None]:
    if plan.record.acks:
        acks = acks_of_flows(raw["trace"], raw["begin_s"])
        of_flows = [acks.get(plan.port(flow)) for flow in plan.flows]
        return [None if one is None else Seen(one.time_s, one.acked_bytes, one.rtt_s) for one in of_flows]
    records = unpacked(raw["samples"], SAMPLE)
    found: list[Seen | None] = []
    for index, _ in enumerate(plan.flows):
        own = records[records["flow"] == index]
        found.append(_sampled(own, raw["flows"][index]) if len(own) else None)
    return found


def _sampled(own: NDArray[Any], result: Mapping[str, Any]) -> Seen:
    """From the samples of a flow, and its end, which lies between two."""
    end = [] if result["ended_ns"] is None else [(result["ended_ns"], result["bytes_acked"], 0)]
    rows = [*zip(own["time_ns"], own["bytes_acked"], own["srtt_us"], strict=True), *end]
    time_ns, acked_bytes, rtt_us = np.array(rows, dtype=float).T
    return Seen(time_ns / 1e9, acked_bytes, rtt_us / 1e6)


def _drawn(layout: Layout, flow: Flow, seen: Seen, bin_s: float, end_s: float) -> dict[str, Any]:
    edges = np.arange(0, end_s + bin_s, bin_s)
    bits = np.array([seen.acked_by(float(edge)) for edge in edges]) * 8
    valid = np.flatnonzero(seen.rtt_s > 0)
    chosen = valid[:: max(1, len(valid) // DRAWN_POINTS)]
    delay_s = seen.rtt_s[chosen] - propagation_s(layout, flow)
    return {
        "name": flow.name,
        "goodput_bit_s": [round(rate) for rate in np.diff(bits) / bin_s],
        "delay_time_s": [round(float(time), 4) for time in seen.time_s[chosen]],
        "delay_s": [rounded(delay) for delay in delay_s],
    }


def _delay_quantiles(plan: Plan, layout: Layout, flows: list[tuple[Flow, Seen]]) -> dict[str, Any]:
    """Of all flows together, in the measured window if there is one."""
    begin_s, end_s = plan.window_s or (0.0, float("inf"))
    parts = []
    for flow, seen in flows:
        chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
        parts.append(seen.rtt_s[chosen] - propagation_s(layout, flow))
    delay_s = np.concatenate(parts)
    if not len(delay_s):
        return {}
    return {"delay_quantiles_s": [rounded(value) for value in np.quantile(delay_s, DELAY_QUANTILES)]}


def _queues(plan: Plan, raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    records = unpacked(raw["queues"], QUEUE_SAMPLE)
    found = []
    for index, device in enumerate(plan.sampled):
        own = records[records["queue"] == index]
        own = own[:: max(1, len(own) // DRAWN_POINTS)]
        counts = {name: own[name].tolist() for name in ("packets", "bytes", "drops")}
        found.append({"device": device, "time_s": [round(float(time), 4) for time in own["time_ns"] / 1e9], **counts})
    return found
