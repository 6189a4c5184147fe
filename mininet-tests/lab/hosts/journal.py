# SPDX-License-Identifier: GPL-2.0
"""What a host was before the lab changed it: written down before each change, replayed backwards.

Runs on the host, with the distribution's own Python and standard library only.

The journal is a file of JSON lines. The first says when it was begun, in which boot, and what the host was.
Each other line is what undoes one change, and is on the disk before the change is made. A line that is
not whole is of a change that was not made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

FOLDER = Path("/var/lib/pktpair-lab")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/net")
# What ip, tc, rmmod, rmdir and the shell say of a thing that is gone, or never was there: nothing is left to undo.
GONE = (
    "Cannot find device",
    "does not exist",
    "No such device",
    "No such file or directory",
    "No such process",
    "Cannot assign requested address",
    "Address not found",
    "Cannot delete qdisc with handle of zero",
    "Cannot find specified qdisc",
    "Invalid handle",
    "is not currently loaded",
    "Module not loaded",
    "is builtin",
    # ethtool: all is asked for already
    "Could not change any device features",
)
# What they say of a thing that was there before.
THERE = ("File exists", "Address already assigned", "Exclusivity flag on")

Argv = Sequence[str]


class JournalError(Exception):
    """A journal that is in the way, or cannot be written; the message goes to the user."""


class ChangeError(Exception):
    """A change that failed; the message has the command and what it said."""


def boot() -> str:
    """Which boot of the machine this is."""
    return BOOT_ID.read_text().strip()


def namespace() -> int:
    """Which network namespace this is: each has its own interfaces, and so its own journal."""
    return NAMESPACE.stat().st_ino


def run(argv: Argv, held: Sequence[int] = ()) -> tuple[int, str]:
    """A command's status, and what it said.

    :param held: descriptors that it has open as well, so that a lock lasts until it ends, whatever ends this process
    """
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, pass_fds=held, check=False
        )
    except OSError as error:
        return 127, f"{argv[0]}: {error.strerror}"
    return done.returncode, (done.stderr.strip() or done.stdout.strip())


class Journal:
    """The journal of this host; whoever has it open holds its lock, which ends with the process."""

    def __init__(self, path: Path, file: IO[bytes], header: dict[str, Any]) -> None:
        self.path = path
        self._file = file
        self.header = header

    @classmethod
    def begin(cls, before: dict[str, str], watched: Sequence[Sequence[str]] = (), folder: Path = FOLDER) -> Journal:
        """A new one; JournalError if there is one.

        :param before: what the host is now, by a name for each part
        :param watched: interfaces, sysctls, modules and files that this is about
        """
        path = path_in(folder)
        # others see it when it has its header and is locked: one without a header they would take for an old one
        unseen = folder / f".{path.name}.{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unseen.unlink(missing_ok=True)
            file = unseen.open("x+b", buffering=0)
        except OSError as error:
            raise JournalError(f"{error.filename}: {error.strerror}") from None
        header = {"boot": boot(), "pid": os.getpid(), "before": before, "watched": [list(names) for names in watched]}
        journal = cls(path, file, header)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            journal._append(header)
            os.link(unseen, path)
        except FileExistsError:
            raise JournalError(f"{path}: there is one already") from None
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}") from None
        finally:
            unseen.unlink(missing_ok=True)
        # the name of the file has to last as well
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        return journal

    @classmethod
    def there(cls, folder: Path = FOLDER, patience: Callable[[], bool] = lambda: False) -> Journal | None:
        """The one that another process has left, or None; JournalError if that process is still at work.

        :param patience: asked while it is: whether to try again
        """
        path = path_in(folder)
        while True:
            try:
                file = path.open("r+b", buffering=0)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise JournalError(f"{path}: {error.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                if patience():
                    continue
                raise JournalError(f"{path}: is held by a process that is at work") from None
            # whoever held it may have removed it meanwhile
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                try:
                    lines = _whole_lines(file)
                    _check(lines)
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    file.close()
                    what = "cannot be read, and so nothing is undone by it"
                    raise JournalError(f"{path}: {what}: {type(error).__name__}: {error}") from None
                return cls(path, file, lines[0] if lines else {})
            file.close()

    def _append(self, line: dict[str, Any]) -> None:
        # with no buffer of ours: what could not be written would be in the way of all that comes later
        data = f"{json.dumps(line)}\n".encode()
        end = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise JournalError(f"{self.path}: {error.strerror}") from None

    def change(self, do: Sequence[Argv], undo: Sequence[Argv], is_of_others: bool = False) -> None:
        """Make a change; ChangeError if a command of it fails, and then part of it may be made.

        :param is_of_others: what is there already is somebody else's, and is not undone
        """
        end = self._file.seek(0, os.SEEK_END)
        if undo:
            self._append({"undo": [list(argv) for argv in undo]})
        for index, argv in enumerate(do):
            status, said = run(argv, [self._file.fileno()])
            if status:
                if not index and is_of_others and any(words in said for words in THERE):
                    self._file.truncate(end)
                    os.fsync(self._file.fileno())
                raise ChangeError(f"{' '.join(argv)}: {said or f'status {status}'}")

    @property
    def changes(self) -> int:
        """How many changes it can undo."""
        return len(_whole_lines(self._file)[1:])

    def undo(self) -> list[str]:
        """Put back all that was changed, last first; what could not be put back.

        It may be done again: what is back already stays as it is. Nothing is done if the machine was
        started anew since, which has put everything back.
        """
        if self.header.get("boot") != boot():
            return []
        problems = []
        for entry in reversed(_whole_lines(self._file)[1:]):
            for argv in entry["undo"]:
                status, said = run(argv, [self._file.fileno()])
                # 127 is of a tool that is not there
                if status and (status == 127 or not any(words in said for words in GONE)):
                    problems.append(f"{' '.join(argv)}: {said or f'status {status}'}")
        return problems

    def differences(self, now: dict[str, str]) -> list[str]:
        """What is not as it was before the first change: lines of each part, with - for what was and + for what is."""
        if self.header.get("boot") != boot():
            return []
        found = []
        for what, before in self.header.get("before", {}).items():
            old, new = before.splitlines(), now.get(what, "").splitlines()
            found += [f"{what}: - {line}" for line in old if line not in new]
            found += [f"{what}: + {line}" for line in new if line not in old]
        return found

    def remove(self) -> None:
        """All is put back."""
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self._file.close()

    def close(self) -> None:
        """Let others have it; it stays."""
        self._file.close()


def path_in(folder: Path, of: int | None = None) -> Path:
    """Where a host's journal is.

    :param of: the network namespace of the host, by default this one's
    """
    return folder / f"journal-{of or namespace()}"


def _whole_lines(file: IO[bytes]) -> list[dict[str, Any]]:
    file.seek(0)
    return [json.loads(line) for line in file.read().split(b"\n")[:-1]]


def _check(lines: Sequence[Any]) -> None:
    """One of several errors if these are no journal, or one of another version.

    Of one of an earlier boot only the header matters.
    """
    if not lines or lines[0]["boot"] != boot():
        return
    for name, text in lines[0].get("before", {}).items():
        if not isinstance(text, str):
            raise TypeError(f"what {name} was is no text")
    for number, entry in enumerate(lines[1:], 2):
        undo = entry["undo"]
        for argv in undo if isinstance(undo, list) else [undo]:
            if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
                raise ValueError(f"line {number}: {argv!r} is no command")
