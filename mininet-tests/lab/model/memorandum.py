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
# The memorandum does not state it. In the paper of 1995, which has the same loads, sources are on for so long.
ON_ROUND_TRIPS = 2


def seconds(packets: float) -> float:
    """Packet times, as seconds."""
    return packets * PACKET_S


def mean_off_packets(load: float) -> float:
    """Between two messages of one source, from the last ACK on, if it has this part of the link while it is alone.

    PlanError where not even a source that is never off has it.
    """
    on, wait = ON_ROUND_TRIPS * ROUND_TRIP_PACKETS, ROUND_TRIP_PACKETS
    most = on / (on + wait)
    if not 0 < load < most:
        raise PlanError(f"load {load:g} of a source: must be above 0 and below {most:.4f}")
    return on / load - on - wait


def messages(load: float, seed: int, source: int) -> tuple[float, list[Exchange]]:
    """When a source begins, and its messages with the time off after each, SOURCE_PACKETS in all.

    Times on and off are exponential; a message has a whole number of packets, one at least. The same
    numbers are drawn for each load.

    :param load: of one source
    """
    on, off = random.Random(f"on {seed} {source}"), random.Random(f"off {seed} {source}")
    mean_s = seconds(mean_off_packets(load))
    start_s, left, drawn = round(mean_s * off.expovariate(1.0), 9), SOURCE_PACKETS, []
    while left:
        packets = min(left, max(1, round(ON_ROUND_TRIPS * ROUND_TRIP_PACKETS * on.expovariate(1.0))))
        drawn.append(Exchange(1, packets * PAYLOAD_BYTES, round(mean_s * off.expovariate(1.0), 9)))
        left -= packets
    return start_s, drawn
