# SPDX-License-Identifier: GPL-2.0
"""The checks of packet-pair-1994, judged by runs on the real stack.

The checks, their bounds and what is published are in ``lab/model/papers/``; a new judge of one is an entry of
``JUDGES``. A check is judged with ``pktpair_1994``, as the paper has it: two-sided, if it is. Beside that, the default,
bbr and cubic are measured; where more or less of a figure is better, they are held against that side of the
bound alone, since to be faster than in 1994 is no failure.

A table or curve is judged as far as it was run; what a row has measured names the points.
"""

from __future__ import annotations

import cmath
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model import papers
from ..model.errors import NotMeasuredError
from ..model.memorandum import LOADS, SOURCES
from . import judging
from .estimators import ONE_Q16, Fuzzy
from .judging import numbers

PAPER = "packet-pair-1994"
JUDGED, DEFAULT = "pktpair_1994", "pktpair"
PEERS = ("bbr", "cubic")
# What the text leaves open is run both ways; a check is judged with the first.
FIXED_SETPOINT, WHOLE_QUEUE, STAGGERED_STARTS, SINGLY, AT_LINK_RATE = (
    f"{JUDGED}, {words}"
    for words in (
        *("fixed setpoint", "longest queue dropped whole", "sources start in turn"),
        *("each packet sent as it is made", "on at the link's rate"),
    )
)
READINGS = (FIXED_SETPOINT, WHOLE_QUEUE, STAGGERED_STARTS, SINGLY, AT_LINK_RATE)
COUNTS = tuple(range(2, SOURCES + 1))
INTENSITIES = ("0.2", "0.4", "0.6", "0.8", "0.9")
TABLE_SIZES, SIZES = (4, 20, 200, 2000), (4, 20, 50, 100, 200, 2000)
# B_INITIAL of its table 2: a queue that grows by less is no build-up.
BUILD_UP_PACKETS = 5
# Benchmarks of which the memorandum says that they are near 20 % of optimal.
SUMMARY = ("b1", "b2", "b4 short", "b4 long", "b5", "b6 forward", "b6 reverse", "b8")
FIXED, STAGGERED, TWO_APART = "fixed", "joining fig17", "joining fig18"


def probing(step: int = 2) -> str:
    """What a run of four probing sources is called."""
    return f"probing step={step}"


def joined(count: int, limit: int = 100) -> str:
    """What a run is called in which all join the first one at once."""
    return f"joining n={count} limit={limit}"


def closed(load: float) -> str:
    """What a run of closed on-off sources is called."""
    return f"closed load={load:g}"


def opened(load: float) -> str:
    """What a run of open on-off sources is called."""
    return f"open load={load:g}"


@dataclass(frozen=True)
class Point:
    """A figure's place: the means of all seeds.

    :param metrics: of the scenario
    :param values: of its parameters
    """

    metrics: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    length_s: float = 0.0


Points = Mapping[tuple[str, str], Point]


@dataclass
class Found:
    """Points of one congestion control, by the names of runs.

    :param used: names that were asked for
    """

    points: Points
    cc: str = JUDGED
    used: dict[str, Point] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether it was run."""
        return (self.cc, name) in self.points

    def of(self, name: str, metric: str) -> Any:
        """A figure of a run."""
        if not self.has(name):
            raise NotMeasuredError(f"{name} was not run")
        one = self.used[name] = self.points[self.cc, name]
        if one.metrics.get(metric) is None:
            raise NotMeasuredError(f"{name} has no {metric}")
        return one.metrics[metric]

    def each(self, names: Mapping[Any, str], metric: str) -> dict[str, Any]:
        """A figure of those of several runs that were made, by the keys of these."""
        told = {str(key): self.of(name, metric) for key, name in names.items() if self.has(name)}
        if not told:
            raise NotMeasuredError(f"{next(iter(names.values()))} was not run, nor another")
        return told


Judge = judging.Judge[Found]


@functools.cache
def entries() -> dict[str, papers.Entry]:
    """The paper's, by id."""
    return {one.id: one for one in papers.load(PAPER).entries}


def _tolerance(name: str, number: int) -> float:
    """Of a check whose expected value is a word."""
    return float(entries()[name].checks[number].terms["rel_tol"])


def _part(name: str, number: int, measure: Callable[[Found], Any], better: str = "") -> Judge:
    """All that is told is, as a part of what is expected, within the check's tolerance of 1."""
    off = _tolerance(name, number)
    sides = {
        "less": lambda told: all(one <= 1 + off for one in numbers(told)),
        "more": lambda told: all(one >= 1 - off for one in numbers(told)),
    }
    return Judge(measure, lambda told: all(abs(one - 1) <= off for one in numbers(told)), sides.get(better))


def within(name: str, number: int, measure: Callable[[Found], Any], better: str = "") -> Judge:
    """All that is told is within the check's own bounds.

    :param better: "less" or "more", where one side is no failure of others
    """
    low, high = judging.bounds(entries()[name].checks[number])

    def holds(told: Any) -> bool:
        return all(low <= one <= high for one in numbers(told))

    sides = {
        "less": lambda told: all(one <= high for one in numbers(told)),
        "more": lambda told: all(one >= low for one in numbers(told)),
    }
    return Judge(measure, holds, sides.get(better))


def near_table(
    name: str, number: int, table: Mapping[str, float], measure: Callable[[Found], Mapping[str, float]], better: str
) -> Judge:
    """Each row that was run is near the published one."""
    check = entries()[name].checks[number]

    def off(expected: float) -> float:
        return float(check.terms["abs_tol"] if check.op == "abs_tol" else expected * check.terms["rel_tol"])

    def holds(told: Mapping[str, float]) -> bool:
        return all(abs(one - table[key]) <= off(table[key]) for key, one in told.items())

    def no_worse(told: Mapping[str, float]) -> bool:
        if better == "less":
            return all(one <= table[key] + off(table[key]) for key, one in told.items())
        return all(one >= table[key] - off(table[key]) for key, one in told.items())

    return Judge(measure, holds, no_worse)


def ordered(greater: Callable[[Found], Any], lesser: Callable[[Found], Any], words: tuple[str, str]) -> Judge:
    """One figure is above another."""
    return Judge(
        lambda found: {words[0]: greater(found), words[1]: lesser(found)}, lambda told: told[words[0]] > told[words[1]]
    )


def _of(name: str, metric: str) -> Callable[[Found], Any]:
    return lambda found: found.of(name, metric)


def _percent(name: str) -> Callable[[Found], float]:
    return lambda found: round(found.of(name, "slowdown") * 100, 2)


def _percents(names: Mapping[Any, str]) -> Callable[[Found], dict[str, float]]:
    def measure(found: Found) -> dict[str, float]:
        return {key: round(one * 100, 2) for key, one in found.each(names, "slowdown").items()}

    return measure


def _needing(count: int, measure: Callable[[Found], Mapping[str, Any]]) -> Callable[[Found], Mapping[str, Any]]:
    """Of a curve, so many points at least."""

    def enough(found: Found) -> Mapping[str, Any]:
        told = measure(found)
        if len(told) < count:
            raise NotMeasuredError(f"{len(told)} of at least {count} points were run")
        return told

    return enough


def rising(told: Mapping[str, float]) -> bool:
    """Each is above the one before."""
    return all(a < b for a, b in itertools.pairwise(told.values()))


def generally_rising(told: Mapping[str, float]) -> bool:
    """The rank correlation with the place is above a half."""
    values = list(told.values())
    ranks = [sum(other < one for other in values) + sum(other == one for other in values) / 2 for one in values]
    places = [place + 0.5 for place in range(len(values))]
    mean = len(values) / 2
    up = sum((a - mean) * (b - mean) for a, b in zip(ranks, places, strict=True))
    size = math.sqrt(sum((a - mean) ** 2 for a in ranks) * sum((b - mean) ** 2 for b in places))
    return size > 0 and up / size > 0.5


def _drops_per_1000(found: Found) -> dict[str, float]:
    names = {count: joined(count) for count in COUNTS}
    drops, lengths = found.each(names, "dropped"), found.each(names, "completion_tu")
    return {key: round(drops[key] / lengths[key] * 1000, 3) for key in drops}


def _per_drop(name: str) -> Callable[[Found], float]:
    def measure(found: Found) -> float:
        dropped = found.of(name, "dropped")
        if not dropped:
            raise NotMeasuredError(f"nothing was dropped in {name}")
        return float(round(found.of(name, "retransmitted") / dropped, 4))

    return measure


def _per_drop_of_table(found: Found) -> dict[str, float]:
    names = {count: joined(count) for count in COUNTS}
    sent, dropped = found.each(names, "retransmitted"), found.each(names, "dropped")
    told = {key: round(sent[key] / dropped[key], 4) for key in sent if dropped[key]}
    if not told:
        raise NotMeasuredError("nothing was dropped")
    return told


def _after_joins(found: Found) -> dict[str, float]:
    """Rate times the number of sources: 1 where it is the fair one."""
    rates = found.of(TWO_APART, "rates_after_joins")
    return {str(place + 2): round(rate * (place + 2), 4) for place, rate in enumerate(rates)}


def _steps_down(found: Found) -> dict[str, float]:
    rates = [1.0, *found.of(TWO_APART, "rates_after_joins")]
    return {str(place + 2): round(a - b, 4) for place, (a, b) in enumerate(itertools.pairwise(rates))}


def _phases(found: Found) -> dict[str, Any]:
    name = joined(SOURCES)
    before, after = ("queue_before", "peak_before_quiet"), ("least_after_quiet", "peak_after_quiet", "steady_queue")
    words = (*before, "quiet_tu", *after)
    return {word: found.of(name, word) for word in words}


def _two_build_ups(told: Mapping[str, Any]) -> bool:
    """Each of at least a setpoint of the start: a queue that comes back to its steady state is none."""
    first = told["peak_before_quiet"] - told["queue_before"]
    second = told["peak_after_quiet"] - max(told["least_after_quiet"], told["steady_queue"])
    return bool(min(first, second) >= BUILD_UP_PACKETS)


def _peaks_like_the_table(told: Mapping[str, float]) -> bool:
    """N = 2 above 3 to 6, and a peak at 6, 7 or 8 that its neighbours do not have."""
    first = all(told["2"] > told[key] for key in ("3", "4", "5", "6"))
    middle = max(("6", "7", "8"), key=lambda key: told[key])
    place = int(middle)
    return first and told[middle] > max(told[str(place - 1)], told[str(place + 1)])


def _all_counts(metric: str, limit: int = 100) -> Callable[[Found], dict[str, Any]]:
    return lambda found: found.each({count: joined(count, limit) for count in COUNTS}, metric)


def _no_drop_for_few(found: Found) -> dict[str, Any]:
    return found.each({count: joined(count) for count in (2, 3, 4)}, "dropped")


def _swing(found: Found) -> float:
    return float(found.of(FIXED, "most_queue") - found.of(FIXED, "least_queue"))


def _worst_rate(found: Found) -> list[float]:
    rates = found.of(probing(), "rates")
    return [min(rates), max(rates)]


def _poles(_: Found) -> dict[str, float]:
    """The larger modulus of the two roots of z^2 - z + alpha, by alpha."""
    told = {}
    for alpha in (0.1, 0.25, 0.5, 0.9, 0.99, 1.0, 1.01, 1.5):
        root = cmath.sqrt(1 - 4 * alpha)
        told[f"{alpha:g}"] = round(max(abs((1 + root) / 2), abs((1 - root) / 2)), 6)
    return told


def _alphas(_: Found) -> dict[str, float]:
    """The weight of history by the smoothed error, of kmod/fuzzy_average.h in Python, which a test holds against it."""
    return {f"{error / 20:g}": round(Fuzzy.alpha_q16(error * ONE_Q16 // 20) / ONE_Q16, 4) for error in range(21)}


def _never_rises(told: Mapping[str, float]) -> bool:
    return all(later <= sooner for sooner, later in itertools.pairwise(told.values()))


def _pipes(_: Found) -> dict[str, float]:
    rows = entries()["pp-tab3"].published["rows"]
    return {row["type"]: round(row["rate_bit_s"] * row["delay_s"] / 8 / row["packet_size_bytes"], 2) for row in rows}


def _peak_size(found: Found) -> float:
    told = found.each({size: f"b3 {size}" for size in SIZES}, "slowdown")
    if not {"20", "100", "200"} <= set(told):
        raise NotMeasuredError("b3 between 20 and 200 was not run")
    return float(max(told, key=lambda key: told[key]))


def _in_order(told: Mapping[str, float]) -> bool:
    return told["2000"] < told["4"] < told["20"] < told["200"]


def _goodputs(name: Callable[[float], str]) -> Callable[[Found], dict[str, float]]:
    return lambda found: found.each({f"{load:g}": name(load) for load in LOADS}, "goodput")


_CLOSED_GOODPUTS, _OPEN_GOODPUTS = _goodputs(closed), _goodputs(opened)


def _rows(name: str, key: str, value: str) -> dict[str, float]:
    """A published table."""
    return {f"{row[key]:g}": row[value] for row in entries()[name].published["rows"]}


def _apart(found: Found) -> float:
    first, second = (found.of(f"b9 {one}", "completion_s") for one in ("conn1", "conn2"))
    return float(round((second - first) / first, 4))


def _later(found: Found) -> float:
    return float(round(found.of("b8", "completion_s") - found.of("b1", "completion_s"), 4))


def _b7(found: Found) -> dict[str, float]:
    return found.each({one: f"b7 {one}" for one in INTENSITIES}, "completion_s")


def _falling(told: Mapping[str, float]) -> bool:
    return all(a > b for a, b in itertools.pairwise(told.values()))


def _both(first: str, second: str, metric: str) -> Callable[[Found], dict[str, Any]]:
    return lambda found: {one.partition(" ")[2]: found.of(one, metric) for one in (first, second)}


FOUR_SIZES = {size: f"b3 {size}" for size in TABLE_SIZES}
STEEP = {one: f"b7 {one}" for one in INTENSITIES[1:]}
# By id and number among the checks of the id.
JUDGES: dict[tuple[str, int], Judge] = {
    ("pp-probe", 0): _part("pp-probe", 0, _of(probing(), "share_over_fair")),
    ("pp-eq12", 0): within("pp-eq12", 0, _of(FIXED, "estimate_error_p95_packets"), "less"),
    ("pp-eq9", 0): Judge(_poles, lambda told: all((one < 1) == (float(key) < 1) for key, one in told.items())),
    ("pp-startup", 0): within("pp-startup", 0, _of(FIXED, "round_trips_to_full"), "less"),
    ("pp-retx", 0): within("pp-retx", 0, _per_drop(probing()), "less"),
    ("pp-setpoint", 0): within("pp-setpoint", 0, _of(probing(), "setpoint_slope")),
    ("pp-fuzzy", 0): Judge(_alphas, _never_rises),
    ("pp-fuzzy", 1): within("pp-fuzzy", 1, _alphas),
    ("pp-tab3", 0): within("pp-tab3", 0, _pipes),
    ("pp-9.1-fig11", 0): within("pp-9.1-fig11", 0, _of(FIXED, "mean_queue"), "less"),
    ("pp-9.1-fig11", 1): within("pp-9.1-fig11", 1, _of(FIXED, "mean_outstanding"), "less"),
    ("pp-9.1-fig11", 2): within("pp-9.1-fig11", 2, _of(FIXED, "estimate_error_p95_packets"), "less"),
    ("pp-9.1-fig12", 0): within("pp-9.1-fig12", 0, _swing, "less"),
    ("pp-9.1-fig12", 1): within("pp-9.1-fig12", 1, _of(FIXED, "mean_queue"), "less"),
    ("pp-9.1-fig13", 0): within("pp-9.1-fig13", 0, _of(FIXED, "round_trips_to_full"), "less"),
    ("pp-9.1-fig13", 1): within("pp-9.1-fig13", 1, _of(FIXED, "utilisation_after"), "more"),
    ("pp-9.1-fig14", 0): _part("pp-9.1-fig14", 0, _of(FIXED, "slope"), "more"),
    ("pp-9.1-fig15", 0): within("pp-9.1-fig15", 0, _of(probing(), "mean_setpoints")),
    ("pp-9.1-fig15", 1): within("pp-9.1-fig15", 1, _of(probing(), "setpoints_at_drop")),
    ("pp-9.1-fig15", 2): ordered(
        _of(probing(), "fairness_long"), _of(probing(), "fairness_short"), ("long run", "short run")
    ),
    ("pp-9.1-fig16", 0): within("pp-9.1-fig16", 0, _of(probing(), "drops_of_sources"), "less"),
    ("pp-9.1-fig16", 1): within("pp-9.1-fig16", 1, _per_drop(probing()), "less"),
    ("pp-9.1-fig16", 2): within("pp-9.1-fig16", 2, _worst_rate, "more"),
    ("pp-9.1-fig16b", 0): ordered(
        _of(probing(), "dropped"), _of(probing(1), "dropped"), ("drops, step 2", "drops, step 1")
    ),
    ("pp-9.2-fig17", 0): within("pp-9.2-fig17", 0, _of(STAGGERED, "rate_at_1000"), "less"),
    ("pp-9.2-fig17", 1): within("pp-9.2-fig17", 1, _of(STAGGERED, "jain_after_2000"), "more"),
    ("pp-9.2-fig18", 0): _part("pp-9.2-fig18", 0, _after_joins, "less"),
    ("pp-9.2-fig18", 1): Judge(_steps_down, _falling),
    ("pp-9.2-fig19-21", 0): Judge(_phases, _two_build_ups),
    ("pp-9.2-fig19-21", 1): within("pp-9.2-fig19-21", 1, _of(joined(SOURCES), "steady_gap_tu")),
    ("pp-9.2-fig19-21", 2): within("pp-9.2-fig19-21", 2, _of(joined(SOURCES), "steady_rate"), "more"),
    ("pp-9.2-tab4", 0): near_table(
        "pp-9.2-tab4", 0, _rows("pp-9.2-tab4", "N", "completion_tu"), _all_counts("completion_tu"), "less"
    ),
    ("pp-9.2-tab4", 1): Judge(_needing(3, _all_counts("completion_tu")), rising),
    ("pp-9.2-tab4", 2): within("pp-9.2-tab4", 2, _per_drop_of_table, "less"),
    ("pp-9.2-tab4", 3): within("pp-9.2-tab4", 3, _no_drop_for_few, "less"),
    ("pp-9.2-tab4", 4): Judge(_needing(3, _drops_per_1000), generally_rising),
    ("pp-9.2-tab4", 5): Judge(_needing(9, _all_counts("peak_queue")), _peaks_like_the_table),
    ("pp-9.2-tab5", 0): within("pp-9.2-tab5", 0, _all_counts("peak_queue", 10_000), "less"),
    ("pp-9.2-tab5", 1): within("pp-9.2-tab5", 1, _all_counts("dropped", 10_000), "less"),
    ("pp-9.2-tab5", 2): ordered(
        _of(joined(SOURCES, 10_000), "peak_after_quiet"),
        _of(joined(SOURCES, 10_000), "peak_before_quiet"),
        ("phase 4", "phase 2"),
    ),
    ("pp-9.3-open", 0): within("pp-9.3-open", 0, _OPEN_GOODPUTS, "more"),
    ("pp-9.3-open", 1): near_table(
        "pp-9.3-open", 1, _rows("pp-9.3-open", "nominal_load", "goodput"), _OPEN_GOODPUTS, "more"
    ),
    ("pp-9.3-closed", 0): within("pp-9.3-closed", 0, _CLOSED_GOODPUTS, "more"),
    ("pp-9.3-closed", 1): near_table(
        "pp-9.3-closed", 1, _rows("pp-9.3-closed", "nominal_load", "goodput"), _CLOSED_GOODPUTS, "more"
    ),
    ("pp-b1", 0): within("pp-b1", 0, _of("b1", "completion_s"), "less"),
    ("pp-b1", 1): within("pp-b1", 1, _of("b1", "completion_s"), "more"),
    ("pp-b1", 2): within("pp-b1", 2, _percent("b1"), "less"),
    ("pp-b2", 0): within("pp-b2", 0, _of("b2", "completion_s"), "less"),
    ("pp-b2", 1): ordered(_of("b2", "completion_s"), _of("b1", "completion_s"), ("b2", "b1")),
    ("pp-b3", 0): near_table(
        "pp-b3",
        0,
        _rows("pp-b3", "size_pkt", "packet_pair_s"),
        lambda found: found.each(FOUR_SIZES, "completion_s"),
        "less",
    ),
    ("pp-b3", 1): Judge(_needing(4, _percents(FOUR_SIZES)), _in_order),
    ("pp-b3", 2): within("pp-b3", 2, _peak_size),
    ("pp-b4", 0): within("pp-b4", 0, _of("b4 short", "completion_s"), "less"),
    ("pp-b4", 1): within("pp-b4", 1, _of("b4 long", "completion_s"), "less"),
    ("pp-b4", 2): ordered(_of("b4 long", "completion_s"), _of("b4 short", "completion_s"), ("long", "short")),
    ("pp-b4", 3): within("pp-b4", 3, _percents({one: f"b4 {one}" for one in ("short", "long")}), "less"),
    ("pp-b5", 0): within("pp-b5", 0, _of("b5", "completion_s"), "less"),
    ("pp-b5", 1): within("pp-b5", 1, _of("b5", "completion_s"), "more"),
    ("pp-b6", 0): within("pp-b6", 0, _both("b6 forward", "b6 reverse", "completion_s"), "less"),
    ("pp-b6", 1): within(
        "pp-b6",
        1,
        lambda found: round(found.of("b6 forward", "completion_s") / found.of("b6 reverse", "completion_s"), 4),
    ),
    ("pp-b6", 2): ordered(
        _percent("b1"), lambda found: max(_percent(f"b6 {way}")(found) for way in ("forward", "reverse")), ("b1", "b6")
    ),
    ("pp-b7", 0): near_table("pp-b7", 0, _rows("pp-b7", "intensity", "packet_pair_mean_s"), _b7, "less"),
    ("pp-b7", 1): ordered(_percent("b7 0.4"), _percent("b7 0.9"), ("0.4", "0.9")),
    ("pp-b7", 2): Judge(_needing(4, _percents(STEEP)), _falling),
    ("pp-b8", 0): within("pp-b8", 0, _of("b8", "completion_s"), "less"),
    ("pp-b8", 1): ordered(_of("b8", "completion_s"), _of("b1", "completion_s"), ("b8", "b1")),
    ("pp-b8", 2): within("pp-b8", 2, _later, "less"),
    ("pp-b9", 0): within("pp-b9", 0, _of("b9 conn1", "completion_s"), "less"),
    ("pp-b9", 1): within("pp-b9", 1, _of("b9 conn2", "completion_s"), "less"),
    ("pp-b9", 2): ordered(_of("b9 conn2", "completion_s"), _of("b9 conn1", "completion_s"), ("conn2", "conn1")),
    ("pp-b9", 3): within("pp-b9", 3, _apart, "less"),
    ("pp-9.4-summary", 0): within("pp-9.4-summary", 0, _percents({one: one for one in SUMMARY}), "less"),
}


def goals(points: Points) -> list[dict[str, Any]]:
    """Of the default: sends no more again in 9.3 than is published, at any load."""
    told = []
    for kind, measure in {"closed": _CLOSED_GOODPUTS, "open": _OPEN_GOODPUTS}.items():
        published = _rows(f"pp-9.3-{kind}", "nominal_load", "goodput")

        def holds(told: Mapping[str, float], least: Mapping[str, float] = published) -> bool:
            return all(one >= least[load] for load, one in told.items())

        what = f"9.3, {kind} sources: goodput of {DEFAULT} at each load is at least what is published"
        told.append(judging.goal(what, Judge(measure, holds), Found(points, DEFAULT)))
    return told


# Judges that look at no run.
ARITHMETIC = {("pp-eq9", 0), ("pp-fuzzy", 0), ("pp-fuzzy", 1), ("pp-tab3", 0)}


def judged(found: Found, key: tuple[str, int], one_sided: bool = False) -> dict[str, Any]:
    """As ``judging.judged``, by the check's judge."""
    return judging.judged(JUDGES[key], found, one_sided)


def _unjudged(entry: papers.Entry) -> str:
    """Why no run here decides a check."""
    tests = [one.name for one in entry.shown if one.by != "header"]
    shown = f"decided elsewhere: {', '.join(tests)}" if tests else ""
    stack = f"the stack does this: {entry.stack}" if entry.stack else ""
    return "; ".join(filter(None, (entry.out, shown, stack, entry.open))) or "nothing measures this"


def rows(points: Points, seeds: Sequence[int], why: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each check of the paper; one that was not measured has not passed.

    :param why: what is known of a check that does not hold, by id and number ("pp-b1 0")
    """
    told = []
    for entry in entries().values():
        for number in range(len(entry.checks)):
            key, found = (entry.id, number), Found(points)
            if key in JUDGES:
                own = judged(found, key)
                all_others = () if key in ARITHMETIC else (*READINGS, DEFAULT, *PEERS)
                others = {cc: judged(Found(points, cc), key, cc not in READINGS) for cc in all_others}
            else:
                own, others = {"measured": None, "pass": False, "not_measured": _unjudged(entry)}, {}
            of_runs: dict[str, Any] = {"qdisc": "fq_rr"}
            if own["measured"] is not None and key not in ARITHMETIC:
                of_runs |= {
                    **{"preset": "1994", "cc": JUDGED, "seeds": list(seeds)},
                    "length_s": round(max((one.length_s for one in found.used.values()), default=0.0), 3),
                    "parameters": {name: dict(one.values) for name, one in found.used.items()},
                }
            told.append(judging.row(entry, number, own, others, of_runs, why))
    return told
