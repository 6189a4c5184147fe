# SPDX-License-Identifier: GPL-2.0
"""The demo's pictures: goodput and queue delay over time, a panel per combination, and delays as a distribution."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .. import files
from .pictures import STYLE
from .slowdowns import CC_COLOURS

# Of the flows, which people with any kind of colour vision can tell apart (Okabe and Ito).
FLOW_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
QUEUE_STYLES = {"fq_rr": "-", "fq_codel": "--", "cake": "-.", "pfifo": ":"}
COLUMNS = 4
DOTS_PER_INCH = 130
# What a logarithmic scale shows of a delay of nothing.
LEAST_DELAY_MS = 0.05

Run = Mapping[str, Any]


def goodput(runs: Sequence[Run], path: Path) -> Path:
    """Of each flow over time."""
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(runs)
        for run, axis in zip(runs, axes, strict=True):
            width_s = run["series"]["bin_s"]
            for flow, colour in zip(run["series"]["flows"], FLOW_COLOURS, strict=False):
                rate = np.array(flow["goodput_bit_s"]) / 1e6
                axis.plot((np.arange(len(rate)) + 0.5) * width_s, rate, color=colour, lw=1, label=_label(flow))
        most = max(np.percentile(flow["goodput_bit_s"], 99) for run in runs for flow in run["series"]["flows"])
        axes[0].set_ylim(0, most / 1e6)
        _finish(figure, axes, "goodput, Mbit/s")
        return _save(figure, path)


def delay_over_time(runs: Sequence[Run], path: Path) -> Path:
    """Queue delay of each acknowledgement."""
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(runs)
        for run, axis in zip(runs, axes, strict=True):
            for flow, colour in zip(run["series"]["flows"], FLOW_COLOURS, strict=False):
                delay_ms = np.maximum(np.array(flow["delay_s"]) * 1e3, LEAST_DELAY_MS)
                axis.plot(flow["delay_time_s"], delay_ms, ".", ms=1.2, color=colour, label=_label(flow))
            axis.set_yscale("log")
        axes[0].set_xlim(0, runs[0]["metrics"]["window_end_s"])
        axes[0].set_ylim(0.2, 1000)
        _finish(figure, axes, "queue delay, ms", markerscale=8)
        return _save(figure, path)


def delay_distribution(runs: Sequence[Run], path: Path) -> Path:
    """Share of acknowledgements that met no more than a queue delay."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 4.6), layout="constrained")
        axis = figure.subplots()
        for run in runs:
            delays_ms = np.maximum(np.array(run["series"]["delay_quantiles_s"]) * 1e3, 2 * LEAST_DELAY_MS)
            axis.plot(
                delays_ms,
                np.linspace(0, 1, len(delays_ms)),
                color=CC_COLOURS.get(run["cc"], "#555555"),
                ls=QUEUE_STYLES.get(run["qdisc"], "-"),
                lw=2.6 if run["cc"] == "pktpair" else 1.4,
                label=_title(run),
            )
        axis.set_xscale("log")
        axis.set_xlabel("queue delay, ms (logarithmic)")
        axis.set_ylabel("share of acknowledgements")
        axis.set_ylim(0, 1)
        figure.legend(loc="outside right upper")
        return _save(figure, path)


def _title(run: Run) -> str:
    return f"{run['cc']} + {run['qdisc']}"


def _label(flow: Mapping[str, Any]) -> str:
    """A flow by its round trip."""
    return f"{flow['propagation_s'] * 1e3:.0f} ms"


def _grid(runs: Sequence[Run]) -> tuple[Figure, list[Axes]]:
    """Small multiples with common axes; what the figures leave out, the start, is grey."""
    columns = min(COLUMNS, len(runs))
    rows = -(-len(runs) // columns)
    size = (11.5 if columns == COLUMNS else 0.6 + 2.8 * columns, 2.5 * rows + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axis in axes[len(runs) :]:
        axis.set_visible(False)
    for run, axis in zip(runs, axes, strict=False):
        axis.axvspan(0, run["metrics"]["window_begin_s"], color="#f0f0f0", zorder=0)
        axis.set_title(_title(run), fontsize=10)
    return figure, axes[: len(runs)]


def _finish(figure: Figure, axes: list[Axes], left: str, **of_legend: Any) -> None:
    """Names at the edge of the grid only, and one legend."""
    columns = min(COLUMNS, len(axes))
    for index, axis in enumerate(axes):
        if index % columns == 0:
            axis.set_ylabel(left)
        if index + columns >= len(axes):
            axis.set_xlabel("time, s")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, ncols=len(labels), loc="outside upper center", title="round trip without queue", **of_legend
    )


def _save(figure: Figure, path: Path) -> Path:
    for axis in figure.axes:
        for one in (axis.xaxis, axis.yaxis):
            if one.get_scale() == "log":
                one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DOTS_PER_INCH)
    files.write(path, picture.getvalue())
    return path
