# SPDX-License-Identifier: GPL-2.0
"""Four long flows over unequal round trips share one bottleneck."""

from lab.model.flows import dumbbell, measured, staggered
from lab.model.plan import Plan, in_range
from lab.model.scenario import Check, Parameter, Values
from lab.model.topology import STOCK_MTU_BYTES

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
    # above it the guest's CPU is the bottleneck
    "rate_mbit": Parameter(40.0, "Mbit/s", "rate of the bottleneck, Ethernet headers not counted", 0.5, 200),
    "seconds": Parameter(14.0, "s", "how long each flow sends", 5, 120),
    "settle": Parameter(4.0, "s", "from the last start to the measured window", 0, 13),
    "stagger": Parameter(0.1, "s", "between one flow's start and the next", 0, 3),
    "limit": Parameter(1000, "packets", "buffer of the bottleneck (CAKE has its own)", 1, 1_000_000),
    "shortest": Parameter(20.0, "ms", "round trip of the first flow; each next has twice as much", 0.1, 200),
    "flows": Parameter(4, "flows", "senders and receivers", 1, 7),
}
# A longer way than over a geostationary satellite and back is none.
LONGEST_MS = 2_000


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One pair of hosts per flow; starts are jittered by up to one packet time."""
    rate_bit_s = round(values["rate_mbit"] * 1e6)
    packet_time_s = STOCK_MTU_BYTES * 8 / rate_bit_s
    delays_ms = [values["shortest"] * 2**i for i in range(values["flows"])]
    in_range("longest round trip in ms", delays_ms[-1], 0, LONGEST_MS)
    return measured(
        Plan(
            dumbbell(qdisc, rate_bit_s, delays_ms, values["limit"]),
            staggered(values["flows"], cc, values["seconds"], values["stagger"], seed, packet_time_s),
            hash_seed=seed,
            settle_s=values["settle"],
        )
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The goals are ours; a peer is only measured."""
    if (cc, qdisc) != ("pktpair", "fq_rr"):
        return []
    return [Check("utilisation", ">=", 0.97), Check("jain", ">=", 0.98)]
