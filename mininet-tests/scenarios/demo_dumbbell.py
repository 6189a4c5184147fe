# SPDX-License-Identifier: GPL-2.0
"""Four long flows over unequal round trips share one bottleneck."""

from lab import scenario
from lab.scenario import Check, Parameter, Plan, Values, staggered

CLAIM = "four flows with round trips of 20 to 160 ms share 40 Mbit/s: fully, equally, with a short queue"
COMBINATIONS = [
    ("pktpair", "fq_rr"),
    ("bbr", "fq_rr"),
    ("cubic", "fq_rr"),
    ("bbr", "fq_codel"),
    ("cubic", "fq_codel"),
    ("bbr", "cake"),
    ("cubic", "cake"),
    ("cubic", "pfifo"),
]
PARAMETERS = {
    "rate_mbit": Parameter(40.0, "Mbit/s", "rate of the bottleneck, Ethernet headers not counted", 0.1, 1000),
    "seconds": Parameter(14.0, "s", "how long each flow sends", 2, 600),
    "settle": Parameter(4.0, "s", "from the last start to the measured window", 0, 600),
    "stagger": Parameter(0.1, "s", "between one flow's start and the next", 0, 60),
    "limit": Parameter(1000, "packets", "buffer of the bottleneck (CAKE has its own)", 1, 1_000_000),
    "shortest": Parameter(20.0, "ms", "round trip of the first flow; each next has twice as much", 0.1, 10_000),
    "flows": Parameter(4, "flows", "senders and receivers", 1, 16),
}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One pair of hosts per flow; starts are jittered by up to one packet time."""
    rate = int(values["rate_mbit"] * 1e6)
    packet_time_s = scenario.FULL_PACKET_BYTES * 8 / rate
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=rate,
        delays_ms=tuple(values["shortest"] * 2**i for i in range(values["flows"])),
        limit_packets=values["limit"],
        flows=staggered(values["flows"], cc, values["seconds"], values["stagger"], seed, packet_time_s),
        settle_s=values["settle"],
        hash_seed=seed,
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The goals are ours; a peer is only measured."""
    if (cc, qdisc) != ("pktpair", "fq_rr"):
        return []
    return [Check("utilisation", ">=", 0.97), Check("jain", ">=", 0.98)]
