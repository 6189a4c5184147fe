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
# Between these the slowdown has its peak; the optimum is the same: the round trip and the packets' times.
BETWEEN = {size: (benchmarks.ROUND_TRIP_MS / 1e3 + size * benchmarks.PACKET_NS / 1e9, None) for size in (50, 100)}
SIZES: dict[int, tuple[float, float | None]] = {**PUBLISHED, **BETWEEN}
PARAMETERS = {
    "hosts": benchmarks.HOSTS,
    "packets": Parameter("4", "packets", "of the file", choices=tuple(str(size) for size in sorted(SIZES))),
}
VARIANTS: list[dict[str, Value]] = [{"packets": str(size)} for size in PUBLISHED]


def benchmark(values: Values, seed: int) -> Benchmark:
    """Nothing else is on the link."""
    packets = int(values["packets"])
    flows = (Transfer("primary", "s1", "d1", packets),)
    optimal_s, published = SIZES[packets]
    return Benchmark(
        "b3",
        flows,
        (Row(str(packets), "primary", optimal_s, published),),
        delays_ms=benchmarks.way_back(flows),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
