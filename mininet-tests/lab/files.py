# SPDX-License-Identifier: GPL-2.0
"""Files that two commands in one checkout may want at the same time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .model.errors import PlanError

# What a file system refuses, rather than a fault of the program.
REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


@contextlib.contextmanager
def locked(path: Path, shared: bool = False) -> Iterator[tuple[int, ...]]:
    """Hold a lock that ``flock`` of a shell script knows as well.

    Who only reads takes it shared, and finds none where nobody has ever written. What it yields
    are the descriptors that hold it: a program that is passed them holds it too, until it ends.
    """
    if shared and not path.exists():
        yield ()
        return
    with path.open("rb" if shared else "ab") as held:
        fcntl.flock(held, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield (held.fileno(),)


# Of a held folder, what holds it: the lock ends with the process, however that ends.
HELD_BY = "held"


def held_folder(prefix: str) -> tuple[Path, IO[bytes]]:
    """A new temporary folder and what holds it; such as processes left that were killed are removed before."""
    top = Path(tempfile.gettempdir())
    for old in top.glob(f"{prefix}*"):
        remove_unless_held(old)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # under its name it is seen locked, never yet to be
    unseen = folder / f".{HELD_BY}"
    held = unseen.open("wb")
    fcntl.flock(held, fcntl.LOCK_EX)
    unseen.rename(folder / HELD_BY)
    return folder, held


def remove_unless_held(folder: Path) -> None:
    """Remove a folder of ``held_folder`` if its process is gone; one of another kind, or of another user, stays."""
    with contextlib.suppress(OSError), (folder / HELD_BY).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)


class BusyError(PlanError):
    """Another command is at work in a folder."""

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(f"{folder}: another command is at work on it: process {pid}")
        self.pid = pid


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make a folder of results, and keep other commands out of it; BusyError names the one that is at work.

    The lock is the kernel's, and ends with the process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise BusyError(folder, held.read().strip() or "unknown") from None
        held.truncate(0)
        held.write(f"{os.getpid()}\n")
        held.flush()
        yield


def write(path: Path, content: bytes | str) -> None:
    """Write a file at once: who reads it meanwhile has the old one or the new one; OSError names it."""
    data = content.encode() if isinstance(content, str) else content
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as new:
                new.write(data)
                os.fchmod(new.fileno(), 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
