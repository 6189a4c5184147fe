# SPDX-License-Identifier: GPL-2.0
"""Whether what a scenario's file has put into a plan is of the types that the plan's classes say.

Dataclasses take anything; what is wrong would show in the guest, or in a comparison of a text with a number.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import PlanError

# Names are words of the traffic engine's plan, and parts of files' names.
NAME = re.compile(r"[A-Za-z0-9_.-]+")
SHOWN_CHARACTERS = 60
WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    type(None): "None",
}
_known: dict[type, dict[str, Any]] = {}


def check_types(what: str, one: object) -> None:
    """PlanError names the first field of a dataclass that is not of its type, and what it is.

    :param what: what the dataclass is to the user
    """
    for name, kind in _kinds(type(one)).items():
        _check(f"{what}: {name}", getattr(one, name), kind)


def check_name(what: str, name: str) -> None:
    """PlanError if a name has other characters than names may have."""
    if not NAME.fullmatch(name):
        raise PlanError(f"{what} {name!r}: a name has letters, digits, and . _ - only, and at least one")


def _kinds(kind: Any) -> dict[str, Any]:
    """Types of a class's fields, which are looked up once."""
    if kind not in _known:
        hints = typing.get_type_hints(kind)
        _known[kind] = {one.name: hints[one.name] for one in dataclasses.fields(kind)}
    return _known[kind]


def _check(what: str, value: Any, kind: Any) -> None:
    if not _is(value, kind):
        shown = repr(value)
        if len(shown) > SHOWN_CHARACTERS:
            shown = shown[:SHOWN_CHARACTERS] + "..."
        raise PlanError(f"{what} {shown} ({type(value).__name__}): must be {_words(kind)}")
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        for item in value:
            _check(what, item, arguments[0])
    elif typing.get_origin(kind) is Mapping:
        for key, item in value.items():
            _check(f"{what}: key", key, arguments[0])
            _check(f"{what}: {key}", item, arguments[1])


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, whatever it holds: a list will do for a tuple, a whole number for any."""
    if kind is Any:
        return True
    if isinstance(kind, types.UnionType):
        return any(_is(value, one) for one in typing.get_args(kind))
    if isinstance(value, bool):
        return kind is bool
    origin = typing.get_origin(kind) or kind
    if origin is tuple:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return isinstance(value, (int, float) if origin is float else origin)


def _words(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_words, typing.get_args(kind)))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return f"a list, each {_words(arguments[0])}"
    if origin is Mapping:
        return f"a dict, each value {_words(arguments[1])}"
    if kind is Any:
        return "any"
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    return WORDS.get(kind, f"{article} {kind.__name__}")
