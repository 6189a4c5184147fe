# SPDX-License-Identifier: GPL-2.0
"""Stopping the machine at one instruction, and what it is told when it goes on.

A guest that is ready is stopped and saved by the host; each run then begins with a copy
of that very machine. What the run is to do lies in a file of the emulator's (fw_cfg),
which is read by instructions and not by waiting, so that no time passes meanwhile.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

PORTS = Path("/dev/port")
# Of QEMU's pvpanic device; "a panic" stops the machine.
STOP_PORT = 0x505
STOP = b"\x01"
URANDOM = Path("/dev/urandom")
RESEED = 0x5207  # RNDRESEEDCRNG
# ``told.c``, and the file's name
TOLD = "/lab/told"
JOB = "opt/lab/job"


def stop() -> None:
    """Stop here until the host lets a copy of this machine go on."""
    file = os.open(PORTS, os.O_RDWR)
    os.pwrite(file, STOP, STOP_PORT)
    os.close(file)


def reseed(seed: int) -> None:
    """Have the kernel draw from this seed from now on."""
    with URANDOM.open("wb", buffering=0) as pool:
        pool.write(f"run {seed}".encode())
        fcntl.ioctl(pool, RESEED)


def job() -> dict[str, Any]:
    """What this copy is to do."""
    return dict(json.loads(subprocess.run([TOLD, JOB], stdout=subprocess.PIPE, check=True).stdout))
