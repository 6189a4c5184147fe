#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What people do with fq_rr on a router that runs: the manual page's ingress, and a change from another qdisc.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import sys
import time
from pathlib import Path

from in_guest.link import SOURCE, TARGET, Sender
from in_guest.netlink import attribute
from in_guest.qdisc import backlogs, module_users, run_on_v0, statistics, tc, the_kernel_has_not_complained
from in_guest.tap import equal, expect, run
from in_lab_life import fork, is_empty, join, kinds, send_until_killed, wait_for_users
from in_lab_shares import masquerade, netfilter

MANUAL = Path(__file__).resolve().parents[2] / "tc-plugin" / "tc-fq_rr.8"
FRAME_BYTES = 1514
PACKETS = 200
RATE_BIT_S = 90e6
# Segments of the super-packet that a device of the line has merged.
SEGMENTS = 20


def recipe(after: str) -> list[str]:
    """The commands of the manual page's example whose text begins so."""
    found = re.search(re.escape(after) + r".*?\n\.nf\n(.*?)\.fi", MANUAL.read_text(), re.DOTALL)
    assert found, after
    return [line.removeprefix("# ") for line in found[1].splitlines()]


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


def answer(port: int, mac: bytes) -> bytes:
    """A frame for v0, of this address: what the far end sends back to a port of the router's own address."""
    udp = struct.pack("!HHHH", 9, port, 28, 0) + bytes(20)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 7, 0, 64, socket.IPPROTO_UDP, 0)
    ip += socket.inet_aton(TARGET) + socket.inet_aton(SOURCE)
    return mac + bytes(6) + b"\x08\0" + ip + udp


def nat_knows_whose_answers_come_in() -> None:
    """The recipe on a router that masquerades: answers to two hosts are two hosts', and one's without nat."""
    commands = recipe("The same house on the way in")
    run("modprobe", "-a", "nf_tables", "nft_chain_nat", "nft_masq")
    masquerade()
    (device,) = json.loads(run("ip", "-j", "link", "show", "v0").stdout)
    mac = bytes.fromhex(device["address"].replace(":", ""))
    senders = []
    for port, host in ((1, "10.9.0.2"), (2, "10.9.0.2"), (3, "10.9.0.3")):
        run("ip", "addr", "replace", f"{host}/24", "dev", "v0")
        senders.append(Sender(port, host=host))
    for command in commands:
        # so slow that packets wait while they are looked at
        run(*command.replace("eth0", "v0").replace("90mbit", "8kbit").split())
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as far_end:
        far_end.bind(("v1", 0x0800))
        for options, hosts in (("nat", 2), ("no-nat", 1)):
            tc(f"qdisc replace dev ifb0 root fq_rr {options}")
            # no process is started from here on: the clock would leap, and the table forgets in 30 s
            for sender in senders:
                sender.send(100)
            for port in (1, 2, 3) * 4:
                far_end.send(answer(port, mac))
            found = statistics("ifb0")
            equal((found["hosts_active"], found["flows_active"]), (hosts, 3), f"{options}: hosts and flows")
    tc("qdisc del dev v0 ingress")
    run("ip", "link", "del", "ifb0")
    netfilter((2, attribute(1, b"fq_rr\0")))
    for sender in senders:
        sender.close()


def the_manual_pages_uplink_is_taken() -> None:
    """With hosts and their own addresses."""
    for command in recipe("The uplink of a house"):
        run(*command.replace("eth0", "v0").split())
    expect("hosts src nat" in tc("qdisc show dev v0").stdout, "no hosts")
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
            nat_knows_whose_answers_come_in,
            the_manual_pages_uplink_is_taken,
            another_qdisc_takes_its_place_under_traffic,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
