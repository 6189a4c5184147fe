# SPDX-License-Identifier: GPL-2.0
"""In the guest: a tenant who means harm, and what came of it, as TAP.

    tenant.py --name NAME --seed N --seconds S

In rounds: each has a tenant, who has given up root and is root of a user and a
network namespace of its own. It makes devices of every kind, puts fq_rr on them,
and drives each to a state that is hard to bear. Others of the tenant's processes
send on all its devices and dump everything meanwhile. At a round's end all of it is
killed where it stands, with packets in every queue, and the modules are unloaded.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from in_guest.netlink import (
    NLM_F_CREATE,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    RTM_DELQDISC,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    attribute,
)
from in_guest.qdisc import encode
from in_guest.tap import run
from torture import checks, messages, options
from torture.traffic import child

from . import packets
from .kinds import BASE, FAR, FAR6, KINDS, NEAR, NEAR6, PARENTS
from .place import IPV6, Place, become_tenant, go_to, new_place

# Of guest time: as many scenes as make it worth to load the modules anew.
ROUND_S = 20
# What a round may take beyond that: a deep scene as its last takes tens of seconds.
PATIENCE_S = 120
# What is left in a queue at the end is sent in this time: at a rate of 8 kbit/s it would take a quarter of an hour.
LEFT_S = 20
# The tenant is idle for so long after a scene that took one: an idle guest costs nothing, and ten
# minutes of a busy one fifty of a core.
REST = 1.0
# After a deep scene it would be idle for most of a round.
MOST_REST_S = 1.0
# Around the scenes, pauses of what sends and reads are so many times as long as drawn.
SLOW = 10
NICE = 15
# What a filter's action may say, of which some are no answers (-1 .. 9), and with values in them.
RESULTS = {
    "unspec": -1,
    "ok": 0,
    "reclassify": 1,
    "shot": 2,
    "pipe": 3,
    "stolen": 4,
    "queued": 5,
    "repeat": 6,
    "redirect": 7,
    "trap": 8,
    "jump": 0x10000001,
    "goto chain": 0x20000003,
}
# What a classifier may say, TC_ACT_OK first and TC_ACT_CONSUMED last: the packet is gone then.
VERDICTS = range(10)
INVALID_RESULTS = (9, 10, 0x7FFFFFFF, -2, 0x30000000)
# Actions that tc spells, for one device {d}
ACTIONS = {
    "ct": "action ct zone 3",
    "ct commit": "action ct commit zone 4 pipe action ok",
    "ct nat": "action ct commit nat src addr 10.1.9.9",
    "ct clear": "action ct clear",
    "police": "action police rate 100kbit burst 2000 conform-exceed drop/pipe",
    "pedit": "action pedit munge offset 0 u8 set 0x60 pipe action ok",
    "skbedit": "action skbedit priority 1:7 pipe action reclassify",
    "mirred": "action mirred egress redirect dev sink",
    "mirror": "action mirred egress mirror dev sink pipe action drop",
    "ingress": "action mirred ingress redirect dev sink",
}
# What the tenant's own connections choose: what every user may, and what root has allowed every user.
ALGORITHMS = (b"cubic", b"pktpair", b"reno", b"vptfrc")
# What is the administrator's: by what method and mode vptfrc counts losses.
KNOBS = Path("/sys/module/tcp_vptfrc/parameters")
# Requests at random of a device in the state that a scene has left it in. A scene's own are a dozen.
DEMANDS = 15
# Packets at once that make a queue a deep one: a rehash of it takes milliseconds under the root lock.
DEEP = 20000
# What must have been reached in each 100 s, and what is enough of it in a run of any length. About half
# of what 63 s with seed 1 reached; of what one scene decides (a deep one, a flood), a small part of that.
FLOORS: dict[str, tuple[float, float]] = {
    "kinds of device that carried packets": (20, len(KINDS)),
    "kinds of parent": (2, 8),
    "kinds of action that had packets": (10, 14),
    "packets sent by fq_rr": (500, 3000),
    "requests": (190, 1100),
    "accepted": (100, 600),
    "malformed": (20, 120),
    "added at an MTU of 0": (1.6, 10),
    "changed at an MTU of 0": (1, 5),
    "changes of a deep queue": (2, 6),
    "most waiting": (DEEP, DEEP),
    "over_limit": (200, 1200),
    "over_memory": (50, 300),
    "flushes": (50, 300),
    "drops_head": (100, 600),
    "drops_tail": (100, 600),
    "marks": (50, 300),
    "split": (30, 180),
    "rehashes": (4, 20),
    "classified": (100, 600),
    "verdict 9": (4, 20),
    "weights given": (8, 48),
    "moved with packets": (2, 12),
    "delete with packets": (1.6, 8),
    "down with packets": (2, 12),
    "namespaces ended with packets": (1.6, 10),
    "algorithms chosen": (10, 60),
    "knobs refused": (10, 60),
}


class Tenant:
    """What one does in a round."""

    def __init__(self, seed: str, counts: Counter[str], broken: list[str]) -> None:
        """In a namespace that is new.

        :param counts: takes events and states by kind
        :param broken: takes what must not be
        """
        self.random = Random(seed)
        self.counts = counts
        self.broken = broken
        self.options = options.read()
        self.named = {option.name: option for option in self.options}
        self.asked = hashlib.sha256()
        self.home = Place(counts, self.asked.update)
        self.place = self.home
        self.other = new_place(counts, self.asked.update)
        go_to(self.home)
        self.number = 0
        self.injectors: dict[bool, tuple[str, int]] = {}
        self.held: dict[str, int] = {}
        self.target = ""
        self.set_up()

    def set_up(self) -> None:
        """A link to the other namespace, injectors, a sink."""
        ip = self.home.ip
        ip.do("link set lo up", f"link add {BASE} type veth peer name {BASE} netns {self.other.ip.process.pid}")
        for place in (self.other, self.home):
            go_to(place)
            (IPV6 / BASE / "disable_ipv6").write_text("0")
        ip.do(
            f"addr add {NEAR}/24 dev {BASE}",
            f"addr add {NEAR6}/64 dev {BASE} nodad",
            f"link set {BASE} up",
            "link add sink type dummy",
            "link set sink up",
        )
        self.other.ip.do(f"addr add {FAR}/24 dev {BASE}", f"addr add {FAR6}/64 dev {BASE} nodad", f"link set {BASE} up")
        for ethernet, name, flag in ((False, "inj0", packets.IFF_TUN), (True, "inj1", packets.IFF_TAP)):
            self.injectors[ethernet] = name, packets.open_tun(name, flag)
            ip.do(f"link set {name} up")
            self.home.tc.do(f"qdisc add dev {name} clsact")
        self.home.fq_rr("sink", b"")
        self.reach_for_knobs()

    def reach_for_knobs(self) -> None:
        """Every user may choose vptfrc, and only root of the machine what it counts as a loss."""
        for algorithm in ALGORITHMS:
            with socket.socket() as stream:
                try:
                    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm)
                    self.counts["algorithms chosen"] += 1
                except OSError as error:
                    self.broken.append(f"{algorithm.decode()} is refused: {error.strerror}")
        for knob in sorted(KNOBS.iterdir()):
            try:
                knob.write_text(knob.read_text())
                self.broken.append(f"{knob} was written")
            except PermissionError:
                self.counts["knobs refused"] += 1

    # ---- devices ----

    def make(self, kind: str) -> str:
        """A device of a kind; its name, or nothing if the kernel refused."""
        if kind == "lo":
            # there is one for all scenes
            self.home.delete("lo")
            return "lo"
        self.number += 1
        name, peer, third = (f"{letter}{self.number}" for letter in "dpq")
        if kind in ("tun", "tap"):
            self.held[name] = packets.open_tun(name, packets.IFF_TUN if kind == "tun" else packets.IFF_TAP)
        commands = [text.format(d=name, p=peer, q=third) for text in KINDS[kind].commands]
        if commands and not self.home.do(self.home.ip, *commands):
            return ""
        self.counts[f"device {kind}"] += 1
        return name

    def drop(self, kind: str, name: str) -> None:
        """Delete a device, as it is."""
        self.gather(kind, name)
        if self.place.index(name) and kind != "lo":
            if name in self.held:
                os.close(self.held.pop(name))
            else:
                self.place.do(self.place.ip, f"link del {name}")

    def gather(self, kind: str, name: str) -> int:
        """Count what fq_rr has sent on a device of this kind; returns the packets that wait."""
        gained = self.place.harvest(name)
        self.counts[f"sent {kind}"] += gained["packets"]
        self.counts["most waiting"] = max(self.counts["most waiting"], gained["waiting"])
        return gained["waiting"]

    def up(self, name: str, *mtus: int) -> None:
        """MTUs one after the other, then up."""
        self.place.do(self.place.ip, *(f"link set {name} mtu {mtu}" for mtu in mtus), f"link set {name} up")

    # ---- requests ----

    def parts(self, values: dict[str, int]) -> bytes:
        """Options by name, encoded."""
        return b"".join(attribute(o.number, o.encode(values[o.name])) for o in self.options if o.name in values)

    def drawn(self, out: tuple[str, ...] = ()) -> dict[str, int]:
        """Allowed values of some options, none that may contradict another."""
        candidates = [o for o in self.options if o.name not in (*out, *options.TOGETHER)]
        chosen = self.random.sample(candidates, self.random.randint(1, 6))
        values = {o.name: o.draw(self.random) for o in chosen}
        if not self.random.randrange(2):
            values |= options.draw_ordered(self.random, self.named)
        if not self.random.randrange(2) and "MODE" not in out:
            values |= options.draw_shared(self.random, self.named)
        return values

    def sound(self, name: str, values: dict[str, int], what: str) -> None:
        """A request that the kernel has no reason to refuse; what is fixed at creation is asked of a new one."""
        if what == "add" and not values.keys().isdisjoint(options.FIXED):
            self.place.delete(name)
        said = self.place.fq_rr(name, self.parts(values), flags=0 if what == "change" else NLM_F_CREATE | NLM_F_REPLACE)
        if said:
            self.broken.append(f"{what} of {values} on {name}, MTU {self.place.mtu(name)}: {os.strerror(said)}")

    # ---- traffic ----

    def aim(self, name: str) -> None:
        """What the injectors take goes to this device."""
        if self.target == name:
            return
        self.target = name
        for injector, _ in self.injectors.values():
            self.home.tc.do(
                f"filter del dev {injector} ingress prio 1",
                f"filter add dev {injector} ingress prio 1 protocol all matchall"
                f" action mirred egress redirect dev {name}",
            )

    def inject(self, kind: str, name: str, many: list[bytes], header: bytes = packets.PLAIN) -> int:
        """Packets straight to a device's qdisc; how many were taken."""
        self.aim(name)
        taken = 0
        ethernet = KINDS[kind].ethernet
        fd = self.injectors[ethernet][1]
        for packet in many:
            if ethernet:
                packet = (
                    packets.framed(self.random, packet) if header == packets.PLAIN else packets.MAC + b"\x08\0" + packet
                )
            taken += packets.write(fd, header, packet)
        self.counts["injected"] += taken
        return taken

    def fill(self, kind: str, name: str, segment_bytes: int) -> None:
        """A super-packet of many segments."""
        header, packet = packets.super_packet(self.random, segment_bytes)
        if KINDS[kind].ethernet:
            kinds = struct.unpack("=BBHHHH", header)
            header = struct.pack("=BBHHHH", *kinds[:2], kinds[2] + 14, kinds[3], kinds[4] + 14, kinds[5])
        self.inject(kind, name, [packet], header)

    def some(self, count: int) -> list[bytes]:
        """Packets of all sorts."""
        return [packets.anything(self.random) for _ in range(count)]

    def sends(self, kind: str, name: str, count: int) -> None:
        """Traffic of all sorts on a device, from injector and sockets."""
        self.inject(kind, name, self.some(count))
        if self.place is self.home:
            minor = self.random.choice((0, 1, 2, 7, 0xFFFF))
            packets.send_raw(self.random, name, self.random.choice((0, 0, 0x10000 + minor)), count // 2)

    def greet(self, kind: str, name: str) -> None:
        """Some packets go through fq_rr on a device of every kind, whatever a scene makes of it."""
        self.up(name)
        self.sound(name, {}, "add")
        self.inject(kind, name, [packets.udp(port, 60) for port in range(1, 5)])
        self.gather(kind, name)

    # ---- scenes ----

    def mtus(self, kind: str, name: str) -> None:
        """The MTU is at an extreme when fq_rr comes or changes, and another when packets do."""
        low, high = self.place.mtu_limits(name)
        extremes = (low, low + 1, 68, 576, 1280, 1500, 9000, 65535, high - 1, high, 0, 1, 2**31 - 1)
        for first in (low, high, self.random.choice(extremes)):
            self.place.delete(name)
            self.place.do(self.place.ip, f"link set {name} mtu {first}")
            limit = {"RATE64": self.random.choice((10**4, 10**5, 10**6))}
            values = limit | ({} if self.random.random() < 0.6 else self.drawn())
            self.sound(name, values, "add")
            now = self.place.mtu(name)
            self.counts["added at an MTU of 0"] += now == 0
            self.counts["added at an MTU above 2^20"] += now > 2**20
            self.up(name, self.random.choice((1500, 1420, *extremes)))
            # one flow alone, which nobody else's turn helps out of a wrong credit, and then others
            self.inject(kind, name, [packets.udp(7, 60)] * 3)
            time.sleep(0.02)
            self.sends(kind, name, 8)
            time.sleep(0.02)
            for mtu in (high, low) if first == low else (low, high):
                self.place.do(self.place.ip, f"link set {name} mtu {mtu}")
                self.sound(name, limit, "change")
                self.counts["changed at an MTU of 0"] += self.place.mtu(name) == 0
            self.sends(kind, name, 8)
            time.sleep(0.02)

    def overflow(self, kind: str, name: str) -> None:
        """More than either limit allows, under every policy."""
        self.up(name)
        for number, policy in enumerate(self.random.sample(range(4), 4)):
            self.place.delete(name)
            # packets of sockets that have ended keep a namespace until they are sent: 13 s of 128 KiB
            values = {"RATE64": self.random.choice((10**4, 10**5)), "DROP": policy, "FLOWS": 64}
            values |= {"SCHEDULER": self.random.randrange(2)} | options.draw_shared(self.random, self.named)
            # either limit in turn, with and without marks
            values |= {"LIMIT": 1 << 20 if number % 2 else self.random.choice((1, 2, 20, 100))}
            values |= {"MEMORY_LIMIT": 128 << 10, "ECN": (0, 1, 30, 0)[number]}
            values |= {"CHARGE_DROPS": self.random.randrange(2)}
            self.sound(name, values, "add")
            ports = [self.random.randrange(1, 20) for _ in range(120)]
            self.inject(kind, name, [packets.udp(port, self.random.choice((28, 60, 1400)), 2) for port in ports])
            self.sends(kind, name, 20)
            self.fill(kind, name, self.random.choice((500, 1400)))
        self.gather(kind, name)

    def deep(self, kind: str, name: str) -> None:
        """Twenty-four thousand packets, and then what works through all of them."""
        self.up(name)
        self.place.delete(name)
        values = {"RATE64": 10**4, "LIMIT": 1 << 20, "MEMORY_LIMIT": 1 << 30, "SPLIT_GSO": 1}
        self.sound(name, values | {"FLOWS": self.random.choice((1, 1024, 65536))}, "add")
        for _ in range(3):
            self.fill(kind, name, 8)
        waiting = self.gather(kind, name)
        for _ in range(3):
            change = self.random.choice(
                (
                    options.draw_shared(self.random, self.named),
                    {"SCHEDULER": self.random.randrange(2)},
                    {"QUANTUM": self.random.choice((0, 256, 1 << 20))},
                    {"DROP": self.random.randrange(4)},
                )
            )
            self.sound(name, change, "change")
            self.counts["changes of a deep queue"] += waiting >= DEEP
            self.place.read_all(self.random)
            self.sends(kind, name, 4)
        if self.random.random() < 0.5:
            self.sound(name, {"LIMIT": self.random.choice((1, 100)), "DROP": self.random.randrange(3)}, "change")

    def verdicts(self, kind: str, name: str) -> None:
        """Every answer of a classifier's: 6.1 lets no tenant attach some of the actions that give them."""
        reaches = False
        for verdict in VERDICTS:
            if self.place.answer(name, verdict, True):
                self.broken.append(f"no classifier on {name} answers {verdict}")
                return
            before = self.place.harvest(name)["waiting"]
            many = packets.fragments(self.random.getrandbits(12)) + self.some(2)
            taken = self.inject(kind, name, many)
            gained = self.place.harvest(name)
            self.counts[f"sent {kind}"] += gained["packets"]
            # where those come that it lets pass, the others have come, of whom there is no trace
            reaches = reaches or gained["enqueued"] > 0 or gained["waiting"] > before
            self.counts[f"verdict {verdict}"] += taken if reaches else 0
            self.place.answer(name, verdict, False)

    def filters(self, kind: str, name: str) -> None:
        """Actions of every result, on packets and parts of packets."""
        self.up(name)
        self.sound(name, {"RATE64": 10**6}, "add")
        self.verdicts(kind, name)
        for _ in range(5):
            prio = self.random.randint(1, 4)
            what = self.random.choice((*RESULTS, *ACTIONS, "invalid"))
            if what in RESULTS:
                self.place.decide(name, prio, RESULTS[what])
            elif what in ACTIONS:
                protocol = self.random.choice(("ip", "ip", "ipv6", "all"))
                match = self.random.choice(("matchall", "matchall", "flower", "u32 match u32 0 0"))
                self.place.do(
                    self.place.tc,
                    f"filter add dev {name} parent 1: prio {prio} protocol {protocol} {match} {ACTIONS[what]}",
                )
            else:
                self.place.decide(name, prio, self.random.choice(INVALID_RESULTS))
            before = self.place.action_packets(name)
            parts: list[bytes] = []
            for _ in range(4):
                pair = self.random.choice((packets.fragments, packets.fragments6))(self.random.getrandbits(12))
                parts += pair if self.random.random() < 0.7 else pair[:1]
            self.inject(kind, name, [*parts, *self.some(4)])
            # what of the packets had an action, counted by the one that has just been added
            self.counts[f"action {what}"] += max(0, self.place.action_packets(name) - before)
            if self.random.random() < 0.7:
                self.place.do(self.place.tc, f"filter del dev {name} parent 1: prio {prio}")
            time.sleep(0.005)

    def classes(self, kind: str, name: str) -> None:
        """Weights, of classes that there are and others, while they are busy."""
        self.up(name)
        self.sound(name, {"RATE64": 10**5, "SCHEDULER": self.random.randrange(2)}, "add")
        for _ in range(12):
            minor = self.random.choice((0, 1, 2, 7, 1024, 1025, 65535, self.random.randrange(1024)))
            weight = self.random.choice((0, 1, 2, 255, 256, 2**32 - 1))
            said = self.place.weigh(name, minor, attribute(1, struct.pack("=I", weight)))
            self.counts["weights given"] += said == 0
            packets.send_raw(self.random, name, 0x10000 + minor, 3)
            self.inject(kind, name, self.some(2))
        self.place.read_all(self.random)

    def parents(self, kind: str, name: str) -> None:
        """Below another qdisc, which loses and regains it while packets wait."""
        parent = self.random.choice(tuple(PARENTS))
        commands, places, slow = PARENTS[parent]
        self.up(name)
        self.place.delete(name)
        if not self.place.do(self.place.tc, *(text.format(d=name) for text in commands)):
            return
        spots = {(8 << 16) + n: n << 16 for n in range(1, places + 1)}

        def child_values() -> dict[str, int]:
            # a parent that warns of a child which holds packets back has none that does
            fast = {"RATE64": 2**64 - 1} if not slow else {"RATE64": self.random.choice((10**4, 10**6))}
            return self.drawn(("FLOWS", "SEED", "RATE64", "MODE")) | fast | {"HOSTS": self.random.randrange(4)}

        for _ in range(4):
            for spot, handle in spots.items():
                if self.place.fq_rr(name, self.parts(child_values()), spot, handle) == 0:
                    self.counts[f"child of {parent}"] += 1
            self.sends(kind, name, 10)
            if parent != "qfq":
                self.fill(kind, name, self.random.choice((500, 1400)))
            way = self.random.randrange(5)
            spot = self.random.choice(tuple(spots))
            if way == 0:
                self.place.delete(name, spot)
            elif way == 1:
                self.place.do(
                    self.place.tc, f"qdisc replace dev {name} parent 8:{spot & 0xFFFF:x} handle 77: pfifo limit 3"
                )
            elif way == 2:
                self.place.do(self.place.ip, f"link set {name} down", f"link set {name} up")
            elif way == 3:
                self.place.fq_rr(name, self.parts({"LIMIT": 1}), spot, spots[spot], flags=0)
            time.sleep(0.01)
        self.gather(kind, name)
        if self.random.random() < 0.7:
            self.place.delete(name)

    def moves(self, kind: str, name: str) -> None:
        """Renamed, and to another namespace and back, or with that to its end, with packets waiting."""
        if kind == "lo":
            # every namespace has its own
            self.lives(kind, name)
            return
        self.up(name)
        self.sound(name, self.drawn(("RATE64",)) | {"RATE64": 10**4}, "add")
        self.sends(kind, name, 20)
        ends = self.random.random() < 0.5
        there = new_place(self.counts, self.asked.update) if ends else self.other
        go_to(self.home)
        self.gather(kind, name)
        new = f"{name}x"
        if self.home.do(self.home.ip, f"link set {name} down", f"link set {name} name {new}"):
            self.counts["renamed"] += 1
            self.home.do(self.home.ip, f"link set {new} up")
            self.sends(kind, new, 10)
        else:
            new = name
            self.home.do(self.home.ip, f"link set {name} up")
        waiting = self.gather(kind, new)
        if name in self.held:
            self.held[new] = self.held.pop(name)
        if self.home.do(self.home.ip, f"link set {new} netns {there.ip.process.pid}"):
            self.counts["moved with packets" if waiting else "moved"] += 1
            go_to(there)
            self.place, self.target = there, ""
            self.up(new)
            there.fq_rr(new, self.parts({"RATE64": 10**4} | options.draw_shared(self.random, self.named)))
            packets.send_raw(self.random, new, 0, 30)
            waiting = self.gather(kind, new)
            if not ends:
                there.do(there.ip, f"link set {new} netns {self.home.ip.process.pid}")
            go_to(self.home)
            self.place = self.home
            self.counts["namespaces ended with packets"] += ends and waiting > 0
        if ends:
            there.end()
        if self.home.index(new):
            self.home.do(self.home.ip, f"link set {new} up")
            self.sends(kind, new, 10)
            self.drop(kind, new)

    def walk(self, kind: str, name: str) -> None:
        """Requests at random beside traffic."""
        self.up(name)
        for _ in range(8):
            self.demands(name, 5)
            self.sends(kind, name, 4)
        self.gather(kind, name)

    def demands(self, name: str, count: int) -> None:
        """Requests at random, sound ones, others, and what no program would send."""
        for _ in range(count):
            values = {o.name: o.draw(self.random) for o in self.random.sample(self.options, self.random.randint(1, 8))}
            if self.random.random() < 0.3:
                option = self.random.choice(self.options)
                forbidden = option.draw_forbidden(self.random)
                values |= {} if forbidden is None else {option.name: forbidden}
            parent = self.random.choice((0xFFFFFFFF,) * 6 + (0, 0x10001, 0x80001, 0xFFFFFFF1, 0xFFFFFFF2))
            handle = self.random.choice((0x10000,) * 6 + (0, 0x20000, 0x10001, 0xFFFF0000))
            flags = self.random.choice((0, NLM_F_CREATE, NLM_F_CREATE | NLM_F_REPLACE, NLM_F_CREATE | 0x200))
            if self.random.random() < 0.4:
                order = self.random.choice((RTM_NEWQDISC, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_DELQDISC))
                attributes = [attribute(o.number, o.encode(values[o.name])) for o in self.options if o.name in values]
                head = self.place.head(name, parent, handle)
                whole = messages.malformed(self.random, order, NLM_F_REQUEST | flags, head, attributes)
                self.place.ask(whole)
                self.counts["malformed"] += 1
            else:
                self.place.fq_rr(name, self.parts(values), parent, handle, flags)

    def lives(self, kind: str, name: str) -> None:
        """Deleted, replaced, or its device down and up, each with packets waiting."""
        self.up(name)
        for _ in range(3):
            self.sound(name, {"RATE64": 10**4} | options.draw_shared(self.random, self.named), "add")
            self.sends(kind, name, 16)
            self.fill(kind, name, self.random.choice((100, 1400)))
            waiting = self.gather(kind, name)
            way = self.random.choice(("delete", "down", "replace", "same"))
            if way == "delete":
                self.place.delete(name)
            elif way == "down":
                self.place.do(self.place.ip, f"link set {name} down", f"link set {name} up")
            elif way == "replace":
                self.place.do(self.place.tc, f"qdisc replace dev {name} root handle 3: fq_codel")
            else:
                self.place.fq_rr(name, encode("rate 10mbit"), handle=0x20000)
            self.counts[f"{way} with packets"] += waiting > 0
            time.sleep(0.01)

    def paced(self, kind: str, name: str) -> None:
        """The rate follows the backlog, by rules that change."""
        self.up(name)
        for _ in range(4):
            values = self.drawn(("RATE64", "FLOWS", "SEED")) | {"RATE64": self.random.choice((10**5, 10**6)), "QLBP": 1}
            values |= {"LOAD": self.random.randint(1, 100)}
            if self.place.fq_rr(name, self.parts(values)) == 0:
                self.counts["paced"] += 1
            self.sends(kind, name, 16)
            time.sleep(0.01)
        self.gather(kind, name)

    # ---- a round ----

    def play(self, scenes: Iterator[tuple[str, str]], seconds: float) -> None:
        """Scene after scene; some devices are left as they are."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and not self.broken:
            scene, kind = next(scenes)
            # the last one is what a kernel that is no more was doing
            print(f"# scene {scene} on {kind}", flush=True)
            began = time.monotonic()
            name = self.make(kind)
            if name:
                self.greet(kind, name)
                getattr(self, scene)(kind, name)
                self.gather(kind, name)
                # below some parents no request may be made at random: see PARENTS; a deep queue that
                # is let go takes longer than a round
                if scene not in ("parents", "deep") and self.place.index(name):
                    self.demands(name, DEMANDS)
                    self.gather(kind, name)
                if self.random.random() < 0.8:
                    self.drop(kind, name)
            self.counts[f"scene {scene}"] += 1
            self.counts[f"milliseconds of {scene}"] += round(1000 * (time.monotonic() - began))
            time.sleep(min(REST * (time.monotonic() - began), MOST_REST_S))

    def hurry(self, place: Place, name: str, values: dict[str, int]) -> None:
        """What waits in a queue is sent in LEFT_S: its senders hold the namespace, and that the module."""
        if values["backlog"]:
            rate = encode(f"rate {max(8 * values['backlog'] // LEFT_S, 8000)}bit")
            place.fq_rr(name, rate, values["parent"], values["handle"], 0)

    def leave(self) -> None:
        """Everything is left as it is, and goes in some seconds: count what waits."""
        for place in (self.home, self.other):
            go_to(place)
            waiting = 0
            for _, name in socket.if_nameindex():
                for values in place.shown(name):
                    waiting += values["qlen"]
                    self.hurry(place, name, values)
            self.counts["namespaces ended with packets"] += waiting > 0
            self.counts["packets left at an end"] += waiting


SCENES = ("mtus", "overflow", "filters", "parents", "moves", "lives", "classes", "walk", "paced")
# A scene in so many is a deep one, which takes as long as ten others.
DEEP_EVERY = 40


def scenes_of(seed: int) -> Iterator[tuple[str, str]]:
    """Scenes with a kind of device for each: all kinds in turn, and all scenes, in changing order."""
    random = Random(f"{seed}/scenes")
    kinds: list[str] = []
    scenes: list[str] = []
    number = 0
    while True:
        if not kinds:
            kinds = random.sample(list(KINDS), len(KINDS))
        if not scenes:
            scenes = random.sample(SCENES, len(SCENES))
        number += 1
        # what has no link header may have the smallest MTU of all
        if number % 15 == 2:
            yield "mtus", "wireguard"
        elif number % DEEP_EVERY == 4:
            yield "deep", random.choice(("dummy", "veth", "wireguard", "tun", "ipip"))
        else:
            yield scenes.pop(), kinds.pop()


def talk(seed: str) -> None:
    """Packets of all sorts on all devices."""
    random = Random(seed)
    while True:
        for _, name in socket.if_nameindex():
            if random.random() < 0.3:
                with suppress(OSError):
                    packets.send_raw(random, name, random.choice((0, 0, 0x10001)), random.choice((1, 3, 10)))
        packets.send_udp(random, 4)
        time.sleep(SLOW * random.choice((0.005, 0.02, 0.05)))


def connect(seed: str, far: Place) -> None:
    """TCP to the other namespace, through whatever the tenant has made of the link."""
    random = Random(seed)
    near = os.open("/proc/self/ns/net", os.O_RDONLY)
    go_to(far)
    server = socket.create_server((FAR, 5001), backlog=16)
    checks.LIBC.setns(near, 0)
    while True:
        with suppress(OSError), socket.socket() as stream:
            stream.settimeout(0.2)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, random.choice(ALGORITHMS))
            stream.connect((FAR, 5001))
            taken, _ = server.accept()
            with taken:
                taken.settimeout(0.2)
                stream.send(bytes(random.choice((1, 3000, 60000))))
                taken.recv(1 << 16)
        time.sleep(SLOW * random.choice((0.01, 0.05)))


def read(seed: str) -> None:
    """Dump everything all the time."""
    random = Random(seed)
    place = Place(Counter(), lambda _: None)
    while True:
        with suppress(OSError):
            place.read_all(random)
        time.sleep(SLOW * random.choice((0.01, 0.05)))


def live(seed: str, scenes: Iterator[tuple[str, str]], seconds: float, answer: int) -> None:
    """One tenant's round; answers with what was done."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    become_tenant()
    # who waits for what never comes says where, and ends; not before, for who has threads gets no user namespace
    faulthandler.dump_traceback_later(seconds + PATIENCE_S, exit=True)
    tenant = Tenant(seed, counts, broken)
    around: dict[str, int] = {}
    acts: dict[str, Callable[[], None]] = {
        "talk": lambda: talk(seed + "talk"),
        "connect": lambda: connect(seed + "connect", tenant.other),
        "read": lambda: read(seed + "read"),
    }
    for what, act in acts.items():
        around[what] = child(act, NICE)
    try:
        tenant.play(scenes, seconds)
        broken += [
            f"the process that should {name} ended" for name, pid in around.items() if os.waitpid(pid, os.WNOHANG)[0]
        ]
        tenant.leave()
        played = sum(n for what, n in counts.items() if what.startswith("scene "))
        os.write(answer, json.dumps([dict(counts), played, tenant.asked.hexdigest(), broken]).encode())
    finally:
        for pid in around.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Hostility:
    """Rounds, and what came of them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Nothing has been done yet."""
        self.arguments = arguments
        self.log = checks.Log()
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []
        self.reloads = 0
        self.scenes = scenes_of(arguments.seed)
        # of all requests and answers so far
        self.hash = hashlib.sha256()

    def round(self, number: int, seconds: float) -> None:
        """A tenant's life, then the modules anew."""
        answers, answer = os.pipe()
        pid = child(lambda: live(f"{self.arguments.seed}/{number}", self.scenes, seconds, answer))
        os.close(answer)
        # what does not fit into the pipe would be waited for by the tenant
        with os.fdopen(answers, "rb", buffering=0) as pipe:
            os.set_blocking(pipe.fileno(), False)
            text = b""
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                self.log.read()
                text += pipe.read() or b""
                time.sleep(checks.LOG_S)
            text += pipe.read() or b""
        status = os.waitstatus_to_exitcode(ended[1])
        if status or not text:
            self.broken.append(f"the tenant of round {number} ended with {status}")
            return
        counts, played, asked, broken = json.loads(text)
        self.hash.update(asked.encode())
        most = max(self.counts["most waiting"], counts.pop("most waiting", 0))
        self.counts += Counter(counts)
        self.counts["most waiting"] = most
        self.broken += broken
        for _ in range(played):
            next(self.scenes)
        try:
            checks.reload_modules()
            self.reloads += 1
        except (TimeoutError, OSError) as error:
            self.broken.append(f"unloading: {error}")

    def rounds(self) -> None:
        """Until time is over or something broke."""
        began = time.monotonic()
        number = 0
        while not self.broken and not self.log.complaints:
            left = self.arguments.seconds - (time.monotonic() - began)
            if left < 1:
                break
            self.round(number, min(ROUND_S, left))
            self.log.read()
            number += 1
            scenes = sum(n for what, n in self.counts.items() if what.startswith("scene "))
            print(
                f"# round {number}, after {time.monotonic() - began:.0f} s: {scenes} scenes,"
                f" {self.counts['requests']} requests ({self.hash.hexdigest()[:16]}), {100 * checks.busy():.0f} % busy",
                flush=True,
            )

    def told(self) -> dict[str, float]:
        """What was reached, by the names that floors have."""
        sent = [kind for kind in KINDS if self.counts[f"sent {kind}"]]
        return {
            **self.counts,
            "kinds of device that carried packets": len(sent),
            "packets sent by fq_rr": sum(self.counts[f"sent {kind}"] for kind in KINDS),
            "kinds of parent": len([parent for parent in PARENTS if self.counts[f"child of {parent}"]]),
            "kinds of action that had packets": len([w for w in (*RESULTS, *ACTIONS) if self.counts[f"action {w}"]]),
        }

    def missed(self) -> list[str]:
        """What falls short of its floor."""
        reached = self.told()
        return [
            f"{what}: {reached.get(what, 0)}, not {wanted}"
            for what, wanted in floors(self.arguments.seconds).items()
            if reached.get(what, 0) < wanted
        ]

    def tell(self) -> int:
        """TAP; returns the exit status."""
        reached = self.told()
        for what in sorted(reached):
            print(f"# {what}: {reached[what]}", flush=True)
        self.log.read()
        looked = checks.LEAKS.exists() and not self.broken and not self.log.complaints
        leaks = checks.leaks() if looked else []
        self.log.read()
        missed = self.missed()
        results = [
            ("no process ended, and no sound request was refused", not self.broken, self.broken),
            (f"modules unloaded {self.reloads} times behind namespaces that ended", self.reloads > 0, []),
            ("the kernel's checks have nothing to report", not self.log.complaints, self.log.complaints),
            (f"{len(floors(self.arguments.seconds))} states and events were reached", not missed, missed),
            ("no memory has leaked" if looked else "leaks were not looked for", looked and not leaks, leaks),
        ]
        for number, (name, good, details) in enumerate(results, 1):
            print(f"{'ok' if good else 'not ok'} {number} - {self.arguments.name}: {name}")
            for line in details[:120]:
                print(f"# {line}")
        print(f"1..{len(results)}")
        return 0 if all(good for _, good, _ in results) else 1


def floors(seconds: float) -> dict[str, int]:
    """What a run of this length must reach: one of each at least."""
    return {what: max(1, int(min(number * seconds / 100, enough))) for what, (number, enough) in FLOORS.items()}


def main() -> int:
    """Do harm, then tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="tenant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    hostility = Hostility(parser.parse_args())
    checks.begin()
    checks.reload_modules()
    # what a tenant's request would have loaded were it a part of the kernel
    run("insmod", str(checks.MODULES["sch_fq_rr"].with_name("cls_verdict.ko")))
    # as udev has it elsewhere
    os.chmod("/dev/net/tun", 0o666)
    hostility.rounds()
    return hostility.tell()


if __name__ == "__main__":
    sys.exit(main())
