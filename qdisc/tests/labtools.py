# SPDX-License-Identifier: GPL-2.0
"""What the tests inside the lab share: TAP, a link to test on, netlink by hand.

Needs only the standard library, root, and the modules loaded.  Each program
gets a network namespace of its own with one veth pair in it: what is sent out
of ``v0`` is captured at ``v1``.  There is no other host: the address that
packets go to belongs to nobody.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

CLONE_NEWNET = 0x40000000
ETH_HEADER_BYTES = 14
IP_UDP_HEADER_BYTES = 28
SOURCE = "10.9.0.1"
TARGET = "10.9.0.9"
TARGET_MAC = "02:00:00:00:00:09"
TRACING = Path("/sys/kernel/tracing")

# Linux constants that Python's socket module does not name
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
SOL_UDP = 17
UDP_SEGMENT = 103
ETH_P_ALL = 3
SOL_NETLINK = 270
NETLINK_EXT_ACK = 11

Json = dict[str, object]


class TestFailedError(Exception):
    """A check that did not hold; the text says what was expected and found."""


def expect(condition: object, text: str) -> None:
    """Fail the running test with ``text`` unless ``condition`` holds."""
    if not condition:
        raise TestFailedError(text)


def equal(found: object, wanted: object, what: str) -> None:
    """Fail the running test unless ``found`` is ``wanted``."""
    expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def run_tests(tests: Iterable[Callable[[], None]]) -> int:
    """Run tests in order, print TAP, return the program's exit status."""
    tests = list(tests)
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name = test.__name__
        try:
            test()
        except Exception as error:  # a test that breaks must not end the rest
            failed += 1
            print(f"not ok {number} - {name}")
            detail = str(error) if isinstance(error, TestFailedError) else traceback.format_exc()
            for line in detail.splitlines():
                print(f"# {line}")
        else:
            print(f"ok {number} - {name}")
        sys.stdout.flush()
    return 1 if failed else 0


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command; unless ``check`` is false, fail if it does not return 0."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check:
        expect(done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done


def tc(arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run tc with space-separated ``arguments``."""
    return run("tc", *arguments.split(), check=check)


def qdiscs() -> list[Json]:
    """All qdiscs of v0 with their statistics, as tc reports them in JSON."""
    found: list[Json] = json.loads(tc("-s -j qdisc show dev v0").stdout)
    return found


def fq_rr() -> Json:
    """The fq_rr qdisc of v0 with its statistics."""
    for qdisc in qdiscs():
        if qdisc["kind"] == "fq_rr":
            return qdisc
    raise TestFailedError("there is no fq_rr on v0")


def dmesg_complaints() -> list[str]:
    """Lines of the kernel's log that a clean run does not have."""
    bad = re.compile(r"WARNING|BUG|Oops|cut here|Call Trace|general protection|KASAN|refcount|leak")
    return [line for line in run("dmesg").stdout.splitlines() if bad.search(line)]


def the_kernel_has_not_complained() -> None:
    """No warning in the log after all this."""
    tc("qdisc del dev v0 root", check=False)
    equal(dmesg_complaints(), [], "kernel log")


def module_users() -> int:
    """How many qdiscs hold the module."""
    return int(Path("/sys/module/sch_fq_rr/refcnt").read_text())


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
        """Open a flow from ``port`` of ``host``; with ``segment_bytes``, of super-packets."""
        self.port = port
        self.target = target
        self.sequence = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
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
        payload_bytes = frame_bytes - ETH_HEADER_BYTES - IP_UDP_HEADER_BYTES
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


# ---- netlink by hand: past every check that tc makes ----

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_CREATE, NLM_F_REPLACE = 1, 4, 0x300, 0x400, 0x100
NLMSG_ERROR, NLM_F_ACK_TLVS, NLMSGERR_ATTR_MSG = 2, 0x200, 1
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_GETTCLASS = 40, 42
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP = 1, 3, 4
NLA_F_NESTED = 0x8000
TC_H_ROOT = 0xFFFFFFFF


def attribute(kind: int, value: bytes) -> bytes:
    """One netlink attribute, padded."""
    return struct.pack("HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def request(
    options: bytes,
    parent: int = TC_H_ROOT,
    create: bool = False,
    nested: bool = True,
    minor: int = 0,
    device: str = "v0",
    major: int = 1,
    delete: bool = False,
) -> tuple[int, str]:
    """Ask the kernel to change (or create, or delete) the fq_rr 1: of v0 at ``parent``.

    With ``minor``, its class of that number; with ``device`` and ``major``,
    another one.  Returns the positive errno (0: done) and the kernel's own message.
    """
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_CREATE | NLM_F_REPLACE if create else 0)
    kind = TCA_OPTIONS | (NLA_F_NESTED if nested else 0)
    handle = (major << 16) + minor
    body = struct.pack("=BBHiIII", 0, 0, 0, socket.if_nametoindex(device), handle, 0 if minor else parent, 0)
    body += attribute(TCA_KIND, b"fq_rr\0") + attribute(kind, options)
    order = RTM_DELQDISC if delete else RTM_NEWTCLASS if minor else RTM_NEWQDISC
    message = struct.pack("=IHHII", 16 + len(body), order, flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        netlink.send(message)
        answer = netlink.recv(65536)
    length, answer_type, answer_flags = struct.unpack_from("=IHH", answer)
    equal(answer_type, NLMSG_ERROR, "netlink answer")
    errno = -struct.unpack_from("=i", answer, 16)[0]
    text = ""
    if answer_flags & NLM_F_ACK_TLVS:
        # the failed request is quoted whole, a successful one by its header
        quoted = struct.unpack_from("=I", answer, 20)[0] if errno else 16
        offset = 20 + (quoted + 3 & ~3)
        while offset + 4 <= length:
            size, kind = struct.unpack_from("HH", answer, offset)
            if kind == NLMSGERR_ATTR_MSG:
                text = answer[offset + 4 : offset + size].rstrip(b"\0").decode()
            offset += size + 3 & ~3
    return errno, text


# options as they are typed: attribute, and format of its value
OPTIONS = {
    "limit": (2, "I"),
    "memory-limit": (3, "I"),
    "flows": (4, "I"),
    "quantum": (5, "I"),
    "rate": (6, "Q"),
    "overhead": (7, "i"),
    "mpu": (8, "I"),
    "scheduler": (9, "I"),
    "drop": (10, "I"),
    "split-gso": (11, "I"),
    "seed": (12, "I"),
    "qlbp": (13, "I"),
    "mu-min": (14, "Q"),
    "mu-max": (15, "Q"),
    "q-max": (16, "I"),
    "load": (17, "I"),
    "max-delay": (18, "I"),
    "mode": (19, "I"),
    "charge-drops": (20, "I"),
    "ecn": (21, "I"),
    "perturb": (22, "I"),
    "layer": (23, "I"),
    "framing": (24, "I"),
    "catch-up": (25, "I"),
}
FLAGS = ("split-gso", "qlbp", "charge-drops")
WORDS = {
    "drr": 0,
    "strict": 1,
    "longest-queue": 0,
    "longest-head": 1,
    "longest-tail": 2,
    "arriving": 3,
    "flow": 0,
    "src-host": 1,
    "dst-host": 2,
    "class": 3,
    "off": 0,
    "never": 0,
    "unlimited": 2**64 - 1,
    "auto": 0,
    "frame": 0,
    "ip": 1,
    "plain": 0,
    "atm": 1,
    "ptm": 2,
}
# to bytes per second, or microseconds
UNITS = {"kbit": 125, "mbit": 125_000, "gbit": 125_000_000, "us": 1, "ms": 1000}

# statistics by attribute, named as in tc's JSON; all 4 or 8 bytes wide
STATISTICS = [
    "",
    "",
    "enqueued",
    "drops_flushed",
    "drops_head",
    "drops_tail",
    "drops_arriving",
    "drops_gso",
    "flushes",
    "over_limit",
    "over_memory",
    "split",
    "segments",
    "activations",
    "sparse",
    "collisions",
    "flows_active",
    "longest_bytes",
    "longest_max_bytes",
    "memory_bytes",
    "memory_max_bytes",
    "quantum_bytes",
    "lag_max_ns",
    "",
    "mu_min_Bps",
    "mu_max_Bps",
    "q_max_bytes",
    "pacing_rate_Bps",
    "pacing_delay_ns",
    "pacing_delay_max_ns",
    "pacing_bound_ns",
    "classified",
    "rehashes",
    "marks",
    "over_share",
    "lost_ns",
]

# a class: number of the nest of its queue, and names of what is in it
STATS_FLOW = 23
FLOW_STATISTICS = ["", "", "credit", "hash", "sparse", "head_bytes"]


def encode(arguments: str) -> bytes:
    """Attributes for options as one would type them for tc (sizes in bytes)."""
    words = iter(arguments.split())
    encoded = b""
    for key in words:
        kind, form = OPTIONS[key.removeprefix("no-")]
        if key.removeprefix("no-") in FLAGS:
            value = int(key in FLAGS)
        else:
            word = next(words)
            unit = word.lstrip("-0123456789")
            value = WORDS[word] if word in WORDS else int(word.removesuffix(unit))
            value *= UNITS.get(unit, 1)
        encoded += attribute(kind, struct.pack("=" + form, value))
    return encoded


def configure(arguments: str, parent: int = TC_H_ROOT, create: bool = False) -> None:
    """Change (or create) fq_rr 1: without starting a process.

    Starting one waits for the host's files, and the guest's clock leaps while
    it waits: by seconds or minutes, in which the link sends what a test counts.
    """
    equal(request(encode(arguments), parent, create), (0, ""), f"fq_rr {arguments}")


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


def classes() -> dict[int, dict[str, int]]:
    """What the kernel shows of each class of v0, by its minor number."""
    found: dict[int, dict[str, int]] = {}
    for message in dump_messages(RTM_GETTCLASS, RTM_NEWTCLASS):
        minor = struct.unpack_from("=I", message, 24)[0] & 0xFFFF
        expect(minor not in found, f"class {minor:x} is there twice")
        parts = dict(split_attributes(dict(split_attributes(message[36:]))[TCA_STATS2]))
        shown = {}
        shown["qlen"], shown["backlog"] = struct.unpack_from("=II", parts[TCA_STATS_QUEUE])
        for kind, value in split_attributes(dict(split_attributes(parts[TCA_STATS_APP]))[STATS_FLOW]):
            if FLOW_STATISTICS[kind]:
                shown[FLOW_STATISTICS[kind]] = int.from_bytes(value, "little", signed=len(value) == 8)
        found[minor] = shown
    return found


def snapshot() -> bytes | None:
    """The options of the fq_rr of v0, or None if there is none."""
    for attributes in dump():
        if attributes[TCA_KIND] == b"fq_rr\0":
            return attributes[TCA_OPTIONS]
    return None


def backlogs(device: str = "v0") -> dict[str, tuple[int, int]]:
    """Packets and bytes queued in each qdisc of ``device``, by its kind.

    Of several of one kind the later ones have their handle as well: "drr 3:".
    """
    found: dict[str, tuple[int, int]] = {}
    for message in dump_messages(RTM_GETQDISC, RTM_NEWQDISC, device):
        attributes = dict(split_attributes(message[36:]))
        kind = attributes[TCA_KIND].rstrip(b"\0").decode()
        if kind in found:
            kind += f" {struct.unpack_from('=I', message, 24)[0] >> 16:x}:"
        queue = dict(split_attributes(attributes[TCA_STATS2]))[TCA_STATS_QUEUE]
        found[kind] = struct.unpack_from("=II", queue)
    return found


def statistics(device: str = "v0") -> dict[str, int]:
    """The statistics of the first fq_rr of ``device``, named as in tc's JSON."""
    for attributes in dump(device):
        if attributes[TCA_KIND] != b"fq_rr\0":
            continue
        parts = dict(split_attributes(attributes[TCA_STATS2]))
        found = {"packets": struct.unpack_from("=QI", parts[TCA_STATS_BASIC])[1]}
        found["qlen"], found["backlog"], found["drops"] = struct.unpack_from("=III", parts[TCA_STATS_QUEUE])
        for kind, value in split_attributes(parts[TCA_STATS_APP]):
            if STATISTICS[kind]:
                found[STATISTICS[kind]] = int.from_bytes(value, "little")
        return found
    raise TestFailedError(f"there is no fq_rr on {device}")


def split_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and value of each attribute."""
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4:
            # what is no attribute, taken for one, would be gone through for ever
            raise ValueError(f"an attribute of {size} bytes")
        yield kind & ~NLA_F_NESTED, data[4:size]
        data = data[size + 3 & ~3 :]


def need_root() -> None:
    """End the program unless it runs as root with the plugin at hand."""
    if os.geteuid() != 0:
        sys.exit("this test needs root, in the lab: scripts/lab exec -- ...")
    folder = os.environ.setdefault("TC_LIB_DIR", str(Path(__file__).resolve().parents[2] / "build" / "tc"))
    if not (Path(folder) / "q_fq_rr.so").exists():
        sys.exit(f"q_fq_rr.so is not in {folder}: build it, or set TC_LIB_DIR")


def run_on_v0(tests: list[Callable[[], None]]) -> int:
    """Run tests, or those named on the command line, in a namespace with v0.

    Returns the program's exit status.
    """
    need_root()
    enter_namespace()
    if not (TRACING / "events").exists():
        run("mount", "-t", "tracefs", "tracefs", str(TRACING))
    wanted = sys.argv[1:]
    return run_tests([test for test in tests if not wanted or test.__name__ in wanted])
