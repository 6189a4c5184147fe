# SPDX-License-Identifier: GPL-2.0
"""Where one of three flows stops, the others take its share, and seldom claim the whole link.

The memorandum of 1994 shows in its figure 6 what may go wrong: the queues of the
others drain, so that a pair may pass the bottleneck while the other flow has
nothing there; it leaves back to back and shows the whole link.  A flow that
believes it sends twice its share, and where both do, a queue of half a round trip
is there before any acknowledgement tells.

Two flows go on all the time; a third sends for a while, several times.  What is
claimed is the part of the link that the law counts on: packet time over service time.
Before a check once a round trip confirmed it, three quarters of the claims were the
whole link.
"""

import bisect
from dataclasses import dataclass
from typing import Any

from lab.analyse.figures import RunError, events, rounded
from lab.model.flows import BLOCK_BYTES, dumbbell
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan, Record, in_range
from lab.model.scenario import Check, Parameter, Values

CLAIM = "where one of three flows stops, the others take half the link each, and claim the whole in three of four stops"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "stops": Parameter(12, "times", "how often the third flow stops", 1, 50),
    "rate_mbit": Parameter(16.0, "Mbit/s", "rate of the bottleneck", 4, 80),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 10, 200),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
}
EVENTS = ("pktpair:pktpair_sample", "fq_rr:fq_rr_enqueue")
STAYING = 2
START_S = 0.5
STAYING_APART_S = 0.01
# In round trips: what the third flow sends, at its share, and how long after that it leaves
# the others alone; not in step with anything, so that each stop finds the others' trains
# elsewhere. It begins slowly: LATE_ROUNDS more until it has sent that.
SENDS_ROUNDS, LATE_ROUNDS, ALONE_ROUNDS = 11.37, 3, 9.41
BUFFER_PACKETS = 2000
# What the guest's CPU carries beside its other work.
MAX_PACKETS_S = 20_000
# Counted after a stop, in round trips: when the others have to have taken the share, and
# how long claims are watched.
TAKEN_ROUNDS, WATCHED_ROUNDS = 6, 8
# A claim of the whole link; what part of the claims were before a check confirmed them.
CLAIM_WHOLE, CLAIM_WHOLE_MOST = 0.97, 0.75
# Of its share while it sends.
CAME_LEAST = 0.6


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Two flows that stay, from a pair of hosts each, and one after another from a third."""
    rate_bit_s, packet_bytes = round(values["rate_mbit"] * 1e6), values["packet"]
    packets_s = rate_bit_s / 8 / packet_bytes
    in_range("packets/s on the link", packets_s, 0, MAX_PACKETS_S)
    round_s = values["round_trip"] / 1000
    every_s = (SENDS_ROUNDS + LATE_ROUNDS + ALONE_ROUNDS) * round_s
    packets = round(SENDS_ROUNDS * round_s * packets_s / (STAYING + 1))
    staying = tuple(
        Flow(
            f"f{i + 1}",
            f"s{i + 1}",
            f"d{i + 1}",
            cc,
            start_s=i * STAYING_APART_S,
            seconds=START_S + values["stops"] * every_s,
            connects="start",
            packet_bytes=packet_bytes,
            write_bytes=BLOCK_BYTES,
        )
        for i in range(STAYING)
    )
    leaving = tuple(
        Flow(
            f"stops{i + 1}",
            f"s{STAYING + 1}",
            f"d{STAYING + 1}",
            cc,
            start_s=START_S + i * every_s,
            bytes=packets * (packet_bytes - TCP_HEADER_BYTES),
            connects="start",
            packet_bytes=packet_bytes,
            write_bytes=BLOCK_BYTES,
        )
        for i in range(values["stops"])
    )
    return Plan(
        dumbbell(qdisc, rate_bit_s, (values["round_trip"],) * (STAYING + 1), BUFFER_PACKETS, packet_bytes),
        (*staying, *leaving),
        record=Record(events=EVENTS),
        hash_seed=seed,
    )


@dataclass(frozen=True)
class Stay:
    """What one of the flows that stay claimed, and what waited of it.

    :param moments: when its trains came back, s
    :param claims: part of the link from then on
    :param queues: (s, packets) as its packets came to the bottleneck
    """

    moments: list[float]
    claims: list[float]
    queues: list[tuple[float, int]]

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """The claims of a time, the one in force at its beginning included."""
        first = bisect.bisect(self.moments, begin_s) - 1
        return self.claims[max(first, 0) : bisect.bisect(self.moments, end_s)]


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What each flow that stays claims after the last packet of one that stops."""
    packet_ns = values["packet"] * 8e9 / round(values["rate_mbit"] * 1e6)
    round_s = values["round_trip"] / 1000
    ended_s = {
        plan.port(flow): raw["begin_s"] + result["ended_ns"] / 1e9
        for flow, result in zip(plan.flows, raw["flows"], strict=True)
    }
    came: dict[int, list[tuple[float, int]]] = {port: [] for port in ended_s}
    for moment, packet in events(raw["trace"], "fq_rr_enqueue"):
        port = int(packet["sport"])
        # when the run ends, every connection sends a reset
        if port in came and moment <= ended_s[port]:
            came[port].append((moment, int(packet["flow_packets"])))
    trains: dict[int, list[tuple[float, float]]] = {port: [] for port in ended_s}
    for moment, sample in events(raw["trace"], "pktpair_sample"):
        if int(sample["sport"]) in trains and int(sample["service_ns"]):
            trains[int(sample["sport"])].append((moment, packet_ns / int(sample["service_ns"])))
    ports = [plan.port(flow) for flow in plan.flows]
    if not all(came.values()) or not all(trains[port] for port in ports[:STAYING]):
        raise RunError("a flow sent nothing, or no train of it came back")
    stays = [
        Stay([at for at, _ in trains[port]], [claim for _, claim in trains[port]], came[port])
        for port in ports[:STAYING]
    ]
    highest, taken, both, shares, longest = [], [], [], [], 0
    for port in ports[STAYING:]:
        began, gone = came[port][0][0], came[port][-1][0]
        due = (gone - began) * 1e9 / packet_ns / (STAYING + 1)
        shares.append(len(came[port]) / due)
        watched = gone + WATCHED_ROUNDS * round_s
        claims = [max(stay.between(gone, watched)) for stay in stays]
        highest += claims
        both.append(sum(claims))
        taken += [stay.between(gone, gone + TAKEN_ROUNDS * round_s)[-1] for stay in stays]
        longest = max([longest, *(n for stay in stays for at, n in stay.queues if gone <= at <= watched)])
    return {
        "least_came": rounded(min(shares), 3),
        "whole_part": rounded(sum(claim > CLAIM_WHOLE for claim in highest) / len(highest), 3),
        "highest_claim": rounded(max(highest), 3),
        "highest_sum": rounded(max(both), 3),
        "least_taken": rounded(min(taken), 3),
        "claims": [rounded(claim, 3) for claim in highest],
        "longest_queue_packets": longest,
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Half each after six round trips, and the whole link no more often than without a check."""
    return [
        Check("least_came", ">=", CAME_LEAST),
        Check("least_taken", ">=", 0.45),
        Check("whole_part", "<=", CLAIM_WHOLE_MOST),
    ]
