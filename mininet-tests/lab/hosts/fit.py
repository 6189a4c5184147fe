# SPDX-License-Identifier: GPL-2.0
"""Which machine is which node of a plan: roles and cables decide, and the order of the file among equals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.errors import PlanError
from ..model.plan import Plan
from .file import ROLES, Machine, Machines

# More ways to lay a plan over machines than this are not tried.
MAX_TRIES = 100_000


def roles_of(plan: Plan) -> dict[str, set[str]]:
    """What each node does; a host that neither sends nor receives may be any that is no router."""
    found: dict[str, set[str]] = {}
    for node, kind in plan.topology.nodes.items():
        if kind == "router":
            found[node] = {"router"}
            continue
        found[node] = {"sender"} if any(one.source == node for one in plan.senders) else set()
        found[node] |= {"receiver"} if any(one.sink == node for one in plan.senders) else set()
    return found


def fit(plan: Plan, machines: Machines) -> dict[str, Machine]:
    """By node, its machine; PlanError says which role, node or link finds none."""
    roles = roles_of(plan)
    _count(plan, roles, machines)
    for one in machines.hosts.values():
        if one.node and one.node not in roles:
            known = ", ".join(roles)
            raise PlanError(f"host {one.name}: node {one.node}: the plan has no such node; it has: {known}")
    neighbours = {node: [] for node in roles}  # type: dict[str, list[str]]
    for link in plan.topology.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    candidates = {node: _candidates(node, roles[node], machines) for node in roles}
    for node, some in candidates.items():
        if not some:
            wanted = " and ".join(sorted(roles[node])) or "sender or receiver"
            raise PlanError(f"node {node}: no host of {machines.path} may be it: it is a {wanted}")
    found = _Search(_order(neighbours), neighbours, candidates).run()
    if found is None:
        links = ", ".join(f"{link.a}-{link.b}" for link in plan.topology.links)
        cables = ", ".join(
            f"{one.name}-{peer}" for one in machines.hosts.values() for peer in one.cables if one.name < peer
        )
        raise PlanError(
            f"topology {plan.topology.name}: its links ({links}) cannot be laid over the cables of {machines.path}"
            f" ({cables})"
        )
    return {node: found[node] for node in roles}


def _count(plan: Plan, roles: Mapping[str, set[str]], machines: Machines) -> None:
    """PlanError if there are too few machines of a role."""
    for role in ROLES:
        needing = [node for node, its_roles in roles.items() if role in its_roles]
        having = [one.name for one in machines.hosts.values() if role in one.roles]
        if len(needing) > len(having):
            raise PlanError(
                f"topology {plan.topology.name}: has {_listed(needing, role)}, and {machines.path} has"
                f" {_listed(having, role)}: must be at least {len(needing)}"
            )
    if len(roles) > len(machines.hosts):
        raise PlanError(
            f"topology {plan.topology.name}: has {_listed(list(roles), 'node')}, and {machines.path} has"
            f" {_listed(list(machines.hosts), 'host')}: each node takes one"
        )


def _listed(names: Sequence[str], what: str) -> str:
    if not names:
        return f"no {what}"
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''} ({', '.join(names)})"


def _candidates(node: str, roles: set[str], machines: Machines) -> list[Machine]:
    pinned = [one for one in machines.hosts.values() if one.node == node]
    found = []
    for one in pinned or machines.hosts.values():
        suits = roles <= set(one.roles) if roles else bool({"sender", "receiver"} & set(one.roles))
        if suits and one.node in ("", node):
            found.append(one)
    return found


def _order(neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    """Nodes so that each has a link to one before it, where there is one: few tries are then in vain."""
    found: dict[str, None] = {}
    for first in neighbours:
        waiting = [first]
        while waiting:
            node = waiting.pop(0)
            if node not in found:
                found[node] = None
                waiting += neighbours[node]
    return list(found)


class _Search:
    """Each node in turn on a machine that is free and has cables to its neighbours' machines."""

    def __init__(
        self,
        order: Sequence[str],
        neighbours: Mapping[str, Sequence[str]],
        candidates: Mapping[str, Sequence[Machine]],
    ) -> None:
        self._order = order
        self._neighbours = neighbours
        self._candidates = candidates
        self._found: dict[str, Machine] = {}
        self._tries = 0

    def run(self) -> dict[str, Machine] | None:
        """None if there is no way."""
        if len(self._found) == len(self._order):
            return self._found
        node = self._order[len(self._found)]
        for machine in self._candidates[node]:
            self._tries += 1
            if self._tries > MAX_TRIES:
                raise PlanError(f"no way to lay the plan over the hosts in {MAX_TRIES} tries: name their node")
            if self._suits(node, machine):
                self._found[node] = machine
                if self.run() is not None:
                    return self._found
                del self._found[node]
        return None

    def _suits(self, node: str, machine: Machine) -> bool:
        if any(machine is other for other in self._found.values()):
            return False
        there = [self._found[peer].name for peer in self._neighbours[node] if peer in self._found]
        return all(peer in machine.cables for peer in there)
