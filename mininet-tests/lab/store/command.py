# SPDX-License-Identifier: GPL-2.0
"""``lab sweep`` and ``lab report``, from what the user typed to the exit status."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from ..model import scenario
from ..model.errors import PlanError
from ..model.plan import TRAFFIC
from ..show.progress import Progress
from . import sweep as sweeping
from .engine import Engine, EngineError
from .manifest import Manifest
from .run import FiguresOf
from .study import Study, StudyError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
MAX_GUESTS = 256
MAX_SEEDS = 10_000
# A seed is 32 bits wide in fq_rr, where 0 stands for one that is drawn.
MAX_SEED = 2**32 - 1


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """What is run, and where the results go; values are checked by ``sweep``."""
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO|FILE.py")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=A,B", help="values of a parameter")
    parser.add_argument("--cc", metavar="A,B", help="congestion controls (default: the scenario's combinations)")
    parser.add_argument("--qdisc", metavar="A,B", help="queues (default: the scenario's combinations)")
    parser.add_argument("--seeds", default="1", metavar="1-10|1,3,7", help="a run for each (default 1)")
    parser.add_argument(
        "--modules", metavar="A,B", help="folders of modules, or revisions to build (default: the checkout's)"
    )
    parser.add_argument("--kernel", metavar="A,B", help="unpacked kernels (default: Debian 12's)")
    parser.add_argument("--traffic", choices=TRAFFIC, help="what drives the flows (default: the scenario's choice)")
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("-j", default=str(cpus), metavar="N", help=f"guests at a time; each uses one core ({cpus})")
    parser.add_argument("--out", default="study", metavar="FOLDER", help="the study, which may be there already")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Which study is shown."""
    parser.add_argument("study", type=Path, metavar="FOLDER", help="what lab sweep --out has written")


def whole_number(option: str, text: str, low: int, high: int) -> int:
    """A number in its range, or PlanError with the limit that it breaks.

    :param option: with the whole of its value; "" where the message already begins with the option
    """
    where = option if option.endswith(f" {text}") else f"{option}: {text}" if option else text
    # int() would take "1_000" and " 1"
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise PlanError(f"{where}: must be a whole number")
    if int(text) < low:
        raise PlanError(f"{where}: must be at least {low}")
    if int(text) > high:
        raise PlanError(f"{where}: must be at most {high}")
    return int(text)


def seeds(text: str) -> tuple[int, ...]:
    """Of "1-10" or "1,3,7" or both, each once; PlanError names what is wrong."""
    option = f"--seeds {text}"
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not part or (first and dash and not last):
            raise PlanError(f"{option}: must be as 1-10 or 1,3,7, without an empty part")
        low = whole_number(option, first or part, 1, MAX_SEED)
        high = whole_number(option, last, 1, MAX_SEED) if dash else low
        if high < low:
            raise PlanError(f"{option}: {part} ends before it begins: must be {high}-{low}")
        if high - low + 1 + len(found) > MAX_SEEDS:
            raise PlanError(f"{option}: must be at most {MAX_SEEDS} seeds")
        found |= dict.fromkeys(range(low, high + 1))
    return tuple(found)


def chosen(option: str, text: str | None, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names in a list, each once; PlanError if one is empty."""
    if text is None:
        return default
    names = text.split(",")
    if not all(names):
        raise PlanError(f"{option} {text}: has an empty name; must be A or A,B")
    return tuple(dict.fromkeys(names))


def request_of(arguments: argparse.Namespace) -> sweeping.Request:
    """What the command line asks for; PlanError names what is wrong."""
    return sweeping.Request(
        scenarios=tuple(scenario.load(name) for name in dict.fromkeys(arguments.scenarios)),
        settings=tuple(arguments.set),
        ccs=chosen("--cc", arguments.cc),
        qdiscs=chosen("--qdisc", arguments.qdisc),
        seeds=seeds(arguments.seeds),
        builds=chosen("--modules", arguments.modules, ("",)),
        kernels=chosen("--kernel", arguments.kernel, ("",)),
        traffic=arguments.traffic or "",
    )


def complain(error: object) -> None:
    """Say what is wrong."""
    print(f"lab: {error}", file=sys.stderr)


def sweep(arguments: argparse.Namespace, engine: Engine, figures: FiguresOf) -> int:
    """Lab sweep: 0 if every run has a raw result, 1 if one failed, 2 for bad input, 130 if interrupted.

    :param figures: from a run and its raw result, for the tables
    """
    with contextlib.ExitStack() as stack:
        try:
            request = request_of(arguments)
            guests = whole_number(f"-j {arguments.j}", arguments.j, 1, MAX_GUESTS)
            if not arguments.out:
                raise PlanError("--out: has no name; must be a folder")
            study = Study(Path(arguments.out))
            study.exists()
            asked = sweeping.expand(request, engine)
            stack.enter_context(study.locked())
            work = sweeping.Sweep(study, engine, asked)
            manifest = Manifest(study, request.as_data(), asked.runs, asked.surroundings)
            manifest.write()
        except (PlanError, EngineError, StudyError) as error:
            complain(error)
            return BAD_INPUT
        except KeyboardInterrupt:
            return INTERRUPTED
        try:
            return _measure(work, guests, study, manifest, figures)
        except StudyError as error:
            complain(error)
            status = FAILED
        except KeyboardInterrupt:
            complain(f"interrupted: {work.counts.run} runs are stored, and the same sweep goes on from there")
            status = INTERRUPTED
        with contextlib.suppress(StudyError):
            manifest.end(work.counts)
        return status


def _measure(work: sweeping.Sweep, guests: int, study: Study, manifest: Manifest, figures: FiguresOf) -> int:
    with Progress(len(work.due), sum(map(sweeping.weight, work.due))) as progress:
        work.run(guests, progress)
    manifest.end(work.counts)
    from ..analyse import table  # pandas is slow to load

    table.build(study, figures).write(study)
    counts = work.counts
    print(
        f"{counts.asked} runs asked for: {counts.run} run, {counts.present} there before, {counts.failed} failed."
        f" Tables: {study.folder}/table.csv, .parquet; report: lab report {study.folder}"
    )
    return FAILED if counts.failed else 0


def report(arguments: argparse.Namespace, figures: FiguresOf) -> int:
    """Lab report: the tables and a page of a study, also while a sweep is at work on it; 2 if it is none."""
    from ..analyse import table
    from ..show import report as page

    study = Study(arguments.study)
    try:
        if not study.exists():
            raise StudyError(f"{study.folder}: there is no study; lab sweep --out {study.folder} makes one")
        found = table.build(study, figures)
        found.write(study)
        print(page.write(study, found))
    except StudyError as error:
        complain(error)
        return BAD_INPUT
    return 0
