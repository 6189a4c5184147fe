# SPDX-License-Identifier: GPL-2.0
"""A connection to a real machine, by the ssh program, and the agent at its other end.

Nothing is written on the machine before it is to be changed: the agent's source goes through the connection,
and runs from memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ..guest import protocol
from ..model.errors import LabError
from ..model.plain import plain
from .file import Machine, Machines
from .there import ALIVE_S

LAB = Path(__file__).resolve().parent.parent
# What the agent is made of, below the package.
SOURCES = ("guest/protocol.py", "guest/agent.py", "hosts/journal.py", "hosts/facts.py", "hosts/there.py")
# Reads a length and so many bytes of JSON, by name the text of each module, and runs the last.
LOADER = """
import importlib.util, json, os, sys
def read(size):
    found = b""
    while len(found) < size:
        part = os.read(0, size - len(found))
        if not part: sys.exit(1)
        found += part
    return found
class Memory:
    sources = json.loads(read(int(read(9))))
    def find_spec(self, name, path=None, target=None):
        if name in self.sources:
            return importlib.util.spec_from_loader(name, self, is_package=not self.sources[name])
    def create_module(self, spec): return None
    def exec_module(self, module):
        exec(compile(self.sources[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Memory())
sys.dont_write_bytecode = True
from lab.hosts.there import main
main()
"""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What ssh is told whatever the user's own settings are: it asks nothing, takes no host that is not known, sends
# no agent or display along, and notices that a network is lost.
OPTIONS = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ControlPath": "none",
    "LogLevel": "ERROR",
}
# The agent says that it is there: python3 may take a while to start.
READY_S = 60.0
READY = protocol.READY + (2).to_bytes(4, "little") + b"{}"
LOST = 255
# More than a run's trace of all CPUs, packed.
MAX_ANSWER_BYTES = 2**30
ENDED_S = 10.0


class HostError(LabError):
    """A machine that cannot be reached, or that something has failed on; the message names it."""


def command(machines: Machines, machine: Machine) -> list[str]:
    """What is run here to have the agent there."""
    options = [word for name, value in OPTIONS.items() for word in ("-o", f"{name}={value}")]
    config = ["-F", str(machines.ssh_config)] if machines.ssh_config else []
    as_root = 's=; [ "$(id -u)" = 0 ] || s="sudo -n"; exec $s env LC_ALL=C'
    script = f'{as_root} PATH={PATH} SSH_CONNECTION="$SSH_CONNECTION" python3 -c {shlex.quote(LOADER)}'
    return ["ssh", "-T", *config, *options, "--", machine.ssh, f"exec sh -c {shlex.quote(script)}"]


def shown(machines: Machines, machine: Machine) -> str:
    """The same for people, without the agent's loader."""
    words = command(machines, machine)
    return shlex.join([*words[:-1], "(as root, or by sudo -n) python3 -c '(the agent)'"])


def bundle() -> bytes:
    """The agent's source, as the loader takes it."""
    names = {name: f"lab.{name.removesuffix('.py').replace('/', '.')}" for name in SOURCES}
    sources = {"lab": "", "lab.guest": "", "lab.hosts": ""} | {
        names[name]: (LAB / name).read_text() for name in SOURCES
    }
    data = json.dumps(sources).encode()
    return f"{len(data):9}".encode() + data


class Remote:
    """A machine's agent; a context manager that ends it, which puts the machine back."""

    def __init__(self, machines: Machines, machine: Machine) -> None:
        """HostError if the machine cannot be reached, or lets no agent run."""
        self.machine = machine
        self._writing = threading.Lock()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 closed with the connection
        try:
            # an interrupt is for this program, which then has the agent put the machine back
            self._process = subprocess.Popen(
                command(machines, machine),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise HostError("ssh is not installed here: apt-get install openssh-client") from None
        self._closed = threading.Event()
        self._asking = threading.Lock()
        # what was asked, until its answer is there: another one would get that
        self._asked = ""
        try:
            self._send(bundle())
            self._await_ready()
        except BaseException:
            self.kill()
            raise
        threading.Thread(target=self._stay, daemon=True).start()

    @property
    def name(self) -> str:
        """The machine's name in the file."""
        return self.machine.name

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with self._writing:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._process.stdin.fileno(), view) :]
            except (OSError, ValueError):
                raise self._gone() from None

    def _order(self, order: dict[str, Any]) -> bytes:
        payload = json.dumps(order).encode()
        return protocol.JOB + len(payload).to_bytes(4, "little") + payload

    def _receive(self) -> tuple[bytes, bytes]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        try:
            return protocol.receive(lambda size: os.read(fd, size), protocol.RESULT, MAX_ANSWER_BYTES)
        except protocol.FrameError as error:
            raise HostError(f"host {self.name}: answers with a frame {error}, which is none of the agent's") from None
        except (OSError, EOFError, ValueError):
            raise self._gone() from None

    def _await_ready(self) -> None:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], READY_S)[0]:
            raise HostError(f"host {self.name}: ssh {self.machine.ssh}: its python3 did not start within {READY_S:g} s")
        fd = self._process.stdout.fileno()
        try:
            said = protocol.read_exactly(lambda size: os.read(fd, size), len(READY))
        except (OSError, EOFError):
            raise self._gone() from None
        # of what is no frame the length is none either
        if said != READY:
            raise HostError(
                f"host {self.name}: ssh {self.machine.ssh}: what it says is no answer: is its shell silent?"
            )

    def _stay(self) -> None:
        """Say every now and then that this side is there."""
        while not self._closed.wait(ALIVE_S):
            try:
                self._send(self._order({"do": "stay"}))
            except HostError:
                return

    def ask(self, what: str, **more: Any) -> Any:
        """Have something done there, and its answer; HostError says what has failed.

        After an interrupt, or an answer that cannot be read, nothing more can be asked.
        """
        with self._asking:
            if self._asked:
                raise HostError(f"host {self.name}: {what}: has not answered {self._asked} yet")
            self._asked = what
        self._send(self._order({"do": what, **more}))
        _, payload = self._receive()
        try:
            said = json.loads(payload)
            answer, error = said["answer"], said["error"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise HostError(f"host {self.name}: what it answers to {what} cannot be read") from None
        self._asked = ""
        if error is not None:
            raise HostError(f"host {self.name}: {plain(str(error))}")
        return plain(answer)

    def clock(self) -> tuple[int, int, int, int]:
        """When a question left and its answer came by the clock here, and when it came there by both clocks, in ns."""
        asked = time.monotonic_ns()
        monotonic, real = self.ask("clock")
        return asked, time.monotonic_ns(), monotonic, real

    def _gone(self) -> HostError:
        """Why there is no connection."""
        try:
            status = self._process.wait(ENDED_S)
        except subprocess.TimeoutExpired:
            status = None
        try:
            self._errors.seek(0)
            said = plain(self._errors.read().decode(errors="replace").strip())
        except ValueError:
            # another thread has ended the connection
            said = ""
        return HostError(f"host {self.name}: {reason(self.machine.ssh, status, said)}")

    def close(self) -> None:
        """End the agent, and wait until it has put the machine back."""
        if not self._closed.is_set():
            self._closed.set()
            # not by an order, which an agent that is at work would read too late; an order that is under way to one
            # that does not read would hold this up
            if self._writing.acquire(timeout=ALIVE_S):
                assert self._process.stdin is not None
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
                self._writing.release()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(ENDED_S)
        self.kill()

    def kill(self) -> None:
        """End the connection here; the agent notices."""
        self._closed.set()
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()
        self._errors.close()


def reason(target: str, status: int | None, said: str) -> str:
    """What ssh's status and its words mean."""
    last = said.splitlines()[-1] if said else f"status {status}"
    if "Host key verification failed" in said or "host key is known" in said:
        what = "has another host key than is known" if "CHANGED" in said else "its host key is not known"
        return f"{what}: compare it and log in once by hand: ssh {target}"
    if "Permission denied" in said and status == LOST:
        return f"ssh {target}: takes no key of yours: {last}"
    if "sudo:" in said:
        return f"no root right: {last}: the user must be root, or be allowed sudo without a password"
    if "python3" in said and "not found" in said:
        return "has no python3: apt-get install python3"
    if status == LOST and any(words in said for words in ("connect to host", "resolve hostname", "timed out during")):
        return f"cannot be reached: {last}"
    if status == LOST:
        return f"the connection was lost: {last}"
    return f"ssh {target}: the agent ended: {last}"


def together(remotes: Sequence[Remote], do: Any) -> list[Any]:
    """Something of each machine at once; the first HostError, when all have ended.

    :param do: is given a Remote
    """
    found: list[Any] = [None] * len(remotes)
    errors: list[BaseException] = []

    def one(index: int) -> None:
        try:
            found[index] = do(remotes[index])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(index,), daemon=True) for index in range(len(remotes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found
