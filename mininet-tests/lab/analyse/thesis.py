# SPDX-License-Identifier: GPL-2.0
"""The checks of thesis-ch6, judged by runs on the real stack.

The checks, their bounds and what is published are in ``lab/model/papers/``. A check has a quantity in words; what
measures it is in ``QUANTITIES`` or, for what an order compares, in ``COMPARED``. Packet pair is judged with
``pktpair_1994``, and JK with ``thesis_jk``; beside packet pair the default, bbr and cubic are measured over fair
queueing, and beside JK the kernel's reno. These have to be no worse where more or less of a figure is better.

What the runs tell otherwise than the tables of the thesis: drops are of all files and Telnet sources together, and a
drop rate is one from the first packet on; where a source's own drops are asked for, it is what it sent again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..model import papers
from ..model.errors import NotMeasuredError
from ..model.plan import Plan
from ..model.thesis import CASES, PAYLOAD_BYTES, SHARES
from . import judging
from .figures import SAMPLE, Floats, acks_of_flows, unpacked
from .judging import bounds, numbers

PAPER = "thesis-ch6"
JUDGED, DEFAULT, RENO = "pktpair_1994", "pktpair", "reno"
PEERS = ("bbr", "cubic")
QUEUE = "fq_rr"
GENERIC, JK, DECBIT = "thesis_generic", "thesis_jk", "thesis_decbit"
# Protocol and scheduler pairs of the thesis' table 6.1: congestion control and queue.
PAIRS = {
    "g-fcfs": (GENERIC, "fcfs"),
    "g-fq": (GENERIC, QUEUE),
    "jk-fcfs": (JK, "fcfs"),
    "jk-fq": (JK, QUEUE),
    "dec-dec": (DECBIT, "decbit"),
    "dec-fqb": (DECBIT, "fqbit"),
    "pp-fq": (JUDGED, QUEUE),
}
# Scenario 5: the first two sources, the queue, and what the other two are.
MIXES = {
    "jk-g-fcfs": (JK, "fcfs", "generic"),
    "jk-g-fq": (JK, QUEUE, "generic"),
    "pp-g-fq": (JUDGED, QUEUE, "generic"),
    "pp-jk-fq": (JUDGED, QUEUE, "jk"),
}
SET_POINT, SET_POINT_2 = 5, "setpoint 2"
# What the text leaves open is run both ways; a check is judged without these.
WHOLE_QUEUE, FOUR_THROUGH_ALL, NO_PANIC = "longest queue dropped whole", "four Poisson sources in all", "no panic mode"
WINDOW_OF_FIVE, OPEN_WINDOW = "packet pair with the window of five", "packet pair with an open window"
FIRST_TIME_ON = "the background's first time on"
READINGS = (WHOLE_QUEUE, FOUR_THROUGH_ALL, NO_PANIC, WINDOW_OF_FIVE, OPEN_WINDOW, FIRST_TIME_ON)
# Pacing rate of a sample of a flow that is not paced.
NOT_PACED = 2**64 - 1
# To the digits of the thesis' tables.
DIGITS = 2


@dataclass(frozen=True)
class Key:
    """A run.

    :param own: partner of scenario 5, or another setpoint
    :param reading: of what the text leaves open
    """

    scenario: int
    cc: str
    queue: str
    own: str = ""
    reading: str = ""

    @property
    def name(self) -> str:
        """For a summary."""
        return " ".join(filter(None, (f"s{self.scenario}", self.cc, self.queue, self.own, self.reading)))


Points = Mapping[Key, Mapping[str, Any]]
Measure = Callable[["Found"], Any]


def pair_of(cc: str, queue: str) -> str:
    """A pair's name in the thesis, or what it is called here."""
    return next((name for name, one in PAIRS.items() if one == (cc, queue)), f"{cc}-{queue}")


@dataclass
class Found:
    """Points, with what stands in packet pair's and in JK's place.

    :param scenario: whose runs are asked for
    :param pair: that a quantity without one is of
    :param used: runs that were asked for
    """

    points: Points
    scenario: int
    pair: str = ""
    instead: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""
    used: dict[str, Key] = field(default_factory=dict)

    def key(self, pair: str) -> Key:
        """A pair's run."""
        if pair == "setpoint2":
            key = Key(self.scenario, JUDGED, QUEUE, SET_POINT_2)
        elif pair in MIXES:
            key = Key(self.scenario, *MIXES[pair])
        elif pair in PAIRS:
            key = Key(self.scenario, *PAIRS[pair])
        else:
            raise NotMeasuredError(f"no run is called {pair}")
        key = replace(key, cc=self.instead.get(key.cc, key.cc))
        read = replace(key, reading=self.reading)
        return read if self.reading and read in self.points else key

    def of(self, metric: str, pair: str = "") -> Any:
        """A figure of a pair."""
        key = self.key(pair or self.pair)
        if key not in self.points:
            raise NotMeasuredError(f"{key.name} was not run")
        self.used[key.name] = key
        value = self.points[key].get(metric)
        if value is None:
            raise NotMeasuredError(f"{key.name} has no {metric}")
        return value

    def files(self, metric: str, pair: str = "", numbers: Sequence[int] = ()) -> dict[str, float]:
        """A figure of files, by their numbers."""
        wanted = numbers or range(1, CASES[self.scenario].files + 1)
        return {str(number): self.of(f"{metric}_{number}", pair) for number in wanted}

    def telnets(self, metric: str, pair: str = "") -> dict[str, float]:
        """A figure of Telnet sources, by their numbers."""
        first = CASES[self.scenario].files + 1
        return {
            str(number): self.of(f"telnet_{metric}_{number}", pair)
            for number in range(first, first + CASES[self.scenario].telnets)
        }


def mean(told: Mapping[str, float]) -> float:
    """Of several sources."""
    return round(sum(told.values()) / len(told), 5)


def _files(metric: str, *numbers: int) -> Measure:
    return lambda found: found.files(metric, numbers=numbers)


def _telnets(metric: str) -> Measure:
    return lambda found: found.telnets(metric)


def _of(metric: str, pair: str = "") -> Measure:
    return lambda found: found.of(metric, pair)


def _ratio(found: Found, pair: str = "") -> float:
    """Of the long path, or of the long round trip, to the mean of the others."""
    long = 4 if found.scenario == 6 else 2
    short = (1, 2, 3) if found.scenario == 6 else (1,)
    return round(found.of(f"file_rate_{long}", pair) / mean(found.files("file_rate", pair, short)), 4)


def _spread(found: Found) -> dict[str, float]:
    """Between sources and between intervals."""
    rates = found.files("file_rate")
    most = max(found.files("file_deviation").values())
    return {"max/min": round(max(rates.values()) / max(min(rates.values()), 1e-3), 4), "deviation": most}


def _window_off(found: Found) -> list[int]:
    ends = [end for number in (1, 2) for end in found.of(f"window_off_{number}", "jk-fcfs")]
    return [min(ends), max(ends)]


def _bad_sum(found: Found) -> dict[str, float]:
    """Of a source of ten packets a second, what came and what was lost."""
    told = {}
    for pair in PAIRS:
        sending_s = found.of("length_s", pair) - 0.5
        told[pair] = round(found.of("other_rate", pair) + found.of("other_lost", pair) / sending_s, 3)
    return told


def _lost(found: Found) -> dict[str, float]:
    return {"drops": found.of("drops_rate"), **{f"again {key}": one for key, one in found.files("again").items()}}


# By scenario (0: any) and quantity; which side of a bound is better, if one is.
MORE, LESS = "more", "less"
QUANTITIES: dict[tuple[int, str], tuple[Measure, str]] = {
    (0, "ftp_throughput_pkt_s each"): (_files("file_rate"), MORE),
    (0, "ftp_throughput_pkt_s"): (_files("file_rate"), MORE),
    (0, "ftp_delay_s"): (_files("file_delay"), LESS),
    (0, "ftp_delay_s 1"): (_files("file_delay", 1), LESS),
    (0, "ftp_delay_s 2"): (_files("file_delay", 2), LESS),
    (0, "telnet_throughput_pkt_s"): (_telnets("rate"), MORE),
    (0, "telnet_delay_s"): (_telnets("delay"), LESS),
    (0, "drops"): (_of("drops_measured"), LESS),
    (0, "sum ftp_throughput_pkt_s"): (_of("sum"), MORE),
    (0, "Jain index"): (_of("file_jain"), MORE),
    (0, "throughput 1"): (_files("file_rate", 1), MORE),
    (0, "throughput 2"): (_files("file_rate", 2), MORE),
    (2, "drops pp-fq"): (_of("drops_measured", "pp-fq"), LESS),
    (2, "max/min ftp_throughput over sources or sd over intervals"): (_spread, ""),
    (3, "off throughput 1"): (_files("off_file_rate", 1), MORE),
    (3, "off throughput 2"): (_files("off_file_rate", 2), MORE),
    (3, "on throughput 1"): (_files("on_file_rate", 1), MORE),
    (3, "on throughput 2"): (_files("on_file_rate", 2), MORE),
    (3, "on throughput Bkg"): (_of("on_other_rate"), ""),
    (3, "on throughput dec-fqb"): (lambda found: found.files("on_file_rate", "dec-fqb"), MORE),
    (3, "JK cwnd between 300 and 600 s"): (_window_off, ""),
    (4, "ill_behaved_throughput_pkt_s"): (_of("other_rate"), LESS),
    (4, "FTP throughput FQ pairs"): (
        lambda found: {pair: found.of("file_rate_1", pair) for pair in PAIRS if "-fq" in pair},
        MORE,
    ),
    (4, "ill-behaved received + dropped"): (_bad_sum, ""),
    (5, "min JK throughput_pkt_s"): (lambda found: min(found.files("file_rate", numbers=(1, 2)).values()), ""),
    (5, "sum throughput_pkt_s"): (_of("sum"), MORE),
    (5, "PP throughput_pkt_s"): (_files("file_rate", 1, 2), MORE),
    (5, "PP drops"): (_files("again", 1, 2), LESS),
    (5, "each throughput_pkt_s"): (_files("file_rate"), MORE),
    (6, "short throughput_pkt_s"): (_files("file_rate", 1, 2, 3), ""),
    (6, "long throughput_pkt_s"): (_files("file_rate", 4), MORE),
    (6, "short delay_s"): (_files("file_delay", 1, 2, 3), LESS),
    (6, "long delay_s"): (_files("file_delay", 4), LESS),
    (6, "ratio G/FCFS"): (lambda found: _ratio(found, "g-fcfs"), ""),
    (6, "ratio PP/FQ"): (lambda found: _ratio(found, "pp-fq"), ""),
    (7, "sum of throughputs"): (_of("sum"), ""),
    (7, "retransmission_rate_pkt_s"): (_files("again"), ""),
    (7, "drop_rate_pkt_s"): (_of("drops_rate"), LESS),
    (7, "throughput each"): (_files("file_rate"), ""),
    (7, "jk_fcfs max cwnd"): (lambda found: max(found.files("most_window", "jk-fcfs").values()), ""),
    (7, "jk_fq max cwnd"): (lambda found: max(found.files("most_window", "jk-fq").values()), ""),
    (7, "pp outstanding"): (lambda found: max(found.files("most_outstanding", "pp-fq").values()), LESS),
    (7, "pp throughput each"): (lambda found: found.files("file_rate", "pp-fq"), MORE),
    (8, "throughput 2 / throughput 1"): (_ratio, MORE),
    (8, "drop and retransmission rate"): (_lost, LESS),
}


def _least(metric: str, pairs: Sequence[str]) -> Measure:
    return lambda found: min(min(found.files(metric, pair).values()) for pair in pairs)


def _greatest(metric: str, pairs: Sequence[str]) -> Measure:
    return lambda found: max(max(found.files(metric, pair).values()) for pair in pairs)


def _mean_of(metric: str, pair: str, numbers: Sequence[int] = ()) -> Measure:
    return lambda found: mean(found.files(metric, pair, numbers))


FQ_PAIRS = [pair for pair in PAIRS if "-fq" in pair]
OTHER_PAIRS = [pair for pair in PAIRS if "-fq" not in pair]
# What orders and words compare with, by scenario and words.
COMPARED: dict[tuple[int, str], Measure] = {
    (1, "value at setpoint 5"): lambda found: found.files("file_delay", "pp-fq"),
    (2, "telnet_throughput FQ"): lambda found: min(
        min(found.telnets("rate", pair).values()) for pair in ("g-fq", "jk-fq")
    ),
    (2, "telnet_throughput FCFS"): lambda found: max(
        max(found.telnets("rate", pair).values()) for pair in ("g-fcfs", "jk-fcfs")
    ),
    (4, "FTP throughput every FQ pair"): _least("file_rate", FQ_PAIRS),
    (4, "FTP throughput every FCFS/DEC pair"): _greatest("file_rate", OTHER_PAIRS),
    (5, "mean throughput G"): _mean_of("file_rate", "jk-g-fcfs", (3, 4)),
    (5, "mean throughput JK"): _mean_of("file_rate", "jk-g-fcfs", (1, 2)),
    (5, "each JK throughput"): lambda found: min(found.files("file_rate", "", (1, 2)).values()),
    (5, "each PP throughput"): lambda found: min(found.files("file_rate", "", (1, 2)).values()),
    (5, "each G throughput"): lambda found: max(found.files("file_rate", "", (3, 4)).values()),
    (5, "PP throughput (PP/G)"): _mean_of("file_rate", "pp-g-fq", (1, 2)),
    (5, "JK throughput (JK/G FQ)"): _mean_of("file_rate", "jk-g-fq", (1, 2)),
    (5, "mean G throughput (FCFS)"): _mean_of("file_rate", "jk-g-fcfs", (3, 4)),
    (5, "mean JK throughput (FCFS)"): _mean_of("file_rate", "jk-g-fcfs", (1, 2)),
    (5, "mean G throughput (FQ)"): _mean_of("file_rate", "jk-g-fq", (3, 4)),
    (5, "mean JK throughput (FQ)"): _mean_of("file_rate", "jk-g-fq", (1, 2)),
    (6, "ratio FQ pairs"): lambda found: min(_ratio(found, pair) for pair in FQ_PAIRS),
    (6, "ratio FCFS pairs"): lambda found: max(_ratio(found, pair) for pair in ("g-fcfs", "jk-fcfs")),
    (7, "PP/FQ sum"): _of("sum", "pp-fq"),
    (7, "jk_fq max cwnd"): QUANTITIES[7, "jk_fq max cwnd"][0],
    (7, "jk_fcfs max cwnd"): QUANTITIES[7, "jk_fcfs max cwnd"][0],
    (8, "PP/FQ ratio"): lambda found: _ratio(found, "pp-fq"),
    (8, "ratio of every other pair"): lambda found: max(_ratio(found, pair) for pair in PAIRS if pair != "pp-fq"),
}
# Words that name a pair: what is compared of it.
WITH_PAIR = (
    (re.compile(r"th-s\d-(\S+) telnet_delay_s"), lambda pair: lambda found: mean(found.telnets("delay", pair))),
    (re.compile(r"th-s\d-(\S+) ftp_delay_s"), lambda pair: _mean_of("file_delay", pair)),
    (re.compile(r"Jain\(th-s\d-(\S+)\)"), lambda pair: _of("file_jain", pair)),
    (re.compile(r"sum throughput (\S+)"), lambda pair: _of("sum", pair)),
    (re.compile(r"off throughput (\S+)"), lambda pair: _mean_of("off_file_rate", pair)),
    (re.compile(r"on throughput (\S+)"), lambda pair: _mean_of("on_file_rate", pair)),
    (re.compile(r"on Bkg throughput (\S+)"), lambda pair: _of("on_other_rate", pair)),
    (re.compile(r"ratio (\S+)"), lambda pair: lambda found: _ratio(found, pair)),
)
# What is said in words, by its words: what measures it, and the least that it means.
STATEMENTS: dict[str, tuple[Measure, float]] = {
    "With two sources one probe may differ from the next by 100 %.": (
        lambda found: found.files("probe_jump_on", "pp-fq"),
        0.9,
    ),
}
CONCLUSION = "th-conclusion"


def compared(scenario: int, words: str) -> Measure:
    """What measures a side of an order."""
    if (scenario, words) in COMPARED:
        return COMPARED[scenario, words]
    for pattern, measure in WITH_PAIR:
        match = pattern.fullmatch(words)
        if match and match[1] in PAIRS:
            return measure(match[1])
    raise KeyError(words)


@functools.cache
def entries() -> dict[str, papers.Entry]:
    """The paper's, by id."""
    return {one.id: one for one in papers.load(PAPER).entries}


def judged() -> set[tuple[str, int]]:
    """Checks that runs decide, by id and number."""
    return {(entry.id, number) for entry in entries().values() for number in range(len(entry.checks))}


def scenario_of(name: str) -> int:
    """Of an entry's id; 0 of the conclusion."""
    match = re.match(r"th-s(\d)-", name)
    return int(match[1]) if match else 0


def _quantity(scenario: int, words: str) -> tuple[Measure, str]:
    return QUANTITIES.get((scenario, words)) or QUANTITIES[0, words]


@dataclass(frozen=True)
class Verdict:
    """What was measured, and whether it holds.

    :param no_worse: one-sided; None: neither side is better
    """

    measured: Any
    holds: bool
    no_worse: bool | None


# Of an order: the side that is to be the better one, and the other.
BETTER_SIDES = {MORE: ("greater", "lesser"), LESS: ("lesser", "greater")}


def better_of(words: str) -> str:
    """Of what an order compares, by its words: MORE, LESS, or "" where neither is better. A ratio is best at 1."""
    if "delay" in words:
        return LESS
    return "" if any(word in words for word in ("cwnd", "Bkg", "ratio")) else MORE


def _stand_ins(found: Found) -> set[str]:
    """Runs that were asked for with another in packet pair's or in JK's place."""
    return {name for name, key in found.used.items() if key.cc in found.instead.values()}


def _order(found: Found, check: papers.Check) -> Verdict:
    """One figure is above another.

    What stands in another's place is held against an order only on the side that is to be the better one. On the
    other side it may be better than the paper's: a shorter delay, or more throughput, turns the order and is no worse.
    """
    sides = {side: replace(found, used={}) for side in ("greater", "lesser")}
    words = {side: str(check.terms[side]) for side in sides}
    told = {side: compared(found.scenario, words[side])(one) for side, one in sides.items()}
    for one in sides.values():
        found.used.update(one.used)
    holds = told["greater"] > told["lesser"]
    own, other = BETTER_SIDES.get(better_of(words["greater"]), ("", ""))
    is_asked = bool(own) and _stand_ins(sides[other]) <= _stand_ins(sides[own])
    return Verdict({words[side]: one for side, one in told.items()}, holds, holds if is_asked else None)


def _of_words(found: Found, check: papers.Check, measure: Measure) -> Verdict:
    """Against another run's figure."""
    words, own = str(check.terms["value"]), measure(found)
    if words == "same for FQ pair":
        other = replace(found, pair=found.pair.replace("fcfs", "fq"))
        fair = measure(other)
        found.used.update(other.used)
        holds = any(own[name] > fair[name] for name in own)
        return Verdict({found.pair: own, other.pair: fair}, holds, None)
    others = compared(found.scenario, words)(found)
    below = all(a < b for a, b in zip(numbers(own), numbers(others), strict=True))
    return Verdict({check.terms["quantity"]: own, words: others}, below, None)


def decided(found: Found, check: papers.Check) -> Verdict:
    """A check; NotMeasuredError if a run is missing."""
    if check.op == "order":
        return _order(found, check)
    if check.op == "qualitative":
        statement, least = STATEMENTS[str(check.terms["statement"])]
        told = statement(found)
        return Verdict(told, max(numbers(told)) >= least, None)
    measure, better = _quantity(found.scenario, str(check.terms["quantity"]))
    if isinstance(check.terms.get("value"), str):
        return _of_words(found, check, measure)
    told, (low, high) = measure(found), bounds(check)
    all_told = numbers(told)
    above, below = all(one >= low for one in all_told), all(one <= high for one in all_told)
    if check.op in ("gt", "lt"):
        strict = all(one > low if check.op == "gt" else one < high for one in all_told)
        return Verdict(told, strict, strict if better else None)
    return Verdict(told, above and below, {MORE: above, LESS: below}.get(better))


def _found(points: Points, entry: papers.Entry, **more: Any) -> Found:
    pair = re.sub(r"^th-s\d-", "", entry.id)
    return Found(points, scenario_of(entry.id), pair, **more)


def _beside(points: Points, entry: papers.Entry, check: papers.Check, own: Found) -> dict[str, Any]:
    """The others in place of packet pair and JK, and other readings, where they change anything."""
    told = {}
    variants: dict[str, dict[str, Any]] = {cc: {"instead": {JUDGED: cc}} for cc in (DEFAULT, *PEERS)}
    variants[RENO] = {"instead": {JK: RENO}}
    variants |= {reading: {"reading": reading} for reading in READINGS}
    for name, more in variants.items():
        found = _found(points, entry, **more)
        try:
            verdict = decided(found, check)
        except NotMeasuredError:
            continue
        if set(found.used) != set(own.used):
            told[name] = {
                "measured": verdict.measured,
                "pass": verdict.holds if "reading" in more else verdict.no_worse,
            }
    return told


def rows(points: Points, seeds: Sequence[int], why: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each check of the paper; one that was not measured has not passed.

    :param why: what is known of a check that does not hold, by id and number
    """
    told = [
        _row(points, entry, number, seeds, why)
        for entry in entries().values()
        if entry.id != CONCLUSION
        for number in range(len(entry.checks))
    ]
    claims = [row for row in told if row["id"].endswith("-claims")]
    missed = [f"{row['id']} {row['number']}" for row in claims if row["measured"] is not None and not row["pass"]]
    unknown = [f"{row['id']} {row['number']}" for row in claims if row["measured"] is None]
    end: dict[str, Any]
    if unknown:
        end = {"measured": None, "pass": False, "not_measured": f"not measured: {', '.join(unknown)}"}
    else:
        end = {"measured": {"claims": len(claims), "missed": missed}, "pass": not missed}
    of_runs = {} if unknown else _of_runs(_runs_of(claims), points, seeds)
    return [*told, judging.row(entries()[CONCLUSION], 0, end, {}, of_runs, why)]


def _runs_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Key]:
    """All that several rows rest on, by name."""
    return {name: Key(**own) for row in rows for name, own in row["parameters"].items()}


def _of_runs(used: Mapping[str, Key], points: Points, seeds: Sequence[int]) -> dict[str, Any]:
    keys = list(used.values())
    is_1994 = any(key.cc == JUDGED for key in keys)
    return {
        "preset": "1994" if is_1994 else "",
        "cc": ", ".join(dict.fromkeys(key.cc for key in keys)),
        "qdisc": ", ".join(dict.fromkeys(key.queue for key in keys)),
        "seeds": list(seeds) if keys else [],
        "length_s": max((points[key]["length_s"] for key in keys), default=None),
        "parameters": {name: vars(key) for name, key in used.items()},
    }


def _row(
    points: Points, entry: papers.Entry, number: int, seeds: Sequence[int], why: Mapping[str, str]
) -> dict[str, Any]:
    check, found = entry.checks[number], _found(points, entry)
    own: dict[str, Any]
    beside: dict[str, Any] = {}
    try:
        verdict = decided(found, check)
        own = {"measured": verdict.measured, "pass": verdict.holds}
        beside = _beside(points, entry, check, found)
    except NotMeasuredError as error:
        own = {"measured": None, "pass": False, "not_measured": str(error)}
        found.used.clear()
    return judging.row(entry, number, own, beside, _of_runs(found.used, points, seeds), why)


def spacings(plan: Plan, raw: Mapping[str, Any], begin_s: float, end_s: float) -> dict[str, list[list[float]]]:
    """Of the first flow between two moments of the run: when, and the seconds from a packet to the next.

    "sent" is a packet's payload over the rate at which the flow is paced, of each sample that has one. "acked" is the
    time between two ACKs of which the latter is of one packet.
    """
    samples = unpacked(raw["samples"], SAMPLE)
    paced = (samples["flow"] == 0) & (samples["pacing_rate"] > 0) & (samples["pacing_rate"] < NOT_PACED)
    own = samples[paced]
    seen = acks_of_flows(raw["trace"], raw["begin_s"])[plan.port(plan.flows[0])]
    of_one = np.diff(seen.delivered_packets) == 1
    return {
        "sent": _between(own["time_ns"] / 1e9, PAYLOAD_BYTES / own["pacing_rate"], begin_s, end_s),
        "acked": _between(seen.time_s[1:][of_one], np.diff(seen.time_s)[of_one], begin_s, end_s),
    }


def _between(time_s: Floats, values: Floats, begin_s: float, end_s: float) -> list[list[float]]:
    """Moments and values of a part of a run."""
    chosen = (time_s >= begin_s) & (time_s < end_s)
    return [[round(float(at), 3), round(float(one), 4)] for at, one in zip(time_s[chosen], values[chosen], strict=True)]


def _is_no_worse(share: float, best: float, loss: float, least: float) -> bool:
    return round(share, DIGITS) >= round(best, DIGITS) and round(loss, DIGITS) <= round(least, DIGITS)


def least_share(scenario: int, metrics: Mapping[str, Any]) -> float:
    """The least of the files' throughputs, over a fair share; in scenario 3, of both of its periods."""
    count = CASES[scenario].files
    if scenario == 3:
        both = {"off": 5.0, "on": 10 / 3}
        return min(metrics[f"{name}_file_rate_{n}"] / share for name, share in both.items() for n in (1, 2))
    return min(float(metrics[f"file_rate_{n}"]) for n in range(1, count + 1)) / SHARES[scenario]


def with_first_time_on(points: Points) -> dict[Key, dict[str, Any]]:
    """Points, and those of scenario 3 once more, in which the background's first time on is its time on."""
    told = {key: dict(one) for key, one in points.items()}
    for key, one in points.items():
        if key.scenario == 3 and not key.reading:
            first = {name.removeprefix("first_"): value for name, value in one.items() if name.startswith("first_on_")}
            told[replace(key, reading=FIRST_TIME_ON)] = {**one, **first}
    return told


def goals(points: Points) -> list[dict[str, Any]]:
    """Of each scenario: the default over fair queueing beside the best of all other pairs; of 5, its partners."""
    told = []
    for scenario in CASES:
        own = {
            key: one
            for key, one in points.items()
            if key.scenario == scenario and not key.reading and key.own != SET_POINT_2
        }
        ours = {key: one for key, one in own.items() if (key.cc, key.queue) == (DEFAULT, QUEUE)}
        for key, one in ours.items():
            if scenario == 5:
                share, loss = min(one["file_rate_1"], one["file_rate_2"]), max(one["again_1"], one["again_2"])
                best = max(one["file_rate_3"], one["file_rate_4"])
                least_loss, name = min(one["again_3"], one["again_4"]), key.own
            else:
                others = {other: found for other, found in own.items() if other != key}
                if not others:
                    continue
                share, loss = least_share(scenario, one), one["drops_rate"]
                first = max(others, key=lambda other: least_share(scenario, others[other]))
                best, name = least_share(scenario, others[first]), pair_of(first.cc, first.queue)
                least_loss = min(found["drops_rate"] for found in others.values())
            told.append(
                {
                    **{"scenario": scenario, "share": round(share, 4), "beside": name, "best": round(best, 4)},
                    **{"loss": loss, "least_loss": least_loss},
                    "met": _is_no_worse(share, best, loss, least_loss),
                }
            )
    return told
