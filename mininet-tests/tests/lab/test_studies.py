# SPDX-License-Identifier: GPL-2.0
"""Sweeps on the real engine: any topology, a file from anywhere, and runs that depend on nothing but their plan."""

import csv
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import lab, run_scenarios
from lab.model import devices


def said(*words: str | Path) -> str:
    done = lab(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(study: Path) -> list[dict[str, str]]:
    with (study / "table.csv").open() as file:
        return list(csv.DictReader(file))


def raws(study: Path) -> dict[str, dict[str, Any]]:
    """The raw results without what depends on the store, by digest."""
    return {path.name: json.loads(gzip.decompress(path.read_bytes()))["raw"] for path in (study / "raw").iterdir()}


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Path:
    """Three bottlenecks in series, two seeds, one guest at a time."""
    study = tmp_path_factory.mktemp("serial") / "study"
    said("sweep", "three-bottlenecks", "--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3", "--seeds", "1-2",
        "-j", "1", "--out", study)  # fmt: skip
    return study


def test_each_of_three_bottlenecks_in_series_is_observed(serial):
    found = rows(serial)
    assert [row["flow"] for row in found] == ["long", "cross1", "cross2", "cross3"] * 2
    for row in found:
        assert [float(row[f"utilisation_r{i}-r{i + 1}"]) > 0.95 for i in range(3)] == [True] * 3
        assert (row["checks_failed"], row["error"]) == ("0", "")


def test_a_run_depends_on_nothing_but_its_plan(serial, tmp_path):
    """In another order, beside another run and after others, every byte is the same."""
    seeds = [2, 1, 3]
    random.Random(1).shuffle(seeds)
    words = ("three-bottlenecks", "--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3")
    said("sweep", *words, "--seeds", ",".join(map(str, seeds)), "-j", "2", "--out", tmp_path / "study")
    again = raws(tmp_path / "study")
    before = raws(serial)
    assert len(before) == 2 and len(again) == 3
    assert {name: again[name] == raw for name, raw in before.items()} == dict.fromkeys(before, True)


def test_a_run_has_the_figures_that_a_sweep_gives_it(serial, tmp_path):
    """Whatever ran before it in the same command."""
    words = ("--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3", "--seed", "2")
    before, run = run_scenarios(tmp_path / "runs.json", "smoke", "three-bottlenecks", *words)
    assert before["scenario"] == "smoke" and run["error"] is None
    row = next(row for row in rows(serial) if row["seed"] == "2")
    # where a flow has a figure of the same name, the run's has another
    columns = {name: f"run_{name}" if f"run_{name}" in row else name for name in run["metrics"]}
    assert len(columns) > 15
    assert {name: float(row[column]) for name, column in columns.items()} == run["metrics"]


def test_acks_in_slots_come_in_slots(tmp_path):
    said("sweep", "wifi-reverse-path", "--cc", "cubic", "--qdisc", "fq_codel", "--set", "seconds=3",
        "--set", "slot_ms=0,8", "-j", "2", "--out", tmp_path / "study")  # fmt: skip
    without, with_slots = sorted(rows(tmp_path / "study"), key=lambda row: float(row["slot_ms"]))
    # the median wait for a slot is half of it
    assert float(with_slots["rtt_p50_s"]) - float(without["rtt_p50_s"]) > 0.002
    assert float(with_slots["utilisation"]) > 0.9


def test_a_file_from_anywhere_runs_sweeps_and_reports(tmp_path):
    """Over each queue that there is, which also says that tc takes what the lab tells it."""
    mine = tmp_path / "mine.py"
    said("new", mine)
    queues = sorted(devices.QUEUES)
    words = ("sweep", mine, "--set", "seconds=3", "--set", "rate_mbit=4", "--cc", "cubic", "--qdisc", ",".join(queues),
             "-j", "2", "--out", tmp_path / "study")  # fmt: skip
    said(*words)
    found = [row for row in rows(tmp_path / "study") if row["flow"] == "near"]
    assert [row["qdisc"] for row in found] == queues
    # a policer drops what a queue would keep
    full = {row["qdisc"]: float(row["utilisation"]) for row in found}
    assert {queue for queue, part in full.items() if not 0.9 < part < 1.01} <= {"policer"}, full
    assert 0.2 < full["policer"] < 1.1
    page = Path(said("report", tmp_path / "study").strip())
    assert "mine" in page.read_text()
    # nothing is run twice
    assert f"{len(queues)} there before" in said(*words)


# A link of which rate, delay and losses change, with ACKs in slots from 1.5 s on.
CHANGING = """
from lab.model.plan import Change, Flow, Plan
from lab.model.topology import Link, Topology, Way

CLAIM = "links change while packets pass"
PARAMETERS = {}
COMBINATIONS = [("cubic", "fq_codel")]


def plan(values, cc, qdisc, seed):
    nodes = {"s": "host", "r": "router", "d": "host"}
    # 60 ms of the first rate
    options = "burst 30000" if qdisc == "policer" else ""
    link = Link("r", "d", Way(4_000_000, qdisc, options=options), Way(delay_ms=10.0))
    changes = (
        Change(1.0, "r-d", {"rate_bit_s": 8_000_000}),
        Change(1.5, "d-r", {"slot_ms": 2.0}),
        Change(2.0, "r-d", {"delay_ms": 10.0}),
        Change(2.5, "r-d", {"delay_ms": 20.0}),
        Change(3.0, "d-r", {"slot_ms": 0.0}),
        Change(3.5, "r-d", {"delay_ms": 0.0}),
    )
    flows = (Flow("f", "s", "d", cc, seconds=5.0),)
    return Plan(Topology("line", nodes, (Link("s", "r"), link)), flows, changes=changes, hash_seed=seed)
"""


def test_a_link_changes_over_each_queue(tmp_path):
    """Its rate doubles after a fifth of the run; delay lines come and go beside the queue."""
    mine = tmp_path / "changing.py"
    mine.write_text(CHANGING)
    queues = sorted(devices.QUEUES)
    said("sweep", mine, "--cc", "cubic", "--qdisc", ",".join(queues), "-j", "2", "--out", tmp_path / "study")
    full = {row["qdisc"]: float(row["utilisation"]) for row in rows(tmp_path / "study")}
    assert sorted(full) == queues
    # of 4 Mbit/s: one fifth of the run 1, four fifths 2; a policer lets CUBIC have less
    assert {queue for queue, part in full.items() if not 1.5 < part < 1.82} <= {"policer"}, full
    assert 1.1 < full["policer"] < 1.9
