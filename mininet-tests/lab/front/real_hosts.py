# SPDX-License-Identifier: GPL-2.0
"""What ``lab run`` and ``lab sweep`` do with ``--machines``: the same plans, on real machines."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ..hosts.engine import RealHosts
from ..hosts.file import Machines, read
from ..model.errors import PlanError
from ..store.run import Run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the machines are named, and whether they are only looked at."""
    parser.add_argument("--machines", type=Path, metavar="FILE", help="run on the real machines that a file names")
    parser.add_argument(
        "--dry-run", action="store_true", help="with --machines: print every command, and change nothing anywhere"
    )


def machines_of(arguments: argparse.Namespace) -> Machines | None:
    """Those that were asked for, or None; PlanError says what does not go with them."""
    if arguments.machines is None:
        if arguments.dry_run:
            raise PlanError("--dry-run: is about real machines: needs --machines FILE")
        return None
    for option, value in (("--kernel", arguments.kernel), ("--modules", getattr(arguments, "modules", None))):
        if value:
            raise PlanError(f"{option} {value}: real machines have their own: must be left out with --machines")
    if getattr(arguments, "j", None):
        raise PlanError(f"-j {arguments.j}: each run needs all machines: must be left out with --machines")
    if getattr(arguments, "clock", "virtual") != "virtual":
        raise PlanError(f"--clock {arguments.clock}: is of a guest: must be left out with --machines")
    if getattr(arguments, "pcap", False):
        raise PlanError("--pcap: packets are captured in guests only: must be left out with --machines")
    return read(arguments.machines)


def dry_run(engine: RealHosts, runs: Sequence[Run]) -> int:
    """Print what would be done."""
    for run in runs:
        print("\n".join(engine.dry_run(run)))
    return 0


def leave_nothing_changed() -> None:
    """Have a signal that ends this program end it as an interrupt does, so that machines are put back."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
