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

from lab.analyse import estimates
from lab.analyse.figures import rounded
from lab.model import flows
from lab.model.devices import ETHERNET_HEADER_BYTES
from lab.model.plan import Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "among flows of other packet sizes the mean gap, and the service time made of it, are right within 5 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "packet": Parameter(1500, "bytes", "size of the measured flow's datagrams", 140, 1500),
    "other_packet": Parameter(150, "bytes", "size of the others' datagrams", 140, 1500),
    "others": Parameter(3, "flows", "other flows, backlogged all the time", 1, 20),
    "rate_mbit": Parameter(6.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(40.0, "ms", "propagation delay of all flows", 1, 500),
    "seconds": Parameter(8.0, "s", "measured, after two more seconds", 3, 600),
}
# Both ways round; Documentation/tcp_pktpair.rst has one more.
VARIANTS: list[dict[str, Value]] = [
    {"packet": 1500, "other_packet": 150},
    {"packet": 150, "other_packet": 1500},
]
SETTLE_S = 2.0
BUFFER_PACKETS = 50_000
WINDOW_BYTES = 300_000


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow from the first host, the others from the second."""
    mine, other, count = values["packet"], values["other_packet"], values["others"] + 1
    rate_mbit, round_trip = values["rate_mbit"], values["round_trip"]
    flows.check_packet_rate(rate_mbit, min(mine, other))
    flows.check_share(rate_mbit, count)
    flows.check_backlogged(rate_mbit, round_trip, count, WINDOW_BYTES, other, BUFFER_PACKETS)
    seconds = SETTLE_S + values["seconds"] + 0.5
    return Plan(
        # the others' standing queues are what is measured: without delay control
        flows.dumbbell(
            qdisc,
            int(rate_mbit * 1e6),
            [round_trip] * 2,
            BUFFER_PACKETS,
            max(mine, other),
            "no-aqm" if qdisc == "fq_rr" else "",
        ),
        flows.among_backlogged(
            count, cc, seconds, seed, window_bytes=WINDOW_BYTES, packet_bytes=mine, other_packet_bytes=other
        ),
        record=Record(events=estimates.EVENTS),
        hash_seed=seed,
        settle_s=SETTLE_S,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap and service time against what the queue's accounts give."""
    seen = estimates.trains_in_window(plan, raw, plan.flows[0])
    mine, other = values["packet"], values["other_packet"]
    others_packets = values["others"] * (mine + ETHERNET_HEADER_BYTES) / (other + ETHERNET_HEADER_BYTES)
    ideal_ns = (mine + others_packets * other) * 8e3 / values["rate_mbit"]
    return {
        "samples": seen.verdicts.get("sample", 0),
        "ideal_us": rounded(ideal_ns / 1e3, 1),
        **estimates.service_figures(seen, ideal_ns),
        **estimates.queue_figures(seen),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Five per cent."""
    return [
        Check("samples", ">=", 100),
        Check("gap_error", "in", [-0.05, 0.05]),
        Check("service_error", "in", [-0.05, 0.05]),
    ]
