# SPDX-License-Identifier: GPL-2.0
"""The checks of Cai, Wolf and Gong (2011), judged by runs on the real stack.

The checks, their bounds and what is published are in ``lab/model/papers/``; a new judge of one is an entry of
``JUDGES``. Where TCP is needed, a check is judged with reno, whose receivers acknowledge each packet, as ns-2's do.
Other readings of what the text leaves open, the default, bbr and cubic are measured beside it.

affected scale
    one on which the coefficient of variation is lower behind the pacer by more than 5 %
nondecreasing
    but for what the bars of both points (1.96 sigma of the mean) leave open
curve, table
    is judged as far as it was run; what a row has measured names the points
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model import papers, qlbp
from ..model.errors import NotMeasuredError
from . import judging
from .judging import numbers
from .packet_pair import Point, Points

PAPER = "qlbp-2011"
JUDGED, DEFAULT = "reno", "pktpair"
PEERS = ("bbr", "cubic")
# Of what the text leaves open; a name that one of them has not is the judged one's.
TEXT, STOCK_RECEIVERS, STOCK_PACING = (
    f"{JUDGED}, {words}" for words in ("delays and packets of the text", "stock receivers", "TCP pacing as stock")
)
READINGS = (TEXT, STOCK_RECEIVERS, STOCK_PACING)
RATES, PROTOTYPE, BURSTS, STEP = "rates", "prototype", "bursts", "step"
BUFFERS = (5, 12, 40, 100)
# With which no pacing uses 0.4757 of the core link, as table III has it, to 0.02.
TABLE_BUFFER = 12
NONE, TCP = "none", "tcp"
# mu-max of table II's pacer; a packet's time at it.
MU_MAX_BIT_S, Q_MAX_PACKETS = 10e6, 10
BOUND_S = Q_MAX_PACKETS * qlbp.PACKET_BITS / MU_MAX_BIT_S
PACKET_S = qlbp.PACKET_BITS / MU_MAX_BIT_S
AFFECTED = 0.95
# Of qlbp.SCALES: 5 ms, and those next to 2.5 and 5 s.
SHORTEST, LONG = 0, (9, 10)
# Of pacing.LAGS_S.
NO_LAG, SMALL_LAG = 0, 1


def lone(pacing: str) -> str:
    """What a run of one TCP flow is called."""
    return f"tcp {pacing}"


def on_off(q_max: int) -> str:
    """What a run of Markov sources is called."""
    return f"on-off q={q_max}"


def trace(q_max: int) -> str:
    """What a run of the self-similar source is called."""
    return f"trace q={q_max}"


def core(pacing: int | str, buffer: int) -> str:
    """What a run of the dumbbell is called: NONE, TCP, or the pacers' cutoff."""
    return f"core {pacing if isinstance(pacing, str) else f'q={pacing}'} B={buffer}"


@dataclass
class Found:
    """Points of one congestion control or reading, by the names of runs.

    :param used: names that were asked for
    :param own: whether one of them is not the judged one's
    """

    points: Points
    cc: str = JUDGED
    used: dict[str, Point] = field(default_factory=dict)
    own: bool = False

    def _key(self, name: str) -> tuple[str, str]:
        return (self.cc, name) if (self.cc, name) in self.points or self.cc not in READINGS else (JUDGED, name)

    def has(self, name: str) -> bool:
        """Whether it was run."""
        return self._key(name) in self.points

    def of(self, name: str, metric: str) -> Any:
        """A figure of a run."""
        if not self.has(name):
            raise NotMeasuredError(f"{name} was not run")
        key = self._key(name)
        one = self.used[name] = self.points[key]
        self.own = self.own or key[0] == self.cc
        if one.metrics.get(metric) is None:
            raise NotMeasuredError(f"{name} has no {metric}")
        return one.metrics[metric]

    def each(self, names: Mapping[Any, str], metric: str, least: int = 1) -> dict[str, Any]:
        """A figure of those of several runs that were made, by the keys of these; so many at least."""
        told = {str(key): self.of(name, metric) for key, name in names.items() if self.has(name)}
        if len(told) < least:
            raise NotMeasuredError(f"{len(told)} of at least {least} were run: {', '.join(names.values())}")
        return told


Judge = judging.Judge[Found]


@functools.cache
def entries() -> dict[str, papers.Entry]:
    """The paper's, by id."""
    return {one.id: one for one in papers.load(PAPER).entries}


def _term(name: str, number: int, term: str) -> float:
    return float(entries()[name].checks[number].terms[term])


def _as_part(name: str, number: int, measure: Callable[[Found], Any]) -> Judge:
    """All that is told is a part of what is expected, within the check's relative tolerance of 1."""
    off = _term(name, number, "rel_tol")
    return Judge(measure, lambda told: all(abs(one - 1) <= off for one in numbers(told)))


def _off(name: str, number: int, measure: Callable[[Found], Any]) -> Judge:
    """All that is told is a relative error, within the check's tolerance."""
    off = _term(name, number, "rel_tol")
    return Judge(measure, lambda told: all(abs(one) <= off for one in numbers(told)))


def _zero(measure: Callable[[Found], Any]) -> Judge:
    return Judge(measure, lambda told: all(one == 0 for one in numbers(told)))


def _ordered(greater: tuple[str, Callable[[Found], Any]], lesser: tuple[str, Callable[[Found], Any]]) -> Judge:
    """One figure is above another; each has its word."""
    return Judge(
        lambda found: {word: measure(found) for word, measure in (greater, lesser)},
        lambda told: told[greater[0]] > told[lesser[0]],
    )


# Section II to III.


def _no_queue(found: Found) -> dict[str, float]:
    told = {f"{rate} Mbit/s of 2": found.of(RATES, f"r{rate}_queue") for rate in (1, 2)}
    return told | {"0.2 Mbit/s of 1.2": found.of(PROTOTYPE, "r0.2_queue")}


def _thumb(found: Found) -> dict[str, float]:
    expected = entries()["ql-thumb"].derived["example"]
    pairs = {"mu_max": ("mu_max_Bps", "mu_max_bit_s"), "mu_min": ("mu_min_Bps", "mu_min_bit_s")}
    pairs["Q_max"] = ("q_max_bytes", "Q_max_bits")
    return {
        word: round(found.of(STEP, f"thumb_{metric}") * 8 / expected[key], 6) for word, (metric, key) in pairs.items()
    }


def _oc12(found: Found) -> dict[str, float]:
    return {
        f"mu_max {row['mu_max_bit_s'] / 1e6:g} Mbit/s": round(
            found.of(STEP, f"oc12_{row['mu_max_bit_s'] / 1e6:g}_pacing_bound_ns") / 1e9 / row["bound_s"], 6
        )
        for row in entries()["ql-th1-oc12"].published["rows"]
    }


def _table_2() -> list[Mapping[str, float]]:
    return list(entries()["ql-tab2"].published["rows"])


def _of_rates(metric: str) -> Callable[[Found], dict[str, float]]:
    def measure(found: Found) -> dict[str, float]:
        rates = [f"{row['rate_bit_s'] / 1e6:g}" for row in _table_2()]
        return {rate: found.of(RATES, f"r{rate}_{metric}") for rate in rates}

    return measure


def _alpha(found: Found) -> float:
    return float(round(found.of(STEP, "alpha_per_s") / qlbp.tandem_rule(160).alpha_per_s, 4))


def _on_offs() -> dict[int, str]:
    return {q_max: on_off(q_max) for q_max in qlbp.TANDEM_CUTOFFS}


def _variances(found: Found) -> dict[str, float]:
    """Behind over before, over what theorem 2 makes of it."""
    told = {}
    behind = found.each(_on_offs(), "autocovariance_behind")
    before = found.each(_on_offs(), "autocovariance_before")
    for key in behind:
        alpha = qlbp.tandem_rule(int(key)).alpha_per_s
        expected = alpha / (alpha + 1 / qlbp.MEAN_ON_S + 1 / qlbp.MEAN_OFF_S)
        told[key] = round(behind[key][NO_LAG] / before[key][NO_LAG] / expected, 4)
    return told


def _small_lags(found: Found) -> dict[str, list[float]]:
    behind = found.each(_on_offs(), "autocovariance_behind")
    before = found.each(_on_offs(), "autocovariance_before")
    return {key: [behind[key][SMALL_LAG], before[key][SMALL_LAG]] for key in behind}


# Section IV.


def _lone(metric: str) -> Judge:
    return _ordered(
        ("unpaced", lambda found: found.of(lone(NONE), metric)), ("paced", lambda found: found.of(lone("qlbp"), metric))
    )


def _near_queues(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab2", 0, "abs_tol")
    return all(abs(told[f"{row['rate_bit_s'] / 1e6:g}"] - row["q_pkt"]) <= off for row in _table_2())


def _near_delays(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab2", 1, "rel_tol")
    return all(
        abs(told[f"{row['rate_bit_s'] / 1e6:g}"] - row["pacing_delay_s"]) <= off * row["pacing_delay_s"] + PACKET_S
        for row in _table_2()
    )


def _relative_covs(found: Found) -> dict[str, list[float]]:
    """By cutoff, behind one, two and three pacers."""
    each = [found.each(_on_offs(), f"relative_cov_{count}", 2) for count in qlbp.PACERS]
    return {key: [one[key] for one in each] for key in each[0]}


def _means(found: Found) -> dict[str, list[float]]:
    each = [found.each(_on_offs(), f"relative_mean_{count}") for count in qlbp.PACERS]
    return {key: [one[key] for one in each] for key in each[0]}


def _of_theory(found: Found) -> dict[str, list[float]]:
    theory = entries()["ql-fig15"].derived["theory_relative_CoV_by_qmax_for_1_2_3_pacers"]
    return {
        key: [round(one / expected, 4) for one, expected in zip(row, theory[key], strict=True)]
        for key, row in _relative_covs(found).items()
    }


def _falling(values: Sequence[float]) -> bool:
    return all(a > b for a, b in itertools.pairwise(values))


def _ratios(found: Found, q_max: int) -> list[float]:
    """Behind over before, at each scale that has a value."""
    behind, before = (found.of(trace(q_max), f"cov_{which}") for which in ("behind", "before"))
    return [round(b / a, 4) for a, b in zip(before, behind, strict=True) if a is not None and b is not None and a > 0]


def _all_ratios(cutoffs: Iterable[int]) -> Callable[[Found], dict[str, list[float]]]:
    def measure(found: Found) -> dict[str, list[float]]:
        told = {str(q_max): _ratios(found, q_max) for q_max in cutoffs if found.has(trace(q_max))}
        if not told:
            raise NotMeasuredError("no self-similar source was run")
        return told

    return measure


def _affected(found: Found) -> dict[str, int]:
    told = _all_ratios(qlbp.TRACE_CUTOFFS)(found)
    if len(told) < 2:
        raise NotMeasuredError("one cutoff was run")
    return {key: sum(one < AFFECTED for one in ratios) for key, ratios in told.items()}


def _widening(told: Mapping[str, int]) -> bool:
    values = list(told.values())
    return all(a <= b for a, b in itertools.pairwise(values)) and values[-1] > values[0]


def _less_at_5_ms(found: Found) -> dict[str, float]:
    return {key: round(1 - ratios[SHORTEST], 4) for key, ratios in _all_ratios((5, 10))(found).items()}


def _near_a_half(told: Mapping[str, float]) -> bool:
    expected, off = (_term("ql-fig16", 0, term) for term in ("expected", "abs_tol"))
    return all(abs(one - expected) <= off for one in told.values())


def _long_scales(found: Found) -> dict[str, list[float]]:
    return {key: ratios[LONG[0] : LONG[1] + 1] for key, ratios in _all_ratios((160, 320))(found).items()}


Pair = tuple[float, float]


def _used(found: Found, pacing: int | str, buffer: int) -> Pair:
    """Mean and bar."""
    name = core(pacing, buffer)
    return found.of(name, "used"), found.of(name, "used_bar")


def _buffers(found: Found, pacing: int | str, least: int = 1) -> list[int]:
    told = [buffer for buffer in BUFFERS if found.has(core(pacing, buffer))]
    if len(told) < least:
        raise NotMeasuredError(f"{len(told)} of at least {least} buffers were run with {pacing}")
    return told


def _gain(found: Found) -> float:
    return float(round(_used(found, 10, 5)[0] / _used(found, NONE, 5)[0], 4))


def _beats_tcp(q_max: int, above: int) -> Judge:
    """At each buffer above a size."""

    def measure(found: Found) -> dict[str, list[float]]:
        told = {
            f"B={one}": [_used(found, q_max, one)[0], _used(found, TCP, one)[0]]
            for one in _buffers(found, q_max)
            if one > above and found.has(core(TCP, one))
        }
        if not told:
            raise NotMeasuredError(f"no buffer above {above} was run with {q_max} and TCP pacing")
        return told

    return Judge(measure, lambda told: all(a > b for a, b in told.values()))


def _all_pacings() -> list[int | str]:
    return [NONE, *qlbp.DUMBBELL_CUTOFFS, TCP]


def _over_buffers(found: Found) -> dict[str, list[Pair]]:
    told = {
        str(pacing): [_used(found, pacing, one) for one in _buffers(found, pacing)]
        for pacing in _all_pacings()
        if sum(found.has(core(pacing, one)) for one in BUFFERS) > 1
    }
    if not told:
        raise NotMeasuredError("no curve has two buffers")
    return told


def _over_cutoffs(found: Found) -> dict[str, list[Pair]]:
    told = {}
    for buffer in BUFFERS:
        own = [_used(found, one, buffer) for one in (NONE, *qlbp.DUMBBELL_CUTOFFS) if found.has(core(one, buffer))]
        if len(own) > 1:
            told[f"B={buffer}"] = own
    if not told:
        raise NotMeasuredError("no buffer has two cutoffs")
    return told


def _no_fall(told: Mapping[str, Sequence[Pair]]) -> bool:
    return all(a[0] <= b[0] + a[1] + b[1] for row in told.values() for a, b in itertools.pairwise(row))


TECHNIQUES: dict[str, int | str] = {"no pacing": NONE, "QLBP q_max=40": 40, "QLBP q_max=160": 160}


def _table_3(metric: str) -> Callable[[Found], dict[str, float]]:
    return lambda found: {word: found.of(core(pacing, TABLE_BUFFER), metric) for word, pacing in TECHNIQUES.items()}


def published_table_3() -> dict[str, Mapping[str, float]]:
    """By technique."""
    return {row["technique"]: row for row in entries()["ql-tab3"].published["rows"]}


def _near_used(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab3", 3, "abs_tol")
    return all(abs(one - published_table_3()[word]["utilisation"]) <= off for word, one in told.items())


def _no_less_used(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab3", 3, "abs_tol")
    return all(one >= published_table_3()[word]["utilisation"] - off for word, one in told.items())


def _near_table_delays(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab3", 4, "rel_tol")
    return all(abs(one / published_table_3()[word]["delay_mean_s"] - 1) <= off for word, one in told.items())


def _no_later(told: Mapping[str, float]) -> bool:
    off = _term("ql-tab3", 4, "rel_tol")
    return all(one <= published_table_3()[word]["delay_mean_s"] * (1 + off) for word, one in told.items())


def _in_table(metric: str, pacing: int | str) -> Callable[[Found], float]:
    return lambda found: float(found.of(core(pacing, TABLE_BUFFER), metric))


# By id and number among the checks of the id.
JUDGES: dict[tuple[str, int], Judge] = {
    ("ql-rule1", 0): _off(
        "ql-rule1", 0, lambda f: {word: f.of(BURSTS, f"rule_error_{word}") for word in ("mean", "p99")}
    ),
    ("ql-rule1", 1): _zero(_no_queue),
    ("ql-thumb", 0): _as_part("ql-thumb", 0, _thumb),
    ("ql-th1", 0): Judge(_of_rates("delay_max_s"), lambda told: max(told.values()) <= BOUND_S + PACKET_S),
    ("ql-th1-oc12", 0): _as_part("ql-th1-oc12", 0, _oc12),
    ("ql-eq3", 0): _as_part("ql-eq3", 0, _alpha),
    ("ql-th2", 0): _as_part("ql-th2", 0, _variances),
    ("ql-th2-remark", 0): Judge(_small_lags, lambda told: all(behind < before for behind, before in told.values())),
    ("ql-A-tcp", 0): _lone("gap_cov"),
    ("ql-A-tcp", 1): _lone("first_tenth"),
    ("ql-A-cbr-low", 0): _as_part("ql-A-cbr-low", 0, lambda f: round(f.of(PROTOTYPE, "r0.2_bit_s") / 0.2e6, 4)),
    ("ql-A-cbr-low", 1): _zero(lambda f: f.of(PROTOTYPE, "r0.2_queue")),
    ("ql-A-cbr-high", 0): _as_part("ql-A-cbr-high", 0, lambda f: round(f.of(PROTOTYPE, "r3_bit_s") / 3e6, 4)),
    ("ql-A-cbr-high", 1): Judge(
        lambda f: f.of(PROTOTYPE, "r3_queue"),
        lambda told: _term("ql-A-cbr-high", 1, "low") <= told <= _term("ql-A-cbr-high", 1, "high"),
    ),
    ("ql-tab2", 0): Judge(_of_rates("queue"), _near_queues),
    ("ql-tab2", 1): Judge(_of_rates("delay_s"), _near_delays),
    ("ql-tab2", 2): Judge(_of_rates("delay_max_s"), lambda told: max(told.values()) <= _term("ql-tab2", 2, "value")),
    ("ql-tab2", 3): Judge(_of_rates("queue"), lambda told: all(a <= b for a, b in itertools.pairwise(told.values()))),
    ("ql-tab2", 4): _ordered(
        ("10 Mbit/s", lambda f: f.of(RATES, "r10_delay_s")), ("15 Mbit/s", lambda f: f.of(RATES, "r15_delay_s"))
    ),
    ("ql-fig15", 0): Judge(
        _relative_covs, lambda told: all(_falling(column) for column in zip(*told.values(), strict=True))
    ),
    ("ql-fig15", 1): Judge(_relative_covs, lambda told: all(_falling(row) for row in told.values())),
    ("ql-fig15", 2): _as_part("ql-fig15", 2, _means),
    ("ql-fig15", 3): _as_part("ql-fig15", 3, _of_theory),
    ("ql-fig16", 0): Judge(_less_at_5_ms, _near_a_half),
    ("ql-fig16", 1): Judge(_affected, _widening),
    ("ql-fig16", 2): Judge(
        _all_ratios((5, 10)),
        lambda told: all(ratios[SHORTEST] < ratios[-1] and ratios[-1] >= AFFECTED for ratios in told.values()),
    ),
    ("ql-fig16", 3): Judge(_long_scales, lambda told: all(one < 1 for one in numbers(told))),
    ("ql-fig18", 0): Judge(_gain, lambda told: told >= _term("ql-fig18", 0, "value")),
    ("ql-fig18", 1): _beats_tcp(80, 30),
    ("ql-fig18", 2): _beats_tcp(160, 0),
    ("ql-fig18", 3): Judge(_over_buffers, _no_fall),
    ("ql-fig18", 4): Judge(_over_cutoffs, _no_fall),
    ("ql-tab3", 0): Judge(_table_3("used"), lambda told: _falling(list(told.values())[::-1])),
    ("ql-tab3", 1): _ordered(("none", _in_table("delay_mean_s", NONE)), ("40", _in_table("delay_mean_s", 40))),
    ("ql-tab3", 2): _ordered(("160", _in_table("delay_mean_s", 160)), ("none", _in_table("delay_mean_s", NONE))),
    ("ql-tab3", 3): Judge(_table_3("used"), _near_used, _no_less_used),
    ("ql-tab3", 4): Judge(_table_3("delay_mean_s"), _near_table_delays, _no_later),
    ("ql-fig19", 0): _ordered(("none", _in_table("delay_p999_s", NONE)), ("160", _in_table("delay_p999_s", 160))),
    ("ql-fig19", 1): Judge(_table_3("tail"), lambda told: _falling(list(told.values()))),
}


def judged(found: Found, key: tuple[str, int], one_sided: bool = False) -> dict[str, Any]:
    """As ``judging.judged``, by the check's judge."""
    return judging.judged(JUDGES[key], found, one_sided)


def _others(points: Points, key: tuple[str, int]) -> dict[str, dict[str, Any]]:
    """What else has figures of its own for a check."""
    told = {}
    for cc in (*READINGS, DEFAULT, *PEERS):
        found = Found(points, cc)
        one = judged(found, key, cc not in READINGS)
        if one["measured"] is not None and found.own:
            told[cc] = one
    return told


def rows(points: Points, seeds: Sequence[int], why: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each check of the paper; one that was not measured has not passed.

    :param why: what is known of a check that does not hold, by id and number ("ql-tab3 0")
    """
    told = []
    for entry in entries().values():
        for number in range(len(entry.checks)):
            key, found = (entry.id, number), Found(points)
            if key in JUDGES:
                own, others = judged(found, key), _others(points, key)
            else:
                own, others = (
                    {"measured": None, "pass": False, "not_measured": entry.out or "nothing measures this"},
                    {},
                )
            of_runs: dict[str, Any] = {"qdisc": "fq_rr"}
            if own["measured"] is not None:
                has_flows = any(name.startswith(("tcp", "core")) for name in found.used)
                of_runs |= {
                    **{"cc": JUDGED if has_flows else "", "seeds": list(seeds)},
                    "length_s": round(max(one.length_s for one in found.used.values()), 3),
                    "parameters": {name: dict(one.values) for name, one in found.used.items()},
                }
            told.append(judging.row(entry, number, own, others, of_runs, why))
    return told


# Of the used part of the core link behind pacers with the greatest cutoff, of the paper's 0.985.
LEAST_USED = 0.98
# Checks of the paper that are goals as well, whatever their bound is called.
AS_CHECKS = {
    ("ql-tab2", 0): "Table II: the queue within one packet at each rate",
    ("ql-tab3", 0): "Table III: the order of utilisation",
    ("ql-th1", 0): "Theorem 1: no pacing delay is above its bound by more than a packet time",
}


def goals(points: Points) -> list[dict[str, Any]]:
    """What the pacers have to do."""
    found = Found(points)
    told = [judging.goal(what, JUDGES[key], found) for key, what in AS_CHECKS.items()]
    widest = max(qlbp.DUMBBELL_CUTOFFS)
    what = f"Table III: with a cutoff of {widest} packets at least {LEAST_USED} of the core link is used"
    return [*told, judging.goal(what, Judge(_in_table("used", widest), lambda one: one >= LEAST_USED), found)]
