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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import any_packet_size as found
from ..analyse.any_packet_size import BY_BYTES_LOSSES, EXTREME_LOSS, LOSSES, METHODS, TCP, TFRC, UNMODIFIED, Cell
from ..model import scenario
from ..model.scenario import Values
from ..store.engine import Engine
from ..store.run import Run
from ..store.sweep import Request
from . import campaign
from .measuring import Measured, in_guests, provenance

PROGRAM = "vptfrc"
SCENARIO = "any-packet-size"
QUEUE = "lossy"
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
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, runs)), 1),
        "rates": [{**vars(one), "bit_s": round(rate)} for one, rate in of_cells.items()],
        "rows": found.rows(of_cells, range(1, seeds + 1), parameters),
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--only", choices=KINDS, help="links with losses of one kind")
    campaign.add_check_options(parser, PROGRAM, SEEDS, MAX_SEEDS)


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    kinds = (arguments.only,) if arguments.only else KINDS
    planned = requests(arguments.seeds, kinds, arguments.kernel)

    def written(folder: Path, measured: Measured) -> dict[str, Any]:
        return write(folder, measured, arguments.seeds)

    last = f"{arguments.out / 'summary.json'} has all of them."
    return campaign.run_checks(PROGRAM, arguments, engine, planned, written, last)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a check does not hold or was not measured, 2 for bad input, 130 if interrupted."""
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
