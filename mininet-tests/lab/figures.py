# SPDX-License-Identifier: GPL-2.0
"""Draws what was measured; nothing is run or computed here."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from . import files, goals

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
FLOW_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
CC_COLOURS = {"pktpair": "#D55E00", "bbr": "#0072B2", "cubic": "#009E73"}
QDISC_STYLES = {"fq_rr": "-", "fq_codel": "--", "cake": "-.", "pfifo": ":"}
COLUMNS = 4
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 130,
}


def title(run: dict[str, Any]) -> str:
    """A combination's name."""
    return f"{run['cc']} + {run['qdisc']}"


def flow_label(flow: dict[str, Any]) -> str:
    """A flow by its round trip."""
    return f"{flow['propagation_s'] * 1e3:.0f} ms"


def grid(count: int) -> tuple[Figure, list[Axes]]:
    """Small multiples with common axes."""
    rows = -(-count // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(11.5, 2.5 * rows + 0.6), sharex=True, sharey=True)
    flat = list(np.asarray(axes).flat)
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat[:count]


def label_outer(axes: list[Axes], below: str, left: str) -> None:
    """Name the axes at the edge of a grid only."""
    for index, axis in enumerate(axes):
        if index % COLUMNS == 0:
            axis.set_ylabel(left)
        if index + COLUMNS >= len(axes):
            axis.set_xlabel(below)


def shade_window(axis: Axes, run: dict[str, Any]) -> None:
    """Show what was not measured: the start."""
    axis.axvspan(0, run["metrics"]["window_s"][0], color="#f0f0f0", zorder=0)


def save(figure: Figure, path: Path) -> Path:
    """Write and forget."""
    for axis in figure.axes:
        for one in (axis.xaxis, axis.yaxis):
            if one.get_scale() == "log":
                one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    write(figure, path, bbox_inches="tight")
    return path


def write(figure: Figure, path: Path, **options: Any) -> None:
    """A picture in a file, and no more in memory."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", **options)
    files.write(path, picture.getvalue())
    plt.close(figure)


def goodput(runs: list[dict[str, Any]], path: Path) -> Path:
    """Goodput of each flow over time, a panel per combination."""
    with plt.rc_context(STYLE):
        figure, axes = grid(len(runs))
        for run, axis in zip(runs, axes, strict=True):
            shade_window(axis, run)
            width = run["series"]["bin_s"]
            for flow, drawn, colour in zip(run["flows"], run["series"]["flows"], FLOW_COLOURS, strict=False):
                rate = np.array(drawn["goodput_bit_s"]) / 1e6
                axis.plot((np.arange(len(rate)) + 0.5) * width, rate, color=colour, lw=1, label=flow_label(flow))
            axis.set_title(title(run), fontsize=10)
        axes[0].set_ylim(
            0, max(np.percentile(f["goodput_bit_s"], 99) for r in runs for f in r["series"]["flows"]) / 1e6
        )
        label_outer(axes, "time, s", "goodput, Mbit/s")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=len(labels), loc="upper center", title="round trip without queue")
        figure.tight_layout(rect=(0, 0, 1, 0.94))
        return save(figure, path)


def delay_over_time(runs: list[dict[str, Any]], path: Path) -> Path:
    """Queue delay of each acknowledgement, a panel per combination."""
    with plt.rc_context(STYLE):
        figure, axes = grid(len(runs))
        for run, axis in zip(runs, axes, strict=True):
            shade_window(axis, run)
            for flow, drawn, colour in zip(run["flows"], run["series"]["flows"], FLOW_COLOURS, strict=False):
                delay_ms = np.maximum(np.array(drawn["delay_s"]) * 1e3, 0.05)
                axis.plot(drawn["delay_time_s"], delay_ms, ".", ms=1.2, color=colour, label=flow_label(flow))
            axis.set_title(title(run), fontsize=10)
            axis.set_yscale("log")
        axes[0].set_xlim(0, runs[0]["metrics"]["window_s"][1])
        axes[0].set_ylim(0.2, 1000)
        label_outer(axes, "time, s", "queue delay, ms")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, ncols=len(labels), loc="upper center", title="round trip without queue", markerscale=8
        )
        figure.tight_layout(rect=(0, 0, 1, 0.94))
        return save(figure, path)


def delay_distribution(runs: list[dict[str, Any]], path: Path) -> Path:
    """Share of acknowledgements that met no more than a queue delay."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(8.5, 4.6))
        for run in runs:
            delays_ms = np.maximum(np.array(run["series"]["delay_quantiles_s"]) * 1e3, 0.1)
            axis.plot(
                delays_ms,
                np.linspace(0, 1, len(delays_ms)),
                color=CC_COLOURS.get(run["cc"], "#555555"),
                ls=QDISC_STYLES.get(run["qdisc"], "-"),
                lw=2.6 if run["cc"] == "pktpair" else 1.4,
                label=title(run),
            )
        axis.set_xscale("log")
        axis.set_xlabel("queue delay, ms (logarithmic)")
        axis.set_ylabel("share of acknowledgements")
        axis.set_ylim(0, 1)
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        figure.tight_layout()
        return save(figure, path)


def transfers(lines: list[goals.Line], benchmark: str, path: Path) -> Path:
    """One benchmark: the slowdown of every combination, and of all its flows.

    A dot is the mean over seeds with the range of them; a bar the mean, and a
    tick the worst of all controlled flows.  Filled: hosts open, else hollow.
    """
    variants = list(dict.fromkeys(line.variant for line in lines if line.benchmark == benchmark))
    pairs = list(dict.fromkeys((line.cc, line.qdisc) for line in lines if line.benchmark == benchmark))
    with plt.rc_context(STYLE):
        columns = min(len(variants), 5)
        rows = -(-len(variants) // columns)
        figure, axes = plt.subplots(
            rows, columns, figsize=(2.2 + 2.1 * columns, 0.4 + 3.2 * rows), squeeze=False, layout="constrained"
        )
        for axis, variant in zip(axes.flat, variants, strict=True):
            shown = [line for line in lines if (line.benchmark, line.variant) == (benchmark, variant)]
            settings = list(dict.fromkeys(line.hosts for line in shown))
            for line in shown:
                x = pairs.index((line.cc, line.qdisc)) + 0.2 * (settings.index(line.hosts) - (len(settings) - 1) / 2)
                colour = CC_COLOURS[line.cc]
                own = line.figures["slowdown"]
                axis.bar(x, line.mean("mean_slowdown") * 100, width=0.18, color=colour, alpha=0.2)
                axis.plot(x, line.mean("worst_slowdown") * 100, "_", color=colour, alpha=0.6)
                axis.vlines(x, own.low * 100, own.high * 100, color=colour)
                face = colour if line.hosts == "open" else "white"
                axis.plot(x, own.mean * 100, "o", color=colour, markerfacecolor=face, markersize=4)
            goal = goals.PRIMARY["open"].get((benchmark, variant))
            if goal is not None:
                axis.axhline(goal * 100, color="black", linewidth=0.8, linestyle="--")
            axis.axhline(shown[0].published * 100, color="black", linewidth=0.8, linestyle=":")
            axis.set_xticks(range(len(pairs)), [" + ".join(pair) for pair in pairs], rotation=60, ha="right")
            axis.set_title(variant)
        for axis in axes[:, 0]:
            axis.set_ylabel("slowdown, %")
        figure.suptitle(f"{benchmark}: dot the row's flow, bar the mean, tick the worst; -- goal (open), ... paper")
        write(figure, path)
    return path


def pacing_rule(run: dict[str, Any], path: Path) -> Path:
    """Departure rate over backlog, a dot for each gap between two packets, and the rule's line."""
    series = run["series"]
    backlog, rate = np.array(series["backlog_packets"]), np.array(series["rate_bit_s"]) / 1e6
    crosses = np.array(series["crosses"])
    line = np.array(series["rule"])
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7, 4.4))
        axis.plot(line[:, 0], line[:, 1] / 1e6, color="#555555", lw=1, label="rule")
        axis.plot(backlog[~crosses], rate[~crosses], ".", ms=4, color=FLOW_COLOURS[0], label="measured, each gap")
        axis.plot(backlog[crosses], rate[crosses], "x", ms=4, color="#999999", label="the same, q-max crossed in it")
        axis.set_xlim(0, line[-1, 0])
        axis.set_ylim(0, None)
        axis.set_xlabel("mean backlog in the gap, packets")
        axis.set_ylabel("departure rate, Mbit/s")
        axis.legend(loc="lower right")
        figure.tight_layout()
        return save(figure, path)


FLOOD_RATIOS = {
    "goodput_ratio_least": "goodput,\nleast of others",
    "rtt_p99_ratio": "round trip p99,\nothers",
    "sparse_packets_ratio": "packets/s,\nbelow its share",
    "sparse_delay_p99_ratio": "delay p99,\nbelow its share",
}
# where a figure of 0 is drawn
FLOOD_LEAST = 1e-3


def flood(runs: list[dict[str, Any]], path: Path) -> Path:
    """What others have with a flood over what they have with a flow in its place."""
    kinds = list(dict.fromkeys(run["parameters"]["flood"] for run in runs))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(kinds), figsize=(1 + 5 * len(kinds), 4.2), sharey=True, squeeze=False)
        for kind, axis in zip(kinds, axes.flat, strict=True):
            shown = [run for run in runs if run["parameters"]["flood"] == kind]
            axis.axhspan(0.99, 1.01, color="#cccccc", label="1 %")
            for index, (run, colour) in enumerate(zip(shown, FLOW_COLOURS, strict=False)):
                where = np.arange(len(FLOOD_RATIOS)) + 0.18 * (index - (len(shown) - 1) / 2)
                # what never arrives has no delay, and stands at the bottom
                ratios = [run["metrics"][name] or 0 for name in FLOOD_RATIOS]
                mode = run["parameters"]["cake"] if kind == "host" and run["qdisc"] == "cake" else ""
                drawn = np.clip(ratios, FLOOD_LEAST, None)
                axis.plot(where, drawn, "o", color=colour, label=f"{run['qdisc']} {mode}".rstrip())
                for x, y, ratio in zip(where, drawn, ratios, strict=True):
                    text = f"{ratio:.3g}" if ratio else "none"
                    axis.annotate(text, (x, y), (0, 6), textcoords="offset points", ha="center", size=6)
            axis.set_xticks(range(len(FLOOD_RATIOS)), FLOOD_RATIOS.values())
            axis.set_yscale("log")
            axis.set_title({"flow": "100 links from one port", "host": "100 links from 1000 ports of a host"}[kind])
            axis.legend(fontsize=7)
        axes[0, 0].set_ylabel("with the flood / without")
        figure.tight_layout()
        return save(figure, path)


def costs(rows: list[dict[str, Any]], path: Path, unit: str = "instructions") -> Path:
    """What a full-size packet costs over the number of flows, a panel per case."""
    plain = [row for row in rows if not row["gso"] and not row["hashed"]]
    size = max(row["packet_bytes"] for row in plain)
    plain = [row for row in plain if row["packet_bytes"] == size]
    cases = list(dict.fromkeys(row["case"] for row in plain))
    qdiscs = list(dict.fromkeys(row["qdisc"] for row in plain))
    with plt.rc_context(STYLE):
        figure, axes = grid(len(cases))
        for case, axis in zip(cases, axes, strict=True):
            for qdisc, colour in zip(qdiscs, FLOW_COLOURS, strict=False):
                mine = sorted(
                    (row["flows"], row[f"{unit}_per_packet"])
                    for row in plain
                    if (row["case"], row["qdisc"]) == (case, qdisc)
                )
                axis.plot(*zip(*mine, strict=True), "o-", color=colour, ms=3, lw=1.4, label=qdisc)
            axis.set_title(case, fontsize=10)
            axis.set_xscale("log")
            axis.set_yscale("log")
        label_outer(axes, "flows", f"{unit} per packet of {size} bytes")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=len(labels), loc="upper center")
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        return save(figure, path)
