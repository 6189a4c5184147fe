# SPDX-License-Identifier: GPL-2.0
"""Every combination of a scenario's parameters, several guests at once, into a study.

What is there already is not measured again: a sweep that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..hosts.engine import RealHosts
from ..hosts.file import Machines
from ..machines.guest import leave_no_guest
from ..model import scenario
from ..model.errors import PlanError
from ..model.plan import TRAFFIC
from ..show.progress import Progress
from ..store import sweep as sweeping
from ..store.engine import Engine, EngineError, EngineGoneError, Surroundings
from ..store.manifest import Manifest
from ..store.run import Run
from ..store.study import Study, StudyError
from . import real_hosts
from .measuring import FiguresOf, figures_of
from .options import BAD_INPUT, FAILED, INTERRUPTED, MAX_GUESTS, chosen, complain, seeds, whole_number

if TYPE_CHECKING:
    from ..machines.engine import Guests


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
    parser.add_argument("-j", metavar="N", help=f"guests at a time; each uses one core ({cpus}; of --on all)")
    parser.add_argument("--on", metavar="CLUSTER|FILE.toml", help="workers that do the runs (default: this machine)")
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


class Remote(Protocol):
    """An engine whose guests are on other machines."""

    shows: Any
    say: Callable[[str], None]

    def open(self, runs: Iterable[Run], surroundings: Mapping[tuple[str, str], Surroundings]) -> None:
        """Make it ready for these runs; EngineError says why it cannot be."""

    def outcome(self) -> dict[str, Any]:
        """For the manifest."""


class Told:
    """Progress of runs of which the engine says itself when they begin."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, guest: Any, title: str) -> None:
        """It waits for a worker."""

    def leave(self, guest: Any) -> None:
        """Likewise."""

    def end(self, title: str, weight: int, trouble: str | None = None) -> None:
        """A run has ended, well or with trouble."""
        self._progress.end(title, weight, trouble)


def sweep(
    arguments: argparse.Namespace,
    engine: Engine,
    figures: FiguresOf,
    *,
    remote: Remote | None = None,
    check: Callable[[Sequence[Run]], None] = lambda due: None,
) -> int:
    """Lab sweep: 0 if every run has a raw result, 1 if one failed, 2 for bad input, 130 if interrupted.

    :param figures: from a run and its raw result, for the tables
    :param remote: the engine, where it has workers
    :param check: PlanError if runs that are due cannot be done
    """
    with contextlib.ExitStack() as stack:
        try:
            request = request_of(arguments)
            guests = guests_of(arguments, remote is not None)
            if not arguments.out:
                raise PlanError("--out: has no name; must be a folder")
            study = Study(Path(arguments.out))
            study.exists()
            asked = sweeping.expand(request, engine)
            if remote is not None:
                # before the study is made: what cannot be reached leaves nothing
                missing = [run for run, digest in asked.runs.items() if not study.has(digest)]
                if missing:
                    remote.open(missing, asked.surroundings)
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
            return _measure(work, guests, study, manifest, figures, remote)
        except (StudyError, EngineGoneError) as error:
            complain(error)
            status = FAILED
        except KeyboardInterrupt:
            complain(f"interrupted: {work.counts.run} runs are stored, and the same sweep goes on from there")
            status = INTERRUPTED
        with contextlib.suppress(StudyError):
            manifest.end(work.counts, _outcome(remote))
        return status


def guests_of(arguments: argparse.Namespace, has_workers: bool) -> int:
    """How many guests at a time; PlanError if that cannot be."""
    if arguments.j is None:
        return MAX_GUESTS if has_workers else len(os.sched_getaffinity(0))
    return whole_number(f"-j {arguments.j}", arguments.j, 1, MAX_GUESTS)


def _outcome(remote: Remote | None) -> dict[str, Any] | None:
    return remote.outcome() if remote is not None else None


def _measure(
    work: sweeping.Sweep,
    guests: int,
    study: Study,
    manifest: Manifest,
    figures: FiguresOf,
    remote: Remote | None,
) -> int:
    with Progress(len(work.due), sum(map(sweeping.weight, work.due))) as progress:
        if remote is None:
            work.run(guests, progress)
        else:
            remote.shows, remote.say = progress, progress.say
            try:
                work.run(guests, Told(progress))
            finally:
                remote.say = complain
    manifest.end(work.counts, _outcome(remote))
    from ..analyse import table  # pandas is slow to load

    table.build(study, figures).write(study)
    counts = work.counts
    print(
        f"{counts.asked} runs asked for: {counts.run} run, {counts.present} there before, {counts.failed} failed."
        f" Tables: {study.folder}/table.csv, .parquet; report: lab report {study.folder}"
    )
    if remote is not None:
        _show_workers(remote.outcome())
    return FAILED if counts.failed else 0


def _show_workers(outcome: Mapping[str, Any]) -> None:
    """What became of the workers of a sweep, and of the runs that they did not end."""
    retried = outcome["retried"]
    counts = [f"{len(outcome[name])} {name}" for name in ("refused", "lost")]
    print(f"{len(outcome['workers'])} workers of {outcome['on']}, {', '.join(counts)}; {len(retried)} runs retried")
    for one in retried:
        print(f"    retried: {one['run']}, which {', '.join(one['workers'])} did not end")


def main(arguments: argparse.Namespace) -> int:
    """Measure what is not there yet."""
    from ..machines.engine import Guests

    try:
        machines = real_hosts.machines_of(arguments)
    except PlanError as error:
        complain(error)
        return BAD_INPUT
    if machines is not None and arguments.on is not None:
        complain(PlanError(f"--on {arguments.on}: real machines do their runs themselves: must not be with --machines"))
        return BAD_INPUT
    if machines is not None:
        return on_machines(arguments, machines)
    leave_no_guest()
    with Guests() as guests:
        if arguments.on is None:
            return sweep(arguments, guests, figures_of)
        return _on_cluster(arguments, guests)


def _on_cluster(arguments: argparse.Namespace, guests: Guests) -> int:
    from ..machines import cluster, cluster_file, dask_start

    try:
        file = cluster_file.load(arguments.on)
        dask_start.needed(file.kind)
    except (PlanError, EngineError) as error:
        complain(error)
        return BAD_INPUT
    with cluster.Cluster(file, guests, complain) as engine:
        return sweep(arguments, engine, figures_of, remote=engine)


def on_machines(arguments: argparse.Namespace, machines: Machines) -> int:
    """On real machines, of which each run needs all."""
    real_hosts.leave_nothing_changed()
    arguments.j = "1"
    with RealHosts(machines) as engine:
        if not arguments.dry_run:
            return sweep(arguments, engine, figures_of, check=engine.check)
        try:
            return real_hosts.dry_run(engine, list(sweeping.expand(request_of(arguments), engine).runs))
        except (PlanError, EngineError) as error:
            complain(error)
            return BAD_INPUT
