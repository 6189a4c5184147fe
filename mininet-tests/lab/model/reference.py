# SPDX-License-Identifier: GPL-2.0
"""What a transfer takes at best: packets served one by one, flow after flow.

The optimum of packet-pair-1994, 9.4: "send the entire file into the bottleneck,
where it would be stored, and served at the fair share of the capacity".  Buffers
are infinite, every flow hands over all that it has at its start, and a link
serves its backlogged flows in turn, one packet each.  A file is done when its
last packet has been served, and a round trip has passed.

Whole nanoseconds throughout: a result is exact for its model.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Path = tuple[str, ...]


@dataclass(frozen=True)
class File:
    """A file of ``packets``, all ready at ``start_ns``, over the links of ``path``."""

    name: str
    packets: int
    start_ns: int
    round_trip_ns: int
    path: Path


@dataclass(frozen=True)
class Stream:
    """Packets that arrive when they will; ``arrivals`` in ns, ascending, may never end."""

    name: str
    arrivals: Iterator[int]
    path: Path


@dataclass
class _Link:
    """A link's queues, and whose turn it is."""

    service_ns: int
    backlog: dict[str, int] = field(default_factory=dict)
    turns: deque[str] = field(default_factory=deque)
    serving: str = ""

    def take(self, name: str, packets: int) -> None:
        """Packets of a flow arrive; a flow that had none goes to the end of the round."""
        if not self.backlog.get(name) and self.serving != name:
            self.turns.append(name)
        self.backlog[name] = self.backlog.get(name, 0) + packets


# Of events at one moment a packet's arrival comes before a turn's end.
_ARRIVAL, _SERVED = 0, 1


class _Simulation:
    """The events of all links, in the order of time."""

    def __init__(self, service_ns: Mapping[str, int], files: Sequence[File], streams: Sequence[Stream]) -> None:
        self._links = {name: _Link(time_ns) for name, time_ns in service_ns.items()}
        flows: list[File | Stream] = [*files, *streams]
        self._paths = {flow.name: flow.path for flow in flows}
        if len(self._paths) != len(files) + len(streams):
            raise ValueError("two flows have one name")
        empty = [file.name for file in files if file.packets < 1]
        if empty:
            raise ValueError(f"{empty[0]}: a file has at least one packet")
        self._streams = {stream.name: stream.arrivals for stream in streams}
        self._left = {file.name: file.packets for file in files}
        self.ended_ns: dict[str, int] = {}
        # time, kind, number (keeps equals in their order), flow, hop or link, packets
        self._events: list[tuple[int, int, int, str, int, int]] = []
        self._number = 0
        for file in files:
            self._push(file.start_ns, _ARRIVAL, file.name, 0, file.packets)
        for name in self._streams:
            self._pull(name)

    def _push(self, time_ns: int, kind: int, flow: str, hop: int, packets: int) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_ns, kind, self._number, flow, hop, packets))

    def _pull(self, name: str) -> None:
        """The next packet of a stream, if it has one."""
        time_ns = next(self._streams[name], None)
        if time_ns is not None:
            self._push(time_ns, _ARRIVAL, name, 0, 1)

    def _serve(self, link: _Link, now_ns: int) -> None:
        """Start on the next flow's packet if the link is free."""
        if link.serving or not link.turns:
            return
        link.serving = link.turns.popleft()
        link.backlog[link.serving] -= 1
        hop = next(i for i, name in enumerate(self._paths[link.serving]) if self._links[name] is link)
        self._push(now_ns + link.service_ns, _SERVED, link.serving, hop, 1)

    def run(self) -> None:
        """Until every file is served."""
        while len(self.ended_ns) < len(self._left):
            now_ns, kind, _, flow, hop, packets = heapq.heappop(self._events)
            path = self._paths[flow]
            link = self._links[path[hop]]
            if kind == _ARRIVAL:
                link.take(flow, packets)
                if hop == 0 and flow in self._streams:
                    self._pull(flow)
            else:
                link.serving = ""
                if link.backlog[flow]:
                    link.turns.append(flow)
                if hop + 1 < len(path):
                    self._push(now_ns, _ARRIVAL, flow, hop + 1, 1)
                elif flow in self._left:
                    self._left[flow] -= 1
                    if not self._left[flow]:
                        self.ended_ns[flow] = now_ns
            self._serve(link, now_ns)


def completions_s(
    service_ns: Mapping[str, int], files: Sequence[File], streams: Sequence[Stream] = ()
) -> dict[str, float]:
    """Seconds that each file takes from its start, by the file's name.

    :param service_ns: time of one packet on each link, by the link's name
    :raises ValueError: if a file has no packets, or two flows have one name
    """
    simulation = _Simulation(service_ns, files, streams)
    simulation.run()
    return {file.name: (simulation.ended_ns[file.name] - file.start_ns + file.round_trip_ns) / 1e9 for file in files}
