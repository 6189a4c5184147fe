# SPDX-License-Identifier: GPL-2.0
"""Cores of this machine, one for each guest that counts instructions."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess

# What puts QEMU's main loop ahead of the guest.
AHEAD = ("chrt", "--reset-on-fork", "--fifo", "1")
# Who has bound this name has the core: it is the whole machine's, whatever checkout or user a guest is of, and
# it is free again when its process has ended.
NAME = "\0packet-pair-core-{}"
# Where all have one, the guests of a process still do not share one core while another is idle.
_turns = itertools.count(os.getpid())


def may_go_ahead() -> bool:
    """Whether the user may ask for a real-time priority."""
    return subprocess.run([*AHEAD, "true"], capture_output=True, check=False).returncode == 0


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

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.number = cores[next(_turns) % len(cores)]
        self._lock: socket.socket | None = None
        for core in cores:
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                lock.bind(NAME.format(core))
            except OSError:
                lock.close()
                continue
            self.number, self._lock = core, lock
            break

    def command(self) -> list[str]:
        """What to put before the emulator's command line."""
        return [*(AHEAD if may_go_ahead() else ()), "taskset", "--cpu-list", str(self.number)]

    def release(self) -> None:
        """Let another guest have it."""
        if self._lock is not None:
            self._lock.close()
