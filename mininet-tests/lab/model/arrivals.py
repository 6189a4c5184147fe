# SPDX-License-Identifier: GPL-2.0
"""Arrival times of uncontrolled sources.

Used twice on the same numbers: by the guest, which sends at these moments, and
by the reference, which serves what arrives at them.  Times are nanoseconds from
the beginning of the run.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from .errors import PlanError
from .typed import MAX_SECONDS, Range, Seconds, check_arguments

SECOND_NS = 1_000_000_000
# From one packet in a run to ten times what the guest's CPU can send.
Rate = Annotated[float, Range(1e-6, 1e7)]


def poisson(rate_packets_s: Rate, start_s: Seconds, seed: str) -> Iterator[int]:
    """Exponential gaps with the given mean rate, for ever (packet-pair-1994, 9.4.7).

    :param seed: any text; the same text gives the same arrivals everywhere
    """
    gaps = random.Random(seed)
    moment_ns = start_s * SECOND_NS
    while True:
        moment_ns += gaps.expovariate(rate_packets_s) * SECOND_NS
        yield round(moment_ns)


def on_off(
    rate_packets_s: Rate, start_s: Seconds, on_s: Annotated[float, Range(1e-9, MAX_SECONDS)], off_s: Seconds
) -> Iterator[int]:
    """Evenly spaced packets while on, none while off, for ever (packet-pair-1994, 9.4.9).

    The spacing goes on where the last burst stopped, so that the mean rate is
    exactly ``rate * on / (on + off)`` even if a burst is no whole number of packets.
    """
    sent = 0
    while True:
        busy_s = sent / rate_packets_s
        bursts = int(busy_s / on_s + 1e-9)
        yield round((start_s + busy_s + bursts * off_s) * SECOND_NS)
        sent += 1


def constant(rate_packets_s: Rate, start_s: Seconds = 0.0) -> Iterator[int]:
    """Evenly spaced packets, for ever."""
    sent = 0
    while True:
        yield round((start_s + sent / rate_packets_s) * SECOND_NS)
        sent += 1


def listed(times_s: Sequence[Seconds]) -> Iterator[int]:
    """Packets at given times, in any order."""
    for time_s in sorted(times_s):
        yield round(time_s * SECOND_NS)


MODELS: dict[str, Callable[..., Iterator[int]]] = {
    "poisson": poisson,
    "on_off": on_off,
    "constant": constant,
    "listed": listed,
}


def of(model: Mapping[str, Any]) -> Iterator[int]:
    """The arrivals that ``{"model": NAME, argument: value, ...}`` describes; PlanError names what is unknown."""
    arguments = dict(model)
    name = arguments.pop("model", None)
    if name not in MODELS:
        raise PlanError(f"arrivals {name}: must be one of {', '.join(MODELS)}")
    check_arguments(f"arrivals {name}", MODELS[name], arguments)
    try:
        return MODELS[name](**arguments)
    except TypeError as error:
        raise PlanError(f"arrivals {name}: {error}") from None


def until(times_ns: Iterable[int], end_ns: int) -> list[int]:
    """The arrivals before a moment."""
    return list(itertools.takewhile(lambda time_ns: time_ns < end_ns, times_ns))
