# SPDX-License-Identifier: GPL-2.0
"""A long path through several bottlenecks in series, each shared with a cross flow of its own."""

import random

from lab.model.flows import FULL_PACKET_BYTES, check_packet_rate
from lab.model.plan import Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "a flow through 3 bottlenecks in turn and a cross flow at each fill 95 % of all, and share them (Jain 0.98)"
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel"), ("bbr", "cake")]
PARAMETERS = {
    "bottlenecks": Parameter(3, "links", "in series", 1, 8),
    "rate_mbit": Parameter(10.0, "Mbit/s", "of each", 0.5, 100),
    "round_trip_ms": Parameter(40.0, "ms", "of every path", 0.5, 1000),
    "seconds": Parameter(8.0, "s", "how long each flow sends", 3, 600),
}
LIMIT_PACKETS = 300


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The long flow first, the cross flows within a tenth of a second."""
    check_packet_rate(values["rate_mbit"], FULL_PACKET_BYTES, values["bottlenecks"])
    starts = random.Random(seed)
    network = topology(
        "parking_lot",
        bottlenecks=values["bottlenecks"],
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=LIMIT_PACKETS,
        delay_ms=values["round_trip_ms"],
    )
    cross = tuple(
        Flow(f"cross{i}", f"s{i}", f"d{i}", cc, start_s=starts.uniform(0, 0.1), seconds=values["seconds"])
        for i in range(1, values["bottlenecks"] + 1)
    )
    long = Flow("long", "s0", "d0", cc, seconds=values["seconds"])
    return Plan(network, (long, *cross), record=Record(acks=True), hash_seed=seed, settle_s=2.0)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Each bottleneck is full, and nobody has much more than another: half of each, within a fifth of it."""
    full = [Check(f"utilisation_r{i}-r{i + 1}", ">=", 0.95) for i in range(values["bottlenecks"])]
    return [*full, Check("jain", ">=", 0.98)]
