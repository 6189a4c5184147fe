# SPDX-License-Identifier: GPL-2.0
"""A paper that lab reproduce re-runs, as one object: what is run for it, how it is judged, what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..show.section import Section
from ..store.sweep import Request
from .measuring import Measured

# Lengths: a part of each curve; this project's; the paper's own.
QUICK, USUAL, FULL = LENGTHS = ("quick", "usual", "full")


@dataclass(frozen=True)
class Asked:
    """What the command line asks for.

    :param length: one of ``LENGTHS``
    :param seeds: repeats, from seed 1 on
    :param kernel: a version, or "" for the usual one
    """

    length: str
    seeds: int
    kernel: str = ""


@dataclass(frozen=True)
class Judged:
    """What a campaign found of a paper.

    :param rows: one per check of the paper's entries, none left out
    :param data: what ``Paper.section`` draws; it is kept in summary.json as it is
    """

    rows: list[dict[str, Any]]
    data: dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """How a paper is re-run.

    :param name: its file in ``lab/model/papers/``
    :param requests: everything that its judges and figures need
    :param judged: takes of a campaign what is the paper's; the runs of other papers are in it as well
    :param section: its part of the report, of ``Judged.data``; any of it may be missing
    """

    name: str
    requests: Callable[[Asked], list[Request]]
    judged: Callable[[Measured, Asked], Judged]
    section: Callable[[Mapping[str, Any]], Section]
