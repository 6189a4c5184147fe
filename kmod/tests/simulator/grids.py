# SPDX-License-Identifier: GPL-2.0
"""Grids of cases that laws are judged by: axes, what a case is, goals.

A grid's cases are the cross of its axes, for each of its laws. Times in axes are seconds, as in the rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Point = Mapping[str, Any]
Row = dict[str, Any]
Rows = Sequence[Row]

LAWS = ("pktpair",)
# A full packet of 1448 bytes of payload.
WIRE_BYTES = 1514
# A window of 3 MB, which the 6 MB of a stock tcp_rmem come to, or a little more.
WINDOW_PACKETS = 2198
SETPOINT_PACKETS = 5
TRAIN_PACKETS = 4
RATES_MBIT = (2, 5, 10, 20, 40, 100, 1000)
PATHS_S = (0.02, 0.04, 0.1)
# Where flows meet at a full buffer, a cell's mean over three seeds is off by a tenth and more.
SEEDS = tuple(range(1, 13))
ACKS_S = (0.0005, 0.001, 0.002, 0.004, 0.005, 0.008, 0.01, 0.02)
# Goals are met within so much where seeds are drawn.
WITHIN = 1.1


@dataclass(frozen=True)
class Goal:
    """What a grid's rows of one law should come to.

    :param text: what is measured
    :param limit: the most that it may be, or the least
    """

    text: str
    measure: Callable[[Rows], float]
    limit: float
    least: bool = False

    def met(self, value: float) -> bool:
        """Whether a measured value will do."""
        return value >= self.limit if self.least else value <= self.limit


@dataclass(frozen=True)
class Grid:
    """Cases and what should come of them.

    :param words: of a case, KEY=VALUE, but for name, cc and seed
    :param picture: axes of its heat maps: down, across, beside each other; empty: none
    :param shown: what of a row the heat maps show, the worst of those that fall together
    :param beside: a law that is run for comparison, without goals
    """

    name: str
    claim: str
    axes: Mapping[str, Sequence[Any]]
    words: Callable[[Point], list[str]]
    goals: tuple[Goal, ...]
    laws: tuple[str, ...] = LAWS
    picture: tuple[str, ...] = ("rate_mbit", "ack_s", "path_s")
    shown: str = "rtt_max_ratio"
    beside: tuple[str, ...] = ()


def count(name: str) -> Callable[[Rows], float]:
    """How many rows have it."""
    return lambda rows: sum(bool(row[name]) for row in rows)


def largest(name: str) -> Callable[[Rows], float]:
    """The most of it in any row."""
    return lambda rows: max(row[name] for row in rows)


def smallest(name: str) -> Callable[[Rows], float]:
    """The least of it in any row."""
    return lambda rows: min(row[name] for row in rows)


def mean_of(name: str) -> Callable[[Rows], float]:
    """The mean of it."""
    return lambda rows: sum(row[name] for row in rows) / len(rows)


def at_least(name: str, least: float) -> Callable[[Rows], float]:
    """How many rows have so much of it."""
    return lambda rows: sum(row[name] >= least for row in rows)


def where(name: str, value: Any, measure: Callable[[Rows], float]) -> Callable[[Rows], float]:
    """Of the rows in which one axis has one value."""
    return lambda rows: measure([row for row in rows if row[name] == value])


def worst_of(measure: Callable[[Rows], float], *names: str, least: bool = False) -> Callable[[Rows], float]:
    """Of groups of rows that are equal in these."""

    def of_groups(rows: Rows) -> float:
        groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[name] for name in names)].append(row)
        values = [measure(group) for group in groups.values()]
        return min(values) if least else max(values)

    return of_groups


def service_s(rate_mbit: float) -> float:
    """Of a full packet."""
    return WIRE_BYTES * 8 / rate_mbit / 1e6


def one_flow(point: Point, seconds: float) -> list[str]:
    """One flow at one server, and what round trips of the start are too long."""
    path_s, ack_s = point["path_s"], point.get("ack_s", 0)
    return [
        f"rate_mbit={point['rate_mbit']} path_ms={path_s * 1e3:g} seconds={seconds:g} from_s=2",
        f"rtt_limit_ms={3 * (path_s + ack_s) * 1e3:g}",
    ]


def slots(point: Point) -> list[str]:
    """ACKs are handed over every so often."""
    seconds = 5 if point["rate_mbit"] >= 1000 else 15
    return [*one_flow(point, seconds), f"ack_period_ms={point['ack_s'] * 1e3:g}"]


def slots_window(point: Point) -> list[str]:
    """The same, with a receive window."""
    return [*slots(point), f"window={WINDOW_PACKETS}"]


def drawn_gaps(point: Point) -> list[str]:
    """The same, with hand-overs at random times."""
    return [*slots_window(point), f"ack_gaps={point['gaps']}"]


def stretched(point: Point) -> list[str]:
    """A receiver that acknowledges many segments at once."""
    service = service_s(point["rate_mbit"])
    allowed_s = point["path_s"] + (SETPOINT_PACKETS + TRAIN_PACKETS + point["ack_every"]) * service
    return [
        f"rate_mbit={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g} seconds=15 from_s=2",
        f"ack_every={point['ack_every']} rtt_limit_ms={2.5 * allowed_s * 1e3:g} queue=rr limit_packets=5000",
    ]


def grown(point: Point) -> list[str]:
    """A share that grows while no train is longer than a segment; the link is measured from 3 s later on."""
    low = point["rate_mbit"] / point["times"]
    return [
        f"rate_mbit={low:.6g} rate_mbit@5={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g} gso_segments=1",
        "seconds=12 from_s=8",
    ]


def left(point: Point) -> list[str]:
    """Flows of one law hold their shares until one or half of them leave; 15 packets at the old share are a queue."""
    flows = point["flows"]
    leavers = 1 if point["leave"] == "one" else flows // 2
    queue_s = 15 * flows * service_s(point["rate_mbit"])
    return [
        f"flows={flows} rate_mbit={point['rate_mbit']} queue=rr seconds=9 from_s=2",
        f"rtt_limit_ms={(point['path_s'] + queue_s) * 1e3:g} path_ms.0={point['path_s'] * 1e3:g}",
        *[f"path_ms.{i}={point['others_s'] * 1e3:g} start_s.{i}={0.1 * i:g}" for i in range(1, flows)],
        *[f"stop_s.{i}=6" for i in range(1, leavers + 1)],
    ]


def fifo(point: Point) -> str:
    """A FIFO of some bandwidth-delay products, at the path's rate."""
    packets = max(1, round(point["path_s"] / service_s(point["rate_mbit"]) * point["buffer_bdp"]))
    path = f"rate_mbit={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g}"
    return f"{path} queue=fifo limit_packets={packets} seconds=20"


def beside_cubic(point: Point) -> list[str]:
    """One flow at a FIFO beside CUBIC's: it begins before them, or when they have filled the FIFO."""
    others = [f"cc.{i}=cubic start_s.{i}={0.1 * i:g}" for i in range(1, point["others"] + 1)]
    start_s = 5 if point["joins"] == "late" else 0
    return [
        f"flows={point['others'] + 1} {fifo(point)} from_s=10 jitter_ms=0.5 start_s.0={start_s}",
        *others,
    ]


def among_kin(point: Point) -> list[str]:
    """Some flows of one law at a FIFO, that begin within half a second."""
    starts = [(point["seed"] * 37 + i * 61) % 100 / 200 for i in range(point["flows"])]
    return [
        f"flows={point['flows']} {fifo(point)}",
        *[f"start_s.{i}={start:g}" for i, start in enumerate(starts)],
    ]


def policed(point: Point) -> list[str]:
    """A policer with a burst of 20 ms."""
    burst = max(3 * WIRE_BYTES, point["rate_mbit"] * 1e6 * 0.02 / 8)
    return [
        f"rate_mbit={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g} queue=policer burst_bytes={burst:.0f}",
        "seconds=15 from_s=2",
    ]


def queue_over_path(rows: Rows) -> float:
    """What the queue's 99th percentile is beyond the setpoint and a train, over the path; mean of a cell's rows."""
    own_s = (SETPOINT_PACKETS + TRAIN_PACKETS + 1) * service_s(rows[0]["rate_mbit"])
    return (mean_of("queue_p99_s")(rows) - own_s) / float(rows[0]["path_s"])


def randomly_lossy(point: Point) -> list[str]:
    """One flow in turn, of which packets are lost on their way to the server, whatever its rate is."""
    return [
        f"rate_mbit={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g} queue=rr",
        f"loss_ppm={point['lost'] * 1e6:.0f} seconds=20 from_s=5",
    ]


def among_neighbours(point: Point) -> list[str]:
    """Some flows in a small buffer of a round robin, fq_rr's flush or fq_codel's CoDel."""
    queue = {
        "fq_rr": f"queue=rr overflow=flush limit_packets={point['limit']}",
        "fq_codel": f"queue=drr overflow=batch codel=1 limit_packets={point['limit']}",
    }[point["queue"]]
    return [
        f"flows={point['flows']} rate_mbit={point['rate_mbit']} path_ms={point['path_s'] * 1e3:g} {queue}",
        "seconds=15 from_s=2 jitter_ms=0.2",
        *[f"start_s.{i}={0.05 * i:g}" for i in range(point["flows"])],
    ]


# The file transfers of packet-pair-1994, 9.4, as in mininet-tests/lab/model/benchmarks.py: a packet takes
# 100 us; with the Ethernet header, which links of the lab do not count, 514 bytes.
TRANSFERS = {"b1": (0.044, 440), "b2": (0.004, 440), "b8": (0.044, 44)}
OPTIMAL_S = 1.444


def transfer(point: Point) -> list[str]:
    """A file of 4000 packets among ten of 1000, which begin one after another."""
    spacing_s, limit = TRANSFERS[point["benchmark"]]
    late_us = [(point["seed"] * 37 + i * 61) % 100 for i in range(11)]
    starts = [0.0, *[0.1 + i * spacing_s for i in range(10)]]
    return [
        "flows=11 rate_mbit=41.12 path_ms=44 mss=448 queue=rr overflow=flush seconds=10",
        f"limit_packets={limit} segments=1000 segments.0=4000 window=18000",
        *[
            f"start_s.{i}={start + late * 1e-6:.6f}"
            for i, (start, late) in enumerate(zip(starts, late_us, strict=True))
        ],
    ]


START_GOALS = (
    Goal("cells bad at start", count("bad_start"), 30),
    Goal("cells bad later", count("bad_later"), 10),
    Goal("worst round trip over path", largest("rtt_max_ratio"), 15),
    Goal("cells with 0.9 of the link", at_least("link", 0.9), 150, least=True),
)
START_AXES = {"rate_mbit": RATES_MBIT, "path_s": PATHS_S, "ack_s": ACKS_S}

# A window of 3 MB fills 1 Gbit/s over no path of these, so there 24 cells are left out of account.
WINDOW_GOALS = (*START_GOALS[:3], Goal("cells with 0.9 of the link", at_least("link", 0.9), 126, least=True))

GRIDS = (
    Grid("start", "ACKs in slots, a receive window that never binds", START_AXES, slots, START_GOALS),
    Grid("start-window", "ACKs in slots, a receive window of 3 MB", START_AXES, slots_window, WINDOW_GOALS),
    Grid(
        "gaps",
        "hand-overs at random times, a receive window of 3 MB",
        {**START_AXES, "gaps": ("uniform", "exponential", "on-off"), "seed": tuple(range(1, 11))},
        drawn_gaps,
        (
            Goal("cells bad at start, worst seed", worst_of(count("bad_start"), "gaps", "seed"), 30 * WITHIN),
            Goal("cells bad later, worst seed", worst_of(count("bad_later"), "gaps", "seed"), 10 * WITHIN),
            Goal("worst round trip over path", largest("rtt_max_ratio"), 15 * WITHIN),
            Goal(
                "cells with 0.9 of the link, worst seed",
                worst_of(at_least("link", 0.9), "gaps", "seed", least=True),
                126 / WITHIN,
                least=True,
            ),
        ),
    ),
    Grid(
        "stretch",
        "6 to 32 segments an ACK",
        {"rate_mbit": (2, 5, 10, 20, 40, 100), "path_s": PATHS_S, "ack_every": (6, 8, 12, 16, 24, 32)},
        stretched,
        (
            Goal("least part of the link", smallest("link"), 0.8, least=True),
            Goal("cells with round trips above 2.5 times what they must be", count("bad_any"), 0),
        ),
        picture=("rate_mbit", "ack_every", "path_s"),
    ),
    Grid(
        "grown",
        "a share that grows while no train shows a gap",
        {"rate_mbit": (5, 20, 100), "path_s": PATHS_S, "times": (2, 6, 10)},
        grown,
        (Goal("least part of the link, 3 s later", smallest("link"), 0.9, least=True),),
        picture=("rate_mbit", "times", "path_s"),
        shown="link",
    ),
    Grid(
        "left",
        "flows of its own kind leave, and gaps show the link until the others have answered",
        {
            "rate_mbit": (10, 40),
            "path_s": (0.02, 0.04, 0.08),
            "others_s": (0.02, 0.04, 0.08),
            "flows": (3, 4, 8),
            "leave": ("one", "half"),
        },
        left,
        (Goal("cells whose queue is long for more than 1 % of ACKs", count("bad_later"), 0),),
        picture=("others_s", "path_s", "flows"),
    ),
    Grid(
        "fifo",
        "a FIFO beside CUBIC: part of what one more CUBIC flow gets",
        {
            "rate_mbit": (5, 20, 50),
            "path_s": (0.04,),
            "buffer_bdp": (1, 2, 5),
            "others": (1, 4, 8),
            "joins": ("early", "late"),
            "seed": SEEDS,
        },
        beside_cubic,
        (
            Goal("least of what CUBIC gets there, seeds' mean", smallest("of_cubic"), 0.7, least=True),
            *[
                Goal(f"the most, if it joins {joins}, seeds' mean", where("joins", joins, largest("of_cubic")), 1.3)
                for joins in ("early", "late")
            ],
        ),
        picture=("others", "buffer_bdp", "rate_mbit"),
        shown="share",
        beside=("cubic",),
    ),
    Grid(
        "kin",
        "flows of its own kind at a FIFO: what is sent again, over what CUBIC flows there send again",
        {
            "rate_mbit": (5, 10, 20, 50),
            "path_s": (0.04,),
            "buffer_bdp": (1, 2, 5),
            "flows": (2, 4, 9),
            "seed": SEEDS,
        },
        among_kin,
        (
            Goal("most of what CUBIC sends again, seeds' mean", largest("again_of_cubic"), 1.2),
            Goal("the same, mean of all cells", mean_of("again_of_cubic"), 1.2),
            Goal("least part of the link", smallest("link"), 0.95, least=True),
        ),
        picture=("flows", "buffer_bdp", "rate_mbit"),
        shown="retransmitted",
        beside=("cubic",),
    ),
    Grid(
        "policer",
        "a rate without a queue",
        {"rate_mbit": (2, 5, 10, 20, 50), "path_s": PATHS_S},
        policed,
        (
            Goal("least part of the rate", smallest("link"), 0.9, least=True),
            Goal("most that is lost", largest("retransmitted"), 0.03),
        ),
        picture=("rate_mbit", "path_s"),
        shown="retransmitted",
        beside=("cubic",),
    ),
    Grid(
        "random",
        "packets that are lost at random, whatever the rate is",
        {"rate_mbit": (5, 20, 100), "path_s": PATHS_S, "lost": (0.001, 0.01, 0.02, 0.05), "seed": (1, 2, 3)},
        randomly_lossy,
        (
            Goal(
                "least part of the link, seeds' mean",
                worst_of(mean_of("link"), "rate_mbit", "path_s", "lost", least=True),
                0.8,
                least=True,
            ),
            Goal(
                "99th percentile of the queue beyond ten packets, over the path, seeds' mean",
                worst_of(queue_over_path, "rate_mbit", "path_s", "lost"),
                0.25,
            ),
        ),
        picture=("rate_mbit", "lost", "path_s"),
        shown="link",
        beside=("cubic",),
    ),
    Grid(
        "neighbours",
        "small buffers of a round robin",
        {
            "rate_mbit": (10, 40),
            "path_s": (0.04,),
            "flows": (2, 4, 16),
            "queue": ("fq_rr", "fq_codel"),
            "limit": (32, 128),
            "seed": SEEDS,
        },
        among_neighbours,
        (
            Goal("most that is sent again", largest("retransmitted"), 0.05),
            Goal("least part of the link", smallest("link"), 0.95, least=True),
        ),
        picture=("flows", "limit", "queue"),
        shown="retransmitted",
        beside=("cubic",),
    ),
    Grid(
        "transfers",
        "b1, b2 and b8: a file among ten others",
        {"benchmark": tuple(TRANSFERS), "seed": SEEDS},
        transfer,
        (
            Goal("b1, primary behind its optimum, %", lambda rows: behind(rows, "b1"), 7.5),
            Goal("b8, primary behind its optimum, %", lambda rows: behind(rows, "b8"), 16),
            Goal("sent again in b1", lambda rows: sent_again(rows, "b1"), 0.01),
            Goal("sent again in b2", lambda rows: sent_again(rows, "b2"), 0.1),
            Goal("sent again in b8", lambda rows: sent_again(rows, "b8"), 0.05),
        ),
        laws=("pktpair", "pktpair_1994"),
        picture=("benchmark", "seed"),
        shown="behind",
        beside=("cubic", "reno"),
    ),
)


def behind(rows: Rows, benchmark: str) -> float:
    """By how many percent the primary is behind, over all seeds in the mean."""
    found = [row["behind"] for row in rows if row["benchmark"] == benchmark]
    return 100 * sum(found) / len(found) if found else 0.0


def sent_again(rows: Rows, benchmark: str) -> float:
    """The most that is sent again in any seed, as a part of all."""
    return max((row["retransmitted"] for row in rows if row["benchmark"] == benchmark), default=0.0)
