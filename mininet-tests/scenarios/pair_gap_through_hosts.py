# SPDX-License-Identifier: GPL-2.0
"""Where hosts share the link and their flows share its parts, packet pair reads its share through both levels.

Among h hosts, a flow of one with n backlogged flows has every (h n)-th packet time, however many
flows the other hosts have.  As in ``pair_gap_is_n_packet_times``, whose link and measure these are,
the others are CUBIC with a fixed window: backlogged from the first second to the last.
"""

from dataclasses import replace
from typing import Any

from lab.analyse.figures import events, rounded
from lab.model import flows
from lab.model.flows import FULL_PACKET_BYTES
from lab.model.plan import TCP_HEADER_BYTES, Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "the mean gap that pktpair sees in a host of n flows among h hosts is h n packet times, within 1 %"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "hosts": Parameter(2, "hosts", "that share the link, each backlogged", 2, 8),
    "own": Parameter(1, "flows", "backlogged flows of the measured one's host, itself included", 1, 16),
    "others": Parameter(8, "flows", "backlogged flows of each other host", 1, 16),
    "level": Parameter("src", "", "what a host is; none: each flow for itself", choices=("src", "dst", "both", "none")),
    "rate_mbit": Parameter(10.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(40.0, "ms", "propagation delay of all flows", 1, 500),
    "samples": Parameter(1500, "samples", "about how many to collect", 1000, 20_000),
    "settle": Parameter(3.0, "s", "from the last start to the measured window", 1, 60),
}
VARIANTS: list[dict[str, Value]] = [
    {"hosts": 2, "own": 1, "others": 8},
    {"hosts": 2, "own": 4, "others": 1},
    {"hosts": 3, "own": 2, "others": 4, "level": "dst"},
]
# Of both socket buffers: of a single flow's share of the path, 17 packets, several times.
WINDOW_BYTES = 200_000
BUFFER_PACKETS = 10_000
# A train is four segments, or up to eight where the stack cuts them; some give no sample.
SEGMENTS_PER_SAMPLE = 7


def due(values: Values) -> int:
    """Packet times from one packet of the measured flow to the next."""
    return int(values["hosts"] * values["own"])


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow and the others of its host, and those of the other hosts."""
    rate_mbit, round_trip, hosts = values["rate_mbit"], values["round_trip"], values["hosts"]
    count = values["own"] + (hosts - 1) * values["others"]
    flows.check_share(rate_mbit, due(values))
    # a host's only flow has the largest part of the path; none of all loses a packet
    flows.check_backlogged(rate_mbit, round_trip, hosts, WINDOW_BYTES, FULL_PACKET_BYTES, BUFFER_PACKETS)
    flows.check_backlogged(rate_mbit, round_trip, count, WINDOW_BYTES, FULL_PACKET_BYTES, BUFFER_PACKETS)
    share_packets_s = rate_mbit * 1e6 / 8 / FULL_PACKET_BYTES / due(values)
    seconds = round(values["settle"] + values["samples"] * SEGMENTS_PER_SAMPLE / share_packets_s, 1)
    first, *rest = flows.staggered(count, cc, seconds, 0, seed, 0.001, 1)
    of_host = [1] * (values["own"] - 1) + [2 + i // values["others"] for i in range(count - values["own"])]
    others = (
        replace(flow, source=f"s{host}", sink=f"d{host}", cc="cubic", window_bytes=WINDOW_BYTES)
        for flow, host in zip(rest, of_host, strict=True)
    )
    options = f"no-aqm hosts {values['level']}"
    return Plan(
        flows.dumbbell(qdisc, int(rate_mbit * 1e6), [round_trip] * hosts, BUFFER_PACKETS, options=options),
        (first, *others),
        record=Record(events=("pktpair:pktpair_sample",)),
        hash_seed=seed,
        settle_s=values["settle"],
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Mean gap of the samples in the window, in packet times and against what is due."""
    assert plan.window_s is not None
    begin_s, end_s = (raw["begin_s"] + moment for moment in plan.window_s)
    full = FULL_PACKET_BYTES - TCP_HEADER_BYTES
    time_ns = segments = samples = 0
    for moment, sample in events(raw["trace"], "pktpair_sample"):
        if not begin_s <= moment < end_s or sample["verdict"] != "sample" or int(sample["mss"]) != full:
            continue
        time_ns += int(sample["gap_ns"])
        segments += int(sample["covered_segments"])
        samples += 1
    packet_time_ns = FULL_PACKET_BYTES * 8e3 / values["rate_mbit"]
    mean = time_ns / segments / packet_time_ns if segments else 0.0
    return {
        "samples": samples,
        "mean_gap_packet_times": rounded(mean),
        "mean_gap_over_due": rounded(mean / due(values)),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Within one per cent, on enough samples."""
    return [Check("samples", ">=", 1000), Check("mean_gap_over_due", "in", [0.99, 1.01])]
