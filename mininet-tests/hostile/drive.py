#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""On the host: boot guests for the tenant and the peer, and pass on what they tell.

The peer comes twice: under checkers for what the kernel must not do, and on the lab's own kernel for
the bounds of what leaves, with which a kernel under checkers is too slow to keep up.

Called by scripts/hostile.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "torture")]

import guests  # noqa: E402
from lab import files, vm  # noqa: E402

OUT = TOP / "out" / "hostile"
HALVES = ("tenant", "peer", "bounds")
# Of guest time. A second in which the guest is busy throughout takes four or five of a core.
LONG_S, SHORT_S = 600, 40
# Of the bounds: three times as many connections in a second as under checkers
BOUNDS_LONG_S = 200
# How a guest begins the line with what it is about to do.
STEP = "# scene "
# What a guest may take of this machine before it is taken to hang, with twice that at least to spare.
LONG_LIMIT_S, SHORT_LIMIT_S = 7200, 3600


def seed(text: str) -> int:
    """A number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def seconds(text: str) -> float:
    """A time that is not over at once, and not longer than the whole suite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= LONG_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {LONG_S}")
    return value


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="hostile", allow_abbrev=False)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--seconds", type=seconds)
    parser.add_argument("--only", choices=HALVES)
    return parser.parse_args(argv)


def build() -> str:
    """The kernel that watches itself, and our modules for it; returns its version."""
    # the guests' cache is a part of the one that the kernel is built in
    environment = {**os.environ, "PKTPAIR_CACHE": str(vm.CACHE.parent)}
    command = [str(TOP / "scripts" / "checked-kernel"), "checkers"]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class HostileGuest(guests.CheckedGuest):
    """A guest with what answers for filters, which the tenant cannot load."""

    def more_files(self) -> dict[str, Path]:
        """Its program, and that module."""
        name = "cls_verdict.ko"
        return super().more_files() | {f"lab/modules/{name}": TOP / "build" / self.kernel / "bench" / name}


def run_half(half: str, kernel: str, arguments: argparse.Namespace) -> list[str]:
    """One half in a guest of its own; returns its lines of TAP."""
    given = arguments.seconds or (SHORT_S if arguments.short else LONG_S)
    limit_s = SHORT_LIMIT_S if given <= SHORT_S else LONG_LIMIT_S

    def heard(text: str) -> bool:
        if text.startswith("# round "):
            print(f"# {half}: {text[2:]}", file=sys.stderr, flush=True)
        return False

    guest = HostileGuest(HERE / f"{half}.py", kernel)
    words = ["--name", half, "--seed", str(arguments.seed), "--seconds", str(given)]
    lines = guests.watch(half, guest, words, limit_s, OUT, heard)
    # of what a guest was doing step by step, which its log has, only the end
    steps = [line for line in lines if line.startswith(STEP)]
    return [*steps[-1:], *(line for line in lines if not line.startswith(STEP))]


def run_bounds(arguments: argparse.Namespace) -> list[str]:
    """The peer on the lab's own kernel; returns its lines of TAP."""
    given = arguments.seconds or (SHORT_S if arguments.short else BOUNDS_LONG_S)
    OUT.mkdir(parents=True, exist_ok=True)
    # the lab's cache, of which that of the guests with checkers is a part
    environment = {**os.environ, "PKTPAIR_CACHE": str(vm.CACHE.parent)}
    command = [str(TOP / "scripts" / "lab"), "exec", "--", "/usr/bin/python3", str(HERE / "peer.py")]
    command += ["--name", "bounds", "--seed", str(arguments.seed), "--seconds", str(given)]
    with (OUT / "bounds.console").open("w") as console:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=console, text=True, check=False)
    (OUT / "bounds.log").write_text(done.stdout)
    lines = done.stdout.splitlines()
    if not any(line.startswith("1..") for line in lines):
        lines += [*guests.said_last(OUT / "bounds.console"), "not ok 1 - bounds: the guest ended before its time"]
    return [line for line in lines if not line.startswith("1..")]


def main(argv: Sequence[str] | None = None) -> int:
    """Run them at once, print TAP; the last line counts."""
    arguments = parse(argv)
    try:
        kernel = build()
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    if arguments.build:
        return 0
    vm.leave_no_guest()
    halves = [half for half in HALVES if arguments.only in (None, half)]
    lines: dict[str, list[str]] = {}
    over = threading.Event()

    def one(half: str) -> None:
        if not over.is_set():
            lines[half] = run_bounds(arguments) if half == "bounds" else run_half(half, kernel, arguments)

    # each guest takes a core
    with files.claimed(OUT), ThreadPoolExecutor(2) as pool:
        try:
            list(pool.map(one, halves))
        finally:
            # after a signal, which ends the guests, none begins
            over.set()
    return guests.add_up(line for half in halves for line in lines[half])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except files.BusyError as error:
        sys.exit(f"hostile: {error}")
