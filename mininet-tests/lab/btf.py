# SPDX-License-Identifier: GPL-2.0
"""Offsets of structure members, from the type information of a kernel.

The probe that sees every acknowledgement reads a handful of members; where
they lie differs from kernel to kernel, and BTF says it.
"""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC = 0xEB9F
_KIND_STRUCT, _KIND_UNION, _KIND_MODIFIERS = 4, 5, (8, 9, 10, 11, 18)
# Bytes that follow the common header of a type, per member and once.
_PER_MEMBER = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
_ONCE = {1: 4, 3: 12, 14: 4, 17: 4}


class BtfError(ValueError):
    """The type information cannot be read, or lacks a member."""


def section(image: bytes, name: str) -> bytes:
    """The named section of a 64-bit ELF image."""
    offset = struct.unpack_from("<Q", image, 0x28)[0]
    size, count, strings = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, offset + i * size) for i in range(count)]
    names = headers[strings][4]
    for header in headers:
        begin = names + header[0]
        if image[begin : image.index(b"\0", begin)].decode() == name:
            return image[header[4] : header[4] + header[5]]
    raise BtfError(f"no section {name}")


class Btf:
    """The types of one kernel."""

    def __init__(self, data: bytes) -> None:
        magic, _, _, header, types, types_size, strings, _ = struct.unpack_from("<HBBIIIII", data)
        if magic != _MAGIC:
            raise BtfError("not BTF")
        self._data = data
        self._strings = header + strings
        self._types: list[tuple[int, int, int]] = [(0, 0, 0)]  # offset, info, size or type
        self._by_name: dict[str, int] = {}
        position, end = header + types, header + types + types_size
        while position < end:
            name, info, size = struct.unpack_from("<III", data, position)
            kind, members = info >> 24 & 31, info & 0xFFFF
            self._types.append((position, info, size))
            if kind == _KIND_STRUCT:
                self._by_name.setdefault(self._string(name), len(self._types) - 1)
            position += 12 + _PER_MEMBER.get(kind, 0) * members + _ONCE.get(kind, 0)

    @classmethod
    def of_kernel(cls, image: Path) -> Btf:
        """From an uncompressed kernel image, or from /sys/kernel/btf/vmlinux."""
        data = image.read_bytes()
        return cls(section(data, ".BTF") if data.startswith(b"\x7fELF") else data)

    def _string(self, offset: int) -> str:
        begin = self._strings + offset
        return self._data[begin : self._data.index(b"\0", begin)].decode()

    def offset(self, structure: str, member: str) -> int:
        """Offset in bytes of a member, also one of an unnamed inner structure."""
        if structure not in self._by_name:
            raise BtfError(f"no struct {structure}")
        found = self._find(self._by_name[structure], member)
        if found is None:
            raise BtfError(f"struct {structure} has no member {member}")
        return found

    def _find(self, index: int, member: str) -> int | None:
        position, info, target = self._types[index]
        if info >> 24 & 31 in _KIND_MODIFIERS:
            return self._find(target, member)
        if info >> 24 & 31 not in (_KIND_STRUCT, _KIND_UNION):
            return None
        for i in range(info & 0xFFFF):
            name, kind, bits = struct.unpack_from("<III", self._data, position + 12 + 12 * i)
            if info >> 31:  # the upper bits are then the width of a bit field
                bits &= 0xFFFFFF
            if self._string(name) == member:
                return bits // 8
            if name == 0 or not self._string(name):
                inner = self._find(kind, member)
                if inner is not None:
                    return bits // 8 + inner
        return None


def ack_probe(btf: Btf) -> str:
    """A kprobe event for every acknowledgement that a sender processes.

    ``tcp_rate_gen(sk, delivered, lost, is_sack_reneg, rs)`` runs once for each,
    when the round trip of the newest delivered segment is known and before the
    congestion control sees it.
    """
    port = btf.offset("sock_common", "skc_num")
    fields = {
        "sport": f"+{port}($arg1):u16",
        "rtt_us": f"+{btf.offset('rate_sample', 'rtt_us')}($arg5):s64",
        "acked": f"+{btf.offset('tcp_sock', 'bytes_acked')}($arg1):u64",
        "delivered": f"+{btf.offset('tcp_sock', 'delivered')}($arg1):u32",
        "retrans": f"+{btf.offset('tcp_sock', 'total_retrans')}($arg1):u32",
        "cwnd": f"+{btf.offset('tcp_sock', 'snd_cwnd')}($arg1):u32",
        "packets_out": f"+{btf.offset('tcp_sock', 'packets_out')}($arg1):u32",
    }
    return "p:lab/ack tcp_rate_gen " + " ".join(f"{name}={fetch}" for name, fetch in fields.items())
