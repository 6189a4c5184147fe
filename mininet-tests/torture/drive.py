#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""On the host: boot a guest for each way of torture, and pass on what it tells.

Called by scripts/torture, which has the kernels and modules built.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

sys.path.insert(0, str(HERE))

import complaints  # noqa: E402
from lab import image, protocol, vm  # noqa: E402

HEADER = TOP / "include" / "uapi" / "linux" / "pkt_sched_fq_rr.h"
# What the guest's program imports, so that its interpreter finds all of it in memory.
PROBE = (
    "import sys; sys.path[:0] = sys.argv[1:]\n"
    "import torture\n"
    "for m in list(sys.modules.values()):\n"
    "    f = getattr(m, '__file__', None)\n"
    "    if f: print(f)\n"
)
OUT = TOP / "out" / "torture"
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


class TortureGuest(vm.SealedGuest):
    """A guest whose kernel checks itself, which takes it ten times as long to boot."""

    memory = "3G"
    # no hardware speeds up what the checkers do
    boot_limit_s = 2400

    def __init__(self, way: Way) -> None:
        """As its way says."""
        super().__init__(way.kernel, way.clock, way.cpus)

    def more_files(self) -> dict[str, Path]:
        """The program."""
        return files()

    def _boot_limit_s(self) -> float:
        return self.boot_limit_s

    def stop(self) -> None:
        """End it from another thread, which waits for what it says."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def console(self) -> str:
        """All that the kernel said there."""
        path = self._folder / "console"
        return path.read_text(errors="replace") if path.exists() else ""


def files() -> dict[str, Path]:
    """The guest's program with all that it imports, by their paths in the guest."""
    command = [str(image.PYTHON), "-S", "-E", "-B", "-c", PROBE, str(HERE), str(TOP / "qdisc" / "tests")]
    paths = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    found = {image.inside(str(HEADER)): HEADER}
    for path in paths:
        found[image.inside(path)] = Path(path)
        if not path.endswith(".py"):
            found |= {image.merged(library): Path(library) for library in image.libraries(path)}
    return found


def torture(way: Way, seed: int) -> list[str]:
    """Run one way; returns its lines of TAP."""
    OUT.mkdir(parents=True, exist_ok=True)
    command = ["/usr/bin/python3", "-S", "-E", "-B", "/lab/mininet-tests/torture/torture.py"]
    command += ["--name", way.name, "--seed", str(seed), "--seconds", str(way.seconds)]
    command += ["--arenas", str(way.arenas), "--requests", str(way.requests)]
    command += ["--round", str(way.round_s), "--slow", str(way.slow)]
    lines: list[str] = []
    rest = b""
    began = time.monotonic()
    rounds = 0
    with TortureGuest(way) as guest, (OUT / f"{way.label}.log").open("w") as log:
        # a kernel that hangs says nothing more
        alarm = threading.Timer(way.limit_s, guest.stop)
        alarm.start()
        try:
            guest.start({"kind": "exec", "command": command, "cwd": "/"})
            print(f"# {way.label}: booted after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            for kind, payload in guest.frames():
                if kind not in (protocol.STDOUT, protocol.STDERR):
                    continue
                *whole, rest = (rest + payload).split(b"\n")
                for line in whole:
                    text = line.decode(errors="replace")
                    lines.append(text)
                    print(text, file=log, flush=True)
                    if text.startswith("# ") and " rounds, " in text:
                        print(f"# {way.label}: {text[2:]}", file=sys.stderr, flush=True)
                    rounds += text.startswith(ROUND)
                if 0 < way.again <= rounds:
                    guest.stop()
                    return lines
        except (vm.LabError, OSError) as error:
            lines.append(f"# {str(error).splitlines()[0]}")
        finally:
            alarm.cancel()
            (OUT / f"{way.label}.console").write_text(guest.console())
        lines.append(f"# {way.label} took {time.monotonic() - began:.0f} s of this machine")
        print(lines[-1], file=log, flush=True)
    if not any(line.startswith("1..") for line in lines):
        last = guest_said_last(way)
        lines += [*last, f"not ok 1 - {way.label}: the guest ended before its time"]
    return [line for line in lines if not line.startswith("1..")]


def guest_said_last(way: Way) -> list[str]:
    """Of a console, as remarks, the first complaint with what follows, or else the end."""
    lines = (OUT / f"{way.label}.console").read_text().splitlines()
    first = [place for place, line in enumerate(lines) if complaints.is_complaint(line)]
    return [f"# {line}" for line in (lines[first[0] :] if first else lines[-20:])[:60]]


def repeats(first: list[str], again: list[str]) -> list[str]:
    """TAP: whether the rounds that two guests of one seed both had are the same."""
    told = [[line for line in lines if line.startswith(ROUND)] for lines in (first, again)]
    common = min(map(len, told))
    same = common > 0 and told[0][:common] == told[1][:common]
    what = f"the same seed gives the same requests, answers and log, in {common} rounds"
    details = [] if same else [f"# {line[2:]}, and then {other[2:]}" for line, other in zip(*told, strict=False)]
    return [f"{'ok' if same else 'not ok'} 1 - one CPU again: {what}", *details]


def ways(arguments: argparse.Namespace) -> list[list[Way]]:
    """What to do: lists of ways, of which each list goes on beside the others."""
    checkers, races, short = arguments.checkers, arguments.races, arguments.short
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


def main() -> int:
    """Run them, print TAP; the last line counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkers", required=True)
    parser.add_argument("--races", help="the kernel for that, unless --short")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("one CPU", "one CPU again", "four CPUs", "races"))
    parser.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    vm.leave_no_guest()
    wanted = [[way for way in row if arguments.only in (None, way.label)] for row in ways(arguments)]
    if arguments.seconds:
        wanted = [[replace(way, seconds=arguments.seconds, requests=1) for way in row] for row in wanted]

    told: dict[str, list[str]] = {}
    over = threading.Event()

    def one_after_another(row: list[Way]) -> None:
        for way in row:
            if not over.is_set():
                told[way.label] = torture(way, arguments.seed)

    with ThreadPoolExecutor(len(wanted)) as pool:
        try:
            list(pool.map(one_after_another, wanted))
        finally:
            # after a signal, which ends the guests, none begins
            over.set()
    lines = [line for row in wanted for way in row for line in told[way.label]]
    if len(told.keys() & {"one CPU", "one CPU again"}) == 2:
        lines += repeats(told["one CPU"], told["one CPU again"])
    passed = failed = 0
    for line in lines:
        passed += line.startswith("ok ")
        failed += line.startswith("not ok ")
        print(line)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
