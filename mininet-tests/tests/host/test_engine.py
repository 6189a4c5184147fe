# SPDX-License-Identifier: GPL-2.0
"""What the engine of sweeps does before a guest is started."""

import hashlib
import os
import pathlib
import posixpath
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from lab.machines import core, engine, frozen, image, plans, qemu, sealed
from lab.model.plan import Plan


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


@pytest.mark.parametrize("before", ["", "import rich.progress", "import lab.front.run"])
def test_byte_code_depends_on_its_source_only(before: str) -> None:
    """An image that is made anew, by another command, is the same to the last bit."""
    make = (
        "import hashlib, pathlib, posixpath\n"
        "from lab.machines import image\n"
        "code = image.compiled([pathlib.__file__, posixpath.__file__])\n"
        "print(hashlib.sha256(b''.join(code)).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": str(1 + len(before)), "LC_ALL": "C"}
    command = [sys.executable, "-P", "-c", f"{before}\n{make}"]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    code = image.compiled([pathlib.__file__, posixpath.__file__])
    assert made.stdout.strip() == hashlib.sha256(b"".join(code)).hexdigest()


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


def test_the_digest_has_the_whole_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for paths, what a copy is started with is what its surroundings say: devices and the kernel's arguments."""

    class SpawnedError(Exception):
        """With the command line."""

    def spawn(self: object, command: list[str]) -> None:
        raise SpawnedError(command)

    monkeypatch.setattr(frozen.Copy, "_spawn", spawn)
    monkeypatch.setattr(core.Core, "command", lambda self: [])
    monkeypatch.setattr(sealed, "uncompressed_image", lambda kernel, cache: tmp_path / "vmlinux")
    copied = frozen.Copy(frozen.Frozen("6.1", tmp_path / "root", tmp_path / "state", {}))
    with pytest.raises(SpawnedError) as spawned, copied:
        folder = copied._folder
        copied.do(Plan(None))
    (command,) = spawned.value.args
    line = " ".join(command)
    names = {"agent": "AGENT", "monitor": "MONITOR", "told.json": "TOLD"}
    for path, name in {folder / path: name for path, name in names.items()}.items():
        line = line.replace(str(path), name)
    line = line.replace(str(tmp_path / "vmlinux"), "KERNEL").replace(str(tmp_path / "root"), "ROOT")
    state = f" -incoming exec:cat '{tmp_path / 'state'}'"
    assert line == f"qemu-system-x86_64 {frozen.pathless_command_line()}{state}"
    assert all(option in line for option in (*qemu.KERNEL_OPTIONS, "pvpanic", "virtserialport", "-icount"))


def test_bpftrace_has_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes into a guest with a script is the program with all that it loads."""
    monkeypatch.setattr(image, "installed", lambda name: "/bin/sh")
    program, *libraries = plans.bpftrace_files()
    assert program == Path("/bin/sh")
    assert any(path.name.startswith("libc.so") for path in libraries)
