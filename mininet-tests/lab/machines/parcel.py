# SPDX-License-Identifier: GPL-2.0
"""What a worker of a cluster gets, so that its guests are the ones that the digests are of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import qemu.qmp

from ..checkout import TOP
from .plans import bpftrace_files
from .sealed import Copies

LAB = Path(__file__).resolve().parent.parent
# As much of a file as is sent at once.
PART_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Content:
    """A file to be sent.

    :param source: where it lies, or what is in it
    """

    digest: str
    size_bytes: int
    source: Path | bytes

    @classmethod
    def of(cls, source: Path | bytes) -> Content:
        """Its digest and size as they are now; OSError if it cannot be read."""
        if isinstance(source, bytes):
            return cls(hashlib.sha256(source).hexdigest(), len(source), source)
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(digest, source.stat().st_size, source)

    def parts(self) -> Iterator[tuple[int, bytes, bool]]:
        """Where each part begins, what is in it, and whether it is the last; OSError if it cannot be read."""
        if isinstance(self.source, bytes):
            yield 0, self.source, True
            return
        with self.source.open("rb") as file:
            begin = 0
            while True:
                part = file.read(PART_BYTES)
                end = begin + len(part)
                yield begin, part, end >= self.size_bytes or not part
                if end >= self.size_bytes or not part:
                    return
                begin = end


@dataclass(frozen=True)
class Parcel:
    """Files by their paths on the worker."""

    files: Mapping[str, Content]

    @property
    def digests(self) -> dict[str, str]:
        """By path."""
        return {name: one.digest for name, one in self.files.items()}

    @property
    def rooms(self) -> dict[str, list[str]]:
        """What a guest gets, in its order: modules, files that every guest has, and more."""
        return {
            room: [name.partition("/")[2] for name in self.files if name.startswith(f"{room}/")]
            for room in ("modules", "common", "more")
        }

    @property
    def digest(self) -> str:
        """Of all paths and digests, shortened: a socket's path has to have room beside it."""
        return hashlib.sha256(json.dumps(self.digests, sort_keys=True).encode()).hexdigest()[:16]


def code() -> dict[str, Content]:
    """The lab as it is now, and what it takes beyond the standard library."""
    found = {f"checkout/{path.relative_to(TOP)}": path for path in sorted(LAB.rglob("*.py"))}
    for path in sorted(Path(qemu.qmp.__file__).parent.rglob("*.py")):
        found[f"checkout/site/qemu/qmp/{path.relative_to(Path(qemu.qmp.__file__).parent)}"] = path
    # read now: what is edited while a sweep is at work reaches no worker
    return {name: Content.of(path.read_bytes()) for name, path in found.items()}


def parcel(
    of_code: Mapping[str, Content], release: str, kernel: Path, copies: Copies, modules: list[Path], has_scripts: bool
) -> Parcel:
    """What the runs on a kernel with a build of the modules take.

    :param kernel: its image
    :param has_scripts: bpftrace goes along, 200 MB
    """
    found: dict[str, Path] = {
        f"cache/kernels/{release}/boot/vmlinux-{release}": kernel,
        "base": copies.base,
        **{f"common/{name}": path for name, path in copies.common.items()},
        **{f"modules/{path.name}": path for path in modules},
    }
    if has_scripts:
        from . import image

        found |= {f"more/{image.merged(str(path)).lstrip('/')}": path for path in bpftrace_files()}
    # what says that the kernel is whole
    marks = {f"cache/kernels/{release}/complete": Content.of(b"")}
    return Parcel({**of_code, **marks, **{name: Content.of(path) for name, path in found.items()}})
