# SPDX-License-Identifier: GPL-2.0
"""A TUN device of one's own, and TCP segments as they go through it.

The device takes whole GSO packets: one read is one train of the sender, as it leaves
the stack. A virtio-net header precedes each packet, so that neither side computes a
checksum of TCP.
"""

from __future__ import annotations

import builtins
import fcntl
import os
import socket
import struct
from dataclasses import dataclass

DEVICE = "/dev/net/tun"
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO_ECN = 0x01, 0x02, 0x08
OFFLOADS = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO_ECN
SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFFLAGS = 0x8916, 0x891C, 0x8914
SIOCSIFMTU = 0x8922
IFF_UP_RUNNING = 0x41

VIRTIO_BYTES, IP_BYTES, TCP_BYTES = 10, 20, 20
# virtio-net: "the checksum is still to be computed", from byte 20, to be stored 16 bytes on
NEEDS_CHECKSUM = struct.pack("=BBHHHH", 1, 0, 0, 0, IP_BYTES, 16)
NO_OFFLOAD = bytes(VIRTIO_BYTES)

FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
ECT0, CE = 2, 3
OPT_MSS, OPT_SCALE, OPT_SACK_PERMITTED, OPT_STAMPS = 2, 3, 4, 8
STAMPS = b"\1\1\x08\x0a"
MODULUS = 1 << 32


def address(device: int, host: int) -> str:
    """The address of a far end, by the numbers of its device and of itself; 1 is the kernel's."""
    return f"10.66.{device}.{host}"


def ones_sum(data: bytes) -> int:
    """The Internet checksum of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


@dataclass
class Arrived:
    """A TCP packet that the kernel sent, up to 64 KB of segments."""

    host: int
    source: int
    target: int
    sequence: int
    ack: int
    flags: int
    window: int
    stamp: int
    bytes: int
    # payload of each segment but the last
    segment: int
    # of IP and TCP, which each segment has
    header: int
    ecn: int
    options: dict[int, builtins.bytes]


def _options(data: bytes) -> dict[int, bytes]:
    """The options of a SYN, by kind."""
    found: dict[int, bytes] = {}
    place = 0
    while place < len(data) and data[place]:
        if data[place] == 1:
            place += 1
            continue
        size = data[place + 1]
        found[data[place]] = data[place + 2 : place + size]
        place += size
    return found


def parse(data: bytes) -> Arrived | None:
    """A packet as it was read from the device; None if it is not TCP over IPv4."""
    ip = VIRTIO_BYTES
    if len(data) < ip + IP_BYTES + TCP_BYTES or data[ip] != 0x45 or data[ip + 9] != socket.IPPROTO_TCP:
        return None
    tcp = ip + IP_BYTES
    source, target, sequence, ack, word, window = struct.unpack_from("!HHIIHH", data, tcp)
    header = IP_BYTES + (word >> 12) * 4
    segment = struct.unpack_from("=H", data, 4)[0] if data[1] else 0
    payload = len(data) - ip - header
    flags = word & 0xFF
    stamp = 0
    if header >= 52 and data[tcp + 20 : tcp + 24] == STAMPS:
        stamp = struct.unpack_from("!I", data, tcp + 24)[0]
    options = _options(data[tcp + TCP_BYTES : ip + header]) if flags & SYN else {}
    if OPT_STAMPS in options:
        stamp = struct.unpack_from("!I", options[OPT_STAMPS])[0]
    return Arrived(
        data[ip + 19], source, target, sequence, ack, flags, window, stamp, payload,
        segment or max(payload, 1), header, data[ip + 1] & 3, options,
    )  # fmt: skip


class Tun:
    """The device between the kernel's TCP and ours."""

    def __init__(self, number: int, mtu: int) -> None:
        """Make it, in this process' network namespace."""
        self.number = number
        self.name = f"tun{number}".encode()
        self.fd = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
        self._request(self.fd, TUNSETIFF, struct.pack("H", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
        self.offload(True)
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._request(self.control.fileno(), SIOCSIFADDR, self._address(address(number, 1)))
        self._request(self.control.fileno(), SIOCSIFNETMASK, self._address("255.255.255.0"))
        self.mtu = 0
        self.set_mtu(mtu)
        self._request(self.control.fileno(), SIOCSIFFLAGS, struct.pack("H", IFF_UP_RUNNING))
        # IP headers of what we send, by far end, length and ECN bits
        self.headers: dict[tuple[int, int], bytes] = {}
        self.refused = 0

    @staticmethod
    def _address(text: str) -> bytes:
        return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))

    def _request(self, fd: int, order: int, value: bytes) -> None:
        fcntl.ioctl(fd, order, self.name.ljust(16, b"\0") + value.ljust(24, b"\0"))

    def set_mtu(self, mtu: int) -> None:
        """Change the device's MTU, and so the MSS of connections under way."""
        self._request(self.control.fileno(), SIOCSIFMTU, struct.pack("i", mtu))
        self.mtu = mtu

    def offload(self, whole: bool) -> None:
        """Whether GSO packets come whole or as segments."""
        fcntl.ioctl(self.fd, TUNSETOFFLOAD, OFFLOADS if whole else 0)

    def read(self) -> bytes | None:
        """A packet, or None if there is none."""
        try:
            return os.read(self.fd, 70000)
        except BlockingIOError:
            return None

    def _write(self, data: bytes) -> None:
        try:
            os.write(self.fd, data)
        except OSError:
            # what is no packet at all the device itself refuses
            self.refused += 1

    def send(self, host: int, segment: bytes) -> None:
        """A TCP segment from a far end, its checksum left open."""
        size = IP_BYTES + len(segment)
        header = self.headers.get((host, size))
        if header is None:
            header = self.headers[host, size] = NEEDS_CHECKSUM + self._ip(host, size, socket.IPPROTO_TCP)
        self._write(header + segment)

    def _ip(self, host: int, size: int, protocol: int) -> bytes:
        source, target = (socket.inet_aton(address(self.number, end)) for end in (host, 1))
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, 0, 0x4000, 64, protocol, 0, source, target)
        return header[:10] + struct.pack("!H", ones_sum(header)) + header[12:]

    def fragmentation_needed(self, host: int, mtu: int, quoted: bytes) -> None:
        """ICMP: what was quoted was too large for a link of this MTU."""
        body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quoted[:28]
        body = body[:2] + struct.pack("!H", ones_sum(body)) + body[4:]
        self._write(NO_OFFLOAD + self._ip(host, IP_BYTES + len(body), socket.IPPROTO_ICMP) + body)
