# SPDX-License-Identifier: GPL-2.0
"""The checks of the paper on packet sizes, judged by rates of flows on the real stack.

Those of links that lose by chance are here, those of bottlenecks in ``shared_bottlenecks``, those of formulas in
``packet_size_formulas``. A check that nothing here measures is a row as well, and has not passed. The
checks and what the paper published are in ``lab/model/papers/``; a new judge of one is a function in ``JUDGES``.

ratio
    of the goodput of a flow of vptfrc to that of reno with full packets, on a link with the same losses
unfairness
    mean of the absolute logarithms of the ratios
an order that names no loss
    of geometric means over the losses that were run
without a stack
    the module's headers as a paced sender that learns a round trip later what became of each packet
    (kmod/tests/paced_sender.h), beside the rates that reno had. A check that fails there as well fails by the methods,
    and not by the stack.
CoV
    deviation over mean: of the single loss intervals, or of the payload sent in bins of one second, at a
    loss of 0.03
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..model import papers
from ..model.errors import NotMeasuredError
from . import packet_size_formulas, shared_bottlenecks
from .packet_size_formulas import Answers
from .shared_bottlenecks import TCP, Bottlenecks, Shared

PAPER = "vp-tfrc-2004"
# Of the link: probabilities at which all methods are run, and one at which the paper has TCP far behind.
LOSSES = (0.01, 0.03, 0.1)
EXTREME_LOSS = 0.5
# And one of this project's goals, with further sizes there.
LOW_LOSS = 0.001
MORE_SIZES = (250, 500)
# At which intervals and rates are compared: several loss events in each method's minute.
VARIATION_LOSS = 0.03
# The paper's "more than a few percent".
MORE_THAN_A_FEW_PERCENT = 0.03
# Of figure 2: where small packets are still behind, and where they are ahead.
BY_BYTES_LOSSES = (0.01, 0.1, 0.3)
# The methods that take out the bias of small packets.
METHODS = ("unbiasing", "virtual", "sampling", "lip")
TFRC, UNMODIFIED = "tfrc", "unmodified"
# Sizes of payload, and packets a second of flows with a fixed rate of these.
LARGE, SMALL = 1000, 100
PACKETS = 160
# As enum tfrc_method, tfrc_mode and paced_kind have them.
METHOD_NUMBERS = {name: number for number, name in enumerate((UNMODIFIED, *METHODS))}
MODES = ("packet", "byte", "byte-tail")
KINDS = ("steady", "swinging", "gilbert")

# Metrics of the scenario.
INTERVALS, RATE, LOSS_EVENTS = "interval_variation", "rate_variation", "loss_event_rate"
MEAN_INTERVALS, FINE_RATE = "mean_interval_variation", "fine_rate_variation"
VARIATIONS = (INTERVALS, MEAN_INTERVALS, RATE, FINE_RATE, LOSS_EVENTS)


@dataclass(frozen=True)
class Cell:
    """One way of sending on one link.

    :param who: a congestion control, ``tfrc`` (vptfrc with full packets, unmodified), or the method of vptfrc with
        small packets
    :param loss: mean probability, of full packets where ``by_bytes``
    :param kind: steady, swinging, gilbert
    :param sizes: "fixed", or "adapted" of a fixed packet rate; "own" is the fixed small size, also in the equation;
        a number of bytes is another fixed size
    """

    who: str
    loss: float
    kind: str = "steady"
    sizes: str = "fixed"
    by_bytes: bool = False
    mode: str = "packet"


def alone(one: Cell) -> str | None:
    """The question for what a sender without a stack has in a cell; None where the flows are not vptfrc's."""
    who = UNMODIFIED if one.who == TFRC else one.who
    if who not in METHOD_NUMBERS:
        return None
    size = SMALL if one.who != TFRC and one.sizes != "adapted" else LARGE
    return packet_size_formulas.sends(
        METHOD_NUMBERS[who],
        MODES.index(one.mode),
        SMALL if one.sizes == "own" else LARGE,
        int(one.sizes) if one.sizes.isdigit() else size,
        PACKETS if one.sizes == "adapted" else 0,
        KINDS.index(one.kind),
        one.loss,
        one.by_bytes,
    )


@dataclass(frozen=True)
class Found:
    """What was measured, means over seeds.

    :param rates: goodput of a flow in each cell, bit/s
    :param metrics: further ones of the scenario, of a cell
    :param answers: of the formulas
    """

    rates: Mapping[Cell, float]
    metrics: Mapping[Cell, Mapping[str, Any]] = field(default_factory=dict)
    bottlenecks: Bottlenecks = field(default_factory=lambda: Bottlenecks({}))
    answers: Answers = field(default_factory=lambda: Answers({}))

    def metric(self, name: str, who: str, loss: float, **more: Any) -> float:
        """Of one cell; too few loss events have no variation."""
        cell = Cell(who, loss, **more)
        value = self.metrics.get(cell, {}).get(name)
        if value is None:
            raise NotMeasuredError(f"{name} of {cell}")
        return float(value)

    def rate(self, who: str, loss: float, **more: Any) -> float:
        """Of one cell."""
        cell = Cell(who, loss, **more)
        if cell not in self.rates:
            raise NotMeasuredError(cell)
        return self.rates[cell]

    def ratio(self, who: str, loss: float, beside: str = TCP, **more: Any) -> float:
        """To that of another on the same link."""
        link = {name: more[name] for name in ("kind", "by_bytes") if name in more}
        # who sends no more at all is as far behind as a bit a second
        return self.rate(who, loss, **more) / max(self.rate(beside, loss, **link), 1.0)

    def ratios(self, who: str, losses: Iterable[float] = LOSSES, beside: str = TCP, **more: Any) -> list[float]:
        """At each loss."""
        return [self.ratio(who, loss, beside, **more) for loss in losses]

    def without_stack(self) -> Found:
        """The same links, with what the headers alone have there, where that was asked."""
        rates, metrics = {}, {}
        for cell, rate in self.rates.items():
            question = alone(cell)
            if question is None:
                rates[cell] = rate
            elif question in self.answers.said:
                rates[cell], varied, intervals = self.answers.of(question)
                metrics[cell] = {RATE: varied, INTERVALS: intervals}
        return Found(rates, metrics)

    def reading(self, name: str, other: str) -> Found:
        """Another metric in a metric's place."""
        changed = {cell: {**metrics, name: metrics.get(other)} for cell, metrics in self.metrics.items()}
        return Found(self.rates, changed, self.bottlenecks, self.answers)

    def mean(self, who: str, beside: str = TCP, **more: Any) -> float:
        """Geometric mean over the losses."""
        logarithms = map(_log, self.ratios(who, beside=beside, **more))
        return math.exp(math.fsum(logarithms) / len(LOSSES))


Judged = tuple[Any, bool]


def _log(ratio: float) -> float:
    """Who sends nothing is a billion times behind."""
    return math.log(max(ratio, 1e-9))


def _within(values: Mapping[str, float], low: float, high: float) -> Judged:
    return {name: round(value, 3) for name, value in values.items()}, all(low <= one <= high for one in values.values())


def _named(found: Found, methods: Iterable[str], losses: Iterable[float] = LOSSES, **more: Any) -> dict[str, float]:
    return {f"{who} at {loss:g}": found.ratio(who, loss, **more) for who in methods for loss in losses}


def _order(greater: Mapping[str, float], lesser: Mapping[str, float]) -> Judged:
    told = {name: round(value, 3) for name, value in {**greater, **lesser}.items()}
    return told, min(greater.values()) > max(lesser.values())


def _means(found: Found, *methods: str, beside: str = TCP, **more: Any) -> dict[str, float]:
    return {who: found.mean(who, beside, **more) for who in methods}


def _unfairness(found: Found, loss: float, **more: Any) -> float:
    logarithms = [abs(_log(found.ratio(who, loss, **more))) for who in METHODS]
    return math.fsum(logarithms) / len(logarithms)


def _grows(values: list[float]) -> Judged:
    return [round(one, 3) for one in values], all(a < b for a, b in itertools.pairwise(values))


def _each_order(found: Found) -> Judged:
    """At each loss unbiasing is below all others."""
    told, passed = {}, True
    for loss in LOSSES:
        others = {who: found.ratio(who, loss) for who in ("virtual", "sampling", "lip")}
        own = found.ratio("unbiasing", loss)
        told[f"{loss:g}"] = {name: round(one, 3) for name, one in {**others, "unbiasing": own}.items()}
        passed = passed and min(others.values()) > own
    return told, passed


def _far_from_tcp(found: Found) -> Judged:
    gilbert = {"kind": "gilbert"}
    far = {TFRC: abs(math.log(found.mean(TFRC, **gilbert)))}
    return _order(far, {"virtual": abs(math.log(found.mean("virtual", **gilbert)))})


def _bias_by_sizes(found: Found) -> Judged:
    swinging = {"kind": "swinging"}
    fixed = {"fixed size": found.mean("unbiasing", **swinging)}
    return _order(fixed, {"fixed rate": found.mean("unbiasing", sizes="adapted", **swinging)})


def _unfairness_grows(found: Found) -> Judged:
    more = {"kind": "gilbert", "sizes": "adapted"}
    least, most = (_unfairness(found, loss, **more) for loss in (LOSSES[0], LOSSES[-1]))
    return _order({f"at {LOSSES[-1]:g}": most}, {f"at {LOSSES[0]:g}": least})


def _variations(found: Found, name: str, *methods: str) -> dict[str, float]:
    return {who: found.metric(name, who, VARIATION_LOSS) for who in methods}


def _as_varied(found: Found, who: str) -> Judged:
    """As full packets' intervals, within 15 %."""
    of = _variations(found, INTERVALS, who, TFRC)
    return _within({f"CoV({who}) / CoV(tfrc)": of[who] / of[TFRC]}, 0.85, 1.15)


def _virtual_over_tfrc(found: Found) -> dict[str, float]:
    of = _variations(found, INTERVALS, "virtual", TFRC)
    return {"CoV(virtual) / CoV(tfrc)": of["virtual"] / of[TFRC]}


def _rates_order(found: Found, greater: str, lesser: str) -> Judged:
    return _order(_variations(found, RATE, greater), _variations(found, RATE, lesser))


def _loss_event_rates(found: Found) -> Judged:
    by_bytes = {"by_bytes": True}
    large = found.metric(LOSS_EVENTS, TFRC, 0.01, **by_bytes)
    small = found.metric(LOSS_EVENTS, UNMODIFIED, 0.01, sizes="own", **by_bytes)
    return _within({"large / small": large / small}, 7.5, 12.5)


def _small_over_large(found: Found, loss: float) -> float:
    return found.ratio(UNMODIFIED, loss, TFRC, sizes="own", by_bytes=True)


# Of links that lose by chance, by id and number among the checks of the id.
ON_LINKS: dict[tuple[str, int], Callable[[Found], Judged]] = {
    ("vp-fig1", 0): lambda f: _within(_named(f, [UNMODIFIED]), 1.0 + 1e-9, math.inf),
    ("vp-fig1", 1): lambda f: _within(_named(f, [UNMODIFIED], [EXTREME_LOSS]), 100.0, math.inf),
    ("vp-fig1", 2): lambda f: _within(
        {f"at {EXTREME_LOSS:g}": f.metric(LOSS_EVENTS, UNMODIFIED, EXTREME_LOSS)}, 0.0, 0.01 - 1e-9
    ),
    ("vp-fig1", 3): lambda f: _within(_named(f, [TFRC]), 0.8, 1.2),
    ("vp-fig1", 4): lambda f: _grows(f.ratios(UNMODIFIED, (*LOSSES, EXTREME_LOSS), TFRC)),
    ("vp-fig2", 0): lambda f: _within({"at 0.01": _small_over_large(f, 0.01)}, 0.316 * 0.75, 0.316 * 1.25),
    ("vp-fig2", 1): lambda f: _within({"at 0.3": _small_over_large(f, 0.3)}, 1.0 + 1e-9, math.inf),
    ("vp-fig2", 2): _loss_event_rates,
    ("vp-4.1.1-size", 0): lambda f: _within(_named(f, METHODS), 0.9, 1.1),
    ("vp-4.1.1-size", 1): _each_order,
    ("vp-4.1.1-rate", 0): lambda f: _within(_named(f, METHODS, sizes="adapted"), 0.85, 1.15),
    ("vp-4.1.2-size", 0): lambda f: _within(
        _named(f, ["unbiasing"], [one for one in LOSSES if one >= MORE_THAN_A_FEW_PERCENT], kind="swinging"),
        1.5 + 1e-9,
        math.inf,
    ),
    ("vp-4.1.2-size", 1): lambda f: _order(_means(f, "unbiasing", kind="swinging"), _means(f, "lip", kind="swinging")),
    ("vp-4.1.2-size", 2): lambda f: _order(_means(f, "lip", kind="swinging"), _means(f, "virtual", kind="swinging")),
    ("vp-4.1.2-size", 3): lambda f: _within(_named(f, ["virtual"], kind="swinging"), 0.75, 1.25),
    ("vp-4.1.2-rate", 0): lambda f: _within(
        _named(f, METHODS, LOSSES[-1:], kind="swinging", sizes="adapted"), 1.0 + 1e-9, math.inf
    ),
    ("vp-4.1.2-rate", 1): _bias_by_sizes,
    ("vp-4.1.3-size", 0): lambda f: _within(_means(f, "virtual", beside=TFRC, kind="gilbert"), 0.0, 0.5 - 1e-9),
    ("vp-4.1.3-size", 1): lambda f: _within(_means(f, "sampling", beside=TFRC, kind="gilbert"), 0.0, 0.5 - 1e-9),
    ("vp-4.1.3-size", 2): _far_from_tcp,
    ("vp-4.1.3-size", 3): lambda f: _order(
        _means(f, "unbiasing", kind="gilbert"), _means(f, "virtual", "sampling", "lip", kind="gilbert")
    ),
    ("vp-4.1.3-rate", 0): lambda f: _within(
        _named(f, METHODS, LOSSES[:1], kind="gilbert", sizes="adapted"), 0.75, 1.25
    ),
    ("vp-4.1.3-rate", 1): _unfairness_grows,
    ("vp-fig7", 0): lambda f: _within(_virtual_over_tfrc(f), 0.0, 0.6 - 1e-9),
    ("vp-fig7", 1): lambda f: _as_varied(f, "sampling"),
    ("vp-fig7", 2): lambda f: _as_varied(f, "lip"),
    ("vp-fig7", 3): lambda f: _within(_virtual_over_tfrc(f), 0.316 * 0.8, 0.316 * 1.2),
    ("vp-fig8", 0): lambda f: _rates_order(f, "unbiasing", "sampling"),
    ("vp-fig8", 1): lambda f: _rates_order(f, "sampling", "virtual"),
    ("vp-fig8", 2): lambda f: _rates_order(f, TFRC, "lip"),
    ("vp-mismatch", 0): lambda f: _within({"at 0.1": f.ratio("virtual", 0.1, by_bytes=True)}, 3.16 * 0.6, 3.16 * 1.4),
    ("vp-mismatch", 1): lambda f: _within({"at 0.01": f.ratio("virtual", 0.01, mode="byte")}, 0.316 * 0.6, 0.316 * 1.4),
}


# Where the paper leaves open what it shows: what else it may be, by the experiment.
READINGS: dict[str, tuple[str, str, str]] = {
    "vp-fig7": ("of the weighted mean", INTERVALS, MEAN_INTERVALS),
    "vp-fig8": ("in bins of 0.1 s", RATE, FINE_RATE),
}


def _of_bottlenecks(judge: Callable[[Bottlenecks], Judged]) -> Callable[[Found], Judged]:
    return lambda found: judge(found.bottlenecks)


def _of_formulas(judge: Callable[[Answers], Judged]) -> Callable[[Found], Judged]:
    return lambda found: judge(found.answers)


MEASURED: dict[tuple[str, int], Callable[[Found], Judged]] = {
    **ON_LINKS,
    **{key: _of_bottlenecks(judge) for key, judge in shared_bottlenecks.JUDGES.items()},
    **{key: _of_formulas(judge) for key, judge in packet_size_formulas.JUDGES.items()},
}
# Decided without a packet: by the headers, or by arithmetic.
OF_FORMULAS = {*packet_size_formulas.JUDGES, ("vp-4.2-settings", 0), ("vp-queue", 0)}
# The paper recommends by the orders of these experiments; "the orders of vp-4.1.* and vp-4.2.* hold".
ORDERED = tuple(
    (one.id, number)
    for one in papers.load(PAPER).entries
    if one.section.startswith(("4.1", "4.2"))
    for number, check in enumerate(one.checks)
    if check.op == "order"
)


def _conclusion(found: Found) -> Judged:
    """All orders hold; one that was not measured leaves it open."""
    verdicts = {f"{name} {number}": MEASURED[name, number](found)[1] for name, number in ORDERED}
    return [name for name, holds in verdicts.items() if not holds], all(verdicts.values())


# By id and number among the checks of the id.
JUDGES: dict[tuple[str, int], Callable[[Found], Judged]] = {**MEASURED, ("vp-conclusion", 0): _conclusion}


def paper() -> list[dict[str, Any]]:
    """The paper's checks, in its order."""
    return [
        {
            **{"id": one.id, "number": number, "kind": one.kind, "section": one.section},
            **{"check": check.as_data(), "origin": check.origin, "published": one.published},
        }
        for one in papers.load(PAPER).entries
        for number, check in enumerate(one.checks)
    ]


def _beside(found: Found, key: tuple[str, int]) -> dict[str, Any]:
    """What is beside a row of links that lose by chance, and whether the check holds there.

    The headers alone, and another reading of what the paper leaves open.
    """
    if key not in ON_LINKS:
        return {}
    others = {"without a stack": found.without_stack()}
    if key[0] in READINGS:
        name, metric, other = READINGS[key[0]]
        others[name] = found.reading(metric, other)
    told = {}
    for name, one in others.items():
        try:
            measured, passed = ON_LINKS[key](one)
        except NotMeasuredError:
            continue
        told[name] = {"measured": measured, "pass": None, "holds": passed}
    return told


class _Noting(dict[Any, Any]):
    """Notes which of its values are looked at."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        super().__init__(values)
        self.seen: dict[Any, None] = {}

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        self.seen[key] = None
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


def _told_cell(cell: Cell | Shared) -> dict[str, Any]:
    """What a cell has other than by default."""
    return {one.name: value for one in fields(cell) if (value := getattr(cell, one.name)) != one.default}


def _judged(found: Found, judge: Callable[[Found], Judged]) -> tuple[Any, bool, list[dict[str, Any]]]:
    """A judge's verdict, and the cells that it looked at."""
    noting = [_Noting(found.rates), _Noting(found.metrics), _Noting(found.bottlenecks.metrics)]
    measured, passed = judge(Found(noting[0], noting[1], Bottlenecks(noting[2]), found.answers))
    cells = {cell: None for one in noting for cell in one.seen}
    return measured, passed, [_told_cell(cell) for cell in cells]


def rows(
    found: Found, seeds: Iterable[int], parameters: Mapping[str, Any], why: Mapping[str, str] = {}
) -> list[dict[str, Any]]:
    """A row for each check of the paper; one that was not measured has not passed.

    :param parameters: of runs; a row has its "cells" as well, those that its judge looked at
    :param why: what is known of checks that do not hold, by id and number
    """
    seeds = list(seeds)
    result = []
    for one in paper():
        measured, passed, lack = None, False, "no judge"
        cells: list[dict[str, Any]] = []
        key = (one["id"], one["number"])
        judge = JUDGES.get(key)
        if judge:
            try:
                measured, passed, cells = _judged(found, judge)
                lack = ""
            except NotMeasuredError as error:
                lack = f"not run: {error}"
        of_runs = measured is not None and key not in OF_FORMULAS
        result.append(
            {
                **{name: one[name] for name in ("id", "number", "kind", "check", "origin", "published")},
                "measured": measured,
                "pass": passed,
                "beside": _beside(found, key) if measured is not None else {},
                "length_s": None,
                "seeds": seeds if of_runs else [],
                "parameters": {**parameters, "cells": cells} if of_runs else {},
                **({"not_measured": lack} if lack else {}),
                **(
                    {"why": why[name]}
                    if measured is not None and not passed and (name := f"{key[0]} {key[1]}") in why
                    else {}
                ),
            }
        )
    return result
