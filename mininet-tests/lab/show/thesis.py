# SPDX-License-Identifier: GPL-2.0
"""Keshav's thesis, chapter 6, for people: its tables and figures redrawn, and what is known of what does not hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ..analyse.statistics import t_quantile
from ..analyse.thesis import DEFAULT, JUDGED, MIXES, PAIRS, PEERS, QUEUE, RENO, SET_POINT_2, entries, pair_of
from ..model.thesis import CASES, INTERVALS, PERIOD_S, SHARES
from .pages import text
from .pictures import COLOURS, bounded, panels
from .section import Drawn, Goal, Section, Table

Data = Mapping[str, Any]
# Pairs of the thesis, and today's over fair queueing.
OTHERS = {f"{cc}-{QUEUE}": (cc, QUEUE) for cc in (DEFAULT, *PEERS, RENO)}
ALL = {**PAIRS, **OTHERS}
# What is known of checks that do not hold, of the usual length and seed 1.
FIFTEEN_PLACES = (
    "Two setpoints of five packets and two windows of five are 20 packets, for a buffer of 15. The table's 1.21 s at "
    "3.32 packets/s are 4.0 packets: the thesis' sources held less than their setpoint."
)
FULL_PIPE = (
    "Two windows of 40 packets fill the pipe and the buffer exactly: each of their packets comes as one leaves, and "
    "the background, which is not clocked by ACKs, finds no place. The thesis has that of G, whose background has 0.12."
)
WHOLE_WINDOW = (
    "Slow start takes the window to its limit of 60 before anything is lost, over the FIFO and with fair queueing: the "
    "pipe and the buffers have room for it. So it is with intervals of 50, 100 and 150 s, as with 300 s: it is not the "
    "length of the run."
)
SHORT_PATH_PAYS = (
    "A window of 60 leaves more packets in the queues of the short path, whose pipe holds half of what the long one's "
    "does. The longest queue, from which a full buffer drops, is the short path's: it alone loses and sends again. "
    "Window and buffer of this scenario are taken from scenario 7."
)
WHY: dict[str, str] = {
    "th-s1-setpoint2 0": "2.45 packets are outstanding, where the thesis has 4.2. At a setpoint of five it has 7.4 "
    "and 6.1, and 5.9 and 6.5 are outstanding here. A packet's own 0.1 s on the slow line is not in a round trip here.",
    "th-s1-setpoint2 1": "As for check 0.",
    "th-s2-pp-fq 1": "Six setpoints of five packets are 30, for a buffer of 25. The table's 2.4 s at 1.66 packets/s "
    "are 4.0 packets each: the thesis' sources held less than their setpoint.",
    "th-s2-pp-fq 2": "The mean of the six is the table's. A buffer of 25 is 4.2 packets a source: three sources hold "
    "three packets and three hold five.",
    "th-s2-claims 4": "As for th-s2-pp-fq, check 1.",
    **{f"th-s3-g-fcfs {number}": FULL_PIPE for number in (0, 1, 4)},
    **{f"th-s3-jk-fcfs {number}": FULL_PIPE for number in (2, 3, 4)},
    **{f"th-s3-claims {number}": FULL_PIPE for number in (1, 3)},
    "th-s3-g-fq 3": "Both sources stand at the same place, and have the same here. The thesis' second one has a fifth "
    "of the first.",
    "th-s3-dynamics 0": "The window is flat at 40 from 462 s on. The last loss is at 284 s, and one packet in each "
    "round trip of four to eight seconds takes it from 12 to 40.",
    "th-s3-dec-dec 0": "Without panic mode, the reading beside it, it holds.",
    "th-s4-g-fcfs 1": "The file keeps its window of five in a buffer of 20: one of its packets comes as one leaves, "
    "and the malicious source has the other 15 places. In the thesis it lost them.",
    "th-s4-pp-fq 3": "0.73 s are 3.7 packets, less than the setpoint of five; here 5.1 packets are outstanding. The "
    "cell is the same as DECbit's, as the readings say; that row has 0.73 s here as well.",
    "th-s5-jk-g-fcfs 1": "Both JK sources have at least 1.4 packets/s, where the thesis has a winner and a loser. "
    "The order of means holds; phases are others.",
    "th-s5-pp-g-fq 1": "Fixed windows have 2.2 and 2.3 packets/s here, where the thesis' have 2.7 and 0.5, the latter "
    "with a timer that backs off (6.6.5). Packet pair has the rest.",
    "th-s5-pp-g-fq 2": "JK and packet pair have what fixed windows leave, 2.8 and 2.7 packets/s each.",
    "th-s5-pp-g-fq 3": FIFTEEN_PLACES,
    "th-s5-pp-jk-fq 1": FIFTEEN_PLACES,
    "th-s6-dec-dec 0": "The lines are full here: 7.6 and 2.4 packets/s. The thesis leaves 12 % unused, and says that "
    "this depends on the capacity factor, on panic mode and on the window. Without panic mode check 0 holds.",
    **{f"th-s6-dec-dec {number}": "As for check 0." for number in (2, 3)},
    "th-s7-jk-fcfs 0": WHOLE_WINDOW,
    **{f"th-s7-dynamics {number}": WHOLE_WINDOW for number in (0, 1, 2)},
    **dict.fromkeys(
        ("th-s7-dec-fqb 0", "th-s7-dec-fqb 1"),
        "The windows still rise in the first of the measured intervals of 150 s. With intervals of 300 s both sources "
        "have 1.63 packets/s.",
    ),
    "th-s8-g-fq 0": SHORT_PATH_PAYS,
    "th-s8-claims 0": SHORT_PATH_PAYS,
    "th-conclusion 0": "It rests on the claims of each scenario, and the reasons are theirs.",
    "th-s6-claims 1": "0.357: both throughputs are within their own bounds, and the ratio is a hundredth below its "
    "own.",
}


def _metrics(data: Data, scenario: int) -> dict[str, Mapping[str, Any]]:
    """Of each pair that was run."""
    return {
        pair_of(one["cc"], one["queue"]) + (f" {one['own']}" if one["own"] else ""): one["metrics"]
        for one in data.get("points", ())
        if one["scenario"] == scenario and not one["reading"]
    }


def _rates(scenario: int, metrics: Mapping[str, Any], period: str = "") -> dict[str, float]:
    """Of each file, as a part of its fair share."""
    share = {"off": 5.0, "on": 10 / 3}.get(period) or SHARES[scenario]
    before = f"{period}_" if period else ""
    rates = {str(n): metrics.get(f"{before}file_rate_{n}") for n in range(1, CASES[scenario].files + 1)}
    return {name: rate / share for name, rate in rates.items() if rate is not None}


def shares(data: Data) -> str:
    """Throughput over fair share of each file, for each pair, scenario by scenario."""
    shown = [(n, "") for n in CASES if n not in (3, 5)] + [(3, "on"), (3, "off")]

    def draw(all_axes: Sequence[Axes]) -> None:
        for axes, (scenario, period) in zip(all_axes, sorted(shown), strict=True):
            of_pairs = _metrics(data, scenario)
            for place, pair in enumerate(ALL):
                for number, value in _rates(scenario, of_pairs.get(pair, {}), period).items():
                    axes.plot(value, place, "o", ms=3.5, color=COLOURS[(int(number) - 1) % len(COLOURS)])
            axes.axvline(1, color="black", lw=0.8, ls="--")
            axes.set_title(f"{scenario} {period}".strip())
            axes.set_yticks(range(len(ALL)), list(ALL) if axes is all_axes[0] else [""] * len(ALL))
            axes.set_ylim(len(ALL) - 0.5, -0.5)
            axes.set_xlim(0, 2.2)
            axes.set_xlabel("share")

    return panels(len(shown), draw, columns=6)


# Curves of figure 6.21, beside those of windows.
SPACINGS = "7 pp-fq spacings"
# Of the utility diagrams: packets a second that an axis has, by scenario.
WIDEST = {1: 7.0, 2: 3.5}
GROUPS = {
    "G": ("g-fcfs", "g-fq"),
    "JK": ("jk-fcfs", "jk-fq"),
    "DEC": ("dec-dec", "dec-fqb"),
    "PP": ("pp-fq", f"{DEFAULT}-{QUEUE}"),
}


def half_box(deviation: float | None) -> float:
    """Half of the 95 % confidence interval of a mean of a run's intervals; 0 where no deviation is known."""
    count = INTERVALS - 1
    return t_quantile(count - 1) * (deviation or 0.0) / math.sqrt(count)


def _look(pair: str) -> tuple[str, str]:
    """Colour and name of a pair in a utility diagram."""
    if pair.startswith(DEFAULT):
        return COLOURS[2], "pktpair, fair queueing"
    return (COLOURS[1], "fair queueing") if pair.endswith(("fq", "fqb")) else (COLOURS[0], "FIFO")


def _box(axes: Axes, metrics: Mapping[str, Any], number: int, look: tuple[str, str]) -> None:
    """A file's throughput and delay, and their 95 % confidence."""
    rate, delay = metrics.get(f"file_rate_{number}"), metrics.get(f"file_delay_{number}")
    if rate is None or delay is None:
        return
    colour, label = look
    wide = half_box(metrics.get(f"file_deviation_{number}"))
    high = half_box(metrics.get(f"file_delay_deviation_{number}"))
    axes.add_patch(
        Rectangle((rate - wide, delay - high), 2 * wide, 2 * high, fill=False, lw=0.6, ec=colour, zorder=2.5)
    )
    axes.plot(rate, delay, "o", ms=2.5, color=colour, label=label)


def utility(scenario: int) -> Callable[[Data], str]:
    """Figures 6.3 and 6.5 to 6.8: throughput against delay of each file, with boxes of 95 % confidence."""

    def draw_of(data: Data) -> str:
        of_pairs = _metrics(data, scenario)

        def draw(all_axes: Sequence[Axes]) -> None:
            for axes, (title, pairs) in zip(all_axes, GROUPS.items(), strict=True):
                for pair in pairs:
                    look, published = _look(pair), _published(scenario, pair)
                    for number in range(1, CASES[scenario].files + 1):
                        _box(axes, of_pairs.get(pair, {}), number, look)
                        said = [published.get(f"ftp_{name}", {}) for name in ("throughput_pkt_s", "delay_s")]
                        if all(str(number) in one for one in said):
                            place = [one[str(number)][0] for one in said]
                            axes.plot(*place, "x", ms=4, color=look[0], label=f"published, {look[1]}")
                axes.set_title(title)
                axes.set_xlabel("packets/s")
                axes.set_xlim(0, WIDEST[scenario])
                axes.set_ylim(bottom=0)
            all_axes[0].set_ylabel("round trip, s")

        return panels(len(GROUPS), draw, columns=3)

    return draw_of


def windows(scenario: int) -> Callable[[Data], str]:
    """Figures 6.10 to 6.13, and 6.18 to 6.22."""
    pairs = ("jk-fcfs", "jk-fq", "dec-dec", "dec-fqb", "pp-fq")

    def draw_of(data: Data) -> str:
        def draw(all_axes: Sequence[Axes]) -> None:
            for axes, pair in zip(all_axes, pairs, strict=True):
                curve = data.get("curves", {}).get(f"{scenario} {pair}", [])
                if curve:
                    axes.plot(*zip(*curve, strict=True), color=COLOURS[0], lw=0.8)
                axes.set_title(pair)
                axes.set_xlabel("s")
                if scenario == 3:
                    axes.axvspan(PERIOD_S, 2 * PERIOD_S, color="#eeeeee")
            all_axes[0].set_ylabel("window, packets")

        return panels(len(pairs), draw, columns=6)

    return draw_of


def spacings(data: Data) -> str:
    """Figure 6.21: what is between packets of packet pair's first source, and between their ACKs, in scenario 7."""
    curves = data.get("curves", {}).get(SPACINGS, {})

    def draw(all_axes: Sequence[Axes]) -> None:
        (axes,) = all_axes
        for place, (name, label) in enumerate({"acked": "between ACKs", "sent": "between packets"}.items()):
            if curves.get(name):
                axes.plot(*zip(*curves[name], strict=True), color=COLOURS[place], lw=0.8, label=label)
        bounded(axes, *(np.array([spacing for _, spacing in curve]) for curve in curves.values()))
        axes.set_xlabel("s")
        axes.set_ylabel("s")

    return panels(1, draw)


BOXES = (
    "A dot is a file here, a cross a published one. A box is as wide and as high as the 95 % confidence intervals of "
    "throughput and delay, by Student's t over the intervals; the thesis takes three deviations to each side, 2.9 "
    "times as much. Where a deviation is not recorded it has no height."
)
FIGURES: dict[str, tuple[str, Callable[[Data], str]]] = {
    "Throughput over fair share": (
        "Each file is a dot, with its number's colour. Names are those of table 6.1; today's controls are over fq_rr.",
        shares,
    ),
    "6.3, scenario 1": (f"{BOXES} The thesis draws G alone.", utility(1)),
    "6.5 to 6.8, scenario 2": (BOXES, utility(2)),
    "6.10 to 6.13, scenario 3": (
        "The first source's window; of packet pair, what is outstanding. The background is off where it is grey.",
        windows(3),
    ),
    "6.18 to 6.22, scenario 7": ("Likewise, without a background.", windows(7)),
    "6.21, scenario 7": (
        "Of packet pair's first source, in 100 s from the middle of the run: the payload of a packet over the pacing "
        "rate, every 2 s, and the time between ACKs of single packets, which is a probe's value where the packets are "
        "a pair, and longer where the line was free between two pairs. The thesis' constant of its average is not "
        "recorded.",
        spacings,
    ),
}


# Entries of the paper that are not called as their pair is.
ENTRIES = {
    **{f"{pair_of(cc, queue)} {own}": name for name, (cc, queue, own) in MIXES.items()},
    f"{pair_of(JUDGED, QUEUE)} {SET_POINT_2}": "setpoint2",
}


def _published(scenario: int, pair: str) -> Mapping[str, Any]:
    entry = entries().get(f"th-s{scenario}-{ENTRIES.get(pair, pair)}")
    return entry.published if entry else {}


# Of a table: what a column has, and the names that the thesis' tables have for it, of files and of Telnet sources.
COLUMNS = {
    "packets/s": ("ftp_throughput_pkt_s", "throughput_pkt_s", "telnet_throughput_pkt_s"),
    "round trip, s": ("ftp_delay_s", "delay_s", "telnet_delay_s"),
    "dropped/s": ("ftp_drop_rate_pkt_s", "drop_rate_pkt_s", "telnet_drop_rate_pkt_s"),
    "sent again/s": ("ftp_retransmission_rate_pkt_s", "retransmission_rate_pkt_s", "telnet_retransmission_rate_pkt_s"),
}
# The background and the malicious source, as the thesis' tables call them.
UNCONTROLLED = {3: "Bkg", 4: "3"}
# What is told apart.
PERIODS = {3: ("off", "on")}


def _published_of(published: Mapping[str, Any], column: str, period: str) -> dict[str, float]:
    """Means of each source, by the thesis' names; those of scenario 1 have one rate for both kinds of sources."""
    before = f"{period}_" if period else ""
    told: dict[str, float] = {}
    for name in COLUMNS[column]:
        told |= {source: value[0] for source, value in published.get(f"{before}{name}", {}).items()}
    return told


def _measured_of(scenario: int, metrics: Mapping[str, Any], period: str) -> dict[str, dict[str, Any]]:
    """Of each source, by its number, what each column has."""
    before, case = f"{period}_" if period else "", CASES[scenario]
    told: dict[str, dict[str, Any]] = {}
    for number in range(1, case.files + case.telnets + 1):
        kind = "file" if number <= case.files else "telnet"
        told[str(number)] = {
            "packets/s": metrics.get(f"{before}{kind}_rate_{number}"),
            "round trip, s": metrics.get(f"{before}{kind}_delay_{number}"),
            "sent again/s": metrics.get(f"{before}again_{number}"),
        }
    if scenario in UNCONTROLLED:
        told[UNCONTROLLED[scenario]] = {"packets/s": metrics.get(f"{before}other_rate")}
    return told


def _rounded(value: float | None) -> str:
    return "-" if value is None else text(round(float(value), 2))


def _pair(published: float | None, measured: float | None) -> str:
    """One beside the other, to the digits of the thesis."""
    return "" if published is None and measured is None else f"{_rounded(published)} / {_rounded(measured)}"


def _rows_of(scenario: int, pair: str, metrics: Mapping[str, Any], period: str) -> list[tuple[str, ...]]:
    """A row for each source of a pair."""
    published = {column: _published_of(_published(scenario, pair), column, period) for column in COLUMNS}
    measured = _measured_of(scenario, metrics, period)
    # mixes have names like JK1 and G2, in the order of the sources
    names = list(published["packets/s"] or published["round trip, s"])
    names += list(measured)[len(names) :]
    return [
        (f"{pair} {period}".strip(), name, *(_pair(published[one].get(name), own.get(one)) for one in COLUMNS))
        for name, own in zip(names, measured.values(), strict=True)
    ]


def _drops_row(scenario: int, pair: str, metrics: Mapping[str, Any]) -> tuple[str, ...]:
    """Drops of all sources that have flow control."""
    said = _published_of(_published(scenario, pair), "dropped/s", "")
    published = [one for source, one in said.items() if source != UNCONTROLLED.get(scenario)]
    return pair, "all", "", "", _pair(sum(published) if published else None, metrics.get("drops_rate")), ""


def table_of(data: Data, scenario: int) -> Table:
    """Throughput, delay and losses of each source with each pair, what is published before what was measured."""
    rows = []
    for pair, metrics in _metrics(data, scenario).items():
        for period in PERIODS.get(scenario, ("",)):
            rows += _rows_of(scenario, pair, metrics, period)
        rows.append(_drops_row(scenario, pair, metrics))
    about = (
        "Published / measured, of each source; Telnet sources, then one without flow control, are the last. Drops are "
        "measured of all others together, from the first packet on."
    )
    return Table(f"Scenario {scenario}", about, ("pair", "source", *COLUMNS), rows)


def _goals(data: Data) -> list[Goal]:
    told = []
    for goal in data.get("goals", ()):
        scenario, beside = goal["scenario"], goal["beside"]
        if scenario == 5:
            what = f"Scenario 5: {DEFAULT} has no less throughput and no more loss than {beside}, its partner"
        else:
            what = f"Scenario {scenario}: no other pair has a greater least share of a file, or less loss"
        least = f"{text(goal['share'])} beside {text(goal['best'])} ({beside})"
        loss = f"{text(goal['loss'])} packets/s lost beside {text(goal['least_loss'])}"
        told.append(Goal(what, f"{least}; {loss}", goal["met"]))
    return told


VERDICT = (
    "Held: fair queueing keeps each protocol's sources apart, a malicious source has its share there and most of a "
    "FIFO, DECbit and FQbit behave as their switches let them, and packet pair has its share in every scenario. Not "
    "held: who wins where sources beat in step over a FIFO or with fixed "
    "windows, which is a matter of phases; how many packets a packet-pair source holds, which is its setpoint here and "
    "was less in the thesis; how far windows of JK rise in scenario 7; and the long path of scenario 8, which fixed "
    "windows serve better here, since the longest queue is the short path's. Window and buffer of scenario 8 are "
    "inferred."
)


def section(data: Data) -> Section:
    """The paper's part of the report."""
    tables = [table_of(data, scenario) for scenario in CASES] if data.get("points") else []
    return Section(
        f"A slow line has 10 packets of 1000 bytes a second. {JUDGED} stands for the thesis' packet pair; generic, jk "
        "and decbit are modules of the lab, as are the switches that set bits. Telnet sources wait for each answer "
        "before their exponential time begins.",
        [Drawn(name, about, draw(data)) for name, (about, draw) in FIGURES.items()],
        tables,
        _goals(data),
        VERDICT,
    )
