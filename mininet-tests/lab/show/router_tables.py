# SPDX-License-Identifier: GPL-2.0
"""The tables of what ``lab router`` measured, for Documentation/router.rst."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analyse.router import HOSTS_PEER, OURS, PACKET_PAIR, PEERS, WITHOUT
from ..analyse.verdict import Row, mean
from . import rst

COMMAND = "scripts/lab router --document"
NOTHING = "\\-"
QUEUES = (OURS, *PEERS)
CCS = ("cubic", "bbr", PACKET_PAIR)


def sentence(goal: Row) -> str:
    """A goal that was missed."""
    wanted = f"{goal['name']} {goal['op']} {goal['limit']:g}"
    return f"{goal['case']}, {goal['cc']}: {wanted}, measured {goal['measured']:g}"


def _ms(seconds: float) -> str:
    ms = seconds * 1e3
    return f"{ms:.3g}" if ms < 100 else f"{ms:.0f}"


def _delays(group: Sequence[Row]) -> str:
    return f"{_ms(mean(group, 'delay_p50_s'))}, {_ms(mean(group, 'delay_p99_s'))}"


def _retransmits(group: Sequence[Row]) -> str:
    return f"{mean(group, 'retransmits'):.0f}"


def _table(cells: Mapping[str, Mapping[str, str]]) -> str:
    """A line for each case; what no case has is no column."""
    columns = list(dict.fromkeys(column for line in cells.values() for column in line))
    lines = [[case, *(line.get(column, NOTHING) for column in columns)] for case, line in cells.items()]
    return rst.simple_table(["case", *columns], lines)


def _alone(rows: Sequence[Row]) -> str:
    """Delays and what is sent again, of flows of one congestion control."""
    cells: dict[str, dict[str, str]] = {}
    shown: list[tuple[str, Callable[[Sequence[Row]], str], Sequence[str]]] = [
        ("{}, delay in ms", _delays, CCS),
        ("{}, sent again", _retransmits, (CCS[0], PACKET_PAIR)),
    ]
    for case in dict.fromkeys(row["case"] for row in rows):
        for head, told, ccs in shown:
            for cc in ccs:
                of_queues = [
                    [
                        row
                        for row in rows
                        if (row["case"], row["cc"], row["beside"], row["qdisc"]) == (case, cc, "", queue)
                    ]
                    for queue in QUEUES
                ]
                between = "; " if told is _delays else ", "
                cells.setdefault(case, {})[head.format(cc)] = between.join(
                    told(group) if group else NOTHING for group in of_queues
                )
    return _table(cells)


def _beside(rows: Sequence[Row]) -> str:
    """Packet pair beside as many flows of another kind, over our queue with delay control and without."""
    cells: dict[str, dict[str, str]] = {}
    of_pair = [row for row in rows if row["cc"] == PACKET_PAIR and row["beside"]]
    for case in dict.fromkeys(row["case"] for row in of_pair):
        for qdisc, options in ((OURS, ""), (OURS, WITHOUT), *((peer, "") for peer in PEERS)):
            group = [row for row in of_pair if (row["case"], row["qdisc"], row["options"]) == (case, qdisc, options)]
            told = f"{_delays(group)}; {_retransmits(group)}" if group else NOTHING
            cells.setdefault(case, {})[f"{qdisc} {options}".strip()] = told
    return _table(cells)


def _pages(pages: Sequence[Row]) -> str:
    took = {queue: mean([page for page in pages if page["qdisc"] == queue], "page_s") for queue in (OURS, HOSTS_PEER)}
    return ", ".join(f"{queue} {seconds:.3f} s" for queue, seconds in took.items())


def document(path: Path, summary: Mapping[str, Any]) -> None:
    """Write the tables into the page.

    :raises ValueError: if it does not have the marks
    """
    rows, goals = summary["rows"], summary["goals"]
    missed = [f"* {rst.sentence(sentence(goal))}" for goal in goals if not goal["met"]]
    seeds = ", ".join(map(str, sorted({row["seed"] for row in rows})))
    parts = [
        f"Measured at commit {summary['commit']} on Linux {summary['kernel']}: {len(rows)} rows, seeds {seeds}"
        f" (the page: {len({page['seed'] for page in summary['pages']})} of them), {summary['cpu_seconds']:.0f} s of a"
        f" core.\nOf {len(goals)} goals {len(goals) - len(missed)} are met.",
        "In each cell are fq_rr, fq_codel and CAKE: median and 99th percentile of the delay inside a flow, or packets"
        " sent again.",
        _alone(rows),
        "Packet pair beside as many flows of CUBIC: median and 99th percentile of its delay in ms; what it sent again.",
        _beside(rows),
        f"The page, a mean: {_pages(summary['pages'])}.",
        f"Missed: {len(missed)}.",
        "\n".join(missed),
    ]
    rst.write_between(path, COMMAND, [part for part in parts if part])
