#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hosts share the link, and their flows their parts: order, drops, changes, classes, translated addresses.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import pairwise
from pathlib import Path

from in_guest.link import TARGET_MAC, Capture, Sender, answer
from in_guest.qdisc import classes, configure, run_on_v0, statistics, the_kernel_has_not_complained
from in_guest.tap import equal, expect, run
from in_lab_fq_rr import Link, fresh, ports, sequences
from in_lab_shares import even, forward_to, masquerade, queue_of, send_to_class, translate_no_more, weigh

ONE, OTHER, THIRD = "10.9.0.2", "10.9.0.3", "10.9.0.4"
TO_ONE, TO_OTHER = "10.9.0.7", "10.9.0.8"
FORWARDED = "10.9.0.200"
ONE_V6, OTHER_V6, TO_ONE_V6 = "fd09::2", "fd09::3", "fd09::7"


@contextmanager
def flows(link: Link, **ends: list[dict[str, str]]) -> Iterator[list[list[Sender]]]:
    """Groups of flows of a blocked link, each flow from a port of its own."""
    port = 0
    groups = []
    for group in ends.values():
        groups.append([Sender(port := port + 1, **flow) for flow in group])
    yield groups
    for sender in (sender for group in groups for sender in group):
        sender.close()
    link.close()


def hosts_share_and_flows_share_their_part() -> None:
    """One flow beside eight of another host has every second turn, each of the eight every sixteenth."""
    for hosts, one, other in (
        ("src", {"host": ONE}, {"host": OTHER}),
        ("dst", {"target": TO_ONE}, {"target": TO_OTHER}),
        ("both", {"host": ONE, "target": TO_ONE}, {"host": ONE, "target": TO_OTHER}),
    ):
        link = even(Link(f"hosts {hosts}"))
        with flows(link, one=[one], other=[other] * 8) as ((single,), eight):
            single.send(1514, 64)
            for sender in eight:
                sender.send(1514, 8)
            shown = statistics()
            equal((shown["hosts_active"], shown["flows_active"]), (2, 9), f"{hosts}: hosts and flows")
            order = ports(link.release(128))
            places = {letter: [n for n, port in enumerate(order) if port == letter] for letter in sorted(set(order))}
            gaps = {letter: {b - a for a, b in pairwise(at)} for letter, at in places.items()}
            equal(gaps, {"a": {2}} | {letter: {16} for letter in "bcdefghi"}, f"{hosts}: gaps in packet times")
            equal(statistics()["collisions"], 0, f"{hosts}: collisions")


def without_hosts_each_flow_has_a_part() -> None:
    """The same packets on one level: one turn in nine."""
    link = even(Link())
    with flows(link, one=[{"host": ONE}], other=[{"host": OTHER}] * 8) as ((single,), eight):
        for sender in (single, *eight):
            sender.send(1514, 8)
        expect("hosts_active" not in statistics(), "hosts are shown where there are none")
        equal(ports(link.release(72)), "abcdefghi" * 8, "order")


def a_ping_passes_its_hosts_upload() -> None:
    """It waits for a turn of its host; in mode src-host it is behind all of the upload."""
    for options, most in (("hosts src", 2), ("mode src-host", 101)):
        link = even(Link(options))
        with flows(link, one=[{"host": ONE}] * 2, other=[{"host": OTHER}]) as ((upload, ping), (other,)):
            upload.send(1514, 50)
            other.send(1514, 60)
            ping.send(98)
            order = ports(link.release(111))
            expect(order.index("b") <= most, f"{options}: the ping is number {order.index('b')}")
            expect(most == 2 or order.index("b") > 90, f"{options}: the ping is number {order.index('b')}")


def many_flows_of_a_host_cost_another_nothing() -> None:
    """The host that fills the buffer pays, though each of its flows is short; without hosts the long flow does."""
    for options, lost in (("hosts src", False), ("", True)):
        link = even(Link(f"limit 200 {options}"))
        with flows(link, one=[{"host": ONE}], many=[{"host": OTHER}] * 100) as ((long,), many):
            long.send(1514, 50)
            for sender in many:
                sender.send(1514, 2)
            found = statistics()
            expect(found["drops"] > 0, "no drops")
            kept = Counter(ports(link.release(found["qlen"])))["a"]
            equal(kept, 1 if lost and kept else 0 if lost else 50, f"{options!r}: packets left of the long flow")


def more_flows_than_queues_leave_others_theirs() -> None:
    """Of 500 flows in 64 queues those that are too many lose packets; another host's get queues, and all they send."""
    link = even(Link("hosts src flows 64 seed 3"))
    with flows(link, many=[{"host": OTHER}] * 500, few=[{"host": ONE}] * 6) as (many, few):
        for sender in many:
            sender.send(1014)
        drops = statistics()["drops"]
        for sender in few:
            sender.send(1014, 10)
        found = statistics()
        expect(found["drops"] > drops, "nobody had to give a queue")
        frames = link.release(found["qlen"])
        mine = [number for number, frame in enumerate(frames) if frame.port > len(many)]
        equal(len(mine), 60, "packets left of the other host")
        expect(mine[-1] <= 122, f"the last of 60 is number {mine[-1]}: it has less than half of the link")
        for sender in few:
            equal(sequences(frames, sender.port), list(range(10)), f"order of flow {sender.port}")


def an_idle_queue_is_taken_before_any_is_emptied() -> None:
    """Where queues have guests a flow looks at a part of its window; nobody loses a packet for what has run empty."""
    link = even(Link("hosts src flows 16 seed 3"))
    of_hosts = {"last": [{"host": ONE}], "many": [{"host": OTHER}] * 60, "third": [{"host": THIRD}]}
    with flows(link, **of_hosts) as ((last,), many, (third,)):
        last.send(1014)
        for sender in many:
            sender.send(1014, 3)
        equal(statistics()["flows_active"], 16, "queues with packets")
        # its only packet is among the first of two hosts'
        link.release(4, "64kbit")
        configure("rate 8kbit")
        before = statistics()
        equal(before["flows_active"], 15, "queues with packets, one of which has run empty")
        third.send(1014, 3)
        found = statistics()
        equal((found["flows_active"], found["drops"]), (16, before["drops"]), "queues with packets, drops")
        equal(sequences(link.release(found["qlen"]), third.port), [0, 1, 2], "what came of the third host")


def another_level_loses_no_packet() -> None:
    """One level, two, one, with packets in all queues: each flow's come out, in order, none twice."""
    link = Link("seed 5")
    with flows(link, one=[{"host": ONE}] * 5, other=[{"host": OTHER}] * 9, none=[{}] * 3) as groups:
        senders = [sender for group in groups for sender in group]
        steps = (
            "hosts src",
            "hosts dst",
            "hosts both nat",
            "mode src-host",
            "hosts none no-nat",
            "mode flow",
            "hosts src",
        )
        for step in steps:
            for number, sender in enumerate(senders):
                sender.send((60, 1514, 600)[number % 3], 1 + number % 4)
            before = statistics()
            configure(step)
            after = statistics()
            equal((after["qlen"], after["backlog"]), (before["qlen"], before["backlog"]), f"{step}: packets and bytes")
            equal(after["rehashes"], before["rehashes"] + 1, f"{step}: rehashes")
        found = statistics()
        frames = link.release(found["qlen"])
        equal(found["drops"], 0, "drops")
        equal(len(frames), sum(sender.sequence for sender in senders), "packets")
        for sender in senders:
            equal(sequences(frames, sender.port), list(range(sender.sequence)), f"order of flow {sender.port}")
        equal(statistics()["backlog"], 0, "bytes at the end")


def another_level_under_traffic_loses_no_packet() -> None:
    """The same while packets come and leave."""
    fresh("rate 200mbit seed 5")
    capture = Capture()
    senders = [Sender(port, host=(ONE, OTHER)[port % 2]) for port in range(1, 13)]
    steps = ("hosts src", "hosts both", "hosts none", "hosts dst", "mode src-host", "hosts none mode flow")
    waited, changes = 0, 120
    for change in range(changes):
        for turn in range(5):
            number = 5 * change + turn
            senders[number % len(senders)].send((60, 1514, 600)[number % 3], 1 + number % 4)
        waited += statistics()["qlen"] > 0
        configure(steps[change % len(steps)])
    left = statistics()["packets"]
    sent = sum(sender.sequence for sender in senders)
    frames = capture.read(sent)
    found = statistics()
    expect(waited > changes / 2, f"packets waited at {waited} of {changes} changes")
    expect(left > sent / 4, f"{left} of {sent} packets left meanwhile")
    expect(found["rehashes"] > changes / 2, f"rehashes: {found['rehashes']}")
    equal((found["drops"], found["qlen"], found["backlog"]), (0, 0, 0), "drops, packets and bytes at the end")
    equal(len(frames), sent, "packets")
    for sender in senders:
        equal(sequences(frames, sender.port), list(range(sender.sequence)), f"order of flow {sender.port}")
        sender.close()
    capture.close()


def too_many_packets_put_a_level_off() -> None:
    """With more than 16384 packets the old level stays, and the next is there once fewer wait."""
    link = Link("limit 20000 memory-limit 1073741824")
    with flows(link, one=[{"host": ONE}], other=[{"host": OTHER}] * 2) as ((single,), others):
        for sender in (single, *others):
            sender.send(60, 5500)
        configure("hosts src")
        expect("hosts_active" not in statistics(), "two levels, with 16500 packets")
        equal(statistics()["rehashes"], 0, "rehashes")
        link.release(200)
        single.send(60)
        # the rest of it waits while it is looked at
        configure("rate 8kbit")
        equal(statistics()["rehashes"], 1, "rehashes, with fewer")
        equal(statistics()["hosts_active"], 2, "hosts")


def a_weight_counts_in_its_host() -> None:
    """Of two flows of a host the one of weight 3 has three times the other's part, and the other host its half."""
    link = even(Link("hosts src"))
    with flows(link, one=[{"host": ONE}] * 2, other=[{"host": OTHER}]) as ((heavy, light), (other,)):
        weigh(queue_of(heavy) + 1, 3)
        for sender, count in ((heavy, 150), (light, 150), (other, 200)):
            sender.send(1014, count)
        parts = Counter(ports(link.release(240)[40:]))
        expect(abs(parts["c"] - 100) <= 3, f"of 200 the other host has {parts['c']}")
        expect(abs(parts["a"] - 75) <= 6, f"of 100 the flow of weight 3 has {parts['a']}")


def a_class_is_a_host_of_its_own() -> None:
    """Whoever is in it: it has its weight among hosts."""
    link = even(Link("hosts src"))
    with flows(link, one=[{"host": ONE}] * 4, other=[{"host": OTHER}]) as ((first, second, *rest), (other,)):
        weigh(7, 2)
        for sender in (first, second, other):
            send_to_class(sender, 7)
        for sender, count in ((first, 40), (second, 40), (other, 40), (rest[0], 100), (rest[1], 100)):
            sender.send(1014, count)
        equal(statistics()["hosts_active"], 2, "hosts")
        of_class = sum(port in "abe" for port in ports(link.release(160)[10:130]))
        expect(abs(of_class - 80) <= 4, f"of 120 the class has {of_class}")


def hosts_of(senders: list[Sender]) -> list[int]:
    """The number of each flow's host; all of its packets wait in one queue, and all flows in some."""
    shown = classes()
    equal(len(shown), len(senders), "queues")
    found = []
    for sender in senders:
        before = {minor: of["qlen"] for minor, of in classes().items()}
        sender.send(60)
        (minor,) = (minor for minor, of in classes().items() if of["qlen"] != before[minor])
        found.append(shown[minor]["host"])
    return found


def nat_tells_hosts_behind_masquerade_apart() -> None:
    """With it, flows of two hosts whose addresses are translated to one are two hosts'; without it they are one's."""
    masquerade()
    for options, apart in (("nat", True), ("no-nat", False)):
        link = Link(f"hosts src {options}")
        with flows(link, one=[{"host": ONE}] * 2, other=[{"host": OTHER}] * 2) as (one, other):
            for sender in (*one, *other):
                sender.send(60)
            hosts = hosts_of([*one, *other])
            equal((hosts[0] == hosts[1], hosts[2] == hosts[3]), (True, True), f"{options}: flows of one host")
            equal(hosts[0] != hosts[2], apart, f"{options}: two hosts")
            equal(statistics()["hosts_active"], 2 if apart else 1, f"{options}: hosts")
    for options, apart in (("nat", True), ("no-nat", False)):
        fresh(f"rate 8kbit seed 1 flows 65536 mode src-host {options}")
        senders = [Sender(1, host=host) for host in (ONE, OTHER)]
        one, other = (queue_of(sender) for sender in senders)
        equal(one != other, apart, f"mode src-host {options}: two queues")
        for sender in senders:
            sender.close()
    translate_no_more()


def nat_tells_hosts_apart_over_ipv6_too() -> None:
    """The same of two hosts of IPv6 behind one address."""
    conf = Path("/proc/sys/net/ipv6/conf")
    (conf / "v0" / "disable_ipv6").write_text("0")
    for host in (ONE_V6, OTHER_V6):
        run("ip", "-6", "addr", "replace", f"{host}/64", "dev", "v0", "nodad")
    run("ip", "-6", "neigh", "replace", TO_ONE_V6, "lladdr", TARGET_MAC, "dev", "v0")
    # what the stack has to say of new addresses has left
    time.sleep(4)
    masquerade(socket.AF_INET6)
    for options, apart in (("nat", True), ("no-nat", False)):
        fresh(f"rate 8kbit seed 1 flows 65536 mode src-host {options}")
        senders = [Sender(1, host=host, target=TO_ONE_V6) for host in (ONE_V6, OTHER_V6)]
        one, other = (queue_of(sender) for sender in senders)
        equal(one != other, apart, f"mode src-host {options}: two queues")
        for sender in senders:
            sender.close()
    translate_no_more(socket.AF_INET6)
    (conf / "v0" / "disable_ipv6").write_text("1")


def nat_tells_servers_behind_a_forwarded_port_apart() -> None:
    """Of two hosts that answer what came for one address, which both answers bear when they leave."""
    Path("/proc/sys/net/netfilter/nf_conntrack_udp_timeout").write_text("3600")
    (device,) = json.loads(run("ip", "-j", "link", "show", "v0").stdout)
    forward_to(ONE)
    ethernet = bytes.fromhex((device["address"] + TARGET_MAC).replace(":", "")) + b"\x08\0"
    for options, apart in (("nat", True), ("no-nat", False)):
        fresh(f"rate 8kbit seed 1 flows 65536 mode src-host {options}")
        senders = []
        # ports of their own: the table has other tests' connections
        for port, host in ((101, ONE), (102, OTHER)):
            # the last rule stays: without any, answers are not translated either
            translate_no_more()
            forward_to(host)
            senders.append(Sender(port, host=host))
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as far_end:
                far_end.bind(("v1", 0x0800))
                far_end.send(ethernet + answer(port, FORWARDED))
            equal(len(senders[-1].socket.recv(64)), 20, "bytes that came")
        one, other = (queue_of(sender) for sender in senders)
        equal(one != other, apart, f"mode src-host {options}: two queues")
        for sender in senders:
            sender.close()
    translate_no_more()


def prepared(test: Callable[[], None]) -> Callable[[], None]:
    """With addresses of three hosts here and two at the other end, and the table of connections."""

    @wraps(test)
    def run_it() -> None:
        for host in (ONE, OTHER, THIRD):
            run("ip", "addr", "replace", f"{host}/24", "dev", "v0")
        for target in (TO_ONE, TO_OTHER):
            run("ip", "neigh", "replace", target, "lladdr", TARGET_MAC, "dev", "v0")
        run("modprobe", "nf_conntrack")
        test()

    return run_it


def main() -> int:
    """Run all, or those named on the command line, in order."""
    tests = [
        hosts_share_and_flows_share_their_part,
        without_hosts_each_flow_has_a_part,
        a_ping_passes_its_hosts_upload,
        many_flows_of_a_host_cost_another_nothing,
        more_flows_than_queues_leave_others_theirs,
        an_idle_queue_is_taken_before_any_is_emptied,
        another_level_loses_no_packet,
        another_level_under_traffic_loses_no_packet,
        too_many_packets_put_a_level_off,
        a_weight_counts_in_its_host,
        a_class_is_a_host_of_its_own,
        nat_tells_hosts_behind_masquerade_apart,
        nat_tells_hosts_apart_over_ipv6_too,
        nat_tells_servers_behind_a_forwarded_port_apart,
    ]
    return run_on_v0([*map(prepared, tests), the_kernel_has_not_complained])


if __name__ == "__main__":
    sys.exit(main())
