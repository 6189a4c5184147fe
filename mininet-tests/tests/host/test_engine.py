# SPDX-License-Identifier: GPL-2.0
"""What the engine of sweeps does before a guest is started."""

import subprocess
from pathlib import Path

import pytest
from lab.machines import engine


def test_a_revision_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are those of the commit, with their modes, whatever the checkout has now."""
    top = tmp_path / "checkout"
    script = top / "scripts" / "build"
    script.parent.mkdir(parents=True)
    script.write_text("of then")
    script.chmod(0o755)
    git = ["git", "-C", str(top), "-c", "user.name=me", "-c", "user.email=me@localhost"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "then"]):
        subprocess.run([*git, *words], check=True)
    script.write_text("of now")
    monkeypatch.setattr(engine, "TOP", top)
    found = engine.unpack("HEAD", tmp_path / "tree") / "scripts" / "build"
    assert found.read_text() == "of then"
    assert found.stat().st_mode & 0o111
