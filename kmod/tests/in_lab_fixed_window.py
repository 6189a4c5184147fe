#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tcp_fixed_window by its own definition: what is outstanding is the window, whatever is lost.

Runs inside the lab (scripts/lab exec), prints TAP; the path is that of in_lab_pktpair.py.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of
from in_lab_pktpair import DEFAULT, Flow, bottleneck, build_path

NAME = "tcp_fixed_window"
WINDOW = Path(f"/sys/module/{NAME}/parameters/window")
TOP = Path(__file__).resolve().parents[2]
MODULE = TOP / "build" / run("uname", "-r").stdout.strip() / "bench-cc" / f"{NAME}.ko"
DEFAULT_WINDOW = 20
MSS_BYTES, ROUND_TRIP_S = 1448, 0.020
# The timeout doubles while the guest's clock waits for tc to be read from the host.
MOST_BACKOFF_S = 120
# Of tcp_info.
UNACKED, SENT_WINDOW, RETRANSMITTED = 24, 80, 100


@contextlib.contextmanager
def flow(window: int) -> Iterator[Flow]:
    """A flow with this window, which is closed at the end."""
    WINDOW.write_text(str(window))
    it = Flow("fixed_window")
    try:
        yield it
    finally:
        bottleneck("pfifo limit 1000")
        it.close()
        WINDOW.write_text(str(DEFAULT_WINDOW))


def seen(it: Flow, seconds: float) -> tuple[set[int], int]:
    """Windows within a time, and the most packets that were outstanding."""
    windows, most, until = set(), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        windows.add(it.told(SENT_WINDOW))
        most = max(most, it.told(UNACKED))
        time.sleep(0.003)
    return windows, most


def a_round_trip_takes_the_window() -> None:
    """Goodput is the window's payload in each round trip, and follows a window that is written."""
    bottleneck("pfifo limit 1000")
    with flow(10) as it:
        # a window of one packet waits for each ACK that is delayed
        for window in (10, 30, 2):
            WINDOW.write_text(str(window))
            it.goodput(1)
            rate, expected = it.goodput(3), window * MSS_BYTES / ROUND_TRIP_S
            expect(0.95 * expected < rate < 1.01 * expected, f"window {window}: {rate:.0f} bytes/s, not {expected:.0f}")


def losses_do_not_change_the_window() -> None:
    """Three percent are lost: packets are sent again, and no more than the window is outstanding."""
    bottleneck("netem loss 3% limit 1000")
    with flow(12) as it:
        windows, most = seen(it, 5)
        equal(windows, {12}, "windows")
        # what is lost stays unacknowledged until it has come, and what was behind it with it
        expect(12 <= most <= 12 * 4, f"{most} packets outstanding")
        expect(it.told(RETRANSMITTED) > 10, "nothing was sent again")


def a_timeout_does_not_change_the_window() -> None:
    """Nothing arrives for a second; then the flow goes on as before."""
    bottleneck("pfifo limit 1000")
    with flow(16) as it:
        it.goodput(1)
        bottleneck("netem loss 100% limit 1000")
        windows, _ = seen(it, 1)
        bottleneck("pfifo limit 1000")
        before, until = it.received, time.monotonic() + MOST_BACKOFF_S
        while it.received == before:
            expect(time.monotonic() < until, f"nothing has arrived for {MOST_BACKOFF_S} s")
            time.sleep(0.1)
        more, _ = seen(it, 1)
        equal(windows | more, {16}, "windows")
        rate, expected = it.goodput(2), 16 * MSS_BYTES / ROUND_TRIP_S
        expect(0.95 * expected < rate < 1.01 * expected, f"{rate:.0f} bytes/s, not {expected:.0f}")


def what_is_lost_is_sent_again_at_once() -> None:
    """A window of which half finds no room: all that was dropped comes within a few round trips."""
    bottleneck("pfifo limit 1000")
    with flow(40) as it:
        it.goodput(1)
        bottleneck("netem loss 50% limit 1000")
        time.sleep(ROUND_TRIP_S)
        before = it.told(RETRANSMITTED)
        bottleneck("pfifo limit 1000")
        time.sleep(2 * ROUND_TRIP_S)
        expect(it.told(RETRANSMITTED) - before >= 8, f"{it.told(RETRANSMITTED) - before} were sent again")


def other_windows_are_refused() -> None:
    """None, and more than any buffer holds."""
    for bad in ("0", "-1", "1048577", "many"):
        with contextlib.suppress(OSError):
            WINDOW.write_text(bad)
            expect(condition=False, text=f"window took {bad}")
        equal(WINDOW.read_text().strip(), str(DEFAULT_WINDOW), f"window after {bad}")


def only_root_may_choose_it() -> None:
    """It harms whoever shares a FIFO with it."""
    with socket.socket() as one:
        os.seteuid(65534)
        try:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"fixed_window")
            expect(condition=False, text="a user has chosen it")
        except PermissionError:
            pass
        finally:
            os.seteuid(0)


if __name__ == "__main__":
    DEFAULT.write_text("cubic")
    build_path()
    # netem drops what the stack hands over at once: one packet, and not a train of them
    run("ip", "netns", "exec", "pp-s", "ethtool", "-K", "sr", "tso", "off", "gso", "off")
    run("rmmod", NAME, check=False)
    run("insmod", str(MODULE))
    sys.exit(
        run_tests(
            [
                a_round_trip_takes_the_window,
                losses_do_not_change_the_window,
                a_timeout_does_not_change_the_window,
                what_is_lost_is_sent_again_at_once,
                other_windows_are_refused,
                only_root_may_choose_it,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
