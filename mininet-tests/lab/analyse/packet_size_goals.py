# SPDX-License-Identifier: GPL-2.0
"""This project's goals for vptfrc beside Linux's reno, next to the checks of the paper on packet sizes.

They are for the two methods that the paper recommends, in the mode of the bottleneck:

rate
    on a link that loses packets alike by chance, goodput of a flow of small packets, of a flow of reno's with full ones
share
    the same at a bottleneck, beside as many flows of reno
variation
    there, deviation over mean of the rate that a flow sends with, of the same of a flow of reno's
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .any_packet_size import Cell, Found
from .shared_bottlenecks import TCP, Shared

RECOMMENDED = ("virtual", "sampling")
# Off by so much of reno's rate, up to a loss: in the second range reno itself leaves the equation.
RATE_OFF = ((0.03, 0.1), (0.1, 0.2))
SHARE = (0.75, 1.25)
MOST_RENO = 16
VARIATION = 0.5
# Which drops a queue's mode is for.
MODE_OF = {"red-packets": "packet", "tail-packets": "packet", "red-bytes": "byte", "tail-bytes": "byte-tail"}


@dataclass(frozen=True)
class Goal:
    """One goal: bounds, which are reached as well, and what was measured."""

    name: str
    case: str
    least: float
    most: float
    measured: float | None

    @property
    def met(self) -> bool:
        """Whether it is reached; what was not measured has missed it."""
        return self.measured is not None and self.least <= self.measured <= self.most

    def as_data(self) -> dict[str, Any]:
        """For summary.json."""
        return {**vars(self), "measured": None if self.measured is None else round(self.measured, 3), "met": self.met}


def _sizes(cell: Cell) -> str:
    named = {"fixed": "100 bytes", "adapted": "160 packets/s"}
    return named.get(cell.sizes, f"{cell.sizes} bytes")


def rates(found: Found, cells: Iterable[Cell]) -> list[Goal]:
    """At each loss and size that is asked for."""
    told = []
    for cell in cells:
        is_asked = cell.who in RECOMMENDED and cell.kind == "steady" and not cell.by_bytes and cell.mode == "packet"
        if not is_asked or cell.loss > RATE_OFF[-1][0]:
            continue
        off = next(off for loss, off in RATE_OFF if cell.loss <= loss)
        case = f"{cell.who}, {_sizes(cell)}, loss {cell.loss:g}"
        is_run = cell in found.rates and Cell(TCP, cell.loss) in found.rates
        ratio = found.ratio(cell.who, cell.loss, sizes=cell.sizes) if is_run else None
        told.append(Goal("rate", case, 1 - off, 1 + off, ratio))
    return told


def _asked(one: Shared) -> bool:
    return (
        one.method in RECOMMENDED
        and MODE_OF.get(one.queue) == one.mode
        and one.pairs <= MOST_RENO
        and not (one.others or one.short_ms)
        and one.richer == 1
        and one.tcp == TCP
    )


def bottlenecks(metrics: Mapping[Shared, Mapping[str, Any]], shared: Iterable[Shared]) -> list[Goal]:
    """Share and variation at each bottleneck that is asked for."""
    told = []
    for one in shared:
        if not _asked(one):
            continue
        measured = metrics.get(one, {})
        case = (
            f"{one.method}, {one.queue}, setting {one.setting}, {one.products:g} products, "
            f"{one.round_trip_ms:g} ms, {one.pairs} and {one.pairs}"
        )
        told.append(Goal("share", case, *SHARE, measured.get("ratio")))
        own, beside = measured.get("other_rate_variation"), measured.get("tcp_rate_variation")
        told.append(Goal("variation", case, 0, VARIATION, own / beside if own is not None and beside else None))
    return told


def goals(found: Found, cells: Iterable[Cell], shared: Iterable[Shared]) -> list[dict[str, Any]]:
    """All of what is asked for.

    :param cells: links that were to be run
    :param shared: bottlenecks, likewise
    """
    return [one.as_data() for one in (*rates(found, cells), *bottlenecks(found.bottlenecks.metrics, shared))]
