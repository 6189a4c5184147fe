# SPDX-License-Identifier: GPL-2.0
"""What stands against running a plan on a machine, by what the machine says of itself. Nothing is touched before."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from ..model.our_modules import FILES
from .changes import Placed
from .file import Machines

# What every machine needs, and the package that has it on Debian.
TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sysctl": "procps",
    "ping": "iputils-ping",
    "modprobe": "kmod",
    "rmmod": "kmod",
    "setpriv": "util-linux",
}
BUILDING = {"bash": "bash", "gcc": "gcc", "make": "make", "rsync": "rsync", "insmod": "kmod", "tar": "tar"}
OWN_MODULES = {file.rsplit("/", 1)[-1].removesuffix(".ko") for file in FILES}
# What the kernel puts on a device by itself, and so puts back.
KERNELS_OWN = ("noqueue", "mq")
IPV6_MTU_BYTES = 1280
# The traffic engine is built for this.
MACHINE = "x86_64"
DEVICES, MODULES = "/sys/class/net/", "/sys/module/"
Facts = Mapping[str, Any]


def to_build(placed: Placed, facts: Facts) -> list[str]:
    """The project's modules that a machine needs and does not have."""
    return [name for name in placed.modules if name in OWN_MODULES and facts["modules"][name]["state"] == "missing"]


def files_of_devices(placed: Placed) -> list[str]:
    """Files that the plan writes, of devices: they are there before anything is done."""
    return [path for path in written(placed) if path.startswith(DEVICES)]


def written(placed: Placed) -> list[str]:
    """Files that the plan writes."""
    return [path for path, _ in _written(placed)]


def _written(placed: Placed) -> list[list[str]]:
    return [change["write"] for change in placed.changes if "write" in change]


def refusals(placed: Placed, facts: Facts, machines: Machines, control: tuple[str, int], recorded: bool) -> list[str]:
    """Why a machine cannot be this node, each with what would help; none if it can.

    :param control: boot and network namespace of the machine that gives the orders
    :param recorded: whether ACKs or events are
    """
    found = [*_rights(facts), *_earlier(facts, machines), *_tools(placed, facts), *_modules(placed, facts)]
    found += [*_interfaces(placed, facts), *_offloads(placed, facts), *_files(placed, facts)]
    found += _addresses(placed, facts, machines)
    if placed.node and (facts["boot"], facts["namespace"]) == control and "router" in placed.machine.roles:
        found.append("is this machine, which gives the orders: a router must be another one")
    found += [
        f"has no sysctl {name}: the plan sets it" for name in placed.sysctls if facts["sysctls"].get(name) is None
    ]
    if recorded and not facts["tracing"]:
        found.append("shows no kernel tracing (/sys/kernel/tracing): mount -t tracefs tracefs /sys/kernel/tracing")
    if recorded and not facts["btf"]:
        found.append("has no type information of its kernel (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF")
    return [f"host {placed.machine.name}: {one}" for one in found]


def _rights(facts: Facts) -> Iterator[str]:
    if not facts["root"]:
        yield "no root right: the user must be root, or be allowed sudo without a password"
    elif not facts["net_admin"]:
        yield "root may not change networks here (CAP_NET_ADMIN): it is in a container"


def _earlier(facts: Facts, machines: Machines) -> Iterator[str]:
    if facts["journal"] == "left":
        yield f"an earlier lab has changed it and was killed: lab restore --machines {machines.path}"
    elif facts["journal"] == "held":
        yield "another lab is at work on it"


def _tools(placed: Placed, facts: Facts) -> Iterator[str]:
    needed = TOOLS | (BUILDING if to_build(placed, facts) else {})
    missing = [name for name in needed if not facts["tools"][name]]
    if missing:
        packages = " ".join(dict.fromkeys(needed[name] for name in missing))
        yield f"has no {', '.join(missing)}: apt-get install {packages}"
    if facts["machine"] != MACHINE:
        yield f"is {facts['machine']}: the traffic engine is built for {MACHINE}"


def _modules(placed: Placed, facts: Facts) -> Iterator[str]:
    building = to_build(placed, facts)
    missing = [name for name in placed.modules if facts["modules"][name]["state"] == "missing"]
    known = {f"tcp_{name}" for name in facts["ccs"]}
    for name in missing:
        if name not in building and name not in known:
            yield f"has no kernel module {name}, and kernel {facts['kernel']} has it not built in"
    if building and not facts["headers"]:
        headers = f"apt-get install linux-headers-{facts['kernel']}"
        yield f"has no {', '.join(building)}, nor the headers of its kernel to build them: {headers}"
    unsigned = [name for name in placed.modules if name in building or not facts["modules"][name]["signed"]]
    unsigned = [name for name in unsigned if facts["modules"][name]["state"] != "loaded" and name not in known]
    because = _signatures(facts)
    if unsigned and because:
        yield f"{because}, and {', '.join(unsigned)} is not signed: sign it (README), or switch Secure Boot off"


def _signatures(facts: Facts) -> str:
    """Why the kernel takes signed modules only, or nothing."""
    if facts["lockdown"] != "none":
        why = "Secure Boot is enabled, and the" if facts["secure_boot"] else "the"
        return f"{why} kernel takes signed modules only (lockdown {facts['lockdown']})"
    if facts["sig_enforce"]:
        return "the kernel takes signed modules only (module.sig_enforce)"
    return ""


def _interfaces(placed: Placed, facts: Facts) -> Iterator[str]:
    mtus = dict(change["mtu"] for change in placed.changes if "mtu" in change)
    for name in placed.interfaces.values():
        one = facts["interfaces"][name]
        if one is None:
            yield f"has no interface {name}; it has: {', '.join(facts['all_interfaces'])}"
            continue
        if name in facts["ssh_devices"]:
            yield f"interface {name} carries this ssh connection, which the lab would cut off: must be another one"
        elif name in facts["default_devices"]:
            yield f"interface {name} has a default route, which the lab would cut off: must be another one"
        if one["ipv6"] and (not one["up"] or mtus.get(name, IPV6_MTU_BYTES) < IPV6_MTU_BYTES):
            yield (
                f"interface {name} has the IPv6 address {one['ipv6'][0]}, which the kernel takes off when the interface"
                f" goes down or has an MTU below {IPV6_MTU_BYTES}: ip address del {one['ipv6'][0]} dev {name}"
            )
        if one["master"]:
            yield f"interface {name} belongs to {one['master']}: must be in no bridge or bond"
        if one["carries"]:
            yield (
                f"interface {name} carries {', '.join(one['carries'])}, whose traffic and MTU would follow the plan's:"
                " must be one that carries no other"
            )
        for qdisc in one["qdiscs"]:
            if qdisc["handle"] != "0:" or qdisc["kind"] in ("clsact", "ingress"):
                told = f"{qdisc['kind']} {qdisc['handle']}"
                where = qdisc["kind"] if qdisc["kind"] in ("clsact", "ingress") else "root"
                yield (
                    f"interface {name} has a queueing discipline that somebody has set up ({told}), which cannot be"
                    f" put back as it was: tc qdisc del dev {name} {where}"
                )
                break
            if qdisc["root"] and qdisc["kind"] not in (*KERNELS_OWN, "pfifo_fast", facts["default_qdisc"]):
                yield (
                    f"interface {name} has {qdisc['kind']}, and net.core.default_qdisc is {facts['default_qdisc']} by"
                    " now: what it has cannot be put back as it was"
                )


def _offloads(placed: Placed, facts: Facts) -> Iterator[str]:
    for name, wanted in (change["offloads"] for change in placed.changes if "offloads" in change):
        features = (facts["interfaces"][name] or {"features": {}})["features"]
        for offload, on in wanted.items():
            # what an interface has not is off
            is_on, changeable = features.get(offload, (False, False))
            if facts["interfaces"][name] and is_on != on and not changeable:
                yield f"interface {name} has {offload} {_word(is_on)} for good: the plan needs it {_word(on)}"


def _word(is_on: bool) -> str:
    return "on" if is_on else "off"


def _files(placed: Placed, facts: Facts) -> Iterator[str]:
    building = to_build(placed, facts)
    missing = facts["no_files"]
    for path, _ in _written(placed):
        if path in missing and facts["interfaces"].get(path.split("/")[4]):
            yield f"has no {path}: the plan writes it, and kernel {facts['kernel']} does not have it"
        elif path.startswith(MODULES):
            module, _, parameter = path.removeprefix(MODULES).partition("/parameters/")
            if module not in building and parameter not in facts["parameters"][module]:
                yield f"kernel module {module} has no parameter {parameter} there: the plan sets it"


def _addresses(placed: Placed, facts: Facts, machines: Machines) -> Iterator[str]:
    # an interface that is down has no route to them
    for name in placed.interfaces.values():
        for text in (facts["interfaces"][name] or {"addresses": []})["addresses"]:
            if ipaddress.ip_interface(text).ip in machines.network:
                yield (
                    f"interface {name} has the address {text} of the plan's network {machines.network}: another"
                    f" network = in {machines.path}"
                )
                return
    for text in facts["routes"]:
        try:
            route = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        if route.version == 4 and route.overlaps(machines.network):
            yield (
                f"has a route to {text}, which overlaps the plan's network {machines.network}: another network = in"
                f" {machines.path}"
            )
            return
