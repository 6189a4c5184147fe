#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tcp_thesis by its own definition: what each window does after ACKs, marks and losses, and what a receiver marks.

Runs inside the lab (scripts/lab exec), prints TAP; the path is that of in_lab_pktpair.py.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of
from in_lab_pktpair import DEFAULT, Flow, bottleneck, build_path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / run("uname", "-r").stdout.strip()
MODULES = {"tcp_thesis": BUILD / "bench-cc" / "tcp_thesis.ko", "sch_thesis": BUILD / "bench" / "sch_thesis.ko"}
WINDOW = Path("/sys/module/tcp_thesis/parameters/window")
SWITCH = Path("/sys/module/sch_thesis/parameters")
INITIAL_WINDOW = 65534
# initial value, and what is refused
KNOBS = {
    "limit_packets": ("1000", ("0", "100001", "x")),
    "rate_bit_s": ("80000", ("7999",)),
    "factor_pct": ("90", ("0", "101")),
    "panic_mode": ("1", ("2", "-1")),
}
RATE_BIT_S = 4_000_000
# Of tcp_info.
UNACKED, SENT_WINDOW, RETRANSMITTED = 24, 80, 100
RTO_US, RTT_US = 8, 68
TRACING_OFF_S = 0.003


@contextlib.contextmanager
def flow(protocol: str, window: int) -> Iterator[Flow]:
    """A flow with this window at most, which is closed at the end."""
    WINDOW.write_text(str(window))
    it = Flow(f"thesis_{protocol}")
    try:
        yield it
    finally:
        bottleneck("pfifo limit 1000")
        it.close()
        WINDOW.write_text(str(INITIAL_WINDOW))


def windows(it: Flow, seconds: float) -> list[int]:
    """In their order, each change once."""
    found: list[int] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        window = it.told(SENT_WINDOW)
        if not found or window != found[-1]:
            found.append(window)
        time.sleep(TRACING_OFF_S)
    return found


def switch(kind: str, **values: int) -> None:
    """A switch of the thesis at the router."""
    for name, (initial, _) in KNOBS.items():
        (SWITCH / name).write_text(str(values.get(name, initial)))
    # what a change of the root leaves is of another kind
    run("tc", "-n", "pp-r", "qdisc", "del", "dev", "rd", "root", check=False)
    bottleneck(f"switch_{kind}")


def generic_keeps_its_window() -> None:
    """It is the most there may be, at once, and all that is unacknowledged."""
    bottleneck("pfifo limit 1000")
    with flow("generic", 10) as it:
        it.goodput(1)
        equal(set(windows(it, 1)), {10}, "windows")
        WINDOW.write_text("20")
        it.goodput(0.2)
        equal(set(windows(it, 1)), {20}, "windows after a change")
        expect(it.told(UNACKED) <= 20, f"{it.told(UNACKED)} outstanding")


def generics_timeout_is_two_round_trips() -> None:
    """Of 200 ms: the stack's is round trip and 200 ms."""
    run("tc", "-n", "pp-r", "qdisc", "change", "dev", "rs", "root", "netem", "delay", "300ms", "limit", "100000")
    try:
        with flow("generic", 10) as it:
            it.goodput(6)
            ratio = it.told(RTO_US) / it.told(RTT_US)
            expect(1.9 < ratio < 2.1, f"the timeout is {ratio:.2f} round trips")
    finally:
        run("tc", "-n", "pp-r", "qdisc", "change", "dev", "rs", "root", "netem", "delay", "20ms", "limit", "100000")


def jk_drops_to_one_on_a_loss() -> None:
    """A lost packet makes the window one; then it doubles up to half, and grows by one in a round trip."""
    bottleneck("pfifo limit 1000")
    with flow("jk", 64) as it:
        it.goodput(3)
        equal(set(windows(it, 0.5)), {64}, "windows without loss")
        bottleneck("netem loss 20% limit 1000")
        equal(min(windows(it, 0.5)), 1, "least window while packets are lost")
        bottleneck("pfifo limit 1000")
        # one packet in a round trip of up to 0.2 s
        found = windows(it, 10)
        least = found.index(min(found))
        expect(found[least:] == sorted(found[least:]) and found[-1] == 64, f"windows {found}")
        expect(it.told(RETRANSMITTED) > 0, "nothing was sent again")


def decbit_without_marks_grows_by_one() -> None:
    """In two windows of ACKs, which are two round trips of 20 ms; from one on."""
    bottleneck("pfifo limit 1000")
    with flow("decbit", 30) as it:
        found = windows(it, 3)
        expect(found[-1] == 30 and found == sorted(found), f"windows {found}")
        expect(set(found) >= set(range(5, 31)), f"windows {found}: more than one at a time")


def marks(kind: str, **values: int) -> None:
    """A switch that marks keeps the window of a lone flow near what the path holds, and loses nothing."""
    switch(kind, **values)
    with flow("decbit", 1000) as it:
        it.goodput(4)
        found = windows(it, 3)
        # 4 Mbit/s, 20 ms and a packet's time: 7.6 packets
        expect(min(found) >= 4 and max(found) <= 20, f"windows {found}")
        equal(it.told(RETRANSMITTED), 0, "packets sent again")
        rate = it.goodput(2)
        expect(rate * 8 > 0.7 * RATE_BIT_S, f"{rate * 8:.0f} bit/s")


def selective_decbit_marks() -> None:
    """A FIFO whose average is one packet or more."""
    marks("decbit", rate_bit_s=RATE_BIT_S)


def fqbit_marks() -> None:
    """A queue of more than a third of its share of 12 packets."""
    marks("fqbit", rate_bit_s=RATE_BIT_S, limit_packets=12)


def who_does_not_listen_fills_the_buffer() -> None:
    """The same switch, and jk: marks are no losses to it, so that it loses packets."""
    switch("fqbit", rate_bit_s=RATE_BIT_S, limit_packets=12)
    with flow("jk", 1000) as it:
        it.goodput(4)
        expect(it.told(RETRANSMITTED) > 0, "nothing was sent again")


def other_values_are_refused() -> None:
    """Each is there with its initial value, and what is out of range changes nothing."""
    for name, (initial, bad_ones) in KNOBS.items():
        (SWITCH / name).write_text(initial)
        for bad in bad_ones:
            with contextlib.suppress(OSError):
                (SWITCH / name).write_text(bad)
                expect(condition=False, text=f"{name} took {bad}")
            expect(f"{name}={bad}: not a number from " in run("dmesg").stdout, f"dmesg has no {name}={bad}")
            equal((SWITCH / name).read_text().strip(), initial, f"{name} after {bad}")
    for bad in ("0", "65535", "many"):
        with contextlib.suppress(OSError):
            WINDOW.write_text(bad)
            expect(condition=False, text=f"window took {bad}")
    for kind in ("decbit", "fqbit"):
        refused = run("tc", "qdisc", "add", "dev", "lo", "root", f"switch_{kind}", "limit", "3", check=False)
        expect(refused.returncode != 0, f"switch_{kind} took an option")


if __name__ == "__main__":
    DEFAULT.write_text("cubic")
    build_path()
    # netem drops what the stack hands over at once: one packet, and not a train of them
    run("ip", "netns", "exec", "pp-s", "ethtool", "-K", "sr", "tso", "off", "gso", "off")
    for name, file in MODULES.items():
        run("rmmod", name, check=False)
        run("insmod", str(file))
    route = "route change default via 10.8.1.1 quickack 1 congctl thesis_decbit"
    run("ip", "-n", "pp-d", *route.split())
    sys.exit(
        run_tests(
            [
                generic_keeps_its_window,
                generics_timeout_is_two_round_trips,
                jk_drops_to_one_on_a_loss,
                decbit_without_marks_grows_by_one,
                selective_decbit_marks,
                fqbit_marks,
                who_does_not_listen_fills_the_buffer,
                other_values_are_refused,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
