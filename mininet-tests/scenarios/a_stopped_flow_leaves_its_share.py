# SPDX-License-Identifier: GPL-2.0
"""Where one of three flows stops, no risk-averse one claims the whole link.

The memorandum of 1994 shows in its figure 6 what may go wrong: the queues of the
others drain, so that a pair may pass the bottleneck while the other flow has
nothing there; it leaves back to back and shows the whole link.  A flow that
believes it sends twice its share, and where both do, a queue of half a round trip
is there before any acknowledgement tells.

Two pktpair_averse flows go on all the time; a third sends for a while, several times.
What is claimed is the part of the link that the law counts on: packet time over
service time.  With ``--cc pktpair``, which takes a share that has grown at once, most
claims are the whole link.
"""

import bisect
import math
from dataclasses import dataclass
from typing import Any

from lab import measure as common
from lab import scenario, truth
from lab.scenario import FIRST_PORT, Check, Flow, Parameter, Plan, Values

CLAIM = "where one of three flows stops, the risk-averse others take half the link each, and claim the whole never"
COMBINATIONS = [("pktpair_averse", "fq_rr")]
PARAMETERS = {
    "stops": Parameter(12, "times", "how often the third flow stops", 1, 100),
    "rate_mbit": Parameter(16.0, "Mbit/s", "rate of the bottleneck", 4, 200),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 10, 200),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
}
STAYING = 2
START_S = 0.5
# In round trips: how long the third flow sends, and how long it leaves the others alone;
# not in step with anything, so that each stop finds the others' trains elsewhere.
SENDS_ROUNDS, ALONE_ROUNDS = 11.37, 9.41
# iperf3 counts what it has written, and takes the connection down when that is all: what
# its socket buffer holds beyond the path, in round trips of the flow's share, is written on
# top, and may leave or not.
BUFFER_ROUNDS, UNSENT_ROUNDS = 6, 3
BUFFER_PACKETS = 2000
# Counted after a stop, in round trips: when the others have to have taken the share, and
# how long claims are watched.
TAKEN_ROUNDS, WATCHED_ROUNDS = 6, 8
# Nearer to a half, which is there, than to the whole.
CLAIM_HIGHEST = 0.75
# Of what one of three is due in SENDS_ROUNDS; the risk-averse begin late where the path is short.
CAME_LEAST = 0.6


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Two flows that stay, from a pair of hosts each, and one after another from a third."""
    stops = values["stops"]
    round_s = values["round_trip"] / 1000
    every_s = (SENDS_ROUNDS + UNSENT_ROUNDS + ALONE_ROUNDS) * round_s
    round_bytes = values["rate_mbit"] * 1e6 / 8 * round_s / (STAYING + 1)
    # iperf3 counts whole seconds
    seconds = math.ceil(START_S + stops * every_s)
    staying = tuple(
        Flow(f"f{i + 1}", i + 1, cc, i * 0.01, seconds, port=FIRST_PORT + i + 1, block_bytes=scenario.BLOCK_BYTES)
        for i in range(STAYING)
    )
    leaving = tuple(
        Flow(
            f"stops{i + 1}",
            STAYING + 1,
            cc,
            START_S + i * every_s,
            bytes=int((SENDS_ROUNDS + UNSENT_ROUNDS) * round_bytes),
            port=FIRST_PORT + 100 + i,
            window_bytes=int(BUFFER_ROUNDS * round_bytes),
            block_bytes=scenario.BLOCK_BYTES,
        )
        for i in range(stops)
    )
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(values["round_trip"],) * (STAYING + 1),
        limit_packets=BUFFER_PACKETS,
        flows=(*staying, *leaving),
        packet_bytes=values["packet"],
        hash_seed=seed,
        events=truth.EVENTS,
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
    packet_ns = plan.packet_bytes * 8e9 / plan.rate_bit_s
    round_s = values["round_trip"] / 1000
    came: dict[int, list[tuple[float, int]]] = {flow.port: [] for flow in plan.flows}
    for moment, packet in common.events(raw["trace"], "fq_rr_enqueue"):
        if int(packet["sport"]) in came:
            came[int(packet["sport"])].append((moment, int(packet["flow_packets"])))
    trains: dict[int, list[tuple[float, float]]] = {flow.port: [] for flow in plan.flows}
    for moment, sample in common.events(raw["trace"], "pktpair_sample"):
        if int(sample["sport"]) in trains and int(sample["service_ns"]):
            trains[int(sample["sport"])].append((moment, packet_ns / int(sample["service_ns"])))
    if not all(came.values()) or not all(trains[flow.port] for flow in plan.flows[:STAYING]):
        raise common.RunError("a flow sent nothing, or no train of it came back")
    stays = [
        Stay([at for at, _ in trains[flow.port]], [claim for _, claim in trains[flow.port]], came[flow.port])
        for flow in plan.flows[:STAYING]
    ]
    highest, taken, both, longest = [], [], [], 0
    for flow in plan.flows[STAYING:]:
        gone = came[flow.port][-1][0]
        watched = gone + WATCHED_ROUNDS * round_s
        claims = [max(stay.between(gone, watched)) for stay in stays]
        highest += claims
        both.append(sum(claims))
        taken += [stay.between(gone, gone + TAKEN_ROUNDS * round_s)[-1] for stay in stays]
        longest = max([longest, *(n for stay in stays for at, n in stay.queues if gone <= at <= watched)])
    due = SENDS_ROUNDS * round_s * 1e9 / packet_ns / (STAYING + 1)
    return {
        "least_came": common.rounded(min(len(came[flow.port]) for flow in plan.flows[STAYING:]) / due, 3),
        "highest_claim": common.rounded(max(highest), 3),
        "highest_sum": common.rounded(max(both), 3),
        "least_taken": common.rounded(min(taken), 3),
        "claims": [common.rounded(claim, 3) for claim in highest],
        "longest_queue_packets": longest,
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Half each after six round trips, and never the whole link."""
    return [
        Check("least_came", ">=", CAME_LEAST),
        Check("least_taken", ">=", 0.45),
        Check("highest_claim", "<=", CLAIM_HIGHEST),
    ]
