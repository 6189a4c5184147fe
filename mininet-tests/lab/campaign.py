# SPDX-License-Identifier: GPL-2.0
"""The nine benchmarks for pktpair and its peers: which runs, in which boots.

A boot carries all runs of one congestion control over one queue.  What a boot
has found is kept with a digest of all that went into it, so that a campaign
that was interrupted goes on where it stopped, and what is new is measured anew.
(Snakemake would add 50 packages to the environment for these few lines.)
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cli, files, goals, runner, scenario, transfer_report, transfers
from .progress import BOOT_WEIGHT, Progress
from .vm import TOP, LabError, leave_no_guest, measuring_guest

CCS = ("pktpair", "bbr", "cubic")
QDISCS = ("fq_rr", "fq_codel", "cake")
BENCHMARKS = tuple(f"b{n}" for n in range(1, 10))
SEEDS = 3
RANDOM_TRAFFIC_SEEDS = 5
RANDOM_TRAFFIC = ("b7",)
GRO_BENCHMARKS = ("b1", "b2", "b3")
# What a boot's results depend on, beside the kernel, the modules in use and the plans.
INGREDIENTS = (
    *("model/arrivals", "guest/agent", "image", "links", "measure", "network"),
    *("protocol", "reference", "runner", "traffic", "transfers", "vm"),
)
DOCUMENT = TOP / "Documentation" / "transfers.rst"
# First guess for the progress bar: what a run takes on a core of 2020.
RUN_S = 6.0


@dataclass(frozen=True)
class Selection:
    """What is to be run; every field is a choice from what there is."""

    benchmarks: tuple[str, ...] = BENCHMARKS
    ccs: tuple[str, ...] = CCS
    qdiscs: tuple[str, ...] = QDISCS
    hosts: tuple[str, ...] = tuple(transfers.SETTINGS)
    seeds: int = RANDOM_TRAFFIC_SEEDS


@dataclass
class Boot:
    """Runs that share a boot, and where their results are kept."""

    name: str
    jobs: list[runner.Job]


def scenarios() -> dict[str, scenario.Scenario]:
    """The benchmarks' scenarios by their number."""
    numbered = {name.partition("-")[0]: name for name in scenario.names()}
    return {benchmark: scenario.load(numbered[benchmark]) for benchmark in BENCHMARKS}


def wanted(benchmark: str, values: dict[str, Any], cc: str, qdisc: str, hosts: str) -> bool:
    """Whether a run is part of the campaign: some settings are for pktpair alone."""
    ours = cc == "pktpair"
    if hosts == "stock-gro":
        return ours and benchmark in GRO_BENCHMARKS
    if hosts == "nowindow":
        return ours and qdisc == "fq_rr" and values.get("staggered", "no") == "no"
    return ours or values.get("staggered", "no") == "no"


def boots(selection: Selection) -> list[Boot]:
    """All runs of a selection, those of one boot together."""
    found = []
    known = scenarios()
    for hosts in selection.hosts:
        for cc in selection.ccs:
            for qdisc in selection.qdiscs:
                jobs = []
                for benchmark in selection.benchmarks:
                    one = known[benchmark]
                    most = RANDOM_TRAFFIC_SEEDS if benchmark in RANDOM_TRAFFIC else SEEDS
                    for values in one.all_values([f"hosts={hosts}"]):
                        if wanted(benchmark, values, cc, qdisc, hosts):
                            seeds = range(1, min(most, selection.seeds) + 1)
                            jobs += [runner.make_job(one, cc, qdisc, seed, values) for seed in seeds]
                if jobs:
                    found.append(Boot(f"{hosts}-{cc}-{qdisc}", jobs))
    return found


def digest(boot: Boot, kernel: str | None) -> str:
    """Changes with anything that a boot's results come from."""
    machine = measuring_guest(kernel, "virtual")
    with machine as guest:
        parts = [guest.kernel, json.dumps([job.plan.for_guest(False) for job in boot.jobs])]
        used = [path for path in guest.modules() if path.stem in runner.modules_of(boot.jobs)]
        files = [*used, *(Path(__file__).parent / f"{name}.py" for name in INGREDIENTS)]
    parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in [*files, TOP / "mininet-tests" / "topology.py"]]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def kept(path: Path, key: str) -> list[dict[str, Any]] | None:
    """What was found earlier, if nothing has changed since."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    return list(content["runs"]) if content["key"] == key else None


def run_boot(boot: Boot, kernel: str | None, trace: Path | None, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """One boot's runs; LabError if one could not be done."""

    def ended(index: int, run: dict[str, Any] | None) -> None:
        if run is not None:
            report(boot.jobs[index].title)

    with measuring_guest(kernel, "virtual") as machine:
        runs = runner.run_jobs(boot.jobs, machine, ended, trace_folder=trace)
    for run in runs:
        if run["error"] or run["warnings"]:
            details = "\n".join(f"    {line}" for line in run["warnings"] or run["dmesg_tail"])
            raise LabError(
                f"{run['scenario']} {run['cc']}+{run['qdisc']} seed {run['seed']}:"
                f" {run['error'] or 'the kernel complained'}\n{details}"
            )
    return runs


def measure(arguments: argparse.Namespace, planned: list[Boot]) -> list[dict[str, Any]]:
    """All runs, from earlier boots or from new ones, as many at a time as was asked for."""
    folder = arguments.out / "boots"
    folder.mkdir(parents=True, exist_ok=True)
    keys = {boot.name: digest(boot, arguments.kernel) for boot in planned}
    found = {boot.name: kept(folder / f"{boot.name}.json", keys[boot.name]) for boot in planned}
    due = [boot for boot in planned if found[boot.name] is None or arguments.fresh or arguments.trace]
    if len(due) < len(planned):
        print(f"transfers: {len(planned) - len(due)} of {len(planned)} boots are kept from before", file=sys.stderr)
    # The longest first, so that the last one does not keep a core waiting.
    due.sort(key=lambda boot: -sum(job.plan.packets for job in boot.jobs))  # type: ignore[union-attr]
    with Progress(len(due), sum(len(boot.jobs) for boot in due), RUN_S) as progress:

        def one(boot: Boot) -> None:
            guest = due.index(boot)
            progress.begin(guest, f"{boot.name}: booting", BOOT_WEIGHT)
            left = len(boot.jobs)

            def report(title: str) -> None:
                nonlocal left
                if left == len(boot.jobs):
                    progress.end(guest, f"{boot.name} is up")
                    progress.begin(guest, title)
                left -= 1
                progress.end(guest, title)
                if left:
                    progress.begin(guest, boot.name)

            runs = run_boot(boot, arguments.kernel, arguments.trace, report)
            content = {"key": keys[boot.name], "runs": runs}
            files.write(folder / f"{boot.name}.json", json.dumps(content, indent=1) + "\n")
            found[boot.name] = runs

        with ThreadPoolExecutor(arguments.guests) as pool:
            for result in [pool.submit(one, boot) for boot in due]:
                result.result()
    return [run for boot in planned for run in found[boot.name] or []]


def write(
    folder: Path, runs: list[dict[str, Any]], planned: list[Boot]
) -> tuple[list[goals.Line], list[goals.Verdict]]:
    """summary.json and a picture per benchmark; returns the table's lines and all verdicts."""
    from . import figures  # slow to import, and not needed before

    rows = [row for run in runs for row in run["rows"]]
    lines = goals.lines(rows)
    verdicts = goals.judge(lines)
    summary = {
        "commit": transfer_report.commit(),
        **{key: runs[0][key] for key in ("kernel", "modules", "clock")},
        "cpu_seconds": {
            boot.name: round(sum(run["cpu_seconds"] for run in found), 1) for boot, found in by_boot(runs, planned)
        },
        "goals": [vars(verdict) for verdict in verdicts],
        "rows": rows,
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    for benchmark in dict.fromkeys(line.benchmark for line in lines):
        figures.transfers(lines, benchmark, folder / f"{benchmark}.png")
    return lines, verdicts


def by_boot(runs: list[dict[str, Any]], planned: list[Boot]) -> Iterable[tuple[Boot, list[dict[str, Any]]]]:
    """Runs are in the order of the boots that were planned."""
    left = iter(runs)
    for boot in planned:
        yield boot, [next(left) for _ in boot.jobs]


def chosen(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """A comma-separated choice, in the order of what there is."""
    given = text.split(",")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: must be of {', '.join(known)}")
    return tuple(name for name in known if name in given)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="transfers", description="The file transfer benchmarks of packet-pair-1994.")
    choices = (("only", BENCHMARKS), ("cc", CCS), ("qdisc", QDISCS), ("hosts", tuple(transfers.SETTINGS)))
    for name, known in choices:
        top.add_argument(
            f"--{name}",
            type=functools.partial(chosen, known=known),
            default=known,
            metavar="A,B,...",
            help=f"of {', '.join(known)} (all)",
        )
    top.add_argument("--seeds", type=int, default=RANDOM_TRAFFIC_SEEDS, metavar="N", help="at most so many of each row")
    top.add_argument("--quick", action="store_true", help="the same as --hosts open --seeds 1")
    top.add_argument("--guests", type=int, default=2, metavar="N", help="at a time; each uses one core (2)")
    top.add_argument("--fresh", action="store_true", help="measure again what is kept from before")
    top.add_argument("--trace", type=Path, metavar="FOLDER", help="keep each run's acknowledgements and samples there")
    top.add_argument("--document", action="store_true", help="write the tables into Documentation/transfers.rst")
    top.add_argument("--kernel", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    top.add_argument("--out", type=Path, default=TOP / "out" / "transfers", metavar="FOLDER")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; status 1 only if something could not be measured."""
    arguments = parser().parse_args(argv)
    leave_no_guest()
    if arguments.quick:
        arguments.hosts, arguments.seeds = ("open",), 1
    began = time.monotonic()
    try:
        selection = Selection(arguments.only, arguments.cc, arguments.qdisc, arguments.hosts, arguments.seeds)
        planned = boots(selection)
        if not planned:
            raise LabError("nothing to run: stock-gro is for pktpair on b1-b3, nowindow for pktpair over fq_rr")
        cli.check_modules([job for boot in planned for job in boot.jobs], measuring_guest(arguments.kernel, "virtual"))
        runs = measure(arguments, planned)
    except LabError as error:
        print(f"transfers: {error}", file=sys.stderr)
        return 1
    lines, verdicts = write(arguments.out, runs, planned)
    print(transfer_report.terminal(lines, verdicts))
    for miss in transfer_report.misses(verdicts):
        print(f"  MISSED  {miss}")
    if arguments.document:
        transfer_report.document(DOCUMENT, lines, verdicts, transfer_report.commit(), runs[0]["kernel"])
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes. Figures and pictures are in {arguments.out}")
    return 0
