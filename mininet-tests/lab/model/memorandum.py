# SPDX-License-Identifier: GPL-2.0
"""The network and the sources of packet-pair-1994, sections 9.1 to 9.3.

All of its times are in packet times at the bottleneck: a round trip is 100. Here a packet time is that of
the row "WAN" of its table 3, 6.7 Mbit/s. Of that row's round trip, 60 ms, this is 59.7 ms.
"""

from __future__ import annotations

import random

from .errors import PlanError
from .plan import TCP_HEADER_BYTES, Exchange

PACKET_BYTES = 500
PAYLOAD_BYTES = PACKET_BYTES - TCP_HEADER_BYTES
RATE_BIT_S = 6_700_000
PACKET_S = PACKET_BYTES * 8 / RATE_BIT_S
ROUND_TRIP_PACKETS = 100
BUFFER_PACKETS = 100
SOURCES = 10
# Section 9.3: packets of each source, and the loads of all of them.
SOURCE_PACKETS = 2000
LOADS = (0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 5.0)
# The memorandum states neither how many packets a source makes while it is on, nor how fast. In the paper of 1995,
# which has the same loads, it is what the link carries in so many round trips ...
ON_ROUND_TRIPS = 2
# ... and made at twice the source's mean rate, so that a source is on for half of its time; or at the link's rate.
TWICE, LINK = "twice", "link"
ON_RATES = (TWICE, LINK)


def seconds(packets: float) -> float:
    """Packet times, as seconds."""
    return packets * PACKET_S


def gap_packets(load: float, on_rate: str) -> float:
    """Between two packets of one source that is on, in packet times; PlanError for a load that is none.

    :param load: of one source
    :param on_rate: one of ON_RATES; none is faster than the link
    """
    if load <= 0:
        raise PlanError(f"load {load:g} of a source: must be above 0")
    return max(1.0, 1 / (2 * load)) if on_rate == TWICE else 1.0


def mean_off_packets(load: float, is_open: bool = False, on_rate: str = LINK) -> float:
    """Between two messages of one source, if it has this part of the link while it is alone.

    PlanError where not even a source that is never off has it.

    :param is_open: from its last packet on; else from the last ACK on, a round trip later
    """
    packets = ON_ROUND_TRIPS * ROUND_TRIP_PACKETS
    on, wait = packets * gap_packets(load, on_rate), 0 if is_open else ROUND_TRIP_PACKETS
    most = packets / (on + wait)
    if not load < most:
        raise PlanError(f"load {load:g} of a source: must be above 0 and below {most:.4f}")
    return packets / load - on - wait


def _drawn(mean_off_s: float, seed: int, source: int) -> tuple[float, list[tuple[int, float]]]:
    """When a source begins, and the packets of each of its messages with the time off after it.

    SOURCE_PACKETS in all. Times on and off are exponential; a message has a whole number of packets, one at
    least. The same numbers are drawn for each mean.
    """
    on, off = random.Random(f"on {seed} {source}"), random.Random(f"off {seed} {source}")
    start_s, left, told = round(mean_off_s * off.expovariate(1.0), 9), SOURCE_PACKETS, []
    while left:
        packets = min(left, max(1, round(ON_ROUND_TRIPS * ROUND_TRIP_PACKETS * on.expovariate(1.0))))
        told.append((packets, round(mean_off_s * off.expovariate(1.0), 9)))
        left -= packets
    return start_s, told


def messages(load: float, seed: int, source: int, on_rate: str) -> tuple[float, list[Exchange]]:
    """When a closed source begins, and its messages with the time off after each.

    :param load: of one source
    :param on_rate: one of ON_RATES
    """
    start_s, told = _drawn(seconds(mean_off_packets(load, on_rate=on_rate)), seed, source)
    return start_s, [Exchange(1, packets * PAYLOAD_BYTES, off_s) for packets, off_s in told]


def writes(load: float, seed: int, source: int, on_rate: str, at_once: int = 1) -> tuple[float, list[float]]:
    """When an open source begins, and how long after that it hands over its packets, in seconds.

    The time off begins with the last one of a message, whatever the network does.

    :param load: of one source
    :param on_rate: one of ON_RATES
    :param at_once: packets, which wait for the last of them; the source's all are a multiple
    """
    start_s, told = _drawn(seconds(mean_off_packets(load, True, on_rate)), seed, source)
    at_s, made, gap_s = 0.0, [], seconds(gap_packets(load, on_rate))
    for packets, off_s in told:
        made += [round(at_s + number * gap_s, 9) for number in range(packets)]
        at_s += packets * gap_s + off_s
    return start_s, made[at_once - 1 :: at_once]
