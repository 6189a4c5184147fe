#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Who shares what: weights, classes by filter, hosts, charged drops, marks, rehash.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Callable
from itertools import pairwise

from in_guest.link import TARGET_MAC, Frame, Sender
from in_guest.netlink import NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, attribute
from in_guest.qdisc import (
    classes,
    configure,
    drops,
    request,
    run_on_v0,
    statistics,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import equal, expect, run
from in_lab_fq_rr import PARENTS, POLICIES, Link, agree, fresh, place_under, ports, sequences, trace

# the class of a packet, where its major number is the qdisc's
SO_PRIORITY = socket.SO_PRIORITY
ECT_0, CE = 2, 3


def even(link: Link) -> Link:
    """All flows at the same point, and no grant as large as what blocks the link."""
    configure("scheduler strict")
    configure("scheduler drr")
    return link


def weigh(minor: int, weight: int) -> None:
    """Give a class of the fq_rr of v0 a weight."""
    equal(request(attribute(1, struct.pack("=I", weight)), minor=minor), (0, ""), f"weight {weight} of {minor}")


def send_to_class(sender: Sender, minor: int) -> None:
    """All packets of a flow go to one class, by their priority."""
    sender.socket.setsockopt(socket.SOL_SOCKET, SO_PRIORITY, 0x10000 + minor)


def queue_of(sender: Sender) -> int:
    """Number of the queue that the next packet goes to (a packet is sent)."""
    return trace(1, sender)[0]["flow"]


def weights_share_the_link() -> None:
    """Bytes or packets in the ratio 1 : 3 : 8, whatever the packets' sizes."""
    for scheduler, sizes in (("drr", (1514, 514, 1014)), ("strict", (142, 1514, 514))):
        link = even(Link("mode class"))
        configure(f"scheduler {scheduler}")
        weights = (1, 3, 8)
        for port, (size, weight) in enumerate(zip(sizes, weights, strict=True), 1):
            send_to_class(link.flow(port), port + 1)
            weigh(port + 1, weight)
            link.flow(port).send(size, 900)
        frames = link.release(1200)
        unit = {port: 1 if scheduler == "strict" else sizes[port - 1] for port in (1, 2, 3)}
        shares = [unit[port] * ports(frames).count("abc"[port - 1]) / weights[port - 1] for port in (1, 2, 3)]
        bound = 2 if scheduler == "strict" else 3 * 1514
        expect(max(shares) - min(shares) <= bound, f"{scheduler}: for each share {shares}")
        expect(min(shares) > 10 * bound, f"{scheduler}: too few packets: {shares}")
        link.close()


def a_weight_of_one_is_not_starved() -> None:
    """Beside a class of weight 255 its packets come once a round."""
    link = Link("mode class scheduler strict")
    for port, weight in ((1, 1), (2, 255)):
        send_to_class(link.flow(port), port + 1)
        weigh(port + 1, weight)
    link.flow(1).send(142, 5)
    link.flow(2).send(142, 1000)
    order = ports(link.release(1005))
    places = [place for place, port in enumerate(order) if port == "a"]
    # the first may be at the beginning of a round and the second at the end
    expect(all(later - earlier <= 2 * 256 for earlier, later in pairwise(places)), f"places {places}")
    expect(places[3] < 4 * 256, f"places {places}")
    link.close()


def filters_choose_the_class() -> None:
    """By number; what no filter matches is hashed, an action may drop."""
    fresh("flows 64 seed 1")
    add = "filter add dev v0 parent 1: protocol ip prio {} u32 match ip sport {} 0xffff {}"
    senders = {port: Sender(port) for port in range(1, 6)}
    configure("rate 8kbit")
    hashed = {port: queue_of(sender) for port, sender in senders.items()}
    wanted = (hashed[1] + 1) % 64
    fresh("flows 64 seed 1")
    tc(add.format(1, 1, f"flowid 1:{wanted + 1:x}"))
    tc(add.format(2, 2, "flowid 1:41"))  # 65: there is none
    tc(add.format(3, 3, "action drop"))
    # an idle qdisc without a rate is not bypassed any more, nor after a change
    configure("limit 1000")
    senders[3].send(514)
    found = statistics()
    equal((found["packets"], found["drops"]), (0, 1), "sent and dropped")
    configure("rate 8kbit")
    equal(queue_of(senders[1]), wanted, "queue of the flow with a filter")
    equal(queue_of(senders[2]), hashed[2], "queue of a class that there is not")
    equal([queue_of(senders[port]) for port in (4, 5)], [hashed[4], hashed[5]], "queues of flows without a filter")
    send_to_class(senders[5], 64)
    equal(queue_of(senders[5]), 63, "queue by priority")
    equal(statistics()["classified"], 2, "packets placed by a filter or priority")
    configure("mode class")
    equal([queue_of(senders[port]) for port in (1, 2, 4)], [wanted, 0, 0], "queues with mode class")
    for sender in senders.values():
        sender.close()
    tc("qdisc del dev v0 root")


def a_class_can_only_be_changed() -> None:
    """Queues are not added, deleted, or given a qdisc."""
    fresh("flows 64")
    for command, wanted in (
        ("class add dev v0 parent 1: classid 1:5 fq_rr weight 2", "exists"),
        ("class del dev v0 classid 1:5", "not supported"),
        ("qdisc add dev v0 parent 1:5 pfifo", "not supported"),
    ):
        done = tc(command, check=False)
        expect(done.returncode != 0, f"{command}: accepted")
        expect(wanted in done.stderr, f"{command}: {done.stderr!r}")
    equal(classes(), {}, "classes")


def hosts_share_the_link() -> None:
    """Five flows of one address get what one flow of another gets."""
    for address in ("10.9.0.2", "10.9.0.3"):
        run("ip", "addr", "replace", f"{address}/24", "dev", "v0")
        run("ip", "neigh", "replace", address[:-1] + str(int(address[-1]) + 5), "lladdr", TARGET_MAC, "dev", "v0")
    for mode, one, other in (
        ("src-host", {"host": "10.9.0.2"}, {"host": "10.9.0.3"}),
        ("dst-host", {"target": "10.9.0.7"}, {"target": "10.9.0.8"}),
    ):
        link = Link(f"mode {mode}")
        many = [Sender(port, **one) for port in range(1, 6)]
        single = Sender(6, **other)
        for _ in range(10):
            for sender in many:
                sender.send(514)
        single.send(514, 50)
        order = ports(link.release(100))
        equal("".join("f" if port == "f" else "-" for port in order), "-f" * 50, f"{mode}: order")
        equal(statistics()["collisions"], 0, f"{mode}: collisions")
        for sender in (*many, single):
            sender.close()
        link.close()


def udp(sport: int) -> bytes:
    """A UDP header and some payload."""
    return struct.pack("!HHHH", sport, 9, 28, 0) + bytes(20)


def ipv4(protocol: int, payload: bytes, source: int = 1, fragment: int = 0, nops: int = 0) -> bytes:
    """An IPv4 packet from 10.1.0.``source``, with ``nops`` words of options; check sum left out."""
    header = 20 + 4 * nops
    start = struct.pack("!BBHHHBBH", 0x40 + header // 4, 0, header + len(payload), 7, fragment, 64, protocol, 0)
    return start + bytes((10, 1, 0, source, 10, 2, 0, 1)) + b"\1" * (4 * nops) + payload


def ipv6(protocol: int, payload: bytes, source: int = 1, label: int = 0) -> bytes:
    """An IPv6 packet."""
    head = struct.pack("!IHBB", 6 << 28 | label, len(payload), protocol, 64)
    return head + bytes.fromhex("fd01" + "0" * 26 + f"{source:02x}" + "fd02" + "0" * 27 + "1") + payload


def vxlan(inner: bytes) -> bytes:
    """An Ethernet frame with an IPv4 packet behind a VXLAN header."""
    return struct.pack("!HHHHII", 5555, 4789, 30 + len(inner), 0, 0x08000000, 7 << 8) + bytes(12) + b"\x08\0" + inner


VLAN = 0x8100
TCP, UDP, IPIP, SIT, GRE = 6, 17, 4, 41, 47
MORE_FRAGMENTS = 0x2000
GRE_IPV4 = b"\0\0\x08\0"
# what, two packets that differ in one thing, and whether they get two queues with
# mode flow and mode src-host
PACKETS: list[tuple[str, int, Callable[[int], bytes], bool, bool]] = [
    ("port", 0x0800, lambda n: ipv4(UDP, udp(n)), True, False),
    ("host", 0x0800, lambda n: ipv4(UDP, udp(1), n), True, True),
    ("protocol", 0x0800, lambda n: ipv4((UDP, TCP)[n - 1], udp(1)), True, False),
    ("options", 0x0800, lambda n: ipv4(UDP, udp(1), nops=n - 1), False, False),
    ("IPv6 port", 0x86DD, lambda n: ipv6(UDP, udp(n)), True, False),
    ("IPv6 host", 0x86DD, lambda n: ipv6(UDP, udp(1), n), True, True),
    ("port in a VLAN", VLAN, lambda n: ipv4(UDP, udp(n)), True, False),
    ("host in a VLAN", VLAN, lambda n: ipv4(UDP, udp(1), n), True, True),
    ("port in IPIP", 0x0800, lambda n: ipv4(IPIP, ipv4(UDP, udp(n))), True, False),
    ("host in IPIP", 0x0800, lambda n: ipv4(IPIP, ipv4(UDP, udp(1), n)), True, True),
    ("host of IPIP", 0x0800, lambda n: ipv4(IPIP, ipv4(UDP, udp(1)), n), False, False),
    ("host in SIT", 0x0800, lambda n: ipv4(SIT, ipv6(UDP, udp(1), n)), True, True),
    ("port in GRE", 0x0800, lambda n: ipv4(GRE, GRE_IPV4 + ipv4(UDP, udp(n))), True, False),
    ("host in GRE", 0x0800, lambda n: ipv4(GRE, GRE_IPV4 + ipv4(UDP, udp(1), n)), True, True),
    # a tunnel in UDP is a flow of its sender, which draws the port by what is inside
    ("host in VXLAN", 0x0800, lambda n: ipv4(UDP, vxlan(ipv4(UDP, udp(1), n))), False, False),
    ("host of VXLAN", 0x0800, lambda n: ipv4(UDP, vxlan(ipv4(UDP, udp(1))), n), True, True),
    ("port in a first fragment", 0x0800, lambda n: ipv4(UDP, udp(n), 1, MORE_FRAGMENTS), False, False),
    ("port in a later fragment", 0x0800, lambda n: ipv4(UDP, udp(n), 1, 100), False, False),
    ("no IP", 0x88B5, lambda n: bytes(46), False, False),
]


class Raw(Sender):
    """Frames of any kind, past the stack's own checks."""

    def __init__(self, protocol: int, body: bytes) -> None:
        """Frames of an Ethernet ``protocol``; with that of VLANs, IPv4 in one."""
        device = "v0.7" if protocol == VLAN else "v0"
        protocol = 0x0800 if protocol == VLAN else protocol
        self.frame = bytes.fromhex(TARGET_MAC.replace(":", "")) + bytes(6) + struct.pack("!H", protocol) + body
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((device, protocol))

    def send(self, frame_bytes: int, count: int = 1) -> None:
        """Send the frame, whatever ``frame_bytes``."""
        for _ in range(count):
            self.socket.send(self.frame)


def hash_of(protocol: int, body: bytes) -> int:
    """The hash that chooses a packet's queue (it is sent)."""
    raw = Raw(protocol, body)
    found = trace(1, raw)[0]["hash"]
    raw.close()
    return found


def tunnels_are_looked_into() -> None:
    """Which packets share a queue: the flow dissector's view, also where it is not asked."""
    run("ip", "link", "add", "link", "v0", "name", "v0.7", "type", "vlan", "id", "7")
    run("ip", "link", "set", "v0.7", "up")
    for column, mode in ((3, "flow seed 1"), (4, "src-host seed 1"), (3, "flow")):
        fresh(f"rate 8kbit flows 65536 mode {mode}")
        for row in PACKETS:
            hashes = [hash_of(row[1], row[2](n)) for n in (1, 2, 1)]
            equal(hashes[0] == hashes[2], True, f"{row[0]}, {mode}: the same packet again")
            equal(hashes[0] != hashes[1], row[column], f"{row[0]}, {mode}: two queues")
        hashes = [hash_of(protocol, ipv4(UDP, udp(1))) for protocol in (0x0800, VLAN)]
        equal(hashes[0] != hashes[1], column == 3, f"the VLAN, {mode}: two queues")
    run("ip", "link", "del", "v0.7")
    tc("qdisc del dev v0 root")


def what_is_plain_is_hashed_by_addresses_and_ports() -> None:
    """TCP and UDP right behind an IPv6 header, past the dissector, which goes by a flow label."""
    hop_by_hop = lambda udp: bytes((UDP, 0, 1, 4, 0, 0, 0, 0)) + udp  # noqa: E731
    rows: list[tuple[str, Callable[[int], bytes], bool, bool]] = [
        ("port", lambda n: ipv6(UDP, udp(n)), True, True),
        ("address", lambda n: ipv6(UDP, udp(1), n), True, True),
        ("protocol", lambda n: ipv6((UDP, TCP)[n - 1], udp(1)), True, True),
        ("label", lambda n: ipv6(UDP, udp(1), 1, n), False, True),
        ("label, of no ports", lambda n: ipv6(59, udp(1), 1, n), True, True),
        ("port behind options", lambda n: ipv6(0, hop_by_hop(udp(n))), True, True),
        ("no port", lambda n: ipv6(UDP, udp(n)[:3]), False, False),
    ]
    for column, options in ((2, ""), (3, "seed 1")):
        fresh(f"rate 8kbit flows 65536 {options}")
        for row in rows:
            hashes = [hash_of(0x86DD, row[1](n)) for n in (1, 2, 1)]
            equal(hashes[0] == hashes[2], True, f"{row[0]}, {options!r}: the same packet again")
            equal(hashes[0] != hashes[1], row[column], f"{row[0]}, {options!r}: two hashes")
    tc("qdisc del dev v0 root")


def netfilter(*messages: tuple[int, bytes], family: int = socket.AF_INET) -> None:
    """Have nf_tables do what messages (their types, and attributes for a ``family``) say, or nothing."""
    nftables, begin, end = 10, 16, 17

    def message(kind: int, flags: int, of: int, resource: int, body: bytes = b"") -> bytes:
        head = struct.pack("=IHHII", 20 + len(body), kind, NLM_F_REQUEST | flags, 1, 0)
        return head + struct.pack("!BBH", of, 0, resource) + body

    batch = message(begin, 0, 0, nftables)
    for kind, body in messages:
        batch += message(nftables << 8 | kind, NLM_F_CREATE | NLM_F_ACK, family, 0, body)
    batch += message(end, 0, 0, nftables)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:
        netlink.settimeout(5)
        netlink.send(batch)
        for kind, _ in messages:
            equal(struct.unpack_from("=i", netlink.recv(65536), 16)[0], 0, f"netfilter's answer to {kind}")


def translate(hook: int, priority: int, *expressions: tuple[bytes, bytes], family: int = socket.AF_INET) -> None:
    """Do to every connection that passes a ``hook`` what expressions (their names, and their attributes) say."""
    table = attribute(1, b"fq_rr\0")
    where = attribute(1, struct.pack("!I", hook)) + attribute(2, struct.pack("!i", priority))
    chain = table + attribute(3, b"chain\0") + attribute(4 | NLA_F_NESTED, where) + attribute(7, b"nat\0")
    named = (attribute(1, name + b"\0") + attribute(2 | NLA_F_NESTED, body) for name, body in expressions)
    listed = b"".join(attribute(1 | NLA_F_NESTED, expression) for expression in named)
    rule = table + attribute(2, b"chain\0") + attribute(4 | NLA_F_NESTED, listed)
    netfilter((0, table), (3, chain), (6, rule), family=family)


def masquerade(family: int = socket.AF_INET) -> None:
    """What leaves this namespace has the leaving device's first address of that ``family``."""
    run("modprobe", "-a", "nf_tables", "nft_chain_nat", "nft_masq")
    translate(4, 100, (b"masq", b""), family=family)  # after routing, as source NAT


def forward_to(host: str) -> None:
    """What comes in from now on is ``host``'s, whomever it was sent to: a port forward without the port."""
    run("modprobe", "-a", "nf_tables", "nft_chain_nat", "nft_nat")
    register = struct.pack("!I", 1)
    address = attribute(2 | NLA_F_NESTED, attribute(1, socket.inet_aton(host)))
    kind, family = attribute(1, struct.pack("!I", 1)), attribute(2, struct.pack("!I", socket.AF_INET))
    destination = kind + family + attribute(3, register)
    # before routing, as destination NAT
    translate(0, -100, (b"immediate", attribute(1, register) + address), (b"nat", destination))


def translate_no_more(family: int = socket.AF_INET) -> None:
    """Undo masquerade() or forward_to() for connections that are still to come."""
    netfilter((2, attribute(1, b"fq_rr\0")), family=family)


def hosts_behind_masquerade_are_one() -> None:
    """Of what is translated, the address after translation counts; flows stay flows."""
    for address in ("10.9.0.2", "10.9.0.3"):
        run("ip", "addr", "replace", f"{address}/24", "dev", "v0")
    for translated in (False, True):
        if translated:
            masquerade()
        for mode, apart in (("flow", True), ("src-host", not translated), ("dst-host", False)):
            fresh(f"rate 8kbit seed 1 flows 65536 mode {mode}")
            senders = [Sender(1, host=host) for host in ("10.9.0.2", "10.9.0.3")]
            one, other = (queue_of(sender) for sender in senders)
            equal(one != other, apart, f"mode {mode}, translated {translated}: two queues")
            for sender in senders:
                sender.close()
    translate_no_more()
    tc("qdisc del dev v0 root")


def charged_drops_cost_turns() -> None:
    """A flow that lost 48 packets waits for eight of another, else it alternates."""
    for option, wanted in (("no-charge-drops", "ab" * 8 + "aaaa"), ("charge-drops", "b" * 8 + "a" * 12)):
        link = even(Link(f"limit 20 drop longest-tail {option}"))
        link.flow(1).send(514, 12)
        link.flow(2).send(514, 8)
        link.flow(1).send(514, 48)
        equal(statistics()["drops"], 48, f"{option}: drops")
        equal(ports(link.release(20)), wanted, f"{option}: order")
        link.close()


def ect(link: Link, port: int, codepoint: int = ECT_0) -> Sender:
    """A flow that can be marked."""
    sender = link.flow(port)
    sender.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, codepoint)
    return sender


def marked(frames: list[Frame], port: int) -> list[int]:
    """Sequence numbers of a flow's packets that are marked."""
    return [frame.sequence for frame in frames if frame.port == port and frame.ecn == CE]


def marks_begin_at_a_part_of_the_share() -> None:
    """A flow alone at 20 % of the buffer, each of two at half that; weights count."""
    link = Link("limit 100 ecn 20")
    ect(link, 1).send(514, 30)
    equal(statistics()["marks"], 10, "marks of a flow alone")
    ect(link, 2, 1).send(514, 15)
    equal(statistics()["marks"], 15, "marks after those of the second flow")
    frames = link.release(45)
    equal((marked(frames, 1), marked(frames, 2)), ([*range(20, 30)], [*range(10, 15)]), "packets")
    equal(statistics()["drops"], 0, "drops")
    link.close()

    link = Link("limit 100 ecn 20 mode class")
    for port, weight in ((1, 1), (2, 3)):
        send_to_class(ect(link, port), port + 1)
        weigh(port + 1, weight)
        link.flow(port).send(514)
    for port in (1, 2):
        link.flow(port).send(514, 29)
    frames = link.release(60)
    equal((marked(frames, 1), marked(frames, 2)), ([*range(5, 30)], [*range(15, 30)]), "packets by weight")
    link.close()


def memory_counts_for_a_share() -> None:
    """Where memory is scarcer than the limit, it is what is shared."""
    link = Link("limit 10000 memory-limit 262144 ecn 50")
    ect(link, 1).send(1514, 80)
    found = statistics()
    expect(found["drops"] == 0, f"{found['drops']} drops")
    each = found["memory_bytes"] / found["qlen"]
    equal(found["marks"], 80 - int(262144 / each / 2), f"marks; a packet occupies {each} bytes")
    link.close()


def a_short_queue_is_not_marked() -> None:
    """Four packets are a train, not a queue, however small the share."""
    link = Link("limit 20 ecn 1")
    for port in (1, 2, 3):
        ect(link, port).send(514, 5)
    equal([marked(link.release(15), 0), statistics()["marks"]], [[], 3], "marks")
    link.close()


def who_cannot_be_marked_loses() -> None:
    """As the policy says, of its own queue; flows that can be marked lose nothing."""
    for policy, counter, kept in (
        ("longest-queue", "drops_flushed", [20, *range(21, 25)]),
        ("longest-head", "drops_head", [*range(5, 25)]),
        ("longest-tail", "drops_tail", [*range(20)]),
        ("arriving", "drops_tail", [*range(20)]),
    ):
        link = Link(f"limit 100 ecn 20 drop {policy}")
        link.flow(1).send(514, 25)
        found = statistics()
        equal((found["marks"], found["over_share"]), (0, 1 if policy == "longest-queue" else 5), f"{policy}: marks")
        equal((found["drops"], found[counter]), (25 - len(kept),) * 2, f"{policy}: drops")
        ect(link, 2).send(514, 40)
        found = statistics()
        expect(found["marks"] >= 20, f"{policy}: {found['marks']} marks")
        equal(found["drops"], 25 - len(kept), f"{policy}: drops of a flow that can be marked")
        frames = link.release(len(kept) + 40)
        equal(sequences(frames, 1), kept, f"{policy}: packets")
        equal(sequences(frames, 2), [*range(40)], f"{policy}: packets of the other flow")
        link.close()
    expect(set(POLICIES) == {"longest-queue", "longest-head", "longest-tail", "arriving"}, "a policy is not tested")


def what_is_only_marked_is_no_drop_to_parents() -> None:
    """Nor is a packet that is only paced: parents count it, and no drop, also where the one before was dropped."""
    paced = "qlbp mu-min 100mbit mu-max 1gbit q-max 100k"
    for parent in PARENTS:
        for arguments, count in (("limit 100 ecn 20", 40), (f"limit 30 {paced}", 20)):
            place_under(parent, arguments)
            # a bucket of a few packets
            tc("qdisc change dev v0 root handle 8: tbf rate 8kbit burst 1600 limit 10m")
            plain, other = Sender(1), Sender(2)
            plain.send(514, 40)
            before = drops()
            expect(before["fq_rr"] and before[parent], f"{parent} {arguments}: nothing dropped: {before}")
            other.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECT_0)
            other.send(514, count)
            equal(drops(), before, f"{parent} {arguments}: drops")
            equal(statistics()["marks"] > 5, "ecn" in arguments, f"{parent} {arguments}: marks")
            agree(parent, arguments)
            plain.close()
            other.close()


def without_ecn_nothing_is_marked() -> None:
    """The same packets; ecn is off at first."""
    link = Link("limit 100")
    ect(link, 1).send(514, 30)
    equal((statistics()["marks"], marked(link.release(30), 1)), (0, []), "marks")
    link.close()


def of_few_flows_no_two_share_a_queue() -> None:
    """None of 100 flows in 1024 queues, and fewer than 1 % of 500."""
    for seed in range(1, 6):
        link = Link(f"seed {seed}")
        for count, shared in ((100, 0), (500, 4)):
            for port in range(1, count + 1):
                if link.flow(port).sequence == 0:
                    link.flow(port).send(142)
            found = statistics()
            equal(found["qlen"], count, f"seed {seed}: packets")
            expect(
                found["flows_active"] >= count - shared,
                f"seed {seed}: {count} flows in {found['flows_active']} queues",
            )
            expect(found["collisions"] <= shared, f"seed {seed}, {count} flows: {found['collisions']} collisions")
        link.close()


def a_flow_with_packets_keeps_its_queue() -> None:
    """Whoever comes meanwhile, and after a pause in which nobody has taken it."""
    link = Link("flows 64")
    queues = {port: queue_of(link.flow(port)) for port in range(1, 31)}
    equal(len(set(queues.values())), 30, "queues of 30 flows")
    for port in range(1001, 1301):
        link.flow(port).send(142)
    equal(statistics()["flows_active"], 64, "queues with packets")
    equal({port: queue_of(link.flow(port)) for port in queues}, queues, "queues when all are taken")
    link.release(360)
    alone = queue_of(link.flow(1))
    equal(queue_of(link.flow(1)), alone, "queue of the next packet")
    link.close()


def a_guest_moves_with_its_packets() -> None:
    """A flow that finds all queues taken shares one until another is idle; none is overtaken."""
    link = Link("flows 16")
    owners = {queue_of(link.flow(port)): port for port in range(1, 17)}
    equal(len(owners), 16, "queues")
    equal(statistics()["collisions"], 0, "collisions")
    guest = link.flow(17)
    host = link.flow(owners[queue_of(guest)])
    guest.send(1514, 9)
    found = statistics()
    equal((found["flows_active"], found["collisions"]), (16, 1), "queues and collisions")
    # 121 ms for each: what has left is known, and that the guest's are all that is left
    configure("rate 100kbit")
    frames = link.capture.read(16 + 2, patience_s=20)
    equal(statistics()["flows_active"], 1, "queues with packets")
    host.send(1514, 3)
    equal(statistics()["flows_active"], 1, "queues before the guest's next packet")
    guest.send(1514)
    equal(statistics()["flows_active"], 2, "queues after it")
    frames += link.capture.read(16 + 11 + 3 - len(frames), patience_s=20)
    for sender in (guest, host):
        equal(sequences(frames, sender.port), [*range(sender.sequence)], f"packets of flow {sender.port}")
    # in turn, as from the beginning, and not behind what the guest had waiting
    last = "".join("h" if frame.port == host.port else "g" for frame in frames)[-11:]
    expect(last.rindex("h") <= 6, f"order at the end: {last}")
    link.close()


def classes_are_avoided_by_others() -> None:
    """A queue that a class has filled is not given to a hashed flow while another is idle."""
    link = Link("flows 32")
    for minor in range(1, 32, 2):
        send_to_class(link.flow(minor), minor)
        link.flow(minor).send(142)
    taken = {queue_of(link.flow(port)) for port in range(101, 109)}
    expect(len(taken) == 8 and all(queue % 2 for queue in taken), f"queues of eight flows: {taken}")
    equal(statistics()["collisions"], 0, "collisions")
    link.close()


def a_rehash_loses_and_reorders_nothing() -> None:
    """Whatever queue a flow's packets are in, they leave in order."""
    link = Link("flows 8")
    for turn in range(12):
        for port in range(1, 17):
            link.flow(port).send(142, 1 + port % 3)
        before = statistics()
        configure(f"mode {('src-host', 'flow')[turn % 2]}")
        after = statistics()
        equal(after["rehashes"], before["rehashes"] + 1, "rehashes")
        equal(after["qlen"], before["qlen"], f"packets after rehash {turn}")
        equal(after["drops"], 0, "drops")
        equal(after["flows_active"], (1, 8)[turn % 2], "queues")
    frames = link.release(1000)
    equal(len(frames), sum(link.flow(port).sequence for port in range(1, 17)), "packets that left")
    for port in range(1, 17):
        sent = link.flow(port).sequence
        equal(sequences(frames, port), [*range(sent)], f"packets of flow {port}")
    link.close()


def a_rehash_waits_until_few_packets_do() -> None:
    """With more than 16,384 the lock would be held for long: the mode stays the old one."""
    link = Link("limit 40000")
    for port in (1, 2, 3, 4):
        link.flow(port).send(142, 5000)
    configure("mode src-host")
    # the old mode holds for who comes now, too
    link.flow(5).send(142)
    found = statistics()
    equal((found["rehashes"], found["flows_active"], found["qlen"]), (0, 5, 20001), "rehashes, queues, packets")
    configure("limit 16385 drop longest-tail")
    found = statistics()
    equal((found["rehashes"], found["flows_active"]), (0, 5), "rehashes and queues with one too many")
    configure("limit 16384")
    found = statistics()
    equal((found["rehashes"], found["flows_active"], found["qlen"]), (1, 1, 16384), "rehashes, queues, packets")
    link.close()


def the_mode_may_change_under_backlog() -> None:
    """Packets that wait are placed by the new one; weights stay."""
    link = Link("")
    weigh(7, 9)
    for port in (1, 2, 3):
        link.flow(port).send(142, 10)
    send_to_class(link.flow(4), 7)
    link.flow(4).send(142, 10)
    equal(statistics()["flows_active"], 4, "queues with mode flow")
    for mode, queues in (("src-host", 2), ("class", 2), ("dst-host", 2), ("flow", 4)):
        configure(f"mode {mode}")
        found = statistics()
        equal((found["flows_active"], found["qlen"]), (queues, 40), f"queues and packets with mode {mode}")
        expect(7 in classes(), f"the class is not there with mode {mode}")
    frames = link.release(40)
    for port in (1, 2, 3, 4):
        equal(sequences(frames, port), [*range(10)], f"packets of flow {port}")
    equal([*classes()], [7], "the class with a weight is shown while it is idle")
    link.close()


def main() -> int:
    """Run all, or those named on the command line, in order."""
    return run_on_v0(
        [
            weights_share_the_link,
            a_weight_of_one_is_not_starved,
            filters_choose_the_class,
            a_class_can_only_be_changed,
            hosts_share_the_link,
            tunnels_are_looked_into,
            what_is_plain_is_hashed_by_addresses_and_ports,
            hosts_behind_masquerade_are_one,
            charged_drops_cost_turns,
            marks_begin_at_a_part_of_the_share,
            memory_counts_for_a_share,
            a_short_queue_is_not_marked,
            who_cannot_be_marked_loses,
            what_is_only_marked_is_no_drop_to_parents,
            without_ecn_nothing_is_marked,
            of_few_flows_no_two_share_a_queue,
            a_flow_with_packets_keeps_its_queue,
            a_guest_moves_with_its_packets,
            classes_are_avoided_by_others,
            a_rehash_loses_and_reorders_nothing,
            a_rehash_waits_until_few_packets_do,
            the_mode_may_change_under_backlog,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
