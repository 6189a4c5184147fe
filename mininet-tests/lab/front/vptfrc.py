# SPDX-License-Identifier: GPL-2.0
"""The experiments of the paper on packet sizes, on the real stack: vptfrc beside reno and cubic.

    scripts/lab vptfrc                 what make vptfrc runs
    scripts/lab vptfrc --seeds 1       one seed
    scripts/lab vptfrc --quick         one seed, one loss, two flows of each kind: ten minutes of a core
    scripts/lab vptfrc --only steady   the links with losses of one kind
    scripts/lab vptfrc --only bottlenecks
    scripts/lab vptfrc --kept          judge what there is, and run nothing
    scripts/lab vptfrc --document      write the tables into Documentation/tcp_vptfrc.rst as well

All runs are in one study: a campaign that was interrupted goes on where it was, and only what uses a
module that has changed is run again. out/vptfrc/summary.json has a row for each check of the paper, and
report.html a picture of each figure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import files
from ..analyse import any_packet_size as found
from ..analyse import packet_size_formulas, packet_size_goals
from ..analyse import shared_bottlenecks as shared
from ..analyse.any_packet_size import (
    BY_BYTES_LOSSES,
    EXTREME_LOSS,
    KINDS,
    LARGE,
    LOSSES,
    LOW_LOSS,
    METHODS,
    MORE_SIZES,
    PACKETS,
    SMALL,
    TFRC,
    UNMODIFIED,
    VARIATION_LOSS,
    Cell,
)
from ..analyse.packet_size_formulas import Answers
from ..analyse.shared_bottlenecks import METHODS as SHARED_METHODS
from ..analyse.shared_bottlenecks import TCP, Bottlenecks, Shared
from ..checkout import TOP
from ..model import scenario
from ..model.errors import PlanError
from ..model.scenario import Values
from ..show import vptfrc as show
from ..show import vptfrc_tables
from ..store.engine import Engine
from ..store.run import Run
from ..store.sweep import Request, planned
from . import campaign
from .measuring import Measured, in_guests, provenance

PROGRAM = "vptfrc"
DOCUMENT = TOP / "Documentation" / "tcp_vptfrc.rst"
LOSSY, SHARED = "any-packet-size", "packet-sizes-at-a-bottleneck"
QUEUE = "lossy"
# What --only takes: links with losses of one kind, or the bottlenecks.
BOTTLENECKS = "bottlenecks"
PARTS = (*KINDS, BOTTLENECKS)
# Of each run: two flows and a minute have 80 loss events at a loss of 0.01.
COMMON = {"flows": 2, "seconds": 60}
# Reno's window takes half a minute from one loss to the next where a queue follows the paper's rule. Fewer flows of a
# kind than these are measured for longer, so that as many of these times are in each mean; more bandwidth makes the
# time longer.
MANY_FLOWS, MOST_S = 4, 600
CROWDED_S = 30
SEEDS = 2
MAX_SEEDS = 6


def settings(common: Mapping[str, Any], **values: Any) -> tuple[str, ...]:
    """What a sweep is told of its parameters."""
    said = {**common, **values}
    return tuple(
        f"{name}={','.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in said.items()
    )


@dataclass(frozen=True)
class Extent:
    """How much is run.

    :param losses: of the links; the judges want all three, and those of a variation but one
    :param pairs: flows of each kind at a bottleneck
    :param many_pairs: likewise, where the paper has 16 and 32
    :param seconds: measured at a bottleneck of MANY_FLOWS of each kind and more
    """

    losses: tuple[float, ...]
    pairs: tuple[int, ...]
    many_pairs: tuple[int, ...]
    seconds: int


QUICK = Extent((VARIATION_LOSS,), (2,), (8,), 15)
USUAL = Extent(LOSSES, (1, 2, 8), (16, 32), 60)


def on_links(extent: Extent, numbers: tuple[int, ...], kinds: Sequence[str], kernel: str) -> list[Request]:
    """What judges need of links that lose by chance."""
    one = scenario.load(LOSSY)

    def request(ccs: Sequence[str], **values: Any) -> Request:
        return Request((one,), settings(COMMON, **values), tuple(ccs), (QUEUE,), numbers, ("",), (kernel,))

    large = {"payload": LARGE, "method": UNMODIFIED}
    small = {"payload": SMALL, "method": (UNMODIFIED, *METHODS)}
    steady = {"kind": "steady"}
    if extent is QUICK:
        return [
            request([TCP, "vptfrc"], **steady, loss=extent.losses, **large),
            request(["vptfrc"], **steady, loss=extent.losses, **small),
        ]
    # there, small packets that count as full ones leave at up to 10,000 in a second
    crowded = {"kind": "gilbert", "loss": min(extent.losses), "seconds": CROWDED_S}
    others = [kind for kind in kinds if kind != crowded["kind"]]
    asked = [
        request([TCP, "cubic", "vptfrc"], kind=kinds, loss=extent.losses, **large),
        *([request(["vptfrc"], kind=others, loss=extent.losses, **small)] if others else []),
        request(["vptfrc"], kind=kinds, loss=extent.losses, payload=LARGE, packets=PACKETS, method=METHODS),
    ]
    if crowded["kind"] in kinds:
        rest = tuple(loss for loss in extent.losses if loss != crowded["loss"])
        asked += [
            request(["vptfrc"], kind=crowded["kind"], loss=rest, **small),
            request(["vptfrc"], **crowded, **small),
        ]
    if "steady" in kinds:
        by_bytes = {"by_bytes": "yes", "kind": "steady"}
        recommended = {"kind": "steady", "method": packet_size_goals.RECOMMENDED}
        asked += [
            request([TCP, "vptfrc"], kind="steady", loss=LOW_LOSS, **large),
            request(["vptfrc"], loss=LOW_LOSS, payload=SMALL, **recommended),
            request(["vptfrc"], loss=extent.losses, payload=MORE_SIZES, **recommended),
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


def measured_s(extent: Extent, queue: str, flows: int, richer: float) -> int:
    """How long a bottleneck is looked at, s.

    :param flows: of the kind with fewer
    """
    if queue == "packet-rate":
        # its room is 0.1 s
        return extent.seconds
    return min(MOST_S, round(extent.seconds * max(1.0, MANY_FLOWS / flows) * richer))


def at_bottlenecks(extent: Extent, numbers: tuple[int, ...], kernel: str) -> list[Request]:
    """What judges need of bottlenecks that reno shares."""
    one = scenario.load(SHARED)
    asked: list[Request] = []

    def request(queue: str, setting: int, pairs: Sequence[int] = extent.pairs, **values: Any) -> None:
        for number in pairs:
            fewer = min(number, values.get("others", number))
            seconds = measured_s(extent, queue, fewer, values.get("richer", 1))
            said = settings({}, **{"seconds": seconds, "setting": setting, "pairs": number, **values})
            asked.append(Request((one,), said, ("vptfrc",), (queue,), numbers, ("",), (kernel,)))

    each: dict[str, Any] = {"method": SHARED_METHODS}
    byte: dict[str, Any] = {"method": "virtual", "mode": "byte"}
    few = tuple(pairs for pairs in extent.pairs if pairs <= shared.FEW_PAIRS)
    # figures 9, 10, 11, 12
    request("red-packets", 2, **each)
    request("tail-packets", 2, **each)
    request("tail-packets", 1, **each, products=(1.0, 2.0))
    request("tail-packets", 3, **each)
    request("red-packets", 4, **each)
    # figures 13, 14, 15, 16
    request("red-bytes", 1, **byte)
    request("tail-bytes", 1, (1, 4), method="virtual", mode=("byte", "byte-tail"))
    request("tail-packets", 3, few, **each, round_trip=40)
    request("tail-packets", 1, few, **each, round_trip=40, richer=shared.RICHER)
    request("tail-packets", 1, (max(extent.pairs),), method="virtual", short_trip=40)
    request("packet-rate", 1, (1, 2), method="virtual")
    request("packet-rate", 1, (1, *extent.many_pairs), **byte)
    if extent is not QUICK:
        most = max(extent.many_pairs)
        request("tail-packets", 1, extent.many_pairs, method="virtual")
        request("tail-packets", 1, (most,), others=1, method="virtual")
        # which the paper does not have
        for queue, setting in shared.BESIDE_CUBIC:
            request(queue, setting, method="virtual", tcp="cubic")
    return asked


def requests(extent: Extent, seeds: int, parts: Sequence[str] = PARTS, kernel: str = "") -> list[Request]:
    """Everything that the judges need."""
    numbers = tuple(range(1, seeds + 1))
    kinds = [part for part in KINDS if part in parts]
    asked = on_links(extent, numbers, kinds, kernel) if kinds else []
    return asked + (at_bottlenecks(extent, numbers, kernel) if BOTTLENECKS in parts else [])


def cell(cc: str, values: Values) -> Cell:
    """Which one a run is of."""
    who, sizes = cc, "fixed"
    if cc == "vptfrc":
        is_large = values["payload"] == LARGE and not values["packets"]
        who = TFRC if is_large else values["method"]
        fixed = "fixed" if values["payload"] in (LARGE, SMALL) else str(values["payload"])
        sizes = "adapted" if values["packets"] else "own" if values["reference"] == SMALL else fixed
    return Cell(who, values["loss"], values["kind"], sizes, values["by_bytes"], values["mode"])


def bottleneck(qdisc: str, values: Values) -> Shared:
    """Which one a run is of."""
    numbers: dict[str, Any] = {
        name: values[name] for name in ("setting", "pairs", "method", "mode", "products", "richer", "others", "tcp")
    }
    trips: dict[str, Any] = {"round_trip_ms": float(values["round_trip"]), "short_ms": float(values["short_trip"])}
    return Shared(qdisc, **numbers, **trips)


def means(measured: Measured, seeds: int, name: str, key: Callable[[Run], Any]) -> dict[Any, dict[str, Any]]:
    """Mean metrics over seeds of what has all of these, of a scenario's runs.

    :param key: what a run is of
    """
    of: dict[Any, list[Mapping[str, Any]]] = {}
    for run, figures in measured.runs.items():
        if run.scenario.name == name:
            of.setdefault(key(run), []).append({**figures.metrics, "flows": run.values.get("flows", 1)})
    return {
        one: {
            metric: sum(each[metric] for each in found) / seeds
            for metric in found[0]
            if all(isinstance(each.get(metric), int | float) for each in found)
        }
        for one, found in of.items()
        if len(found) == seeds
    }


def answers(cells: Iterable[Cell] = ()) -> Answers:
    """What the module's headers say, compiled for this machine; NotMeasuredError's own where it has no compiler.

    :param cells: of which is asked what the headers alone send
    """
    asked = packet_size_formulas.questions() + [question for one in cells if (question := found.alone(one))]
    includes = [f"-I{TOP / folder}" for folder in ("include", "include/uapi", "kmod", "kmod/tests/stack")]
    with tempfile.TemporaryDirectory(prefix="vptfrc-") as folder:
        program = Path(folder) / "ask"
        compiler = ["gcc", "-std=gnu11", "-O2", *includes, str(TOP / "kmod/tests/ask_vptfrc.c"), "-lm", "-o"]
        try:
            subprocess.run([*compiler, str(program)], capture_output=True, text=True, check=True)
            done = subprocess.run([program], input="\n".join(asked), capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            print(f"{PROGRAM}: formulas are not judged: {said.strip()}", file=sys.stderr)
            return Answers({})
    lines = done.stdout.splitlines()
    return Answers({one: tuple(map(float, line.split())) for one, line in zip(asked, lines, strict=True)})


def found_of(measured: Measured, seeds: int) -> found.Found:
    """All that the judges ask for."""
    links = means(measured, seeds, LOSSY, lambda run: cell(run.cc, run.values))
    rates = {one: metrics["goodput_bit_s"] / metrics["flows"] for one, metrics in links.items()}
    shares = means(measured, seeds, SHARED, lambda run: bottleneck(run.qdisc, run.values))
    return found.Found(rates, links, Bottlenecks(shares), answers(rates))


def write(folder: Path, measured: Measured, seeds: int, extent: Extent, asked: Sequence[Request]) -> dict[str, Any]:
    """summary.json and report.html; returns what the first has.

    :param asked: all that was to be measured: what was not has missed its goals
    """
    known = found_of(measured, seeds)
    runs = [run for one in asked for run in planned(one, [("", "")])]
    links = dict.fromkeys(cell(run.cc, run.values) for run in runs if run.scenario.name == LOSSY)
    shares = dict.fromkeys(bottleneck(run.qdisc, run.values) for run in runs if run.scenario.name == SHARED)
    parameters = {"link": COMMON, "bottleneck": {"seconds": extent.seconds, "of_flows": MANY_FLOWS, "most_s": MOST_S}}
    summary = {
        **provenance(measured),
        "scenarios": [LOSSY, SHARED],
        "study": campaign.STUDY,
        "cpu_seconds": round(sum(map(measured.cpu_s, measured.runs)), 1),
        "runs": len(measured.runs),
        "rates": [{**vars(one), "bit_s": round(rate)} for one, rate in known.rates.items()],
        "variations": [
            {**vars(one), **{name: metrics[name] for name in found.VARIATIONS if name in metrics}}
            for one, metrics in known.metrics.items()
        ],
        "bottlenecks": [
            {**vars(one), **{name: metrics[name] for name in shared.METRICS if name in metrics}}
            for one, metrics in known.bottlenecks.metrics.items()
        ],
        "goals": packet_size_goals.goals(known, links, shares),
        "rows": found.rows(known, range(1, seeds + 1), parameters, show.WHY),
    }
    files.write(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    files.write(folder / "report.html", show.page(summary))
    return summary


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--quick", action="store_true", help="one loss, two flows of each kind")
    parser.add_argument("--only", choices=PARTS, help="links with losses of one kind, or the bottlenecks")
    parser.add_argument("--document", action="store_true", help="write the tables into Documentation/tcp_vptfrc.rst")
    campaign.add_check_options(parser, PROGRAM, SEEDS, MAX_SEEDS)


def run(arguments: argparse.Namespace, engine: Engine) -> int:
    """Measure what was asked for, and show it."""
    if arguments.document and (arguments.quick or arguments.only):
        raise PlanError("--document writes what all runs gave: without --quick, --only")
    parts = (arguments.only,) if arguments.only else PARTS
    extent, seeds = (QUICK, 1) if arguments.quick else (USUAL, arguments.seeds)
    asked = requests(extent, seeds, parts, arguments.kernel)

    def written(folder: Path, measured: Measured) -> dict[str, Any]:
        summary = write(folder, measured, seeds, extent, asked)
        if arguments.document:
            vptfrc_tables.document(DOCUMENT, summary)
        return summary

    last = f"{arguments.out / 'summary.json'} has all of them, {arguments.out / 'report.html'} draws them."
    return campaign.run_checks(PROGRAM, arguments, engine, asked, written, last, show.goal_lines)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if a check does not hold or was not measured, 2 for bad input, 130 if interrupted."""
    return in_guests(PROGRAM, lambda engine: run(arguments, engine))
