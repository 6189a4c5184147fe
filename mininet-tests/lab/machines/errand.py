# SPDX-License-Identifier: GPL-2.0
"""What a worker of a cluster does for a sweep, in the process that Dask has there.

These functions go to the worker as code, not by their names: it needs no checkout, and one that it has is
not looked at. So they use the standard library and Dask only. Files lie in one folder of the worker, the
store, under the digest of their content, and are kept for the next sweep::

    files/SHA-256            each file once
    parcels/DIGEST/          what runs are made of, hard links to files: checkout, kernel, modules
    tmp/                     of guests that run
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

# What has not been used for so long goes when another sweep comes.
KEPT_S = 7 * 24 * 3600
# What a guest takes beside QEMU.
TOOLS = ("setpriv", "taskset", "chrt")
QEMU = "qemu-system-x86_64"
# What runs before a guest's kernel, so that it decides when that begins.
FIRMWARE = ("bios-256k.bin", "kvmvapic.bin", "linuxboot_dma.bin")
# Of a socket's path 107 characters are there; a guest's is this much longer than the store's.
STORE_CHARACTERS = 70
# What has such a name was made here, maybe in part: a folder that is named as the store may have other files in it.
STORED = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\..*", re.DOTALL)
PARCEL = re.compile(r"[0-9a-f]{16}|\.[0-9a-f]{16}\.[0-9]+")
# What a run's process has said to its end, of which that much is shown.
TAIL_CHARACTERS = 500


def store_of(text: str) -> Path:
    """The folder on this worker; ``text`` may have variables of its environment.

    OSError if it cannot be made, or is another user's.
    """
    folder = Path(os.path.expandvars(text.replace("$UID", str(os.getuid()))))
    if not folder.is_absolute() or "$" in str(folder):
        raise OSError(0, "must be an absolute path: a variable in it is not set there", str(folder))
    if len(str(folder)) > STORE_CHARACTERS:
        raise OSError(0, f"must have at most {STORE_CHARACTERS} characters", str(folder))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # in a folder that all may write to, somebody else could have made it first, or a link that leads to one of ours
    if folder.stat().st_uid != os.getuid() or folder.lstat().st_uid not in (0, os.getuid()):
        raise OSError(0, "belongs to another user", str(folder))
    for name in ("files", "parcels", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    return folder


def digest_of(path: Path) -> str:
    """SHA-256 of a file in hexadecimal; OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refused(error: OSError, folder: str) -> dict[str, Any]:
    """What is answered if a file cannot be used."""
    return {"refused": f"{error.filename or folder}: {error.strerror}"}


def look(text: str, wanted: dict[str, int]) -> dict[str, Any]:
    """What the worker is, and which files it lacks; or "refused" with a reason.

    :param text: the store
    :param wanted: sizes of files in bytes by digest
    """
    try:
        folder = store_of(text)
        remove_unused(folder, time.time() - KEPT_S)
        lacking = []
        for digest, size_bytes in wanted.items():
            path = folder / "files" / digest
            if not path.exists():
                lacking.append([digest, size_bytes])
                continue
            found = digest_of(path)
            if found != digest:
                reason = f"{path} has changed: SHA-256 {found[:16]}, and must be {digest[:16]}: remove {folder}"
                return {"refused": reason}
            os.utime(path)
        return {
            **machine(),
            "folder": str(folder),
            "lacking": lacking,
            "free_bytes": shutil.disk_usage(folder).free,
        }
    except OSError as error:
        return refused(error, text)


def machine() -> dict[str, Any]:
    """What the guests of this worker run on."""
    qemu = shutil.which(QEMU)
    version = ""
    if qemu is not None:
        version = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    ahead = ["chrt", "--reset-on-fork", "--fifo", "1", "true"]
    missing = [name for name in TOOLS if shutil.which(name) is None]
    return {
        "host": platform.node(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "cpus": len(os.sched_getaffinity(0)),
        "missing": missing + ([] if qemu else [QEMU]),
        "emulator": (version.splitlines() or [""])[0],
        "emulator_files": emulator_files(qemu) if qemu else {},
        "real_time": "chrt" not in missing and subprocess.run(ahead, capture_output=True, check=False).returncode == 0,
    }


def emulator_files(qemu: str) -> dict[str, str]:
    """SHA-256 of the emulator and of its firmware, by the file's name; of one that is not there nothing."""
    asked = subprocess.run([qemu, "-L", "help"], capture_output=True, text=True, check=False)
    folders = [Path(line) for line in asked.stdout.splitlines()]
    found = {QEMU: digest_of(Path(qemu))}
    for name in FIRMWARE:
        file = next((folder / name for folder in folders if (folder / name).is_file()), None)
        found[name] = digest_of(file) if file else ""
    return found


def remove_unused(folder: Path, before_s: float) -> None:
    """Parcels that no run has used since then, and the files of none."""
    # a worker beside this one may be at it as well
    for parcel in _ours(folder / "parcels", PARCEL):
        with contextlib.suppress(FileNotFoundError):
            if parcel.stat().st_mtime < before_s:
                shutil.rmtree(parcel, ignore_errors=True)
    for file in _ours(folder / "files", STORED):
        with contextlib.suppress(FileNotFoundError):
            status = file.stat()
            if status.st_nlink == 1 and status.st_mtime < before_s:
                file.unlink()


def _ours(folder: Path, names: re.Pattern[str]) -> list[Path]:
    return [path for path in folder.iterdir() if names.fullmatch(path.name)]


def receive(text: str, digest: str, sender: str, begin: int, part: bytes, is_last: bool) -> dict[str, Any]:
    """A part of a file; or "refused" with a reason. The last one puts the file in its place, if it is whole."""
    try:
        folder = store_of(text)
        # of several workers with one store each writes its own
        partial = folder / "files" / f".{digest}.{sender}.{os.getpid()}"
        with partial.open("r+b" if begin else "wb") as file:
            file.seek(begin)
            file.write(part)
        if is_last:
            found = digest_of(partial)
            if found != digest:
                partial.unlink()
                return {"refused": f"{partial}: came with SHA-256 {found[:16]}, and must be {digest[:16]}"}
            partial.rename(folder / "files" / digest)
        return {}
    except OSError as error:
        with contextlib.suppress(OSError, UnboundLocalError):
            partial.unlink()
        return refused(error, text)


def unpack(text: str, parcel: str, files: dict[str, str]) -> dict[str, Any]:
    """Put a parcel's files in their places, and read all of them; or "refused" with a reason.

    :param files: digests by path
    """
    try:
        folder = store_of(text)
        place = folder / "parcels" / parcel
        if not place.exists():
            partial = folder / "parcels" / f".{parcel}.{os.getpid()}"
            shutil.rmtree(partial, ignore_errors=True)
            for name, digest in files.items():
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                os.link(folder / "files" / digest, path)
            try:
                partial.rename(place)
            except OSError:
                # another worker was first
                shutil.rmtree(partial, ignore_errors=True)
        for name, digest in files.items():
            found = digest_of(place / name)
            if found != digest:
                reason = f"{place / name} has changed: SHA-256 {found[:16]}, and must be {digest[:16]}: remove {folder}"
                return {"refused": reason}
        os.utime(place)
        return {}
    except OSError as error:
        return refused(error, text)


async def accept(resource: str, slots: int, dask_worker: Any) -> None:
    """From now on Dask hands runs to this worker, so many at a time."""
    await dask_worker.set_resources(**{resource: slots})


def do(text: str, parcel: str, order: bytes, topic: str, key: str) -> bytes:
    """A run, by the parcel's own code in a process of its own: its raw result, or why there is none.

    :param order: JSON, as ``lab.machines.delivered`` takes it
    :param topic: of events; one says that the run has begun, which outlives this worker
    :param key: the run's
    :return: JSON, compressed: "raw"; or "failed" and "log", and "is_full" if there was no space
    """
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(topic, {"key": key, "address": worker.address})
    folder = store_of(text)
    place = folder / "parcels" / parcel
    packages = (place / "checkout" / "mininet-tests", place / "checkout" / "site")
    environment = {
        **os.environ,
        "PYTHONPATH": ":".join(map(str, packages)),
        # as scripts/lab has it
        "PYTHONHASHSEED": "0",
        "PKTPAIR_CACHE": str(place / "cache"),
        "TMPDIR": str(folder / "tmp"),
    }
    # it ends with this worker, however that ends
    command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", "-B", "-m", "lab.machines.delivered"]
    running = worker.__dict__.setdefault("_pktpair_runs", {}).setdefault(topic, set())
    with subprocess.Popen(
        [*command, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=place,
    ) as process:
        running.add(process)
        try:
            answer, said = process.communicate(order)
        finally:
            running.discard(process)
    if process.returncode or not answer:
        end = said.decode(errors="replace").strip()[-TAIL_CHARACTERS:]
        failed = {"failed": f"the run's process ended with status {process.returncode}", "log": end.splitlines()}
        answer = json.dumps({**failed, "is_full": False}).encode()
    return zlib.compress(answer, 1)


async def leave(resource: str, topic: str, dask_worker: Any) -> None:
    """The sweep is over: end its runs on this worker, and have none handed to it."""
    for process in list(getattr(dask_worker, "_pktpair_runs", {}).pop(topic, ())):
        process.terminate()
    await dask_worker.set_resources(**{resource: 0})
