# SPDX-License-Identifier: GPL-2.0
"""A paper's part of the report of lab reproduce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Drawn:
    """A figure.

    :param about: what is to be seen, a sentence or two
    :param picture: an address that holds it (``pictures.address``)
    """

    name: str
    about: str
    picture: str


@dataclass(frozen=True)
class Table:
    """A table of text.

    :param about: what is in it, a sentence or two
    """

    name: str
    about: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Goal:
    """What this project wants beside the paper's checks.

    :param measured: "" if it was not
    """

    what: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Section:
    """What stands before a paper's checks.

    :param intro: the set-up, in sentences
    :param verdict: what held, what did not, and why, in sentences; numbers are in the checks
    """

    intro: str
    figures: Sequence[Drawn] = ()
    tables: Sequence[Table] = ()
    goals: Sequence[Goal] = ()
    verdict: str = ""


def goals(found: Iterable[Mapping[str, Any]], text: Callable[[Any], str]) -> list[Goal]:
    """As ``analyse.judging.goal`` has them.

    :param text: of what was measured
    """
    return [Goal(one["what"], "" if one["measured"] is None else text(one["measured"]), one["met"]) for one in found]
