# SPDX-License-Identifier: GPL-2.0
"""Estimators of the service time: closed forms, the kernel's header, and what recorded trains give."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.analyse import estimators as found
from lab.analyse.estimators import ESTIMATORS, Fuzzy, Samples, Truth
from lab.front import packet_pair as front
from lab.model import scenario

SCENARIO = scenario.load("packet-pair-1994")
TOP = Path(__file__).parents[3]
RECORDED = json.loads(Path(__file__).with_name("recorded-estimators.json").read_text())
# fuzzy_average.h, by lines "U sample" (update) and "R sample" (run, else update)
PROGRAM = r"""
#include <stdio.h>
#include "fuzzy_average.h"
int main(void)
{
	struct fuzzy_average avg = {};
	unsigned long long sample;
	char how;

	while (scanf(" %c %llu", &how, &sample) == 2) {
		if (!avg.value)
			fuzzy_start(&avg, sample);
		else if (how != 'R' || !fuzzy_run(&avg, sample))
			fuzzy_update(&avg, sample);
		printf("%llu\n", (unsigned long long)avg.value);
	}
	return 0;
}
"""


def samples(services_ns: Any, spacing_s: float = 0.01, rtt_s: float = 0.05) -> Samples:
    """Trains of one gap each, and what the last round trip delivered at this rate."""
    services = np.array(services_ns, dtype=float)
    ones = np.ones(len(services))
    return Samples(spacing_s * np.arange(len(services)), services, ones, rtt_s * ones, rtt_s * 1e9 / services)


def recorded(name: str) -> Samples:
    return found.of_simulator(RECORDED["cases"][name])


def truth() -> Truth:
    return Truth(*(np.array(RECORDED["truth"][name]) for name in ("since_s", "service_ns")))


def compared(name: str) -> dict[str, dict[str, Any]]:
    return found.compared(recorded(name), truth(), RECORDED["round_trip_s"], RECORDED["steps_s"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_does_not_change_is_its_own_estimate(name: str) -> None:
    assert ESTIMATORS[name](samples([1000.0] * 60)) == pytest.approx([1000.0] * 60, abs=0.01)


@pytest.mark.parametrize("alpha", found.ALPHAS)
def test_the_step_response_of_a_fixed_exponential(alpha: float) -> None:
    """After n samples alpha^n of the step is left: the memorandum's convolution, section 4.5."""
    estimates = found.exponential(samples([1000.0] + [2000.0] * 30), alpha)
    assert estimates == pytest.approx(2000 - 1000 * alpha ** np.arange(31))


@pytest.mark.parametrize("ratio", [*found.RATIOS, 25.0])
def test_the_gain_of_the_filter_has_its_fixed_point(ratio: float) -> None:
    """It begins at 0, as a covariance of 0 has it, and rises to where the Riccati equation stands still."""
    _, gains = found.kalman_rates(np.ones(400), ratio)
    assert gains[0] == 0 and np.all(np.diff(gains) >= -1e-12)
    assert gains[-1] == pytest.approx(found.kalman_gain(ratio), rel=1e-9)
    # a random walk seen in noise: K^2 / (1 - K) is the ratio of the variances
    assert gains[-1] ** 2 / (1 - gains[-1]) == pytest.approx(ratio)


def test_the_filter_follows_a_step_as_its_gain_says() -> None:
    """What is left of a step after n observations, once the gain stands."""
    ratio = 1.0
    gain = found.kalman_gain(ratio)
    rates, _ = found.kalman_rates(np.array([1.0] * 100 + [2.0] * 6), ratio)
    left = 2 - rates[100:]
    # both elements of the state have had the same corrections
    assert left == pytest.approx((1 - gain) ** np.arange(1, 7))


def test_once_per_round_trip_is_a_mean_of_packets() -> None:
    """Trains of 1 and of 3 packets: the mean of the four, held through the next epoch."""
    ones = np.ones(9)
    gaps, packets = np.array([1000.0, 6000] * 4 + [1000]), np.array([1.0, 3] * 4 + [1])
    own = Samples(0.01 * np.arange(9), gaps, packets, 0.04 * ones, ones)
    assert found.once_per_round_trip(own) == pytest.approx([1000.0] * 4 + [14000 / 8] * 5)


def test_the_delivered_rate() -> None:
    own = Samples(*(np.array([one]) for one in (1.0, 5.0, 1.0, 0.05, 20.0)))
    assert found.delivered_rate(own) == pytest.approx([2.5e6])


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's average, as a program."""
    folder = tmp_path_factory.mktemp("fuzzy")
    (folder / "fuzzy.c").write_text(PROGRAM)
    options = ["-std=gnu11", "-O1", "-Iinclude", "-Iinclude/uapi", "-Ikmod", str(folder / "fuzzy.c")]
    subprocess.run(["gcc", *options, "-o", str(folder / "fuzzy")], cwd=TOP, check=True)
    return folder / "fuzzy"


@pytest.mark.parametrize("how", ["U", "R"])
def test_the_twin_of_the_header(header: Path, how: str) -> None:
    """Equal to the last bit, over noise, steps, spikes and both limits."""
    dice = random.Random(1)
    inputs = [1 << 20]
    for _ in range(400):
        level = dice.choice([1, 1000, 1 << 20, 1 << 21, 1 << 36, 1 << 47, 1 << 50])
        inputs += [max(1, int(level * dice.uniform(0.9, 1.1))) for _ in range(dice.randint(1, 6))]
    text = "".join(f"{how} {one}\n" for one in inputs)
    done = subprocess.run([header], input=text, capture_output=True, text=True, check=True)
    average, told = Fuzzy(inputs[0]), [inputs[0]]
    for one in inputs[1:]:
        if how == "U" or not average.shift(one):
            average.update(one)
        told.append(average.value)
    assert list(map(int, done.stdout.split())) == told


# What the recorded trains give: median and 95th percentile of the error, and round trips to follow both steps.
EXPECTED = json.loads(Path(__file__).with_name("recorded-estimators-figures.json").read_text())


@pytest.mark.parametrize("case", found.SIMULATED)
def test_the_reports_cases_are_the_recorded_ones(case: str) -> None:
    """The same words, rate, path and steps: what the report draws of them has the same figures."""
    assert found.SIMULATED[case] == RECORDED["cases"][case]["case"]
    told = found.of_simulated(RECORDED["cases"][case])
    assert told["table"] == EXPECTED[case]
    assert told["steps"] == pytest.approx([step / RECORDED["round_trip_s"] for step in RECORDED["steps_s"]], abs=0.001)


def test_the_simulator_runs_the_reports_cases() -> None:
    """pktpair_1994 reads its gaps as ever; of the default, whose law moves on, the trains of the noise are many."""
    assert front.of_simulated_trains("neighbour")["table"] == EXPECTED["neighbour"]
    assert len(front.of_simulated_trains("noise")["curves"]["truth"]) > 300


def test_a_simulator_that_does_not_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(found.SIMULATED, "noise", "flows=0")
    assert "flows=0" in front.of_simulated_trains("noise")["why"]


@pytest.mark.parametrize("printed", ["", "{}", '{"flows": []}', '{"flows": [{"trains": []}]}'])
def test_a_simulator_that_prints_something_else_is_told(monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    """A campaign is not without a report for it."""
    monkeypatch.setattr(front.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, printed, ""))
    assert front.of_simulated_trains("noise")["why"].startswith("what scripts/simulate printed: ")


@pytest.mark.parametrize("case", EXPECTED)
def test_recorded_trains(case: str) -> None:
    """Each estimator has its own figures."""
    assert compared(case) == EXPECTED[case]


def test_no_estimator_passes_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above notices any two that are swapped, in the case with noise."""
    for name in ESTIMATORS:
        for other in ESTIMATORS:
            if other != name:
                monkeypatch.setattr(found, "ESTIMATORS", {name: ESTIMATORS[other]})
                assert compared("noise")[name] != EXPECTED["noise"][name], (name, other)


def test_to_follow_is_to_stay() -> None:
    """Near the truth once is not enough, and an estimate that never comes near has no time."""
    at_s = 0.1 * np.arange(10)
    true = Truth(np.array([0.0]), np.array([100.0]))
    estimates = np.array([50.0, 100, 50, 95, 100, 100, 105, 100, 100, 100])
    assert found.followed(at_s, estimates, true, 0.0, 1.0, 0.2) == pytest.approx(1.5)
    assert np.isnan(found.followed(at_s, estimates * 2, true, 0.0, 1.0, 0.2))


def test_trains_of_a_lab_run() -> None:
    """Those of the port that gave a sample; no others."""
    fields = {"gap_ns": "4000", "covered_segments": "4", "rtt_us": "50000", "delivered": "20", "service_ns": "1000"}
    events = [
        (1.0, {"sport": "1", "verdict": "sample", **fields}),
        (1.1, {"sport": "2", "verdict": "sample", **fields}),
        (1.2, {"sport": "1", "verdict": "held", **fields}),
    ]
    own = found.of_events(events, 1)
    assert (own.at_s.tolist(), own.service_ns.tolist(), own.rtt_s.tolist()) == ([1.0], [1000.0], [0.05])
    with pytest.raises(ValueError, match="port 3"):
        found.of_events(events, 3)


def test_the_truth_is_of_packets_that_waited() -> None:
    """Two packet times each while the queue holds some; the gap before one that found it empty is none."""
    left = np.array([2.0, 4, 6, 8, 50, 52, 54])
    came = np.array([0.0, 0, 0, 0, 49, 49, 49])
    true = found.of_queue(came, left, packets=2)
    assert true.service_ns == pytest.approx([2 * found.PACKET_S * 1e9] * 4)
    assert true.since_s / found.PACKET_S == pytest.approx([6, 8, 52, 54])


def test_a_joining_source_halves_the_share() -> None:
    """A made trace of section 9.2: alone, with another in turn, and alone again, all known from the queue."""
    values = {**{name: one.default for name, one in SCENARIO.parameters.items()}, "case": "joining", "sources": 2}
    plan = SCENARIO.plan(values, "pktpair_1994", "fq_rr", 1)
    ports = [plan.port(flow) for flow in plan.flows]
    rows, turn = [], 0.0
    for number in range(3000):
        # the second one has every other turn of the middle
        port = ports[number % 2 if 1000 <= number < 2000 else 0]
        gap = 2 if 1000 < number < 2000 else 1
        words = f"sport={port} len=500 flow_packets=3 qlen=3"
        rows += [(turn - 6.5, f"fq_rr_enqueue: {words}"), (turn, f"fq_rr_dequeue: {words}")]
        if port == ports[0]:
            gap_ns = round(gap * found.PACKET_S * 1e9)
            text = f"sport={port} verdict=sample gap_ns={gap_ns} covered_segments=1 rtt_us=63000 delivered={100 // gap}"
            more = "service_ns=1 setpoint_q8=512 outstanding=100"
            rows.append((turn + 99, f"pktpair_sample: {text} {more}"))
        turn += 1
    lines = [f" x-1 [000] ..s2. {5 + at * found.PACKET_S:.6f}: {text}" for at, text in sorted(rows)]
    told = found.of_joining(values, plan, {"trace": "\n".join(lines), "begin_s": 0.0, "flows": []})
    assert told["steps"] == pytest.approx([10.01, 20.06], abs=0.01)
    exact = {round(value, 1) for _, value in told["curves"]["truth"]}
    assert {1.0, 2.0} <= exact and max(exact) == 2.0 and min(exact) == 1.0
    assert told["table"]["fuzzy"]["error_median"] < 0.01  # but for a round trip after a step
    # an ACK comes back after a round trip, and four or five more are needed
    assert all(1 <= one < 2 for one in told["table"]["exponential 0.75"]["round_trips_to_follow"])


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        (lambda: found.exponential(samples([1.0]), 1.0), "alpha 1: must be 0 to below 1"),
        (lambda: found.kalman_rates(np.ones(1), 0.0), "ratio 0: must be above 0"),
        (lambda: samples([]), "at least 1"),
        (lambda: samples([0.0, 1.0], rtt_s=1.0), "gap_ns 0: must be above 0"),
        (lambda: found.of_simulator({"trains": []}), "trains=1"),
        (lambda: found.of_queue(np.ones(3), np.ones(2)), "3 packets came and 2 left"),
    ],
)
def test_bad_input_is_named(what: Any, limit: str) -> None:
    with pytest.raises(ValueError, match=limit), np.errstate(divide="ignore"):
        what()
