# SPDX-License-Identifier: GPL-2.0
"""What a run of the scenario packet-pair-1994 shows, from the traces of fq_rr and tcp_pktpair.

Times are in packet times at the bottleneck (TU) from the first packet that comes to it, and rates in packets in
one of them, so that the link's is 1.

queue
    packets in fq_rr, without the one that is leaving: what each packet found and itself, and what was
    left when one left
first probe
    the first packet of data
departures
    packets of data that left fq_rr
sending rate
    packets of data that came to fq_rr, retransmissions among them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.errors import RunError
from ..model.memorandum import PACKET_S, PAYLOAD_BYTES, ROUND_TRIP_PACKETS
from ..model.plan import Plan
from . import estimates
from .figures import Floats, events, jain, rounded

EVENTS = ("pktpair:pktpair_sample", "fq_rr:fq_rr_enqueue", "fq_rr:fq_rr_dequeue")
Values = Mapping[str, Any]
# An ACK or what opens a connection is shorter.
LEAST_DATA_BYTES = 200
# Section 9.1: a fourth of a round trip is the window in which the link's use is counted.
WINDOW_TU = ROUND_TRIP_PACKETS / 4
FULL = 0.99
# The start, which takes about five round trips, and as long again.
SETTLED_TU = 10 * ROUND_TRIP_PACKETS
# What of the steady state is drawn packet by packet.
STEADY_ROUND_TRIPS = (30, 30.5)
# Short-run fairness is of so much, and long-run fairness of the run.
SHORT_TU = 10 * ROUND_TRIP_PACKETS
# A source that drains its queue sends at most two packets in so long: a fourth of its fair share of ten.
QUIET_TU, QUIET_PACKETS = 75, 2


@dataclass(frozen=True)
class Packets:
    """Of one flow at the bottleneck.

    :param came_tu: when each packet came
    :param queued: of its flow when it had come, itself among them
    :param left_tu: when each packet left
    """

    came_tu: Floats
    queued: Floats
    left_tu: Floats

    def sent(self, begin_tu: float, end_tu: float) -> float:
        """The sending rate."""
        return between(self.came_tu, begin_tu, end_tu) / (end_tu - begin_tu)

    def served(self, begin_tu: float, end_tu: float) -> float:
        """Departures in a packet time."""
        return between(self.left_tu, begin_tu, end_tu) / (end_tu - begin_tu)


@dataclass(frozen=True)
class Seen:
    """A run.

    :param first_s: when the first packet of data came to the bottleneck, by the trace
    :param flows: in the order of the plan's
    :param queue_tu: when the queue changed
    :param queue: its packets from then on
    :param full_tu: when a packet first found it full; none if no packet did
    :param samples: of each flow, what tcp_pktpair says at each train that came back; none of another's
    """

    first_s: float
    flows: Sequence[Packets]
    queue_tu: Floats
    queue: Floats
    full_tu: float | None
    samples: Sequence[Mapping[str, Floats]]


def between(times: Floats, begin: float, end: float) -> int:
    """How many of sorted times are from one on, and before another."""
    return int(np.searchsorted(times, end) - np.searchsorted(times, begin))


def seen(plan: Plan, raw: Mapping[str, Any], limit: int) -> Seen:
    """A run's trace; RunError if no packet came to the bottleneck."""
    trace, ports = raw["trace"], {plan.port(flow): index for index, flow in enumerate(plan.flows)}
    came = [(at, one) for at, one in events(trace, "fq_rr_enqueue") if int(one["len"]) > LEAST_DATA_BYTES]
    left = [(at, one) for at, one in events(trace, "fq_rr_dequeue") if int(one["len"]) > LEAST_DATA_BYTES]
    if not came:
        raise RunError("no packet of data came to fq_rr")
    first_s = came[0][0]

    def tu(moments: Sequence[float]) -> Floats:
        return (np.array(moments, dtype=float) - first_s) / PACKET_S

    of_flows: list[tuple[list[float], list[int], list[float]]] = [([], [], []) for _ in plan.flows]
    for at, one in came:
        index = ports.get(int(one["sport"]))
        if index is not None:
            of_flows[index][0].append(at)
            of_flows[index][1].append(int(one["flow_packets"]) + 1)
    for at, one in left:
        index = ports.get(int(one["sport"]))
        if index is not None:
            of_flows[index][2].append(at)
    changes = sorted(
        [(at, min(int(one["qlen"]) + 1, limit)) for at, one in came] + [(at, int(one["qlen"])) for at, one in left],
        key=lambda change: change[0],
    )
    full = [at for at, one in came if int(one["qlen"]) >= limit]
    samples: list[dict[str, list[float]]] = [
        {name: [] for name in ("tu", "setpoint", "outstanding", "rtt_tu", "gap_tu", "service_tu")} for _ in plan.flows
    ]
    for at, one in events(trace, "pktpair_sample"):
        index = ports.get(int(one["sport"]))
        if index is None:
            continue
        row = samples[index]
        row["tu"].append((at - first_s) / PACKET_S)
        row["setpoint"].append(int(one["setpoint_q8"]) / 256)
        row["outstanding"].append(float(one["outstanding"]))
        row["rtt_tu"].append(int(one["rtt_us"]) / 1e6 / PACKET_S)
        row["service_tu"].append(int(one["service_ns"]) / 1e9 / PACKET_S)
        covered = int(one["covered_segments"]) if one["verdict"] == "sample" else 0
        row["gap_tu"].append(int(one["gap_ns"]) / 1e9 / PACKET_S / covered if covered else np.nan)
    return Seen(
        first_s,
        [Packets(tu(at), np.array(queued, dtype=float), tu(gone)) for at, queued, gone in of_flows],
        tu([at for at, _ in changes]),
        np.array([packets for _, packets in changes], dtype=float),
        (full[0] - first_s) / PACKET_S if full else None,
        [{name: np.array(values, dtype=float) for name, values in row.items()} for row in samples],
    )


def mean_in_time(times: Floats, values: Floats, begin: float, end: float) -> float:
    """Of values that hold until the next, over a span of time."""
    chosen = (times >= begin) & (times < end)
    if not chosen.any():
        return float("nan")
    own = times[chosen]
    return float(np.average(values[chosen], weights=np.append(np.diff(own), max(end - own[-1], 1e-9))))


def first_full(left_tu: Floats) -> float | None:
    """Round trips from the first probe until a fourth of one has passed in which the link's use was FULL."""
    departures = round(WINDOW_TU)
    lasted_tu = left_tu[departures:] - left_tu[:-departures]
    full = np.flatnonzero(departures / lasted_tu >= FULL)
    return rounded(left_tu[full[0] + departures] / ROUND_TRIP_PACKETS, 3) if len(full) else None


def fixed(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Section 9.1, figures 11 to 14: one source; of several, the link's use is that of all."""
    run = seen(plan, raw, values["limit"])
    own, samples = run.flows[0], run.samples[0]
    end_tu = values["round_trips"] * ROUND_TRIP_PACKETS - ROUND_TRIP_PACKETS
    settled = run.queue[(run.queue_tu >= SETTLED_TU) & (run.queue_tu < end_tu)]
    full = first_full(own.left_tu)
    since = SETTLED_TU if full is None else full * ROUND_TRIP_PACKETS
    told: dict[str, Any] = {
        "length_tu": values["round_trips"] * ROUND_TRIP_PACKETS,
        "mean_queue": rounded(mean_in_time(run.queue_tu, run.queue, SETTLED_TU, end_tu), 3),
        "least_queue": int(settled.min()),
        "most_queue": int(settled.max()),
        "round_trips_to_full": full,
        "utilisation_after": rounded(sum(one.served(since, end_tu) for one in run.flows), 4),
        "slope": rounded(slope(own.left_tu, SETTLED_TU, end_tu), 5),
        "peak_queue": int(own.queued.max()),
    }
    if len(samples["tu"]):
        chosen = (samples["tu"] >= SETTLED_TU) & (samples["tu"] < end_tu)
        told["mean_outstanding"] = rounded(samples["outstanding"][chosen].mean(), 3)
        begin_s, first = raw["begin_s"], plan.flows[0]
        trains = estimates.trains(
            raw["trace"],
            plan.port(first),
            begin_s + first.start_s + SETTLED_TU * PACKET_S,
            begin_s + first.start_s + end_tu * PACKET_S,
        )
        told |= estimates.error_figures(trains.error_packets, "estimate_error")
    return told


def slope(times: Floats, begin: float, end: float) -> float:
    """Of the line that fits a count of sorted times best."""
    own = times[(times >= begin) & (times < end)]
    return float(np.polyfit(own, np.arange(len(own)), 1)[0]) if len(own) > 2 else 0.0


def drops_and_retransmits(plan: Plan, raw: Mapping[str, Any], run: Seen) -> dict[str, Any]:
    """Drops of each flow are what came and never left, since nothing is left at the end."""
    drops = [len(own.came_tu) - len(own.left_tu) for own in run.flows]
    return {
        "drops_of_sources": drops,
        "dropped": sum(drops),
        "retransmitted": sum(int(one["retransmits"]) for one in raw["flows"]),
    }


def setpoint_figures(run: Seen, end_tu: float) -> dict[str, Any]:
    """Setpoints of sources that probe, if they have one: means, their sum at the first drop, and how fast they rise."""
    rows = run.samples
    if not all(len(row["tu"]) for row in rows):
        return {}
    # a drain has none
    known = [{name: values[row["setpoint"] > 0] for name, values in row.items()} for row in rows]
    means = [mean_in_time(row["tu"], row["setpoint"], SETTLED_TU, end_tu) for row in known]
    short = [
        jain([mean_in_time(row["tu"], row["setpoint"], begin, begin + SHORT_TU) for row in known])
        for begin in range(SETTLED_TU, round(end_tu - SHORT_TU) + 1, SHORT_TU)
    ]
    told = {
        "mean_setpoints": [rounded(one, 3) for one in means],
        "fairness_long": rounded(jain(means), 5),
        "fairness_short": rounded(np.mean(short), 5),
        "share_over_fair": [rounded(len(rows) / row["service_tu"][row["tu"] >= SETTLED_TU].mean(), 4) for row in known],
    }
    if run.full_tu is not None:
        told["setpoints_at_drop"] = rounded(
            sum(float(row["setpoint"][max(0, int(np.searchsorted(row["tu"], run.full_tu)) - 1)]) for row in known), 3
        )
    told["setpoint_slope"] = [rounded(setpoint_slope(row, run.full_tu or end_tu), 4) for row in known]
    return told


def setpoint_slope(row: Mapping[str, Floats], end_tu: float) -> float:
    """Packets in a round trip, each as long as it was found to be, before a moment."""
    chosen = (row["tu"] < end_tu) & (row["rtt_tu"] > 0)
    if chosen.sum() < 3:
        return float("nan")
    passed = np.concatenate([[0.0], np.cumsum(np.diff(row["tu"][chosen]) / row["rtt_tu"][chosen][1:])])
    return float(np.polyfit(passed, row["setpoint"][chosen], 1)[0])


def probing(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Section 9.1, figures 15 and 16: sources whose setpoints rise until something is lost."""
    run = seen(plan, raw, values["limit"])
    length_tu = values["round_trips"] * ROUND_TRIP_PACKETS
    end_tu = length_tu - ROUND_TRIP_PACKETS
    rates = [own.served(SETTLED_TU, end_tu) for own in run.flows]
    return {
        "length_tu": length_tu,
        **drops_and_retransmits(plan, raw, run),
        "rates": [rounded(one, 5) for one in rates],
        "jain_of_rates": rounded(jain(rates), 5),
        "utilisation_after": rounded(sum(rates), 5),
        **setpoint_figures(run, end_tu),
    }


def joining(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Section 9.2: a source that others join."""
    run = seen(plan, raw, values["limit"])
    first = run.flows[0]
    began_ns = raw["flows"][0]["began_ns"]
    ended_tu = [(one["ended_ns"] - began_ns) / 1e9 / PACKET_S for one in raw["flows"]]
    joins = values["first_join"]
    starts = [joins + number * values["spacing"] * ROUND_TRIP_PACKETS for number in range(values["sources"] - 1)]
    told = {
        "length_tu": rounded(max(ended_tu), 1),
        "completion_tu": rounded(ended_tu[0], 1),
        **drops_and_retransmits(plan, raw, run),
        "peak_queue": int(first.queued.max()),
        "rate_at_1000": rounded(first.sent(1000, 1000 + ROUND_TRIP_PACKETS), 4),
        # the second round trip after each: the first one passes until a source can know
        "rates_after_joins": [
            rounded(first.sent(at + ROUND_TRIP_PACKETS, at + 2 * ROUND_TRIP_PACKETS), 4) for at in starts
        ],
    }
    begin, end = 2000.0, min(ended_tu)
    if end > begin + ROUND_TRIP_PACKETS:
        told["jain_after_2000"] = rounded(jain([own.served(begin, end) for own in run.flows]), 5)
    return told | build_ups(first, run.samples[0], joins, min(ended_tu))


def build_ups(own: Packets, samples: Mapping[str, Floats], joins_tu: float, end_tu: float) -> dict[str, Any]:
    """The phases after others have joined: a queue, hardly anything sent, a queue again, and a steady state."""
    before = own.queued[own.came_tu < joins_tu]
    told: dict[str, Any] = {"queue_before": int(before[-1]) if len(before) else 0}
    quiet = next(
        (
            at
            for at in range(round(joins_tu), round(end_tu) - QUIET_TU, 5)
            if between(own.came_tu, at, at + QUIET_TU) <= QUIET_PACKETS
        ),
        None,
    )
    if quiet is not None:
        built = own.queued[(own.came_tu >= joins_tu) & (own.came_tu < quiet)]
        since = quiet + QUIET_TU
        again = own.queued[(own.came_tu >= since) & (own.came_tu < min(since + SETTLED_TU, end_tu))]
        told |= {
            "quiet_tu": quiet,
            "peak_before_quiet": int(built.max()) if len(built) else 0,
            "peak_after_quiet": int(again.max()) if len(again) else 0,
            "least_after_quiet": int(again[0]) if len(again) else 0,
        }
    # phase 5: long after the others have joined, while all are there
    begin = joins_tu + 2000
    if end_tu > begin + 5 * ROUND_TRIP_PACKETS:
        told["steady_rate"] = rounded(own.sent(begin, end_tu), 4)
        told["steady_queue"] = rounded(np.median(own.queued[(own.came_tu >= begin) & (own.came_tu < end_tu)]), 1)
        gaps = samples["gap_tu"][(samples["tu"] >= begin) & (samples["tu"] < end_tu)]
        gaps = gaps[~np.isnan(gaps)]
        told["steady_gap_tu"] = rounded(gaps.mean(), 3) if len(gaps) else None
    return told


def on_off(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Section 9.3: sources that are on and off; what they carried, and sent again."""
    made = (flow.bytes + sum(one.response_bytes for one in flow.exchanges) for flow in plan.flows)
    packets = sum(made) / PAYLOAD_BYTES
    retransmits = sum(int(one["retransmits"]) for one in raw["flows"])
    ended_s = max(one["ended_ns"] for one in raw["flows"]) / 1e9
    return {
        "length_tu": rounded(ended_s / PACKET_S, 1),
        "packets": round(packets),
        "retransmitted": retransmits,
        "goodput": rounded(1 - retransmits / packets, 5),
        "utilisation_after": rounded(packets * PACKET_S / ended_s, 4),
    }


MEASURES: dict[str, Callable[[Values, Plan, Mapping[str, Any]], dict[str, Any]]] = {
    "fixed": fixed,
    "probing": probing,
    "joining": joining,
    **dict.fromkeys(("on-off", "open"), on_off),
}


def curves(values: Values, plan: Plan, raw: Mapping[str, Any], most: int = 1500) -> dict[str, list[list[float]]]:
    """What is drawn of a run: the first source's queue, setpoint and departures, thinned out, and a part in full.

    With what others join, also the sending rates of the first source and of all others, in each round trip, and the
    rate that its service time says, where there is one: other congestion controls have none.
    """
    run = seen(plan, raw, values["limit"])
    sampled, (begin, end) = run.samples[0], (at * ROUND_TRIP_PACKETS for at in STEADY_ROUND_TRIPS)
    steady = (run.queue_tu >= begin) & (run.queue_tu < end)
    pairs = {
        "queue": (run.flows[0].came_tu, run.flows[0].queued),
        "setpoint": (sampled["tu"], sampled["setpoint"]),
        "departed": (run.flows[0].left_tu, np.arange(1.0, len(run.flows[0].left_tu) + 1)),
        "steady": (run.queue_tu[steady], run.queue[steady]),
    }
    if len(run.flows) > 1:
        half = ROUND_TRIP_PACKETS / 2
        ends = np.arange(2 * half, run.flows[0].came_tu[-1], half)
        rates = [[own.sent(at - 2 * half, at) for at in ends] for own in run.flows]
        known = sampled["service_tu"] > 0
        pairs |= {
            "rate": (ends, np.array(rates[0])),
            "others": (ends, np.sum(rates[1:], axis=0)),
            "service": (sampled["tu"][known], 1 / sampled["service_tu"][known]),
        }
    told = {}
    for name, (times, numbers) in pairs.items():
        step = max(1, len(times) // most)
        told[name] = [[rounded(a, 2), rounded(b, 2)] for a, b in zip(times[::step], numbers[::step], strict=True)]
    return told
