# SPDX-License-Identifier: GPL-2.0
"""The demo for people: a table for the terminal, and a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .pages import rendered
from .pictures import address_of_png


def terminal(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each combination."""
    head = (
        f"{'':18} {'link':>6} {'Jain':>7}  {'goodput per flow':^27} {'queue delay, ms':^23} {'retrans-':>8}\n"
        f"{'':18} {'used':>6} {'index':>7}  {'Mbit/s':^27} {'p50':>7} {'p95':>7} {'p99':>7} {'mitted':>8} {'drops':>6}"
    )
    lines = [head]
    for row in rows:
        rates = " ".join(f"{rate / 1e6:6.2f}" for rate in row["goodput_bit_s"])
        delays = " ".join(f"{row[f'queue_delay_p{q}_s'] * 1e3:7.1f}" for q in (50, 95, 99))
        lines.append(
            f"{row['cc'] + ' + ' + row['qdisc']:18} {row['utilisation'] * 100:5.1f}% {row['jain']:7.4f}"
            f"  {rates} {delays} {row['retransmits']:8} {row['drops']:6}"
        )
    return "\n".join(lines)


def page(
    summary: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, Path],
    minutes: float,
    kept: int,
) -> str:
    """The report, with its pictures inside.

    :param summary: what summary.json has
    :param runs: with their series, in the order of the summary's rows
    :param kept: runs that were measured before
    """
    return rendered(
        "demo.html.j2",
        summary=summary,
        runs=runs,
        table=list(zip(runs, summary["rows"], strict=True)),
        left_out=summary["goals_left_out"],
        rate=f"{summary['parameters']['rate_mbit']:g}",
        has_pfifo=any(run["qdisc"] == "pfifo" for run in runs),
        pictures={name: address_of_png(path) for name, path in pictures.items()},
        minutes=minutes,
        kept=kept,
    )
