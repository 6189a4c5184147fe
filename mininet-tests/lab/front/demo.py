# SPDX-License-Identifier: GPL-2.0
"""The main job: pktpair over fq_rr beside the peers that one would use instead.

    scripts/lab demo                        all of it: what make demo runs
    scripts/lab demo --fresh                measure again what is kept from before
    scripts/lab demo --rows 2 --seconds 5   a part of it, for a first look

Eight combinations, in two guests at a time, since a guest in virtual time uses one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import demo_goals
from ..checkout import TOP
from ..model import scenario
from ..model.errors import PlanError
from ..model.our_modules import PACKET_PAIR_OVER_ROUND_ROBIN
from ..model.scenario import Scenario
from ..store.engine import Engine
from ..store.study import Study
from ..store.sweep import Request
from .measuring import Measured, in_guests, measure, versions
from .options import MAX_GUESTS, MAX_SEED, number

SCENARIO = "demo-dumbbell"
# Below the folder of the results.
STUDY = "study"
# Of a row, from the run's metrics; "goodput_bit_s" is each flow's.
ROW_METRICS = (
    *("utilisation", "jain", "goodput_bit_s"),
    *("queue_delay_p50_s", "queue_delay_p95_s", "queue_delay_p99_s"),
    *("retransmits", "drops"),
)


def combinations(chosen: Scenario, only: str | None, rows: int | None) -> list[tuple[str, str]]:
    """What is to be run, in the demo's order; PlanError names what the demo does not have."""
    known = chosen.combinations
    if only is not None:
        by_name = {"+".join(pair): pair for pair in known}
        for name in only.split(","):
            if name not in by_name:
                raise PlanError(f"--only {name}: must be of {', '.join(by_name)}")
        known = [by_name[name] for name in by_name if name in only.split(",")]
    elif rows is not None:
        # what the goals compare comes first
        first = [PACKET_PAIR_OVER_ROUND_ROBIN, demo_goals.PEER]
        kept = [*first, *(pair for pair in known if pair not in first)][:rows]
        known = [pair for pair in known if pair in kept]
    return known


def requests(chosen: Scenario, pairs: Sequence[tuple[str, str]], arguments: argparse.Namespace) -> list[Request]:
    """A sweep of one run for each combination; PlanError if it would measure nothing."""
    settings = () if arguments.seconds is None else (f"seconds={arguments.seconds}",)
    try:
        (values,) = chosen.values(chosen.axes(settings))
        chosen.plan(values, *pairs[0], arguments.seed)
    except PlanError as error:
        raise PlanError(f"--seconds: {error}") from None
    return [
        Request((chosen,), settings, (cc,), (qdisc,), (arguments.seed,), ("",), (arguments.kernel,))
        for cc, qdisc in pairs
    ]


def row(run: dict[str, Any]) -> dict[str, Any]:
    """A run's line in summary.json."""
    metrics = {**run["metrics"], "goodput_bit_s": [flow["window_goodput_bit_s"] for flow in run["flows"]]}
    return {"cc": run["cc"], "qdisc": run["qdisc"], **{name: metrics[name] for name in ROW_METRICS}}


def described(measured: Measured) -> list[dict[str, Any]]:
    """Each run as its JSON file has it."""
    return [
        {
            **run.described(figures),
            "modules": versions(measured.surroundings[run.kernel, run.build]),
            "clock": "virtual",
            "series": measured.series(run),
        }
        for run, figures in measured.runs.items()
    ]


def write(
    folder: Path, runs: list[dict[str, Any]], whole: Sequence[tuple[str, str]], minutes: float, kept: int = 0
) -> dict[str, Any]:
    """Write everything into the folder; returns what summary.json has.

    :param whole: the combinations of the whole demo
    """
    from ..show import demo_report
    from ..show import runs as drawing  # slow to import, and not needed before

    rows = [row(run) for run in runs]
    goals, left_out = demo_goals.judge(rows, whole)
    first = runs[0]
    summary = {
        **{key: first[key] for key in ("scenario", "kernel", "modules", "clock", "seed", "parameters")},
        "window_s": [first["metrics"]["window_begin_s"], first["metrics"]["window_end_s"]],
        "study": STUDY,
        "goals": goals,
        "goals_left_out": left_out,
        "rows": rows,
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    for run in runs:
        files.write(folder / f"{run['cc']}-{run['qdisc']}.json", json.dumps(run) + "\n")
    pictures = drawing.to_files([(f"{run['cc']} + {run['qdisc']}", run) for run in runs], folder)
    files.write(folder / "report.html", demo_report.page(summary, runs, pictures, minutes, kept))
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--only", metavar="CC+QUEUE,...", help="of the eight combinations, such as pktpair+fq_rr")
    part.add_argument("--rows", type=number(1, 8), metavar="N", help="so many of them, first such as the goals compare")
    parser.add_argument("--seconds", type=float, metavar="S", help="how long each flow sends (default 14)")
    parser.add_argument(
        "--seed", type=number(1, MAX_SEED), default=1, metavar="N", help="start times and hashes (default 1)"
    )
    parser.add_argument(
        "--guests", type=number(1, MAX_GUESTS), default=2, metavar="N", help="at a time; each uses one core (2)"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept from before")
    parser.add_argument("--kernel", default="", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument("--out", type=Path, default=TOP / "out" / "demo", metavar="FOLDER")


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    began = time.monotonic()
    chosen = scenario.load(SCENARIO)
    planned = requests(chosen, combinations(chosen, arguments.only, arguments.rows), arguments)
    study = Study(arguments.out / STUDY)
    measured = measure("demo", study, engine, planned, guests=arguments.guests, fresh=arguments.fresh)
    minutes = (time.monotonic() - began) / 60
    runs = described(measured)
    summary = write(arguments.out, runs, chosen.combinations, minutes, measured.kept)
    from ..show import demo_report

    print(demo_report.terminal(summary["rows"]))
    print("\npktpair + fq_rr:")
    for goal in summary["goals"]:
        print(f"  {'met   ' if goal['met'] else 'MISSED'}  {goal['text']}")
    for text in summary["goals_left_out"]:
        print(f"  not judged: {text}")
    print(f"\n{minutes:.1f} minutes. Open {arguments.out / 'report.html'} to see what this means.")
    return 0


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if something could not be measured, 2 for bad input, 130 if interrupted."""
    return in_guests("demo", lambda engine: run(arguments, engine))
