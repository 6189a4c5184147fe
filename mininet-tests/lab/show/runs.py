# SPDX-License-Identifier: GPL-2.0
"""Pictures of single runs, from their raw results: goodput and queue delay over time, and the delay's distribution.

A scenario that has ``draw`` adds its own.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analyse.figures import Acks, Figures, Floats, acks_of_flows, propagation_s
from ..model.layout import lay_out
from ..store.run import Run
from .pictures import COLOURS, HEIGHT_INCHES, STYLE, address, panel

# Points of a goodput curve.
BINS = 60
# Points of a distribution's curve.
QUANTILES = 201
# Shorter delays are drawn as this one, on a logarithmic axis.
LEAST_MS = 0.05
# More flows than this are not named one by one.
MAX_NAMES = 8

# A text, and an address that holds the picture.
Picture = tuple[str, str]


@dataclass(frozen=True)
class Drawn:
    """A run that is axes.

    :param raw: what the guest recorded
    """

    run: Run
    raw: dict[str, Any]
    figures: Figures

    def as_data(self) -> dict[str, Any]:
        """What a scenario's ``draw`` is told of it."""
        run, figures = self.run, self.figures
        labels = {"scenario": run.scenario.name, "title": run.title, "cc": run.cc, "qdisc": run.qdisc, "seed": run.seed}
        results = {"flows": figures.flows, "metrics": figures.metrics, "checks": figures.checks}
        return {**labels, "parameters": dict(run.values), **results}


def draw(found: Sequence[Drawn]) -> list[Picture]:
    """Of runs of one scenario; a text without a picture says why there is none."""
    pictures: list[Picture] = []
    with matplotlib.rc_context(STYLE):
        for some in (own, over_time):
            try:
                pictures += some(found)
            except Exception as error:
                # of a user's scenario, say: the page is none the worse for it
                pictures.append((f"cannot be drawn: {type(error).__name__}: {error}", ""))
    return pictures


def own(found: Sequence[Drawn]) -> list[Picture]:
    """The scenario's own pictures."""
    with tempfile.TemporaryDirectory() as folder:
        paths = found[0].run.scenario.draw([one.as_data() for one in found], Path(folder)) if found else []
        coded = [(path.stem.replace("_", " "), base64.b64encode(path.read_bytes()).decode()) for path in paths]
    return [(text, f"data:image/png;base64,{picture}") for text, picture in coded]


def over_time(found: Sequence[Drawn]) -> list[Picture]:
    """Of each run goodput and queue delay; of all of them the delay's distribution. Nothing without recorded ACKs."""
    pictures: list[Picture] = []
    delays: list[tuple[str, Floats]] = []
    for one in found:
        acks = acks_of_flows(one.raw.get("trace", ""), one.raw.get("begin_s", 0.0))
        if acks:
            name = one.run.title.removeprefix(f"{one.run.scenario.name} ")
            queues = queue_delays(one.run, acks)
            pictures.append((f"{name}: goodput of each flow", address(goodput(one.run, acks))))
            pictures.append((f"{name}: queue delay of each ACK", address(delay_over_time(queues))))
            begin_s, end_s = one.run.plan.window_s or (0.0, np.inf)
            inside = [delay_s[(time_s >= begin_s) & (time_s < end_s)] for _, time_s, delay_s in queues]
            delays.append((name, np.concatenate(inside)))
    delays = [(name, delay_s) for name, delay_s in delays if len(delay_s)]
    if delays:
        text = "part of ACKs with at most so much queue delay, in the measured window"
        pictures.append((text, address(distribution(delays))))
    return pictures


def queue_delays(run: Run, acks: dict[int, Acks]) -> list[tuple[str, Floats, Floats]]:
    """Name, times and queue delays of each flow that has any."""
    layout = lay_out(run.plan.topology)
    found = []
    for flow in run.plan.flows:
        seen = acks.get(run.plan.port(flow))
        if seen is not None:
            valid = seen.rtt_s > 0
            found.append((flow.name, seen.time_s[valid], seen.rtt_s[valid] - propagation_s(layout, flow)))
    return found


def rates(seen: Acks, edges_s: Floats) -> Floats:
    """Payload acknowledged between one edge and the next, bit/s."""
    bits = np.array([seen.at(seen.acked_bytes, edge) for edge in edges_s]) * 8
    return np.diff(bits) / np.diff(edges_s)


def goodput(run: Run, acks: dict[int, Acks]) -> Figure:
    """A line for each flow; what is not measured is grey."""
    figure, axes = panel(HEIGHT_INCHES)
    edges_s = np.linspace(0, max(seen.time_s[-1] for seen in acks.values()), BINS + 1)
    for index, flow in enumerate(run.plan.flows):
        seen = acks.get(run.plan.port(flow))
        if seen is not None:
            middles = (edges_s[1:] + edges_s[:-1]) / 2
            axes.plot(middles, rates(seen, edges_s) / 1e6, c=COLOURS[index % len(COLOURS)], lw=1, label=flow.name)
    if run.plan.window_s:
        axes.axvspan(0, run.plan.window_s[0], color="#f0f0f0", zorder=0)
    _name(figure, axes, "goodput, Mbit/s", len(run.plan.flows))
    return figure


def delay_over_time(queues: Sequence[tuple[str, Floats, Floats]]) -> Figure:
    """A dot for each ACK."""
    figure, axes = panel(HEIGHT_INCHES)
    for index, (name, time_s, delay_s) in enumerate(queues):
        shown = np.maximum(delay_s * 1e3, LEAST_MS)
        # as pixels: a picture of a hundred thousand dots would be the page
        axes.plot(time_s, shown, ".", ms=1.5, c=COLOURS[index % len(COLOURS)], label=name, rasterized=True)
    axes.set_yscale("log")
    _name(figure, axes, "queue delay, ms", len(queues))
    return figure


def distribution(delays: Sequence[tuple[str, Floats]]) -> Figure:
    """A line for each run."""
    figure, axes = panel(HEIGHT_INCHES + 0.18 * len(delays))
    parts = np.linspace(0, 1, QUANTILES)
    for index, (name, delay_s) in enumerate(delays):
        found = np.maximum(np.quantile(delay_s, parts) * 1e3, LEAST_MS)
        axes.plot(found, parts, c=COLOURS[index % len(COLOURS)], lw=1, label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("queue delay, ms")
    axes.set_ylabel("part of ACKs")
    figure.legend(loc="outside upper left")
    return figure


def _name(figure: Figure, axes: Axes, left: str, flows: int) -> None:
    axes.set_xlabel("time, s")
    axes.set_ylabel(left)
    axes.yaxis.set_major_formatter("{x:g}")
    if flows <= MAX_NAMES:
        figure.legend(loc="outside upper left", ncols=4, markerscale=6)
