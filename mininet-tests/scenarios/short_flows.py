# SPDX-License-Identifier: GPL-2.0
"""Many short flows, and a client that asks again and again, beside a flow that never stops.

Sizes are drawn from a bounded Pareto distribution and starts from a Poisson process; the seed decides both.
"""

import random
from dataclasses import replace
from typing import Any

import numpy as np
from lab.analyse.figures import responses_s
from lab.model.errors import PlanError
from lab.model.flows import FULL_PACKET_BYTES, check_packet_rate, drawn, dumbbell
from lab.model.plan import Exchange, Flow, Plan
from lab.model.scenario import Check, Parameter, Values

CLAIM = "beside a flow that fills the link, most short flows and responses take a few round trips"
COMBINATIONS = [("pktpair", "fq_rr"), ("cubic", "fq_codel")]
PARAMETERS = {
    "rate_mbit": Parameter(10.0, "Mbit/s", "of the bottleneck", 1, 100),
    "round_trip_ms": Parameter(40.0, "ms", "of every path", 1, 500),
    "count": Parameter(60, "flows", "that are short", 1, 500),
    "per_s": Parameter(10.0, "1/s", "short flows that start, as a mean", 0.1, 200),
    "shape": Parameter(1.2, "", "of the Pareto distribution of sizes", 0.5, 5),
    "least": Parameter(3_000, "bytes", "of a short flow", 1, 1_000_000),
    "most": Parameter(150_000, "bytes", "of a short flow", 2, 10_000_000),
}
LIMIT_PACKETS = 300
RESPONSE_BYTES = 15_000
THINK_S = 0.1
# The long flow has the link for so long before the first short one, and after the last one's start.
AROUND_S = 1.0
# A handshake, slow start from ten packets, and the time in a fair queue: medians were 1.6 to 2.4.
FEW_ROUND_TRIPS = 5


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The long flow on the first pair of hosts, the client on the second, the short flows on the third."""
    check_packet_rate(values["rate_mbit"], FULL_PACKET_BYTES)
    sizes = {"distribution": "pareto", **{name: values[name] for name in ("shape", "least", "most")}}
    gaps = {"distribution": "exponential", "mean": 1 / values["per_s"]}
    short = drawn(values["count"], cc, sizes=sizes, gaps=gaps, seed=seed, first_s=AROUND_S, prefix="short")
    seconds = round(short[-1].start_s + AROUND_S, 3)
    offered_bit_s = 8 * sum(flow.bytes for flow in short) / seconds
    if offered_bit_s > values["rate_mbit"] * 1e6:
        raise PlanError(f"rate_mbit {values['rate_mbit']}: the short flows' {offered_bit_s / 1e6:.1f} must be less")
    delays_ms = [values["round_trip_ms"]] * 3
    network = dumbbell(qdisc, round(values["rate_mbit"] * 1e6), delays_ms, LIMIT_PACKETS)
    exchange = Exchange(300, RESPONSE_BYTES, THINK_S)
    asking = int((seconds - AROUND_S) / (THINK_S + FEW_ROUND_TRIPS * values["round_trip_ms"] / 1e3)) or 1
    # d2 asks: responses come through the bottleneck
    client = Flow("client", "d2", "s2", cc, start_s=AROUND_S, exchanges=(exchange,) * asking, background=True)
    long = Flow("long", "s1", "d1", cc, start_s=random.Random(seed).uniform(0, 0.01), seconds=seconds)
    in_background = tuple(replace(flow, source="s3", sink="d3", background=True) for flow in short)
    return Plan(network, (long, client, *in_background), hash_seed=seed, settle_s=AROUND_S)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What short flows and responses take, in seconds and in round trips."""
    by_name = {result["name"]: result for result in raw["flows"]}
    completions = [(one["ended_ns"] - one["began_ns"]) / 1e9 for name, one in by_name.items() if "short" in name]
    responses = responses_s(by_name["client"])
    found = {}
    for name, seconds in (("short_completion", completions), ("response", responses)):
        for part in (50, 95):
            taken = float(np.quantile(seconds, part / 100))
            found[f"{name}_p{part}_s"] = round(taken, 6)
            found[f"{name}_p{part}_round_trips"] = round(taken * 1e3 / values["round_trip_ms"], 3)
    return found


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """The link is full, and what is short is over soon."""
    return [
        # what sinks send, as the client's responses, does not count in it
        Check("utilisation", ">=", 0.8),
        Check("short_completion_p50_round_trips", "<=", FEW_ROUND_TRIPS),
        Check("response_p50_round_trips", "<=", FEW_ROUND_TRIPS),
    ]
