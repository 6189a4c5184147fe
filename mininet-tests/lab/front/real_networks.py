# SPDX-License-Identifier: GPL-2.0
"""Packet pair on real networks: bunched ACKs, merged packets, routes that change, FIFOs and policers.

    scripts/lab real-networks                       all cases: what make real-networks runs
    scripts/lab real-networks --quick               a handful of them, one seed
    scripts/lab real-networks --case policer-5-20ms --case route-40-160-there
    scripts/lab real-networks --list

Each case is run for pktpair, bbr and cubic. All runs are in one study: a campaign that was
interrupted goes on where it was, and only what uses a module that has changed is run again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import real_network_goals as goals
from ..analyse.real_networks import of_row
from ..analyse.verdict import Verdict
from ..model import scenario
from ..model.real_networks import CASES, CCS, QUICK, SEEDS
from ..store.engine import Engine
from ..store.run import Run
from ..store.sweep import Request
from . import campaign
from .measuring import Measured, in_guests, provenance

PROGRAM = "real-networks"
SCENARIO = "real-networks"
# Cases of which runs are drawn over time: their raw results are all in memory.
MAX_DRAWN = 12


def chosen(named: Sequence[str], quick: bool) -> list[str]:
    """The cases that are run, in their order; PlanError names one that there is not."""
    return campaign.chosen(named, quick, CASES, QUICK)


def requests(names: Sequence[str], quick: bool = False, kernel: str = "") -> list[Request]:
    """A sweep for each number of seeds."""
    one = scenario.load(SCENARIO)
    qdiscs = tuple(qdisc for _, qdisc in one.combinations)
    by_seeds: dict[int, list[str]] = {}
    for name in names:
        by_seeds.setdefault(1 if quick else SEEDS[CASES[name].kind], []).append(name)
    return [
        Request((one,), (f"case={','.join(group)}",), CCS, qdiscs, tuple(range(1, seeds + 1)), ("",), (kernel,))
        for seeds, group in by_seeds.items()
    ]


def in_order(measured: Measured) -> list[Run]:
    """Runs case by case, whichever sweep they are of."""
    places = {name: index for index, name in enumerate(CASES)}
    return sorted(measured.runs, key=lambda run: (places[run.values["case"]], CCS.index(run.cc), run.seed))


def rows(measured: Measured) -> list[dict[str, Any]]:
    """The lines of summary.json, each with the digest that the study has its raw result under."""
    runs = in_order(measured)
    found = goals.rows(
        ({"case": run.values["case"], "cc": run.cc, "seed": run.seed}, of_row(measured.runs[run].metrics))
        for run in runs
    )
    return [{**row, "run": measured.digests[run]} for run, row in zip(runs, found, strict=True)]


def described(measured: Measured, verdicts: Sequence[Verdict]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Of cases with a missed goal, the first run of each congestion control, with its series."""
    missed = dict.fromkeys(one.case for one in verdicts if not one.met and one.case in CASES)
    found = []
    for name in list(missed)[:MAX_DRAWN]:
        first = [run for run in in_order(measured) if run.values["case"] == name and run.seed == 1]
        found.append((name, [{"cc": run.cc, "qdisc": run.qdisc, "series": measured.series(run)} for run in first]))
    return found


def write(folder: Path, measured: Measured) -> dict[str, Any]:
    """summary.json and report.html; returns what the former has."""
    from ..show import real_networks as shown

    of_all = rows(measured)
    verdicts = goals.judge(of_all)
    names = dict.fromkeys(row["case"] for row in of_all)
    summary = {
        **provenance(measured),
        "scenario": SCENARIO,
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, measured.runs)), 1),
        "parameters": {name: asdict(CASES[name]) for name in names},
        "goals": [one.as_data() for one in verdicts],
        "rows": of_all,
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    files.write(folder / "report.html", shown.page(summary, described(measured, verdicts)))
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    campaign.add_options(parser, PROGRAM, f"{len(QUICK)} cases, or those of --case, with one seed")


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    from ..show import real_networks as shown

    planned = requests(chosen(arguments.case, arguments.quick), arguments.quick, arguments.kernel)
    last = f"Open {arguments.out / 'report.html'}."
    return campaign.run(PROGRAM, arguments, engine, planned, write, shown.terminal, shown.sentence, last)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a goal is missed or something could not be measured, 2 for bad input, 130 if interrupted."""
    if arguments.list:
        from ..show import real_networks as shown

        # what is named wrongly is refused here as well: by the command line's own handler
        print(shown.listed(chosen(arguments.case, arguments.quick)))
        return 0
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
