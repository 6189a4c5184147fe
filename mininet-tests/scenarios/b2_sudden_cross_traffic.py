# SPDX-License-Identifier: GPL-2.0
"""Benchmark 2 (packet-pair-1994, 9.4.2): ten cross streams come up within a round trip."""

from typing import Any

from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.plan import Plan
from lab.model.scenario import Values

CLAIM = "2 MB while ten files of 500 kB start 4 ms apart: 1.444 s at best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
SPACING_S = 0.004


def benchmark(values: Values, seed: int) -> Benchmark:
    """Every flow between its own hosts."""
    flows = (Transfer("primary", "s1", "d1", benchmarks.FILE_PACKETS), *benchmarks.cross_traffic(SPACING_S))
    return Benchmark(
        "b2",
        flows,
        (Row("", "primary", 1.444, 0.1073),),
        delays_ms=benchmarks.way_back(flows),
    )


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One run."""
    return benchmark(values, seed).plan(values["hosts"], cc, qdisc, seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Slowdowns against the optimum."""
    return benchmark(values, plan.hash_seed).measure(plan, raw)
