# SPDX-License-Identifier: GPL-2.0
"""Flows, a dumbbell and limits that scenarios have in common.

The limits refuse what would run and mean nothing: a guest whose CPU is the bottleneck,
shares for which trains are made shorter, cross flows whose windows do not fill their part of the path.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import distributions
from .devices import LEAVES
from .errors import PlanError, in_range
from .plan import MAX_FLOWS, TCP_HEADER_BYTES, Flow, Plan
from .topologies import topology
from .topology import STOCK_MTU_BYTES, Topology

FULL_PACKET_BYTES = STOCK_MTU_BYTES
# Of applications whose copying must not hold up the guest's one CPU.
BLOCK_BYTES = 16384
# Of the same: who fills a buffer copies a third of it at a time, up to a megabyte, in which time neither is
# the shaper served nor an ACK taken.
UNSENT_BYTES = 2 * BLOCK_BYTES
# 10,000 packets a second through a dumbbell are a quarter of the guest's CPU.
MAX_PACKETS_S = 20_000
# Below some 0.4 Mbit/s of full packets tcp_pktpair sends trains of less than four segments.
LEAST_SHARE_BIT_S = 500_000
# What a socket gets at most, whatever it asks for: net.core.wmem_max and rmem_max, which are the whole machine's.
MAX_WINDOW_BYTES = 212_992
# A flow whose window is so many times its part of the path always has packets in the bottleneck's queue.
WINDOW_OVER_PIPE = 2


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
        mtu_bytes=packet_bytes if qdisc in LEAVES else STOCK_MTU_BYTES,
    )


def staggered(
    count: int, cc: str, seconds: float, stagger_s: float, seed: int, jitter_s: float, pairs: int | None = None
) -> tuple[Flow, ...]:
    """Flows that start one after another, each up to jitter_s later by the seed.

    They connect when they start: what a sender has learnt of its path is as old as its connection.
    """
    in_range("count", count, 1, MAX_FLOWS)
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


def drawn(
    count: int,
    cc: str,
    *,
    sizes: Mapping[str, Any],
    gaps: Mapping[str, Any],
    seed: int,
    pairs: int = 1,
    first_s: float = 0.0,
    prefix: str = "f",
) -> tuple[Flow, ...]:
    """Files of random sizes that start at random moments, each on a connection of its own.

    Sizes and gaps are drawn apart: with other sizes the moments stay.

    :param sizes: distribution of bytes (``distributions.of``); a file has at least one
    :param gaps: distribution of seconds from ``first_s`` to the first flow's start, and from each start to the next
    :param pairs: hosts s1 and d1 to so many, which take turns
    :param prefix: of names: f1, f2, ...
    """
    in_range("count", count, 1, MAX_FLOWS)
    in_range("pairs", pairs, 1)
    size_of, gap_of = distributions.of(sizes), distributions.of(gaps)
    for_sizes, for_gaps = random.Random(f"sizes {seed}"), random.Random(f"gaps {seed}")
    found, start_s = [], first_s
    for i in range(count):
        start_s += gap_of(for_gaps)
        pair = i % pairs + 1
        found.append(
            Flow(
                name=f"{prefix}{i + 1}",
                source=f"s{pair}",
                sink=f"d{pair}",
                cc=cc,
                start_s=round(start_s, 6),
                bytes=max(1, round(size_of(for_sizes))),
                connects="start",
            )
        )
    return tuple(found)


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


def among_backlogged(
    count: int,
    cc: str,
    seconds: float,
    seed: int,
    *,
    window_bytes: int,
    first_s: float = 0.0,
    packet_bytes: int = 0,
    other_packet_bytes: int = 0,
) -> tuple[Flow, ...]:
    """One flow from the first host, ``first_s`` later the first of ``count`` in all, and CUBIC flows from the second.

    The others' ``window_bytes``, several times their share of the pipe, keep them
    backlogged for as long as the first one sends (``check_backlogged``).
    """
    first, *others = (
        replace(flow, write_bytes=BLOCK_BYTES, unsent_bytes=UNSENT_BYTES)
        for flow in staggered(count, cc, seconds, 0, seed, 0.001, 1)
    )
    return (
        replace(first, start_s=first.start_s + first_s, packet_bytes=packet_bytes),
        *(
            replace(
                flow,
                source="s2",
                sink="d2",
                cc="cubic",
                start_s=flow.start_s + first_s / 2,
                seconds=seconds + first_s,
                window_bytes=window_bytes,
                packet_bytes=other_packet_bytes,
            )
            for flow in others
        ),
    )


def check_packet_rate(rate_mbit: float, packet_bytes: int, bottlenecks: int = 1) -> None:
    """PlanError if the guest's CPU would be what is measured.

    :param bottlenecks: so many of this rate
    """
    packets_s = rate_mbit * 1e6 / 8 / packet_bytes * bottlenecks
    if packets_s > MAX_PACKETS_S:
        at_each = f" at each of {bottlenecks} bottlenecks" if bottlenecks > 1 else ""
        raise PlanError(
            f"rate_mbit {rate_mbit}{at_each}: {packets_s:.0f} packets of {packet_bytes} bytes a second: must be at most"
            f" {MAX_PACKETS_S}, which keep the guest's CPU half busy"
        )


def check_share(rate_mbit: float, flows: int) -> None:
    """PlanError if a flow's share is so small that its trains are shorter."""
    if rate_mbit * 1e6 / flows < LEAST_SHARE_BIT_S:
        raise PlanError(
            f"rate_mbit {rate_mbit} for {flows} flows: must be at least {LEAST_SHARE_BIT_S / 1e6:g} Mbit/s a flow"
        )


def check_backlogged(
    rate_mbit: float, round_trip_ms: float, flows: int, window_bytes: int, packet_bytes: int, buffer_packets: int
) -> None:
    """PlanError if the flows other than the first would not always be backlogged, or lose packets.

    :param packet_bytes: of the others
    """
    if flows < 2:
        return
    window_bytes = min(window_bytes, MAX_WINDOW_BYTES)
    pipe_bytes = rate_mbit * 1e6 / 8 * round_trip_ms / 1e3 / flows
    if pipe_bytes * WINDOW_OVER_PIPE > window_bytes:
        raise PlanError(
            f"rate_mbit {rate_mbit}, round_trip {round_trip_ms} ms: a flow's part of the path is {pipe_bytes:.0f}"
            f" bytes: must be at most {window_bytes // WINDOW_OVER_PIPE}, or the others are not always backlogged"
        )
    packets = (flows - 1) * window_bytes / (packet_bytes - TCP_HEADER_BYTES)
    if packets > buffer_packets:
        raise PlanError(
            f"{flows} flows: the others' windows are {packets:.0f} packets: must be at most {buffer_packets},"
            " or the queue overflows"
        )
