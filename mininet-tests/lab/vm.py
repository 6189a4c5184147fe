# SPDX-License-Identifier: GPL-2.0
"""Boots guests and talks to their agent.

Virtual time: QEMU's instruction counter is the guest's clock (one instruction
is one nanosecond) and an idle guest jumps to its next timer, so that what is
measured does not depend on the speed or load of the host.

Three kinds of guest: ``SealedGuest`` measures, and has all it needs in memory,
so that nothing of the host reaches it; ``SharedGuest`` is for
commands and shells, and sees the host's files through virtme-ng;
``NativeGuest`` is this machine itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

from . import files, image, protocol

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

# Without the mitigations a guest instruction is not spent on attacks that a
# throw-away guest need not fear; without a random base address every boot lays
# out the kernel alike.
KERNEL_OPTIONS = ("mitigations=off", "nokaslr", "edd=off", "loglevel=5")

CLOCKS = ("virtual", "real", "emulated", "native")
LAB = Path(__file__).resolve().parent.parent
# -P: nothing is imported from where it is started.
AGENT = (str(image.PYTHON), "-S", "-P", "-B", "-m", "lab.guest.agent")
# How often a guest's file is looked at for news.
POLL_S = 0.05
# A guest ends with the thread that began it, however that ends: SIGKILL gives us no time to see to it.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
# QEMU's q35 has room for some more.
MAX_CPUS = 255
KVM_GET_API_VERSION = 0xAE00
KVM_CREATE_VM = 0xAE01


# Process groups of the guests that run.
_running: set[int] = set()


class LabError(Exception):
    """Something the user can act on; the message says what."""


def leave_no_guest() -> None:
    """Have a signal that ends this program end its guests, which have sessions of their own."""

    def end(number: int, frame: FrameType | None) -> None:
        for group in _running:
            os.killpg(group, signal.SIGKILL)
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


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


def cpu_options(clock: str, seed: int) -> list[str]:
    """What the emulator needs for a clock; the same for every kind of guest."""
    options = ["-seed", str(seed)]
    if clock != "real":
        # A plain processor: what "max" adds (five-level page tables, access
        # prevention) costs the emulator a fifth of its speed, and so do the
        # idle routine and clocks of an old AMD one.
        options += ["-cpu", "qemu64,vendor=GenuineIntel,family=6,model=94,stepping=3,+rdrand"]
    if clock == "virtual":
        options += ["-icount", "shift=0,sleep=off", "-rtc", f"base={GUEST_EPOCH},clock=vm"]
    return options


class Core:
    """One core of this machine for one guest, and the order of QEMU's threads on it.

    When the guest goes idle, QEMU's main loop may move the clock before the
    guest's last instructions are counted, and the boot then differs from every
    other. It cannot where the main loop runs at once when it is woken, at the
    very instruction that wakes it: on the guest's core, before the guest. It
    uses little time; the guest itself keeps an ordinary priority. Where the
    user may not ask for that (it takes CAP_SYS_NICE), the two only share a
    core, and boots differ under load.
    """

    AHEAD = ("chrt", "--reset-on-fork", "--fifo", "1")

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        # torture's cache has a link to the lab's, which nobody may have made yet
        folder = (CACHE / "cores").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self.number = cores[os.getpid() % len(cores)]
        self._lock: IO[bytes] | None = None
        for core in cores:
            lock = (folder / str(core)).open("wb")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self.number, self._lock = core, lock
            break

    def command(self) -> list[str]:
        """What to put before the emulator's command line."""
        allowed = subprocess.run([*self.AHEAD, "true"], capture_output=True, check=False).returncode == 0
        return [*(self.AHEAD if allowed else ()), "taskset", "--cpu-list", str(self.number)]

    def release(self) -> None:
        """Let another guest have it."""
        if self._lock is not None:
            self._lock.close()


class Guest:
    """A machine with an agent; a context manager that always ends it."""

    def __init__(
        self,
        kernel: str | None = None,
        clock: str = "virtual",
        cpus: int = 1,
        seed: int = 1,
        modules: Sequence[Path] | None = None,
    ) -> None:
        """:param modules: files of the project's modules; by default those that the checkout has built"""
        if not 1 <= cpus <= MAX_CPUS:
            raise LabError(f"--cpus {cpus}: must be 1 to {MAX_CPUS}")
        if clock == "virtual" and cpus != 1:
            raise LabError(
                f"--cpus {cpus}: the virtual clock counts the instructions of one CPU; "
                "use --clock real, or --clock emulated without KVM"
            )
        self.clock = clock
        self.cpus = cpus
        self.seed = seed
        self.kernel = os.uname().release if clock == "native" else find_kernel(kernel)
        self._modules = modules
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._used_s = 0.0

    @functools.cached_property
    def _folder(self) -> Path:
        """For its files; made when it is first needed, so that a guest that is refused leaves none."""
        return Path(tempfile.mkdtemp(prefix="pktpair-lab-"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def modules(self) -> list[Path]:
        """The project's modules for this kernel."""
        if self._modules is not None:
            return list(self._modules)
        found = [
            TOP / "build" / self.kernel / "kmod" / "tcp_pktpair.ko",
            TOP / "build" / self.kernel / "qdisc" / "sch_fq_rr.ko",
        ]
        return [path for path in found if path.exists()]

    def start(self, job: dict[str, Any]) -> None:
        """Boot and give the agent its job; returns when the modules are loaded."""
        modules = self.modules()
        with contextlib.ExitStack() as unchanged:
            # while the guest reads them, scripts/build-modules waits
            for folder in {path.parent.parent for path in modules}:
                unchanged.enter_context(files.locked(folder / "lock", shared=True))
            self._launch({**job, "top": str(TOP), "modules": [str(path) for path in modules], "clock": self.clock})
            kind, payload = self.receive()
        if kind == protocol.EXIT:
            raise LabError(self._failure("the agent gave up", json.loads(payload)))
        self.ready = json.loads(payload)

    def _launch(self, job: dict[str, Any]) -> None:
        raise NotImplementedError

    def _read(self, size: int) -> bytes:
        """Up to size bytes from the agent; nothing when it is gone."""
        raise NotImplementedError

    def receive(self) -> tuple[bytes, bytes]:
        """One frame from the agent."""
        try:
            return protocol.receive(self._read)
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
        if self._process is not None:
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            _running.discard(self._process.pid)
            self._process = None
        if "_folder" in self.__dict__:
            shutil.rmtree(self.__dict__.pop("_folder"), ignore_errors=True)

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def cpu_s(self) -> float:
        """Time of this machine's cores that the guest has used; of one that is gone, when it was last asked."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
                self._used_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return self._used_s

    def kill(self) -> None:
        """End the guest without waiting for it."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self.close()

    def _spawn(self, command: list[str], **more: Any) -> None:
        """Start the process that is the guest; its console goes to a file."""
        with (self._folder / "console").open("wb") as console:
            self._process = subprocess.Popen(
                [*DIES_WITH_US, *command],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                cwd=TOP,
                start_new_session=True,
                **more,
            )
        _running.add(self._process.pid)

    def _failure(self, what: str, exit_message: dict[str, Any] | None = None) -> str:
        lines = [what]
        if exit_message and exit_message.get("error"):
            lines.append(exit_message["error"])
        tail = (exit_message or {}).get("dmesg_tail") or self._console_tail()
        if tail:
            lines += ["last lines of the guest's kernel log:", *(f"    {line}" for line in tail)]
        return "\n".join(lines)

    def _console_tail(self) -> list[str]:
        console = self._folder / "console"
        return console.read_text(errors="replace").splitlines()[-15:] if console.exists() else []

    def _refuse_unusable(self) -> None:
        if self.clock == "real":
            why = probe_kvm()
            if why:
                raise LabError(f"--clock real needs KVM: {why}; the default --clock virtual needs no KVM")
        if shutil.which("qemu-system-x86_64") is None:
            raise LabError("qemu-system-x86_64 is not installed: run scripts/bootstrap")

    def _boot_limit_s(self) -> float:
        return KVM_PROBE_TIMEOUT_S if self.clock == "real" else BOOT_TIMEOUT_S

    def _boot_failure(self) -> LabError:
        limit_s = self._boot_limit_s()
        if self.clock == "real":
            return LabError(
                f"--clock real: {KVM_DEVICE} is present but unusable: a stock kernel did not boot with it "
                f"within {limit_s} s; the default --clock virtual needs no KVM"
            )
        return LabError(self._failure(f"the guest did not boot within {limit_s} s"))


class SealedGuest(Guest):
    """A guest in memory: job and files go in before the first instruction."""

    memory = MEMORY
    _core: Core | None = None

    def more_files(self) -> dict[str, Path]:
        """What a kind of guest needs beside, by the paths in the guest."""
        return {}

    def close(self) -> None:
        """End the guest, whatever state it is in."""
        super().close()
        if self._core is not None:
            self._core.release()
            self._core = None

    def _launch(self, job: dict[str, Any]) -> None:
        self._refuse_unusable()
        self._boot(self._pack(job))

    def _pack(self, job: dict[str, Any]) -> Path:
        """The root file system with the job; its path."""
        tree = CACHE / "kernels" / self.kernel / "lib" / "modules" / self.kernel
        extra = {f"lab/modules/{path.name}": path for path in self.modules()} | self.more_files()
        plugin = TOP / "build" / "tc" / "q_fq_rr.so"
        if plugin.exists():
            extra["lab/build/tc/q_fq_rr.so"] = plugin
        job = {**job, "top": "/lab", "modules": [f"/lab/modules/{path.name}" for path in self.modules()]}
        root = self._folder / "root.cpio"
        try:
            image.build(tree, CACHE / "images", job, extra, root)
        except (LookupError, subprocess.CalledProcessError) as error:
            raise LabError(str(error)) from None
        return root

    def _boot(self, root: Path, more: Sequence[str] = ()) -> None:
        """Start the emulator.

        :param more: further arguments of it
        """
        # A file takes what the guest says at once: it never has to wait for us.
        out = self._folder / "agent"
        out.touch()
        self._out = out.open("rb", buffering=0)
        self._began = time.monotonic()
        self._heard = False
        pinned = []
        if self.clock == "virtual":
            self._core = Core()
            pinned = self._core.command()
        self._spawn(
            [
                *pinned,
                "qemu-system-x86_64",
                *("-name", "pktpair-lab", "-m", self.memory, "-smp", str(self.cpus), "-machine", "q35"),
                *("-accel", "kvm" if self.clock == "real" else "tcg"),
                *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"),
                *("-device", "virtio-serial-pci,max_ports=2,ioeventfd=off"),
                *("-chardev", f"file,id=agent,path={out}"),
                *("-device", "virtserialport,name=pktpair.agent,chardev=agent"),
                *("-kernel", str(uncompressed_image(self.kernel)), "-initrd", str(root)),
                *("-append", " ".join(("console=ttyS0", "panic=-1", *KERNEL_OPTIONS))),
                *cpu_options(self.clock, self.seed),
                *more,
            ]
        )

    def _read(self, size: int) -> bytes:
        assert self._process is not None
        while True:
            # while it still has a process, of which poll() takes leave
            self.cpu_s()
            ended = self._process.poll() is not None
            data = self._out.read(size)
            if data:
                self._heard = True
                return data
            if ended:
                return b""
            if not self._heard and time.monotonic() - self._began > self._boot_limit_s():
                failure = self._boot_failure()
                self.kill()
                raise failure
            time.sleep(POLL_S)


class SocketGuest(Guest):
    """A guest whose agent takes its job, and what is typed, from a socket."""

    _socket: socket.socket | None = None

    def _read(self, size: int) -> bytes:
        assert self._socket is not None
        return self._socket.recv(size)

    def send(self, kind: bytes, payload: bytes) -> None:
        """One frame to the agent."""
        assert self._socket is not None
        protocol.send(self._socket.fileno(), kind, payload)

    def close(self) -> None:
        """End the guest, whatever state it is in."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        super().close()


class SharedGuest(SocketGuest):
    """A guest that sees the host's files, for commands and shells."""

    def _launch(self, job: dict[str, Any]) -> None:
        self._refuse_unusable()
        vng = Path(sys.prefix) / "bin" / "vng"
        if not vng.exists():
            raise LabError(f"{vng} does not exist: run scripts/bootstrap")
        address = self._folder / "agent"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(address))
        listener.listen(1)
        qemu = [
            f"-chardev socket,id=agent,path={address}",
            "-device virtio-serial-pci -device virtserialport,name=pktpair.agent,chardev=agent",
            # QEMU's main loop would poll 64 descriptors per serial device at
            # every timer of the guest.
            "-global virtio-serial-pci.ioeventfd=off -global virtio-serial-pci.max_ports=2",
            "-global virtio-9p-pci.ioeventfd=off",
            *cpu_options(self.clock, self.seed),
        ]
        command = [str(vng), "--verbose", "--force-9p", "--run", str(uncompressed_image(self.kernel))]
        command += ["--user", "root", "--cpus", str(self.cpus), "--memory", MEMORY]
        # The guest's init mounts file systems of its own over /run, /var/tmp, /dev and
        # others, and a checkout there would be hidden: it is mounted after those.
        command.append(f"--rodir={TOP}")
        if self.clock != "real":
            command.append("--disable-kvm")
        for option in (*KERNEL_OPTIONS, f"PATH={_path_without_tmpfiles(self._folder)}"):
            command += ["--append", option]
        command += [f"--qemu-opts={' '.join(qemu)}"]
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in image.agent_environment(LAB).items())
        command += ["--", f"exec env {settings} {' '.join(AGENT)}"]
        self._spawn(command, env={**os.environ, "PATH": f"{vng.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"})
        self._await_contact(listener)
        self.send(protocol.JOB, json.dumps(job).encode())

    def _await_contact(self, listener: socket.socket) -> None:
        """Wait for QEMU to connect and for the agent's first frame."""
        assert self._process is not None
        deadline = time.monotonic() + self._boot_limit_s()
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
            self.receive()
        except TimeoutError:
            failure = self._boot_failure()
            self.kill()
            raise failure from None
        self._socket.settimeout(None)


class NativeGuest(SocketGuest):
    """This machine, with its own kernel."""

    def _launch(self, job: dict[str, Any]) -> None:
        if os.geteuid() != 0:
            raise LabError("--clock native loads modules into the machine's own kernel: run it as root")
        self._socket, theirs = socket.socketpair()
        environment = {**os.environ, **image.agent_environment(LAB)}
        self._spawn([*AGENT, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self.receive()
        self.send(protocol.JOB, json.dumps(job).encode())


def shared_guest(kernel: str | None, clock: str, cpus: int = 1) -> SocketGuest:
    """A guest for commands and shells."""
    return (NativeGuest if clock == "native" else SharedGuest)(kernel, clock, cpus)
