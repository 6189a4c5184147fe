# SPDX-License-Identifier: GPL-2.0
"""The kernel's own tests of tc, its driver tdc on our cases, in the lab: TAP, the last line is "N passed, N failed".

    scripts/lab tdc             the suite of Debian's newest kernel sources
    scripts/lab tdc FOLDER      another kernel's tools/testing/selftests/tc-testing

All cases must pass on Debian's newest kernel, which the suite is of. They are run on the lab's own
kernel too; those of the suite's family that fail there are run again with the child that they have,
and one that fails with that as well is the kernel's own fault: it is skipped. Suite and newest
kernel are fetched when first asked for, and kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.checkout import CACHE, TOP
from lab.guest import protocol
from lab.machines import image
from lab.machines.guest import leave_no_guest
from lab.machines.qemu import BOOT_TIMEOUT_S
from lab.machines.sealed import SealedGuest
from lab.model.errors import LabError, PlanError

from . import cases as our_cases
from . import run_tdc

TOP, CACHE = TOP, CACHE
# What the guest's program imports, so that its interpreter finds all of it in memory.
PROBE = (
    "import sys; from tc_testing import run_tdc; run_tdc.preload()\n"
    "for m in list(sys.modules.values()):\n"
    "    f = getattr(m, '__file__', None)\n"
    "    if f: print(f)\n"
)
SUITE = "/lab/suite"
CASES = "/lab/cases/all.json"
RUN = ("options", "children", "in_place")
# of what a guest says about a case that fails
REMARKS = 60

# "ok", "skip" or "not ok", a name, remarks
Verdict = tuple[str, str, list[str]]


@dataclass
class Outcome:
    """Of one case."""

    good: bool = False
    remarks: list[str] = field(default_factory=list)

    @property
    def hurt(self) -> bool:
        """Whether the kernel itself complained, or ended."""
        return any(line.startswith("kernel ") for line in self.remarks)

    @property
    def reason(self) -> str:
        """In one line."""
        said = [line.strip() for line in self.remarks if line.strip()]
        told = [line for line in said if not line.startswith(("1..", "not ok", "ok", "None"))]
        return (told or said or ["it says nothing"])[0]


def interpreter(ours: str, suite: str, *words: str) -> list[str]:
    """A command of the distribution's Python that finds our packages, the suite and Debian's."""
    path = ":".join((ours, suite, image.DISTRIBUTION))
    return ["env", f"PYTHONPATH={path}", str(image.PYTHON), "-S", "-P", "-B", *words]


class TdcGuest(SealedGuest):
    """A guest with the suite and the cases in its memory: no host's pause moves its clock."""

    def __init__(self, kernel: str, suite: Path, cases: list[our_cases.Case]) -> None:
        """For some cases."""
        super().__init__(kernel)
        self._suite = suite
        self._cases = cases

    # nothing here is measured, and another guest may have the core
    def _boot_limit_s(self) -> float:
        return 5 * BOOT_TIMEOUT_S

    def more_files(self) -> dict[str, Path]:
        """Suite, cases and interpreter's modules, these as byte code."""
        cases = self._folder / "cases.json"
        cases.write_text(json.dumps(self._cases))
        found = {CASES: cases}
        for path in self._suite.rglob("*.py"):
            found[f"{SUITE}/{path.relative_to(self._suite)}"] = path
        # which tell pyroute2 of what it consists
        for path in Path(image.DISTRIBUTION).glob("pyroute2-*.dist-info/*"):
            found[str(path)] = path
        command = interpreter(str(image.PACKAGES), str(self._suite), "-c", PROBE)
        paths = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        codes = self._folder / "codes"
        codes.mkdir()
        major, minor = image.python_version()
        for number, source in enumerate(one for one in paths if not one.startswith(f"{self._suite}/")):
            place = image.inside(source)
            found[place] = Path(source)
            if source.endswith(".py"):
                code = codes / str(number)
                code.write_bytes(image.compiled(source))
                folder, _, name = place.rpartition("/")
                found[f"{folder}/__pycache__/{name[:-3]}.cpython-{major}{minor}.pyc"] = code
            else:
                found |= {image.merged(library): Path(library) for library in image.libraries(source)}
        return found


def lines_of(guest: TdcGuest) -> Iterator[str]:
    """What the guest's program prints."""
    ours = image.inside(str(image.PACKAGES))
    command = interpreter(ours, SUITE, "-m", run_tdc.__name__, SUITE, CASES)
    rest = b""
    guest.start({"kind": "exec", "command": command, "cwd": "/"})
    for kind, payload in guest.frames():
        if kind in (protocol.STDOUT, protocol.STDERR):
            *whole, rest = (rest + payload).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        elif kind == protocol.EXIT:
            return


def run(kernel: str, suite: Path, cases: list[our_cases.Case]) -> dict[str, Outcome]:
    """Every case's outcome; where one ends the kernel, another guest goes on after it."""
    outcomes: dict[str, Outcome] = {}
    left = cases
    while left:
        began = time.monotonic()
        before, current = len(outcomes), ""
        last: list[str] = []
        try:
            with TdcGuest(kernel, suite, left) as guest:
                for line in lines_of(guest):
                    word, _, number = line.partition("case ")
                    if not word and number:
                        current = number
                        continue
                    verdict, _, number = line.rpartition("ok ")
                    if current and number == current and verdict in ("", "not "):
                        outcomes[current] = Outcome(not verdict)
                        print(f"tdc: {kernel}: {line}", file=sys.stderr)
                    elif current in outcomes:
                        outcomes[current].remarks.append(line.removeprefix("# "))
                    else:
                        last.append(line)
        except LabError as error:
            last += str(error).splitlines()
        if current and current not in outcomes:
            outcomes[current] = Outcome(False, ["kernel ended", *last])
        took_s = time.monotonic() - began
        done = len(outcomes) - before
        print(f"tdc: {kernel}: {done} cases, {took_s:.0f} s of this machine", file=sys.stderr)
        if not done:
            raise LabError("\n".join(["the guest ran no case", *last]))
        left = [one for one in left if one["id"] not in outcomes]
    return outcomes


def judge(
    cases: dict[str, list[our_cases.Case]], outcomes: dict[str, Outcome], own: dict[str, Outcome]
) -> Iterator[Verdict]:
    """For each case ``ok``, ``skip`` or ``not ok``, with its name and remarks.

    Skipped is what fails with its own child as well, and no less gravely.

    :param own: the family's failed ones with their own child, by the suite's numbers; none
        on the newest kernel
    """
    theirs = {mine["id"]: own_case["id"] for mine, own_case in zip(cases["in_place"], cases["own_child"], strict=True)}
    for one in (one for name in RUN for one in cases[name]):
        mine = outcomes[one["id"]]
        other = own.get(theirs.get(one["id"], ""))
        name = f"{one['id']} - {one['name']}"
        if mine.good:
            yield "ok", name, []
        elif other is not None and not other.good and other.hurt >= mine.hurt:
            yield "skip", name, [f"with its own child too: {other.reason}"]
        else:
            yield "not ok", name, mine.remarks[:REMARKS]


def examine(kernel: str, suite: Path, stable: bool) -> Iterator[Verdict]:
    """All cases on one kernel."""
    cases = our_cases.sets(suite, stable)
    outcomes = run(kernel, suite, [one for name in RUN for one in cases[name]])
    own: dict[str, Outcome] = {}
    if stable:
        pairs = zip(cases["in_place"], cases["own_child"], strict=True)
        own = run(kernel, suite, [own_case for mine, own_case in pairs if not outcomes[mine["id"]].good])
    return judge(cases, outcomes, own)


def newest_kernel() -> list[str]:
    """The newest of those that build-newest has unpacked, if there is one."""
    unpacked = [path.parent.name for path in CACHE.glob("kernels/*/complete") if not path.parent.is_symlink()]
    found = [one for one in unpacked if (CACHE / f"trixie/usr/src/linux-headers-{one}/Makefile").exists()]
    listed = subprocess.run(["sort", "-V"], input="\n".join(found), capture_output=True, text=True, check=True)
    return listed.stdout.split()[-1:]


def prepare() -> str:
    """Fetch and build what is not there; the newest kernel. CalledProcessError if something cannot be had."""
    log = TOP / "build" / "modules.newest.log"
    log.parent.mkdir(exist_ok=True)
    command = [str(TOP / "scripts" / "build-newest"), *newest_kernel()]
    with log.open("wb") as out:
        done = subprocess.run(command, stdout=out, check=False)
    if done.returncode:
        print("\n".join(log.read_text().splitlines()[-20:]), file=sys.stderr)
        done.check_returncode()
    return newest_kernel()[0]


def judge_all(suite: Path, kernels: Sequence[str]) -> int:
    """Status 0 if there were cases, and all have passed or are another kernel's own fault.

    :param kernels: that which the suite is of first
    """
    counts = {"ok": 0, "skip": 0, "not ok": 0}
    for kernel in kernels:
        for verdict, name, remarks in examine(kernel, suite, stable=kernel != kernels[0]):
            counts[verdict] += 1
            line = f"{sum(counts.values())} {kernel}: {name}"
            if verdict == "skip":
                print(f"ok {line} # SKIP {remarks[0]}")
                continue
            print(f"{verdict} {line}")
            print("".join(f"# {remark}\n" for remark in remarks), end="", flush=True)
    print(f"1..{sum(counts.values())}")
    if counts["skip"]:
        print(f"# {counts['skip']} skipped: what the kernel fails with the suite's own child as well")
    print(f"{counts['ok']} passed, {counts['not ok']} failed")
    return 0 if counts["ok"] and not counts["not ok"] else 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("suite", nargs="?", type=Path, metavar="FOLDER", help="(default: the one of the newest kernel)")


def main(arguments: argparse.Namespace) -> int:
    """Fetch, build, run; 0 as ``judge_all`` says, 2 if there is no suite in the folder."""
    suite = (arguments.suite or CACHE / "tdc" / "tc-testing").resolve()
    try:
        subprocess.run([TOP / "scripts" / "bootstrap", "--tdc"], check=True)
        if not (suite / "tdc.py").exists():
            raise PlanError(f"no tdc.py in {suite}")
        kernels = [prepare(), os.readlink(CACHE / "kernels" / "default")]
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    leave_no_guest()
    try:
        return judge_all(suite, kernels)
    except (LabError, subprocess.CalledProcessError) as error:
        print(f"tdc: {error}", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
