# SPDX-License-Identifier: GPL-2.0
"""Acknowledgements that come back in bunches, as over Wi-Fi, on a path with a shaped link."""

from dataclasses import replace

from lab.model.plan import Flow, Plan
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "where ACKs come in slots pktpair fills 97 % of the link, with a queue delay (p95) of at most 10 ms and 5 slots"
COMBINATIONS = [("pktpair", "fq_rr"), ("bbr", "fq_rr"), ("cubic", "fq_codel")]
PARAMETERS = {
    "slot_ms": Parameter(4.0, "ms", "between one bunch of ACKs and the next; 0 is none", 0, 100),
    "jitter_ms": Parameter(0.0, "ms", "ACKs are up to so much earlier or later", 0, 10),
    "rate_mbit": Parameter(20.0, "Mbit/s", "of the link", 0.5, 200),
    "round_trip_ms": Parameter(40.0, "ms", "of the path", 1, 1000),
    "seconds": Parameter(8.0, "s", "how long the flow sends", 3, 600),
}
LIMIT_PACKETS = 2000
SETTLE_S = 2.0
# Measured: 4 ms without slots, 24 ms where they are 4 ms apart, 32 ms where they are 8 ms apart.
MOST_MS, MOST_SLOTS = 10.0, 5


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One flow; its ACKs leave the receiver's device in slots."""
    network = topology(
        "dumbbell",
        pairs=1,
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=LIMIT_PACKETS,
        delays_ms=[values["round_trip_ms"]],
    )
    links = tuple(
        replace(link, there=replace(link.there, slot_ms=values["slot_ms"], jitter_ms=values["jitter_ms"]))
        if link.device_a == "d1-x"
        else link
        for link in network.links
    )
    flow = Flow("f1", "s1", "d1", cc, seconds=values["seconds"])
    return Plan(replace(network, links=links), (flow,), hash_seed=seed, settle_s=SETTLE_S)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The claim is ours; a peer is only measured. A round trip has the wait for a slot in it, and jitter twice."""
    if (cc, qdisc) != ("pktpair", "fq_rr"):
        return []
    most_ms = MOST_MS + MOST_SLOTS * values["slot_ms"] + 2 * values["jitter_ms"]
    return [Check("utilisation", ">=", 0.97), Check("queue_delay_p95_s", "<=", round(most_ms / 1e3, 6))]
