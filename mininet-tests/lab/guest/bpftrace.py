# SPDX-License-Identifier: GPL-2.0
"""A plan's own bpftrace script, which runs while the plan does."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from lab.guest.network import NetworkError

# Compiling a script takes bpftrace a second of the guest's.
ATTACH_TIMEOUT_S = 60
POLL_S = 0.05
END_TIMEOUT_S = 20
# On x86-64: it waits for output when all its probes are attached.
EPOLL_WAIT = ("232", "281")


class Script:
    """One script in the guest itself; it sees all nodes."""

    def __init__(self, text: str, folder: Path) -> None:
        self._script = folder / "script.bt"
        self._script.write_text(text)
        self._output = folder / "bpftrace"
        with self._output.open("wb") as out:
            self._process = subprocess.Popen(
                ["bpftrace", str(self._script)], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )

    def ready(self) -> None:
        """Wait until its probes are attached; NetworkError with what it said if they cannot be."""
        deadline = time.monotonic() + ATTACH_TIMEOUT_S
        while not self._attached():
            if self._process.poll() is not None:
                raise NetworkError(f"bpftrace: {self._said() or f'ended with status {self._process.returncode}'}")
            if time.monotonic() > deadline:
                raise NetworkError(f"bpftrace: no probe was attached within {ATTACH_TIMEOUT_S} s: {self._said()}")
            time.sleep(POLL_S)

    def _attached(self) -> bool:
        try:
            return Path(f"/proc/{self._process.pid}/syscall").read_text().split()[0] in EPOLL_WAIT
        except (OSError, IndexError):
            return False

    def _said(self) -> str:
        return self._output.read_text(errors="replace").strip()

    def finish(self) -> str:
        """Have it print its maps and end; all that it said."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise NetworkError(f"bpftrace did not end within {END_TIMEOUT_S} s of the run: {self._said()}") from None
        return self._output.read_text(errors="replace")

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
