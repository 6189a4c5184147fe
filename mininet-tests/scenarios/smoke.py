# SPDX-License-Identifier: GPL-2.0
"""Two flows through the bottleneck for a few seconds: the whole path works."""

from lab.model.flows import dumbbell, staggered
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Values

CLAIM = "a few seconds of two flows: modules, topology, traffic and figures all work"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    # below it the window has less than a hundred packets, above it the guest's CPU is the bottleneck
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 0.5, 200),
    "seconds": Parameter(4.0, "s", "how long each flow sends", 2, 600),
}
ROUND_TRIPS_MS = (10.0, 20.0)
LIMIT_PACKETS = 100
STAGGER_S, JITTER_S = 0.1, 0.001
SETTLE_S = 1.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Round trips of 10 and 20 ms."""
    return Plan(
        dumbbell(qdisc, round(values["rate_mbit"] * 1e6), ROUND_TRIPS_MS, LIMIT_PACKETS),
        staggered(2, cc, values["seconds"], STAGGER_S, seed, JITTER_S),
        hash_seed=seed,
        settle_s=SETTLE_S,
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Low bars: this says that it works, not how well."""
    return [Check("utilisation", "in", (0.8, 1.01)), Check("jain", ">=", 0.8)]
