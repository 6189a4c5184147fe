# SPDX-License-Identifier: GPL-2.0
"""Benchmark 3 (packet-pair-1994, 9.4.3): lone files of 4, 20, 200 and 2000 packets."""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.scenario import Parameter, Value, Values

CLAIM = "lone files of 4, 20, 200 and 2000 packets: at most 7, 101, 76 and 36 % longer than the best"
COMBINATIONS = [("pktpair", "fq_rr")]
# The paper's optimum and slowdown, by the file's packets.
PUBLISHED = {4: (0.0444, 0.89), 20: (0.046, 1.0), 200: (0.064, 1.28), 2000: (0.244, 0.35)}
PARAMETERS = {
    "hosts": benchmarks.HOSTS,
    "packets": Parameter("4", "packets", "of the file", choices=tuple(str(size) for size in PUBLISHED)),
}
VARIANTS: list[dict[str, Value]] = [{"packets": str(size)} for size in PUBLISHED]


def benchmark(values: Values, seed: int) -> Benchmark:
    """Nothing else is on the link."""
    packets = int(values["packets"])
    flows = (Transfer("primary", "s1", "d1", packets),)
    optimal_s, published = PUBLISHED[packets]
    return Benchmark(
        "b3",
        flows,
        (Row(str(packets), "primary", optimal_s, published),),
        delays_ms=benchmarks.way_back(flows),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
