# SPDX-License-Identifier: GPL-2.0
"""Benchmark 1 (packet-pair-1994, 9.4.1): ten cross streams come up one round trip apart."""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row
from lab.model.scenario import Values

CLAIM = "2 MB while ten files of 500 kB start 44 ms apart: at most 13 % longer than 1.444 s, the best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}


def benchmark(values: Values, seed: int) -> Benchmark:
    """Ten streams, a round trip apart."""
    return benchmarks.among_ten("b1", benchmarks.CROSS_SPACING_S, Row("", "primary", 1.444, 0.091))


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
