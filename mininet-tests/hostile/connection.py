# SPDX-License-Identifier: GPL-2.0
"""A connection between the kernel and a far end: it warms up, is misused, and must recover."""

from __future__ import annotations

import errno
import socket
import struct
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from . import misdeeds, wire
from .far_end import PORT, FarEnd, Settings
from .path import SECOND_NS, Clock, Lateness

TCP_CC_INFO, SO_MAX_PACING_RATE, TCP_SYN_SENT = 26, 47, 2
LISTENING = 7000
CHUNK = bytes(1 << 17)
# struct tcp_bbr_info, which pktpair fills in too
CC_INFO = struct.Struct("=5I")
U32_MAX = 2**32 - 1
NETSTAT = Path("/proc/self/net/netstat")
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")

# Round trips until the share must be believed, else it is attacked as it is; and how well
# it is known then.
WARM_ROUNDS = 60
WARM_PART = 0.7
# Of the bottleneck, over so many round trips, so soon after the last misdeed.
RECOVERED_PART, RECOVERED_OVER = 0.5, 4
RECOVERY_ROUNDS = 40
# Where R was made to look shorter: until it is looked for anew (PROP_REFRESH_MS), and once
# more where that looked too soon.
REFRESH_NS = 22 * SECOND_NS
# A sender may wait for a timer that doubled with each round of silence; heard nothing of
# for longer than this, it is stuck.
MUTE_NS = 10 * SECOND_NS
# What may leave in a round trip, times what was acknowledged in one of the last three:
# twice the share is the law's most, and a quarter more for how round trips fall into bins.
FACTOR = 2.5
# Where ACKs lie about the rate: sixteen times is believed, at twice that rate.
FACTOR_LIES = 40.0
# And the first window, or the least that lets any train through: two trains, a setpoint
# and the window's own margin, in packets.
MORE_PACKETS = 24
# vptfrc's rate follows the losses that it has seen, real or not, for eight loss intervals: it need not fill
# a part of the bottleneck, but it must not stop for longer than the 64 s of RFC 3448 and its timer.
BACKOFF_NS = 66 * SECOND_NS
# A far end that is late by more than this part of a round trip hands over ACKs in heaps:
# what leaves then is not judged.
LATE_PART = 0.25


def timeouts_undone() -> int:
    """Of all connections of this network namespace."""
    names, values = (line.split() for line in NETSTAT.read_text().splitlines()[:2])
    return int(values[names.index("TCPLossUndo")])


class Info:
    """What TCP_INFO says."""

    def __init__(self, data: bytes) -> None:
        """Take it apart; the layout is the kernel's ABI."""
        self.state, self.ca_state, self.retransmits = data[:3]
        self.mss = struct.unpack_from("=I", data, 16)[0]
        self.unacked, self.sacked, self.lost, self.retrans = struct.unpack_from("=4I", data, 24)
        self.pmtu = struct.unpack_from("=I", data, 60)[0]
        self.rtt, self.rttvar, self.ssthresh, self.cwnd = struct.unpack_from("=4I", data, 68)
        self.reordering = struct.unpack_from("=I", data, 88)[0]
        self.total_retrans = struct.unpack_from("=I", data, 100)[0]
        self.pacing_rate = struct.unpack_from("=Q", data, 104)[0]
        self.delivered_ce = struct.unpack_from("=I", data, 196)[0]
        self.dsack_dups, self.reord_seen = struct.unpack_from("=2I", data, 216)


class Connection:
    """One run of a plan."""

    def __init__(
        self,
        clock: Clock,
        tun: wire.Tun,
        host: int,
        algorithm: str,
        settings: Settings,
        deeds: tuple[misdeeds.Misdeed, ...],
        random: Random,
        counts: Counter[str],
    ) -> None:
        """Open it, from either side."""
        self.clock, self.tun, self.algorithm = clock, tun, algorithm
        self.settings, self.deeds, self.random, self.counts = settings, deeds, random, counts
        self.far = FarEnd(clock, tun, host, settings, random, counts)
        self.by_losses = algorithm == "vptfrc"
        self.far.keeps_distances = algorithm == "pktpair_1994"
        self.phase = "opening"
        self.feeding = True
        self.broken: list[str] = []
        self.exceeded: list[str] = []
        self.told = ""
        self.began = self.ended = self.recovering = 0
        # what the kernel is in, by the round trip
        self.states: dict[int, int] = {}
        # in a timeout when last looked at, and how many of all had been undone then
        self.lost = False
        self.timeouts_undone = 0
        self.warm = False
        # round trips that it takes to send again what is missing
        self.repairs = 0
        # the largest pacing gain that there was to tell
        self.gain = 0
        self.deadline = 0
        self.late = Lateness()
        clock.watches.append(self.late)
        self.socket: socket.socket | None = None
        self.listener: socket.socket | None = None
        tun.set_mtu(settings.mtu)
        near = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        if settings.passive:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            near.bind((wire.address(tun.number, 1), LISTENING))
            near.listen(4)
            self.listener = near
            self.far.call(LISTENING)
        else:
            self.socket = near
            with suppress(BlockingIOError):
                near.connect((wire.address(tun.number, host), PORT))
        self._later()

    def _later(self) -> None:
        self.clock.at(self.clock.now() + self.settings.round_trip_ns // 2, self.tick)

    # ---- the near end ----

    def wants_to_write(self) -> socket.socket | None:
        """The socket, if there is something to send."""
        return self.socket if self.socket and self.feeding and self.phase not in ("opening", "over") else None

    def feed(self) -> None:
        """As much as the socket takes."""
        if not self.socket:
            return
        try:
            while self.socket.send(CHUNK) == len(CHUNK):
                pass
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self.feeding = False
                self.counts[f"send: {errno.errorcode[error.errno or 0]}"] += 1

    def choose(self, algorithm: str) -> None:
        """Another congestion control, under way."""
        if self.socket:
            with suppress(OSError):
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
                self.counts["algorithm switched"] += 1

    def limit_pacing(self, rate_bytes_s: int) -> None:
        """What the application allows at most."""
        if self.socket:
            self.socket.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=I", rate_bytes_s))

    def info(self) -> Info | None:
        """What the kernel says of the connection, checked for what cannot be."""
        if not self.socket:
            return None
        info = Info(self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256).ljust(256, b"\0"))
        self.states[self.far.round()] = info.ca_state
        self._note_timeout(CA_STATES[info.ca_state] == "Loss")
        self.bandwidth = 0
        name = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")
        if name.startswith(b"pktpair"):
            told = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
            # nothing: CUBIC's window steers, which has no share to tell
            low, high, round_trip, gain, _ = CC_INFO.unpack(told or bytes(CC_INFO.size))
            self.bandwidth = high << 32 | low
            self.counts["share not told"] += not told
            # a socket's congestion control begins when the SYN is acknowledged
            if not told and name == b"pktpair_1994" and info.state != TCP_SYN_SENT:
                self.fail(f"TCP_CC_INFO: pktpair_1994 tells nothing in state {info.state}")
            if round_trip:
                expected = min((info.pacing_rate << 8) // max(self.bandwidth, 1), U32_MAX)
                self.gain = max(self.gain, expected)
                if gain != expected:
                    self.fail(
                        f"TCP_CC_INFO: pacing gain {gain}, not {expected}: {info.pacing_rate} of {self.bandwidth} B/s"
                    )
        if name == b"vptfrc":
            self._check_rate(info)
        return info

    def _note_timeout(self, lost: bool) -> None:
        """A timer has run out, or the ACK of what it had sent again shows that it was too early (RFC 4015).

        The window is then what it was before. A time stamp that lies shows it as well. Another connection's counts
        here too, as the counter is of the namespace.
        """
        if lost:
            self.far.outages.append(self.far.round())
        if not lost and not self.lost:
            return
        undone = timeouts_undone()
        if self.lost and undone != self.timeouts_undone:
            self.far.undone.append(self.far.round())
        self.lost, self.timeouts_undone = lost, undone

    def _check_rate(self, info: Info) -> None:
        """What vptfrc tells: a rate, and no gains."""
        assert self.socket
        told = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
        if not told:
            self.fail(f"TCP_CC_INFO: vptfrc tells nothing in state {info.state}")
            return
        low, high, _, *gains = CC_INFO.unpack(told)
        self.bandwidth = high << 32 | low
        self.counts["rate told"] += self.bandwidth > 0
        if any(gains):
            self.fail(f"TCP_CC_INFO: gains {gains} of a rate")

    # ---- the plan ----

    def fail(self, what: str) -> None:
        """Something that must hold does not."""
        if len(self.broken) < 5:
            self.broken.append(what)

    def exceed(self, what: str) -> None:
        """A bound that must hold where the far end was in time does not."""
        if len(self.exceeded) < 5:
            self.exceeded.append(what)

    def tick(self) -> None:
        """Twice in a round trip: how far is it?"""
        if self.phase == "over":
            return
        if self.listener:
            with suppress(BlockingIOError):
                self.socket = self.listener.accept()[0]
                self.socket.setblocking(False)
                self.listener.close()
                self.listener = None
        info = self.info()
        getattr(self, f"_{self.phase}")(info)
        if self.phase != "over":
            self._later()

    def _opening(self, info: Info | None) -> None:
        if self.far.open and self.socket:
            self.phase = "warming"
            self.feed()
            self.far.began = self.clock.now()
        elif self.clock.now() - self.far.began > 20 * SECOND_NS:
            self.fail("the connection did not open")
            self.over()

    def _warming(self, info: Info | None) -> None:
        now = self.far.round()
        # payload, beside headers and time stamps
        share = self.far.bottleneck.rate * (self.tun.mtu - 52) // self.tun.mtu
        # an allowed rate may be any, a share that is measured is the share
        believed = self.by_losses or WARM_PART * share < self.bandwidth < share / WARM_PART
        self.warm = believed and now > 6 and self.far.delivered(now - 3, 3) > WARM_PART
        if self.warm or now >= WARM_ROUNDS:
            what = "bottleneck filled" if self.by_losses else "share believed"
            self.counts[what if self.warm else f"not {what}"] += 1
            if not self.warm:
                self.told = f"believes {self.bandwidth} of {share} B/s, fills {self.far.delivered(now - 3, 3):.2f}"
            self.phase = "misbehaving"
            self.began = now
            self.left_until = now + max(deed.rounds for deed in self.deeds)
            for deed in self.deeds:
                deed.begin(self, self.random)
                self.counts[deed.name] += 1

    def _misbehaving(self, info: Info | None) -> None:
        if self.far.round() < self.left_until and not self.far.closed:
            return
        if self.far.closed or any(deed.ends for deed in self.deeds):
            self.over()
            return
        self.phase = "recovering"
        self.far.behave()
        for deed in self.deeds:
            if deed.end:
                deed.end(self, self.random)
        self.ended = self.far.round()
        # without SACK the stack sends one of them again in a round trip (RFC 6582), which
        # lasts a little longer than that of an empty path
        self.repairs = 0 if self.far.sack else self.far.missing() * 3 // 2
        self.recovering = 0
        self.far.acknowledge_what_is_owed()

    def _recovering(self, info: Info | None) -> None:
        now = self.far.round()
        period = self.settings.round_trip_ns
        if self.far.closed:
            self.over()
            return
        if not self.recovering:
            # it may have to wait for a timer
            if any(self.far.left[n] for n in range(self.ended + 1, now + 1)):
                self.recovering = now
            elif (now - self.ended) * period > (BACKOFF_NS if self.by_losses else MUTE_NS):
                self.fail(f"nothing was sent for {(now - self.ended) * period / SECOND_NS:.1f} s after it")
                self.over()
            return
        filled = self.far.delivered(now - RECOVERED_OVER, RECOVERED_OVER)
        enough = filled > 0 if self.by_losses else filled >= RECOVERED_PART
        if now >= self.recovering + RECOVERED_OVER and enough:
            self.counts["recovered"] += 1
            self.told += f" recovered in {now - self.recovering} round trips"
            self.over()
            return
        shortened = any(deed.shortens for deed in self.deeds)
        limit = RECOVERY_ROUNDS + (REFRESH_NS // period if shortened else 0) + self.repairs
        limit += BACKOFF_NS // period if self.by_losses else 0
        if now - self.recovering <= limit:
            return
        # the memorandum's law keeps the shortest round trip for good, so that it need not recover
        if shortened and self.algorithm == "pktpair_1994":
            self.counts["kept the round trip that it was told"] += 1
            self.over()
        else:
            self.exceed(f"fills {filled:.2f} of the bottleneck {now - self.recovering} round trips after it")
            self.over()

    def over(self) -> None:
        """Judge, and take everything down."""
        self.phase = "over"
        lies = any(deed.lies for deed in self.deeds)
        for bits in (12, 16, 20, 24, 32):
            self.counts[f"gain beyond 2^{bits}"] += self.gain >> bits > 0 or self.gain == U32_MAX
        others = any(deed.others for deed in self.deeds)
        if self.began and not others and not (lies and self.algorithm == "pktpair_1994"):
            more = MORE_PACKETS * (self.tun.mtu - 40)
            factor = FACTOR_LIES if lies else FACTOR
            if self.algorithm == "pktpair_1994":
                # its window does not bind: after a timer it goes on at its rate, and a share
                # in a round trip needs no ACKs to explain it
                more += self.settings.pipe_bytes
            worst, where = self.far.amplified(self.began, self.far.round(), factor, more)
            rounds = [round(self.far.delivered(n, 1), 2) for n in range(self.began, self.far.round())]
            self.told += f" at most {worst:.2f} of what ACKs explain; filled {rounds[:24]}"
            if worst > 1:
                left, acked = self.far.left[where], [self.far.acked[n] for n in range(where - 3, where + 1)]
                self.exceed(
                    f"{left} bytes left in round trip {where - self.began} of the misdeed,"
                    f" {worst:.2f} times what is explained by ACKs of {acked}; states"
                    f" {[CA_STATES[self.states[n]] for n in range(where - 8, where + 2) if n in self.states]}"
                )
        kept = self.far.delivered(self.began + 1, 2)
        if self.began and not self.by_losses and kept < max(deed.keeps for deed in self.deeds):
            self.exceed(f"fills {kept:.2f} of the bottleneck in the two round trips after it")
        if self.settings.deaf > 1 and self.far.first_flight > self.settings.mtu - 40:
            # RFC 5681, 3.1: the window is one segment then
            self.fail(f"the first flight after lost SYNs has {self.far.first_flight} bytes")
        late_ns = max(self.late.most_ns, self.far.late_ns)
        self.told += f" {late_ns / 1e6:.2f} ms late"
        if late_ns > LATE_PART * self.settings.round_trip_ns:
            self.told += ", not judged"
            self.counts["not judged"] += 1
        else:
            self.broken += self.exceeded
        for state in set(self.states.values()):
            self.counts[f"state {CA_STATES[state]}"] += 1
        self.close()

    def close(self) -> None:
        """Take it down; no connection outlives this, or a module could not be unloaded."""
        if self.late in self.clock.watches:
            self.clock.watches.remove(self.late)
        for end in (self.socket, self.listener):
            if end:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()
        self.far.closed = True
