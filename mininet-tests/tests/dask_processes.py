# SPDX-License-Identifier: GPL-2.0
"""A scheduler and workers of Dask's, each a process of this machine on the loopback address."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

LOOPBACK = "127.0.0.1"
# What a machine that is busy may take; a test that waits so long has failed.
PATIENCE_S = 120


def wait_for(what: str, found) -> object:
    """What ``found`` finds, once it finds something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < deadline, f"no {what} after {PATIENCE_S} s"
        time.sleep(0.02)
    return value


class Processes:
    """They end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen] = []

    def start(self, *words: str | Path, before: tuple[str, ...] = (), **environment: str) -> subprocess.Popen:
        """One of Dask's commands, in a session of its own."""
        log = (self.folder / f"{len(self._started)}.log").open("wb")
        # they end with the test, however that ends
        command = ["setpriv", "--pdeathsig", "KILL", *before, sys.executable, "-m", "dask", *map(str, words)]
        one = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **environment},
            cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        self._started.append(one)
        return one

    def scheduler(self) -> tuple[subprocess.Popen, str]:
        """A new one, with its address."""
        file = self.folder / f"scheduler-{len(self._started)}.json"
        where = ("--host", LOOPBACK, "--port", "0", "--dashboard-address", f"{LOOPBACK}:0", "--scheduler-file", file)
        one = self.start("scheduler", *where)

        def address() -> str:
            try:
                return json.loads(file.read_text())["address"]
            except (OSError, ValueError):
                return ""

        return one, str(wait_for("scheduler", address))

    def worker(self, address: str, name: str, before: tuple[str, ...] = (), **environment: str) -> subprocess.Popen:
        """A worker that does one run at a time, with a store of its own in $STORE."""
        place = self.folder / f"worker-{name}-{len(self._started)}"
        place.mkdir()
        what = ("--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", LOOPBACK)
        own = {"STORE": str(self.folder / f"store-{name}"), "WORKER": name, **environment}
        return self.start("worker", address, *what, "--local-directory", place, before=before, **own)

    def kill(self, one: subprocess.Popen) -> None:
        """End a process and all of its session, with no time to see to anything."""
        os.killpg(one.pid, signal.SIGKILL)
        one.wait()

    def close(self) -> None:
        """End all."""
        for one in self._started:
            if one.poll() is None:
                self.kill(one)


def end_all(*ends: socket.socket) -> None:
    """End connections; who waits for one in another thread is woken, as close() alone does not."""
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


class Network:
    """A way to an address that can be cut: its own address is ``address``."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("tcp://").partition(":")
        self._target = (host, int(port))
        self._listening = socket.create_server((LOOPBACK, 0))
        self._port = self._listening.getsockname()[1]
        self.address = f"tcp://{LOOPBACK}:{self._port}"
        self._ends: list[socket.socket] = []
        # of the ends, and of whether there shall be any of this listening socket's
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, args=[self._listening], daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            with self._lock:
                is_cut = listening is not self._listening or listening.fileno() < 0
                self._ends += [] if is_cut else [near, far]
            if is_cut:
                near.close()
                far.close()
                return
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=[one, other], daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        end_all(one, other)

    def cut(self) -> None:
        """Every connection ends, and none can be made."""
        # a thread that waits in accept() holds the socket
        self._listening.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._listening.close()
            ends = self._ends
            self._ends = []
        end_all(*ends)

    def mend(self) -> None:
        """Connections can be made again."""
        self._listening = socket.create_server((LOOPBACK, self._port))
        threading.Thread(target=self._accept, args=[self._listening], daemon=True).start()
