#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a container's root can do with fq_rr and pktpair, and that it ends there.

A tenant is an unprivileged user who is root of a user namespace with a network
namespace of its own, as in a rootless container. Run in the lab, with TC_LIB_DIR
naming the plugin's folder. Prints TAP. Leaves tcp_pktpair loaded for good: the
kernel keeps a reference for an attempt that it refuses.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from in_guest.link import CLONE_NEWNET
from in_guest.netlink import TCA_KIND, TCA_OPTIONS, dump
from in_guest.qdisc import configure, encode, request, run_on_v0, statistics, tc, the_kernel_has_not_complained
from in_guest.tap import equal, expect, run
from in_lab_life import (
    CGROUPS,
    DEFAULT_QDISC,
    IFF_NO_PI,
    TUNSETIFF,
    checked,
    fork,
    join,
    set_up,
    wait_for_users,
    without_memory,
)

CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE = 4
USER = 1000
LIBC = ctypes.CDLL(None, use_errno=True)
MODULE = Path(__file__).resolve().parents[2] / "build" / os.uname().release / "kmod" / "tcp_pktpair.ko"
PARAMETERS = Path("/sys/module/tcp_pktpair/parameters")
PRESETS = (b"pktpair", b"pktpair_1994")
MEMORANDUM = b"pktpair_1994"
CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
# the initial network namespace and its default, which are the machine's
INITIAL = os.open("/proc/self/ns/net", os.O_RDONLY)
CONTROL_OF_ALL = os.open(CONTROL, os.O_RDWR)


def become_user() -> None:
    """Give up all privileges."""
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def become_tenant() -> None:
    """Root of a new user namespace, with a network namespace that has a v0."""
    become_user()
    # whoever changed its user may not write its own map, unless it says that it may
    LIBC.prctl(PR_SET_DUMPABLE, 1)
    if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare: users may not have namespaces here")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {USER} 1")
    Path("/proc/self/gid_map").write_text(f"0 {USER} 1")
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")


def as_tenant(act: Callable[[], object], become: Callable[[], None] = become_tenant) -> None:
    """Run ``act`` as a tenant; fail with what it says if it fails."""
    read, write = os.pipe()

    def live() -> None:
        try:
            become()
            act()
        except BaseException as error:
            os.write(write, repr(error).encode())
            raise

    status = join(fork(live))
    os.close(write)
    with os.fdopen(read) as said:
        equal((status, said.read()), (0, ""), "the tenant's end")


# What the kernel may spend on the test's own process meanwhile: its page tables
OWN_BYTES = 64 << 10


def memory_is_the_tenants_own() -> None:
    """65536 queues are 8.6 MiB, charged to its group, and given back."""
    (CGROUPS / "cgroup.subtree_control").write_text("+memory")
    group = CGROUPS / "tenant"
    group.mkdir(exist_ok=True)

    def join_group() -> None:
        (group / "cgroup.procs").write_text("0")
        become_tenant()

    def charged() -> int:
        # The kernel's memory alone: pages of ours that are copied as they are touched are the group's,
        # too. What each CPU counted is added up every two seconds.
        time.sleep(3)
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(counts["kernel"])

    def act() -> None:
        before = charged()
        configure("flows 65536", create=True)
        taken = charged() - before
        # 64, 32, 24, 12 and 5 bytes each; in pieces of a power of two where the machine has such
        expect(137 << 16 <= taken <= (64 + 32 + 32 + 16 + 8 << 16) + OWN_BYTES, f"{taken} bytes are charged")
        equal(request(b"", delete=True), (0, ""), "delete")
        for _ in range(4):
            if charged() <= before + OWN_BYTES:
                return
        expect(False, f"{charged() - before} bytes are still charged")

    as_tenant(act, join_group)
    group.rmdir()


def without_memory_of_its_own_there_is_none() -> None:
    """Beyond its group's limit it is refused, and nothing is left of it."""
    wait_for_users(0)
    asked = lambda: request(encode("flows 65536"), create=True)[0]  # noqa: E731
    equal(without_memory(asked, become_tenant), errno.ENOMEM, "answer")
    wait_for_users(0)
    # who has no memory left is told so, with a stack
    run("dmesg", "--clear")


def limits_are_capped() -> None:
    """The most that a qdisc may hold is 2^20 packets, 1 GiB and 65536 queues, for anyone."""

    def act() -> None:
        configure("flows 1", create=True)
        for option, most in (("limit", 1 << 20), ("memory-limit", 1 << 30), ("q-max", 1 << 30)):
            rest = " qlbp rate 1gbit" if option == "q-max" else ""
            configure(f"{option} {most}{rest}")
            for more in (most + 1, 2**32 - 1):
                said = request(encode(f"{option} {more}{rest}"))
                equal(said[0], errno.EINVAL, f"{option} {more}")
                expect(str(most) in said[1] and str(more) in said[1], f"{option} {more}: {said[1]}")
        equal(request(b"", delete=True), (0, ""), "delete")
        equal(request(encode("flows 65537"), create=True)[0], errno.EINVAL, "65537 queues")

    as_tenant(act)


def qdiscs_of(device: str) -> list[tuple[bytes, bytes]]:
    """Kinds and options, as the kernel shows them."""
    return [(found[TCA_KIND], found.get(TCA_OPTIONS, b"")) for found in dump(device)]


def nothing_outside_changes() -> None:
    """Qdiscs of the same name, the machine's defaults, and other devices stay as they are."""
    tc("qdisc del dev v0 root", check=False)
    configure("rate 3mbit limit 77", create=True)
    outside = qdiscs_of("v0"), os.pread(CONTROL_OF_ALL, 64, 0), os.pread(DEFAULT_QDISC, 64, 0)

    def act() -> None:
        configure("rate 5mbit limit 55", create=True)
        equal(request(b"", delete=True), (0, ""), "delete")
        CONTROL.write_text("reno")
        expect(not Path("/proc/sys/net/core/default_qdisc").exists(), "default_qdisc is there")
        for path in ("/proc/sys/net/core/rmem_max", "/proc/sys/net/ipv4/tcp_mem"):
            with suppress(FileNotFoundError):
                expect(not os.access(path, os.W_OK), f"{path} can be written")
        # nor into the namespace that it came from
        expect(LIBC.setns(INITIAL, CLONE_NEWNET), "it came into the machine's namespace")
        equal(ctypes.get_errno(), errno.EPERM, "why not")
        for command in (("rmmod", "sch_fq_rr"), ("insmod", str(MODULE))):
            expect(run(*command, check=False).returncode, f"{command} was done")

    as_tenant(act)
    now = qdiscs_of("v0"), os.pread(CONTROL_OF_ALL, 64, 0), os.pread(DEFAULT_QDISC, 64, 0)
    equal(now, outside, "outside")


# ---- devices whose MTU may be anything ----

IFF_TUN = 0x0001
TUN = Path("/dev/net/tun")
SIOCSIFMTU = 0x8922
# packets of 228 bytes, at 1 Mbit/s: 2 ms each
PAYLOAD_BYTES, PACKETS = 200, 8
PATIENCE_S = 5
QUANTUM_MIN, QUANTUM_MAX = 256, 1 << 20


@dataclass(frozen=True)
class Kind:
    """A device without Ethernet's limits on the MTU.

    The least and the greatest MTU are the kernel's own limits for the kind.
    """

    device: str
    header_bytes: int
    least: int
    greatest: int

    def quantum(self, mtu: int) -> int:
        """What a quantum of auto is when fq_rr is added or changed at such an MTU."""
        return min(QUANTUM_MAX, max(QUANTUM_MIN, mtu + self.header_bytes))


# The greatest MTU of wireguard is INT_MAX less 80 bytes of headers, in steps of 16 bytes; that of
# ipip is an IP packet less the outer header; loopback has no upper limit.
KINDS = {
    "wireguard": Kind("l0", 0, 0, 2**31 - 16 - 80),
    "tun": Kind("l0", 0, 68, 65535),
    "ipip": Kind("l0", 0, 68, 65515),
    "lo": Kind("lo", 14, 0, 2**31 - 1),
}


def set_mtu(device: str, mtu: int) -> int:
    """Change a device's MTU; returns the errno, 0 if it was done."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, SIOCSIFMTU, struct.pack("16si20x", device.encode(), mtu))
        except OSError as error:
            return error.errno or 0
    return 0


def make_device(kind: str) -> int | None:
    """Make the device; returns the file that a tun device lives as long as."""
    match kind:
        case "wireguard":
            # without a peer it drops what it is to send: what counts here has happened before
            run("ip", "link", "add", "l0", "type", "wireguard")
        case "tun":
            fd = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"l0", IFF_TUN | IFF_NO_PI))
            return fd
        case "ipip":
            run("ip", "addr", "add", "10.8.0.1/24", "dev", "v0")
            run("ip", "link", "set", "v0", "up")
            run("ip", "link", "add", "l0", "type", "ipip", "local", "10.8.0.1", "remote", "10.8.0.2")
    return None


def send_through(device: str, quantum: int, what: str) -> None:
    """Packets of one flow enter and leave the device's fq_rr, which has the quantum of its last change.

    The kernel takes a device's addresses away while its MTU is below 68 bytes.
    """
    run("ip", "addr", "replace", "10.7.0.1/24", "dev", device)
    set_up(device, True)
    before = statistics(device)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        # a local address is what loopback sends to; any other neighbour does for the rest
        target = "10.7.0.1" if device == "lo" else "10.7.0.2"
        for _ in range(PACKETS):
            # a device that drops what it is to send may say so
            with suppress(ConnectionError, OSError):
                sender.sendto(bytes(PAYLOAD_BYTES), (target, 9))
    give_up = time.monotonic() + PATIENCE_S
    while (now := statistics(device))["packets"] - before["packets"] < PACKETS:
        expect(time.monotonic() < give_up, f"{what}: {now['packets'] - before['packets']} of {PACKETS} packets left")
        time.sleep(0.01)
    equal(now["quantum_bytes"], quantum, f"{what}: quantum")


def attack(kind: str) -> None:
    """Add and change fq_rr at the extreme MTUs of a kind; send at the usual MTU and at the extreme one."""
    limits, usual = KINDS[kind], 1420
    device = limits.device
    fd = make_device(kind)

    def ask(options: str, what: str, create: bool = False) -> None:
        equal(request(encode(options), create=create, device=device), (0, ""), what)

    for beyond in (limits.least - 1, limits.greatest + 1):
        if beyond < 2**31:
            equal(set_mtu(device, beyond), errno.EINVAL, f"{kind}, MTU {beyond}")
    for mtu in (limits.least, limits.greatest):
        what, quantum = f"{kind}, MTU {mtu}", limits.quantum(mtu)
        equal(set_mtu(device, mtu), 0, what)
        ask("rate 1mbit", f"{what}, add", create=True)
        equal(set_mtu(device, usual), 0, f"{what}, then {usual}")
        send_through(device, quantum, f"{what}, then {usual}")
        equal(set_mtu(device, mtu), 0, f"{what} again")
        ask("rate 2mbit", f"{what}, change")
        if mtu > usual:
            send_through(device, quantum, f"{what}, changed")
        equal(set_mtu(device, usual), 0, f"{what}, changed, then {usual}")
        send_through(device, quantum, f"{what}, changed, then {usual}")
        # a change that makes the quantum another one starts the rounds anew
        ask("rate 1mbit scheduler strict", f"{what}, strict")
        send_through(device, limits.quantum(usual), f"{what}, strict")
        equal(request(b"", device=device, delete=True), (0, ""), f"{what}, delete")
    if fd is not None:
        os.close(fd)


def any_mtu_of_wireguard_will_do() -> None:
    """From 0 bytes, a quantum of nothing, to two gigabytes."""
    as_tenant(lambda: attack("wireguard"))


def any_mtu_of_tun_will_do() -> None:
    """From 68 to 65535 bytes."""
    # as distributions have it
    TUN.chmod(0o666)
    as_tenant(lambda: attack("tun"))


def any_mtu_of_ipip_will_do() -> None:
    """From 68 to 65515 bytes."""
    as_tenant(lambda: attack("ipip"))


def any_mtu_of_loopback_will_do() -> None:
    """From 0 bytes to two gigabytes, beside 14 bytes of header."""
    as_tenant(lambda: attack("lo"))


def module_parameters_are_not_the_tenants() -> None:
    """It may read them."""
    before = {path.name: path.read_text() for path in PARAMETERS.iterdir()}
    expect(before, "there are no parameters")

    def act() -> None:
        for name, value in before.items():
            equal((PARAMETERS / name).read_text(), value, name)
            try:
                (PARAMETERS / name).write_text(value)
            except PermissionError:
                continue
            expect(False, f"{name} can be written")

    as_tenant(act)
    equal({path.name: path.read_text() for path in PARAMETERS.iterdir()}, before, "parameters")


def choose(algorithm: bytes) -> int:
    """The errno for a socket that asks for an algorithm, 0 if it has it."""
    with socket.socket() as stream:
        try:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm)
        except OSError as error:
            return error.errno or 0
    return 0


def restricted_the_memorandums_law_is_for_roots_of_a_namespace() -> None:
    """Until the machine's root has chosen it by sysctl; then it is for all. The default is for all at once."""
    before = os.pread(CONTROL_OF_ALL, 64, 0)
    restricted = {name: errno.EPERM if name == MEMORANDUM else 0 for name in PRESETS}

    def chosen(wanted: dict[bytes, int]) -> None:
        for name, error in wanted.items():
            equal(choose(name), error, f"{name!r}")

    def by_sysctl() -> None:
        CONTROL.write_text("pktpair")
        with suppress(PermissionError):
            CONTROL.write_text(MEMORANDUM.decode())
            expect(False, "it is the tenant's default")

    run("rmmod", "tcp_pktpair")
    run("insmod", str(MODULE))
    as_tenant(lambda: chosen(restricted), become_user)
    # who has CAP_NET_ADMIN in the namespace that a socket is in
    as_tenant(lambda: chosen(dict.fromkeys(PRESETS, 0)))
    as_tenant(by_sysctl)
    for name in PRESETS:
        os.pwrite(CONTROL_OF_ALL, name, 0)
    os.pwrite(CONTROL_OF_ALL, before, 0)
    as_tenant(lambda: chosen(dict.fromkeys(PRESETS, 0)), become_user)
    as_tenant(lambda: CONTROL.write_text(MEMORANDUM.decode()))


def main() -> int:
    """Run all, or those named on the command line, in order."""
    # where they are modules, for a kernel that does not load them for a tenant
    run("modprobe", "-a", "tun", "wireguard", "ipip")
    if not (CGROUPS / "cgroup.controllers").exists():
        run("mount", "-t", "cgroup2", "cgroup2", str(CGROUPS))
    return run_on_v0(
        [
            checked(test)
            for test in (
                memory_is_the_tenants_own,
                without_memory_of_its_own_there_is_none,
                limits_are_capped,
                nothing_outside_changes,
                any_mtu_of_tun_will_do,
                any_mtu_of_ipip_will_do,
                any_mtu_of_loopback_will_do,
                any_mtu_of_wireguard_will_do,
                module_parameters_are_not_the_tenants,
                restricted_the_memorandums_law_is_for_roots_of_a_namespace,
                the_kernel_has_not_complained,
            )
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
