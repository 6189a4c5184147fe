# SPDX-License-Identifier: GPL-2.0
"""QLBP 2011 (Cai, Wolf, Gong), re-run: what is run, and what is judged and drawn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analyse import qlbp as found
from ..analyse.pacing import LAGS_S, TAIL_GRID_S
from ..analyse.packet_pair import Point
from ..analyse.qlbp import (
    BUFFERS,
    BURSTS,
    DEFAULT,
    JUDGED,
    NONE,
    PEERS,
    PROTOTYPE,
    RATES,
    STEP,
    STOCK_PACING,
    STOCK_RECEIVERS,
    TABLE_BUFFER,
    TCP,
    TEXT,
)
from ..model import qlbp, scenario
from ..model.scenario import Values
from ..show import qlbp as show
from ..store.run import Run
from ..store.sweep import Request
from .measuring import Measured
from .paper import FULL, QUICK, Asked, Judged, Paper

SCENARIO, STEADY = "qlbp-2011", "pacing-follows-the-backlog"
QUEUE = "fq_rr"
# The other scenario's cases, by what their runs are called.
CASES = {RATES: "table2", PROTOTYPE: "prototype", BURSTS: "bursts"}
# One: a curve is of the same draws throughout, and its bars are of parts of a run.
SEEDS = 1
# Of table III's runs, which are traced (s): what losses of the start take to be made up for with windows of 32
# packets, and what the buffer of events holds.
TABLE_SETTLE_S, MOST_TRACED_S, MOST_STARTS_S = 6.0, 12.0, 1.0


@dataclass(frozen=True)
class Extent:
    """How much is run.

    :param on_off_s: that is measured of Markov sources; ``trace_s`` of the self-similar one, ``core_s`` of the dumbbell
    :param settle_s: of the dumbbell, after all flows have begun within ``starts_s``
    :param traces: cutoffs of the self-similar source
    :param buffers: of the dumbbell's curves
    :param pacings: of these
    :param beside: also other readings, and other congestion controls
    """

    on_off_s: float
    trace_s: float
    core_s: float
    settle_s: float
    starts_s: float = 1.0
    traces: tuple[int, ...] = qlbp.TRACE_CUTOFFS
    buffers: tuple[int, ...] = BUFFERS
    pacings: tuple[int | str, ...] = (NONE, *qlbp.DUMBBELL_CUTOFFS, TCP)
    beside: bool = True


EXTENTS = {
    QUICK: Extent(60.0, 16.0, 2.0, 2.0, 0.5, (5, 10, 160, 320), (5, 40), (NONE, 10, 80, 160, TCP), beside=False),
    FULL: Extent(1800.0, 3600.0, 800.0, 200.0, 100.0),
}
USUAL = Extent(240.0, 48.0, 4.0, 4.0)


def _extent(asked: Asked) -> Extent:
    return EXTENTS.get(asked.length, USUAL)


def requests(extent: Extent, seeds: int, kernel: str = "") -> list[Request]:
    """Everything that the judges and the pictures need."""
    own, steady = scenario.load(SCENARIO), scenario.load(STEADY)
    asked = []

    def ask(one: scenario.Scenario, cc: str, values: Mapping[str, Any]) -> None:
        words = tuple(
            f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}" for key, value in values.items()
        )
        asked.append(Request((one,), words, (cc,), (QUEUE,), tuple(range(1, seeds + 1)), ("",), (kernel,)))

    def core(cc: str, pacing: int | str, buffers: tuple[int, ...], **more: Any) -> None:
        how = {"pacing": pacing} if isinstance(pacing, str) else {"pacing": "qlbp", "q_max": pacing}
        common = {"settle": extent.settle_s, "length": extent.core_s, "starts": extent.starts_s}
        if "delays" in more:
            common = {
                **{"settle": TABLE_SETTLE_S, "length": min(extent.core_s, MOST_TRACED_S)},
                **{"starts": min(extent.starts_s, MOST_STARTS_S)},
            }
        ask(own, cc, {"case": "dumbbell", **how, "buffer": buffers, **common, **more})

    ask(steady, "cubic", {"case": tuple(CASES.values())})
    for cc in (JUDGED, *((DEFAULT, *PEERS) if extent.beside else ())):
        ask(own, cc, {"case": "tcp", "pacing": (NONE, "qlbp"), "settle": 1.0, "length": 9.0})
    ask(own, JUDGED, {"case": "step", "settle": 0.5, "length": 1.0})
    ask(own, JUDGED, {"case": "on-off", "q_max": qlbp.TANDEM_CUTOFFS, "settle": 2.0, "length": extent.on_off_s})
    ask(own, JUDGED, {"case": "self-similar", "q_max": extent.traces, "settle": 1.0, "length": extent.trace_s})
    for pacing in found.TECHNIQUES.values():
        core(JUDGED, pacing, (TABLE_BUFFER,), delays="yes")
    for pacing in extent.pacings:
        # of table III's buffer some are there already
        rest = tuple(one for one in extent.buffers if one != TABLE_BUFFER or pacing not in found.TECHNIQUES.values())
        core(JUDGED, pacing, rest)
    if extent.beside:
        core(JUDGED, "tcp-stock", extent.buffers)
        for pacing in found.TECHNIQUES.values():
            core(JUDGED, pacing, (TABLE_BUFFER,), delays="yes", reading="text")
            core(JUDGED, pacing, (TABLE_BUFFER,), receivers="stock")
            for cc in (DEFAULT, *PEERS):
                core(cc, pacing, (TABLE_BUFFER,), delays="yes")
    return asked


def label_of(run: Run) -> str:
    """The congestion control, and which reading it is of what the text leaves open."""
    values = run.values
    if values.get("reading") == "text":
        return TEXT
    if values.get("receivers") == "stock":
        return STOCK_RECEIVERS
    # constant rates have no flow
    return STOCK_PACING if values.get("pacing") == "tcp-stock" else JUDGED if run.scenario.name == STEADY else run.cc


def name_of(run: Run) -> str:
    """The name of a run, of its parameters."""
    values, case = run.values, run.values["case"]
    if run.scenario.name == STEADY:
        return next(name for name, one in CASES.items() if one == case)
    if case == "tcp":
        return found.lone(values["pacing"])
    if case == "on-off":
        return found.on_off(values["q_max"])
    if case == "self-similar":
        return found.trace(values["q_max"])
    if case == "step":
        return STEP
    pacing = {"qlbp": values["q_max"], "tcp-stock": TCP}.get(values["pacing"], values["pacing"])
    return found.core(pacing, values["buffer"])


def length_s(scenario_name: str, values: Values) -> float:
    """Of a run: as long as it sends."""
    if scenario_name == STEADY:
        return {"table2": 4.0, "prototype": 7.0, "bursts": 2.1}[values["case"]]
    return float(values["settle"] + values["length"])


def points(measured: Measured) -> dict[tuple[str, str], Point]:
    """By congestion control or reading, and name."""
    return {
        (label_of(run), name_of(run)): Point(one.metrics, run.values, length_s(run.scenario.name, run.values))
        for run, one in measured.runs.items()
        if run.scenario.name in (SCENARIO, STEADY)
    }


def _drawn(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run, what the report may show."""
    return {name: value for name, value in metrics.items() if not name.startswith(("backlog", "drops_", "utilisation"))}


def judged(measured: Measured, asked: Asked) -> Judged:
    """The paper's rows, and what is drawn."""
    of_names = points(measured)
    seeds: Sequence[int] = range(1, SEEDS + 1)
    data = {
        "lags_s": list(LAGS_S),
        "tail_grid_s": list(TAIL_GRID_S),
        "goals": found.goals(of_names),
        "points": [
            {"cc": cc, "run": name, "metrics": _drawn(one.metrics), "length_s": one.length_s}
            for (cc, name), one in of_names.items()
        ],
    }
    return Judged(found.rows(of_names, seeds, show.WHY), data)


def asked_for(asked: Asked) -> list[Request]:
    """Everything that is run for a length."""
    return requests(_extent(asked), SEEDS, asked.kernel)


PAPER = Paper(found.PAPER, asked_for, judged, show.section)
