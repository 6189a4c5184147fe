# SPDX-License-Identifier: GPL-2.0
"""Benchmark 8 (packet-pair-1994, 9.4.8): benchmark 1 with a tenth of the buffer."""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row
from lab.model.scenario import Values

CLAIM = "benchmark 1 with 44 packets of buffer for eleven flows: at most 18 % longer than 1.444 s, the best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}


def benchmark(values: Values, seed: int) -> Benchmark:
    """The flows of benchmark 1."""
    row = Row("", "primary", 1.444, 0.1676)
    return benchmarks.among_ten("b8", benchmarks.CROSS_SPACING_S, row, benchmarks.BUFFER_PACKETS // 10)


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
