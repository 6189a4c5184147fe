#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What an acknowledgment costs: instructions of a cong_control call, ours and bbr's.

Runs in the lab, where the clock counts instructions: scripts/lab cost-ack.  The
kernel's function graph tracer stamps a function's entry and return; what that
stamping costs itself is measured on a hook of the same module that returns a
constant, and taken off.  Prints JSON.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time

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


def main() -> None:
    """Measure each and print."""
    lab.DEFAULT.write_text("cubic")
    lab.build_path()
    run("modprobe", "tcp_bbr")
    lab.bottleneck(BOTTLENECK)
    (lab.TRACING / "buffer_size_kb").write_text("16384")
    json.dump({"bottleneck": BOTTLENECK, "algorithms": {name: measure(name) for name in HOOKS}}, sys.stdout)


if __name__ == "__main__":
    main()
