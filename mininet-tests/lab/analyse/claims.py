# SPDX-License-Identifier: GPL-2.0
"""Whether what the papers' entries name is there: scenarios, tests, headers, judges."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection
from pathlib import Path

from ..checkout import TOP
from ..model import scenario
from ..model.errors import PlanError
from ..model.papers import Entry, Paper, Shown
from . import any_packet_size, overload, packet_pair, qlbp, thesis

# How a test of a C program is run.
IN_C = re.compile(r"\bcmocka_unit_test\w*\(\s*(\w+)")
# Campaigns with judges, by the id of an entry and the number of its check.
CAMPAIGNS: dict[str, Collection[tuple[str, int]]] = {
    "vptfrc": any_packet_size.JUDGES,
    "overload": overload.JUDGES,
    "reproduce": {*packet_pair.JUDGES, *qlbp.JUDGES, *thesis.judged()},
}


@functools.cache
def run_by(path: Path) -> frozenset[str]:
    """Names of the tests that a file runs.

    A C program runs what it hands to cmocka, a program for a guest the functions that stand in a list, and
    pytest what is called a test.
    """
    text = path.read_text()
    if path.suffix != ".py":
        return frozenset(IN_C.findall(text))
    code = ast.parse(text)
    functions = {node.name for node in code.body if isinstance(node, ast.FunctionDef)}
    if not path.name.startswith("in_lab_"):
        return frozenset(name for name in functions if name.startswith("test_"))
    lists = [node.elts for node in ast.walk(code) if isinstance(node, ast.List)]
    return frozenset(functions & {one.id for elements in lists for one in elements if isinstance(one, ast.Name)})


def absent(paper: Paper, top: Path = TOP) -> list[str]:
    """What a paper's entries name and nobody has, a line each."""
    return [f"{one.id}: {lack}" for one in paper.entries for shown in one.shown if (lack := _lack(one, shown, top))]


def _lack(entry: Entry, shown: Shown, top: Path) -> str:
    if shown.by == "scenario":
        try:
            one = scenario.load(shown.name)
            one.axes([f"{name}={value}" for name, value in shown.values.items()])
        except PlanError as error:
            return str(error)
        return ""
    if shown.by == "judge":
        judges = CAMPAIGNS.get(shown.name, ())
        lacking = [str(number) for number in shown.checks if (entry.id, number) not in judges]
        return f"{shown.name}: no judge of check {', '.join(lacking)}" if lacking else ""
    file, _, name = shown.name.partition("::")
    path = top / file
    if not path.is_file() or (path.suffix == ".h") != (shown.by == "header"):
        return f"{file}: there is no such {shown.by}"
    return f"{file}: runs no test {name}" if shown.by == "test" and name not in run_by(path) else ""
