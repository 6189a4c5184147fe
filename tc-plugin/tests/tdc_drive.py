#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""On the host: the kernel's own tests of tc, on our cases, in the lab.

``tdc_drive.py SUITE NEWEST [KERNEL...]``, called by scripts/tdc.  All cases must pass on
NEWEST, which the suite is of.  They are run on every other KERNEL too; those of the
suite's family that fail there are run again with the child that they have, and one
that fails with that as well is the kernel's own fault: it is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "mininet-tests")]

import tdc_cases  # noqa: E402
import tdc_in_lab  # noqa: E402
from lab import image, protocol, vm  # noqa: E402

# What the guest's program imports, so that its interpreter finds all of it in memory.
PROBE = (
    "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
    "import tdc_in_lab; tdc_in_lab.preload(Path(sys.argv[2]))\n"
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


class TdcGuest(vm.SealedGuest):
    """A guest with the suite and the cases in its memory: no host's pause moves its clock."""

    def __init__(self, kernel: str, suite: Path, cases: list[tdc_cases.Case]) -> None:
        """For some cases."""
        super().__init__(kernel)
        self._suite = suite
        self._cases = cases

    # nothing here is measured, and another guest may have the core
    def _boot_limit_s(self) -> float:
        return 5 * vm.BOOT_TIMEOUT_S

    def more_files(self) -> dict[str, Path]:
        """Suite, cases and interpreter's modules, these as byte code."""
        cases = self._folder / "cases.json"
        cases.write_text(json.dumps(self._cases))
        found = {CASES: cases}
        for path in self._suite.rglob("*.py"):
            found[f"{SUITE}/{path.relative_to(self._suite)}"] = path
        # which tell pyroute2 of what it consists
        for path in Path(tdc_in_lab.PACKAGES).glob("pyroute2-*.dist-info/*"):
            found[str(path)] = path
        command = [str(image.PYTHON), "-S", "-E", "-B", "-c", PROBE, str(HERE), str(self._suite)]
        paths = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        codes = self._folder / "codes"
        codes.mkdir()
        major, minor = image.python_version()
        for number, path in enumerate(path for path in paths if not path.startswith(f"{self._suite}/")):
            place = image.inside(path)
            found[place] = Path(path)
            if path.endswith(".py"):
                code = codes / str(number)
                code.write_bytes(image.compiled(path))
                folder, _, name = place.rpartition("/")
                found[f"{folder}/__pycache__/{name[:-3]}.cpython-{major}{minor}.pyc"] = code
            else:
                found |= {image.merged(library): Path(library) for library in image.libraries(path)}
        return found


def lines_of(guest: TdcGuest) -> Iterator[str]:
    """What the guest's program prints."""
    command = [str(image.PYTHON), "-S", "-E", "-B", image.inside(str(HERE / "tdc_in_lab.py")), SUITE, CASES]
    rest = b""
    guest.start({"kind": "exec", "command": command, "cwd": "/"})
    for kind, payload in guest.frames():
        if kind in (protocol.STDOUT, protocol.STDERR):
            *whole, rest = (rest + payload).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        elif kind == protocol.EXIT:
            return


def run(kernel: str, suite: Path, cases: list[tdc_cases.Case]) -> dict[str, Outcome]:
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
        except vm.LabError as error:
            last += str(error).splitlines()
        if current and current not in outcomes:
            outcomes[current] = Outcome(False, ["kernel ended", *last])
        took_s = time.monotonic() - began
        done = len(outcomes) - before
        print(f"tdc: {kernel}: {done} cases, {took_s:.0f} s of this machine", file=sys.stderr)
        if not done:
            raise vm.LabError("\n".join(["the guest ran no case", *last]))
        left = [one for one in left if one["id"] not in outcomes]
    return outcomes


def judge(
    cases: dict[str, list[tdc_cases.Case]], outcomes: dict[str, Outcome], own: dict[str, Outcome]
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
    cases = tdc_cases.sets(suite, stable)
    outcomes = run(kernel, suite, [one for name in RUN for one in cases[name]])
    own: dict[str, Outcome] = {}
    if stable:
        pairs = zip(cases["in_place"], cases["own_child"], strict=True)
        own = run(kernel, suite, [own_case for mine, own_case in pairs if not outcomes[mine["id"]].good])
    return judge(cases, outcomes, own)


def main(arguments: list[str]) -> int:
    """Status 0 if there were cases, and all have passed or are another kernel's own fault."""
    suite, kernels = Path(arguments[0]).resolve(), arguments[1:]
    vm.leave_no_guest()
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


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (vm.LabError, subprocess.CalledProcessError) as error:
        print(f"tdc: {error}", file=sys.stderr)
        print("0 passed, 1 failed")
        sys.exit(1)
