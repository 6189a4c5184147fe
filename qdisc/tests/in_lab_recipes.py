#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What people do with fq_rr on a router that runs: README's and the manual page's examples, a change of qdisc.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from in_guest.link import TARGET_MAC, Sender, answer
from in_guest.qdisc import (
    backlogs,
    encode,
    kinds,
    module_users,
    request,
    run_on_v0,
    statistics,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import equal, expect, run
from in_lab_life import Tap, fork, fq_rr_by_default, is_empty, join, send_until_killed, wait_for_users
from in_lab_shares import masquerade, translate_no_more

TOP = Path(__file__).resolve().parents[2]
MANUAL = TOP / "tc-plugin" / "tc-fq_rr.8"
FRAME_BYTES = 1514
PACKETS = 200
RATE_BIT_S = 90e6
# Segments of the super-packet that a device of the line has merged.
SEGMENTS = 20
# Linux constants of PPP that Python does not name
AF_PPPOX, PX_PROTO_OE = 24, 0
PPPIOCGCHAN, PPPIOCATTCHAN, PPPIOCCONNECT, PPPIOCNEWUNIT = 0x80047437, 0x40047438, 0x4004743A, 0xC004743E


def recipe(after: str) -> list[str]:
    """The commands of the manual page's example whose text begins so."""
    found = re.search(re.escape(after) + r".*?\n\.nf\n(.*?)\.fi", MANUAL.read_text(), re.DOTALL)
    assert found, after
    return [line.removeprefix("# ") for line in found[1].splitlines()]


def examples() -> list[list[str]]:
    """The commands of each example of the manual page, in its order, on v0; not those that show something."""
    section = MANUAL.read_text().split(".SH EXAMPLES")[1].split(".SH NOTES")[0]
    blocks = [block.replace("\\\\\n", " ") for block in re.findall(r"\n\.nf\n(.*?)\.fi", section, re.DOTALL)]
    return [
        [line.removeprefix("# ").replace("eth0", "v0") for line in block.splitlines()]
        for block in blocks
        if not block.startswith("# tc -s")
    ]


def in_readme(command: str) -> str:
    """What README has a reader do by a command that begins so, on v0."""
    (found,) = re.findall(
        rf"^    (?:sudo )?tc ({re.escape(command)}.*)$", (TOP / "README.md").read_text(), re.MULTILINE
    )
    return str(found).replace("eth0", "v0")


def wait_for_packets(device: str, count: int) -> None:
    """Until so many have left."""
    for _ in range(3000):
        if statistics(device)["packets"] >= count:
            return
        time.sleep(0.001)
    equal(statistics(device)["packets"], count, f"packets that left {device}")


def sent_by_ifb0() -> tuple[int, int]:
    """Packets and bytes that its fq_rr has sent."""
    (found,) = json.loads(tc("-s -j qdisc show dev ifb0 root").stdout)
    return found["packets"], found["bytes"]


def the_manual_pages_ingress_works() -> None:
    """What comes in waits in fq_rr, counts with its Ethernet header and leaves at the rate; what is merged is split."""
    run("ip", "link", "set", "v1", "up")
    commands = recipe("The same house on the way in")
    equal(len(commands), 6, "commands")
    for command in commands:
        run(*command.replace("eth0", "v1").split())
    sender, merged = Sender(1), Sender(2, FRAME_BYTES - 42)
    began = time.monotonic()
    sender.send(FRAME_BYTES, PACKETS)
    wait_for_packets("ifb0", PACKETS)
    took = time.monotonic() - began
    equal(sent_by_ifb0(), (PACKETS, PACKETS * FRAME_BYTES), "packets and bytes")
    # but for the last packet's own time
    due = (PACKETS - 1) * FRAME_BYTES * 8 / RATE_BIT_S
    expect(took >= due, f"{PACKETS} packets took {took} s, not {due}")
    merged.send(14 + 28 + SEGMENTS * (FRAME_BYTES - 42))
    wait_for_packets("ifb0", PACKETS + SEGMENTS)
    found = statistics("ifb0")
    equal((found["split"], found["segments"]), (1, SEGMENTS), "super-packets and their segments")
    both = PACKETS + SEGMENTS
    equal(sent_by_ifb0(), (both, both * FRAME_BYTES), "packets and bytes, with every segment's headers")
    is_empty("ifb0", "after it")
    tc("qdisc del dev v1 ingress")
    run("ip", "link", "del", "ifb0")
    for thing in (sender, merged):
        thing.close()


ANSWER_BYTES = len(answer(1))
FAR_END = bytes.fromhex(TARGET_MAC.replace(":", ""))
VLAN, SESSION = 7, 1
# how a packet comes in by v0: what is between the Ethernet addresses and it
IN_ETHERNET = b"\x08\0"
IN_VLAN = struct.pack("!HH", 0x8100, VLAN) + IN_ETHERNET
IN_PPPOE = struct.pack("!HBBHHH", 0x8864, 0x11, 0, SESSION, ANSWER_BYTES + 2, 0x0021)


@dataclass(frozen=True)
class Line:
    """How a line brings its packets, and which device the recipe is for."""

    device: str
    framed: bytes
    # with nat, of packets for two of them
    hosts: int
    # of a packet beyond the IP packet's: as "Sent" and "backlog" count it, and as the rate does
    counted: int
    timed: int


LINES = (
    Line("v0", IN_ETHERNET, 2, 14, 14),
    # the tag is not in the packet any more, but known
    Line("v0", IN_VLAN, 2, 14, 18),
    Line(f"v0.{VLAN}", IN_VLAN, 2, 14, 14),
    Line("ppp0", IN_PPPOE, 2, 0, 0),
    # a session's packet is none of IP for the table of connections: all are the router's own
    Line("v0", IN_PPPOE, 1, 22, 22),
)


def open_session() -> list[IO[bytes] | socket.socket]:
    """A PPPoE session with the far end over v0, as ppp0, without those who negotiate; returns what keeps it."""
    run("modprobe", "pppoe")
    session = socket.socket(AF_PPPOX, socket.SOCK_STREAM, PX_PROTO_OE)
    where = struct.pack("=HI", AF_PPPOX, PX_PROTO_OE) + struct.pack("!H", SESSION) + FAR_END + b"v0".ljust(16, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    equal(libc.connect(session.fileno(), where, len(where)), 0, f"PPPoE: errno {ctypes.get_errno()}, result")
    number = bytearray(4)
    fcntl.ioctl(session, PPPIOCGCHAN, number)
    channel, unit = (open("/dev/ppp", "r+b", buffering=0) for _ in range(2))  # noqa: SIM115
    fcntl.ioctl(channel, PPPIOCATTCHAN, bytes(number))
    number[:] = struct.pack("=i", 0)
    fcntl.ioctl(unit, PPPIOCNEWUNIT, number)
    fcntl.ioctl(channel, PPPIOCCONNECT, bytes(number))
    run("ip", "link", "set", "ppp0", "up")
    return [session, channel, unit]


def change_ifb0(options: str) -> None:
    """Without starting a process."""
    equal(request(encode(options), device="ifb0"), (0, ""), options)


def drained_in_s() -> float:
    """Until ifb0 has no packet left."""
    began = time.monotonic()
    while statistics("ifb0")["qlen"]:
        expect(time.monotonic() - began < 60, "packets stay")
        time.sleep(0.0005)
    return time.monotonic() - began


def comes_in(line: Line, senders: list[Sender], far_end: socket.socket, mac: bytes) -> None:
    """The recipe for one line: hosts, flows, bytes and time of what waits in ifb0."""
    what = f"{line.device}, frames with {line.framed.hex()}"
    for command in recipe("The same house on the way in"):
        # so slow that packets wait while they are looked at
        changed = command.replace("eth0", line.device).replace("90mbit", "8kbit")
        run(*changed.replace("root fq_rr", "root handle 1: fq_rr").split())
    for options, hosts in (("nat", line.hosts), ("no-nat", 1)):
        change_ifb0(f"rate 1gbit {options}")
        drained_in_s()
        change_ifb0("rate 8kbit")
        # no process is started from here on: the clock would leap, and the table forgets in 30 s
        for sender in senders:
            sender.send(100)
        for port in (1, 2, 3) * 40:
            far_end.send(mac + FAR_END + line.framed + answer(port))
        found = statistics("ifb0")
        equal((found["hosts_active"], found["flows_active"]), (hosts, 3), f"{what}, {options}: hosts and flows")
        each = found["backlog"] / found["qlen"]
        equal(each, ANSWER_BYTES + line.counted, f"{what}, {options}: bytes of a packet")
    waiting = statistics("ifb0")["qlen"]
    # what waits is to leave, and not to be dropped; the packet on the link has the old rate
    change_ifb0("rate 100kbit no-aqm")
    while statistics("ifb0")["qlen"] >= waiting:
        time.sleep(0.0005)
    waiting = statistics("ifb0")["qlen"]
    timed = drained_in_s() * 100e3 / 8 / waiting
    wanted = ANSWER_BYTES + line.timed
    expect(abs(timed / wanted - 1) < 0.02, f"{what}: a packet takes the time of {timed} bytes, not {wanted}")
    tc(f"qdisc del dev {line.device} ingress")
    run("ip", "link", "del", "ifb0")


def every_line_brings_its_packets_in() -> None:
    """The recipe on a router that masquerades, for Ethernet, a VLAN and PPPoE.

    Answers to two hosts are two hosts', and one's without nat; a packet counts as the manual page says.
    """
    run("modprobe", "-a", "nf_conntrack", "nf_tables", "nft_chain_nat", "nft_masq")
    masquerade()
    (device,) = json.loads(run("ip", "-j", "link", "show", "v0").stdout)
    mac = bytes.fromhex(device["address"].replace(":", ""))
    run("ip", "link", "add", "link", "v0", "name", f"v0.{VLAN}", "type", "vlan", "id", str(VLAN))
    run("ip", "link", "set", f"v0.{VLAN}", "up")
    kept = open_session()
    senders = []
    for port, host in ((1, "10.9.0.2"), (2, "10.9.0.2"), (3, "10.9.0.3")):
        run("ip", "addr", "replace", f"{host}/24", "dev", "v0")
        senders.append(Sender(port, host=host))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as far_end:
        far_end.bind(("v1", 0x0800))
        for line in LINES:
            comes_in(line, senders, far_end, mac)
    for thing in (*senders, *reversed(kept)):
        thing.close()
    run("ip", "link", "del", f"v0.{VLAN}")
    translate_no_more()


def the_manual_pages_uplink_is_taken() -> None:
    """With hosts and their own addresses."""
    for command in recipe("The uplink of a house"):
        run(*command.replace("eth0", "v0").split())
    expect("hosts src nat" in tc("qdisc show dev v0").stdout, "no hosts")
    tc("qdisc del dev v0 root")


def the_readmes_first_example_works() -> None:
    """The buffer is as large as it says, the packets leave at the rate, and the last command undoes it."""
    tc(in_readme("qdisc replace"))
    (shown,) = json.loads(tc("-s -j " + in_readme("-s qdisc show").removeprefix("-s ")).stdout)
    equal((shown["options"]["rate"], shown["memory_limit_bytes"]), (19e6 / 8, 4 << 20), "rate and memory")
    equal((shown["options"]["aqm"], shown["packets"]), (True, 0), "delay control, and packets so far")
    # all have left before CoDel's interval is over
    sender, packets = Sender(1), 100
    began = time.monotonic()
    sender.send(FRAME_BYTES, packets)
    wait_for_packets("v0", packets)
    took, due = time.monotonic() - began, (packets - 1) * FRAME_BYTES * 8 / 19e6
    expect(took >= due, f"{packets} packets took {took} s, not {due}")
    sender.close()
    tc(in_readme("qdisc del"))
    expect("fq_rr" not in kinds("v0"), "it is still there")


def every_example_of_the_manual_page_is_taken() -> None:
    """As it stands there; the first is README's, and one that changes something follows the one before."""
    run("modprobe", "tun")
    all_ = examples()
    expect(len(all_) >= 12, f"examples: {len(all_)}")
    equal(all_[0], ["tc " + in_readme("qdisc replace")], "the first example")
    for commands in all_:
        if not commands[0].startswith("tc qdisc change"):
            tc("qdisc del dev v0 root", check=False)
        for command in commands:
            if command == "sysctl net.core.default_qdisc=fq_rr":
                # which only the first network namespace has
                with fq_rr_by_default(), Tap(1) as tap:
                    tap.up()
                    equal(kinds("t0"), {"fq_rr"}, "a new device's kind")
            elif command == "modprobe sch_fq_rr":
                continue  # not installed where tests run, but loaded
            elif command.startswith("tc qdisc del"):
                tc(command.removeprefix("tc "), check=False)
            else:
                run(*command.split())
        if commands[-1].startswith("tc qdisc"):
            expect("fq_rr" in kinds("v0"), f"no fq_rr after {commands}")
    tc("qdisc del dev v0 ingress")
    run("ip", "link", "del", "ifb0")
    tc("qdisc del dev v0 root")


def another_qdisc_takes_its_place_under_traffic() -> None:
    """fq_codel, fq_rr, and back, time and again: each is at work at once, and nothing of the last one stays."""
    tc("qdisc del dev v0 root", check=False)
    wait_for_users(0)
    child = fork(lambda: send_until_killed(16))
    for _ in range(8):
        for kind in ("fq_codel", "fq_rr", "fq_rr rate 5mbit", "fq_codel"):
            tc(f"qdisc replace dev v0 root {kind}")
            equal(kinds("v0"), {kind.split()[0]}, "the root's kind")
            before = sent_by_v0()
            time.sleep(0.02)
            left = sent_by_v0() - before
            expect(left > 20, f"{kind}: packets that left in 20 ms: {left}")
    os.kill(child, signal.SIGKILL)
    equal(join(child), -signal.SIGKILL, "end of the sender")
    wait_for_users(0)
    time.sleep(0.1)
    equal(set(backlogs().values()), {(0, 0)}, "packets and bytes at the end")


def sent_by_v0() -> int:
    """Packets that have left the device, whatever qdisc they came from."""
    (found,) = json.loads(run("ip", "-s", "-j", "link", "show", "v0").stdout)
    return int(found["stats64"]["tx"]["packets"])


def main() -> int:
    """Run all, or those named on the command line, in order."""
    equal(module_users(), 0, "qdiscs before the tests")
    return run_on_v0(
        [
            the_manual_pages_ingress_works,
            every_line_brings_its_packets_in,
            the_manual_pages_uplink_is_taken,
            the_readmes_first_example_works,
            every_example_of_the_manual_page_is_taken,
            another_qdisc_takes_its_place_under_traffic,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
