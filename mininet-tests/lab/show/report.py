# SPDX-License-Identifier: GPL-2.0
"""A study as one page that needs nothing else: ``report.html``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ..analyse.series import series
from ..analyse.statistics import interval
from ..analyse.table import Found, Table, opened
from ..model.scenario import Scenario, load
from ..store.digest import canonical
from ..store.study import Study
from . import pictures
from .pages import rendered
from .pictures import Series
from .runs import to_addresses
from .units import Scale, scale

# Of a picture; what does not fit is drawn in the next one.
MAX_ROWS = 60
# Of each figure against each parameter, one for each value of the others.
MAX_PANELS = 12
# Of a parameter that has texts; more would not be read.
MAX_CATEGORIES = 12
# Combinations of a scenario of which a run is drawn: their raw results are all in memory.
MAX_DRAWN = 12
# Of a scenario, in the page: all are in the table.
MAX_LISTED = 1000
VARIANT = ("build", "kernel", "clock")


@dataclass
class Combination:
    """What was run once for each seed.

    :param kind: the number of what it is beside the swept parameters: cc, queue, build, kernel, clock
    :param figures: by column, a value for each run that differs by digest
    :param checks: by quantity and what it should be: how often it passed, and what was measured where it failed
    """

    labels: dict[str, Any]
    name: str
    kind: int
    figures: dict[str, list[float]]
    runs: int
    checks: dict[str, tuple[int, list[str]]]

    @property
    def passed(self) -> int:
        """Checks, all seeds together."""
        return sum(passed for passed, _ in self.checks.values())

    @property
    def failed(self) -> int:
        """Checks, all seeds together."""
        return sum(len(failed) for _, failed in self.checks.values())


@dataclass
class Section:
    """A scenario's part of the page.

    :param swept: parameters of which there is more than one value
    :param columns: figures that differ among runs, with their scales
    :param constant: figures that are the same in every run, as text
    :param rows: a text for each combination and figure
    :param pictures: of each figure: a text, and an address that holds the picture
    :param drawn: of single runs, likewise; without an address the text says why there is none
    :param undrawn: combinations of which no run is drawn
    :param runs: a row for each: what was run, its seed and its figures, a flow's averaged
    :param unlisted: runs beyond them
    """

    name: str
    claim: str
    combinations: list[Combination]
    swept: list[str]
    scales: list[Scale] = field(default_factory=list)
    columns: list[tuple[str, Scale]] = field(default_factory=list)
    rows: list[tuple[Combination, list[str]]] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    pictures: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    left_out: int = 0
    drawn: list[tuple[str, str]] = field(default_factory=list)
    undrawn: int = 0
    runs: list[tuple[str, list[str]]] = field(default_factory=list)
    unlisted: int = 0


def write(study: Study, table: Table) -> Path:
    """The page of a study; StudyError if it cannot be written."""
    manifest = study.manifest()
    page = rendered(
        "report.html.j2",
        name=study.folder.resolve().name,
        sweeps=manifest["sweeps"],
        done=[one for one in table.runs if one.figures.error is None],
        broken=list(_broken(table)),
        missing=table.missing,
        sections=[_section(name, group, table, study) for name, group in _by_scenario(table).items()],
    )
    return study.write("report.html", page)


def _broken(table: Table) -> Iterator[tuple[str, Found]]:
    """Runs without figures, by what tells them from the scenario's other runs."""
    for runs in _by_scenario(table).values():
        for one in runs:
            asked = one.asked
            if one.figures.error is not None:
                values = asked["values"].items()
                told = [
                    f"{name}={value}"
                    for name, value in values
                    if any(r.asked["values"].get(name) != value for r in runs)
                ]
                build = [f"modules {asked['build']}"] if asked["build"] else []
                clock = [f"clock {asked['clock']}"] if "clock" in asked else []
                words = [asked["scenario"], f"{asked['cc']}+{asked['qdisc']}", *told, f"seed {asked['seed']}"]
                words += [*build, *clock]
                yield " ".join(words), one


def _by_scenario(table: Table) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for one in table.runs:
        found.setdefault(one.asked["scenario"], []).append(one)
    return found


def _section(name: str, runs: list[Found], table: Table, study: Study) -> Section:
    frame = table.frame[(table.frame["scenario"] == name) & table.frame["error"].isna()]
    varying = [column for column in (*table.parameters, *VARIANT) if frame[column].nunique(dropna=False) > 1]
    keys = [*dict.fromkeys(["cc", "qdisc", *varying])]
    figures = [column for column in table.figures if frame[column].notna().any()]
    combinations = []
    kinds: dict[str, int] = {}
    for values, group in frame.groupby(keys, sort=False, dropna=False):
        labels = dict(zip(keys, values, strict=True))
        # two seeds that gave the same plan are one run; a flow's figure is the mean over the run's flows
        each = group.groupby("run", sort=False)[figures].mean()
        kind = kinds.setdefault(_label(labels, [key for key in keys if key not in table.parameters]), len(kinds))
        members = {one.asked["run"]: one for one in (table.runs[number] for number in group.index.unique())}
        found = {column: each[column].dropna().tolist() for column in figures}
        checks = _checks(list(members.values()))
        combinations.append(Combination(labels, _label(labels, keys), kind, found, len(members), checks))
    section = Section(name, runs[0].claim, combinations, [one for one in varying if one in table.parameters])
    _fill_in(section, figures)
    _list(section, frame, keys)
    _draw(section, runs, study)
    return section


def _list(section: Section, frame: pd.DataFrame, keys: list[str]) -> None:
    """Each run's figures, in the columns of the section's table."""
    runs = list(frame.groupby([*keys, "seed"], sort=False, dropna=False))
    section.unlisted = max(0, len(runs) - MAX_LISTED)
    for values, group in runs[:MAX_LISTED]:
        labels = dict(zip([*keys, "seed"], values, strict=True))
        means = [(group[figure].mean(), its_scale) for figure, its_scale in section.columns]
        cells = ["" if pd.isna(mean) else its_scale.text(mean) for mean, its_scale in means]
        section.runs.append((_label(labels, keys), [str(labels["seed"]), *cells]))


def _draw(section: Section, runs: list[Found], study: Study) -> None:
    """Pictures of the first run of each combination that has figures."""
    first: dict[str, Found] = {}
    for one in runs:
        if one.figures.error is None:
            first.setdefault(canonical({**one.asked, "run": "", "seed": 0}), one)
    if first:
        scenario = load(next(iter(first.values())).asked["path"])
        chosen = list(first.values())[:MAX_DRAWN]
        section.drawn = to_addresses(scenario, [_drawn(study, one, scenario) for one in chosen])
        section.undrawn = len(first) - len(chosen)


def _drawn(study: Study, found: Found, scenario: Scenario) -> tuple[str, dict[str, Any]]:
    """A run by what tells it from the scenario's others, as JSON has it."""
    run, raw = opened(study, found.asked, scenario)
    its_series = series(run.plan, raw) | found.figures.series
    return run.title.removeprefix(f"{scenario.name} "), {**run.described(found.figures), "series": its_series}


def _label(labels: dict[str, Any], keys: list[str]) -> str:
    more = [f"{key}={labels[key] if labels[key] != '' else 'own'}" for key in keys if key not in ("cc", "qdisc")]
    return " ".join([f"{labels['cc']}+{labels['qdisc']}", *more])


def _checks(runs: list[Found]) -> dict[str, tuple[int, list[str]]]:
    checks: dict[str, tuple[int, list[str]]] = {}
    for run in runs:
        for check in run.figures.checks:
            what = f"{check['quantity']} {check['op']} {check['expected']}"
            passed, failed = checks.get(what, (0, []))
            measured = check["measured"]
            text = f"{measured:.4g}" if isinstance(measured, float) else measured
            wrong = [] if check["pass"] else [f"{text} (seed {run.asked['seed']})"]
            checks[what] = (passed + bool(check["pass"]), failed + wrong)
    return checks


def _fill_in(section: Section, figures: list[str]) -> None:
    """The section's numbers and pictures."""
    columns = []
    for figure in figures:
        values = [value for one in section.combinations for value in one.figures[figure]]
        its_scale = scale(figure, values)
        if len(values) > 1 and min(values) == max(values):
            section.constant.append(f"{its_scale.name} {its_scale.text(values[0])} {its_scale.unit}".rstrip())
        else:
            columns.append((figure, its_scale))
    section.columns = columns
    section.scales = [its_scale for _, its_scale in columns]
    for one in section.combinations:
        section.rows.append((one, [_cell(one.figures[figure], its_scale) for figure, its_scale in columns]))
    for figure, its_scale in columns:
        drawn = [one for one in section.combinations if one.figures[figure]]
        series = [Series(one.name, one.kind, [(0.0, one.figures[figure])]) for one in drawn]
        of_figure = section.pictures.setdefault(its_scale.name, [])
        for first in range(0, len(series), MAX_ROWS):
            part = series[first : first + MAX_ROWS]
            of_figure.append(("each run, mean and 95 % interval", pictures.distribution(its_scale, part)))
        for parameter in section.swept:
            of_figure += _against(section, figure, its_scale, parameter)


def _cell(values: list[float], its_scale: Scale) -> str:
    if not values:
        return ""
    found = interval(values)
    text = its_scale.text(found.mean)
    return text if found.half is None else f"{text} ± {its_scale.text(found.half, 2)}"


def _against(section: Section, figure: str, its_scale: Scale, parameter: str) -> Iterator[tuple[str, str]]:
    """A figure against a parameter: a picture for each value of the other parameters, a line for each cc and queue."""
    places = [one.labels[parameter] for one in section.combinations]
    is_number = all(isinstance(place, int | float) and not pd.isna(place) for place in places)
    # texts are drawn beside each other, in the order in which they were asked for
    names = [] if is_number else list(dict.fromkeys(map(str, places)))
    if len(names) > MAX_CATEGORIES:
        return
    panels: dict[str, dict[int, Series]] = {}
    for one in section.combinations:
        if one.figures[figure]:
            others = " ".join(f"{name}={one.labels[name]}" for name in section.swept if name != parameter)
            label = _label(one.labels, [key for key in one.labels if key not in section.swept])
            series = panels.setdefault(others, {}).setdefault(one.kind, Series(label, one.kind, []))
            value = one.labels[parameter]
            series.points.append((names.index(str(value)) if names else float(value), one.figures[figure]))
    section.left_out += max(0, len(panels) - MAX_PANELS)
    place = scale(parameter, places if is_number else [])
    for others, lines in itertools.islice(panels.items(), MAX_PANELS):
        text = f"against {place.name}{f', {others}' if others else ''}: mean and 95 % interval"
        yield text, pictures.line(its_scale, place, list(lines.values()), names)
