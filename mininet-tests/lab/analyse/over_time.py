# SPDX-License-Identifier: GPL-2.0
"""A run of long flows over time: each flow's goodput, and the queue delay that its acknowledgements show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model.errors import RunError
from ..model.layout import Layout, lay_out
from ..model.plan import Plan
from .figures import Acks, Floats, acks_of_flows, propagation_s, quantiles, rounded

# Width of the bins of goodput, and points of a drawn trace.
BIN_S = 0.25
DRAWN_POINTS = 1500
# Of the delays in the window: 0, 0.5 % ... 100 %.
DISTRIBUTION_POINTS = 201


def of_run(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run that has a window and whose acknowledgements were recorded; RunError if it has none.

    ``window_goodput_bit_s``
        of each flow, in the window
    ``start_queue_delay_p99_s`` and the like
        over all flows, before the window
    ``flows``, ``delay_quantiles_s``
        what pictures are drawn from
    """
    if plan.window_s is None:
        raise RunError("the flows end before the window opens")
    begin_s, end_s = plan.window_s
    layout = lay_out(plan.topology)
    by_port = acks_of_flows(raw["trace"], raw["begin_s"])
    seen = {flow.name: by_port[plan.port(flow)] for flow in plan.flows}
    start_s = _delays(plan, layout, seen, 0.0, begin_s)
    in_window_s = _delays(plan, layout, seen, begin_s, end_s)
    return {
        "window_goodput_bit_s": [
            rounded((one.at(one.acked_bytes, end_s) - one.at(one.acked_bytes, begin_s)) * 8 / (end_s - begin_s), 0)
            for one in seen.values()
        ],
        **quantiles(start_s, "start_queue_delay_{}_s"),
        "bin_s": BIN_S,
        "flows": [_drawn(plan, layout, index, one) for index, one in enumerate(seen.values())],
        "delay_quantiles_s": [rounded(q) for q in np.quantile(in_window_s, np.linspace(0, 1, DISTRIBUTION_POINTS))],
    }


def _delays(plan: Plan, layout: Layout, seen: Mapping[str, Acks], begin_s: float, end_s: float) -> Floats:
    """Queue delays of all flows' acknowledgements between two moments."""
    parts = []
    for flow in plan.flows:
        one = seen[flow.name]
        chosen = (one.time_s >= begin_s) & (one.time_s < end_s) & (one.rtt_s > 0)
        parts.append(one.rtt_s[chosen] - propagation_s(layout, flow))
    return np.concatenate(parts)


def _drawn(plan: Plan, layout: Layout, index: int, one: Acks) -> dict[str, Any]:
    flow = plan.flows[index]
    edges = np.arange(0, plan.end_s + BIN_S, BIN_S)
    bits = np.array([one.at(one.acked_bytes, float(edge)) for edge in edges]) * 8
    valid = np.flatnonzero((one.rtt_s > 0) & (one.time_s < plan.end_s))
    chosen = valid[:: max(1, len(valid) // DRAWN_POINTS)]
    propagation = propagation_s(layout, flow)
    return {
        "name": flow.name,
        "propagation_s": rounded(propagation),
        "goodput_bit_s": [round(rate) for rate in np.diff(bits) / BIN_S],
        "delay_time_s": [round(t, 4) for t in one.time_s[chosen]],
        "delay_s": [round(d, 5) for d in one.rtt_s[chosen] - propagation],
    }
