# SPDX-License-Identifier: GPL-2.0
"""tcp_pktpair's estimate of its own queue, against the queue.

The truth is the flow's backlog at the moment when the newest packet that the
estimate counts comes to fq_rr (``lab.analyse.estimates``).  The path is that of the
memorandum's section 9.1: 40 Mbit/s, 44 ms, 500-byte packets, a pipe of 440,
and a fixed setpoint.

Applications hand over a block of 16 KiB when little more than that is left unsent. Were
they to fill their sockets' buffers, they would copy a megabyte at a time, which keeps the
guest's one CPU so long that the shaper is not served either; what the bottleneck loses so,
and the bunch of ACKs that follows, are no property of an estimate.
"""

from dataclasses import replace
from typing import Any

from lab.analyse import estimates
from lab.analyse.figures import rounded
from lab.model import flows
from lab.model.errors import PlanError
from lab.model.plan import Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "the queue estimate is within a packet of the flow's backlog (median), and a train or 1 % of the pipe (p95)"
COMBINATIONS = [("pktpair", "fq_rr")]
# Of the flow's pipe, what the estimate may be off at the 95th percentile.
PIPE_PART = 0.01
PARAMETERS = {
    "flows": Parameter(1, "flows", "pktpair flows", 1, 50),
    "rate_mbit": Parameter(40.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 1, 500),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
    "block": Parameter(flows.BLOCK_BYTES, "bytes", "what the applications write at a time", 1024, 1_048_576),
    "seconds": Parameter(3.0, "s", "measured, after two more seconds", 1, 600),
}
VARIANTS: list[dict[str, Value]] = [{"flows": 1}, {"flows": 4}]
SETTLE_S = 2.0
BUFFER_PACKETS = 10_000
# There is an estimate for each train, which is seldom longer than this; the check asks for so many.
TRAIN_PACKETS = 8
LEAST_ESTIMATES = 100


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All flows from one host, over the same path, a tenth of a second apart."""
    count, rate_mbit = values["flows"], values["rate_mbit"]
    flows.check_packet_rate(rate_mbit, values["packet"])
    flows.check_share(rate_mbit, count)
    trains = rate_mbit * 1e6 / 8 / values["packet"] / count * values["seconds"] / TRAIN_PACKETS
    if trains < LEAST_ESTIMATES:
        raise PlanError(f"seconds {values['seconds']}: {trains:.0f} trains a flow: must be at least {LEAST_ESTIMATES}")
    seconds = SETTLE_S + values["seconds"] + 0.1 * count
    return Plan(
        flows.dumbbell(qdisc, int(rate_mbit * 1e6), [values["round_trip"]], BUFFER_PACKETS, values["packet"]),
        tuple(
            replace(flow, write_bytes=values["block"], unsent_bytes=2 * values["block"], packet_bytes=values["packet"])
            for flow in flows.staggered(count, cc, seconds, 0.1, seed, 0.01, pairs=1)
        ),
        record=Record(events=estimates.EVENTS),
        hash_seed=seed,
        settle_s=SETTLE_S,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The worst flow's figures, and the same for the memorandum's equation (12)."""
    seen = [estimates.trains_in_window(plan, raw, flow) for flow in plan.flows]
    found: dict[str, Any] = {"estimates_least": min(len(flow.error_packets) for flow in seen)}
    figures = [estimates.queue_figures(flow) for flow in seen]
    for name in figures[0]:
        found[name] = max((figure[name] for figure in figures if name in figure), key=abs)
    packet_time_ns = values["packet"] * 8e3 / values["rate_mbit"]
    found["gap_over_n"] = [rounded(flow.gap_ns / packet_time_ns / values["flows"]) for flow in seen]
    found["sampled"] = [rounded(flow.sampled, 4) for flow in seen]
    return found


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """A packet in the median; one train or 1 % of the flow's pipe, whichever is more, at the 95th percentile."""
    packet_time_s = values["packet"] * 8 / (values["rate_mbit"] * 1e6)
    pipe = values["round_trip"] / 1e3 / packet_time_s / values["flows"]
    return [
        Check("estimates_least", ">=", LEAST_ESTIMATES),
        Check("error_median_packets", "<=", 1),
        Check("error_p95_packets", "<=", max(4, pipe * PIPE_PART)),
    ]
