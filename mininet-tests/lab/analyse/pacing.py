# SPDX-License-Identifier: GPL-2.0
"""Figures of a run of queue-length based pacing (scenario qlbp-2011), case by case.

relative_cov
    deviation over mean of the bytes that arrive in 50 ms, over that of what the source sends
rate behind a pacer
    a packet's bits over the time to the next one, or until mu-min has sent it; before it, a packet's bits over
    its spacing while the source is on. An autocovariance is of these rates, on a grid of 1 ms
used
    packets that were delivered, with their headers, over what the core link carries: the mean of parts of the
    measured time; its bar is 1.96 deviations of that mean
delay of a packet
    from its first transmission, as it comes to the access router, until it is delivered in order: until the ACK
    is back that covers it, less the way back. It has the propagation delay of one way
tail
    part of packets that take longer than 0.1 s, the mean round trip: those that wait for a retransmission
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import qlbp
from ..model.devices import ETHERNET_HEADER_BYTES
from ..model.errors import RunError
from ..model.layout import lay_out
from ..model.overload import Mean
from ..model.plan import TCP_HEADER_BYTES, Plan
from . import figures as common
from .figures import SAMPLE, rounded, unpacked
from .hurst import coefficients_of_variation, hurst

Floats = NDArray[np.float64]
Values = Mapping[str, Any]
ENQUEUE, DEQUEUE = "fq_rr_enqueue", "fq_rr_dequeue"
# Into which the measured time of the dumbbell is cut, for its bar.
PARTS = 8
# The grid, and the lags, of autocovariances.
GRID_S, LAGS_S = 0.001, (0.0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4)
FIRST_PART = 0.1
TAIL_S = 0.1
# Of delays, where the part that is longer is told.
TAIL_GRID_S = tuple(round(0.04 + 0.005 * place, 3) for place in range(93))
FRAME_HEADERS_BYTES = ETHERNET_HEADER_BYTES + TCP_HEADER_BYTES
SEQUENCE_NUMBERS = 1 << 32


def tcp(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Section IV-A: how the packets of one flow leave the first router."""
    found = [(moment - raw["begin_s"], int(fields["len"])) for moment, fields in common.events(raw["trace"], DEQUEUE)]
    # ACKs of the way back pass no pacer
    left_s = np.array([at_s for at_s, length in found if length > FRAME_HEADERS_BYTES and at_s >= values["settle"]])
    if len(left_s) < 100:
        raise RunError(f"{len(left_s)} packets have passed the pacer: too few")
    gaps = np.diff(left_s)
    return {
        "packets": len(left_s),
        "gap_cov": rounded(gaps.std() / gaps.mean()),
        "first_tenth": rounded(first_part(left_s, qlbp.ROUND_TRIP_S)),
    }


def first_part(left_s: Floats, round_trip_s: float) -> float:
    """Of packets, those that leave in the first tenth of a round trip; one begins with the first packet after another.

    The last one, which may be cut off, does not count.
    """
    first = total = 0
    begin = 0
    while left_s[begin] + round_trip_s <= left_s[-1]:
        end = int(np.searchsorted(left_s, left_s[begin] + round_trip_s))
        within = int(np.searchsorted(left_s, left_s[begin] + FIRST_PART * round_trip_s))
        first, total, begin = first + within - begin, total + end - begin, end
    return first / total if total else math.nan


def step(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Section III-B1: the queue after the input jumps, fitted by eq (3)'s; and what qdiscs say of their rules."""
    rule = qlbp.tandem_rule(values["q_max"])
    met = [(moment - raw["begin_s"], int(fields["qlen"])) for moment, fields in common.events(raw["trace"], ENQUEUE)]
    # the other device on the way has no queue, and is passed first
    at_s, queue = (np.array(one, dtype=float) for one in zip(*met[1::2], strict=True))
    bits = queue * qlbp.PACKET_BITS
    candidates = rule.alpha_per_s * np.linspace(0.5, 1.5, 1001)
    above = qlbp.STEP_BIT_S - rule.mu_min_bit_s
    errors = [
        float(np.sum((above / alpha * (1 - np.exp(-alpha * (at_s - at_s[0]))) - bits) ** 2)) for alpha in candidates
    ]
    told = {"alpha_per_s": rounded(candidates[int(np.argmin(errors))], 3)}
    for name, device in qlbp.STATED.items():
        (own,) = [entry for entry in raw["qdiscs"][device] if entry["kind"] == "fq_rr"]
        told |= {f"{name}_{key}": own[key] for key in ("mu_min_Bps", "mu_max_Bps", "q_max_bytes", "pacing_bound_ns")}
    return told


def on_off(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Section IV-C1, and theorem 2 of the first pacer."""
    begin_s, end_s = values["settle"], values["settle"] + values["length"]
    edges_s = begin_s + qlbp.BIN_S * np.arange(int(values["length"] / qlbp.BIN_S) + 1)
    told: dict[str, Any] = {}
    for count in qlbp.PACERS:
        packets = common.arrived(plan, raw)[f"chain{count}"]
        sent_s = packets.time_s - packets.delay_s
        if count == qlbp.PACERS[0]:
            before = np.histogram(sent_s, edges_s)[0]
            told |= {"unpaced_cov": rounded(before.std() / before.mean())}
            told |= _autocovariances(sent_s, packets.time_s, values, begin_s, end_s)
        behind = np.histogram(packets.time_s, edges_s)[0]
        told[f"relative_cov_{count}"] = rounded(behind.std() / behind.mean() / (before.std() / before.mean()))
        told[f"relative_mean_{count}"] = rounded(behind.mean() / before.mean())
    return told


def _rates(begins_s: Floats, lasts_s: Floats, begin_s: float, end_s: float) -> Floats:
    """bit/s on a grid, of packets that each take their time."""
    grid_s = np.arange(begin_s, end_s, GRID_S)
    place = np.searchsorted(begins_s, grid_s, "right") - 1
    known = place >= 0
    is_on = known & (grid_s - begins_s[place] < lasts_s[place])
    return np.where(is_on, qlbp.PACKET_BITS / lasts_s[place], 0.0)


def _autocovariances(sent_s: Floats, left_s: Floats, values: Values, begin_s: float, end_s: float) -> dict[str, Any]:
    spacing_s = qlbp.PACKET_BITS / qlbp.ON_OFF_BIT_S
    alone_s = qlbp.PACKET_BITS / qlbp.tandem_rule(values["q_max"]).mu_min_bit_s
    before = _rates(sent_s, np.full(len(sent_s), spacing_s), begin_s, end_s)
    behind = _rates(left_s[:-1], np.minimum(np.diff(left_s), alone_s), begin_s, end_s)
    return {
        "lags_s": list(LAGS_S),
        "autocovariance_before": _covariances(before),
        "autocovariance_behind": _covariances(behind),
    }


def _covariances(rates: Floats) -> list[float]:
    """In (Mbit/s)^2, at each lag."""
    off = (rates - rates.mean()) / 1e6
    lags = [round(lag_s / GRID_S) for lag_s in LAGS_S]
    return [rounded(float(np.mean(off[: len(off) - lag] * off[lag:]))) for lag in lags]


def self_similar(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Section IV-C2: variation over time scales, before the pacer and behind it."""
    packets = common.arrived(plan, raw)["trace"]
    count = int(values["length"] / qlbp.BASE_SCALE_S)
    edges_s = values["settle"] + qlbp.BASE_SCALE_S * np.arange(count + 1)
    before, behind = (
        np.histogram(times_s, edges_s)[0].astype(float)
        for times_s in (packets.time_s - packets.delay_s, packets.time_s)
    )
    second = round(1 / qlbp.BASE_SCALE_S)
    seconds = before[: len(before) // second * second].reshape(-1, second).sum(axis=1) * qlbp.PACKET_BITS
    told: dict[str, Any] = {
        "hurst": rounded(hurst(before, qlbp.TRACE_FIRST_OCTAVE), 3),
        "mean_bit_s": rounded(before.mean() * qlbp.PACKET_BITS / qlbp.BASE_SCALE_S, 0),
        "least_second_bit_s": rounded(seconds.min(), 0),
        "most_second_bit_s": rounded(seconds.max(), 0),
        "delay_max_s": rounded(packets.delay_s.max()),
    }
    for name, counts in (("before", before), ("behind", behind)):
        found = coefficients_of_variation(counts, qlbp.SCALES)
        told[f"cov_{name}"] = [None if one is None else rounded(one) for one in found]
    return told


def dumbbell(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Sections IV-D and IV-E: how much of the core link is used, and the delay of what is delivered."""
    found = unpacked(raw["samples"], SAMPLE)
    edges_s = values["settle"] + values["length"] * np.arange(PARTS + 1) / PARTS
    delivered = np.zeros(PARTS)
    for index in range(len(plan.flows)):
        own = found[found["flow"] == index]
        delivered += np.diff(np.interp(edges_s, own["time_ns"] / 1e9, own["delivered"]))
    bits = qlbp.READINGS[values["reading"]].packet_bytes * 8
    parts = delivered * bits / (values["length"] / PARTS * qlbp.CORE_BIT_S)
    mean = Mean.of([float(one) for one in parts])
    measured = found[found["time_ns"] / 1e9 >= values["settle"]]
    told = {"used": rounded(mean.mean, 4), "used_bar": rounded(mean.bar, 4)}
    told["mean_cwnd"] = rounded(float(measured["cwnd"].mean()), 2)
    if plan.record.acks:
        told |= _delays(values, plan, raw)
    return told


def _delays(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    layout, acks = lay_out(plan.topology), common.acks_of_flows(raw["trace"], raw["begin_s"])
    first = first_transmissions(raw)
    end_s = values["settle"] + values["length"]
    of_flows, lost = [], 0
    for flow in plan.flows:
        sent_s, ends = first.get(plan.port(flow), (np.zeros(0), np.zeros(0)))
        chosen = (sent_s >= values["settle"]) & (sent_s < end_s)
        seen = acks[plan.port(flow)]
        # one of the bytes that are acknowledged is the SYN's
        place = np.searchsorted(seen.acked_bytes, ends[chosen] + 1)
        is_known = place < len(seen.time_s)
        lost += int((~is_known).sum())
        came_s = seen.time_s[place[is_known]]
        # the way back is half of the propagation delay: the lab has all of it there
        of_flows.append(came_s - sent_s[chosen][is_known] - common.propagation_s(layout, flow) / 2)
    means = [float(one.mean()) for one in of_flows if len(one)]
    delays = np.sort(np.concatenate(of_flows))
    if not len(delays):
        raise RunError("no packet was sent and delivered in the measured time")
    above = 1 - np.searchsorted(delays, TAIL_GRID_S, "right") / len(delays)
    return {
        "delay_mean_s": rounded(delays.mean()),
        "delay_min_s": rounded(min(means)),
        "delay_max_s": rounded(max(means)),
        "delay_p999_s": rounded(float(np.quantile(delays, 0.999))),
        "tail": rounded(float(np.mean(delays > TAIL_S))),
        "not_delivered": lost,
        "tail_curve": [rounded(float(one)) for one in above],
    }


def first_transmissions(raw: Mapping[str, Any]) -> dict[int, tuple[Floats, Floats]]:
    """By the flow's port: when each packet first came to a pacer, and the flow's payload up to its end."""
    rows: dict[int, list[tuple[float, int]]] = {}
    bases: dict[int, int] = {}
    for moment, fields in common.events(raw["trace"], ENQUEUE):
        payload = int(fields["len"]) - FRAME_HEADERS_BYTES
        if payload <= 0:
            continue
        port, end = int(fields["sport"]), int(fields["end_seq"])
        base = bases.setdefault(port, (end - payload) % SEQUENCE_NUMBERS)
        offset = (end - base) % SEQUENCE_NUMBERS
        own = rows.setdefault(port, [])
        if not own or offset > own[-1][1]:
            own.append((moment - raw["begin_s"], offset))
    return {port: (np.array([a for a, _ in own]), np.array([float(b) for _, b in own])) for port, own in rows.items()}


MEASURES: dict[str, Callable[[Values, Plan, dict[str, Any]], dict[str, Any]]] = {
    "tcp": tcp,
    "step": step,
    "on-off": on_off,
    "self-similar": self_similar,
    "dumbbell": dumbbell,
}
