# SPDX-License-Identifier: GPL-2.0
"""What goes on around the requests: floods, TCP sockets, readers.

Each function is a process of its own that runs until it is killed. Its pauses are
``slow`` times as long as drawn: what is left of the CPU is for the requests.
"""

from __future__ import annotations

import mmap
import os
import selectors
import socket
import struct
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from in_guest.link import SO_SNDBUFFORCE, SOL_UDP, TARGET, TARGET_MAC, UDP_SEGMENT
from in_guest.netlink import RTM_GETQDISC, RTM_GETTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS

from .messages import Netlink, message, tcmsg

FLOWS = 4096
NEAR, FAR, PORT = "10.9.0.1", "10.9.0.2", 5001
SOCKETS = 48
ALGORITHMS = (b"pktpair", b"pktpair_1994", b"vptfrc", b"cubic", b"bbr", b"reno")
PARAMETERS = [Path("/sys/module", name, "parameters") for name in ("tcp_pktpair", "tcp_vptfrc")]
FAIL_NTH = Path("/proc/thread-self/fail-nth")
# Of the values that a knob is given; vptfrc's have names as well.
VALUES = (
    *("0", "1", "2", "10", "64", "1000", "4294967295", "-1", "x", "99999999999999999999"),
    *("unmodified", "unbiasing", "virtual", "sampling", "lip", "packet", "byte", "byte-tail"),
)

# Linux constants that Python's socket module does not name
TCP_CC_INFO, SO_MAX_PACING_RATE = 26, 47
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300


# What connections must have come to: pktpair says of one what its share of the path is,
# and vptfrc what its rate is; one changes its algorithm while data is under way; one is aborted.
DEEDS = ("share measured", "rate computed", "algorithm switched", "connection aborted")
# And where allocations can be made to fail: one has changed to vptfrc without memory for its state.
DEED_WITH_FAULTS = "rate without memory"
# struct tcp_bbr_info, which pktpair and vptfrc fill in too
CC_INFO = struct.Struct("=5I")


class Deeds:
    """What has been done, told by a process that will be killed to the one that killed it."""

    def __init__(self) -> None:
        """Nothing yet; both processes share the page."""
        self.page = mmap.mmap(-1, mmap.PAGESIZE)

    def did(self, what: str) -> None:
        """One of ``DEEDS`` was done, or what takes an allocation that fails."""
        self.page[(*DEEDS, DEED_WITH_FAULTS).index(what)] = 1

    def done(self) -> list[str]:
        """All that was done."""
        return [what for place, what in enumerate((*DEEDS, DEED_WITH_FAULTS)) if self.page[place]]


def child(act: Callable[[], None], nice: int = 0) -> int:
    """Run ``act`` in a process of its own, which ends with a status if that raises."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.nice(nice)
            act()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


# ---- floods ----


def _checksum(header: bytes) -> int:
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _frame(random: Random) -> bytes:
    """An Ethernet frame; most are of a UDP flow, the others of anything."""
    ethernet = bytes.fromhex(TARGET_MAC.replace(":", "")) + b"\2\0\0\0\0\1"
    size = random.choice((60, 60, 60, 142, 590, 1514))
    way = random.random()
    if way < 0.04:
        return ethernet + random.randbytes(random.choice((2, 3, 10, 40, 600)))
    if way < 0.08:  # IPv6, of which the header may be cut
        packet = struct.pack("!IHBB", 6 << 28 | random.getrandbits(20), 8, 17, 64) + random.randbytes(32) + b"\0" * 8
        return ethernet + b"\x86\xdd" + packet[: random.choice((8, 30, 48))]
    tag = struct.pack("!HH", 0x8100, random.randrange(4096)) if way < 0.12 else b""
    udp = struct.pack("!HHHH", random.randrange(1, FLOWS), 9, size - 34, 0)
    # one in eight understands congestion marks
    header = struct.pack("!BBHHHBBH", 0x45, random.choice((0,) * 7 + (2,)), size - 14, 0, 0, 64, 17, 0)
    header += socket.inet_aton(f"10.9.{random.randrange(256)}.{random.randrange(256)}") + socket.inet_aton(TARGET)
    header = header[:10] + struct.pack("!H", _checksum(header)) + header[12:]
    return ethernet + tag + b"\x08\x00" + header + udp + b"\0" * (size - 42)


# made once, for all rounds
FRAMES = [_frame(random) for random in (Random(1),) for _ in range(FLOWS)]
ETHERNET_BYTES = 14
# for a device without an Ethernet header
PACKETS = [frame[ETHERNET_BYTES:] for frame in FRAMES]
# UDP over IPv4, below any MTU that IP may have
SMALL_PACKETS = [frame[ETHERNET_BYTES:] for frame in FRAMES if len(frame) == 60 and frame[12:14] == b"\x08\0"]


def flood(seed: str, device: str, frames: list[bytes], slow: float) -> None:
    """Frames of thousands of flows in bursts, super-packets among them."""
    random = Random(seed)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 32 << 20)
    raw.bind((device, 0))
    raw.setblocking(False)
    large = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    large.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20)
    large.setblocking(False)
    payload = bytes(60000)
    while True:
        # a socket forgets a device that was moved away, also when that is back
        with suppress(OSError):
            raw.bind((device, 0))
        priority = random.choice((0, 0, 0, 1, 0x10001, 0x10002, 0x10000 + random.randrange(0x10000)))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        start, count = random.randrange(FLOWS), random.choice((1, 20, 100, 400))
        for place in range(start, start + count):
            with suppress(OSError):
                raw.send(frames[place % FLOWS])
        if random.random() < 0.3:
            with suppress(OSError):
                large.setsockopt(SOL_UDP, UDP_SEGMENT, random.choice((100, 536, 1448)))
                # to a neighbour that is found again after the device was down
                large.sendto(payload[: random.choice((1000, 6000, 30000))], (FAR, random.randrange(1, 100)))
        time.sleep(slow * random.choice((0.01, 0.05, 0.15)))


# ---- TCP ----


def serve(seed: str, switched: bool = False) -> None:
    """Take connections; each is read, answered at length, or dropped.

    :param switched: each gets the namespace's algorithm once it is open, and not from its listener: where
        that has a module's, a connection that opens as its route goes away gives back a reference that it
        does not have, which is a fault of the kernel's (tcp_v4_syn_recv_sock())
    """
    random = Random(seed)
    algorithm = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_bytes().strip()
    selector = selectors.DefaultSelector()
    listener = socket.create_server((FAR, PORT), backlog=SOCKETS)
    listener.setblocking(False)
    if switched:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            stream = key.fileobj
            assert isinstance(stream, socket.socket)
            if stream is listener:
                with suppress(OSError):
                    stream = listener.accept()[0]
                    stream.setblocking(False)
                    if switched:
                        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm)
                    _abort_at_close(stream)
                    selector.register(stream, selectors.EVENT_READ)
                continue
            try:
                data = stream.recv(1 << 16)
                if random.random() < 0.2:
                    stream.send(bytes(random.choice((1, 1000, 100000))))
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data or random.random() < 0.005:
                selector.unregister(stream)
                stream.close()


def _abort_at_close(stream: socket.socket) -> None:
    """No connection outlives its process: a module could not be unloaded."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _open(random: Random) -> socket.socket:
    stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    stream.setblocking(False)
    _abort_at_close(stream)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, random.choice(ALGORITHMS))
    if random.random() < 0.2:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, random.choice((88, 536, 1400)))
    with suppress(BlockingIOError):
        stream.connect((FAR, PORT))
    return stream


def _ask(stream: socket.socket, deeds: Deeds) -> None:
    """What the kernel tells of a connection and its algorithm."""
    stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    told = stream.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
    if len(told) == CC_INFO.size and any(CC_INFO.unpack(told)[:2]):
        algorithm = _algorithm(stream)
        if algorithm.startswith(b"pktpair"):
            deeds.did("share measured")
        elif algorithm == b"vptfrc":
            deeds.did("rate computed")


def _algorithm(stream: socket.socket) -> bytes:
    return stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


def _unacked(stream: socket.socket) -> bool:
    """Whether data is under way."""
    return struct.unpack_from("=I", stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 24)[0] > 0


def _use(random: Random, stream: socket.socket, deeds: Deeds) -> None:
    """One thing that a program may do with a connection."""
    way = random.random()
    if way < 0.4:
        stream.send(bytes(random.choice((1, 100, 1000, 5000, 20000, 60000))))
    elif way < 0.5:
        stream.recv(1 << 16)
    elif way < 0.7:
        before, after = _algorithm(stream), random.choice(ALGORITHMS)
        if after == b"vptfrc" and random.random() < 0.5 and FAIL_NTH.exists():
            _choose_without_memory(stream, deeds)
        else:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, after)
        if before != after and _unacked(stream):
            deeds.did("algorithm switched")
    elif way < 0.85:
        _ask(stream, deeds)
    elif way < 0.9:
        rate = random.choice((1, 1000, 100000, 10**7, 2**32 - 1))
        stream.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("I", rate))
    elif way < 0.95:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, random.randrange(2))
    else:
        stream.shutdown(random.choice((socket.SHUT_RD, socket.SHUT_WR)))


def _choose_without_memory(stream: socket.socket, deeds: Deeds) -> None:
    """Change to vptfrc while the first allocation fails, or the one after it: a connection with a round trip tries."""
    for nth in (b"1", b"2"):
        fd = os.open(FAIL_NTH, os.O_RDWR)
        try:
            os.pwrite(fd, nth, 0)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"vptfrc")
            failed = os.pread(fd, 16, 0).strip(b"\n\0") == b"0"
        finally:
            os.pwrite(fd, b"0", 0)
            os.close(fd)
        told = stream.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
        if failed and _unacked(stream) and len(told) == CC_INFO.size and not any(CC_INFO.unpack(told)[:2]):
            deeds.did(DEED_WITH_FAULTS)
            return
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def _turn_knobs(random: Random) -> None:
    """A module parameter gets a value that is within its range, or is refused."""
    knob = random.choice(sorted(knob for folder in PARAMETERS for knob in folder.iterdir()))
    text = random.choice(VALUES)
    before = knob.read_text()
    with suppress(OSError):
        knob.write_text(text)
    if random.random() < 0.7:
        with suppress(OSError):
            knob.write_text(before)


def connect(seed: str, deeds: Deeds, slow: float) -> None:
    """Open connections, use them in every way, switch what controls them, abort them."""
    random = Random(seed)
    streams: list[socket.socket] = []
    while True:
        if len(streams) < SOCKETS and random.random() < 0.3:
            with suppress(OSError):
                streams.append(_open(random))
        for _ in range(3):
            if streams:
                with suppress(OSError):
                    _use(random, random.choice(streams), deeds)
        if streams and random.random() < 0.1:
            stream = streams.pop(random.randrange(len(streams)))
            with suppress(OSError):
                if _unacked(stream):
                    deeds.did("connection aborted")
            stream.close()
        if random.random() < 0.02:
            _turn_knobs(random)
        time.sleep(slow * random.choice((0.002, 0.01, 0.04)))


# ---- readers ----


def read(seed: str, device: str, slow: float) -> None:
    """Dump qdiscs, classes and TCP sockets all the time."""
    random = Random(seed)
    netlink = Netlink()
    sockets = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    # TCP over IPv4, with all that algorithms tell, in every state
    question = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 0xFF, 0xFFFFFFFF)
    body = tcmsg(socket.if_nametoindex(device), 0, 0)
    while True:
        netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, body)
        if random.random() < 0.3:
            netlink.dump(RTM_GETTCLASS, RTM_NEWTCLASS, body)
        if random.random() < 0.3:
            sockets.send(message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, question))
            while struct.unpack_from("=H", sockets.recv(1 << 20), 4)[0] == SOCK_DIAG_BY_FAMILY:
                pass
        time.sleep(slow * random.choice((0.01, 0.03, 0.1)))
