# SPDX-License-Identifier: GPL-2.0
"""What all tests share: where the checkout is, and that none changes the machine."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.model.our_modules import FILES

TOP = Path(__file__).resolve().parent.parent.parent
LAB = TOP / "scripts" / "lab"
# What a run says it has loaded.
MODULES = {Path(file).stem for file in FILES}

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


def quick_start(folder: Path) -> list[str]:
    """Writes the quick start's files; returns its commands."""
    text = (TOP / "Documentation" / "lab.rst").read_text()
    for name, block in re.findall(r"Save this as\s+``mine/(\S+)``::\n\n((?: {4}.*\n|\n)+)", text):
        (folder / name).write_text(re.sub(r"^ {4}", "", block, flags=re.MULTILINE))
    return [line for line in re.findall(r"^ {4}(scripts/lab sweep .*)$", text, re.MULTILINE)]


def assert_passed(run: dict[str, Any]) -> None:
    """Every check of a run holds."""
    failed = [check for check in run["checks"] if not check["pass"]]
    assert not failed and run["error"] is None, (failed, run["error"], run["warnings"])


def raws(study: Path) -> dict[str, dict[str, Any]]:
    """The raw results without what depends on the store, by digest."""
    return {path.name: json.loads(gzip.decompress(path.read_bytes()))["raw"] for path in (study / "raw").iterdir()}


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


@pytest.fixture(scope="session")
def all_installers(tmp_path_factory: pytest.TempPathFactory) -> Installers:
    """Written once."""
    return Installers(tmp_path_factory.mktemp("installers"))


@pytest.fixture(autouse=True)
def installers(all_installers: Installers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installers]:
    """No test installs anything on the machine that it runs on: one that would fails."""
    monkeypatch.setenv("PATH", f"{all_installers.folder}:{os.environ['PATH']}")
    yield all_installers
    calls = all_installers.calls()
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
