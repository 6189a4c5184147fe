# SPDX-License-Identifier: GPL-2.0
"""fq_rr as a router's only queue: everybody's flows over it, fq_codel and CAKE, and who asks beside them.

    scripts/lab router                      all cases: what make router runs
    scripts/lab router --quick              one case of each kind
    scripts/lab router --case 8-20-100 --case page
    scripts/lab router --list
    scripts/lab router --document           write the tables into Documentation/router.rst as well

A case is a number of flows, the link's rate in Mbit/s and the path in ms; or a page beside uploads of its host.
All runs are in one study: a campaign that was interrupted goes on where it was, and only what uses a module that
has changed is run again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import router as found
from ..analyse.verdict import Row
from ..checkout import TOP
from ..model import scenario
from ..model.errors import PlanError
from ..show import router_tables
from ..store.engine import Engine
from ..store.sweep import Request
from . import campaign
from .measuring import Measured, in_guests, provenance
from .options import number

PROGRAM = "router"
SCENARIO = "router"
# The case of a page, whose scenario knows its queues' options.
PAGE, PAGE_SCENARIO, PAGE_SEEDS = "page", "page-beside-an-upload", 10
QUEUES = (found.OURS, *found.PEERS)
CCS = ("cubic", "bbr", found.PACKET_PAIR)
HALF = "cubic"
FLOWS, RATES_MBIT, PATHS_MS = (1, 8, 50), (2, 20, 100), (20, 100)
# A flow's share there is 40 kbit/s.
TOO_MANY = (50, 2)
SEEDS, MAX_SEEDS = 1, 10
DOCUMENT = TOP / "Documentation" / "router.rst"


@dataclass(frozen=True)
class Case:
    """One link with its flows."""

    flows: int
    rate_mbit: int
    path_ms: int

    @property
    def name(self) -> str:
        """As --case takes it."""
        return f"{self.flows}-{self.rate_mbit}-{self.path_ms}"


CASES = {
    case.name: case
    for case in (Case(flows, rate, path) for rate in RATES_MBIT for flows in FLOWS for path in PATHS_MS)
    if (case.flows, case.rate_mbit) != TOO_MANY
}
# The least of each kind: alone on a slow link, and several that share one.
QUICK = ("1-2-20", "8-20-20")
NAMES = (*CASES, PAGE)


def chosen(named: Sequence[str], quick: bool) -> list[str]:
    """The cases that are run, in their order; PlanError names one that there is not."""
    return campaign.chosen(named, quick, NAMES, QUICK)


def requests(names: Sequence[str], seeds: int, kernel: str = "") -> list[Request]:
    """Sweeps that have all runs of these cases."""
    one = scenario.load(SCENARIO)
    asked = []

    def request(case: Case, ccs: Sequence[str], queues: Sequence[str], **more: str) -> Request:
        values = {"flows": case.flows, "rate_mbit": case.rate_mbit, "round_trip": case.path_ms, **more}
        settings = tuple(f"{name}={value}" for name, value in values.items())
        return Request((one,), settings, tuple(ccs), tuple(queues), tuple(range(1, seeds + 1)), ("",), (kernel,))

    for case in [CASES[name] for name in names if name != PAGE]:
        asked.append(request(case, CCS, QUEUES))
        if case.flows > 1:
            asked.append(request(case, [found.PACKET_PAIR], QUEUES, beside=HALF))
            asked.append(request(case, [found.PACKET_PAIR], [found.OURS], beside=HALF, options=found.WITHOUT))
    if PAGE in names:
        page, page_seeds = scenario.load(PAGE_SCENARIO), tuple(range(1, PAGE_SEEDS + 1))
        asked.append(Request((page,), (), (HALF,), (found.OURS, found.HOSTS_PEER), page_seeds, ("",), (kernel,)))
    return asked


def rows(measured: Measured) -> list[dict[str, Any]]:
    """The lines of summary.json, each with the digest that the study has its raw result under."""

    def asked(run: Any) -> dict[str, Any]:
        case = Case(int(run.values["flows"]), round(run.values["rate_mbit"]), round(run.values["round_trip"]))
        return {
            "case": case.name,
            "flows": case.flows,
            "rate_mbit": run.values["rate_mbit"],
            "path_s": run.values["round_trip"] / 1e3,
            "qdisc": run.qdisc,
            "options": run.values["options"],
            "seed": run.seed,
            "run": measured.digests[run],
        }

    return found.rows(
        (asked(run), figures.metrics, list(found.groups(run.plan)))
        for run, figures in measured.runs.items()
        if run.scenario.name == SCENARIO
    )


def pages(measured: Measured) -> list[dict[str, Any]]:
    """What a page took in each run, s."""
    return [
        {"case": PAGE, "qdisc": run.qdisc, "seed": run.seed, "page_s": figures.metrics["page_s"],
         "run": measured.digests[run]}
        for run, figures in measured.runs.items()
        if run.scenario.name == PAGE_SCENARIO
    ]  # fmt: skip


def write(folder: Path, measured: Measured) -> dict[str, Any]:
    """summary.json; returns what it has."""
    of_all, of_pages = rows(measured), pages(measured)
    summary = {
        **provenance(measured),
        "scenario": SCENARIO,
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, measured.runs)), 1),
        "goals": [
            one.as_data() for one in (*found.judge(of_all), *found.judge_lengths(of_all), *found.judge_pages(of_pages))
        ],
        "rows": of_all,
        "pages": of_pages,
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    campaign.add_options(parser, PROGRAM, f"{len(QUICK)} cases: {', '.join(QUICK)}")
    parser.add_argument("--document", action="store_true", help="write the tables into Documentation/router.rst")
    parser.add_argument(
        "--seeds", type=number(1, MAX_SEEDS), default=SEEDS, metavar="N", help=f"repeats, 1 to {MAX_SEEDS} ({SEEDS})"
    )


def line(row: Row) -> str:
    """A row for the terminal, in ms and Mbit/s."""
    queue = f"{row['qdisc']} {row['options']}".strip()
    beside = f" beside {row['beside']}" if row["beside"] else ""
    delays = f"{row['delay_p50_s'] * 1e3:8.1f} {row['delay_p99_s'] * 1e3:8.1f}"
    asked = f"{row['probe_p99_s'] * 1e3:8.1f} {row['request_p99_s'] * 1e3:8.1f} {row['name_p99_s'] * 1e3:8.1f}"
    numbers = f"{delays} {row['goodput_mbit']:8.3f} {asked} {row['drops']:7} {row['marks']:6}"
    return f"{row['case']:10} {row['cc'] + beside:20} {queue:14} {numbers}"


HEAD = (
    f"{'case':10} {'flows of':20} {'queue':14} {'p50, ms':>8} {'p99, ms':>8} {'Mbit/s':>8} {'probe':>8} {'request':>8}"
    f" {'name':>8} {'drops':>7} {'marks':>6}"
)


def terminal(summary: dict[str, Any]) -> str:
    """All rows, and what pages took."""
    lines = [HEAD, *(line(row) for row in summary["rows"])]
    for queue in dict.fromkeys(page["qdisc"] for page in summary["pages"]):
        took = [page["page_s"] for page in summary["pages"] if page["qdisc"] == queue]
        lines.append(f"{PAGE:10} beside uploads: {queue}: {sum(took) / len(took):.3f} s, mean of {len(took)} seeds")
    return "\n".join(lines)


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    if arguments.document and (arguments.quick or arguments.case):
        raise PlanError("--document writes what all cases gave: without --quick, --case")
    planned = requests(chosen(arguments.case, arguments.quick), arguments.seeds, arguments.kernel)
    folder = arguments.out

    def written(place: Path, measured: Measured) -> dict[str, Any]:
        summary = write(place, measured)
        if arguments.document:
            router_tables.document(DOCUMENT, summary)
        return summary

    last = f"{folder / 'summary.json'} has all rows; scripts/lab report {folder / campaign.STUDY} draws them."
    return campaign.run(PROGRAM, arguments, engine, planned, written, terminal, router_tables.sentence, last)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a goal is missed or something could not be measured, 2 for bad input, 130 if interrupted."""
    if arguments.list:
        print("\n".join(chosen(arguments.case, arguments.quick)))
        return 0
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
