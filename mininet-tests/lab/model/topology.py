# SPDX-License-Identifier: GPL-2.0
"""A topology as data: nodes, links, and what each link does to packets in each direction.

Mininet's ``Topo`` describes which nodes are linked; ``lab.model.topologies`` reads these data
out of one. All else (device names, addresses, routes, tc commands) follows from the data:
see ``layout.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any

from .errors import PlanError
from .typed import Range, check_name, check_options, check_types

# A device is called "a-b" and has at most 15 characters (IFNAMSIZ).
DEVICE_NAME_CHARACTERS = 15
# fq_rr's own bound.
MAX_LIMIT_PACKETS = 1 << 20
# What tc takes of one packet in so many.
MAX_EVERY = 10_000
# A flow has a minute after its time: a round trip of more never ends.
Delay = Annotated[float, Range(0, 30_000)]
IPV6_MTU_BYTES = 1280
STOCK_MTU_BYTES = 1500


@dataclass(frozen=True)
class Way:
    """One direction of a link: what happens to packets that leave a node for its neighbour.

    A packet is queued, leaves at the link's rate, and then takes ``delay_ms``. The rate
    is that of IP datagrams; Ethernet headers do not count.

    :param rate_bit_s: of the link; 0 is as fast as the guest
    :param queue: the discipline that holds what the rate cannot take (``devices.QUEUES``)
    :param limit_packets: of that queue; 0 is the discipline's own
    :param options: further options of the queue, as tc takes them
    :param jitter_ms: the delay is drawn evenly from so much less to so much more; packets keep their order
    :param slot_ms: packets are delivered in bunches, one each so many milliseconds
    :param lose_every: each n-th packet is lost; 0 is none. It is the same packet in every run
    :param keep_every: each n-th packet arrives and no other, as where a link thins ACKs; 0 is all
    :param loss: part of packets that is lost at random
    """

    # the range of fq_rr's, and within that of all others
    rate_bit_s: Annotated[int, Range(8_000, 10**12, or_zero=True)] = 0
    queue: str = ""
    limit_packets: Annotated[int, Range(0, MAX_LIMIT_PACKETS)] = 0
    options: str = ""
    delay_ms: Delay = 0.0
    jitter_ms: Delay = 0.0
    slot_ms: Delay = 0.0
    lose_every: Annotated[int, Range(0, MAX_EVERY)] = 0
    keep_every: Annotated[int, Range(0, MAX_EVERY)] = 0
    loss: Annotated[float, Range(0, 1)] = 0.0

    @property
    def needs_netem(self) -> bool:
        """Whether packets are delayed, or lost at random, on their way."""
        return any((self.delay_ms, self.jitter_ms, self.slot_ms, self.loss))

    def check(self, name: str) -> None:
        """PlanError if a value is out of its range; ``name`` is the device's."""
        check_types(f"link {name}", self)
        check_options(f"link {name}: options", self.options)
        if self.jitter_ms > self.delay_ms:
            raise PlanError(f"link {name}: jitter_ms {self.jitter_ms}: must be at most delay_ms {self.delay_ms}")
        if self.lose_every == 1:
            raise PlanError(f"link {name}: lose_every 1: nothing would arrive; must be 0 or at least 2")
        if self.keep_every == 1:
            raise PlanError(f"link {name}: keep_every 1: nothing would be lost; must be 0 or at least 2")
        losses = [f"{one} {getattr(self, one)}" for one in ("loss", "lose_every", "keep_every") if getattr(self, one)]
        if len(losses) > 1:
            raise PlanError(f"link {name}: {' beside '.join(losses)}: one of them")
        needing = {
            f"a queue ({self.queue})": self.queue,
            f"limit_packets {self.limit_packets}": self.limit_packets,
            f"options {self.options}": self.options,
        }
        for what, is_there in needing.items():
            if is_there and not self.rate_bit_s:
                raise PlanError(f"link {name}: {what} needs a rate: rate_bit_s is 0")


@dataclass(frozen=True)
class Link:
    """Two nodes and what happens between them; ``there`` is from ``a`` to ``b``."""

    a: str
    b: str
    there: Way = field(default_factory=Way)
    back: Way = field(default_factory=Way)
    # the least is IPv4's, the most a loopback device's
    mtu_bytes: Annotated[int, Range(68, 65535)] = STOCK_MTU_BYTES

    @property
    def device_a(self) -> str:
        """The device at ``a``; what leaves it takes the way ``there``."""
        return f"{self.a}-{self.b}"

    @property
    def device_b(self) -> str:
        """The device at ``b``."""
        return f"{self.b}-{self.a}"

    @property
    def ways(self) -> tuple[tuple[str, Way], ...]:
        """Both directions, by the device that packets leave."""
        return (self.device_a, self.there), (self.device_b, self.back)

    def check(self) -> None:
        """PlanError if it cannot be built."""
        check_types(f"link {self.device_a}", self)
        for (device, way), (_, other) in zip(self.ways, reversed(self.ways), strict=True):
            if way.queue == "policer" and (other.lose_every or other.keep_every):
                # both drop in filters of one device, which counts them together
                what = "a policer beside lose_every or keep_every of the other way"
                raise PlanError(f"link {device}: {what}: put a router between them")
            if len(device) > DEVICE_NAME_CHARACTERS:
                raise PlanError(f"link {device}: a device's name has at most {DEVICE_NAME_CHARACTERS} characters")
            way.check(device)


@dataclass(frozen=True)
class Topology:
    """Nodes by their kind ("host" or "router") and the links between them, in the order they were made.

    What belongs to "root" is the guest's own, so no node is called so.
    """

    name: str
    nodes: Mapping[str, str]
    links: tuple[Link, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """PlanError if it cannot be built: names, ends, two links between two nodes."""
        check_types(f"topology {self.name}", self)
        for node in self.nodes:
            check_name(f"topology {self.name}: node", node)
        if "root" in self.nodes:
            raise PlanError(f"topology {self.name}: node root: is the guest itself: must have another name")
        known: set[frozenset[str]] = set()
        devices: dict[str, Link] = {}
        for link in self.links:
            link.check()
            for end in (link.a, link.b):
                if end not in self.nodes:
                    raise PlanError(f"topology {self.name}: link {link.device_a}: there is no node {end}")
            ends = frozenset((link.a, link.b))
            if len(ends) == 1:
                raise PlanError(f"topology {self.name}: link {link.device_a}: a node is linked to itself")
            if ends in known:
                raise PlanError(
                    f"topology {self.name}: two links between {link.a} and {link.b}: put a router into one of them"
                )
            known.add(ends)
            for device, _ in link.ways:
                other = devices.setdefault(device, link)
                if other is not link:
                    raise PlanError(
                        f"topology {self.name}: a link between {other.a} and {other.b} and one between {link.a} and"
                        f" {link.b}: both have a device {device}: rename a node"
                    )
        linked = {end for link in self.links for end in (link.a, link.b)}
        for node, kind in self.nodes.items():
            if kind not in ("host", "router"):
                raise PlanError(f"topology {self.name}: node {node}: kind {kind}: must be host or router")
            if node not in linked:
                raise PlanError(f"topology {self.name}: node {node} has no link")

    def way(self, device: str) -> Way:
        """The way that what leaves a device takes; PlanError names the devices if there is none."""
        return dict(self.link(device).ways)[device]

    def link(self, device: str) -> Link:
        """The link that a device is an end of; PlanError names the devices if there is none."""
        for link in self.links:
            if device in (link.device_a, link.device_b):
                return link
        known = ", ".join(name for link in self.links for name in (link.device_a, link.device_b))
        raise PlanError(f"topology {self.name} has no device {device}; it has: {known}")

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Topology:
        """From what ``asdict`` has made of one; PlanError names a key that is unknown."""
        links = tuple(
            Link(
                **{
                    **_known(Link, link),
                    "there": Way(**_known(Way, link["there"])),
                    "back": Way(**_known(Way, link["back"])),
                }
            )
            for link in data["links"]
        )
        topology = cls(data["name"], dict(data["nodes"]), links, dict(data.get("arguments", {})))
        topology.check()
        return topology

    def as_data(self) -> dict[str, Any]:
        """For JSON; ``of`` reads it."""
        return asdict(self)


def _known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    for name in data:
        if name not in names:
            raise PlanError(f"{kind.__name__.lower()}: unknown {name}; known are {', '.join(sorted(names))}")
    return dict(data)
