# SPDX-License-Identifier: GPL-2.0
"""How checks of a paper are decided, whichever paper it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Judge(Generic[Found]):
    """How a check is decided.

    :param measure: what is told of what was found: a number, or several with their names
    :param no_worse: what the others are held against; None: nothing
    """

    measure: Callable[[Found], Any]
    holds: Callable[[Any], bool]
    no_worse: Callable[[Any], bool] | None = None


def numbers(told: Any) -> list[float]:
    """All numbers of what was measured."""
    if isinstance(told, Mapping):
        return [number for one in told.values() for number in numbers(one)]
    return [number for one in told for number in numbers(one)] if isinstance(told, list) else [float(told)]
