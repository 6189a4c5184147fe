# SPDX-License-Identifier: GPL-2.0
"""The goals of the transfers, each met and missed, and the tables that say so."""

from pathlib import Path
from typing import Any

import pytest
from lab import campaign, goals, transfer_report


def row(slowdown: float, **changes: Any) -> dict[str, Any]:
    """A row of b1 whose reference is its optimum."""
    values: dict[str, Any] = {
        "benchmark": "b1",
        "variant": "",
        "hosts": "open",
        "cc": "pktpair",
        "qdisc": "fq_rr",
        "seed": 1,
        "completion_s": 1 + slowdown,
        "optimal_s": 1.0,
        "reference_s": 1.0,
        "slowdown": slowdown,
        "mean_slowdown": 0.05,
        "worst_slowdown": 0.06,
        "published_slowdown": 0.091,
        "packets": 14000,
        "retransmits": 0,
    }
    return {**values, **changes}


def missed(*rows: dict[str, Any]) -> list[str]:
    return [verdict.text for verdict in goals.judge(goals.lines(rows)) if not verdict.met]


def test_mean_over_seeds() -> None:
    """A goal is judged on the mean over seeds, and the spread is known."""
    rows = [row(0.06, seed=1), row(0.08, seed=2), row(0.067, seed=3)]
    (line,) = goals.lines(rows)
    assert line.seeds == 3
    assert line.figures["slowdown"] == goals.Spread(pytest.approx(0.069), 0.06, 0.08)
    assert not missed(*rows)
    assert missed(*rows[:2], row(0.071, seed=3)) == ["slowdown"]


MISSES = {
    "slow": ({"slowdown": 0.0701}, "slowdown"),
    "the others are slow": ({"mean_slowdown": 0.0901}, "mean of all flows"),
    "one of the others is slow": ({"worst_slowdown": 0.1301}, "worst of all flows"),
    "it has taken from others": ({"completion_s": 0.989}, "ahead of its fair share"),
}


@pytest.mark.parametrize("case", MISSES)
def test_primary(case: str) -> None:
    """Each goal of a row is missed by what is just beyond it"""
    changes, text = MISSES[case]
    assert not missed(row(0.07))
    assert missed({**row(0.07), **changes}) == [text]


def test_paths_apart() -> None:
    """Benchmark 4: both paths within the goal, but too far from each other"""
    rows = [row(slow, benchmark="b4", variant=variant) for variant, slow in (("short", 0.02), ("long", 0.036))]
    assert missed(*rows) == ["short and long path apart"]


def test_peers() -> None:
    """Beside bbr and cubic over the same queue, for all flows; other queues and hosts do not count"""
    ours = row(0.5, hosts="stock-gro", qdisc="cake", mean_slowdown=0.2, worst_slowdown=0.3, retransmits=70)
    bbr = {**ours, "cc": "bbr", "mean_slowdown": 0.195, "worst_slowdown": 0.295}
    assert not missed(ours, bbr)
    assert missed(ours, {**bbr, "mean_slowdown": 0.1949}) == ["mean of all flows beside bbr"]
    assert missed(ours, {**bbr, "cc": "cubic", "worst_slowdown": 0.2949}) == ["worst of all flows beside cubic"]
    assert not missed(ours, {**bbr, "worst_slowdown": 0.0, "qdisc": "fq_codel"})
    assert not missed(ours, {**bbr, "worst_slowdown": 0.0, "hosts": "open"})


def test_retransmissions() -> None:
    """No more than bbr anywhere nor than cubic over fq_rr; a part of the packets over the others"""
    ours = row(0.5, hosts="stock-gro", retransmits=11)
    assert missed(ours, {**ours, "cc": "bbr", "retransmits": 10}) == ["retransmissions beside bbr"]
    assert missed(ours, {**ours, "cc": "cubic", "retransmits": 10}) == ["retransmissions beside cubic"]
    over_cake = {**ours, "qdisc": "cake"}
    assert not missed(over_cake, {**over_cake, "cc": "cubic", "retransmits": 10})
    assert missed({**over_cake, "retransmits": 71}) == ["retransmitted part"]
    assert not missed({**over_cake, "retransmits": 70})
    assert not missed({**over_cake, "benchmark": "b8", "retransmits": 700})
    assert missed({**over_cake, "benchmark": "b8", "retransmits": 701}) == ["retransmitted part"]


def test_every_goal_has_its_row() -> None:
    """Each goal of the table is about a row that the campaign measures"""
    rows = {
        (job.plan.hosts, job.plan.benchmark, one.variant)
        for boot in campaign.boots(campaign.Selection(ccs=("pktpair",), qdiscs=("fq_rr",), seeds=1))
        for job in boot.jobs
        for one in job.plan.rows
    }
    assert {(hosts, *key) for hosts, limits in goals.PRIMARY.items() for key in limits} <= rows


def test_tables(tmp_path: Path) -> None:
    """A missed goal is marked in the terminal and in the documentation; the rest of the text stays"""
    peer = row(0.4, cc="bbr", mean_slowdown=0.01)
    lines = goals.lines([row(0.08, seed=1), row(0.09, seed=2), peer])
    verdicts = goals.judge(lines)
    shown = transfer_report.terminal(lines, verdicts)
    assert "8.5 (8.0 .. 9.0)" in shown and "MISSED: primary" in shown and "40.0 bbr+fq_rr" in shown
    assert "MISSED: mean of all flows beside bbr" in shown
    assert "b1, hosts open, fq_rr: slowdown 8.5 %, at most 7.0 %" in transfer_report.misses(verdicts)
    path = tmp_path / "transfers.rst"
    path.write_text(f"head\n\n{transfer_report.BEGIN}\n\nold\n\n{transfer_report.END}\n\nfoot\n")
    transfer_report.document(path, lines, verdicts, "abc", "6.1")
    text = path.read_text()
    assert text.startswith("head\n") and text.endswith("foot\n") and "old" not in text
    assert "commit abc on Linux 6.1" in text and "MISSED: primary" in text
    path.write_text("no marks")
    with pytest.raises(ValueError, match="no lines"):
        transfer_report.document(path, lines, verdicts, "abc", "6.1")


def test_kept(tmp_path: Path) -> None:
    """A boot's results are kept until something that they come from changes"""
    path = tmp_path / "boot.json"
    assert campaign.kept(path, "key") is None
    path.write_text('{"key": "key", "runs": [1]}')
    assert campaign.kept(path, "key") == [1]
    assert campaign.kept(path, "other") is None
