# SPDX-License-Identifier: GPL-2.0
"""A real machine builds our modules from what it is sent and the headers of its own kernel."""

import subprocess
from pathlib import Path

import pytest
from lab.checkout import TOP
from lab.hosts import engine, there
from lab.model.our_modules import FILES

HEADERS = (TOP / ".cache" / "kernels" / "default" / "build").resolve()


def built_on_a_host(work: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[str]:
    """What the last of the agent's commands says, with the source in its work folder."""
    monkeypatch.setattr(there, "work_folder", lambda: work)
    work.mkdir()
    (work / there.SOURCE).write_bytes(engine._source())
    (*before, command), undo = there.commands({"build": str(kernel)})
    # the journal removes the work folder, and all with it
    assert undo == []
    for argv in before:
        subprocess.run(argv, check=True)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_sent_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module that a plan may ask for."""
    done = built_on_a_host(tmp_path / "work", HEADERS, monkeypatch)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (folder,) = (tmp_path / "work" / "source" / "build").iterdir()
    assert [file for file in FILES if not (folder / file).exists()] == []


def test_a_build_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = built_on_a_host(tmp_path / "work", tmp_path, monkeypatch)
    assert done.returncode == 1 and f"no kernel headers in {tmp_path}" in done.stderr
