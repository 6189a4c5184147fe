# SPDX-License-Identifier: GPL-2.0
"""The lab's own traffic and iperf3's, for whoever trusts the one and not the other."""

import random
from typing import Any

from lab.analyse.figures import acks_of_flows
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.topology import STOCK_MTU_BYTES
from lab.topologies import topology

CLAIM = "two flows get the same goodput, within 1 %, whether the lab's own engine sends or iperf3"
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel")]
PARAMETERS = {
    "traffic": Parameter("engine", "", "what sends", choices=("engine", "iperf3")),
    "rate_mbit": Parameter(10.0, "Mbit/s", "of the bottleneck", 0.5, 100),
    "seconds": Parameter(8, "s", "how long each flow sends", 4, 600),
}
VARIANTS: list[dict[str, Value]] = [{"traffic": "engine"}, {"traffic": "iperf3"}]
SETTLE_S = 2.0
LIMIT_PACKETS = 300
# Of what full packets can carry. pktpair has all of it; cubic had 0.994 to 0.997, which is where in the
# window its losses fall. A packet at the window's edge is 0.0002 at 10 Mbit/s.
FULL = (0.99, 1.001)
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
    return {**goodput, "goodput_part": round(sum(goodput.values()) / full_bit_s, 5)}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Either engine's goodput is that of a full link, less what cubic's losses cost, so the two are as near."""
    return [Check("goodput_part", "in", list(FULL)), Check("jain", ">=", 0.99)]
