# SPDX-License-Identifier: GPL-2.0
"""Where one of three flows stops, no risk-averse one claims the whole link.

The memorandum of 1994 shows in its figure 6 what may go wrong: the queues of the
others drain, so that a pair may pass the bottleneck while the other flow has
nothing there; it leaves back to back and shows the whole link.  A flow that
believes it sends twice its share, and where both do, a queue of half a round trip
is there before any acknowledgement tells.

Two pktpair_averse flows go on all the time; a third sends for a while, several times.
What is claimed is the part of the link that the law counts on: packet time over
service time.  With ``--cc pktpair``, which takes a share that has grown at once, half
of the claims are the whole link.
"""

from __future__ import annotations

import bisect
import math
from typing import Any

from lab import measure as common
from lab import scenario, truth
from lab.scenario import FIRST_PORT, Check, Flow, Parameter, Plan, Values

CLAIM = "where one of three flows stops, the risk-averse others take half the link each, and claim the whole never"
COMBINATIONS = [("pktpair_averse", "fq_rr")]
PARAMETERS = {
    "stops": Parameter(12, "times", "how often the third flow stops", 1, 100),
    "rate_mbit": Parameter(16.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 0.1, 1000),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
}
STAYING = 2
START_S = 0.5
# The third flow: how long it sends, and how long it leaves the others alone; not in step
# with anything, so that each stop finds the others' trains elsewhere.
SENDS_S, STOPS_S = 0.5, 0.4137
BUFFER_PACKETS = 2000
# Counted after a stop, in round trips: when the others have to have taken the share, and
# how long claims are watched.
TAKEN_ROUNDS, WATCHED_ROUNDS = 6, 8
# Nearer to a half, which is there, than to the whole.
CLAIM_HIGHEST = 0.75


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Two flows that stay, from a pair of hosts each, and one after another from a third."""
    stops = values["stops"]
    # iperf3 counts whole seconds
    seconds = math.ceil(START_S + stops * (SENDS_S + STOPS_S))
    sends_bytes = int(values["rate_mbit"] * 1e6 / 8 * SENDS_S / (STAYING + 1))
    staying = tuple(
        Flow(f"f{i + 1}", i + 1, cc, i * 0.01, seconds, port=FIRST_PORT + i + 1, block_bytes=scenario.BLOCK_BYTES)
        for i in range(STAYING)
    )
    leaving = tuple(
        Flow(
            f"stops{i + 1}",
            STAYING + 1,
            cc,
            START_S + i * (SENDS_S + STOPS_S),
            bytes=sends_bytes,
            port=FIRST_PORT + 100 + i,
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


def claims(trace: str, port: int, packet_ns: float) -> list[tuple[float, float]]:
    """When a flow's trains came back, and what part of the link it claimed from then on."""
    return [
        (moment, packet_ns / int(sample["service_ns"]))
        for moment, sample in common.events(trace, "pktpair_sample")
        if int(sample["sport"]) == port and int(sample["service_ns"])
    ]


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What each flow that stays claims after the last packet of one that stops."""
    packet_ns = plan.packet_bytes * 8e9 / plan.rate_bit_s
    round_s = values["round_trip"] / 1000
    left: dict[int, float] = {}
    longest = 0
    for moment, packet in common.events(raw["trace"], "fq_rr_enqueue"):
        left[int(packet["sport"])] = moment
        longest = max(longest, int(packet["flow_packets"]))
    highest, taken, both = [], [], []
    followed = [claims(raw["trace"], flow.port, packet_ns) for flow in plan.flows[:STAYING]]
    for flow in plan.flows[STAYING:]:
        gone = left[flow.port]
        sums = []
        for trains in followed:
            moments = [moment for moment, _ in trains]
            part = trains[bisect.bisect(moments, gone) : bisect.bisect(moments, gone + WATCHED_ROUNDS * round_s)]
            highest.append(max(claim for _, claim in part))
            sums.append(highest[-1])
            at = bisect.bisect(moments, gone + TAKEN_ROUNDS * round_s)
            taken.append(trains[at - 1][1])
        both.append(sum(sums))
    return {
        "stops": len(both),
        "highest_claim": common.rounded(max(highest), 3),
        "highest_sum": common.rounded(max(both), 3),
        "least_taken": common.rounded(min(taken), 3),
        "claims": [common.rounded(claim, 3) for claim in highest],
        "longest_queue_packets": longest,
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Half each after three round trips, and never the whole link."""
    return [
        Check("stops", "==", values["stops"]),
        Check("least_taken", ">=", 0.45),
        Check("highest_claim", "<=", CLAIM_HIGHEST),
    ]
