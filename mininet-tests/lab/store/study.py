# SPDX-License-Identifier: GPL-2.0
"""A study on disk: raw results by digest, failures, what was asked, and one sweep at a time."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import files

FORMAT = 1
PROGRAM = "lab 0.1"
# The fastest level: traces still shrink to a fifth.
COMPRESSION = 1


class StudyError(Exception):
    """A study that cannot be used or written; the message names the file and the reason."""


class Study:
    """A folder with ``store.json``, ``lock``, ``raw/``, ``failed/``, ``manifest.json`` and the tables.

    Every file is written at once, so that what is there is whole whenever a process dies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._raw = folder / "raw"
        self._failed = folder / "failed"

    def exists(self) -> bool:
        """Whether the folder is a study, not one yet to be made; StudyError if it is something else."""
        store = self.folder / "store.json"
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StudyError(f"{self.folder}: {error.strerror}") from None
        if store.name not in names:
            # what a sweep leaves that dies before it has written its version
            if all(name == "lock" or name.startswith(".store.json.") for name in names):
                return False
            raise StudyError(f"{self.folder}: is not empty, and not a study: there is no store.json in it")
        try:
            content = json.loads(store.read_text())
            version, writer = content["format"], content["program"]
        except (OSError, ValueError, KeyError, TypeError):
            raise StudyError(f"{store}: cannot be read, so that its format is not known; nothing was changed") from None
        if version != FORMAT:
            raise StudyError(
                f"{self.folder}: was written by {writer} in format {version}, and this is {PROGRAM},"
                f" which reads format {FORMAT}; nothing was changed"
            )
        return True

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the study if it is not there, and keep other sweeps out; StudyError names the one that is at work.

        The lock is the kernel's, and ends with the process.
        """
        self.exists()
        with contextlib.ExitStack() as held:
            with self._explained(self.folder):
                try:
                    held.enter_context(files.claimed(self.folder))
                except files.BusyError as busy:
                    raise StudyError(f"{self.folder}: a sweep is at work on it: process {busy.pid}") from None
                self._prepare()
            yield

    def _prepare(self) -> None:
        if not self.exists():
            self.write("store.json", json.dumps({"format": FORMAT, "program": PROGRAM}) + "\n")
        for folder in (self._raw, self._failed):
            folder.mkdir(exist_ok=True)
        for half_written in (*self._raw.glob(".*"), *self._failed.glob(".*"), *self.folder.glob(".manifest.json.*")):
            half_written.unlink()

    def _raw_path(self, digest: str) -> Path:
        return self._raw / f"{digest}.json.gz"

    def _failed_path(self, digest: str) -> Path:
        return self._failed / f"{digest}.json"

    def has(self, digest: str) -> bool:
        """Whether a run has its raw result."""
        return self._raw_path(digest).exists()

    def store(self, digest: str, record: dict[str, Any]) -> None:
        """Keep a raw result, and forget that the run failed before; StudyError if it cannot be written."""
        data = json.dumps(record, separators=(",", ":")).encode()
        self._write(self._raw_path(digest), gzip.compress(data, COMPRESSION, mtime=0))
        self._failed_path(digest).unlink(missing_ok=True)

    def load(self, digest: str) -> dict[str, Any]:
        """A record that ``store`` has kept; StudyError if it cannot be read."""
        path = self._raw_path(digest)
        try:
            return dict(json.loads(gzip.decompress(path.read_bytes())))
        except (OSError, ValueError, EOFError) as error:
            raise StudyError(f"{path}: cannot be read ({error}): remove it and sweep again") from None

    def forget(self, digest: str) -> None:
        """Take a raw result away, and why there is none."""
        self._raw_path(digest).unlink(missing_ok=True)
        self._failed_path(digest).unlink(missing_ok=True)

    def fail(self, digest: str, record: dict[str, Any]) -> None:
        """Keep why a run has no raw result; StudyError if it cannot be written."""
        self._write(self._failed_path(digest), json.dumps(record, indent=1) + "\n")

    def failure(self, digest: str) -> dict[str, Any] | None:
        """What ``fail`` has kept of a run, if it is so."""
        return self._read(self._failed_path(digest))

    def manifest(self) -> dict[str, Any]:
        """What was asked so far."""
        return self._read(self.folder / "manifest.json") or {"program": PROGRAM, "sweeps": [], "runs": []}

    def write(self, name: str, content: bytes | str) -> Path:
        """Write one of the study's other files; StudyError if it cannot be written."""
        self._write(self.folder / name, content)
        return self.folder / name

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            return dict(json.loads(path.read_text()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StudyError(f"{path}: cannot be read: {error}") from None

    def _write(self, path: Path, content: bytes | str) -> None:
        with self._explained(path):
            files.write(path, content)

    @contextlib.contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "no space is left there" if full else error.strerror
            raise StudyError(f"{path}: {reason}") from None
