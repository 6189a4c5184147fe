# SPDX-License-Identifier: GPL-2.0
"""The file that names real machines: how to reach each, what it may be in a plan, and how they are cabled."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model.errors import PlanError
from ..model.typed import check_name

ROLES = ("sender", "router", "receiver")
OF_FILE = ("network", "ssh_config", "hosts")
OF_HOST = ("ssh", "role", "node", "interfaces")
# For benchmarks of networks (RFC 2544): routed nowhere, and so hardly in use where the machines are.
BENCHMARK_NETWORK = "198.18.0.0/16"
# A link takes one /24 of it.
NETWORK_BITS = 16
# IFNAMSIZ, without the 0 at its end
INTERFACE_CHARACTERS = 15
MAX_HOSTS = 100


@dataclass(frozen=True)
class Machine:
    """One host of the file.

    :param ssh: where it is, as ssh takes it
    :param roles: what a node that it carries may do
    :param node: the one node that it carries, or "" for any that fits
    :param cables: by the host at the other end, the interface
    """

    name: str
    ssh: str
    roles: tuple[str, ...]
    node: str
    cables: Mapping[str, str]


@dataclass(frozen=True)
class Machines:
    """All of a file.

    :param network: the /16 that the links' addresses are from
    :param ssh_config: a file for ``ssh -F``, or None for the user's own
    """

    path: Path
    network: ipaddress.IPv4Network
    ssh_config: Path | None
    hosts: Mapping[str, Machine]


def read(path: Path) -> Machines:
    """What a file says; PlanError names the line, the key or the value that cannot be."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise PlanError(f"--machines {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"--machines {path}: is no text: {error.reason} at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        # not all of tomllib's are its own: of a number with thousands of digits, of 1000 brackets
        raise PlanError(f"--machines {path}: is not TOML: {error}") from None
    try:
        return _machines(path, content)
    except PlanError as error:
        raise PlanError(f"--machines {path}: {error}") from None


def _machines(path: Path, content: Mapping[str, Any]) -> Machines:
    _known("", content, OF_FILE)
    tables = content.get("hosts")
    if not isinstance(tables, dict) or not tables:
        raise PlanError("hosts: must be a table for each host, as [hosts.anna]")
    if len(tables) > MAX_HOSTS:
        raise PlanError(f"hosts: {len(tables)}: must be at most {MAX_HOSTS}")
    hosts = {name: _machine(name, table) for name, table in tables.items()}
    _check_cables(hosts)
    pinned: dict[str, str] = {}
    for one in hosts.values():
        if one.node and (other := pinned.setdefault(one.node, one.name)) != one.name:
            raise PlanError(f"host {one.name}: node {one.node}: is host {other}'s as well: must be of one host")
    config = None
    if "ssh_config" in content:
        # as other paths of a file, from where the file is
        config = path.parent / _text("ssh_config", content["ssh_config"])
        if not config.is_file():
            raise PlanError(f"ssh_config {config}: there is no such file")
    return Machines(path, _network(content.get("network", BENCHMARK_NETWORK)), config, hosts)


def _network(text: Any) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(_text("network", text))
    except ValueError as error:
        raise PlanError(f"network {text}: {error}") from None
    if network.prefixlen != NETWORK_BITS:
        raise PlanError(f"network {text}: must be a /{NETWORK_BITS}: each link takes a /24 of it")
    return network


def _machine(name: str, table: Any) -> Machine:
    check_name("host", name)
    where = f"host {name}"
    if not isinstance(table, dict):
        raise PlanError(f"{where}: must be a table, as [hosts.{name}]")
    _known(f"{where}: ", table, OF_HOST)
    for key in ("ssh", "role", "interfaces"):
        if key not in table:
            raise PlanError(f"{where}: {key} is missing")
    ssh = _text(f"{where}: ssh", table["ssh"])
    # ssh would take it for an option
    if ssh.startswith("-") or any(not one.isprintable() or one.isspace() for one in ssh):
        raise PlanError(f"{where}: ssh {ssh!r}: must be as user@host, or a name of ~/.ssh/config")
    given = table["role"] if isinstance(table["role"], list) else [table["role"]]
    for role in given:
        if role not in ROLES:
            raise PlanError(f"{where}: role {role!r}: must be one of {', '.join(ROLES)}, or a list of them")
    if not given:
        raise PlanError(f"{where}: role []: must be one of {', '.join(ROLES)}, or a list of them")
    node = _text(f"{where}: node", table["node"]) if "node" in table else ""
    interfaces = table["interfaces"]
    if not isinstance(interfaces, dict) or not interfaces:
        raise PlanError(f'{where}: interfaces: must be as {{ eth0 = "the host at the other end" }}, and at least one')
    cables: dict[str, str] = {}
    for interface, peer in interfaces.items():
        _check_interface(where, interface)
        peer = _text(f"{where}: interface {interface}", peer)
        if peer in cables:
            both = f"{cables[peer]} and {interface}"
            raise PlanError(f"{where}: interfaces {both}: both lead to {peer}: must be one")
        cables[peer] = interface
    return Machine(name, ssh, tuple(dict.fromkeys(given)), node, cables)


def _check_interface(where: str, name: str) -> None:
    allowed = name.isascii() and name.isprintable() and not set(name) & set(" /") and name not in (".", "..", "lo")
    if not allowed or name.startswith("-") or not 0 < len(name) <= INTERFACE_CHARACTERS:
        what = f"must be a network interface's name, with at most {INTERFACE_CHARACTERS} characters, and not lo"
        raise PlanError(f"{where}: interface {name!r}: {what}")


def _check_cables(hosts: Mapping[str, Machine]) -> None:
    for one in hosts.values():
        for peer, interface in one.cables.items():
            if peer == one.name:
                raise PlanError(f"host {one.name}: interface {interface}: leads to {peer} itself: must be another host")
            if peer not in hosts:
                known = ", ".join(hosts)
                raise PlanError(f"host {one.name}: interface {interface}: {peer}: must be one of {known}")
            if one.name not in hosts[peer].cables:
                what = f"leads to {peer}, of which no interface leads to {one.name}"
                raise PlanError(f"host {one.name}: interface {interface}: {what}")


def _known(where: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise PlanError(f"{where}{key}: is not known: must be one of {', '.join(keys)}")


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError(f"{what} {value!r}: must be a text, and not empty")
    return value
