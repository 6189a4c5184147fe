# SPDX-License-Identifier: GPL-2.0
"""What the engine of sweeps does before a guest is started."""

import subprocess
from pathlib import Path
from typing import IO

import pytest
from lab.machines import engine, image


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


def test_the_cached_image_may_be_removed_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a command in another checkout, whose image is another one."""
    cached = tmp_path / "cached"
    cached.write_bytes(b"image")

    def removed(tree: Path, cache: Path) -> IO[bytes]:
        kept = cached.open("rb")
        cached.unlink()
        return kept

    monkeypatch.setattr(image, "kept_base", removed)
    image.copy_base(tmp_path, tmp_path, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"image"
