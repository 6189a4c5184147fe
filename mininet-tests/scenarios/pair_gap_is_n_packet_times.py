# SPDX-License-Identifier: GPL-2.0
"""Among n backlogged flows, round robin spaces a flow's packets n packet times apart.

This is what packet pair stands on: the gap that tcp_pktpair measures between
acknowledgements of one train is the flow's share of the link.  The mean is the
sum of the times over the sum of the segments that they cover: receivers are
stock ones and acknowledge every second segment, or sometimes the next.
"""

from typing import Any

from lab.analyse import estimates
from lab.analyse.figures import rounded
from lab.model import flows, pair_gap
from lab.model.pair_gap import BUFFER_PACKETS
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "the mean gap that pktpair sees among n backlogged flows is n packet times, within 1 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "flows": Parameter(1, "flows", "backlogged flows, the measured one included", 1, 50),
    **pair_gap.PARAMETERS,
}
# In the last one the stack cuts trains of four in half, again and again
VARIANTS: list[dict[str, Value]] = [
    {"flows": 1},
    {"flows": 2},
    {"flows": 5},
    {"flows": 10},
    {"flows": 1, "round_trip": 39.4},
]


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow and the others from one host, all over the same path: only the queue tells them apart."""
    first, others = pair_gap.flows_of(values, cc, seed, values["flows"], values["flows"])
    # the others are to be backlogged, and CoDel would halve their windows
    options = "no-aqm" if qdisc == "fq_rr" else ""
    link = flows.dumbbell(
        qdisc, int(values["rate_mbit"] * 1e6), [values["round_trip"]], BUFFER_PACKETS, options=options
    )
    return pair_gap.plan(values, link, (first, *others), seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap of the samples in the window, in packet times and against n."""
    found = estimates.mean_gap(plan, raw, values["rate_mbit"])
    return {**found, "mean_gap_over_n": rounded(found["mean_gap_packet_times"] / values["flows"])}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Within one per cent, on enough samples."""
    return [Check("samples", ">=", 1000), Check("mean_gap_over_n", "in", [0.99, 1.01])]
