# SPDX-License-Identifier: GPL-2.0
"""Arrival times of uncontrolled sources.

Used twice on the same numbers: by the guest, which sends at these moments, and
by the reference, which serves what arrives at them.  Times are nanoseconds from
the beginning of the run.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from . import distributions
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


def markov_on_off(
    rate_packets_s: Rate,
    start_s: Seconds,
    mean_on_s: Annotated[float, Range(1e-9, MAX_SECONDS)],
    mean_off_s: Seconds,
    seed: str,
) -> Iterator[int]:
    """Exponential times on, with evenly spaced packets, and off, for ever (qlbp-2011, III-B2). It begins with one off.

    The spacing goes on where the last burst stopped, as of ``on_off``.

    :param seed: any text; the same text gives the same arrivals everywhere
    """
    return _bursts(
        rate_packets_s, start_s, _exponential(mean_on_s, f"on {seed}"), _exponential(mean_off_s, f"off {seed}")
    )


def self_similar(
    rate_packets_s: Rate,
    start_s: Seconds,
    sources: Annotated[int, Range(1, 1000)],
    least_on_s: Annotated[float, Range(1e-9, MAX_SECONDS)],
    least_off_s: Annotated[float, Range(1e-9, MAX_SECONDS)],
    most_s: Annotated[float, Range(1e-9, MAX_SECONDS)],
    hurst: Annotated[float, Range(0.501, 0.999)],
    seed: str,
) -> Iterator[int]:
    """Superposed sources whose times on and off are Pareto's, each with evenly spaced packets while it is on, for ever.

    Times of the shape 3 - 2H, in all of its sources, make a rate whose correlation falls off as that of the
    Hurst parameter H (Taqqu, Willinger, Sherman, 1997), on scales from ``least_on_s`` to ``most_s``, which no
    time exceeds. The sources begin ``most_s`` before the first arrival, so that they are spread when it comes.

    :param rate_packets_s: of a source that is on
    :param seed: any text; the same text gives the same arrivals everywhere
    """
    shape = 3 - 2 * hurst
    of_each = []
    for number in range(sources):
        on = _pareto(shape, least_on_s, most_s, f"on {number} {seed}")
        off = _pareto(shape, least_off_s, most_s, f"off {number} {seed}")
        of_each.append(_bursts(rate_packets_s, start_s - most_s, on, off))
    begin_ns = round(start_s * SECOND_NS)
    return itertools.dropwhile(lambda time_ns: time_ns < begin_ns, heapq.merge(*of_each))


def _exponential(mean: float, seed: str) -> Iterator[float]:
    generator = random.Random(seed)
    while True:
        yield mean * generator.expovariate(1.0)


def _pareto(shape: float, least: float, most: float, seed: str) -> Iterator[float]:
    draw, generator = distributions.pareto(shape, least, most), random.Random(seed)
    while True:
        yield draw(generator)


def _bursts(rate_packets_s: float, start_s: float, on_s: Iterator[float], off_s: Iterator[float]) -> Iterator[int]:
    """Packets while on; the first time is one off."""
    begin_s, owed_s = start_s, 0.0
    for lasts_s, pause_s in zip(on_s, off_s, strict=False):
        begin_s += pause_s
        while owed_s < lasts_s:
            yield round((begin_s + owed_s) * SECOND_NS)
            owed_s += 1 / rate_packets_s
        owed_s -= lasts_s
        begin_s += lasts_s


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


def _markov_part_on(model: Mapping[str, Any]) -> float:
    return float(model["mean_on_s"] / (model["mean_on_s"] + model["mean_off_s"]))


def _self_similar_part_on(model: Mapping[str, Any]) -> float:
    on, off = (
        distributions.pareto_mean(3 - 2 * model["hurst"], model[least], model["most_s"])
        for least in ("least_on_s", "least_off_s")
    )
    return float(model["sources"] * on / (on + off))


# Of models that draw their times: how many sources are on in the mean.
PARTS_ON: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "markov_on_off": _markov_part_on,
    "self_similar": _self_similar_part_on,
}
MODELS: dict[str, Callable[..., Iterator[int]]] = {
    "poisson": poisson,
    "on_off": on_off,
    "markov_on_off": markov_on_off,
    "self_similar": self_similar,
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
