# SPDX-License-Identifier: GPL-2.0
"""Requests measured in one study, and each run's figures: what a command does before it shows anything."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analyse.figures import Figures, figures
from ..analyse.series import series
from ..checkout import TOP
from ..machines.guest import leave_no_guest
from ..model.errors import PlanError
from ..show.progress import Progress
from ..store import sweep as sweeping
from ..store.digest import canonical
from ..store.engine import Engine, EngineError, Surroundings
from ..store.manifest import Manifest
from ..store.run import Run
from ..store.study import Study, StudyError
from ..store.sweep import Request
from .options import BAD_INPUT, FAILED, INTERRUPTED

# Lines of a failed guest's kernel log that are shown.
SHOWN_LOG_LINES = 15
FiguresOf = Callable[[Run, dict[str, Any]], Figures]


class MeasuringError(Exception):
    """Something could not be measured; the message goes to the user."""


@dataclass(frozen=True)
class Measured:
    """What was asked for, and what was found.

    :param runs: with each run's figures, in the order of the requests
    :param digests: of the runs
    :param surroundings: by kernel and build
    :param kept: how many results were there before
    :param failure: of runs that failed, where the others are judged nevertheless; else ""
    """

    study: Study
    runs: Mapping[Run, Figures]
    digests: Mapping[Run, str]
    surroundings: Mapping[tuple[str, str], Surroundings]
    kept: int
    failure: str = ""

    def cpu_s(self, run: Run) -> float:
        """What a run took of a core when it was measured; 0 if that was not noted."""
        return float(self.study.load(self.digests[run]).get("cpu_s") or 0.0)

    def series(self, run: Run) -> dict[str, Any]:
        """What a run's pictures are drawn from."""
        return series(run.plan, self.study.load(self.digests[run])["raw"])


def figures_of(run: Run, raw: dict[str, Any]) -> Figures:
    """The common figures and the scenario's own."""
    return figures(run.scenario, run.values, run.cc, run.qdisc, run.plan, raw)


def measure(
    program: str,
    study: Study,
    engine: Engine,
    requests: Sequence[Request],
    *,
    guests: int,
    fresh: bool = False,
) -> Measured:
    """Do what is missing in a study, and compute all figures anew.

    PlanError names what cannot be measured, before anything is; MeasuringError what could not be.

    :param program: for messages
    :param fresh: forget what the study has of these runs
    """
    with contextlib.ExitStack() as stack:
        try:
            study.exists()
            asked = sweeping.expand_all(requests, engine)
            stack.enter_context(study.locked())
        except (EngineError, StudyError) as error:
            raise PlanError(str(error)) from None
        try:
            if fresh:
                for digest in asked.runs.values():
                    study.forget(digest)
            work = sweeping.Sweep(study, engine, asked)
            if work.counts.present:
                kept = f"{work.counts.present} of {work.counts.asked} runs are kept from before"
                print(f"{program}: {kept}; --fresh measures them again", file=sys.stderr)
            manifest = Manifest(study, _axes(requests), asked.runs, asked.surroundings)
            manifest.write()
            with Progress(len(work.due), sum(map(sweeping.weight, work.due))) as progress:
                try:
                    work.run(guests, progress)
                finally:
                    manifest.end(work.counts)
            found = _tabulate(study)
        except (PlanError, EngineError, StudyError) as error:
            raise MeasuringError(str(error)) from None
    runs = {run: found[canonical(run.identity)] for run in asked.runs}
    wrong = [text for run, one in runs.items() if (text := _wrong(study, run, asked.runs[run], one))]
    if wrong:
        more = f"\nand {len(wrong) - 1} more of {len(runs)} runs" if len(wrong) > 1 else ""
        raise MeasuringError(wrong[0] + more)
    return Measured(study, runs, asked.runs, asked.surroundings, work.counts.present)


def _axes(requests: Sequence[Request]) -> dict[str, list[Any]]:
    """What all requests chose, axis by axis, for the manifest."""
    axes: dict[str, dict[Any, None]] = {}
    for request in requests:
        for axis, values in request.as_data().items():
            axes.setdefault(axis, {}).update(dict.fromkeys(values))
    return {axis: list(values) for axis, values in axes.items()}


def _tabulate(study: Study) -> dict[str, Figures]:
    """Figures of every run that the study was ever asked for, by identity; its tables are written."""
    from ..analyse import table  # pandas is slow to load

    built = table.build(study, figures_of)
    built.write(study)
    not_identity = ("run", "path")
    return {
        canonical({key: value for key, value in one.asked.items() if key not in not_identity}): one.figures
        for one in built.runs
    }


def _wrong(study: Study, run: Run, digest: str, found: Figures) -> str:
    """Why a run has no figures, or what the kernel complained of in it; nothing if all is well."""
    log: list[str] = []
    error = found.error
    failure = study.failure(digest)
    if failure is not None:
        log = failure["log"]
    elif error is None and found.metrics["kernel_warnings"]:
        error = "the kernel complained"
        log = study.load(digest)["raw"]["warnings"]
    if error is None:
        return ""
    return f"{run.title}: {error}" + "".join(f"\n    {line}" for line in log[-SHOWN_LOG_LINES:])


@functools.cache
def source_version(module: Path) -> str:
    """What a module says of its source, or a digest of its file."""
    command = ["modinfo", "-F", "srcversion", str(module)]
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.strip() or "sha256:" + hashlib.sha256(module.read_bytes()).hexdigest()[:16]


def versions(surroundings: Surroundings) -> dict[str, str]:
    """The project's modules with their source versions."""
    return {name: source_version(path) for name, path in surroundings.modules.items()}


def commit() -> str:
    """What was measured: the checkout's commit, and whether it had been changed."""
    command = ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def provenance(measured: Measured) -> dict[str, Any]:
    """What a summary's figures were measured with; of several builds, the one that is not named."""
    surroundings = measured.surroundings
    own = next((one for (_, build), one in surroundings.items() if not build), next(iter(surroundings.values())))
    return {
        "commit": commit(),
        "kernel": own.release,
        "modules": versions(own),
        "clock": "virtual",
    }


def in_guests(program: str, run: Callable[[Engine], int]) -> int:
    """Do a command in guests; status 1 if something could not be measured, 2 for bad input, 130 if interrupted."""
    from ..machines.engine import Guests

    leave_no_guest()
    try:
        with Guests() as guests:
            return run(guests)
    except PlanError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return BAD_INPUT
    except (MeasuringError, StudyError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"{program}: interrupted: what has ended is kept, and the same command goes on from it", file=sys.stderr)
        return INTERRUPTED
