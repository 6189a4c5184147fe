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
    "seed": ("0", ("4294967296", "x")),
}
FRAMES = 10_000
# Read before the receiver's buffer is full.
BATCH = 200
# Room for a batch of full frames, each with what the kernel keeps about it; Linux's number of the option.
BUFFER_BYTES, SO_RCVBUFFORCE = 4 << 20, 33
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
        self.far.bind(("n1", ETHERTYPE))
        self.far.setblocking(False)
        self.far.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self.begin()

    def begin(self) -> None:
        """A link that has lost nothing yet."""
        run("tc", "qdisc", "del", "dev", "n0", "root", check=False)
        run("tc", "qdisc", "add", "dev", "n0", "root", "lossy")

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
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
