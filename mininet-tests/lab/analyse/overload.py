# SPDX-License-Identifier: GPL-2.0
"""The checks of Keshav and Morgan (1995), judged by sources on the real stack.

A check that nothing here measures is a row as well, and has not passed. The checks and what the paper
published are in ``lab/model/papers/``; a new judge of one is a function in ``JUDGES``.

goodput
    payload that was acknowledged, each packet counted as the paper's 500 bytes, over what the bottleneck can
    carry: the mean of 20 intervals. "controlled" and "uncontrolled" are of one source of that kind
plateau
    goodput at a load of 5 over the best of the loads that were run, on one curve. It stays near its plateau with
    at least 0.75; below 0.5 it has collapsed
nondecreasing
    at each load, a larger buffer has no less goodput, but for what the bars of both points (1.96 sigma) leave open
heavy load
    5

The paper's sources find what was lost twice by timers alone, as in 1995; everybody else's as the stack does.

A curve's points are judged as far as they were run; what a row has measured names them.

A check is judged with ``pktpair_1994``, as the paper has it: two-sided, if it is. The default, bbr and cubic
stand beside it where their points were run: they are held against the better side of the bound alone, and against
none where neither is better: a number of intervals, or an order of buffers or of disciplines.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..model import overload, papers
from ..model.errors import NotMeasuredError
from . import judging

PAPER = "overload-1995"
JUDGED, DEFAULT, UNCONTROLLED = "pktpair_1994", "pktpair", "fixed_window"
PEERS = ("bbr", "cubic")
DROPS = ("last", "longest")
BUFFERS = tuple(map(float, overload.BUFFERS))
HALF = 0.5
HEAVY = 5.0
# Sources without control, of ten; by the letters of figures 2 and 3, then of 4 and 5.
NONE, ONE, NINE, ALL = 0, 1, 9, 10
MIXES = (NONE, ONE, NINE, ALL)
STOCK_MS, SHORT_MS = 0, 75
# How a packet that was lost twice is found. Timers alone find it in 1995: the stack's RACK and its probe are later.
STACK, TIMERS = "stack", "timers"
NEAR_PLATEAU, COLLAPSED = 0.75, 0.5
# Of the paper's reports, and its runs.
INTERVAL_S, RUN_S = 20, 420
# Goodput of the default at a load of 5 with half a window of buffer.
GOALS = {"last": 0.92, "longest": 0.83}


@dataclass(frozen=True)
class Cell:
    """One point of a curve.

    :param cc: of the controlled sources; where all are uncontrolled, ``fixed_window``
    :param rto_min: ms, 0 is the stack's
    :param stack: the sources are the paper's, and what was lost twice is found by the stack nevertheless
    """

    cc: str
    uncontrolled: int
    drop: str
    buffer: float
    load: float
    rto_min: int = STOCK_MS
    sources: int = overload.SOURCES
    stack: bool = False

    @property
    def curve(self) -> str:
        """What its curve is called, of those of one congestion control and timeout."""
        return f"{self.sources - self.uncontrolled}+{self.uncontrolled} {self.drop} B={self.buffer:g}"


# A source alone: its load, and for how long an interval is measured.
LONE_LOAD = 0.5
LONE = Cell(UNCONTROLLED, 1, "last", HALF, LONE_LOAD, sources=1)
Point = Mapping[str, float]


@dataclass(frozen=True)
class Found:
    """Points of curves, with one congestion control of the controlled sources, and one reading of timeouts.

    :param points: metrics of the scenario, by cell; of several seeds, their means
    :param used: cells that were asked for
    """

    points: Mapping[Cell, Point]
    cc: str = JUDGED
    rto_min: int = STOCK_MS
    stack: bool = False
    used: set[Cell] = field(default_factory=set)

    @property
    def ccs(self) -> set[str]:
        """Of the cells that were asked for."""
        return {cell.cc for cell in self.used}

    @property
    def mixes(self) -> tuple[int, ...]:
        """Those in which somebody is judged; beside them, nobody has another's where all are uncontrolled."""
        return tuple(mix for mix in MIXES if mix != ALL or self.cc == JUDGED)

    def _of(self, cell: Cell) -> Point:
        if cell not in self.points:
            raise NotMeasuredError(cell)
        self.used.add(cell)
        return self.points[cell]

    def cell(self, mix: int, drop: str, buffer: float, load: float) -> Cell:
        """Where all sources are uncontrolled, nobody has this congestion control."""
        if mix == ALL:
            # beside today's controls stands what the stack makes of them
            stack = self.stack or self.cc != JUDGED
            return Cell(UNCONTROLLED, mix, drop, buffer, load, self.rto_min, stack=stack)
        return Cell(self.cc, mix, drop, buffer, load, self.rto_min, stack=self.stack)

    def at(self, mix: int, drop: str, buffer: float = HALF, load: float = HEAVY) -> Point:
        """One point."""
        return self._of(self.cell(mix, drop, buffer, load))

    def loads(self, mix: int, drop: str, buffer: float) -> list[float]:
        """Of a curve."""
        known = {cell.load for cell in self.points if cell.sources == overload.SOURCES}
        return sorted(load for load in known if self.cell(mix, drop, buffer, load) in self.points)

    def buffers(self, mix: int, drop: str, load: float = HEAVY) -> list[float]:
        """Of the curves that have a load."""
        found = [one for one in BUFFERS if self.cell(mix, drop, one, load) in self.points]
        if not found:
            raise NotMeasuredError(self.cell(mix, drop, HALF, load))
        return found

    def lone(self) -> Point:
        """Of a source alone."""
        return self._of(LONE)


class Verdict(NamedTuple):
    """What a judge says.

    :param told: what was measured
    :param no_worse: whether the better side of the bound is kept; None: neither side is better
    """

    told: Any
    holds: bool
    no_worse: bool | None = None


Judge = Callable[[Found], Verdict]


def _round(value: float) -> float:
    return round(value, 4)


def _one_sided(told: Any, holds: bool) -> Verdict:
    """Of a bound that has but its better side."""
    return Verdict(told, holds, holds)


def _near(value: float, expected: float, tolerance: float) -> Verdict:
    return Verdict(_round(value), abs(value - expected) <= tolerance)


def _near_goodput(mix: int, drop: str, expected: float, tolerance: float) -> Judge:
    """At a load of 5 with half a window; what the other buffers have is told. More is no worse."""

    def judge(found: Found) -> Verdict:
        told = {f"B={one:g}": _round(found.at(mix, drop, one)["goodput"]) for one in found.buffers(mix, drop)}
        off = found.at(mix, drop)["goodput"] - expected
        return Verdict(told, abs(off) <= tolerance, off >= -tolerance)

    return judge


def _plateaus(found: Found, curves: Iterable[tuple[int, str]]) -> dict[str, float]:
    """Of each curve that has two loads at least, and 5 among them."""
    told = {}
    for mix, drop in curves:
        for buffer in found.buffers(mix, drop):
            loads = found.loads(mix, drop, buffer)
            if len(loads) > 1:
                best = max(found.at(mix, drop, buffer, load)["goodput"] for load in loads)
                told[found.cell(mix, drop, buffer, HEAVY).curve] = _round(found.at(mix, drop, buffer)["goodput"] / best)
    if not told:
        raise NotMeasuredError("one load of the curve")
    return told


def _plateau(mix: int, drop: str) -> Judge:
    def judge(found: Found) -> Verdict:
        told = _plateaus(found, [(mix, drop)])
        return _one_sided(told, min(told.values()) >= NEAR_PLATEAU)

    return judge


def _in_all_curves(least: float) -> Judge:
    def judge(found: Found) -> Verdict:
        told = _plateaus(found, itertools.product(found.mixes, DROPS))
        return _one_sided(told, min(told.values()) >= least)

    return judge


def _nondecreasing(mix: int, drop: str) -> Judge:
    def judge(found: Found) -> Verdict:
        told, passed, compared = {}, True, False
        for load in sorted({load for one in BUFFERS for load in found.loads(mix, drop, one)}):
            points = [found.at(mix, drop, one, load) for one in found.buffers(mix, drop, load)]
            told[f"load={load:g}"] = [_round(point["goodput"]) for point in points]
            for smaller, larger in itertools.pairwise(points):
                compared = True
                open_part = smaller["goodput_bar"] + larger["goodput_bar"]
                passed = passed and smaller["goodput"] <= larger["goodput"] + open_part
        if not compared:
            raise NotMeasuredError("one buffer")
        return Verdict(told, passed)

    return judge


@dataclass(frozen=True)
class Value:
    """A figure at a load of 5."""

    mix: int
    drop: str
    metric: str = "goodput"

    def of(self, found: Found, buffer: float) -> float:
        """With a buffer."""
        return found.at(self.mix, self.drop, buffer)[self.metric]


def _order(greater: Value, lesser: Value, buffers: Iterable[float] = BUFFERS) -> Judge:
    """With each of the buffers that both curves have."""

    def judge(found: Found) -> Verdict:
        common = set(buffers).intersection(*(found.buffers(one.mix, one.drop) for one in (greater, lesser)))
        if not common:
            raise NotMeasuredError(found.cell(greater.mix, greater.drop, next(iter(buffers)), HEAVY))
        pairs = {f"B={one:g}": (greater.of(found, one), lesser.of(found, one)) for one in sorted(common)}
        told = {name: [_round(a), _round(b)] for name, (a, b) in pairs.items()}
        return Verdict(told, all(a > b for a, b in pairs.values()))

    return judge


def _above(greater: Value, lesser: Value) -> Judge:
    """An order in which the greater one is of controlled sources: more of it is better."""
    order = _order(greater, lesser)
    return lambda found: _one_sided(*order(found)[:2])


def _beats(mix: int, drop: str) -> Judge:
    """A controlled source has more than an uncontrolled one."""
    return _above(*(Value(mix, drop, f"{kind}_source") for kind in ("controlled", "uncontrolled")))


def _more_than_its_share(drop: str) -> Judge:
    def judge(found: Found) -> Verdict:
        told = {f"B={one:g}": found.at(NINE, drop, one)["controlled_source"] for one in found.buffers(NINE, drop)}
        rounded = {name: _round(one) for name, one in told.items()}
        return _one_sided(rounded, min(told.values()) > 1 / overload.SOURCES)

    return judge


def _better_with_less(drop: str) -> Judge:
    def judge(found: Found) -> Verdict:
        small, large = (found.at(NINE, drop, one)["controlled_source"] for one in (BUFFERS[0], BUFFERS[-1]))
        return Verdict({"B=0.25": _round(small), "B=1": _round(large)}, small > large)

    return judge


def _ratio(point: Point) -> float:
    return point["controlled_source"] / max(point["uncontrolled_source"], 1e-6)


def _ratios(found: Found, mix: int, drop: str, least_load: float = 1.0) -> dict[str, float]:
    return {
        f"{drop} B={buffer:g} load={load:g}": _round(_ratio(found.at(mix, drop, buffer, load)))
        for buffer in found.buffers(mix, drop)
        for load in found.loads(mix, drop, buffer)
        if load >= least_load
    }


def _incentive(mix: int) -> Judge:
    def judge(found: Found) -> Verdict:
        told = {name: ratio for drop in DROPS for name, ratio in _ratios(found, mix, drop).items()}
        return _one_sided(told, min(told.values()) > 1)

    return judge


def _most_with_longest(found: Found) -> Verdict:
    """Geometric means over buffers, at a load of 5."""
    means = {}
    for drop in DROPS:
        ratios = _ratios(found, ONE, drop, HEAVY).values()
        means[drop] = _round(math.exp(math.fsum(map(math.log, ratios)) / len(ratios)))
    return Verdict(means, means["longest"] > means["last"])


def _driven_out(found: Found) -> Verdict:
    told = {f"B={one:g}": _round(1 / _ratio(found.at(ONE, "longest", one))) for one in found.buffers(ONE, "longest")}
    return _one_sided(told, max(told.values()) <= 0.5)


def _difference(found: Found) -> Verdict:
    """What drop-longest costs: less is no worse."""
    last, longest = (found.at(NONE, drop)["goodput"] for drop in DROPS)
    cost = last - longest
    return Verdict(_round(cost), 0.0 <= cost <= 0.15, cost <= 0.15)


def _small_buffer(found: Found) -> Verdict:
    told = {drop: _round(found.at(NONE, drop)["goodput"]) for drop in DROPS}
    return _one_sided(told, min(told.values()) >= 0.8)


def _packets_of_a_source(found: Found) -> Verdict:
    """The most of the mixes of one kind, in an interval of the paper's length."""
    told = {}
    for mix, kind in ((NONE, "controlled"), (ALL, "uncontrolled")):
        for drop in DROPS if mix in found.mixes else ():
            parts = [
                found.at(mix, drop, buffer, load)[f"{kind}_source"]
                for buffer in found.buffers(mix, drop)
                for load in found.loads(mix, drop, buffer)
            ]
            told[f"{kind} {drop}"] = round(max(parts) * INTERVAL_S / overload.packet_s())
    return Verdict(told, max(told.values()) <= 4048)


def _intervals(found: Found) -> Verdict:
    count = int(found.at(NONE, "last")["intervals"])
    return Verdict(count, count == overload.INTERVALS)


@functools.cache
def _mean_drawn() -> float:
    """Packets of a message, of ten sources at a load of 5, for as long as the paper's runs last."""
    load = HEAVY / overload.SOURCES
    drawn = [
        one.response_bytes
        for source in range(1, overload.SOURCES + 1)
        for one in overload.messages(load, RUN_S, 1, source, 1)[1]
    ]
    return sum(drawn) / len(drawn)


def _drawn_messages(_: Found) -> Verdict:
    return _near(_mean_drawn(), 202.4, 202.4 * 0.05)


def _table_1(_: Found) -> Verdict:
    told = {f"{rate / 1e6:g} Mbit/s": overload.window_of(rate) for rate in (1.5e6, 45e6, 155e6, 622e6)}
    (table,) = [one for one in papers.load(PAPER).entries if one.id == "ovl-tab1"]
    published = [row["window_bits"] for row in table.published["rows"]]
    good = all(abs(bits - one) <= one * 1e-3 for (bits, _cells), one in zip(told.values(), published, strict=True))
    return Verdict({name: [round(bits), round(cells)] for name, (bits, cells) in told.items()}, good)


# By id and number among the checks of the id.
JUDGES: dict[tuple[str, int], Judge] = {
    ("ovl-eq3", 0): lambda f: _near(f.lone()["round_trip_s"], 0.050001, 0.050001 * 0.02),
    ("ovl-eq4-5", 0): _drawn_messages,
    ("ovl-eq6-7", 0): lambda f: _near(f.lone()["goodput"], LONE_LOAD, LONE_LOAD * 0.05),
    ("ovl-eq8-9", 0): _intervals,
    ("ovl-tab1", 0): _table_1,
    ("ovl-fig2a", 0): _near_goodput(NONE, "last", 0.92, 0.06),
    ("ovl-fig2a", 1): _plateau(NONE, "last"),
    ("ovl-fig2a", 2): _nondecreasing(NONE, "last"),
    ("ovl-fig2a", 3): _order(Value(NONE, "last"), Value(NONE, "longest"), [HALF]),
    ("ovl-fig2b", 0): _plateau(ONE, "last"),
    ("ovl-fig2b", 1): _nondecreasing(ONE, "last"),
    ("ovl-fig2c", 0): _near_goodput(NONE, "longest", 0.83, 0.07),
    ("ovl-fig2c", 1): _plateau(NONE, "longest"),
    ("ovl-fig2c", 2): _nondecreasing(NONE, "longest"),
    ("ovl-fig2d", 0): _plateau(ONE, "longest"),
    ("ovl-fig2d", 1): _nondecreasing(ONE, "longest"),
    ("ovl-fig3a", 0): _plateau(NINE, "last"),
    ("ovl-fig3a", 1): _nondecreasing(NINE, "last"),
    ("ovl-fig3b", 0): _near_goodput(ALL, "last", 0.5, 0.12),
    ("ovl-fig3b", 1): _above(Value(NONE, "last"), Value(ALL, "last")),
    ("ovl-fig3c", 0): _plateau(NINE, "longest"),
    ("ovl-fig3c", 1): _nondecreasing(NINE, "longest"),
    ("ovl-fig3d", 0): _near_goodput(ALL, "longest", 0.5, 0.12),
    ("ovl-fig3d", 1): _above(Value(NONE, "longest"), Value(ALL, "longest")),
    ("ovl-fig4a", 0): _beats(ONE, "last"),
    ("ovl-fig4b", 0): _beats(ONE, "last"),
    ("ovl-fig4c", 0): _beats(ONE, "longest"),
    ("ovl-fig4d", 0): _order(Value(ONE, DROPS[0], "uncontrolled_source"), Value(ONE, DROPS[1], "uncontrolled_source")),
    ("ovl-fig4d", 1): _driven_out,
    ("ovl-fig5a", 0): _more_than_its_share("last"),
    ("ovl-fig5a", 1): _better_with_less("last"),
    ("ovl-fig5b", 0): _beats(NINE, "last"),
    ("ovl-fig5c", 0): _more_than_its_share("longest"),
    ("ovl-fig5c", 1): _better_with_less("longest"),
    ("ovl-fig5d", 0): _beats(NINE, "longest"),
    ("ovl-c1-stability", 0): _in_all_curves(NEAR_PLATEAU),
    ("ovl-c1-stability", 1): _in_all_curves(COLLAPSED),
    ("ovl-c2-small-buffer", 0): _small_buffer,
    ("ovl-c2-small-buffer", 1): _order(Value(NONE, "last"), Value(NONE, "longest"), [HALF]),
    ("ovl-c3-min-buffer", 0): lambda _: _near(overload.least_buffer_windows(), 0.2, 0.005),
    ("ovl-c4-discipline", 0): _difference,
    ("ovl-c5-incentive", 0): _incentive(ONE),
    ("ovl-c5-incentive", 1): _incentive(NINE),
    ("ovl-c5-incentive", 2): _most_with_longest,
    ("ovl-c6-source-goodput-range", 0): _packets_of_a_source,
}
# Beside the judged one: two other readings, a shorter timeout and the stack's recovery; the default and its peers.
BESIDE = {
    f"{JUDGED}, rto_min {SHORT_MS} ms": (JUDGED, SHORT_MS, False),
    f"{JUDGED}, the stack's recovery": (JUDGED, STOCK_MS, True),
    **{cc: (cc, STOCK_MS, False) for cc in (DEFAULT, *PEERS)},
}


def judged(found: Found, key: tuple[str, int], one_sided: bool = False) -> dict[str, Any]:
    """What was measured, whether it passes, or why nothing was.

    :param one_sided: no worse is enough; "pass" is None where neither side is better
    """
    try:
        told, holds, no_worse = JUDGES[key](found)
    except NotMeasuredError as error:
        return {"measured": None, "pass": False, "not_measured": f"not run: {error}"}
    return {"measured": told, "pass": no_worse if one_sided else holds}


def _who(found: Found) -> dict[str, str]:
    """Whom a judge looked at: sources of the judged controller, those without control alone, or none."""
    if JUDGED in found.ccs:
        return {"preset": "1994", "cc": JUDGED}
    return {"preset": "", "cc": UNCONTROLLED if found.ccs else ""}


def _curves(found: Found) -> dict[str, dict[str, Any]]:
    """What a judge looked at: of each curve its mix, drop policy, buffer, least timeout, recovery and loads."""
    told: dict[str, dict[str, Any]] = {}
    for cell in sorted(found.used, key=lambda one: (one.uncontrolled, one.drop, one.buffer, one.load)):
        own = {"uncontrolled": cell.uncontrolled, "drop": cell.drop, "buffer": cell.buffer}
        own |= {"rto_min_ms": cell.rto_min or "stock", "recovery": STACK if cell.stack else TIMERS, "loads": []}
        told.setdefault(cell.curve, own)["loads"].append(cell.load)
    return told


def _beside(points: Mapping[Cell, Point], key: tuple[str, int]) -> dict[str, Any]:
    """What the same judge says of others, of those that have a source in what it looks at."""
    told = {}
    for name, (cc, rto_min, stack) in BESIDE.items():
        found = Found(points, cc, rto_min, stack)
        one = judged(found, key, cc != JUDGED)
        if cc in found.ccs:
            told[name] = one
    return told


def rows(
    points: Mapping[Cell, Point],
    seeds: Iterable[int],
    parameters: Mapping[str, Any],
    lone: Mapping[str, Any],
    why: Mapping[str, str],
) -> list[dict[str, Any]]:
    """A row for each check of the paper; one that was not measured has not passed.

    A row's parameters are those of all runs, and the curves that its judge looked at.

    :param parameters: of all runs, ``length_s`` among them
    :param lone: those that differ where a source is alone
    :param why: what is known of a check that does not hold, by id and number ("ovl-fig2a 0")
    """
    result, seeds = [], list(seeds)
    for entry, number in ((one, number) for one in papers.load(PAPER).entries for number in range(len(one.checks))):
        found = Found(points)
        own = judged(found, (entry.id, number))
        told = {**parameters, **(lone if LONE in found.used else {}), "curves": _curves(found)} if found.used else {}
        of_runs = {
            **_who(found),
            **{"qdisc": "fq_rr", "seeds": seeds if told else []},
            **{"length_s": told.get("length_s"), "parameters": told},
        }
        result.append(judging.row(entry, number, own, _beside(points, (entry.id, number)), of_runs, why))
    return result


def goals(points: Mapping[Cell, Point]) -> list[dict[str, Any]]:
    """Of the default: no less than the paper's, at a load of 5 with half a window of buffer."""
    told: list[dict[str, Any]] = []
    for drop, least in GOALS.items():
        point = points.get(Cell(DEFAULT, NONE, drop, HALF, HEAVY))
        measured = None if point is None else _round(point["goodput"])
        told.append({"drop": drop, "least": least, "measured": measured, "met": (measured or 0.0) >= least})
    return told
