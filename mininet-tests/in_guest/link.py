# SPDX-License-Identifier: GPL-2.0
"""A network namespace of a test's own with a link to test on.

What is sent out of ``v0`` is captured at ``v1``.  There is no other host: the address
that packets go to belongs to nobody.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .tap import run

CLONE_NEWNET = 0x40000000
ETH_HEADER_BYTES = 14
IP_UDP_HEADER_BYTES = 28
IPV6_UDP_HEADER_BYTES = 48
SOURCE = "10.9.0.1"
TARGET = "10.9.0.9"
TARGET_MAC = "02:00:00:00:00:09"
# Linux constants that Python's socket module does not name
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
SOL_UDP = 17
UDP_SEGMENT = 103
ETH_P_ALL = 3


def new_namespace() -> None:
    """Move this process to a new, empty network namespace.

    IPv6 is off: its own packets would be counted too.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare: a new network namespace needs root")
    conf = Path("/proc/sys/net/ipv6/conf")
    if conf.exists():
        for family in ("all", "default"):
            (conf / family / "disable_ipv6").write_text("1")


def enter_namespace() -> None:
    """Move this process to a new network namespace with the veth pair.

    Segmentation offloads stay on at v0, so that super-packets reach the qdisc
    whole.
    """
    new_namespace()
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
    run("ip", "addr", "add", f"{SOURCE}/24", "dev", "v0")
    run("ip", "link", "set", "v0", "up")
    run("ip", "link", "set", "v1", "up")
    run("ip", "neigh", "add", TARGET, "lladdr", TARGET_MAC, "dev", "v0", "nud", "permanent")


class Sender:
    """A UDP flow: one source port."""

    def __init__(self, port: int, segment_bytes: int = 0, host: str = SOURCE, target: str = TARGET) -> None:
        """Open a flow from ``port`` of ``host``, of IPv4 or 6; with ``segment_bytes``, of super-packets."""
        self.port = port
        self.target = target
        self.sequence = 0
        ipv6 = ":" in host
        self.header_bytes = ETH_HEADER_BYTES + (IPV6_UDP_HEADER_BYTES if ipv6 else IP_UDP_HEADER_BYTES)
        self.socket = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
        # room for whatever a test leaves in the qdisc
        self.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
        if segment_bytes:
            self.socket.setsockopt(SOL_UDP, UDP_SEGMENT, segment_bytes)
        self.socket.bind((host, port))
        self.socket.setblocking(False)

    def send(self, frame_bytes: int, count: int = 1) -> None:
        """Send packets of ``frame_bytes`` on the wire, Ethernet header included.

        The payload begins with a sequence number.  What the qdisc refuses is
        lost silently, as it is for any UDP sender.
        """
        payload_bytes = frame_bytes - self.header_bytes
        for _ in range(count):
            payload = struct.pack("!I", self.sequence).ljust(payload_bytes, b"\0")
            self.sequence += 1
            try:
                self.socket.sendto(payload, (self.target, 9))
            except OSError:  # ENOBUFS: the qdisc said so
                continue

    def close(self) -> None:
        """Close the flow's socket."""
        self.socket.close()


def answer(port: int, host: str = SOURCE) -> bytes:
    """What the far end sends back to a ``port`` of a ``host`` of IPv4: an IP packet."""
    udp = struct.pack("!HHHH", 9, port, 28, 0) + bytes(20)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 7, 0, 64, socket.IPPROTO_UDP, 0)
    ip += socket.inet_aton(TARGET) + socket.inet_aton(host)
    # 16 bits of ones' complement (RFC 791): the header's sum becomes 0xffff
    return ip[:10] + struct.pack("!H", 0xFFFF - sum(struct.unpack("!10H", ip)) % 0xFFFF) + ip[12:] + udp


@dataclass
class Frame:
    """A captured UDP packet."""

    time_ns: int
    port: int
    bytes: int
    sequence: int
    ecn: int


class Capture:
    """Everything that leaves v0, as it arrives at v1, with the kernel's times."""

    def __init__(self, ethertype: int = 0x0800) -> None:
        """Start capturing: IP packets, or those of PPPoE sessions."""
        # a session's header is before that of IP
        self.skip = 8 if ethertype == 0x8864 else 0
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind(("v1", ethertype))

    def read(self, count: int, patience_s: float = 5.0) -> list[Frame]:
        """Up to ``count`` frames; fewer if none comes for ``patience_s``."""
        frames: list[Frame] = []
        self.socket.settimeout(patience_s)
        while len(frames) < count:
            try:
                data, control, _, _ = self.socket.recvmsg(70000, 64)
            except TimeoutError:
                break
            packet = data[ETH_HEADER_BYTES + self.skip :]
            if packet[9] != socket.IPPROTO_UDP:
                continue
            seconds, nanoseconds = struct.unpack("qq", control[0][2])
            port = int.from_bytes(packet[20:22], "big")
            sequence = int.from_bytes(packet[28:32], "big")
            frames.append(Frame(seconds * 10**9 + nanoseconds, port, len(data), sequence, packet[1] & 3))
        return frames

    def close(self) -> None:
        """Stop capturing."""
        self.socket.close()


def gaps_ns(frames: list[Frame]) -> list[int]:
    """Times between successive packets."""
    return [later.time_ns - earlier.time_ns for earlier, later in pairwise(frames)]
