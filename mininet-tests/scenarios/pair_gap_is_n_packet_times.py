# SPDX-License-Identifier: GPL-2.0
"""Among n backlogged flows, round robin spaces a flow's packets n packet times apart.

This is what packet pair stands on: the gap that tcp_pktpair measures between
acknowledgements of one train is the flow's share of the link.  The mean is the
sum of the times over the sum of the segments that they cover: receivers are
stock ones and acknowledge every second segment, or sometimes the next.

The other n - 1 flows are CUBIC with a fixed window far above their share of
the path: backlogged from the first second to the last, and never over the
buffer.  (A pktpair flow would empty its queue now and then, to look at the
path's propagation delay.)
"""

from dataclasses import replace
from typing import Any

from lab.analyse.figures import events, rounded
from lab.model import flows
from lab.model.flows import FULL_PACKET_BYTES
from lab.model.plan import TCP_HEADER_BYTES, Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "the mean gap that pktpair sees among n backlogged flows is n packet times, within 1 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "flows": Parameter(1, "flows", "backlogged flows, the measured one included", 1, 50),
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(40.0, "ms", "propagation delay of all flows", 1, 500),
    "samples": Parameter(1500, "samples", "about how many to collect", 1000, 20_000),
    "settle": Parameter(3.0, "s", "from the last start to the measured window", 1, 60),
}
# In the last one the stack cuts trains of four in half, again and again
VARIANTS: list[dict[str, Value]] = [
    {"flows": 1},
    {"flows": 2},
    {"flows": 5},
    {"flows": 10},
    {"flows": 1, "round_trip": 39.4},
]
# From one pair of hosts, all over the same path: only the queue tells them apart.
PAIRS = 1
# Of both socket buffers; the path holds 34 packets, this some 100 per flow.
WINDOW_BYTES = 200_000
BUFFER_PACKETS = 10_000
# A train is four segments, or up to eight where the stack cuts them; some give no sample.
SEGMENTS_PER_SAMPLE = 7


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow and the others, from one host."""
    count, rate_mbit, round_trip = values["flows"], values["rate_mbit"], values["round_trip"]
    flows.check_share(rate_mbit, count)
    flows.check_backlogged(rate_mbit, round_trip, count, WINDOW_BYTES, FULL_PACKET_BYTES, BUFFER_PACKETS)
    share_packets_s = rate_mbit * 1e6 / 8 / FULL_PACKET_BYTES / count
    seconds = round(values["settle"] + values["samples"] * SEGMENTS_PER_SAMPLE / share_packets_s, 1)
    first, *others = flows.staggered(count, cc, seconds, 0, seed, 0.001, PAIRS)
    return Plan(
        flows.dumbbell(qdisc, int(rate_mbit * 1e6), [round_trip], BUFFER_PACKETS),
        (first, *(replace(flow, cc="cubic", window_bytes=WINDOW_BYTES) for flow in others)),
        record=Record(events=("pktpair:pktpair_sample",)),
        hash_seed=seed,
        settle_s=values["settle"],
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap of the samples in the window, in packet times and against n."""
    assert plan.window_s is not None
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    full = FULL_PACKET_BYTES - TCP_HEADER_BYTES
    time_ns = segments = samples = 0
    verdicts: dict[str, int] = {}
    for moment, sample in events(raw["trace"], "pktpair_sample"):
        if not begin_s <= moment < end_s:
            continue
        verdicts[sample["verdict"]] = verdicts.get(sample["verdict"], 0) + 1
        if sample["verdict"] == "sample" and int(sample["mss"]) == full:
            time_ns += int(sample["gap_ns"])
            segments += int(sample["covered_segments"])
            samples += 1
    packet_time_ns = FULL_PACKET_BYTES * 8e3 / values["rate_mbit"]
    mean = time_ns / segments / packet_time_ns if segments else 0.0
    return {
        "samples": samples,
        "trains": verdicts,
        "mean_gap_packet_times": rounded(mean),
        "mean_gap_over_n": rounded(mean / values["flows"]),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Within one per cent, on enough samples."""
    return [Check("samples", ">=", 1000), Check("mean_gap_over_n", "in", [0.99, 1.01])]
