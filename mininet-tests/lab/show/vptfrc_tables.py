# SPDX-License-Identifier: GPL-2.0
"""The tables of what ``lab vptfrc`` measured, for Documentation/tcp_vptfrc.rst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analyse import packet_size_goals
from ..analyse.any_packet_size import (
    LARGE,
    LOSSES,
    LOW_LOSS,
    METHODS,
    MORE_SIZES,
    PACKETS,
    SMALL,
    TFRC,
    UNMODIFIED,
    Cell,
)
from ..analyse.packet_size_formulas import TIMEOUT, equation_bytes_s
from ..analyse.shared_bottlenecks import BESIDE_CUBIC, RICHER, SHORT_MS, TCP, Shared
from . import rst
from .vptfrc import GOALS, LINK_RTT_US, Row, Summary, cells, missed_goals

COMMAND = "scripts/lab vptfrc --document"
NOTHING = "\\-"
CUBIC = "cubic"
RECOMMENDED = packet_size_goals.RECOMMENDED
# Bottlenecks in the order of the paper's figures: in words, and what they are.
IN_PACKETS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("RED in packets, 50 packets/s", {"queue": "red-packets", "setting": 2}),
    ("RED in packets, 50 to 350 bytes", {"queue": "red-packets", "setting": 4}),
    ("drop-tail, 50 packets/s", {"queue": "tail-packets", "setting": 2}),
    ("drop-tail, 160 packets/s", {"queue": "tail-packets", "setting": 3}),
    ("drop-tail, 160 packets/s, 40 ms", {"queue": "tail-packets", "setting": 3, "round_trip_ms": SHORT_MS}),
    ("drop-tail, 100 bytes", {"queue": "tail-packets", "setting": 1}),
    ("drop-tail, 100 bytes, half of the room", {"queue": "tail-packets", "setting": 1, "products": 1.0}),
    (
        f"drop-tail, 100 bytes, 40 ms, {RICHER:g} times the bandwidth",
        {"queue": "tail-packets", "setting": 1, "round_trip_ms": SHORT_MS, "richer": RICHER},
    ),
)
IN_BYTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("RED in bytes, byte mode", {"queue": "red-bytes", "setting": 1, "mode": "byte"}),
    ("drop-tail in bytes, byte mode", {"queue": "tail-bytes", "setting": 1, "mode": "byte"}),
    ("drop-tail in bytes, byte-tail mode", {"queue": "tail-bytes", "setting": 1, "mode": "byte-tail"}),
)


def _ways() -> Iterator[tuple[str, str, str]]:
    """Who sends on a lossy link, in words, and as a cell has it."""
    yield f"{TCP}, {LARGE} bytes", TCP, "fixed"
    yield f"{CUBIC}, {LARGE} bytes", CUBIC, "fixed"
    yield f"{UNMODIFIED}, {LARGE} bytes", TFRC, "fixed"
    for who in RECOMMENDED:
        for size in sorted(MORE_SIZES, reverse=True):
            yield f"{who}, {size} bytes", who, str(size)
    for who in (*METHODS, UNMODIFIED):
        yield f"{who}, {SMALL} bytes", who, "fixed"
    for who in METHODS:
        yield f"{who}, {PACKETS} packets/s", who, "adapted"


def rates(summary: Summary, kind: str, losses: Sequence[float]) -> str:
    """Goodput of a flow, kbit/s, by loss; who was not run at any is left out."""
    known = {cell: row["bit_s"] for cell, row in cells(summary, "rates", Cell)}
    rows = []
    for label, who, sizes in _ways():
        found = [known.get(Cell(who, loss, kind, sizes)) for loss in losses]
        if any(found):
            rows.append((label, *(NOTHING if one is None else f"{one / 1000:.0f}" for one in found)))
    if kind == "steady":
        equation = [8 * equation_bytes_s(loss, LINK_RTT_US, TIMEOUT) for loss in losses]
        rows.append(("the equation, each loss an event", *(f"{one / 1000:.0f}" for one in equation)))
    return rst.simple_table(("flow", *(f"{loss:g}" for loss in losses)), rows)


def _at(summary: Summary, name: str, **of: Any) -> dict[int, float]:
    """Metrics of one bottleneck by the number of flows of each kind."""
    return {
        cell.pairs: float(row[name])
        for cell, row in cells(summary, "bottlenecks", Shared)
        if cell == Shared(pairs=cell.pairs, **of) and row.get(name) is not None
    }


def _listed(values: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.2f}" for _, value in sorted(values.items())) or NOTHING


def _counts(values: Mapping[int, float]) -> str:
    return ", ".join(map(str, sorted(values))) or NOTHING


def shares(summary: Summary) -> str:
    """Goodput of a flow of each method, of reno's beside it."""
    rows = []
    for label, of in (*IN_PACKETS, *IN_BYTES):
        found = {who: _at(summary, "ratio", method=who, **of) for who in (*RECOMMENDED, "lip")}
        rows.append((label, _counts(found[RECOMMENDED[0]]), *map(_listed, found.values())))
    return rst.simple_table(("queue, application", "flows", *RECOMMENDED, "lip"), rows)


def deviations(summary: Summary) -> str:
    """Of what a flow sends in a second, over its mean; reno's is of the flows beside the first method."""
    rows = []
    for label, of in (*IN_PACKETS, *IN_BYTES):
        found = [_at(summary, "other_rate_variation", method=who, **of) for who in RECOMMENDED]
        reno = _at(summary, "tcp_rate_variation", method=RECOMMENDED[0], **of)
        rows.append((label, _counts(reno), *map(_listed, (*found, reno))))
    return rst.simple_table(("queue, application", "flows", *RECOMMENDED, TCP), rows)


def beside_cubic(summary: Summary) -> str:
    """A flow of the first method beside one of either TCP: of that one's goodput, and of its deviation."""
    rows = []
    for label, of in IN_PACKETS:
        if tuple(of.values()) not in BESIDE_CUBIC:
            continue
        found = []
        for tcp in (TCP, CUBIC):
            found.append(_at(summary, "ratio", tcp=tcp, **of))
            own, other = (_at(summary, f"{kind}_rate_variation", tcp=tcp, **of) for kind in ("other", "tcp"))
            found.append({pairs: own[pairs] / other[pairs] for pairs in own if other.get(pairs)})
        rows.append((label, _counts(found[-1]), *map(_listed, found)))
    heads = [f"{what}, {tcp}" for tcp in (TCP, CUBIC) for what in ("goodput", "deviation")]
    return rst.simple_table(("queue, application", "flows", *heads), rows)


def _check(row: Row) -> tuple[str, ...]:
    beside = [f"{name}: {'holds' if one['holds'] else 'does not hold'}" for name, one in row.get("beside", {}).items()]
    return f"{row['id']} {row['number']}", "; ".join(beside) or NOTHING


def missed_checks(summary: Summary) -> str:
    """Those of the paper that do not hold, and the same read in another way."""
    return rst.simple_table(("check", "beside it"), [_check(row) for row in summary["rows"] if not row["pass"]])


def document(path: Path, summary: Summary) -> None:
    """Write all tables into the page.

    :raises ValueError: if it does not have the marks
    """
    rows = summary["rows"]
    seeds = ", ".join(map(str, next(row["seeds"] for row in rows if row["seeds"])))
    missed = {name: missed_goals(summary, name) for name in GOALS}
    counts = Counter(goal["name"] for goal in summary["goals"])
    parts = [
        f"Measured at commit {summary['commit']} on Linux {summary['kernel']}: {summary['runs']} runs,"
        f" {summary['cpu_seconds']:.0f} s of a core,\nseeds {seeds}. Of the {len(rows)} checks"
        f" {sum(row['measured'] is not None for row in rows)} were measured, and"
        f" {sum(row['pass'] for row in rows)} hold.",
        "Bernoulli losses alike for all packets, a round trip of 100 ms: goodput of a flow, kbit/s.",
        rates(summary, "steady", (LOW_LOSS, *LOSSES)),
        "Losses that swing:",
        rates(summary, "swinging", LOSSES),
        "Gilbert losses in time:",
        rates(summary, "gilbert", LOSSES),
        "Bottlenecks, as many flows of reno with 1000 bytes as of vptfrc: goodput of a flow, of reno's.",
        shares(summary),
        "The deviation of what a flow sends in a second, over its mean:",
        deviations(summary),
        f"Flows of {RECOMMENDED[0]} beside reno and beside cubic: goodput and deviation, of those of that TCP.",
        beside_cubic(summary),
        "This project's goals, met of all: "
        + ", ".join(f"{name} {counts[name] - len(lines)} of {counts[name]}" for name, lines in missed.items())
        + ". Missed:",
        "\n".join(f"* {rst.sentence(line)}" for lines in missed.values() for line in lines) or "None.",
        "Checks of the paper that do not hold:",
        missed_checks(summary),
    ]
    rst.write_between(path, COMMAND, parts)
