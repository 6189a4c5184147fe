# SPDX-License-Identifier: GPL-2.0
"""Benchmark 2 (packet-pair-1994, 9.4.2): ten cross streams come up within a round trip."""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row
from lab.model.scenario import Values

CLAIM = "2 MB while ten files of 500 kB start 4 ms apart: at most 14 % longer than 1.444 s, the best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
SPACING_S = 0.004


def benchmark(values: Values, seed: int) -> Benchmark:
    """Ten streams, all within a round trip."""
    return benchmarks.among_ten("b2", SPACING_S, Row("", "primary", 1.444, 0.1073))


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
