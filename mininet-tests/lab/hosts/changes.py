# SPDX-License-Identifier: GPL-2.0
"""What a plan changes on each real machine, as a list of changes. The machine itself knows what undoes each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..model.errors import PlanError
from ..model.layout import Device, Layout, lay_out
from ..model.our_modules import CONGESTION_CONTROLS
from ..model.plan import Plan
from .file import Machine, Machines
from .fit import fit

MAX_LINKS = 255
# ethtool's own names. A host keeps GSO: a train of segments leaves as one packet and is cut on the wire.
HOST_OFFLOADS = {
    "tcp-segmentation-offload": False,
    "tx-udp-segmentation": False,
    "generic-segmentation-offload": True,
    "generic-receive-offload": False,
    "large-receive-offload": False,
}
# Packets are segmented before a router sees them.
ROUTER_OFFLOADS = {**HOST_OFFLOADS, "generic-segmentation-offload": False}
# As in the lab's own networks: see "How the lab works".
SYSCTLS = {"net.ipv4.tcp_no_metrics_save": "1", "net.core.txrehash": "0"}
# The kernel has all interfaces follow these, whatever each had of its own.
OF_ALL = {
    "net.ipv4.ip_forward",
    *(f"net.ipv4.conf.{name}.forwarding" for name in ("all", "default")),
    *(f"net.ipv6.conf.{name}.{what}" for name in ("all", "default") for what in ("forwarding", "disable_ipv6")),
}
# Kernel modules behind words of tc's lines; what is built in is there already.
TC_MODULES = {
    **{
        f" {name} ": f"sch_{name}" for name in ("tbf", "htb", "netem", "cake", "fq", "fq_codel", "fq_pie", "sfq", "red")
    },
    " clsact": "sch_ingress",
    " matchall ": "cls_matchall",
    " flow hash ": "cls_flow",
    " action gact ": "act_gact",
    " action mirred ": "act_mirred",
    " action police ": "act_police",
    " fq_rr ": "sch_fq_rr",
    " lossy": "sch_lossy",
    " switch_": "sch_thesis",
}
OURS = {name: module for module, names in CONGESTION_CONTROLS.items() for name in names}


@dataclass(frozen=True)
class Placed:
    """A node of a plan on its machine.

    :param interfaces: by the plan's name of a device, the machine's
    :param modules: kernel modules that are needed there
    :param sysctls: those that are set there
    :param changes: in their order; each is what ``lab.hosts.there.commands`` takes
    """

    node: str
    machine: Machine
    interfaces: Mapping[str, str]
    modules: tuple[str, ...]
    sysctls: Mapping[str, str]
    changes: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Placement:
    """A plan on machines.

    :param nodes: by node
    """

    plan: Plan
    layout: Layout
    machines: Machines
    nodes: Mapping[str, Placed]

    def address(self, device: Device) -> str:
        """A device's address on the machines' network."""
        return f"{_base(self.machines)}.{self.layout.number_of(device)}.{1 + self._end(device)}"

    def _end(self, device: Device) -> int:
        return self.layout.links[self.layout.number_of(device) - 1].index(device)

    def node_address(self, node: str) -> str:
        """What a node is known by."""
        return self.address(self.layout.of_node(node)[0])


def _base(machines: Machines) -> str:
    return ".".join(str(machines.network.network_address).split(".")[:2])


def place(plan: Plan, machines: Machines) -> Placement:
    """A plan laid over machines; PlanError says what of it real machines cannot do, or do not have."""
    check(plan)
    layout = lay_out(plan.topology)
    if len(layout.links) > MAX_LINKS:
        raise PlanError(f"topology {plan.topology.name}: {len(layout.links)} links: must be at most {MAX_LINKS}")
    of = fit(plan, machines)
    bare = Placement(plan, layout, machines, {})
    return dataclasses.replace(bare, nodes={node: _placed(bare, node, of) for node in plan.topology.nodes})


def check(plan: Plan) -> None:
    """PlanError names what of a plan is not done on real machines: it could not be put back there."""
    for one in plan.senders:
        if one.family != 4:
            kind = "source" if one in plan.sources else "flow"
            raise PlanError(f"{kind} {one.name}: family {one.family}: must be 4 with --machines")
    for what, is_there in (
        ("commands", plan.commands),
        ("changes", plan.changes),
        ("record.pcaps", plan.record.pcaps),
        ("record.bpftrace", plan.record.bpftrace),
        ("sysctls of root", "root" in plan.sysctls),
    ):
        if is_there:
            raise PlanError(f"{what}: must be empty with --machines: only a guest can do that")
    for settings in plan.sysctls.values():
        for name in settings:
            if name.replace("/", ".") in OF_ALL:
                raise PlanError(f"sysctl {name}: sets that of every interface, which could not be put back")
    if plan.traffic != "engine":
        raise PlanError(f"traffic {plan.traffic}: must be engine with --machines")


def _placed(placement: Placement, node: str, of: Mapping[str, Machine]) -> Placed:
    plan, layout, machine = placement.plan, placement.layout, of[node]
    own = {device.name: machine.cables[of[device.peer].name] for device in layout.of_node(node)}
    lines = {device.name: _lines(device, own[device.name], plan.hash_seed) for device in layout.of_node(node)}
    modules = _modules(plan, node, [line for some in lines.values() for line in some])
    sysctls = _sysctls(plan, node, own)
    is_router = plan.topology.nodes[node] == "router"
    changes: list[dict[str, Any]] = [{"work": True}]
    changes += [{"unmanage": interface} for interface in own.values()]
    changes += [{"module": [name, _load(name)]} for name in modules]
    for device in layout.of_node(node):
        interface = own[device.name]
        address = f"{placement.address(device)}/24"
        changes.append({"mtu": [interface, device.mtu_bytes]})
        changes.append({"up": interface})
        changes.append(
            {
                "command": [["ip", "address", "add", address, "dev", interface]],
                "undo": [["ip", "address", "del", address, "dev", interface]],
            }
        )
        wanted = dict(ROUTER_OFFLOADS if is_router else HOST_OFFLOADS)
        wanted["generic-receive-offload"] = node in plan.gro
        changes.append({"offloads": [interface, wanted]})
        if node in plan.gro and plan.gro_hold_us:
            for name, number in (("gro_flush_timeout", plan.gro_hold_us * 1e3), ("napi_defer_hard_irqs", 1)):
                changes.append({"write": [f"/sys/class/net/{interface}/{name}", str(round(number))]})
    changes += [{"sysctl": [name, value]} for name, value in sysctls.items()]
    for module, values in plan.module_parameters.items():
        if module in modules:
            for name, value in values.items():
                changes.append({"write": [f"/sys/module/{module}/parameters/{name}", value]})
    changes += _routes(placement, node, own)
    for device in layout.of_node(node):
        changes += _queues(device, lines[device.name])
    return Placed(node, machine, own, modules, sysctls, tuple(changes))


def _load(module: str) -> list[str]:
    # it would make two devices of its own
    return ["modprobe", module, "numifbs=0"] if module == "ifb" else ["modprobe", module]


def _lines(device: Device, interface: str, hash_seed: int) -> list[str]:
    """Of tc, for a device under the machine's name."""
    there = dataclasses.replace(device, name=interface)
    return [*there.sending_lines(hash_seed), *there.receiving_lines()]


def _modules(plan: Plan, node: str, lines: list[str]) -> tuple[str, ...]:
    """In the order in which they are loaded."""
    found: dict[str, None] = {}
    for line in lines:
        found |= {module: None for words, module in TC_MODULES.items() if words in f"{line} "}
        if "~" in line:
            found["ifb"] = None
    # of an exchange both ends send
    flows = [one for one in plan.flows if node == one.source or (one.exchanges and node == one.sink)]
    for cc in {one.cc for one in flows} | {plan_cc for plan_cc in _default_ccs(plan, node)}:
        if cc not in ("", "reno", "cubic"):
            found[OURS.get(cc, f"tcp_{cc}")] = None
    return tuple(sorted(found, key=lambda name: (name.startswith("cls_") or name.startswith("act_"), name)))


def _default_ccs(plan: Plan, node: str) -> list[str]:
    chosen = dict(plan.by_node(plan.sysctls)).get(node, {}).get("net.ipv4.tcp_congestion_control", "")
    return [chosen]


def _sysctls(plan: Plan, node: str, own: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = dict(SYSCTLS)
    if plan.topology.nodes[node] == "router":
        # not ip_forward, which would have every other interface forward as well
        found |= {f"net/ipv4/conf/{interface}/forwarding": "1" for interface in own.values()}
    for name, values in plan.by_node(plan.sysctls):
        if name == node:
            found |= values
    return found


def _routes(placement: Placement, node: str, own: Mapping[str, str]) -> list[dict[str, Any]]:
    options = dict(placement.plan.by_node(placement.plan.routes)).get(node, "").split()
    found = []
    for number, device in placement.layout.beyond(node):
        peer = placement.layout.devices[f"{device.peer}-{node}"]
        route = [f"{_base(placement.machines)}.{number}.0/24", "via", placement.address(peer), "dev", own[device.name]]
        found.append(
            {
                "command": [["ip", "route", "add", *route, *options]],
                "undo": [["ip", "route", "del", *route]],
            }
        )
    return found


def _queues(device: Device, lines: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if device.intermediate:
        name = device.intermediate
        found.append(
            {"command": [["ip", "link", "add", name, "type", "ifb"]], "undo": [["ip", "link", "del", "dev", name]]}
        )
        found.append({"command": [["ip", "link", "set", "dev", name, "up"]]})
    for line in lines:
        words = line.split()
        undo = []
        if " root " in line:
            undo = [["tc", "qdisc", "del", "dev", words[3], "root"]]
        elif "clsact" in words:
            undo = [["tc", "qdisc", "del", "dev", words[3], "clsact"]]
        found.append({"command": [["tc", *words]], "undo": undo})
    return found
