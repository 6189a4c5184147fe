# SPDX-License-Identifier: GPL-2.0
"""A paper's part of the report of lab reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
class Section:
    """What stands before a paper's checks.

    :param intro: the set-up, in sentences
    """

    intro: str
    figures: Sequence[Drawn] = ()
    tables: Sequence[Table] = ()
