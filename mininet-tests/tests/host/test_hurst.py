# SPDX-License-Identifier: GPL-2.0
"""The Hurst parameter of series of which it is known, and of the synthetic source."""

import numpy as np
import pytest
from lab.analyse.hurst import coefficients_of_variation, hurst
from lab.model import arrivals, distributions, qlbp
from lab.model.errors import PlanError
from numpy.typing import NDArray

LENGTH = 1 << 16


def fractional_noise(exact: float, seed: int) -> NDArray[np.float64]:
    """Gaussian noise of this H: a circulant with its autocovariance has a spectrum, which white noise is given."""
    lags = np.arange(LENGTH + 1, dtype=float)
    covariance = ((lags + 1) ** (2 * exact) - 2 * lags ** (2 * exact) + np.abs(lags - 1) ** (2 * exact)) / 2
    spectrum = np.fft.fft(np.concatenate((covariance, covariance[-2:0:-1]))).real
    assert spectrum.min() > -1e-9
    generator = np.random.default_rng(seed)
    white = generator.normal(size=2 * LENGTH) + 1j * generator.normal(size=2 * LENGTH)
    return np.fft.fft(np.sqrt(np.maximum(spectrum, 0) / (2 * LENGTH)) * white).real[:LENGTH]


@pytest.mark.parametrize("exact", [0.5, 0.7, 0.8, 0.95])
def test_a_series_of_known_h(exact: float) -> None:
    """Within 0.03, which is three deviations of 65,536 values; a mean and a factor change nothing."""
    series = fractional_noise(exact, 1)
    assert hurst(series) == pytest.approx(exact, abs=0.03)
    assert hurst(100 + 7 * series) == pytest.approx(hurst(series), abs=1e-6)
    assert hurst(series, 2) == pytest.approx(exact, abs=0.05)


def test_the_variation_falls_off_by_h() -> None:
    """Aggregates of 2^s values vary as 2^(s (H - 1))."""
    found = coefficients_of_variation(100 + fractional_noise(0.8, 2), (0, 4, 8))
    assert np.log2(found[2] / found[0]) == pytest.approx(8 * -0.2, abs=0.15)
    assert coefficients_of_variation(np.ones(7), (2, 3)) == [None, None]


def test_too_short_a_series_is_refused() -> None:
    with pytest.raises(PlanError, match="a series of 100: must have at least 1024 values"):
        hurst(np.ones(100), 4)


def test_the_synthetic_source() -> None:
    """Its H, rates and least and greatest second are about those of the paper's trace."""
    model = {**qlbp.TRACE_SOURCE, "start_s": 0.0, "seed": "test"}
    bursts = np.array(arrivals.until(arrivals.of(model), 400 * 10**9)) / 1e9
    counts = np.histogram(bursts, np.arange(0, 400 + 1e-9, qlbp.BASE_SCALE_S))[0] * float(qlbp.TRACE_BURST_PACKETS)
    assert hurst(counts, qlbp.TRACE_FIRST_OCTAVE) == pytest.approx(qlbp.TRACE_HURST, abs=0.08)
    rate = counts.mean() * qlbp.PACKET_BITS / qlbp.BASE_SCALE_S
    assert rate == pytest.approx(qlbp.TRACE_MEAN_BIT_S, rel=0.15)
    assert np.all(np.diff(bursts) >= 0) and bursts[0] >= 0
    again = arrivals.until(arrivals.of(model), 10**9)
    assert again == [round(one * 1e9) for one in bursts[bursts < 1]]
    assert again != arrivals.until(arrivals.of({**model, "seed": "other"}), 10**9)


def test_a_source_of_poisson_bursts_has_no_memory() -> None:
    model = {"model": "poisson", "rate_packets_s": 250.0, "start_s": 0.0, "seed": "test"}
    times_s = np.array(arrivals.until(arrivals.of(model), 200 * 10**9)) / 1e9
    counts = np.histogram(times_s, np.arange(0, 200 + 1e-9, 0.005))[0].astype(float)
    assert hurst(counts, 4) == pytest.approx(0.5, abs=0.1)


def test_markov_source() -> None:
    """On a third of the time, for 0.1 s in the mean; at its peak rate while it is on."""
    model = {
        **{"model": "markov_on_off", "rate_packets_s": 250.0, "start_s": 1.0, "seed": "test"},
        **{"mean_on_s": 0.1, "mean_off_s": 0.2},
    }
    times_s = np.array(arrivals.until(arrivals.of(model), 1001 * 10**9)) / 1e9
    assert len(times_s) / 1000 == pytest.approx(250 / 3, rel=0.03)
    gaps = np.diff(times_s)
    assert gaps.min() == pytest.approx(0.004, abs=1e-8)
    pauses = gaps[gaps > 0.0041]
    # nearly all of 1000 / 0.3 periods are seen; those without a packet join their neighbours' pauses
    assert len(pauses) == pytest.approx(1000 / 0.3, rel=0.1)
    assert pauses.mean() == pytest.approx(0.2, rel=0.1)


def test_the_mean_of_a_bounded_pareto() -> None:
    """By a sum over its quantiles."""
    shape, least, most = 1.1, 0.002, 5.0
    places = (np.arange(200_000) + 0.5) / 200_000
    beyond = (least / most) ** shape
    values = least * (1 - places * (1 - beyond)) ** (-1 / shape)
    assert distributions.pareto_mean(shape, least, most) == pytest.approx(values.mean(), rel=1e-3)
