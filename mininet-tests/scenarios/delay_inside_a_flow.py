# SPDX-License-Identifier: GPL-2.0
"""How long packets wait behind others of their own flow, over a home uplink: the manual page's first example.

A flow that fills buffers is kept near CoDel's target. One that holds its queue at its setpoint
itself loses nothing.
"""

from typing import Any

from lab.model import flows
from lab.model.benchmarks import OPEN_BUFFERS
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "CUBIC's packets wait for 10 ms of its own at 19 Mbit/s at most, and packet pair's never meet CoDel"
COMBINATIONS = [("cubic", "fq_rr"), ("pktpair", "fq_rr")]
PARAMETERS = {
    # below it trains are shorter, above it the guest's CPU is the bottleneck
    "rate_mbit": Parameter(19.0, "Mbit/s", "rate of the uplink", 0.4, 200),
    "round_trip": Parameter(22.0, "ms", "of the empty path", 1, 200),
    "flows": Parameter(1, "", "flows of one pair of hosts", 1, 16),
    "seconds": Parameter(12.0, "s", "how long each sends", 4, 600),
    "options": Parameter("", "", "further ones of fq_rr"),
}
STAGGER_S, JITTER_S = 0.2, 0.05
SETTLE_S = 3.0
# Linux's TCP and IP headers, and full packets
PACKET_BITS = 1500 * 8


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The queue as it is by default; hosts whose windows do not bind."""
    network = topology(
        "dumbbell",
        pairs=1,
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=0,
        delays_ms=[values["round_trip"]],
        options=values["options"] if qdisc == "fq_rr" else "",
    )
    return Plan(
        network,
        flows.staggered(values["flows"], cc, values["seconds"], STAGGER_S, seed, JITTER_S, 1),
        hash_seed=seed,
        settle_s=SETTLE_S,
        sysctls={"*": {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS}},
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What CoDel did; the time of ten packets at a flow's share."""
    found = [entry for entry in raw["qdiscs"]["r-x"] if entry["kind"] == "fq_rr"]
    own = {"drops_aqm": found[0]["drops_aqm"], "collisions": found[0]["collisions"]} if found else {}
    return {"ten_packets_s": 10 * PACKET_BITS * values["flows"] / (values["rate_mbit"] * 1e6), **own}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """CUBIC: CoDel's target and five packets, or ten packets where those last longer; pktpair: nothing lost."""
    if (cc, qdisc) == ("pktpair", "fq_rr"):
        return [Check("drops_aqm", "==", 0), Check("utilisation", ">=", 0.97)]
    share = values["rate_mbit"] * 1e6 / values["flows"]
    return [
        Check("queue_delay_p99_s", "<=", max(0.010, 12 * PACKET_BITS / share)),
        Check("utilisation", ">=", 0.95),
    ]
