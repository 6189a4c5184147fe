# SPDX-License-Identifier: GPL-2.0
"""The goals of the transfers, each met and missed, and the tables that say so."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab.analyse import builds, transfer_goals
from lab.front import transfers
from lab.show import rst, slowdowns


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
        "row_set": changes.get("benchmark", "b1"),
        "flows": 11,
    }
    return {**values, **changes}


def missed(*rows: dict[str, Any]) -> list[str]:
    return [verdict.text for verdict in transfer_goals.judge(transfer_goals.lines(rows)) if not verdict.met]


def test_mean_over_seeds() -> None:
    """A goal is judged on the mean over seeds, and the spread is known."""
    rows = [row(0.06, seed=1), row(0.08, seed=2), row(0.067, seed=3)]
    (line,) = transfer_goals.lines(rows)
    assert line.seeds == 3
    assert line.figures["slowdown"] == transfer_goals.Spread(pytest.approx(0.069), 0.06, 0.08)
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
    assert not missed(rows[1])


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
    b8 = {**over_cake, "benchmark": "b8", "row_set": "b8"}
    assert not missed({**b8, "retransmits": 700})
    assert missed({**b8, "retransmits": 701}) == ["retransmitted part"]


def whole_campaign() -> list[dict[str, Any]]:
    """Every row that the campaign measures, by its own scenarios, with one seed."""
    metrics = {"mean_slowdown": 0.1, "worst_slowdown": 0.2, "packets": 1000, "retransmits": 3}
    found = []
    for request in transfers.requests(transfers.Selection(seeds=1)):
        (scenario,) = request.scenarios
        for values in scenario.values(scenario.axes(request.settings)):
            benchmark = scenario.module.benchmark(values, 1)
            of_rows = {
                one.metric(name): 1.0 for one in benchmark.rows for name in ("completion_s", "reference_s", "optimal_s")
            }
            of_rows |= {one.metric("slowdown"): 0.1 for one in benchmark.rows}
            labels = {"hosts": values["hosts"], "cc": request.ccs[0], "qdisc": request.qdiscs[0], "seed": 1}
            found += benchmark.table_rows(labels, metrics | of_rows)
    return found


def test_each_figure_is_judged_once() -> None:
    """No goal of a row set, hosts and queue is there twice, although b4, b6 and b9 have several rows a run"""
    rows = whole_campaign()
    verdicts = transfer_goals.judge(transfer_goals.lines(rows))
    counts = Counter((verdict.about, verdict.hosts, verdict.qdisc, verdict.text) for verdict in verdicts)
    assert {key: count for key, count in counts.items() if count > 1} == {}
    sets = {row["row_set"] for row in rows if row["variant"] in ("short", "reverse", "conn1")}
    assert sets == {"b4", "b6", "b9"}
    # over all transfers of a run: under the run's name alone
    of_runs = {verdict.row_set for verdict in verdicts if verdict.kind not in ("primary", "ahead")}
    assert of_runs <= {row["row_set"] for row in rows}
    # what is over all of one transfer is its own slowdown, once
    alone = [v for v in verdicts if (v.name, v.hosts, v.qdisc) == ("b3 200", "open", "cake")]
    beside = [v.text for v in alone if v.is_beside_a_peer]
    assert beside == ["slowdown beside bbr", "retransmissions beside bbr", "slowdown beside cubic"]


def test_goals_are_named_as_in_earlier_summaries() -> None:
    """By kinds and rows that programs which read summary.json know; what is of a run says of which"""
    rows = whole_campaign()
    verdicts = transfer_goals.judge(transfer_goals.lines(rows))
    assert {v.kind for v in verdicts} == {"primary", "ahead", "apart", "mean", "worst", "peers", "retransmits"}
    assert {v.name for v in verdicts} <= {f"{row['benchmark']} {row['variant']}".strip() for row in rows}
    named = {(v.kind, v.name, v.row_set) for v in verdicts if v.hosts == "open" and v.name.startswith("b4")}
    of_rows = {(kind, f"b4 {path}", "") for kind in ("primary", "ahead") for path in ("short", "long")}
    of_run = {(kind, "b4 short", "b4") for kind in ("mean", "worst", "peers", "retransmits")}
    assert named == of_rows | of_run | {("apart", "b4 long", "b4")}


def test_every_goal_has_its_row() -> None:
    """Each goal of the table is about a row that the campaign measures"""
    rows = {(row["hosts"], row["benchmark"], row["variant"]) for row in whole_campaign() if row["cc"] == "pktpair"}
    assert {(hosts, *key) for hosts, limits in transfer_goals.PRIMARY.items() for key in limits} <= rows


def test_tables() -> None:
    """A missed goal is marked in the terminal, in its row and in that of its run"""
    peer = row(0.4, cc="bbr", mean_slowdown=0.01)
    lines = transfer_goals.lines([row(0.08, seed=1), row(0.09, seed=2), peer])
    verdicts = transfer_goals.judge(lines)
    shown = slowdowns.terminal(lines, verdicts)
    assert "8.5 (8.0 .. 9.0)" in shown and "MISSED: primary" in shown and "40.0 bbr+fq_rr" in shown
    assert "MISSED: mean of all flows beside bbr" in shown
    assert "b1, hosts open, fq_rr: slowdown 8.5 %, at most 7.0 %" in slowdowns.misses(verdicts)


def test_few_retransmissions_are_counted() -> None:
    """A goal of retransmissions is a count, a retransmitted part a percentage, however small they are"""
    ours = row(0.05, retransmits=1)
    (verdict,) = [
        v
        for v in transfer_goals.judge(transfer_goals.lines([ours, {**ours, "cc": "bbr", "retransmits": 0}]))
        if v.kind == "retransmits"
    ]
    assert slowdowns.misses([verdict]) == ["b1, hosts open, fq_rr: retransmissions beside bbr 1, at most 0"]


def test_the_documented_table(tmp_path: Path) -> None:
    """The documentation has twelve rows, each measured; the text around them stays"""
    rows = whole_campaign()
    path = tmp_path / "transfers.rst"
    path.write_text(f"head\n\n{rst.begin(slowdowns.DOCUMENTED_BY)}\n\nold\n\n{rst.END}\n\nfoot\n")
    lines = transfer_goals.lines(rows)
    slowdowns.document(path, rows, lines, transfer_goals.judge(lines), "abc", "6.1")
    with path.with_suffix(".csv").open() as file:
        kept = list(csv.DictReader(file))
    assert [(one["benchmark"], one["cc"], float(one["slowdown"])) for one in kept] == [
        (one["benchmark"], one["cc"], one["slowdown"]) for one in rows
    ]
    text = path.read_text()
    assert text.startswith("head\n") and text.endswith("foot\n") and "old" not in text
    assert "commit abc on Linux 6.1" in text and ":download:`transfers.csv`" in text
    rule, head, _, *table = text.partition("them.\n\n")[2].partition("\n\n")[0].splitlines()
    assert (head.split()[0], table.pop()) == ("row", rule)
    assert [one.split("  ")[0] for one in table] == list(slowdowns.DOCUMENTED)
    assert len(table) == 12
    without = transfer_goals.lines(row for row in rows if (row["benchmark"], row["cc"]) != ("b5", "cubic"))
    with pytest.raises(LookupError, match="b5 of cubic over fq_rr, hosts open, was not measured"):
        slowdowns.document(path, rows, without, [], "abc", "6.1")
    path.write_text("no marks")
    with pytest.raises(ValueError, match="no lines"):
        slowdowns.document(path, rows, lines, [], "abc", "6.1")


@pytest.mark.parametrize(
    ("base", "now", "worse"),
    [
        ((0.10, 0.10, 0.10), (0.105, 0.105, 0.105), False),
        ((0.10, 0.10, 0.10), (0.106, 0.106, 0.106), True),
        # half a point is not enough where the base's seeds differ by more
        ((0.09, 0.10, 0.11), (0.12, 0.12, 0.12), False),
        ((0.09, 0.10, 0.11), (0.1201, 0.1201, 0.1201), True),
        # better is not worse
        ((0.10, 0.10, 0.10), (0.05, 0.05, 0.05), False),
        # the new one's own spread does not count
        ((0.10, 0.10, 0.10), (0.05, 0.10, 0.20), True),
    ],
)
def test_beside_a_base(base: tuple[float, ...], now: tuple[float, ...], worse: bool) -> None:
    """Worse is: the mean above the base's by more than half a point, and by more than the base's seeds differ"""
    of_base, of_now = (
        transfer_goals.lines([row(slow, seed=seed) for seed, slow in enumerate(slowdowns_, 1)])
        for slowdowns_ in (base, now)
    )
    (change,) = builds.changes(of_now, of_base, {("b1", "open", "pktpair", "fq_rr")})
    assert change.is_worse == worse
    assert change.as_data()["worse"] == worse
    shown = slowdowns.beside_base([change], "HEAD~1")
    assert ("WORSE" in shown) == worse
    assert f"{int(worse)} of 1 rows are worse; 0 use no module that differs" in shown


def test_rows_without_a_module_are_not_compared() -> None:
    """A row whose runs are the same with both builds is counted, and not shown"""
    lines = transfer_goals.lines([row(0.1), row(0.2, cc="bbr", qdisc="cake")])
    found = builds.changes(lines, lines, {("b1", "open", "pktpair", "fq_rr")})
    shown = slowdowns.beside_base(found, "HEAD~1")
    assert "pktpair+fq_rr" in shown and "bbr+cake" not in shown
    assert "0 of 1 rows are worse; 1 use no module that differs" in shown
