# SPDX-License-Identifier: GPL-2.0
"""What commands that judge all cases of a campaign have in common: options, and what they say at the end."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from ..checkout import TOP
from ..model.errors import PlanError
from ..model.scenario import nearest
from ..store.engine import Engine
from ..store.study import Study
from ..store.sweep import Request
from .measuring import Measured, measure
from .options import FAILED, MAX_GUESTS, number

# Below the folder of the results.
STUDY = "study"


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
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="may be repeated (all cases)")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--list", action="store_true", help="only show the cases")
    parser.add_argument(
        "-j", type=number(1, MAX_GUESTS), default=cpus, metavar="N", help=f"guests at a time; each uses a core ({cpus})"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept from before")
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
