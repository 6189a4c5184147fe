# SPDX-License-Identifier: GPL-2.0
"""How checks of a paper are decided, whichever paper it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..model import papers
from ..model.errors import NotMeasuredError

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


def bounds(check: papers.Check) -> tuple[float, float]:
    """The least and the most of a check that has numbers."""
    terms = check.terms
    if check.op == "between":
        return float(terms["low"]), float(terms["high"])
    if check.op in ("ge", "gt"):
        return float(terms["value"]), math.inf
    if check.op in ("le", "lt"):
        return -math.inf, float(terms["value"])
    if check.op == "eq":
        return float(terms["value"]), float(terms["value"])
    off = terms["abs_tol"] if check.op == "abs_tol" else abs(float(terms["expected"])) * terms["rel_tol"]
    # 0.2 less 0.08 is 0.12, which binary fractions miss
    return round(float(terms["expected"]) - off, 9), round(float(terms["expected"]) + off, 9)


def judged(judge: Judge[Found], found: Found, one_sided: bool = False) -> dict[str, Any]:
    """What was measured, whether it passes, or why nothing was measured.

    :param one_sided: no worse is enough; "pass" is None where neither side is better
    """
    try:
        measured = judge.measure(found)
    except NotMeasuredError as error:
        return {"measured": None, "pass": False, "not_measured": str(error)}
    if one_sided:
        return {"measured": measured, "pass": judge.no_worse(measured) if judge.no_worse else None}
    return {"measured": measured, "pass": judge.holds(measured)}


def goal(what: str, judge: Judge[Found], found: Found) -> dict[str, Any]:
    """A goal of this project beside the paper's checks: what, measured and met; what was not measured is not met."""
    own = judged(judge, found)
    return {"what": what, "measured": own["measured"], "met": own["pass"]}


NOT_RUN: dict[str, Any] = {"preset": "", "cc": "", "qdisc": "", "seeds": [], "length_s": None, "parameters": {}}


def row(
    entry: papers.Entry,
    number: int,
    own: Mapping[str, Any],
    beside: Mapping[str, Any],
    of_runs: Mapping[str, Any],
    why: Mapping[str, str],
) -> dict[str, Any]:
    """The row of a check; Documentation/reproduce.rst says what is in it.

    :param own: what ``judged`` says
    :param beside: the same of others; those that were not measured are left out
    :param of_runs: what is not as in ``NOT_RUN``
    :param why: what is known of checks that do not hold, by id and number ("pp-b1 0")
    """
    check, text = entry.checks[number], why.get(f"{entry.id} {number}", "")
    return {
        **{"id": entry.id, "number": number, "kind": entry.kind, "check": check.as_data()},
        **{"origin": check.origin, "published": entry.published},
        **NOT_RUN,
        **of_runs,
        **own,
        "beside": {name: one for name, one in beside.items() if one["measured"] is not None},
        **({"inferred": entry.taken} if entry.inferred else {}),
        **({"readings": list(entry.readings)} if entry.readings else {}),
        **({"why": text} if text and own["measured"] is not None and not own["pass"] else {}),
    }
