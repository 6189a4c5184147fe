# SPDX-License-Identifier: GPL-2.0
"""The eight scenarios of Keshav's thesis (1991), chapter 6: networks, sources, and what the text leaves open.

    file1 --- r0 ==== r1 ==== ... --- sink of file1

Each source has a host of its own, and each sink. A slow line has 10 packets of 1000 bytes a second, an access line
100. Acknowledgements take the lines' delays on their way back, and no time on them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .plan import TCP_HEADER_BYTES, Exchange
from .topology import Link, Topology, Way

SLOW_BIT_S, FAST_BIT_S = 80_000, 800_000
PACKET_BYTES = 1000
PAYLOAD_BYTES = PACKET_BYTES - TCP_HEADER_BYTES
PACKET_S = PACKET_BYTES * 8 / SLOW_BIT_S
SLOW_PACKETS_S = SLOW_BIT_S / 8 / PACKET_BYTES
# Of seven intervals the first is not measured.
INTERVALS = 7
TELNET_GAP_S = 5.0
# What an access line may hold: a window, and more.
ACCESS_PACKETS = 1000
LINE_S = 2.0
# What its own packets' queues are there for; the buffer is what the scenario has.
MALICIOUS_PACKETS_S, BACKGROUND_PACKETS_S, POISSON_PACKETS_S = 10.0, 5.0, 2.0
PERIOD_S = 300.0
# Scenario 3: the background is on, off, and on; what is judged is its second time on, and the time off.
PERIODS_S = {"first_on": (0.0, 300.0), "off": (300.0, 600.0), "on": (600.0, 900.0)}


@dataclass(frozen=True)
class Case:
    """One of the eight.

    :param files: sources that always have data
    :param buffers: packets of each slow line
    :param window: packets that a source may have outstanding
    :param links: slow lines in a row
    :param link_s: propagation of each, one way
    :param interval_s: a seventh of a run
    :param inferred: parameters that the text does not state
    """

    files: int
    buffers: int
    window: int
    links: int = 1
    link_s: float = 0.0
    telnets: int = 0
    interval_s: float = 100.0
    inferred: tuple[str, ...] = ()

    @property
    def round_trip_s(self) -> float:
        """Propagation of the shortest path through all lines."""
        return 2 * self.links * self.link_s


CASES = {
    1: Case(files=2, buffers=40, window=5, telnets=2),
    2: Case(files=6, buffers=25, window=5, telnets=2, inferred=("lines",)),
    3: Case(files=2, buffers=40, window=40, link_s=LINE_S, interval_s=PERIOD_S),
    4: Case(files=1, buffers=20, window=5, telnets=1, inferred=("lines", "window", "buffers")),
    5: Case(files=4, buffers=15, window=5, inferred=("lines",)),
    6: Case(files=4, buffers=40, window=5, links=3, inferred=("lines", "buffers")),
    7: Case(files=2, buffers=120, window=60, links=3, link_s=LINE_S, interval_s=600.0, inferred=("paths of sources",)),
    8: Case(
        files=2,
        buffers=120,
        window=60,
        links=3,
        link_s=LINE_S,
        interval_s=600.0,
        inferred=("paths of sources", "sources", "buffers", "window", "lines"),
    ),
}
# In whose tables packet pair has more outstanding than the chapter's window: 7.4 and 6.1 packets, throughput times
# round trip. In the others it has at most five.
OPEN_TO_PAIRS = (1,)
# A malicious source's, a background's or a Poisson source's part of a line counts as one of those who share it.
SHARES = {1: 4.8, 2: 1.6, 4: 4.8, 5: 2.5, 6: 5.0, 7: 10 / 6, 8: 10 / 6}


@dataclass(frozen=True)
class Path:
    """A source's: between which routers, and what its own lines add, one way."""

    name: str
    first: int
    last: int
    extra_s: float = 0.0

    @property
    def source(self) -> str:
        """Its host."""
        return f"s{self.name}"

    @property
    def sink(self) -> str:
        """The other end."""
        return f"d{self.name}"


def files_of(scenario: int) -> list[Path]:
    """Sources that always have data, by their numbers in the thesis."""
    case = CASES[scenario]
    if scenario == 6:
        return [*(Path(str(number), number - 1, number) for number in (1, 2, 3)), Path("4", 0, case.links)]
    extra_s = {2: case.links * case.link_s} if scenario == 8 else {}
    return [Path(str(number), 0, case.links, extra_s.get(number, 0.0)) for number in range(1, case.files + 1)]


def telnets_of(scenario: int) -> list[Path]:
    """Sources of single keys."""
    case = CASES[scenario]
    return [Path(str(case.files + number), 0, case.links) for number in range(1, case.telnets + 1)]


def others_of(scenario: int, reading: str) -> list[Path]:
    """Sources without flow control.

    :param reading: of scenarios 7 and 8: "each" has four at each line, "all" four that pass all lines
    """
    if scenario in (3, 4):
        return [Path("bkg" if scenario == 3 else "bad", 0, 1)]
    if scenario not in (7, 8):
        return []
    links = CASES[scenario].links
    if reading == "all":
        return [Path(f"p{number}", 0, links) for number in range(1, 5)]
    return [Path(f"p{line}{number}", line - 1, line) for line in range(1, links + 1) for number in range(1, 5)]


def network(scenario: int, paths: Sequence[Path], queue: str, limit: int, options: str) -> Topology:
    """Slow lines in a row, and two hosts for each path."""
    case = CASES[scenario]
    delay_ms = case.link_s * 1e3
    slow = Way(SLOW_BIT_S, queue, limit, options, delay_ms=delay_ms)
    nodes = {f"r{number}": "router" for number in range(case.links + 1)}
    links = [
        Link(f"r{number}", f"r{number + 1}", slow, Way(delay_ms=delay_ms), PACKET_BYTES) for number in range(case.links)
    ]
    for path in paths:
        nodes |= {path.source: "host", path.sink: "host"}
        extra_ms = path.extra_s * 1e3
        fast = Way(FAST_BIT_S, "pfifo", ACCESS_PACKETS, delay_ms=extra_ms)
        links.append(Link(path.source, f"r{path.first}", fast, Way(delay_ms=extra_ms), PACKET_BYTES))
        links.append(Link(path.sink, f"r{path.last}", mtu_bytes=PACKET_BYTES))
    # a machine's addresses are in the order in which Mininet has links: by the end whose name sorts first
    places = list(nodes)
    links.sort(key=lambda link: places.index(min(link.a, link.b)))
    return Topology("thesis", nodes, tuple(links), {"scenario": scenario})


def keys(seed: int, number: str, seconds: float) -> tuple[Exchange, ...]:
    """Single keys with exponential times between an answer and the next."""
    drawn = random.Random(f"keys {seed} {number}")
    count = 1 + round(2 * seconds / TELNET_GAP_S)
    return tuple(Exchange(1, 1, round(drawn.expovariate(1 / TELNET_GAP_S), 9)) for _ in range(count))
