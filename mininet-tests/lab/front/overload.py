# SPDX-License-Identifier: GPL-2.0
"""Overload as published in 1995, on the real stack: packet pair beside sources without control, BBR and CUBIC.

    scripts/lab overload            what make overload runs: 245 runs, each some twelve seconds of a slow core
    scripts/lab overload --quick    a part of each curve: four minutes of one core
    scripts/lab overload --full     seven loads, and the lengths of the paper: 420 s a run, not 8
    scripts/lab overload --kept     judge what there is, and run nothing

All runs are in one study: a campaign that was interrupted goes on where it was, and only what uses a
module that has changed is run again. out/overload/summary.json has a row for each check of the paper, and
report.html a picture of each figure.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import overload as found
from ..analyse.overload import (
    ALL,
    BUFFERS,
    DEFAULT,
    DROPS,
    HALF,
    HEAVY,
    JUDGED,
    LONE,
    PEERS,
    SHORT_MS,
    STACK,
    STOCK_MS,
    TIMERS,
    UNCONTROLLED,
    Cell,
    Point,
)
from ..model import overload, scenario
from ..model.errors import PlanError
from ..model.scenario import Values
from ..show import overload as show
from ..store import sweep as sweeping
from ..store.engine import Engine
from ..store.sweep import Request
from . import campaign
from .measuring import Measured, in_guests, provenance
from .paper import FULL as PAPERS_LENGTH
from .paper import QUICK as QUICK_LENGTH
from .paper import Asked, Judged, Paper

PROGRAM = SCENARIO = "overload"
QUEUE = "fq_rr"
MIXES = (found.NONE, found.ONE, found.NINE)
SEEDS, MAX_SEEDS = 1, 10


@dataclass(frozen=True)
class Extent:
    """How much is run.

    :param interval_s: of which 20 are measured, after ``settle_s``
    :param loads: of the judged curves
    :param other_loads: of all others
    :param buffers: of the judged curves at loads below the highest; at that, all are run
    :param lone_s: an interval of the source alone
    """

    interval_s: float
    settle_s: float
    loads: tuple[float, ...]
    other_loads: tuple[float, ...]
    buffers: tuple[float, ...]
    lone_s: float
    peers: bool = True


# The seven loads are those of the 1994 memorandum in the same scenario: this paper names but their range.
FULL = Extent(20.0, 20.0, (0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 5.0), (0.5, 1.0, 1.5, 2.0, 5.0), BUFFERS, 20.0)
USUAL = Extent(0.3, 2.1, (0.5, 1.0, 1.5, 2.0, 5.0), (1.5, 5.0), BUFFERS, 6.0)
QUICK = Extent(0.3, 2.1, (1.5, 5.0), (), (HALF,), 1.5, peers=False)


def requests(extent: Extent, seeds: int, kernel: str = "") -> list[Request]:
    """Everything that the judges and the pictures need."""
    one = scenario.load(SCENARIO)
    common = {"interval": f"{extent.interval_s:g}", "settle": f"{extent.settle_s:g}"}

    def request(ccs: Sequence[str], loads: Sequence[float], buffers: Sequence[float], **more: Any) -> Request:
        asked = {"drop": DROPS, "load": loads, "buffer": buffers, **common, **more}
        words = tuple(
            f"{name}={','.join(f'{one:g}' if isinstance(one, float) else str(one) for one in value)}"
            if isinstance(value, list | tuple)
            else f"{name}={value}"
            for name, value in asked.items()
        )
        return Request((one,), words, tuple(ccs), (QUEUE,), tuple(range(1, seeds + 1)), ("",), (kernel,))

    def curves(cc: str, loads: Sequence[float], buffers: Sequence[float], **reading: Any) -> list[Request]:
        of = {"rto_min": STOCK_MS, "recovery": TIMERS if cc == JUDGED else STACK, **reading}
        mixed = request([cc], loads, buffers, uncontrolled=MIXES, **of)
        if cc != JUDGED:
            return [mixed]
        return [mixed, request([UNCONTROLLED], loads, buffers, uncontrolled=ALL, **of)]

    asked = curves(JUDGED, [HEAVY], BUFFERS)
    asked += curves(JUDGED, [load for load in extent.loads if load != HEAVY], extent.buffers)
    lone = {"drop": LONE.drop, "uncontrolled": 1, "sources": 1, "interval": f"{extent.lone_s:g}", "recovery": TIMERS}
    asked.append(request([UNCONTROLLED], [LONE.load], [LONE.buffer], **lone))
    if extent.other_loads:
        asked += curves(DEFAULT, extent.other_loads, BUFFERS)
        asked += curves(JUDGED, extent.other_loads, BUFFERS, rto_min=SHORT_MS)
        asked += curves(JUDGED, extent.other_loads, [HALF], recovery=STACK)
    elif not extent.peers:
        asked.append(request([DEFAULT], [HEAVY], [HALF], uncontrolled=found.NONE))
    if extent.peers:
        asked.append(request(PEERS, extent.other_loads, [HALF], uncontrolled=MIXES))
    return asked


def cell(cc: str, values: Values) -> Cell:
    """Which one a run is of."""
    numbers = (values["uncontrolled"], values["drop"], float(values["buffer"]), values["load"])
    stack = cc in (JUDGED, UNCONTROLLED) and values["recovery"] == STACK
    if cc not in (JUDGED, UNCONTROLLED) and values["recovery"] != STACK:
        raise PlanError(f"overload: recovery={values['recovery']} of {cc}: must be {STACK}: no cell has it")
    return Cell(cc, *numbers, values["rto_min"], values["sources"], stack)


def points(measured: Measured, seeds: int) -> dict[Cell, Point]:
    """Each point's figures, means over seeds, of those that have all of these."""
    of: dict[Cell, list[Mapping[str, Any]]] = {}
    for run, figures in measured.runs.items():
        of.setdefault(cell(run.cc, run.values), []).append(figures.metrics)
    return {
        one: {name: sum(each[name] for each in all_seeds) / seeds for name in show.METRICS if name in all_seeds[0]}
        for one, all_seeds in of.items()
        if len(all_seeds) == seeds
    }


def parameters(extent: Extent) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the rows tell of all runs, and what differs where a source is alone."""

    def length_s(interval_s: float) -> float:
        return round(extent.settle_s + overload.INTERVALS * interval_s, 3)

    of_all = {
        **{"sources": overload.SOURCES, "intervals": overload.INTERVALS},
        **{"interval_s": extent.interval_s, "settle_s": extent.settle_s, "length_s": length_s(extent.interval_s)},
        **{"published_length_s": found.RUN_S, "published_interval_s": found.INTERVAL_S},
    }
    return of_all, {"sources": 1, "interval_s": extent.lone_s, "length_s": length_s(extent.lone_s)}


def _extent(asked: Asked) -> Extent:
    return {QUICK_LENGTH: QUICK, PAPERS_LENGTH: FULL}.get(asked.length, USUAL)


def asked_for(asked: Asked) -> list[Request]:
    """What lab reproduce runs: one seed, as this study has it, since its bars are of intervals."""
    return requests(_extent(asked), SEEDS, asked.kernel)


def judged(measured: Measured, asked: Asked) -> Judged:
    """The paper's rows, and what is drawn, of a campaign of several papers."""
    own = {run: one for run, one in measured.runs.items() if run.scenario.name == SCENARIO}
    of_cells = points(replace(measured, runs=own), SEEDS)
    of_all, lone = parameters(_extent(asked))
    rows = found.rows(of_cells, range(1, SEEDS + 1), of_all, lone, show.WHY)
    drawn = [{**vars(one), **point} for one, point in of_cells.items()]
    return Judged(rows, {"parameters": of_all, "points": drawn, "goals": found.goals(of_cells)})


PAPER = Paper(found.PAPER, asked_for, judged, show.section)


def write(folder: Path, measured: Measured, extent: Extent, seeds: int, planned: int) -> dict[str, Any]:
    """summary.json and report.html; returns what the first has."""
    of_cells = points(measured, seeds)

    of_all, lone = parameters(extent)
    summary = {
        **provenance(measured),
        "scenario": SCENARIO,
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, measured.runs)), 1),
        "runs": {"planned": planned, "measured": len(measured.runs)},
        "parameters": of_all,
        "goals": found.goals(of_cells),
        "rows": found.rows(of_cells, range(1, seeds + 1), of_all, lone, show.WHY),
        "points": [{**vars(one), **point} for one, point in of_cells.items()],
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    files.write(folder / "report.html", show.page(summary))
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="a part of each curve")
    extent.add_argument("--full", action="store_true", help="seven loads, and the lengths of the paper")
    campaign.add_check_options(parser, PROGRAM, SEEDS, MAX_SEEDS)


def extent_of(arguments: argparse.Namespace) -> Extent:
    """How much --quick and --full ask for."""
    return QUICK if arguments.quick else FULL if arguments.full else USUAL


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    extent = extent_of(arguments)
    planned = requests(extent, arguments.seeds, arguments.kernel)
    count = len(sweeping.expand_all(planned, engine).runs)

    def written(folder: Path, measured: Measured) -> dict[str, Any]:
        return write(folder, measured, extent, arguments.seeds, count)

    def goals(summary: dict[str, Any]) -> list[str]:
        return [f"{'met ' if goal['met'] else 'MISS'}  {show.goal_text(goal)}" for goal in summary["goals"]]

    last = f"{arguments.out / 'summary.json'} has all of them, {arguments.out / 'report.html'} draws them."
    return campaign.run_checks(PROGRAM, arguments, engine, planned, written, last, goals)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a check does not hold or was not measured, 2 for bad input, 130 if interrupted."""
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
