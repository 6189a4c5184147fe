# SPDX-License-Identifier: GPL-2.0
"""The lab's own traffic and iperf3's, for whoever trusts the one and not the other."""

import random
from typing import Any

from lab.analyse.figures import acks_of_flows
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.topologies import topology
from lab.model.topology import STOCK_MTU_BYTES

CLAIM = "a link carries the same within 1 % whether the lab's own engine sends or iperf3, and pktpair's flows half each"
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel")]
PARAMETERS = {
    "traffic": Parameter("engine", "", "what sends", choices=("engine", "iperf3")),
    "rate_mbit": Parameter(10.0, "Mbit/s", "of the bottleneck", 0.5, 100),
    "seconds": Parameter(8, "s", "how long each flow sends", 4, 600),
}
VARIANTS: list[dict[str, Value]] = [{"traffic": "engine"}, {"traffic": "iperf3"}]
SETTLE_S = 2.0
LIMIT_PACKETS = 300
# Of what full packets can carry. Either engine had 0.992 to 1.0004 with three seeds each: cubic's losses leave
# the link idle for moments that depend on where in the window they fall, and a packet at the window's edge
# is 0.0002 at 10 Mbit/s.
FULL = (0.99, 1.001)
# pktpair loses nothing, so each of its flows has half of that, but for a packet or two at the edges:
# 0.9998 to 1.0008.
HALF = (0.998, 1.002)
# of a full packet
PAYLOAD_PART = 1 - TCP_HEADER_BYTES / STOCK_MTU_BYTES


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Round trips of 20 and 60 ms through one bottleneck."""
    network = topology(
        "dumbbell",
        pairs=2,
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=LIMIT_PACKETS,
        delays_ms=[20.0, 60.0],
    )
    start_s = random.Random(seed).uniform(0, 0.1)
    flows = (
        Flow("near", "s1", "d1", cc, seconds=values["seconds"]),
        Flow("far", "s2", "d2", cc, start_s=start_s, seconds=values["seconds"]),
    )
    return Plan(network, flows, hash_seed=seed, settle_s=SETTLE_S, traffic=values["traffic"])


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What each flow's ACKs say of the window, and both of what the link can carry."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    begin_s, end_s = plan.window_s
    goodput = {}
    for flow in plan.flows:
        seen = acks[plan.port(flow)]
        acked_bytes = seen.at(seen.acked_bytes, end_s) - seen.at(seen.acked_bytes, begin_s)
        goodput[f"{flow.name}_goodput_bit_s"] = round(acked_bytes * 8 / (end_s - begin_s))
    full_bit_s = values["rate_mbit"] * 1e6 * PAYLOAD_PART
    halves = {f"{flow.name}_part": goodput[f"{flow.name}_goodput_bit_s"] / full_bit_s * 2 for flow in plan.flows}
    parts = {"goodput_part": sum(goodput.values()) / full_bit_s, **halves}
    return {**goodput, **{name: round(part, 5) for name, part in parts.items()}}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """What either engine's flows are held to is one narrow range, so the two are no further apart than it is wide."""
    own = [Check("near_part", "in", HALF), Check("far_part", "in", HALF)] if cc == "pktpair" else []
    return [Check("goodput_part", "in", FULL), *own]
