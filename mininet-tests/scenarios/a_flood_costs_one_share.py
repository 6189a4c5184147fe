# SPDX-License-Identifier: GPL-2.0
"""A flood takes the one share that its flow is entitled to, and nothing more from anybody.

Two backlogged flows and a stranger share the link; one flow more uses far less
than its share.  First the stranger is as well-behaved as the others (a fixed
window), then it floods the link with a hundred times of what that carries: from
one port, or, where hosts share the link, from a thousand.  What the
others get and how long their packets wait must be the same before and after.

fq_codel and CAKE are measured beside it.  CAKE has two modes for
hosts: ``srchost``, a queue for each as here, and ``dual-srchost``, queues for flows and
fairness among hosts.  fq_codel has none.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lab.analyse.figures import Floats, acks_of_flows, arrived, rounded
from lab.model.flows import dumbbell, staggered
from lab.model.plan import Plan, Source, in_range
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.topology import STOCK_MTU_BYTES

CLAIM = "a flood at 100 times the link costs others nothing beyond one share: goodput and p99 delay within 1 %"
COMBINATIONS = [("cubic", "fq_rr"), ("cubic", "fq_codel"), ("cubic", "cake")]
VARIANTS: list[dict[str, Value]] = [{"flood": "flow"}, {"flood": "host"}]
PARAMETERS = {
    "flood": Parameter("flow", "", "whether one flow floods, or a thousand of one host", choices=("flow", "host")),
    "fq_rr": Parameter("hosts src", "", "fq_rr's way to share among hosts", choices=("hosts src", "mode src-host")),
    "control": Parameter("no-aqm", "", "fq_rr's delay control", choices=("no-aqm", "aqm")),
    "cake": Parameter("srchost", "", "CAKE's mode for hosts", choices=("srchost", "dual-srchost")),
    "times": Parameter(100.0, "links", "rate of the flood", 1, 100),
    "seconds": Parameter(8.0, "s", "how long each of the two strangers sends", 4, 60),
    "settle": Parameter(2.0, "s", "from the stranger's start to the measured window", 1, 7),
}
# 250 packets/s: a hundred times as many are what the lab carries beside the rest.
RATE_BIT_S = 3_000_000
PACKET_S = STOCK_MTU_BYTES * 8 / RATE_BIT_S
ROUND_TRIP_MS = 20.0
OTHERS = 2
STRANGER = OTHERS + 1
# The others' queues are some 15 packets each, which they reach within a second, and
# far below what the flood fills.
WINDOW_BYTES = 36_000
# With delay control they are as long as it leaves alone: seven packets, of which two are on the way.
SPARED_WINDOW_BYTES = 10_500
BUFFER_PACKETS = 1000
HOST_PORTS = 1000
# Packets handed over at once: the flood costs the guest less.
BURST = 10
# Between the strangers; the first goes on for half of it, so that it is backlogged to
# the end of its window.
PAUSE_S = 1.0
STAGGER_S = 0.1
# Of the measured window: there are some fifty packets below the share.
LEAST_WINDOW_S = 0.5
# A sixth of its share, in small packets. No multiple of a packet's time on the link,
# so that they meet every moment of one.
SPARSE_GAP_S, SPARSE_BYTES, SPARSE_START_S = PACKET_S * 2.618034, 200, 0.5
# What is drawn, and where a figure of 0 stands.
RATIOS = {
    "goodput_ratio_least": "goodput,\nleast of\nothers",
    "rtt_p99_ratio": "round trip\np99,\nothers",
    "sparse_packets_ratio": "packets/s,\nbelow\nits share",
    "sparse_delay_p99_ratio": "delay p99,\nbelow\nits share",
}
LEAST_DRAWN = 1e-3
FLOODERS = {"flow": "one port", "host": f"{HOST_PORTS} ports of a host"}


def by_host(values: Values, qdisc: str) -> str:
    """What makes a queue share the link among hosts; fq_codel cannot.

    fq_rr without delay control, or with what it leaves alone: what is asked is what a full buffer costs others.
    """
    if values["flood"] != "host":
        return values["control"] if qdisc == "fq_rr" else ""
    return {"fq_rr": f"{values['control']} {values['fq_rr']}", "cake": values["cake"]}.get(qdisc, "")


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The strangers one after the other, everybody else from beginning to end."""
    turn, end_s = values["seconds"], 2 * values["seconds"] + PAUSE_S
    in_range("settle", values["settle"], 0, turn - LEAST_WINDOW_S)
    flows = staggered(STRANGER, cc, end_s, STAGGER_S, seed, PACKET_S)
    window_bytes = WINDOW_BYTES if values["control"] == "no-aqm" else SPARED_WINDOW_BYTES
    flows = tuple(replace(flow, window_bytes=window_bytes) for flow in flows)
    stranger = replace(flows[-1], seconds=turn + PAUSE_S / 2 - flows[-1].start_s)
    bursts_s = values["times"] / (PACKET_S * BURST)
    flood = Source(
        "flood",
        stranger.source,
        stranger.sink,
        {"model": "constant", "rate_packets_s": bursts_s, "start_s": turn + PAUSE_S},
        end_s,
        STOCK_MTU_BYTES,
        ports=HOST_PORTS if values["flood"] == "host" else 1,
        burst=BURST,
    )
    # A queue for each host: the sparse flow needs one of its own.
    sparse = Source(
        "sparse",
        f"s{STRANGER + 1}",
        f"d{STRANGER + 1}",
        {"model": "constant", "rate_packets_s": 1 / SPARSE_GAP_S, "start_s": SPARSE_START_S},
        end_s,
        SPARSE_BYTES,
    )
    return Plan(
        dumbbell(qdisc, RATE_BIT_S, (ROUND_TRIP_MS,) * (STRANGER + 1), BUFFER_PACKETS, options=by_host(values, qdisc)),
        (*flows[:-1], stranger),
        (sparse, flood),
        hash_seed=seed,
    )


def windows(values: Values) -> dict[str, tuple[float, float]]:
    """When each stranger is watched, s."""
    turn = values["seconds"]
    return {"before": (values["settle"], turn), "flood": (turn + PAUSE_S + values["settle"], 2 * turn + PAUSE_S)}


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Goodput and delay of the others in the two windows, and their ratios."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    packets = arrived(plan, raw)
    figures: dict[str, Any] = {}
    for name, (begin_s, end_s) in windows(values).items():
        seconds = end_s - begin_s
        delays = []
        goodput = []
        for flow in plan.flows[:OTHERS]:
            seen = acks[plan.port(flow)]
            chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
            delays.append(seen.rtt_s[chosen])
            bits = (seen.at(seen.acked_bytes, end_s) - seen.at(seen.acked_bytes, begin_s)) * 8
            goodput.append(bits / seconds)
        sparse = packets["sparse"].between(begin_s, end_s)
        figures[f"{name}_goodput_bit_s"] = [rounded(rate, 0) for rate in goodput]
        figures[f"{name}_rtt_p99_s"] = p99(np.concatenate(delays))
        figures[f"{name}_sparse_packets_s"] = rounded(len(sparse) / seconds, 3)
        figures[f"{name}_sparse_delay_p99_s"] = p99(sparse)
    for key in ("rtt_p99_s", "sparse_packets_s", "sparse_delay_p99_s"):
        flood, before = figures[f"flood_{key}"], figures[f"before_{key}"]
        figures[f"{key.removesuffix('_s')}_ratio"] = None if flood is None else rounded(flood / before)
    ratios = np.array(figures["flood_goodput_bit_s"]) / np.array(figures["before_goodput_bit_s"])
    figures["goodput_ratio_least"] = rounded(ratios.min())
    figures["goodput_ratio_most"] = rounded(ratios.max())
    sent = next(source["sent"] for source in raw["sources"] if source["name"] == "flood")
    figures["flood_sent_links"] = rounded(sent / values["seconds"] * PACKET_S, 3)
    begin_s, end_s = windows(values)["flood"]
    through = len(packets["flood"].between(begin_s, end_s))
    figures["flood_share"] = rounded(through / (end_s - begin_s) * PACKET_S, 4)
    return figures


def p99(delays_s: Floats) -> float | None:
    """None if nothing has arrived at all."""
    return rounded(np.quantile(delays_s, 0.99)) if len(delays_s) else None


def draw(runs: list[dict[str, Any]], folder: Path) -> list[Path]:
    """What others have with a flood over what they have with a flow in its place, all queues side by side."""
    from lab.show.pictures import COLOURS, HEIGHT_INCHES, WIDTH_INCHES, save  # slow to import, and not needed before
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(run["parameters"]["flood"] for run in runs))
    figure = Figure(figsize=(WIDTH_INCHES * len(kinds), HEIGHT_INCHES), layout="constrained")
    for kind, axes in zip(kinds, figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], strict=True):
        axes.axhspan(0.99, 1.01, color="#cccccc", label="1 %")
        shown = [run for run in runs if run["parameters"]["flood"] == kind]
        for index, run in enumerate(shown):
            places = np.arange(len(RATIOS)) + 0.18 * (index - (len(shown) - 1) / 2)
            # what never arrives has no delay, and stands at the bottom
            ratios = [run["metrics"][name] or 0.0 for name in RATIOS]
            mode = by_host(run["parameters"], run["qdisc"])
            drawn = np.clip(ratios, LEAST_DRAWN, None)
            label = f"{run['cc']}+{run['qdisc']} {mode}".rstrip()
            axes.plot(places, drawn, "o", ms=4, color=COLOURS[index % len(COLOURS)], label=label)
            for place, height, ratio in zip(places, drawn, ratios, strict=True):
                text = f"{ratio:.3g}" if ratio else "none"
                axes.annotate(text, (place, height), (0, 5), textcoords="offset points", ha="center", size=5)
        axes.set_title(f"a flood from {FLOODERS[kind]}")
        axes.set_xticks(range(len(RATIOS)), list(RATIOS.values()), fontsize=6)
        axes.set_yscale("log")
        axes.set_ylim(min(0.5, axes.get_ylim()[0]), max(2.0, axes.get_ylim()[1]))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.legend(fontsize=6)
    figure.axes[0].set_ylabel("with the flood / without")
    return [save(figure, folder / "what_others_have.png")]


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
