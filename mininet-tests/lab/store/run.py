# SPDX-License-Identifier: GPL-2.0
"""One run that a study asks for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..model.layout import lay_out
from ..model.plan import TCP_HEADER_BYTES, Plan
from ..model.scenario import Scenario
from ..model.topology import STOCK_MTU_BYTES

# What a flow over a path without a rate is taken to reach, to say which run is long.
UNSHAPED_BIT_S = 1_000_000_000


class Found(Protocol):
    """What was computed of a run's raw result, as far as it goes beside what was asked for."""

    flows: list[dict[str, Any]]
    metrics: dict[str, Any]
    checks: list[dict[str, Any]]


# compared by identity, so that it can be a key although its values are a mapping
@dataclass(frozen=True, eq=False)
class Run:
    """A scenario with everything chosen.

    :param values: of all the scenario's parameters, and what ``--traffic`` has changed
    :param build: label of the modules as ``--modules`` named them; "" is the checkout's own
    :param kernel: what the kernel calls itself
    :param clock: what time is: "virtual", or "real" on real machines
    """

    scenario: Scenario = field(repr=False)
    values: Mapping[str, Any]
    cc: str
    qdisc: str
    seed: int
    build: str
    kernel: str
    plan: Plan = field(repr=False)
    clock: str = "virtual"

    @property
    def title(self) -> str:
        """For people: what differs from the scenario's defaults."""
        defaults = {name: one.default for name, one in self.scenario.parameters.items()}
        chosen = [f"{name}={value}" for name, value in self.values.items() if value != defaults.get(name)]
        build = [f"modules {self.build}"] if self.build else []
        clock = [f"clock {self.clock}"] if self.clock != "virtual" else []
        return " ".join([self.scenario.name, f"{self.cc}+{self.qdisc}", *chosen, f"seed {self.seed}", *build, *clock])

    @property
    def identity(self) -> dict[str, Any]:
        """What was asked for, as JSON can hold it: two runs that are alike in it replace each other in a study."""
        labels = {name: getattr(self, name) for name in ("cc", "qdisc", "seed", "build", "kernel")}
        # studies of before there were others have none
        clock = {"clock": self.clock} if self.clock != "virtual" else {}
        return {"scenario": self.scenario.name, **labels, **clock, "values": dict(self.values)}

    def described(self, found: Found) -> dict[str, Any]:
        """What was asked for and what was found, for JSON: files, and a scenario's ``draw``."""
        labels = {name: getattr(self, name) for name in ("title", "cc", "qdisc", "kernel", "seed")}
        results = {name: getattr(found, name) for name in ("flows", "metrics", "checks")}
        return {"scenario": self.scenario.name, **labels, "parameters": dict(self.values), **results}

    def job(self) -> dict[str, Any]:
        """All that a guest is told."""
        return self.plan.as_data()

    @property
    def packets(self) -> int:
        """About how many packets it sends: how long it takes, relative to others."""
        return _packets(self.plan)


def _packets(plan: Plan) -> int:
    layout = lay_out(plan.topology)
    paths = {flow.name: layout.path(flow.source, flow.sink) for flow in plan.flows}
    # flows that send as much as they can share what they cross
    sharing = Counter(device.name for flow in plan.flows if flow.seconds for device in paths[flow.name])
    total = 0.0
    for flow in plan.flows:
        size_bytes = flow.packet_bytes or STOCK_MTU_BYTES
        payload_bytes = max(1, size_bytes - TCP_HEADER_BYTES)
        shares = [device.leaving.rate_bit_s / max(1, sharing[device.name]) for device in paths[flow.name]]
        rate_bit_s = min([share for share in shares if share], default=UNSHAPED_BIT_S)
        total += flow.seconds * rate_bit_s / (8 * size_bytes)
        total += math.ceil(flow.bytes / payload_bytes)
        for exchange in flow.exchanges:
            total += math.ceil(exchange.request_bytes / payload_bytes)
            total += math.ceil(exchange.response_bytes / payload_bytes)
    return round(total + sum(source.packets for source in plan.sources))
