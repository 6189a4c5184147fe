# SPDX-License-Identifier: GPL-2.0
"""Random numbers by the name of their distribution: sizes of flows, gaps between them.

All of them come from a generator that the caller has seeded, and so are the same everywhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from .errors import PlanError

Draw = Callable[[random.Random], float]


def constant(value: float) -> Draw:
    """Always the same."""
    _positive("value", value)
    return lambda _: value


def exponential(mean: float) -> Draw:
    """As of gaps between independent events."""
    rate = 1 / _positive("mean", mean)
    return lambda generator: generator.expovariate(rate)


def pareto(shape: float, least: float, most: float) -> Draw:
    """Pareto's between two bounds, by its inverse: most numbers are small, most of the sum is of few.

    With q = (least / most)^shape, the part of numbers above x is ((least / x)^shape - q) / (1 - q): 1 at
    ``least``, 0 at ``most``.
    """
    _ordered(least, most)
    beyond = (least / most) ** _positive("shape", shape)
    return lambda generator: least * (1 - generator.random() * (1 - beyond)) ** (-1 / shape)


def pareto_mean(shape: float, least: float, most: float) -> float:
    """Of ``pareto``, by its density; the shape is not 1."""
    _ordered(least, most)
    inside = 1 - (least / most) ** _positive("shape", shape)
    return least * shape / (shape - 1) * (1 - (least / most) ** (shape - 1)) / inside


def lognormal(median: float, sigma: float, most: float) -> Draw:
    """The logarithm is normal, with deviation ``sigma``; what were more than ``most`` is ``most``."""
    _ordered(median, most)
    _positive("sigma", sigma)
    return lambda generator: min(most, generator.lognormvariate(math.log(median), sigma))


DISTRIBUTIONS: dict[str, Callable[..., Draw]] = {
    "constant": constant,
    "exponential": exponential,
    "pareto": pareto,
    "lognormal": lognormal,
}


def of(distribution: Mapping[str, Any]) -> Draw:
    """What ``{"distribution": NAME, argument: value, ...}`` describes; PlanError names what is unknown."""
    arguments = dict(distribution)
    name = arguments.pop("distribution", None)
    if name not in DISTRIBUTIONS:
        raise PlanError(f"distribution {name}: must be one of {', '.join(DISTRIBUTIONS)}")
    try:
        return DISTRIBUTIONS[name](**arguments)
    except (PlanError, TypeError, ArithmeticError) as error:
        raise PlanError(f"distribution {name}: {error}") from None


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise PlanError(f"{name} {value}: must be above 0, and finite")
    return value


def _ordered(low: float, high: float) -> None:
    if not 0 < low < high < math.inf:
        raise PlanError(f"{low:g} to {high:g}: must be two finite numbers above 0, the lower one first")
