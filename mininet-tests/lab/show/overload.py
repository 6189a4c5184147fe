# SPDX-License-Identifier: GPL-2.0
"""``lab overload`` for people: a line for each check, and a page with a picture of each figure of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analyse.overload import (
    ALL,
    BUFFERS,
    DEFAULT,
    DROPS,
    HALF,
    JUDGED,
    NINE,
    NONE,
    ONE,
    PAPER,
    PEERS,
    SHORT_MS,
    STOCK_MS,
    UNCONTROLLED,
)
from ..model import overload, papers
from . import checks
from .pages import rendered, text
from .pictures import CC_COLOURS, COLOURS, STYLE, address
from .section import Drawn, Section, goals

Row = Mapping[str, Any]
Summary = Mapping[str, Any]
KINDS = ("goodput", "controlled_source", "uncontrolled_source")
# What the judges and the pictures take of a run.
METRICS = (*KINDS, *(f"{kind}_bar" for kind in KINDS), "intervals", "retransmitted_part", "round_trip_s")
# Of each figure its panels: mix, drop policy, what is drawn, and what the paper's text says of it.
FIGURES: dict[str, tuple[tuple[int, str, str, tuple[float, ...]], ...]] = {
    "2": (
        (NONE, "last", "goodput", (0.92,)),
        (ONE, "last", "goodput", ()),
        (NONE, "longest", "goodput", (0.83,)),
        (ONE, "longest", "goodput", ()),
    ),
    "3": (
        (NINE, "last", "goodput", ()),
        (ALL, "last", "goodput", (0.5,)),
        (NINE, "longest", "goodput", ()),
        (ALL, "longest", "goodput", (0.5,)),
    ),
    **{
        figure: tuple((mix, drop, f"{kind}_source", ()) for drop in DROPS for kind in ("controlled", "uncontrolled"))
        for figure, mix in (("4", ONE), ("5", NINE))
    },
}
ABOUT = {
    "2": "All sources together, as a part of the link: ten of packet pair, and nine beside one without control",
    "3": "All sources together: one of packet pair beside nine without control, and ten without control",
    "4": "A source, where nine are of packet pair and one is without control",
    "5": "A source, where one is of packet pair and nine are without control",
}
WIDTH_INCHES, HEIGHT_INCHES = 8.0, 7.0
BUFFER_STYLES = dict(zip(sorted(BUFFERS, reverse=True), (("-", "o"), ("--", "s"), (":", "^")), strict=True))
OWN_COLOUR = COLOURS[3]
# What is known of checks that do not hold: how it comes. What a campaign measured is in its rows.
NOTHING_TWICE = (
    "The link carries hardly anything twice, and a dropped packet costs it nothing. A timeout of the paper's sources "
    "sends again all that is not known to have arrived."
)
TIMERS_WAIT = (
    "With a quarter of a window goodput is the paper's half of the link: who lost a packet twice waits for its timer, "
    "and sends nothing. The more room there is, the fewer wait. The paper's sources send again all that is not known "
    "to have arrived, whatever the buffer."
)
FULL_FOR_ALL = (
    "With drop-last a full buffer drops whoever comes. At a load of 5 a controlled source has more with a quarter and "
    "with half of a window. With a whole one fewer packets of the source without control are lost, and that source "
    "takes the turns that others leave while they are off. With the stack's recovery, which finds what was lost twice "
    "in a round trip, the source without control has more with half a window too. At loads of 1.5 and 2, with half and "
    "with a whole window, both have about as much."
)
WITHIN_BARS = (
    "With half a window both ways to drop leave 0.99 of the link, and differ by less than their bars. What "
    "drop-longest costs in the paper is what its sources send again though it has arrived."
)
MINORITY = (
    "With drop-last packet pair loses packets, and pairs with them, beside nine sources that keep the buffer full, "
    "and ends fewer messages than with drop-longest. At a load of 5 a controlled source has more than each of the "
    "nine, but a tenth of the link only with a whole window: the larger the buffer, the fewer of its pairs are lost."
)
FEW_MESSAGES = (
    "At loads of 1 and 1.5 a source ends a few messages in a short run: there the difference is within what both bars "
    "leave open, with drop-longest too."
)
WHY: dict[str, str] = {
    **dict.fromkeys(("ovl-fig2a 0", "ovl-fig2c 0"), NOTHING_TWICE),
    **dict.fromkeys(("ovl-fig3b 0", "ovl-fig3d 0"), TIMERS_WAIT),
    **dict.fromkeys(("ovl-fig4a 0", "ovl-fig4b 0", "ovl-c5-incentive 0"), FULL_FOR_ALL),
    **dict.fromkeys(("ovl-fig2a 3", "ovl-c2-small-buffer 1", "ovl-c4-discipline 0"), WITHIN_BARS),
    **dict.fromkeys(("ovl-fig5a 0", "ovl-fig5a 1"), MINORITY),
    "ovl-c5-incentive 1": f"{MINORITY} {FEW_MESSAGES}",
}


def asked_of(goal: Row) -> str:
    """A goal of the default."""
    return f"goodput of {DEFAULT} at a load of 5, B=0.5, drop-{goal['drop']}: at least {goal['least']}"


def goal_text(goal: Row) -> str:
    """A goal of the default and what was measured."""
    return f"{asked_of(goal)}, measured {'nothing' if goal['measured'] is None else goal['measured']}"


def curve(
    points: Sequence[Row],
    cc: str,
    mix: int,
    drop: str,
    buffer: float,
    rto_min: int,
    metric: str,
    stack: bool = False,
) -> list[tuple[float, float, float]]:
    """Load, mean and half of the bar at each point that was run."""
    wanted = {"cc": cc, "uncontrolled": mix, "drop": drop, "buffer": buffer, "rto_min": rto_min, "sources": 10}
    wanted["stack"] = stack
    return sorted(
        (one["load"], one[metric], one[f"{metric}_bar"])
        for one in points
        if metric in one and all(one[name] == value for name, value in wanted.items())
    )


def _draw(axes: Axes, found: Sequence[tuple[float, float, float]], **more: Any) -> None:
    if found:
        loads, means, bars = zip(*found, strict=True)
        axes.errorbar(loads, means, yerr=bars, lw=1, elinewidth=0.8, capsize=2, ms=3.5, **more)


def _panel(axes: Axes, points: Sequence[Row], panel: tuple[int, str, str, tuple[float, ...]]) -> None:
    mix, drop, metric, published = panel
    judged = UNCONTROLLED if mix == ALL else JUDGED
    for buffer, (style, marker) in BUFFER_STYLES.items():
        found = curve(points, judged, mix, drop, buffer, STOCK_MS, metric)
        _draw(axes, found, ls=style, marker=marker, color=OWN_COLOUR, label=f"{judged}, B = {buffer:g}")
    short = curve(points, judged, mix, drop, HALF, SHORT_MS, metric)
    _draw(axes, short, ls="none", marker="x", color=OWN_COLOUR, label=f"{judged}, B = 0.5, rto_min {SHORT_MS} ms")
    stack = curve(points, judged, mix, drop, HALF, STOCK_MS, metric, True)
    _draw(axes, stack, ls="none", marker="+", color=OWN_COLOUR, label=f"{judged}, B = 0.5, the stack's recovery")
    if mix != ALL:
        for cc in (DEFAULT, *PEERS):
            found = curve(points, cc, mix, drop, HALF, STOCK_MS, metric)
            _draw(axes, found, ls="-", marker="D", color=CC_COLOURS[cc], label=f"{cc}, B = 0.5")
    for value in published:
        axes.axhline(value, color="black", lw=0.8, ls="-.", label="published, B = 0.5")
    if metric != "goodput":
        axes.axhline(0.1, color="grey", lw=0.8, ls="-.", label="a tenth of the link")
    axes.set_ylim(bottom=0)
    kind = {"controlled_source": ", a controlled one", "uncontrolled_source": ", one without control"}.get(metric, "")
    axes.set_title(f"{10 - mix} + {mix}, drop-{drop}{kind}", fontsize=9)


def picture(points: Sequence[Row], name: str) -> str:
    """One figure of the paper, as an address that holds it."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        of_labels: dict[str, Any] = {}
        for place, (letter, panel) in enumerate(zip("abcd", FIGURES[name], strict=True), 1):
            axes = figure.add_subplot(2, 2, place)
            _panel(axes, points, panel)
            axes.set_title(f"{name}({letter}) {axes.get_title()}", fontsize=9)
            axes.set_xlabel("nominal load")
            axes.set_ylabel("goodput, part of the link")
            handles, labels = axes.get_legend_handles_labels()
            of_labels |= dict(zip(labels, handles, strict=True))
        if of_labels:
            figure.legend(list(of_labels.values()), list(of_labels), loc="outside lower center", ncols=3)
        return address(figure)


def _listed(words: Sequence[Any]) -> str:
    told = [f"{one:g}" if isinstance(one, float) else str(one) for one in words]
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


def _loads_of(points: Sequence[Row]) -> dict[tuple[tuple[float, ...], str], list[str]]:
    """Who was run at which loads, by these, most of them first, and by the buffers, where they are not all."""
    of_curves: dict[tuple[str, float], set[float]] = {}
    for one in points:
        if one["sources"] == overload.SOURCES:
            readings = {f"rto_min {one['rto_min']} ms": one["rto_min"], "the stack's recovery": one["stack"]}
            who = one["cc"] + "".join(f" ({reading})" for reading, is_so in readings.items() if is_so)
            of_curves.setdefault((who, one["buffer"]), set()).add(one["load"])
    buffers: dict[tuple[str, tuple[float, ...]], list[float]] = {}
    for (who, buffer), loads in sorted(of_curves.items()):
        buffers.setdefault((who, tuple(sorted(loads))), []).append(buffer)
    told: dict[tuple[tuple[float, ...], str], list[str]] = {}
    for (who, own), having in buffers.items():
        at = "" if len(having) == len(BUFFERS) else f" at B = {_listed(having)}"
        told.setdefault((own, at), []).append(who)
    return dict(sorted(told.items(), key=lambda one: len(one[0][0]), reverse=True))


def loads_run(points: Sequence[Row]) -> str:
    """A sentence on the loads that were run, where they are fewer than the paper's; "" where they are not."""
    count = papers.load(PAPER).common["derived"]["load_points_per_curve"]
    told = [
        f"{_listed(loads)}{at} with {_listed(whose)}"
        for (loads, at), whose in _loads_of(points).items()
        if len(loads) < count
    ]
    return f"The paper's curves have {count} loads from 0.5 to 5; these were run: {'; '.join(told)}." if told else ""


VERDICT = (
    "Held: packet-pair sources use the link with every buffer and both ways to drop, sources without control lose a "
    "half to a sixth of it, and at a load of 5 drop-longest-queue gives who controls itself several times as much as "
    "who does not. Not held: that drop-longest costs the link something, which is here within the bars. With drop-last "
    "one source without control beside nine has more with a whole window, and one that controls itself beside nine has "
    "not its tenth of the link with smaller buffers, since a full buffer drops whoever comes."
)


def section(data: Summary) -> Section:
    """The paper's part of lab reproduce's report."""
    points, parameters = data.get("points", ()), data.get("parameters", {})
    intro = (
        "The paper's sources find what was lost twice by timers alone, and have the stack's least timeout of 200 ms; "
        "today's controls have the stack's recovery. Bars are 1.96 sigma of the intervals. The paper's text "
        "states few numbers, and its curves are not available to us: only these numbers are drawn."
    )
    if parameters:
        intro += " A run lasts {length_s} s; the paper's lasts {published_length_s} s.".format_map(parameters)
    intro = f"{intro} {loads_run(points)}".rstrip()
    return Section(
        intro,
        [Drawn(f"Figure {name}", f"{about}.", picture(points, name)) for name, about in ABOUT.items()],
        goals=goals([{**one, "what": asked_of(one)} for one in data.get("goals", ())], text),
        verdict=VERDICT,
    )


def page(summary: Summary) -> str:
    """The report."""
    rows = summary["rows"]
    return rendered(
        "overload.html.j2",
        summary=summary,
        rows=rows,
        groups=checks.groups(rows, PAPER),
        said=checks.said,
        passed=sum(row["pass"] for row in rows),
        known=sum(row["measured"] is not None for row in rows),
        goals=[(goal["met"], goal_text(goal)) for goal in summary["goals"]],
        figures=[(name, about, picture(summary["points"], name)) for name, about in ABOUT.items()],
        text=text,
    )
