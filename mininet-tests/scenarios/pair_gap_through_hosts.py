# SPDX-License-Identifier: GPL-2.0
"""Where hosts share the link and their flows share its parts, packet pair reads its share through both levels.

Among h hosts, a flow of one with n backlogged flows has every (h n)-th packet time, however many
flows the other hosts have.  The link and the measure are those of ``pair_gap_is_n_packet_times``.
"""

from dataclasses import replace
from typing import Any

from lab.analyse import estimates
from lab.analyse.figures import rounded
from lab.model import flows, pair_gap
from lab.model.flows import FULL_PACKET_BYTES
from lab.model.pair_gap import BUFFER_PACKETS, WINDOW_BYTES
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "the mean gap that pktpair sees in a host of n flows among h hosts is h n packet times, within 1 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "hosts": Parameter(2, "hosts", "that share the link, each backlogged", 2, 8),
    "own": Parameter(1, "flows", "backlogged flows of the measured one's host, itself included", 1, 16),
    "others": Parameter(8, "flows", "backlogged flows of each other host", 1, 16),
    "level": Parameter("src", "", "what a host is; none: each flow for itself", choices=("src", "dst", "both", "none")),
    **pair_gap.PARAMETERS,
}
VARIANTS: list[dict[str, Value]] = [
    {"hosts": 2, "own": 1, "others": 8},
    {"hosts": 2, "own": 4, "others": 1},
    {"hosts": 3, "own": 2, "others": 4, "level": "dst"},
]


def due(values: Values) -> int:
    """Packet times from one packet of the measured flow to the next."""
    return int(values["hosts"] * values["own"])


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow and the others of its host, and those of the other hosts."""
    rate_mbit, round_trip, hosts = values["rate_mbit"], values["round_trip"], values["hosts"]
    count = values["own"] + (hosts - 1) * values["others"]
    first, rest = pair_gap.flows_of(values, cc, seed, count, due(values))
    # a host's only flow has the largest part of the path
    flows.check_backlogged(rate_mbit, round_trip, hosts, WINDOW_BYTES, FULL_PACKET_BYTES, BUFFER_PACKETS)
    of_host = [1] * (values["own"] - 1) + [2 + i // values["others"] for i in range(count - values["own"])]
    others = (replace(flow, source=f"s{host}", sink=f"d{host}") for flow, host in zip(rest, of_host, strict=True))
    options = f"no-aqm hosts {values['level']}"
    link = flows.dumbbell(qdisc, int(rate_mbit * 1e6), [round_trip] * hosts, BUFFER_PACKETS, options=options)
    return pair_gap.plan(values, link, (first, *others), seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap of the samples in the window, in packet times and against what is due."""
    found = estimates.mean_gap(plan, raw, values["rate_mbit"])
    return {**found, "mean_gap_over_due": rounded(found["mean_gap_packet_times"] / due(values))}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Within one per cent, on enough samples."""
    return [Check("samples", ">=", 1000), Check("mean_gap_over_due", "in", [0.99, 1.01])]
