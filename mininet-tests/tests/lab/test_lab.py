# SPDX-License-Identifier: GPL-2.0
"""What only a booted guest can show.

Two guests at a time, since each uses one core.
"""

import json
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP

LAB = TOP / "scripts" / "lab"
COMBINATIONS = [("pktpair", "fq_rr"), ("bbr", "fq_codel"), ("cubic", "cake")]
RUN_KEYS = {
    "scenario",
    "kernel",
    "modules",
    "clock",
    "seed",
    "parameters",
    "flows",
    "qdiscs",
    "metrics",
    "checks",
}
FLOW_KEYS = {"name", "cc", "bytes", "start_s", "completion_s", "goodput_bit_s", "retransmits", "rtt_s"}
# A short form of "make transfers": slowdowns that pktpair over fq_rr has had, hosts open, seed 1.
TRANSFERS = {
    ("b1", ""): 0.075,
    ("b3", "4"): -0.001,
    ("b3", "20"): 0.956,
    ("b3", "200"): 0.687,
    ("b3", "2000"): 0.276,
    ("b5", ""): 0.170,
    ("b9", "conn1"): -0.010,
    ("b9", "conn2"): 0.022,
    ("b9", "difference"): 0.043,
}
# A row may be so much slower than it has been: two points.
SLOWER = 0.02
# And no row so far ahead of its fair reference: that were from others' shares.
FASTEST = 0.95
SHORT_FORM = ("b1-slow-cross-traffic", "b3-short-files", "b5-migrating-bottleneck", "b9-rate-control-torture")
# One flow, at a rate that costs less than the scenario's own.
SHORT_QUEUE = (
    *("queue-estimate-is-the-truth", "--set", "flows=1"),
    *("--set", "rate_mbit=16", "--set", "seconds=1"),
)
SHORT_STOPS = ("a-stopped-flow-leaves-its-share", "--set", "stops=4")
# In the guest: Mininet's own command with our topology, then a status to pass on.
MN = (
    "mn --custom {top}/mininet-tests/topology.py --topo dumbbell,2,10,fq_rr --controller none --test pingall 2>&1;"
    " echo $TC_LIB_DIR; exit 7"
)

ELSEWHERE = "tc qdisc add dev lo root fq_rr && tc qdisc show dev lo"

# One boot.
ON_FQ_RR = ("pacing-follows-the-backlog", "pktpair-keeps-its-share", "a-flood-costs-one-share")

Runs = list[dict[str, Any]]


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LAB, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def run(path: Path, *arguments: str) -> Runs:
    done = lab("run", *arguments, "--json", str(path))
    assert path.exists(), done.stderr + done.stdout
    runs = json.loads(path.read_text())
    return runs if isinstance(runs, list) else [runs]


def three(path: Path) -> Runs:
    """The same boot each time: one scenario, one seed, every queue under each algorithm."""
    ccs = [word for cc, _ in COMBINATIONS for word in ("--cc", cc)]
    qdiscs = [word for _, qdisc in COMBINATIONS for word in ("--qdisc", qdisc)]
    return run(path, "smoke", *ccs, *qdiscs, "--set", "seconds=3")


def on_fq_rr(folder: Path) -> Runs:
    """Short forms of what fq_rr is there for, and what has a picture drawn."""
    settings = [word for setting in ("seconds=5", "settle=1.5", "load=5") for word in ("--set", setting)]
    runs = run(folder / "fq_rr.json", *ON_FQ_RR, "--qdisc", "fq_rr", *settings)
    drawn = lab("draw", str(folder / "fq_rr.json"))
    assert drawn.returncode == 0, drawn.stderr
    pictures = [folder / name for name in ("pacing-rule.png", "flood.png")]
    assert drawn.stdout.split() == [str(picture) for picture in pictures]
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    return runs


def elsewhere(folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Two commands at once in a copy of this checkout, with nothing built."""
    ignored = shutil.ignore_patterns("build", "out", ".cache", ".venv", ".git")
    shutil.copytree(TOP, folder, symlinks=True, ignore=ignored)
    for name in (".cache", ".venv"):
        (folder / name).symlink_to(TOP / name)
    command = f"make -s lab-modules && scripts/lab exec -- sh -c '{ELSEWHERE}'"
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(subprocess.run, ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
            for _ in range(2)
        ]
        return [one.result() for one in both]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All boots, two at a time, the longest first."""
    folder = tmp_path_factory.mktemp("runs")
    # where the guest's own init mounts a file system
    hidden = Path(tempfile.mkdtemp(dir="/var/tmp"))
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            "gap": pool.submit(run, folder / "gap.json", "pair-gap-is-n-packet-times"),
            "first": pool.submit(three, folder / "first.json"),
            "second": pool.submit(three, folder / "second.json"),
            "transfers": pool.submit(run, folder / "transfers.json", *SHORT_FORM),
            "queue": pool.submit(run, folder / "queue.json", *SHORT_QUEUE),
            "fq_rr": pool.submit(on_fq_rr, folder),
            "unload": pool.submit(run, folder / "unload.json", "unload-under-traffic"),
            "stopped": pool.submit(run, folder / "stopped.json", *SHORT_STOPS),
            "exec": pool.submit(lab, "exec", "--", "bash", "-c", MN.format(top=TOP)),
        }
        found = {name: job.result() for name, job in jobs.items()}
    found["elsewhere"] = elsewhere(hidden / "checkout")
    shutil.rmtree(hidden)
    return found


def assert_passed(run: dict[str, Any]) -> None:
    failed = [check for check in run["checks"] if not check["pass"]]
    assert not failed and run["error"] is None, (failed, run["error"], run["warnings"])


def of(runs: Runs, combination: tuple[str, str]) -> dict[str, Any]:
    (found,) = [run for run in runs if (run["cc"], run["qdisc"]) == combination]
    return found


def test_exec(results: dict[str, Any]) -> None:
    """lab exec passes on output and exit status, with the tc plugin at hand."""
    done = results["exec"]
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines()[-1] == f"{TOP}/build/tc"


@pytest.mark.parametrize("which", [0, 1])
def test_two_in_a_checkout_elsewhere(results: dict[str, Any], which: int) -> None:
    """Two commands at once build and boot in one checkout, below a folder that the guest mounts over."""
    done = results["elsewhere"][which]
    assert done.returncode == 0, done.stderr
    assert "qdisc fq_rr" in done.stdout


def test_mn_custom(results: dict[str, Any]) -> None:
    """Mininet's own mn --custom runs the dumbbell with fq_rr."""
    assert "0% dropped" in results["exec"].stdout, results["exec"].stdout


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_smoke(results: dict[str, Any], combination: tuple[str, str]) -> None:
    """Traffic runs, its figures are sound, and the kernel has nothing to say."""
    assert_passed(of(results["first"], combination))


def test_schema(results: dict[str, Any]) -> None:
    """A run's JSON has every field that is promised."""
    for run in results["first"]:
        assert run.keys() >= RUN_KEYS
        assert all(flow.keys() >= FLOW_KEYS for flow in run["flows"])
        assert all(flow["rtt_s"].keys() >= {"p50", "p95", "p99"} for flow in run["flows"])
        assert all(entry.keys() >= {"device", "kind", "statistics"} for entry in run["qdiscs"])
        assert all(check.keys() >= {"quantity", "op", "expected", "measured", "pass"} for check in run["checks"])
        assert set(run["modules"]) == {"tcp_pktpair", "sch_fq_rr"} and all(run["modules"].values())
        assert run["clock"] == "virtual"
        assert {entry["kind"] for entry in run["qdiscs"]} >= {run["qdisc"], "netem"}


def test_algorithm_by_sysctl(results: dict[str, Any]) -> None:
    """The algorithm that the senders' sysctl names is the one that runs: figures differ."""
    on_cake = [of(results["first"], (cc, "cake"))["flows"][0]["acks"] for cc, _ in COMBINATIONS]
    assert len(set(on_cake)) == len(on_cake)


def numbers(value: Any, path: str = "") -> dict[str, float]:
    """Every number in a run but for drawings and this machine's own time."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {}
    if isinstance(value, int | float):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: dict[str, float] = {}
    for key, inner in items:
        if key not in ("series", "host_seconds", "cpu_seconds"):
            found |= numbers(inner, f"{path}/{key}")
    return found


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_repeatable(results: dict[str, Any], combination: tuple[str, str]) -> None:
    """Two boots agree: counters below 1,000 are identical, larger ones within 0.1 %."""
    first, second = (of(results[name], combination) for name in ("first", "second"))
    counters = [numbers([run["flows"], run["qdiscs"]]) for run in (first, second)]
    assert counters[0].keys() == counters[1].keys()
    whole = {key: value for key, value in counters[0].items() if isinstance(value, int)}
    assert len(whole) > 40
    different = {
        key: (value, counters[1][key])
        for key, value in whole.items()
        if abs(value - counters[1][key]) > (0 if value < 1000 else value / 1000)
    }
    assert not different


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


def test_stopped_flow(results: dict[str, Any]) -> None:
    """Of three flows one stops: no risk-averse one claims the whole link (figure 6)."""
    assert_passed(results["stopped"][0])


def test_unload(results: dict[str, Any]) -> None:
    """rmmod is refused in use and clean afterwards, without a warning."""
    assert_passed(results["unload"][0])


@pytest.mark.parametrize("row", TRANSFERS, ids=lambda row: "-".join(row).rstrip("-"))
def test_transfers(results: dict[str, Any], row: tuple[str, str]) -> None:
    """A file transfer is no slower than it has been, beyond its optimum, and sends nothing twice."""
    for run in results["transfers"]:
        assert_passed(run)
    rows = [found for run in results["transfers"] for found in run["rows"]]
    (found,) = [one for one in rows if (one["benchmark"], one["variant"]) == row]
    assert found["slowdown"] <= TRANSFERS[row] + SLOWER
    # nothing is served before the link can serve it; the reference counts the last packet's own time
    assert found["variant"] == "difference" or found["completion_s"] >= FASTEST * found["reference_s"]
