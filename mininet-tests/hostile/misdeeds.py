# SPDX-License-Identifier: GPL-2.0
"""What a far end may do to a sender, each with the path on which it tells most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from . import wire
from .far_end import Settings
from .path import MS_NS, SECOND_NS

if TYPE_CHECKING:
    from connection import Connection

MBIT = 125_000


@dataclass(frozen=True)
class Misdeed:
    """One way to misbehave, for so many round trips."""

    name: str
    begin: Callable[[Connection, Random], None]
    rounds: int
    # the path's and the connection's settings that it takes
    on: Callable[[Settings, Random], Settings] = lambda settings, random: settings
    end: Callable[[Connection, Random], None] | None = None
    # ACKs come when nothing arrived, or all at once: what they show is no link's rate
    lies: bool = False
    # round trips seem shorter than the path's, and that is believed until the next refresh
    shortens: bool = False
    # nothing is left that could recover
    ends: bool = False
    # of the bottleneck, filled in the second and third round trip
    keeps: float = 0
    # others than pktpair send as well, by laws of their own
    others: bool = False


def manners(**changes: object) -> Callable[[Connection, Random], None]:
    """Misbehave in a way that the far end knows by itself; a tuple is a choice."""

    def begin(connection: Connection, random: Random) -> None:
        drawn = {name: random.choice(value) if isinstance(value, tuple) else value for name, value in changes.items()}
        connection.far.manners = replace(connection.far.manners, **drawn)

    return begin


def long_pipe(settings: Settings, random: Random) -> Settings:
    """Eighty full packets in the pipe: what goes on with one packet a round trip never ends."""
    return replace(settings, rate_bytes_s=12 * MBIT, round_trip_ns=80 * MS_NS, mtu=1500, room_bytes=80_000)


def small_packets(settings: Settings, random: Random) -> Settings:
    """More than two of the longest trains in the pipe."""
    return replace(settings, rate_bytes_s=12 * MBIT, round_trip_ns=80 * MS_NS, mtu=576, room_bytes=120_000)


def tiny_packets(settings: Settings, random: Random) -> Settings:
    """Of 76 bytes."""
    return replace(settings, rate_bytes_s=MBIT // 2, round_trip_ns=50 * MS_NS, mtu=128, room_bytes=8000)


def jumbo(settings: Settings, random: Random) -> Settings:
    """A pipe of 200 full packets, or 32 jumbo ones."""
    return replace(settings, rate_bytes_s=40 * MBIT, round_trip_ns=60 * MS_NS, mtu=9000, room_bytes=400_000)


def normal_on_jumbo(settings: Settings, random: Random) -> Settings:
    """The same, for packets that may become larger."""
    return replace(jumbo(settings, random), mtu=1500, mss=8960)


def with_ecn(settings: Settings, random: Random) -> Settings:
    """Both ends understand marks."""
    return replace(settings, ecn=True)


def with_stamps(settings: Settings, random: Random) -> Settings:
    """Both ends send time stamps."""
    return replace(settings, stamps=True)


def with_sack(settings: Settings, random: Random) -> Settings:
    """Selective acknowledgments."""
    return replace(settings, sack=True)


def _renege(connection: Connection, random: Random) -> None:
    connection.far.lose_next = 1
    connection.far.reneges = True


def _icmp(connection: Connection, random: Random) -> None:
    connection.far.packet_too_big(random.choice((1500, 1500, 1280, 576)))


def _icmp_nonsense(connection: Connection, random: Random) -> None:
    for _ in range(4):
        connection.far.packet_too_big(random.choice((0, 1, 40, 68, 552, 1499, 9001, 65535)))


def _mtu(connection: Connection, *choices: int) -> None:
    connection.tun.set_mtu(connection.random.choice(choices))
    connection.counts["MTU changed"] += 1


def _mtu_flaps(connection: Connection, random: Random) -> None:
    """The device's MTU changes a few times in a round trip."""
    for step in range(8):
        moment = connection.clock.now() + step * connection.settings.round_trip_ns // 3
        connection.clock.at(moment, connection.tun.set_mtu, random.choice((256, 576, 1500, 4000, 9000)))
    connection.counts["MTU changed"] += 8


def _window(*sizes: int) -> Callable[[Connection, Random], None]:
    """Windows that follow each other, one every half round trip."""

    def change(connection: Connection, place: int) -> None:
        if connection.phase == "misbehaving":
            connection.far.manners.window = sizes[place % len(sizes)]
            connection.far.acknowledge()
            connection.counts["windows"] += 1
            later = connection.clock.now() + connection.settings.round_trip_ns // 2
            connection.clock.at(later, change, connection, place + 1)

    def begin(connection: Connection, random: Random) -> None:
        change(connection, 0)

    return begin


def _open_window(connection: Connection, random: Random) -> None:
    connection.far.manners.window = None
    connection.far.acknowledge()


def _silence_after_stretch(owing: bool) -> Callable[[Connection, Random], None]:
    """Trains grow to 64 with ACKs of 32 segments; then nothing is heard for more than a second.

    Where ACKs are owed the first of them proves the timeout wrong; else the sender has to
    begin with one packet.
    """

    def begin(connection: Connection, random: Random) -> None:
        connection.far.manners.ack_every = 32

        def stop() -> None:
            if connection.phase == "misbehaving":
                if not owing:
                    connection.far.acknowledge_what_is_owed()
                connection.far.manners.silent = True

        connection.clock.at(connection.clock.now() + 20 * connection.settings.round_trip_ns, stop)

    return begin


def _speed(factor: float) -> Callable[[Connection, Random], None]:
    def begin(connection: Connection, random: Random) -> None:
        link = connection.far.bottleneck
        link.change_rate(connection.clock.now(), max(int(link.rate * factor), 20_000))
        connection.counts["speeds"] += 1

    return begin


def _swing(connection: Connection, random: Random) -> None:
    """Another speed every third round trip."""
    link, began = connection.far.bottleneck, connection.far.bottleneck.rate
    for step in range(1, 7):
        rate = began if step == 6 else int(began * random.choice((0.1, 0.3, 1, 2)))
        moment = connection.clock.now() + 3 * step * connection.settings.round_trip_ns
        connection.clock.at(moment, link.change_rate, moment, rate)
    connection.counts["speeds"] += 6


def _switch(connection: Connection, random: Random) -> None:
    """Another algorithm, and back within a few round trips, several times."""
    own = connection.algorithm
    others = ["cubic", "reno", "pktpair", "pktpair_1994"]
    for step in range(9):
        name = own if step % 3 == 2 else random.choice(others)
        moment = connection.clock.now() + 2 * step * connection.settings.round_trip_ns
        connection.clock.at(moment, connection.choose, name)


def _pacing(connection: Connection, random: Random) -> None:
    bottleneck = connection.far.bottleneck
    connection.limit_pacing(bottleneck.rate // random.choice((2, 5, 10)))
    # trains leave at once all the same
    bottleneck.show(bottleneck.rate)


# Seconds between ACKs that come later and later, each before the timer runs out that
# those before it have made longer.
DRIPS = (0.12, 0.18, 0.3, 0.5, 0.8, 1.2, *(1.6,) * 20)
TINY_MTU, HUGE_MTU = 68, 16000


def _dense_then_drip(connection: Connection, random: Random) -> None:
    """ACKs as fast as they can be, then a second and more between two, while the MSS falls.

    The rate in force is then hundreds of times the share, which is what TCP_CC_INFO tells
    the ratio of. To overflow 32 bits it would have to be 2^24 times: that is not reached.
    """
    far, clock = connection.far, connection.clock
    far.manners.optimistic = "each"
    moment = clock.now() + 3 * connection.settings.round_trip_ns

    def stop() -> None:
        far.manners.optimistic = ""
        far.manners.silent = far.dripping = True

    def look() -> None:
        if connection.phase == "misbehaving":
            connection.tun.set_mtu(TINY_MTU)
            connection.feed()
            connection.info()
            connection.tun.set_mtu(HUGE_MTU)

    clock.at(moment, stop)
    for gap in DRIPS:
        moment += int(gap * SECOND_NS)
        clock.at(moment, far.drip)
        clock.at(moment + MS_NS, look)


def huge(settings: Settings, random: Random) -> Settings:
    """Four segments make the largest GSO packet."""
    return replace(jumbo(settings, random), mtu=HUGE_MTU, round_trip_ns=50 * MS_NS, passive=False)


def _nothing(connection: Connection, random: Random) -> None:
    """It was done when the connection opened."""


def _talk(connection: Connection, random: Random) -> None:
    for step in range(40):
        moment = connection.clock.now() + step * connection.settings.round_trip_ns // 4
        connection.clock.at(moment, connection.far.talk, random.choice((1, 100, 1200)))


def _finish(flag: int) -> Callable[[Connection, Random], None]:
    def begin(connection: Connection, random: Random) -> None:
        connection.far.finish(flag)
        connection.counts["FIN" if flag == wire.FIN else "RST"] += 1

    return begin


def _offload(connection: Connection, random: Random) -> None:
    for step in range(6):
        moment = connection.clock.now() + 2 * step * connection.settings.round_trip_ns
        connection.clock.at(moment, connection.tun.offload, bool(step % 2))


def _idle(connection: Connection, random: Random) -> None:
    connection.feeding = False


def _feed(connection: Connection, random: Random) -> None:
    connection.feeding = True


def _hold(connection: Connection, random: Random) -> None:
    part = random.choice((0.1, 0.3, 0.6, 1.2))
    connection.far.manners.hold_ns = int(part * connection.settings.round_trip_ns)


def _delay(connection: Connection, random: Random) -> None:
    connection.far.manners.delay_acks = random.choice((0.1, 0.5))
    connection.far.manners.delay_ns = connection.settings.round_trip_ns // 3


def _no_limit(connection: Connection, random: Random) -> None:
    connection.limit_pacing(2**32 - 1)


def _whole(connection: Connection, random: Random) -> None:
    connection.tun.offload(True)


ALL = (
    Misdeed("renege", _renege, 4, on=lambda s, r: with_sack(long_pipe(s, r), r)),
    Misdeed("renege on a short pipe", _renege, 4, on=with_sack),
    Misdeed("D-SACK", manners(duplicates=(0.1, 0.5, 1.0)), 20, on=with_sack),
    Misdeed("divide ACKs", manners(divide=(2, 3, 8, 30), ack_every=1), 12, lies=True),
    Misdeed("ACK every second byte", manners(divide=38, ack_every=1), 4, on=tiny_packets, lies=True),
    Misdeed("ACK what has not come", manners(optimistic=("sent", "each")), 3, lies=True, shortens=True),
    Misdeed("ACK what was not sent", manners(optimistic="beyond"), 12),
    Misdeed("ICMP: 9000 to less", _icmp, 2, on=jumbo),
    Misdeed("ICMP: nonsense", _icmp_nonsense, 4, on=jumbo),
    Misdeed("MTU: 9000 to 1500", lambda c, r: _mtu(c, 1500), 1, on=jumbo, keeps=0.6),
    Misdeed("MTU: 1500 to 9000", lambda c, r: _mtu(c, 9000), 1, on=normal_on_jumbo),
    Misdeed("MTU flaps", _mtu_flaps, 8, on=lambda s, r: replace(jumbo(s, r), rate_bytes_s=16 * MBIT)),
    Misdeed("window: zero", _window(0), 6, end=_open_window),
    Misdeed("window: zero and not", _window(0, 1 << 20), 12, end=_open_window),
    Misdeed("window: below a segment", _window(700, 1, 256), 12, end=_open_window),
    Misdeed("window: shrinks", _window(1 << 20, 60000, 9000, 3000, 256), 12, end=_open_window),
    *(
        Misdeed(f"time stamps: {way}", manners(stamps=way), 12, on=with_stamps)
        for way in ("zero", "constant", "forwards", "backwards", "random")
    ),
    Misdeed("ECE latched", manners(echo="latched"), 20, on=with_ecn),
    Misdeed("ECE toggled", manners(echo="toggled"), 20, on=with_ecn),
    Misdeed("marks, CWR ignored", manners(echo="honest", mark=(0.02, 0.3)), 20, on=with_ecn),
    Misdeed("stretch ACKs", manners(ack_every=(6, 16, 64)), 20, on=long_pipe),
    Misdeed("ACKs in bursts", _hold, 20, lies=True),
    Misdeed("repeat ACKs", manners(repeat=(2, 5, 15)), 12),
    Misdeed("lose ACKs", manners(lose_acks=(0.3, 0.7, 0.95)), 20),
    Misdeed("reorder ACKs", _delay, 20, lies=True),
    Misdeed("lose data", manners(lose_data=(0.01, 0.1, 0.4)), 15),
    Misdeed(
        "late ACKs after dense ones",
        _dense_then_drip,
        4 + int(sum(DRIPS)) * 20,
        on=huge,
        lies=True,
        ends=True,
    ),
    Misdeed("SYN lost twice", _nothing, 1, on=lambda s, r: replace(s, deaf=2, passive=False)),
    Misdeed("silence", manners(silent=True), 12),
    Misdeed("silence after stretch ACKs", _silence_after_stretch(owing=True), 40, on=small_packets),
    Misdeed("timeout after stretch ACKs", _silence_after_stretch(owing=False), 40, on=small_packets),
    Misdeed("a tenth of the speed", _speed(0.1), 2),
    Misdeed("ten times the speed", _speed(10), 2, on=lambda s, r: replace(s, rate_bytes_s=MBIT)),
    Misdeed("speed swings", _swing, 24),
    Misdeed("switch algorithms", _switch, 20, others=True),
    Misdeed("pacing limited", _pacing, 12, end=_no_limit),
    Misdeed("idle", _idle, 8, end=_feed),
    Misdeed("talk", _talk, 10),
    Misdeed("offloads toggled", _offload, 14, end=_whole),
    Misdeed("FIN", _finish(wire.FIN), 4),
    Misdeed("RST", _finish(wire.RST), 2, ends=True),
)

# What may be done at once with others: not what needs a path of its own.
MIXED = tuple(deed for deed in ALL if not deed.ends and deed.on not in (jumbo, normal_on_jumbo, tiny_packets, huge))
