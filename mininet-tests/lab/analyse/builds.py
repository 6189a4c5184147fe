# SPDX-License-Identifier: GPL-2.0
"""The same rows with two builds of the modules: which of them got worse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .transfer_goals import Line, Spread

# Of the slowdown, a fraction: half a point.
WORSE_BY = 0.005


@dataclass(frozen=True)
class Change:
    """A row's slowdown with the new build and with the base.

    :param differs: whether any of its runs uses a module that differs
    """

    line: Line
    slowdown: Spread
    base: Spread
    differs: bool

    @property
    def is_worse(self) -> bool:
        """Whether the mean is above the base's by more than half a point, and by more than the base's seeds differ."""
        above = self.slowdown.mean - self.base.mean
        return above > WORSE_BY and above > self.base.high - self.base.low

    def as_data(self) -> dict[str, Any]:
        """For summary.json."""
        labels = {name: getattr(self.line, name) for name in ("benchmark", "variant", "hosts", "cc", "qdisc", "seeds")}
        return {
            **labels,
            "slowdown": asdict(self.slowdown),
            "base_slowdown": asdict(self.base),
            "differs": self.differs,
            "worse": self.is_worse,
        }


def changes(new: Iterable[Line], base: Iterable[Line], differing: set[tuple[str, ...]]) -> list[Change]:
    """Each row of both, in the order of the new ones.

    :param differing: row set, hosts, cc and queue of runs that use a module that differs
    """
    of_base = {_key(line): line for line in base}
    return [
        Change(
            line,
            line.figures["slowdown"],
            of_base[_key(line)].figures["slowdown"],
            (line.row_set, line.hosts, line.cc, line.qdisc) in differing,
        )
        for line in new
    ]


def _key(line: Line) -> tuple[str, ...]:
    return (line.benchmark, line.variant, line.hosts, line.cc, line.qdisc)
