# SPDX-License-Identifier: GPL-2.0
"""Runs over time, drawn: goodput and queue delay of each flow, backlogs, and how delays are distributed.

What is drawn are series of ``analyse.series``. ``lab draw`` has one file for each run, ``lab report``
one picture for each run and kind, and the demo all runs of a kind beside each other.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from ..analyse.figures import Floats
from ..model.scenario import Scenario
from .pictures import CC_COLOURS, COLOURS, HEIGHT_INCHES, STYLE, WIDTH_INCHES, address, address_of_png, bounded, save

# A run's file is for a screen.
FILE_INCHES = (9.0, 2.6)
# Of pictures beside each other: so many in a row, and the size of one.
COLUMNS = 4
PANEL_INCHES = (2.8, 2.5)
WIDE_INCHES = (8.5, 4.6)
# A name in a legend above a picture takes about so much.
NAME_INCHES = 1.1
# More flows or queues than this are not named one by one.
MAX_NAMES = 12
# Shorter delays are drawn as this one, on a logarithmic axis.
LEAST_DELAY_MS = 0.1
# Dots of a picture are too small to show a colour.
LEGEND: dict[str, Any] = {"alignment": "left", "markerscale": 6}
LINES = ("-", "--", "-.", ":")
# Lines of congestion controls whose names begin so are broad.
BROAD_LINES_OF = "pktpair"

# A run's JSON, of which "series", "cc" and "qdisc" are drawn.
Run = Mapping[str, Any]
Named = Sequence[tuple[str, Run]]
Series = Mapping[str, Any]
# A text, and an address that holds the picture.
Picture = tuple[str, str]


def _goodput(axes: Axes, series: Series) -> list[Floats]:
    drawn = []
    for index, flow in enumerate(series["flows"]):
        rate_mbit = np.array(flow["goodput_bit_s"]) / 1e6
        middle_s = (np.arange(len(rate_mbit)) + 0.5) * series["bin_s"]
        axes.plot(middle_s, rate_mbit, lw=1, color=_colour(index), label=_flow(index, flow))
        drawn.append(rate_mbit)
    return drawn


def _delay(axes: Axes, series: Series) -> list[Floats]:
    drawn = []
    for index, flow in enumerate(series["flows"]):
        delay_ms = np.maximum(np.array(flow["delay_s"]) * 1e3, LEAST_DELAY_MS)
        # as pixels: a picture of thousands of dots would be the page
        label = _flow(index, flow)
        axes.plot(flow["delay_time_s"], delay_ms, ".", ms=1.5, color=_colour(index), label=label, rasterized=True)
        drawn.append(delay_ms)
    return drawn


def _backlog(axes: Axes, series: Series) -> list[Floats]:
    drawn = []
    for index, queue in enumerate(series["queues"]):
        packets = np.array(queue["packets"], dtype=float)
        axes.plot(queue["time_s"], packets, lw=0.8, color=_colour(index), label=_name(index, queue["device"]))
        drawn.append(packets)
    return drawn


def _decades(axes: Axes, *drawn: Floats) -> None:
    """Whole powers of ten on a logarithmic axis, of which at least two have their number."""
    values = np.concatenate([np.zeros(0), *drawn])
    axes.set_yscale("log")
    if len(values):
        axes.set_ylim(*_powers(values))
    _plain(axes.yaxis)


def _plain(axis: Axis) -> None:
    """A number at each power of ten, and at nothing between."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def _powers(values: Floats) -> tuple[float, float]:
    low, high = math.floor(math.log10(values.min())), math.ceil(math.log10(values.max()))
    return 10.0**low, 10.0 ** max(high, low + 1)


@dataclass(frozen=True)
class Kind:
    """Something of a run over time.

    :param text: what it is, for people
    :param axis: name of the vertical axis
    :param names: title of the legend
    :param part: the part of the series that it needs
    :param draw: returns all that it has drawn
    :param limit: sets the vertical axis by that
    """

    text: str
    axis: str
    names: str
    part: str
    draw: Callable[[Axes, Series], list[Floats]]
    limit: Callable[..., None]


FLOWS = "flow, path's round trip"
GOODPUT = Kind("goodput of each flow", "goodput, Mbit/s", FLOWS, "flows", _goodput, bounded)
DELAY = Kind("queue delay of each flow", "queue delay, ms", FLOWS, "flows", _delay, _decades)
BACKLOG = Kind("backlog of each queue", "backlog, packets", "device", "queues", _backlog, bounded)
KINDS = (GOODPUT, DELAY, BACKLOG)
DISTRIBUTION = "part of round trips with at most so much queue delay, in the measured window"


def beside_each_other(runs: Named, kind: Kind) -> Figure:
    """A panel for each run, on common axes, with its name above where there are several."""
    columns = min(COLUMNS, len(runs))
    rows = -(-len(runs) // columns)
    width, height = PANEL_INCHES
    size = (0.3 + width * columns, 0.6 + height * rows) if len(runs) > 1 else (WIDTH_INCHES, HEIGHT_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in panels[len(runs) :]:
        axes.set_visible(False)
    _panels(panels[: len(runs)], [run["series"] for _, run in runs], kind)
    for index, ((name, _), axes) in enumerate(zip(runs, panels, strict=False)):
        axes.set_title(name if len(runs) > 1 else "", fontsize=10)
        # names at the edge of the grid only
        axes.set_ylabel(kind.axis if index % columns == 0 else "")
        axes.set_xlabel("time, s" if index + columns >= len(runs) else "")
    handles, labels = panels[0].get_legend_handles_labels()
    in_a_row = max(1, int(size[0] / NAME_INCHES))
    figure.legend(handles, labels, loc="outside upper left", title=kind.names, ncols=in_a_row, **LEGEND)
    return figure


def stacked(run: Run) -> Figure:
    """All that there is of a run, one below the other; ValueError if there is nothing."""
    series = run["series"]
    kinds = [kind for kind in KINDS if series.get(kind.part)]
    if not kinds:
        raise ValueError("nothing was recorded of it that can be drawn")
    has_delays = bool(series.get("delay_quantiles_s"))
    count = len(kinds) + has_delays
    width, height = FILE_INCHES
    figure = Figure(figsize=(width, 0.4 + height * count), layout="constrained")
    panels = list(figure.subplots(count, 1, squeeze=False).flat)
    for kind, axes in zip(kinds, panels, strict=False):
        _panels([axes], [series], kind)
        axes.sharex(panels[0])
        axes.set_xlabel("time, s")
        axes.set_ylabel(kind.axis)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), title=kind.names, **LEGEND)
    if has_delays:
        _distribution(panels[-1], [("", run)])
    return figure


def _panels(panels: Sequence[Axes], all_series: Sequence[Series], kind: Kind) -> None:
    """Draw; what lies outside the measured window is grey."""
    drawn = []
    for axes, series in zip(panels, all_series, strict=True):
        drawn += kind.draw(axes, series)
        if series["window_s"]:
            begin_s, end_s = series["window_s"]
            for span in ((0, begin_s), (end_s, max(end_s, _end_s(series)))):
                axes.axvspan(*span, color="#f0f0f0", lw=0, zorder=0)
    panels[0].set_xlim(0, max(map(_end_s, all_series)))
    kind.limit(panels[0], *drawn)


def _end_s(series: Series) -> float:
    """Of what is drawn."""
    if series.get("flows"):
        return float(series["bin_s"] * len(series["flows"][0]["goodput_bit_s"]))
    return max((queue["time_s"][-1] for queue in series["queues"] if queue["time_s"]), default=1.0)


def distribution(runs: Named, is_wide: bool = False) -> Figure:
    """A line for each run."""
    size = WIDE_INCHES if is_wide else (WIDTH_INCHES, HEIGHT_INCHES + 0.18 * len(runs))
    figure = Figure(figsize=size, layout="constrained")
    _distribution(figure.add_subplot(), runs)
    figure.legend(loc="outside right upper" if is_wide else "outside upper left")
    return figure


def _distribution(axes: Axes, runs: Named) -> None:
    """Lines; a colour for each congestion control and a style for each queue, where these tell them apart."""
    ccs, qdiscs = (list(dict.fromkeys(run[label] for _, run in runs)) for label in ("cc", "qdisc"))
    of_ccs = {cc: CC_COLOURS.get(cc, _colour(len(CC_COLOURS) + index)) for index, cc in enumerate(ccs)}
    apart = len({(run["cc"], run["qdisc"]) for _, run in runs}) == len(runs)
    drawn = []
    for index, (name, run) in enumerate(runs):
        delay_ms = np.maximum(np.array(run["series"]["delay_quantiles_s"]) * 1e3, LEAST_DELAY_MS)
        style = qdiscs.index(run["qdisc"]) if apart else index // len(COLOURS)
        axes.plot(
            delay_ms,
            np.linspace(0, 1, len(delay_ms)),
            color=of_ccs[run["cc"]] if apart else _colour(index),
            ls=LINES[style % len(LINES)],
            lw=2.2 if len(ccs) > 1 and run["cc"].startswith(BROAD_LINES_OF) else 1.2,
            label=name,
        )
        drawn.append(delay_ms)
    axes.set_xscale("log")
    axes.set_xlim(*_powers(np.concatenate(drawn)))
    _plain(axes.xaxis)
    axes.set_xlabel("queue delay, ms")
    axes.set_ylim(0, 1.01)
    axes.set_ylabel("part of round trips")


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _flow(index: int, flow: Series) -> str:
    return _name(index, f"{flow['name']}, {flow['propagation_s'] * 1e3:g} ms")


def _name(index: int, name: str) -> str:
    # matplotlib leaves out a name that begins so
    return name if index < MAX_NAMES else f"_{name}"


def to_file(run: Run, title: str, path: Path) -> Path:
    """A run as a PNG; ValueError if there is nothing to draw, KeyError if its series are another version's."""
    with matplotlib.rc_context(STYLE):
        figure = stacked(run)
        figure.suptitle(title, fontsize=10)
        path.parent.mkdir(parents=True, exist_ok=True)
        return save(figure, path)


def to_files(runs: Named, folder: Path) -> dict[str, Path]:
    """Of runs whose ACKs were recorded, beside each other, as PNGs."""
    with matplotlib.rc_context(STYLE):
        return {
            "goodput": save(beside_each_other(runs, GOODPUT), folder / "goodput.png"),
            "delay_over_time": save(beside_each_other(runs, DELAY), folder / "queue-delay.png"),
            "delay_distribution": save(distribution(runs, is_wide=True), folder / "queue-delay-distribution.png"),
        }


def to_addresses(scenario: Scenario, runs: Named) -> list[Picture]:
    """Of runs of one scenario, for a page; a text without a picture says why there is none."""

    def own() -> list[Picture]:
        with tempfile.TemporaryDirectory() as folder:
            paths = scenario.draw([dict(run) for _, run in runs], Path(folder))
            return [(path.stem.replace("_", " "), address_of_png(path)) for path in paths]

    def over_time() -> list[Picture]:
        found = [
            (f"{name}: {kind.text}", address(beside_each_other([(name, run)], kind)))
            for name, run in runs
            for kind in KINDS
            if run["series"].get(kind.part)
        ]
        with_delays = [(name, run) for name, run in runs if run["series"].get("delay_quantiles_s")]
        return found + ([(DISTRIBUTION, address(distribution(with_delays)))] if with_delays else [])

    pictures: list[Picture] = []
    with matplotlib.rc_context(STYLE):
        for some in (own, over_time):
            try:
                pictures += some()
            except Exception as error:
                # of a user's scenario, say: the page is none the worse for it
                pictures.append((f"cannot be drawn: {type(error).__name__}: {error}", ""))
    return pictures
