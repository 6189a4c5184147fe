# SPDX-License-Identifier: GPL-2.0
"""What all pictures have in common, and those of a study's figures, as addresses that hold the picture itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .. import files
from ..analyse.figures import Floats
from ..analyse.statistics import interval
from .units import Scale

# As wide as a phone, so that text is as large there as on a large screen.
WIDTH_INCHES = 4.6
ROW_INCHES = 0.36
HEIGHT_INCHES = 3.0
# Of panels beside each other.
PANELS_INCHES = (8.0, 3.6)
# Where the values of a parameter are further apart than this, equal factors look alike.
LOGARITHMIC_FROM = 20
# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
CC_COLOURS = {"pktpair": "#D55E00", "bbr": "#0072B2", "cubic": "#009E73"}
MARKERS = "osD^vP*X"
FILE_DOTS_PER_INCH = 130
# More values of a parameter than this are not named one by one.
MAX_TICKS = 8
# Texts of more letters, all together, are written aslant.
MAX_LETTERS = 40
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


def line(scale: Scale, place: Scale, series: Sequence[Series], names: Sequence[str] = ()) -> str:
    """The mean at each value of a parameter, with its interval; a line for each series.

    :param names: of the places, where the parameter has texts: places are then their numbers, and nothing joins them
    """
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
                lw=0 if names else 1,
                elinewidth=1,
                ms=4,
                capsize=3,
            )
        places = sorted({where * place.factor for one in series for where, _ in one.points})
        if not names and places[0] > 0 and places[-1] / places[0] >= LOGARITHMIC_FROM:
            axes.set_xscale("log")
        if names:
            axes.set_xlim(-0.5, len(names) - 0.5)
            axes.set_xticks(range(len(names)), names, rotation=30 if len("".join(names)) > MAX_LETTERS else 0)
        else:
            if len(places) <= MAX_TICKS:
                axes.set_xticks(places)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda where, _: f"{where:g}"))
        axes.minorticks_off()
        axes.set_xlabel(place.title)
        axes.set_ylabel(scale.title)
        figure.legend(loc="outside upper left")
        return address(figure)


def panel(height_inches: float) -> tuple[Figure, Axes]:
    """An empty picture."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    return figure, figure.add_subplot()


def bounded(axes: Axes, *drawn: Floats) -> None:
    """From zero to what nearly all points need: a spike of the start must not flatten the rest."""
    values = np.concatenate([np.zeros(0), *drawn])
    # most of the time a short transfer sends nothing
    sent = values[values > 0]
    axes.set_ylim(0, 1.15 * float(np.percentile(sent, 99)) if len(sent) else 1)


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


def address_of_png(path: Path) -> str:
    """A file's picture likewise."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def panels(
    count: int,
    draw: Callable[[Sequence[Axes]], None],
    *,
    columns: int = 5,
    height_inches: float = PANELS_INCHES[1],
) -> str:
    """Panels side by side with one legend, as an address that holds them.

    :param draw: is given the axes of all panels
    :param columns: of the legend
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(PANELS_INCHES[0], height_inches), layout="constrained")
        all_axes = [figure.add_subplot(1, count, place + 1) for place in range(count)]
        draw(all_axes)
        of_labels: dict[str, Any] = {}
        for axes in all_axes:
            handles, labels = axes.get_legend_handles_labels()
            of_labels |= dict(zip(labels, handles, strict=True))
        if of_labels:
            figure.legend(list(of_labels.values()), list(of_labels), loc="outside lower center", ncols=columns)
        return address(figure)
