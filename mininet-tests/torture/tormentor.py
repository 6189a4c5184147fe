# SPDX-License-Identifier: GPL-2.0
"""Requests about the fq_rr of one device, and what must hold after each.

- What is sound is done, and shown as it was asked for.
- What is not in an option's range is refused.
- Whatever is refused has changed nothing.
- Nothing that is shown is out of range, whatever was done.
- What is done to the device changes no qdisc, but a move to another namespace removes all.
- Packets and bytes of classes, qdisc and parents agree; what has drained is empty.
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
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from in_guest.netlink import (
    NLA_F_NESTED,
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    RTM_DELQDISC,
    RTM_GETQDISC,
    RTM_GETTCLASS,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    TC_H_ROOT,
    TCA_KIND,
    TCA_OPTIONS,
    TCA_STATS2,
    TCA_STATS_APP,
    TCA_STATS_BASIC,
    TCA_STATS_QUEUE,
    attribute,
    split_attributes,
)
from in_guest.qdisc import STATISTICS, STATS_FLOW

from . import devices, messages, options

NLM_F_EXCL = 0x200
SIOCETHTOOL = 0x8946
ETHTOOL_SWITCHES = (0x17, 0x19, 0x1F, 0x24, 0x2C)
PARENT_MAJOR = 8

# What fq_rr may be below: commands that make it, and the places for it. A parent's
# backlog in bytes is compared with its children's if it counts it. QFQ is not among them:
# it warns of any child that holds packets back, as one with a rate does.
PARENTS: dict[str, tuple[tuple[str, ...], int, bool]] = {
    "tbf": (("qdisc replace dev v0 root handle 8: tbf rate 50mbit burst 5000 limit 1m",), 1, True),
    "drr": (
        (
            "qdisc replace dev v0 root handle 8: drr",
            "class add dev v0 parent 8: classid 8:1 drr quantum 1514",
            "class add dev v0 parent 8: classid 8:2 drr quantum 600",
            "filter add dev v0 parent 8: protocol ip prio 1 u32 match ip sport 0 1 flowid 8:1",
            "filter add dev v0 parent 8: protocol all prio 2 matchall flowid 8:2",
        ),
        2,
        True,
    ),
    "hfsc": (
        (
            "qdisc replace dev v0 root handle 8: hfsc default 1",
            "class add dev v0 parent 8: classid 8:1 hfsc ls m2 30mbit ul m2 50mbit",
        ),
        1,
        True,
    ),
    "htb": (
        (
            "qdisc replace dev v0 root handle 8: htb default 1",
            "class add dev v0 parent 8: classid 8:1 htb rate 20mbit ceil 50mbit",
        ),
        1,
        True,
    ),
    "ets": (("qdisc replace dev v0 root handle 8: ets bands 2 quanta 1500 3000 priomap 0 1",), 2, True),
    "prio": (("qdisc replace dev v0 root handle 8: prio bands 2 priomap 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1",), 2, True),
    "multiq": (("qdisc replace dev v0 root handle 8: multiq",), 2, False),
    "mq": (("qdisc replace dev v0 root handle 8: mq",), 2, True),
}
# These want more than one transmit queue.
OF_QUEUES = ("multiq", "mq")

Picture = dict[tuple[int, int], tuple[bytes, bytes]]


# Statistics of fq_rr that torture of any length must raise.
REACHED = ("split", "flushes", "drops_head", "drops_tail", "rehashes", "collisions", "classified", "marks")


class BrokenPromiseError(Exception):
    """Something that must hold does not."""


@dataclass
class Tally:
    """What was done and what came of it."""

    counts: Counter[str] = field(default_factory=Counter)
    met: set[str] = field(default_factory=set)
    digest: str = ""
    broken: list[str] = field(default_factory=list)


class Faults:
    """Allocation failures for this process, where the kernel can inject them."""

    def __init__(self) -> None:
        """Open the switches that are this process' own."""
        self.nth: int | None = None
        self.share: int | None = None
        with suppress(FileNotFoundError):
            self.nth = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
            self.share = os.open("/proc/self/make-it-fail", os.O_RDWR)

    def during(self, random: Random, act: Callable[[], int | None]) -> tuple[int | None, bool]:
        """What ``act`` returns while one allocation, or some, fail; and whether one did or may have."""
        if self.nth is None or self.share is None:
            return act(), False
        if random.random() < 0.7:
            os.pwrite(self.nth, b"%d" % random.randint(1, 25), 0)
            try:
                return act(), os.pread(self.nth, 16, 0).strip(b"\n\0") == b"0"
            finally:
                os.pwrite(self.nth, b"0", 0)
        os.pwrite(self.share, b"1", 0)
        try:
            return act(), True
        finally:
            os.pwrite(self.share, b"0", 0)


class Batch:
    """tc or ip as one process that takes commands: to start it for each takes as long as a hundred requests."""

    # What it does not know it reports at once, with its line.
    MARK = "end-of-command"

    def __init__(self, program: str, may_end: bool = False) -> None:
        """Start it; the qdiscs that it is asked for need no plugin.

        :param may_end: it may be asked for what makes it end: then it is started again
        """
        self.command = [program, "-force", "-batch", "-"]
        self.may_end = may_end
        self.start()

    def start(self) -> None:
        """A process that has had no command yet."""
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.line = 0

    def do(self, *commands: str) -> list[str]:
        """Run commands; returns what it says of those that failed."""
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.write("\n".join((*commands, self.MARK)) + "\n")
        self.process.stdin.flush()
        self.line += len(commands) + 1
        said: list[str] = []
        for text in self.process.stderr:
            if text == f"Command failed -:{self.line}\n":
                return [line for line in said if self.MARK not in line]
            said.append(text.strip())
        if not self.may_end:
            raise RuntimeError(f"{self.command} ended: {said}")
        self.end()
        self.start()
        return said or ["Error: it ended"]

    def must(self, *commands: str) -> None:
        """Run commands, none of which may fail."""
        said = self.do(*commands)
        if said:
            raise RuntimeError(f"{commands}: {said}")

    def end(self) -> None:
        """No more commands: all are done."""
        # other processes may have its input open, so that it need not see an end of that
        self.process.kill()
        self.process.wait()


class Tormentor:
    """Owns the qdiscs of v0: nobody else changes them."""

    def __init__(self, seed: str, kind: str, senders: list[int]) -> None:
        """Begin with an fq_rr at the root.

        :param kind: of the device
        :param senders: processes to hold while packets are counted
        """
        self.random = Random(seed)
        self.senders = senders
        self.link = devices.Device(kind)
        self.device = self.link.index
        self.parents = [name for name in PARENTS if devices.has_queues(kind) or name not in OF_QUEUES]
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.faults = Faults()
        self.tc = Batch("tc")
        self.options = options.read()
        self.named = {option.name: option for option in self.options}
        self.by_number = {option.number: option for option in self.options}
        self.tally = Tally()
        self.hash = hashlib.sha256()
        self.parent = ""
        # what was done to the device, and then packets that had left each fq_rr: until more have
        self.awaited: set[str] = set()
        self.left: dict[tuple[int, int], int] = {}
        # what the last dump showed, which only requests of this process change
        self.known: Picture = {}
        self.picture()
        # where an fq_rr may be, with the major number of its handle
        self.places: dict[int, int] = {}
        self.settle_under("")

    @property
    def netlink(self) -> messages.Netlink:
        """The socket for requests where the device is."""
        return self.link.place.netlink

    # ---- what is there ----

    def picture(self) -> Picture:
        """Every qdisc's kind and options, by parent and handle; values in range."""
        found: Picture = {}
        for answer in self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, messages.tcmsg(self.device, 0, 0)):
            index, handle, parent = struct.unpack_from("=iII", answer, 20)
            if index != self.device:
                continue
            attributes = dict(split_attributes(answer[36:]))
            kind = attributes[TCA_KIND].rstrip(b"\0")
            found[parent, handle] = kind, attributes.get(TCA_OPTIONS, b"")
            if kind == b"fq_rr":
                self.check_ranges(attributes[TCA_OPTIONS])
                self.note(attributes)
        self.known = found
        return found

    def shown(self, parent: int) -> dict[int, int] | None:
        """The values of the fq_rr at a place, by attribute; None if there is no fq_rr."""
        for (above, _), (kind, nest) in self.known.items():
            if above == parent and kind == b"fq_rr":
                values = dict(split_attributes(nest))
                return {n: self.by_number[n].decode(v) for n, v in values.items() if n in self.by_number}
        return None

    def check_ranges(self, nest: bytes) -> None:
        """Nothing is shown that would have been refused."""
        for number, payload in split_attributes(nest):
            option = self.by_number.get(number)
            if option and not option.allows(option.decode(payload)):
                raise BrokenPromiseError(f"{option.name} is {option.decode(payload)}, out of range")

    def note(self, attributes: dict[int, bytes]) -> None:
        """Which statistics have been raised, as long as there are others."""
        if self.tally.met.issuperset(REACHED) or TCA_STATS2 not in attributes:
            return
        parts = dict(split_attributes(attributes[TCA_STATS2]))
        for number, value in split_attributes(parts.get(TCA_STATS_APP, b"")):
            if STATISTICS[number] in REACHED and any(value):
                self.tally.met.add(STATISTICS[number])

    # ---- asking ----

    def ask(self, request: bytes, faulty: bool) -> tuple[int | None, bool]:
        """The errno for a request, None if unknown; and whether allocations may have failed."""
        self.tally.counts["requests"] += 1
        if not faulty:
            said, failed = self.netlink.ask(request), False
        else:
            said, failed = self.faults.during(self.random, lambda: self.netlink.ask(request))
            self.netlink.drop_answers()
            self.tally.counts["with a failed allocation"] += failed
        self.tally.counts["refused" if said else "done" if said == 0 else "unanswered"] += 1
        self.hash.update(request + repr(said).encode())
        return said, failed

    def try_out(
        self,
        what: str,
        request: bytes,
        wanted: int | None,
        parent: int = 0,
        values: dict[int, int] | None = None,
        faulty: bool = True,
    ) -> int | None:
        """Make a request, and hold the kernel to what must follow; returns the errno, None if unknown.

        :param wanted: 0 if it must be done, EINVAL (any error) if refused, None if either
        :param values: what must be shown at ``parent`` if it is done
        :param faulty: whether allocations may fail meanwhile
        """
        before = self.known
        said, failed = self.ask(request, faulty and self.random.random() < 0.15)
        after = self.picture()
        told = f"{what}: {request.hex()[:400]} answered {said}"
        if said and before != after and not messages.touches_more_than_options(request):
            self.tally.counts["half-applied"] += 1
            raise BrokenPromiseError(f"refused and yet changed something: {told}, {before} to {after}")
        if wanted == 0 and said and not failed:
            raise BrokenPromiseError(f"is sound and was refused: {told}")
        if wanted and said == 0:
            raise BrokenPromiseError(f"is not sound and was done: {told}")
        if said == 0 and values:
            shown = self.shown(parent) or {}
            for number, value in values.items():
                # what belongs to an algorithm that is off is not shown
                if number in shown and shown[number] != value:
                    name = self.by_number[number].name
                    raise BrokenPromiseError(f"{name} {value} was asked for, {shown[number]} is shown: {told}")
        return said

    def head(self, parent: int, minor: int = 0) -> bytes:
        """The tcmsg for the fq_rr at a place."""
        return messages.tcmsg(self.device, (self.places[parent] << 16) + minor, 0 if minor else parent)

    def request(self, parent: int, values: dict[int, int], flags: int = 0, order: int = RTM_NEWQDISC) -> bytes:
        """A well-formed request for the fq_rr at a place."""
        parts = b"".join(attribute(n, self.by_number[n].encode(v)) for n, v in values.items())
        body = attribute(TCA_KIND, b"fq_rr\0") + attribute(TCA_OPTIONS | NLA_F_NESTED, parts)
        return messages.message(order, NLM_F_REQUEST | NLM_F_ACK | flags, self.head(parent) + body)

    # ---- values ----

    def draw(self, names: Callable[[str], bool], most: int = 8) -> dict[int, int]:
        """Allowed values of some of the options whose names pass."""
        candidates = [option for option in self.options if names(option.name)]
        chosen = self.random.sample(candidates, self.random.randint(1, min(most, len(candidates))))
        return {option.number: option.draw(self.random) for option in chosen}

    def sound(self, new: bool) -> dict[int, int]:
        """Values that must be taken: none that is fixed, none that may contradict another."""
        out = (*options.TOGETHER, *(() if new else options.FIXED))
        values = self.draw(lambda name: name not in out)
        # both or neither: what one of them has now may contradict the other
        for drawn in (options.draw_ordered, options.draw_shared):
            if self.random.random() < 0.5:
                values |= {self.named[name].number: v for name, v in drawn(self.random, self.named).items()}
        # whatever else there was, it is off
        return values | {option.number: 0 for option in self.options if option.name == "QLBP"}

    def place(self) -> int:
        """One of the places for an fq_rr."""
        return self.random.choice(sorted(self.places))

    def is_there(self, parent: int) -> bool:
        """Whether an fq_rr is at a place."""
        return self.shown(parent) is not None

    # ---- deeds ----

    def make(self, parent: int) -> None:
        """An fq_rr of the usual size at a place that has none."""
        values = {option.number: 64 for option in self.options if option.name == "FLOWS"}
        self.try_out("make", self.request(parent, values, NLM_F_CREATE | NLM_F_REPLACE), None, parent)

    def settle_under(self, kind: str) -> None:
        """Another parent, or none, with an fq_rr in every place."""
        self.tc.do("qdisc del dev v0 root")
        self.parent = kind
        if kind:
            commands, places, _ = PARENTS[kind]
            self.tc.must(*commands)
            self.places = {(PARENT_MAJOR << 16) + n: n for n in range(1, places + 1)}
        else:
            self.places = {TC_H_ROOT: 1}
        self.picture()
        for parent in self.places:
            while not self.is_there(parent):
                self.make(parent)

    def change_soundly(self) -> None:
        """Allowed values are taken and shown."""
        parent = self.place()
        values = self.sound(new=False)
        self.try_out("change", self.request(parent, values), 0 if self.is_there(parent) else None, parent, values)

    def change_out_of_range(self) -> None:
        """With one value out of range everything is refused."""
        parent = self.place()
        values = self.sound(new=False)
        option = self.random.choice(self.options)
        value = option.draw_forbidden(self.random)
        if value is None:
            return
        values[option.number] = value
        create = self.random.choice((0, NLM_F_CREATE, NLM_F_CREATE | NLM_F_REPLACE))
        self.try_out("out of range", self.request(parent, values, create), errno.EINVAL, parent)

    def change_anyhow(self) -> None:
        """Any allowed values together, which may contradict one another."""
        parent = self.place()
        values = self.draw(lambda _: True, len(self.options))
        flags = self.random.choice((0, 0, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_CREATE | NLM_F_EXCL))
        self.try_out("anyhow", self.request(parent, values, flags), None, parent, values)

    def pace(self) -> None:
        """Queue-length based pacing, from a rate and a load."""
        parent = self.place()
        values = {
            self.named["RATE64"].number: self.random.choice((10**5, 10**6, 10**7)),
            self.named["QLBP"].number: 1,
            self.named["LOAD"].number: self.named["LOAD"].draw(self.random),
        }
        self.try_out("pace", self.request(parent, values), None, parent, values)

    def replace(self) -> None:
        """Delete it or not, and make one anew; all allowed values are taken."""
        parent = self.place()
        if self.random.random() < 0.8:
            self.try_out("delete", self.request(parent, {}, order=RTM_DELQDISC), None)
        values = self.sound(new=True)
        self.try_out("make", self.request(parent, values, NLM_F_CREATE), None, parent, values)
        while not self.is_there(parent):
            self.make(parent)

    def malform(self) -> None:
        """What no program would send."""
        parent = self.place()
        values = self.draw(lambda _: True)
        parts = [attribute(n, self.by_number[n].encode(v)) for n, v in values.items()]
        order = self.random.choice((RTM_NEWQDISC,) * 6 + (RTM_NEWTCLASS, RTM_DELQDISC))
        flags = NLM_F_REQUEST | self.random.choice((0, 0, NLM_F_CREATE, NLM_F_CREATE | NLM_F_REPLACE))
        minor = self.random.randrange(70) if order == RTM_NEWTCLASS else 0
        whole = messages.malformed(self.random, order, flags, self.head(parent, minor), parts)
        self.tally.counts["malformed"] += 1
        self.try_out("malformed", whole, None)
        for place in self.places:
            while not self.is_there(place):
                self.make(place)

    def weigh(self) -> None:
        """A class gets a weight that is allowed, or is refused one that is not."""
        parent = self.place()
        shown = self.shown(parent)
        if shown is None:
            return
        flows = next(shown[option.number] for option in self.options if option.name == "FLOWS")
        minor = self.random.choice((1, flows, self.random.randint(1, 0xFFFF)))
        weight = self.random.choice((0, 1, 2, 255, 256, 2**32 - 1, self.random.randrange(1, 256)))
        body = attribute(TCA_KIND, b"fq_rr\0") + attribute(
            TCA_OPTIONS | NLA_F_NESTED, attribute(1, struct.pack("=I", weight))
        )
        whole = messages.message(RTM_NEWTCLASS, NLM_F_REQUEST | NLM_F_ACK, self.head(parent, minor & 0xFFFF) + body)
        good = 1 <= weight <= 255 and 1 <= minor <= min(flows, 0xFFFF)
        self.try_out("weigh", whole, 0 if good else errno.EINVAL)

    def filter(self) -> None:
        """A filter for the fq_rr itself comes or goes, with an action or a class."""
        parent = self.place()
        self.tally.counts["filters"] += 1
        major, prio = self.places[parent], self.random.randint(1, 3)
        if self.random.random() < 0.5:
            self.tc.do(f"filter del dev v0 parent {major}: prio {prio}")
            return
        verdict = self.random.choice(
            (f"flowid {major}:{self.random.randint(1, 99):x}", "action drop", "action pass", f"flowid {major}:1")
        )
        match = self.random.choice(
            ("protocol ip {} u32 match ip sport 0 3 {}", "protocol all {} matchall {}", "protocol ip {} flower {}")
        )
        self.tc.do(f"filter add dev v0 parent {major}: {match.format(f'prio {prio}', verdict)}")

    def move(self) -> None:
        """Below another parent."""
        self.tally.counts["parents"] += 1
        self.settle_under(self.random.choice(("", *self.parents)))

    # ---- what is done to the device ----

    def same_as(self, before: Picture, what: str) -> None:
        """Nothing has changed that is shown."""
        after = self.picture()
        if after != before:
            raise BrokenPromiseError(f"{self.link.kind}: {what} changed {before} to {after}")

    def nothing_of_ours(self, what: str) -> None:
        """There is no qdisc but the kernel's defaults, which have no handle; mq is one of them."""
        of_ours = {kind.decode() for (_, handle), (kind, _) in self.picture().items() if kind == b"fq_rr" or handle}
        if of_ours:
            raise BrokenPromiseError(f"{self.link.kind}: after it was {what} there is {sorted(of_ours)}")

    def await_packets(self, deed: str) -> None:
        """Send a few; the deed counts as soon as packets leave the fq_rr."""
        self.tally.counts["device"] += 1
        self.awaited.add(f"{self.link.kind} {deed}")
        self.left = {}
        self.look_for_packets()
        self.link.send(self.random)

    def look_for_packets(self) -> dict[tuple[int, int], int]:
        """Whether an fq_rr has sent since the last look; the quantum that each of them shows."""
        left: dict[tuple[int, int], int] = {}
        quanta: dict[tuple[int, int], int] = {}
        for answer in self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, messages.tcmsg(self.device, 0, 0)):
            index, handle, parent = struct.unpack_from("=iII", answer, 20)
            attributes = dict(split_attributes(answer[36:]))
            if index != self.device or attributes[TCA_KIND] != b"fq_rr\0":
                continue
            parts = dict(split_attributes(attributes[TCA_STATS2]))
            left[parent, handle] = struct.unpack_from("=QI", parts[TCA_STATS_BASIC])[1]
            quanta[parent, handle] = self.quantum(attributes[TCA_OPTIONS], parts[TCA_STATS_APP])
        if any(packets > self.left.get(place, packets) for place, packets in left.items()):
            self.tally.met |= self.awaited
            self.awaited.clear()
        self.left = left
        return quanta

    def quantum(self, nest: bytes, statistics: bytes) -> int:
        """The quantum in force, which is the one that was asked for, or within the limits of one."""
        option = self.named["QUANTUM"]
        asked = option.decode(dict(split_attributes(nest))[option.number])
        shown = int.from_bytes(dict(split_attributes(statistics))[STATISTICS.index("quantum_bytes")], "little")
        if not (shown == asked if asked else option.low <= shown <= option.high):
            raise BrokenPromiseError(f"{self.link.kind}: of the quantum {asked} became {shown} bytes")
        return shown

    def take_down(self) -> None:
        """The device goes down and up."""
        before = self.picture()
        for up in (False, True):
            if said := self.link.set_up(up):
                raise BrokenPromiseError(f"{self.link.kind}: down or up was refused with {said}")
            self.same_as(before, "up" if up else "down")
        self.await_packets("down and up")

    def switch_offload(self) -> None:
        """The device gets an offload, or does without it."""
        self.tally.counts["device"] += 1
        value = ctypes.create_string_buffer(
            struct.pack("II", self.random.choice(ETHTOOL_SWITCHES), self.random.randrange(2))
        )
        with suppress(OSError):
            fcntl.ioctl(self.control, SIOCETHTOOL, struct.pack("16sP16x", b"v0", ctypes.addressof(value)))

    def follow_the_mtu(self, parent: int, mtu: int) -> None:
        """A quantum that comes from the device's MTU is taken, whatever that is; at times by a new fq_rr."""
        values = {self.named[name].number: 0 for name in ("QUANTUM", "SCHEDULER", "QLBP")}
        create = self.random.random() < 0.3
        if create:
            self.try_out("delete", self.request(parent, {}, order=RTM_DELQDISC), None)
        if create or not self.is_there(parent):
            request = self.request(parent, values, NLM_F_CREATE | NLM_F_REPLACE)
        else:
            request = self.request(parent, values)
        said = self.try_out(f"{self.link.kind}: by its MTU", request, 0, parent, values)
        quantum = self.named["QUANTUM"]
        wanted = min(quantum.high, max(quantum.low, mtu + devices.header_bytes(self.link.kind)))
        shown = self.look_for_packets().get((parent, self.places[parent] << 16))
        if said == 0 and shown != wanted:
            raise BrokenPromiseError(f"{self.link.kind}: an MTU of {mtu} made a quantum of {shown} bytes, not {wanted}")
        while not self.is_there(parent):
            self.make(parent)

    def resize(self) -> None:
        """An MTU at the limits of the kind, or any; fq_rr is configured meanwhile; packets at a usual one."""
        least, greatest = self.link.least, self.link.greatest
        before = self.picture()
        for beyond in (least - 1, greatest + 1):
            if self.link.set_mtu(beyond & 2**32 - 1) != errno.EINVAL:
                raise BrokenPromiseError(f"{self.link.kind}: an MTU of {beyond} was taken")
        deed, mtu = self.random.choice(
            (
                ("least MTU", least),
                ("greatest MTU", greatest),
                ("", min(greatest, least + (1 << self.random.randrange(31)))),
            )
        )
        parent = self.place()
        self.set_mtu(mtu)
        self.same_as(before, f"an MTU of {mtu}")
        self.follow_the_mtu(parent, mtu)
        self.link.send(self.random)
        before = self.known
        self.set_mtu(min(greatest, self.random.choice(devices.USUAL_MTUS)))
        self.link.settle()
        self.same_as(before, "a usual MTU")
        if deed:
            self.await_packets(deed)

    def set_mtu(self, mtu: int) -> None:
        """An MTU that the kind allows, which changes no quantum that is in force."""
        before = self.look_for_packets()
        said = self.link.set_mtu(mtu)
        if said:
            raise BrokenPromiseError(f"{self.link.kind}: an MTU of {mtu} was refused with {said}")
        after = self.look_for_packets()
        if before != after:
            raise BrokenPromiseError(f"{self.link.kind}: an MTU of {mtu} changed quanta {before} to {after}")

    def rename(self) -> None:
        """Another name, and the old one again."""
        before = self.picture()
        for name in ("w0", "v0"):
            if said := self.link.rename(name):
                raise BrokenPromiseError(f"{self.link.kind}: the name {name} was refused with {said}")
            self.same_as(before, f"the name {name}")
            self.link.send(self.random)
            self.change_soundly()
            before = self.known
        self.await_packets("renamed")

    def visit(self) -> None:
        """The device goes to another namespace, where it gets an fq_rr, and comes back: without any."""
        before = self.picture()
        said = self.link.move(self.link.away)
        if self.link.kind == "lo":
            if said != errno.EINVAL:
                raise BrokenPromiseError(f"lo was moved: {said}")
            self.same_as(before, "a refused move")
            self.await_packets("moved")
            return
        if said:
            raise BrokenPromiseError(f"{self.link.kind}: a move was refused with {said}")
        self.nothing_of_ours("moved")
        self.link.settle()
        self.nothing_of_ours("moved, up,")
        under, self.parent, self.places = self.parent, "", {TC_H_ROOT: 1}
        while not self.is_there(TC_H_ROOT):
            self.make(TC_H_ROOT)
        self.change_soundly()
        self.link.send(self.random)
        if said := self.link.move(self.link.home):
            raise BrokenPromiseError(f"{self.link.kind}: the way back was refused with {said}")
        self.nothing_of_ours("moved back")
        self.link.settle()
        self.settle_under(under)
        self.await_packets("moved")

    # ---- counting ----

    def counted(self) -> tuple[dict[tuple[int, int], tuple[bytes, int, int]], dict[int, tuple[int, int]]]:
        """Packets and bytes of each qdisc, and of each fq_rr's classes together, by its major number."""
        of_qdiscs: dict[tuple[int, int], tuple[bytes, int, int]] = {}
        head = messages.tcmsg(self.device, 0, 0)
        for answer in self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, head):
            index, handle, parent = struct.unpack_from("=iII", answer, 20)
            attributes = dict(split_attributes(answer[36:]))
            if index == self.device and TCA_STATS2 in attributes:
                queue = dict(split_attributes(attributes[TCA_STATS2]))[TCA_STATS_QUEUE]
                of_qdiscs[parent, handle] = (attributes[TCA_KIND].rstrip(b"\0"), *struct.unpack_from("=II", queue))
        of_classes: dict[int, tuple[int, int]] = {}
        for answer in self.netlink.dump(RTM_GETTCLASS, RTM_NEWTCLASS, head):
            handle = struct.unpack_from("=I", answer, 24)[0]
            attributes = dict(split_attributes(answer[36:]))
            if attributes[TCA_KIND] != b"fq_rr\0":
                continue
            parts = dict(split_attributes(attributes[TCA_STATS2]))
            if STATS_FLOW not in dict(split_attributes(parts[TCA_STATS_APP])):
                raise BrokenPromiseError(f"class {handle:x} has no queue")
            packets, octets = struct.unpack_from("=II", parts[TCA_STATS_QUEUE])
            so_far = of_classes.get(handle >> 16, (0, 0))
            of_classes[handle >> 16] = so_far[0] + packets, so_far[1] + octets
        return of_qdiscs, of_classes

    def disagreement(self) -> str:
        """What does not add up at this moment, or nothing."""
        of_qdiscs, of_classes = self.counted()
        below = (0, 0)
        for (_, handle), (kind, packets, octets) in of_qdiscs.items():
            if kind != b"fq_rr":
                continue
            below = below[0] + packets, below[1] + octets
            classes = of_classes.get(handle >> 16, (0, 0))
            # a packet that a parent has peeked at, or bytes that parents have not
            # been told of, are in no class
            if not self.parent and classes != (packets, octets):
                return f"fq_rr has {packets} packets, {octets} bytes, its classes {classes}"
            if classes[0] > packets or packets - classes[0] > 1:
                return f"fq_rr {handle:x} has {packets} packets, its classes {classes[0]}"
        if self.parent:
            kinds = {kind: numbers for kind, *numbers in of_qdiscs.values()}
            above = kinds.get(self.parent.encode(), [0, 0])
            wanted = list(below) if PARENTS[self.parent][2] else [below[0], above[1]]
            if above != wanted:
                return f"{self.parent} has {above}, what is below it {below}"
        return ""

    def count(self) -> None:
        """While nothing is sent: all adds up, and once it has drained all is nought."""
        self.tally.counts["countings"] += 1
        for pid in self.senders:
            os.kill(pid, signal.SIGSTOP)
        try:
            # TCP still sends again, and links serve: only what stays wrong is wrong
            self.until("does not add up", self.disagreement, 40)
            for parent in self.places:
                fast = {o.number: 0 for o in self.options if o.name == "QLBP"}
                fast |= {o.number: 10**10 for o in self.options if o.name == "RATE64"}
                fast |= {o.number: 200 for o in self.options if o.name == "LIMIT"}
                self.try_out("drain", self.request(parent, fast), 0, parent, fast, faulty=False)
            self.until("is not empty", self.remains, 400)
        finally:
            for pid in self.senders:
                os.kill(pid, signal.SIGCONT)

    def remains(self) -> str:
        """What is left in an fq_rr that has nothing to send."""
        for answer in self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, messages.tcmsg(self.device, 0, 0)):
            attributes = dict(split_attributes(answer[36:]))
            if struct.unpack_from("=i", answer, 20)[0] != self.device or attributes[TCA_KIND] != b"fq_rr\0":
                continue
            parts = dict(split_attributes(attributes[TCA_STATS2]))
            left = {"qlen, bytes": struct.unpack_from("=II", parts[TCA_STATS_QUEUE])}
            for number, value in split_attributes(parts[TCA_STATS_APP]):
                if STATISTICS[number] in ("memory_bytes", "flows_active", "longest_bytes"):
                    left[STATISTICS[number]] = (int.from_bytes(value, "little"),)
            if any(map(any, left.values())):
                return f"left: {left}"
        return ""

    def until(self, what: str, wrong: Callable[[], str], tries: int) -> None:
        """Nothing is wrong at least once in so many looks, 5 ms apart."""
        said = ""
        for _ in range(tries):
            said = wrong()
            if not said:
                return
            time.sleep(0.005)
        raise BrokenPromiseError(f"{what}, below {self.parent or 'the device'}: {said}")

    # ---- all of it ----

    def torment(self, seconds: float) -> Tally:
        """Do things at random for so long."""
        until_s = time.monotonic() + seconds
        deeds = (
            (self.change_soundly, 30),
            (self.change_out_of_range, 15),
            (self.change_anyhow, 10),
            (self.malform, 18),
            (self.replace, 6),
            (self.pace, 4),
            (self.weigh, 6),
            (self.take_down, 1),
            (self.switch_offload, 2),
            (self.resize, 3),
            (self.rename, 1),
            (self.visit, 1),
            (self.count, 1),
            (self.filter, 3),
            (self.move, 1),
        )
        acts, weights = [deed for deed, _ in deeds], [weight for _, weight in deeds]
        try:
            while time.monotonic() < until_s:
                self.random.choices(acts, weights)[0]()
                if self.awaited:
                    self.look_for_packets()
                time.sleep(self.random.choice((0, 0.002, 0.01, 0.04)))
            self.count()
        except BrokenPromiseError as error:
            self.tally.broken.append(str(error))
        self.tally.digest = self.hash.hexdigest()
        return self.tally
