# SPDX-License-Identifier: GPL-2.0
"""What a packet costs, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .pictures import COLOURS, STYLE, save

PANEL_INCHES = 3.1


def over_flows(rows: list[dict[str, Any]], path: Path, unit: str = "instructions") -> Path:
    """What a full-size packet costs over the number of flows, a panel per case."""
    plain = [row for row in rows if not (row["gso"] or row["hashed"] or row["ipv6"])]
    size = max(row["packet_bytes"] for row in plain)
    plain = [row for row in plain if row["packet_bytes"] == size]
    cases = list(dict.fromkeys(row["case"] for row in plain))
    qdiscs = list(dict.fromkeys(row["qdisc"] for row in plain))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(PANEL_INCHES * len(cases), PANEL_INCHES), layout="constrained")
        panels = figure.subplots(1, len(cases), sharey=True, squeeze=False)[0]
        for case, axes in zip(cases, panels, strict=True):
            for qdisc, colour in zip(qdiscs, COLOURS, strict=False):
                mine = sorted(
                    (row["flows"], row[f"{unit}_per_packet"])
                    for row in plain
                    if (row["case"], row["qdisc"]) == (case, qdisc)
                )
                axes.plot(*zip(*mine, strict=True), "o-", color=colour, ms=3, lw=1.4, label=qdisc)
            axes.set_title(case, fontsize=10)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("flows")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panels[0].set_ylabel(f"{unit} per packet of {size} bytes")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=len(labels), loc="outside upper center")
        return save(figure, path)
