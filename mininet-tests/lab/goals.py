# SPDX-License-Identifier: GPL-2.0
"""What pktpair is to reach on the nine benchmarks, and whether it did.

Slowdowns are fractions.  Every goal is judged on the mean over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .transfers import AHEAD_LIMIT, DIFFERENCE

OURS = ("pktpair", "fq_rr")
PEERS = ("bbr", "cubic")
Key = tuple[str, str]

# The slowdown of the row's own flow, pktpair over fq_rr, by the hosts' setting.
PRIMARY: dict[str, dict[Key, float]] = {
    "open": {
        ("b1", ""): 0.07,
        ("b2", ""): 0.08,
        ("b3", "4"): 0.01,
        ("b3", "20"): 0.95,
        ("b3", "200"): 0.70,
        ("b3", "2000"): 0.30,
        ("b4", "short"): 0.05,
        ("b4", "long"): 0.05,
        ("b5", ""): 0.14,
        ("b6", "forward"): 0.065,
        ("b6", "reverse"): 0.065,
        ("b7", "0.2"): 0.15,
        ("b7", "0.4"): 0.13,
        ("b7", "0.6"): 0.10,
        ("b7", "0.8"): 0.05,
        ("b7", "0.9"): 0.03,
        ("b8", ""): 0.12,
        ("b9", DIFFERENCE): 0.04,
    },
    "nowindow": {
        ("b1", ""): 0.05,
        ("b2", ""): 0.06,
        ("b3", "2000"): 0.20,
        ("b4", "short"): 0.035,
        ("b4", "long"): 0.035,
        ("b5", ""): 0.10,
        ("b6", "forward"): 0.05,
        ("b6", "reverse"): 0.05,
    },
    "stock": {
        ("b1", ""): 0.10,
        ("b2", ""): 0.11,
        ("b3", "200"): 1.18,
        ("b3", "2000"): 0.40,
        ("b4", "short"): 0.08,
        ("b4", "long"): 0.08,
        ("b8", ""): 0.16,
    },
}
# Of the short and the long path of b4, hosts open.
APART = 0.015
# How far all flows may be above the primary's goal.
ALL_FLOWS = ("b1", "b2", "b4", "b6")
MEAN_ABOVE = 0.02
WORST_ABOVE = 0.06
# Beside bbr and cubic over the same queue.
PEER_ABOVE = 0.005
# Retransmissions over fq_codel and CAKE, as part of the data packets.
RETRANSMITTED = {"b8": 0.05}
RETRANSMITTED_ELSEWHERE = 0.005


@dataclass(frozen=True)
class Spread:
    """A figure over seeds."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """At least one value."""
        known = list(values)
        return cls(sum(known) / len(known), min(known), max(known))


@dataclass(frozen=True)
class Line:
    """A row of the table: one combination on one variant, over all seeds."""

    benchmark: str
    variant: str
    hosts: str
    cc: str
    qdisc: str
    seeds: int
    published: float
    packets: int
    figures: dict[str, Spread]

    @property
    def name(self) -> str:
        """The row's name."""
        return f"{self.benchmark} {self.variant}".strip()

    def mean(self, figure: str) -> float:
        """Of a figure, over seeds."""
        return self.figures[figure].mean


@dataclass(frozen=True)
class Verdict:
    """One goal: what was to be reached, what was measured.

    :param kind: "primary", "ahead", "apart", "mean", "worst", "peers" or "retransmits"
    """

    kind: str
    name: str
    hosts: str
    qdisc: str
    measured: float
    limit: float
    met: bool
    text: str


FIGURES = ("completion_s", "slowdown", "mean_slowdown", "worst_slowdown", "retransmits", "ahead")


def lines(rows: Iterable[dict[str, Any]]) -> list[Line]:
    """Rows of summary.json, seeds put together, in their order."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("benchmark", "variant", "hosts", "cc", "qdisc"))
        groups.setdefault(key, []).append({**row, "ahead": row["completion_s"] / row["reference_s"] - 1})
    return [
        Line(
            *key,
            seeds=len(group),
            published=group[0]["published_slowdown"],
            packets=group[0]["packets"],
            figures={name: Spread.of(row[name] for row in group) for name in FIGURES},
        )
        for key, group in groups.items()
    ]


def percent(value: float) -> str:
    """A fraction for people."""
    return f"{value * 100:.1f} %"


def _verdict(line: Line, kind: str, measured: float, limit: float, text: str) -> Verdict:
    return Verdict(kind, line.name, line.hosts, line.qdisc, measured, limit, measured <= limit, text)


def of_primary(line: Line) -> list[Verdict]:
    """The row's own goals, pktpair over fq_rr."""
    found = []
    goal = PRIMARY.get(line.hosts, {}).get((line.benchmark, line.variant))
    if goal is not None:
        found.append(_verdict(line, "primary", line.mean("slowdown"), goal, "slowdown"))
        if line.benchmark in ALL_FLOWS:
            mean, worst = line.mean("mean_slowdown"), line.mean("worst_slowdown")
            found.append(_verdict(line, "mean", mean, goal + MEAN_ABOVE, "mean of all flows"))
            found.append(_verdict(line, "worst", worst, goal + WORST_ABOVE, "worst of all flows"))
    if line.variant != DIFFERENCE:
        # judged the other way round: how far ahead of its fair share
        found.append(_verdict(line, "ahead", -line.mean("ahead"), -AHEAD_LIMIT, "ahead of its fair share"))
    return found


def of_apart(ours: list[Line]) -> list[Verdict]:
    """The two paths of b4."""
    by_variant = {line.variant: line for line in ours if line.benchmark == "b4" and line.hosts == "open"}
    if by_variant.keys() < {"short", "long"}:
        return []
    apart = abs(by_variant["short"].mean("slowdown") - by_variant["long"].mean("slowdown"))
    return [_verdict(by_variant["long"], "apart", apart, APART, "short and long path apart")]


def of_peers(line: Line, peers: dict[str, Line]) -> list[Verdict]:
    """Pktpair beside bbr and cubic over the same queue, hosts alike."""
    found = []
    for cc, peer in peers.items():
        for figure, word in (("mean_slowdown", "mean"), ("worst_slowdown", "worst")):
            text = f"{word} of all flows beside {cc}"
            found.append(_verdict(line, "peers", line.mean(figure), peer.mean(figure) + PEER_ABOVE, text))
        if cc == "bbr" or line.qdisc == "fq_rr":
            measured, limit = line.mean("retransmits"), peer.mean("retransmits")
            found.append(_verdict(line, "retransmits", measured, limit, f"retransmissions beside {cc}"))
    return found


def of_retransmits(line: Line) -> list[Verdict]:
    """Over queues that drop early."""
    if line.qdisc == "fq_rr" or line.benchmark == "b9":
        return []
    limit = RETRANSMITTED.get(line.benchmark, RETRANSMITTED_ELSEWHERE)
    part = line.mean("retransmits") / line.packets
    return [_verdict(line, "retransmits", part, limit, "retransmitted part")]


def judge(all_lines: list[Line]) -> list[Verdict]:
    """Every goal that the lines allow to judge."""
    found = []
    ours = [line for line in all_lines if (line.cc, line.qdisc) == OURS]
    for line in ours:
        found += of_primary(line)
    found += of_apart(ours)
    for line in all_lines:
        if line.cc != OURS[0]:
            continue
        same = (line.benchmark, line.variant, line.hosts, line.qdisc)
        peers = {
            other.cc: other
            for other in all_lines
            if other.cc in PEERS and (other.benchmark, other.variant, other.hosts, other.qdisc) == same
        }
        found += of_peers(line, peers) + of_retransmits(line)
    return found


def best_peer(line: Line, all_lines: list[Line]) -> Line | None:
    """The peer, over whatever queue, with the smallest slowdown on the same row."""
    same = [other for other in all_lines if other.cc in PEERS and (other.name, other.hosts) == (line.name, line.hosts)]
    return min(same, key=lambda other: other.mean("slowdown"), default=None)


def missed(line: Line, verdicts: list[Verdict]) -> list[Verdict]:
    """The goals that a row misses."""
    return [v for v in verdicts if not v.met and (v.name, v.hosts, v.qdisc) == (line.name, line.hosts, line.qdisc)]
