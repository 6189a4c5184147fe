# SPDX-License-Identifier: GPL-2.0
"""What follows from a topology: addresses, routes, and where each tc command stands.

Addresses: link number *n* (from 1) is 10.n/256.n%256.0/24 and fd00:0:0:n::/64; its first
node is .1, its second .2. A node is known by the address of its first device.

Routes: every node knows every link's network by the path of fewest links, on which all
nodes but the ends are routers; of equal ones the path that was made first.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from . import devices
from .errors import PlanError
from .topology import Link, Topology, Way

MAX_LINKS = 65_000
IPV4 = 4


@dataclass(frozen=True)
class Device:
    """One end of a link.

    :param mac: fixed, so that nothing about a run is drawn
    :param leaving: the way that what it sends takes
    :param arriving: the way that what it receives has taken
    """

    name: str
    node: str
    peer: str
    address: str
    address6: str
    mac: str
    mtu_bytes: int
    leaving: Way
    arriving: Way

    @property
    def intermediate(self) -> str:
        """The device behind which the delay line of what arrives stands, or nothing.

        It is needed where the sender's device has a shaper, which a delay line disturbs.
        """
        return f"{self.node}~{self.peer}" if self.arriving.rate_bit_s and self.arriving.needs_netem else ""

    def sending_lines(self, hash_seed: int) -> list[str]:
        """Commands for tc of the device's own queue: a shaper, or else a delay line, or nothing."""
        return devices.queue(self.name, self.leaving, hash_seed, self.mtu_bytes) or devices.netem(
            self.name, self.leaving
        )

    def receiving_lines(self) -> list[str]:
        """Commands for tc for what arrives."""
        lines = devices.arriving(self.name, self.arriving, self.intermediate)
        if self.intermediate:
            lines += devices.netem(self.intermediate, self.arriving)
        return lines


@dataclass(frozen=True)
class Layout:
    """A topology with names, addresses and routes.

    :param devices: by name
    :param links: the two devices of each link, in the order of the topology
    """

    topology: Topology
    devices: dict[str, Device]
    links: tuple[tuple[Device, Device], ...]
    _next: dict[tuple[str, int], Device] = field(repr=False)

    def of_node(self, node: str) -> list[Device]:
        """A node's devices in the order of its links; PlanError if there is no such node."""
        if node not in self.topology.nodes:
            known = ", ".join(self.topology.nodes)
            raise PlanError(f"topology {self.topology.name} has no node {node}; it has: {known}")
        return [one for one in self.devices.values() if one.node == node]

    def address(self, node: str, family: int = 4) -> str:
        """What a node is known by."""
        first = self.of_node(node)[0]
        return first.address if family == IPV4 else first.address6

    def path(self, source: str, sink: str) -> list[Device]:
        """The devices by which a node's packets leave for another; PlanError if they cannot get there."""
        first, last = self.of_node(source)[0], self.of_node(sink)[0]
        target = self._link_of(last)
        found: list[Device] = []
        here = first.node
        while here != last.node:
            device = self._next.get((here, target))
            if device is None or len(found) > len(self.topology.nodes):
                raise PlanError(f"topology {self.topology.name}: there is no path from {source} to {sink}")
            found.append(device)
            here = device.peer
        return found

    def routes(self, node: str, family: int = 4) -> list[str]:
        """Words for ``ip route add``: one default route where there is one device, else one for each network.

        There are none by a link that is down.
        """
        own = self.of_node(node)
        mine = {self._link_of(device) for device in own}
        if len(own) == 1:
            return [f"default via {self._peer(own[0], family)}"] if (node, *mine) in self._next else []
        found = []
        for number in range(1, len(self.links) + 1):
            device = self._next.get((node, number))
            if number not in mine and device is not None:
                found.append(f"{network(number, family)} via {self._peer(device, family)}")
        return found

    def beyond(self, node: str) -> list[tuple[int, Device]]:
        """Networks that are none of a node's own and can be reached: the number of each, and the device there."""
        mine = {self._link_of(device) for device in self.of_node(node)}
        found = ((number, self._next.get((node, number))) for number in range(1, len(self.links) + 1))
        return [(number, device) for number, device in found if number not in mine and device is not None]

    def number_of(self, device: Device) -> int:
        """The number of a device's network."""
        return self._link_of(device)

    def _peer(self, device: Device, family: int) -> str:
        peer = self.devices[f"{device.peer}-{device.node}"]
        return peer.address if family == IPV4 else peer.address6

    def _link_of(self, device: Device) -> int:
        return next(number for number, ends in enumerate(self.links, 1) if device in ends)


def network(number: int, family: int = 4) -> str:
    """A link's network."""
    return f"10.{number >> 8}.{number & 255}.0/24" if family == IPV4 else f"fd00:0:0:{number:x}::/64"


def _device(number: int, end: int, link: Link) -> Device:
    """End 1 or 2 of a link."""
    node, peer, leaving, arriving = (
        (link.a, link.b, link.there, link.back) if end == 1 else (link.b, link.a, link.back, link.there)
    )
    return Device(
        name=f"{node}-{peer}",
        node=node,
        peer=peer,
        address=f"10.{number >> 8}.{number & 255}.{end}",
        address6=f"fd00:0:0:{number:x}::{end}",
        mac=f"02:00:00:{number >> 8:02x}:{number & 255:02x}:{end:02x}",
        mtu_bytes=link.mtu_bytes,
        leaving=leaving,
        arriving=arriving,
    )


@functools.lru_cache(maxsize=256)
def _next_devices(
    nodes: tuple[tuple[str, str], ...], links: tuple[tuple[str, str], ...], down: frozenset[str]
) -> dict[tuple[str, int], str]:
    """The device by which packets leave a node for a link's network, where there is a path.

    Runs of a sweep differ in what links do, and seldom in what they join.
    """
    kinds = dict(nodes)
    neighbours: dict[str, list[str]] = {node: [] for node in kinds}
    in_use = [not {f"{a}-{b}", f"{b}-{a}"} & down for a, b in links]
    for (a, b), used in zip(links, in_use, strict=True):
        if used:
            neighbours[a].append(b)
            neighbours[b].append(a)
    found: dict[tuple[str, int], str] = {}
    for number, ((a, b), used) in enumerate(zip(links, in_use, strict=True), 1):
        if not used:
            continue
        found[a, number], found[b, number] = f"{a}-{b}", f"{b}-{a}"
        waiting, reached = deque((a, b)), {a, b}
        while waiting:
            here = waiting.popleft()
            # only routers pass packets on
            if kinds[here] != "router":
                continue
            for peer in neighbours[here]:
                if peer not in reached:
                    reached.add(peer)
                    found[peer, number] = f"{peer}-{here}"
                    waiting.append(peer)
    return found


def lay_out(topology: Topology, down: Collection[str] = ()) -> Layout:
    """Names, addresses and routes of a topology; PlanError if it cannot be built.

    :param down: devices whose links no packet passes
    """
    topology.check()
    if len(topology.links) > MAX_LINKS:
        raise PlanError(f"topology {topology.name}: {len(topology.links)} links: must be at most {MAX_LINKS}")
    ends = [(_device(number, 1, link), _device(number, 2, link)) for number, link in enumerate(topology.links, 1)]
    by_name = {device.name: device for pair in ends for device in pair}
    joined = tuple((link.a, link.b) for link in topology.links)
    following = _next_devices(tuple(topology.nodes.items()), joined, frozenset(down))
    return Layout(topology, by_name, tuple(ends), {where: by_name[name] for where, name in following.items()})
