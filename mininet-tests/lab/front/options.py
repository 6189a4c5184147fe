# SPDX-License-Identifier: GPL-2.0
"""What the options of several commands mean, and the statuses that they end with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from ..model.errors import PlanError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
MAX_GUESTS = 256
MAX_SEEDS = 10_000
# A seed is 32 bits wide in fq_rr, where 0 stands for one that is drawn.
MAX_SEED = 2**32 - 1


def whole_number(option: str, text: str, low: int, high: int) -> int:
    """A number in its range, or PlanError with the limit that it breaks.

    :param option: with the whole of its value; "" where the message already begins with the option
    """
    where = option if option.endswith(f" {text}") else f"{option}: {text}" if option else text
    # int() would take "1_000" and " 1"
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise PlanError(f"{where}: must be a whole number")
    if int(text) < low:
        raise PlanError(f"{where}: must be at least {low}")
    if int(text) > high:
        raise PlanError(f"{where}: must be at most {high}")
    return int(text)


def number(low: int, high: int) -> Callable[[str], int]:
    """The type of an option whose value is a whole number in a range."""

    def parse(text: str) -> int:
        try:
            return whole_number("", text, low, high)
        except PlanError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def seeds(text: str) -> tuple[int, ...]:
    """Of "1-10" or "1,3,7" or both, each once; PlanError names what is wrong."""
    option = f"--seeds {text}"
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not part or (first and dash and not last):
            raise PlanError(f"{option}: must be as 1-10 or 1,3,7, without an empty part")
        low = whole_number(option, first or part, 1, MAX_SEED)
        high = whole_number(option, last, 1, MAX_SEED) if dash else low
        if high < low:
            raise PlanError(f"{option}: {part} ends before it begins: must be {high}-{low}")
        if high - low + 1 + len(found) > MAX_SEEDS:
            raise PlanError(f"{option}: must be at most {MAX_SEEDS} seeds")
        found |= dict.fromkeys(range(low, high + 1))
    return tuple(found)


def chosen(option: str, text: str | None, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names in a list, each once; PlanError if one is empty."""
    if text is None:
        return default
    names = text.split(",")
    if not all(names):
        raise PlanError(f"{option} {text}: has an empty name; must be A or A,B")
    return tuple(dict.fromkeys(names))


def complain(error: object) -> None:
    """Say what is wrong."""
    print(f"lab: {error}", file=sys.stderr)
