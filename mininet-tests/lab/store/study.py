# SPDX-License-Identifier: GPL-2.0
"""A study on disk: raw results by digest, failures, what was asked, and one sweep at a time."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import files
from ..model.typed import shorter
from .digest import digest as digest_of

FORMAT = 1
PROGRAM = "lab 0.1"
# What is read of each file, and of which kind it is: a class, mappings and lists of them, a pattern of a text;
# of a mapping with the key "*" all values, of a tuple the one kind or null. A key with "?" behind it may be missing.
Shape = Mapping[str, Any]
DIGEST = re.compile("[0-9a-f]{64}")
RECORD = {"digest": str, "ingredients": dict, "job": dict, "raw": dict}
FAILURE = {"error": str, "log": list}
BUILD = {"release": str, "emulator": str, "build": str, "modules": {"*": str}}
HOST = {"name": str, "kernel": str, "cpus": int | None, "cpu": str}
WORKER = {"name": str, "host": str}
CLUSTER = {"on": str, "kind": str, "lost": list, "workers": [WORKER]} | {
    "refused": [{"worker": str, "host": str, "reason": str}],
    "retried": [{"run": str, "workers": list}],
}
SWEEP = {"program": str, "python": str, "commit": str | None, "started": str, "ended": str | None} | {
    "builds": [BUILD],
    "host": HOST,
    "asked": {"*": list | str},
    "counts": ({"run": int, "present": int, "failed": int},),
    "cluster?": CLUSTER,
}
ASKED = {"run": DIGEST, "path": str, "scenario": str, "values": dict, "seed": int} | dict.fromkeys(
    ("cc", "qdisc", "build", "kernel"), str
)
MANIFEST = {"sweeps": [SWEEP], "runs": [ASKED]}
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
        """Whether the folder is a study, not one yet to be made; StudyError if it is something else, or damaged."""
        found = self._is_there()
        if found:
            self.manifest()
        return found

    def _is_there(self) -> bool:
        """Whether it has the mark of a study of this format."""
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
            version, writer = self._version()
        except (OSError, ValueError, KeyError):
            raise StudyError(f"{store}: cannot be read, so that its format is not known; nothing was changed") from None
        if version != FORMAT:
            raise StudyError(
                f"{self.folder}: was written by {writer} in format {version}, and this is {PROGRAM},"
                f" which reads format {FORMAT}; nothing was changed"
            )
        return True

    def _version(self) -> tuple[Any, Any]:
        """The format, and the program that wrote it."""
        content = _shaped((self.folder / "store.json").read_bytes(), {})
        return content["format"], content["program"]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the study if it is not there, and keep other sweeps out; StudyError names the one that is at work.

        The lock is the kernel's, and ends with the process.
        """
        self._is_there()
        with contextlib.ExitStack() as held:
            with self._explained(self.folder):
                try:
                    held.enter_context(files.claimed(self.folder))
                except files.BusyError as busy:
                    raise StudyError(f"{self.folder}: a sweep is at work on it: process {busy.pid}") from None
                self._prepare()
            yield

    def _prepare(self) -> None:
        if not self._is_there():
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
        """A record that ``store`` has kept; StudyError if it cannot be read, or is another run's."""
        path = self._raw_path(digest)
        try:
            record = _shaped(gzip.decompress(path.read_bytes()), RECORD)
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise StudyError(f"{path}: cannot be read ({error}): remove it and sweep again") from None
        for what, its_digest in (("says", record["digest"]), ("comes from", digest_of(record["ingredients"]))):
            if its_digest != digest:
                raise StudyError(
                    f"{path}: is of another run: it {what} {its_digest}, and not {digest}: remove it and sweep again"
                )
        return record

    def forget(self, digest: str) -> None:
        """Take a raw result away, and why there is none."""
        self._raw_path(digest).unlink(missing_ok=True)
        self._failed_path(digest).unlink(missing_ok=True)

    def fail(self, digest: str, record: dict[str, Any]) -> None:
        """Keep why a run has no raw result; StudyError if it cannot be written."""
        self._write(self._failed_path(digest), json.dumps(record, indent=1) + "\n")

    def failure(self, digest: str) -> dict[str, Any] | None:
        """What ``fail`` has kept of a run, if it is so; StudyError if it cannot be read."""
        path = self._failed_path(digest)
        try:
            return self._read(path, FAILURE)
        except ValueError as error:
            raise StudyError(f"{path}: cannot be read: {error}: remove it and sweep again") from None

    def manifest(self) -> dict[str, Any]:
        """What was asked so far; StudyError with the version that wrote it if it cannot be read."""
        path = self.folder / "manifest.json"
        content: dict[str, Any] = {}
        try:
            found = self._read(path, {})
            content = {"program": PROGRAM, "sweeps": [], "runs": []} if found is None else found
            _check_shape(content, MANIFEST)
        except ValueError as error:
            writer = content.get("program") or self._version()[1]
            raise StudyError(
                f"{path}: cannot be read: {error}; it was written by {writer}, and this is {PROGRAM};"
                " nothing was changed"
            ) from None
        return content

    def write(self, name: str, content: bytes | str) -> Path:
        """Write one of the study's other files; StudyError if it cannot be written."""
        self._write(self.folder / name, content)
        return self.folder / name

    def _read(self, path: Path, keys: Shape) -> dict[str, Any] | None:
        """What a file has, if it is there; ValueError if that is not of its shape."""
        try:
            return _shaped(path.read_bytes(), keys)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ValueError(error.strerror) from None

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


def _shaped(text: bytes, keys: Shape) -> dict[str, Any]:
    """JSON of a mapping with these keys and kinds of values; ValueError names what is otherwise."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    _check_shape(content, keys)
    return dict(content)


def _check_shape(content: Any, keys: Shape, where: str = "") -> None:
    """ValueError if it is no mapping, or names what is missing or of another kind."""
    if not isinstance(content, dict):
        raise ValueError(f"{where}is of kind {type(content).__name__}, and not a mapping")
    for name, kind in dict.fromkeys(content, keys["*"]).items() if "*" in keys else keys.items():
        required = name.removesuffix("?")
        if required not in content:
            if required == name:
                raise ValueError(f"{where}{name} is missing, and must be of kind {_kind(kind)}")
            continue
        _check_kind(content[required], kind, f"{where}{required}")


def _check_kind(value: Any, kind: Any, what: str) -> None:
    if isinstance(kind, tuple):
        if value is None:
            return
        (kind,) = kind
    if isinstance(kind, re.Pattern):
        if not isinstance(value, str) or not kind.fullmatch(value):
            raise ValueError(f"{what} {shorter(value)}: must be as {kind.pattern}")
    elif not isinstance(value, type(kind) if isinstance(kind, dict | list) else kind):
        raise ValueError(f"{what} is of kind {type(value).__name__}, and must be of kind {_kind(kind)}")
    elif isinstance(kind, dict):
        _check_shape(value, kind, f"{what}: ")
    elif isinstance(kind, list):
        for number, one in enumerate(value, 1):
            _check_shape(one, kind[0], f"{what}, {number} of {len(value)}: ")


def _kind(kind: Any) -> str:
    """In a message."""
    if isinstance(kind, tuple):
        return f"{_kind(kind[0])} | None"
    if isinstance(kind, re.Pattern):
        return "str"
    one = type(kind) if isinstance(kind, dict | list) else kind
    return one.__name__ if isinstance(one, type) else str(one)
