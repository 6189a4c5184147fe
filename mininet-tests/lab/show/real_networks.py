# SPDX-License-Identifier: GPL-2.0
"""``lab real-networks`` for people: a table for the terminal, and a page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..analyse import real_network_goals as goals
from ..model.real_networks import CASES, CCS, KINDS, Case
from .pages import rendered
from .pictures import CC_COLOURS, STYLE, address
from .runs import DELAY, GOODPUT, beside_each_other

Row = Mapping[str, Any]
Summary = Mapping[str, Any]
ROW_INCHES = 0.2
WIDTH_INCHES = 8.0
# Shares below this are drawn as it: the axis is logarithmic.
LEAST_SHARE = 0.05
LEAST_DELAY_MS = 0.1
# Of the terminal's columns: a case's name, and figures.
NAME, WIDTHS = 29, (8, 5, 6, 7, 7, 8, 7, 6)
OFFSETS = dict(zip(CCS, (-0.25, 0.0, 0.25), strict=True))
ABOUT = {
    "slot": "ACKs arrive in slots of 1 to 8 ms, as over Wi-Fi or DOCSIS",
    "jitter": "ACKs arrive up to 1 to 5 ms earlier or later",
    "gro": "the receiver merges segments, and acknowledges them at once",
    "loss": "1 to 5 % of the packets are lost at random, whatever the rate is",
    "start": "a clean start over 20 ms",
    "route": "the path becomes longer, on the way back or there",
    "rates": "the link's rate changes; applications that pause or have a small window; a queue on the way back; "
    "shares of 0.5 to 2 Mbit/s",
    "fifo": "a FIFO of 1, 2 and 5 products of rate and path, alone and beside others",
    "bucket": "flows that fq_codel has in one queue",
    "policer": "a rate without a queue",
}


def mean(rows: Sequence[Row], name: str) -> float:
    """Of a figure, over seeds."""
    return sum(float(row[name]) for row in rows) / len(rows)


def share(row: Row) -> float:
    """Goodput over what would be fair; 0 where nothing is known of that."""
    return row["goodput_mbit"] / row["fair_mbit"] if row["fair_mbit"] else 0.0


def grouped(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """By case and congestion control, seeds together."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault(row["case"], {}).setdefault(row["cc"], []).append(row)
    return found


def cells(rows: Sequence[Row]) -> list[str]:
    """A line's figures: means over seeds, but for counts of packets, which are sums."""
    shares = [share(row) for row in rows]
    return [
        f"{mean(rows, 'goodput_mbit'):.2f}",
        f"{sum(shares) / len(shares):.2f}",
        f"{mean(rows, 'utilisation') * 100:.1f}",
        f"{mean(rows, 'delay_p50_s') * 1e3:.1f}",
        f"{mean(rows, 'delay_p99_s') * 1e3:.1f}",
        str(sum(row["retransmits"] for row in rows)),
        str(sum(row["others_retransmits"] for row in rows)),
        str(sum(row["false_alarms"] for row in rows)),
    ]


HEADS = (
    *("goodput, Mbit/s", "of fair", "link used, %", "queue p50, ms", "queue p99, ms", "retransmitted"),
    *("by others", "false alarms"),
)


def terminal(summary: Summary) -> str:
    """A line for each case and congestion control, and which goals of the case are missed."""
    missed = missed_by_case(summary)
    upper = ("goodput", "of", "used", "queue", "delay", "retrans-", "by", "false")
    lower = ("Mbit/s", "fair", "%", "p50 ms", "p99 ms", "mitted", "others", "alarms")
    head = "\n".join(f"{'':{NAME}} {'':8} {_aligned(words)}" for words in (upper, lower))
    lines = [head]
    for name, by_cc in grouped(summary["rows"]).items():
        for index, (cc, rows) in enumerate(by_cc.items()):
            note = f"  {len(missed[name])} MISSED" if cc == goals.OURS and name in missed else ""
            lines.append(f"{name if index == 0 else '':{NAME}} {cc:8} {_aligned(cells(rows))}{note}")
    return "\n".join(lines)


def _aligned(words: Sequence[str]) -> str:
    return " ".join(f"{word:>{width}}" for word, width in zip(words, WIDTHS, strict=True))


def missed_by_case(summary: Summary) -> dict[str, list[Mapping[str, Any]]]:
    """Goals that are not met."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for goal in summary["goals"]:
        if not goal["met"]:
            found.setdefault(goal["case"], []).append(goal)
    return found


def sentence(goal: Mapping[str, Any]) -> str:
    """A goal with what was measured."""
    return f"{goal['case']}: {goal['name']} {goal['op']} {goal['limit']:g}: measured {goal['measured']:g}"


def listed(names: Sequence[str]) -> str:
    """The cases, and what each is."""
    return "\n".join(f"{name:{NAME}} {described(CASES[name])}" for name in names)


def described(case: Case) -> str:
    """A case in one line."""
    words = [f"{case.rate_mbit:g} Mbit/s", goals.qdisc(case), f"{case.path_ms:g} ms", f"beside {case.beside}"]
    if not case.alone and case.joins != "together":
        words.append({"early": "which come later", "late": "which were there before"}[case.joins])
    parts: tuple[tuple[object, str], ...] = (
        (case.slot_ms, f"ACKs in slots of {case.slot_ms:g} ms"),
        (case.jitter_ms, f"ACKs with a jitter of {case.jitter_ms:g} ms"),
        (case.merged, f"{case.merged} segments are acknowledged at once"),
        (case.lost, f"{case.lost * 100:g} % lost at random"),
        (case.gro_hold_us, f"a GRO timer of {case.gro_hold_us / 1e3:g} ms"),
        (case.longer_ms, f"then {case.longer_ms:g} ms, by the way {case.longer}"),
        (case.then_mbit, "then " + ", ".join(f"{rate:g}" for rate in case.then_mbit) + " Mbit/s"),
        (case.window_bytes, f"socket buffers of {case.window_bytes} bytes"),
        (case.bursts, "requests with pauses"),
        (case.back_queue, f"{case.back_queue} on the way back"),
    )
    return ", ".join([*words, *(text for there, text in parts if there)])


def page(summary: Summary, over_time: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """The report, with its pictures inside.

    :param over_time: cases, and of each a run of each congestion control with its series
    """
    groups = grouped(summary["rows"])
    missed = missed_by_case(summary)
    sections = []
    for kind in KINDS:
        names = [name for name in groups if CASES[name].kind == kind]
        if names:
            table = [
                (name, described(CASES[name]), [(cc, cells(rows)) for cc, rows in groups[name].items()],
                 [sentence(goal) for goal in missed.get(name, ())])
                for name in names
            ]  # fmt: skip
            sections.append((kind, ABOUT[kind], table))
    with matplotlib.rc_context(STYLE):
        pictures = [
            (text, address(figure))
            for text, figure in (
                (
                    "goodput of the own flow, over that of one more CUBIC flow in its place: a dot for each seed. The"
                    " band is where the mean has to be",
                    _dots(groups, ("fifo", "bucket"), share, "of CUBIC's goodput", LEAST_SHARE, goals.SHARE),
                ),
                (
                    "99th percentile of the queue delay where turns are taken",
                    _dots(groups, ("slot", "jitter", "gro", "loss", "route", "rates"), _delay_ms, "queue delay p99, ms",
                          LEAST_DELAY_MS),
                ),
            )
            if figure is not None
        ]  # fmt: skip
        drawn = [
            (name, [
                (kind.text, address(beside_each_other([(str(run["cc"]), run) for run in runs], kind)))
                for kind in (GOODPUT, DELAY)
            ])
            for name, runs in over_time
        ]  # fmt: skip
    return rendered(
        "real-networks.html.j2",
        summary=summary,
        heads=HEADS,
        sections=sections,
        pictures=pictures,
        drawn=drawn,
        missed=[sentence(goal) for goal in summary["goals"] if not goal["met"]],
        ours=goals.OURS,
    )


def _delay_ms(row: Row) -> float:
    return float(row["delay_p99_s"]) * 1e3


def _dots(
    groups: Mapping[str, Mapping[str, Sequence[Row]]],
    kinds: Sequence[str],
    value: Callable[[Row], float],
    axis: str,
    least: float,
    band: tuple[float, float] | None = None,
) -> Figure | None:
    """A line for each case, and on it a dot for each seed and congestion control; None if there is no such case."""
    names = [name for name in groups if CASES[name].kind in kinds and not (band and CASES[name].alone)]
    if not names:
        return None
    figure = Figure(figsize=(WIDTH_INCHES, 1.0 + ROW_INCHES * len(names)), layout="constrained")
    axes = figure.add_subplot()
    if band:
        axes.axvspan(*band, color="#f0f0f0", lw=0, zorder=0)
    for cc in CCS:
        points = [
            (max(value(row), least), index + OFFSETS[cc])
            for index, name in enumerate(names)
            for row in groups[name].get(cc, ())
        ]
        axes.plot(*zip(*points, strict=True), "o", ms=3.5, color=CC_COLOURS[cc], label=cc) if points else None
    axes.set_xscale("log")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    low, high = axes.get_xlim()
    ticks = [
        step * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in (1, 2, 5)
    ]
    axes.set_xticks([tick for tick in ticks if low <= tick <= high])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel(axis)
    figure.legend(loc="outside upper left", ncols=len(CCS))
    return figure
