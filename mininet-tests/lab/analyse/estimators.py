# SPDX-License-Identifier: GPL-2.0
"""Estimators of the service time that the memorandum (packet pair, 1994) discusses, over the same recorded trains.

Each takes Samples and returns its estimate after each of them, in ns for a packet. They see no more than a sender
does: when a train came back, its gap over its packets, and what was delivered in a round trip.

fuzzy
    section 4.5 and appendix: kmod/fuzzy_average.h, fuzzy_update() for each train, to the last bit (a test holds it
    against the header).
fuzzy and runs
    likewise, but where fuzzy_run() finds a level that has shifted, it moves instead. What tcp_pktpair.c has beside
    it (means of several trains, the bound by what was delivered) is not here; ``service_ns`` of a trace has all.
kalman
    section 4.4, of the service rate. n_b is left out of the state, since neither C nor the rows of the rate have it.
once per round trip
    section 3: the mean of what came back in an epoch holds through the next.
exponential
    section 4.5: alpha is the weight of history, and fixed.
delivered rate
    a round trip over what was delivered in it; not in the memorandum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..model.memorandum import PACKET_S, ROUND_TRIP_PACKETS
from ..model.plan import Plan
from ..model.scenario import Values
from . import memorandum
from .figures import Floats, events, rounded

ONE_Q16 = 1 << 16
MID_Q16 = 45875
MAX_U16 = ONE_Q16 - 1
VALUE_MAX = 1 << 47
STEP_MAX = 4
RUN_DOWN, RUN_UP, RUN_SHIFT, RUN_MAX, DOUBT_SHIFT = 2, 3, 8, (1 << 29) - 1, 5
# A service time in the kernel has ten binary places of a ns.
SERVICE_SHIFT = 10
# An estimate has followed when it is so near the truth, and stays there for a round trip.
NEAR = 0.1
# Cases of kmod/tests/simulator: alone on 10 Mbit/s, but for half of it from 4 to 6 s. A neighbour takes that half, or
# the link has it no longer, and ACKs are late by a random time.
SIMULATED = {
    "neighbour": "flows=2 queue=rr rate_mbit=10 path_ms=50 seconds=8 seed=1 ack_every=1 trains=1 cc=pktpair_1994 "
    "cc.1=constant send_mbit.1=5.05 start_s.1=4 stop_s.1=6",
    "noise": "flows=1 queue=rr rate_mbit=10 rate_mbit@4=5 rate_mbit@6=10 path_ms=50 seconds=8 seed=1 ack_every=1 "
    "trains=1 cc=pktpair jitter_ms=0.5 jitter=exponential",
}
# A frame of 1514 bytes at 10 Mbit/s; the path, with a frame's own time; both steps; what is compared lies between.
SIMULATED_PACKET_S = 1514 * 8 / 10e6
SIMULATED_ROUND_TRIP_S = 0.05 + SIMULATED_PACKET_S
SIMULATED_STEPS_S = (4.0, 6.0)
SIMULATED_SPAN_S = (3.5, 7.0)
# What the memorandum leaves to "the system administrator": the variance of the rate's changes from one epoch to the
# next, over that of an observation. The gain depends on nothing else. Both are ours: a steady system and a noisy one.
RATIOS = (0.01, 1.0)
# The memorandum's MS_ALPHA, which is of the mean sending rate, and a slower one, which is ours.
ALPHAS = (0.75, 0.9)


@dataclass(frozen=True)
class Samples:
    """Trains of one flow that gave a sample, in order.

    :param at_s: when each came back
    :param gap_ns: from its first ACK to its last
    :param segments: that the gap covers
    :param rtt_s: round trip of its last ACK
    :param delivered: packets delivered in that round trip
    """

    at_s: Floats
    gap_ns: Floats
    segments: Floats
    rtt_s: Floats
    delivered: Floats

    def __post_init__(self) -> None:
        sizes = {len(one) for one in (self.at_s, self.gap_ns, self.segments, self.rtt_s, self.delivered)}
        if len(sizes) != 1 or not len(self.at_s):
            raise ValueError(f"samples: columns of lengths {sorted(sizes)}: all must have the same, and at least 1")
        for name in ("gap_ns", "segments", "rtt_s", "delivered"):
            if not getattr(self, name).min() > 0:
                raise ValueError(f"samples: {name} {getattr(self, name).min():g}: must be above 0")
        if np.any(np.diff(self.at_s) < 0):
            raise ValueError("samples: at_s: must be in order")

    @property
    def service_ns(self) -> Floats:
        """Of each train."""
        return self.gap_ns / self.segments

    def since(self, moment_s: float) -> Samples:
        """Those from a moment on."""
        return self._of(self.at_s >= moment_s)

    def before(self, moment_s: float) -> Samples:
        """Those that came before a moment."""
        return self._of(self.at_s < moment_s)

    def _of(self, kept: Any) -> Samples:
        return Samples(*(one[kept] for one in (self.at_s, self.gap_ns, self.segments, self.rtt_s, self.delivered)))


Estimator = Callable[[Samples], Floats]


class Fuzzy:
    """struct fuzzy_average of kmod/fuzzy_average.h in whole numbers, in any unit."""

    def __init__(self, sample: int) -> None:
        self.value = min(max(sample, 1), VALUE_MAX)
        self.smoothed, self.last = ONE_Q16 // 2, 0
        self.nearest, self.run, self.above = 0, 0, False

    @staticmethod
    def bend_q16(h_q16: int) -> int:
        """g(h)."""
        h2_q16 = h_q16 * h_q16 >> 16
        return h2_q16 * (3 * ONE_Q16 - h_q16) // (4 * (2 * ONE_Q16 - h2_q16))

    @classmethod
    def alpha_q16(cls, error_q16: int) -> int:
        """Weight of history."""
        error = min(error_q16, ONE_Q16)
        if error <= MID_Q16:
            return ONE_Q16 // 2 + cls.bend_q16((MID_Q16 - error << 16) // MID_Q16)
        return ONE_Q16 // 2 - cls.bend_q16((error - MID_Q16 << 16) // (ONE_Q16 - MID_Q16))

    @staticmethod
    def beta_q16(change_q16: int) -> int:
        """Weight of the old error."""
        c = min(change_q16, ONE_Q16)
        return (c * c >> 16) * (3 * ONE_Q16 - 2 * c) >> 16

    def update(self, sample: int) -> None:
        """fuzzy_update()."""
        value = self.value
        sample = min(max(sample, 1), VALUE_MAX, STEP_MAX * value)
        distance = abs(sample - value)
        error = ONE_Q16 if distance >= value else (distance << 16) // value
        beta = self.beta_q16(abs(error - self.last))
        self.last = min(error, MAX_U16)
        error = beta * self.smoothed + (ONE_Q16 - beta) * error >> 16
        self.smoothed = min(error, MAX_U16)
        distance = distance * (ONE_Q16 - self.alpha_q16(error)) + ONE_Q16 - 1 >> 16
        self.value = value + distance if sample > value else value - distance

    def shift(self, sample: int) -> bool:
        """fuzzy_run(): whether the estimate has moved."""
        above, coarse = sample > self.value, min(sample >> RUN_SHIFT, RUN_MAX)
        if sample == self.value or coarse == RUN_MAX:
            self.run = 0
            return False
        if not self.run or self.above != above:
            self.run, self.above, self.nearest = 0, above, coarse
        else:
            self.nearest = min(self.nearest, coarse) if above else max(self.nearest, coarse)
        self.run += 1
        if self.run < (RUN_UP if above else RUN_DOWN):
            return False
        self.run, nearest = 0, self.nearest << RUN_SHIFT
        if above:
            self.value = max(min(nearest, STEP_MAX * self.value), self.value)
        elif nearest < self.value:
            self.value = max(nearest + (self.value - nearest >> DOUBT_SHIFT), 1)
        return True


def fuzzy(samples: Samples, runs: bool = False) -> Floats:
    """The memorandum's choice, in the kernel's arithmetic."""
    services = [int(gap) * 2**SERVICE_SHIFT // int(n) for gap, n in zip(samples.gap_ns, samples.segments, strict=True)]
    average, told = Fuzzy(services[0]), []
    for number, service in enumerate(services):
        if number and not (runs and average.shift(service)):
            average.update(service)
        told.append(average.value / 2**SERVICE_SHIFT)
    return np.array(told)


def exponential(samples: Samples, alpha: float) -> Floats:
    """History has the weight alpha, 0 to below 1."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha {alpha:g}: must be 0 to below 1")
    told = [float(samples.service_ns[0])]
    for service in samples.service_ns[1:]:
        told.append(alpha * told[-1] + (1 - alpha) * float(service))
    return np.array(told)


def epochs(samples: Samples) -> list[tuple[int, int]]:
    """From which sample to before which: each ends with the first one a round trip after its begin."""
    told, begin = [], 0
    for number in range(len(samples.at_s)):
        if samples.at_s[number] - samples.at_s[begin] >= samples.rtt_s[begin]:
            told.append((begin, number))
            begin = number
    return told


def per_epoch(samples: Samples) -> tuple[list[tuple[int, int]], Floats]:
    """Epochs, and the mean service time of each, of a packet and not of a train."""
    found = epochs(samples)
    means = [samples.gap_ns[a:b].sum() / samples.segments[a:b].sum() for a, b in found]
    return found, np.array(means, dtype=float)


def held(samples: Samples, found: Sequence[tuple[int, int]], values: Floats) -> Floats:
    """What an epoch gave, from its end on; before the first end, the first train's."""
    told = np.full(len(samples.at_s), samples.service_ns[0])
    for (_, end), value in zip(found, values, strict=True):
        told[end:] = value
    return told


def once_per_round_trip(samples: Samples) -> Floats:
    """The mean of the last epoch that has ended."""
    return held(samples, *per_epoch(samples))


def kalman_gain(ratio: float) -> float:
    """Where the gain of the rate goes: the Riccati equation's fixed point."""
    # of a, b, c in the covariance [[a, b], [b, c]]: b = c, and b^2 / (b + 1) = ratio
    b = (ratio + (ratio**2 + 4 * ratio) ** 0.5) / 2
    return b / (b + 1)


def kalman_rates(observed: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Predicted rates, and gains, of a series of rates, section 4.4.2.

    What is ours: the state begins with the first observation, not with 0, since the memorandum's covariance at the
    beginning is 0 and would hold it there; R is 1, and omega's variance the ratio; S is 0, as its text assumes.
    """
    if not ratio > 0:
        raise ValueError(f"ratio {ratio:g}: must be above 0")
    g, c = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0]])
    q = np.array([[ratio, 0.0], [0.0, 0.0]])
    state, covariance = np.full((2, 1), observed[0]), np.zeros((2, 2))
    rates, gains = [], []
    for y in observed:
        uncertain = (c @ covariance @ c.T + 1.0)[0, 0]
        gain = g @ covariance @ c.T / uncertain
        state = g @ state + gain * (y - (c @ state)[0, 0])
        covariance = g @ covariance @ g.T + q - gain @ gain.T * uncertain
        rates.append(float(state[0, 0]))
        gains.append(float(gain[0, 0]))
    return np.array(rates), np.array(gains)


def kalman(samples: Samples, ratio: float, every_train: bool = False) -> Floats:
    """In epochs, as section 4.4 has it, or with each train, as section 4.3 allows the control."""
    if every_train:
        return 1 / kalman_rates(1 / samples.service_ns, ratio)[0]
    found, means = per_epoch(samples)
    return held(samples, found, 1 / kalman_rates(1 / means, ratio)[0]) if found else held(samples, [], means)


def delivered_rate(samples: Samples) -> Floats:
    """A round trip over the packets delivered in it."""
    return samples.rtt_s * 1e9 / samples.delivered


ESTIMATORS: dict[str, Estimator] = {
    "fuzzy": fuzzy,
    "fuzzy and runs": partial(fuzzy, runs=True),
    **{f"kalman {ratio:g}": partial(kalman, ratio=ratio) for ratio in RATIOS},
    **{f"kalman {ratio:g}, every train": partial(kalman, ratio=ratio, every_train=True) for ratio in RATIOS},
    "once per round trip": once_per_round_trip,
    **{f"exponential {alpha:g}": partial(exponential, alpha=alpha) for alpha in ALPHAS},
    "delivered rate": delivered_rate,
}


@dataclass(frozen=True)
class Truth:
    """What the bottleneck gave: a packet's service time, from each moment until the next.

    It is the bottleneck's at that moment: what a sender cannot know yet is part of its error, with each estimator.

    :param since_s: moments, in order
    :param service_ns: from each on
    """

    since_s: Floats
    service_ns: Floats

    def at(self, moments_s: Floats) -> Floats:
        """At moments, none before the first one."""
        if moments_s.min() < self.since_s[0]:
            raise ValueError(f"truth: {moments_s.min():g} s: must be at least {self.since_s[0]:g} s")
        return self.service_ns[np.searchsorted(self.since_s, moments_s, side="right") - 1]


def followed(
    at_s: Floats, estimates: Floats, truth: Truth, step_s: float, until_s: float, round_trip_s: float
) -> float:
    """Round trips from a step until an estimate is near the truth and stays so for one; nan if it never is."""
    chosen = (at_s >= step_s) & (at_s < until_s)
    times, near = at_s[chosen], np.abs(estimates[chosen] / truth.at(at_s[chosen]) - 1) <= NEAR
    for number, moment in enumerate(times):
        if moment + round_trip_s > until_s:
            break
        if near[number : int(np.searchsorted(times, moment + round_trip_s, side="right"))].all():
            return float((moment - step_s) / round_trip_s)
    return float("nan")


def all_estimates(samples: Samples) -> dict[str, Floats]:
    """Of each estimator, in ns after each train."""
    return {name: estimator(samples) for name, estimator in ESTIMATORS.items()}


def compared(
    samples: Samples,
    truth: Truth,
    round_trip_s: float,
    steps_s: Sequence[float] = (),
    settled_s: float = 0.0,
    estimated: Mapping[str, Floats] | None = None,
) -> dict[str, dict[str, Any]]:
    """Of each estimator: relative errors, of all trains from a moment on, and round trips to follow each step.

    :param estimated: ``all_estimates`` of these samples, where they are known
    """
    chosen = samples.at_s >= settled_s
    ends_s = [*steps_s[1:], float(samples.at_s[-1])]
    told: dict[str, dict[str, Any]] = {}
    for name, estimates in (all_estimates(samples) if estimated is None else estimated).items():
        error = np.abs(estimates[chosen] / truth.at(samples.at_s[chosen]) - 1)
        follow = [
            followed(samples.at_s, estimates, truth, step_s, end_s, round_trip_s)
            for step_s, end_s in zip(steps_s, ends_s, strict=False)
        ]
        told[name] = {
            "error_median": rounded(np.median(error), 4),
            "error_p95": rounded(np.quantile(error, 0.95), 4),
            "round_trips_to_follow": [None if np.isnan(one) else rounded(one, 2) for one in follow],
        }
    return told


def of_simulator(flow: Mapping[str, Any]) -> Samples:
    """A flow of a simulated case with ``trains=1``."""
    rows = np.array(flow["trains"], dtype=float)
    if rows.ndim != 2:
        raise ValueError("the simulated flow has no trains: its case must say trains=1")
    at_us, gap_ns, segments, rtt_us, delivered, _ = rows[(rows[:, 1] > 0) & (rows[:, 4] > 0)].T
    return Samples(at_us / 1e6, gap_ns, segments, rtt_us / 1e6, delivered)


def of_simulated(flow: Mapping[str, Any]) -> dict[str, Any]:
    """What the first flow of a case of SIMULATED met: the table of ``compared``, and what is drawn."""
    packet_ns, (begin_s, end_s) = SIMULATED_PACKET_S * 1e9, SIMULATED_SPAN_S
    truth = Truth(np.array([0.0, *SIMULATED_STEPS_S]), packet_ns * np.array([1.0, 2.0, 1.0]))
    samples = of_simulator(flow).since(begin_s).before(end_s)
    return drawn(samples, truth, SIMULATED_ROUND_TRIP_S, SIMULATED_STEPS_S, packet_ns)


def of_events(of_trace: Sequence[tuple[float, Mapping[str, str]]], port: int) -> Samples:
    """A flow of a lab run, from its events pktpair_sample."""
    rows = np.array(
        [
            [at, *(float(one[name]) for name in ("gap_ns", "covered_segments", "rtt_us", "delivered"))]
            for at, one in of_trace
            if int(one["sport"]) == port
            and one["verdict"] == "sample"
            and all(int(one[name]) > 0 for name in ("gap_ns", "covered_segments", "rtt_us", "delivered"))
        ]
    )
    if not len(rows):
        raise ValueError(f"port {port}: no train gave a sample")
    at_s, gap_ns, segments, rtt_us, delivered = rows.T
    return Samples(at_s, gap_ns, segments, rtt_us / 1e6, delivered)


def of_queue(came_tu: Floats, left_tu: Floats, packets: int = 8) -> Truth:
    """The truth of a run of sections 9.1 and 9.2, in s from the first packet on, of a flow that lost nothing.

    From one departure to the next is a service time where the next packet was there already. The truth is the mean
    of some of them, from the last one's departure on. A sender hears of it when the ACK comes.
    """
    if len(came_tu) != len(left_tu):
        raise ValueError(f"{len(came_tu)} packets came and {len(left_tu)} left: must be as many")
    waited = came_tu[1:] <= left_tu[:-1]
    took, ended = np.diff(left_tu)[waited], left_tu[1:][waited]
    if len(took) < packets:
        raise ValueError(f"{len(took)} packets waited for their turn: must be at least {packets}")
    means = np.convolve(took, np.full(packets, 1 / packets), "valid")
    return Truth(ended[packets - 1 :] * PACKET_S, means * PACKET_S * 1e9)


def of_joining(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """What the first source of section 9.2 met, with one that joins it: its share halves, and is whole at the end.

    All times are from its first packet on. A step is known as a moment only roughly: when the other one starts, and
    when the last packet of the other one has left.

    :return: the table of ``compared``, and what is drawn: round trips, and service times over a packet time
    """
    seen = memorandum.seen(plan, raw, values["limit"])
    own, other = seen.flows[:2]
    trains = [(at - seen.first_s, one) for at, one in events(raw["trace"], "pktpair_sample")]
    samples = of_events(trains, plan.port(plan.flows[0]))
    truth = of_queue(own.came_tu, own.left_tu)
    samples = samples.since(float(truth.since_s[0]))
    steps_s = [float(other.came_tu[0]) * PACKET_S, float(other.left_tu[-1]) * PACKET_S]
    return drawn(samples, truth, ROUND_TRIP_PACKETS * PACKET_S, steps_s, PACKET_S * 1e9)


def drawn(
    samples: Samples, truth: Truth, round_trip_s: float, steps_s: Sequence[float], packet_ns: float
) -> dict[str, Any]:
    """A comparison, and its course in round trips and packet times."""
    estimated = all_estimates(samples)
    curves = {"truth": truth.at(samples.at_s), **estimated}
    at = samples.at_s / round_trip_s
    return {
        "table": compared(samples, truth, round_trip_s, steps_s, estimated=estimated),
        "steps": [rounded(one / round_trip_s, 3) for one in steps_s],
        "curves": {
            name: [[rounded(when, 3), rounded(value / packet_ns, 3)] for when, value in zip(at, values, strict=True)]
            for name, values in curves.items()
        },
    }
