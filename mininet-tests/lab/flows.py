# SPDX-License-Identifier: GPL-2.0
"""What scenarios on the dumbbell have in common: its topology, and flows that share its bottleneck."""

from __future__ import annotations

import random
from collections.abc import Sequence

from .benchmarks import IN_BUCKET
from .model.errors import PlanError
from .model.plan import Flow, Plan
from .model.topology import STOCK_MTU_BYTES, Topology
from .topologies import topology

# Of applications whose copying must not hold up the guest's one CPU.
BLOCK_BYTES = 16384


def dumbbell(
    qdisc: str,
    rate_bit_s: int,
    delays_ms: Sequence[float],
    limit_packets: int,
    packet_bytes: int = STOCK_MTU_BYTES,
    options: str = "",
) -> Topology:
    """The dumbbell with a pair of hosts for each of the round trips.

    :param packet_bytes: largest IP datagram: a bucket has room for one
    :param options: further ones of the queue
    """
    return topology(
        "dumbbell",
        pairs=len(delays_ms),
        rate_mbit=rate_bit_s / 1e6,
        queue=qdisc,
        limit_packets=limit_packets,
        options=options,
        delays_ms=list(delays_ms),
        mtu_bytes=packet_bytes if qdisc in IN_BUCKET else STOCK_MTU_BYTES,
    )


def staggered(
    count: int, cc: str, seconds: float, stagger_s: float, seed: int, jitter_s: float, pairs: int | None = None
) -> tuple[Flow, ...]:
    """Flows that start one after another, each up to jitter_s later by the seed.

    They connect when they start: what a sender has learnt of its path is as old as its connection.
    """
    random_of_seed = random.Random(seed)
    return tuple(
        Flow(
            name=f"f{i + 1}",
            source=f"s{i % (pairs or count) + 1}",
            sink=f"d{i % (pairs or count) + 1}",
            cc=cc,
            start_s=round(i * stagger_s + random_of_seed.random() * jitter_s, 6),
            seconds=seconds,
            connects="start",
        )
        for i in range(count)
    )


def measured(plan: Plan) -> Plan:
    """The plan; PlanError if there is no time in which all its flows send."""
    if plan.window_s is None:
        last_s = max(flow.start_s for flow in plan.flows)
        end_s = min(flow.start_s + flow.seconds for flow in plan.flows)
        raise PlanError(
            f"nothing would be measured: the last flow starts at {last_s:g} s, the first ends at {end_s:g} s,"
            f" and {plan.settle_s:g} s are left out after a start"
        )
    return plan
