# SPDX-License-Identifier: GPL-2.0
"""fq_rr on ``v0``: through tc, past it, and what it shows."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .link import enter_namespace
from .netlink import (
    NETLINK_EXT_ACK,
    NL_POLICY_MAX_S,
    NL_POLICY_MAX_U,
    NL_POLICY_MIN_S,
    NL_POLICY_MIN_U,
    NLA_F_NESTED,
    NLM_F_ACK,
    NLM_F_ACK_TLVS,
    NLM_F_CREATE,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    NLMSG_ERROR,
    NLMSGERR_ATTR_MSG,
    NLMSGERR_ATTR_POLICY,
    RTM_DELQDISC,
    RTM_GETQDISC,
    RTM_GETTCLASS,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    SOL_NETLINK,
    TC_H_ROOT,
    TCA_KIND,
    TCA_OPTIONS,
    TCA_STATS2,
    TCA_STATS_APP,
    TCA_STATS_BASIC,
    TCA_STATS_QUEUE,
    attribute,
    dump,
    dump_messages,
    split_attributes,
)
from .tap import Json, TestFailedError, dmesg_complaints, equal, expect, run, run_tests

TRACING = Path("/sys/kernel/tracing")
# What scripts/bootstrap --tc unpacks; it is not installed.
NEWER_TC = Path(__file__).resolve().parents[2] / ".cache" / "iproute2" / "sbin" / "tc"
# Reads of a queue under traffic until two agree: a test that needs more asks too much of it.
STILL_AFTER = 2000
# Of iproute2: the first whose tc prints classes in JSON.
JSON_OF_CLASSES = (6, 2)


def tc(arguments: str, check: bool = True, program: str = "tc") -> subprocess.CompletedProcess[str]:
    """Run tc, or another ``program`` that is one, with space-separated ``arguments``."""
    return run(program, *arguments.split(), check=check)


def tc_version(program: str = "tc") -> tuple[int, int]:
    """Which iproute2 a tc is of: (6, 15) of 6.15.0."""
    said = tc("-V", program=program).stdout
    found = re.search(r"iproute2-(\d+)\.(\d+)", said)
    assert found, f"no version in {said!r}"
    return int(found[1]), int(found[2])


def newer_tc() -> str:
    """A tc that prints classes in JSON: the system's if it does, else the one that bootstrap unpacks."""
    if tc_version() >= JSON_OF_CLASSES:
        return "tc"
    expect(NEWER_TC.exists(), f"{NEWER_TC} is not there: run scripts/bootstrap --tc")
    expect(tc_version(str(NEWER_TC)) >= JSON_OF_CLASSES, f"{NEWER_TC} is older than iproute2 6.2")
    return str(NEWER_TC)


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


def the_kernel_has_not_complained() -> None:
    """No warning in the log after all this."""
    tc("qdisc del dev v0 root", check=False)
    equal(dmesg_complaints(), [], "kernel log")


def module_users() -> int:
    """How many qdiscs hold the module."""
    return int(Path("/sys/module/sch_fq_rr/refcnt").read_text())


def answer(
    options: bytes,
    parent: int = TC_H_ROOT,
    create: bool = False,
    nested: bool = True,
    minor: int = 0,
    device: str = "v0",
    major: int = 1,
    delete: bool = False,
) -> tuple[int, dict[int, bytes]]:
    """Ask the kernel to change (or create, or delete) the fq_rr 1: of v0 at ``parent``.

    With ``minor``, its class of that number; with ``device`` and ``major``,
    another one.  Returns the positive errno (0: done) and what is said of it, by NLMSGERR_ATTR.
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
        reply = netlink.recv(65536)
    length, reply_type, reply_flags = struct.unpack_from("=IHH", reply)
    equal(reply_type, NLMSG_ERROR, "netlink answer")
    errno = -struct.unpack_from("=i", reply, 16)[0]
    if not reply_flags & NLM_F_ACK_TLVS:
        return errno, {}
    # the failed request is quoted whole, a successful one by its header
    quoted = struct.unpack_from("=I", reply, 20)[0] if errno else 16
    return errno, dict(split_attributes(reply[20 + (quoted + 3 & ~3) : length]))


def request(options: bytes, **where: Any) -> tuple[int, str]:
    """As answer(): the positive errno, and the kernel's own message."""
    errno, said = answer(options, **where)
    return errno, said.get(NLMSGERR_ATTR_MSG, b"").rstrip(b"\0").decode()


def policy(options: bytes) -> tuple[int, int] | None:
    """As answer(): least and greatest value by the policy that an attribute broke, if it broke one's range."""
    said = dict(split_attributes(answer(options)[1].get(NLMSGERR_ATTR_POLICY, b"")))
    for least, greatest, number in ((NL_POLICY_MIN_S, NL_POLICY_MAX_S, "=q"), (NL_POLICY_MIN_U, NL_POLICY_MAX_U, "=Q")):
        if least in said:
            return struct.unpack(number, said[least])[0], struct.unpack(number, said[greatest])[0]
    return None


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
    "layer": (23, "I"),
    "framing": (24, "I"),
    "catch-up": (25, "I"),
    "aqm": (26, "I"),
    "target": (27, "I"),
    "interval": (28, "I"),
    "ce-threshold": (29, "I"),
    "noecn": (30, "I"),
    "hosts": (31, "I"),
    "nat": (32, "I"),
}
FLAGS = ("split-gso", "qlbp", "charge-drops", "aqm", "noecn", "nat")
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
    "none": 0,
    "src": 1,
    "dst": 2,
    "both": 3,
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
    "",
    "",
    "pacing_bound_ns",
    "classified",
    "rehashes",
    "marks",
    "over_share",
    "lost_ns",
    "drops_aqm",
    "marks_aqm",
    "marks_ce",
    "limit_packets",
    "memory_limit_bytes",
    "avg_delay_us",
    "peak_delay_us",
    "hosts_active",
]
# a class: number of the nest of its queue, and names of what is in it
STATS_FLOW = 23
FLOW_STATISTICS = [
    "",
    "",
    "credit",
    "hash",
    "sparse",
    "head_bytes",
    "marks",
    "avg_delay_us",
    "peak_delay_us",
    "above",
    "dropping",
    "count",
    "drop_next_us",
    "host",
]


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
    equal(request(encode(arguments), parent=parent, create=create), (0, ""), f"fq_rr {arguments}")


def classes() -> dict[int, dict[str, int]]:
    """What the kernel shows of each class of v0, by its minor number."""
    found: dict[int, dict[str, int]] = {}
    for message in dump_messages(RTM_GETTCLASS, RTM_NEWTCLASS):
        minor = struct.unpack_from("=I", message, 24)[0] & 0xFFFF
        expect(minor not in found, f"class {minor:x} is there twice")
        parts = dict(split_attributes(dict(split_attributes(message[36:]))[TCA_STATS2]))
        shown = {}
        shown["bytes"], shown["packets"] = struct.unpack_from("=QI", parts[TCA_STATS_BASIC])
        shown["qlen"], shown["backlog"], shown["drops"] = struct.unpack_from("=III", parts[TCA_STATS_QUEUE])
        for kind, value in split_attributes(dict(split_attributes(parts[TCA_STATS_APP]))[STATS_FLOW]):
            if FLOW_STATISTICS[kind]:
                signed = FLOW_STATISTICS[kind] in ("credit", "drop_next_us")
                shown[FLOW_STATISTICS[kind]] = int.from_bytes(value, "little", signed=signed)
        found[minor] = shown
    return found


def snapshot() -> bytes | None:
    """The options of the fq_rr of v0, or None if there is none."""
    for attributes in dump():
        if attributes[TCA_KIND] == b"fq_rr\0":
            return attributes[TCA_OPTIONS]
    return None


def _read_queues(device: str) -> dict[str, tuple[int, int, int]]:
    found: dict[str, tuple[int, int, int]] = {}
    for message in dump_messages(RTM_GETQDISC, RTM_NEWQDISC, device):
        attributes = dict(split_attributes(message[36:]))
        kind = attributes[TCA_KIND].rstrip(b"\0").decode()
        if kind in found:
            kind += f" {struct.unpack_from('=I', message, 24)[0] >> 16:x}:"
        queue = dict(split_attributes(attributes[TCA_STATS2]))[TCA_STATS_QUEUE]
        found[kind] = struct.unpack_from("=III", queue)
    return found


def _until_still(read: Callable[[], dict[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """What two reads, one after the other, agree on.

    The kernel may send a packet between two of its answers, even between a queue's packets and its bytes.
    """
    before = read()
    for _ in range(STILL_AFTER):
        before, found = read(), before
        if found == before:
            return found
    raise TestFailedError(f"no two of {STILL_AFTER} reads agree: {before} is the last")


def kinds(device: str) -> set[str]:
    """The kinds of a device's qdiscs."""
    return {name.split()[0] for name in _read_queues(device)}


def backlogs(device: str = "v0") -> dict[str, tuple[int, int]]:
    """Packets and bytes queued in each qdisc of ``device`` at one moment, by its kind.

    Of several of one kind the later ones have their handle as well: "drr 3:".
    """
    return _until_still(lambda: {kind: found[:2] for kind, found in _read_queues(device).items()})


def drops(device: str = "v0") -> dict[str, int]:
    """Packets that each qdisc of ``device`` has dropped, by its kind: see backlogs()."""
    return {kind: dropped for kind, (_, _, dropped) in _read_queues(device).items()}


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
