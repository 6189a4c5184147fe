# SPDX-License-Identifier: GPL-2.0
"""Reports tests as TAP, each by the first line of its docstring.

Of pytest's own reporter only what it writes is turned off: without its object,
``-p no:terminal``, pytest cannot explain a comparison, and a failing ``a == b`` ends in
an assertion of pytest's own that shows neither side.  The plug-in pytest-tap takes the
object away as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
LAB = TOP / "scripts" / "lab"
sys.path.insert(0, str(TOP / "mininet-tests"))

# What installs on a machine, by the names that a script finds on its PATH.
INSTALLERS = ("apt", "apt-get", "aptitude", "debootstrap", "pip", "pip3", "sudo")


def lab(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """scripts/lab with these words, and nobody at its terminal."""
    return subprocess.run(
        [LAB, *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def run_scenarios(path: Path, *words: str | Path) -> list[dict[str, Any]]:
    """What lab run writes of these words' runs, whether their checks hold or not."""
    done = lab("run", *words, "--json", path)
    assert path.exists(), done.stderr + done.stdout
    return json.loads(path.read_text())


def assert_passed(run: dict[str, Any]) -> None:
    """Every check of a run holds."""
    failed = [check for check in run["checks"] if not check["pass"]]
    assert not failed and run["error"] is None, (failed, run["error"], run["warnings"])


class Tap:
    """Counts and prints; what a failing test said follows it as comments."""

    def __init__(self) -> None:
        self.count = 0
        self.titles: dict[str, str] = {}

    def say(self, good: bool, title: str, details: str = "", skipped: str = "") -> None:
        """One result."""
        self.count += 1
        note = f" # SKIP {skipped}" if skipped else ""
        print(f"{'ok' if good else 'not ok'} {self.count} - {title}{note}", file=sys.__stdout__)
        for line in details.splitlines():
            print(f"#   {line}".rstrip(), file=sys.__stdout__)
        assert sys.__stdout__ is not None
        sys.__stdout__.flush()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take each test's title."""
        for item in items:
            doc = (getattr(item, "function", None).__doc__ or item.name).strip().splitlines()[0]
            case = getattr(item, "callspec", None)
            self.titles[item.nodeid] = f"{doc.rstrip('.')} [{case.id}]" if case else doc.rstrip(".")

    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """No letter of pytest's own."""
        return "", "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a test when it has been called; its set-up and tear-down where they failed."""
        if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
            where = report.longrepr if report.skipped else None
            skipped = str(where[2]).removeprefix("Skipped: ") if isinstance(where, tuple) else ""
            title = self.titles[report.nodeid] + (" (tear-down)" if report.when == "teardown" else "")
            said = "".join(f"\n-- {what} --\n{text}" for what, text in report.sections)
            self.say(not report.failed, title, report.longreprtext + said if report.failed else "", skipped)

    def pytest_collectreport(self, report: Any) -> None:
        """A test file that cannot be read is a failed test."""
        if report.failed:
            self.say(False, str(report.nodeid), str(report.longrepr))

    def pytest_sessionfinish(self) -> None:
        """The plan comes last."""
        print(f"1..{self.count}", file=sys.__stdout__)


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the runner asks for."""
    parser.addoption("--as-tap", action="store_true", help="report as TAP, with nothing else on standard output")


def pytest_configure(config: pytest.Config) -> None:
    """Report as TAP where that is asked for."""
    if config.getoption("as_tap"):
        config.pluginmanager.register(Tap(), "as_tap")


class Installers:
    """Programs with the installers' names, which install nothing, note their call, and fail."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes = folder / "notes"
        for name in INSTALLERS:
            program = folder / name
            program.write_text(f'#!/bin/sh\necho {name} "$@" >>{self._notes}\nexit 100\n')
            program.chmod(0o755)

    def calls(self) -> list[str]:
        """The command lines so far, which the test then answers for; sudo's are its command's."""
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        self._notes.unlink(missing_ok=True)
        return [line.removeprefix("sudo ") for line in lines]


@pytest.fixture(autouse=True)
def installers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installers]:
    """No test installs anything on the machine that it runs on: one that would fails."""
    found = Installers(tmp_path_factory.mktemp("installers"))
    monkeypatch.setenv("PATH", f"{found.folder}:{os.environ['PATH']}")
    yield found
    calls = found.calls()
    assert not calls, f"this test would have changed the machine: {calls}"


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    """Guests that are a function, where there are none."""
    from fake_lab import FakeEngine  # beside the tests that need no guest

    return FakeEngine(tmp_path / "engine")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a study is to be."""
    return tmp_path / "study"
