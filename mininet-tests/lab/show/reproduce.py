# SPDX-License-Identifier: GPL-2.0
"""``lab reproduce`` for people: a page with the papers' figures redrawn, and a line for each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import checks
from .pages import rendered, text
from .section import Section

Row = Mapping[str, Any]
Summary = Mapping[str, Any]


def counts(rows: Sequence[Row], paper: str) -> dict[str, int]:
    """Checks of a paper: all, those that were measured, and those that hold."""
    own = [row for row in rows if row["paper"] == paper]
    known = [row for row in own if row["measured"] is not None]
    return {"all": len(own), "measured": len(known), "hold": sum(row["pass"] for row in own)}


def page(summary: Summary, sections: Mapping[str, Section]) -> str:
    """The report.

    :param sections: by paper; one that was not run has none
    """
    rows = summary["rows"]
    return rendered(
        "reproduce.html.j2",
        summary=summary,
        groups={
            paper: checks.groups([row for row in rows if row["paper"] == paper], paper) for paper in summary["papers"]
        },
        said=checks.said,
        counts={paper: counts(rows, paper) for paper in summary["papers"]},
        sections=sections,
        text=text,
    )
