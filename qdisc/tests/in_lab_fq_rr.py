#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What fq_rr does to packets: order, spacing, drops, splitting, accounting.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.  Times
are the kernel's own stamps of a guest whose clock counts instructions.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from in_guest.link import SOURCE, TARGET, TARGET_MAC, Capture, Frame, Sender, enter_namespace, gaps_ns
from in_guest.netlink import TC_H_ROOT
from in_guest.qdisc import (
    TRACING,
    backlogs,
    classes,
    configure,
    module_users,
    run_on_v0,
    statistics,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import equal, expect, run

# shaper.h: the error that any gap may have
SLACK_NS = 100_000
# linux/socket.h, linux/if_packet.h
SOL_PACKET, PACKET_VNET_HDR = 263, 15
# modules for tests
BENCH = Path(__file__).resolve().parents[2] / "build" / os.uname().release / "bench"
VERDICT_MODULE = BENCH / "cls_verdict.ko"
LATE_MODULE = BENCH / "late_softirqs.ko"
POLICIES = ("longest-queue", "longest-head", "longest-tail", "arriving")


# each takes all packets to its class 9:1, where fq_rr is; it is 9: below a tbf
PARENTS = {
    "drr": [
        "qdisc add dev v0 {place} handle 9: drr",
        "class add dev v0 parent 9: classid 9:1 drr",
        "filter add dev v0 parent 9: matchall flowid 9:1",
    ],
    "ets": ["qdisc add dev v0 {place} handle 9: ets bands 2 quanta 1500 1500 priomap" + " 0" * 16],
    "hfsc": [
        "qdisc add dev v0 {place} handle 9: hfsc default 1",
        "class add dev v0 parent 9: classid 9:1 hfsc sc rate 1gbit",
    ],
    "htb": [
        "qdisc add dev v0 {place} handle 9: htb default 1",
        "class add dev v0 parent 9: classid 9:1 htb rate 1gbit quantum 1514",
    ],
    "prio": ["qdisc add dev v0 {place} handle 9: prio bands 2 priomap" + " 0" * 16],
    "qfq": [
        "qdisc add dev v0 {place} handle 9: qfq",
        "class add dev v0 parent 9: classid 9:1 qfq weight 10 maxpkt 65536",
        "filter add dev v0 parent 9: matchall flowid 9:1",
    ],
    "red": ["qdisc add dev v0 {place} handle 9: red limit 1m min 400k max 800k avpkt 1000 bandwidth 1gbit"],
    "tbf": [],
}


def nest(*kinds: str) -> int:
    """New qdiscs at the root, each below the one before: 2:, 3:, and so on.

    Returns the class that all packets come to.
    """
    tc("qdisc del dev v0 root", check=False)
    place = "root"
    for handle, kind in enumerate(kinds, 2):
        for command in PARENTS[kind]:
            tc(command.replace("9:", f"{handle}:").format(place=place))
        place = f"parent {handle}:1"
    return (len(kinds) + 1 << 16) + 1 if kinds else TC_H_ROOT


def fresh(arguments: str = "") -> None:
    """A new fq_rr as 1: at the root, without delay control unless it is asked for."""
    tc("qdisc del dev v0 root", check=False)
    configure(f"no-aqm {arguments}", create=True)


class Link:
    """A link that is blocked until it is released.

    One super-packet that is not split occupies it for a minute at 8 kbit/s,
    and what tests queue meanwhile stays.
    """

    def __init__(self, arguments: str = "", split: bool = True, parents: tuple[str, ...] = ()) -> None:
        """A new fq_rr with ``arguments`` (not the rate), blocked.

        Without delay control, unless it is asked for: what is queued waits for long.
        ``split``: whether super-packets are split from now on.  ``parents``:
        qdiscs that it is below of, the uppermost first.
        """
        self.place = nest(*parents)
        # the limit of a link without a rate: that of 8 kbit/s would not hold what tests queue
        configure(f"rate 8kbit limit 10240 no-split-gso seed 1 no-aqm {arguments}", self.place, create=True)
        self.senders: dict[int, Sender] = {}
        self.capture = Capture()
        stopper = self.flow(999, segment_bytes=1000)
        stopper.send(60042)
        equal(len(self.capture.read(1)), 1, "blocking packets")
        if split:
            configure("split-gso", self.place)

    def flow(self, port: int, segment_bytes: int = 0) -> Sender:
        """The flow of a source port, opened when first asked for."""
        if port not in self.senders:
            self.senders[port] = Sender(port, segment_bytes)
        return self.senders[port]

    def release(self, count: int, rate: str = "10mbit") -> list[Frame]:
        """Give the link ``rate`` and read ``count`` packets."""
        configure(f"rate {rate}", self.place)
        # the blocking packet's rest goes first: up to 8 s at 64 kbit/s
        return self.capture.read(count, patience_s=20)

    def close(self) -> None:
        """Close the sockets."""
        self.capture.close()
        for sender in self.senders.values():
            sender.close()


def ports(frames: list[Frame]) -> str:
    """The flows of packets in order, as letters: port 1 is a."""
    return "".join(chr(ord("a") + frame.port - 1) for frame in frames)


def equal_packets_alternate_strictly() -> None:
    """Two packets of a flow have one of each other flow between them."""
    for size in (1514, 1500, 1000, 142):
        link = Link()
        for port in (1, 2, 3):
            link.flow(port).send(size, 30)
        equal(ports(link.release(90)), "abc" * 30, f"order of packets of {size} bytes")
        link.close()


def bytes_are_shared_by_drr() -> None:
    """Flows of unequal packets get equal bytes."""
    link = Link()
    link.flow(1).send(1514, 200)
    link.flow(2).send(142, 2000)
    frames = link.release(2200)
    sent = {1: 0, 2: 0}
    # the super-packet that blocked the link made the first grant as large
    for frame in frames[700:2000]:
        sent[frame.port] += frame.bytes
        # round_robin.h: twice q + 2 L
        expect(abs(sent[1] - sent[2]) < 6 * 1514, f"bytes sent: {sent}")
    expect(sent[1] > 50_000, f"bytes sent: {sent}")
    link.close()


def strict_shares_packets() -> None:
    """One packet per visit whatever its size."""
    link = Link("scheduler strict")
    # far beyond the grant that the packet blocking the link has caused
    link.flow(1).send(1514, 200)
    link.flow(2).send(142, 200)
    equal(ports(link.release(400)), "ab" * 200, "order")
    link.close()


def a_changed_scheduler_forgets_credit() -> None:
    """What one flow is still owed it does not send in a row after a change."""
    for change in ("scheduler strict", "quantum 1514"):
        link = Link("quantum 1048576")
        # the first runs out of credit after 693 packets, the second has plenty
        link.flow(1).send(1514, 800)
        link.flow(2).send(142, 4000)
        link.release(2 * 693 + 50)
        configure(change)
        order = ports(link.capture.read(3000))
        runs = [len(run) for run in order[order.index("a") : order.rindex("a")].split("a")]
        # drr: the last grant's rest, and eleven for one
        expect(max(runs) <= (1 if change == "scheduler strict" else 30), f"{change}: {max(runs)} of one flow in a row")
        expect(order.count("b") > 2 * order.rindex("a") / 3, f"{change}: the second flow ended too early")
        link.close()


def who_asks_is_served_at_once_beside_delay_control() -> None:
    """Three single packets that come together leave together; without delay control a bulk flow's is between them."""
    for options, wanted in (("aqm target 10s interval 10s", "bcda"), ("no-aqm", "bacd")):
        link = Link(options)
        link.flow(1).send(1514, 40)
        asking = [link.flow(port) for port in (2, 3, 4)]
        configure("rate 100kbit")
        equal(ports(link.capture.read(4, patience_s=20)), "aaaa", "packets before")
        for sender in asking:
            sender.send(142, 1)
        equal(ports(link.release(39)).lstrip("a")[:4], wanted, f"{options}: packets")
        link.close()


def a_sparse_flow_goes_ahead() -> None:
    """A single packet does not wait for the bulk flows' round, a train does."""
    link = Link()
    for port in (1, 2, 3):
        link.flow(port).send(1514, 20)
    single, train = link.flow(4), link.flow(5)
    configure("rate 100kbit")
    # what blocks the link, 60 segments' headers included, lasts for up to 5.002 s
    equal(ports(link.capture.read(10, patience_s=20)), "abcabcabca", "packets before")
    single.send(142, 1)
    train.send(1514, 3)
    order = ports(link.release(30))
    # one packet may be on its way before the first arrives
    expect(0 <= order.index("d") <= 2, f"sparse packet's place in {order}")
    places = [place for place, port in enumerate(order) if port == "e"]
    expect(places[0] <= 4, f"train's first place in {order}")
    expect(places[1] - places[0] >= 4 and places[2] - places[1] >= 4, f"train in {order}")
    link.close()


def the_rate_is_kept_without_bursts() -> None:
    """No gap shorter than a packet minus the slack, the mean within 0.1 %."""
    for rate, bits, size, count in (
        ("64kbit", 64_000, 142, 101),
        ("1mbit", 1_000_000, 1514, 201),
        ("10mbit", 10_000_000, 1514, 1001),
        ("40mbit", 40_000_000, 514, 1001),
    ):
        link = Link("limit 2000")
        link.flow(1).send(size, count)
        frames = link.release(count, rate)
        equal(len(frames), count, f"packets at {rate}")
        wire_ns = size * 8 * 10**9 / bits
        gaps = gaps_ns(frames)
        expect(min(gaps) >= wire_ns - SLACK_NS, f"{rate}: least gap {min(gaps)} ns, packet {wire_ns} ns")
        mean = (frames[-1].time_ns - frames[0].time_ns) / (count - 1)
        expect(abs(mean / wire_ns - 1) < 0.001, f"{rate}: mean gap {mean} ns, packet {wire_ns} ns")
        link.close()


def idling_saves_no_burst() -> None:
    """A pair after a pause is as far apart as any other."""
    fresh("rate 10mbit")
    capture, sender = Capture(), Sender(1)
    sender.send(1514, 2)
    capture.read(2)
    time.sleep(0.5)
    sender.send(1514, 3)
    frames = capture.read(3)
    gaps = gaps_ns(frames)
    wire_ns = 1514 * 800
    # timers are late by a few us here: time saved up would be the whole slack
    expect(min(gaps) >= wire_ns - SLACK_NS / 2, f"gaps {gaps}, packet {wire_ns} ns")
    capture.close()
    sender.close()


def sent_beside_late_softirqs(arguments: str) -> tuple[list[int], int]:
    """Gaps (ns) of 1,500 full packets at 100 Mbit/s, and the time that the shaper counts as lost."""
    link = Link(f"limit 2000 {arguments}")
    link.flow(1).send(1514, 1500)
    lost_ns = statistics()["lost_ns"]
    frames = link.release(1500, "100mbit")
    equal(len(frames), 1500, "packets")
    lost_ns = statistics()["lost_ns"] - lost_ns
    link.close()
    return gaps_ns(frames), lost_ns


def late_softirqs_cost_no_rate() -> None:
    """1 ms late every 10 ms: made up for by gaps an eighth shorter; without, the time is lost and counted."""
    wire_ns = 1514 * 80
    run("insmod", str(LATE_MODULE))
    try:
        for arguments, catch_up_ns in (("", 2_000_000), ("catch-up 0", 0)):
            gaps, lost_ns = sent_beside_late_softirqs(arguments)
            late = sum(gap > 3 * wire_ns for gap in gaps)
            expect(late > 10, f"{late} late softirqs: there was nothing to make up for")
            rate = wire_ns * len(gaps) / sum(gaps)
            expect(rate >= 0.99 if catch_up_ns else rate < 0.94, f"{arguments}: {rate} of the rate, lost {lost_ns} ns")
            # each time one gap is shorter by the slack, and what is made up for takes an eighth of the others
            short = sum(gap < wire_ns * 7 / 8 - 1000 for gap in gaps)
            expect(short <= 2 * late, f"{arguments}: {short} of {len(gaps)} gaps are short, {late} were late")
            # what is not made up for yet, one lateness before the first packet and that of any packet
            rest_ns = sum(gaps) - wire_ns * len(gaps) - lost_ns
            expect(
                abs(rest_ns) < catch_up_ns + 1_000_000 + 2 * SLACK_NS,
                f"{arguments}: {rest_ns} ns went, {lost_ns} ns were counted",
            )
    finally:
        run("rmmod", "late_softirqs")


def mean_gap_bytes(frames: list[Frame], bits: int) -> float:
    """What each packet but the last took of a link of so many bit/s."""
    return (frames[-1].time_ns - frames[0].time_ns) / (len(frames) - 1) * bits / 8e9


def a_packet_takes_what_the_link_makes_of_it() -> None:
    """The same packets take longer by what the options say."""
    for arguments, wire_bytes in (
        ("overhead 86", 228),
        ("overhead -42", 100),
        ("mpu 256", 256),
        ("overhead 14 layer ip", 142),
        ("overhead 32 layer ip framing atm", 4 * 53),
        ("overhead 16 layer ip framing atm", 3 * 53),
        ("framing ptm", 145),
    ):
        link = Link(arguments)
        link.flow(1).send(142, 51)
        mean = mean_gap_bytes(link.release(51, "1mbit"), 1_000_000)
        expect(abs(mean / wire_bytes - 1) < 0.001, f"{arguments}: {mean} bytes a packet, not {wire_bytes}")
        link.close()


def a_vlan_tag_is_counted_whoever_inserts_it() -> None:
    """By the device after the qdisc, or by the stack before it."""
    run("ip", "link", "add", "link", "v0", "name", "v0.5", "type", "vlan", "id", "5")
    run("ip", "addr", "add", "10.8.0.1/24", "dev", "v0.5")
    run("ip", "link", "set", "v0.5", "up")
    run("ip", "neigh", "add", "10.8.0.9", "lladdr", "02:00:00:00:00:09", "dev", "v0.5", "nud", "permanent")
    for inserts, arguments, wire_bytes in (("on", "", 146), ("off", "", 146), ("on", "layer ip overhead 18", 146)):
        run("ethtool", "-K", "v0", "tx-vlan-hw-insert", inserts)
        link = Link(arguments)
        sender = Sender(1, host="10.8.0.1", target="10.8.0.9")
        sender.send(142, 51)
        mean = mean_gap_bytes(link.release(51, "1mbit"), 1_000_000)
        expect(abs(mean / wire_bytes - 1) < 0.001, f"inserted by the device: {inserts}: {mean} bytes a packet")
        sender.close()
        link.close()
    run("ethtool", "-K", "v0", "tx-vlan-hw-insert", "on")
    run("ip", "link", "del", "v0.5")


def pppoe_has_flows_and_its_full_length() -> None:
    """The session's packets are told apart, and count with their eight bytes."""
    header = bytes.fromhex("020000000009 020000000001 8864 1100 0007 005e 0021")
    link = Link()
    capture = Capture(0x8864)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("v0", 0x8864))
        for port in (1, 2):
            udp = struct.pack("!HHHH", port, 9, 72, 0)
            datagram = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 92, 0, 0, 64, 17, 0, b"\n\x09\0\1", b"\n\x09\0\x09")
            for _ in range(26):
                sender.send(header + datagram + udp + b"\0" * 64)
    equal(statistics()["collisions"], 0, "packets in the other's queue")
    configure("rate 1mbit")
    frames = capture.read(52, 20)
    equal([frame.bytes for frame in frames], [114] * 52, "lengths")
    equal(ports(frames), "ab" * 26, "order")
    mean = mean_gap_bytes(frames, 1_000_000)
    expect(abs(mean / 114 - 1) < 0.001, f"{mean} bytes a packet")
    capture.close()
    link.close()


def a_new_rate_keeps_the_queue_without_a_burst() -> None:
    """Up, down and up again: every packet, in order, no gap below the rate's."""
    link = Link("limit 2000")
    link.flow(1).send(1514, 400)
    frames = link.release(1, "1mbit")
    for rate, bits in (("10mbit", 10e6), ("2mbit", 2e6), ("40mbit", 40e6), ("1mbit", 1e6)):
        configure(f"rate {rate}")
        part = link.capture.read(60)
        wire_ns = 1514 * 8e9 / bits
        # the first of them may have left just before the change
        gaps = gaps_ns(part)[1:]
        expect(min(gaps) >= wire_ns - SLACK_NS, f"{rate}: least gap {min(gaps)} ns, packet {wire_ns} ns")
        mean = sum(gaps[5:]) / len(gaps[5:])
        expect(abs(mean / wire_ns - 1) < 0.001, f"{rate}: mean gap {mean} ns, packet {wire_ns} ns")
        frames += part
    configure("rate 40mbit")
    frames += link.capture.read(159)
    equal(sequences(frames, 1), [*range(400)], "packets")
    equal(statistics()["drops"], 0, "drops")
    link.close()


def a_longer_queue_leaves_faster() -> None:
    """With qlbp, each gap is what the rule makes of the backlog, which arrivals raise."""
    link = Link("flows 1 qlbp mu-min 8kbit mu-max 8kbit q-max 60")
    link.flow(1).send(1000, 20)
    frames = link.release(20, "10mbit mu-min 1mbit mu-max 5mbit q-max 10000b")
    equal(len(frames), 20, "packets")
    for left, gap_ns in zip(range(19, 0, -1), gaps_ns(frames), strict=True):
        rate = 10e6 if left > 10 else 1e6 + 4e6 * left / 10
        expect(abs(gap_ns - 8e12 / rate) < SLACK_NS / 10, f"{left} packets left, gap {gap_ns} ns at {rate} bit/s")
    link.close()
    # the first is sent at 100 kbit/s, for 80 ms, until ten arrive a moment later
    fresh("rate 10mbit flows 1 qlbp mu-min 100kbit mu-max 5mbit q-max 10000b")
    capture, sender = Capture(), Sender(1)
    sender.send(1000, 11)
    gap_ns = gaps_ns(capture.read(2))[0]
    expect(1.6e6 <= gap_ns < 2e6, f"gap {gap_ns} ns, where ten packets have come at once")
    capture.close()
    sender.close()


def sequences(frames: list[Frame], port: int) -> list[int]:
    """Sequence numbers of a flow's packets."""
    return [frame.sequence for frame in frames if frame.port == port]


def overflow(policy: str) -> tuple[dict[str, int], list[Frame]]:
    """Limit 10: flow 1 sends 8, flow 2 sends 3, which is one too many."""
    link = Link(f"limit 10 drop {policy}")
    link.flow(1).send(514, 8)
    link.flow(2).send(514, 3)
    found = statistics()
    frames = link.release(10, "10mbit")[: found["qlen"]]
    link.close()
    return found, frames


def longest_queue_is_flushed_whole() -> None:
    """All of flow 1 goes, nothing of flow 2."""
    found, frames = overflow("longest-queue")
    equal((found["drops_flushed"], found["flushes"], found["drops"]), (8, 1, 8), "drops")
    equal((found["qlen"], found["backlog"]), (3, 3 * 514), "backlog")
    equal((sequences(frames, 1), sequences(frames, 2)), ([], [0, 1, 2]), "packets")


def longest_head_drops_the_oldest() -> None:
    """The first packet of flow 1 goes."""
    found, frames = overflow("longest-head")
    equal((found["drops_head"], found["drops"]), (1, 1), "drops")
    equal((sequences(frames, 1), sequences(frames, 2)), ([*range(1, 8)], [0, 1, 2]), "packets")


def longest_tail_drops_the_newest() -> None:
    """The last packet of flow 1 goes."""
    found, frames = overflow("longest-tail")
    equal((found["drops_tail"], found["drops"]), (1, 1), "drops")
    equal((sequences(frames, 1), sequences(frames, 2)), ([*range(7)], [0, 1, 2]), "packets")


def arriving_drops_what_comes() -> None:
    """The last packet of flow 2 goes."""
    found, frames = overflow("arriving")
    equal((found["drops_arriving"], found["drops"]), (1, 1), "drops")
    equal((sequences(frames, 1), sequences(frames, 2)), ([*range(8)], [0, 1]), "packets")


def a_flow_that_flushes_itself_keeps_what_arrives() -> None:
    """The arriving packet is never flushed with its own queue."""
    link = Link("limit 10 drop longest-queue")
    link.flow(1).send(514, 11)
    found = statistics()
    equal((found["drops_flushed"], found["qlen"]), (10, 1), "drops and backlog")
    equal(sequences(link.release(1), 1), [10], "packets")
    equal(statistics()["memory_bytes"], 0, "memory once all is sent")
    link.close()


def the_longest_takes_the_largest_part() -> None:
    """Of the packets or of the memory that may wait, whichever part is larger."""
    # packets' memory is that of a stock kernel: 768 and 2304 bytes, or more
    for arguments, small, large, victim in (
        ("limit 9", 6, 3, 1),
        # a tenth of the limit holds more memory than all of the rest
        ("limit 1000", 900, 100, 1),
        ("limit 1000 memory-limit 131072", 60, 30, 2),
    ):
        link = Link(f"{arguments} drop longest-queue")
        link.flow(1).send(142, small)
        link.flow(2).send(1514, large)
        # until one is too many
        for _ in range(100):
            if statistics()["flushes"]:
                break
            link.flow(3).send(142)
        found = {"a": small, "b": large, "c": statistics()["qlen"]}
        found["c"] -= sum(count for flow, count in found.items() if flow != "c" and flow != "ab"[victim - 1])
        frames = link.release(statistics()["qlen"], "100mbit")
        counts = {port: ports(frames).count(port) for port in "abc"}
        found["ab"[victim - 1]] = 0
        equal(counts, found, f"packets left of each flow, {arguments}")
        link.close()


def tiny_packets_cost_nobody_else() -> None:
    """9,800 packets of 60 bytes fill the default limit; 500 full ones beside them stay."""
    link = Link()
    full, tiny = link.flow(1), link.flow(2)
    full.send(1514, 500)
    tiny.send(60, 9800)
    found = statistics()
    expect(found["flushes"] >= 1 and found["drops_flushed"] > 9000, f"nothing was flushed: {found}")
    equal(classes_of(full), 500, "full packets that wait")
    link.close()


def classes_of(sender: Sender) -> int:
    """Packets that wait in the longest queue by packets of full size, which is the sender's."""
    return max(shown["qlen"] for shown in classes().values() if shown["head_bytes"] == 1514)


def lengths_that_wrap_are_no_empty_queue() -> None:
    """4,096 packets that count a MiB each are 2^32 bytes, and still the longest queue."""
    tc("qdisc del dev v0 root", check=False)
    # as much as a size table may say; later kernels cap it there
    tc("qdisc add dev v0 root handle 1: stab overhead 1048576 linklayer ethernet fq_rr limit 4096 rate 8kbit no-aqm")
    flood, other = Sender(1), Sender(2)
    # the first is on the link, or may be
    flood.send(60, 4097)
    before = statistics()
    expect(before["qlen"] in (4096, 4097) and not before["flushes"], f"the flood is not there: {before}")
    while not (found := statistics())["drops"]:
        other.send(60)
    equal(found["flushes"], 1, "queues flushed")
    expect(found["qlen"] <= 3, f"{found['qlen']} packets are left of the flood")
    flood.close()
    other.close()
    tc("qdisc del dev v0 root")


def the_quantum_shown_is_in_force() -> None:
    """What a later MTU would make of it is shown once a change has made it so."""
    fresh()
    equal(statistics()["quantum_bytes"], 1514, "quantum by the device's MTU")
    try:
        run("ip", "link", "set", "v0", "mtu", "9000")
        equal(statistics()["quantum_bytes"], 1514, "quantum after another MTU")
        configure("limit 5000")
        equal(statistics()["quantum_bytes"], 9014, "quantum after a change")
        run("ip", "link", "set", "v0", "mtu", "68")
        configure("limit 5001")
        equal(statistics()["quantum_bytes"], 256, "quantum with the least MTU")
    finally:
        run("ip", "link", "set", "v0", "mtu", "1500")


def reading_leaves_the_data_path_alone() -> None:
    """Statistics, which anyone may read, build no heap; the longest queue is shown all the same."""
    link = Link()
    link.flow(1).send(514, 3)
    link.flow(2).send(1514, 2)
    probes = TRACING / "kprobe_events"
    probes.write_text("p:heaps/built sch_fq_rr:buffer_collect\n")
    enable = TRACING / "events/heaps/enable"

    def built() -> int:
        return len(re.findall(r" built: ", (TRACING / "trace").read_text()))

    try:
        (TRACING / "trace").write_text("")
        enable.write_text("1")
        for _ in range(3):
            equal(statistics()["longest_bytes"], 2 * 1514, "longest queue")
        equal(built(), 0, "heaps built by reading")
        # and the probe sees one where there is one
        configure("limit 4")
        equal(built(), 1, "heaps built by an overflow")
    finally:
        enable.write_text("0")
        probes.write_text("")
    link.close()


def the_buffer_follows_the_rate() -> None:
    """Unless a limit is given: 400 ms of the rate, at least 4 MB, at most 32 MB and 10240 packets."""
    fresh("")

    def in_force() -> tuple[int, int]:
        found = statistics()
        return found["limit_packets"], found["memory_limit_bytes"]

    equal(in_force(), (10240, 32 << 20), "with no rate")
    for words, wanted in (
        ("rate 20mbit", (4096, 4 << 20)),
        ("rate 100mbit", (4882, 5_000_000)),
        ("interval 200ms", (9765, 10_000_000)),
        ("rate 1gbit interval 100ms", (10240, 32 << 20)),
        ("limit 77", (77, 32 << 20)),
        ("rate 20mbit", (77, 32 << 20)),
        ("memory-limit 777777", (77, 777777)),
        ("limit auto", (10240, 777777)),
        ("memory-limit auto", (4096, 4 << 20)),
        ("rate unlimited", (10240, 32 << 20)),
    ):
        configure(words)
        equal(in_force(), wanted, words)
    # and it is the buffer: a slower link drops what waits beyond its own
    link = Link("flows 1 drop longest-tail limit auto")
    link.flow(1).send(64, 4300)
    expect(statistics()["qlen"] <= 4096 and statistics()["drops_tail"] > 200, f"waiting: {statistics()['qlen']}")
    configure("rate 1gbit")
    link.close()


# what a classifier says, by number, and what becomes of five packets: queued, counted as dropped
VERDICTS = {
    "ok": (0, 5, 0),
    "reclassify, for ever": (1, 0, 5),
    "shot": (2, 0, 5),
    "pipe": (3, 5, 0),
    "stolen": (4, 0, 0),
    "queued": (5, 0, 0),
    "repeat": (6, 5, 0),
    "redirect": (7, 0, 5),
    "trap": (8, 0, 0),
    "consumed": (9, 0, 0),
}
# the same by actions, where a kernel lets them be attached
ACTIONS = {
    "ok": (5, 0),
    "pipe": (5, 0),
    "continue": (5, 0),
    "drop": (0, 5),
    "trap": (0, 0),
    "mirred egress redirect dev lo": (0, 0),
    "mirred egress mirror dev lo": (5, 0),
    "goto chain 3": (5, 0),
}


def five_packets(what: str, queued: int, dropped: int) -> None:
    """Five packets come to a filter: so many are queued, so many count as dropped."""
    sender = Sender(1)
    sender.send(514, 5)
    found = statistics()
    equal((found["enqueued"], found["drops"], found["qlen"]), (queued, dropped, 0), what)
    sender.close()


def every_verdict_of_an_action_is_heeded() -> None:
    """What is passed on is sent, what is stolen is nobody's drop, what is consumed is not touched."""
    run("ip", "link", "set", "lo", "up")
    run("insmod", str(VERDICT_MODULE))
    try:
        for name, (number, queued, dropped) in VERDICTS.items():
            fresh()
            tc(f"filter add dev v0 parent 1: protocol ip prio {number + 1} verdict")
            five_packets(name, queued, dropped)
        tc("qdisc del dev v0 root")
    finally:
        run("rmmod", "cls_verdict")
    for action, (queued, dropped) in ACTIONS.items():
        fresh()
        tc(f"filter add dev v0 parent 1: protocol ip matchall action {action}")
        five_packets(action, queued, dropped)


def memory_is_limited() -> None:
    """By what packets occupy, whatever the limit in packets."""
    for policy in POLICIES:
        link = Link(f"memory-limit 131072 drop {policy}")
        for _ in range(60):
            for port in (1, 2, 3, 4):
                link.flow(port).send(1514)
        found = statistics()
        expect(found["memory_max_bytes"] > 131072 - 8192, f"{policy}: never full")
        expect(found["memory_bytes"] <= 131072, f"{policy}: {found['memory_bytes']}")
        expect(found["drops"] > 0, f"{policy}: no drops")
        equal(found["qlen"] + found["drops"], 240, f"{policy}: packets")
        link.release(found["qlen"])
        equal(statistics()["memory_bytes"], 0, f"{policy}: memory once all is sent")
        link.close()


def a_smaller_limit_takes_effect_at_once() -> None:
    """For every policy; the others' packets are not touched needlessly."""
    for policy in POLICIES:
        link = Link(f"drop {policy}")
        link.flow(1).send(514, 20)
        link.flow(2).send(514, 5)
        configure("limit 10")
        found = statistics()
        expect(0 < found["qlen"] <= 10, f"{policy}: qlen {found['qlen']}")
        equal(found["qlen"] + found["drops"], 25, f"{policy}: packets")
        equal(found["backlog"], 514 * found["qlen"], f"{policy}: backlog")
        frames = link.release(found["qlen"])
        equal(len(sequences(frames, 2)), 5, f"{policy}: packets of the short queue")
        link.close()


def super_packets_are_split() -> None:
    """Into packets of the right length, that take turns with others'."""
    link = Link()
    link.flow(1, segment_bytes=1000).send(10042)
    link.flow(2, segment_bytes=1000).send(5542)
    found = statistics()
    equal((found["split"], found["segments"]), (2, 16), "split")
    equal((found["qlen"], found["backlog"]), (16, 15 * 1042 + 542), "backlog")
    frames = link.release(16)
    equal(ports(frames), "ab" * 6 + "aaaa", "order")
    equal([f.bytes for f in frames if f.port == 2], [1042] * 5 + [542], "lengths")
    wire_ns = 1042 * 800
    gaps = gaps_ns(frames)
    expect(min(gaps) >= 542 * 800 - SLACK_NS, f"least gap {min(gaps)} ns")
    expect(gaps[0] >= wire_ns - SLACK_NS, f"first gap {gaps[0]} ns")
    link.close()


def what_was_dropped_at_once_is_no_backlog() -> None:
    """Of a super-packet that is larger than the buffer, with each policy."""
    for policy in POLICIES:
        link = Link(f"limit 1 drop {policy}")
        link.flow(1, segment_bytes=1000).send(10042)
        found = statistics()
        equal((found["qlen"], found["drops"], found["backlog"]), (1, 9, 1042), f"{policy}: backlog")
        link.close()


def super_packets_may_stay_whole() -> None:
    """With no-split-gso they take one turn, and the full time of their segments."""
    for arguments, wire_bytes in (
        ("overhead 100", 10 * (1042 + 100) + 542 + 100),
        # 22 cells for each of 1038 bytes, 12 for the last of 538
        ("overhead 10 layer ip framing atm", 10 * 22 * 53 + 12 * 53),
    ):
        link = Link(arguments, split=False)
        link.flow(1, segment_bytes=1000).send(10542)
        link.flow(1, segment_bytes=1000).send(10542)
        found = statistics()
        equal((found["split"], found["qlen"]), (0, 2), "split and packets")
        frames = link.release(2)
        wire_ns = wire_bytes * 800
        gap = frames[1].time_ns - frames[0].time_ns
        expect(abs(gap - wire_ns) < SLACK_NS / 10, f"{arguments}: gap {gap} ns, super-packet {wire_ns} ns")
        link.close()


def who_does_not_say_how_many_segments_pays_for_all() -> None:
    """A super-packet of a packet socket, as of a guest: counted, and the time of its overhead, for each segment."""
    fresh("rate 8mbit overhead 256 no-split-gso seed 1")
    before, after, capture = Sender(1), Sender(2), Capture()
    before.send(142)
    segments, segment_bytes = 20, 500
    # its headers count as payload: room for them in the last
    payload_bytes = segments * segment_bytes - 54
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 40 + payload_bytes, 1, 0, 64, 6, 0, *map(socket.inet_aton, (SOURCE, TARGET))
    )
    header += struct.pack("!HHIIBBHHH", 7, 9, 1, 1, 0x50, 0x10, 1000, 0, 0)
    mac = bytes.fromhex(TARGET_MAC.replace(":", ""))
    frame = mac + mac[:5] + b"\x77" + b"\x08\x00" + header + bytes(payload_bytes)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
        raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        raw.bind(("v0", 0))
        # checksum from byte 34 on, 16 on from there; TCP over IPv4
        raw.send(struct.pack("=BBHHHH", 1, 1, 54, segment_bytes, 34, 16) + frame)
    after.send(142)
    frames = capture.read(2)
    equal([one.port for one in frames], [1, 2], "who came before and after")
    equal(statistics()["packets"], segments + 2, "packets")
    # 1000 ns a byte: the first packet's own time, and the super-packet's
    least_ns = 1000 * (142 + 256 + segments * 256 + 54 + payload_bytes)
    gap_ns = frames[1].time_ns - frames[0].time_ns
    expect(gap_ns >= least_ns - SLACK_NS, f"a gap of {gap_ns} ns, not of {least_ns} at least")
    for thing in (before, after, capture):
        thing.close()


def queues_are_shown_as_classes() -> None:
    """Each once, with its packets, bytes, next packet and hash; idle ones not."""
    link = Link("flows 65536")
    link.flow(1).send(1514, 3)
    link.flow(2, segment_bytes=1000).send(3042)
    numbers = {port: trace(1, link.flow(port))[0] for port in (1, 2)}
    found = classes()
    equal(
        {event["flow"] + 1: (event["hash"], port) for port, event in numbers.items()},
        {number: (shown["hash"], 1 if shown["head_bytes"] == 1514 else 2) for number, shown in found.items()},
        "numbers, hashes and next packets",
    )
    equal(
        sorted((shown["qlen"], shown["backlog"]) for shown in found.values()),
        [(4, 3 * 1042 + 514), (4, 3 * 1514 + 514)],
        "packets and bytes",
    )
    text = tc("-s class show dev v0").stdout
    for wanted in ("class fq_rr 1:", "backlog 5056b 4p", "head (bytes) 1514", f"hash {numbers[1]['hash']:08x}"):
        expect(wanted in text, f"no {wanted!r} in {text!r}")
    # far more than one netlink message holds
    for port in range(1000, 1200):
        link.flow(port).send(142)
    equal(len(classes()), statistics()["flows_active"], "queues that are shown")
    expect(len(classes()) > 195, "so few of 202 queues are hardly a matter of collisions")
    link.release(208)
    equal(classes(), {}, "queues after all is sent")
    link.close()


def credit_is_what_a_queue_may_send() -> None:
    """It falls by each packet's length, and nothing else is sent of it."""
    link = Link("quantum 1048576")
    link.flow(1).send(1514, 20)
    link.flow(2).send(142, 200)
    equal([shown["sparse"] for shown in classes().values()], [1, 1], "both go ahead")
    found = []
    for rate in ("1mbit", "100kbit"):
        link.release(5, rate)
        configure("rate 8kbit")
        found.append({shown["head_bytes"]: shown for shown in classes().values()})
    for size, before in found[0].items():
        after = found[1][size]
        equal((before["sparse"], after["sparse"]), (0, 0), "neither goes ahead any more")
        expect(after["qlen"] < before["qlen"], f"nothing of {size} bytes was sent")
        equal(before["credit"] - after["credit"], before["backlog"] - after["backlog"], f"credit for {size} bytes")
    link.close()


def agree(parent: str, moment: str) -> None:
    """Parent and child must count the same packets and bytes.

    The one packet that the tbf above has peeked at has left the child already.
    """
    found = backlogs()
    packets = found[parent][0] - found["fq_rr"][0]
    backlog = found[parent][1] - found["fq_rr"][1]
    expect((packets, backlog) in ((0, 0), (1, 1514), (1, 514), (1, 542)), f"{moment}: {found}")
    equal(found["tbf"], found[parent], f"tbf and {parent}, {moment}")


def place_under(parent: str, arguments: str) -> tuple[int, str]:
    """A new fq_rr with ``arguments`` below ``parent`` below a slow tbf.

    Returns where fq_rr is, and the tbf's options with a gap for its rate.
    """
    commands = PARENTS[parent]
    tc("qdisc del dev v0 root", check=False)
    # a bucket of 70 kB, so that it does not split super-packets itself
    tbf = "dev v0 root handle 8: tbf rate {} burst 70k limit 10m"
    tc("qdisc add " + tbf.format("8kbit"))
    for command in commands:
        tc(command.format(place="parent 8:1"))
    place = 0x90001 if commands else 0x80001
    configure(f"no-aqm {arguments}", place, create=True)
    return place, tbf


def an_idle_parent_hears_of_its_first_packet() -> None:
    """A super-packet that is itself too large for the buffer finds all empty.

    Part of it is dropped and part is queued: the parent must then serve it, and
    what comes after it, and forget the child when that is deleted.
    """
    for parent in PARENTS:
        for policy in POLICIES:
            _, tbf = place_under(parent, f"drop {policy} limit 12")
            plain, bulk, capture = Sender(1), Sender(2, segment_bytes=500), Capture()
            # 40 segments; the bucket takes all that the buffer does
            bulk.send(20042)
            expect(statistics()["drops"] > 0, f"{parent} {policy}: nothing dropped")
            expect(len(capture.read(12, patience_s=2)) > 0, f"{parent} {policy}: the first packet stays")
            equal(set(backlogs().values()), {(0, 0)}, f"{parent} {policy}: after the first")
            tc("qdisc change " + tbf.format("1gbit"))
            plain.send(142, 5)
            equal(len(capture.read(5, patience_s=2)), 5, f"{parent} {policy}: packets after the first")
            for thing in (plain, bulk, capture):
                thing.close()


def parents_are_told() -> None:
    """Under each classful qdisc, with each policy, backlogs agree.

    Plain packets and super-packets into a small buffer, then a smaller limit,
    then empty again.
    """
    for parent in PARENTS:
        for policy in POLICIES:
            place, tbf = place_under(parent, f"drop {policy} limit 12")
            plain, bulk, capture = Sender(1), Sender(2, segment_bytes=500), Capture()
            plain.send(1514, 60)
            for _ in range(20):
                bulk.send(2542)
                plain.send(514, 2)
                bulk.send(20042)
                agree(parent, f"{policy}, full")
            expect(backlogs()["fq_rr"][0] > 0, f"{parent} {policy}: nothing queued")
            configure("limit 1", place)
            agree(parent, f"{policy}, limit 1")
            tc("qdisc change " + tbf.format("1gbit"))
            # tbf's timer is still that of the slow rate
            capture.read(10_000, patience_s=5)
            equal(set(backlogs().values()), {(0, 0)}, f"{parent} {policy}: at the end")
            # the parent still serves the child after it was emptied
            plain.send(142, 1)
            equal(len(capture.read(1)), 1, f"{parent} {policy}: packets after it was empty")
            for thing in (plain, bulk, capture):
                thing.close()


def parents_are_told_of_what_a_filter_made_longer() -> None:
    """They counted a packet as it came to them; it leaves as a filter's action has made it."""
    run("insmod", str(VERDICT_MODULE))
    try:
        for parent in PARENTS:
            _, tbf = place_under(parent, "split-gso")
            tc("filter add dev v0 parent 1: protocol ip prio 2000 verdict")
            plain, bulk, capture = Sender(1), Sender(2, segment_bytes=500), Capture()
            for _ in range(20):
                plain.send(514, 3)
                bulk.send(20042)
            found = backlogs()
            expect(found["fq_rr"][0] > 100, f"{parent}: nothing waits")
            equal(found["tbf"], found[parent], f"tbf and {parent}")
            expect(found["tbf"][0] - found["fq_rr"][0] in (0, 1), f"{parent}: {found}")
            tc("qdisc change " + tbf.format("1gbit"))
            capture.read(10_000, patience_s=5)
            equal(set(backlogs().values()), {(0, 0)}, f"{parent}: at the end")
            for thing in (plain, bulk, capture):
                thing.close()
    finally:
        # a filter that is left would keep the module, and hide what failed
        tc("qdisc del dev v0 root", check=False)
        run("rmmod", "cls_verdict")


def enqueue_told(act: Callable[[], None]) -> tuple[list[int], list[tuple[int, int]], int]:
    """What fq_rr_enqueue() returned and told its parents while ``act`` ran.

    Its answers; packets and bytes of each qdisc_tree_reduce_backlog(); how
    often a DRR heard that a class of its own is idle.
    """
    probes = TRACING / "kprobe_events"
    # arguments by the registers of x86-64's calling convention
    probes.write_text(
        "r:told/answer sch_fq_rr:fq_rr_enqueue ret=$retval:s32\n"
        "p:told/reduce qdisc_tree_reduce_backlog packets=%si:s32 bytes=%dx:s32\n"
        "p:told/idle sch_drr:drr_qlen_notify\n"
    )
    try:
        (TRACING / "trace").write_text("")
        (TRACING / "events/told/enable").write_text("1")
        act()
        (TRACING / "events/told/enable").write_text("0")
        text = (TRACING / "trace").read_text()
    finally:
        probes.write_text("")
    answers = [int(value) for value in re.findall(r" answer: .* ret=(-?\d+)", text)]
    reduced = [(int(n), int(m)) for n, m in re.findall(r" reduce: .* packets=(-?\d+) bytes=(-?\d+)", text)]
    return answers, reduced, len(re.findall(r" idle: ", text))


SUCCESS, DROP, CN = 0, 1, 2


def what_is_told_is_as_documented() -> None:
    """Each row of the table in fq_rr.rst, below two DRRs.

    A row: options, what waits already (flow, bytes, packets), what comes (flow,
    bytes, bytes of each segment or 0 if it is no super-packet), the answer, and
    the calls.  Segments have 42 bytes of headers each.
    """
    rows: list[tuple[str, list[tuple[int, int, int]], tuple[int, int, int], int, list[tuple[int, int]]]] = [
        # a packet: nothing lost, by others, by its own flow, refused
        ("longest-head", [], (1, 514, 0), SUCCESS, []),
        ("longest-head", [(1, 514, 7), (2, 142, 3)], (2, 142, 0), SUCCESS, [(1, 514)]),
        ("longest-queue", [(1, 514, 7), (2, 142, 3)], (2, 142, 0), SUCCESS, [(7, 7 * 514)]),
        ("longest-tail", [(1, 514, 10)], (1, 142, 0), CN, []),
        ("longest-head", [(1, 514, 10)], (1, 142, 0), CN, [(0, 514 - 142)]),
        ("longest-queue", [(1, 514, 10)], (1, 142, 0), CN, [(9, 5140 - 142)]),
        ("arriving", [(1, 514, 10)], (2, 142, 0), DROP, []),
        # all others lost all that there was: no parent may think that nothing is left
        ("longest-queue", [(1, 514, 10)], (2, 142, 0), CN, [(9, 5140 - 142)]),
        # five packets of 1042 in one: the same
        ("longest-head", [], (1, 5042, 1000), SUCCESS, [(-4, 0)]),
        ("longest-queue", [(1, 1514, 7), (2, 142, 1)], (2, 5042, 1000), SUCCESS, [(-4, 0), (7, 7 * 1514)]),
        (
            "longest-head",
            [(1, 514, 4), (3, 514, 2), (4, 514, 2)],
            (2, 5042, 1000),
            CN,
            [(-4, 0), (2, 514 + 2 * 1042 - 5210)],
        ),
        ("arriving", [(1, 514, 8)], (2, 5042, 1000), CN, [(-1, 5210 - 2084), (-1, -5210)]),
        ("arriving", [(1, 514, 10)], (2, 5042, 1000), DROP, []),
        # all was empty: flushed at the 11th of them, and the 20th or 21st comes last
        ("longest-queue", [], (1, 20042, 1000), SUCCESS, [(-19, 0), (10, 10420)]),
        ("longest-queue", [], (1, 21042, 1000), SUCCESS, []),
        ("longest-tail limit 1", [], (1, 5042, 1000), SUCCESS, []),
    ]
    for drop, waiting, (port, size, segment), answer, calls in rows:
        link = Link(f"limit 10 drop {drop}" if "limit" not in drop else f"drop {drop}", parents=("drr", "drr"))
        for other, length, count in waiting:
            link.flow(other).send(length, count)
        sender = Sender(port + 20, segment) if segment else link.flow(port)
        equal(
            enqueue_told(lambda sender=sender, size=size: sender.send(size)),
            ([answer], calls, 0),
            f"drop {drop}, {waiting}, {port, size, segment}",
        )
        # a packet that is left alone has the length that the parents count
        left = statistics()["qlen"]
        equal(len(link.release(left)), left, f"drop {drop}, {waiting}: packets")
        equal(set(backlogs().values()), {(0, 0)}, f"drop {drop}, {waiting}: backlogs")
        if segment:
            sender.close()
        link.close()


def a_parent_may_peek_while_it_enqueues() -> None:
    """As HFSC does, before those above it have counted the packet.

    Of five segments one is left.  No correction may follow: the lower DRR has nothing
    yet by its own count, and the upper one would be notified of an idle child.
    """
    place = nest("drr", "drr", "hfsc")
    configure("limit 1 drop longest-tail", place, create=True)
    sender, capture = Sender(1, segment_bytes=1000), Capture()
    equal(enqueue_told(lambda: sender.send(5042)), ([SUCCESS], [], 0), "answer, corrections, idle children")
    equal(len(capture.read(1)), 1, "packets")
    equal(set(backlogs().values()), {(0, 0)}, "backlogs")
    sender.close()
    capture.close()


def a_flood_below_two_parents_stops_nobody() -> None:
    """Another's first packet flushes all there was; every parent serves on."""
    # qfq takes a child with a rate for broken, and the rate must be below it
    for upper in set(PARENTS) - {"tbf", "qfq"}:
        link = Link("limit 10", parents=(upper, "drr"))
        link.flow(1).send(514, 10)
        link.flow(2).send(142)
        equal(statistics()["qlen"], 1, f"{upper}: packets that wait")
        equal(ports(link.release(1)), "b", f"{upper}: the one")
        link.flow(3).send(142, 5)
        equal(ports(link.capture.read(5)), "ccccc", f"{upper}: after it")
        link.close()


def netem_may_duplicate_above() -> None:
    """Packets that enter twice, into a small buffer, with each policy."""
    for policy in POLICIES:
        tc("qdisc del dev v0 root", check=False)
        tc("qdisc add dev v0 root handle 8: netem limit 5000 delay 1ms duplicate 50%")
        tc(f"qdisc add dev v0 parent 8:1 handle 1: fq_rr limit 12 rate 1mbit drop {policy}")
        plain, bulk, capture = Sender(1), Sender(2, segment_bytes=500), Capture()
        for _ in range(20):
            plain.send(514, 2)
            bulk.send(5042)
        capture.read(10_000)
        expect(statistics()["drops"] > 0, f"{policy}: no drops")
        equal(set(backlogs().values()), {(0, 0)}, f"{policy}: at the end")
        for thing in (plain, bulk, capture):
            thing.close()


def trace(lines: int, act: Sender) -> list[dict[str, int]]:
    """The tracepoint's fields while ``act`` sends ``lines`` packets of 514."""
    (TRACING / "trace").write_text("")
    (TRACING / "events/fq_rr/fq_rr_enqueue/enable").write_text("1")
    act.send(514, lines)
    (TRACING / "events/fq_rr/fq_rr_enqueue/enable").write_text("0")
    found = []
    for line in (TRACING / "trace").read_text().splitlines():
        if "fq_rr_enqueue: " in line:
            fields = re.findall(r"(\w+)=(\w+)", line)
            found.append({key: int(value, 16 if key == "hash" else 10) for key, value in fields})
    return found


def the_tracepoint_tells_the_backlog() -> None:
    """What each packet finds before it."""
    link = Link()
    link.flow(2).send(1514, 2)
    found = trace(3, link.flow(1))
    equal([event["sport"] for event in found], [1, 1, 1], "source ports")
    equal([event["dport"] for event in found], [9, 9, 9], "destination ports")
    equal([event["len"] for event in found], [514] * 3, "lengths")
    equal([event["flow_packets"] for event in found], [0, 1, 2], "packets of the flow ahead")
    equal([event["flow_bytes"] for event in found], [0, 514, 1028], "bytes of the flow ahead")
    equal([event["qlen"] for event in found], [2, 3, 4], "packets in the qdisc")
    link.close()


def a_seed_repeats_the_mapping() -> None:
    """The same seed gives the same queues, another one does not."""
    senders = [Sender(port) for port in range(1, 9)]
    maps = []
    for seed in ("1", "1", "2"):
        fresh(f"rate 8kbit seed {seed}")
        maps.append([trace(1, sender)[0]["flow"] for sender in senders])
    equal(maps[0], maps[1], "queues with one seed twice")
    expect(maps[0] != maps[2], f"queues with another seed: {maps[2]}")
    for sender in senders:
        sender.close()


def an_idle_device_is_bypassed_only_without_a_rate() -> None:
    """Packets skip an empty qdisc that has nothing to do."""
    for arguments, enqueued in (("", 0), ("rate 100mbit", 5)):
        fresh(arguments)
        sender = Sender(1)
        sender.send(514, 5)
        # the last of them leaves after 5 x 41 us
        time.sleep(0.1)
        found = statistics()
        equal((found["packets"], found["enqueued"]), (5, enqueued), f"sent and queued, {arguments!r}")
        sender.close()
    # once there was a rate, for good: a filter may have come meanwhile
    configure("rate unlimited")
    sender = Sender(1)
    sender.send(514, 5)
    equal(statistics()["enqueued"], 10, "queued after a rate that is gone")
    sender.close()


def one_queue_is_a_fifo() -> None:
    """With flows 1 everybody shares it, and collisions are counted."""
    link = Link("flows 1")
    for _ in range(5):
        link.flow(1).send(514)
        link.flow(2).send(514)
    equal(statistics()["collisions"], 9, "collisions")
    equal(ports(link.release(10)), "ab" * 5, "order")
    link.close()


def the_device_may_go_down_under_backlog() -> None:
    """Down drops all; up again it works, at its rate."""
    link = Link()
    link.flow(1).send(1514, 50)
    run("ip", "link", "set", "v0", "down")
    run("ip", "link", "set", "v0", "up")
    run("ip", "neigh", "replace", "10.9.0.9", "lladdr", "02:00:00:00:00:09", "dev", "v0", "nud", "permanent")
    found = statistics()
    equal((found["qlen"], found["backlog"], found["memory_bytes"]), (0, 0, 0), "after down")
    configure("rate 10mbit")
    link.flow(2).send(1514, 5)
    equal(ports(link.capture.read(5)), "b" * 5, "packets after up")
    link.close()


def a_device_may_be_deleted_under_backlog() -> None:
    """With packets queued and a timer running, and its namespace with it.

    (A namespace alone lives for as long as its sockets' packets do.)
    """
    users = module_users()
    child = os.fork()
    if not child:
        status = 1
        try:
            enter_namespace()
            fresh("rate 8kbit")
            Sender(1).send(1514, 1000)
            queued = statistics()["qlen"]
            run("ip", "link", "del", "v0")
            status = 0 if queued and module_users() == users else 2
        finally:
            os._exit(status)
    equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "status of the process with the backlog")


def main() -> int:
    """Run all, or those named on the command line, in order."""
    return run_on_v0(
        [
            equal_packets_alternate_strictly,
            bytes_are_shared_by_drr,
            strict_shares_packets,
            a_changed_scheduler_forgets_credit,
            a_sparse_flow_goes_ahead,
            who_asks_is_served_at_once_beside_delay_control,
            the_rate_is_kept_without_bursts,
            idling_saves_no_burst,
            late_softirqs_cost_no_rate,
            a_new_rate_keeps_the_queue_without_a_burst,
            a_longer_queue_leaves_faster,
            a_packet_takes_what_the_link_makes_of_it,
            a_vlan_tag_is_counted_whoever_inserts_it,
            pppoe_has_flows_and_its_full_length,
            longest_queue_is_flushed_whole,
            longest_head_drops_the_oldest,
            longest_tail_drops_the_newest,
            arriving_drops_what_comes,
            a_flow_that_flushes_itself_keeps_what_arrives,
            the_longest_takes_the_largest_part,
            tiny_packets_cost_nobody_else,
            lengths_that_wrap_are_no_empty_queue,
            the_quantum_shown_is_in_force,
            reading_leaves_the_data_path_alone,
            the_buffer_follows_the_rate,
            every_verdict_of_an_action_is_heeded,
            memory_is_limited,
            a_smaller_limit_takes_effect_at_once,
            super_packets_are_split,
            what_was_dropped_at_once_is_no_backlog,
            super_packets_may_stay_whole,
            who_does_not_say_how_many_segments_pays_for_all,
            queues_are_shown_as_classes,
            credit_is_what_a_queue_may_send,
            an_idle_parent_hears_of_its_first_packet,
            parents_are_told,
            parents_are_told_of_what_a_filter_made_longer,
            what_is_told_is_as_documented,
            a_parent_may_peek_while_it_enqueues,
            a_flood_below_two_parents_stops_nobody,
            netem_may_duplicate_above,
            the_tracepoint_tells_the_backlog,
            a_seed_repeats_the_mapping,
            an_idle_device_is_bypassed_only_without_a_rate,
            one_queue_is_a_fifo,
            the_device_may_go_down_under_backlog,
            a_device_may_be_deleted_under_backlog,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
