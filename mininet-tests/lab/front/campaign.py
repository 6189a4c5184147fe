# SPDX-License-Identifier: GPL-2.0
"""What commands that judge a campaign have in common: options, what is measured, and what they say at the end.

Some judge goals of cases (add_options, run), others the checks of a paper (add_check_options, run_checks).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checkout import TOP
from ..model.errors import PlanError
from ..model.scenario import nearest
from ..store.engine import Engine, EngineError
from ..store.study import Study, StudyError
from ..store.sweep import Request, expand_all
from . import measuring
from .measuring import Measured, measure
from .options import FAILED, MAX_GUESTS, number

# Below the folder of the results.
STUDY = "study"
FRESH = "measure again what is kept from before"


def chosen(named: Sequence[str], quick: bool, names: Collection[str], of_quick: Collection[str]) -> list[str]:
    """The cases that are run, in their order; PlanError names one that there is not."""
    for name in named:
        if name not in names:
            listed = f"must be one of the {len(names)} cases that --list shows"
            raise PlanError(f"--case {name}: {listed}{nearest(name, list(names))}")
    wanted = named or (of_quick if quick else names)
    return [name for name in names if name in wanted]


def add_options(parser: argparse.ArgumentParser, program: str, quick: str) -> None:
    """The command line.

    :param quick: what --quick means
    """
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="may be repeated (all cases)")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--list", action="store_true", help="only show the cases")
    _add_guests(parser)
    parser.add_argument("--fresh", action="store_true", help=FRESH)
    _add_places(parser, program)


def add_check_options(parser: argparse.ArgumentParser, program: str, seeds: int, most_seeds: int) -> None:
    """The command line of a paper's checks.

    :param seeds: by default
    """
    parser.add_argument(
        "--seeds", type=number(1, most_seeds), default=seeds, metavar="N", help=f"repeats, 1 to {most_seeds} ({seeds})"
    )
    _add_guests(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fresh", action="store_true", help=FRESH)
    how.add_argument("--kept", action="store_true", help="run nothing: judge what is kept from before")
    _add_places(parser, program)


def _add_guests(parser: argparse.ArgumentParser) -> None:
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument(
        "-j", type=number(1, MAX_GUESTS), default=cpus, metavar="N", help=f"guests at a time; each uses a core ({cpus})"
    )


def _add_places(parser: argparse.ArgumentParser, program: str) -> None:
    parser.add_argument("--kernel", default="", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument("--out", type=Path, default=TOP / "out" / program, metavar="FOLDER")


def run(
    program: str,
    arguments: argparse.Namespace,
    engine: Engine,
    planned: Sequence[Request],
    write: Callable[[Path, Measured], dict[str, Any]],
    terminal: Callable[[dict[str, Any]], str],
    sentence: Callable[[dict[str, Any]], str],
    last: str,
) -> int:
    """Measure what was asked for, and show it.

    :param write: writes the results, and returns their summary with its "goals"
    :param terminal: the summary's rows
    :param sentence: a goal that was missed
    :param last: where the rest is
    """
    began = time.monotonic()
    study = Study(arguments.out / STUDY)
    measured = measure(program, study, engine, planned, guests=arguments.j, fresh=arguments.fresh)
    summary = write(arguments.out, measured)
    print(terminal(summary))
    missed = [goal for goal in summary["goals"] if not goal["met"]]
    for goal in missed:
        print(f"  MISSED  {sentence(goal)}")
    minutes = (time.monotonic() - began) / 60
    print(f"\n{len(summary['goals']) - len(missed)} of {len(summary['goals'])} goals are met. {minutes:.1f} minutes.")
    print(last)
    return FAILED if missed else 0


def kept(study: Study, engine: Engine, planned: Sequence[Request]) -> Measured:
    """What a study has of these requests, but for runs that failed or that the kernel complained in.

    PlanError if that is nothing.
    """
    try:
        study.exists()
        asked = expand_all(planned, engine)
    except (EngineError, StudyError) as error:
        raise PlanError(str(error)) from None
    digests = {run: digest for run, digest in asked.runs.items() if study.has(digest)}
    if not digests:
        raise PlanError(f"--kept: {study.folder} has none of the {len(asked.runs)} runs")
    figures = {run: measuring.figures_of(run, study.load(digest)["raw"]) for run, digest in digests.items()}
    sound = {run: one for run, one in figures.items() if one.error is None and not one.metrics.get("kernel_warnings")}
    if not sound:
        raise PlanError(f"--kept: none of the {len(digests)} runs in {study.folder} ended well")
    return Measured(study, sound, digests, asked.surroundings, len(digests))


def check_line(row: Mapping[str, Any]) -> str:
    """A check for the terminal."""
    verdict = "pass" if row["pass"] else "-   " if row["measured"] is None else "FAIL"
    return f"{verdict}  {row['id']} {row['number']} ({row['origin']}): {row.get('not_measured') or row['measured']}"


def run_checks(
    program: str,
    arguments: argparse.Namespace,
    engine: Engine,
    planned: Sequence[Request],
    write: Callable[[Path, Measured], dict[str, Any]],
    last: str,
    more: Callable[[dict[str, Any]], Sequence[str]] = lambda summary: (),
) -> int:
    """Measure what was asked for, or take what is kept, and show the checks.

    Where a run fails, what the others gave is judged nevertheless.

    :param write: writes the results, and returns their summary with its "rows"
    :param last: where the rest is
    :param more: lines after those of the checks
    """
    began = time.monotonic()
    study = Study(arguments.out / STUDY)
    if arguments.kept:
        measured = kept(study, engine, planned)
    else:
        try:
            measured = measure(program, study, engine, planned, guests=arguments.j, fresh=arguments.fresh)
        except measuring.MeasuringError as error:
            try:
                measured = replace(kept(study, engine, planned), failure=str(error))
            except PlanError:
                raise error from None
    summary = write(arguments.out, measured)
    rows = summary["rows"]
    for line in (*map(check_line, rows), *more(summary)):
        print(line)
    passed = sum(row["pass"] for row in rows)
    known = sum(row["measured"] is not None for row in rows)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{passed} of {len(rows)} checks hold, of {known} that were measured. {minutes:.1f} minutes.")
    print(last)
    if measured.failure:
        print(f"{program}: {measured.failure}", file=sys.stderr)
    return 0 if passed == len(rows) and not measured.failure else FAILED
