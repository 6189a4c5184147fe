# SPDX-License-Identifier: GPL-2.0
"""The nine file transfer benchmarks of packet-pair-1994, 9.4, for pktpair and its peers.

    scripts/lab transfers                     all of them: what make transfers runs
    scripts/lab transfers --quick             one seed, open hosts
    scripts/lab transfers --base REVISION     beside that revision's modules: what is worse
    scripts/lab transfers --only b1,b3 --cc pktpair --qdisc fq_rr --hosts open --seeds 1

All runs are in one study: a campaign that was interrupted goes on where it was, and only
what uses a module that has changed is run again. Slowdowns and verdicts are computed
from the raw results every time.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import builds, transfer_goals
from ..checkout import TOP
from ..model import scenario
from ..model.benchmarks import SETTINGS
from ..model.errors import PlanError
from ..model.our_modules import PACKET_PAIR_OVER_ROUND_ROBIN
from ..model.scenario import Scenario
from ..show import slowdowns
from ..store.engine import Engine
from ..store.run import Run
from ..store.study import Study
from ..store.sweep import Request
from .measuring import Measured, in_guests, measure, provenance, versions
from .options import MAX_GUESTS, MAX_SEEDS, number
from .run import summary_lines

CCS = ("pktpair", "bbr", "cubic")
QDISCS = ("fq_rr", "fq_codel", "cake")
BENCHMARKS = tuple(f"b{n}" for n in range(1, 10))
# The setting that is the memorandum's own is lab reproduce's.
HOSTS = tuple(name for name, setting in SETTINGS.items() if not setting.published)
SEEDS = 3
RANDOM_TRAFFIC_SEEDS = 5
RANDOM_TRAFFIC = ("b7",)
GRO_BENCHMARKS = ("b1", "b2", "b3")
# The reading of b7 in which its sources start one after another; peers are not asked.
STAGGERED = ("b7",)
# Below the folder of the results.
STUDY = "study"
DOCUMENT = TOP / "Documentation" / "transfers.rst"
# Of a revision's name, as a label in the study.
SHORT_HASH = 12


@dataclass(frozen=True)
class Selection:
    """What is to be run; every field is a choice from what there is."""

    benchmarks: tuple[str, ...] = BENCHMARKS
    ccs: tuple[str, ...] = CCS
    qdiscs: tuple[str, ...] = QDISCS
    hosts: tuple[str, ...] = HOSTS
    seeds: int = RANDOM_TRAFFIC_SEEDS


def scenarios() -> dict[str, Scenario]:
    """The benchmarks' scenarios by their number."""
    numbered = {name.partition("-")[0]: name for name in scenario.names()}
    return {benchmark: scenario.load(numbered[benchmark]) for benchmark in BENCHMARKS}


def is_wanted(benchmark: str, cc: str, qdisc: str, hosts: str) -> bool:
    """Whether a combination is part of the campaign: some settings of the hosts are for pktpair alone."""
    ours = cc == PACKET_PAIR_OVER_ROUND_ROBIN[0]
    if hosts == "stock-gro":
        return ours and benchmark in GRO_BENCHMARKS
    if hosts == "nowindow":
        return ours and qdisc == PACKET_PAIR_OVER_ROUND_ROBIN[1]
    return True


def requests(selection: Selection, of_builds: Sequence[str] = ("",), kernel: str = "") -> list[Request]:
    """A sweep for each combination and benchmark."""
    known = scenarios()
    found = []
    for hosts in selection.hosts:
        for cc in selection.ccs:
            for qdisc in selection.qdiscs:
                for benchmark in selection.benchmarks:
                    if not is_wanted(benchmark, cc, qdisc, hosts):
                        continue
                    settings = [f"hosts={hosts}"]
                    if benchmark in STAGGERED and (cc != PACKET_PAIR_OVER_ROUND_ROBIN[0] or hosts == "nowindow"):
                        settings.append("staggered=no")
                    most = RANDOM_TRAFFIC_SEEDS if benchmark in RANDOM_TRAFFIC else SEEDS
                    found.append(
                        Request(
                            (known[benchmark],),
                            tuple(settings),
                            (cc,),
                            (qdisc,),
                            tuple(range(1, min(most, selection.seeds) + 1)),
                            tuple(of_builds),
                            (kernel,),
                        )
                    )
    return found


def rows(measured: Measured, build: str) -> list[dict[str, Any]]:
    """The lines of summary.json for one build of the modules."""
    found = []
    for run, figures in measured.runs.items():
        if run.build == build:
            found += summary_lines(run, figures.metrics)
    return found


def cpu_seconds(measured: Measured) -> dict[str, float]:
    """What the checkout's runs took of a core when they were measured, by combination."""
    found: dict[str, float] = {}
    for run in measured.runs:
        if not run.build:
            name = f"{run.values['hosts']}-{run.cc}-{run.qdisc}"
            found[name] = found.get(name, 0.0) + measured.cpu_s(run)
    return {name: round(total, 1) for name, total in found.items()}


def differing(measured: Measured) -> set[tuple[str, ...]]:
    """Combinations of which some run is another one with the base's modules."""
    digests: dict[tuple[Any, ...], set[str]] = {}
    keys: dict[tuple[Any, ...], tuple[str, ...]] = {}
    for run, digest in measured.digests.items():
        same = (run.scenario.name, tuple(run.values.items()), run.cc, run.qdisc, run.seed)
        digests.setdefault(same, set()).add(digest)
        keys[same] = _combination(run)
    return {keys[same] for same, found in digests.items() if len(found) > 1}


def _combination(run: Run) -> tuple[str, ...]:
    row_set = run.scenario.module.benchmark(run.values, run.seed).row_sets[0]
    return (row_set, run.values["hosts"], run.cc, run.qdisc)


def build_label(base: str) -> str:
    """What the study calls the base: a folder by its path, a revision by its commit, wherever a branch points later."""
    if Path(base).is_dir():
        return str(Path(base).resolve())
    command = ["git", "-C", str(TOP), "rev-parse", "--verify", "--quiet", f"--short={SHORT_HASH}", f"{base}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PlanError(f"--base {base}: neither a folder nor a revision of this checkout")
    return done.stdout.strip()


@dataclass(frozen=True)
class Result:
    """What a campaign has found.

    :param rows: of summary.json
    :param changes: beside the base, if there is one
    """

    rows: list[dict[str, Any]]
    lines: list[transfer_goals.Line]
    verdicts: list[transfer_goals.Verdict]
    changes: list[builds.Change]
    commit: str
    kernel: str


def write(folder: Path, measured: Measured, base: str = "") -> Result:
    """summary.json and a picture per benchmark.

    :param base: label of the base's build, or nothing
    """
    of_all = rows(measured, "")
    lines = transfer_goals.lines(of_all)
    verdicts = transfer_goals.judge(lines)
    by_build = {build: one for (_, build), one in measured.surroundings.items()}
    summary = {
        **provenance(measured),
        "study": STUDY,
        "cpu_seconds": cpu_seconds(measured),
        "goals": [vars(verdict) for verdict in verdicts],
        "rows": of_all,
    }
    changes = []
    if base:
        changes = builds.changes(lines, transfer_goals.lines(rows(measured, base)), differing(measured))
        summary["base"] = {
            "build": base,
            "modules": versions(by_build[base]),
            "rows": [change.as_data() for change in changes],
        }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    for benchmark in dict.fromkeys(line.benchmark for line in lines):
        slowdowns.picture(lines, benchmark, folder / f"{benchmark}.png")
    return Result(of_all, lines, verdicts, changes, str(summary["commit"]), by_build[""].release)


def chosen(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """A comma-separated choice, in the order of what there is."""
    given = text.split(",")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: must be of {', '.join(known)}")
    return tuple(name for name in known if name in given)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    whole = Selection()
    choices = (("only", whole.benchmarks), ("cc", whole.ccs), ("qdisc", whole.qdiscs), ("hosts", whole.hosts))
    for name, known in choices:
        parser.add_argument(
            f"--{name}",
            type=functools.partial(chosen, known=known),
            default=known,
            metavar="A,B,...",
            help=f"of {', '.join(known)} (all)",
        )
    parser.add_argument(
        "--seeds", type=number(1, MAX_SEEDS), default=whole.seeds, metavar="N", help="at most so many of each row"
    )
    parser.add_argument("--quick", action="store_true", help="the same as --hosts open --seeds 1")
    parser.add_argument(
        "--guests", type=number(1, MAX_GUESTS), default=2, metavar="N", help="at a time; each uses one core (2)"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept from before")
    parser.add_argument(
        "--base",
        metavar="REVISION|FOLDER",
        help="beside the modules of that: which rows are worse",
    )
    parser.add_argument(
        "--document",
        action="store_true",
        help="write the table into Documentation/transfers.rst, and each run's rows beside it as CSV",
    )
    parser.add_argument("--kernel", default="", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument("--out", type=Path, default=TOP / "out" / "transfers", metavar="FOLDER")


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    if arguments.quick:
        arguments.hosts, arguments.seeds = ("open",), 1
    selection = Selection(arguments.only, arguments.cc, arguments.qdisc, arguments.hosts, arguments.seeds)
    if arguments.document and selection != Selection():
        raise PlanError("--document writes what all rows gave: without --quick, --only, --cc, --qdisc, --hosts")
    began = time.monotonic()
    base = build_label(arguments.base) if arguments.base else ""
    of_builds = ("", base) if base else ("",)
    planned = requests(selection, of_builds, arguments.kernel)
    if not planned:
        raise PlanError("nothing to run: stock-gro is for pktpair on b1-b3, nowindow for pktpair over fq_rr")
    study = Study(arguments.out / STUDY)
    measured = measure("transfers", study, engine, planned, guests=arguments.guests, fresh=arguments.fresh)
    result = write(arguments.out, measured, base)
    print(slowdowns.terminal(result.lines, result.verdicts))
    for miss in slowdowns.misses(result.verdicts):
        print(f"  MISSED  {miss}")
    if base:
        print(f"\n{slowdowns.beside_base(result.changes, arguments.base)}")
    if arguments.document:
        slowdowns.document(DOCUMENT, result.rows, result.lines, result.verdicts, result.commit, result.kernel)
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes. Figures and pictures are in {arguments.out}")
    return 0


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if something could not be measured, 2 for bad input, 130 if interrupted."""
    return in_guests("transfers", lambda engine: run(arguments, engine))
