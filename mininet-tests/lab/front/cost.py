# SPDX-License-Identifier: GPL-2.0
"""Instructions per packet of fq_rr and its peers: measured in the lab, judged, written.

    scripts/lab cost                                          everything
    scripts/lab cost --qdiscs fq_rr,fq_codel --cases below --flows 1,1024
    scripts/lab cost --show out/cost/summary.json             its tables, without measuring

Measuring is the guest's: ``qdisc/tests/cost.py``.  Nanoseconds: ``lab cost-native``.  Status 0: all
goals met, 1: one missed, 2: what was asked for makes no sense.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..checkout import TOP
from ..machines.kernels import find_kernel
from ..model.errors import LabError
from ..show.costs import over_flows

QDISCS = ("fq_rr", "fq_codel", "cake", "sfq", "fq", "fq_pie", "drr", "pfifo")
FLOWS = (1, 100, 1024, 65536)
CASES = ("bypass", "below", "over-2x", "over-100x")
OUT = TOP / "out" / "cost"
SUMMARY = OUT / "summary.json"

# Cost of fq_rr over a peer's, at most. Only what both have is compared. Of packets with a
# hash, "below" alone: fq_codel spares the walk through them that is most of its cost.
AT_MOST: dict[str, dict[str, float]] = {
    "bypass": {"fq_codel": 1.0},
    "below": {"fq_codel": 0.9, "cake": 0.5},
    "over-2x": {"fq_codel": 1.0, "cake": 1.0},
    "over-100x": {"fq_codel": 1.0, "cake": 1.0},
}
AT_MOST_HASHED: dict[str, dict[str, float]] = {"below": {"fq_codel": 1.0, "cake": 0.5}}
# Few flows and many, of which cases where the buffer is full are judged.
FLAT_FLOWS = (1024, 65536)
FLAT_CASES = ("over-2x", "over-100x")

Row = dict[str, Any]
Kind = tuple[str, int, str, bool, bool]


@dataclass(frozen=True)
class Unit:
    """What is counted, and the goals for it."""

    key: str  # of a row
    at_most: dict[str, dict[str, float]]
    at_most_hashed: dict[str, dict[str, float]]
    # fq_rr with few and with many flows: the dearer over the cheaper, at most
    flat: float | None
    # fq_rr with many flows over a peer with few, at most
    many_over_few: dict[str, float]


INSTRUCTIONS = Unit("instructions_per_packet", AT_MOST, AT_MOST_HASHED, 1.2, {})
# Other ratios are shown, but depend on the processor: they are no goals. With 65,536 flows
# each packet finds its queue in no cache, which no order of the data avoids; so that is
# held against what a router pays today for 1,024 flows.
NANOSECONDS = Unit("nanoseconds_per_packet", {}, {}, None, {"fq_codel": 1.2})


@dataclass(frozen=True)
class Verdict:
    """One goal in one place."""

    goal: str
    where: str
    ratio: float
    limit: float

    @property
    def met(self) -> bool:
        """Whether it holds."""
        return self.ratio <= self.limit


def kind(row: Row) -> Kind:
    """What rows must share to be compared, beside the flows."""
    return row["case"], row["packet_bytes"], row["gso"] or "", row["hashed"], row["ipv6"]


def name(of: Kind) -> str:
    """A kind in words."""
    case, size, gso, hashed, ipv6 = of
    packets = {"": f"{size} bytes", "split": "super-packets, split", "whole": "super-packets, whole"}[gso]
    return f"{case}, {packets}{' over IPv6' if ipv6 else ''}{', with a hash' if hashed else ''}"


def by_place(rows: Iterable[Row], unit: Unit) -> dict[tuple[Kind, int], dict[str, float]]:
    """Costs by qdisc, by kind and flows."""
    places: dict[tuple[Kind, int], dict[str, float]] = {}
    for row in rows:
        places.setdefault((kind(row), row["flows"]), {})[row["qdisc"]] = row[unit.key]
    return places


def judge(rows: Sequence[Row], unit: Unit = INSTRUCTIONS) -> list[Verdict]:
    """Every goal wherever its rows were measured."""
    verdicts = []
    places = by_place(rows, unit)
    for (of, flows), costs in places.items():
        hashed = of[3]
        for peer, limit in (unit.at_most_hashed if hashed else unit.at_most).get(of[0], {}).items():
            if "fq_rr" in costs and peer in costs:
                goal = f"{of[0]}{' hashed' * hashed} over {peer}"
                verdicts.append(Verdict(goal, f"{name(of)}, {flows} flows", costs["fq_rr"] / costs[peer], limit))
    few, many = FLAT_FLOWS
    for of in dict.fromkeys(of for of, _ in places if of[0] in FLAT_CASES and not of[3]):
        at_few, at_many = places.get((of, few), {}), places.get((of, many), {})
        if "fq_rr" not in at_many:
            continue
        if unit.flat and "fq_rr" in at_few:
            ratio = at_many["fq_rr"] / at_few["fq_rr"]
            verdicts.append(Verdict(f"{of[0]} flat", name(of), max(ratio, 1 / ratio), unit.flat))
        for peer, limit in unit.many_over_few.items():
            if peer in at_few:
                goal = f"{of[0]} many flows"
                where = f"{name(of)}, {many} flows over {peer}'s {few}"
                verdicts.append(Verdict(goal, where, at_many["fq_rr"] / at_few[peer], limit))
    return verdicts


def table(rows: Sequence[Row], unit: Unit = INSTRUCTIONS) -> str:
    """A table for each kind, qdiscs by flows, as text that is also reStructuredText."""
    places = by_place(rows, unit)
    parts = []
    for of in dict.fromkeys(of for of, _ in places):
        flows = sorted({count for other, count in places if other == of})
        rule = " ".join(["=" * 8, *("=" * 8 for _ in flows)])
        lines = [f"{name(of)}:", "", rule, " ".join(["flows".ljust(8), *(f"{count:8}" for count in flows)]), rule]
        for qdisc in QDISCS:
            cells = [places[of, count].get(qdisc) for count in flows]
            if any(cells):
                shown = [f"{cell:8.0f}" if cell is not None else "-".rjust(8) for cell in cells]
                lines.append(" ".join([qdisc.ljust(8), *shown]))
        parts.append("\n".join([*lines, rule]))
    return "\n\n".join(parts)


def verdict_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """For each goal how it was met where that was closest, and all misses."""
    lines = []
    for goal in dict.fromkeys(verdict.goal for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict.goal == goal]
        worst = max(mine, key=lambda verdict: verdict.ratio)
        state = "met" if worst.met else "MISSED"
        lines.append(
            f"{state:7}{goal:24} at most {worst.ratio:5.3f} (goal {worst.limit:g}) in {len(mine)}: {worst.where}"
        )
        lines += [f"       missed: {v.where}: {v.ratio:.3f}" for v in mine if not v.met and v is not worst]
    return lines


def as_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Verdicts as a summary has them."""
    return [
        {"goal": v.goal, "where": v.where, "ratio": round(v.ratio, 3), "limit": v.limit, "met": v.met} for v in verdicts
    ]


def chosen(text: str, known: Sequence[str], what: str) -> list[str]:
    """A list of words, each of which there is."""
    words = text.split(",")
    for word in words:
        if word not in known:
            raise LabError(f"there is no {what} {word!r}; there are: {', '.join(known)}")
    return words


def measure(arguments: list[str]) -> tuple[dict[str, Any], list[Row], int]:
    """Boot and run; what holds for all rows, the rows, and the guest's status."""
    command = [TOP / "scripts" / "lab", "exec", "--", TOP / "qdisc" / "tests" / "cost.py", *arguments]
    about: dict[str, Any] = {}
    rows: list[Row] = []
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            found = json.loads(line)
            if not about:
                about = found
                continue
            rows.append(found)
            print(
                f"cost: {name(kind(found))}, {found['flows']} flows, {found['qdisc']}:"
                f" {found['instructions_per_packet']:.0f}",
                file=sys.stderr,
            )
    return about, rows, process.returncode


def add_options(parser: argparse.ArgumentParser) -> None:
    """What may be left out."""
    parser.add_argument("--qdiscs", default=",".join(QDISCS), metavar="A,B", help="some of: %(default)s")
    parser.add_argument("--cases", default=",".join(CASES), metavar="A,B", help="some of: %(default)s")
    parser.add_argument("--flows", default=",".join(str(count) for count in FLOWS), metavar="N,M", help="%(default)s")
    parser.add_argument("--show", type=Path, metavar="FILE", help="tables and goals of a summary, without measuring")


def choices(arguments: argparse.Namespace) -> list[str]:
    """What was chosen, for the guest; raises LabError for what there is not."""
    qdiscs = chosen(arguments.qdiscs, QDISCS, "qdisc")
    cases = chosen(arguments.cases, CASES, "case")
    flows = chosen(arguments.flows, [str(count) for count in FLOWS], "number of flows")
    return ["--qdiscs", ",".join(qdiscs), "--cases", ",".join(cases), "--flows", ",".join(flows)]


def keep(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write the summary, which instructions and nanoseconds share, from what it was."""
    with files.locked(SUMMARY.parent / "lock"):
        summary = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
        files.write(SUMMARY, json.dumps(change(summary), indent=1) + "\n")


def run(arguments: argparse.Namespace) -> int:
    """Measure, write, draw, judge."""
    asked = choices(arguments)
    module = TOP / "build" / find_kernel(None) / "bench" / "qdisc_cost.ko"
    if not module.exists():
        raise LabError(f"{module.relative_to(TOP)} does not exist: run make lab-modules")
    about, rows, status = measure(asked)
    if not rows:
        return status or 1
    OUT.mkdir(parents=True, exist_ok=True)
    verdicts = judge(rows)
    keep(lambda _: {**about, "rows": rows, "goals": as_json(verdicts)})
    picture = over_flows(rows, OUT / "cost.png")
    print(f"instructions per packet, enqueue and dequeue, kernel {about['kernel']}\n")
    print(table(rows), end="\n\n")
    print("\n".join(verdict_lines(verdicts)))
    print(f"{SUMMARY.relative_to(TOP)} has all figures, {picture.relative_to(TOP)} shows them")
    return status or int(not all(verdict.met for verdict in verdicts))


def show(path: Path) -> int:
    """Table and verdicts of a run that was kept."""
    rows = json.loads(path.read_text())["rows"]
    print(table(rows), end="\n\n")
    print("\n".join(verdict_lines(judge(rows))))
    return 0


def main(arguments: argparse.Namespace) -> int:
    """Measure, or show what was measured."""
    return show(arguments.show) if arguments.show else run(arguments)
