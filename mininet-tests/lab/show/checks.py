# SPDX-License-Identifier: GPL-2.0
"""The checks of a paper for people: each as a sentence, those that do not hold first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import papers

Row = Mapping[str, Any]
RELATIONS = {"eq": "=", "ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
# What became of a check, in the order of the page. Those that no run decides are apart by what does.
MISSED, HELD, ELSEWHERE, STACK, OUT, OPEN = VERDICTS = (
    "not held",
    "held",
    "decided by a test of the tree",
    "done by the stack",
    "out of scope",
    "not measured",
)


def said(check: Mapping[str, Any]) -> str:
    """A check as a sentence or a formula."""
    terms = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in check.items()}
    match check["op"]:
        case "rel_tol":
            told = f"{terms['quantity']} = {terms['expected']} ± {check['rel_tol'] * 100:g} %"
        case "abs_tol":
            told = f"{terms['quantity']} = {terms['expected']} ± {terms['abs_tol']}"
        case "between":
            told = f"{terms['low']} ≤ {terms['quantity']} ≤ {terms['high']}"
        case "order":
            told = f"{terms['greater']} > {terms['lesser']}"
        case "monotone":
            told = f"{terms['quantity']} is {terms['direction']} over {terms['over']}"
        case "qualitative":
            told = terms["statement"]
        case relation:
            told = f"{terms['quantity']} {RELATIONS[relation]} {terms['value']}"
    return f"{told} ({terms['note']})" if check.get("note") else told


def verdict(row: Row, entry: papers.Entry | None) -> str:
    """What became of a check.

    :param entry: of the paper; it says what decides a check that no run decides
    """
    if row["measured"] is not None:
        return HELD if row["pass"] else MISSED
    if entry is None or any(row["number"] in one.checks for one in entry.shown):
        return OPEN
    if entry.state in ("shown", "in part") and not entry.open:
        return ELSEWHERE
    return {"stack": STACK, "out": OUT}.get(entry.state, OPEN)


@dataclass(frozen=True)
class Group:
    """Checks that have the same verdict."""

    verdict: str
    rows: Sequence[Row]


def groups(rows: Iterable[Row], paper: str) -> list[Group]:
    """A paper's checks by what became of them; no group is empty.

    :param rows: of this paper
    """
    entries = {one.id: one for one in papers.load(paper).entries}
    by: dict[str, list[Row]] = {one: [] for one in VERDICTS}
    for row in rows:
        by[verdict(row, entries.get(row["id"]))].append(row)
    return [Group(one, found) for one, found in by.items() if found]
