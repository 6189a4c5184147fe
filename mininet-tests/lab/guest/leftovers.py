# SPDX-License-Identifier: GPL-2.0
"""Processes that outlive what started them.

A process whose parent has ended becomes a child of this one, so that nothing which a run has
started gets out of reach, however it detaches itself (``setsid``, ``nohup``, two forks).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
# Of /proc/PID/stat, behind the name, which may have spaces.
PARENT_FIELD = 1


def adopt() -> None:
    """Be the parent of every descendant that has lost its own, from now on."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl: PR_SET_CHILD_SUBREAPER")


def children() -> set[int]:
    """Of this process, also those that have ended and have not been waited for."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        # it may end meanwhile
        with contextlib.suppress(OSError):
            if int(path.read_text(errors="replace").rpartition(")")[2].split()[PARENT_FIELD]) == os.getpid():
                found.add(int(path.parent.name))
    return found


def end(kept: Collection[int] = ()) -> None:
    """End all descendants but these children with theirs.

    The children of one that is ended are children of this process then.
    """
    while found := children().difference(kept):
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        for pid in found:
            os.waitpid(pid, 0)
