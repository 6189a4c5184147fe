# SPDX-License-Identifier: GPL-2.0
"""The far end that plays TCP at the module: its own arithmetic, without a kernel."""

import argparse
import struct
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from random import Random

import pytest
from hostile import misdeeds, peer, wire
from hostile.far_end import FarEnd, Settings
from hostile.path import SECOND_NS, Bottleneck

ROUND_NS = 100_000_000
SETTINGS = Settings(rate_bytes_s=1_000_000, round_trip_ns=ROUND_NS, room_bytes=10_000, mtu=1500)


class Clock:
    """Time that passes when the test says so."""

    def __init__(self):
        self.time, self.due = 0, []

    def now(self):
        return self.time

    def at(self, moment, act, *arguments):
        self.due.append((moment, act, arguments))


class Tun:
    """Keeps what is sent."""

    def __init__(self):
        self.sent = []

    def send(self, host, segment):
        self.sent.append(segment)


@pytest.fixture
def far():
    """A far end whose connection is open, with SACK and time stamps."""
    end = FarEnd(Clock(), Tun(), 2, SETTINGS, Random(1), Counter())
    end.open = end.sack = end.stamps = True
    end.highest = 10**6
    return end


def last_ack(far):
    """What the last ACK covers, and its SACK blocks."""
    segment = far.tun.sent[-1]
    place = 20 + 12
    blocks = []
    if len(segment) > place:
        count = (segment[place + 3] - 2) // 4
        edges = struct.unpack_from(f"!{count}I", segment, place + 4)
        blocks = list(zip(edges[::2], edges[1::2], strict=True))
    return struct.unpack_from("!I", segment, 8)[0], blocks


def arrive(far, start, size=1000):
    far._arrive(start, size, 7, 0, 52)


def packet(payload, gso=0, flags=wire.ACK):
    """As the device gives it: virtio-net header, IPv4, TCP with time stamps."""
    virtio = struct.pack("=BBHHHH", 1, 1 if gso else 0, 52, gso, 20, 16)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, wire.ECT0, 52 + len(payload), 0, 0, 64, 6, 0, b"\n\x42\0\1", b"\n\x42\0\7")
    tcp = struct.pack("!HHIIHHHH", 5000, 9, 100, 200, 8 << 12 | flags, 500, 0, 0)
    return virtio + ip + tcp + wire.STAMPS + struct.pack("!II", 1234, 99) + payload


def test_a_packet_is_read_with_its_segments():
    found = wire.parse(packet(bytes(3000), gso=1400))
    assert (found.host, found.sequence, found.ack, found.stamp) == (7, 100, 200, 1234)
    assert (found.bytes, found.segment, found.header, found.ecn) == (3000, 1400, 52, wire.ECT0)


@pytest.mark.parametrize("data", [b"", bytes(40), bytes(60), packet(b"")[:45]])
def test_what_is_no_tcp_is_none(data):
    assert wire.parse(data) is None


def test_a_checksum_over_itself_is_zero():
    header = bytearray(range(20))
    header[10:12] = b"\0\0"
    header[10:12] = struct.pack("!H", wire.ones_sum(bytes(header)))
    assert wire.ones_sum(bytes(header)) == 0


def test_the_bottleneck_serves_one_after_another_and_drops_what_has_no_room():
    link = Bottleneck(1_000_000, ROUND_NS, 3000)
    times = [link.enter(0, 1000) for _ in range(5)]
    assert times[:4] == [ROUND_NS + n * SECOND_NS // 1000 for n in (1, 2, 3, 4)]
    assert times[4] is None
    link.change_rate(0, 500_000)
    assert link.free_ns == 8 * SECOND_NS // 1000


def come_late(far, stalls):
    """What is due is done by a program that stands still at times; returns when packets came, and for what time."""
    clock, came = far.clock, []
    far._arrive = lambda *packet: came.append((clock.time, packet[0]))
    while clock.due:
        clock.due.sort(key=lambda entry: entry[0])
        moment, act, arguments = clock.due.pop(0)
        clock.time = max(clock.time, moment)
        if stalls and clock.time >= stalls[0][0]:
            clock.time += stalls.pop(0)[1]
        act(*arguments)
    return came


def test_a_late_far_end_hands_over_no_heap(far):
    """Packets keep 7/8 of their distances but for 50 us, until it has caught up; none is lost or overtakes another."""
    far.keeps_distances, gap = True, 461_000
    for number in range(200):
        far._carry((number + 1) * gap, (number, 536, 0, 0, 40))
    came = come_late(far, [(20 * gap, 2_000_000), (21 * gap, 1_700_000)])
    assert [number for _, number in came] == list(range(200))
    gaps = [second - first for (first, _), (second, _) in pairwise(came)]
    assert min(gaps) == gap * 7 // 8 - 50_000
    # it was late, which is noted, and is in time again
    assert 3_000_000 < far.late_ns < 3_700_001
    assert came[-1][0] == 200 * gap


def test_what_follows_closely_is_not_waited_for(far):
    """Of packets 50 us apart each comes as soon as this program can."""
    far.keeps_distances = True
    for number in range(10):
        far._carry(number * 50_000, (number, 536, 0, 0, 40))
    assert [moment for moment, _ in come_late(far, [(0, 900_000)])] == [900_000] * 10


def test_who_confirms_a_share_is_sent_heaps(far):
    """The default is to bear them."""
    for number in range(10):
        far._carry(number * 461_000, (number, 536, 0, 0, 40))
    assert [moment for moment, _ in come_late(far, [(0, 10_000_000)])] == [10_000_000] * 10


@pytest.mark.parametrize("keeps", [False, True])
def test_a_far_end_in_time_changes_nothing(far, keeps):
    """Packets come when they are due, those too that a faster bottleneck has before others."""
    far.keeps_distances = keeps
    moments = [5, 1_000_000, 1_000_000, 3_000_000, 2_000_000]
    for number, moment in enumerate(moments):
        far._carry(moment, (number, 536, 0, 0, 40))
    assert come_late(far, []) == sorted(zip(moments, range(5), strict=True))
    assert far.late_ns == 0


def test_every_second_segment_is_acknowledged(far):
    arrive(far, 1)
    assert not far.tun.sent
    arrive(far, 1001)
    assert last_ack(far) == (2001, [])


def test_a_hole_is_told_and_filled(far):
    arrive(far, 1001)
    arrive(far, 3001)
    arrive(far, 2001)
    assert last_ack(far) == (1, [(1001, 4001)])
    arrive(far, 1)
    assert last_ack(far) == (4001, [])


def test_reneging_throws_away_what_was_told(far):
    far.reneges = True
    arrive(far, 1001)
    assert last_ack(far) == (1, [(1001, 2001)])
    arrive(far, 1)
    assert last_ack(far) == (1001, [])
    # nor is what is still under way kept
    arrive(far, 3001)
    assert not far.ranges
    # what is acknowledged a second time explains what leaves as well as the first
    before = sum(far.acked.values())
    arrive(far, 1001)
    arrive(far, 2001)
    assert sum(far.acked.values()) - before == 2000


def test_what_came_twice_is_told_first(far):
    arrive(far, 1)
    arrive(far, 1)
    assert last_ack(far) == (1001, [(1, 1001)])


def test_bytes_are_heard_once(far):
    for start in (1, 1001, 1001, 3001):
        arrive(far, start)
    assert sum(far.acked.values()) == 3000


def test_an_ack_that_is_lost_or_old_explains_nothing(far):
    far.manners.lose_acks = 1
    arrive(far, 1)
    arrive(far, 1001)
    assert not far.tun.sent and not far.acked
    far.manners.lose_acks = 0
    far.stamp_heard = (far._stamp() + 1000) % wire.MODULUS
    arrive(far, 2001)
    arrive(far, 3001)
    assert far.tun.sent and not far.acked
    far.behave()
    arrive(far, 4001)
    arrive(far, 5001)
    assert sum(far.acked.values()) == 6000


def test_what_was_held_up_may_come_after_a_far_end_behaves_again(far):
    far.stamps = True
    far.manners = replace(far.manners, hold_ns=1000, stamps="forwards")
    arrive(far, 1)
    arrive(far, 1001)
    far.behave()
    far._release()
    assert not far._is_old(far._stamp())
    held = far.stamp_heard
    arrive(far, 2001)
    arrive(far, 3001)
    assert far.stamp_heard != held and sum(far.acked.values()) == 4000


def test_who_acknowledges_what_was_not_sent_is_not_heard(far):
    far.stamps = True
    arrive(far, 1)
    arrive(far, 1001)
    heard, stamp = dict(far.acked), far.stamp_heard
    assert heard and stamp is not None
    far.stamp_lie += 1000
    far.acknowledge(far.highest + 2**24)
    assert dict(far.acked) == heard and far.stamp_heard == stamp


def test_silence_is_silence(far):
    far.manners = replace(far.manners, silent=True)
    arrive(far, 1)
    arrive(far, 1001)
    far.acknowledge()
    assert not far.tun.sent


def test_what_acks_do_not_explain_is_seen(far):
    far.acked.update({5: 10_000, 6: 10_000})
    far.left.update({6: 20_000, 7: 30_000, 70: 30_000})
    assert far.amplified(6, 6, 2, 1000) == (20_000 / 21_000, 6)
    assert far.amplified(6, 7, 2, 1000) == (30_000 / 21_000, 7)
    # ACKs of the last minute explain what leaves after a pause, but not after a timeout
    assert far.amplified(60, 66, 2, 1000) == (0.0, 60)
    assert far.amplified(60, 70, 2, 1000)[0] == 30_000 / 1000
    far.left[20] = 20_000
    assert far.amplified(20, 20, 2, 1000)[0] < 1
    far.outages.append(15)
    assert far.amplified(20, 20, 2, 1000)[0] == 20
    # which it was not, if the sender found that out since
    far.undone.append(16)
    assert far.amplified(20, 20, 2, 1000)[0] == 20
    far.undone.append(18)
    assert far.amplified(20, 20, 2, 1000)[0] < 1
    far.undone.clear()
    # gaps show what a bottleneck carries that was made faster, but not of one that was made slower
    far.bottleneck.change_rate(0, far.bottleneck.rate // 2)
    assert far.amplified(20, 20, 2, 1000)[0] == 20
    # and what one carries whose sender is held up
    far.bottleneck.show(far.bottleneck.rate)
    assert far.amplified(20, 20, 2, 1000)[0] == pytest.approx(20_000 / (2 * 50_000 + 1000))
    far.bottleneck.change_rate(0, far.bottleneck.rate * 4)
    assert far.amplified(20, 20, 2, 1000)[0] == pytest.approx(20_000 / (2 * 200_000 + 1000))


def test_the_part_that_is_filled_counts_new_data_only(far):
    for start in (1, 1001, 1001):
        arrive(far, start)
    assert far.delivered(0, 1) == pytest.approx(2 * 1052 / 100_000)


@pytest.mark.parametrize("say", [lambda far: far.finish(wire.FIN), lambda far: far.talk(100)])
def test_what_carries_a_stamp_is_noted_and_old_ones_say_nothing(far, say):
    """Else what follows good manners would be older than what the kernel has taken."""
    far.acknowledge(1000)
    far.manners = replace(far.manners, stamps="forwards")
    said = far.said
    say(far)
    assert far.stamp_heard == struct.unpack_from("!I", far.tun.sent[-1], 24)[0]
    assert far.said > said
    said, heard = far.said, far.stamp_heard
    far.manners = replace(far.manners, stamps="honest")
    far.stamp_lie -= 10**7
    say(far)
    assert (far.said, far.stamp_heard) == (said, heard)
    far.behave()
    far.acknowledge(2000)
    assert far.heard == 2000


def enough(turns):
    """What a run of so many turns must at least have met."""
    found = Counter({name: round(often * turns) + 1 for name, often in peer.REACHED.items()})
    found |= Counter({name: round(often * turns) + 1 for name, often in peer.BROUGHT_ABOUT.items()})
    return found | Counter({"connections": int(turns * len(misdeeds.ALL))})


@pytest.mark.parametrize("turns", [0.5, 1.5, 10])
def test_enough_is_enough(turns):
    assert not peer.too_rare(enough(turns), peer.PRESETS, peer.REACHED)


@pytest.mark.parametrize("name", [*peer.REACHED, *peer.BROUGHT_ABOUT])
def test_what_is_not_met_is_seen(name):
    found = enough(5)
    del found[name]
    (said,) = peer.too_rare(found, peer.PRESETS, peer.REACHED)
    assert said.startswith(f"{name}: 0, not ")


def test_one_connection_is_repeated_by_its_number():
    """--plan N is what the run without it has in place N."""
    arguments = argparse.Namespace(seed=1, only="", plan=71, rate=False)
    assert list(peer.chosen(arguments)) == [list(islice(peer.plans("1", ""), 72))[71]]
    arguments.plan = None
    assert list(islice(peer.chosen(arguments), 3)) == list(islice(peer.plans("1", ""), 3))


def test_vptfrc_has_each_misdeed_once():
    """And no other algorithm; its floors are without trains, which are pktpair's."""
    arguments = argparse.Namespace(seed=1, only="", plan=None, rate=True)
    turn = list(islice(peer.chosen(arguments), len(misdeeds.ALL)))
    assert {algorithm for algorithm, _, _ in turn} == {"vptfrc"}
    assert {deed.name for _, deeds, _ in turn for deed in deeds} == {deed.name for deed in misdeeds.ALL}
    assert not any(name.startswith("trains") for name in peer.RATE_REACHED)
    found = enough(2) | Counter({name: round(often * 2) + 1 for name, often in peer.RATE_REACHED.items()})
    assert not peer.too_rare(found, peer.RATE, peer.RATE_REACHED)
    del found["rate told"]
    assert peer.too_rare(found, peer.RATE, peer.RATE_REACHED)


def test_a_misdeed_may_not_have_had_its_turn():
    found = enough(1.5)
    for name in peer.BROUGHT_ABOUT.keys() - peer.REACHED.keys():
        del found[name]
    assert not peer.too_rare(found, peer.PRESETS, peer.REACHED)
