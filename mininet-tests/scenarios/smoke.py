# SPDX-License-Identifier: GPL-2.0
"""Two flows through the bottleneck for a few seconds: the whole path works."""

from lab.scenario import Check, Parameter, Plan, Values, staggered

CLAIM = "a few seconds of two flows: modules, topology, traffic and figures all work"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "seconds": Parameter(4.0, "s", "how long each flow sends", 1, 600),
}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Round trips of 10 and 20 ms."""
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(10, 20),
        limit_packets=100,
        flows=staggered(2, cc, values["seconds"], 0.1, seed, 0.001),
        settle_s=1,
        hash_seed=seed,
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Low bars: this says that it works, not how well."""
    return [Check("utilisation", ">=", 0.8), Check("utilisation", "<=", 1.01), Check("jain", ">=", 0.8)]
