# SPDX-License-Identifier: GPL-2.0
"""Packet pair 1994 (Keshav's memorandum), re-run: what is run, and what is judged and drawn of it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analyse import estimators
from ..analyse import memorandum as seen
from ..analyse import packet_pair as found
from ..analyse.packet_pair import (
    COUNTS,
    DEFAULT,
    FIXED,
    JUDGED,
    PEERS,
    STAGGERED,
    TWO_APART,
    Point,
    closed,
    joined,
    opened,
)
from ..checkout import TOP
from ..model import memorandum, scenario
from ..model.memorandum import LOADS, PACKET_S, SOURCES
from ..model.scenario import Values
from ..show import packet_pair as show
from ..store.run import Run
from ..store.sweep import Request
from .measuring import Measured
from .paper import QUICK, Asked, Judged, Paper

SCENARIO = "packet-pair-1994"
QUEUE = "fq_rr"
# What is open in 9.3 is shown where nothing is lost, where most is, and between.
READING_LOADS = (0.5, 1.0, 1.5, 5.0)
# Benchmarks of section 9.4, by the beginning of their scenarios' names.
BENCHMARKS = ("b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9")
# The hosts of the published benchmarks, and those of everybody else.
OTHER_HOSTS = "memorandum-fixed"
HOSTS = {JUDGED: "memorandum", DEFAULT: "open", **dict.fromkeys(PEERS, "open")}


@dataclass(frozen=True)
class Extent:
    """How much is run with one congestion control.

    :param names: runs of sections 9.1 to 9.3 (``analyse.packet_pair``)
    :param benchmarks: of section 9.4
    :param sizes: of b3
    :param intensities: of b7
    :param readings: also the other readings of what the text leaves open
    """

    names: tuple[str, ...]
    benchmarks: tuple[str, ...]
    sizes: tuple[int, ...] = found.SIZES
    intensities: tuple[str, ...] = found.INTENSITIES
    readings: bool = False


OF_SECTIONS = (
    FIXED,
    found.probing(),
    STAGGERED,
    TWO_APART,
    *map(joined, COUNTS),
    *(joined(count, 10_000) for count in COUNTS),
    *map(closed, LOADS),
    *map(opened, LOADS),
)
USUAL_EXTENTS: dict[str, Extent] = {
    JUDGED: Extent((*OF_SECTIONS, found.probing(1)), BENCHMARKS, readings=True),
    **dict.fromkeys((DEFAULT, *PEERS), Extent(OF_SECTIONS, BENCHMARKS)),
}
# Runs of which the report draws the first seed's course.
DRAWN = (FIXED, STAGGERED, joined(SOURCES))
FEW = (2, 5, SOURCES)
QUICK_EXTENTS: dict[str, Extent] = {
    JUDGED: Extent(
        (
            *(FIXED, found.probing(), found.probing(1), STAGGERED, TWO_APART),
            *map(joined, FEW),
            joined(SOURCES, 10_000),
            *map(closed, (1.0, 5.0)),
            *map(opened, (1.0, 5.0)),
        ),
        BENCHMARKS,
        (4, 20, 100, 200, 2000),
        ("0.2", "0.4", "0.6", "0.9"),
    ),
    DEFAULT: Extent(
        (FIXED, STAGGERED, joined(SOURCES), closed(5.0), opened(5.0)), ("b1", "b3", "b8"), found.TABLE_SIZES
    ),
    **dict.fromkeys(PEERS, Extent((FIXED, joined(SOURCES)), ("b1",))),
}


def settings_of(name: str) -> dict[str, Any]:
    """The scenario's parameters for a run of sections 9.1 to 9.3."""
    kind, *words = name.split()
    said = dict(word.partition("=")[::2] for word in words)
    if kind == "probing":
        return {"case": "probing", "sources": 4, "step": said["step"], "round_trips": 100}
    if kind in (on_off := {"closed": "on-off", "open": "open"}):
        return {"case": on_off[kind], "sources": SOURCES, "load": said["load"], "at_once": 2}
    if name in (STAGGERED, TWO_APART):
        spacing = 0.5 if name == STAGGERED else 2
        return {"case": "joining", "sources": SOURCES, "spacing": spacing, "first_join": 500, "first_packets": 1500}
    if kind == "joining":
        return {"case": "joining", "sources": said["n"], "limit": said["limit"]}
    return {"case": "fixed", "sources": 1}


def name_of(values: Values) -> str:
    """The name of a run, of its parameters."""
    case = values["case"]
    if case == "probing":
        return found.probing(values["step"])
    if case in (on_off := {"on-off": closed, "open": opened}):
        return on_off[case](values["load"])
    if case == "joining" and values["spacing"]:
        return STAGGERED if values["spacing"] < 1 else TWO_APART
    return joined(values["sources"], values["limit"]) if case == "joining" else FIXED


def _benchmark_settings(name: str, extent: Extent) -> dict[str, Any]:
    if name == "b3":
        return {"packets": extent.sizes}
    if name == "b7":
        return {"intensity": extent.intensities, "staggered": "no"}
    return {}


def requests(extents: Mapping[str, Extent], seeds: int, kernel: str = "") -> list[Request]:
    """Everything that the judges of packet-pair-1994 need."""
    one = scenario.load(SCENARIO)
    numbered = {name.partition("-")[0]: name for name in scenario.names()}
    asked = []

    def ask(which: scenario.Scenario, cc: str, values: Mapping[str, Any]) -> None:
        words = tuple(
            f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}" for key, value in values.items()
        )
        asked.append(Request((which,), words, (cc,), (QUEUE,), tuple(range(1, seeds + 1)), ("",), (kernel,)))

    for cc, extent in extents.items():
        for name in extent.names:
            ask(one, cc, settings_of(name))
        for name in extent.benchmarks:
            of_name = _benchmark_settings(name, extent)
            ask(scenario.load(numbered[name]), cc, {"hosts": HOSTS[cc], **of_name})
            if extent.readings:
                ask(scenario.load(numbered[name]), cc, {"hosts": OTHER_HOSTS, **of_name})
        if extent.readings:
            ask(one, cc, {**settings_of(found.probing()), "drop": "longest-queue"})
            for name in (kind(load) for kind in (closed, opened) for load in READING_LOADS):
                ask(one, cc, {**settings_of(name), "at_once": 1})
                ask(one, cc, {**settings_of(name), "on_rate": memorandum.LINK})
            both = {**_benchmark_settings("b7", extent), "staggered": "yes"}
            ask(scenario.load(numbered["b7"]), cc, {"hosts": HOSTS[cc], **both})
    return asked


# Of on-off sources, what differs from the judged runs: each is run of the judged control alone.
ON_OFF_LABELS = {(memorandum.TWICE, 1): found.SINGLY, (memorandum.LINK, 2): found.AT_LINK_RATE}


def label_of(run: Run) -> str:
    """The congestion control, and which reading it is of what the text leaves open."""
    values = run.values
    if values.get("drop") == "longest-queue":
        return found.WHOLE_QUEUE
    if values.get("hosts") == OTHER_HOSTS:
        return found.FIXED_SETPOINT
    if values.get("case") in ("on-off", "open"):
        return ON_OFF_LABELS.get((values["on_rate"], values["at_once"]), run.cc)
    return found.STAGGERED_STARTS if values.get("staggered") == "yes" else run.cc


def _rows_of_benchmark(run: Run, metrics: Mapping[str, Any]) -> dict[str, tuple[dict[str, Any], float]]:
    """The figures of each row of a benchmark, by what the row is called; and what its transfer took."""
    number = run.scenario.name.partition("-")[0]
    told = {}
    for row in run.scenario.module.benchmark(run.values, run.seed).rows:
        own = {name: metrics[row.metric(name)] for name in ("completion_s", "optimal_s", "slowdown")}
        # which reading it is, its label says
        variant = row.variant.removesuffix("-staggered")
        told[f"{number} {variant}".strip()] = ({**own, "retransmits": metrics["retransmits"]}, own["completion_s"])
    return told


def mean(values: Sequence[Any]) -> Any:
    """Of all seeds: of numbers, or place by place; None where a seed has none."""
    if any(value is None for value in values):
        return None
    if isinstance(values[0], list):
        alike = len({len(value) for value in values}) == 1
        return [mean(column) for column in zip(*values, strict=True)] if alike else None
    return round(statistics.fmean(values), 6)


def points(measured: Measured, seeds: int) -> dict[tuple[str, str], Point]:
    """By congestion control and name, the means of those that have all seeds."""
    of: dict[tuple[str, str], list[Point]] = {}
    for run, figures in measured.runs.items():
        if run.scenario.name == SCENARIO:
            metrics = figures.metrics
            each = {name_of(run.values): (metrics, metrics["length_tu"] * PACKET_S)}
        elif run.scenario.name.partition("-")[0] in BENCHMARKS:
            each = _rows_of_benchmark(run, figures.metrics)
        else:
            continue
        for name, (metrics, length_s) in each.items():
            of.setdefault((label_of(run), name), []).append(Point(metrics, run.values, length_s))
    return {
        key: Point(
            {
                name: mean([one.metrics.get(name) for one in all_seeds])
                for name, value in all_seeds[0].metrics.items()
                if isinstance(value, int | float | list) and _is_numeric(value)
            },
            all_seeds[0].values,
            max(one.length_s for one in all_seeds),
        )
        for key, all_seeds in of.items()
        if len(all_seeds) == seeds
    }


def _is_numeric(value: Any) -> bool:
    return not isinstance(value, list) or all(isinstance(one, int | float) for one in value)


def curves(measured: Measured) -> dict[str, Any]:
    """What is drawn of single runs: the first seed of section 9.1's, with each congestion control."""
    told = {}
    for run in measured.runs:
        if run.scenario.name == SCENARIO and run.seed == 1 and name_of(run.values) in DRAWN:
            raw = measured.study.load(measured.digests[run])["raw"]
            told[f"{name_of(run.values)} {run.cc}"] = seen.curves(run.values, run.plan, raw)
    return told


def of_lab_trains(measured: Measured) -> dict[str, Any]:
    """Estimators over the trains of section 9.2's first source, with one that joins it; nothing if it was not run."""
    for run in measured.runs:
        if run.scenario.name == SCENARIO and (name_of(run.values), run.cc, run.seed) == (joined(2), JUDGED, 1):
            raw = measured.study.load(measured.digests[run])["raw"]
            try:
                return estimators.of_joining(run.values, run.plan, raw)
            except ValueError as error:
                # a run with losses has no record to hold them against; all else of the report has its own
                return {"why": str(error)}
    return {}


def of_simulated_trains(name: str) -> dict[str, Any]:
    """The same over a case of the simulator, which is run now."""
    simulate = [sys.executable, str(TOP / "scripts/simulate"), "--case", estimators.SIMULATED[name]]
    done = subprocess.run(simulate, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"why": (done.stderr.splitlines() or [f"scripts/simulate ended with status {done.returncode}"])[-1]}
    try:
        return estimators.of_simulated(json.loads(done.stdout)["flows"][0])
    except (ValueError, LookupError) as error:
        # a campaign's report has all else
        return {"why": f"what scripts/simulate printed: {error}"}


def of_estimators(measured: Measured) -> dict[str, Any]:
    """Estimators over recorded trains, by where these are from."""
    return {"lab": of_lab_trains(measured), **{name: of_simulated_trains(name) for name in estimators.SIMULATED}}


def judged(measured: Measured, asked: Asked) -> Judged:
    """The paper's rows, and what is drawn."""
    of_names = points(measured, asked.seeds)
    data = {
        "parameters": {"packet_s": PACKET_S, "rate_bit_s": memorandum.RATE_BIT_S},
        "points": [
            {"cc": cc, "run": name, "metrics": dict(one.metrics), "length_s": one.length_s}
            for (cc, name), one in of_names.items()
        ],
        "curves": curves(measured),
        "goals": found.goals(of_names),
        "estimators": of_estimators(measured),
    }
    return Judged(found.rows(of_names, range(1, asked.seeds + 1), show.WHY), data)


def asked_for(asked: Asked) -> list[Request]:
    """Everything that is run for a length."""
    return requests(QUICK_EXTENTS if asked.length == QUICK else USUAL_EXTENTS, asked.seeds, asked.kernel)


PAPER = Paper(found.PAPER, asked_for, judged, show.section)
