#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What an acknowledgment costs, and a byte: instructions, ours and bbr's.

Runs in the lab, where the clock counts instructions: scripts/lab cost-ack.  The
kernel's function graph tracer stamps a function's entry and return; what that
stamping costs itself is measured on a hook of the same module that returns a
constant, and taken off.

Of a byte it is all that this machine does while four flows send at 200 Mbit/s: both ends,
the router and the path are in it, since they share its processor.  It is the time that the
processor was not idle, by the kernel's own sum of idle time, after the flows' start and for as
long as bbr takes from one look at the propagation delay to the next.  Prints JSON.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import statistics
import sys
import threading
import time
from pathlib import Path

import in_lab_pktpair as lab
from in_guest.tap import expect, run

# algorithm: its cong_control, and the hook that returns a constant
HOOKS = {
    "pktpair": ("pktpair_cong_control", "pktpair_sndbuf_expand"),
    "vptfrc": ("vptfrc_cong_control", "vptfrc_sndbuf_expand"),
    "pktpair_1994": ("pktpair_cong_control_1994", "pktpair_sndbuf_expand"),
    "bbr": ("bbr_main", "bbr_sndbuf_expand"),
}
BOTTLENECK = "fq_rr rate 40mbit"
SETTLE_S = 2.0
MEASURE_S = 3.0
# of each function; the constant hook is asked a few dozen times at least
LEAST_CALLS = 30
# what a byte costs: after the flows' start, in which bbr fills the buffer, for one of bbr's cycles of ten seconds
SENDERS = ("pktpair", "bbr")
FLOWS = 4
SHARED_BOTTLENECK = "fq_rr rate 200mbit"
START_S = 2.0
COUNTED_SECONDS = 10
# of the bottleneck's rate, what arrives at least: or the processor was the bottleneck
LEAST_PART = 0.8
SHARED_BYTES_PS = 200e6 / 8
CHUNK = bytes(1 << 18)
PERCENTILES = (5, 25, 50, 75, 95, 99)


def durations(trace: str) -> dict[str, list[float]]:
    """Nanoseconds, which are instructions, of every call by function."""
    found: dict[str, list[float]] = {}
    for us, function in re.findall(r"([\d.]+) us +\| +(\w+)", trace):
        found.setdefault(function, []).append(float(us) * 1000)
    return found


def measure(algorithm: str) -> dict[str, object]:
    """One backlogged flow, alone at the bottleneck."""
    control, constant = HOOKS[algorithm]
    (lab.TRACING / "set_ftrace_filter").write_text(f"{control}\n{constant}\n")
    with lab.flow(algorithm) as it:
        it.goodput(SETTLE_S)
        (lab.TRACING / "current_tracer").write_text("function_graph")
        began = time.monotonic()
        rate = it.goodput(MEASURE_S)
        (lab.TRACING / "tracing_on").write_text("0")
        lasted_s = time.monotonic() - began
    calls = durations((lab.TRACING / "trace").read_text())
    (lab.TRACING / "current_tracer").write_text("nop")
    (lab.TRACING / "tracing_on").write_text("1")
    for name in (control, constant):
        expect(len(calls.get(name, [])) >= LEAST_CALLS, f"{name} was called {len(calls.get(name, []))} times")
    stamping = statistics.median(calls[constant])
    costs = statistics.quantiles(calls[control], n=100)
    return {
        "calls": len(calls[control]),
        "calls_per_s": round(len(calls[control]) / lasted_s),
        "goodput_mbit": round(rate * 8 / 1e6, 2),
        "stamping_instructions": round(stamping),
        "instructions": {f"p{p}": round(costs[p - 1] - stamping) for p in PERCENTILES},
    }


class Bulk:
    """A flow whose ends do as little as they can: what arrives is thrown away unread."""

    def __init__(self, algorithm: str, port: int) -> None:
        """Connect and send."""
        with lab.namespace("pp-d"):
            listener = socket.create_server((lab.RECEIVER, port))
        with lab.namespace("pp-s"):
            self.sender = socket.socket()
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        self.sender.connect((lab.RECEIVER, port))
        self.receiver, _ = listener.accept()
        listener.close()
        self.received = 0
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self) -> None:
        """Send until closed."""
        with contextlib.suppress(OSError):
            while True:
                self.sender.sendall(CHUNK)

    def receive(self) -> None:
        """Count until closed."""
        with contextlib.suppress(OSError):
            while got := len(self.receiver.recv(len(CHUNK), socket.MSG_TRUNC)):
                self.received += got

    def close(self) -> None:
        """End at once, whatever is on its way."""
        for end in (self.sender, self.receiver):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(60)
        self.sender.close()
        self.receiver.close()


def idle_ns() -> int:
    """How long the processor has been idle."""
    found = re.search(r"idle_sleeptime +: (\d+)", Path("/proc/timer_list").read_text())
    expect(found, "/proc/timer_list tells no idle time")
    assert found
    return int(found[1])


def measure_bytes(algorithm: str) -> dict[str, object]:
    """Four flows at 200 Mbit/s."""
    flows = [Bulk(algorithm, lab.PORT + 1 + number) for number in range(FLOWS)]
    time.sleep(START_S)
    seconds = []
    for _ in range(COUNTED_SECONDS):
        idle, began, before = idle_ns(), time.monotonic_ns(), sum(flow.received for flow in flows)
        time.sleep(1)
        sent = sum(flow.received for flow in flows) - before
        lasted_ns = time.monotonic_ns() - began
        seconds.append((sent, lasted_ns, lasted_ns - (idle_ns() - idle)))
    sent, lasted_ns, busy_ns = (sum(column) for column in zip(*seconds, strict=True))
    for flow in flows:
        flow.close()
    rate = sent / (lasted_ns / 1e9)
    expect(
        rate >= LEAST_PART * SHARED_BYTES_PS,
        f"{algorithm}: {rate * 8 / 1e6:.1f} Mbit/s arrived, below {LEAST_PART} of 200; busy for {busy_ns} ns",
    )
    return {
        "bytes": sent,
        "goodput_mbit": round(rate * 8 / 1e6, 2),
        "busy": round(busy_ns / lasted_ns, 3),
        "instructions_per_byte": round(busy_ns / sent, 3),
        "by_second": [round(busy / bytes_, 3) for bytes_, _, busy in seconds],
    }


def main() -> None:
    """Measure each and print."""
    lab.DEFAULT.write_text("cubic")
    lab.build_path()
    run("modprobe", "tcp_bbr")
    lab.bottleneck(BOTTLENECK)
    (lab.TRACING / "buffer_size_kb").write_text("16384")
    calls = {name: measure(name) for name in HOOKS}
    lab.bottleneck(SHARED_BOTTLENECK)
    summary = {
        "bottleneck": BOTTLENECK,
        "algorithms": calls,
        "shared_bottleneck": SHARED_BOTTLENECK,
        "flows": FLOWS,
        "senders": {name: measure_bytes(name) for name in SENDERS},
    }
    json.dump(summary, sys.stdout)


if __name__ == "__main__":
    main()
