# SPDX-License-Identifier: GPL-2.0
"""Four papers re-run on the real stack, in one report: packet pair, overload, the thesis' chapter 6, and QLBP.

    scripts/lab reproduce            what make reproduce runs
    scripts/lab reproduce --quick    one seed, a part of each curve: what make reproduce-quick runs
    scripts/lab reproduce --full     the papers' own lengths (overload: 420 s a run)
    scripts/lab reproduce --only packet-pair-1994
    scripts/lab reproduce --kept     judge what there is, and run nothing
    scripts/lab reproduce --document  and write what was found to Documentation/results/

All runs are in one study: a campaign that was interrupted goes on where it was, and only what uses a
module that has changed is run again. out/reproduce/summary.json has a row for each check of the four papers,
among them those that nothing measures yet, and report.html shows them with a picture of each figure.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .. import files
from ..checkout import TOP
from ..model import papers
from ..show import reproduce as show
from ..show import results
from ..store.engine import Engine
from . import campaign, overload, packet_pair, qlbp, thesis
from .measuring import Measured, in_guests, provenance
from .paper import FULL, QUICK, USUAL, Asked, Judged

PROGRAM = "reproduce"
RESULTS = TOP / "Documentation" / "results"
# In the order of the report.
PAPERS = ("packet-pair-1994", "overload-1995", "thesis-ch6", "qlbp-2011")
RERUN = {one.name: one for one in (packet_pair.PAPER, overload.PAPER, thesis.PAPER, qlbp.PAPER)}
# Of packet pair's runs; the other papers' have one seed, and say why.
SEEDS, MAX_SEEDS = 1, 10
# A bound that was proposed for a real stack is this project's.
ORIGINS = {"proposed": "ours"}


def not_measured(paper: str) -> Judged:
    """Rows of a paper that is not re-run: none has passed."""
    rows = [
        {
            **{"id": entry.id, "number": number, "kind": entry.kind, "check": check.as_data(), "origin": check.origin},
            **{"published": entry.published, "preset": "", "cc": "", "qdisc": "", "measured": None, "pass": False},
            **{"not_measured": entry.out or "not measured: this paper was not re-run", "beside": {}, "seeds": []},
            **{"length_s": None, "parameters": {}},
        }
        for entry in papers.load(paper).entries
        for number, check in enumerate(entry.checks)
    ]
    return Judged(rows, {})


def write(folder: Path, measured: Measured, asked: Asked, wanted: Collection[str]) -> dict[str, Any]:
    """summary.json and report.html; returns what the first has.

    :param wanted: papers that were run
    """
    judged = {name: RERUN[name].judged(measured, asked) if name in wanted else not_measured(name) for name in PAPERS}
    summary = {
        **provenance(measured),
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, measured.runs)), 1),
        "runs": len(measured.runs),
        "length": asked.length,
        "seeds": asked.seeds,
        "papers": {
            name: {"title": papers.load(name).title, "run": name in wanted, "data": one.data}
            for name, one in judged.items()
        },
        "rows": [
            {**row, "paper": name, "origin": ORIGINS.get(row["origin"], row["origin"])}
            for name, one in judged.items()
            for row in one.rows
        ],
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    files.write(folder / "report.html", page(summary))
    return summary


def page(summary: dict[str, Any]) -> str:
    """The report, of a summary."""
    sections = {name: RERUN[name].section(one["data"]) for name, one in summary["papers"].items() if one["run"]}
    return show.page(summary, sections)


def document(summary: dict[str, Any], folder: Path) -> None:
    """A page and a raw result for each paper that was run; those of others stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    for name in (name for name, one in summary["papers"].items() if one["run"]):
        section = RERUN[name].section(summary["papers"][name]["data"])
        shown, drawn = results.picture(section) or ("", "")
        files.write(folder / f"{name}.rst", results.page(summary, name, date, section, shown))
        if drawn:
            files.write(folder / f"{name}.svg", drawn)
        files.write(folder / f"{name}.json", results.raw(summary, name))
    known = [name for name in PAPERS if (folder / f"{name}.rst").exists()]
    rows = {name: json.loads((folder / f"{name}.json").read_text())["rows"] for name in known}
    files.write(folder / "index.rst", results.index(rows))


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="one seed, a part of each curve")
    extent.add_argument("--full", action="store_true", help="the papers' own lengths")
    parser.add_argument("--only", choices=list(RERUN), help="one of the papers that are re-run")
    parser.add_argument("--document", action="store_true", help="also write Documentation/results/")
    campaign.add_check_options(parser, PROGRAM, SEEDS, MAX_SEEDS)


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    length = QUICK if arguments.quick else FULL if arguments.full else USUAL
    asked = Asked(length, 1 if arguments.quick else arguments.seeds, arguments.kernel)
    wanted = (arguments.only,) if arguments.only else tuple(RERUN)
    planned = [request for name in wanted for request in RERUN[name].requests(asked)]

    def written(folder: Path, measured: Measured) -> dict[str, Any]:
        summary = write(folder, measured, asked, wanted)
        # what is published is of a whole campaign
        if arguments.document and not measured.failure:
            document(summary, RESULTS)
        return summary

    last = f"{arguments.out / 'summary.json'} has all of them, {arguments.out / 'report.html'} draws them."
    return campaign.run_checks(PROGRAM, arguments, engine, planned, written, last)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a check does not hold or was not measured, 2 for bad input, 130 if interrupted."""
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
