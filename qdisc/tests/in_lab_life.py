#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""fq_rr as people use qdiscs: by default, per queue of a device, and at its end.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Self

from in_guest.link import ETH_HEADER_BYTES, Capture, Sender, enter_namespace, new_namespace
from in_guest.qdisc import (
    backlogs,
    configure,
    encode,
    kinds,
    module_users,
    request,
    run_on_v0,
    statistics,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import dmesg_complaints, equal, expect, run
from in_lab_shares import UDP, Raw, ipv4, udp

# of the whole machine, and only seen from its first namespace: opened there
DEFAULT_QDISC = os.open("/proc/sys/net/core/default_qdisc", os.O_RDWR)
CGROUPS = Path("/sys/fs/cgroup")
PR_SET_PDEATHSIG = 1

# ioctl
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCETHTOOL, TUNSETIFF = 0x8913, 0x8914, 0x8946, 0x400454CA
IFF_UP = 1
IFF_TAP, IFF_MULTI_QUEUE, IFF_NO_PI = 0x0002, 0x0100, 0x1000
ETHTOOL_SWITCHES = {"tx checksum": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}

TAP_SOURCE, TAP_TARGET = "10.7.0.1", "10.7.0.9"


def adds_up(found: dict[str, int], what: str) -> None:
    """What came in has left, was dropped or is there; only for an fq_rr with a rate."""
    dropped = found["drops_flushed"] + found["drops_head"] + found["drops_tail"]
    equal(found["enqueued"], found["packets"] + dropped + found["qlen"], f"{what}: enqueued, of {found}")
    equal(found["drops"], dropped + found["drops_arriving"] + found["drops_gso"], f"{what}: drops, of {found}")


def is_empty(device: str, what: str) -> None:
    """Nothing is left in any qdisc, nor does the fq_rr think that there is."""
    equal(set(backlogs(device).values()), {(0, 0)}, f"{what}: packets and bytes, {backlogs(device)}")
    found = statistics(device)
    equal([found[key] for key in ("memory_bytes", "flows_active", "longest_bytes")], [0, 0, 0], f"{what}: left")


def wait_for_users(users: int) -> None:
    """Until no more qdiscs hold the module: what dies, dies a moment later."""
    for _ in range(600):
        if module_users() == users:
            return
        time.sleep(0.1)
    equal(module_users(), users, "qdiscs")


def raw_frames(flows: int) -> list[Raw]:
    """Senders of small frames that need no route or neighbour."""
    return [Raw(0x0800, ipv4(UDP, udp(port))) for port in range(1, flows + 1)]


def fork(act: Callable[[], object]) -> int:
    """Run ``act`` in a process of its own; it exits with 0 unless that raises.

    It does not outlive this one, whatever becomes of a test.
    """
    child = os.fork()
    if not child:
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def join(child: int) -> int:
    """Exit code of a process, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def fq_rr_by_default() -> Iterator[None]:
    """Devices that come up meanwhile get fq_rr."""
    before = os.pread(DEFAULT_QDISC, 64, 0)
    os.pwrite(DEFAULT_QDISC, b"fq_rr", 0)
    try:
        yield
    finally:
        os.pwrite(DEFAULT_QDISC, before, 0)


class Tap:
    """An Ethernet device t0 with queues whose packets are read here, and which ends with the block."""

    def __init__(self, queues: int) -> None:
        """Make it; it is down."""
        flags = IFF_TAP | IFF_NO_PI | (IFF_MULTI_QUEUE if queues > 1 else 0)
        self.queues = [os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK) for _ in range(queues)]
        for queue in self.queues:
            fcntl.ioctl(queue, TUNSETIFF, struct.pack("16sH22x", b"t0", flags))

    def up(self) -> None:
        """Give it an address and a neighbour, and let it run."""
        run("ip", "addr", "add", f"{TAP_SOURCE}/24", "dev", "t0")
        set_up("t0", True)
        run("ip", "neigh", "add", TAP_TARGET, "lladdr", "02:00:00:00:00:09", "dev", "t0", "nud", "permanent")

    def read(self, patience_s: float) -> list[dict[int, list[int]]]:
        """For each queue, sequence numbers by flow, until none comes for so long."""
        found: list[dict[int, list[int]]] = [{} for _ in self.queues]
        last = time.monotonic()
        while time.monotonic() - last < patience_s:
            for queue, flows in zip(self.queues, found, strict=True):
                with suppress(BlockingIOError):
                    while True:
                        packet = os.read(queue, 4096)[ETH_HEADER_BYTES:]
                        port = int.from_bytes(packet[20:22], "big")
                        flows.setdefault(port, []).append(int.from_bytes(packet[28:32], "big"))
                        last = time.monotonic()
            time.sleep(0.005)
        return found

    def __enter__(self) -> Self:
        """For a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the queues, which ends the device."""
        for queue in self.queues:
            os.close(queue)


def set_up(device: str, state: bool) -> None:
    """Take a device up or down, without a process whose start lets time pass."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        answer = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH22x", device.encode(), 0))
        flags = struct.unpack("16xH22x", answer)[0] & ~IFF_UP | (IFF_UP if state else 0)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", device.encode(), flags))


def switch(device: str, feature: str, state: bool) -> None:
    """Switch an offload on or off, again without a process."""
    value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_SWITCHES[feature], state))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(value)))


def send_from(flows: range, count: int, first: int = 0) -> None:
    """Each flow sends ``count`` packets to the tap, numbered from ``first``."""
    for port in flows:
        sender = Sender(port, host=TAP_SOURCE, target=TAP_TARGET)
        sender.sequence = first
        sender.send(142, count)
        sender.close()


FLOWS = range(1, 33)


def every_packet_came_once(found: list[dict[int, list[int]]], count: int) -> None:
    """Each flow on one queue only, its packets in order; no queue had nothing."""
    expect(all(found), f"a queue had nothing: {found}")
    equal(found[0].keys() & found[1].keys(), set(), "flows on both queues")
    equal(found[0] | found[1], {port: [*range(count)] for port in FLOWS}, "packets")


def by_default_there_is_one_for_each_queue() -> None:
    """net.core.default_qdisc=fq_rr: a device with two queues gets mq and fq_rr."""
    users = module_users()
    with fq_rr_by_default():
        with Tap(2) as tap:
            tap.up()
            equal(kinds("t0"), {"fq_rr", "mq"}, "kinds of qdiscs")
            send_from(FLOWS, 5)
            every_packet_came_once(tap.read(0.5), 5)
        wait_for_users(users + 1)  # the default itself
        with Tap(1) as tap:
            tap.up()
            equal(kinds("t0"), {"fq_rr"}, "kinds of qdiscs of one queue")
    wait_for_users(users)


def a_priority_is_no_class_of_a_nameless_qdisc() -> None:
    """Whose handle is 0: a socket's priority, 0:3, is not its third class."""
    with fq_rr_by_default(), Tap(1) as tap:
        tap.up()
        # the first filter, of any kind: packets no longer pass an idle qdisc by
        tc("filter add dev t0 protocol ip prio 1 u32 match ip protocol 1 0xff flowid :5")
        for port in FLOWS:
            sender = Sender(port, host=TAP_SOURCE, target=TAP_TARGET)
            sender.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 3)
            sender.send(142, 2)
            sender.close()
        found = statistics("t0")
        equal((found["enqueued"], found["classified"]), (2 * len(FLOWS), 0), "enqueued and classified")


def below_mq_each_queue_has_its_own() -> None:
    """With rates of their own; the device may end while one of them is full."""
    users = module_users()
    with Tap(2) as tap:
        tap.up()
        tc("qdisc replace dev t0 root handle 8: mq")
        for queue in (1, 2):
            tc(f"qdisc replace dev t0 parent 8:{queue} handle {queue}: fq_rr rate 1mbit")
        send_from(FLOWS, 10)
        every_packet_came_once(tap.read(0.5), 10)
        equal(set(backlogs("t0").values()), {(0, 0)}, "backlogs")
        adds_up(statistics("t0"), "the first queue's")
        # both: a packet that leaves while the dump is written is counted by mq alone
        for queue in (1, 2):
            equal(request(encode("rate 8kbit"), parent=0x80000 + queue, device="t0", major=queue), (0, ""), "change")
        send_from(FLOWS, 5)
        found = backlogs("t0")
        waiting = [value for kind, value in found.items() if kind != "mq"]
        equal(found["mq"], tuple(map(sum, zip(*waiting, strict=True))), "mq's packets and bytes")
        expect(found["mq"][0] > 5, f"no backlog: {found}")
    wait_for_users(users)


def below_multiq_each_band_is_served() -> None:
    """Packets agree, with and without drops; each flow's leave in order.

    Of bytes multiq counts none: it only subtracts those of drops, whatever its
    child.
    """

    def agree(moment: str) -> dict[str, tuple[int, int]]:
        found = backlogs("t0")
        packets = [n for kind, (n, _) in found.items() if kind != "multiq"]
        equal(found["multiq"][0], sum(packets), f"packets of multiq and of {packets}, {moment}")
        expect(min(packets) > 5, f"{moment}: too little waits: {found}")
        return found

    def change(options: str) -> Iterator[str]:
        for major in (1, 2):
            equal(request(encode(options), parent=0x80000 + major, device="t0", major=major), (0, ""), options)
            yield f"band {major} with {options}"

    with Tap(2) as tap:
        tap.up()
        tc("qdisc replace dev t0 root handle 8: multiq")
        for band in (1, 2):
            tc(f"qdisc replace dev t0 parent 8:{band} handle {band}: fq_rr rate 8kbit drop longest-tail")
        send_from(FLOWS, 5)
        equal(agree("full")["multiq"][1], 0, "multiq's bytes")
        for moment in change("limit 20"):
            agree(moment)
        # numbered on where they were
        send_from(FLOWS, 5, 5)
        agree("overflowing")
        equal(len([*change("rate 1mbit")]), 2, "bands")
        got = tap.read(1)
        expect(all(got), f"a band had nothing: {got}")
        for port, sequence in (got[0] | got[1]).items():
            equal(sequence, sorted(set(sequence)), f"packets of {port}")
        equal({n for n, _ in backlogs("t0").values()}, {0}, "packets at the end")
        adds_up(statistics("t0"), "the first band's")


def receive(pipe: int) -> None:
    """In a namespace of its own, take one TCP stream at w1 and tell its digest."""
    new_namespace()
    os.write(pipe, b"r")
    while run("ip", "link", "show", "w1", check=False).returncode:
        time.sleep(0.05)
    run("ip", "addr", "add", "10.6.0.2/24", "dev", "w1")
    run("ip", "link", "set", "w1", "up")
    with socket.create_server(("10.6.0.2", 9)) as server:
        os.write(pipe, b"l")
        stream = server.accept()[0]
        digest = hashlib.sha256()
        while data := stream.recv(1 << 20):
            digest.update(data)
        os.write(pipe, digest.digest())
        # with it its namespace goes, and both ends of the link
        signal.pause()


def offloads_may_change_under_traffic() -> None:
    """A TCP stream arrives whole while each is switched off and on, at both ends."""
    read, write = os.pipe()
    child = fork(lambda: receive(write))
    os.read(read, 1)
    run("ip", "link", "add", "w0", "type", "veth", "peer", "name", "w1", "netns", str(child))
    run("ip", "addr", "add", "10.6.0.1/24", "dev", "w0")
    run("ip", "link", "set", "w0", "up")
    tc("qdisc add dev w0 root handle 1: fq_rr rate 50mbit")
    os.read(read, 1)
    digest = hashlib.sha256()
    block = bytes(range(256)) * 512
    with socket.create_connection(("10.6.0.2", 9)) as stream:
        for option in ("split-gso", "no-split-gso"):
            equal(request(encode(option), device="w0"), (0, ""), option)
            before = statistics("w0")
            for feature in ETHTOOL_SWITCHES:
                for state in (False, True):
                    switch("w0", feature, state)
                    stream.sendall(block)
                    digest.update(block)
            while statistics("w0")["qlen"]:
                time.sleep(0.01)
            found = statistics("w0")
            # of a whole super-packet "packets" counts its segments
            if option == "split-gso":
                adds_up(found, option)
            expect(found["enqueued"] - before["enqueued"] > 10, f"{option}: hardly anything was queued: {found}")
            expect(
                (found["segments"] - before["segments"] > 100) == (option == "split-gso"),
                f"{option}: split packets: {found}",
            )
    equal(os.read(read, 64), digest.digest(), "what arrived")
    # the last acknowledgment
    time.sleep(0.1)
    is_empty("w0", "after the stream")
    equal(statistics("w0")["drops"], 0, "drops")
    os.kill(child, signal.SIGKILL)
    equal(join(child), -signal.SIGKILL, "receiver's end")
    for end in (read, write):
        os.close(end)
    run("ip", "link", "del", "w0", check=False)


def a_peeked_packet_is_given_back() -> None:
    """By a parent that looked at one and then loses the child, or its device.

    It is still counted, by both; and what is left of the child agrees with it.
    """
    for end in ("qdisc", "device", "limit"):
        tc("qdisc del dev v0 root", check=False)
        tc("qdisc add dev v0 root handle 8: tbf rate 8kbit burst 1600 limit 1m")
        configure("limit 40", 0x80001, create=True)
        senders = raw_frames(1)
        # 62 bytes each: the bucket's worth leaves, the next is looked at
        senders[0].send(0, 60)
        found = backlogs()
        expect(found["tbf"][0] > 10, f"too little waits: {found}")
        equal(found["tbf"], found["fq_rr"], "packets and bytes of tbf and fq_rr")
        shown = statistics()
        queued = shown["enqueued"] - shown["packets"] - shown["drops"]
        equal(queued, shown["qlen"] - 1, "packets in queues, beside the one that was looked at")
        if end == "qdisc":
            equal(request(b"", parent=0x80001, delete=True), (0, ""), "deleting")
            expect("fq_rr" not in backlogs(), "it is still there")
        elif end == "device":
            set_up("v0", False)
            is_empty("v0", "device down")
            set_up("v0", True)
        else:
            configure("limit 1", 0x80001)
            equal(backlogs()["tbf"], backlogs()["fq_rr"], "packets and bytes with limit 1")
            tc("qdisc change dev v0 root handle 8: tbf rate 1gbit burst 1600 limit 1m")
            time.sleep(1)
        equal(set(backlogs().values()), {(0, 0)}, f"backlogs at the {end}'s end")
        senders[0].close()


def send_until_killed(flows: int) -> None:
    """Frames of so many flows into v0, also while it is down."""
    senders = raw_frames(flows)
    while True:
        for sender in senders:
            with suppress(OSError):
                sender.send(0, 4)
        time.sleep(0.001)


def the_device_may_go_down_under_traffic() -> None:
    """Time and again: empty at once each time, at work when it is up again."""
    tc("qdisc del dev v0 root", check=False)
    configure("rate 5mbit limit 50", create=True)
    child = fork(lambda: send_until_killed(16))
    while statistics()["drops"] == 0:
        time.sleep(0.01)
    for _ in range(20):
        set_up("v0", False)
        is_empty("v0", "down")
        before = statistics()["packets"]
        time.sleep(0.003)
        equal(statistics()["packets"], before, "packets while it is down")
        set_up("v0", True)
        time.sleep(0.02)
        # of 62 bytes, one in 100 us
        expect(statistics()["packets"] - before > 100, "packets after it was down")
    os.kill(child, signal.SIGKILL)
    equal(join(child), -signal.SIGKILL, "end of the sender")
    time.sleep(0.1)
    is_empty("v0", "after the last packet")


def what_was_on_the_link_when_it_went_down_is_forgotten() -> None:
    """The first packet after it does not wait until the last one before it has been sent."""
    tc("qdisc del dev v0 root", check=False)
    configure("rate 8kbit", create=True)
    capture = Capture()
    # of 62 ms each
    sender = raw_frames(1)[0]
    sender.send(0, 2)
    equal(len(capture.read(1)), 1, "packets that leave at once")
    sender.close()
    set_up("v0", False)
    set_up("v0", True)
    # the one from before would be told that it was down
    sender = raw_frames(1)[0]
    up_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
    sender.send(0, 1)
    frames = capture.read(1)
    equal(len(frames), 1, "packets that leave after it was down")
    expect(frames[0].time_ns - up_ns < 5_000_000, f"{frames[0].time_ns - up_ns} ns until it leaves")
    capture.close()
    sender.close()


def fill_and_wait(pipe: int) -> None:
    """In a namespace of its own, what comes in at x1 goes out at v0, slowly.

    Such packets belong to no socket, for which a namespace would live on.
    """
    enter_namespace()
    configure("rate 100kbit limit 1000", create=True)
    os.write(pipe, b"r")
    while run("ip", "link", "show", "x1", check=False).returncode:
        time.sleep(0.05)
    tc("qdisc add dev x1 clsact")
    tc("filter add dev x1 ingress matchall action mirred egress redirect dev v0")
    run("ip", "link", "set", "x1", "up")
    while not statistics()["drops"]:
        time.sleep(0.01)
    os.write(pipe, b"f")
    signal.pause()


def a_namespace_may_end_under_traffic() -> None:
    """Its last process is killed while packets come in, the buffer is full."""
    users = module_users()
    read, write = os.pipe()
    child = fork(lambda: fill_and_wait(write))
    os.read(read, 1)
    run("ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1", "netns", str(child))
    run("ip", "link", "set", "x0", "up")
    senders = []
    for port in range(1, 17):
        sender = Raw(0x0800, ipv4(UDP, udp(port)))
        sender.socket.bind(("x0", 0x0800))
        senders.append(sender)
    os.set_blocking(read, False)
    full = False
    while not full:
        for sender in senders:
            sender.send(0, 2)
        time.sleep(0.001)
        with suppress(BlockingIOError):
            full = bool(os.read(read, 1))
    os.kill(child, signal.SIGKILL)
    equal(join(child), -signal.SIGKILL, "end of the namespace's process")
    lost = 0
    for _ in range(3000):
        for sender in senders:
            try:
                sender.send(0, 2)
            except OSError as error:  # its device has gone
                expect(error.errno in (errno.ENXIO, errno.ENODEV, errno.ENETDOWN), str(error))
                lost += 1
        if lost > 16 and module_users() == users:
            break
        time.sleep(0.01)
    expect(lost > 16, "the namespace is still there")
    wait_for_users(users)
    for sender in senders:
        sender.close()
    for end in (read, write):
        os.close(end)


def memory_kib(key: str) -> int:
    """A line of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


def what_ends_gives_its_memory_back() -> None:
    """Qdiscs deleted, and those whose options were refused late."""
    tc("qdisc del dev v0 root", check=False)
    users = module_users()

    def create(options: str, wanted: int) -> None:
        equal(request(encode(options), create=True)[0], wanted, f"creating with {options}")
        if not wanted:
            equal(request(b"", delete=True)[0], 0, "deleting")
        expect("fq_rr" not in backlogs(), f"{options}: it is still there")

    # down, where nobody need be waited for
    set_up("v0", False)
    # options, answer, how often, what is counted, and what may be taken
    for options, wanted, count, key, sign, spare_kib in (
        ("rate 8mbit qlbp mu-max 9mbit", errno.EINVAL, 1000, "Slab", 1, 128),
        ("flows 1", 0, 1000, "Slab", 1, 128),
        # 5 MiB of queues and 1 MiB of heap each
        ("flows 65536", 0, 40, "MemAvailable", -1, 16384),
    ):
        for _ in range(50):
            create(options, wanted)
        time.sleep(10)  # memory comes back in batches
        before = memory_kib(key)
        for _ in range(count):
            create(options, wanted)
        time.sleep(10)
        taken = sign * (memory_kib(key) - before)
        print(f"# {count} times {options!r}: {taken} KiB of {key}")
        expect(taken < spare_kib, f"{options}: {count} times took {taken} KiB, not below {spare_kib}")
    set_up("v0", True)
    equal(module_users(), users, "qdiscs")


def without_memory(act: Callable[[], int], prepare: Callable[[], object] = lambda: None) -> int:
    """What ``act`` returns in a process that may have 1 MiB more than it has after ``prepare``.

    Nothing may be killed for it, so allocations fail.
    """
    if not (CGROUPS / "cgroup.controllers").exists():
        run("mount", "-t", "cgroup2", "cgroup2", str(CGROUPS))
    (CGROUPS / "cgroup.subtree_control").write_text("+memory")
    group = CGROUPS / "fq_rr"
    group.mkdir(exist_ok=True)
    read, write = os.pipe()

    def poor() -> None:
        Path("/proc/self/oom_score_adj").write_text("-1000")
        (group / "cgroup.procs").write_text("0")
        limit = os.open(group / "memory.max", os.O_WRONLY)
        prepare()
        os.write(write, struct.pack("i", 0))  # touches what is touched later
        used = int((group / "memory.current").read_text())
        os.write(limit, b"%d" % (used + (1 << 20)))
        answer = act()
        os.write(limit, b"max")
        os.write(write, struct.pack("i", answer))

    equal(join(fork(poor)), 0, "end of the process without memory")
    answer = struct.unpack("ii", os.read(read, 8))[1]
    for end in (read, write):
        os.close(end)
    group.rmdir()
    return int(answer)


def without_memory_there_is_none() -> None:
    """Asked for, it is refused; as the default, the device does without."""
    users = module_users()
    tc("qdisc del dev v0 root", check=False)
    equal(without_memory(lambda: request(encode("flows 65536"), create=True)[0]), errno.ENOMEM, "answer")
    equal(kinds("v0"), {"noqueue"}, "qdiscs")
    equal(module_users(), users, "qdiscs that hold the module")
    configure("", create=True)

    # 96 KiB each
    with fq_rr_by_default(), Tap(32):
        without_memory(lambda: set_up("t0", True) or 0)
        equal(kinds("t0"), {"noqueue"}, "qdiscs")
        equal(module_users(), users + 2, "that of v0, and the default")
    wait_for_users(users + 1)
    # the kernel says who has no memory left, with a stack
    equal([line for line in dmesg_complaints() if "Call Trace" not in line], [], "kernel log")
    run("dmesg", "--clear")


def checked(test: Callable[[], None]) -> Callable[[], None]:
    """A test after which the kernel's log is read."""

    @wraps(test)
    def act() -> None:
        test()
        equal(dmesg_complaints(), [], "kernel log")

    return act


def main() -> int:
    """Run all, or those named on the command line, in order."""
    run("modprobe", "tun")
    return run_on_v0(
        [
            checked(test)
            for test in (
                by_default_there_is_one_for_each_queue,
                a_priority_is_no_class_of_a_nameless_qdisc,
                below_mq_each_queue_has_its_own,
                below_multiq_each_band_is_served,
                offloads_may_change_under_traffic,
                a_peeked_packet_is_given_back,
                the_device_may_go_down_under_traffic,
                what_was_on_the_link_when_it_went_down_is_forgotten,
                a_namespace_may_end_under_traffic,
                what_ends_gives_its_memory_back,
                without_memory_there_is_none,
                the_kernel_has_not_complained,
            )
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
