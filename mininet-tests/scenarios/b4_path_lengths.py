# SPDX-License-Identifier: GPL-2.0
"""Benchmark 4 (packet-pair-1994, 9.4.4): a path of 44 ms beside one of 82 ms."""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.scenario import Values

CLAIM = "2 MB each over 44 and 82 ms beside benchmark 1's cross traffic: at most 11 % longer than 1.844 and 1.882 s"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
LONG_ROUND_TRIP_MS = 82.0


def benchmark(values: Values, seed: int) -> Benchmark:
    """Every flow between its own hosts."""
    flows = (
        Transfer("short", "s1", "d1", benchmarks.FILE_PACKETS),
        Transfer("long", "s12", "d12", benchmarks.FILE_PACKETS, round_trip_ms=LONG_ROUND_TRIP_MS),
        *benchmarks.cross_traffic(benchmarks.CROSS_SPACING_S),
    )
    return Benchmark(
        "b4",
        flows,
        (Row("short", "short", 1.844, 0.014), Row("long", "long", 1.882, 0.059)),
        delays_ms=benchmarks.way_back(flows),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
