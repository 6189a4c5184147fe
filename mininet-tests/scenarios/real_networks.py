# SPDX-License-Identifier: GPL-2.0
"""One run of a case of ``lab real-networks`` (Documentation/real-networks.rst), which judges them together."""

from typing import Any

from lab.analyse import real_network_goals as goals
from lab.analyse import real_networks as found
from lab.model import real_networks as cases
from lab.model.plan import Plan
from lab.model.scenario import Check, Parameter, Values

CLAIM = "on real networks a flow has its share, a short queue and few losses; lab real-networks judges its cases"
COMBINATIONS = [("pktpair", "its own")]
PARAMETERS = {"case": Parameter(cases.QUICK[0], "", "the path and what is beside the flow", choices=tuple(cases.CASES))}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The case has a queue of its own."""
    return cases.plan(values["case"], cc, seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The run's part of its row in summary.json."""
    return found.metrics(cases.CASES[values["case"]], plan, raw)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Those of the case's goals that need no other run."""
    return goals.checks(cases.CASES[values["case"]], cc)
