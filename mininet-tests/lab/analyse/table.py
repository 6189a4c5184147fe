# SPDX-License-Identifier: GPL-2.0
"""A study as one table: a row per run and flow, computed from the raw results each time."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..model.errors import PlanError
from ..model.plan import Plan
from ..model.scenario import Scenario, load
from ..store.engine import VIRTUAL
from ..store.run import Run
from ..store.study import Study, StudyError
from .figures import Figures

LABELS = ("run", "scenario", "seed", "cc", "qdisc", "build", "kernel", "clock")
TEXTS = ("flow", "flow_cc", "error")
COUNTS = ("checks_passed", "checks_failed")
INT64 = range(-(2**63), 2**63)

Row = dict[str, Any]


@dataclass
class Found:
    """One run of a study, computed.

    :param asked: the manifest's entry: LABELS, "path" and "values"
    :param log: the end of the kernel log of a run that failed
    """

    asked: Row
    claim: str
    figures: Figures
    log: list[str] = field(default_factory=list)


@dataclass
class Table:
    """A study's runs, and the table made of them.

    :param frame: LABELS, a column for each parameter, "flow", "flow_cc", the flow's figures,
        the run's metrics, COUNTS and "error"; its index is a row's place in ``runs``
    :param parameters: the parameters' columns
    :param figures: columns of figures that are numbers
    :param missing: runs that were asked for, and not run yet
    """

    arrow: pa.Table
    frame: pd.DataFrame
    parameters: list[str]
    figures: list[str]
    runs: list[Found]
    missing: list[Row]

    def write(self, study: Study) -> None:
        """table.csv and table.parquet: the same columns and types; StudyError if they cannot be written."""
        for name, write in (("csv", pyarrow.csv.write_csv), ("parquet", pyarrow.parquet.write_table)):
            buffer = io.BytesIO()
            write(self.arrow, buffer)
            study.write(f"table.{name}", buffer.getvalue())


def build(study: Study, figures: Callable[[Run, dict[str, Any]], Figures]) -> Table:
    """Of all that a study was asked for; StudyError if its manifest cannot be read.

    A run whose figures cannot be computed has a row that says why.
    """
    scenarios: dict[str, Scenario | PlanError] = {}
    runs, missing = [], []
    for asked in study.manifest()["runs"]:
        found = _find(study, asked, scenarios, figures)
        if found is None:
            missing.append(asked)
        else:
            runs.append(found)
    return _tabulate(runs, missing)


def _find(
    study: Study,
    asked: Row,
    scenarios: dict[str, Scenario | PlanError],
    figures: Callable[[Run, dict[str, Any]], Figures],
) -> Found | None:
    if asked["path"] not in scenarios:
        try:
            scenarios[asked["path"]] = load(asked["path"])
        except PlanError as error:
            scenarios[asked["path"]] = error
    scenario = scenarios[asked["path"]]
    if not study.has(asked["run"]):
        try:
            failure = study.failure(asked["run"])
        except StudyError as error:
            failure = {"error": str(error), "log": []}
        if failure is None:
            return None
        claim = "" if isinstance(scenario, PlanError) else scenario.claim
        return Found(asked, claim, Figures(error=failure["error"]), failure["log"])
    if isinstance(scenario, PlanError):
        return Found(asked, "", Figures(error=str(scenario)))
    try:
        return Found(asked, scenario.claim, figures(*opened(study, asked, scenario)))
    except Exception as error:
        # of a scenario of the user's, say: the other runs are none the worse for it
        reason = str(error) if isinstance(error, StudyError) else f"{type(error).__name__}: {error}"
        return Found(asked, scenario.claim, Figures(error=reason))


def opened(study: Study, asked: Row, scenario: Scenario) -> tuple[Run, Row]:
    """A run of a study and its raw result."""
    record = study.load(asked["run"])
    labels = {name: asked[name] for name in ("values", "cc", "qdisc", "seed", "build", "kernel")}
    clock = asked.get("clock", VIRTUAL)
    return Run(scenario, plan=Plan.of(record["job"]), clock=clock, **labels), record["raw"]


def _tabulate(runs: Sequence[Found], missing: list[Row]) -> Table:
    taken = {*LABELS, *TEXTS, *COUNTS}
    parameters = _names((one.asked["values"] for one in runs), taken, "set_")
    of_flow = _names((flow for one in runs for flow in map(_of_flow, one.figures.flows)), taken, "flow_")
    of_run = _names((_scalars(one.figures.metrics) for one in runs), taken, "run_")
    rows, places = [], []
    for place, one in enumerate(runs):
        passed = [bool(check["pass"]) for check in one.figures.checks]
        common = {"clock": VIRTUAL, **{name: one.asked[name] for name in LABELS if name in one.asked}}
        common |= {parameters[name]: value for name, value in one.asked["values"].items()}
        common |= {of_run[name]: value for name, value in _scalars(one.figures.metrics).items()}
        common |= {"checks_passed": sum(passed), "checks_failed": len(passed) - sum(passed), "error": one.figures.error}
        for flow in one.figures.flows or [{}]:
            places.append(place)
            names = {"flow": flow.get("name"), "flow_cc": flow.get("cc")}
            rows.append({**common, **names, **{of_flow[name]: value for name, value in _of_flow(flow).items()}})
    order = [*LABELS, *parameters.values(), "flow", "flow_cc", *of_flow.values(), *of_run.values(), *COUNTS, "error"]
    texts = {*LABELS, *TEXTS} - {"seed"}
    arrow = pa.table({name: _column([row.get(name) for row in rows], name in texts) for name in order})
    numeric = [
        name
        for name in (*of_flow.values(), *of_run.values())
        if pa.types.is_integer(arrow[name].type) or pa.types.is_floating(arrow[name].type)
    ]
    frame = arrow.to_pandas().set_axis(places)
    return Table(arrow, frame, list(parameters.values()), numeric, list(runs), missing)


def _of_flow(flow: Mapping[str, Any]) -> Row:
    return {name: value for name, value in _scalars(flow).items() if name not in ("name", "cc")}


def _scalars(figures: Mapping[str, Any]) -> Row:
    """What a cell can hold, numbers of numpy as Python's; of a list or mapping a cell each: name_1, name_key."""
    found: Row = {}
    for name, value in figures.items():
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, list | tuple):
            plain = dict(enumerate(plain, 1))
        if isinstance(plain, Mapping):
            found |= _scalars({f"{name}_{key}": one for key, one in plain.items()})
        elif plain is None or isinstance(plain, bool | int | float | str):
            found[name] = plain
    return found


def _names(rows: Iterable[Mapping[str, Any]], taken: set[str], prefix: str) -> dict[str, str]:
    """The column of each name, in the order in which they occur; with a prefix if another column is called so."""
    found: dict[str, str] = {}
    for row in rows:
        for name in row:
            if name not in found:
                column = name
                while column in taken:
                    column = prefix + column
                taken.add(column)
                found[name] = column
    return found


def _column(values: Sequence[Any], is_text: bool) -> pa.Array:
    """One type for a column: text if it is mixed. What is no number is missing."""
    known = [value for value in values if value is not None]
    if is_text or any(isinstance(value, str) for value in known):
        return pa.array([None if value is None else _text(value) for value in values], pa.string())
    if known and all(isinstance(value, bool) for value in known):
        return pa.array(values, pa.bool_())
    if known and all(isinstance(value, int) and value in INT64 for value in known):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array([None if value is None else _number(value) for value in values], pa.float64())


def _text(value: Any) -> str:
    """Bytes of a command line that are no UTF-8, and so no text for a file, are written as their numbers."""
    return str(value).encode(errors="backslashreplace").decode()


def _number(value: float) -> float | None:
    try:
        return None if math.isnan(value) else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
