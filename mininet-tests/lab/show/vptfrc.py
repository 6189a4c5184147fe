# SPDX-License-Identifier: GPL-2.0
"""``lab vptfrc`` for people: a page with a picture of each figure of the paper, and a line for each check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analyse.any_packet_size import INTERVALS, PAPER, RATE, TFRC, UNMODIFIED, VARIATION_LOSS, Cell
from ..analyse.packet_size_formulas import TIMEOUT, equation_bytes_s
from ..analyse.shared_bottlenecks import RICHER, SHORT_MS, TCP, Shared
from . import checks
from .pages import rendered, text
from .pictures import COLOURS, HEIGHT_INCHES, MARKERS, STYLE, WIDTH_INCHES, address

Row = Mapping[str, Any]
Summary = Mapping[str, Any]
Points = list[tuple[float, float]]
# In all pictures each has one colour and mark.
WHO = (TFRC, UNMODIFIED, "unbiasing", "virtual", "sampling", "lip", "cubic")
# See what is beside the row.
OWN = "The headers alone, without a stack, have it so as well: it is the methods' own, and not the stack's."
# Of orders.
NEAR = "What is ordered lies within a tenth of each other, and one seed does not tell it apart."
# What is known of checks that do not hold, by id and number.
WHY: dict[str, str] = {
    "vp-fig1 1": "Linux's reno has 6.1 kbit/s at a loss of 0.5, and an unmodified flow without a stack 90 times that.",
    "vp-fig1 3": (
        "At a loss of 0.1 a flow of full packets has two in a round trip. A low rate lasts longer than a high one, "
        "since an interval is so many packets; without a stack it has 0.93."
    ),
    "vp-4.1.1-size 0": f"{OWN} The equation has a timeout of two round trips, which is for a loss of 0.1.",
    "vp-4.1.1-size 1": f"{OWN} At 0.1 some 34 of an interval's 44 packets by unbiasing are in its insensitive period.",
    "vp-4.1.1-rate 0": "At a loss of 0.1 rates vary by up to 0.4 of their mean, in a minute of two flows.",
    "vp-4.1.2-size 0": OWN,
    "vp-4.1.2-rate 0": OWN,
    "vp-4.1.3-size 0": OWN,
    "vp-4.1.3-size 1": OWN,
    "vp-fig8 0": f"{OWN} So it is in bins of 0.1 s.",
    "vp-4.1.3-rate 0": (
        "Reno leaves in bursts: its ACKs are in 32 % of the time, so it meets 0.37 bad times a second, a paced flow "
        "0.6, and it has 4.1 Mbit/s. All methods have the 1.28 that 160 packets/s of the largest size are."
    ),
    "vp-4.1.3-rate 1": "As check 0: at the low loss the fixed rate is the bound.",
    "vp-4.1.3-size 3": NEAR,
    "vp-fig9a 0": NEAR,
    "vp-fig9b 2": NEAR,
    "vp-fig10a 1": NEAR,
    "vp-fig10a 2": NEAR,
    "vp-fig11 0": NEAR,
    "vp-fig13a 1": "Fairer than in the paper: 1.21, 1.08 and 1.04 of reno's rate with 1, 2 and 8 flows of each kind.",
    "vp-low-rtt-rich 0": "Room counts packets, and reno fills it with full ones: a round trip of 3.2 s at the median.",
    "vp-mismatch 0": "The root that is expected is that of low losses: from 0.1 to 0.01 the equation gains 4.8 times.",
    "vp-mismatch 1": "As check 0: from 0.01 to 0.1 the equation keeps 0.21 of its rate.",
    "vp-fig16 0": "The limit is not in the text: it is 1000 packets/s here, in which ACKs do not count.",
    "vp-fig16 1": "As check 0: with another limit reno has another part.",
}
# What a goal's measured figure is.
GOALS = {
    "rate": "goodput on a lossy link, of reno's",
    "share": "goodput at a bottleneck, of reno's",
    "variation": "variation of the rate there, of reno's",
}
# Of the links that lose by chance.
LINK_RTT_US = 100_000
LOSS, PAIRS = "probability of a loss", "flows of each kind"
RATIO = "goodput of a flow, of reno's"
DEVIATION = "deviation over mean, in a second"


def _measured(goal: Row) -> str:
    return "not measured" if goal["measured"] is None else f"measured {goal['measured']:g}"


def missed_goals(summary: Summary, name: str) -> list[str]:
    """A line for each goal of a name that is missed."""
    return [
        f"{goal['case']}: {GOALS[name]} {goal['least']:g} to {goal['most']:g}, {_measured(goal)}"
        for goal in summary["goals"]
        if goal["name"] == name and not goal["met"]
    ]


def goal_lines(summary: Summary) -> list[str]:
    """A line for each goal that is missed, and how many of each name are met."""
    told = []
    for name, what in GOALS.items():
        missed, count = missed_goals(summary, name), sum(goal["name"] == name for goal in summary["goals"])
        told += [f"MISS  {line}" for line in missed]
        told.append(f"{count - len(missed)} of {count} goals are met: {what}")
    return told


@dataclass(frozen=True)
class Curve:
    """One line of a picture; without points it is left out.

    :param look: of WHO, or a number beyond
    """

    label: str
    look: int
    points: Points


@dataclass(frozen=True)
class Picture:
    """A figure of the paper.

    :param about: what is drawn, a sentence
    :param curves: of a summary
    """

    name: str
    about: str
    place: str
    value: str
    curves: Callable[[Summary], list[Curve]]


def cells(summary: Summary, part: str, kind: type[Cell] | type[Shared]) -> list[tuple[Any, Row]]:
    """What a part of a summary is of, and its row."""
    names = kind.__dataclass_fields__
    return [(kind(**{name: row[name] for name in names}), row) for row in summary[part]]


def _rates(summary: Summary) -> dict[Cell, float]:
    return {cell: row["bit_s"] for cell, row in cells(summary, "rates", Cell)}


def over_losses(who: Sequence[str], beside: str = TCP, **more: Any) -> Callable[[Summary], list[Curve]]:
    """Ratios on links that lose by chance."""
    link = {name: more[name] for name in ("kind", "by_bytes") if name in more}

    def curves(summary: Summary) -> list[Curve]:
        rates = _rates(summary)
        found = []
        for one in who:
            losses = sorted(cell.loss for cell in rates if cell == Cell(one, cell.loss, **_of_large(one, more)))
            points = [
                (loss, rates[Cell(one, loss, **_of_large(one, more))] / rates[Cell(beside, loss, **link)])
                for loss in losses
                if rates.get(Cell(beside, loss, **link))
            ]
            found.append(Curve(one, WHO.index(one), points))
        return found

    return curves


def beside_equation(who: Sequence[str]) -> Callable[[Summary], list[Curve]]:
    """The same for Bernoulli losses, and what the equation has where each loss is a loss event."""

    def curves(summary: Summary) -> list[Curve]:
        reno = {cell.loss: rate for cell, rate in _rates(summary).items() if cell == Cell(TCP, cell.loss) and rate}
        points = [(loss, 8 * equation_bytes_s(loss, LINK_RTT_US, TIMEOUT) / reno[loss]) for loss in sorted(reno)]
        return [*over_losses(who)(summary), Curve("the equation", len(WHO), points)]

    return curves


def _of_large(who: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Flows of full packets have one size in every figure."""
    return {name: value for name, value in more.items() if who not in (TCP, TFRC, "cubic") or name != "sizes"}


def variations(metric: str) -> Callable[[Summary], list[Curve]]:
    """A metric of each method at one loss: a place for each."""

    def curves(summary: Summary) -> list[Curve]:
        values = {
            cell.who: row[metric]
            for cell, row in cells(summary, "variations", Cell)
            if cell == Cell(cell.who, VARIATION_LOSS) and metric in row
        }
        return [
            Curve(who, WHO.index(who), [(float(WHO.index(who)), values[who])] if who in values else []) for who in WHO
        ]

    return curves


def over_pairs(
    queue: str,
    setting: int,
    methods: Sequence[str],
    metric: Callable[[Row], float] = lambda row: float(row["ratio"]),
    **more: Any,
) -> Callable[[Summary], list[Curve]]:
    """A metric at a bottleneck, by the number of flows of each kind; a curve for each method."""

    def curves(summary: Summary) -> list[Curve]:
        bottlenecks = cells(summary, "bottlenecks", Shared)
        found = []
        for method in methods:
            points = sorted(
                (float(cell.pairs), metric(row))
                for cell, row in bottlenecks
                if cell == Shared(queue, setting, cell.pairs, method, **more)
            )
            found.append(Curve(method, WHO.index(method), points))
        return found

    return curves


def deviations(queue: str, setting: int, **more: Any) -> Callable[[Summary], list[Curve]]:
    """Of what is sent in a second, over its mean: each method's, and reno's beside the first."""

    def curves(summary: Summary) -> list[Curve]:
        def of(methods: Sequence[str], name: str) -> list[Curve]:
            known = [row for row in summary["bottlenecks"] if row.get(name) is not None]
            told = over_pairs(queue, setting, methods, lambda row: float(row[name]), **more)
            return told({"bottlenecks": known})

        beside = of(THREE[:1], "tcp_rate_variation")
        return [*of(THREE, "other_rate_variation"), *(Curve("reno", len(WHO), one.points) for one in beside)]

    return curves


def modes(queue: str, setting: int, of: Mapping[str, str]) -> Callable[[Summary], list[Curve]]:
    """Virtual packets in several modes."""

    def curves(summary: Summary) -> list[Curve]:
        return [
            Curve(label, look, over_pairs(queue, setting, ["virtual"], mode=mode)(summary)[0].points)
            for look, (mode, label) in enumerate(of.items(), len(WHO))
        ]

    return curves


def halves(summary: Summary) -> list[Curve]:
    """Flows of short and long round trips, of reno's with the long one."""
    found = []
    for look, (label, name) in enumerate(
        (
            ("reno, 40 ms", "tcp_short_bit_s"),
            ("virtual, 40 ms", "other_short_bit_s"),
            ("virtual, 200 ms", "other_long_bit_s"),
        ),
        len(WHO),
    ):
        points = [
            (float(cell.pairs), row[name] / row["tcp_long_bit_s"])
            for cell, row in cells(summary, "bottlenecks", Shared)
            if cell.short_ms and row.get("tcp_long_bit_s") and name in row
        ]
        found.append(Curve(label, look, sorted(points)))
    return found


def _packets(row: Row) -> float:
    return float(row["other_packets_s"] / max(row["tcp_packets_s"], 1e-9))


ALL = (TFRC, "unbiasing", "virtual", "sampling", "lip")
THREE = ("virtual", "sampling", "lip")
BYTE_MODES = {"byte": "virtual, byte mode", "byte-tail": "virtual, corrected for drop-tail"}
PICTURES = (
    Picture(
        "1", "Packets of 100 bytes and the reference size in the equation", LOSS, RATIO, over_losses((TFRC, UNMODIFIED))
    ),
    Picture(
        "2",
        "Losses in proportion to size, the actual size in the equation: unmodified small packets over large ones",
        LOSS,
        "goodput of a flow, of a large one's",
        over_losses((UNMODIFIED,), TFRC, sizes="own", by_bytes=True),
    ),
    Picture("4", "Bernoulli losses, packets of 100 bytes", LOSS, RATIO, beside_equation((*ALL, "cubic"))),
    Picture("5", "Losses that swing, packets of 100 bytes", LOSS, RATIO, over_losses(ALL, kind="swinging")),
    Picture("6", "Gilbert losses in time, packets of 100 bytes", LOSS, RATIO, over_losses(ALL, kind="gilbert")),
    Picture(
        "7",
        f"Loss intervals at a loss of {VARIATION_LOSS:g}",
        "",
        "deviation over mean",
        variations(INTERVALS),
    ),
    Picture(
        "8",
        f"Rate in a second at a loss of {VARIATION_LOSS:g}",
        "",
        "deviation over mean",
        variations(RATE),
    ),
    Picture("9(a)", "50 packets a second, RED in packets", PAIRS, RATIO, over_pairs("red-packets", 2, THREE)),
    Picture("9(b)", "50 packets a second, drop-tail in packets", PAIRS, RATIO, over_pairs("tail-packets", 2, THREE)),
    Picture("10(a)", "100 bytes, drop-tail in packets, 2 products", PAIRS, RATIO, over_pairs("tail-packets", 1, THREE)),
    Picture(
        "10(b)",
        "100 bytes, drop-tail in packets, one product",
        PAIRS,
        RATIO,
        over_pairs("tail-packets", 1, THREE, products=1.0),
    ),
    *(
        Picture(f"{name}, deviation", about, PAIRS, DEVIATION, curves)
        for name, about, curves in (
            ("9(a)", "50 packets a second, RED in packets", deviations("red-packets", 2)),
            ("9(b)", "50 packets a second, drop-tail in packets", deviations("tail-packets", 2)),
            ("10(a)", "100 bytes, drop-tail in packets, 2 products", deviations("tail-packets", 1)),
            ("10(b)", "100 bytes, drop-tail in packets, one product", deviations("tail-packets", 1, products=1.0)),
        )
    ),
    Picture("11", "160 packets a second, drop-tail in packets", PAIRS, RATIO, over_pairs("tail-packets", 3, THREE)),
    Picture("12", "50 to 350 bytes, RED in packets", PAIRS, RATIO, over_pairs("red-packets", 4, THREE)),
    Picture("13(a)", "100 bytes, RED in bytes", PAIRS, RATIO, modes("red-bytes", 1, BYTE_MODES)),
    Picture("13(b)", "100 bytes, drop-tail in bytes", PAIRS, RATIO, modes("tail-bytes", 1, BYTE_MODES)),
    Picture(
        "14",
        "160 packets a second, drop-tail in packets, a round trip of 40 ms",
        PAIRS,
        RATIO,
        over_pairs("tail-packets", 3, THREE, round_trip_ms=SHORT_MS),
    ),
    Picture(
        "14, more bandwidth",
        f"The same with 100 bytes and {RICHER:g} times the bandwidth, of which the paper says that sharing is fair",
        PAIRS,
        RATIO,
        over_pairs("tail-packets", 1, THREE, round_trip_ms=SHORT_MS, richer=RICHER),
    ),
    Picture("15", "Half of the flows with a short round trip", PAIRS, "goodput, of reno's with 200 ms", halves),
    Picture(
        "16",
        "1000 packets a second, of any size; 100 bytes, byte mode",
        PAIRS,
        "packets of a flow, of reno's",
        over_pairs("packet-rate", 1, ("virtual",), _packets, mode="byte"),
    ),
)


def _look(axes: Axes, curve: Curve) -> None:
    places, values = zip(*curve.points, strict=True)
    colour, marker = COLOURS[curve.look % len(COLOURS)], MARKERS[curve.look % len(MARKERS)]
    axes.plot(places, values, color=colour, marker=marker, ms=4, lw=1, label=curve.label)


def drawn(one: Picture, summary: Summary) -> str | None:
    """A figure as an address that holds it; None where nothing of it was run."""
    curves = [curve for curve in one.curves(summary) if curve.points]
    if not curves:
        return None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        axes = figure.add_subplot()
        for curve in curves:
            _look(axes, curve)
        if one.place == LOSS:
            axes.set_xscale("log")
        if one.place:
            if one.value != DEVIATION:
                axes.axhline(1, color="grey", lw=0.8, ls="-.")
            values = [value for curve in curves for _, value in curve.points]
            if max(values) > 10 * max(min(values), 1e-9):
                axes.set_yscale("log")
            axes.set_xlabel(one.place)
        else:
            axes.set_xticks([])
            axes.set_ylim(bottom=0)
        if one.place == PAIRS:
            axes.set_xticks(sorted({place for curve in curves for place, _ in curve.points}))
        axes.set_ylabel(one.value)
        figure.legend(loc="outside right upper")
        return address(figure)


def page(summary: Summary) -> str:
    """The report."""
    rows = summary["rows"]
    return rendered(
        "vptfrc.html.j2",
        summary=summary,
        rows=rows,
        groups=checks.groups(rows, PAPER),
        said=checks.said,
        passed=sum(row["pass"] for row in rows),
        known=sum(row["measured"] is not None for row in rows),
        figures=[(one.name, one.about, drawn(one, summary)) for one in PICTURES],
        goals=[(name, [goal for goal in summary["goals"] if goal["name"] == name]) for name in GOALS],
        said_goals=GOALS,
        text=text,
    )
