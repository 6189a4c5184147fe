# SPDX-License-Identifier: GPL-2.0
"""Mininet's side of a topology: what ``mn --custom`` and the guest build from, with the distribution's Python.

A topology file has a ``Topo`` and names it in ``topos``, as Mininet wants it. One that
derives from :class:`LabTopo` says what its links do by ways::

    class Line(LabTopo):
        def build(self, rate_mbit=10.0, queue="fq_rr", delay_ms=20.0):
            self.addHost("s1")
            self.addRouter("r")
            self.addHost("d1")
            self.addLink("s1", "r")
            self.addLink("r", "d1", there=way(rate_mbit, queue, limit_packets=100), back=way(delay_ms=delay_ms))

    topos = {"line": Line}

Of any other ``Topo`` the lab reads ``bw``, ``delay``, ``jitter``, ``loss`` and
``max_queue_size`` of its links, as Mininet's TCLink does, and switches are routers.

    python3 -P -c 'from lab.topo import main; main()' FILE NAME '{"rate_mbit": 20}'

prints the topology as JSON.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

from mininet.link import Intf
from mininet.node import Node
from mininet.topo import Topo

from lab.model.errors import PlanError
from lab.model.layout import Layout, lay_out
from lab.model.topology import STOCK_MTU_BYTES, Link, Topology, Way

# What a link of TCLink's is told, and what it is here.
TIME_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def way(rate_mbit: float = 0.0, queue: str = "", **more: Any) -> Way:
    """A way of a link; ``more`` are fields of :class:`~lab.model.topology.Way`."""
    return Way(rate_bit_s=round(rate_mbit * 1e6), queue=queue, **more)


class Station(Node):
    """A node without segmentation offload; its sysctls make runs repeatable."""

    # no_metrics_save: nothing is remembered from one connection to the next.
    # max_tw_buckets: ports can be used again at once, so they can be fixed.
    # txrehash: a flow keeps its queue when its timer expires.
    SYSCTLS = (
        ("net/ipv4/tcp_no_metrics_save", "1"),
        ("net/ipv4/tcp_max_tw_buckets", "0"),
        ("net/core/txrehash", "0"),
    )
    FORWARD: tuple[str, ...] = ()
    OFFLOADS = "tso off gso off gro off"

    def config(
        self,
        commands: list[str] | None = None,
        addresses: Mapping[str, str] | None = None,
        ipv6: bool = False,
        **params: Any,
    ) -> dict[str, Any]:
        """Called by Mininet once the interfaces exist.

        :param commands: shell commands that give the node its addresses and routes
        :param addresses: the same addresses by device, for Mininet's own commands
        """
        done = super().config(**params)
        script = [f"echo {value} >/proc/sys/{name}" for name, value in self.SYSCTLS]
        script.append(f"echo {int(not ipv6)} >/proc/sys/net/ipv6/conf/all/disable_ipv6")
        script += [f"echo 1 >/proc/sys/{name}" for name in self.FORWARD]
        script += [f"ethtool -K {interface.name} {self.OFFLOADS}" for interface in self.intfList()]
        script += commands or []
        # a node's own shell reads from a terminal, which takes 4095 characters of a line
        shell = self.popen(["sh"], stdin=PIPE, stdout=PIPE, stderr=STDOUT)
        output = shell.communicate("\n".join(script).encode())[0].decode(errors="replace")
        if output.strip() or shell.returncode:
            raise RuntimeError(f"{self.name}: {output.strip()}")
        for interface in self.intfList():
            interface.ip = (addresses or {}).get(interface.name)
        return done


class Host(Station):
    """Keeps GSO: a train of segments leaves as one packet and is cut on the wire."""

    OFFLOADS = "tso off tx-udp-segmentation off gso on gro off"


class Router(Station):
    """Forwards; packets are segmented before it sees them."""

    FORWARD = ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding")


class LabTopo(Topo):
    """A topology whose links do what their ways say, in ``mn`` as in the lab.

    :param bare: without queues and delays, for a caller that sets its own for each run
    :param ipv6: with addresses of both families
    """

    def __init__(self, *args: Any, bare: bool = False, ipv6: bool = False, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._dress(lay_out(read_topo(type(self).__name__, self)), bare, ipv6)

    def addHost(self, name: str, **options: Any) -> str:  # noqa: N802 Mininet's name
        """A node that sends and receives."""
        return str(super().addHost(name, cls=Host, ip=None, **options))

    def addRouter(self, name: str, **options: Any) -> str:  # noqa: N802
        """A node that passes packets on."""
        return str(super().addNode(name, cls=Router, ip=None, **options))

    def addLink(  # noqa: N802
        self, node1: str, node2: str, there: Way | None = None, back: Way | None = None, **options: Any
    ) -> Any:
        """A link: ``there`` is what packets from the first node to the second meet."""
        return super().addLink(node1, node2, there=there or Way(), back=back or Way(), **options)

    def _dress(self, layout: Layout, bare: bool, ipv6: bool) -> None:
        """Give nodes and links what Mininet needs to make them."""
        for info, (first, second) in zip(_links(self), layout.links, strict=True):
            # Mininet keeps the ends of a link in an order of its own
            ends = (first, second) if first.node == info["node1"] else (second, first)
            for number, device in enumerate(ends, 1):
                info[f"intfName{number}"] = device.name
                info[f"addr{number}"] = device.mac
            info["intf"] = Intf
        for node in layout.topology.nodes:
            addresses = {device.name: device.address for device in layout.of_node(node)}
            commands = node_commands(layout, node, bare, ipv6)
            self.nodeInfo(node).update(commands=commands, addresses=addresses, ipv6=ipv6)


def node_commands(layout: Layout, node: str, bare: bool = False, ipv6: bool = False, hash_seed: int = 1) -> list[str]:
    """Shell commands that make a node's devices what the layout says."""
    found = []
    families = (4, 6) if ipv6 else (4,)
    for device in layout.of_node(node):
        peer = layout.devices[f"{device.peer}-{node}"]
        if device.mtu_bytes != STOCK_MTU_BYTES:
            found.append(f"ip link set {device.name} mtu {device.mtu_bytes}")
        found.append(f"ip addr add {device.address}/24 dev {device.name}")
        # the first packet of a path must not wait for its neighbour's address
        found.append(f"ip neigh replace {peer.address} lladdr {peer.mac} nud permanent dev {device.name}")
        if ipv6:
            found.append(f"ip addr add {device.address6}/64 dev {device.name} nodad")
            found.append(f"ip neigh replace {peer.address6} lladdr {peer.mac} nud permanent dev {device.name}")
        if not bare:
            if device.intermediate:
                found.append(f"ip link add {device.intermediate} type ifb")
                found.append(f"ip link set {device.intermediate} up")
            found += [f"tc {line}" for line in (*device.sending_lines(hash_seed), *device.receiving_lines())]
    for family in families:
        routes = layout.routes(node, family)
        if len(routes) > 1:
            text = "\\n".join(f"route add {route}" for route in routes)
            found.append(f"printf '{text}\\n' | ip -{family} -batch -")
        else:
            found += [f"ip -{family} route add {route}" for route in routes]
    return found


class DataTopo(LabTopo):
    """Mininet's form of a topology that is data."""

    def build(self, topology: Topology) -> None:
        """Called by Mininet."""
        for node, kind in topology.nodes.items():
            if kind == "router":
                self.addRouter(node)
            else:
                self.addHost(node)
        for number, link in enumerate(topology.links):
            self.addLink(link.a, link.b, there=link.there, back=link.back, mtu_bytes=link.mtu_bytes, number=number)


def _time_ms(text: Any) -> float:
    """A time as Mininet takes it: "5ms", or microseconds without a unit."""
    words = str(text).strip()
    for unit in ("us", "ms", "s"):
        if words.endswith(unit):
            return float(words.removesuffix(unit)) * TIME_UNITS_MS[unit]
    return float(words) * TIME_UNITS_MS["us"]


def _of_tclink(options: Mapping[str, Any]) -> Way:
    """A way that does what a TCLink with these options is meant to do."""
    return Way(
        rate_bit_s=round(float(options.get("bw") or 0) * 1e6),
        limit_packets=int(options.get("max_queue_size") or 0),
        delay_ms=_time_ms(options.get("delay") or 0),
        jitter_ms=_time_ms(options.get("jitter") or 0),
        loss=float(options.get("loss") or 0) / 100,
    )


def _links(topo: Topo) -> list[dict[str, Any]]:
    """What is known of each link: in the order of the data that it comes from, else in Mininet's, which is by nodes."""
    found = [info for _, _, info in topo.links(sort=False, withInfo=True)]
    return sorted(found, key=lambda info: info.get("number", 0))


def read_topo(name: str, topo: Topo, arguments: Mapping[str, Any] | None = None) -> Topology:
    """The data of any ``Topo``; PlanError if it cannot be built."""
    nodes = {}
    for node in topo.nodes(sort=False):
        info = topo.nodeInfo(node)
        is_router = info.get("isSwitch") or issubclass(info.get("cls") or Host, Router)
        nodes[node] = "router" if is_router else "host"
    links = []
    for info in _links(topo):
        one, other = info["node1"], info["node2"]
        there = info.get("there") or _of_tclink({**info, **(info.get("params1") or {})})
        back = info.get("back") or _of_tclink({**info, **(info.get("params2") or {})})
        links.append(Link(one, other, there, back, info.get("mtu_bytes", STOCK_MTU_BYTES)))
    topology = Topology(name, nodes, tuple(links), dict(arguments or {}))
    topology.check()
    return topology


def read_file(path: Path, name: str, arguments: Mapping[str, Any]) -> Topology:
    """The data of a topology in a file; PlanError says what is wrong with it."""
    try:
        found = runpy.run_path(str(path)).get("topos", {})
        if name not in found:
            raise PlanError(f"{path}: no topology {name}; topos has: {', '.join(found) or 'nothing'}")
        return read_topo(name, found[name](**arguments), arguments)
    except SyntaxError as error:
        raise PlanError(f"{error.filename or path}: line {error.lineno}: {error.msg}") from None
    except PlanError:
        raise
    except (Exception, SystemExit) as error:
        # of a file of the user's
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f"line {lines[-1]}: " if lines else ""
        raise PlanError(f"{path}: topology {name}: {line}{type(error).__name__}: {error}") from None


def main() -> int:
    """Print a topology file's data, or why there are none."""
    path, name, arguments = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    try:
        # what the file itself prints is no part of the data
        with contextlib.redirect_stdout(sys.stderr):
            found = read_file(path, name, arguments)
        print(json.dumps(asdict(found)))
    except PlanError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
