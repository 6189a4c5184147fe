# SPDX-License-Identifier: GPL-2.0
"""A mean over seeds and how far it can be trusted."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
# Halvings of an interval until a quantile is exact to a double's digits.
BISECTIONS = 60


@dataclass(frozen=True)
class Interval:
    """A mean; with ``confidence`` the true one is at most ``half`` away.

    :param half: in the unit of the mean; None for a single value, of which nothing is known
    """

    mean: float
    half: float | None
    n: int


def interval(values: Sequence[float]) -> Interval:
    """Of at least one value, by Student's t, at 95 %."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Interval(mean, t_quantile(n - 1) * deviation / math.sqrt(n), n)


@functools.cache
def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t of which so large a part of the distribution is nearer to 0.

    :param freedom: degrees of it, at least 1
    """
    low, high = 0.0, 1.0
    while central(high, freedom) < confidence:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if central(middle, freedom) < confidence else (low, middle)
    return high


def central(t: float, freedom: int) -> float:
    """The part of Student's distribution within -t and t, for a whole number of degrees of freedom.

    Finite sums: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
