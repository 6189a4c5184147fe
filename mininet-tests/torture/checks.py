# SPDX-License-Identifier: GPL-2.0
"""In the guest: what a kernel that watches itself has found, and our modules in and out."""

from __future__ import annotations

import ctypes
import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from in_guest.tap import run

from .complaints import is_complaint

TOP = Path(__file__).resolve().parents[2]
MODULES = {name: TOP / "modules" / f"{name}.ko" for name in ("tcp_pktpair", "tcp_vptfrc", "sch_fq_rr")}
FALLBACK_TUNNELS = Path("/proc/sys/net/core/fb_tunnels_only_for_init_net")
DEBUG = Path("/sys/kernel/debug")
LEAKS = DEBUG / "kmemleak"
# How often the kernel's log is read.
LOG_S = 0.5
# Namespaces die in a work queue, with a grace period or two for each.
UNLOAD_PATIENCE_S = 120
# An object younger than 5 s is no leak yet, and one is reported in the second scan that
# finds it unchanged.
LEAK_AGE_S = 6
LIBC = ctypes.CDLL(None, use_errno=True)


def busy() -> float:
    """The part of the CPUs' time since boot in which they were not idle."""
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return 1 - (times[3] + times[4]) / sum(times)


class Log:
    """The kernel's log, read as it grows."""

    def __init__(self) -> None:
        """Begin with what comes from now on."""
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.complaints: list[str] = []
        self.context = 0
        self.hash = hashlib.sha256()

    def read(self) -> None:
        """Take in complaints, with some lines that follow each."""
        while True:
            try:
                record = os.read(self.fd, 8192)
            except BlockingIOError:
                return
            except BrokenPipeError:
                self.complaints.append("the kernel's log overflowed")
                continue
            # its times are a part of it
            self.hash.update(record)
            text = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
            if is_complaint(text):
                self.context = 40
            if self.context:
                self.context -= 1
                self.complaints.append(text)


def begin() -> None:
    """Mount debugfs; what has leaked so far is not ours, and a new namespace has no devices but lo."""
    # where tunnels are built in, it would have one of each kind, which every dump goes through
    with suppress(FileNotFoundError):
        FALLBACK_TUNNELS.write_text("1")
    if not (DEBUG / "tracing").exists():
        run("mount", "-t", "debugfs", "debugfs", str(DEBUG))
    if LEAKS.exists():
        LEAKS.write_text("clear")
        # looked for at the end; every ten minutes besides, it takes a CPU for half of one
        LEAKS.write_text("scan=off")


def leaks() -> list[str]:
    """Memory that nothing points to, which takes a minute or two to find."""
    for _ in range(2):
        time.sleep(LEAK_AGE_S)
        LEAKS.write_text("scan")
    return LEAKS.read_text().splitlines()


def unload(name: str) -> None:
    """Remove a module as soon as nothing holds it."""
    give_up = time.monotonic() + UNLOAD_PATIENCE_S
    while LIBC.delete_module(name.encode(), os.O_NONBLOCK):
        if time.monotonic() > give_up:
            holders = Path("/sys/module", name, "refcnt").read_text().strip()
            raise TimeoutError(f"{name} is still held by {holders}: {os.strerror(ctypes.get_errno())}")
        time.sleep(0.001)


def reload_modules() -> None:
    """Unload while the last users go, and load again."""
    for name in MODULES:
        unload(name)
    for path in MODULES.values():
        run("insmod", str(path))
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    before = control.read_text().strip()
    for algorithm in ("pktpair", "pktpair_1994"):
        control.write_text(algorithm)
    control.write_text(before)
