# SPDX-License-Identifier: GPL-2.0
"""A scenario: a claim, its parameters, the plan of one run, and what is found in it.

A scenario is a Python file, of ours or a user's, with

``CLAIM``
    one sentence that the checks decide
``PARAMETERS``
    a :class:`Parameter` by name
``COMBINATIONS``
    pairs of congestion control and queue that are run if nothing else is asked for
``plan(values, cc, qdisc, seed)``
    the :class:`~lab.model.plan.Plan` of one run
``VARIANTS`` (may be left out)
    values of parameters that the claim is about
``measure(values, plan, raw)`` (may be left out)
    further metrics of a run, by name; what "series" holds is kept in the run's JSON for ``draw``, and is no metric
``draw(runs, folder)`` (may be left out)
    further pictures of runs (their JSON); returns the files
``checks(values, cc, qdisc)`` (may be left out)
    the :class:`Check` of each metric that the claim is about
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import importlib.util
import itertools
import math
import os
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .errors import PlanError, RunError, in_range
from .plan import Plan
from .typed import check_name, check_types, shorter

FOLDER = Path(__file__).resolve().parents[2] / "scenarios"

# What a check may say of a metric and what is expected.
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": lambda measured, expected: bool(measured >= expected),
    "<=": lambda measured, expected: bool(measured <= expected),
    "==": lambda measured, expected: bool(measured == expected),
    "in": lambda measured, expected: bool(expected[0] <= measured <= expected[1]),
}
Value = bool | float | int | str
Values = Mapping[str, Any]
# Among a run's values, what --traffic has made of it, unless the scenario has a parameter of this name.
TRAFFIC_LABEL = "traffic"
# What --set takes for a truth, in any case of letters.
TRUTHS = {**dict.fromkeys(("true", "yes", "on", "1"), True), **dict.fromkeys(("false", "no", "off", "0"), False)}
# Python would take "1_000", " 1" and digits of other scripts, and fail at some thousand digits.
WHOLE = re.compile(r"-?\d{1,300}", re.ASCII)
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Parameter:
    """A knob of a scenario: its default, unit, range and meaning."""

    default: Value
    unit: str
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None

    def parse(self, name: str, text: str) -> Value:
        """The value that a user typed, or PlanError with the limit that it breaks."""
        what = f"{name}={text}"
        value: Value = text
        if isinstance(self.default, bool):
            if text.lower() not in TRUTHS:
                raise PlanError(f"{what}: must be true or false, yes or no, on or off, 1 or 0")
            value = TRUTHS[text.lower()]
        elif isinstance(self.default, int):
            if not WHOLE.fullmatch(text):
                raise PlanError(f"{what}: must be a whole number{self._in_unit}")
            value = int(text)
        elif isinstance(self.default, float):
            if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
                raise PlanError(f"{what}: must be a finite number{self._in_unit}")
            if not NUMBER.fullmatch(text):
                raise PlanError(f"{what}: must be a number{self._in_unit}")
            # of -0.0 and 0.0 one
            value = float(text) + 0.0
        self.check(what, value)
        return value

    @property
    def _in_unit(self) -> str:
        return f" ({self.unit})" if self.unit else ""

    def check(self, what: str, value: object) -> None:
        """PlanError if a value is not of the default's type, or breaks a limit."""
        kind = type(self.default)
        if type(value) is not kind and (kind, type(value)) != (float, int):
            raise PlanError(f"{what}: must be a {kind.__name__}, as the default {self.default!r}")
        if self.choices and value not in self.choices:
            raise PlanError(f"{what}: must be one of {', '.join(self.choices)}")
        if not isinstance(value, int | float):
            return
        if isinstance(value, float) and not math.isfinite(value):
            raise PlanError(f"{what}: must be a finite number{self._in_unit}")
        if self.low is not None and not value >= self.low:
            raise PlanError(f"{what}: must be at least {self.low} {self.unit}".rstrip())
        if self.high is not None and not value <= self.high:
            raise PlanError(f"{what}: must be at most {self.high} {self.unit}".rstrip())

    def of_its_type(self, value: Value) -> Value:
        """A value of a file: 5 is 5.0 where the parameter is of a fraction, as it is on the command line."""
        return float(value) if isinstance(self.default, float) and type(value) is int else value


@dataclass(frozen=True)
class Check:
    """What is asserted of a metric: ``op`` is one of >=, <=, ==, or in (a range)."""

    quantity: str
    op: str
    expected: Any

    def check(self) -> None:
        """PlanError if nothing can be compared with it."""
        check_types(f"check of {self.quantity}", self)
        if self.op not in OPERATORS:
            raise PlanError(f"check of {self.quantity}: op {self.op}: must be one of {', '.join(OPERATORS)}")
        numbers = self.expected if self.op == "in" else [self.expected]
        if not isinstance(numbers, Sequence) or not all(isinstance(one, int | float) for one in numbers):
            raise PlanError(f"check of {self.quantity}: expected {self.expected!r}: must be a number, and two for in")
        if self.op == "in" and (len(numbers) != len(("lowest", "highest")) or numbers[0] > numbers[1]):
            raise PlanError(f"check of {self.quantity}: expected {self.expected!r}: must be lowest and highest")
        if any(map(math.isnan, numbers)):
            raise PlanError(f"check of {self.quantity}: expected {self.expected!r}: nothing is as much")


@dataclass(frozen=True)
class Scenario:
    """A scenario file, loaded.

    :param code: of the module, to have it anew
    """

    name: str
    path: Path
    module: ModuleType
    code: CodeType = field(repr=False)

    @property
    def claim(self) -> str:
        """The sentence."""
        return str(self.module.CLAIM)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The knobs by name."""
        return dict(self.module.PARAMETERS)

    @property
    def combinations(self) -> list[tuple[str, str]]:
        """Congestion controls and queues."""
        return list(self.module.COMBINATIONS)

    def axes(self, settings: Sequence[str]) -> dict[str, list[Value]]:
        """What ``name=a,b,c`` settings ask for, by name; PlanError names what is wrong."""
        found: dict[str, list[Value]] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not name or not equals or not all(text.split(",")):
                raise PlanError(f"--set {setting}: must be name=value or name=value,value")
            if name not in self.parameters:
                known = ", ".join(
                    f"{key} ({one.default} {one.unit})".replace(" )", ")") for key, one in self.parameters.items()
                )
                raise PlanError(f"{self.name} has no parameter {name}{nearest(name, self.parameters)}; it has: {known}")
            if name in found:
                raise PlanError(f"--set {setting}: {name} was set before; several values are {name}=a,b")
            found[name] = [self.parameters[name].parse(name, one) for one in text.split(",")]
        return found

    def values(self, axes: Mapping[str, Sequence[Value]]) -> list[dict[str, Value]]:
        """The values of every run: each variant, with every combination of what is set."""
        combined = list(itertools.product(*map(dict.fromkeys, axes.values())))
        return [{**row, **dict(zip(axes, choice, strict=True))} for row in self._variants(axes) for choice in combined]

    def count(self, axes: Mapping[str, Sequence[Value]]) -> int:
        """How many ``values`` would be, of which none is made."""
        return len(self._variants(axes)) * math.prod(len(set(choices)) for choices in axes.values())

    def _variants(self, axes: Mapping[str, Sequence[Value]]) -> list[dict[str, Value]]:
        """Those that differ in more than what is set."""
        defaults = {name: one.default for name, one in self.parameters.items()}
        rows: list[dict[str, Value]] = []
        for variant in getattr(self.module, "VARIANTS", [{}]):
            own = {name: self.parameters[name].of_its_type(value) for name, value in variant.items()}
            row = {**defaults, **own, **{name: choices[0] for name, choices in axes.items()}}
            rows += [row] if row not in rows else []
        return rows

    def plan(self, values: Values, cc: str, qdisc: str, seed: int) -> Plan:
        """The plan of one run, checked; PlanError if it comes from more than values, cc, qdisc and seed.

        What it may come from beside them is another call: it is compared with that of a module of which nothing
        was called before.
        """
        new = importlib.util.module_from_spec(self.module.__spec__)  # type: ignore[arg-type]
        try:
            exec(self.code, vars(new))
        except (Exception, SystemExit) as error:
            raise PlanError(_where(self.path, error)) from None
        plan, used = (self._of_values(module, "plan", values, cc, qdisc, seed) for module in (new, self.module))
        if not isinstance(plan, Plan):
            raise PlanError(f"{self.path}: plan() returned {type(plan).__name__}, not a Plan")
        try:
            plan.check()
        except PlanError as error:
            raise PlanError(f"{self.path}: {error}") from None
        except Exception as error:
            raise PlanError(f"{self.path}: its plan cannot be: {_said(error)}") from None
        found = difference("plan", plan, used)
        if found:
            raise PlanError(
                f"{self.path}: two calls of plan() with the same values and seed differ: {found}; what it draws"
                " must come from random.Random(seed), and what it changes must be its own"
            )
        # what is wrong with them is said before anything is booted
        self.checks(values, cc, qdisc)
        return plan

    def measure(self, values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
        """The scenario's own metrics of a run."""
        found = self._of_values(self.module, "measure", values, plan, raw) if hasattr(self.module, "measure") else {}
        if not isinstance(found, Mapping):
            raise PlanError(f"{self.path}: measure() returned {type(found).__name__}, not a dict")
        return dict(found)

    def checks(self, values: Values, cc: str, qdisc: str) -> list[Check]:
        """What the claim asserts of a run."""
        found = self._of_values(self.module, "checks", values, cc, qdisc) if hasattr(self.module, "checks") else []
        if not isinstance(found, Sequence) or not all(isinstance(one, Check) for one in found):
            raise PlanError(f"{self.path}: checks() returned {found!r}, not a list of Check")
        for one in found:
            try:
                one.check()
            except PlanError as error:
                raise PlanError(f"{self.path}: {error}") from None
        return list(found)

    def draw(self, runs: list[dict[str, Any]], folder: Path) -> list[Path]:
        """The scenario's own pictures of runs."""
        return list(self._call(self.module, "draw", runs, folder)) if hasattr(self.module, "draw") else []

    def _call(self, module: ModuleType, name: str, first: Any, *others: Any) -> Any:
        """One of the file's functions; PlanError says where it fails, since the file may be a user's.

        :param first: what is to be the same for other calls, whatever this one does with it
        """
        try:
            return getattr(module, name)(copy.deepcopy(first), *others)
        except (PlanError, RunError):
            raise
        except (Exception, SystemExit) as error:
            raise PlanError(_where(self.path, error)) from None

    def _of_values(self, module: ModuleType, name: str, values: Values, *others: Any) -> Any:
        """Likewise, of the parameters' values without the label of ``--traffic``."""
        own = {key: one for key, one in values.items() if key != TRAFFIC_LABEL or key in self.parameters}
        return self._call(module, name, own, *others)


def nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A hint at what was probably meant, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f" (near: {', '.join(close)})" if close else ""


def names() -> list[str]:
    """Names of the project's own scenarios."""
    return sorted(path.stem.replace("_", "-") for path in FOLDER.glob("[a-z]*.py"))


def load(name: str) -> Scenario:
    """One of ours by its name, or a file by its path; PlanError says where a file is wrong."""
    path = Path(name)
    if path.suffix != ".py":
        path = FOLDER / f"{name.replace('-', '_')}.py"
        if name not in names():
            raise PlanError(f"no scenario {name}{nearest(name, names())}; lab list shows them all")
    elif not os.path.isfile(path):  # which says so as well of a name that no file can have
        raise PlanError(f"{path}: there is no such file")
    path = path.resolve()
    spec = importlib.util.spec_from_file_location(f"scenarios.{path.stem}", path)
    assert spec is not None and isinstance(spec.loader, SourceFileLoader)
    module = importlib.util.module_from_spec(spec)
    try:
        code = spec.loader.get_code(spec.name)
        assert code is not None
        exec(code, vars(module))
    except SyntaxError as error:
        raise PlanError(f"{error.filename or path}: line {error.lineno}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: is no text: {error}") from None
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None
    except (Exception, SystemExit) as error:
        raise PlanError(_where(path, error)) from None
    for attribute in ("CLAIM", "PARAMETERS", "COMBINATIONS", "plan"):
        if not hasattr(module, attribute):
            raise PlanError(f"{path}: has no {attribute}: see Documentation/lab/plan.rst")
    _check_module(path, module)
    return Scenario(path.stem.replace("_", "-"), path, module, code)


def _check_module(path: Path, module: ModuleType) -> None:
    """PlanError names what is not as it is described above."""
    if not isinstance(module.PARAMETERS, dict):
        raise PlanError(f"{path}: PARAMETERS {module.PARAMETERS}: must be a dict")
    variants = getattr(module, "VARIANTS", [])
    if not isinstance(variants, list | tuple) or not all(isinstance(one, dict) for one in variants):
        raise PlanError(f"{path}: VARIANTS {variants}: must be a list of dicts")
    pairs = module.COMBINATIONS
    if not isinstance(pairs, list | tuple) or not pairs or not all(map(_is_pair, pairs)):
        raise PlanError(f"{path}: COMBINATIONS {pairs}: must be pairs of a congestion control and a queue")
    wrong = [name for name, one in module.PARAMETERS.items() if not isinstance(one, Parameter)]
    wrong += [name for name in module.PARAMETERS if not isinstance(name, str)]
    wrong += [name for variant in variants for name in variant if name not in module.PARAMETERS]
    if wrong:
        raise PlanError(f"{path}: {wrong[0]}: must be a Parameter of PARAMETERS")
    try:
        for name, one in module.PARAMETERS.items():
            check_name("parameter", name)
            check_types(f"parameter {name}", one)
            if one.low is not None and one.high is not None:
                in_range(f"parameter {name}: low", one.low, -math.inf, one.high)
            one.check(f"parameter {name}: default {one.default}", one.default)
        for variant in variants:
            for name, value in variant.items():
                module.PARAMETERS[name].check(f"VARIANTS: {name}={value}", value)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def difference(what: str, one: Any, other: Any) -> str:
    """Where two values first differ, or nothing."""
    if one == other:
        return ""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        one, other = vars(one), vars(other)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(filter(None, (difference(f"{what}.{key}", one[key], other[key]) for key in one)), "")
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (difference(f"{what}[{i}]", *pair) for i, pair in pairs)), "")
    return f"{what} is {shorter(one)} and {shorter(other)}"


def _where(path: Path, error: BaseException) -> str:
    """What went wrong in a scenario's file, with the line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = f" line {frames[-1].lineno}:" if frames else ""
    return f"{path}:{line} {_said(error)}"


def _said(error: BaseException) -> str:
    """An exception in one line, whatever its text is."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
