# SPDX-License-Identifier: GPL-2.0
"""Preconditions of the formula headers: all are listed, and what the list says is so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

TOP = Path(__file__).resolve().parents[3]
LIST = TOP / "Documentation" / "preconditions.rst"

# How a comment asks something of a caller: a bound, a state, an order of calls
ASKS = re.compile(
    r"at (?:least|most)|(?:below|less than|up to) (?:\d\d|2\^|[A-Z][A-Z\d])|beyond (?:\d|[A-Z][A-Z\d])"
    r"|\d \.\.|\.\. [A-Z\d]|\b\d+ to \d|\bmust\b|only when|not empty"
    r"|[Nn]ot between|never go(?:es)? back|\bzeroed\b|all zero|counts? as"
    r"|changes? nothing|nothing changes|stays where|it stays"
)
# What the header leaves to its caller; all else it sees to itself
LEFT_TO_CALLERS = re.compile(r"\bmust\b|\bnot between\b", re.IGNORECASE)
COMMENT = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)
PRECONDITION = re.compile(r"PRECONDITION\((.*?)\);", re.DOTALL)
HEAD = re.compile(r"^(?!#|\s|/|\*).*?(\w+)\([^;{}]*?\)\n\{", re.MULTILINE)


class Place(NamedTuple):
    """A parameter, a member, or, as "-", the description of a function or structure."""

    header: str
    owner: str
    name: str


@dataclass
class Row:
    """One line of the list; only what is asserted has ``condition`` and ``kept``."""

    place: Place
    text: str
    asserted_in: str
    condition: str
    kept: str
    attack: str

    @property
    def asserted(self) -> bool:
        """Or the header enforces it."""
        return bool(self.asserted_in)


def squeezed(text: str) -> str:
    """In one line."""
    return " ".join(text.split())


def formula_headers() -> dict[str, str]:
    """Texts by path."""
    paths = sorted([*TOP.glob("qdisc/*.h"), *TOP.glob("kmod/*.h")])
    return {
        str(path.relative_to(TOP)): path.read_text()
        for path in paths
        if not path.stem.endswith("_trace") and not path.stem.startswith("fq_rr_")
    }


def documented(headers: dict[str, str]) -> dict[Place, str]:
    """What the kernel-doc comments say of each place; not what functions return."""
    texts: dict[Place, str] = {}
    for header, code in headers.items():
        for comment in COMMENT.findall(code):
            lines = [line.strip().removeprefix("*").strip() for line in comment.strip().splitlines()]
            owner = lines[0].removeprefix("struct ").removeprefix("enum ").split(" - ")[0].strip()
            name = ""
            for line in lines[1:]:
                if member := re.match(r"@(\w+):", line):
                    name, line = member[1], line[member.end() :]
                elif line.startswith("Return:"):
                    break
                elif not line:
                    name = "-"
                if name:
                    place = Place(header, owner, name)
                    texts[place] = squeezed(texts.get(place, "") + " " + line)
    return texts


def asserted(headers: dict[str, str]) -> set[tuple[str, str, str]]:
    """Header, function and condition of every PRECONDITION()."""
    found = set()
    for header, code in headers.items():
        heads = [(match.end(), match[1]) for match in HEAD.finditer(code)]
        for match in PRECONDITION.finditer(code):
            function = [name for end, name in heads if end <= match.start()][-1]
            found.add((header, function, squeezed(match[1])))
    return found


def rows(text: str) -> list[Row]:
    """Of both tables: what is enforced has five columns, what is asserted eight."""
    listed = []
    for line in text.splitlines():
        if line.count(" ; ") < 4:
            continue
        header, owner, name, said, *rest = (cell.strip().replace("``", "") for cell in line.split(" ; "))
        function, condition, kept, attack = rest if len(rest) == 4 else ("", "", "", *rest)
        listed.append(Row(Place(header, owner, name), said, function, condition, kept, attack))
    return listed


def beyond(text: str, listed: list[Row]) -> str:
    """What rows do not say of what a header says."""
    for row in listed:
        text = text.replace(row.text, "")
    return text


def asks(text: str, name: str) -> bool:
    """Descriptions tell what follows from arguments, too: of them only what a caller must do."""
    return bool((LEFT_TO_CALLERS if name == "-" else ASKS).search(text))


def faults(headers: dict[str, str], text: str) -> list[str]:
    """Where list and headers differ."""
    texts, conditions, listed = documented(headers), asserted(headers), rows(text)
    said = [
        f"{tuple(place)} is not listed: {it}"
        for place, it in texts.items()
        if asks(beyond(it, [row for row in listed if row.place == place]), place.name)
    ]
    said += [f"{condition} is not listed" for condition in sorted(conditions - {condition_of(row) for row in listed})]
    for row in listed:
        if row.text not in texts.get(row.place, ""):
            said.append(f"{tuple(row.place)}: the header does not say {row.text!r}")
        elif row.asserted and condition_of(row) not in conditions:
            said.append(f"{tuple(row.place)}: no PRECONDITION({row.condition}) in {row.asserted_in}()")
        elif row.asserted != bool(LEFT_TO_CALLERS.search(row.text)):
            said.append(f"{tuple(row.place)}: {row.text!r} is {'' if row.asserted else 'not '}asserted")
    return said


def condition_of(row: Row) -> tuple[str, str, str]:
    """As asserted() has it."""
    return row.place.header, row.asserted_in, row.condition


def test_list_is_complete() -> None:
    """Every precondition in a formula header's comments is listed, and is as it is listed"""
    assert len(rows(LIST.read_text())) > 60
    said = faults(formula_headers(), LIST.read_text())
    assert not said, said


def test_who_attacks() -> None:
    """The tests that the list names exist, and call the function that they attack"""
    for row in rows(LIST.read_text()):
        files = [TOP / name for name in row.attack.split()]
        assert files, row
        tests = [file.read_text() for file in files]
        if not row.asserted and not documents_structure(row):
            assert any(row.place.owner in test for test in tests), row
        assert not row.asserted or row.kept, row


def documents_structure(row: Row) -> bool:
    """Rather than a function."""
    code = (TOP / row.place.header).read_text()
    return bool(re.search(rf"^struct {row.place.owner} \{{", code, re.MULTILINE))


@pytest.mark.parametrize("number", range(len(rows(LIST.read_text()))))
def test_row_deleted(number: int) -> None:
    """A row that is taken out of the list is missed"""
    lines = LIST.read_text().splitlines()
    of_rows = [i for i, line in enumerate(lines) if len(rows(line)) == 1]
    del lines[of_rows[number]]
    assert faults(formula_headers(), "\n".join(lines))


def replaced(header: str, old: str, new: str) -> Callable[[dict[str, str]], None]:
    """An edit of a header; what it replaces must be there."""

    def edit(headers: dict[str, str]) -> None:
        assert old in headers[header], old
        headers[header] = headers[header].replace(old, new)

    return edit


EDITS: dict[str, tuple[Callable[[dict[str, str]], None], Iterable[str]]] = {
    "a bound of a parameter": (
        replaced("qdisc/round_robin.h", " * @more: whether", " * @more: at most 1, whether"),
        ["'rr_sent', 'more'"],
    ),
    "a bound of a member": (
        replaced("kmod/pair_probe.h", " * @service_min_ns: a", " * @service_min_ns: 1 .. 255, a"),
        ["'pair_limits', 'service_min_ns'"],
    ),
    "a range in words": (
        replaced("qdisc/parents.h", "as the parents know it (bytes)", "as the parents know it (bytes, below 2^31)"),
        ["'parents_report', 'len'"],
    ),
    "an order of calls": (
        replaced("qdisc/round_robin.h", " * For when a packet is to be sent.", " * rr_sent() must follow."),
        ["'rr_next', '-'"],
    ),
    "another number": (
        replaced("kmod/control_law.h", "must be below 2^46", "must be below 2^47"),
        ["'control_bound_q8', 'bound_ns'"],
    ),
    "a function that is gone": (
        replaced("qdisc/flow_index.h", "flow_index - the", "flow_number - the"),
        ["'flow_index', 'flows'"],
    ),
    "an assertion that is gone": (
        replaced("qdisc/round_robin.h", "PRECONDITION(cost <= RR_COST_MAX);", ""),
        ["'rr_sent', 'cost'", "'rr_charge', 'cost'"],
    ),
    "an assertion that nobody listed": (
        replaced("qdisc/framing.h", "\tu64 wire = packet;", "\tu64 wire = packet;\n\n\tPRECONDITION(len);"),
        ["'framing_packet', 'len'"],
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_header_changed(case: str) -> None:
    """A precondition that comes, changes or goes in a header is noticed"""
    edit, named = EDITS[case]
    headers = formula_headers()
    edit(headers)
    said = faults(headers, LIST.read_text())
    assert said
    for name in named:
        assert any(name in fault for fault in said), (name, said)
