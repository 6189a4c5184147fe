# SPDX-License-Identifier: GPL-2.0
"""Benchmark 8 (packet-pair-1994, 9.4.8): benchmark 1 with a tenth of the buffer."""

from typing import Any

from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.plan import Plan
from lab.model.scenario import Values

CLAIM = "benchmark 1 with 44 packets of buffer for eleven flows: 1.444 s at best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}


def benchmark(values: Values, seed: int) -> Benchmark:
    """Every flow between its own hosts."""
    flows = (
        Transfer("primary", "s1", "d1", benchmarks.FILE_PACKETS),
        *benchmarks.cross_traffic(benchmarks.CROSS_SPACING_S),
    )
    return Benchmark(
        "b8",
        flows,
        (Row("", "primary", 1.444, 0.1676),),
        delays_ms=benchmarks.way_back(flows),
        limit_packets=benchmarks.BUFFER_PACKETS // 10,
    )


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One run."""
    return benchmark(values, seed).plan(values["hosts"], cc, qdisc, seed)


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Slowdowns against the optimum."""
    return benchmark(values, plan.hash_seed).measure(plan, raw)
