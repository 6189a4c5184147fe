# SPDX-License-Identifier: GPL-2.0
"""The modules in kernels that watch themselves, tortured: TAP, of which the last line is "N passed, N failed".

    scripts/lab torture             all of it
    scripts/lab torture --short     a minute of guest time on one CPU, and a part of it again
    scripts/lab torture --build     only build the kernels and modules

What else the guests said is in out/torture. The kernels are built when first asked for: see
scripts/source-kernel.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from lab import files
from lab.checkout import TOP
from lab.machines.guest import leave_no_guest

from . import guests

PROGRAM = "torture.torture"
OUT = TOP / "out" / "torture"
WAYS = ("one CPU", "one CPU again", "four CPUs", "races")
# How a guest begins the line with what a round of the whole length came to.
ROUND = "# round "


@dataclass(frozen=True)
class Way:
    """One boot: kernel, clock, and for how long."""

    name: str
    kernel: str
    clock: str
    cpus: int
    arenas: int
    seconds: float
    requests: int
    limit_s: float
    # of a round, without what it takes to set its arenas up
    round_s: float = 20
    # how many times as long as drawn the pauses are of what goes on around the requests: so that
    # those get a half of the CPU or more
    slow: float = 6
    # with a number, a second guest like that of the same kernel and seed, ended after so many rounds
    again: int = 0

    @property
    def label(self) -> str:
        """What its files and remarks are called."""
        return f"{self.name} again" if self.again else self.name


def torture(way: Way, seed: int) -> list[str]:
    """Run one way; returns its lines of TAP."""
    arguments = ["--name", way.name, "--seed", str(seed), "--seconds", str(way.seconds)]
    arguments += ["--arenas", str(way.arenas), "--requests", str(way.requests)]
    arguments += ["--round", str(way.round_s), "--slow", str(way.slow)]
    rounds = 0

    def heard(text: str) -> bool:
        nonlocal rounds
        if text.startswith("# ") and " rounds, " in text:
            print(f"# {way.label}: {text[2:]}", file=sys.stderr, flush=True)
        rounds += text.startswith(ROUND)
        return 0 < way.again <= rounds

    guest = guests.CheckedGuest(PROGRAM, way.kernel, way.clock, way.cpus)
    return guests.watch(way.label, guest, arguments, way.limit_s, OUT, heard)


def repeats(first: list[str], again: list[str]) -> list[str]:
    """TAP: whether the rounds that two guests of one seed both had are the same."""
    told = [[line for line in lines if line.startswith(ROUND)] for lines in (first, again)]
    common = min(map(len, told))
    same = common > 0 and told[0][:common] == told[1][:common]
    what = f"the same seed gives the same requests, answers and log, in {common} rounds"
    details = [] if same else [f"# {line[2:]}, and then {other[2:]}" for line, other in zip(*told, strict=False)]
    return [f"{'ok' if same else 'not ok'} 1 - one CPU again: {what}", *details]


def ways(checkers: str, races: str, short: bool) -> list[list[Way]]:
    """What to do: lists of ways, of which each list goes on beside the others.

    :param checkers: version of a kernel, and of the one for data races
    """
    if short:
        # a round for each kind of device
        one = Way("one CPU", checkers, "virtual", 1, 1, 60, 2000, 3600, round_s=12)
        return [[one], [replace(one, again=1)]]
    one = Way("one CPU", checkers, "virtual", 1, 1, 600, 20000, 7200)
    first = [one]
    second = [
        replace(one, again=2),
        Way("four CPUs", checkers, "emulated", 4, 2, 600, 500, 3600, round_s=60, slow=10),
        Way("races", races, "emulated", 4, 2, 300, 1000, 3600, round_s=60, slow=10),
    ]
    return [first, second]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument(
        "--short", action="store_true", help="a minute of guest time on one CPU, and a part of it again"
    )
    parser.add_argument("--build", action="store_true", help="only build the kernels and modules")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another run (default 1)")
    parser.add_argument("--only", choices=WAYS, help="one way of torture")
    parser.add_argument("--seconds", type=float, metavar="S", help="of guest time")


def main(arguments: argparse.Namespace) -> int:
    """Run them, print TAP; the last line counts."""
    try:
        checkers = guests.build("checkers")
        races = "" if arguments.short else guests.build("races")
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    if arguments.build:
        return 0
    leave_no_guest()
    rows = ways(checkers, races, arguments.short)
    wanted = [[way for way in row if arguments.only in (None, way.label)] for row in rows]
    if arguments.seconds:
        wanted = [[replace(way, seconds=arguments.seconds, requests=1) for way in row] for row in wanted]

    told: dict[str, list[str]] = {}
    over = threading.Event()

    def one_after_another(row: list[Way]) -> None:
        for way in row:
            if not over.is_set():
                told[way.label] = torture(way, arguments.seed)

    with files.claimed(OUT), ThreadPoolExecutor(len(wanted)) as pool:
        try:
            list(pool.map(one_after_another, wanted))
        finally:
            # after a signal, which ends the guests, none begins
            over.set()
    lines = [line for row in wanted for way in row for line in told[way.label]]
    if len(told.keys() & {"one CPU", "one CPU again"}) == 2:
        lines += repeats(told["one CPU"], told["one CPU again"])
    return guests.add_up(lines)
