# SPDX-License-Identifier: GPL-2.0
"""On the host: a guest whose kernel checks itself, and what its program tells.

For torture and the hostile suite: each boots guests that run one program, which
prints TAP with a plan, and adds up what they said.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lab.checkout import CACHE, TOP
from lab.guest import protocol
from lab.machines import image
from lab.machines.sealed import SealedGuest
from lab.model.errors import LabError

from . import complaints

TOP = TOP
HEADER = TOP / "include" / "uapi" / "linux" / "pkt_sched_fq_rr.h"
# Of a guest's programs: its agent has told where our packages are.
PYTHON = (str(image.PYTHON), "-S", "-P", "-B")
# What a program imports, so that its interpreter finds all of it in memory.
PROBE = (
    "import importlib, sys\n"
    "importlib.import_module(sys.argv[1])\n"
    "for m in list(sys.modules.values()):\n"
    "    f = getattr(m, '__file__', None)\n"
    "    if f: print(f)\n"
)


def files(program: str) -> dict[str, Path]:
    """A guest's program, by its module's name, with all that it imports, by their paths in the guest."""
    command = [*PYTHON, "-c", PROBE, program]
    environment = {**os.environ, "PYTHONPATH": str(image.PACKAGES)}
    paths = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split()
    found = {image.inside(str(HEADER)): HEADER}
    for path in paths:
        found[image.inside(path)] = Path(path)
        if not path.endswith(".py"):
            found |= {image.merged(library): Path(library) for library in image.libraries(path)}
    return found


def build(kind: str) -> str:
    """A kernel that watches itself, and our modules for it; its version. CalledProcessError if it cannot be built."""
    command = [str(TOP / "scripts" / "checked-kernel"), kind]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class CheckedGuest(SealedGuest):
    """A guest whose kernel checks itself, which takes it ten times as long to boot."""

    memory = "3G"
    # where scripts/source-kernel builds its kernels
    cache = CACHE / "torture"
    # no hardware speeds up what the checkers do
    boot_limit_s = 2400

    def __init__(self, program: str, kernel: str, clock: str = "virtual", cpus: int = 1) -> None:
        """Not booted yet.

        :param program: what it will run: a module of ours
        """
        super().__init__(kernel, clock, cpus)
        self.program = program

    def more_files(self) -> dict[str, Path]:
        """The program."""
        return files(self.program)

    def _boot_limit_s(self) -> float:
        return self.boot_limit_s

    def console(self) -> str:
        """All that the kernel said there."""
        path = self._folder / "console"
        return path.read_text(errors="replace") if path.exists() else ""


def watch(
    label: str,
    guest: CheckedGuest,
    arguments: Iterable[str],
    limit_s: float,
    out: Path,
    heard: Callable[[str], bool] = lambda _: False,
) -> list[str]:
    """Boot a guest and run its program; returns its lines of TAP, without the plan.

    :param label: what its files and remarks are called
    :param limit_s: for how long it may run on this machine
    :param out: folder for what it says, and for its console
    :param heard: called with each line; the guest is ended once it returns true
    """
    out.mkdir(parents=True, exist_ok=True)
    command = [*PYTHON, "-m", guest.program, *arguments]
    lines: list[str] = []
    rest = b""
    began = time.monotonic()
    with guest, (out / f"{label}.log").open("w") as log:
        # a kernel that hangs says nothing more
        alarm = threading.Timer(limit_s, guest.kill_process)
        alarm.start()
        try:
            guest.start({"kind": "exec", "command": command, "cwd": "/"})
            print(f"# {label}: booted after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            for kind, payload in guest.frames():
                if kind not in (protocol.STDOUT, protocol.STDERR):
                    continue
                *whole, rest = (rest + payload).split(b"\n")
                for line in whole:
                    text = line.decode(errors="replace")
                    lines.append(text)
                    print(text, file=log, flush=True)
                    if heard(text):
                        guest.kill_process()
                        return lines
        except (LabError, OSError) as error:
            lines.append(f"# {str(error).splitlines()[0]}")
        finally:
            alarm.cancel()
            (out / f"{label}.console").write_text(guest.console())
        lines.append(f"# {label} took {time.monotonic() - began:.0f} s of this machine")
        print(lines[-1], file=log, flush=True)
    if not any(line.startswith("1..") for line in lines):
        lines += [*said_last(out / f"{label}.console"), f"not ok 1 - {label}: the guest ended before its time"]
    return [line for line in lines if not line.startswith("1..")]


def said_last(console: Path) -> list[str]:
    """Of a console, as remarks, the first complaint with what follows, or else the end."""
    lines = console.read_text().splitlines()
    first = [place for place, line in enumerate(lines) if complaints.is_complaint(line)]
    return [f"# {line}" for line in (lines[first[0] :] if first else lines[-20:])[:60]]


def add_up(lines: Iterable[str]) -> int:
    """Print TAP, and what it comes to last; returns the exit status."""
    passed = failed = 0
    for line in lines:
        passed += line.startswith("ok ")
        failed += line.startswith("not ok ")
        print(line)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
