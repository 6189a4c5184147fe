# SPDX-License-Identifier: GPL-2.0
"""scripts/simulate: rows, goals and pictures of a small grid, and what it refuses."""

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from conftest import TOP

ROW = {"grid", "law", "rate_mbit", "path_s", "ack_s", "seed", "bad_start", "bad_later", "rtt_max_ratio", "link"} | {
    "rounds",
    "false_alarms",
}


def simulate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOP / "scripts/simulate", *words], capture_output=True, text=True)


def small(folder: Path, *words: str) -> dict:
    """Four cells of one law."""
    cells = ("--only", "rate_mbit=10,20", "--only", "path_s=0.02", "--only", "ack_s=0.001,0.01")
    done = simulate("--grid", "start", "--law", "pktpair", *cells, "--out", str(folder), *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not judged" in done.stdout
    return json.loads((folder / "summary.json").read_text())


def test_a_part_of_a_grid(tmp_path) -> None:
    """A row for each cell in the order of the axes; the goals of a part are measured and not judged"""
    summary = small(tmp_path / "one")
    assert [(row["rate_mbit"], row["ack_s"]) for row in summary["rows"]] == [
        (10, 0.001),
        (10, 0.01),
        (20, 0.001),
        (20, 0.01),
    ]
    for row in summary["rows"]:
        assert row.keys() >= ROW
        assert row["false_alarms"] == 0
        assert row["rounds"] > 0
    (grid,) = summary["grids"]
    assert grid["cases"] == 4
    assert {goal["met"] for goal in grid["goals"]} == {None}
    assert [path.name for path in (tmp_path / "one").glob("*.png")] == ["start-pktpair.png"]
    # a millisecond is no more than a packet's time
    assert not summary["rows"][0]["bad_start"]
    assert small(tmp_path / "two", "--jobs", "1")["rows"] == summary["rows"]


def test_words_for_every_case(tmp_path) -> None:
    """What is set on the command line holds for every case: nobody hands over ACKs in slots"""
    rows = small(tmp_path, "--set", "ack_period_ms=0")["rows"]
    assert all(row["rtt_max_ratio"] < 3 and row["link"] > 0.95 for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grid", "none"], "--grid none: not one of: start "),
        (["--law", "vegas"], "--law vegas: not one of: cubic "),
        (["--only", "rate_mbit"], "--only rate_mbit: not AXIS=VALUE,... with an axis of: "),
        (["--only", "rate_mbit=3"], "--only rate_mbit=3: 3 is not one of: "),
        (["--jobs", "0"], "--jobs 0: not from 1 to 1024"),
        (["--grid", "start", "--set", "window=0"], "line 1: window=0: not a number from 1 to 10000000"),
    ],
)
def test_refused(tmp_path, words, said) -> None:
    """Bad input is named with its value and limits; the status is 2, and nothing is written"""
    done = simulate("--out", str(tmp_path / "out"), *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"simulate: {said}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_list() -> None:
    """Every grid, with its axes and goals"""
    done = simulate("--list")
    assert done.returncode == 0
    assert "start: " in done.stdout
    assert "    goal: cells bad at start <= 30\n" in done.stdout


def test_trains_are_told_to_who_asks(tmp_path) -> None:
    """Alone on 10 Mbit/s, each packet of a train takes the time of its 1514 bytes; nothing of it without trains=1"""
    small(tmp_path)  # which builds the program
    case = "flows=1 queue=rr rate_mbit=10 path_ms=50 seconds=2 ack_every=1 cc=pktpair_1994"
    program = [TOP / "build/simulate/simulate"]
    done = subprocess.run(program, input=f"{case} trains=1\n{case}\n", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    told, silent = (json.loads(line)["flows"][0] for line in done.stdout.splitlines())
    assert len(told["trains"]) > 100 and "trains" not in silent
    assert all(gap_ns == segments * 1_211_200 for _, gap_ns, segments, *_ in told["trains"])
    assert {name: told[name] for name in silent} == silent


def test_one_case() -> None:
    """Its result is that of the program, and what is wrong with it is named"""
    case = "flows=1 queue=rr rate_mbit=10 path_ms=50 seconds=2 cc=pktpair"
    done = simulate("--case", case)
    assert (done.returncode, done.stderr) == (0, "")
    program = subprocess.run([TOP / "build/simulate/simulate"], input=case, capture_output=True, text=True)
    assert done.stdout == program.stdout and json.loads(done.stdout)["flows"][0]["cc"] == "pktpair"
    for words, said in (
        ("rate_mbit=x", "rate_mbit"),
        (f"{case}\n{case}", "not one line"),
        ("", "not one line"),
        ("# x", "not one"),
    ):
        done = simulate("--case", words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("simulate: --case") and said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--case", "cc=pktpair", "--grid", "kin"], "simulate: --case: not beside --grid"),
        (["--case", "cc=pktpair", "--lab"], "simulate: --case: not beside --lab"),
    ],
)
def test_a_case_has_its_own_words_alone(words: list[str], said: str) -> None:
    done = simulate(*words)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(said)


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        ("no-such-compiler -O1", "no-such-compiler: No such file or directory"),
        ("gcc '", "CC=gcc ': No closing quotation"),
    ],
)
def test_a_compiler_that_cannot_be_run_is_named(monkeypatch, compiler: str, said: str) -> None:
    monkeypatch.setenv("CC", compiler)
    done = simulate("--case", "cc=pktpair")
    assert done.returncode == 2 and done.stderr.startswith(f"simulate: {said}")


def test_beside_cubic(monkeypatch) -> None:
    """Seeds together: shares by their sums, what is sent again by its mean, of which CUBIC has 0.001 at least"""
    # what the program sets for itself
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    loader = SourceFileLoader("simulate", str(TOP / "scripts/simulate"))
    spec = importlib.util.spec_from_loader("simulate", loader)
    program = importlib.util.module_from_spec(spec)
    loader.exec_module(program)
    place = {"grid": "kin", "rate_mbit": 5, "path_s": 0.04, "buffer_bdp": 1, "flows": 2}
    rows = [
        {**place, "law": law, "seed": seed, "share": 1.0, "retransmitted": again}
        for law, both in (("pktpair", (0.01, 0.03)), ("cubic", (0.004, 0.006)))
        for seed, again in enumerate(both)
    ]
    rows += [{**row, "flows": 4, "retransmitted": row["retransmitted"] / 1000} for row in rows]
    program.compare(rows)
    found = {(row["law"], row["flows"]): row["again_of_cubic"] for row in rows}
    assert found == {("pktpair", 2): 4.0, ("cubic", 2): 1.0, ("pktpair", 4): 0.02, ("cubic", 4): 0.005}


def test_the_labs_cases(tmp_path, monkeypatch) -> None:
    """Ten cases that the lab can run, and that the simulator reads"""
    monkeypatch.syspath_prepend(str(TOP / "kmod/tests/simulator"))
    import lab_cases

    assert len(lab_cases.CASES) == 10
    small(tmp_path)  # which builds the program
    lines = [lab_cases.words(name, 1).replace("seconds=12", "seconds=3") for name in lab_cases.CASES]
    program = [TOP / "build/simulate/simulate"]
    done = subprocess.run(program, input="\n".join(lines), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["name"] for result in results] == list(lab_cases.CASES)
    for name, result in zip(lab_cases.CASES, results, strict=True):
        plan = lab_cases.plan({"case": name}, "", "", 1)
        plan.check()
        assert [flow.cc for flow in plan.flows] == [flow["cc"] for flow in result["flows"]]
