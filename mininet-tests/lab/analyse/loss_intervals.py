# SPDX-License-Identifier: GPL-2.0
"""What a flow of vptfrc saw of losses, from its module's trace, and how much flows' rates vary.

loss event rate
    the inverse of the mean loss interval, that mean taken over the window's round trips
interval's variation
    deviation over mean of the single intervals that loss events closed in the window
mean interval's variation
    the same of the weighted mean, once in a round trip: the paper leaves open which of the two it shows
rate's variation
    deviation over mean of the payload that is sent in bins of one second, again as well. What is acknowledged in order
    waits for what is missing: at a round trip of a second a loss makes a second of nothing of the smoothest rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..model.plan import Flow, Plan
from .figures import Floats, acks_of_flows, events, rounded

EVENT = "vptfrc:vptfrc_rate"
BIN_S = 1.0
# Of fewer values there is no deviation.
LEAST_VALUES = 3
ONE_Q16 = 65536


def variation(values: Floats) -> float | None:
    """Deviation over mean; None of too few values, of nothing, and of what a trace does not tell."""
    if len(values) < LEAST_VALUES or not values.mean() or not np.isfinite(values).all():
        return None
    return float(values.std() / values.mean())


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return rounded(sum(known) / len(known)) if known else None


def of_losses(plan: Plan, raw: Mapping[str, Any], flows: Sequence[Flow]) -> dict[str, float | None]:
    """Means over flows of vptfrc, in the window."""
    begin_s, end_s = plan.window_s or (0.0, plan.end_s)
    rows: dict[int, list[tuple[bool, int, int]]] = {plan.port(flow): [] for flow in flows}
    for moment_s, fields in events(raw["trace"], "vptfrc_rate"):
        own = rows.get(int(fields["sport"]))
        if own is not None and begin_s <= moment_s - raw["begin_s"] < end_s:
            numbers = (int(fields["interval_q16"]), int(fields["closed_q16"]))
            own.append((fields["loss_event"] == "1", *numbers))
    rates, single, weighted = [], [], []
    for own in rows.values():
        means = np.array([mean for is_event, mean, _ in own if not is_event and mean]) / ONE_Q16
        closed = np.array([closed for is_event, _, closed in own if is_event]) / ONE_Q16
        rates.append(float(1 / means.mean()) if len(means) else None)
        single.append(variation(closed))
        weighted.append(variation(means))
    return {
        "loss_event_rate": _mean(rates),
        "interval_variation": _mean(single),
        "mean_interval_variation": _mean(weighted),
    }


def of_rates(plan: Plan, raw: Mapping[str, Any], flows: Sequence[Flow], bin_s: float = BIN_S) -> float | None:
    """Mean over flows of the rate's variation in the window."""
    begin_s, end_s = plan.window_s or (0.0, plan.end_s)
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    edges = np.arange(begin_s, end_s + 1e-9, bin_s)
    found = []
    for flow in flows:
        seen = acks[plan.port(flow)]
        found.append(variation(np.diff([seen.at(seen.sent_bytes, float(edge)) for edge in edges])))
    return _mean(found)
