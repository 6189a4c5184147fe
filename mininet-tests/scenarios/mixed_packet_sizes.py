# SPDX-License-Identifier: GPL-2.0
"""What tcp_pktpair measures where flows of other packet sizes share the bottleneck.

Round robin by bytes serves several small packets of one flow in a turn, so a
small flow's gaps are short ones and, at the end of a turn, one long; a flow of
full packets waits for turns of many packets.  Only times and segments summed
over many trains show the mean.

The expected mean follows from the queue's own accounts: everybody backlogged,
each flow is served the same number of bytes, Ethernet headers included, and on
the link a packet lasts as long as its datagram.
"""

from typing import Any

from lab import scenario, truth
from lab.links import ETHERNET_HEADER_BYTES
from lab.measure import rounded
from lab.scenario import Check, Parameter, Plan, Values

CLAIM = "among flows of other packet sizes the mean gap, and the service time made of it, are right within 5 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "packet": Parameter(1500, "bytes", "size of the measured flow's datagrams", 140, 1500),
    "other_packet": Parameter(150, "bytes", "size of the others' datagrams", 140, 1500),
    "others": Parameter(3, "flows", "other flows, backlogged all the time", 1, 20),
    "rate_mbit": Parameter(6.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "round_trip": Parameter(40.0, "ms", "propagation delay of all flows", 0.1, 10_000),
    "seconds": Parameter(4.0, "s", "measured, after two more seconds", 0.5, 600),
}
# Both ways round; Documentation/tcp_pktpair.rst has one more.
VARIANTS: list[dict[str, scenario.Value]] = [
    {"packet": 1500, "other_packet": 150},
    {"packet": 150, "other_packet": 1500},
]
SETTLE_S = 2.0
BUFFER_PACKETS = 50_000
WINDOW_BYTES = 300_000


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow from the first host, the others from the second."""
    seconds = SETTLE_S + values["seconds"] + 0.5
    flows = scenario.among_backlogged(
        values["others"] + 1, cc, seconds, seed, window_bytes=WINDOW_BYTES, packet_bytes=values["other_packet"]
    )
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(values["round_trip"],) * 2,
        limit_packets=BUFFER_PACKETS,
        flows=flows,
        settle_s=SETTLE_S,
        packet_bytes=values["packet"],
        hash_seed=seed,
        events=truth.EVENTS,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap and service time against what the queue's accounts give."""
    assert plan.window_s is not None
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    seen = truth.trains(raw["trace"], plan.flows[0].port, begin_s, end_s)
    mine, other = values["packet"], values["other_packet"]
    others_packets = values["others"] * (mine + ETHERNET_HEADER_BYTES) / (other + ETHERNET_HEADER_BYTES)
    ideal_ns = (mine + others_packets * other) * 8e9 / plan.rate_bit_s
    return {
        "samples": seen.verdicts.get("sample", 0),
        "ideal_us": rounded(ideal_ns / 1e3, 1),
        **truth.service_figures(seen, ideal_ns),
        **truth.queue_figures(seen),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Five per cent."""
    return [
        Check("samples", ">=", 100),
        Check("gap_error", "in", [-0.05, 0.05]),
        Check("service_error", "in", [-0.05, 0.05]),
    ]
