# SPDX-License-Identifier: GPL-2.0
"""Documentation/results/: what the last campaign found of each paper, as tables."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..model import papers
from . import checks
from .pages import text
from .reproduce import counts
from .rst import heading, sentence, table
from .section import Goal, Section, Table

Row = Mapping[str, Any]
Summary = Mapping[str, Any]
HEAD = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by scripts/lab reproduce --document.

"""
# Which of a row's fields its raw result keeps.
KEPT = (
    *("id", "number", "check", "origin", "preset", "cc", "qdisc", "published", "measured", "pass", "not_measured"),
    *("beside", "seeds", "length_s", "parameters", "inferred", "readings", "why"),
)
# Numbers and lists are cut here; the raw result has them whole.
LONGEST = 160


def _short(value: Any) -> str:
    told = text(value)
    return sentence(told if len(told) <= LONGEST else f"{told[:LONGEST]} ...")


def _goals(goals: Sequence[Goal]) -> str:
    rows = [(sentence(one.what), _short(one.measured or "not measured"), "yes" if one.met else "no") for one in goals]
    return f"\n{heading('Goals', '-')}{table(rows, ('goal', 'measured', 'met'), '50 40 10')}" if rows else ""


def _tables(tables: Sequence[Table]) -> str:
    parts = []
    for one in tables:
        rows = [[sentence(word) for word in row] for row in one.rows]
        parts.append(f"\n{heading(sentence(one.name), '-')}{sentence(one.about)}\n\n{table(rows, one.head)}")
    return "".join(parts)


def _provenance(summary: Summary, paper: str, date: str) -> str:
    modules = ", ".join(f"``{name}`` {version}" for name, version in summary["modules"].items())
    most = max((len(row["seeds"]) for row in summary["rows"] if row["paper"] == paper), default=0)
    seeds = f"{most} seed{'' if most == 1 else 's'}"
    return (
        f"Commit {summary['commit']}, {date}; kernel {summary['kernel']}, clock {summary['clock']}; {modules}; "
        f"length: {summary['length']}, {seeds}.\n\n"
    )


def _listed(group: checks.Group) -> str:
    is_run = group.verdict in (checks.HELD, checks.MISSED)
    rows = []
    for row in group.rows:
        found = _short(row["measured"]) if is_run else sentence(row["not_measured"])
        if "why" in row:
            found = f"{found}. {sentence(row['why'])}"
        beside = "; ".join(f"{name} {_short(one['measured'])}" for name, one in row["beside"].items())
        own = [f"``{row['id']}`` {row['number']}", sentence(checks.said(row["check"])), row["origin"]]
        rows.append([*own, _short(row["published"]), found, beside] if is_run else [*own, found])
    header = ["id, number", "check", "bound of"]
    if not is_run:
        return table(rows, [*header, "what decides it"], "14 30 8 48")
    return table(rows, [*header, "published", "measured", "beside"], "12 22 7 17 26 16")


def picture(section: Section) -> tuple[str, str] | None:
    """The paper's first figure: what it shows, and its SVG; None where it has none."""
    if not section.figures:
        return None
    first = section.figures[0]
    return f"{first.name}: {first.about}", base64.b64decode(first.picture.partition(",")[2]).decode()


def page(summary: Summary, paper: str, date: str, section: Section, shown: str = "") -> str:
    """A paper's page.

    :param date: of the day on which it is written
    :param section: whose goals and tables are shown
    :param shown: what the picture beside the page shows; "" if there is none
    """
    rows = [row for row in summary["rows"] if row["paper"] == paper]
    found = counts(rows, paper)
    parts = [
        HEAD,
        heading(sentence(summary["papers"][paper]["title"]), "="),
        _provenance(summary, paper, date),
        f"{found['hold']} of {found['all']} checks hold, of {found['measured']} that were measured. "
        f"The raw result is ``{paper}.json`` beside this page.\n",
        f"\n{sentence(section.intro)}\n",
        f"\n{sentence(section.verdict)}\n" if section.verdict else "",
        f"\n.. figure:: {paper}.svg\n\n   {sentence(shown)}\n" if shown else "",
        _goals(section.goals),
        _tables(section.tables),
    ]
    for group in checks.groups(rows, paper):
        name = f"{group.verdict[0].upper()}{group.verdict[1:]}: {len(group.rows)}"
        parts.append(f"\n{heading(name, '-')}{_listed(group)}")
    return "".join(parts)


def raw(summary: Summary, paper: str) -> str:
    """The raw result beside a paper's page: provenance, and each row."""
    rows = [{name: row[name] for name in KEPT if name in row} for row in summary["rows"] if row["paper"] == paper]
    head = {name: summary[name] for name in ("commit", "kernel", "modules", "clock", "length", "seeds")}
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]}}\n'


def tally(rows: Sequence[Row]) -> tuple[int, ...]:
    """Checks, those that were measured, those that hold; bounds that a paper itself states, and those that hold."""
    own = [row for row in rows if row["origin"] == "paper"]
    known = sum(row["measured"] is not None for row in rows)
    return len(rows), known, sum(row["pass"] for row in rows), len(own), sum(row["pass"] for row in own)


def index(rows: Mapping[str, Sequence[Row]]) -> str:
    """What became of the checks of each paper, and the list of the pages.

    :param rows: of each paper that has a page
    """
    names = list(rows)
    tallies = [[f"``{name}``", *tally(own)] for name, own in rows.items()]
    tallies.append(["all", *tally([row for own in rows.values() for row in own])])
    titles = "".join(f"- :doc:`{name}`: {sentence(papers.load(name).title)}\n" for name in names)
    return (
        HEAD
        + heading("Results of the papers", "=")
        + "What :doc:`../reproduce` found, with commit and date on each page.\n\n"
        + table(tallies, ("paper", "checks", "measured", "hold", "bounds that a paper states", "hold"))
        + "\n"
        + titles
        + "\n.. toctree::\n   :hidden:\n\n"
        + "".join(f"   {name}\n" for name in names)
    )
