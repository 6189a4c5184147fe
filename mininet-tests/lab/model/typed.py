# SPDX-License-Identifier: GPL-2.0
"""Whether what a scenario's file has put into a plan is of the types and in the ranges that the plan's classes say.

Dataclasses take anything; what is wrong would show in the guest, or in a comparison of a text with a number.
Each number of a plan has its range in its type: ``Annotated[int, Range(1, 64)]``.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from .errors import PlanError, in_range, shown

# Names are words of the traffic engine's plan, parts of files' names, and arguments of programs.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
# What tc and ip take as options, and neither they nor a shell take as anything else.
OPTIONS = re.compile(r"[A-Za-z0-9 ._:%/+,=-]*")
SHOWN_CHARACTERS = 60
LISTS = (tuple, Sequence)
WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    type(None): "None",
}
_known: dict[Any, dict[str, Any]] = {}


@dataclasses.dataclass(frozen=True)
class Range:
    """What a number may be, or the length of a list.

    :param or_zero: 0 as well, which stands for none
    """

    low: float
    high: float
    or_zero: bool = False

    def __str__(self) -> str:
        return f"{'0 or ' if self.or_zero else ''}{shown(self.low)} .. {shown(self.high)}"

    def check(self, what: str, value: Any) -> None:
        """PlanError with the limit that is broken."""
        if not isinstance(value, int | float):
            in_range(f"{what}: length", len(value), self.low, self.high)
        elif self.or_zero and value < self.low:
            if value != 0:
                raise PlanError(f"{what} {value}: must be 0 or at least {shown(self.low)}")
        else:
            in_range(what, value, self.low, self.high)


# What flows still have to send takes less after their time.
DRAIN_S = 60
# Some eleven days: what the traffic engine takes, that minute included.
MAX_SECONDS = 1_000_000 - DRAIN_S
Seconds = Annotated[float, Range(0, MAX_SECONDS)]


def check_types(what: str, one: object) -> None:
    """PlanError names the first field of a dataclass that is not of its type or range, and what it is.

    :param what: what the dataclass is to the user
    """
    known = kinds(type(one))
    for field in dataclasses.fields(one):  # type: ignore[arg-type]
        value = getattr(one, field.name)
        # most fields of most plans are as their class has them
        if value is not field.default:
            _check(f"{what}: {field.name}", value, known[field.name])


def check_arguments(what: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Likewise of what a function is given; what it does not take is not looked at."""
    for name, kind in kinds(function).items():
        if name in arguments:
            _check(f"{what}: {name}", arguments[name], kind)


def check_name(what: str, name: str) -> None:
    """PlanError if a name has other characters than names may have."""
    if not NAME.fullmatch(name):
        raise PlanError(
            f"{what} {name!r}: a name has letters, digits, and . _ - only, and at least one; it begins with none of"
            " . - and has 100 characters at most"
        )


def check_options(what: str, text: str) -> None:
    """PlanError if options are more than words for tc or ip, as a second line or a comment."""
    if not OPTIONS.fullmatch(text):
        raise PlanError(f"{what} {text!r}: options have letters, digits, spaces, and . _ : % / + , = - only")


def kinds(one: Any) -> dict[str, Any]:
    """Types with ranges of a class's fields, or of a function's arguments, which are looked up once."""
    if one not in _known:
        _known[one] = typing.get_type_hints(one, include_extras=True)
    return _known[one]


def _check(what: str, value: Any, kind: Any) -> None:
    if type(value) is kind:
        return
    limits: Sequence[Any] = ()
    if typing.get_origin(kind) is Annotated:
        kind, *limits = typing.get_args(kind)
    if not _is(value, kind):
        raise PlanError(f"{what} {shorter(value)} ({type(value).__name__}): must be {_words(kind)}")
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) in LISTS:
        for item in value:
            _check(what, item, arguments[0])
    elif typing.get_origin(kind) is Mapping:
        for key, item in value.items():
            _check(f"{what}: key", key, arguments[0])
            _check(f"{what}: {key}", item, arguments[1])
    for limit in limits:
        limit.check(what, value)


def shorter(value: object) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, whatever it holds: a list will do for a tuple, a whole number for any."""
    if kind is Any:
        return True
    if isinstance(kind, types.UnionType):
        return any(_is(value, one) for one in typing.get_args(kind))
    if isinstance(value, bool):
        return kind is bool
    origin = typing.get_origin(kind) or kind
    if origin in LISTS:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if origin is Mapping:
        # others are Mappings that JSON cannot hold
        return isinstance(value, dict)
    return isinstance(value, (int, float) if origin is float else origin)


def _words(kind: Any) -> str:
    if typing.get_origin(kind) is Annotated:
        return _words(typing.get_args(kind)[0])
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_words, typing.get_args(kind)))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in LISTS:
        return f"a list, each {_words(arguments[0])}"
    if origin is Mapping:
        return f"a dict, each value {_words(arguments[1])}"
    if kind is Any:
        return "any"
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    return WORDS.get(kind, f"{article} {kind.__name__}")
