# SPDX-License-Identifier: GPL-2.0
"""Where the longest queue pays, senders that nobody controls cost pktpair nothing.

S. Keshav's firewall (thesis, chapter 6, scenario 4) under the loads of his 1995
paper on overload: three pktpair flows beside one or seven UDP sources that send
0.5 to 5 times what the link carries, all together.  Each pktpair flow is to have
98 % of its fair share: what max-min fairness leaves it, given what the others ask
for.

Every ten seconds a pktpair flow lets its queue run empty, to look at the path's
propagation delay.  The window of ten seconds has one such look of each flow in it;
shorter runs, which end before the first, tell the firewall apart from its cost.
"""

from typing import Any

from lab.analyse.figures import acks_of_flows, rounded
from lab.model import flows
from lab.model.errors import PlanError
from lab.model.flows import FULL_PACKET_BYTES
from lab.model.plan import TCP_HEADER_BYTES, Plan, Source
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "three pktpair flows beside UDP at 0.5 to 5 times the link keep 98 % of their fair share"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "uncontrolled": Parameter(1, "sources", "UDP sources", 1, 50),
    "load": Parameter(1.0, "links", "rate of all UDP sources together", 0.1, 20),
    "seconds": Parameter(12.0, "s", "how long the UDP sources send", 2, 600),
    "settle": Parameter(2.0, "s", "from their start to the measured window", 0.5, 60),
}
VARIANTS: list[dict[str, Value]] = [
    {"uncontrolled": count, "load": load} for count in (1, 7) for load in (0.5, 1.0, 2.0, 5.0)
]
RATE_BIT_S = 8_000_000
PACKET_S = FULL_PACKET_BYTES * 8 / RATE_BIT_S
FLOWS = 3
ROUND_TRIPS_MS = (20.0, 40.0, 80.0, 20.0)
# Before the UDP sources: the flows have found each other.
ALONE_S = 2.0
LEAST_WINDOW_S = 1.0
# The bandwidth-delay product of the longest path and as much again.
BUFFER_PACKETS = 100


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All UDP sources leave from a fourth host."""
    if values["seconds"] < values["settle"] + LEAST_WINDOW_S:
        raise PlanError(
            f"seconds {values['seconds']}: must be at least {values['settle'] + LEAST_WINDOW_S}:"
            f" {LEAST_WINDOW_S:g} more than settle"
        )
    count = values["uncontrolled"]
    sources = []
    for i in range(count):
        # not all at the same moment
        start_s = ALONE_S + i * PACKET_S / count
        model = {"model": "constant", "rate_packets_s": values["load"] / PACKET_S / count, "start_s": start_s}
        node = FLOWS + 1
        sources.append(
            Source(f"udp{i + 1}", f"s{node}", f"d{node}", model, start_s + values["seconds"], FULL_PACKET_BYTES)
        )
    return Plan(
        flows.dumbbell(qdisc, RATE_BIT_S, ROUND_TRIPS_MS, BUFFER_PACKETS),
        flows.staggered(FLOWS, cc, ALONE_S + values["seconds"], 0.1, seed, PACKET_S),
        tuple(sources),
        hash_seed=seed,
    )


def fair_share(load: float, count: int) -> float:
    """Max-min fair share of a flow that takes all it gets, as a part of the link."""
    equal = 1 / (FLOWS + count)
    return equal if load / count > equal else (1 - load) / FLOWS


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Each flow's part of the link, and the least over its fair share."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    payload = FULL_PACKET_BYTES - TCP_HEADER_BYTES
    begin_s, end_s = ALONE_S + values["settle"], ALONE_S + values["seconds"]
    fair = fair_share(values["load"], values["uncontrolled"])
    shares = []
    for flow in plan.flows:
        seen = acks[plan.port(flow)]
        packets = (seen.at(seen.acked_bytes, end_s) - seen.at(seen.acked_bytes, begin_s)) / payload
        shares.append(packets * PACKET_S / (end_s - begin_s))
    return {
        "shares": [rounded(share, 4) for share in shares],
        "least_over_fair": rounded(min(shares) / fair, 4),
        "all_over_fair": rounded(sum(shares) / (FLOWS * fair), 4),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The goal is ours; a peer is only measured."""
    if (cc, qdisc) != ("pktpair", "fq_rr"):
        return []
    return [Check("least_over_fair", ">=", 0.98)]
