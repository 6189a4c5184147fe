#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The lossy link of the lab's experiments against its own definition: how much it loses, of what size, which packets.

Runs in the lab, prints TAP. Frames with a number leave a veth device whose queue is lossy, and are
read at its other end. qdisc/tests/test_loss_model.c has the distributions; this has the queue.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
import sys
import time
from pathlib import Path

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of

PARAMETERS = Path("/sys/module/sch_lossy/parameters")
# initial value, and what is refused, as Documentation/lab/plan.rst has it
KNOBS = {
    "loss_ppb": ("0", ("1000000001", "-1", "1%")),
    "reference_bytes": ("0", ("65536",)),
    "header_bytes": ("0", ("257",)),
    "good_us": ("0", ("99", "60000001")),
    "bad_us": ("100", ("0", "99", "60000001")),
    "limit_packets": ("0", ("1000001",)),
    "limit_bytes": ("0", ("4294967296",)),
    "red_ppb": ("0", ("1000000001",)),
    "packet_us": ("1000", ("0", "1000001")),
    "gap_us": ("0", ("1000001",)),
    "seed": ("0", ("4294967296", "x")),
}
FRAMES = 10_000
# Read before the receiver's buffer is full.
BATCH = 200
# Room for a batch of full frames, each with what the kernel keeps about it; Linux's number of the option.
BUFFER_BYTES, SO_RCVBUFFORCE = 4 << 20, 33
# What waits in a queue counts in its sender's buffer: 5,000 frames.
WAITING_BYTES, SO_SNDBUFFORCE = 64 << 20, 32
# One right model in 16,000 is farther from its mean.
DEVIATIONS = 4
# An experimental EtherType: no protocol takes it.
ETHERTYPE = 0x88B5


def choose(**values: int) -> None:
    """Parameters; what is not named has its initial value. The seed comes last, and begins anew."""
    for name, (initial, _) in KNOBS.items():
        (PARAMETERS / name).write_text(str(values.get(name, initial)))


class Link:
    """Two ends of a veth, of which the near one is lossy."""

    def __init__(self) -> None:
        """Both are up."""
        run("ip", "link", "add", "n0", "type", "veth", "peer", "name", "n1")
        for device in ("n0", "n1"):
            Path("/proc/sys/net/ipv6/conf", device, "disable_ipv6").write_text("1")
            run("ip", "link", "set", device, "up")
        self.near, self.far = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE)) for _ in "nf")
        self.near.bind(("n0", ETHERTYPE))
        self.near.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, WAITING_BYTES)
        self.far.bind(("n1", ETHERTYPE))
        self.far.setblocking(False)
        self.far.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.begin()

    def begin(self) -> None:
        """A link that has lost nothing yet."""
        run("tc", "qdisc", "del", "dev", "n0", "root", check=False)
        run("tc", "qdisc", "add", "dev", "n0", "root", "lossy")

    def begin_behind_a_bucket(self, rate: str, burst_bytes: int, limit_bytes: int) -> None:
        """The same below a bucket, which looks at the next frame before it takes it."""
        bucket = f"rate {rate} burst {burst_bytes} limit {limit_bytes}"
        run("tc", "qdisc", "del", "dev", "n0", "root", check=False)
        run("tc", *f"qdisc add dev n0 root handle 1: tbf {bucket}".split())
        run("tc", *["qdisc", "add", "dev", "n0", "parent", "1:1", "handle", "10:", "lossy"])

    def begin_slowly(self) -> None:
        """A link on which nearly nothing leaves: a queue behind a bucket of one frame."""
        self.begin_behind_a_bucket("8bit", 2000, 1_000_000_000)

    def flood(self, frames: int, frame_bytes: int) -> tuple[int, int]:
        """What waits and what was dropped of so many frames."""
        head = bytes(12) + struct.pack("!H", ETHERTYPE)
        for _ in range(frames):
            # the discipline's drop is the sender's error
            with contextlib.suppress(OSError):
                self.near.send(head.ljust(frame_bytes, b"\0"))
        shown = json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", "n0").stdout)
        leaf = next(one for one in shown if one["kind"] == "lossy")
        return int(leaf["qlen"]), int(leaf["drops"])

    def arrived(self, frame_bytes: int, gap_s: float = 0.0) -> list[int]:
        """Numbers of those frames that come through."""
        head = bytes(12) + struct.pack("!H", ETHERTYPE)
        found = []
        for number in range(FRAMES):
            self.near.send((head + struct.pack("!I", number)).ljust(frame_bytes, b"\0"))
            if gap_s:
                time.sleep(gap_s)
            if number % BATCH == BATCH - 1 or number == FRAMES - 1:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        found.append(struct.unpack_from("!I", self.far.recv(2048), len(head))[0])
        return found

    def drops(self) -> int:
        """What the queue says that it lost."""
        shown = json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", "n0").stdout)
        return int(shown[0]["drops"])


def parameters_have_their_documented_values() -> None:
    """Each is there, and what is out of range is refused by name and limit."""
    for name, (initial, bad_ones) in KNOBS.items():
        equal((PARAMETERS / name).read_text().strip(), initial, name)
        for bad in bad_ones:
            with contextlib.suppress(OSError):
                (PARAMETERS / name).write_text(bad)
                expect(condition=False, text=f"{name} took {bad!r}")
            expect(f"{name}={bad}: not a number from " in run("dmesg").stdout, f"dmesg has no {name}={bad}")
            equal((PARAMETERS / name).read_text().strip(), initial, f"{name} after {bad!r}")


def it_has_no_options() -> None:
    """Tc knows none."""
    refused = run("tc", "qdisc", "add", "dev", "lo", "root", "lossy", "loss", "1%", check=False)
    expect(refused.returncode != 0 and 'option "loss"' in refused.stderr, refused.stderr)


def nothing_is_lost_without_a_probability() -> None:
    """The initial values lose nothing."""
    choose()
    equal(LINK.arrived(100), list(range(FRAMES)), "frames")
    equal(LINK.drops(), 0, "drops")


def lost(wanted: float, frame_bytes: int) -> None:
    """So many are lost, of one size, and the queue says so."""
    LINK.begin()
    gone = FRAMES - len(LINK.arrived(frame_bytes))
    equal(LINK.drops(), gone, "drops")
    deviation = math.sqrt(FRAMES * wanted * (1 - wanted))
    print(f"# {frame_bytes} bytes: {gone} lost of {FRAMES}, {wanted:g} wanted", flush=True)
    expect(abs(gone - wanted * FRAMES) <= DEVIATIONS * deviation, f"{gone} lost, of {wanted * FRAMES:.0f}")


def packets_of_any_size_are_lost_alike() -> None:
    """Three percent of small ones and of full ones."""
    for frame_bytes in (100, 1514):
        choose(loss_ppb=30_000_000, seed=frame_bytes)
        lost(0.03, frame_bytes)


def loss_is_in_proportion_to_size() -> None:
    """A tenth of the reference loses a tenth of it, without headers."""
    for frame_bytes, wanted in ((1066, 0.1), (166, 0.01), (66, 0.0)):
        choose(loss_ppb=100_000_000, reference_bytes=1000, header_bytes=66, seed=frame_bytes)
        lost(wanted, frame_bytes)


def a_seed_chooses_which_are_lost() -> None:
    """The same seed loses the same, and another others."""
    found = []
    for seed in (7, 7, 8):
        choose(loss_ppb=500_000_000, seed=seed)
        found.append(LINK.arrived(100))
    expect(found[0] == found[1], "the same seed lost other packets")
    expect(found[0] != found[2], "another seed lost the same packets")


def bad_states_last_as_long_as_said() -> None:
    """Of ten milliseconds in a hundred all is lost: a frame each millisecond and its sender's time."""
    choose(loss_ppb=1_000_000_000, good_us=90_000, bad_us=10_000, seed=3)
    began = time.monotonic()
    found = set(LINK.arrived(100, 0.001))
    gap_ms = (time.monotonic() - began) * 1e3 / FRAMES
    runs = [number for number in range(1, FRAMES) if number not in found and number - 1 in found]
    part, mean_ms = 1 - len(found) / FRAMES, (FRAMES - len(found)) * gap_ms / max(len(runs), 1)
    print(f"# {part:.3f} of the time, {len(runs)} times, {mean_ms:.1f} ms; a frame each {gap_ms:.2f} ms", flush=True)
    # 100 cycles of exponential times: the deviation of both is a tenth and more
    expect(0.06 < part < 0.14, f"{part:.3f} of the frames are lost")
    # states of less than a frame's gap are missed
    expect(7 < mean_ms < 15, f"a state lasts {mean_ms:.1f} ms")


def room_is_in_packets_or_in_bytes_without_headers() -> None:
    """Of 500 frames of 100 bytes and headers of 66 what has room waits."""
    for values, wanted in (
        ({"limit_packets": 50}, 50),
        # 33 of 100 bytes, and none of 166
        ({"limit_bytes": 3350, "header_bytes": 66}, 33),
        ({"limit_bytes": 3350}, 20),
    ):
        choose(**values)
        LINK.begin_slowly()
        waits, dropped = LINK.flood(500, 166)
        equal(waits, wanted, f"{values}: packets that wait")
        # those that left by the bucket's first burst were neither
        expect(500 - 2000 // 166 <= waits + dropped <= 500, f"{values}: {waits} wait, {dropped} dropped")


def red_drops_before_the_queue_is_full() -> None:
    """By an average above half of the limit it drops nearly all: 1000 arrivals average 142 of 1000 at first."""
    choose(limit_packets=1000, red_ppb=1_000_000_000, seed=1)
    LINK.begin_slowly()
    waits, dropped = LINK.flood(5000, 100)
    print(f"# {waits} of 1000 wait, {dropped} dropped", flush=True)
    expect(50 < waits < 1000, f"{waits} packets wait")
    choose(limit_packets=1000)
    LINK.begin_slowly()
    equal(LINK.flood(5000, 100)[0], 1000, "packets that wait without RED")


def packets_of_any_size_leave_at_one_rate() -> None:
    """A frame each ten milliseconds, large or small, also behind a bucket that looks first."""
    for parent, frame_bytes in ((False, 60), (False, 1514), (True, 1514)):
        choose(gap_us=10_000)
        if parent:
            LINK.begin_behind_a_bucket("1gbit", 20_000, 1_000_000)
        else:
            LINK.begin()
        # of tests before this one
        with contextlib.suppress(BlockingIOError):
            while True:
                LINK.far.recv(2048)
        LINK.far.setblocking(True)
        for _ in range(50):
            LINK.near.send((bytes(12) + struct.pack("!H", ETHERTYPE)).ljust(frame_bytes, b"\0"))
        began = time.monotonic()
        for _ in range(50):
            LINK.far.recv(2048)
        LINK.far.setblocking(False)
        lasted_ms = (time.monotonic() - began) * 1e3
        print(f"# 50 frames of {frame_bytes} bytes: {lasted_ms:.1f} ms", flush=True)
        # the first may leave before the clock is read
        expect(470 <= lasted_ms <= 500, f"50 frames take {lasted_ms:.1f} ms")


if __name__ == "__main__":
    LINK = Link()
    sys.exit(
        run_tests(
            [
                parameters_have_their_documented_values,
                it_has_no_options,
                nothing_is_lost_without_a_probability,
                packets_of_any_size_are_lost_alike,
                loss_is_in_proportion_to_size,
                a_seed_chooses_which_are_lost,
                bad_states_last_as_long_as_said,
                room_is_in_packets_or_in_bytes_without_headers,
                red_drops_before_the_queue_is_full,
                packets_of_any_size_leave_at_one_rate,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
