# SPDX-License-Identifier: GPL-2.0
"""Two commands in one checkout at once: neither disturbs the other."""

import fcntl
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest
from conftest import TOP
from lab import cli, files
from lab.front import cost
from lab.machines import image
from lab.machines.sealed import SealedGuest
from lab.model.errors import LabError
from torture import guests

ROUNDS = 50


def test_two_versions_of_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two commands that want different bases in one cache: each gets its own, though it removes the other's."""
    versions = threading.local()
    monkeypatch.setattr(image, "base_key", lambda tree: versions.key)
    monkeypatch.setattr(image, "base", lambda tree, out: out.write(versions.key.encode()))
    write = files.write

    def write_and_wait(path: Path, content: bytes | str) -> None:
        write(path, content)
        time.sleep(0.01)  # in which the other command may remove it

    monkeypatch.setattr(files, "write", write_and_wait)
    tree, cache = tmp_path / "6.1", tmp_path / "cache"

    def boots(key: str) -> None:
        versions.key = key
        for number in range(ROUNDS):
            root = tmp_path / f"{key}-{number}"
            image.build(tree, cache, {"job": number}, {}, root)
            assert root.read_bytes().startswith(key.encode())

    with ThreadPoolExecutor(2) as pool:
        for ended in [pool.submit(boots, key) for key in ("one", "two")]:
            ended.result()
    assert len(list(cache.glob("*.cpio"))) == 1


def test_one_base_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many commands that want the same base one makes it."""
    made = []
    at_once = threading.Barrier(4)

    def base(tree: Path, out: IO[bytes]) -> None:
        made.append(tree)
        time.sleep(0.1)  # in which the others look for it
        out.write(b"base")

    monkeypatch.setattr(image, "base_key", lambda tree: "key")
    monkeypatch.setattr(image, "base", base)

    def boot(number: int) -> bytes:
        at_once.wait()
        image.build(tmp_path / "6.1", tmp_path / "cache", {}, {}, tmp_path / str(number))
        return (tmp_path / str(number)).read_bytes()[:4]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(boot, range(4))) == [b"base"] * 4
    assert len(made) == 1


def test_half_a_file_is_never_seen(tmp_path: Path) -> None:
    """A file that is written again and again has one content or the other for who reads it."""
    path = tmp_path / "summary.json"
    contents = [json.dumps([digit] * 100_000) for digit in "12"]
    files.write(path, contents[0])
    over = threading.Event()

    def writes() -> None:
        for number in range(ROUNDS):
            files.write(path, contents[number % 2])
        over.set()

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(writes)
        while not over.is_set():
            assert path.read_text() in contents
        written.result()
    assert [entry.name for entry in tmp_path.iterdir()] == ["summary.json"]


def test_the_summary_keeps_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instructions that are measured while nanoseconds are joined with older ones are not lost."""
    joining = threading.Event()
    monkeypatch.setattr(cost, "SUMMARY", tmp_path / "summary.json")
    cost.keep(lambda _: {"rows": ["old"]})

    def join(summary: dict[str, Any]) -> dict[str, Any]:
        joining.set()
        time.sleep(0.3)
        return {**summary, "native": {}}

    with ThreadPoolExecutor(1) as pool:
        nanoseconds = pool.submit(cost.keep, join)
        joining.wait()
        cost.keep(lambda _: {"rows": ["new"]})
        nanoseconds.result()
    assert json.loads(cost.SUMMARY.read_text())["rows"] == ["new"]


def test_no_build_while_a_guest_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a guest is given the modules, nobody may build them."""
    lock = tmp_path / "lock"
    lock.touch()
    monkeypatch.setattr(SealedGuest, "modules", lambda self: [tmp_path / "kmod" / "tcp_pktpair.ko"])

    def build(*_: object) -> None:
        with lock.open() as held, pytest.raises(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise LookupError("it was locked")

    monkeypatch.setattr(image, "build", build)
    with SealedGuest() as guest, pytest.raises(LabError, match="it was locked"):
        guest.start({"kind": "run"})


HOLDS = """
import sys, tempfile
from pathlib import Path
from lab import files
tempfile.tempdir = sys.argv[1]
folder, held = files.held_folder("pktpair-lab-")
(folder / "root.cpio").write_bytes(bytes(1000))
print(folder, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_guest_left_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a process holds stays, and one whose process was killed is removed; another's is not touched."""
    foreign = tmp_path / "pktpair-lab-foreign"
    foreign.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")}
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    killed, alive = (Path(process.stdout.readline().strip()) for process in processes)
    processes[0].kill()
    processes[0].communicate()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with SealedGuest() as guest:
        own = guest._folder
        assert not killed.exists() and (alive / "root.cpio").exists() and foreign.exists()
        files.remove_unless_held(own)
        assert own.exists()
    assert not own.exists()
    processes[1].communicate("")
    files.remove_unless_held(alive)
    assert not alive.exists()


# Headers whose make notices a second build beside it
BUSY = """
modules:
	@mkdir $(M)/busy || { echo another build is under way >&2; exit 1; }
	@sleep 0.3
	@rmdir $(M)/busy
%.o:
	@touch $(M)/$@
"""


def test_two_builds(tmp_path: Path) -> None:
    """Of two builds of the modules for one kernel the second waits; so does one while a guest reads them."""
    kdir = tmp_path / "kdir"
    (kdir / "include" / "generated").mkdir(parents=True)
    (kdir / "Makefile").write_text(BUSY)
    (kdir / "include" / "generated" / "utsrelease.h").write_text('#define UTS_RELEASE "6.1-busy"\n')
    (kdir / "include" / "generated" / "autoconf.h").touch()
    environment = {**os.environ, "PKTPAIR_BUILD": str(tmp_path / "build")}
    command = [TOP / "scripts" / "build-modules", "--quiet", "--kdir", kdir]
    builds = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    said = [build.communicate(timeout=60)[1] for build in builds]
    assert ([build.returncode for build in builds], said) == ([0, 0], ["", ""])
    with files.locked(tmp_path / "build" / "6.1-busy" / "lock", shared=True):
        build = subprocess.Popen(command, env=environment)
        with pytest.raises(subprocess.TimeoutExpired):
            build.wait(timeout=1)
    assert build.wait(timeout=60) == 0


def test_what_a_quiet_build_says(tmp_path: Path) -> None:
    """Nothing, unless it fails: then all."""
    kdir = tmp_path / "kdir"
    (kdir / "include" / "generated").mkdir(parents=True)
    (kdir / "Makefile").write_text("modules:\n\t@echo error: no such register\n\t@exit 1\n%.o:\n\t@touch $(M)/$@\n")
    (kdir / "include" / "generated" / "utsrelease.h").write_text('#define UTS_RELEASE "6.1-bad"\n')
    (kdir / "include" / "generated" / "autoconf.h").touch()
    environment = {**os.environ, "PKTPAIR_BUILD": str(tmp_path / "build")}
    command = [TOP / "scripts" / "build-modules", "--quiet", "--kdir", kdir]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode != 0 and not done.stdout
    assert "error: no such register" in done.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mutants", ["--count", "1", "--only", "qdisc/qlbp.h"]),
        ("hostile", ["--short", "--only", "bounds"]),
        ("torture", ["--short", "--only", "races"]),
    ],
)
def test_one_folder_of_results_is_of_one_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: list[str],
) -> None:
    """The second command ends before it boots or builds anything, and names the first."""
    told = cli.parse([name, *arguments])
    command = importlib.import_module(cli.COMMANDS[name][1])
    monkeypatch.setattr(command, "OUT", tmp_path)
    monkeypatch.setattr(guests, "build", lambda _: "6.1")
    monkeypatch.setattr(command, "leave_no_guest", lambda: None, raising=False)
    for does in ("torture", "run_bounds", "Campaign"):
        monkeypatch.setattr(command, does, lambda *_: pytest.fail("it is at work"), raising=False)
    folder = tmp_path / "qlbp" if name == "mutants" else tmp_path
    with (
        files.claimed(folder),
        pytest.raises(files.BusyError, match=f"{folder}: another command is at work on it: process {os.getpid()}"),
    ):
        told.main(told)
    with files.claimed(folder):
        pass
