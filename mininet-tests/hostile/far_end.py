# SPDX-License-Identifier: GPL-2.0
"""A TCP of our own at the far side of a bottleneck: it takes data, and misbehaves if told to.

It keeps no data, only which bytes it has. All sequence numbers count from the
sender's SYN, which is byte 0, and do not wrap: no connection here lasts 4 GB.
"""

from __future__ import annotations

import heapq
import struct
from collections import Counter
from dataclasses import dataclass
from itertools import count
from random import Random

from . import wire
from .path import MS_NS, Bottleneck, Clock

STAMP_HZ_NS = MS_NS
SACK_BLOCKS, SACK_BLOCKS_BARE = 3, 4
PORT = 9
# How many of the last round trips' acknowledgments explain what leaves in one: what the
# sender believes of the path is two round trips old where it was idle for one. Where no
# timer ran out it may be older: who was idle, or met a closed window, may go on as before.
EXPLAINED_BY, REMEMBERED = 3, 60
# Where this program is late, packets come in a heap, as from no bottleneck. pktpair_1994 takes each
# gap for a service time, so for its sake they come at these eighths of their distances at least. That
# makes them later still, and what confirms a share needs it not.
DISTANCE_KEPT_Q3 = 7
# Less is not waited for. This program takes 75 us for a packet, which keeps those apart that
# follow each other so closely; to wait for each as well takes a processor that is not there.
NOT_WAITED_NS = 50_000


@dataclass
class Settings:
    """What a connection is like before anyone misbehaves."""

    rate_bytes_s: int
    round_trip_ns: int
    room_bytes: int
    mtu: int
    ack_every: int = 2
    window: int = 8 << 20
    scale: int = 8
    stamps: bool = True
    sack: bool = True
    passive: bool = False
    ecn: bool = False
    # the MSS that the far end announces; 0: what fits the MTU
    mss: int = 0
    # SYNs that are lost
    deaf: int = 0

    def __str__(self) -> str:
        """In a few words."""
        flags = [name for name in ("stamps", "sack", "passive", "ecn") if getattr(self, name)]
        return (
            f"{self.rate_bytes_s // 125} kbit/s, {self.round_trip_ns // MS_NS} ms, room {self.room_bytes},"
            f" MTU {self.mtu}, ACK every {self.ack_every}, {' '.join(flags)}"
        )

    @property
    def pipe_bytes(self) -> int:
        """What fills the path without a queue, on the wire."""
        return self.rate_bytes_s * self.round_trip_ns // 1_000_000_000


@dataclass
class Manners:
    """How the far end treats the rules; as it is made, it keeps them."""

    ack_every: int = 2
    # ACKs that one becomes, of parts of what it covers
    divide: int = 1
    # the same ACK so many times
    repeat: int = 1
    # parts of ACKs and of data that are lost
    lose_acks: float = 0
    lose_data: float = 0
    # ACKs that come later than they should, and by how long
    delay_acks: float = 0
    delay_ns: int = 0
    # ACKs wait for each other so long and come at once
    hold_ns: int = 0
    # says that it got twice what it did not
    duplicates: float = 0
    # "": only what has come; "sent": what has left, train by train; "each": segment by
    # segment; "beyond": what has not left
    optimistic: str = ""
    # "honest", "zero", "constant", "forwards", "backwards", "random"
    stamps: str = "honest"
    # "honest", "latched", "toggled", "never"
    echo: str = "honest"
    # marks a part of the packets that can be
    mark: float = 0
    window: int | None = None
    # neither takes nor says anything
    silent: bool = False


class FarEnd:
    """One connection's far end, with the bottleneck before it."""

    def __init__(
        self, clock: Clock, tun: wire.Tun, host: int, settings: Settings, random: Random, counts: Counter[str]
    ) -> None:
        """Wait for a SYN."""
        self.clock, self.tun, self.host = clock, tun, host
        self.settings, self.random, self.counts = settings, random, counts
        self.bottleneck = Bottleneck(settings.rate_bytes_s, settings.round_trip_ns, settings.room_bytes)
        self.manners = Manners(ack_every=settings.ack_every)
        self.port = PORT
        self.peer_port = 0
        # what is behind the bottleneck, by when it is due; when the last of it came, and was due
        self.under_way: list[tuple[int, int, tuple[int, int, int, int, int]]] = []
        self.number = count()
        self.came_ns = self.due_ns = 0
        self.catching_up = self.keeps_distances = False
        # by how much a packet came later than it should have, at most
        self.late_ns = 0
        self.iss = random.getrandbits(32)
        self.irs = 0
        self.said = 1
        self.open = self.closed = False
        self.stamps = self.sack = self.ecn = False
        self.stamp_recent = 0
        self.stamp_lie = random.getrandbits(31)
        # what has come: all below `have`, and ranges beyond
        self.have = 1
        self.ranges: list[list[int]] = []
        self.highest = 1
        self.newest = b""
        self.since_ack = 0
        self.held: list[tuple[int, int, bytes]] = []
        self.holding = False
        self.echoing = False
        self.lose_next = 0
        # out-of-order data is thrown away at the next chance, and as it comes until then
        self.reneges = False
        self.short_until = 0
        self.deaf = settings.deaf
        # what left before anything was acknowledged
        self.first_flight = 0
        # ends of segments that are acknowledged one by one, much later
        self.dripping = False
        self.edges: list[int] = []
        # what ACKs have claimed, and what of that the kernel heard; and all below this byte
        self.claimed = self.heard = 1
        self.heard_below = 1
        self.stamp_heard: int | None = None
        # round trips in which the kernel was in the state Loss
        self.outages: list[int] = []
        # it keeps the rules again
        self.behaves = False
        # round trips in which it found out that a timeout was none
        self.undone: list[int] = []
        # per round trip: bytes that left, that were acknowledged, that came for the first time
        self.began = clock.now()
        self.left: Counter[int] = Counter()
        self.acked: Counter[int] = Counter()
        self.came: Counter[int] = Counter()

    # ---- time in round trips ----

    def round(self, now: int | None = None) -> int:
        """The number of a round trip without a queue, from the beginning."""
        return ((now or self.clock.now()) - self.began) // self.settings.round_trip_ns

    # ---- what the kernel sent ----

    def take(self, packet: wire.Arrived, raw: bytes) -> None:
        """A packet has left the kernel."""
        now = self.clock.now()
        if packet.flags & wire.RST:
            self.closed = True
            self.counts["reset by the kernel"] += 1
            return
        if packet.flags & wire.SYN:
            self._take_syn(packet, now)
            return
        if packet.flags & wire.CWR:
            self.counts["CWR"] += 1
            if self.manners.echo == "honest":
                self.echoing = False
        start = (packet.sequence - self.irs) % wire.MODULUS
        if packet.flags & wire.FIN and not packet.bytes:
            self._carry(now + self.settings.round_trip_ns, (start, 1, packet.stamp, packet.ecn, 0))
            return
        if not packet.bytes:
            # a probe of a closed window asks for an answer
            if start == self.have - 1:
                self.clock.at(now + self.settings.round_trip_ns, self.acknowledge)
            return
        self._take_data(packet, raw, start, now)

    def _take_data(self, packet: wire.Arrived, raw: bytes, start: int, now: int) -> None:
        number = self.round(now)
        end = start + packet.bytes
        self.left[number] += packet.bytes
        self.newest = raw[wire.VIRTIO_BYTES : wire.VIRTIO_BYTES + 28]
        self.counts["packets"] += 1
        for place in range(start, end, packet.segment):
            size = min(packet.segment, end - place)
            if self.dripping:
                self.edges.append(place + size)
            moment = self.bottleneck.enter(now, size + packet.header)
            self.counts["segments"] += 1
            if moment is None:
                self.counts["dropped by the queue"] += 1
            elif self.lose_next or (self.manners.lose_data and self.random.random() < self.manners.lose_data):
                self.lose_next = max(self.lose_next - 1, 0)
                self.counts["data lost"] += 1
            else:
                self._carry(moment, (place, size, packet.stamp, packet.ecn, packet.header))
        self.highest = max(self.highest, end)
        if self.manners.optimistic == "sent":
            self._optimistic(self.highest)
        elif self.manners.optimistic == "each":
            for place in range(start, end, packet.segment):
                self._optimistic(min(place + packet.segment, end))
        elif self.manners.optimistic == "beyond":
            # further than any window: what was sent and is not read yet is sent
            self.acknowledge(self.highest + self.random.choice((2**24, 2**30)))
            self.counts["ACK of what was not sent"] += 1

    def _optimistic(self, upto: int) -> None:
        if upto > self.have:
            self.have = upto
            self._absorb()
            self.acknowledge()
            self.counts["ACK of what has not come"] += 1

    # ---- opening ----

    def _take_syn(self, packet: wire.Arrived, now: int) -> None:
        self.irs = packet.sequence
        self.peer_port, self.port = packet.source, packet.target
        settings = self.settings
        self.stamps = settings.stamps and wire.OPT_STAMPS in packet.options
        self.sack = settings.sack and wire.OPT_SACK_PERMITTED in packet.options
        self.stamp_recent = packet.stamp
        if packet.flags & wire.ACK:
            self.ecn = settings.ecn and bool(packet.flags & wire.ECE)
            self.clock.at(now + settings.round_trip_ns, self._established)
            return
        if self._loses_syn():
            return
        self.ecn = settings.ecn and packet.flags & (wire.ECE | wire.CWR) == wire.ECE | wire.CWR
        flags = wire.SYN | wire.ACK | (wire.ECE if self.ecn else 0)
        self.clock.at(now + settings.round_trip_ns, self._send_syn, flags, wire.OPT_SCALE in packet.options)

    def _loses_syn(self) -> bool:
        """Whether a SYN is not answered, so that it is sent again."""
        if self.deaf:
            self.deaf -= 1
            self.counts["SYN lost"] += 1
            return True
        return False

    def _send_syn(self, flags: int, scaled: bool = True) -> None:
        options = struct.pack("!BBH", wire.OPT_MSS, 4, self.settings.mss or self.settings.mtu - 40)
        if self.sack:
            options += bytes((1, 1, wire.OPT_SACK_PERMITTED, 2))
        if self.stamps:
            options += wire.STAMPS + struct.pack("!II", self._stamp(), self.stamp_recent)
        if scaled:
            options += bytes((1, wire.OPT_SCALE, 3, self.settings.scale))
        word = (5 + len(options) // 4) << 12 | flags
        ack = self.irs + 1 if flags & wire.ACK else 0
        header = struct.pack("!HHIIHHHH", self.port, self.peer_port, self.iss, ack % wire.MODULUS, word, 65535, 0, 0)
        self.tun.send(self.host, header + options)
        self.open = bool(flags & wire.ACK)

    def call(self, port: int) -> None:
        """Open the connection from here, to a listening socket of the kernel."""
        self.peer_port, self.port = port, self.random.randrange(1024, 65536)
        self.sack, self.stamps = self.settings.sack, self.settings.stamps
        self._send_syn(wire.SYN | ((wire.ECE | wire.CWR) if self.settings.ecn else 0))

    def _established(self) -> None:
        self.open = True
        self.acknowledge()

    # ---- what has come through the bottleneck ----

    def _carry(self, moment: int, packet: tuple[int, int, int, int, int]) -> None:
        heapq.heappush(self.under_way, (moment, next(self.number), packet))
        self.clock.at(moment, self._come)

    def _come(self, waited: bool = False) -> None:
        """Take what is due, as far as the distance to the packet before allows by now."""
        if self.catching_up and not waited:
            return
        self.catching_up = False
        while self.under_way and (due := self.under_way[0][0]) <= (now := self.clock.now()):
            earliest = self.came_ns + (due - self.due_ns) * DISTANCE_KEPT_Q3 // 8 - NOT_WAITED_NS
            if self.keeps_distances and now < earliest:
                self.catching_up = True
                self.clock.at(earliest, self._come, True)
                return
            self.due_ns, self.came_ns = due, now
            self.late_ns = max(self.late_ns, now - due)
            self._arrive(*heapq.heappop(self.under_way)[2])

    def _arrive(self, start: int, size: int, stamp: int, ecn: int, header: int) -> None:
        if self.closed or self.manners.silent:
            return
        before = self._total()
        in_order = start <= self.have < start + size
        is_old = start + size <= self.have or any(low <= start and start + size <= high for low, high in self.ranges)
        # what is not simply the next is acknowledged at once
        unusual = True
        if in_order:
            self.have = start + size
            self.stamp_recent = stamp
            unusual = bool(self.ranges)
            if self.reneges and self.ranges:
                self._renege()
            self._absorb()
        elif not is_old and self.clock.now() < self.short_until:
            self.counts["thrown away"] += 1
            return
        elif not is_old:
            self._insert(start, start + size)
        gained = self._total() - before
        if gained > 0:
            self.came[self.round()] += gained + header
        self._echo(ecn)
        self.since_ack += 1
        if self.manners.optimistic in ("sent", "each"):
            return
        twice = (start, start + size) if is_old and self.sack else None
        if self.manners.duplicates and self.sack and self.random.random() < self.manners.duplicates:
            low = max(self.have - self.random.choice((1, size, 10 * size)), 1)
            twice = (low, self.have)
            self.counts["D-SACK of what came once"] += 1
        if unusual or twice or self.since_ack >= self.manners.ack_every:
            self.since_ack = 0
            self._acknowledge_by_manners(start + size if not in_order else 0, twice)
        elif self.since_ack == 1 and self.manners.ack_every <= 2:
            # a delayed ACK
            self.clock.at(self.clock.now() + 40 * MS_NS, self._late, self.have)
        elif self.since_ack == 1:
            self.clock.at(self.clock.now() + self.settings.round_trip_ns, self._late, self.have)

    def _late(self, had: int) -> None:
        if self.since_ack and self.claimed <= had and not self.manners.silent:
            self.since_ack = 0
            self.acknowledge()

    def _total(self) -> int:
        return self.have + sum(high - max(low, self.have) for low, high in self.ranges if high > self.have)

    def missing(self) -> int:
        """Segments that are missing below what has come."""
        if not self.ranges:
            return 0
        return (self.ranges[-1][1] - self._total()) // max(self.settings.mtu - 40, 1) + 1

    def _absorb(self) -> None:
        while self.ranges and self.ranges[0][0] <= self.have:
            self.have = max(self.have, self.ranges.pop(0)[1])

    def _insert(self, low: int, high: int) -> None:
        kept = []
        for place in self.ranges:
            if place[1] < low or place[0] > high:
                kept.append(place)
            else:
                low, high = min(low, place[0]), max(high, place[1])
        self.ranges = sorted([*kept, [low, high]])

    def _renege(self) -> None:
        """What was selectively acknowledged is thrown away, and what is still under way.

        Or the arrival of that would prove that the timeout to come was none.
        """
        self.ranges = []
        # to acknowledge it again tells the sender something again
        self.claimed = self.heard = min(self.heard, self.have)
        self.reneges = False
        self.short_until = self.bottleneck.free_ns + self.settings.round_trip_ns
        self.counts["reneged"] += 1

    def _echo(self, ecn: int) -> None:
        manners = self.manners
        if not self.ecn:
            return
        if manners.echo == "latched":
            self.echoing = True
        elif manners.echo == "toggled":
            self.echoing = not self.echoing
        elif ecn and (ecn == wire.CE or (manners.mark and self.random.random() < manners.mark)):
            self.echoing = manners.echo == "honest"
            self.counts["marked"] += 1

    # ---- acknowledgments ----

    def _stamp(self) -> int:
        way = self.manners.stamps
        if self.behaves and self.stamp_heard is not None and self._is_old(self._honest_stamp()):
            # or all that follows would be older than what the kernel has seen: held ACKs may come after this began
            self.stamp_lie += (self.stamp_heard + 1 - self._honest_stamp()) % wire.MODULUS
        honest = self._honest_stamp()
        if way == "honest":
            return honest
        self.counts[f"time stamp {way}"] += 1
        if way == "zero":
            return 0
        if way == "constant":
            return self.stamp_lie
        if way == "forwards":
            self.stamp_lie += self.random.choice((1, 1000, 10**6))
            return (honest + self.random.randrange(10**6)) % wire.MODULUS
        if way == "backwards":
            return (honest - self.random.randrange(10**4)) % wire.MODULUS
        return self.random.getrandbits(32)

    def _honest_stamp(self) -> int:
        return (self.clock.now() // STAMP_HZ_NS + self.stamp_lie) % wire.MODULUS

    def _is_old(self, stamp: int) -> bool:
        """Whether a kernel that remembers the newest that it heard drops a segment with this one (RFC 7323)."""
        return self.stamp_heard is not None and (stamp - self.stamp_heard) % wire.MODULUS >= wire.MODULUS // 2

    def _echoed_stamp(self) -> int:
        way = self.manners.stamps
        if way == "random":
            return self.random.getrandbits(32)
        if way == "zero":
            return 0
        if way in ("forwards", "backwards"):
            step = self.random.randrange(1000)
            return (self.stamp_recent + (step if way == "forwards" else -step)) % wire.MODULUS
        return self.stamp_recent

    def _acknowledge_by_manners(self, newest: int, twice: tuple[int, int] | None) -> None:
        parts = self.manners.divide
        began = self.claimed
        covered = self.have - began
        if parts > 1 and covered > parts:
            self.counts["divided ACKs"] += 1
            for part in range(1, parts):
                self.acknowledge(began + covered * part // parts)
        self.acknowledge(None, newest, twice)

    def acknowledge(self, upto: int | None = None, newest: int = 0, twice: tuple[int, int] | None = None) -> None:
        """Say what has come, or what is claimed to have."""
        if self.closed or self.manners.silent or not self.open:
            return
        stamp = self._stamp()
        segment = self._segment(stamp, upto or self.have, newest, twice)
        # beyond what was sent the kernel believes nothing
        claimed = self.claimed if upto and upto > self.highest else min(upto or self._total(), self.highest)
        self.claimed = max(self.claimed, claimed)
        manners = self.manners
        for _ in range(manners.repeat):
            if manners.lose_acks and self.random.random() < manners.lose_acks:
                self.counts["ACKs lost"] += 1
            elif manners.hold_ns:
                self.held.append((stamp, claimed, segment))
                if not self.holding:
                    self.holding = True
                    self.clock.at(self.clock.now() + manners.hold_ns, self._release)
            elif manners.delay_acks and self.random.random() < manners.delay_acks:
                self.counts["ACKs reordered"] += 1
                late = self.clock.now() + self.random.randrange(manners.delay_ns)
                self.clock.at(late, self._say, stamp, claimed, segment)
            else:
                self._say(stamp, claimed, segment)
        if manners.repeat > 1:
            self.counts["repeated ACKs"] += manners.repeat - 1

    def _release(self) -> None:
        self.holding = False
        held, self.held = self.held, []
        self.counts["bursts of ACKs"] += len(held) > 1
        for ack in held:
            self._say(*ack)

    def _utter(self, stamp: int, segment: bytes) -> bool:
        """Send a segment; returns whether a kernel takes it.

        It drops one with an old time stamp (RFC 7323), and one that acknowledges what was not sent (RFC 9293), whose
        time stamp it does not remember.
        """
        self.tun.send(self.host, segment)
        sent = self._acknowledged(segment) <= self.highest
        if not self.stamps:
            return sent
        if self._is_old(stamp):
            self.counts["segments with an old time stamp"] += 1
            return False
        if sent:
            self.stamp_heard = stamp
        return sent

    def _acknowledged(self, segment: bytes) -> int:
        """The byte up to which a segment acknowledges all."""
        return (int.from_bytes(segment[8:12], "big") - self.irs) % wire.MODULUS

    def _say(self, stamp: int, claimed: int, segment: bytes) -> None:
        """Send an ACK; and note what it tells a kernel that takes it."""
        if not self._utter(stamp, segment):
            return
        news = max(claimed - self.heard, 0)
        below = self._acknowledged(segment)
        if not self.sack and self.heard_below < below <= self.highest:
            # what it was told of by duplicates it may have forgotten by now
            news = max(news, below - self.heard_below)
            self.heard_below = below
        if news:
            self.first_flight = self.first_flight or self.highest - 1
            self.acked[self.round()] += news
            self.heard = max(self.heard, claimed)

    def behave(self) -> None:
        """Keep the rules from now on, as far as what was said allows."""
        self.manners = Manners(ack_every=self.settings.ack_every)
        self.behaves = True

    def _segment(self, stamp: int, upto: int, newest: int, twice: tuple[int, int] | None) -> bytes:
        options = b""
        if self.stamps:
            options = wire.STAMPS + struct.pack("!II", stamp, self._echoed_stamp())
        if self.sack and (twice or self.ranges):
            blocks = [block for block in self.ranges if block[0] <= newest - 1 < block[1]]
            blocks += [block for block in reversed(self.ranges) if block not in blocks]
            edges = [edge for block in ([twice] if twice else []) + blocks for edge in block]
            edges = edges[: 2 * (SACK_BLOCKS if self.stamps else SACK_BLOCKS_BARE)]
            options += struct.pack(
                f"!BBBB{len(edges)}I", 1, 1, 5, 2 + 4 * len(edges), *((self.irs + e) % wire.MODULUS for e in edges)
            )
        window = self.settings.window if self.manners.window is None else self.manners.window
        flags = wire.ACK | (wire.ECE if self.echoing else 0)
        return (
            struct.pack(
                "!HHIIHHHH",
                self.port,
                self.peer_port,
                (self.iss + self.said) % wire.MODULUS,
                (self.irs + upto) % wire.MODULUS,
                (5 + len(options) // 4) << 12 | flags,
                min(window >> self.settings.scale, 65535),
                0,
                0,
            )
            + options
        )

    # ---- misdeeds that take place at once ----

    def drip(self) -> None:
        """Acknowledge one more segment; say nothing of any other."""
        self.edges = [edge for edge in self.edges if edge > self.have]
        if self.edges and not self.closed:
            self.have = min(self.edges)
            stamp = self._stamp()
            self._say(stamp, self.have, self._segment(stamp, self.have, 0, None))
            self.counts["single late ACKs"] += 1

    def talk(self, size: int) -> None:
        """Data the other way, which carries an ACK."""
        stamp = self._stamp()
        # what a kernel drops is not said again: later bytes take its place
        if self._utter(stamp, self._segment(stamp, self.have, 0, None) + bytes(size)):
            self.said += size
        self.counts["data the other way"] += 1

    def finish(self, flag: int) -> None:
        """A FIN or a RST."""
        stamp = self._stamp()
        head = bytearray(self._segment(stamp, self.have, 0, None))
        head[13] |= flag
        heard = self._utter(stamp, bytes(head))
        self.said += heard and flag == wire.FIN
        if flag == wire.RST:
            self.closed = True

    def acknowledge_what_is_owed(self) -> None:
        """What a receiver owes that has come to life again: all that came is acknowledged."""
        if self.since_ack:
            self.since_ack = 0
            self.acknowledge()

    def packet_too_big(self, mtu: int) -> None:
        """A router says that its link is narrower."""
        if self.newest:
            self.tun.fragmentation_needed(self.host, mtu, self.newest)
            self.counts["ICMP: too big"] += 1

    # ---- what came of it ----

    def amplified(self, first: int, last: int, factor: float, more: int) -> tuple[float, int]:
        """The round trip in which most left beyond what acknowledgments explain.

        Where the bottleneck was made faster, or the sender held up, what the bottleneck carries in a
        round trip is explained as well: gaps show it while less is acknowledged.

        :param factor: so many times what was acknowledged in a round trip is explained
        :param more: and so many bytes
        :returns: how many times the allowance left, and in which round trip
        """
        worst, where = 0.0, first
        carried = self.bottleneck.shown * self.settings.round_trip_ns // 1_000_000_000
        for number in range(first, last + 1):
            explained = max(carried, *(self.acked[n] for n in range(self._explained_from(number), number + 1)))
            part = self.left[number] / (factor * explained + more)
            if part > worst:
                worst, where = part, number
        return worst, where

    def _explained_from(self, number: int) -> int:
        """The first round trip whose ACKs still count: a timer that ran out ends that, if a timeout it was."""
        if any(number - EXPLAINED_BY <= n <= number for n in self.undone):
            return number - REMEMBERED
        outages = [n for n in self.outages if n <= number]
        first = max(number - REMEMBERED, (outages[-1] if outages else 0))
        return min(first, number - EXPLAINED_BY)

    def delivered(self, first: int, rounds: int) -> float:
        """The part of the bottleneck that new data filled in some round trips."""
        came = sum(self.came[n] for n in range(first, first + rounds))
        return came / (self.bottleneck.rate * self.settings.round_trip_ns * rounds / 1_000_000_000)
