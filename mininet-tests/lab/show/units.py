# SPDX-License-Identifier: GPL-2.0
"""Numbers with the unit that the end of a figure's name says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# By the end of the name, the longest first: (largest value below, unit, factor).
Steps = tuple[tuple[float, str, float], ...]
ALL = float("inf")
UNITS: dict[str, Steps] = {
    "_packets_s": ((ALL, "packets/s", 1.0),),
    "_packets": ((ALL, "packets", 1.0),),
    "_bytes": ((1e4, "bytes", 1.0), (1e7, "kB", 1e-3), (ALL, "MB", 1e-6)),
    "_bit_s": ((1e3, "bit/s", 1.0), (1e6, "kbit/s", 1e-3), (1e9, "Mbit/s", 1e-6), (ALL, "Gbit/s", 1e-9)),
    "_mbit": ((ALL, "Mbit/s", 1.0),),
    "_ms": ((ALL, "ms", 1.0),),
    "_us": ((ALL, "µs", 1.0),),
    "_s": ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (ALL, "s", 1.0)),
}


@dataclass(frozen=True)
class Scale:
    """How a figure's values are written: its name and unit, and what a value is multiplied by."""

    name: str
    unit: str = ""
    factor: float = 1.0

    @property
    def title(self) -> str:
        """For the head of a column or an axis."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def text(self, value: float, digits: int = 4) -> str:
        """A value without its unit."""
        return f"{value * self.factor:.{digits}g}" if abs(value * self.factor) < 1e4 else f"{value * self.factor:.0f}"


def scale(name: str, values: Iterable[float]) -> Scale:
    """One scale for all values of a figure, by the largest of them."""
    largest = max((abs(value) for value in values), default=0.0)
    for end, steps in UNITS.items():
        if name.endswith(end):
            _, unit, factor = next(step for step in steps if largest < step[0] or step[0] == ALL)
            return Scale(name.removesuffix(end).replace("_", " "), unit, factor)
    return Scale(name.replace("_", " "))
