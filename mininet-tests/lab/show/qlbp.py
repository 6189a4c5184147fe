# SPDX-License-Identifier: GPL-2.0
"""QLBP 2011 for people: its figures redrawn, its tables, and what is known of the checks that do not hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from ..analyse.qlbp import (
    BUFFERS,
    DEFAULT,
    JUDGED,
    NONE,
    PEERS,
    RATES,
    STOCK_PACING,
    TABLE_BUFFER,
    TCP,
    TECHNIQUES,
    TEXT,
    core,
    entries,
    lone,
    on_off,
    published_table_3,
    trace,
)
from ..model import qlbp
from .pages import text
from .pictures import CC_COLOURS, COLOURS, PANELS_INCHES, panels
from .section import Drawn, Section, Table, goals

Data = Mapping[str, Any]
PUBLISHED: dict[str, Any] = {"color": "black", "lw": 1, "ls": "-.", "marker": "x", "ms": 5, "label": "published"}
OTHERS = (DEFAULT, *PEERS)
# What is known of checks that do not hold.
WITHIN_BARS = (
    "Where the order does not hold, both are within what their bars leave open: parts of a run of some seconds differ "
    "by more than the curves do."
)
WHY: dict[str, str] = {
    "ql-fig16 0": "A pacer is a filter with the time constant q-max / (mu-max - mu-min), 1.2 and 2.4 ms here. Of white "
    "noise, which varies most on short scales, it takes 12 and 23 % of what is seen in 5 ms, and of any other input "
    "less: a half is not in equation (1) with packets of 1000 bytes.",
    "ql-fig18 0": "Half as much again, and not twice. Of some seconds, and not 800; not traced.",
    "ql-fig18 1": WITHIN_BARS,
    "ql-fig18 2": WITHIN_BARS,
}


def _of(data: Data, name: str, cc: str = JUDGED) -> Mapping[str, Any]:
    """A run's figures, or none."""
    for one in data.get("points", ()):
        if (one["cc"], one["run"]) == (cc, name):
            return dict(one["metrics"])
    return {}


def _curve(data: Data, names: Mapping[Any, str], metric: str, cc: str = JUDGED) -> tuple[list[Any], list[Any]]:
    """Of the runs that have it: their keys, and what they have."""
    found = [(key, _of(data, name, cc).get(metric)) for key, name in names.items()]
    known = [(key, value) for key, value in found if value is not None]
    return [key for key, _ in known], [value for _, value in known]


def table_2(data: Data) -> str:
    """Queue and delay over the rate."""
    rows = entries()["ql-tab2"].published["rows"]
    rates = [row["rate_bit_s"] / 1e6 for row in rows]
    found = _of(data, RATES)

    def draw(all_axes: Sequence[Axes]) -> None:
        for axes, key, metric, factor in zip(
            all_axes, ("q_pkt", "pacing_delay_s"), ("queue", "delay_s"), (1, 1e3), strict=True
        ):
            axes.plot(rates, [row[key] * factor for row in rows], **PUBLISHED)
            known = [(rate, found.get(f"r{rate:g}_{metric}")) for rate in rates]
            own = [(rate, value * factor) for rate, value in known if value is not None]
            if own:
                axes.plot(*zip(*own, strict=True), "o-", color=COLOURS[0], lw=1, ms=4, label="fq_rr")
            axes.set_xlabel("rate, Mbit/s")
        all_axes[0].set_ylabel("packets that a packet finds")
        all_axes[1].axhline(8, color="grey", lw=0.8, ls=":", label="theorem 1")
        all_axes[1].set_ylabel("pacing delay, ms")

    return panels(2, draw, columns=4)


def figure_15(data: Data) -> str:
    """Variation behind pacers, and what theorem 2 makes of it."""
    theory = entries()["ql-fig15"].derived["theory_relative_CoV_by_qmax_for_1_2_3_pacers"]
    cutoffs = [int(key) for key in theory]

    def draw(all_axes: Sequence[Axes]) -> None:
        behind, lags = all_axes
        for place, count in enumerate(qlbp.PACERS):
            look: dict[str, Any] = {"color": COLOURS[place], "lw": 1}
            keys, values = _curve(data, {q: on_off(q) for q in cutoffs}, f"relative_cov_{count}")
            name = f"{count} pacer{'s' if count > 1 else ''}"
            behind.plot(keys, values, "o-", ms=4, label=name, **look)
            behind.plot(cutoffs, [row[place] for row in theory.values()], ls=":", label="fluid theory", **look)
        behind.set_xscale("log", base=2)
        behind.set_xticks(cutoffs, [str(one) for one in cutoffs])
        behind.set_xlabel("q-max, packets")
        behind.set_ylabel("CoV of 50 ms / CoV without pacing")
        for place, q_max in enumerate((10, 40, 160)):
            found = _of(data, on_off(q_max))
            if "autocovariance_behind" in found:
                colour = COLOURS[place + len(qlbp.PACERS)]
                times_ms = [lag * 1e3 for lag in data["lags_s"]]
                lags.plot(
                    times_ms, found["autocovariance_behind"], "o-", ms=3, lw=1, color=colour, label=f"q-max {q_max}"
                )
                lags.plot(times_ms, [covariance(q_max, lag) for lag in data["lags_s"]], ls=":", lw=1, color=colour)
        first = _of(data, on_off(cutoffs[0]))
        if "autocovariance_before" in first:
            lags.plot([lag * 1e3 for lag in data["lags_s"]], first["autocovariance_before"], "k-", lw=1, label="input")
        lags.set_xlabel("lag, ms")
        lags.set_ylabel("autocovariance, (Mbit/s)²")

    return panels(2, draw, columns=4)


def covariance(q_max: int, lag_s: float) -> float:
    """Theorem 2, in (Mbit/s)^2."""
    alpha, on, off = qlbp.tandem_rule(q_max).alpha_per_s, 1 / qlbp.MEAN_ON_S, 1 / qlbp.MEAN_OFF_S
    both, peak = on + off, qlbp.ON_OFF_BIT_S / 1e6
    common = alpha * peak**2 * on * off / (both * (alpha + both) * (alpha - both))
    return common * (alpha / both * math.exp(-both * lag_s) - math.exp(-alpha * lag_s))


def figure_16(data: Data) -> str:
    """Variation over time scales."""

    def draw(all_axes: Sequence[Axes]) -> None:
        (axes,) = all_axes
        drawn = [(q_max, _of(data, trace(q_max))) for q_max in qlbp.TRACE_CUTOFFS]
        known = [(q_max, found) for q_max, found in drawn if "cov_behind" in found]
        curves = [(f"q-max {q_max}", found["cov_behind"]) for q_max, found in known]
        if known:
            curves.insert(0, ("no pacing", known[0][1]["cov_before"]))
        for place, (name, values) in enumerate(curves):
            points = [(scale, math.log2(value)) for scale, value in zip(qlbp.SCALES, values, strict=True) if value]
            colour = "black" if not place else COLOURS[(place - 1) % len(COLOURS)]
            axes.plot(*zip(*points, strict=True), "o-", ms=3, lw=1, color=colour, label=name)
        axes.set_xlabel("s: of 5 ms times 2 to the power of s")
        axes.set_ylabel("log2 of the coefficient of variation")

    return panels(1, draw, columns=4)


def figure_18(data: Data) -> str:
    """Utilisation over the core's buffer."""

    def draw(all_axes: Sequence[Axes]) -> None:
        (axes,) = all_axes
        pacings: tuple[int | str, ...] = (NONE, *qlbp.DUMBBELL_CUTOFFS, TCP)
        for place, pacing in enumerate(pacings):
            names = {buffer: core(pacing, buffer) for buffer in BUFFERS}
            label = {NONE: "no pacing", TCP: "TCP pacing"}.get(str(pacing), f"QLBP, {pacing} packets")
            colour = "black" if pacing == NONE else COLOURS[(place - 1) % len(COLOURS)]
            keys, values = _curve(data, names, "used")
            bars = _curve(data, names, "used_bar")[1]
            if keys:
                axes.errorbar(keys, values, yerr=bars, fmt="o-", ms=3.5, lw=1, capsize=2, color=colour, label=label)
            if pacing == TCP:
                stock = _curve(data, names, "used", STOCK_PACING)
                axes.plot(*stock, "s--", ms=3, lw=1, color=colour, label="TCP pacing, stock")
        for cc in OTHERS:
            one = _of(data, core(NONE, TABLE_BUFFER), cc)
            if "used" in one:
                axes.plot([TABLE_BUFFER], [one["used"]], "D", ms=4, color=CC_COLOURS[cc], label=f"{cc}, no pacing")
        axes.set_xlabel("buffer at the core, packets")
        axes.set_ylabel("used part of the core link")
        axes.set_ylim(0, 1.02)

    return panels(1, draw, columns=4, height_inches=PANELS_INCHES[1] + 0.6)


def figure_19(data: Data) -> str:
    """Tails of delays."""

    def draw(all_axes: Sequence[Axes]) -> None:
        for axes, ccs in zip(all_axes, ((JUDGED,), OTHERS), strict=True):
            for cc in ccs:
                for style, (word, pacing) in zip(("-", "--", ":"), TECHNIQUES.items(), strict=True):
                    found = _of(data, core(pacing, TABLE_BUFFER), cc)
                    if "tail_curve" in found:
                        colour = CC_COLOURS.get(cc, COLOURS[3])
                        times_ms = [1e3 * one for one in data["tail_grid_s"]]
                        values = [max(one, 1e-6) for one in found["tail_curve"]]
                        axes.plot(times_ms, values, style, lw=1, color=colour, label=f"{cc}, {word}")
            axes.set_yscale("log")
            axes.set_ylim(1e-5, 1.2)
            axes.set_xlabel("delay in order, ms")
        all_axes[0].set_ylabel("part of packets that is later")

    return panels(2, draw, columns=4, height_inches=PANELS_INCHES[1] + 0.6)


FIGURES: dict[str, tuple[str, Callable[[Data], str]]] = {
    "Table II": ("Constant rates into mu-min 2, mu-max 10, a link of 15 Mbit/s, q-max 10 packets.", table_2),
    "Figure 15 and theorem 2": (
        "A Markov source of 2 Mbit/s, on for 0.1 and off for 0.2 s, behind pacers. Dotted: the fluid's theory; the "
        "paper's curves are not in our material.",
        figure_15,
    ),
    "Figure 16": (
        "A synthetic self-similar source in the place of the paper's trace. What the paper published of the curves "
        "are its words alone.",
        figure_16,
    ),
    "Figure 18": ("40 flows with windows of 32 packets; bars are 1.96 sigma of parts of the run.", figure_18),
    "Figure 19": (f"Of the runs of table III, with a buffer of {TABLE_BUFFER} packets at the core.", figure_19),
}


def _table_3(data: Data) -> Table:
    rows = []
    for word, pacing in TECHNIQUES.items():
        published = published_table_3()[word]
        names = ("utilisation", "delay_mean_s", "delay_min_s", "delay_max_s")
        rows.append((word, "published", *(text(published[name]) for name in names), "", ""))
        for cc in (JUDGED, TEXT, *OTHERS):
            found = _of(data, core(pacing, TABLE_BUFFER), cc)
            if found:
                keys = ("used", *names[1:], "delay_p999_s", "tail")
                rows.append((word, cc, *(text(found[key]) if key in found else "" for key in keys)))
    head = ("pacing", "of", "utilisation", "mean delay, s", "least", "greatest", "99.9th percentile", "above 0.1 s")
    return Table("Table III", "least and greatest are those of a flow's mean", head, rows)


def _one_flow(data: Data) -> Table:
    rows = []
    for cc in (JUDGED, *OTHERS):
        for pacing in (NONE, "qlbp"):
            found = _of(data, lone(pacing), cc)
            if found:
                rows.append((cc, pacing, text(found["gap_cov"]), text(found["first_tenth"])))
    about = "how packets of one flow leave the first router: deviation over mean of the gaps, and a round trip's begin"
    return Table("Figures 9 and 10", about, ("cc", "pacing", "variation of gaps", "in the first tenth"), rows)


def _trace_table(data: Data) -> Table:
    found = next((one for q in qlbp.TRACE_CUTOFFS if (one := _of(data, trace(q)))), {})
    keys = {
        "hurst": "H",
        "mean_bit_s": "mean, bit/s",
        "least_second_bit_s": "least second",
        "most_second_bit_s": "most",
    }
    rows: list[Sequence[str]] = [("published", text(qlbp.TRACE_HURST), "1.6e7", "1e7", "3.5e7")]
    rows += [("synthetic", *(text(found[key]) for key in keys))] if found else []
    return Table("The source of figure 16", "H by Haar's wavelet", ("of", *keys.values()), rows)


VERDICT = (
    "Held: the rule and its theorems on constant rates, Table II within a packet, the order of utilisation of Table "
    "III, the variation behind one to three pacers, and that tails of delay shorten. Not held: gains as large as "
    "published. Parts of a run of some seconds differ by several hundredths of the link, about as much as neighbouring "
    "curves of figure 18."
)


def section(data: Data) -> Section:
    """The paper's part of the report."""
    return Section(
        "Pacers are fq_rr with flows 1 and qlbp, without delay control; FIFOs are the same without qlbp, and pfifo at "
        "the core. Packets have 1000 bytes. TCP is reno, whose receivers acknowledge each packet. In the dumbbell "
        "all flows begin within a second, and some seconds are measured, not 800.",
        [Drawn(name, about, draw(data)) for name, (about, draw) in FIGURES.items()],
        [_one_flow(data), _trace_table(data), _table_3(data)],
        goals(data.get("goals", ()), text),
        VERDICT,
    )
