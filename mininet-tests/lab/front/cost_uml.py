# SPDX-License-Identifier: GPL-2.0
"""Nanoseconds per packet of fq_rr and its peers, at this machine's own speed, in User Mode Linux.

    scripts/lab cost-native                                   everything: what make cost-native runs
    scripts/lab cost-native --qdiscs fq_rr,fq_codel --cases below --flows 1024,65536 --rounds 1
    scripts/lab cost-native --show out/cost/summary.json      its tables, without measuring

``lab cost`` does the same for instructions, which see no cache misses.  Here the same
program and module run in User Mode Linux.  All qdiscs are measured in turn, in several
rounds, and a row's figure is the median of its rounds: what else the machine did meanwhile
met all of them alike.  Only ratios of one run mean something elsewhere.  Status 0: all goals met,
1: one missed, 2: it cannot be measured here, or makes no sense.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..checkout import TOP
from ..guest import protocol
from ..machines import uml
from ..model.errors import LabError
from ..show.costs import over_flows
from . import cost
from .cost import NANOSECONDS, Row

ROUNDS = 5
# The name that readers of out/cost/summary.json know.
IN_SUMMARY = "native"
PEERS = ("fq_codel", "cake")


def place(row: Row) -> tuple[object, ...]:
    """What rows of several rounds have in common."""
    return cost.kind(row), row["flows"], row["qdisc"]


def medians(measured: Sequence[Row]) -> list[Row]:
    """Of each row's rounds the one in the middle, with the least and the most of all."""
    rounds: dict[tuple[object, ...], list[Row]] = {}
    for row in measured:
        rounds.setdefault(place(row), []).append(row)
    rows = []
    for same in rounds.values():
        costs = [row[NANOSECONDS.key] for row in same]
        middle = next(row for row in same if row[NANOSECONDS.key] == statistics.median_low(costs))
        rows.append({**middle, "least": min(costs), "most": max(costs), "rounds": len(costs)})
        del rows[-1]["round"]
    return rows


def lines_of(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """What is no goal: fq_rr's cost over its peers', and everybody's span from few flows to many."""
    places = cost.by_place((row for row in rows if not row["hashed"]), NANOSECONDS)
    over, spans = [], []
    for of in dict.fromkeys(of for of, _ in places):
        for peer in PEERS:
            found = [
                f"{costs['fq_rr'] / costs[peer]:.2f} ({flows})"
                for (other, flows), costs in places.items()
                if other == of and "fq_rr" in costs and peer in costs
            ]
            if found:
                over.append(f"{cost.name(of)}, over {peer}: {', '.join(found)}")
        few, many = (places.get((of, flows), {}) for flows in cost.FLAT_FLOWS)
        found = [f"{qdisc} {many[qdisc] / few[qdisc]:.2f}" for qdisc in cost.QDISCS if qdisc in few and qdisc in many]
        if found:
            spans.append(f"{cost.name(of)}: {', '.join(found)}")
    return over, spans


def report(found: dict[str, Any]) -> str:
    """Tables, ratios and goals as text."""
    rows = found["rows"]
    over, spans = lines_of(rows)
    few, many = cost.FLAT_FLOWS
    parts = [
        f"nanoseconds per packet, enqueue and dequeue, {found['processor']}, kernel {found['kernel']}",
        cost.table(rows, NANOSECONDS),
        "\n".join(["Cost of fq_rr over a peer's (at so many flows):", "", *(f"    {line}" for line in over)]),
        "\n".join([f"Cost at {many} flows over that at {few}:", "", *(f"    {line}" for line in spans)]),
        "\n".join(cost.verdict_lines(cost.judge(rows, NANOSECONDS))),
    ]
    return "\n\n".join(parts)


def measure(kernel: str, arguments: list[str], rounds: int) -> tuple[dict[str, Any], list[Row], int]:
    """Boot and run; what holds for all rows, the rows of all rounds, and the guest's status."""
    about: dict[str, Any] = {}
    rows: list[Row] = []
    status = 1
    program = str(TOP / "qdisc" / "tests" / "cost.py")
    options = ["--uml", "--no-gso", "--no-small", "--rounds", str(rounds), *arguments]
    with uml.UserModeLinux(kernel) as guest:
        guest.start({"kind": "exec", "command": [program, *options]})
        for kind, payload in guest.frames():
            if kind == protocol.EXIT:
                status = int(json.loads(payload)["status"])
                continue
            line = payload.decode().strip()
            if not line.startswith("{"):
                print(f"cost: User Mode Linux: {line}", file=sys.stderr)
                continue
            found = json.loads(line)
            if not about:
                about = found
                continue
            rows.append(found)
            about["huge_pages_mib"] = max(about.get("huge_pages_mib", 0), guest.huge_mib())
            print(
                f"cost: round {found['round'] + 1} of {rounds}: {cost.name(cost.kind(found))},"
                f" {found['flows']} flows, {found['qdisc']}: {found[NANOSECONDS.key]:.0f} ns",
                file=sys.stderr,
            )
    return about, rows, status


def join(summary: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The summary with what was found, and its rows with nanoseconds beside instructions, if of the same source."""
    costs = {place(row): row[NANOSECONDS.key] for row in found["rows"]}
    rows = summary.get("rows", [])
    if summary.get("modules") == found["modules"]:
        rows = [{**row, NANOSECONDS.key: costs[place(row)]} if place(row) in costs else row for row in rows]
    return {**summary, "rows": rows, IN_SUMMARY: found}


def run(arguments: argparse.Namespace) -> int:
    """Build, measure, write, draw, judge."""
    asked = cost.choices(arguments)
    if arguments.rounds < 1:
        raise LabError(f"--rounds {arguments.rounds}: at least 1")
    processor = uml.processor()
    about, measured, status = measure(uml.prepare(), asked, arguments.rounds)
    if not measured:
        return status or 1
    rows = medians(measured)
    verdicts = cost.judge(rows, NANOSECONDS)
    found = {**about, "processor": processor, "rows": rows, "goals": cost.as_json(verdicts)}
    cost.OUT.mkdir(parents=True, exist_ok=True)
    cost.keep(lambda summary: join(summary, found))
    picture = over_flows(rows, cost.OUT / "nanoseconds.png", "nanoseconds")
    print(report(found))
    print(f"{cost.SUMMARY.relative_to(TOP)} has all figures, {picture.relative_to(TOP)} shows them")
    return status or int(not all(verdict.met for verdict in verdicts))


def add_options(parser: argparse.ArgumentParser) -> None:
    """What may be left out, and how often."""
    cost.add_options(parser)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help="of which the median counts (%(default)s)"
    )


def main(arguments: argparse.Namespace) -> int:
    """Measure, or show what was measured."""
    if not arguments.show:
        return run(arguments)
    found = json.loads(Path(arguments.show).read_text()).get(IN_SUMMARY)
    if not found:
        raise LabError(f"{arguments.show} has no nanoseconds: run make cost-native")
    print(report(found))
    return 0
