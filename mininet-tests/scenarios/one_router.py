# SPDX-License-Identifier: GPL-2.0
"""Flows from a sender by one router to a receiver, in virtual time or on three real machines."""

from lab.model.flows import staggered
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "two flows that share one router's link fill it, and share it equally"
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel")]
PARAMETERS = {
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 0.5, 200),
    "round_trip_ms": Parameter(10.0, "ms", "round trip of an empty path", 0, 1000),
    "pairs": Parameter(1, "", "senders, each with a receiver and a link of its own", 1, 8),
    "flows": Parameter(2, "", "of each pair", 1, 16),
    "seconds": Parameter(4.0, "s", "how long each flow sends", 2, 600),
}
LIMIT_PACKETS = 100
STAGGER_S, JITTER_S = 0.1, 0.001
SETTLE_S = 1.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All flows of a pair through its receiver's link."""
    network = topology(
        "one_router",
        pairs=values["pairs"],
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=LIMIT_PACKETS,
        delay_ms=values["round_trip_ms"],
    )
    count = values["pairs"] * values["flows"]
    flows = staggered(count, cc, values["seconds"], STAGGER_S / values["flows"], seed, JITTER_S, values["pairs"])
    return Plan(network, flows, hash_seed=seed, settle_s=SETTLE_S)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Low bars: this says that it works, there as here."""
    return [Check("utilisation", "in", (0.8, 1.01)), Check("jain", ">=", 0.8)]
