# SPDX-License-Identifier: GPL-2.0
"""Short forms of the scenarios: what each claims holds, in a booted guest.

Two guests at a time, since each uses one core.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import assert_passed, lab, run_scenarios

# One flow, at a rate that costs less than the scenario's own.
SHORT_QUEUE = (
    *("queue-estimate-is-the-truth", "--set", "flows=1"),
    *("--set", "rate_mbit=16", "--set", "seconds=1"),
)
# One boot.
ON_FQ_RR = ("pacing-follows-the-backlog", "pktpair-keeps-its-share", "a-flood-costs-one-share")

Runs = list[dict[str, Any]]


def on_fq_rr(folder: Path) -> Runs:
    """Short forms of what fq_rr is there for, and their pictures."""
    settings = [word for setting in ("seconds=5", "settle=1.5", "load=5") for word in ("--set", setting)]
    runs = run_scenarios(folder / "fq_rr.json", *ON_FQ_RR, "--qdisc", "fq_rr", *settings)
    drawn = lab("draw", str(folder / "fq_rr.json"))
    assert drawn.returncode == 0, drawn.stderr
    pictures = {Path(line) for line in drawn.stdout.splitlines()}
    # a scenario's own picture, beside those of its runs
    assert folder / "what_others_have.png" in pictures and len(pictures) == len(runs) + 1
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    return runs


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All boots, two at a time, the longest first."""
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            "gap": pool.submit(run_scenarios, folder / "gap.json", "pair-gap-is-n-packet-times"),
            "queue": pool.submit(run_scenarios, folder / "queue.json", *SHORT_QUEUE),
            "fq_rr": pool.submit(on_fq_rr, folder),
            "unload": pool.submit(run_scenarios, folder / "unload.json", "unload-under-traffic"),
        }
        return {name: job.result() for name, job in jobs.items()}


@pytest.mark.parametrize(("flows", "round_trip"), [(1, 40.0), (2, 40.0), (5, 40.0), (10, 40.0), (1, 39.4)])
def test_pair_gap(results: dict[str, Any], flows: int, round_trip: float) -> None:
    """The mean gap among n backlogged flows is n packet times, within 1 %."""
    found = of_scenario(results["gap"], "pair-gap-is-n-packet-times", flows=flows, round_trip=round_trip)
    assert_passed(found)
    assert found["metrics"]["samples"] >= 1000
    assert abs(found["metrics"]["mean_gap_packet_times"] / flows - 1) <= 0.01


def test_queue_estimate(results: dict[str, Any]) -> None:
    """The queue estimate is within a packet of fq_rr's backlog in the median, a train at the 95th percentile."""
    assert_passed(results["queue"][0])


def of_scenario(runs: Runs, name: str, **parameters: Any) -> dict[str, Any]:
    (found,) = [one for one in runs if one["scenario"] == name and parameters.items() <= one["parameters"].items()]
    return found


@pytest.mark.parametrize("flood", ["flow", "host"])
def test_flood(results: dict[str, Any], flood: str) -> None:
    """A flood of 100 times the link costs the others no more than a flow in its place."""
    assert_passed(of_scenario(results["fq_rr"], "a-flood-costs-one-share", flood=flood))


@pytest.mark.parametrize("case", ["table2", "prototype", "bursts"])
def test_pacing(results: dict[str, Any], case: str) -> None:
    """Packets are paced by the backlog as published."""
    assert_passed(of_scenario(results["fq_rr"], "pacing-follows-the-backlog", case=case))


@pytest.mark.parametrize("sources", [1, 7])
def test_share(results: dict[str, Any], sources: int) -> None:
    """pktpair keeps its share beside UDP sources at up to five times the link."""
    assert_passed(of_scenario(results["fq_rr"], "pktpair-keeps-its-share", uncontrolled=sources))


def test_unload(results: dict[str, Any]) -> None:
    """rmmod is refused in use and clean afterwards, without a warning."""
    assert_passed(results["unload"][0])
