# SPDX-License-Identifier: GPL-2.0
"""The goals of a packet's cost, each met and missed, and the tables that say so."""

import json
from pathlib import Path
from typing import Any

import pytest
from lab import cli
from lab.front import cost


def row(qdisc: str, instructions: float, **changes: Any) -> dict[str, Any]:
    """A row of full-size packets below the limit."""
    values: dict[str, Any] = {
        "qdisc": qdisc,
        "flows": 1024,
        "case": "below",
        "packet_bytes": 1514,
        "gso": None,
        "hashed": False,
        "ipv6": False,
        "instructions_per_packet": instructions,
    }
    return {**values, **changes}


def missed(*rows: dict[str, Any]) -> list[str]:
    return [verdict.goal for verdict in cost.judge(rows) if not verdict.met]


# case, peer, and the cost of fq_rr that is just met beside one of 1000
LIMITS = [
    ("bypass", "fq_codel", 1000),
    ("below", "fq_codel", 900),
    ("below", "cake", 500),
    ("over-2x", "fq_codel", 1000),
    ("over-2x", "cake", 1000),
    ("over-100x", "fq_codel", 1000),
    ("over-100x", "cake", 1000),
]


@pytest.mark.parametrize(("case", "peer", "most"), LIMITS)
def test_ratio(case: str, peer: str, most: int) -> None:
    """Each goal is missed by what is just beyond it"""
    assert not missed(row("fq_rr", most, case=case), row(peer, 1000, case=case))
    assert missed(row("fq_rr", most + 1, case=case), row(peer, 1000, case=case)) == [f"{case} over {peer}"]


@pytest.mark.parametrize("changes", [{"flows": 100}, {"packet_bytes": 64}, {"gso": "split"}, {"case": "bypass"}])
def test_only_like_is_compared(changes: dict[str, Any]) -> None:
    """Rows of other flows, packets or cases are no peers"""
    assert not cost.judge([row("fq_rr", 5000), row("fq_codel", 1000, **changes)])


@pytest.mark.parametrize(("peer", "most"), [("fq_codel", 1000), ("cake", 500)])
def test_packets_with_a_hash(peer: str, most: int) -> None:
    """They have limits of their own, below the buffer's"""
    assert not missed(row("fq_rr", most, hashed=True), row(peer, 1000, hashed=True))
    assert missed(row("fq_rr", most + 1, hashed=True), row(peer, 1000, hashed=True)) == [f"below hashed over {peer}"]
    beyond = [row(qdisc, cost, hashed=True, case="over-2x") for qdisc, cost in (("fq_rr", 5000), (peer, 1000))]
    assert not cost.judge(beyond)


@pytest.mark.parametrize(("few", "many"), [(1000, 1201), (1201, 1000)])
def test_flat(few: float, many: float) -> None:
    """Up or down by more than a fifth is missed, in the overload only"""
    over = [row("fq_rr", few, case="over-2x"), row("fq_rr", many, case="over-2x", flows=65536)]
    assert missed(*over) == ["over-2x flat"]
    assert not missed(row("fq_rr", few), row("fq_rr", many, flows=65536))
    over[1]["instructions_per_packet"] = few * 1.2
    assert not missed(*over)


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was kept can be read again; misses are named with their place"""
    kept = tmp_path / "summary.json"
    kept.write_text(json.dumps({"rows": [row("fq_rr", 950), row("fq_codel", 1000), row("cake", 2000)]}))
    assert cli.main(["cost", "--show", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert "fq_codel     1000" in shown
    assert "MISSED below over fq_codel      at most 0.950 (goal 0.9) in 1: below, 1514 bytes, 1024 flows" in shown
    assert "met    below over cake" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--qdiscs", "fq_rr,fq_foo"], "there is no qdisc 'fq_foo'; there are: fq_rr, fq_codel, cake, sfq"),
        (["--cases", "sideways"], "there is no case 'sideways'; there are: bypass, below, over-2x, over-100x"),
        (["--flows", "7"], "there is no number of flows '7'; there are: 1, 100, 1024, 65536"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, with what there is, before anything boots"""
    assert cli.main(["cost", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_missing_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what to run"""
    monkeypatch.setattr(cost, "TOP", tmp_path)
    assert cli.main(["cost"]) == 2
    assert "qdisc_cost.ko does not exist: run make lab-modules" in capsys.readouterr().err
