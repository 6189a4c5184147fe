# SPDX-License-Identifier: GPL-2.0
"""Packets of all sorts, and the ways in which a tenant puts them before a device's qdisc.

A socket's packets wait for room in its buffer, and its device's MTU is looked at first.
What is written to a TUN device and redirected by a filter at its ingress knows no such
limits: that is the injector.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from contextlib import suppress
from random import Random

from .kinds import FAR, FAR6, NEAR, NEAR6

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 1, 2, 0x1000, 0x4000
SOL_PACKET, PACKET_VNET_HDR = 263, 15
ETH_P_ALL = 3
# struct virtio_net_hdr of a packet about which there is nothing to say
PLAIN = bytes(10)
VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4 = 1, 1
MAC = b"\2\0\0\0\0\x09" + b"\2\0\0\0\0\x01"
FLOWS = 512
MORE_FRAGMENTS = 0x2000
# A super-packet's payload, as large as IPv4 has room for
MOST_BYTES = 65000


def _sum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def ipv4(payload: bytes, protocol: int = 17, tos: int = 0, fragment: int = 0, ident: int = 0, host: int = 1) -> bytes:
    """A packet from one of 250 hosts."""
    header = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(payload), ident, fragment, 64, protocol, 0)
    header += socket.inet_aton(f"10.1.1.{host % 250 + 1}") + socket.inet_aton(FAR)
    return header[:10] + struct.pack("!H", _sum(header)) + header[12:] + payload


def udp(port: int, size: int, tos: int = 0) -> bytes:
    """A whole UDP packet of so many bytes."""
    length = max(8, size - 20)
    return ipv4(struct.pack("!HHHH", port, 9, length, 0) + bytes(length - 8), tos=tos, host=port)


def fragments(ident: int, size: int = 64) -> list[bytes]:
    """One UDP packet in two parts."""
    whole = struct.pack("!HHHH", 1000 + ident % 50, 9, 8 + 2 * size, 0) + bytes(2 * size)
    first = size // 8 * 8
    return [
        ipv4(whole[:first], fragment=MORE_FRAGMENTS, ident=ident),
        ipv4(whole[first:], fragment=first // 8, ident=ident),
    ]


def fragments6(ident: int) -> list[bytes]:
    """The same over IPv6."""
    head = socket.inet_pton(socket.AF_INET6, NEAR6) + socket.inet_pton(socket.AF_INET6, FAR6)
    parts = []
    for offset, more in ((0, 1), (64, 0)):
        payload = struct.pack("!BBHI", 17, 0, offset | more, ident) + bytes(64)
        parts.append(struct.pack("!IHBB", 6 << 28, len(payload), 44, 64) + head + payload)
    return parts


def anything(random: Random) -> bytes:
    """A packet of any form; many are broken."""
    way = random.randrange(10)
    if way < 4:
        return udp(random.randrange(1, FLOWS), random.choice((28, 60, 60, 200, 576, 1500)), random.choice((0, 0, 2)))
    if way == 4:
        size = random.choice((20, 21, 28, 40, 1400, 9000, 60000))
        header = struct.pack("!IHBB", 6 << 28 | random.getrandbits(20), size, random.choice((6, 17, 58)), 64)
        return header + random.randbytes(32) + bytes(size)
    if way == 5:
        return random.choice(fragments(random.getrandbits(16)) + fragments6(random.getrandbits(16)))
    if way == 6:
        return ipv4(bytes(random.choice((0, 1, 19, 20, 1000))), protocol=random.choice((1, 4, 6, 41, 47, 50, 132)))
    if way == 7:
        return udp(random.randrange(1, FLOWS), random.choice((3000, 9000, 30000, 65000)))
    # a header that says something else than there is
    return bytes((random.choice((0x45, 0x4F, 0x41, 0x60)),)) + random.randbytes(random.choice((0, 1, 10, 19, 80, 1500)))


def super_packet(random: Random, segment_bytes: int, payload_bytes: int = MOST_BYTES) -> tuple[bytes, bytes]:
    """A header of virtio-net and a TCP super-packet of one flow, of so long segments."""
    tcp = struct.pack("!HHIIBBHHH", random.randrange(1, FLOWS), 80, 1, 1, 5 << 4, 0x10, 1000, 0, 0)
    whole = ipv4(tcp + bytes(payload_bytes), protocol=6, tos=random.choice((0, 2)), host=random.randrange(250))
    header = struct.pack("=BBHHHH", VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4, 40, segment_bytes, 20, 16)
    return header, whole


def framed(random: Random, packet: bytes) -> bytes:
    """With an Ethernet header, and perhaps tags."""
    kind = b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00"
    for _ in range(random.choice((0, 0, 0, 0, 0, 1, 2))):
        kind = struct.pack("!HH", random.choice((0x8100, 0x88A8)), random.randrange(4096)) + kind
    return MAC + kind + packet


def open_tun(name: str, flags: int) -> int:
    """A TUN or TAP device of this namespace, which is there as long as the descriptor is open."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags | IFF_NO_PI | IFF_VNET_HDR))
    return fd


def write(fd: int, header: bytes, packet: bytes) -> bool:
    """Have a TUN or TAP device receive a packet; whether it took it."""
    try:
        return os.writev(fd, (header, packet)) > 0
    except OSError:
        return False


def raw_socket(random: Random, name: str) -> tuple[socket.socket, bool]:
    """A socket that sends on one device past its network layer; whether it wants virtio-net headers."""
    raw = socket.socket(socket.AF_PACKET, random.choice((socket.SOCK_RAW, socket.SOCK_DGRAM)), 0)
    raw.setblocking(False)
    with_header = raw.type == socket.SOCK_RAW and random.random() < 0.5
    if with_header:
        raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    with suppress(OSError):
        raw.bind((name, 0))
    return raw, with_header


def send_raw(random: Random, name: str, priority: int, count: int) -> int:
    """Packets of all sorts from a socket bound to a device; how many were taken."""
    taken = 0
    raw, with_header = raw_socket(random, name)
    with raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        for _ in range(count):
            packet = anything(random)
            header = PLAIN
            if with_header and random.random() < 0.3:
                header, packet = super_packet(random, random.choice((8, 100, 1448)), random.choice((500, 5000, 40000)))
                header = header[:6] + struct.pack("=HH", 34, 16)
            protocol = 0x86DD if packet[:1] and packet[0] >> 4 == 6 else 0x0800
            with suppress(OSError):
                if raw.type == socket.SOCK_DGRAM:
                    taken += raw.sendto(packet, (name, protocol, 0, 0, MAC[:6])) > 0
                elif with_header:
                    taken += raw.send(header + MAC + struct.pack("!H", protocol) + packet) > 0
                else:
                    taken += raw.send(framed(random, packet)) > 0
    return taken


def send_udp(random: Random, count: int) -> int:
    """Datagrams, tiny ones, super-packets and ones to be fragmented, by whatever route there is."""
    taken = 0
    for _ in range(count):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
            plain.setblocking(False)
            with suppress(OSError):
                if random.random() < 0.4:
                    plain.setsockopt(17, 103, random.choice((10, 100, 1400)))
                if random.random() < 0.2:
                    # with the header left for the tenant to fill in
                    plain.setsockopt(socket.IPPROTO_IP, 1, random.randrange(256))
                target = random.choice((FAR, NEAR, "127.0.0.1", "10.1.0.77"))
                taken += plain.sendto(bytes(random.choice((0, 1, 600, 1400, 5000))), (target, 1 + random.randrange(99)))
    return taken
