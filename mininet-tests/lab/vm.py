# SPDX-License-Identifier: GPL-2.0
"""Boots the guest and talks to its agent.

Virtual time: QEMU's instruction counter is the guest's clock (one instruction
is one nanosecond) and an idle guest jumps to its next timer, so that what is
measured does not depend on the speed or load of the host.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import lzma
import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from . import protocol

TOP = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("PKTPAIR_CACHE", TOP / ".cache"))
KVM_DEVICE = Path(os.environ.get("PKTPAIR_KVM", "/dev/kvm"))

# A boot takes 15 s of one core; a host that is ten times slower still gets in.
BOOT_TIMEOUT_S = 180
# With working KVM a boot takes 3 s; where KVM exists but cannot run a stock
# kernel the guest hangs, and this is how long we let it.
KVM_PROBE_TIMEOUT_S = int(os.environ.get("PKTPAIR_KVM_TIMEOUT", "40"))
# The default guest: ten hosts with deep buffers and a trace take a third.
MEMORY = "2G"
# Every boot begins at this instant, so nothing depends on the date.
GUEST_EPOCH = "2026-01-01T00:00:00"

CLOCKS = ("virtual", "real", "emulated", "native")
KVM_GET_API_VERSION = 0xAE00
KVM_CREATE_VM = 0xAE01


class LabError(Exception):
    """Something the user can act on; the message says what."""


def kernels() -> list[str]:
    """Versions of the unpacked kernels, default first."""
    folder = CACHE / "kernels"
    default = folder / "default"
    names = sorted(p.name for p in folder.glob("*/complete") for p in [p.parent] if p.name != "default")
    if default.is_symlink() and os.readlink(default) in names:
        names.remove(os.readlink(default))
        names.insert(0, os.readlink(default))
    return names


def find_kernel(wanted: str | None) -> str:
    """The unpacked kernel whose version is, or begins with, the wanted one."""
    names = kernels()
    if not names:
        raise LabError(f"no kernel is unpacked in {CACHE / 'kernels'}: run scripts/bootstrap")
    if wanted is None or wanted == "default":
        return names[0]
    matches = [n for n in names if n == wanted] or [n for n in names if n.startswith(wanted)]
    if not matches:
        raise LabError(
            f"kernel {wanted} is not unpacked (there are: {', '.join(names)}); "
            f"add it with: scripts/bootstrap --kernel {wanted}"
        )
    return matches[-1]


def uncompressed_image(kver: str) -> Path:
    """The kernel without its compression, made once.

    Decompressing inside the guest costs five seconds per boot, and the type
    information lies in the uncompressed image.
    """
    folder = CACHE / "kernels" / kver
    packed = folder / "boot" / f"vmlinuz-{kver}"
    plain = folder / "boot" / f"vmlinux-{kver}"
    if plain.exists():
        return plain
    image = packed.read_bytes()
    sectors = image[0x1F1] or 4
    offset, size = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + size]
    if payload.startswith(b"\xfd7zXZ"):
        # What follows the stream is the uncompressed size.
        vmlinux = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        vmlinux = subprocess.run(["zstd", "-dc"], input=payload[:-4], capture_output=True, check=True).stdout
    else:
        raise LabError(f"{packed}: compressed in a way that the lab does not know (xz and zstd it does)")
    with tempfile.NamedTemporaryFile(dir=plain.parent, delete=False) as out:
        out.write(vmlinux)
    os.replace(out.name, plain)
    return plain


def probe_kvm() -> str | None:
    """Why KVM cannot be used, or None if the device answers."""
    if not KVM_DEVICE.exists():
        return f"{KVM_DEVICE} does not exist"
    try:
        with KVM_DEVICE.open("rb+", buffering=0) as device:
            version = fcntl.ioctl(device, KVM_GET_API_VERSION)
            if version != 12:
                return f"{KVM_DEVICE} speaks version {version} of the interface, not 12"
            os.close(fcntl.ioctl(device, KVM_CREATE_VM, 0))
    except OSError as error:
        return f"{KVM_DEVICE} is present but unusable: {error.strerror}"
    return None


def _path_without_tmpfiles(folder: Path) -> str:
    """A PATH for init in which systemd-tmpfiles does nothing (saves 2 s a boot)."""
    stub = folder / "systemd-tmpfiles"
    stub.write_text("#!/bin/sh\nexit 0\n")
    stub.chmod(0o755)
    return f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Guest:
    """One booted guest; a context manager that always ends it."""

    def __init__(
        self,
        kernel: str | None = None,
        clock: str = "virtual",
        cpus: int = 1,
        seed: int = 1,
        verbose: bool = False,
    ) -> None:
        if clock == "virtual" and cpus != 1:
            raise LabError(
                f"--cpus {cpus}: the virtual clock counts the instructions of one CPU; "
                "use --clock real, or --clock emulated without KVM"
            )
        self.clock = clock
        self.cpus = cpus
        self.seed = seed
        self.verbose = verbose
        self.kernel = os.uname().release if clock == "native" else find_kernel(kernel)
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._console: Path | None = None

    def __enter__(self) -> Guest:
        try:
            if self.clock == "native":
                self._start_native()
            else:
                self._boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def modules(self) -> list[Path]:
        """The project's modules that have been built for this kernel."""
        found = [
            TOP / "build" / self.kernel / "kmod" / "tcp_pktpair.ko",
            TOP / "build" / self.kernel / "qdisc" / "sch_fq_rr.ko",
        ]
        return [path for path in found if path.exists()]

    def start(self, job: dict[str, Any]) -> None:
        """Give the agent its job; returns when the modules are loaded."""
        job = {
            **job,
            "top": str(TOP),
            "modules": [str(path) for path in self.modules()],
            "clock": self.clock,
            "seed": self.seed,
        }
        self.send(protocol.JOB, json.dumps(job).encode())
        kind, payload = self.receive()
        if kind == protocol.EXIT:
            raise LabError(self._failure("the agent gave up", json.loads(payload)))
        self.ready = json.loads(payload)

    def send(self, kind: bytes, payload: bytes) -> None:
        """One frame to the agent."""
        assert self._socket is not None
        protocol.send(self._socket.fileno(), kind, payload)

    def receive(self) -> tuple[bytes, bytes]:
        """One frame from the agent."""
        assert self._socket is not None
        try:
            return protocol.receive(self._socket.recv)
        except protocol.StreamClosedError:
            raise LabError(self._failure("the guest ended without a word")) from None

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        """All frames up to and including the agent's last."""
        while True:
            kind, payload = self.receive()
            yield kind, payload
            if kind == protocol.EXIT:
                return

    def close(self) -> None:
        """End the guest, whatever state it is in."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _failure(self, what: str, exit_message: dict[str, Any] | None = None) -> str:
        lines = [what]
        if exit_message and exit_message.get("error"):
            lines.append(exit_message["error"])
        tail = (exit_message or {}).get("dmesg_tail") or self._console_tail()
        if tail:
            lines += ["last lines of the guest's kernel log:", *(f"    {line}" for line in tail)]
        return "\n".join(lines)

    def _console_tail(self) -> list[str]:
        if self._console is None or not self._console.exists():
            return []
        return self._console.read_text(errors="replace").splitlines()[-15:]

    def _boot(self) -> None:
        if self.clock == "real":
            why = probe_kvm()
            if why:
                raise LabError(f"--clock real needs KVM: {why}; the default --clock virtual needs no KVM")
        if shutil.which("qemu-system-x86_64") is None:
            raise LabError("qemu-system-x86_64 is not installed: run scripts/bootstrap")
        vng = Path(sys.prefix) / "bin" / "vng"
        if not vng.exists():
            raise LabError(f"{vng} does not exist: run scripts/bootstrap")
        self._folder = tempfile.TemporaryDirectory(prefix="pktpair-lab-")
        folder = Path(self._folder.name)
        address = folder / "agent"
        self._console = folder / "console"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(address))
        listener.listen(1)

        # PVH entry: the uncompressed kernel can be booted directly.
        qemu = [
            f"-chardev socket,id=agent,path={address}",
            "-device virtio-serial-pci -device virtserialport,name=pktpair.agent,chardev=agent",
            f"-seed {self.seed}",
            # QEMU's main loop would poll 64 descriptors per serial device at
            # every timer of the guest.
            "-global virtio-serial-pci.ioeventfd=off -global virtio-serial-pci.max_ports=2",
            "-global virtio-9p-pci.ioeventfd=off",
        ]
        if self.clock != "real":
            # A plain processor: what "max" adds (five-level page tables, access
            # prevention) costs the emulator a fifth of its speed, and so do
            # the idle routine and clocks of an old AMD one.
            qemu.append("-cpu qemu64,vendor=GenuineIntel,family=6,model=94,stepping=3,+rdrand")
        if self.clock == "virtual":
            qemu += ["-icount shift=0,sleep=off", f"-rtc base={GUEST_EPOCH},clock=vm"]
        # Without the mitigations a guest instruction is not spent on attacks
        # that a throw-away guest need not fear; without a random base address
        # every boot lays out the kernel alike.
        append = ["mitigations=off", "nokaslr", "edd=off", "loglevel=5", f"PATH={_path_without_tmpfiles(folder)}"]
        agent = Path(__file__).resolve().parent / "guest.py"
        command = [
            str(vng),
            "--verbose",
            "--force-9p",
            "--run",
            str(uncompressed_image(self.kernel)),
            "--user",
            "root",
            "--cpus",
            str(self.cpus),
            "--memory",
            MEMORY,
        ]
        if self.clock != "real":
            command.append("--disable-kvm")
        for option in append:
            command += ["--append", option]
        command += [f"--qemu-opts={' '.join(qemu)}"]
        command += ["--", f"exec /usr/bin/python3 -S -E -B {shlex.quote(str(agent))}"]
        environment = {**os.environ, "PATH": f"{vng.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"}
        with self._console.open("wb") as console:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=TOP,
                start_new_session=True,
            )
        self._await_contact(listener)

    def _await_contact(self, listener: socket.socket) -> None:
        """Wait for QEMU to connect and for the agent's first frame."""
        assert self._process is not None
        limit_s = KVM_PROBE_TIMEOUT_S if self.clock == "real" else BOOT_TIMEOUT_S
        deadline = time.monotonic() + limit_s
        listener.settimeout(0.2)
        while self._socket is None:
            try:
                self._socket, _ = listener.accept()
            except TimeoutError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise LabError(self._failure("the guest could not be started")) from None
        listener.close()
        self._socket.settimeout(max(1.0, deadline - time.monotonic()))
        try:
            kind, _ = self.receive()
        except TimeoutError:
            if self.clock == "real":
                raise LabError(
                    f"--clock real: {KVM_DEVICE} is present but unusable: a stock kernel did not boot with it "
                    f"within {limit_s} s; the default --clock virtual needs no KVM"
                ) from None
            raise LabError(self._failure(f"the guest did not boot within {limit_s} s")) from None
        if kind != protocol.READY:
            raise LabError(self._failure(f"the agent began with an unexpected frame {kind!r}"))
        self._socket.settimeout(None)

    def _start_native(self) -> None:
        """Run the agent on the machine's own kernel."""
        if os.geteuid() != 0:
            raise LabError("--clock native loads modules into the machine's own kernel: run it as root")
        ours, theirs = socket.socketpair()
        agent = Path(__file__).resolve().parent / "guest.py"
        self._process = subprocess.Popen(
            ["/usr/bin/python3", "-S", "-E", "-B", str(agent), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=TOP,
            start_new_session=True,
        )
        theirs.close()
        self._socket = ours
        self.receive()
