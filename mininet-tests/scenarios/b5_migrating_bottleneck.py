# SPDX-License-Identifier: GPL-2.0
"""Benchmark 5 (packet-pair-1994, 9.4.5): the bottleneck moves to the next link and back.

Connection 1 passes both links, 2 the first only, 3 and 4 the second only:

    s1, s2 --- r ==first== x ==second== d1      d3, d4 --- x ==second== d1

All but 4 ms of connection 1's delay stand at its sender, so that connections 3
and 4, whose hosts are next to the second link, have the 4 ms alone.
"""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import BOTTLENECK, ROUND_TRIP_MS, Benchmark, Row, Transfer
from lab.model.scenario import Values

CLAIM = "2 MB over two links of which first one, then the other is shared: at most 20 % longer than 0.644 s, the best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
SECOND = "x-d1"
NEAR_ROUND_TRIP_MS = 4.0


def benchmark(values: Values, seed: int) -> Benchmark:
    """The paper's files and start times."""
    flows = (
        Transfer("primary", "s1", "d1", 4000, path=(BOTTLENECK, SECOND)),
        Transfer("first", "s2", "d2", 2000, 0.1),
        Transfer("second-a", "d3", "d1", 500, 0.25, NEAR_ROUND_TRIP_MS, (SECOND,)),
        Transfer("second-b", "d4", "d1", 500, 0.25, NEAR_ROUND_TRIP_MS, (SECOND,)),
    )
    return Benchmark(
        "b5",
        flows,
        (Row("", "primary", 0.644, 0.21),),
        delays_ms={
            "d1-x": NEAR_ROUND_TRIP_MS,
            "r-s1": ROUND_TRIP_MS - NEAR_ROUND_TRIP_MS,
            "d2-x": ROUND_TRIP_MS,
        },
        bottlenecks=(BOTTLENECK, SECOND),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
