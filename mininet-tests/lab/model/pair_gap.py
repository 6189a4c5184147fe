# SPDX-License-Identifier: GPL-2.0
"""A packet-pair flow among others that are backlogged from the first second to the last: what its gaps are of.

The others are CUBIC with a fixed window far above their share of the path, and never over the buffer. (A
packet-pair flow would empty its queue now and then, to look at the path's propagation delay.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from . import flows
from .flows import FULL_PACKET_BYTES
from .plan import Flow, Plan, Record
from .scenario import Parameter, Values
from .topology import Topology

PARAMETERS = {
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(40.0, "ms", "propagation delay of all flows", 1, 500),
    "samples": Parameter(1500, "samples", "about how many to collect", 1000, 20_000),
    "settle": Parameter(3.0, "s", "from the last start to the measured window", 1, 60),
}
# Of both socket buffers: of a single flow's share of the path, 17 or 34 packets, several times.
WINDOW_BYTES = 200_000
BUFFER_PACKETS = 10_000
# A train is four segments, or up to eight where the stack cuts them; some give no sample.
SEGMENTS_PER_SAMPLE = 7


def flows_of(values: Values, cc: str, seed: int, count: int, due: int) -> tuple[Flow, list[Flow]]:
    """The measured flow, and the others, from one host; PlanError if they would not all be backlogged.

    :param count: of all of them
    :param due: packet times from one packet of the measured flow to the next
    """
    rate_mbit, round_trip = values["rate_mbit"], values["round_trip"]
    flows.check_share(rate_mbit, due)
    flows.check_backlogged(rate_mbit, round_trip, count, WINDOW_BYTES, FULL_PACKET_BYTES, BUFFER_PACKETS)
    share_packets_s = rate_mbit * 1e6 / 8 / FULL_PACKET_BYTES / due
    seconds = round(values["settle"] + values["samples"] * SEGMENTS_PER_SAMPLE / share_packets_s, 1)
    first, *others = flows.staggered(count, cc, seconds, 0, seed, 0.001, 1)
    return first, [replace(flow, cc="cubic", window_bytes=WINDOW_BYTES) for flow in others]


def plan(values: Values, topology: Topology, all_flows: Iterable[Flow], seed: int) -> Plan:
    """The run, with what the measured flow says of each train."""
    return Plan(
        topology,
        tuple(all_flows),
        record=Record(events=("pktpair:pktpair_sample",)),
        hash_seed=seed,
        settle_s=values["settle"],
    )
