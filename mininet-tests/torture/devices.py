# SPDX-License-Identifier: GPL-2.0
"""The device v0 whose qdiscs are tortured: its kinds, the link behind it, and what is done to it.

Every kind carries TCP to the far end. A kind without an Ethernet header has other limits of its
MTU, and with them other quanta.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
from contextlib import suppress
from random import Random

from in_guest.link import CLONE_NEWNET
from in_guest.netlink import (
    NLA_F_NESTED,
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    attribute,
    split_attributes,
)
from in_guest.tap import expect

from . import traffic
from .messages import Netlink, message

KINDS = ("veth", "tun", "wireguard", "ipip", "lo")
# What is done to a device, after each of which packets must leave its fq_rr again.
DEEDS = ("down and up", "least MTU", "greatest MTU", "renamed", "moved")
# What torture of any length must have done, with every kind. A loopback device refuses to move.
PATHS = tuple(f"{kind} {deed}" for kind in KINDS for deed in DEEDS)

# The addresses of the link that tunnels go through, at its near and far end
OUTER = ("10.8.0.1", "10.8.0.2")
# Keys for tests alone: 32 times the byte 1, 32 times the byte 2, and their public keys
PRIVATE_KEYS = (b"\1" * 32, b"\2" * 32)
PUBLIC_KEYS = (
    bytes.fromhex("a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209"),
    bytes.fromhex("ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59"),
)
WIREGUARD_PORT = 51820
# What most links have, and what the tunnels among the kinds begin with or are close to
USUAL_MTUS = (1280, 1420, 1500, 9000)
# of any device that names no limit
GREATEST_MTU = 2**31 - 1
# ipip names none and has them all the same: from what IPv4 needs to what it carries beside its header
LIMITS_OF = {"ipip": (68, 65535 - 20)}

# Linux constants that Python's modules do not name
RTM_NEWLINK, RTM_GETLINK, RTM_NEWADDR = 16, 18, 20
IFLA_IFNAME, IFLA_MTU, IFLA_NET_NS_FD, IFLA_NEW_IFINDEX, IFLA_MIN_MTU, IFLA_MAX_MTU = 3, 4, 28, 49, 50, 51
IFA_ADDRESS, IFA_LOCAL = 1, 2
IFF_UP = 1
NETLINK_GENERIC, GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
WG_CMD_SET_DEVICE = 1
WGDEVICE_A_IFNAME, WGDEVICE_A_PRIVATE_KEY, WGDEVICE_A_LISTEN_PORT, WGDEVICE_A_PEERS = 2, 3, 6, 8
WGPEER_A_PUBLIC_KEY, WGPEER_A_ENDPOINT, WGPEER_A_ALLOWEDIPS = 1, 4, 9
WGALLOWEDIP_A_FAMILY, WGALLOWEDIP_A_IPADDR, WGALLOWEDIP_A_CIDR_MASK = 1, 2, 3
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
TUN_OFFLOADS = 1 | 2 | 4  # TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6
VNET_HEADER_BYTES = 10
CARRIED = (bytes((socket.IPPROTO_TCP,)), bytes((socket.IPPROTO_ICMP,)))
LIBC = ctypes.CDLL(None, use_errno=True)


def kind_of(seed: str, arena: int) -> str:
    """The kind that the seed gives an arena: of as many arenas in turn as there are kinds, each has another."""
    cycle, place = divmod(arena, len(KINDS))
    return Random(f"{seed}/kinds/{cycle}").sample(KINDS, len(KINDS))[place]


def has_ethernet(kind: str) -> bool:
    """Whether frames have an Ethernet header."""
    return kind in ("veth", "lo")


def header_bytes(kind: str) -> int:
    """What psched_mtu() adds to the MTU."""
    return traffic.ETHERNET_BYTES if has_ethernet(kind) else 0


def has_queues(kind: str) -> bool:
    """Whether it has more than one transmit queue, as mq and multiq need."""
    return kind == "veth"


# ---- making them ----


def make(kind: str, end: int, far: int = 0) -> tuple[list[str], int | None]:
    """Commands for ip that make the device of one end; and the file of a tun device.

    :param end: 0 for v0, which comes first, 1 for v1 in the far namespace
    :param far: for v0, a process in the far namespace
    """
    queues = "numtxqueues 2 numrxqueues 2"
    if kind == "veth":
        return ([] if end else [f"link add v0 {queues} type veth peer name v1 netns {far} {queues}"]), None
    if kind == "lo":
        # renamed, so that all that is said of v0 is said of it
        return ["link set lo down", "link set lo name v0"], None
    if kind == "tun":
        return [], _tun(f"v{end}")
    outer = [] if end else [f"link add u0 type veth peer name u1 netns {far}"]
    outer += [f"addr add {OUTER[end]}/24 dev u{end}", f"link set u{end} up"]
    addresses = f" local {OUTER[end]} remote {OUTER[1 - end]}" if kind == "ipip" else ""
    return [*outer, f"link add v{end} type {kind}{addresses}"], None


def _tun(name: str) -> int:
    """A tun device whose super-packets reach the file whole."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(fd, TUNSETOFFLOAD, TUN_OFFLOADS)
    return fd


def shuttle(near: int, far: int) -> None:
    """Carry what leaves one tun device to the other, until one is gone."""
    other = {near: far, far: near}
    poll = select.poll()
    for fd in other:
        poll.register(fd, select.POLLIN)
    while True:
        for fd, events in poll.poll():
            if events & select.POLLERR:
                return
            # a device that is down takes nothing
            with suppress(OSError):
                packet = os.read(fd, 1 << 17)
                # most of a flood is for nobody, and some of it is no packet
                start, protocol = packet[VNET_HEADER_BYTES:][:1], packet[VNET_HEADER_BYTES + 9 :][:1]
                if start >= b"\x45" and start < b"\x50" and protocol in CARRIED:
                    os.write(other[fd], packet)


def introduce(end: int) -> None:
    """Give a WireGuard device its key and its peer, by generic netlink: there need be no wg in the guest."""
    netlink = Netlink(NETLINK_GENERIC)
    question = struct.pack("=BBH", CTRL_CMD_GETFAMILY, 1, 0) + attribute(CTRL_ATTR_FAMILY_NAME, b"wireguard\0")
    netlink.socket.send(message(GENL_ID_CTRL, NLM_F_REQUEST, question))
    answer = next(netlink.answers())
    family = struct.unpack("=H", dict(split_attributes(answer[20:]))[CTRL_ATTR_FAMILY_ID])[0]
    allowed = (
        attribute(WGALLOWEDIP_A_FAMILY, struct.pack("=H", socket.AF_INET))
        + attribute(WGALLOWEDIP_A_IPADDR, bytes(4))
        + attribute(WGALLOWEDIP_A_CIDR_MASK, bytes(1))
    )
    endpoint = struct.pack("=H", socket.AF_INET) + struct.pack("!H", WIREGUARD_PORT)
    peer = (
        attribute(WGPEER_A_PUBLIC_KEY, PUBLIC_KEYS[1 - end])
        + attribute(WGPEER_A_ENDPOINT, endpoint + socket.inet_aton(OUTER[1 - end]) + bytes(8))
        + attribute(WGPEER_A_ALLOWEDIPS | NLA_F_NESTED, attribute(NLA_F_NESTED, allowed))
    )
    body = (
        attribute(WGDEVICE_A_IFNAME, b"v%d\0" % end)
        + attribute(WGDEVICE_A_PRIVATE_KEY, PRIVATE_KEYS[end])
        + attribute(WGDEVICE_A_LISTEN_PORT, struct.pack("=H", WIREGUARD_PORT))
        + attribute(WGDEVICE_A_PEERS | NLA_F_NESTED, attribute(NLA_F_NESTED, peer))
    )
    said = netlink.ask(message(family, NLM_F_REQUEST | NLM_F_ACK, struct.pack("=BBH", WG_CMD_SET_DEVICE, 1, 0) + body))
    netlink.socket.close()
    expect(said == 0, f"wireguard takes no peer: {said}")


# ---- what is done to v0 ----


class Place:
    """A network namespace that v0 may be in, with sockets of it."""

    def __init__(self) -> None:
        """The one that this process is in."""
        self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.netlink = Netlink()
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
        self.raw.setblocking(False)

    def enter(self) -> None:
        """Take this process there."""
        if LIBC.setns(self.fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def new_one(self) -> Place:
        """Another, which ends with this process."""
        if LIBC.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        other = Place()
        self.enter()
        return other


class Device:
    """v0, wherever it is and whatever it is called."""

    def __init__(self, kind: str) -> None:
        """It is in the namespace of this process."""
        self.kind = kind
        self.name = "v0"
        self.index = socket.if_nametoindex(self.name)
        self.home = self.place = Place()
        self.away = self.home.new_one()
        self.least, self.greatest = self._limits()

    def _ask(self, *parts: bytes, order: int = RTM_NEWLINK, flags: int = 0, change: int = 0) -> int | None:
        """The errno for a request about the link."""
        head = struct.pack("=BxHiII", 0, 0, self.index, flags, change)
        return self.place.netlink.ask(message(order, NLM_F_REQUEST | NLM_F_ACK, head + b"".join(parts)))

    def _limits(self) -> tuple[int, int]:
        """The least and the greatest MTU that the kernel lets it have."""
        netlink = self.place.netlink
        netlink.socket.send(message(RTM_GETLINK, NLM_F_REQUEST, struct.pack("=BxHiII", 0, 0, self.index, 0, 0)))
        found = dict(split_attributes(next(netlink.answers())[32:]))
        least, greatest = (struct.unpack("=I", found[what])[0] for what in (IFLA_MIN_MTU, IFLA_MAX_MTU))
        return LIMITS_OF.get(self.kind, (least, greatest or GREATEST_MTU))

    def set_mtu(self, mtu: int) -> int | None:
        """Another MTU; returns the errno."""
        return self._ask(attribute(IFLA_MTU, struct.pack("=I", mtu)))

    def set_up(self, up: bool) -> int | None:
        """Up or down; returns the errno."""
        return self._ask(flags=IFF_UP if up else 0, change=IFF_UP)

    def rename(self, name: str) -> int | None:
        """Another name, for which kernels before 6.2 want it down; returns the errno."""
        said = self._ask(attribute(IFLA_IFNAME, name.encode() + b"\0"))
        if said == errno.EBUSY:
            self.set_up(False)
            said = self._ask(attribute(IFLA_IFNAME, name.encode() + b"\0"))
            self.set_up(True)
        if said == 0:
            self.name = name
        return said

    def move(self, place: Place) -> int | None:
        """To another namespace, and this process after it; returns the errno.

        It arrives with its number, but down, and without addresses.
        """
        said = self._ask(
            attribute(IFLA_NET_NS_FD, struct.pack("=i", place.fd)),
            attribute(IFLA_NEW_IFINDEX, struct.pack("=i", self.index)),
        )
        if said == 0:
            place.enter()
            self.place = place
        return said

    def settle(self) -> None:
        """Its addresses, which the kernel takes away below an MTU of 68 bytes and at a move; up."""
        for address in (traffic.NEAR, traffic.FAR)[: 2 if self.kind == "lo" else 1]:
            octets = socket.inet_aton(address)
            body = struct.pack("=BBBBi", socket.AF_INET, 24, 0, 0, self.index)
            body += attribute(IFA_LOCAL, octets) + attribute(IFA_ADDRESS, octets)
            flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
            said = self.place.netlink.ask(message(RTM_NEWADDR, flags, body))
            expect(said == 0, f"{self.kind}: no address: {said}")
        expect(self.set_up(True) == 0, f"{self.kind}: it does not come up")

    def send(self, random: Random) -> None:
        """A few small packets, whatever the MTU lets through."""
        for packet in random.sample(traffic.SMALL_PACKETS, 8):
            with suppress(OSError):
                self.place.raw.sendto(packet, (self.name, 0x0800))
