# SPDX-License-Identifier: GPL-2.0
"""What the engine of sweeps does before a guest is started."""

import contextlib
import hashlib
import io
import json
import os
import pathlib
import posixpath
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest
from lab.guest import protocol
from lab.machines import core, engine, frozen, image, plans, qemu, sealed
from lab.machines.guest import Guest
from lab.model.errors import LabError
from lab.model.plan import Plan
from lab.model.scenario import load
from lab.model.topology import Link, Topology
from lab.store import digest
from lab.store.run import Run

LINE = Plan(Topology("line", {"a": "host", "b": "host"}, (Link("a", "b"),)))


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


def test_what_is_told_is_read_of_an_emulator_only() -> None:
    """Elsewhere its ports are something else's, or nobody's, or may not be read."""
    done = subprocess.run([plans.guest_program("told"), "opt/lab/job"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"told: (ioperm: .*|this machine is not QEMU's|the emulator has no file opt/lab/job)\n", done.stderr
    )


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


class Sleeper(Guest):
    """A guest that says nothing; ``before`` is called before it starts."""

    before = staticmethod(lambda: None)

    def __init__(self, machine: Any) -> None:
        super().__init__("x", "virtual", [])

    def do(self, plan: Plan) -> dict[str, Any]:
        """As a copy does."""
        self.before()
        self._spawn(["sleep", "60"])
        assert self._process is not None
        STARTED.put(self._process)
        self._process.wait()
        raise LabError(self._failure("the guest ended without a word"))


STARTED: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()


@contextlib.contextmanager
def sleepers(guests: engine.Guests, monkeypatch: pytest.MonkeyPatch, count: int) -> Iterator[list[str]]:
    """So many runs at a time, in guests that sleep; at the end the errors that they have ended with."""
    monkeypatch.setattr(engine, "Copy", Sleeper)
    monkeypatch.setattr(guests, "_machine", lambda *_: contextlib.nullcontext())
    run = Run(load("smoke"), {}, "reno", "pfifo", 1, "", "x", LINE)
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(guests.run, run) for _ in range(count)]
        errors: list[str] = []
        yield errors
        errors += [str(one.exception(timeout=10)) for one in futures]


def test_a_sweep_that_ends_leaves_each_guest_to_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may close it at the same moment."""
    for _ in range(20):
        with engine.Guests() as guests, sleepers(guests, monkeypatch, 2) as errors:
            processes = [STARTED.get(timeout=10) for _ in range(2)]
            guests.stop()
        assert errors == ["the guest ended without a word"] * 2
        assert [one.returncode for one in processes] == [-signal.SIGKILL] * 2


def test_a_guest_that_starts_as_the_sweep_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is one of several, whichever started last."""
    both, stopped = threading.Barrier(3, timeout=10), threading.Event()

    def before() -> None:
        both.wait()
        stopped.wait(10)

    monkeypatch.setattr(Sleeper, "before", staticmethod(before))
    with engine.Guests() as guests, sleepers(guests, monkeypatch, 2) as errors:
        both.wait()
        guests.stop()
        stopped.set()
    assert errors == ["the guest ended without a word"] * 2


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


def test_a_run_of_a_copy_may_take_longer_than_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has booted before it was saved, and says nothing until its run is over: 1800 s of on-off sources did not."""

    class Answered(frozen.Copy):
        """Whose emulator writes a result after a while, and knows its monitor's commands."""

        def _spawn(self, command: list[str], output: int | None = None, **more: Any) -> None:
            with (self._folder / "result").open("wb") as result:
                protocol.send_json(result.fileno(), protocol.RESULT, {"error": None})
                protocol.send_json(result.fileno(), protocol.EXIT, {})
            super()._spawn(["sh", "-c", f"sleep 1; cat '{result.name}' >> '{self._folder / 'agent'}'"])

        def monitored(self) -> contextlib.AbstractContextManager[Any]:
            return contextlib.nullcontext()

        def tell(self, monitor: Any, command: str, **arguments: Any) -> dict[str, Any]:
            return {"status": frozen.STOPPED}

    monkeypatch.setattr(qemu, "BOOT_TIMEOUT_S", 0.1)
    monkeypatch.setattr(core.Core, "command", lambda self: [])
    monkeypatch.setattr(sealed, "uncompressed_image", lambda kernel, cache: tmp_path / "vmlinux")
    with Answered(frozen.Frozen("6.1", tmp_path / "root", tmp_path / "state", {})) as copied:
        assert copied.do(Plan(None)) == {"error": None}


class Parts:
    """What guests are made of, in files that a test may change, and what they were given."""

    NAMES = ("image", "tc plugin", "traffic engine", "told", "tcp_pktpair")

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        places = ("image", "build/tc/q_fq_rr.so", "traffic", "told", "kmod/tcp_pktpair.ko")
        self.files = {name: folder / place for name, place in zip(self.NAMES, places, strict=True)}
        self.write("before")
        self.packed: dict[str, str] = {}
        self.job: dict[str, Any] = {}
        vmlinux = folder / "vmlinux"
        vmlinux.touch()
        for module, name, value in (
            (engine, "find_kernel", lambda *_: "6.1"),
            (qemu, "find_kernel", lambda *_: "6.1"),
            (engine, "uncompressed_image", lambda *_: vmlinux),
            (plans, "uncompressed_image", lambda *_: vmlinux),
            (plans.btf, "ack_probe", lambda _: "p:lab/ack"),
            (plans, "guest_program", lambda name: folder / name),
            (sealed, "TOP", folder),
            (engine, "modules_of", lambda *_: [self.files["tcp_pktpair"]]),
            (engine, "EMULATOR", "cat"),
            (image, "copy_base", lambda _, __, out: out.write_text(self.files["image"].read_text())),
            (image, "build", self.build),
            (frozen.Template, "freeze", self.freeze),
        ):
            monkeypatch.setattr(module, name, value)

    def write(self, text: str) -> None:
        for path in self.files.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def build(
        self, _: Path, __: Path, job: dict[str, Any], extra: Mapping[str, Path], ___: Path, base: Path | None
    ) -> None:
        places = ("lab/build/tc/q_fq_rr.so", "lab/traffic", "lab/told", "lab/modules/tcp_pktpair.ko")
        assert base is not None and set(extra) == set(places)
        found = (base, *(extra[place] for place in places))
        self.packed = {name: path.read_text() for name, path in zip(self.NAMES, found, strict=True)}
        self.job = job

    @staticmethod
    def freeze(template: frozen.Template, plan: Plan, *_: object) -> frozen.Frozen:
        """What the real one does, until the guest is booted."""
        told = {**template.job([plan]), "structure": plan.structure, "plans": [], "times": []}
        template._pack({**told, "clock": template.clock})
        return frozen.Frozen("6.1", Path(), Path(), {})


@pytest.mark.parametrize("change", ["after", None])
def test_guests_are_made_of_what_was_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str | None
) -> None:
    """Guest code, programs, modules, plugin or traffic engine that change or go while a sweep is at work reach none."""
    parts = Parts(tmp_path, monkeypatch)
    with engine.Guests() as guests:
        found = guests.surroundings("", "")
        named = {**found.tools, **found.code, **found.modules}
        before = {name: digest.of_file(path) for name, path in named.items()}
        if change is None:
            for path in parts.files.values():
                path.unlink()
        else:
            parts.write(change)
        with guests._machine("6.1", "", LINE):
            assert parts.packed == dict.fromkeys(parts.NAMES, "before")
        assert set(named) == set(parts.NAMES)
        assert {name: digest.of_file(path) for name, path in named.items()} == before


def test_the_digest_has_all_that_a_guest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not in the plan is in the surroundings: the whole job but for the modules' paths, and the network."""
    parts = Parts(tmp_path, monkeypatch)
    with engine.Guests() as guests:
        machine = guests.surroundings("", "").machine
        with guests._machine("6.1", "", LINE):
            pass
    of_plan = {"plans": [], "times": [], "structure": LINE.structure}
    modules = {"modules": ["/lab/modules/tcp_pktpair.ko"]}
    assert parts.job == {**json.loads(machine["job"]), **of_plan, **modules}
    assert {"kind", "ack_probe", "traffic", "clock", "top"} == set(json.loads(machine["job"]))


def test_an_image_of_another_environment_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image's name changes with each file that is in it, and with Python: what is in the image is as it is now."""
    tree = tmp_path / "6.1"
    module = tree / "kernel" / "net" / "sched" / "sch_fq.ko"
    module.parent.mkdir(parents=True)
    module.touch()
    (tree / "modules.dep").write_text("kernel/net/sched/sch_fq.ko:\n")
    here = {name: tmp_path / name for name in ("tc", "libc.so.6", "json.py", "_json.so")}
    for path in here.values():
        path.write_text("")
    monkeypatch.setattr(image, "programs", lambda: [str(here["tc"])])
    monkeypatch.setattr(image, "libraries", lambda path: [str(here["libc.so.6"])] if path == str(here["tc"]) else [])
    monkeypatch.setattr(image, "python_files", lambda: [str(here["json.py"]), str(here["_json.so"])])
    # what else is in the archive is of the lab's own code
    archived = io.BytesIO()
    image.base(tree, archived)
    for path in (*here.values(), module):
        assert path.name.encode() in archived.getvalue()
    keys = [image.base_key(tree)]
    assert image.base_key(tree) == keys[0]
    for path in (*here.values(), module, tree / "modules.dep"):
        os.utime(path, ns=(1, len(keys)))
        keys.append(image.base_key(tree))
    other = tmp_path / "python3.12"
    other.touch()
    monkeypatch.setattr(image, "PYTHON", other)
    keys.append(image.base_key(tree))
    assert len(set(keys)) == len(keys) == 1 + len(here) + 2 + 1


def test_bpftrace_has_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes into a guest with a script is the program with all that it loads."""
    monkeypatch.setattr(image, "installed", lambda name: "/bin/sh")
    program, *libraries = plans.bpftrace_files()
    assert program == Path("/bin/sh")
    assert any(path.name.startswith("libc.so") for path in libraries)
