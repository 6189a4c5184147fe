# SPDX-License-Identifier: GPL-2.0
"""What five papers claim, how each claim is judged, and what in the project shows it.

A paper is a file in ``papers/``, in the words of the project: numbers, formulas and facts are the
paper's. All of it is checked when it is loaded; PlanError says what is wrong in which entry.

An entry, which is known by its ``id``, may have more than one state of these:

shown
    something in the project decides every check of it. An experiment is shown by a run of the lab:
    a unit test of a formula is a part
in part
    something decides a part of it; ``open`` or ``stack`` say what of the rest
stack
    the kernel's stack does it, and differs as the text says
out
    nothing is to show it, for the reason given
open
    nothing shows it yet; the text says what will
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .errors import PlanError
from .typed import check_types, shorter

FOLDER = Path(__file__).with_name("papers")
KINDS = ("setup", "formula", "method", "experiment", "claim")
# Of a bound: the paper's own, what follows from its numbers, or one that was chosen for a real stack.
ORIGINS = ("paper", "derived", "proposed")
# What a check has beside its operator, and which of that is a number.
OPERATORS = {
    "rel_tol": ("quantity", "expected", "rel_tol"),
    "abs_tol": ("quantity", "expected", "abs_tol"),
    "between": ("quantity", "low", "high"),
    **dict.fromkeys(("eq", "ge", "gt", "le", "lt"), ("quantity", "value")),
    "order": ("greater", "lesser"),
    "monotone": ("quantity", "over", "direction"),
    "qualitative": ("statement",),
}
NUMBERS = ("rel_tol", "abs_tol", "low", "high")
EITHER = ("expected", "value")
# How something is shown: by a scenario's checks, by a test (file::name), by a judge of a campaign; a
# header is where the formula is.
WAYS = ("scenario", "test", "header", "judge")
STATES = ("shown", "in part", "stack", "out", "open")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Check:
    """One check of an entry.

    :param terms: what the operator compares, by the names in OPERATORS
    :param note: what a real stack is allowed beyond the bound, or why it is so
    """

    op: str
    origin: str
    terms: Mapping[str, Any]
    note: str = ""

    @classmethod
    def of(cls, what: str, data: Mapping[str, Any]) -> Check:
        """From a file."""
        data = _mapping(what, data)
        own = {name: data.get(name, "") for name in ("op", "origin", "note")}
        one = cls(**own, terms={name: value for name, value in data.items() if name not in own})
        one.check(what)
        return one

    def check(self, what: str) -> None:
        """PlanError if it compares nothing."""
        check_types(what, self)
        _one_of(f"{what}: op", self.op, OPERATORS)
        _one_of(f"{what}: origin", self.origin, ORIGINS)
        _same(what, set(self.terms), set(OPERATORS[self.op]))
        for name, value in self.terms.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            text = isinstance(value, str) and bool(value.strip())
            if not (number if name in NUMBERS else text or (number and name in EITHER)):
                raise PlanError(f"{what}: {name} {shorter(value)}: must be a {'number' if name in NUMBERS else 'text'}")

    def as_data(self) -> dict[str, Any]:
        """Operator, terms and note, as rows of a summary have them."""
        return {"op": self.op, **self.terms, **({"note": self.note} if self.note else {})}


@dataclass(frozen=True)
class Shown:
    """What shows an entry, or a part of it.

    :param by: one of WAYS
    :param name: of the scenario, ``file::name`` of the test, the header's path, the campaign
    :param values: of the scenario's parameters
    :param checks: which of the entry's checks a judge decides, by number
    :param what: what is asserted, where the name does not say it
    """

    by: str
    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    checks: Sequence[int] = ()
    what: str = ""

    @classmethod
    def of(cls, what: str, data: Mapping[str, Any]) -> Shown:
        """From a file."""
        one = _made(cls, what, data)
        _one_of(f"{what}: by", one.by, WAYS)
        if one.values and one.by != "scenario":
            raise PlanError(f"{what}: values are a scenario's")
        if bool(one.checks) != (one.by == "judge"):
            raise PlanError(f"{what}: a judge has checks, and nothing else has")
        return one


@dataclass(frozen=True)
class Entry:
    """One claim, experiment, formula, method or set-up of a paper.

    :param claim: one sentence
    :param parameters: of the experiment, or the formula's parts
    :param published: numbers that the paper states
    :param derived: what follows from these
    :param inferred: parameters, by their path, that the text does not state
    :param readings: what the text leaves open
    :param stack: what the stack does in its place
    :param out: why nothing is to show it
    :param open: what will show it, or the rest of it
    """

    id: str
    section: str
    kind: str
    claim: str
    checks: Sequence[Check]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)
    derived: Mapping[str, Any] = field(default_factory=dict)
    inferred: Sequence[str] = ()
    readings: Sequence[str] = ()
    shown: Sequence[Shown] = ()
    stack: str = ""
    out: str = ""
    open: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Entry:
        """From a file."""
        data = _mapping("entry", data)
        what = str(data.get("id"))
        parts = {
            "checks": [Check.of(f"{what}: check {i}", one) for i, one in enumerate(data.get("checks", ()))],
            "shown": [Shown.of(f"{what}: shown {i}", one) for i, one in enumerate(data.get("shown", ()))],
        }
        one = _made(cls, what, {**data, **parts})
        one.check()
        return one

    def check(self) -> None:
        """PlanError if something is missing, or contradicts the rest."""
        _one_of(f"{self.id}: kind", self.kind, KINDS)
        if not self.claim.endswith(".") or not self.section or not self.checks:
            raise PlanError(f"{self.id}: must have a section, a sentence for its claim, and a check")
        for path in self.inferred:
            if path.split(".")[0].removesuffix("[]") not in self.parameters:
                raise PlanError(f"{self.id}: inferred {path}: is no parameter")
        for number in (number for one in self.shown for number in one.checks):
            if not 0 <= number < len(self.checks):
                raise PlanError(f"{self.id}: judge: check {number}: there are {len(self.checks)}, from 0 on")
        if self.out and (self.shown or self.stack or self.open):
            raise PlanError(f"{self.id}: what is out is not shown, open or the stack's")
        if self.shown and all(one.by == "header" for one in self.shown):
            raise PlanError(f"{self.id}: a header shows nothing without a test or a run")
        if not (self.shown or self.stack or self.out or self.open):
            raise PlanError(f"{self.id}: must be shown, the stack's, out or open")

    @property
    def taken(self) -> dict[str, Any]:
        """What was taken for each parameter that the text does not state, by its path ("link.delay_s", "at[].s")."""
        return {path: _within(self.parameters, path.split(".")) for path in self.inferred}

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.shown:
            return "in part" if self.open or self.stack else "shown"
        # what is partly the stack's and else open is open
        return "out" if self.out else "open" if self.open else "stack"


def _within(value: Any, path: Sequence[str]) -> Any:
    """A part of a parameter; of a list ("name[]") that of each element; None where there is none."""
    if not path:
        return value
    if isinstance(value, list):
        return [_within(one, path) for one in value]
    name = path[0].removesuffix("[]")
    return _within(value[name], path[1:]) if isinstance(value, Mapping) and name in value else None


@dataclass(frozen=True)
class Paper:
    """A paper, in its order.

    :param name: as of its file
    :param title: authors, title and year
    :param common: parameters of all its experiments
    """

    name: str
    title: str
    entries: Sequence[Entry]
    common: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Entries in each state."""
        found = dict.fromkeys(STATES, 0)
        for one in self.entries:
            found[one.state] += 1
        return found


def names() -> list[str]:
    """Of the papers."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str, folder: Path = FOLDER) -> Paper:
    """A paper by its name; PlanError says what is wrong with the file."""
    path = folder / f"{name}.json"
    try:
        data = _mapping("paper", json.loads(path.read_text()))
        entries = [Entry.of(one) for one in data.get("entries", ())]
        paper = _made(Paper, "paper", {**data, "name": name, "entries": entries})
        ids = [one.id for one in entries]
        for twice in {one for one in ids if ids.count(one) > 1}:
            raise PlanError(f"{twice}: is there twice")
    except (OSError, ValueError, PlanError) as error:
        raise PlanError(f"{path.name}: {error}") from None
    return paper


def _made(kind: type[Made], what: str, data: Mapping[str, Any]) -> Made:
    """A dataclass with the fields that a file has; PlanError names one that is missing, unknown or of another type."""
    data = _mapping(what, data)
    fields = {one.name: one for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    needed = {
        name
        for name, one in fields.items()
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    }
    _same(what, set(data) & needed | set(data) - set(fields), needed)
    made = kind(**data)
    check_types(what, made)
    return made


def _mapping(what: str, data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise PlanError(f"{what} {shorter(data)}: must be a dict")
    return data


def _same(what: str, found: set[str], wanted: set[str]) -> None:
    if found - wanted:
        raise PlanError(f"{what}: {', '.join(sorted(found - wanted))}: is not known here")
    if wanted - found:
        raise PlanError(f"{what}: has no {', '.join(sorted(wanted - found))}")


def _one_of(what: str, value: str, known: Sequence[str] | Mapping[str, Any]) -> None:
    if value not in known:
        raise PlanError(f"{what} {value or 'missing'}: must be one of {', '.join(known)}")
