# SPDX-License-Identifier: GPL-2.0
"""scripts/lab: every bad input has its own message, before anything is booted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TOP
from lab import vm

LAB = TOP / "scripts" / "lab"


def lab(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Without QEMU on the path, a boot that should not happen would fail loudly.
    return subprocess.run(
        [LAB, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def test_list() -> None:
    """lab list shows every scenario with its claim."""
    done = lab("list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == sorted(names)
    assert {"smoke", "demo-dumbbell", "pair-gap-is-n-packet-times", "unload-under-traffic"} <= set(names)
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines())


BAD = {
    "unknown scenario": (["run", "smok"], "no scenario smok (near: smoke)"),
    "misspelt parameter": (["run", "smoke", "--set", "secnds=3"], "smoke has no parameter secnds (near: seconds)"),
    "parameters listed": (["run", "smoke", "--set", "secnds=3"], "it has: rate_mbit (10.0 Mbit/s), seconds (4.0 s)"),
    "too small": (["run", "smoke", "--set", "rate_mbit=0"], "rate_mbit=0: must be at least 0.1 Mbit/s"),
    "too large": (["run", "smoke", "--set", "seconds=1e9"], "seconds=1e9: must be at most 600 s"),
    "not a number": (["run", "smoke", "--set", "seconds=soon"], "seconds=soon: must be a number (s)"),
    "not a setting": (["run", "smoke", "--set", "seconds"], "--set seconds: must be name=value"),
    "unknown queue": (["run", "smoke", "--qdisc", "fq_rrr"], "--qdisc fq_rrr: must be one of fq_rr, fq_codel"),
    "unknown algorithm": (["run", "smoke", "--cc", "bbbr"], "--cc bbbr: must be one of reno, cubic, pktpair"),
    "unknown kernel": (["run", "smoke", "--kernel", "9.9"], "kernel 9.9 is not unpacked"),
    "kernel can be added": (["exec", "--kernel", "9.9", "--", "true"], "scripts/bootstrap --kernel 9.9"),
    "two virtual CPUs": (["exec", "--cpus", "2", "--", "true"], "--cpus 2: the virtual clock counts"),
    "nothing to draw": (["draw", "pyproject.toml"], "pyproject.toml: Expecting value"),
    "no file to draw": (["draw", "no-such.json"], "no-such.json: "),
    "no command": (["exec", "--"], "exec needs a command"),
    "no terminal": (["shell"], "shell needs a terminal"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    """Bad input to lab is refused with its own message."""
    arguments, message = BAD[case]
    done = lab(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_kvm_absent(tmp_path: Path) -> None:
    """--clock real without /dev/kvm says so and names the default."""
    done = lab("exec", "--clock", "real", "--", "true", PKTPAIR_KVM=str(tmp_path / "kvm"))
    assert done.returncode == 2
    assert f"--clock real needs KVM: {tmp_path}/kvm does not exist; the default --clock virtual" in done.stderr


def test_kvm_unusable(tmp_path: Path) -> None:
    """--clock real with a /dev/kvm that does not answer says so."""
    device = tmp_path / "kvm"
    device.touch()
    done = lab("exec", "--clock", "real", "--", "true", PKTPAIR_KVM=str(device))
    assert done.returncode == 2
    assert f"{device} is present but unusable" in done.stderr


def test_kvm_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--clock real with a KVM in which no kernel boots gives up after its time."""
    emulator = tmp_path / "qemu-system-x86_64"
    emulator.write_text("#!/bin/sh\nexec sleep 600\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(vm, "probe_kvm", lambda: None)
    monkeypatch.setattr(vm, "KVM_PROBE_TIMEOUT_S", 1)
    with vm.SealedGuest(clock="real") as guest:
        with pytest.raises(vm.LabError, match="present but unusable: a stock kernel did not boot with it within 1 s"):
            guest.start({"kind": "run"})
        assert guest._process is None


def test_guest_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest that ends early is reported with the end of its console."""
    emulator = tmp_path / "qemu-system-x86_64"
    emulator.write_text("#!/bin/sh\necho Kernel panic - not syncing\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with vm.SealedGuest() as guest, pytest.raises(vm.LabError, match="Kernel panic"):
        guest.start({"kind": "run"})


def test_module_not_built(tmp_path: Path) -> None:
    """A run that needs a module that is not built names it and how to build it."""
    kernel = vm.find_kernel(None)
    for name in (kernel, "9.9.9-test"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "complete").touch()
    done = lab("run", "smoke", "--kernel", "9.9.9-test", PKTPAIR_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert "tcp_pktpair and sch_fq_rr not built for kernel 9.9.9-test: scripts/build-modules" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="this is root")
def test_native_needs_root() -> None:
    """--clock native as a user says that it needs root."""
    done = lab("exec", "--clock", "native", "--", "true")
    assert done.returncode == 2
    assert "run it as root" in done.stderr


def test_no_guest_outlives_the_command(tmp_path: Path) -> None:
    """A command that is told to end takes its guests along, whatever session they are in."""
    program = (
        "import sys, time; from lab import vm; vm.leave_no_guest(); vm.find_kernel = str; guest = vm.SealedGuest('x');"
        "guest._spawn(['sleep', '1000']); print(guest._process.pid, flush=True); time.sleep(1000)"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", program], cwd=TOP / "mininet-tests", stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    guest = int(command.stdout.readline())
    command.terminate()
    assert command.wait(timeout=60) == 128 + signal.SIGTERM
    # an orphan is its new parent's to reap: gone, or dead
    status = Path(f"/proc/{guest}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_a_core_is_taken_in_a_cache_that_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torture's cache has a link to the lab's folder of cores before any guest has made that."""
    (tmp_path / "torture").mkdir()
    (tmp_path / "torture" / "cores").symlink_to("../cores")
    monkeypatch.setattr(vm, "CACHE", tmp_path / "torture")
    core = vm.Core()
    assert (tmp_path / "cores" / str(core.number)).exists()
    core.release()
