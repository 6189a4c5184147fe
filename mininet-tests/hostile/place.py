# SPDX-License-Identifier: GPL-2.0
"""A network namespace of the tenant's, and what it asks the kernel there."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from in_guest.link import CLONE_NEWNET
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
from in_guest.qdisc import STATISTICS
from torture import messages
from torture.checks import LIBC
from torture.tormentor import Batch

CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE = 4
NOBODY = 65534
SIOCGIFMTU = 0x8921
IPV6 = Path("/proc/sys/net/ipv6/conf")
RTM_NEWTFILTER, RTM_DELTFILTER, RTM_GETTFILTER = 44, 45, 46
RTM_GETLINK, RTM_NEWLINK = 18, 16
IFLA_MIN_MTU, IFLA_MAX_MTU = 50, 51
TCA_MATCHALL_ACT, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_ACT_STATS, TCA_GACT_PARMS = 2, 1, 2, 4, 2
# Where classifiers have their actions: others' options by the same number are something else
ACTIONS_OF = {b"matchall\0": TCA_MATCHALL_ACT, b"flower\0": 3, b"u32\0": 7}
# What a dump shows of an fq_rr that only ever grows
GROWING = (
    *("enqueued", "drops_flushed", "drops_head", "drops_tail", "drops_arriving", "drops_gso", "flushes"),
    *("over_limit", "over_memory", "split", "segments", "collisions", "classified", "rehashes", "marks", "over_share"),
)


def become_tenant() -> None:
    """Give up root, and be root of a user and a network namespace of one's own."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # who has changed who he is may not write about himself in /proc otherwise
    if LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) or LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "a user namespace")
    for name, text in (("setgroups", "deny"), ("gid_map", f"0 {NOBODY} 1"), ("uid_map", f"0 {NOBODY} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


class Place:
    """The namespace that this process is in, with programs that stay there."""

    def __init__(self, counts: Counter[str], asked: Callable[[bytes], None]) -> None:
        """Look around.

        :param counts: takes what was asked, by the kernel's answer
        :param asked: takes requests and answers, of which there are the same in a run with the same seed
        """
        self.counts = counts
        self.asked = asked
        self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.ip, self.tc = Batch("ip", may_end=True), Batch("tc", may_end=True)
        self.netlink = messages.Netlink()
        self.control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # devices that come get no addresses, and send nothing on their own
        (IPV6 / "default" / "disable_ipv6").write_text("1")
        # what each fq_rr has shown last, by device and handle
        self.seen: dict[tuple[int, int], dict[str, int]] = {}

    def end(self) -> None:
        """Let go of it: what is in it goes too."""
        self.ip.end()
        self.tc.end()
        self.netlink.socket.close()
        self.control.close()
        os.close(self.fd)

    # ---- asking ----

    def do(self, program: Batch, *commands: str) -> bool:
        """Commands of ip or tc; whether all were done."""
        said = program.do(*commands)
        self.asked("\n".join((*commands, *said)).encode())
        self.counts[f"{program.command[0]} commands"] += len(commands)
        self.counts["refused: a command"] += len([line for line in said if "answers" in line or "Error" in line])
        return not said

    def ask(self, whole: bytes) -> int | None:
        """The kernel's errno for a request; counted by it."""
        try:
            said = self.netlink.ask(whole)
        except OSError as error:
            said = error.errno
        self.asked(whole + str(said).encode())
        self.counts["requests"] += 1
        if said:
            self.counts[f"refused: {errno.errorcode.get(said, str(said))}"] += 1
        elif said == 0:
            self.counts["accepted"] += 1
        self.netlink.drop_answers()
        return said

    def index(self, name: str) -> int:
        """A device's number, 0 if it is not here."""
        try:
            return socket.if_nametoindex(name)
        except OSError:
            return 0

    def head(self, name: str, parent: int = TC_H_ROOT, handle: int = 0x10000) -> bytes:
        """What a request about a qdisc begins with."""
        return messages.tcmsg(self.index(name), handle, parent)

    def fq_rr(
        self,
        name: str,
        parts: bytes,
        parent: int = TC_H_ROOT,
        handle: int = 0x10000,
        flags: int = NLM_F_CREATE | NLM_F_REPLACE,
    ) -> int | None:
        """Add or change an fq_rr."""
        body = attribute(TCA_KIND, b"fq_rr\0") + attribute(TCA_OPTIONS | NLA_F_NESTED, parts)
        flags |= NLM_F_REQUEST | NLM_F_ACK
        return self.ask(messages.message(RTM_NEWQDISC, flags, self.head(name, parent, handle) + body))

    def delete(self, name: str, parent: int = TC_H_ROOT, handle: int = 0) -> int | None:
        """Delete a qdisc."""
        self.harvest(name)
        return self.ask(messages.message(RTM_DELQDISC, NLM_F_REQUEST | NLM_F_ACK, self.head(name, parent, handle)))

    def weigh(self, name: str, minor: int, parts: bytes) -> int | None:
        """Change a class of the fq_rr at the root."""
        body = attribute(TCA_KIND, b"fq_rr\0") + attribute(TCA_OPTIONS | NLA_F_NESTED, parts)
        head = self.head(name, 0, 0x10000 | minor & 0xFFFF)
        return self.ask(messages.message(RTM_NEWTCLASS, NLM_F_REQUEST | NLM_F_ACK, head + body))

    def answer(self, name: str, verdict: int, add: bool) -> int | None:
        """Add or delete a filter of the fq_rr at the root with one answer for all: see cls_verdict.c."""
        prio = verdict + 1
        order, flags = (RTM_NEWTFILTER, NLM_F_CREATE) if add else (RTM_DELTFILTER, 0)
        head = struct.pack("=BBHiIII", 0, 0, 0, self.index(name), 0, 0x10000, prio << 16 | socket.htons(3))
        whole = messages.message(order, NLM_F_REQUEST | NLM_F_ACK | flags, head + attribute(TCA_KIND, b"verdict\0"))
        return self.ask(whole)

    def decide(self, name: str, prio: int, result: int) -> int | None:
        """A filter of the fq_rr at the root that takes all, with an action of one result."""
        parms = struct.pack("=IIiii", 0, 0, result, 0, 0)
        options = attribute(TCA_ACT_OPTIONS | NLA_F_NESTED, attribute(TCA_GACT_PARMS, parms))
        action = attribute(1 | NLA_F_NESTED, attribute(TCA_ACT_KIND, b"gact\0") + options)
        acts = attribute(TCA_MATCHALL_ACT | NLA_F_NESTED, action)
        body = attribute(TCA_KIND, b"matchall\0") + attribute(TCA_OPTIONS | NLA_F_NESTED, acts)
        head = struct.pack("=BBHiIII", 0, 0, 0, self.index(name), 0, 0x10000, prio << 16 | socket.htons(3))
        flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE
        return self.ask(messages.message(RTM_NEWTFILTER, flags, head + body))

    # ---- looking ----

    def action_packets(self, name: str) -> int:
        """Packets that the actions of all filters of the fq_rr at the root have had."""
        total = 0
        for answer in self.netlink.dump(RTM_GETTFILTER, RTM_NEWTFILTER, self.head(name, 0x10000, 0)):
            found = dict(split_attributes(answer[36:]))
            options = dict(split_attributes(found.get(TCA_OPTIONS, b"")))
            place = ACTIONS_OF.get(found[TCA_KIND], 0)
            for number, action in split_attributes(options.get(place, b"")):
                stats = dict(split_attributes(action)).get(TCA_ACT_STATS)
                if number and stats:
                    total += struct.unpack_from("=QI", dict(split_attributes(stats))[TCA_STATS_BASIC])[1]
        return total

    def mtu(self, name: str) -> int:
        """A device's MTU, -1 if it is not here."""
        try:
            got = fcntl.ioctl(self.control, SIOCGIFMTU, struct.pack("16si20x", name.encode(), 0))
        except OSError:
            return -1
        return int(struct.unpack_from("=i", got, 16)[0])

    def mtu_limits(self, name: str) -> tuple[int, int]:
        """The least and the largest MTU that a device says it can have."""
        body = struct.pack("=BBHiII", 0, 0, 0, self.index(name), 0, 0)
        with suppress(OSError):
            self.netlink.socket.send(messages.message(RTM_GETLINK, NLM_F_REQUEST, body))
            for answer in self.netlink.answers():
                if struct.unpack_from("=H", answer, 4)[0] != RTM_NEWLINK:
                    continue
                found = dict(split_attributes(answer[32:]))
                if IFLA_MIN_MTU in found:
                    return tuple(struct.unpack("=I", found[n])[0] for n in (IFLA_MIN_MTU, IFLA_MAX_MTU))
        return 68, 1500

    def shown(self, name: str) -> list[dict[str, int]]:
        """The statistics of every fq_rr of a device."""
        found = []
        index = self.index(name)
        for answer in self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, messages.tcmsg(index, 0, 0)) if index else []:
            of, handle, parent = struct.unpack_from("=iII", answer, 20)
            attributes = dict(split_attributes(answer[36:]))
            if of != index or attributes[TCA_KIND] != b"fq_rr\0" or TCA_STATS2 not in attributes:
                continue
            parts = dict(split_attributes(attributes[TCA_STATS2]))
            values = {"device": index, "handle": handle, "parent": parent}
            values["packets"] = struct.unpack_from("=QI", parts[TCA_STATS_BASIC])[1]
            values["qlen"], values["backlog"] = struct.unpack_from("=II", parts[TCA_STATS_QUEUE])
            for number, value in split_attributes(parts.get(TCA_STATS_APP, b"")):
                if STATISTICS[number] in GROWING:
                    values[STATISTICS[number]] = int.from_bytes(value, "little")
            found.append(values)
        return found

    def harvest(self, name: str) -> Counter[str]:
        """What every fq_rr of a device has done since it was last looked at."""
        gained: Counter[str] = Counter()
        for values in self.shown(name):
            place = values["device"], values["handle"]
            before = self.seen.get(place, {})
            # another one has come in its place
            if any(values.get(what, 0) < before.get(what, 0) for what in ("packets", "enqueued")):
                before = {}
            for what in ("packets", *GROWING):
                gained[what] += values.get(what, 0) - before.get(what, 0)
            gained["waiting"] += values["qlen"]
            self.seen[place] = values
        for what in GROWING:
            self.counts[what] += gained[what]
        return gained

    def read_all(self, random: Random) -> None:
        """Dump qdiscs, classes and filters of all devices."""
        body = messages.tcmsg(0, 0, 0)
        self.netlink.dump(RTM_GETQDISC, RTM_NEWQDISC, body)
        for _, name in socket.if_nameindex():
            head = messages.tcmsg(self.index(name), 0, 0)
            if random.random() < 0.3:
                self.netlink.dump(RTM_GETTCLASS, RTM_NEWTCLASS, head)
            if random.random() < 0.3:
                self.netlink.dump(RTM_GETTFILTER, RTM_NEWTFILTER, self.head(name, 0x10000, 0))


def new_place(counts: Counter[str], asked: Callable[[bytes], None]) -> Place:
    """Another namespace, which this process is in from now on."""
    if LIBC.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "another network namespace")
    place = Place(counts, asked)
    place.ip.do("link set lo up")
    return place


def go_to(place: Place) -> None:
    """Be in a namespace of the tenant's."""
    if LIBC.setns(place.fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
