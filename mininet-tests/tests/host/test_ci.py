# SPDX-License-Identifier: GPL-2.0
"""What .ci/run makes of its stages: one count, and no failure without a number."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
GOOD = ("ok 1 - a\\n5 passed, 0 failed", 0)
SKIPPED = ("5 passed, 0 failed, 2 skipped", 0)
BAD = ("not ok 1 - a\\n4 passed, 1 failed", 2)
DEAD = ("make: out of memory", 2)
UNCOUNTED = ("5 passed, 0 failed", 2)


@pytest.mark.parametrize(
    ("test", "torture", "last", "status"),
    [
        (GOOD, GOOD, "10 passed, 0 failed", 0),
        (SKIPPED, GOOD, "10 passed, 0 failed, 2 skipped", 0),
        (BAD, GOOD, "9 passed, 1 failed", 1),
        (GOOD, BAD, "9 passed, 1 failed", 1),
        (GOOD, DEAD, "5 passed, 1 failed", 1),
        (DEAD, GOOD, "5 passed, 1 failed", 1),
        (GOOD, UNCOUNTED, "10 passed, 1 failed", 1),
    ],
)
def test_ci_counts_both_stages(
    tmp_path: Path, test: tuple[str, int], torture: tuple[str, int], last: str, status: int
) -> None:
    """A make in the place of the real one says what tests and torture came to."""
    answers = {"test": test, "torture-short": torture}
    cases = "\n".join(f"*' {name}') printf '{said}\\n'; exit {end} ;;" for name, (said, end) in answers.items())
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\ncase " $*" in\n{cases}\nesac\nexit 99\n')
    make.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([TOP / ".ci" / "run"], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.returncode) == (last, status), done.stdout + done.stderr
