# SPDX-License-Identifier: GPL-2.0
"""mininet-tests/tests/run: what it shows of tests that fail."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import TOP

FAILING = '''
import subprocess

import pytest


@pytest.fixture
def without_an_end():
    yield
    raise OSError("no end")


def test_numbers():
    """Lists that differ."""
    assert [1000, *range(40)] == [2000, *range(40)]


def test_text():
    print("said before")
    assert "left hand" in "right hand", "with a reason"


def test_tear_down(without_an_end):
    """Passes."""


def test_installs():
    """Installs."""
    subprocess.run(["apt-get", "install", "nothing"], check=False)


@pytest.mark.skip(reason="not today")
def test_skipped():
    """Skips."""
'''


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The runner, with tests of our own in the place of the host's."""
    top = tmp_path_factory.mktemp("runner")
    tests = top / "mininet-tests" / "tests"
    (tests / "host").mkdir(parents=True)
    (tests / "host" / "test_failing.py").write_text(FAILING)
    for name in ("run", "conftest.py"):
        shutil.copy(TOP / "mininet-tests" / "tests" / name, tests)
    shutil.copy(TOP / "pyproject.toml", top)
    environment = {**os.environ, "PKTPAIR_VENV": sys.prefix}
    return subprocess.run([tests / "run", "host"], capture_output=True, text=True, check=False, env=environment)


def test_a_failing_comparison_shows_both_sides(shown: subprocess.CompletedProcess[str]) -> None:
    """A comparison that fails is shown with both sides, in full, and with its reason."""
    numbers, text = (
        re.split(r"^_{3,} .* _{3,}$|^=", shown.stdout.split(f"_ {name} _")[1].partition("\n")[2], flags=re.MULTILINE)[0]
        for name in ("test_numbers", "test_text")
    )
    assert "E         At index 0 diff: 1000 != 2000" in numbers.splitlines()
    # nothing is left out of the middle
    assert {f"E               {number}," for number in range(40)} <= set(numbers.splitlines())
    assert "E       AssertionError: with a reason" in text.splitlines()
    assert "E       assert 'left hand' in 'right hand'" in text.splitlines()
    assert "said before" in text.splitlines()


def test_every_phase_counts(shown: subprocess.CompletedProcess[str]) -> None:
    """A tear-down that fails is an error, a skipped test gives its reason, and the last line counts."""
    # several processes run the tests, each in its order
    results = re.findall(r"^\[gw\d+\] \[ *\d+%\] ([A-Z]+) \S+::(\w+)", shown.stdout, re.MULTILINE)
    assert sorted(results) == [
        ("ERROR", "test_installs"),
        ("ERROR", "test_tear_down"),
        ("FAILED", "test_numbers"),
        ("FAILED", "test_text"),
        ("PASSED", "test_installs"),
        ("PASSED", "test_tear_down"),
        ("SKIPPED", "test_skipped"),
    ]
    assert re.fullmatch(r"=+ 2 failed, 2 passed, 1 skipped, 2 errors in [\d.]+s =+", shown.stdout.splitlines()[-1])
    assert shown.returncode == 1


def test_no_test_changes_the_machine(shown: subprocess.CompletedProcess[str]) -> None:
    """A test that calls apt-get installs nothing, and fails with the command line."""
    assert "this test would have changed the machine: ['apt-get install nothing']" in shown.stdout
