# SPDX-License-Identifier: GPL-2.0
"""Sources that are on and off at an overloaded link, as Keshav and Morgan (1995) have them.

A source makes a message at the rate of the bottleneck. When all of it is acknowledged, the source
is off for a while, and begins anew: a closed model. Numbers of equations are the paper's.

The load of a source, r1, is the part of the link that it uses alone; the load of all of them is
their sum, and may be several times the link's rate.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .errors import PlanError
from .plan import Exchange

SOURCES = 10
PACKET_BYTES, ACK_BYTES = 500, 40
SOURCE_BIT_S, ACCESS_BIT_S, BACKBONE_BIT_S = 2_000_000_000, 80_952_000, 8_095_200
BACKBONE_DELAY_S = 0.024706
# Eq (4): on for so many round trips in the mean.
ON_ROUND_TRIPS = 2
# Eq (8): intervals of which the mean is taken, and eq (9): what the bars are made of.
INTERVALS = 20
BAR_SIGMAS = 1.96
# Table 1: cells of 53 bytes reproduce its column; the paper does not say it.
CELL_BITS = 424
# A packet for each connection on the wire at the bottleneck and one behind it.
LEAST_PACKETS_OF_A_CONNECTION = 2
BUFFERS = ("0.25", "0.5", "1")


def round_trip_s() -> float:
    """Eq (3): from the head of a packet at the source until the tail of its ACK is there."""
    bits = 8 * (PACKET_BYTES + ACK_BYTES)
    return bits * (1 / SOURCE_BIT_S + 1 / ACCESS_BIT_S + 1 / BACKBONE_BIT_S) + 2 * BACKBONE_DELAY_S


def packet_s() -> float:
    """A packet's time on the backbone, and between two that a source makes (eq 2)."""
    return 8 * PACKET_BYTES / BACKBONE_BIT_S


def window_packets() -> float:
    """What a round trip holds."""
    return round_trip_s() / packet_s()


def mean_on_s() -> float:
    """Eq (4)."""
    return ON_ROUND_TRIPS * round_trip_s()


def mean_message_packets() -> float:
    """Eq (5), without the factor that its left side has too many."""
    return mean_on_s() / packet_s()


def mean_off_s(load: float) -> float:
    """Eq (6), solved for the time off; PlanError at what eq (7) excludes.

    :param load: of one source
    """
    most = mean_on_s() / (mean_on_s() + round_trip_s())
    if not 0 < load < most:
        raise PlanError(f"load {load:g} of a source: must be above 0 and below {most:.4f}")
    return mean_on_s() / load - mean_on_s() - round_trip_s()


def load_of(on_s: float, off_s: float) -> float:
    """Eq (6)."""
    return on_s / (on_s + round_trip_s() + off_s)


def buffer_packets(windows: float) -> int:
    """A buffer in whole packets."""
    return round(windows * window_packets())


def window_of(rate_bit_s: float, path_s: float = 0.05) -> tuple[float, float]:
    """Table 1: a round-trip window in bits and in cells."""
    return rate_bit_s * path_s, rate_bit_s * path_s / CELL_BITS


def least_buffer_windows() -> float:
    """What two packets for each connection are, in windows."""
    return LEAST_PACKETS_OF_A_CONNECTION * SOURCES / window_packets()


@dataclass(frozen=True)
class Mean:
    """Of one point of a curve: eq (8), and half of its bar by eq (9)."""

    mean: float
    bar: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of the intervals' values, two at least."""
        n = len(values)
        mean = math.fsum(values) / n
        variance = math.fsum((value - mean) ** 2 for value in values) / (n * (n - 1))
        return cls(mean, BAR_SIGMAS * math.sqrt(variance), n)


def messages(load: float, seconds: float, seed: int, source: int, payload_bytes: int) -> tuple[float, list[Exchange]]:
    """When a source begins, and its messages with the time off after each: what lasts so long if it is alone.

    Times on are geometric, since a message is whole packets, and times off are exponential. It
    begins after a time off. The same numbers are drawn for each load.

    :param load: of one source
    :param source: its number
    :param payload_bytes: of a packet
    """
    on, off = random.Random(f"on {seed} {source}"), random.Random(f"off {seed} {source}")
    mean_s = mean_off_s(load)
    start_s = time_s = mean_s * off.expovariate(1.0)
    drawn: list[Exchange] = []
    sizes = _geometric(on, mean_message_packets())
    while time_s < seconds or not drawn:
        packets, think_s = next(sizes), mean_s * off.expovariate(1.0)
        drawn.append(Exchange(1, packets * payload_bytes, round(think_s, 9)))
        time_s += packets * packet_s() + round_trip_s() + think_s
    return round(start_s, 9), drawn


def _geometric(generator: random.Random, mean: float) -> Iterator[int]:
    """Whole numbers from 1 on, for ever."""
    logarithm = math.log1p(-1 / mean)
    while True:
        yield 1 + int(math.log(1 - generator.random()) / logarithm)
