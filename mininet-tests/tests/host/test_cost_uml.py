# SPDX-License-Identifier: GPL-2.0
"""What is concluded from nanoseconds, and what is said where there can be none."""

import json
from pathlib import Path
from typing import Any

import pytest
from lab import cli
from lab.front import cost, cost_uml
from lab.guest import protocol
from lab.machines import uml
from lab.model.errors import LabError


def row(qdisc: str, ns: float, **changes: Any) -> dict[str, Any]:
    """A row of full-size packets above the limit."""
    values: dict[str, Any] = {
        "qdisc": qdisc,
        "flows": 1024,
        "case": "over-2x",
        "packet_bytes": 1514,
        "gso": None,
        "hashed": False,
        "ipv6": False,
        "nanoseconds_per_packet": ns,
        "enqueue": ns - 1,
    }
    return {**values, **changes}


def test_the_round_in_the_middle_counts() -> None:
    """Not the mean: one round in which the machine did something else changes nothing"""
    rounds = [row("fq_rr", ns, round=number) for number, ns in enumerate((300, 9000, 310))]
    (found,) = cost_uml.medians([*rounds[:2], rounds[2]])
    assert (found["nanoseconds_per_packet"], found["enqueue"]) == (310, 309)
    assert (found["least"], found["most"], found["rounds"]) == (300, 9000, 3)
    assert "round" not in found


def test_rounds_of_different_rows_are_apart() -> None:
    rows = [row("fq_rr", 1), row("fq_rr", 2, flows=1), row("fq_rr", 3, hashed=True), row("drr", 4)]
    found = cost_uml.medians([{**one, "round": 0} for one in rows])
    assert [one["nanoseconds_per_packet"] for one in found] == [1, 2, 3, 4]


@pytest.mark.parametrize("case", ["over-2x", "over-100x"])
@pytest.mark.parametrize(("many", "met"), [(240, True), (241, False)])
def test_many_flows(case: str, many: float, met: bool) -> None:
    """Many flows may cost 1.2 times what fq_codel takes for few; fq_rr's own few are no measure, nor is CAKE"""
    rows = [
        row("fq_rr", 1, case=case),
        row("fq_rr", many, case=case, flows=65536),
        row("fq_codel", 200, case=case),
        row("fq_codel", 2, case=case, flows=65536),
        row("cake", 1, case=case),
        row("fq_codel", 1, case=case, hashed=True),
    ]
    (verdict,) = cost.judge(rows, cost.NANOSECONDS)
    assert (verdict.goal, verdict.limit, verdict.met) == (f"{case} many flows", 1.2, met)


@pytest.mark.parametrize("case", ["bypass", "below"])
def test_no_goal_below_the_limit(case: str) -> None:
    """Only where the buffer is full"""
    rows = [row("fq_rr", 9000, case=case, flows=65536), row("fq_codel", 1, case=case)]
    assert not cost.judge(rows, cost.NANOSECONDS)


def test_ratios_and_spans() -> None:
    """They are of like rows, for those that there are"""
    rows = [
        row("fq_rr", 100),
        row("fq_rr", 140, flows=65536),
        row("fq_codel", 200),
        row("fq_codel", 700, flows=65536),
        row("cake", 400),
        row("fq_rr", 7, hashed=True),
    ]
    over, spans = cost_uml.lines_of(rows)
    assert over == [
        "over-2x, 1514 bytes, over fq_codel: 0.50 (1024), 0.20 (65536)",
        "over-2x, 1514 bytes, over cake: 0.25 (1024)",
    ]
    assert spans == ["over-2x, 1514 bytes: fq_rr 1.40, fq_codel 3.50"]


def test_join() -> None:
    """Nanoseconds stand beside instructions of the same source only"""
    instructions = {"modules": {"sch_fq_rr": "A"}, "rows": [row("fq_rr", 0), row("cake", 0)], "goals": []}
    for one in instructions["rows"]:
        del one["nanoseconds_per_packet"]
    found = {"modules": {"sch_fq_rr": "A"}, "rows": [row("fq_rr", 123)]}
    joined = cost_uml.join(instructions, found)
    assert [one.get("nanoseconds_per_packet") for one in joined["rows"]] == [123, None]
    assert joined["native"] == found
    other = cost_uml.join({**instructions, "modules": {"sch_fq_rr": "B"}}, found)
    assert other["rows"] == instructions["rows"]
    assert cost_uml.join({}, found) == {"rows": [], "native": found}


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "summary.json"
    rows = [row("fq_rr", 100), row("fq_rr", 160, flows=65536), row("fq_codel", 100)]
    found = {"kernel": "6.1", "processor": "P", "rows": rows}
    kept.write_text(json.dumps({"native": found}))
    assert cli.main(["cost-native", "--show", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert "fq_rr         100      160" in shown
    assert "MISSED over-2x many flows       at most 1.600 (goal 1.2)" in shown
    kept.write_text("{}")
    assert cli.main(["cost-native", "--show", str(kept)]) == 2
    assert "has no nanoseconds: run make cost-native" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--rounds", "0"], "--rounds 0: at least 1"), (["--flows", "7"], "there is no number of flows '7'")],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is built"""
    assert cli.main(["cost-native", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_counter_that_does_not_count_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(uml, "CPU_INFO", info)
    info.write_text("model name\t: P 1\nflags\t\t: fpu constant_tsc nonstop_tsc\n")
    assert uml.processor() == "P 1"
    info.write_text("model name\t: P 1\nflags\t\t: fpu constant_tsc\n")
    with pytest.raises(LabError, match="no nonstop_tsc in"):
        uml.processor()


def kernel_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> uml.UserModeLinux:
    """A program in the place of User Mode Linux."""
    program = tmp_path / "linux"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setattr(uml, "BUILD", tmp_path)
    return uml.UserModeLinux("6.1-test")


def test_lines_and_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the status is the kernel's"""
    with kernel_that(tmp_path, monkeypatch, "echo one; echo two; echo status 3; echo Power down") as guest:
        guest.start({"kind": "exec", "command": ["command"]})
        *said, (kind, outcome) = guest.frames()
    assert said == [(protocol.STDOUT, b"one\n"), (protocol.STDOUT, b"two\n")]
    assert (kind, json.loads(outcome)["status"]) == (protocol.EXIT, 3)


def test_a_kernel_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own last words are passed on: ptrace may be forbidden"""
    does = "echo Checking ptrace; echo ptrace: Operation not permitted >&2; exit 1"
    with (
        kernel_that(tmp_path, monkeypatch, does) as guest,
        pytest.raises(LabError, match="ended early: ptrace: Operation not permitted / Checking ptrace"),
    ):
        guest.start({"kind": "exec", "command": ["command"]})
        list(guest.frames())
