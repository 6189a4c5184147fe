# SPDX-License-Identifier: GPL-2.0
"""Flows by the hundred through one queue: none fails, none starves, and the link is full."""

from dataclasses import replace

from lab.model.flows import dumbbell, staggered
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Values
from lab.model.topology import STOCK_MTU_BYTES

CLAIM = "a thousand flows at once share a link, and the kernel has nothing to say"
COMBINATIONS = [("vptfrc", "pfifo"), ("reno", "pfifo")]
PARAMETERS = {
    "flows": Parameter(1000, "flows", "at once", 2, 2000),
    "rate_mbit": Parameter(100.0, "Mbit/s", "rate of the bottleneck", 1, 200),
    "seconds": Parameter(25.0, "s", "how long each flow sends", 10, 600),
}
ROUND_TRIP_MS = 200.0
# Of the queue: a round trip. At the defaults each flow has 1.7 packets in it, and as many on the way.
ROOM_S = 0.2
# Each may have more than its share, and nobody may need the system's memory.
WINDOW_BYTES = 60_000
BLOCK_BYTES = 4_096
# What waits in the socket of a flow that has met many losses at once leaves at a packet in a second or less.
LAST_PACKETS_S = 300.0
# All have started after two seconds, whatever their number.
START_WITHIN_S = 2.0
SETTLE_S = 5.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One pair of hosts."""
    rate_bit_s = round(values["rate_mbit"] * 1e6)
    gap_s = START_WITHIN_S / values["flows"]
    flows = staggered(values["flows"], cc, values["seconds"], gap_s, seed, gap_s, pairs=1)
    return Plan(
        dumbbell(qdisc, rate_bit_s, [ROUND_TRIP_MS], round(rate_bit_s * ROOM_S / 8 / STOCK_MTU_BYTES)),
        tuple(replace(flow, window_bytes=WINDOW_BYTES, unsent_bytes=BLOCK_BYTES) for flow in flows),
        hash_seed=seed,
        settle_s=SETTLE_S,
        seconds=START_WITHIN_S + values["seconds"] + LAST_PACKETS_S,
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """That the kernel complains of nothing is checked of every run."""
    return [Check("utilisation", ">=", 0.97), Check("jain", ">=", 0.85)]
