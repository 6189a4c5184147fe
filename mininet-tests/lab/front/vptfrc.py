# SPDX-License-Identifier: GPL-2.0
"""The experiments of the paper on packet sizes, on the real stack: vptfrc beside reno and cubic.

    scripts/lab vptfrc                 what make vptfrc runs
    scripts/lab vptfrc --seeds 1       one seed
    scripts/lab vptfrc --only steady   the links with losses of one kind
    scripts/lab vptfrc --kept          judge what there is, and run nothing

All runs are in one study: a campaign that was interrupted goes on where it was, and only what uses a
module that has changed is run again. out/vptfrc/summary.json has a row for each check of the paper.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import any_packet_size as found
from ..analyse.any_packet_size import BY_BYTES_LOSSES, EXTREME_LOSS, LOSSES, METHODS, TCP, TFRC, UNMODIFIED, Cell
from ..checkout import TOP
from ..model import scenario
from ..model.errors import PlanError
from ..model.scenario import Values
from ..store import sweep as sweeping
from ..store.engine import Engine, EngineError
from ..store.run import Run
from ..store.study import Study, StudyError
from ..store.sweep import Request
from . import measuring
from .measuring import Measured, in_guests, measure, provenance
from .options import FAILED, MAX_GUESTS, number

PROGRAM = "vptfrc"
SCENARIO = "any-packet-size"
QUEUE = "lossy"
STUDY = "study"
KINDS = ("steady", "swinging", "gilbert")
# Of each run: two flows and a minute have 80 loss events at a loss of 0.01.
COMMON = {"flows": 2, "seconds": 60}
LARGE, SMALL = 1000, 100
# Of flows whose packets leave at a fixed rate, packets a second.
PACKETS = 160
SEEDS = 2
MAX_SEEDS = 6


def settings(**values: Any) -> tuple[str, ...]:
    """What a sweep is told of its parameters."""
    said = {**COMMON, **values}
    return tuple(
        f"{name}={','.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in said.items()
    )


def requests(seeds: int, kinds: Sequence[str] = KINDS, kernel: str = "") -> list[Request]:
    """Everything that the judges need."""
    one = scenario.load(SCENARIO)

    def request(ccs: Sequence[str], **values: Any) -> Request:
        numbers = tuple(range(1, seeds + 1))
        return Request((one,), settings(**values), tuple(ccs), (QUEUE,), numbers, ("",), (kernel,))

    large = {"payload": LARGE, "method": UNMODIFIED}
    small = {"payload": SMALL, "method": (UNMODIFIED, *METHODS)}
    asked = [
        request([TCP, "cubic", "vptfrc"], kind=kinds, loss=LOSSES, **large),
        request(["vptfrc"], kind=kinds, loss=LOSSES, **small),
        request(["vptfrc"], kind=kinds, loss=LOSSES, payload=LARGE, packets=PACKETS, method=METHODS),
    ]
    if "steady" in kinds:
        by_bytes = {"by_bytes": "yes", "kind": "steady"}
        asked += [
            request([TCP, "vptfrc"], kind="steady", loss=EXTREME_LOSS, **large),
            request(["vptfrc"], kind="steady", loss=EXTREME_LOSS, payload=SMALL, method=UNMODIFIED),
            request([TCP], loss=(0.01, 0.1), **large, **by_bytes),
            request(["vptfrc"], loss=BY_BYTES_LOSSES, **large, **by_bytes),
            request(["vptfrc"], loss=BY_BYTES_LOSSES, payload=SMALL, reference=SMALL, method=UNMODIFIED, **by_bytes),
            request(["vptfrc"], loss=(0.01, 0.1), payload=SMALL, method="virtual", mode="byte", **by_bytes),
            request(["vptfrc"], loss=0.1, payload=SMALL, method="virtual", **by_bytes),
            request(["vptfrc"], kind="steady", loss=0.01, payload=SMALL, method="virtual", mode="byte"),
        ]
    return asked


def cell(cc: str, values: Values) -> Cell:
    """Which one a run is of."""
    who, sizes = cc, "fixed"
    if cc == "vptfrc":
        is_large = values["payload"] == LARGE and not values["packets"]
        who = TFRC if is_large else values["method"]
        sizes = "adapted" if values["packets"] else "own" if values["reference"] == SMALL else "fixed"
    return Cell(who, values["loss"], values["kind"], sizes, values["by_bytes"], values["mode"])


def kept(study: Study, engine: Engine, planned: Sequence[Request]) -> Measured:
    """What a study has of these requests; PlanError if that is nothing."""
    try:
        study.exists()
        asked = sweeping.expand_all(planned, engine)
    except (EngineError, StudyError) as error:
        raise PlanError(str(error)) from None
    digests = {run: digest for run, digest in asked.runs.items() if study.has(digest)}
    if not digests:
        raise PlanError(f"--kept: {study.folder} has none of the {len(asked.runs)} runs")
    figures = {run: measuring.figures_of(run, study.load(digest)["raw"]) for run, digest in digests.items()}
    sound = {run: one for run, one in figures.items() if one.error is None}
    return Measured(study, sound, digests, asked.surroundings, len(digests))


def rates(measured: Measured, seeds: int) -> dict[Cell, float]:
    """Mean goodput of a flow, bit/s, over flows and seeds, in each cell that has all of these."""
    of: dict[Cell, list[float]] = {}
    for run, figures in measured.runs.items():
        of.setdefault(cell(run.cc, run.values), []).append(figures.metrics["goodput_bit_s"] / run.values["flows"])
    return {one: sum(values) / len(values) for one, values in of.items() if len(values) == seeds}


def write(folder: Path, measured: Measured, seeds: int) -> dict[str, Any]:
    """summary.json; returns what it has."""
    of_cells = rates(measured, seeds)
    runs: list[Run] = list(measured.runs)
    parameters = {**COMMON, "round_trip_ms": runs[0].values["round_trip"], "payload_bytes": [LARGE, SMALL]}
    summary = {
        **provenance(measured),
        "scenario": SCENARIO,
        "study": STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, runs)), 1),
        "rates": [{**vars(one), "bit_s": round(rate)} for one, rate in of_cells.items()],
        "rows": found.rows(of_cells, range(1, seeds + 1), parameters),
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--seeds", type=number(1, MAX_SEEDS), default=SEEDS, metavar="N", help=f"repeats, 1 to {MAX_SEEDS} ({SEEDS})"
    )
    parser.add_argument("--only", choices=KINDS, help="links with losses of one kind")
    parser.add_argument(
        "-j", type=number(1, MAX_GUESTS), default=cpus, metavar="N", help=f"guests at a time; each uses a core ({cpus})"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fresh", action="store_true", help="measure again what is kept from before")
    how.add_argument("--kept", action="store_true", help="run nothing: judge what is kept from before")
    parser.add_argument("--kernel", default="", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument("--out", type=Path, default=TOP / "out" / PROGRAM, metavar="FOLDER")


def line(row: dict[str, Any]) -> str:
    """A check for the terminal."""
    verdict = "pass" if row["pass"] else "-   " if row["measured"] is None else "FAIL"
    return f"{verdict}  {row['id']} {row['number']} ({row['origin']}): {row.get('not_measured') or row['measured']}"


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    began = time.monotonic()
    kinds = (arguments.only,) if arguments.only else KINDS
    study = Study(arguments.out / STUDY)
    planned = requests(arguments.seeds, kinds, arguments.kernel)
    if arguments.kept:
        measured = kept(study, engine, planned)
    else:
        measured = measure(PROGRAM, study, engine, planned, guests=arguments.j, fresh=arguments.fresh)
    rows = write(arguments.out, measured, arguments.seeds)["rows"]
    for row in rows:
        print(line(row))
    passed = sum(row["pass"] for row in rows)
    known = sum(row["measured"] is not None for row in rows)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{passed} of {len(rows)} checks hold, of {known} that were measured. {minutes:.1f} minutes.")
    print(f"{arguments.out / 'summary.json'} has all of them.")
    return 0 if passed == len(rows) else FAILED


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a check does not hold or was not measured, 2 for bad input, 130 if interrupted."""
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
