# SPDX-License-Identifier: GPL-2.0
"""The Hurst parameter of a series, by its variation over time scales.

A series of counts whose correlation falls off as a power has a variance of its wavelet details that grows by
2H - 1 with the binary logarithm of the scale (Abry and Veitch, 1998). Haar's wavelet sees no constant, so a mean that
is not zero does no harm; a trend does. numpy has no wavelets, and Haar's are differences of means.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..model.errors import PlanError

Floats = NDArray[np.float64]
# Details that a scale needs for its variance to mean something.
LEAST_DETAILS = 8


def detail_variances(series: Floats) -> tuple[list[float], list[int]]:
    """Mean squares of Haar's details, octave by octave, and how many details each is of."""
    means, found, counts = np.asarray(series, dtype=float), [], []
    while len(means) // 2 >= LEAST_DETAILS:
        pairs = means[: len(means) // 2 * 2].reshape(-1, 2)
        # orthonormal: white noise has the same variance on each scale
        found.append(float(np.mean((pairs[:, 0] - pairs[:, 1]) ** 2) / 2))
        counts.append(len(pairs))
        means = pairs.sum(axis=1) / math.sqrt(2)
    return found, counts


def hurst(series: Floats, first_octave: int = 0) -> float:
    """H: half of the slope over octaves and 1, weighted by how many details an octave has; PlanError if too short.

    :param first_octave: scales below are left out, as where packets are seen one by one
    """
    variances, counts = detail_variances(series)
    octaves = np.arange(len(variances))[first_octave:]
    if len(octaves) < 3:
        least = LEAST_DETAILS * 2 ** (first_octave + 3)
        raise PlanError(f"a series of {len(series)}: must have at least {least} values for its Hurst parameter")
    logarithms = np.log2(np.maximum(variances[first_octave:], 1e-300))
    # a logarithm's deviation falls off as the root of its count, which polyfit's weights multiply
    slope = np.polyfit(octaves, logarithms, 1, w=np.sqrt(counts[first_octave:]))[0]
    return float((slope + 1) / 2)


def coefficients_of_variation(counts: Floats, scales: tuple[int, ...]) -> list[float | None]:
    """Deviation over mean of sums of 2^s values, for each scale s; None where there are fewer than two sums."""
    found: list[float | None] = []
    for scale in scales:
        sums = counts[: len(counts) >> scale << scale].reshape(-1, 1 << scale).sum(axis=1)
        found.append(float(sums.std() / sums.mean()) if len(sums) > 1 and sums.mean() else None)
    return found
