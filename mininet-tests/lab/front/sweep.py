# SPDX-License-Identifier: GPL-2.0
"""Every combination of a scenario's parameters, several guests at once, into a study.

What is there already is not measured again: a sweep that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..hosts.engine import RealHosts
from ..hosts.file import Machines
from ..machines.guest import leave_no_guest
from ..model import scenario
from ..model.errors import PlanError
from ..model.plan import TRAFFIC
from ..show.progress import Progress
from ..store import sweep as sweeping
from ..store.engine import Engine, EngineError
from ..store.manifest import Manifest
from ..store.run import Run
from ..store.study import Study, StudyError
from . import real_hosts
from .measuring import FiguresOf, figures_of
from .options import BAD_INPUT, FAILED, INTERRUPTED, MAX_GUESTS, chosen, complain, seeds, whole_number


def add_options(parser: argparse.ArgumentParser) -> None:
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
    real_hosts.add_options(parser)
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("-j", default=str(cpus), metavar="N", help=f"guests at a time; each uses one core ({cpus})")
    parser.add_argument("--out", default="study", metavar="FOLDER", help="the study, which may be there already")


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


def sweep(
    arguments: argparse.Namespace,
    engine: Engine,
    figures: FiguresOf,
    check: Callable[[Sequence[Run]], None] = lambda due: None,
) -> int:
    """Lab sweep: 0 if every run has a raw result, 1 if one failed, 2 for bad input, 130 if interrupted.

    :param figures: from a run and its raw result, for the tables
    :param check: PlanError if runs that are due cannot be done
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
            check(work.due)
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


def main(arguments: argparse.Namespace) -> int:
    """Measure what is not there yet."""
    from ..machines.engine import Guests

    try:
        machines = real_hosts.machines_of(arguments)
    except PlanError as error:
        complain(error)
        return BAD_INPUT
    if machines is not None:
        return on_machines(arguments, machines)
    leave_no_guest()
    with Guests() as guests:
        return sweep(arguments, guests, figures_of)


def on_machines(arguments: argparse.Namespace, machines: Machines) -> int:
    """On real machines, of which each run needs all."""
    real_hosts.leave_nothing_changed()
    arguments.j = "1"
    with RealHosts(machines) as engine:
        if not arguments.dry_run:
            return sweep(arguments, engine, figures_of, engine.check)
        try:
            return real_hosts.dry_run(engine, list(sweeping.expand(request_of(arguments), engine).runs))
        except (PlanError, EngineError) as error:
            complain(error)
            return BAD_INPUT
