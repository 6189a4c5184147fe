# SPDX-License-Identifier: GPL-2.0
"""A flood takes the one share that its flow is entitled to, and nothing more from anybody.

Two backlogged flows and a stranger share the link; one flow more uses far less
than its share.  First the stranger is as well-behaved as the others (a fixed
window), then it floods the link with a hundred times of what that carries: from
one port, or, against a queue for each source host, from a thousand.  What the
others get and how long their packets wait must be the same before and after.

fq_codel and CAKE are measured beside it, in the same boot.  CAKE has two modes for
hosts: ``srchost``, a queue for each as here, and ``dual-srchost``, queues for flows and
fairness among hosts.  fq_codel has none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lab import measure as common
from lab import scenario
from lab.scenario import FIRST_PORT, Check, Parameter, Plan, Source, Value, Values, staggered
from numpy.typing import NDArray

CLAIM = "a flood at 100 times the link costs others nothing beyond one share: goodput and p99 delay within 1 %"
COMBINATIONS = [("cubic", "fq_rr"), ("cubic", "fq_codel"), ("cubic", "cake")]
VARIANTS: list[dict[str, Value]] = [{"flood": "flow"}, {"flood": "host"}]
PARAMETERS = {
    "flood": Parameter("flow", "", "whether one flow floods, or a thousand of one host", choices=("flow", "host")),
    "cake": Parameter("srchost", "", "CAKE's mode for hosts", choices=("srchost", "dual-srchost")),
    "times": Parameter(100.0, "links", "rate of the flood", 1, 1000),
    "seconds": Parameter(8.0, "s", "how long each of the two strangers sends", 4, 600),
    "settle": Parameter(2.0, "s", "from the stranger's start to the measured window", 1, 600),
}
# 250 packets/s: a hundred times as many are what the lab carries beside the rest.
RATE_BIT_S = 3_000_000
PACKET_S = scenario.FULL_PACKET_BYTES * 8 / RATE_BIT_S
OTHERS = 2
STRANGER = OTHERS + 1
# The others' queues are some 15 packets each, which they reach within a second, and
# far below what the flood fills.
WINDOW_BYTES = 36_000
BUFFER_PACKETS = 1000
# The thousand ports end below those of the lab's servers.
FLOOD_PORT, HOST_PORTS = FIRST_PORT + 500, 1000
# A connection that is starved holds its port for a while; the next run has other ones.
FLOW_PORTS = {"fq_codel": 10, "cake": 20}
# Packets handed over at once: the flood costs the guest less.
BURST = 10
# Between the strangers; the first goes on for half of it, so that it is backlogged to
# the end of its window.
PAUSE_S = 1.0
# A sixth of its share, in small packets. No multiple of a packet's time on the link,
# so that they meet every moment of one.
SPARSE_GAP_S, SPARSE_BYTES = PACKET_S * 2.618034, 200


def by_host(values: Values, qdisc: str) -> str:
    """What makes a queue share the link among hosts; fq_codel cannot."""
    if values["flood"] != "host":
        return ""
    return {"fq_rr": "mode src-host", "cake": values["cake"]}.get(qdisc, "")


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The strangers one after the other, everybody else from beginning to end."""
    turn, end_s = values["seconds"], 2 * values["seconds"] + PAUSE_S
    flows = staggered(STRANGER, cc, end_s, 0.1, seed, PACKET_S)
    first = FLOW_PORTS.get(qdisc, 0)
    flows = tuple(replace(flow, window_bytes=WINDOW_BYTES, port=flow.port + first) for flow in flows)
    stranger = replace(flows[-1], seconds=turn + PAUSE_S / 2 - flows[-1].start_s)
    ports = HOST_PORTS if values["flood"] == "host" else 1
    flood = Source(
        "flood",
        STRANGER,
        turn + PAUSE_S,
        turn,
        PACKET_S * BURST / values["times"],
        scenario.FULL_PACKET_BYTES,
        FLOOD_PORT,
        ports=ports,
        burst=BURST,
    )
    # A queue for each host: the sparse flow needs one of its own.
    sparse = Source("sparse", STRANGER + 1, 0.5, end_s - 0.5, SPARSE_GAP_S, SPARSE_BYTES, FIRST_PORT + 100)
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=RATE_BIT_S,
        delays_ms=(20,) * (STRANGER + 1),
        limit_packets=BUFFER_PACKETS,
        flows=(*flows[:-1], stranger),
        hash_seed=seed,
        qdisc_options=by_host(values, qdisc),
        sources=(sparse, flood),
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Goodput and delay of the others in the two windows, and their ratios."""
    acks = common.acks_of_flows(raw["trace"], raw["begin_s"])
    turn = values["seconds"]
    windows = {"before": (values["settle"], turn), "flood": (turn + PAUSE_S + values["settle"], 2 * turn + PAUSE_S)}
    figures: dict[str, Any] = {}
    for name, (begin_s, end_s) in windows.items():
        seconds = end_s - begin_s
        delays = []
        goodput = []
        for flow in plan.flows[:OTHERS]:
            seen = acks[flow.port]
            chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
            delays.append(seen.rtt_s[chosen])
            goodput.append((seen.acked_by(end_s) - seen.acked_by(begin_s)) * 8 / seconds)
        sparse = arrived(raw, "sparse", begin_s, end_s)
        figures[f"{name}_goodput_bit_s"] = [common.rounded(rate, 0) for rate in goodput]
        figures[f"{name}_rtt_p99_s"] = p99(np.concatenate(delays))
        figures[f"{name}_sparse_packets_s"] = common.rounded(len(sparse) / seconds, 3)
        figures[f"{name}_sparse_delay_p99_s"] = p99(np.array(sparse))
    figures["series"] = {"strangers_s": list(windows.values()), "sparse": raw["sources"]["sparse"]["received"]}
    for key in ("rtt_p99_s", "sparse_packets_s", "sparse_delay_p99_s"):
        flood, before = figures[f"flood_{key}"], figures[f"before_{key}"]
        figures[f"{key.removesuffix('_s')}_ratio"] = None if flood is None else common.rounded(flood / before)
    ratios = np.array(figures["flood_goodput_bit_s"]) / np.array(figures["before_goodput_bit_s"])
    figures["goodput_ratio_least"] = common.rounded(ratios.min())
    figures["goodput_ratio_most"] = common.rounded(ratios.max())
    figures["flood_sent_links"] = common.rounded(raw["sources"]["flood"]["sent"] / turn * PACKET_S, 3)
    figures["flood_share"] = common.rounded(
        len(arrived(raw, "flood", *windows["flood"])) / (windows["flood"][1] - windows["flood"][0]) * PACKET_S, 4
    )
    return figures


def p99(delays_s: NDArray[np.float64]) -> float | None:
    """None if nothing has arrived at all."""
    return common.rounded(np.quantile(delays_s, 0.99)) if len(delays_s) else None


def arrived(raw: dict[str, Any], name: str, begin_s: float, end_s: float) -> list[float]:
    """Delays of a source's packets that arrived in a window."""
    return [delay for sent, delay in raw["sources"][name]["received"] if begin_s <= sent + delay < end_s]


def draw(runs: list[dict[str, Any]], folder: Path) -> list[Path]:
    """What the flood changes, all queues side by side."""
    from lab import figures  # slow to import, and not needed before

    return [figures.flood(runs, folder / "flood.png")]


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """A peer is only measured."""
    if qdisc != "fq_rr":
        return []
    same = [0.99, 1.01]
    return [
        Check("flood_sent_links", "in", [values["times"] * 0.99, values["times"] * 1.01]),
        Check("goodput_ratio_least", "in", same),
        Check("goodput_ratio_most", "in", same),
        Check("rtt_p99_ratio", "in", same),
        Check("sparse_packets_ratio", "in", same),
        Check("sparse_delay_p99_ratio", "in", same),
    ]
