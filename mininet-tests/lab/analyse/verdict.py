# SPDX-License-Identifier: GPL-2.0
"""A goal of a campaign beside what was measured, and means of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One goal: what was to be reached, what was measured.

    :param case: a case, or all of a sort
    :param name: what is judged; of a case there is one of each name
    :param op: ">=", "<=" or "<": what the measured figure has to be beside the limit
    """

    case: str
    name: str
    op: str
    limit: float
    measured: float

    @property
    def met(self) -> bool:
        """Whether it is reached."""
        if self.op == ">=":
            return self.measured >= self.limit
        return self.measured < self.limit if self.op == "<" else self.measured <= self.limit

    def as_data(self) -> dict[str, Any]:
        """For summary.json."""
        return {**vars(self), "met": self.met}


def mean(group: Sequence[Row], name: str) -> float:
    """A figure of several rows."""
    return sum(float(row[name]) for row in group) / len(group)
