# SPDX-License-Identifier: GPL-2.0
"""Offsets of structure members, as pahole reads them in a kernel's type information.

The probe that sees every acknowledgement reads a handful of members; their offsets
differ between kernels.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .model.errors import PlanError

Offsets = dict[str, int]

_STRUCTURE = re.compile(r"struct (\w+) {")
# "u32 name[2];  /* 8 8 */", "bool (*name)(void);  /* 16 8 */", "u8 name:4;  /* 19: 4 1 */"
_MEMBER = re.compile(
    r"\t+\S.*?(?:\(\*(?P<function>\w+)\).*|\b(?P<name>\w+)(?:\[\d*\])*(?::\d+)?);"
    r"\s+/\*\s+(?P<bytes>\d+)(?::\s*\d+)?\s+\d+ \*/"
)
# the end of an inner structure, which has a name or is part of the outer one
_INNER_END = re.compile(r"\t+}\s*(?P<name>\w*)(?:\[\d*\])*;\s+/\*\s+(?P<bytes>\d+)\s+\d+ \*/")


class BtfError(PlanError):
    """The type information cannot be read, or lacks a member."""


def parse(text: str) -> dict[str, Offsets]:
    """Each structure's members with their offsets in bytes, from what ``pahole -C`` prints.

    Members of unnamed inner structures are the outer one's.
    """
    found: dict[str, Offsets] = {}
    nested: list[Offsets] = []
    for line in text.splitlines():
        if match := _STRUCTURE.fullmatch(line):
            nested = [found.setdefault(match[1], {})]
        elif line.endswith("{"):
            nested.append({})
        elif match := _INNER_END.fullmatch(line):
            inner = nested.pop()
            nested[-1].update({match["name"]: int(match["bytes"])} if match["name"] else inner)
        elif match := _MEMBER.fullmatch(line):
            nested[-1][match["function"] or match["name"]] = int(match["bytes"])
    return found


def offsets(image: Path, structures: Sequence[str]) -> dict[str, Offsets]:
    """Of an uncompressed kernel image, or of /sys/kernel/btf/vmlinux."""
    command = ["pahole", "-F", "btf", "--suppress_aligned_attribute", "-C", ",".join(structures), str(image)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BtfError("pahole is not installed: scripts/bootstrap, or apt-get install pahole") from None
    # it succeeds without a structure that is missing, and names on stderr each kind of type newer than itself
    if done.returncode:
        raise BtfError(f"{image}: {done.stderr.strip()}")
    return parse(done.stdout)


def offset(found: dict[str, Offsets], structure: str, member: str) -> int:
    """Offset in bytes of a member; BtfError if it is not there."""
    if structure not in found:
        raise BtfError(f"no struct {structure}")
    if member not in found[structure]:
        raise BtfError(f"struct {structure} has no member {member}")
    return found[structure][member]


def ack_probe(image: Path) -> str:
    """A kprobe event for every acknowledgement that a sender processes.

    ``tcp_rate_gen(sk, delivered, lost, is_sack_reneg, rs)`` runs once for each,
    when the round trip of the newest delivered segment is known and before the
    congestion control sees it.
    """
    found = offsets(image, ("sock_common", "rate_sample", "tcp_sock"))
    fields = (
        ("sport", "sock_common", "skc_num", "$arg1", "u16"),
        ("rtt_us", "rate_sample", "rtt_us", "$arg5", "s64"),
        ("acked", "tcp_sock", "bytes_acked", "$arg1", "u64"),
        ("delivered", "tcp_sock", "delivered", "$arg1", "u32"),
        ("retrans", "tcp_sock", "total_retrans", "$arg1", "u32"),
        ("cwnd", "tcp_sock", "snd_cwnd", "$arg1", "u32"),
        ("sent", "tcp_sock", "bytes_sent", "$arg1", "u64"),
    )
    fetches = (
        f"{name}=+{offset(found, structure, member)}({argument}):{kind}"
        for name, structure, member, argument, kind in fields
    )
    return "p:lab/ack tcp_rate_gen " + " ".join(fetches)
