# SPDX-License-Identifier: GPL-2.0
"""Queue-length based pacing does to packets what the paper says.

Y. Cai, T. Wolf, W. Gong, IEEE JSAC 29(5), 2011; one queue, as there.

table2
    Section IV-B: constant rates from 1 to 15 Mbit/s, one after the other,
    into mu-min 2, mu-max 10, link 15 Mbit/s and q-max 10 packets of 1000
    bytes.  A packet finds the queue of table II, its delay is that queue's, and
    none exceeds the bound of theorem 1, 8 ms.
prototype
    Section IV-A: 0.2 Mbit/s, below mu-min (1.2), passes with no queue; 3 Mbit/s,
    above it, keeps its rate with a queue of a packet.
bursts
    Bursts of up to 32 packets into the first case's queue: what leaves between
    two packets is the integral of the rule over the backlog, and the delay stays
    below the time in which a queue of q-max drains.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from lab.analyse import figures as common
from lab.analyse.figures import rounded
from lab.model import flows
from lab.model.devices import ETHERNET_HEADER_BYTES
from lab.model.errors import PlanError
from lab.model.plan import Plan, Record, Source
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "qlbp paces by the backlog as published: table II, its bound, and the rule in every gap"
COMBINATIONS = [("cubic", "fq_rr")]
PARAMETERS = {
    "case": Parameter("table2", "", "what is sent", choices=("table2", "prototype", "bursts")),
}
VARIANTS: list[dict[str, Value]] = [{"case": "table2"}, {"case": "prototype"}, {"case": "bursts"}]

PACKET_BYTES = 1000
# q-max counts what tc shows as backlog: with the Ethernet header.
FRAME_BYTES = PACKET_BYTES + ETHERNET_HEADER_BYTES
# Mbit/s
MU_MIN, MU_MAX, LINK = 2, 10, 15
Q_MAX_PACKETS = 10
# Table II: rate (Mbit/s), packets in the queue, pacing delay (s)
TABLE = (
    (1, 0, 0.0),
    (2, 0, 0.0),
    (4, 2, 4e-3),
    (6, 4, 5.33e-3),
    (8, 7, 7e-3),
    (10, 9, 7.2e-3),
    (12, 10, 6.67e-3),
    (15, 10, 5.33e-3),
)
# Theorem 1; the same as the qdisc reckons it, with Ethernet headers waiting that the
# rate does not count; and the drain time for any arrivals (qlbp.h), each (s)
BOUND_S = Q_MAX_PACKETS * PACKET_BYTES * 8 / (MU_MAX * 1e6)
STATED_S = BOUND_S * FRAME_BYTES / PACKET_BYTES
DRAIN_S = Q_MAX_PACKETS * PACKET_BYTES * 8 / ((MU_MAX - MU_MIN) * 1e6) * math.log(MU_MAX / MU_MIN)
PACKET_S = PACKET_BYTES * 8 / (MU_MAX * 1e6)
# The guest's way through the stack differs by some us from packet to packet.
STACK_S = 50e-6
# A quarter, and one packet at mu-max: the table's queue is rounded down to packets.
DELAY_TOLERANCE = 0.25
# Each rate lasts so long; the first part, ten times q-max / (mu-max - mu-min), settles.
STEP_S = 0.5
SETTLE_S = 0.1
BURSTS = (2, 5, 11, 17, 32)
BURSTS_S = 2.0
PROTOTYPE = ((0.2, 6.0), (3.0, 1.0))
ROUND_TRIP_MS = 1.0
BUFFER_PACKETS = 1000


def steady_source(rate_mbit: float, start_s: float, seconds: float) -> Source:
    """Packets at a constant rate."""
    rate_packets_s = rate_mbit * 1e6 / 8 / PACKET_BYTES
    model = {"model": "constant", "rate_packets_s": rate_packets_s, "start_s": start_s}
    return Source(f"r{rate_mbit:g}", "s1", "d1", model, start_s + seconds, PACKET_BYTES)


def burst_source(index: int, packets: int) -> Source:
    """Bursts whose spacing no other source shares."""
    model = {"model": "constant", "rate_packets_s": 1 / (0.071 + 0.013 * index), "start_s": index * 0.003}
    return Source(f"b{packets}", "s1", "d1", model, index * 0.003 + BURSTS_S, PACKET_BYTES, burst=packets)


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One pair of hosts, no flow but the sources."""
    if qdisc != "fq_rr":
        raise PlanError(f"--qdisc {qdisc}: must be fq_rr, which alone has qlbp")
    # the paper has no delay control
    rule = f"no-aqm flows 1 qlbp mu-min {MU_MIN}mbit mu-max {MU_MAX}mbit q-max {Q_MAX_PACKETS * FRAME_BYTES}b"
    link = LINK
    if values["case"] == "table2":
        sources = [steady_source(rate, i * STEP_S, STEP_S) for i, (rate, _, _) in enumerate(TABLE)]
    elif values["case"] == "prototype":
        rule = f"no-aqm flows 1 qlbp mu-min 1200kbit mu-max 200mbit q-max {100 * FRAME_BYTES}b"
        # the paper names no link rate; that of mu-max leaves the rule its whole range
        link = 200
        starts = (0.0, PROTOTYPE[0][1])
        sources = [steady_source(rate, starts[i], seconds) for i, (rate, seconds) in enumerate(PROTOTYPE)]
    else:
        sources = [burst_source(index, packets) for index, packets in enumerate(BURSTS)]
    return Plan(
        flows.dumbbell(qdisc, link * 1_000_000, [ROUND_TRIP_MS], BUFFER_PACKETS, PACKET_BYTES, rule),
        sources=tuple(sources),
        record=Record(acks=False, events=("fq_rr:fq_rr_enqueue", "fq_rr:fq_rr_dequeue")),
        hash_seed=seed,
    )


def rule_bit_s(packets: float) -> float:
    """The paper's line (eq. 1), and the link beyond it."""
    if packets > Q_MAX_PACKETS:
        return LINK * 1e6
    return (MU_MIN + (MU_MAX - MU_MIN) * packets / Q_MAX_PACKETS) * 1e6


def steady(plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Queue, delay and rate of each constant rate after it has settled."""
    arrived = common.arrived(plan, raw)
    # The same for all: the way through the stack, with nothing waiting.
    base_s = min(packets.delay_s.min() for packets in arrived.values())
    found_at = common.events(raw["trace"], "fq_rr_enqueue")
    enqueued = [(moment - raw["begin_s"], int(fields["qlen"])) for moment, fields in found_at]
    found: dict[str, Any] = {}
    for one, result in zip(plan.sources, raw["sources"], strict=True):
        # The last packets of all wait longer: nothing comes that would speed them up.
        begin_s, end_s = one.model["start_s"] + SETTLE_S, one.seconds - DRAIN_S
        packets = arrived[one.name]
        sent_s = packets.time_s - packets.delay_s
        chosen = (sent_s >= begin_s) & (sent_s < end_s)
        left_s = packets.time_s[chosen] - base_s
        waited_s = packets.delay_s[chosen] - base_s
        met = [qlen for moment, qlen in enqueued if begin_s <= moment < end_s]
        found[f"{one.name}_queue"] = rounded(np.median(met))
        found[f"{one.name}_delay_s"] = rounded(waited_s.mean())
        # Little's law: to be compared with the paper's fluid, section II-D
        found[f"{one.name}_mean_queue"] = rounded(waited_s.mean() * one.model["rate_packets_s"], 4)
        found[f"{one.name}_delay_max_s"] = rounded(waited_s.max())
        found[f"{one.name}_bit_s"] = rounded((len(left_s) - 1) * PACKET_BYTES * 8 / (left_s[-1] - left_s[0]), 0)
        found[f"{one.name}_lost"] = result["sent"] - result["received"]
    return found


class Gap(NamedTuple):
    """From one packet to the next, while packets wait."""

    lasts_s: float
    mean_packets: float  # waiting
    rule_bits: float  # the integral of the rule
    crosses: bool  # from one side of q-max to the other


def gaps(raw: dict[str, Any]) -> list[Gap]:
    """All gaps of a run, from the trace."""
    trace = [(moment, "in", int(fields["qlen"]) + 1) for moment, fields in common.events(raw["trace"], "fq_rr_enqueue")]
    trace += [(moment, "out", int(fields["qlen"])) for moment, fields in common.events(raw["trace"], "fq_rr_dequeue")]
    trace.sort(key=lambda event: event[0])
    found = []
    waiting = False
    last_s = begin_s = integral = bits = 0.0
    queue = 0
    sides: set[bool] = set()
    for moment, kind, after in trace:
        integral += (moment - last_s) * queue
        bits += (moment - last_s) * rule_bit_s(queue)
        sides.add(queue > Q_MAX_PACKETS)
        if kind == "out":
            if waiting:
                gap = moment - begin_s
                found.append(Gap(gap, integral / gap, bits, len(sides) > 1))
            begin_s, integral, bits, waiting = moment, 0.0, 0.0, after > 0
            sides.clear()
        last_s, queue = moment, after
    return found


def pacing_delays_s(raw: dict[str, Any]) -> Iterator[float]:
    """How much later each packet left than from the same queue without pacing (definition 1)."""
    arrived = [moment for moment, _ in common.events(raw["trace"], "fq_rr_enqueue")]
    left = [moment for moment, _ in common.events(raw["trace"], "fq_rr_dequeue")]
    free_s = 0.0
    for came_s, went_s in zip(arrived, left, strict=True):
        free_s = max(free_s, came_s)
        yield went_s - free_s
        free_s += PACKET_BYTES * 8 / (LINK * 1e6)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What was found, and what the qdisc says of itself."""
    (qdisc,) = [entry for entry in raw["qdiscs"]["r-x"] if entry["kind"] == "fq_rr"]
    found: dict[str, Any] = {"stated_bound_s": qdisc["pacing_bound_ns"] / 1e9, "dropped": qdisc["drops"]}
    if values["case"] != "bursts":
        return found | steady(plan, raw)
    seen = gaps(raw)
    errors = np.array([gap.rule_bits / (PACKET_BYTES * 8) - 1 for gap in seen])
    found["pacing_delay_max_s"] = rounded(max(pacing_delays_s(raw)))
    found["gaps"] = len(seen)
    found["rule_error_mean"] = rounded(errors.mean())
    found["rule_error_p99"] = rounded(np.quantile(np.abs(errors), 0.99))
    found["line_reached"] = rounded(
        max(gap.mean_packets for gap in seen if not gap.crosses and gap.mean_packets <= Q_MAX_PACKETS)
    )
    return found


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Table II, its queues within a packet; the fluid's mean queue; the bounds as they are."""
    if values["case"] == "prototype":
        return [
            Check("dropped", "==", 0),
            Check("r0.2_queue", "==", 0),
            Check("r0.2_delay_max_s", "<=", STACK_S),
            Check("r0.2_bit_s", "in", [0.198e6, 0.202e6]),
            Check("r3_queue", "in", [0, 2]),
            Check("r3_bit_s", "in", [2.97e6, 3.03e6]),
        ]
    if values["case"] == "bursts":
        return [
            # else packets do not leave in the order in which they came
            Check("dropped", "==", 0),
            Check("gaps", ">=", 500),
            Check("rule_error_mean", "in", [-0.001, 0.001]),
            Check("rule_error_p99", "<=", 0.02),
            Check("line_reached", ">=", Q_MAX_PACKETS - 1),
            # a burst is delayed by more than a steady load
            Check("pacing_delay_max_s", "in", [BOUND_S * 1.2, DRAIN_S + PACKET_S + STACK_S]),
        ]
    found = [Check("dropped", "==", 0), Check("stated_bound_s", "in", [STATED_S, STATED_S + 1e-6])]
    for rate, packets, delay_s in TABLE:
        below = rate <= MU_MIN
        # the table's delay is its whole number of packets over the rate
        off_s = delay_s * DELAY_TOLERANCE + PACKET_S
        found += [
            Check(f"r{rate}_queue", "in", [0, 0] if below else [packets - 1, packets + 1]),
            Check(f"r{rate}_delay_s", "in", [0, STACK_S] if below else [delay_s - off_s, delay_s + off_s]),
            Check(f"r{rate}_delay_max_s", "<=", STACK_S if below else BOUND_S + STACK_S),
            Check(f"r{rate}_bit_s", "in", [rate * 0.99e6, rate * 1.01e6]),
            Check(f"r{rate}_lost", "==", 0),
        ]
        if MU_MIN < rate <= MU_MAX:
            fluid = (rate - MU_MIN) / (MU_MAX - MU_MIN) * Q_MAX_PACKETS
            found.append(Check(f"r{rate}_mean_queue", "in", [fluid * 0.99, fluid * 1.01]))
    return found
