# SPDX-License-Identifier: GPL-2.0
"""A tenant who attacks fq_rr, a peer who plays TCP at our congestion controls: TAP, ending in "N passed, N failed".

    scripts/lab hostile             ten minutes of guest time for each under checkers
    scripts/lab hostile --short     some minutes of this machine's time
    scripts/lab hostile --build     only build the kernel and modules

The tenant has a user namespace of its own. The peer comes to tcp_pktpair twice: under checkers for what the kernel
must not do, and on the lab's own kernel for the bounds of what leaves, with which a kernel under
checkers is too slow to keep up. With --only rate it comes there to tcp_vptfrc. What else the guests said is in
out/hostile. The kernel is torture's, built when first asked for: see scripts/source-kernel.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import files
from lab.checkout import TOP
from lab.machines import image
from lab.machines.guest import leave_no_guest
from torture import guests

OUT = TOP / "out" / "hostile"
HALVES = ("tenant", "peer", "bounds")
# Run where it is asked for.
RATE = "rate"
# On the lab's own kernel.
UNCHECKED = ("bounds", RATE)
# Of guest time. A second in which the guest is busy throughout takes four or five of a core.
LONG_S, SHORT_S = 600, 40
# Of the tenant's short run: its floors are of a run as long.
TENANT_SHORT_S = 63
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--short", action="store_true", help="some minutes of this machine's time")
    parser.add_argument("--build", action="store_true", help="only build the kernel and modules")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="another run (default 1)")
    parser.add_argument("--seconds", type=seconds, metavar="S", help="of guest time")
    parser.add_argument("--only", choices=(*HALVES, RATE), help="one of these; rate is run only so")


class HostileGuest(guests.CheckedGuest):
    """A guest with what answers for filters, which the tenant cannot load."""

    def more_files(self) -> dict[str, Path]:
        """Its program, and that module."""
        name = "cls_verdict.ko"
        return super().more_files() | {f"lab/modules/{name}": TOP / "build" / self.kernel / "bench" / name}


def run_half(half: str, kernel: str, arguments: argparse.Namespace) -> list[str]:
    """One half in a guest of its own; returns its lines of TAP."""
    short_s = TENANT_SHORT_S if half == "tenant" else SHORT_S
    given = arguments.seconds or (short_s if arguments.short else LONG_S)
    limit_s = SHORT_LIMIT_S if given <= short_s else LONG_LIMIT_S

    def heard(text: str) -> bool:
        if text.startswith("# round "):
            print(f"# {half}: {text[2:]}", file=sys.stderr, flush=True)
        return False

    guest = HostileGuest(f"hostile.{half}", kernel)
    words = ["--name", half, "--seed", str(arguments.seed), "--seconds", str(given)]
    lines = guests.watch(half, guest, words, limit_s, OUT, heard)
    # of what a guest was doing step by step, which its log has, only the end
    steps = [line for line in lines if line.startswith(STEP)]
    return [*steps[-1:], *(line for line in lines if not line.startswith(STEP))]


def run_bounds(half: str, arguments: argparse.Namespace) -> list[str]:
    """The peer on the lab's own kernel; returns its lines of TAP."""
    given = arguments.seconds or (SHORT_S if arguments.short else BOUNDS_LONG_S)
    OUT.mkdir(parents=True, exist_ok=True)
    command = [str(TOP / "scripts" / "lab"), "exec", "--", str(image.PYTHON), "-m", "hostile.peer"]
    command += ["--name", half, "--seed", str(arguments.seed), "--seconds", str(given)]
    command += ["--rate"] if half == RATE else []
    with (OUT / f"{half}.console").open("w") as console:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=console, text=True, check=False)
    (OUT / f"{half}.log").write_text(done.stdout)
    lines = done.stdout.splitlines()
    if not any(line.startswith("1..") for line in lines):
        lines += [*guests.said_last(OUT / f"{half}.console"), f"not ok 1 - {half}: the guest ended before its time"]
    return [line for line in lines if not line.startswith("1..")]


def main(arguments: argparse.Namespace) -> int:
    """Run them at once, print TAP; the last line counts."""
    try:
        kernel = guests.build("checkers")
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    if arguments.build:
        return 0
    leave_no_guest()
    halves = [arguments.only] if arguments.only else list(HALVES)
    lines: dict[str, list[str]] = {}
    over = threading.Event()

    def one(half: str) -> None:
        if not over.is_set():
            lines[half] = run_bounds(half, arguments) if half in UNCHECKED else run_half(half, kernel, arguments)

    # each guest takes a core
    with files.claimed(OUT), ThreadPoolExecutor(2) as pool:
        try:
            list(pool.map(one, halves))
        finally:
            # after a signal, which ends the guests, none begins
            over.set()
    return guests.add_up(line for half in halves for line in lines[half])
