# SPDX-License-Identifier: GPL-2.0
"""Keshav's thesis (1991), chapter 6, re-run: what is run, and what is judged and drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..analyse import thesis as found
from ..analyse.figures import SAMPLE, unpacked
from ..analyse.thesis import DEFAULT, JUDGED, PAIRS, PEERS, QUEUE, RENO, SET_POINT_2, Key
from ..model import scenario
from ..model.scenario import Values
from ..model.thesis import CASES, OPEN_TO_PAIRS
from ..show import thesis as show
from ..store.run import Run
from ..store.sweep import Request
from .measuring import Measured
from .packet_pair import mean
from .paper import FULL, QUICK, Asked, Judged, Paper

SCENARIO = "thesis-ch6"
# An interval of scenarios without delay, and of those with three lines of two seconds. The thesis states neither.
INTERVALS_S = {QUICK: (25.0, 120.0), FULL: (300.0, 600.0)}
USUAL_S = (100.0, 150.0)
# One: what differs between seeds is who begins first, and deviations are of a run's intervals.
SEEDS = 1
LONG = (7, 8)
# Of which windows are drawn, as in figures 6.10 to 6.12 and 6.18 to 6.20.
DRAWN = (3, 7)
# What figure 6.21 has of a run; here from its middle on.
SPACINGS_S = 100.0
OTHER_DROP, OTHER_CROSS = "longest-queue", "all"


def requests(asked: Asked) -> list[Request]:
    """Everything that the judges and the pictures need."""
    one = scenario.load(SCENARIO)
    short_s, long_s = INTERVALS_S.get(asked.length, USUAL_S)
    seeds = tuple(range(1, SEEDS + 1))
    told = []

    def ask(number: int, cc: str, queue: str, **more: Any) -> None:
        values = {"scenario": number, "interval": f"{long_s if number in LONG else short_s:g}"}
        values |= {"pair_window": pair_window(number), **more}
        words = tuple(f"{name}={value}" for name, value in values.items())
        told.append(Request((one,), words, (cc,), (queue,), seeds, ("",), (asked.kernel,)))

    for number in CASES:
        for cc, queue, more in _of_scenario(number):
            ask(number, cc, queue, **more)
        if asked.length == QUICK:
            continue
        for cc, queue, more in _readings(number):
            ask(number, cc, queue, **more)
    return told


def _of_scenario(number: int) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Congestion controls, queues and parameters."""
    if number == 5:
        yield found.JK, "fcfs", {"partner": "generic"}
        for cc in (found.JK, RENO):
            yield cc, QUEUE, {"partner": "generic"}
        for cc in (JUDGED, DEFAULT, *PEERS):
            for partner in ("generic", "jk"):
                yield cc, QUEUE, {"partner": partner}
        return
    for cc, queue in PAIRS.values():
        yield cc, queue, {}
    for cc in (DEFAULT, *PEERS, RENO):
        yield cc, QUEUE, {}
    if number == 1:
        yield JUDGED, QUEUE, {"setpoint": 2}


def _readings(number: int) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """What the text leaves open, read otherwise."""
    if number in (2, 3):
        for cc in (found.GENERIC, found.JK, JUDGED):
            yield cc, QUEUE, {"drop": OTHER_DROP}
    other = "thesis" if pair_window(number) == "open" else "open"
    if number in (1, 2, 4, 6):
        yield JUDGED, QUEUE, {"pair_window": other}
    if number == 5:
        for partner in ("generic", "jk"):
            yield JUDGED, QUEUE, {"partner": partner, "pair_window": other}
    if number != 5:
        yield found.DECBIT, "decbit", {"panic": "no"}
    if number in LONG:
        for cc, queue in PAIRS.values():
            yield cc, queue, {"cross": OTHER_CROSS}


def pair_window(number: int) -> str:
    """The one that packet pair is judged with."""
    return "open" if number in OPEN_TO_PAIRS else "thesis"


def reading_of(values: Values) -> str:
    """Which one it is of what the text leaves open."""
    if values["scenario"] in LONG and values["cross"] == OTHER_CROSS:
        return found.FOUR_THROUGH_ALL
    if values["pair_window"] != pair_window(values["scenario"]):
        return found.OPEN_WINDOW if values["pair_window"] == "open" else found.WINDOW_OF_FIVE
    if values["drop"] == OTHER_DROP:
        return found.WHOLE_QUEUE
    return found.NO_PANIC if values["panic"] == "no" else ""


def key_of(run: Run) -> Key:
    """Where a run's figures are looked for."""
    values = run.values
    own = ""
    if values["scenario"] == 5:
        own = str(values["partner"])
    elif values["setpoint"] != found.SET_POINT:
        own = SET_POINT_2
    return Key(values["scenario"], run.cc, run.qdisc, own, reading_of(values))


def points(measured: Measured, seeds: int) -> dict[Key, dict[str, Any]]:
    """The means of those that have all seeds."""
    of: dict[Key, list[Mapping[str, Any]]] = {}
    for run, figures in measured.runs.items():
        if run.scenario.name == SCENARIO:
            of.setdefault(key_of(run), []).append(figures.metrics)
    return {
        key: {
            name: mean([one.get(name) for one in all_seeds])
            for name, value in all_seeds[0].items()
            if value is None or isinstance(value, int | float | list)
        }
        for key, all_seeds in of.items()
        if len(all_seeds) == seeds
    }


def curves(measured: Measured) -> dict[str, Any]:
    """Windows of the first source over time, of the first seed; of packet pair in scenario 7, also spacings."""
    told: dict[str, Any] = {}
    for run in measured.runs:
        if run.scenario.name != SCENARIO or run.seed != 1 or run.values["scenario"] not in DRAWN:
            continue
        if reading_of(run.values) or (run.cc, run.qdisc) not in PAIRS.values():
            continue
        raw = measured.study.load(measured.digests[run])["raw"]
        samples = unpacked(raw["samples"], SAMPLE)
        own = samples[samples["flow"] == 0]
        which = "unacked" if run.cc == JUDGED else "cwnd"
        step = max(1, len(own) // 1000)
        told[f"{run.values['scenario']} {found.pair_of(run.cc, run.qdisc)}"] = [
            [round(float(at) / 1e9, 1), int(value)]
            for at, value in zip(own["time_ns"][::step], np.asarray(own[which])[::step], strict=True)
        ]
        if (run.values["scenario"], run.cc) == (7, JUDGED):
            begin_s = run.scenario.module.end_s(run.values) / 2
            told[show.SPACINGS] = found.spacings(run.plan, raw, begin_s, begin_s + SPACINGS_S)
    return told


def judged(measured: Measured, asked: Asked) -> Judged:
    """The paper's rows, and what is drawn."""
    of_keys = found.with_first_time_on(points(measured, SEEDS))
    data = {
        "points": [{**vars(key), "metrics": one} for key, one in of_keys.items()],
        "curves": curves(measured),
        "goals": found.goals(of_keys),
    }
    return Judged(found.rows(of_keys, range(1, SEEDS + 1), show.WHY), data)


PAPER = Paper(found.PAPER, requests, judged, show.section)
