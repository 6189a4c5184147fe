# SPDX-License-Identifier: GPL-2.0
"""tcp_pktpair's estimate of its own queue, against the queue.

The truth is the flow's backlog at the moment when the newest packet that the
estimate counts comes to fq_rr (``lab.truth``).  The path is that of the
memorandum's section 9.1: 40 Mbit/s, 44 ms, 500-byte packets, a pipe of 440,
and a fixed setpoint.

Blocks are 16 KiB: with iperf3's 128 KiB its copying keeps the guest's one CPU
for a millisecond, in which the shaper is not served either, and what the
bottleneck loses so is no property of an estimate.
"""

from dataclasses import replace
from typing import Any

from lab import scenario, truth
from lab.measure import rounded
from lab.scenario import Check, Parameter, Plan, Values, staggered

CLAIM = "the queue estimate is within a packet of the flow's backlog (median), and a train or 1 % of the pipe (p95)"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "flows": Parameter(1, "flows", "pktpair flows", 1, 50),
    "rate_mbit": Parameter(40.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 0.1, 10_000),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
    "block": Parameter(
        scenario.BLOCK_BYTES, "bytes", "what the applications read and write at a time", 1024, 1_048_576
    ),
    "seconds": Parameter(3.0, "s", "measured, after two more seconds", 0.5, 600),
}
VARIANTS: list[dict[str, scenario.Value]] = [{"flows": 1}, {"flows": 4}]
SETTLE_S = 2.0
BUFFER_PACKETS = 10_000


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All flows from one host, over the same path, a tenth of a second apart."""
    seconds = SETTLE_S + values["seconds"] + 0.1 * values["flows"]
    flows = staggered(values["flows"], cc, seconds, 0.1, seed, 0.01, pairs=1)
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(values["round_trip"],),
        limit_packets=BUFFER_PACKETS,
        flows=tuple(replace(flow, block_bytes=values["block"]) for flow in flows),
        settle_s=SETTLE_S,
        packet_bytes=values["packet"],
        hash_seed=seed,
        events=truth.EVENTS,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The worst flow's figures, and the same for the memorandum's equation (12)."""
    assert plan.window_s is not None
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    flows = [truth.trains(raw["trace"], flow.port, begin_s, end_s) for flow in plan.flows]
    found: dict[str, Any] = {"estimates_least": min(len(flow.error_packets) for flow in flows)}
    figures = [truth.queue_figures(flow) for flow in flows]
    for name in figures[0]:
        found[name] = max((figure[name] for figure in figures if name in figure), key=abs)
    packet_time_ns = plan.packet_bytes * 8e9 / plan.rate_bit_s
    found["gap_over_n"] = [rounded(flow.gap_ns / packet_time_ns / values["flows"]) for flow in flows]
    found["sampled"] = [rounded(flow.sampled, 4) for flow in flows]
    return found


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """A packet in the median; one train or 1 % of the flow's pipe, whichever is more, at the 95th percentile."""
    packet_time_s = values["packet"] * 8 / (values["rate_mbit"] * 1e6)
    pipe = values["round_trip"] / 1e3 / packet_time_s / values["flows"]
    return [
        Check("estimates_least", ">=", 100),
        Check("error_median_packets", "<=", 1),
        Check("error_p95_packets", "<=", max(4, pipe / 100)),
    ]
