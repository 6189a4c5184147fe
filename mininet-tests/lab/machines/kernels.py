# SPDX-License-Identifier: GPL-2.0
"""The kernels that are unpacked in a cache, by version."""

from __future__ import annotations

import lzma
import os
import re
import struct
import subprocess
import tempfile
from pathlib import Path

from ..checkout import CACHE
from ..model.errors import LabError


def kernels(cache: Path = CACHE) -> list[str]:
    """Versions of the unpacked kernels, default first."""
    folder = cache / "kernels"
    default = folder / "default"
    names = sorted(p.name for p in folder.glob("*/complete") for p in [p.parent] if p.name != "default")
    if default.is_symlink() and os.readlink(default) in names:
        names.remove(os.readlink(default))
        names.insert(0, os.readlink(default))
    return names


def find_kernel(wanted: str | None, cache: Path = CACHE) -> str:
    """The unpacked kernel whose version is the wanted one, or begins with its numbers."""
    names = kernels(cache)
    if not names:
        raise LabError(f"no kernel is unpacked in {cache / 'kernels'}: run scripts/bootstrap")
    if wanted is None or wanted == "default":
        return names[0]
    if not wanted:
        raise LabError(f"kernel: has no name; there are: {', '.join(names)}")
    # 6.1 is no beginning of 6.12, and 6 is one of 6.9 and of 6.12, which is the newer
    begins = re.compile(rf"{re.escape(wanted)}(?!(?<=\d)\d)")
    matches = [n for n in names if n == wanted] or sorted(filter(begins.match, names), key=_numbers)
    if not matches:
        raise LabError(
            f"kernel {wanted} is not unpacked (there are: {', '.join(names)}); "
            f"add it with: scripts/bootstrap --kernel {wanted}"
        )
    return matches[-1]


def _numbers(release: str) -> list[int]:
    """Of a version, in their order: 6.12 comes after 6.9."""
    return list(map(int, re.findall(r"\d+", release)))


def uncompressed_image(kver: str, cache: Path = CACHE) -> Path:
    """The kernel without its compression, made once.

    Decompressing inside the guest costs five seconds per boot, and the type
    information lies in the uncompressed image.
    """
    folder = cache / "kernels" / kver
    packed = folder / "boot" / f"vmlinuz-{kver}"
    plain = folder / "boot" / f"vmlinux-{kver}"
    if plain.exists():
        return plain
    image = packed.read_bytes()
    sectors = image[0x1F1] or 4
    offset, size = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + size]
    if payload.startswith(b"\xfd7zXZ"):
        # What follows the stream is the uncompressed size.
        vmlinux = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        vmlinux = subprocess.run(["zstd", "-dc"], input=payload[:-4], capture_output=True, check=True).stdout
    else:
        raise LabError(f"{packed}: compressed in a way that the lab does not know (xz and zstd it does)")
    with tempfile.NamedTemporaryFile(dir=plain.parent, delete=False) as out:
        out.write(vmlinux)
    os.replace(out.name, plain)
    return plain
