# SPDX-License-Identifier: GPL-2.0
"""The main job: pktpair over fq_rr beside the peers that one would use instead.

Eight combinations, in two guests at once, since a guest in virtual time uses one
core.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import files, runner, scenario
from .progress import BOOT_WEIGHT, Progress
from .vm import TOP, LabError, leave_no_guest, measuring_guest

SCENARIO = "demo-dumbbell"
GUESTS = 2
# First guess for the progress bar: what a run takes on a core of 2020.
RUN_S = 35.0
ROW_KEYS = (
    "utilisation",
    "jain",
    "goodput_bit_s",
    "queue_delay_p50_s",
    "queue_delay_p95_s",
    "queue_delay_p99_s",
    "retransmits",
    "drops",
)
UTILISATION_GOAL = 0.97
JAIN_GOAL = 0.98


def row(run: dict[str, Any]) -> dict[str, Any]:
    """A run's line in summary.json."""
    metrics = {**run["metrics"], "goodput_bit_s": run["metrics"]["window_goodput_bit_s"]}
    return {"cc": run["cc"], "qdisc": run["qdisc"], **{key: metrics[key] for key in ROW_KEYS}}


def judge(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What pktpair over fq_rr is to reach, and whether it did."""
    by_name = {(entry["cc"], entry["qdisc"]): entry for entry in rows}
    ours = by_name["pktpair", "fq_rr"]
    bbr = by_name["bbr", "fq_codel"]
    fewest = min(entry["retransmits"] for entry in rows if entry is not ours)
    goals = [
        (
            ours["utilisation"] >= UTILISATION_GOAL,
            f"link used at least {UTILISATION_GOAL * 100:.0f} % (measured {ours['utilisation'] * 100:.2f} %)",
        ),
        (ours["jain"] >= JAIN_GOAL, f"Jain index at least {JAIN_GOAL} (measured {ours['jain']:.5f})"),
        (
            ours["retransmits"] <= fewest,
            f"no more retransmissions than any other combination (measured {ours['retransmits']}, fewest {fewest})",
        ),
        (
            ours["queue_delay_p99_s"] <= bbr["queue_delay_p99_s"],
            f"p99 queue delay no more than BBR over fq_codel (measured {ours['queue_delay_p99_s'] * 1e3:.1f} ms, "
            f"BBR {bbr['queue_delay_p99_s'] * 1e3:.1f} ms)",
        ),
    ]
    return [{"met": met, "text": text} for met, text in goals]


def table(rows: list[dict[str, Any]]) -> str:
    """For the terminal."""
    head = (
        f"{'':18} {'link':>6} {'Jain':>7}  {'goodput per flow':^27} {'queue delay, ms':^23} {'retrans-':>8}\n"
        f"{'':18} {'used':>6} {'index':>7}  {'Mbit/s':^27} {'p50':>7} {'p95':>7} {'p99':>7} {'mitted':>8} {'drops':>6}"
    )
    lines = [head]
    for entry in rows:
        rates = " ".join(f"{rate / 1e6:6.2f}" for rate in entry["goodput_bit_s"])
        delays = " ".join(f"{entry[f'queue_delay_p{q}_s'] * 1e3:7.1f}" for q in (50, 95, 99))
        lines.append(
            f"{entry['cc'] + ' + ' + entry['qdisc']:18} {entry['utilisation'] * 100:5.1f}% {entry['jain']:7.4f}"
            f"  {rates} {delays} {entry['retransmits']:8} {entry['drops']:6}"
        )
    return "\n".join(lines)


def run_share(guest: int, jobs: list[runner.Job], kernel: str | None, progress: Progress) -> list[dict[str, Any]]:
    """One guest's part of the combinations."""
    progress.begin(guest, "booting", BOOT_WEIGHT)

    def report(index: int, run: dict[str, Any] | None) -> None:
        if run is None:
            if index == 0:
                progress.end(guest, f"guest {guest + 1} is up")
            progress.begin(guest, f"{jobs[index].cc} + {jobs[index].qdisc}")
        else:
            progress.end(guest, f"{jobs[index].cc} + {jobs[index].qdisc}")

    with measuring_guest(kernel, "virtual") as machine:
        return runner.run_jobs(jobs, machine, report)


def measure(jobs: list[runner.Job], kernel: str | None) -> list[dict[str, Any]]:
    """Run all jobs, in their order; LabError if one could not be run."""
    with Progress(GUESTS, len(jobs), RUN_S) as progress, ThreadPoolExecutor(GUESTS) as pool:
        shares = [pool.submit(run_share, n, jobs[n::GUESTS], kernel, progress) for n in range(GUESTS)]
        results = [share.result() for share in shares]
    runs: list[dict[str, Any]] = []
    for index in range(len(jobs)):
        runs.append(results[index % GUESTS][index // GUESTS])
    for run in runs:
        if run["error"] or run["warnings"]:
            details = "\n".join(f"    {line}" for line in run["warnings"] or run["dmesg_tail"])
            raise LabError(f"{run['cc']}+{run['qdisc']}: {run['error'] or 'the kernel complained'}\n{details}")
    return runs


def write(folder: Path, runs: list[dict[str, Any]], minutes: float) -> list[dict[str, Any]]:
    """Write everything into the folder; returns the goals."""
    from . import figures, report  # slow to import, and not needed before

    folder.mkdir(parents=True, exist_ok=True)
    rows = [row(run) for run in runs]
    goals = judge(rows)
    first = runs[0]
    summary = {
        **{key: first[key] for key in ("scenario", "kernel", "modules", "clock", "seed", "parameters")},
        "window_s": first["metrics"]["window_s"],
        "goals": goals,
        "rows": rows,
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    for run in runs:
        files.write(folder / f"{run['cc']}-{run['qdisc']}.json", json.dumps(run) + "\n")
    pictures = {
        "goodput": figures.goodput(runs, folder / "goodput.png"),
        "delay_over_time": figures.delay_over_time(runs, folder / "queue-delay.png"),
        "delay_cdf": figures.delay_distribution(runs, folder / "queue-delay-distribution.png"),
    }
    files.write(folder / "report.html", report.page(runs, goals, pictures, minutes))
    return goals


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; status 1 only if something could not be measured."""
    parser = argparse.ArgumentParser(prog="demo", description="Packet pair over round robin beside its peers.")
    parser.add_argument("--seed", type=int, default=1, help="start times and hashes (default 1)")
    parser.add_argument("--kernel", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument("--out", type=Path, default=TOP / "out" / "demo", metavar="FOLDER")
    arguments = parser.parse_args(argv)
    leave_no_guest()
    began = time.monotonic()
    try:
        chosen = scenario.load(SCENARIO)
        values = chosen.values([])
        jobs = [runner.make_job(chosen, cc, qdisc, arguments.seed, values) for cc, qdisc in chosen.combinations]
        missing = [name for name in ("tcp_pktpair", "sch_fq_rr") if name not in built(arguments.kernel)]
        if missing:
            raise LabError(f"{' and '.join(missing)} not built for the lab's kernel: run make demo")
        runs = measure(jobs, arguments.kernel)
    except LabError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    minutes = (time.monotonic() - began) / 60
    goals = write(arguments.out, runs, minutes)
    print(table([row(run) for run in runs]))
    print("\npktpair + fq_rr:")
    for goal in goals:
        print(f"  {'met   ' if goal['met'] else 'MISSED'}  {goal['text']}")
    print(f"\n{minutes:.1f} minutes. Open {arguments.out / 'report.html'} to see what this means.")
    return 0


def built(kernel: str | None) -> list[str]:
    """Names of the modules that exist for a kernel."""
    return [path.stem for path in measuring_guest(kernel, "virtual").modules()]
