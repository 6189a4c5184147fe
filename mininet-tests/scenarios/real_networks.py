# SPDX-License-Identifier: GPL-2.0
"""One run of a case of ``lab real-networks`` (Documentation/real-networks.rst), which judges them together."""

from typing import Any

from lab.analyse import real_networks as found
from lab.model import real_networks as cases
from lab.model.plan import Plan
from lab.model.scenario import Parameter, Values

CLAIM = "on real networks a flow has its share, a short queue and few losses; lab real-networks judges its cases"
COMBINATIONS = [("pktpair", "its own")]
PARAMETERS = {"case": Parameter(cases.QUICK[0], "", "the path and what is beside the flow", choices=tuple(cases.CASES))}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The case has a queue of its own."""
    return cases.plan(values["case"], cc, seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The run's part of its row in summary.json."""
    return {"network": found.measure(cases.CASES[values["case"]], plan, raw)}
