# SPDX-License-Identifier: GPL-2.0
"""The agent in the guest: loads the modules and does one job.

Runs with the distribution's own Python and standard library only.  When it
measures it never waits for the host, which would move virtual time.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from lab.guest import protocol

PORT_NAME = "pktpair.agent"
# Lines at warning level that a sound run may have.
EXPECTED_WARNINGS = (
    # two that every out-of-tree module causes
    "loading out-of-tree module taints kernel",
    "module verification failed: signature and/or required key missing",
    # once in a boot, where timers that are due one after the other keep an interrupt for
    # three rounds: with the pacing timers of many sockets, 1376 ns
    "hrtimer: interrupt took",
)
PORT_TRIES = 500
# One read takes all that a pipe holds.
PIPE_BYTES = 65536
WARNING_LEVEL = 4  # KERN_WARNING and anything worse


class AgentError(Exception):
    """The job cannot be done; the message goes to the user."""


class KernelLog:
    """Reads the kernel log from where it was left off."""

    def __init__(self) -> None:
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        self.lines: list[str] = []
        os.lseek(self._fd, 0, os.SEEK_DATA)

    def warnings(self) -> list[str]:
        """New lines at warning level or worse, but for those that are expected."""
        found: list[str] = []
        while True:
            try:
                record = os.read(self._fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except BrokenPipeError:  # overwritten before it was read
                found.append("kernel log overflowed")
                continue
            head, _, text = record.partition(";")
            text = text.split("\n", 1)[0]
            self.lines.append(text)
            if int(head.split(",")[0]) & 7 > WARNING_LEVEL:
                continue
            if not any(expected in text for expected in EXPECTED_WARNINGS):
                found.append(text)


def reason(error: Exception) -> str:
    """Why a job or a run failed, for the user; an error that nobody foresaw says its kind and its place."""
    if isinstance(error, OSError | RuntimeError | ValueError) or type(error).__module__ != "builtins":
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"


def find_port() -> int:
    """Open the agent's virtio-serial port (udev, which names them, may be absent)."""
    for name in Path("/sys/class/virtio-ports").glob("*/name"):
        if name.read_text().strip() == PORT_NAME:
            return os.open(f"/dev/{name.parent.name}", os.O_RDWR)
    raise AgentError(f"no virtio-serial port is called {PORT_NAME}")


def command(*argv: str) -> str:
    """Run a command and return what it printed; raise AgentError if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AgentError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def write(path: str, value: object) -> None:
    """Write a sysctl or tracefs file."""
    try:
        Path(path).write_text(str(value))
    except OSError as error:
        raise AgentError(f"{path}: cannot write {value!r}: {error.strerror}") from None


def load_modules(paths: list[str]) -> dict[str, str]:
    """Insert the modules; returns their names and source versions."""
    versions = {}
    for path in paths:
        name = Path(path).stem
        if not Path("/sys/module", name).exists():
            command("insmod", path)
        srcversion = Path("/sys/module", name, "srcversion")
        versions[name] = srcversion.read_text().strip() if srcversion.exists() else ""
    return versions


def set_up(job: dict[str, Any]) -> dict[str, Any]:
    """What every job needs: loopback, modules, pktpair selectable in namespaces."""
    os.environ.update(
        PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        HOME="/root",
        TC_LIB_DIR=f"{job['top']}/build/tc",
        PYTHONDONTWRITEBYTECODE="1",
        LANG="C.UTF-8",
    )
    # what the agent was started with is nothing to the programs that it starts
    os.environ.pop("PYTHONHASHSEED", None)
    # where those find our packages
    os.environ["PYTHONPATH"] = f"{job['top']}/mininet-tests"
    if job["clock"] != "here":
        command("ip", "link", "set", "lo", "up")
    versions = load_modules(job["modules"])
    control = "/proc/sys/net/ipv4/tcp_congestion_control"
    if "tcp_pktpair" in versions:
        # Restricted until the initial namespace has chosen it once.
        before = Path(control).read_text().strip()
        for name in ("pktpair", "pktpair_1994"):
            write(control, name)
        write(control, before)
    return {"kernel": os.uname().release, "modules": versions}


def run_command(port: int, job: dict[str, Any]) -> int:
    """Run a command, passing on its output as it comes; returns its status.

    What it has left in the background keeps the output open, and is not waited for.
    """
    cwd = job["cwd"] if os.path.isdir(job["cwd"]) else job["top"]
    try:
        process = subprocess.Popen(
            job["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
        )
    except OSError as error:
        protocol.send(port, protocol.STDERR, f"{job['command'][0]}: {error.strerror}\n".encode())
        return 127 if isinstance(error, FileNotFoundError) else 126
    assert process.stdout is not None and process.stderr is not None
    kinds = {process.stdout.fileno(): protocol.STDOUT, process.stderr.fileno(): protocol.STDERR}
    for fd in kinds:
        os.set_blocking(fd, False)
    ended = os.pidfd_open(process.pid)
    is_over = False
    while kinds and not is_over:
        readable = select.select([*kinds, ended], [], [])[0]
        is_over = ended in readable
        for fd in list(kinds):
            try:
                data = os.read(fd, PIPE_BYTES)
            except BlockingIOError:
                continue
            if data:
                protocol.send(port, kinds[fd], data)
            else:
                del kinds[fd]
    os.close(ended)
    status = process.wait()
    return status if status >= 0 else 128 - status


def run_shell(port: int, job: dict[str, Any]) -> int:
    """An interactive shell on a pseudo-terminal; returns its status."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = job.get("term", "linux")
        os.chdir(job["top"])
        os.execvp("bash", ["bash", "--noprofile", "--norc", "-i"])
    rows, columns = job.get("size", (24, 80))
    subprocess.run(["stty", "rows", str(rows), "cols", str(columns)], stdin=master, check=False)
    while True:
        readable, _, _ = select.select([master, port], [], [])
        if port in readable:
            kind, data = protocol.receive(lambda size: os.read(port, size))
            if kind == protocol.STDIN:
                os.write(master, data)
        if master in readable:
            try:
                data = os.read(master, 65536)
            except OSError:  # the shell has closed its terminal
                break
            protocol.send(port, protocol.STDOUT, data)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def do_job(port: int, job: dict[str, Any], log: KernelLog) -> int:
    """Dispatch on the kind of job; returns the exit status."""
    if job["kind"] == "exec":
        return run_command(port, job)
    if job["kind"] == "shell":
        return run_shell(port, job)
    # Mininet is not needed before, and slow to load
    from lab.guest import run

    return run.run_all(port, job, log)


def await_port() -> int:
    """The port appears some time after its driver."""
    for _ in range(PORT_TRIES):
        try:
            return find_port()
        except AgentError:
            time.sleep(0.01)
    return find_port()


def take_job(arguments: list[str]) -> tuple[int, dict[str, Any]]:
    """The port to answer on, and the job: from the image, or from that port."""
    if arguments == ["--sealed"]:
        return await_port(), json.loads(Path("/lab/job.json").read_text())
    port = int(arguments[0]) if arguments else find_port()
    protocol.send_json(port, protocol.READY, {})
    _, payload = protocol.receive(lambda size: os.read(port, size))
    return port, json.loads(payload)


def main() -> None:
    """Take a job, do it, say how it ended."""
    port, job = take_job(sys.argv[1:])
    log = KernelLog()
    log.warnings()
    log.lines.clear()
    outcome: dict[str, Any] = {"status": 1, "error": None}
    try:
        protocol.send_json(port, protocol.READY, set_up(job))
        outcome["status"] = do_job(port, job, log)
    except Exception as error:
        outcome["error"] = reason(error)
    outcome["warnings"] = log.warnings()
    outcome["dmesg_tail"] = log.lines[-15:]
    with contextlib.suppress(OSError):
        protocol.send_json(port, protocol.EXIT, outcome)


if __name__ == "__main__":
    main()
