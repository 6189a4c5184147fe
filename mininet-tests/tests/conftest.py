# SPDX-License-Identifier: GPL-2.0
"""Reports tests as TAP, each by the first line of its docstring."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "mininet-tests"))


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
            print(f"#   {line}", file=sys.__stdout__)
        assert sys.__stdout__ is not None
        sys.__stdout__.flush()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take each test's title."""
        for item in items:
            doc = (getattr(item, "function", None).__doc__ or item.name).strip().splitlines()[0]
            case = getattr(item, "callspec", None)
            self.titles[item.nodeid] = f"{doc.rstrip('.')} [{case.id}]" if case else doc.rstrip(".")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a test when it has been called, or when its set-up failed."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            skipped = str(report.longrepr[2]) if report.skipped and isinstance(report.longrepr, tuple) else ""
            details = "" if report.passed or report.skipped else f"{report.longreprtext}\n{report.capstderr}"
            self.say(report.passed or report.skipped, self.titles[report.nodeid], details, skipped)

    def pytest_collectreport(self, report: Any) -> None:
        """A test file that cannot be read is a failed test."""
        if report.failed:
            self.say(False, str(report.nodeid), str(report.longrepr))

    def pytest_sessionfinish(self) -> None:
        """The plan comes last."""
        print(f"1..{self.count}", file=sys.__stdout__)


def pytest_configure(config: pytest.Config) -> None:
    """Report as TAP where pytest's own reporter is off."""
    if not config.pluginmanager.has_plugin("terminalreporter"):
        config.pluginmanager.register(Tap(), "tap")
