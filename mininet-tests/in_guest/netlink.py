# SPDX-License-Identifier: GPL-2.0
"""Netlink by hand: past every check that tc makes, and without starting a process."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

SOL_NETLINK = 270
NETLINK_EXT_ACK = 11
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_CREATE, NLM_F_REPLACE = 1, 4, 0x300, 0x400, 0x100
NLMSG_ERROR, NLM_F_ACK_TLVS, NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_POLICY = 2, 0x200, 1, 4
NL_POLICY_MIN_S, NL_POLICY_MAX_S, NL_POLICY_MIN_U, NL_POLICY_MAX_U = 2, 3, 4, 5
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_GETTCLASS = 40, 42
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP = 1, 3, 4
NLA_F_NESTED = 0x8000
TC_H_ROOT = 0xFFFFFFFF


def attribute(kind: int, value: bytes) -> bytes:
    """One netlink attribute, padded."""
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def dump_messages(question: int, answer_type: int, device: str = "v0") -> list[bytes]:
    """All the kernel's answers of ``answer_type`` for ``device`` to ``question``.

    For asking whether anything has changed: far cheaper than starting tc, and
    tc's JSON of some qdiscs, and before 6.2 of all classes, is none.
    """
    index = socket.if_nametoindex(device)
    body = struct.pack("=BBHiIII", 0, 0, 0, index, 0, 0, 0)
    flags = NLM_F_REQUEST | NLM_F_DUMP
    message = struct.pack("=IHHII", 16 + len(body), question, flags, 1, 0) + body
    found: list[bytes] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(message)
        while True:
            answer = netlink.recv(1 << 20)
            offset = 0
            while offset < len(answer):
                length, kind = struct.unpack_from("=IH", answer, offset)
                if kind != answer_type:
                    return found
                part = answer[offset : offset + length]
                if struct.unpack_from("=i", part, 20)[0] == index:
                    found.append(part)
                offset += length + 3 & ~3


def dump(device: str = "v0") -> list[dict[int, bytes]]:
    """The attributes of all qdiscs of ``device``, as the kernel sends them."""
    return [dict(split_attributes(message[36:])) for message in dump_messages(RTM_GETQDISC, RTM_NEWQDISC, device)]


def split_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and value of each attribute."""
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4:
            # what is no attribute, taken for one, would be gone through for ever
            raise ValueError(f"an attribute of {size} bytes")
        yield kind & ~NLA_F_NESTED, data[4:size]
        data = data[size + 3 & ~3 :]
