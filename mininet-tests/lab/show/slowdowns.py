# SPDX-License-Identifier: GPL-2.0
"""The transfers' slowdowns: tables for the terminal and the documentation, a picture per benchmark."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import transfer_goals
from ..analyse.builds import Change
from ..analyse.transfer_goals import Line, Spread, Verdict, percent
from ..model.our_modules import PACKET_PAIR_OVER_ROUND_ROBIN
from . import rst

DOCUMENTED_BY = "scripts/lab transfers --document"
PRIMARY_HEAD = ("", "goal", "paper", "measured", "mean", "worst", "best peer", "")
QUEUE_HEAD = ("", "hosts", "queue", "pktpair", "bbr", "cubic", "")
BASE_HEAD = ("", "hosts", "", "base", "now", "")
DOCUMENT_HEAD = ("row", "goal", "paper", "pktpair", "bbr", "cubic", "best peer, any queue")
# What the documentation shows, hosts open, over fq_rr: one row of each benchmark, and of some the other side.
DOCUMENTED = (
    *("b1", "b2", "b3 200", "b3 2000", "b4 short", "b4 long"),
    *("b5", "b6 forward", "b7 0.4", "b7 0.8", "b8", "b9 difference"),
)
Cells = Sequence[str]


def spread(figure: Spread) -> str:
    """A mean and, if there are several seeds, the smallest and largest value."""
    if figure.low == figure.high:
        return f"{figure.mean * 100:.1f}"
    return f"{figure.mean * 100:.1f} ({figure.low * 100:.1f} .. {figure.high * 100:.1f})"


def is_beside_peers(verdict: Verdict) -> bool:
    """Whether a goal stands in the table of all queues, not in that of the rows."""
    return verdict.kind in ("peers", "retransmits")


def verdict_word(own: list[Verdict]) -> str:
    """Met, missed and by what, or nothing where there is no goal."""
    wrong = [v for v in own if not v.met]
    if wrong:
        return "MISSED: " + ", ".join(dict.fromkeys(v.kind for v in wrong))
    return "met" if any(v.kind == "primary" for v in own) else ""


def limit_of(line: Line, verdicts: list[Verdict]) -> str:
    """The goal of a row's own transfer, if it has one."""
    own = [v for v in transfer_goals.concerning(line, verdicts) if v.kind == "primary" and v.name == line.name]
    return f"{own[0].limit * 100:.1f}" if own else ""


def peer_cell(line: Line, lines: list[Line]) -> str:
    """The peer with the smallest slowdown on a row, over whatever queue."""
    peer = transfer_goals.best_peer(line, lines)
    return "" if peer is None else f"{peer.mean('slowdown') * 100:.1f} {peer.cc}+{peer.qdisc}"


def primary_rows(lines: list[Line], verdicts: list[Verdict], hosts: str) -> list[Cells]:
    """Pktpair over fq_rr in one setting of the hosts: one line a row, in per cent."""
    table: list[Cells] = []
    for line in lines:
        if (line.cc, line.qdisc) != PACKET_PAIR_OVER_ROUND_ROBIN or line.hosts != hosts:
            continue
        own = [v for v in transfer_goals.concerning(line, verdicts) if not is_beside_peers(v)]
        table.append(
            (
                line.name,
                limit_of(line, verdicts),
                f"{line.published * 100:.1f}",
                spread(line.figures["slowdown"]),
                f"{line.mean('mean_slowdown') * 100:.1f}",
                f"{line.mean('worst_slowdown') * 100:.1f}",
                peer_cell(line, lines),
                verdict_word(own),
            )
        )
    return table


def all_flows_cell(line: Line | None) -> str:
    """Mean / worst slowdown of all flows and retransmissions."""
    if line is None:
        return ""
    slowdowns = f"{line.mean('mean_slowdown') * 100:.1f} / {line.mean('worst_slowdown') * 100:.1f}"
    return f"{slowdowns}, {line.mean('retransmits'):.0f}"


def queue_rows(lines: list[Line], verdicts: list[Verdict]) -> list[Cells]:
    """Every run over every queue, beside the peers."""
    table: list[Cells] = []
    runs = [rows[0] for rows in transfer_goals.runs_of(lines)]
    by_key = {(line.row_set, line.hosts, line.qdisc, line.cc): line for line in runs}
    for line in runs:
        if line.cc != PACKET_PAIR_OVER_ROUND_ROBIN[0]:
            continue
        cells = [
            all_flows_cell(by_key.get((line.row_set, line.hosts, line.qdisc, cc)))
            for cc in (line.cc, *transfer_goals.PEERS)
        ]
        wrong = [v for v in transfer_goals.concerning(line, verdicts) if is_beside_peers(v) and not v.met]
        if len([cell for cell in cells if cell]) > 1 or wrong:
            word = "MISSED: " + ", ".join(v.text for v in wrong) if wrong else "met"
            table.append((line.row_set, line.hosts, line.qdisc, *cells, word))
    return table


def plain(head: Cells, table: list[Cells]) -> str:
    """For the terminal."""
    return "\n".join(rst.aligned([head, *table])[1])


def terminal(lines: list[Line], verdicts: list[Verdict]) -> str:
    """Both tables."""
    parts = []
    for hosts in dict.fromkeys(line.hosts for line in lines):
        table = primary_rows(lines, verdicts, hosts)
        if table:
            parts.append(f"pktpair + fq_rr, hosts {hosts}: slowdown in per cent\n{plain(PRIMARY_HEAD, table)}")
    table = queue_rows(lines, verdicts)
    if table:
        parts.append(f"all flows: mean / worst slowdown in per cent, retransmissions\n{plain(QUEUE_HEAD, table)}")
    met = sum(v.met for v in verdicts)
    parts.append(f"{met} of {len(verdicts)} goals met")
    return "\n\n".join(parts)


def beside_base(changes: list[Change], base: str) -> str:
    """For the terminal: rows that use a module that differs, with the base's slowdown."""
    shown = [one for one in changes if one.differs]
    table: list[Cells] = [
        (
            one.line.name,
            one.line.hosts,
            f"{one.line.cc}+{one.line.qdisc}",
            spread(one.base),
            spread(one.slowdown),
            "WORSE" if one.is_worse else "",
        )
        for one in shown
    ]
    worse = sum(one.is_worse for one in shown)
    text = f"beside the modules of {base}: slowdown in per cent\n"
    if table:
        text += f"{plain(BASE_HEAD, table)}\n"
    return f"{text}{worse} of {len(shown)} rows are worse; {len(changes) - len(shown)} use no module that differs"


def document_rows(lines: list[Line], verdicts: list[Verdict]) -> list[Cells]:
    """DOCUMENTED; LookupError names a row that was not measured."""
    known = {(line.name, line.hosts, line.qdisc, line.cc): line for line in lines}
    table: list[Cells] = []
    for name in DOCUMENTED:
        missing = [
            cc
            for cc in (PACKET_PAIR_OVER_ROUND_ROBIN[0], *transfer_goals.PEERS)
            if (name, "open", PACKET_PAIR_OVER_ROUND_ROBIN[1], cc) not in known
        ]
        if missing:
            raise LookupError(
                f"{name} of {missing[0]} over {PACKET_PAIR_OVER_ROUND_ROBIN[1]}, hosts open, was not measured"
            )
        ours, *peers = (
            known[name, "open", PACKET_PAIR_OVER_ROUND_ROBIN[1], cc]
            for cc in (PACKET_PAIR_OVER_ROUND_ROBIN[0], *transfer_goals.PEERS)
        )
        table.append(
            (
                name,
                limit_of(ours, verdicts),
                f"{ours.published * 100:.1f}",
                spread(ours.figures["slowdown"]),
                *(f"{peer.mean('slowdown') * 100:.1f}" for peer in peers),
                peer_cell(ours, lines),
            )
        )
    return table


def document(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    lines: list[Line],
    verdicts: list[Verdict],
    of_commit: str,
    kernel: str,
) -> None:
    """Write the table into the documentation, between its marks, and each run's rows beside it as CSV.

    :param rows: of summary.json, which the lines are made of
    :raises ValueError: if the file does not have the marks
    :raises LookupError: if a row was not measured
    """
    seeds = " or ".join(str(n) for n in sorted({line.seeds for line in lines if line.hosts == "open"}))
    parts = [
        f"Measured at commit {of_commit} on Linux {kernel}: slowdown in per cent over ``fq_rr``, hosts ``open``,"
        f"\n{seeds} seeds; of pktpair with the smallest and largest of them.",
        rst.simple_table(DOCUMENT_HEAD, document_rows(lines, verdicts)),
        f"{sum(v.met for v in verdicts)} of {len(verdicts)} goals of all rows are met. Each row of each run:"
        f" :download:`{path.stem}.csv`.",
    ]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    rst.write_between(path, DOCUMENTED_BY, parts)
    files.write(path.with_suffix(".csv"), table.getvalue())


def misses(verdicts: list[Verdict]) -> list[str]:
    """One line per goal that was missed."""
    return [
        f"{v.about}, hosts {v.hosts}, {v.qdisc}: {v.text} "
        + (
            f"{v.measured:.0f}, at most {v.limit:.0f}"
            if v.kind == "retransmits" and v.is_beside_a_peer
            else f"{percent(v.measured)}, at most {percent(v.limit)}"
        )
        for v in verdicts
        if not v.met
    ]


def picture(lines: list[Line], benchmark: str, path: Path) -> Path:
    """One benchmark: the slowdown of every combination, and of all its flows.

    A dot is the mean over seeds with the range of them; a bar the mean, and a
    tick the worst of all controlled flows. Filled: hosts open, else hollow.
    """
    import matplotlib  # slow to import
    from matplotlib.figure import Figure

    from .pictures import CC_COLOURS, STYLE, save

    mine = [line for line in lines if line.benchmark == benchmark]
    variants = list(dict.fromkeys(line.variant for line in mine))
    pairs = list(dict.fromkeys((line.cc, line.qdisc) for line in mine))
    columns = min(len(variants), 5)
    rows = -(-len(variants) // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.2 + 2.1 * columns, 0.4 + 3.2 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for axis, variant in zip(axes.flat, variants, strict=False):
            shown = [line for line in mine if line.variant == variant]
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
            goal = transfer_goals.PRIMARY["open"].get((benchmark, variant))
            if goal is not None:
                axis.axhline(goal * 100, color="black", linewidth=0.8, linestyle="--")
            axis.axhline(shown[0].published * 100, color="black", linewidth=0.8, linestyle=":")
            axis.set_xticks(range(len(pairs)), [" + ".join(pair) for pair in pairs], rotation=60, ha="right")
            axis.set_title(variant)
        for axis in axes.flat[len(variants) :]:
            axis.set_visible(False)
        for axis in axes[:, 0]:
            axis.set_ylabel("slowdown, %")
        figure.suptitle(f"{benchmark}: dot the row's flow, bar the mean, tick the worst; -- goal (open), ... paper")
        return save(figure, path)
