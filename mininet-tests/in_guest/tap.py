# SPDX-License-Identifier: GPL-2.0
"""TAP, and what a test in a guest expects."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable

Json = dict[str, object]


class TestFailedError(Exception):
    """A check that did not hold; the text says what was expected and found."""


def expect(condition: object, text: str) -> None:
    """Fail the running test with ``text`` unless ``condition`` holds."""
    if not condition:
        raise TestFailedError(text)


def equal(found: object, wanted: object, what: str) -> None:
    """Fail the running test unless ``found`` is ``wanted``."""
    expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def run_tests(tests: Iterable[Callable[[], None]]) -> int:
    """Run tests in order, print TAP, return the program's exit status."""
    tests = list(tests)
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name = test.__name__
        try:
            test()
        except Exception as error:  # a test that breaks must not end the rest
            failed += 1
            print(f"not ok {number} - {name}")
            detail = str(error) if isinstance(error, TestFailedError) else traceback.format_exc()
            for line in detail.splitlines():
                print(f"# {line}")
        else:
            print(f"ok {number} - {name}")
        sys.stdout.flush()
    return 1 if failed else 0


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command; unless ``check`` is false, fail if it does not return 0."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check:
        expect(done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done


def dmesg_complaints() -> list[str]:
    """Lines of the kernel's log that a clean run does not have."""
    bad = re.compile(r"WARNING|BUG|Oops|cut here|Call Trace|general protection|KASAN|refcount|leak")
    return [line for line in run("dmesg").stdout.splitlines() if bad.search(line)]


def the_kernel_had_nothing_to_complain_of() -> None:
    """No warning in dmesg after all that ran before."""
    equal(dmesg_complaints(), [], "dmesg")
