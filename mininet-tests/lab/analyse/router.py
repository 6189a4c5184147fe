# SPDX-License-Identifier: GPL-2.0
"""Rows of ``lab router``, and the goals that they are judged by.

A row is about the flows of one congestion control in one run:

delay
    of each of their ACKs, while all flows send: the round trip less the empty path's, in s
goodput
    payload acknowledged meanwhile, Mbit/s, all of these flows together
probe, request, name
    99th percentiles of a datagram's way there, of a request's answer and of a small response, beside them, in s
retransmits
    of these flows, from a round trip after their shares are found: a loss is known so much later
retransmits_settled
    likewise, but of each flow from a round trip after the five that its share last fell to less than half, and when
    all that was sent within these is acknowledged: what was dropped within them may be sent again long after
packets
    of the flow that sent fewest of these, in the whole run
drops, marks
    of the whole queue, in the whole run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.errors import RunError
from ..model.plan import Flow, Plan
from .figures import Acks, acks_of_flows, arrived, delays_of, layouts_of, responses_s, rounded
from .verdict import Row, Verdict, mean

BOTTLENECK = "r-x"
# Of a run's metrics that are part of its rows: "<cc>_delay_p50_s", and the like.
OF_GROUP = ("delay_p50_s", "delay_p99_s", "goodput_mbit", "retransmits", "retransmits_settled", "packets")
OF_RUN = ("probe_p99_s", "request_p99_s", "name_p99_s", "drops", "marks")
# Of the queues' own statistics: fq_rr's, fq_codel's, and CAKE's by its tins.
MARKS = ("marks_aqm", "marks_ce", "ecn_mark")
FULL_PACKET_BITS = 1500 * 8
# Delay: of the better peer's, or so many packets of a flow's own. Goodput: of the lower and of the higher peer's.
DELAY, DELAY_PACKETS = 1.05, 10
GOODPUT_OF_LOWER, GOODPUT_OF_HIGHER = 0.99, 0.97
# Packet pair beside CUBIC: round trips to follow a share that fell to less than half, and one to hear of a loss.
FOLLOWED_ROUND_TRIPS, HEARD_ROUND_TRIPS = 5, 1
# Of the delay without delay control.
DELAY_OF_NONE = 1.1
OURS, PEERS = "fq_rr", ("fq_codel", "cake")
# A run lasts until each flow has sent so many.
LEAST_PACKETS = 500
# Who lets hosts share a link as well.
HOSTS_PEER = "cake"
PACKET_PAIR, WITHOUT = "pktpair", "no-aqm"
ASKED = ("probe_p99_s", "request_p99_s", "name_p99_s")


@dataclass(frozen=True)
class OfFlows(Verdict):
    """A goal about the flows of one congestion control."""

    cc: str


def groups(plan: Plan) -> dict[str, list[Flow]]:
    """Flows that fill the link, by their congestion control."""
    found: dict[str, list[Flow]] = {}
    for flow in plan.measured:
        found.setdefault(flow.cc, []).append(flow)
    return found


def fell_s(starts_s: Sequence[float], start_s: float) -> float | None:
    """When a flow's share of the link last fell to less than half of what it was, as others started; None: never.

    :param starts_s: of all flows, its own among them; each has the same share
    """
    of_share, fell_at_s = sum(one <= start_s for one in starts_s), None
    for flows, later_s in enumerate(sorted(starts_s), 1):
        if flows > 2 * of_share:
            of_share, fell_at_s = flows, later_s
    return fell_at_s


def settled_s(seen: Acks, from_s: float, round_trips: int) -> float:
    """When so many round trips have passed, each from the first packet that is sent after the one before.

    Infinite if fewer pass before the trace ends.
    """
    timed = seen.rtt_s > 0
    acked_s, sent_s = seen.time_s[timed], (seen.time_s - seen.rtt_s)[timed]
    for _ in range(round_trips):
        later = acked_s[sent_s >= from_s]
        if not len(later):
            return float("inf")
        from_s = float(later[0])
    return from_s


def delivered_s(seen: Acks, sent_by_s: float, mss_bytes: int) -> float:
    """When all that was sent for the first time by a moment is acknowledged.

    A packet that was dropped before the moment may be sent again long after: 40 of them take 40 turns.

    :param mss_bytes: the most that a packet that is sent again counts in what was sent
    :return: infinite, if not before the trace ends; the moment itself, if the trace does not tell what was sent
    """
    sent_bytes = seen.at(seen.sent_bytes, sent_by_s) - mss_bytes * seen.at(seen.retransmits, sent_by_s)
    if np.isnan(sent_bytes):
        return sent_by_s
    later = seen.time_s[seen.acked_bytes >= sent_bytes]
    return max(sent_by_s, float(later[0])) if len(later) else float("inf")


def followed_s(seen: Acks, fell_at_s: float, mss_bytes: int) -> float:
    """From when on what a flow sends again was dropped after it had followed the fall of its share."""
    heard_s = settled_s(seen, fell_at_s, FOLLOWED_ROUND_TRIPS + HEARD_ROUND_TRIPS)
    return max(heard_s, delivered_s(seen, settled_s(seen, fell_at_s, FOLLOWED_ROUND_TRIPS), mss_bytes))


def _mss_bytes(raw: Mapping[str, Any], flow: Flow) -> int:
    return next(int(result["mss_bytes"]) for result in raw["flows"] if result["name"] == flow.name)


def _of_group(plan: Plan, group: Sequence[Flow], acks: Mapping[int, Acks], raw: Mapping[str, Any]) -> dict[str, Any]:
    if plan.window_s is None:
        raise RunError("there is no time at which all flows send")
    begin_s, end_s = plan.window_s
    layouts = layouts_of(plan)
    starts_s = [flow.start_s for flow in plan.measured]
    delays, goodput_bit_s, lost, lost_settled = [], 0.0, 0.0, 0.0
    for flow in group:
        seen = acks[plan.port(flow)]
        chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
        delays.append(delays_of(layouts, flow, seen)[chosen])
        goodput_bit_s += seen.goodput_bit_s(begin_s, end_s)
        known_s = begin_s + float(np.median(seen.rtt_s[chosen])) if chosen.any() else begin_s
        fell_at_s, from_s = fell_s(starts_s, flow.start_s), known_s
        if fell_at_s is not None:
            from_s = max(known_s, followed_s(seen, fell_at_s, _mss_bytes(raw, flow)))
        of_all = seen.at(seen.retransmits, end_s)
        lost += of_all - seen.at(seen.retransmits, known_s)
        lost_settled += of_all - seen.at(seen.retransmits, min(from_s, end_s))
    every = np.concatenate(delays)
    if not len(every):
        raise RunError(f"no flow of {group[0].cc} was acknowledged from {begin_s:.3f} to {end_s:.3f} s")
    return {
        "delay_p50_s": rounded(np.quantile(every, 0.5)),
        "delay_p99_s": rounded(np.quantile(every, 0.99)),
        "goodput_mbit": rounded(goodput_bit_s / 1e6),
        "retransmits": int(lost),
        "retransmits_settled": int(lost_settled),
    }


def marks(entries: Sequence[Mapping[str, Any]]) -> int:
    """What the queue of a device has marked, by its statistics."""
    tins = [tin for entry in entries for tin in entry.get("tins", ())]
    return sum(int(one.get(name) or 0) for one in (*entries, *tins) for name in MARKS)


def metrics(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of one run: each group's figures under its congestion control's name, and the run's."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    found: dict[str, Any] = {}
    for cc, group in groups(plan).items():
        found |= {f"{cc}_{name}": value for name, value in _of_group(plan, group, acks, raw).items()}
    by_name = {result["name"]: result for result in raw["flows"]}
    for cc, group in groups(plan).items():
        found[f"{cc}_packets"] = min(by_name[flow.name]["data_packets_sent"] for flow in group)
    settled_s, end_s = plan.window_s or (0.0, float("inf"))
    probes = arrived(plan, raw)["probe"].between(settled_s, end_s)
    answers = {name: responses_s(by_name[name], settled_s, end_s) for name in ("request", "name")}
    for name, seconds in {"probe": probes, **answers}.items():
        if not len(seconds):
            raise RunError(f"{name}: nothing came back")
        found[f"{name}_p99_s"] = rounded(np.quantile(seconds, 0.99))
    found["marks"] = marks(raw["qdiscs"][BOTTLENECK])
    return found


def rows(runs: Iterable[tuple[Row, Mapping[str, Any], Sequence[str]]]) -> list[dict[str, Any]]:
    """Lines of summary.json.

    :param runs: of each what was asked (case, flows, rate_mbit, path_s, qdisc, options, seed), its metrics, and the
        congestion controls of its flows
    """
    found = []
    for asked, measured, ccs in runs:
        for cc in ccs:
            beside = next((other for other in ccs if other != cc), "")
            own = {name: measured[f"{cc}_{name}"] for name in OF_GROUP}
            found.append({**asked, "cc": cc, "beside": beside, **own, **{name: measured[name] for name in OF_RUN}})
    return found


def judge(all_rows: Sequence[Row]) -> list[OfFlows]:
    """Every goal that the rows allow to judge, over the means of their seeds."""
    by: dict[tuple[str, str, str], dict[tuple[str, str], list[Row]]] = {}
    for row in all_rows:
        queue = by.setdefault((row["case"], row["cc"], row["beside"]), {})
        queue.setdefault((row["qdisc"], row["options"]), []).append(row)
    found: list[OfFlows] = []
    for (case, cc, beside), of_queue in by.items():
        ours = of_queue.get((OURS, ""), [])
        peers = [of_queue[peer, ""] for peer in PEERS if (peer, "") in of_queue]
        if not ours:
            continue
        if len(peers) == len(PEERS) and cc != PACKET_PAIR:
            if beside:
                cc, (ours, *peers) = f"{cc} beside {beside}", [_with_whole(one, all_rows) for one in (ours, *peers)]
            found += _beside_peers(case, cc, ours, peers)
        if cc == PACKET_PAIR and beside:
            found += _left_alone(case, cc, ours, of_queue.get((OURS, WITHOUT)))
    return found


def _with_whole(half: Sequence[Row], all_rows: Sequence[Row]) -> list[Row]:
    """Rows of a half with the goodput of both halves: what one has of the link is what the other leaves."""

    def run(row: Row) -> tuple[Any, ...]:
        return tuple(row[key] for key in ("case", "qdisc", "options", "seed")), {row["cc"], row["beside"]}

    return [
        {**row, "goodput_mbit": sum(one["goodput_mbit"] for one in all_rows if run(one) == run(row))} for row in half
    ]


def _beside_peers(case: str, cc: str, ours: Sequence[Row], peers: Sequence[Sequence[Row]]) -> list[OfFlows]:
    """What a flow that fills buffers, and who asks beside it, has over the other queues."""

    def verdict(name: str, op: str, limit: float) -> OfFlows:
        return OfFlows(case, name, op, rounded(limit), rounded(mean(ours, name)), cc)

    packet_s = FULL_PACKET_BITS / (ours[0]["rate_mbit"] * 1e6)
    found = []
    for name in ("delay_p50_s", "delay_p99_s"):
        better = min(mean(peer, name) for peer in peers)
        found.append(verdict(name, "<=", max(DELAY * better, DELAY_PACKETS * packet_s * ours[0]["flows"])))
    goodput = sorted(mean(peer, "goodput_mbit") for peer in peers)
    least = max(GOODPUT_OF_LOWER * goodput[0], GOODPUT_OF_HIGHER * goodput[-1])
    found.append(verdict("goodput_mbit", ">=", least))
    found += [verdict(name, "<=", min(mean(peer, name) for peer in peers) + packet_s) for name in ASKED]
    return found


def judge_lengths(all_rows: Sequence[Row]) -> list[OfFlows]:
    """The runs were long enough: each flow of each over our queue has sent its packets.

    Over fq_codel two flows whose hashes meet have half a share each.
    """
    ours = [row for row in all_rows if row["qdisc"] == OURS]
    least = [OfFlows(row["case"], "packets", ">=", LEAST_PACKETS, row["packets"], row["cc"]) for row in ours]
    return sorted(least, key=lambda one: one.measured)[:1]


def judge_pages(pages: Sequence[Row]) -> list[OfFlows]:
    """A page beside uploads of its own host comes no later than over the peer, as a mean over seeds."""
    ours, peer = ([row for row in pages if row["qdisc"] == queue] for queue in (OURS, HOSTS_PEER))
    if not ours or not peer:
        return []
    limit = rounded(mean(peer, "page_s"))
    return [OfFlows(ours[0]["case"], "page_s", "<=", limit, rounded(mean(ours, "page_s")), "cubic")]


def _left_alone(case: str, cc: str, ours: Sequence[Row], without: Sequence[Row] | None) -> list[OfFlows]:
    """A flow that controls its delay itself does not meet delay control."""
    found = [OfFlows(case, "retransmits_settled", "<=", 0, rounded(mean(ours, "retransmits_settled")), cc)]
    if without:
        limit = rounded(DELAY_OF_NONE * mean(without, "delay_p99_s"))
        found.append(OfFlows(case, "delay_p99_s", "<=", limit, rounded(mean(ours, "delay_p99_s")), cc))
    return found
