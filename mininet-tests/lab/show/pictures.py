# SPDX-License-Identifier: GPL-2.0
"""Pictures of a study's figures, as addresses that hold the picture itself; of one run, as files."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .. import files
from ..analyse.statistics import interval
from .units import Scale

# As wide as a phone, so that text is as large there as on a large screen.
WIDTH_INCHES = 4.6
ROW_INCHES = 0.36
HEIGHT_INCHES = 3.0
# Where the values of a parameter are further apart than this, equal factors look alike.
LOGARITHMIC_FROM = 20
# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
# A run's pictures are files for a screen.
RUN_INCHES = (9.0, 2.6)
FILE_DOTS_PER_INCH = 130
# So many flows have a line each in the legend.
MAX_LABELS = 12
# More values of a parameter than this are not named one by one.
MAX_TICKS = 8
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # the reader's own font, and names that are no formulas
    "svg.fonttype": "none",
    "svg.hashsalt": "lab",
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Series:
    """What a picture shows under one label: the values of all seeds at each place.

    :param look: series of one number have one colour and mark, in all pictures
    :param points: (place, values); the place means nothing in a distribution
    """

    label: str
    look: int
    points: list[tuple[float, Sequence[float]]]


def distribution(scale: Scale, series: Sequence[Series]) -> str:
    """Each seed's value as a dot, and the mean with its interval; a row for each series."""
    with matplotlib.rc_context(STYLE):
        figure, axes = panel(0.7 + ROW_INCHES * len(series))
        for row, one in enumerate(series):
            colour = COLOURS[one.look % len(COLOURS)]
            values = [value for _, part in one.points for value in part]
            axes.plot([value * scale.factor for value in values], [row] * len(values), "o", ms=3, alpha=0.5, c=colour)
            found = interval(values)
            half = None if found.half is None else found.half * scale.factor
            axes.errorbar(found.mean * scale.factor, row, xerr=half, fmt="|", ms=9, capsize=3, c=colour)
            axes.text(0, row - 0.3, one.label, transform=axes.get_yaxis_transform(), fontsize=8)
        axes.set_ylim(len(series) - 0.5, -0.8)
        axes.yaxis.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(scale.title)
        return address(figure)


def line(scale: Scale, place: Scale, series: Sequence[Series]) -> str:
    """The mean at each value of a parameter, with its interval; a line for each series."""
    with matplotlib.rc_context(STYLE):
        figure, axes = panel(HEIGHT_INCHES + 0.18 * len(series))
        for one in series:
            found = [(where, interval(values)) for where, values in sorted(one.points, key=lambda point: point[0])]
            axes.errorbar(
                [where * place.factor for where, _ in found],
                [each.mean * scale.factor for _, each in found],
                yerr=[(each.half or 0.0) * scale.factor for _, each in found],
                marker=MARKERS[one.look % len(MARKERS)],
                color=COLOURS[one.look % len(COLOURS)],
                label=one.label,
                lw=1,
                ms=4,
                capsize=3,
            )
        places = sorted({where * place.factor for one in series for where, _ in one.points})
        if places[0] > 0 and places[-1] / places[0] >= LOGARITHMIC_FROM:
            axes.set_xscale("log")
        if len(places) <= MAX_TICKS:
            axes.set_xticks(places)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda where, _: f"{where:g}"))
        axes.minorticks_off()
        axes.set_xlabel(place.title)
        axes.set_ylabel(scale.title)
        figure.legend(loc="outside upper left")
        return address(figure)


def of_run(run: Mapping[str, Any], title: str, path: Path) -> Path:
    """Goodput and queue delay of each flow over time, backlogs, and how delays are distributed.

    :param run: its JSON, with "series" of ``analyse.series``
    :raises ValueError: it has nothing to draw
    """
    series = run["series"]
    panels = [draw for name, draw in _PANELS if series.get(name)]
    if not panels:
        raise ValueError("nothing was recorded of it that can be drawn")
    with matplotlib.rc_context(STYLE):
        width, height = RUN_INCHES
        figure = Figure(figsize=(width, 0.4 + height * len(panels)), layout="constrained")
        for draw, axes in zip(panels, figure.subplots(len(panels), 1, squeeze=False)[:, 0], strict=True):
            draw(axes, series)
            if len(axes.get_legend_handles_labels()[1]) > 1:
                axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), markerscale=4)
        figure.suptitle(title, fontsize=10)
        return save(figure, path)


def _goodput(axes: Axes, series: Mapping[str, Any]) -> None:
    for index, flow in enumerate(series["flows"]):
        rate_mbit = np.array(flow["goodput_bit_s"]) / 1e6
        time_s = (np.arange(len(rate_mbit)) + 0.5) * series["bin_s"]
        axes.plot(time_s, rate_mbit, lw=1, color=COLOURS[index % len(COLOURS)], label=_label(index, flow["name"]))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("goodput, Mbit/s")
    axes.set_xlabel("time, s")


def _delay(axes: Axes, series: Mapping[str, Any]) -> None:
    for index, flow in enumerate(series["flows"]):
        delay_ms = np.array(flow["delay_s"]) * 1e3
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(flow["delay_time_s"], delay_ms, ".", ms=2, color=colour, label=_label(index, flow["name"]))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("queue delay, ms")
    axes.set_xlabel("time, s")


def _backlog(axes: Axes, series: Mapping[str, Any]) -> None:
    for index, queue in enumerate(series["queues"]):
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(queue["time_s"], queue["packets"], lw=0.8, color=colour, label=_label(index, queue["device"]))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("backlog, packets")
    axes.set_xlabel("time, s")


def _delays(axes: Axes, series: Mapping[str, Any]) -> None:
    delay_ms = np.array(series["delay_quantiles_s"]) * 1e3
    axes.plot(delay_ms, np.linspace(0, 1, len(delay_ms)), lw=1.2, color=COLOURS[0])
    axes.set_ylim(0, 1)
    axes.set_ylabel("part of ACKs")
    axes.set_xlabel("queue delay of all flows, ms, is at most")


_PANELS = (("flows", _goodput), ("flows", _delay), ("queues", _backlog), ("delay_quantiles_s", _delays))


def _label(index: int, name: str) -> str:
    # matplotlib leaves out a name that begins so
    return name if index < MAX_LABELS else f"_{name}"


def panel(height_inches: float) -> tuple[Figure, Axes]:
    """An empty picture."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    return figure, figure.add_subplot()


def save(figure: Figure, path: Path) -> Path:
    """A picture as a PNG file, which is whole whenever it is there."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=FILE_DOTS_PER_INCH)
    files.write(path, picture.getvalue())
    return path


def address(figure: Figure) -> str:
    """A picture as an address that holds it."""
    picture = io.BytesIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(picture.getvalue()).decode()
