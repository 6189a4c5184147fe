# SPDX-License-Identifier: GPL-2.0
"""A machine that does a job: what all kinds have in common.

``SealedGuest`` measures; ``VirtmeGuest`` is for commands and shells; ``HereGuest`` is this
machine itself; ``UserModeLinux`` is a kernel that is a program. Each is started with a job, and
what comes back is frames, of which the last tells how it ended.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

from .. import files
from ..checkout import TOP
from ..guest import protocol
from ..model.errors import LabError
from ..model.our_modules import FILES

# A guest ends with the thread that began it, however that ends: SIGKILL gives us no time to see to it.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
# Process groups of the guests that run.
_running: set[int] = set()


def leave_no_guest() -> None:
    """Have a signal that ends this program end its guests, which have sessions of their own."""

    def end(number: int, frame: FrameType | None) -> None:
        for group in list(_running):
            _kill(group)
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def _kill(group: int) -> None:
    # another thread may have seen its end
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Guest:
    """A machine with an agent; a context manager that always ends it.

    It belongs to one thread, which closes it; ``kill_process`` is for any.
    """

    _held: IO[bytes]

    def __init__(self, kernel: str, clock: str, modules: Sequence[Path] | None = None) -> None:
        """Not started yet.

        :param kernel: its version
        :param modules: files of the project's modules; by default those that the checkout has built
        """
        self.clock = clock
        self.kernel = kernel
        self._modules = modules
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False
        self._used_s = 0.0

    @functools.cached_property
    def _folder(self) -> Path:
        """For its files; made when it is first needed, so that a guest that is refused leaves none."""
        folder, self._held = files.held_folder("pktpair-lab-")
        return folder

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
        found = [TOP / "build" / self.kernel / file for file in FILES]
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
        process, self._process = self._process, None
        if process is not None:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                _kill(process.pid)
                process.wait()
            _running.discard(process.pid)
        if "_folder" in self.__dict__:
            shutil.rmtree(self.__dict__.pop("_folder"), ignore_errors=True)
            self._held.close()

    def cpu_s(self) -> float:
        """Time of this machine's cores that the guest has used; of one that is gone, when it was last asked."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
                self._used_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return self._used_s

    def kill_process(self) -> None:
        """End the process that is the guest; one that is not there yet ends as soon as it is."""
        self._is_killed = True
        process = self._process
        if process is not None and process.poll() is None:
            _kill(process.pid)

    def kill(self) -> None:
        """End the guest without waiting for it."""
        self.kill_process()
        self.close()

    def _spawn(self, command: list[str], output: int | None = None, **more: Any) -> None:
        """Start the process that is the guest; its console goes to a file, what it prints too unless told otherwise."""
        with (self._folder / "console").open("wb") as console:
            self._process = subprocess.Popen(
                [*DIES_WITH_US, *command],
                stdin=subprocess.DEVNULL,
                stdout=console if output is None else output,
                stderr=console,
                cwd=TOP,
                start_new_session=True,
                **more,
            )
        _running.add(self._process.pid)
        if self._is_killed:
            self.kill_process()

    def _failure(self, what: str, exit_message: dict[str, Any] | None = None) -> str:
        lines = [what]
        if exit_message and exit_message.get("error"):
            lines.append(exit_message["error"])
        tail = (exit_message or {}).get("dmesg_tail") or self._console_tail()
        if tail:
            lines += ["last lines of the guest's kernel log:", *(f"    {line}" for line in tail)]
        return "\n".join(lines)

    def _console_tail(self) -> list[str]:
        # one that was refused, or has been closed, has no folder, and is to get none
        console = self.__dict__["_folder"] / "console" if "_folder" in self.__dict__ else None
        return console.read_text(errors="replace").splitlines()[-15:] if console and console.exists() else []


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
