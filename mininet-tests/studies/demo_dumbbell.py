# SPDX-License-Identifier: GPL-2.0
"""Four long flows over unequal round trips share one bottleneck."""

import random

from lab.model.plan import Flow, Plan
from lab.model.scenario import Check, Parameter, Values
from lab.topologies import topology

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
FULL_PACKET_BYTES = 1500


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One pair of hosts per flow; starts are jittered by up to one packet time."""
    count = values["flows"]
    packet_time_s = FULL_PACKET_BYTES * 8 / (values["rate_mbit"] * 1e6)
    jitter = random.Random(seed)
    flows = tuple(
        Flow(
            f"f{i + 1}",
            f"s{i + 1}",
            f"d{i + 1}",
            cc,
            start_s=round(i * values["stagger"] + jitter.random() * packet_time_s, 6),
            seconds=values["seconds"],
        )
        for i in range(count)
    )
    network = topology(
        "dumbbell",
        pairs=count,
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=values["limit"],
        delays_ms=[values["shortest"] * 2**i for i in range(count)],
    )
    return Plan(network, flows, hash_seed=seed, settle_s=values["settle"])


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The goals are ours; a peer is only measured."""
    if (cc, qdisc) != ("pktpair", "fq_rr"):
        return []
    return [Check("utilisation", ">=", 0.97), Check("jain", ">=", 0.98)]
