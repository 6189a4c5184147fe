#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Delay control inside a queue: what CoDel drops and marks, whom it spares, what parents hear of it.

Run in the lab, with TC_LIB_DIR naming the plugin's folder.  Prints TAP.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from in_guest.link import Capture, Frame, Sender
from in_guest.netlink import (
    RTM_GETTCLASS,
    RTM_NEWTCLASS,
    TCA_STATS2,
    TCA_STATS_APP,
    attribute,
    dump_messages,
    split_attributes,
)
from in_guest.qdisc import (
    STATISTICS,
    TRACING,
    backlogs,
    classes,
    configure,
    fq_rr,
    newer_tc,
    run_on_v0,
    statistics,
    tc,
    the_kernel_has_not_complained,
)
from in_guest.tap import Json, equal, expect, run
from in_lab_fq_rr import PARENTS, POLICIES, Link, agree, fresh, place_under, ports, sequences

TOP = Path(__file__).resolve().parents[2]
ECT_0, CE = 2, 3
# A packet of 1514 bytes takes 12.1 ms.
RATE = "rate 1mbit"
# At a share where packets wait for 10 ms: DELAY_CONTROL_SPARED_SLOW. A packet leaves five behind it if there are six.
SPARED = 4


def marks_are_taken(sender: Sender) -> None:
    """A flow's packets say that they may be marked."""
    sender.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECT_0)


def lost(frames: list[Frame], port: int, sent: int) -> list[int]:
    """Sequence numbers of a flow that did not come."""
    return sorted(set(range(sent)) - set(sequences(frames, port)))


def a_standing_queue_loses_some() -> None:
    """From the head, one at a time, and nobody else loses any."""
    fresh(f"{RATE} seed 1 aqm")
    long, short, capture = Sender(1), Sender(2), Capture()
    long.send(1514, 100)
    short.send(1514, 5)
    frames = capture.read(105, patience_s=1)
    found = statistics()
    expect(found["drops_aqm"] > 3, f"drops: {found['drops_aqm']}")
    equal(found["drops"], found["drops_aqm"], "drops of all kinds")
    equal(len(frames) + found["drops_aqm"], 105, "packets")
    gone = lost(frames, 1, 100)
    equal(len(gone), found["drops_aqm"], "packets that did not come")
    expect(all(later > earlier + 1 for earlier, later in pairwise(gone)), f"two in a row: {gone}")
    equal(lost(frames, 2, 5), [], "of the short queue")
    # the first is dropped an interval after the queue has been longer than the target
    expect((gone[0] + 5) * 12.1 > 100, f"too early: {gone}")
    # the drops end where the rest is spared
    expect(gone[-1] <= 100 - 1 - SPARED, f"of what is spared: {gone}")
    for thing in (long, short, capture):
        thing.close()


def a_queue_as_packet_pair_keeps_it_is_spared() -> None:
    """However long its packets wait: here a second."""
    for packets in (SPARED + 1, SPARED + 30):
        fresh("rate 100kbit seed 1 aqm")
        sender, capture = Sender(1), Capture()
        sender.send(1514, packets)
        frames = capture.read(packets, patience_s=2)
        dropped = statistics()["drops_aqm"]
        equal(len(frames) + dropped, packets, "packets")
        equal(dropped > 0, packets > SPARED + 1, f"drops of {packets} packets: {dropped}; some")
        sender.close()
        capture.close()


def what_can_be_marked_is_not_dropped() -> None:
    """Unless noecn says so; ecn takes that back."""
    for options, marked in (("", True), ("noecn", False), ("noecn ecn", True)):
        fresh(f"{RATE} seed 1 aqm {options.removesuffix(' ecn')}")
        if options.endswith(" ecn"):
            tc("qdisc change dev v0 root fq_rr ecn")
        sender, capture = Sender(1), Capture()
        marks_are_taken(sender)
        sender.send(1514, 100)
        frames = capture.read(100, patience_s=1)
        found = statistics()
        came = sum(frame.ecn == CE for frame in frames)
        equal(found["marks_aqm"], came, f"{options}: marks")
        equal((found["drops_aqm"] == 0, came > 3), (marked, marked), f"{options}: none dropped, some marked")
        equal(len(frames) + found["drops_aqm"], 100, f"{options}: packets")
        equal((found["marks"], found["marks_ce"]), (0, 0), f"{options}: other marks")
        sender.close()
        capture.close()


def codel_marks_before_a_share_of_the_buffer_does() -> None:
    """The option ecn PERCENT goes by the buffer: of 90 packets in one of 400 it marks none, in one of 100 some."""
    for limit, of_buffer in ((400, False), (100, True)):
        fresh(f"{RATE} seed 1 aqm limit {limit} ecn 50")
        sender, capture = Sender(1), Capture()
        marks_are_taken(sender)
        sender.send(1514, 90)
        frames = capture.read(90, patience_s=1)
        found = statistics()
        came = sum(frame.ecn == CE for frame in frames)
        equal((len(frames), found["drops"]), (90, 0), f"limit {limit}: packets, and drops")
        expect(found["marks_aqm"] > 3, f"limit {limit}: CoDel marks {found['marks_aqm']}")
        equal(found["marks"] > 0, of_buffer, f"limit {limit}: marks by the buffer")
        expect(max(found["marks"], found["marks_aqm"]) <= came, f"limit {limit}: {came} came marked: {found}")
        sender.close()
        capture.close()


def a_packet_of_a_pppoe_session_is_dropped() -> None:
    """However it may be marked: the kernel looks for that in a packet of IP alone."""
    fresh(f"{RATE} seed 1 aqm")
    udp = struct.pack("!HHHH", 1, 9, 1472, 0) + bytes(1464)
    ip = struct.pack("!BBHHHBBHII", 0x45, ECT_0, 1492, 0, 0, 64, socket.IPPROTO_UDP, 0, 0x0A090001, 0x0A090009)
    frame = bytes.fromhex("020000000009 020000000001 8864 1100 0007 05d6 0021") + ip + udp
    capture = Capture(0x8864)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("v0", 0x8864))
        for _ in range(100):
            sender.send(frame)
    frames = capture.read(100, patience_s=1)
    found = statistics()
    expect(found["drops_aqm"] > 3, f"drops: {found['drops_aqm']}")
    equal((found["marks_aqm"], {frame.ecn for frame in frames}), (0, {ECT_0}), "marks, and what came")
    capture.close()


def ce_threshold_marks_each() -> None:
    """What has waited for longer, however short the queue is."""
    fresh(f"{RATE} seed 1 aqm ce-threshold 30ms")
    sender, capture = Sender(1), Capture()
    marks_are_taken(sender)
    sender.send(1514, 5)
    frames = capture.read(5, patience_s=1)
    # the fourth waits for three times 12.1 ms
    equal([frame.ecn for frame in frames], [ECT_0, ECT_0, ECT_0, CE, CE], "marks")
    equal(statistics()["marks_ce"], 2, "marks_ce")
    sender.close()
    capture.close()


def switched_on_it_begins_anew() -> None:
    """What waits by then has come then, as far as it knows, and nothing is dropped for old delays."""
    link = Link("aqm interval 10ms target 5ms")
    # blocked for longer than any interval, and so in the midst of dropping
    link.flow(1).send(1514, 60)
    link.release(10, "1mbit")
    before = statistics()["drops_aqm"]
    expect(before > 0, "nothing dropped before")
    configure("no-aqm")
    link.capture.read(10)
    equal(statistics()["drops_aqm"], before, "drops while it is off")
    link.flow(1).send(1514, 100)
    configure("aqm interval 9000ms")
    left = statistics()["qlen"]
    equal(len(link.capture.read(left, patience_s=1)), left, "packets after it")
    equal(statistics()["drops_aqm"], before, "drops after it")
    link.close()


def a_flow_pays_for_what_codel_drops() -> None:
    """With charge-drops, as for any other drop: the packets of the other are more."""
    sent = {}
    for charge in ("no-charge-drops", "charge-drops"):
        fresh(f"rate 8mbit seed 1 aqm interval 2ms target 1ms noecn {charge}")
        one, other, capture = Sender(1), Sender(2), Capture()
        marks_are_taken(one)
        one.send(1514, 400)
        other.send(1514, 400)
        # the drops of both are alike, and so is what they pay
        order = ports(capture.read(800, patience_s=1))
        sent[charge] = order.count("a"), order.count("b")
        expect(statistics()["drops_aqm"] > 20, f"{charge}: too few drops")
        equal(sum(sent[charge]) + statistics()["drops_aqm"], 800, f"{charge}: packets")
        for thing in (one, other, capture):
            thing.close()
    for shares in sent.values():
        expect(abs(shares[0] - shares[1]) < 40, f"packets {sent}")


def a_flood_gains_nothing_by_it() -> None:
    """A drop is no turn: between two packets of a short queue there is one of the flood's, and it loses none."""
    train = 7
    for options in ("no-aqm", "aqm"):
        # with longest-queue it is flushed so often that it is never above the target for long
        fresh(f"rate 10mbit seed 1 limit 100 drop longest-tail {options}")
        flood, other, capture = Sender(1), Sender(2), Capture()
        frames: list[Frame] = []
        for _ in range(60):
            flood.send(1514, 110)
            other.send(1514, train)
            frames += capture.read(2 * train)
        frames += capture.read(2 * 100, patience_s=1)
        equal(statistics()["drops_aqm"] > 3, options == "aqm", f"{options}: drops by CoDel")
        equal(lost(frames, 2, other.sequence), [], f"{options}: lost by the other")
        places = [number for number, frame in enumerate(frames) if frame.port == 2]
        waited = [pair for pair in pairwise(places) if frames[pair[1]].sequence % train]
        expect(len(waited) > 300, f"{options}: {len(waited)} packets of the other that waited behind one of its own")
        equal({later - earlier for earlier, later in waited}, {2}, f"{options}: from one to the next in packets")
        for thing in (flood, other, capture):
            thing.close()


def parents_are_told_of_drops() -> None:
    """Packets and bytes of all levels agree in the midst of it, and are 0 at the end."""
    for parent in PARENTS:
        place, _ = place_under(parent, "seed 1 aqm interval 10ms target 5ms")
        # a bucket of one packet, so that hardly any leaves while the counts are read
        tbf = "qdisc change dev v0 root handle 8: tbf rate {} burst 1600 limit 10m"
        tc(tbf.format("8kbit"))
        sender, capture = Sender(1), Capture()
        sender.send(1514, 200)
        for _ in range(10):
            tc(tbf.format("1mbit"))
            capture.read(5)
            tc(tbf.format("8kbit"))
            agree(parent, "in the midst of it")
        tc(tbf.format("1gbit"))
        capture.read(10_000, patience_s=2)
        expect(statistics()["drops_aqm"] > 0, f"{parent}: nothing dropped")
        equal(set(backlogs().values()), {(0, 0)}, f"{parent}: at the end")
        sender.send(142, 3)
        equal(len(capture.read(3)), 3, f"{parent}: packets after it was empty")
        configure("limit 1", place)
        sender.close()
        capture.close()


# SHA-256 of what left, was dropped and marked, by the module before there was delay control;
# test_recorded.c replays the same arrivals, and has each link's part
RECORDED = "7e1622fd728a7408da8215658c13912a27d06009354fbbdf6e8fdabbdfd5c09b"


def without_it_all_is_as_it_was() -> None:
    """The same arrivals to the same blocked links: the same packets leave in the same order, with the same marks."""
    digest = hashlib.sha256()
    for scheduler in ("drr", "strict"):
        for policy in POLICIES:
            for more in ("", "ecn 33", "charge-drops"):
                link = Link(f"limit 120 scheduler {scheduler} drop {policy} {more}")
                for port in (1, 3):
                    marks_are_taken(link.flow(port))
                draw = 1
                for _ in range(300):
                    draw = draw * 1103515245 + 12345 & 0x7FFFFFFF
                    link.flow(draw >> 16 & 3 | 1).send(142 + (draw >> 20) % 1372)
                    link.flow((draw >> 24) % 5 + 1).send(1514, draw >> 18 & 1)
                frames = link.release(statistics()["qlen"])
                found = statistics()
                digest.update(repr([(f.port, f.sequence, f.bytes, f.ecn) for f in frames]).encode())
                counts = ("drops", "marks", "over_share", "flushes", "drops_flushed", "drops_head", "drops_tail")
                digest.update(repr([found[name] for name in counts]).encode())
                link.close()
    equal(digest.hexdigest(), RECORDED, "digest of departures, drops and marks")


def one_dequeue_drops_no_more_than_256() -> None:
    """With steps that come to nothing CoDel would drop all that waits at once, under the lock."""
    fresh(f"{RATE} seed 1 limit 10000 aqm target 10us interval 10us")
    long, capture = Sender(1), Capture()
    packets = 6000
    long.send(1514, packets)
    sent = len(capture.read(packets, patience_s=1))
    found = statistics()
    equal(sent + found["drops_aqm"], packets, "packets")
    # or else it is no such case: nearly all is dropped
    expect(found["drops_aqm"] > packets * 0.98, f"drops: {found['drops_aqm']}")
    expect(found["drops_aqm"] <= 256 * sent, f"{found['drops_aqm']} drops in {sent} dequeues")
    long.close()
    capture.close()


def what_waits_in_each_queue_is_shown() -> None:
    """Sent, lost and marked, time in the queue, for each class and for all."""
    fresh("rate 8mbit overhead -14 seed 1 limit 3000")
    long, capture = Sender(1), Capture()
    # a millisecond each on the link: a packet has waited as long as it is since they came
    long.send(1014, 2000)
    begin = time.monotonic()
    time.sleep(1.5)
    (one,) = classes().values()
    passed_us = (time.monotonic() - begin) * 1e6
    whole = statistics()
    expect(0 <= whole["packets"] - one["packets"] <= 20, f"{one['packets']} packets of {whole['packets']}")
    equal(one["bytes"], one["packets"] * 1014, "bytes of the class")
    expect(abs(one["packets"] * 1000 - passed_us) < 30_000, f"{one['packets']} packets in {passed_us} us")
    equal((one["drops"], one["marks"], "above" in one), (0, 0, False), "lost, marked, CoDel's state")
    # one in 64 is timed, at most 127 apart, and the average is of eight
    for found in (one, whole):
        expect(passed_us - 140_000 < found["peak_delay_us"] <= passed_us, f"peak {found['peak_delay_us']}")
        expect(passed_us - 900_000 < found["avg_delay_us"] < found["peak_delay_us"], f"mean {found['avg_delay_us']}")
    # a program takes long to start on a busy machine, and the queue shall be there then
    configure("rate 8kbit")
    shown = tc("-s class show dev v0").stdout
    for words in ("Sent ", "dropped 0", "av_delay (us)", "pk_delay (us)", "marks 0"):
        expect(words in shown, f"{words} is not in {shown}")
    configure("rate 1gbit")
    capture.read(2000, patience_s=1)
    # what only passes through has waited for nothing; by some 156 times seven eighths, what those before
    # waited while tc started is forgotten, be it a quarter of an hour
    for _ in range(10_000):
        long.send(1014, 1)
        time.sleep(0.001)
    expect(statistics()["avg_delay_us"] < 100, f"in an idle queue: {statistics()['avg_delay_us']} us")
    long.close()
    capture.close()


def the_live_view_shows_who_is_heavy() -> None:
    """fq_rr-top.bt: the heaviest flow last, with its rate; delays and drops of its queue."""
    fresh("rate 8mbit seed 1 aqm")
    words = ["bpftrace", "-B", "line", str(TOP / "scripts" / "fq_rr-top.bt")]
    heavy, light, capture = Sender(1), Sender(2), Capture()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as view:
        assert view.stdout is not None
        said = view.stdout.readline()
        while said and "Looking" not in said:
            said = view.stdout.readline()
        for _ in range(60):
            heavy.send(1514, 90)
            light.send(114, 1)
            time.sleep(0.1)
        shown_by_tc = set(classes())
        view.send_signal(signal.SIGINT)
        shown = view.stdout.read()
    expect(shown.count("packets sent --") >= 2, f"pictures: {shown!r}")
    second = shown.split("packets sent --")[2]
    # the guest's clock may leap where the host is busy: two seconds are not always two
    begin_s, end_s = (float(moment) for moment in re.findall(r"-- ([\d.]+) s: ", shown)[:2])
    flows = re.findall(r"@kbit_s\[\d+, (\S+), (\d+), (\S+), (\d+)\]: (\d+)", second)
    equal([flow[1] for flow in flows], ["2", "1"], "ports, the heaviest last")
    heavy_kbit_s, light_kbit_s = (int(flow[4]) * 2 / (end_s - begin_s) for flow in reversed(flows))
    expect(7000 < heavy_kbit_s <= 8200, f"kbit/s of the heavy one in {end_s - begin_s} s: {flows}")
    expect(1 <= light_kbit_s <= 20, f"of the light one: {flows}")
    delays = dict(re.findall(r"@delay_us\[\d+, (\d+)\]: (\d+)", second))
    drops = dict(re.findall(r"@drops\[\d+, (\d+)\]: (\d+)", second))
    equal(len(drops), 1, f"queues with drops: {second}")
    (of_heavy,) = drops
    expect(int(of_heavy) in shown_by_tc, f"class {of_heavy} of the view, and tc's: {sorted(shown_by_tc)}")
    expect(int(drops[of_heavy]) > 10, f"drops: {drops}")
    expect(int(delays[of_heavy]) > 5000, f"its delay: {delays}")
    for thing in (heavy, light, capture):
        thing.close()


def drop_reasons() -> tuple[str, str]:
    """What the running kernel calls a drop by delay control, and one by a full buffer."""
    release = tuple(int(number) for number in os.uname().release.split(".")[:2])
    if release >= (7, 1):
        # the qdiscs' own: kfree_skb shows them as numbers, and qdisc_drop what is dropped as it comes by name
        return "0x30003", "OVERLIMIT"
    return ("QDISC_CONGESTED", "QDISC_OVERLIMIT") if release >= (6, 14) else ("QDISC_DROP", "QDISC_DROP")


def drops_have_a_reason() -> None:
    """Tools that trace drops show more than that nobody said why: of CoDel, of a full buffer, of a smaller limit."""
    events = [TRACING / "events" / name / "enable" for name in ("skb/kfree_skb", "qdisc/qdisc_drop")]
    (TRACING / "trace").write_text("")
    enabled = [enable for enable in events if enable.exists()]
    for enable in enabled:
        enable.write_text("1")
    try:
        fresh(f"{RATE} seed 1 aqm")
        long, capture = Sender(1), Capture()
        long.send(1514, 100)
        capture.read(100, patience_s=1)
        by_codel = statistics()["drops"]
        long.send(1514, 60)
        configure("limit 10")
        by_limit = statistics()["drops"] - by_codel
        fresh(f"{RATE} seed 1 no-aqm limit 10 drop arriving")
        long.send(1514, 60)
        refused = statistics()["drops"]
        found = Counter(
            re.findall(r" (?:kfree_skb|qdisc_drop): .*reason(?:: |=)(\w+)", (TRACING / "trace").read_text())
        )
    finally:
        for enable in enabled:
            enable.write_text("0")
    drops = {"codel": by_codel, "limit": by_limit, "arriving": refused}
    expect(by_codel > 3 and by_limit >= 40 and refused >= 40, f"{drops}")
    congested, overlimit = drop_reasons()
    wanted = Counter({congested: by_codel}) + Counter({overlimit: refused}) + Counter({"QDISC_DROP": by_limit})
    for reason, least in wanted.items():
        expect(found[reason] >= least, f"{reason}: {found[reason]}, not {least}: {found}, {drops}")
    for thing in (long, capture):
        thing.close()


def the_state_of_codel_is_shown() -> None:
    """Of a queue above its target, then of one that drops; drops and marks where they are."""
    fresh(f"{RATE} seed 1 aqm")
    one, other, capture = Sender(1), Sender(2), Capture()
    marks_are_taken(other)
    one.send(1514, 60)
    other.send(1513, 60)
    # seven of each have left: the first five were not timed
    time.sleep(0.19)
    found = {shown["head_bytes"]: shown for shown in classes().values()}
    equal(
        {(s["above"], s["dropping"]) for s in found.values()}, {(1, 0)}, "above the target, for less than an interval"
    )
    time.sleep(0.6)
    found = {shown["head_bytes"]: shown for shown in classes().values()}
    for shown in found.values():
        equal((shown["above"], shown["dropping"]), (1, 1), "dropping")
        expect(shown["count"] > 0, f"count {shown['count']}")
        expect(shown["drop_next_us"] < 100_000, f"next in {shown['drop_next_us']} us")
    whole = statistics()
    lossy, marked = found[1514], found[1513]
    expect(whole["drops_aqm"] > 1 and whole["marks_aqm"] > 1, "too few drops or marks")
    equal((lossy["drops"], lossy["marks"]), (whole["drops_aqm"], 0), "of the one that cannot be marked")
    equal((marked["drops"], marked["marks"]), (0, whole["marks_aqm"]), "of the one that can")
    configure("rate 8kbit")
    expect("dropping" in tc("-s class show dev v0").stdout, "not shown by tc")
    for thing in (one, other, capture):
        thing.close()


class Plugin(ctypes.Structure):
    """How struct tc_plugin_qdisc begins, up to what prints statistics."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("next", "id", "parse_qopt", "print_qopt")),
        ("print_xstats", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


def printer() -> Callable[[bytes], Json]:
    """What the plugin prints of a TCA_STATS_APP where tc wants JSON, without a tc."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/print_json.so"
        sources = ("-I", TOP / "include" / "uapi", "-I", TOP / "tc-plugin", TOP / "tc-plugin/tests/print_json.c")
        run("gcc", "-shared", "-fPIC", "-std=gnu11", "-o", library, *map(str, sources))
        functions = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    functions.printed_json.restype = ctypes.c_char_p
    plugin = Plugin.in_dll(ctypes.CDLL(f"{os.environ['TC_LIB_DIR']}/q_fq_rr.so"), "fq_rr_qdisc_util")

    def printed_json(statistics_of_class: bytes) -> Json:
        equal(plugin.print_xstats(None, None, attribute(TCA_STATS_APP, statistics_of_class)), 0, "result of the plugin")
        found: Json = json.loads("{" + functions.printed_json().decode().rstrip(",") + "}")
        return found

    return printed_json


# what is shown of a queue that CoDel has begun to drop from, by its name in JSON
OF_A_CLASS = {
    **dict.fromkeys(("credit", "hash", "head_bytes", "host", "marks", "count", "drop_next_us"), int),
    **dict.fromkeys(("avg_delay_us", "peak_delay_us"), int),
    **dict.fromkeys(("sparse", "above", "dropping"), bool),
}
SENT = ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen")


def each_field_is_shown_by_tc() -> None:
    """In JSON, by name and type: the whole, and a class with hosts whose packets wait for long; the class as text."""
    # what can be is started before packets wait
    printed_json, newer = printer(), newer_tc()
    fresh(f"{RATE} seed 1 aqm hosts src limit 5000 memory-limit 32000000")
    long, capture = Sender(1), Capture()
    long.send(1514, 4000)
    time.sleep(0.9)
    # to start a program the clock may leap by minutes, and the queue shall be there then: a packet
    # leaves every 1.5 s, and CoDel drops some (time / 2 interval)^2, thus 2,500 in 1,000 s
    configure("rate 8kbit interval 10000ms")
    (minor,) = classes()
    (message,) = dump_messages(RTM_GETTCLASS, RTM_NEWTCLASS)
    raw = dict(split_attributes(dict(split_attributes(message[36:]))[TCA_STATS2]))[TCA_STATS_APP]
    of_kernel = classes()[minor]
    expect(of_kernel["drops"] > 0, "nothing was dropped")

    found = printed_json(raw)
    equal({name: type(value) for name, value in found.items()}, OF_A_CLASS, "names and types of a class")
    for name, value in found.items():
        # the time to the next drop goes on
        if name != "drop_next_us":
            equal(value, of_kernel[name], f"{name} of a class")
    equal((found["above"], found["dropping"], found["head_bytes"]), (True, True, 1514), "its state")
    expect(found["host"], "no host")
    expect(0 < of_kernel["avg_delay_us"] <= of_kernel["peak_delay_us"], f"delays: {found}")

    whole = fq_rr()
    for name in (*filter(None, STATISTICS), *SENT):
        # of pacing there is something with qlbp alone
        if name.startswith(("mu_", "q_max", "pacing")):
            continue
        equal(type(whole.get(name)), int, f"type of {name} of the whole")
    for name in ("drops_aqm", "avg_delay_us", "peak_delay_us", "packets", "hosts_active"):
        expect(whole[name], f"{name} of the whole: {whole[name]}")
    equal(whole["drops"], whole["drops_aqm"], "drops of the whole")

    (shown,) = json.loads(tc("-s -j class show dev v0", program=newer).stdout)
    told = shown["stats"]
    types = {name: type(value) for name, value in told.items()}
    equal(types, OF_A_CLASS | dict.fromkeys(SENT, int), "names and types of a class, by a newer tc")
    equal([told[name] for name in ("above", "dropping", "head_bytes")], [True, True, 1514], "state, by a newer tc")
    for name in ("hash", "host"):
        equal(told[name], of_kernel[name], f"{name} of the class, by a newer tc")
    as_text = r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+), overlimits (\d+) requeues (\d+)\).* backlog (\w+)b (\d+)p"
    sent = re.search(as_text, tc("-s class show dev v0").stdout, re.DOTALL)
    assert sent
    later = dict(zip(SENT, map(int, sent.groups()), strict=True))
    # the clock leaps between programs
    for before, after in ((of_kernel, told), (told, later)):
        for name in ("drops", "packets"):
            expect(after[name] >= before[name], f"{name}: {after[name]} after {before[name]}")
    for of_class in (told, later):
        equal(of_class["bytes"], of_class["packets"] * 1514, "bytes of the class")
    for thing in (long, capture):
        thing.close()


def main() -> int:
    """Run all, or those named on the command line, in order."""
    return run_on_v0(
        [
            a_standing_queue_loses_some,
            a_queue_as_packet_pair_keeps_it_is_spared,
            what_can_be_marked_is_not_dropped,
            codel_marks_before_a_share_of_the_buffer_does,
            a_packet_of_a_pppoe_session_is_dropped,
            ce_threshold_marks_each,
            switched_on_it_begins_anew,
            a_flow_pays_for_what_codel_drops,
            a_flood_gains_nothing_by_it,
            parents_are_told_of_drops,
            without_it_all_is_as_it_was,
            one_dequeue_drops_no_more_than_256,
            what_waits_in_each_queue_is_shown,
            the_state_of_codel_is_shown,
            each_field_is_shown_by_tc,
            the_live_view_shows_who_is_heavy,
            drops_have_a_reason,
            the_kernel_has_not_complained,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
