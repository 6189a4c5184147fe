# SPDX-License-Identifier: GPL-2.0
"""lab sweep --on: Dask's scheduler and workers are real, and each run is a process; what stands in is the guest."""

import asyncio
import contextlib
import errno
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import types
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import distributed
import fake_lab
import pytest
from dask_processes import PATIENCE_S, Network, Processes, wait_for
from fake_lab import FakeEngine, figures, parsed
from lab.analyse import table
from lab.front import sweep as sweep_command
from lab.machines import cluster, cluster_file, dask_start, delivered, errand, parcel
from lab.machines.parcel import Content
from lab.machines.sealed import Copies
from lab.model.errors import LabError, PlanError
from lab.show import report as page
from lab.store.run import Run
from lab.store.study import Study

# In place of the parcel's own: notes when a run begins and ends, and has FakeEngine's result. A run waits while
# there is the file $HOLD, and finds no space while there is the file $FULL.
STAND_IN = b"""
import json, os, pathlib, sys, time

order = json.load(sys.stdin)
plan = order["orders"]["plan"]
title = f"{plan['flows'][0]['cc']} {plan['hash_seed']}"


def note(what):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{what} {os.environ['WORKER']} {title}\\n")


note("begin")
while os.path.exists(os.environ.get("HOLD", "/nowhere")):
    time.sleep(0.02)
if os.path.exists(os.environ.get("FULL", "/nowhere")):
    print(json.dumps({"failed": "/store: No space left on device", "log": [], "is_full": True}))
    sys.exit()
if plan["hash_seed"] == 1313:
    print(json.dumps({"failed": "the guest is gone", "log": ["Kernel panic"], "is_full": False}))
    sys.exit()
raw = {"error": None, "dmesg_tail": ["last words"], "delay_s": 0.01 * plan["hash_seed"], "begin_s": 100.0, "trace": ""}
note("end")
print(json.dumps({"raw": raw}))
"""


class Here(FakeEngine):
    """What this machine's guests are made of."""

    def surroundings(self, kernel, modules):
        found = super().surroundings(kernel, modules)
        return replace(found, emulator=errand.machine()["emulator"], machine={"job": '{"kind": "plans"}'})

    def parts(self, kernel, build):
        common = {"lab/tc": self.folder / "tc"}
        return Copies(self.folder / "agent.py", common), sorted((self.folder / build).glob("*.ko"))


def code() -> dict[str, Content]:
    names = ("lab/__init__.py", "lab/machines/__init__.py")
    found = {f"checkout/mininet-tests/{name}": Content.of(b"") for name in names}
    return {**found, "checkout/mininet-tests/lab/machines/delivered.py": Content.of(STAND_IN)}


class Bench:
    """A cluster of processes, and sweeps on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = Processes(folder)
        self.notes = folder / "notes"
        self.notes.touch()
        self.hold = folder / "hold"
        # until a slower worker has a run as well
        self.later = folder / "later"
        self.engine = Here(folder / "engine")
        self.out = folder / "study"
        self.scenario = self.engine.folder / "fair_share.py"
        self.scenario.write_text(fake_lab.SCENARIO)
        self.address = ""

    def worker(self, name: str, **more) -> subprocess.Popen:
        return self.processes.worker(self.address, name, NOTES=str(self.notes), **more)

    def await_workers(self, number: int) -> None:
        """A sweep that finds but one of them goes by that one."""
        with distributed.Client(self.address) as client:
            client.wait_for_workers(number, timeout=PATIENCE_S)

    def noted(self, *what: str) -> list[str]:
        """Notes that begin with these words."""
        return [line for line in self.notes.read_text().splitlines() if line.startswith(" ".join(what))]

    def file(self, **values: object) -> Path:
        path = self.folder / "mine.toml"
        content = {"kind": "scheduler", "address": self.address, "store": "$STORE", "wait_s": 60, **values}
        path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in content.items()))
        return path

    def sweep(self, *words: object, file: Path | None = None) -> int:
        path = file or self.file()
        arguments = parsed("sweep", self.scenario, "--out", self.out, *words)
        with cluster.Cluster(cluster_file.load(str(path)), self.engine, cluster.complain) as remote:
            return sweep_command.sweep(arguments, remote, figures, remote=remote)

    def started(self, *words: object, file: Path | None = None) -> list[int]:
        """A sweep in a thread; its status is in the list when it has ended."""
        status: list[int] = []
        thread = threading.Thread(target=lambda: status.append(self.sweep(*words, file=file)), daemon=True)
        thread.start()
        return status

    def outcome(self, number: int = -1) -> dict:
        return json.loads((self.out / "manifest.json").read_text())["sweeps"][number]["cluster"]

    def raws(self, out: Path | None = None) -> dict[str, dict]:
        folder = (out or self.out) / "raw"
        return {path.name: json.loads(gzip.decompress(path.read_bytes()))["raw"] for path in folder.iterdir()}


@pytest.fixture
def bench(tmp_path_factory, monkeypatch) -> Iterator[Bench]:
    """A scheduler, and no worker yet."""
    monkeypatch.setattr(cluster, "code", code)
    one = Bench(tmp_path_factory.mktemp("on"))
    _, one.address = one.processes.scheduler()
    yield one
    one.processes.close()


def test_two_workers_find_what_this_machine_finds(bench, capsys) -> None:
    """A study of 100 runs: tables and raw results are the same to the last digit, and each run is done once."""
    for name in ("a", "b"):
        bench.worker(name)
    words = ("--set", "rate_mbit=3,7", "--seeds", "1-25")
    assert bench.sweep(*words) == 0
    said = capsys.readouterr()
    assert "100 runs asked for: 100 run, 0 there before, 0 failed." in said.out
    assert f"2 workers of {bench.file()}, 0 refused, 0 lost; 0 runs retried" in said.out
    assert ": dashboard http://127.0.0.1:" in said.err
    assert len(bench.noted("begin")) == len(bench.noted("end")) == 100
    assert bench.noted("end a") and bench.noted("end b")
    local = bench.folder / "local"
    arguments = parsed("sweep", bench.scenario, "--out", local, *words)
    assert sweep_command.sweep(arguments, bench.engine, figures) == 0
    assert bench.raws() == bench.raws(local) and len(bench.raws()) == 100
    assert (bench.out / "table.csv").read_bytes() == (local / "table.csv").read_bytes()
    # nothing is run twice, and no cluster is needed for that
    bench.processes.close()
    assert bench.sweep(*words) == 0
    assert len(bench.noted("begin")) == 100


def test_a_worker_that_is_killed(bench, capsys) -> None:
    """What it did begins again on the other one; what had ended is not repeated, and the report says what was."""
    bench.hold.touch()
    bench.later.touch()
    bench.worker("a", HOLD=str(bench.later))
    killed = bench.worker("b", HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-10")
    wait_for("run on b", lambda: bench.noted("begin b"))
    bench.later.unlink()
    wait_for("ends on a", lambda: len(bench.noted("end a")) >= 3)
    before = bench.noted("end")
    bench.processes.kill(killed)
    wait_for("end", lambda: status)
    assert status == [0]
    assert bench.noted("end")[: len(before)] == before
    ended = [line.partition(" a ")[2] for line in bench.noted("end")]
    assert len(ended) == len(set(ended)) == 20
    (lost,) = [line.partition(" b ")[2] for line in bench.noted("begin b")]
    assert [line for line in bench.noted("begin") if line.endswith(f" {lost}")] == [
        f"begin b {lost}",
        f"begin a {lost}",
    ]
    outcome = bench.outcome()
    assert outcome["lost"] == ["b"]
    (retried,) = outcome["retried"]
    cc, seed = lost.split()
    assert retried["workers"] == ["b"] and f" {cc}+" in retried["run"] and retried["run"].endswith(f" seed {seed}")
    said = capsys.readouterr()
    assert f"    retried: {retried['run']}, which b did not end" in said.out
    assert "worker b on " in said.err and "is lost" in said.err
    assert len(bench.raws()) == 20
    text = page.write(Study(bench.out), table.build(Study(bench.out), figures)).read_text()
    assert f"{retried['run']}, which b did not end" in text


def test_the_last_worker_is_killed_and_another_comes(bench) -> None:
    """Runs wait for it, and each is done once."""
    bench.hold.touch()
    killed = bench.worker("a", HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-3")
    wait_for("run on a", lambda: bench.noted("begin a"))
    bench.processes.kill(killed)
    bench.worker("b")
    wait_for("end", lambda: status)
    assert status == [0]
    assert len(bench.noted("end b")) == 6 and not bench.noted("end a")
    assert [one["workers"] for one in bench.outcome()["retried"]] == [["a"]]


def test_no_other_worker_comes(bench, capsys) -> None:
    """Within the time that the file allows; what is stored is whole, and the same sweep goes on from it."""
    bench.hold.touch()
    bench.later.touch()
    killed = bench.worker("a", HOLD=str(bench.later))
    held = bench.worker("b", HOLD=str(bench.hold))
    # on a busy machine a worker takes longer than wait_s to come
    bench.await_workers(2)
    status = bench.started("--seeds", "1-3", file=bench.file(wait_s=1))
    wait_for("run on b", lambda: bench.noted("begin b"))
    bench.later.unlink()
    wait_for("results", lambda: len(list((bench.out / "raw").glob("[0-9a-f]*"))) == 5)
    for one in (killed, held):
        bench.processes.kill(one)
    wait_for("end", lambda: status)
    assert status == [1]
    said = capsys.readouterr().err
    assert "no worker within 1 s (wait_s); what was stored is whole, and the same sweep goes on from it" in said
    assert len(bench.raws()) == 5 and not list((bench.out / "failed").iterdir())
    bench.worker("c")
    assert bench.sweep("--seeds", "1-3") == 0
    assert len(bench.noted("end c")) == 1 and len(bench.raws()) == 6


def with_firmware(folder: Path) -> str:
    """A PATH on which QEMU is what it is here, and finds another firmware beside itself."""
    folder.mkdir()
    shutil.copy(shutil.which("qemu-system-x86_64"), folder)
    share = folder.parent / "share" / "qemu"
    share.mkdir(parents=True)
    (share / errand.FIRMWARE[0]).write_bytes(b"other")
    return f"{folder}:{os.environ['PATH']}"


def with_qemu(folder: Path, says: str) -> str:
    """A PATH on which QEMU says something."""
    folder.mkdir()
    program = folder / "qemu-system-x86_64"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_worker_that_cannot_be_looked_at(bench, capsys) -> None:
    """It is there, and each look at it fails in the same way: the sweep does not look for ever."""
    bench.worker("odd", PATH=with_qemu(bench.folder / "bin", "QEMU \\377"))
    status = bench.started(file=bench.file(wait_s=3600))
    wait_for("end", lambda: status)
    assert status == [2]
    said = capsys.readouterr().err
    assert "every worker is refused" in said and said.count("UnicodeDecodeError") == cluster.MAX_TROUBLES + 1


ANSWERS = [b"", b"x", b"[", b"[]", b"3", b"null", b"[1]", b'{"raw": 3}', b'{"raw": "abc"}', b"{}", b"\xff",
           b'{"failed": "x"}', b'{"failed": "x", "log": 3}', b'{"log": []}', b"[" * 100_000]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_an_answer_that_is_none(number) -> None:
    """Each is one of the errors that a run's answer is said to have."""
    with pytest.raises((zlib.error, KeyError, TypeError, ValueError, RecursionError)):
        cluster._read(zlib.compress(ANSWERS[number]))


def test_what_a_worker_says_is_nothing_to_a_terminal(bench, capsys) -> None:
    """Its name, and how a run has failed."""
    bench.worker("a\x1b[2Jb")
    bench.worker("old\x1b]0;", PATH=with_qemu(bench.folder / "bin", "QEMU \\033[31m"))
    bench.await_workers(2)
    bench.sweep("--seeds", "1", "--cc", "bbr", "--qdisc", "cake")
    said = "".join(capsys.readouterr())
    assert "\x1b" not in said
    failed = zlib.compress(json.dumps({"failed": "\x1b[2J", "log": ["\x9b"]}).encode())
    assert cluster._read(failed) == {"failed": "\\x1b[2J", "log": ["\\x9b"], "is_full": False}


@pytest.mark.parametrize("which", ["emulator", "build", "firmware", "missing"])
def test_a_worker_with_another_qemu(bench, capsys, which) -> None:
    """It is refused by its name, and the other one does all."""
    own = errand.machine()["emulator"]
    says = "QEMU emulator version 1.2.3" if which == "emulator" else own
    path = with_firmware(bench.folder / "bin") if which == "firmware" else with_qemu(bench.folder / "bin", says)
    if which == "missing":
        (bench.folder / "bin" / "qemu-system-x86_64").unlink()
        for name in ("setpriv", "taskset", "chrt"):
            (bench.folder / "bin" / name).symlink_to(shutil.which(name))
        path = str(bench.folder / "bin")
    bench.worker("old", PATH=path)
    bench.hold.touch()
    bench.worker("good", HOLD=str(bench.hold))
    bench.await_workers(2)
    status = bench.started()
    message = {
        "emulator": f"has QEMU emulator version 1.2.3, and must have {own}",
        "build": "has another build of qemu-system-x86_64: SHA-256 ",
        "firmware": "has another build of bios-256k.bin: SHA-256 ",
        "missing": "qemu-system-x86_64 not installed there",
    }[which]
    wait_for("begin", lambda: bench.noted("begin good"))
    # a worker that was refused gets nothing while it is there
    said = []
    wait_for("refusal", lambda: said.append(capsys.readouterr().err) or "worker old on " in "".join(said))
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    (refused,) = bench.outcome()["refused"]
    assert refused["worker"] == "old" and refused["reason"].startswith(message)
    assert not bench.noted("begin old") and len(bench.noted("end good")) == 2


@pytest.mark.parametrize("what", ["checkout", "kernel", "module", "file"])
def test_a_worker_of_which_a_file_has_changed(bench, capsys, what) -> None:
    """Of the checkout, the kernel, or a module: it is refused by its name and the file's."""
    bench.worker("a")
    assert bench.sweep("--seeds", "1") == 0
    place = next((bench.folder / "store-a" / "parcels").iterdir())
    path = {
        "checkout": place / "checkout" / "mininet-tests" / "lab" / "machines" / "delivered.py",
        "kernel": place / "cache" / "kernels" / "6.1-default" / "boot" / "vmlinux-6.1-default",
        "module": place / "modules" / "tcp_pktpair.ko",
        "file": place / "modules" / "tcp_pktpair.ko",
    }[what]
    content = path.read_bytes()
    if what == "file":
        # the file itself, of which the parcel has a link
        path.write_bytes(content + b"#")
    else:
        path.unlink()
        path.write_bytes(content + b"#")
    before = bench.noted("begin")
    capsys.readouterr()
    assert bench.sweep("--seeds", "2", "--out", bench.folder / "other") == 2
    said = capsys.readouterr().err
    named = path.name if what != "file" else "store-a/files/"
    assert "every worker is refused:\n    a on " in said and named in said and " has changed: SHA-256 " in said
    assert bench.noted("begin") == before and not (bench.folder / "other").exists()


@pytest.mark.parametrize("what", ["python", "distributed"])
def test_a_worker_with_another_python_or_dask(bench, capsys, monkeypatch, what) -> None:
    """It is refused before it gets any code."""
    bench.worker("a")
    versions = distributed.Client.get_versions

    def other(self, **options):
        found = versions(self, **options)
        for one in found["workers"].values():
            one["host"]["python"] = "3.9.2.final.0" if what == "python" else one["host"]["python"]
            one["packages"]["distributed"] = "2020.1" if what == "distributed" else one["packages"]["distributed"]
        return found

    monkeypatch.setattr(distributed.Client, "get_versions", other)
    assert bench.sweep() == 2
    said = capsys.readouterr().err
    reason = {"python": "has Python 3.9, and must have 3.", "distributed": "has distributed 2020.1, and must have "}
    assert re.search(rf"\n    a on \S+: {re.escape(reason[what])}", said), said
    assert not (bench.folder / "store-a").exists() and not bench.out.exists()


def test_a_scheduler_that_is_lost_at_once(bench, capsys, monkeypatch) -> None:
    def lost(self, **options):
        raise OSError("the connection has ended")

    monkeypatch.setattr(distributed.Client, "get_versions", lost)
    assert bench.sweep() == 2
    assert "its scheduler does not say its versions: the connection has ended" in capsys.readouterr().err
    assert not bench.out.exists()


def test_a_scheduler_of_another_version(bench, capsys, monkeypatch) -> None:
    versions = distributed.Client.get_versions

    def other(self, **options):
        found = versions(self, **options)
        found["scheduler"]["packages"]["cloudpickle"] = "1.0"
        return found

    monkeypatch.setattr(distributed.Client, "get_versions", other)
    assert bench.sweep() == 2
    assert "its scheduler has cloudpickle 1.0, and must have " in capsys.readouterr().err
    assert not bench.out.exists()


@pytest.mark.parametrize(
    ("error", "free_bytes", "is_full"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "machine.state"), 1 << 40, True),
        (OSError(errno.EACCES, "Permission denied", "machine.state"), 1 << 40, False),
        (LabError("the guest has ended\nlog"), delivered.FULL_BYTES - 1, True),
        (LabError("the guest has ended\nlog"), delivered.FULL_BYTES, False),
    ],
)
def test_what_a_worker_that_runs_full_says(error, free_bytes, is_full, monkeypatch, tmp_path) -> None:
    """The run that it could not do goes to another; one whose guest has failed is failed."""

    def do(parcel, order):
        raise error

    monkeypatch.setattr(delivered, "do", do)
    monkeypatch.setattr(delivered.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=free_bytes))
    found = delivered.answer(tmp_path, {})
    assert found["is_full"] == is_full and "raw" not in found and str(found["failed"])


def test_no_space_on_a_worker(bench, capsys) -> None:
    """It is refused with what it has and what is needed, and the other one does all."""
    store = bench.folder / "store-small"
    store.mkdir()
    mount = f'mount -t tmpfs -o size=20m none {store} && exec "$@"'
    before = ("unshare", "-rm", "sh", "-c", mount, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    bench.worker("small", before=before)
    bench.hold.touch()
    bench.worker("good", HOLD=str(bench.hold))
    status = bench.started()
    said = []
    wait_for("refusal", lambda: said.append(capsys.readouterr().err) or "worker small on " in "".join(said))
    wait_for("begin", lambda: bench.noted("begin good"))
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    (refused,) = bench.outcome()["refused"]
    assert refused["worker"] == "small"
    assert refused["reason"] == f"no room in {store}: 400 MiB needed, 20 MiB free"
    assert not bench.noted("begin small")


def test_a_worker_that_runs_full(bench) -> None:
    """It gets no more runs, and what it could not do another one does; the run has not failed."""
    bench.hold.touch()
    full = bench.folder / "full"
    full.touch()
    # it finds no space only when the other one has a run: alone it would be every worker there is
    bench.later.touch()
    bench.worker("full", FULL=str(full), HOLD=str(bench.later))
    bench.worker("good", HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-3")
    wait_for("run on full", lambda: bench.noted("begin full"))
    wait_for("run on good", lambda: bench.noted("begin good"))
    bench.later.unlink()
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    # Dask may have handed it another run before the first one's answer was read
    begun = bench.noted("begin full")
    assert len(begun) in (1, 2) and len(bench.noted("end good")) == 6
    (refused,) = bench.outcome()["refused"]
    assert (refused["worker"], refused["reason"]) == ("full", "/store: No space left on device")
    assert [one["workers"] for one in bench.outcome()["retried"]] == [["full"]] * len(begun)


def test_a_run_that_fails(bench) -> None:
    """Is done once more, and then has failed, with the guest's log; no worker is blamed."""
    bench.worker("a")
    assert bench.sweep("--seeds", "1,1313", "--cc", "bbr", "--qdisc", "cake") == 1
    assert len(bench.noted("begin")) == 3
    (failed,) = (bench.out / "failed").iterdir()
    found = json.loads(failed.read_text())
    assert (found["error"], found["log"]) == ("the guest is gone", ["Kernel panic"])
    assert not bench.outcome()["refused"] and not bench.outcome()["retried"]


def test_a_run_that_costs_workers(bench, monkeypatch) -> None:
    """Dask gives it up after so many (allowed-failures); it is done once more, and then has failed."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    _, bench.address = bench.processes.scheduler()
    bench.hold.touch()
    workers = {name: bench.worker(name, HOLD=str(bench.hold)) for name in ("a", "b")}
    status = bench.started("--seeds", "1", "--cc", "bbr", "--qdisc", "cake")
    for number in (1, 2):
        wait_for("run", lambda number=number: len(bench.noted("begin")) == number)
        at_work = bench.noted("begin")[-1].split()[1]
        bench.processes.kill(workers[at_work])
    wait_for("end", lambda: status)
    assert status == [1]
    (failed,) = (bench.out / "failed").iterdir()
    assert json.loads(failed.read_text())["error"] == "a worker was lost while doing it"
    assert sorted(name for one in bench.outcome()["retried"] for name in one["workers"]) == ["a", "b"]


def far_worker_lost(bench: Bench, address: str, lose: Callable[[subprocess.Popen], None]) -> None:
    """In the middle of a run: the run begins again on the other worker, and counts once.

    :param address: of the scheduler, as the far worker knows it
    :param lose: has the far worker lost
    """
    bench.hold.touch()
    bench.later.touch()
    bench.worker("a", HOLD=str(bench.later))
    far = bench.processes.worker(address, "far", NOTES=str(bench.notes), HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-3")
    wait_for("run far away", lambda: bench.noted("begin far"))
    bench.later.unlink()
    lose(far)
    wait_for("end", lambda: status)
    assert status == [0]
    assert len(bench.noted("end a")) == 6 and not bench.noted("end far")
    assert bench.outcome()["lost"] == ["far"]
    assert [one["workers"] for one in bench.outcome()["retried"]] == [["far"]]


def test_the_network_to_a_worker_is_lost(bench, monkeypatch) -> None:
    # on a machine that is busy for so long, the run would begin a third time
    monkeypatch.setattr(cluster, "IDLE_S", 3600)
    network = Network(bench.address)
    far_worker_lost(bench, network.address, lambda far: network.cut())


def test_a_worker_falls_silent(bench, monkeypatch) -> None:
    """Its connections stay and say nothing, as when its cable is out: Dask gives it up after a time (worker-ttl)."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "3s")
    monkeypatch.setattr(cluster, "IDLE_S", 3600)
    _, bench.address = bench.processes.scheduler()
    far_worker_lost(bench, bench.address, lambda far: os.killpg(far.pid, signal.SIGSTOP))


def test_a_run_that_no_worker_does_is_handed_over_again(bench, monkeypatch) -> None:
    """As where Dask has forgotten it: here nobody hears of its first beginning. It counts once."""
    monkeypatch.setattr(cluster, "IDLE_S", 1)
    began, done = cluster.Cluster._began, cluster.Cluster._done
    unheard: list[str] = []
    titles: list[str] = []

    def heard(self: cluster.Cluster, event: tuple[float, dict[str, str]]) -> None:
        if unheard:
            began(self, event)
        else:
            unheard.append(event[1]["key"])

    def handed_over(self: cluster.Cluster, run: Run, *order: object) -> object:
        titles.append(run.title)
        return done(self, run, *order)

    monkeypatch.setattr(cluster.Cluster, "_began", heard)
    monkeypatch.setattr(cluster.Cluster, "_done", handed_over)
    bench.hold.touch()
    bench.worker("a", HOLD=str(bench.hold))
    status = bench.started()
    wait_for("another time", lambda: len(titles) > len(set(titles)))
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    assert len(bench.raws()) == len(set(titles)) == 2


def test_the_network_to_the_scheduler_is_lost_and_comes_back(bench) -> None:
    """The scheduler has forgotten what it was asked for: that begins again, and counts once."""
    network = Network(bench.address)
    bench.hold.touch()
    bench.worker("a", HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-3", file=bench.file(address=network.address))
    wait_for("run", lambda: bench.noted("begin a"))
    network.cut()
    network.mend()
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    assert len(bench.raws()) == 6


@pytest.mark.parametrize("how", ["killed", "cut off"])
def test_the_scheduler_is_lost(bench, capsys, monkeypatch, how) -> None:
    """What is stored is whole, no run has failed, and the same sweep goes on from it."""
    monkeypatch.setattr(dask_start, "CONNECT_S", 2)
    monkeypatch.setattr(cluster, "SCHEDULER_S", 3)
    scheduler, bench.address = bench.processes.scheduler()
    network = Network(bench.address)
    bench.hold.touch()
    bench.later.touch()
    bench.worker("a", HOLD=str(bench.later))
    bench.worker("b", HOLD=str(bench.hold))
    status = bench.started("--seeds", "1-3", file=bench.file(address=network.address))
    wait_for("run", lambda: bench.noted("begin b"))
    bench.later.unlink()
    wait_for("results", lambda: len(list((bench.out / "raw").glob("[0-9a-f]*"))) == 5)
    if how == "killed":
        bench.processes.kill(scheduler)
    network.cut()
    wait_for("end", lambda: status)
    assert status == [1]
    assert "the scheduler does not answer any more; what was stored is whole" in capsys.readouterr().err
    assert len(bench.raws()) == 5 and not list((bench.out / "failed").iterdir())
    _, bench.address = bench.processes.scheduler()
    bench.worker("c")
    assert bench.sweep("--seeds", "1-3") == 0
    assert len(bench.noted("end c")) == 1


def test_a_scheduler_that_cannot_be_reached(bench, capsys, monkeypatch) -> None:
    """Status 2 with its address, and nothing is left."""
    monkeypatch.setattr(dask_start, "CONNECT_S", 1)
    assert bench.sweep(file=bench.file(address="tcp://127.0.0.1:1")) == 2
    said = capsys.readouterr().err
    assert "mine.toml: scheduler tcp://127.0.0.1:1: cannot be reached: " in said and "Traceback" not in said
    assert not bench.out.exists()


def test_no_worker_comes(bench, capsys) -> None:
    """Status 2 after the time that the file allows."""
    assert bench.sweep(file=bench.file(wait_s=1)) == 2
    assert "mine.toml: no worker within 1 s (wait_s)" in capsys.readouterr().err
    assert not bench.out.exists()


def test_a_damaged_delivery(bench, capsys, monkeypatch) -> None:
    """A file that comes with another content is not kept, and the worker is refused."""
    bench.worker("a")
    parts = Content.parts

    def other(self):
        for begin, part, is_last in parts(self):
            yield begin, part.replace(b"sch_fq_rr.ko", b"sch_fq_rr.KO"), is_last

    monkeypatch.setattr(Content, "parts", other)
    assert bench.sweep() == 2
    assert ": came with SHA-256 " in capsys.readouterr().err
    monkeypatch.undo()
    digest = parcel.Content.of(bench.engine.folder / "sch_fq_rr.ko").digest
    assert not list((bench.folder / "store-a" / "files").glob(f"*{digest}*"))


def test_without_the_extra(monkeypatch, capsys, tmp_path) -> None:
    """The command that installs it is named, before anything is done."""
    monkeypatch.setattr(dask_start.importlib.util, "find_spec", lambda name: None)
    assert sweep_command.main(parsed("sweep", "smoke", "--on", "local", "--out", tmp_path / "study")) == 2
    assert "lab: --on: distributed is not installed: scripts/bootstrap --cluster" in capsys.readouterr().err
    file = tmp_path / "pods.toml"
    file.write_text('kind = "kubernetes"\nimage = "lab:1"\nworkers = 2\n')
    monkeypatch.setattr(dask_start.importlib.util, "find_spec", lambda name: None if "kube" in name else name)
    assert sweep_command.main(parsed("sweep", "smoke", "--on", file, "--out", tmp_path / "study")) == 2
    assert "dask_kubernetes is not installed: scripts/bootstrap --kubernetes" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


KINDS = "scheduler, local, ssh, slurm, kubernetes"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", f"kind is missing: must be one of {KINDS}"),
        ('kind = "slrum"', f"kind slrum: must be one of {KINDS} (near: slurm)"),
        ("kind = 5", f"kind 5: must be one of {KINDS}"),
        ("kind = ", "is not TOML: "),
        (
            'kind = "local"\nworker = 2',
            "worker: a cluster of kind local has kind, store, wait_s, guests, options, workers",
        ),
        ('kind = "local"\nhosts = ["a", "b"]', "hosts: a cluster of kind local has "),
        ('kind = "local"\nworkers = "2"', "workers '2': must be of kind int"),
        ('kind = "local"\nworkers = true', "workers True: must be of kind int"),
        ('kind = "local"\nworkers = 0', "workers 0: must be 1 to 1000"),
        ('kind = "local"\nguests = 257', "guests 257: must be 1 to 256"),
        ('kind = "local"\nwait_s = 0', "wait_s 0: must be 1 to 604800"),
        ('kind = "local"\nstore = "here"', "store here: must begin with / or with a variable, as $TMPDIR"),
        ('kind = "scheduler"', "address is missing, which a cluster of kind scheduler has"),
        ('kind = "scheduler"\naddress = "10.0.0.1"', "address 10.0.0.1: must be as tcp://HOST:PORT or tls://HOST:PORT"),
        ('kind = "ssh"\nhosts = ["a"]', "hosts ['a']: must be the scheduler's host and at least one worker's"),
        ('kind = "ssh"\nhosts = ["a", 5]', "hosts ['a', 5]: must be the scheduler's host and"),
        ('kind = "slurm"', "workers is missing, which a cluster of kind slurm has"),
        ('kind = "kubernetes"\nworkers = 2\nimage = ""', "image: is empty"),
        ('kind = "local"\noptions = 3', "options 3: must be of kind dict"),
    ],
)
def test_a_file_that_is_none(tmp_path, content, message) -> None:
    """The value is named, and what is allowed."""
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(PlanError) as raised:
        cluster_file.load(str(path))
    assert str(path) in str(raised.value) and message in str(raised.value)


def test_a_cluster_that_is_not_there(tmp_path, capsys) -> None:
    """A name that is none of ours, and a file that cannot be read."""
    assert sweep_command.main(parsed("sweep", "smoke", "--on", "locl", "--out", tmp_path / "study")) == 2
    assert "lab: --on locl: must be one of local, or a file NAME.toml (near: local)" in capsys.readouterr().err
    assert sweep_command.main(parsed("sweep", "smoke", "--on", tmp_path / "no.toml", "--out", tmp_path / "study")) == 2
    assert f"{tmp_path}/no.toml: No such file or directory" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_options_that_dask_does_not_know(bench, capsys) -> None:
    """What it says of them is said."""
    path = bench.folder / "local.toml"
    path.write_text('kind = "local"\n[options]\nno_such = 1\n')
    assert bench.sweep(file=path) == 2
    said = capsys.readouterr().err
    assert "local.toml: " in said and "no_such" in said and "Traceback" not in said
    assert not bench.out.exists()


def test_workers_on_this_machine(bench, monkeypatch) -> None:
    """--on local: Dask starts and ends them."""
    monkeypatch.setenv("NOTES", str(bench.notes))
    monkeypatch.setenv("WORKER", "local")
    path = bench.folder / "local.toml"
    path.write_text(f'kind = "local"\nstore = "{bench.folder}/store"\nworkers = 1\n')
    assert bench.sweep(file=path) == 0
    assert len(bench.noted("end local")) == 2 and len(bench.outcome()["workers"]) == 1


@pytest.fixture
def short(tmp_path_factory) -> Path:
    """A folder with a name that leaves room for a socket's."""
    return tmp_path_factory.mktemp("on")


def env_of(bench: Bench) -> str:
    """What workers that Dask starts have beside; in a shell's words."""
    return f"NOTES={bench.notes} WORKER=far"


# In place of Slurm's: a job is a session of processes, of which the number is the job's.
SBATCH = """#!/bin/sh
# Dask removes its script at once
script={folder}/job-$$
cp "$1" $script
setsid env {env} sh $script >{folder}/job.log 2>&1 &
echo $! >>{folder}/jobs
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job; do kill -KILL -- -"$job"; done
"""


def test_a_slurm_cluster(bench, monkeypatch) -> None:
    """Dask's job script is submitted, its workers do the runs, and the jobs are cancelled when the sweep ends."""
    programs = bench.folder / "bin"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH.format(env=env_of(bench), folder=bench.folder)), ("scancel", SCANCEL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    path = bench.folder / "slurm.toml"
    path.write_text(
        f'kind = "slurm"\nworkers = 2\nstore = "{bench.folder}/store"\n[options]\nqueue = "short"\n'
        f'interface = "lo"\nlocal_directory = "{bench.folder}"\n'
        'scheduler_options = {dashboard_address = "127.0.0.1:0"}\n'
    )
    assert bench.sweep("--seeds", "1-2", file=path) == 0
    assert len(bench.noted("end far")) == 4
    jobs = (bench.folder / "jobs").read_text().split()
    assert len(jobs) == 2
    wait_for("end of the jobs", lambda: not any(Path(f"/proc/{job}").exists() for job in jobs))


def test_a_kubernetes_cluster(bench, monkeypatch) -> None:
    """Its workers do the runs and end with the sweep; in place of Kubernetes' are workers of this machine.

    What is asked for is checked, by the names that ``KubeCluster`` of dask-kubernetes 2026.3.0 has.
    """
    asked: list[dict[str, object]] = []

    def cluster(*, name: str, image: str, n_workers: int, resources: dict, namespace: str) -> distributed.LocalCluster:
        asked.append({"name": name, "image": image, "resources": resources, "namespace": namespace})
        threads = int(resources["limits"]["cpu"])
        return distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, dashboard_address="127.0.0.1:0"
        )

    operator = types.SimpleNamespace(KubeCluster=cluster)
    monkeypatch.setattr(dask_start, "needed", lambda kind: None)
    monkeypatch.setitem(sys.modules, "dask_kubernetes", types.ModuleType("dask_kubernetes"))
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", operator)
    monkeypatch.setenv("NOTES", str(bench.notes))
    monkeypatch.setenv("WORKER", "pod")
    path = bench.folder / "pods.toml"
    path.write_text(
        f'kind = "kubernetes"\nworkers = 2\nguests = 2\nimage = "lab:1"\nstore = "{bench.folder}/store"\n'
        '[options]\nnamespace = "lab"\n'
    )
    # no run ends before each worker has its two
    bench.hold.touch()
    monkeypatch.setenv("HOLD", str(bench.hold))
    status = bench.started("--seeds", "1-2", file=path)
    wait_for("runs", lambda: len(bench.noted("begin pod")) == 4)
    bench.hold.unlink()
    wait_for("end", lambda: status)
    assert status == [0]
    assert len(bench.noted("end pod")) == 4 and len(bench.outcome()["workers"]) == 2
    share = {"cpu": "2", "memory": "3584Mi"}
    resources = {"limits": share, "requests": share}
    assert asked == [{"name": "pktpair-{user}-{uuid}", "image": "lab:1", "resources": resources, "namespace": "lab"}]


class Sshd:
    """A server for ssh on the loopback address, which lets one key in."""

    def __init__(self, folder: Path, environment: str) -> None:
        self.key = folder / "key"
        self._environment = environment
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        own = asyncssh.generate_private_key("ssh-ed25519")
        own.write_private_key(str(self.key))
        self._authorized = folder / "authorized"
        own.write_public_key(str(self._authorized))
        self.port = 0
        self._is_up = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._is_up.wait()
        self.known = folder / "known_hosts"
        public = self._host_key.export_public_key().decode()
        self.known.write_text(f"[127.0.0.1]:{self.port} {public}")

    async def _serve(self) -> None:
        server = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self._host_key],
            authorized_client_keys=str(self._authorized),
            process_factory=self._run,
        )
        self.port = server.sockets[0].getsockname()[1]
        self._is_up.set()
        await asyncio.Event().wait()

    async def _run(self, process) -> None:
        """A command, which ends with its connection."""
        child = await asyncio.create_subprocess_shell(
            f"exec env {self._environment} {process.command}",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            await process.redirect(stdout=child.stdout, stderr=child.stderr)
            waiting = [asyncio.ensure_future(one) for one in (child.wait(), process.wait_closed())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        process.exit(0)


@pytest.mark.parametrize(
    ("key", "said"), [("right", ""), ("wrong", "ermission denied"), ("unused", "Connect call failed")]
)
def test_a_cluster_over_ssh(bench, capsys, key, said) -> None:
    """Scheduler and worker are started over ssh; a wrong key or address is said, and nothing is left."""
    sshd = Sshd(bench.folder, env_of(bench))
    if key == "wrong":
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(sshd.key))
    port = sshd.port if key != "unused" else 1
    path = bench.folder / "ssh.toml"
    path.write_text(
        f'kind = "ssh"\nhosts = ["127.0.0.1", "127.0.0.1"]\nstore = "{bench.folder}/store"\n'
        '[options]\nscheduler_options = {port = 0, dashboard_address = "127.0.0.1:0"}\n'
        f'connect_options = {{port = {port}, username = "me", '
        f'client_keys = ["{sshd.key}"], known_hosts = "{sshd.known}"}}\n'
    )
    status = bench.sweep(file=path)
    if said:
        assert status == 2
        error = capsys.readouterr().err
        assert "ssh.toml: " in error and said in error and "Traceback" not in error
        assert key != "unused" or "127.0.0.1" in error
        assert not bench.out.exists()
        return
    assert status == 0
    assert len(bench.noted("end far")) == 2


def test_what_is_kept_on_a_worker(short) -> None:
    """What was not used for a week goes; what a parcel has stays with it."""
    store = errand.store_of(str(short / "store"))
    old, new = (store / "files" / (digit * 64) for digit in "01")
    parcels = [store / "parcels" / (digit * 16) for digit in "01"]
    for path in (old, new):
        path.write_text(path.name)
    for place, file in zip(parcels, (old, new), strict=True):
        place.mkdir()
        os.link(file, place / "file")
    for path in (old, new, parcels[0]):
        os.utime(path, (1, 1))
    errand.remove_unused(store, 2)
    assert not parcels[0].exists() and not old.exists()
    assert parcels[1].exists() and new.exists()


def test_what_is_not_of_the_store_stays(short) -> None:
    """A home may be named as the store, and have folders of these names already."""
    home = short / "home"
    for path in (home / "files" / "thesis", home / "files" / f"{'0' * 64}.txt", home / "parcels" / "letters" / "one"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
        os.utime(path, (1, 1))
    os.utime(home / "parcels" / "letters", (1, 1))
    partial = home / "files" / f".{'0' * 64}.pktpair-1.7"
    partial.touch()
    os.utime(partial, (1, 1))
    assert "refused" not in errand.look(str(home), {})
    assert {path.name for path in (home / "files").iterdir()} == {"thesis", f"{'0' * 64}.txt"}
    assert (home / "parcels" / "letters" / "one").read_text() == "mine"


def test_a_link_of_another_user(short) -> None:
    """It may lead to a folder of ours, in which files would be made and removed."""
    (short / "mine").mkdir()
    link = short / "store"
    link.symlink_to(short / "mine")
    assert errand.store_of(str(link)) == link
    if os.getuid():
        pytest.skip("only root can give a link away")
    os.chown(link, 4711, -1, follow_symlinks=False)
    assert "belongs to another user" in errand.look(str(link), {})["refused"]


def test_a_store_that_is_not_ours(short, monkeypatch) -> None:
    """In a folder that all may write to, another user may have made it first."""
    (short / "store").mkdir()
    monkeypatch.setattr(errand.os, "getuid", lambda: 4711)
    assert "belongs to another user" in errand.look(str(short / "store"), {})["refused"]
    assert "must have at most 70 characters" in errand.look(f"{short}/{'x' * 70}", {})["refused"]
