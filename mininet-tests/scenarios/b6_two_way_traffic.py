# SPDX-License-Identifier: GPL-2.0
"""Benchmark 6 (packet-pair-1994, 9.4.6): benchmark 1 in both directions over the same links.

A reverse flow goes from a forward flow's receiver to its sender.  Its delay then
stands before its bottleneck instead of behind its receiver.
"""

from dataclasses import replace

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import BOTTLENECK, Benchmark, Row, Transfer
from lab.model.scenario import Values

CLAIM = "benchmark 1 both ways at once, data beside ACKs: at most 26.5 % longer than 1.556 s, the best for each primary"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
REVERSE = "x-r"
# The paper's optimum: each packet of 500 bytes shares the link with an acknowledgement of 40.
SERVICE_NS = benchmarks.PACKET_NS * 540 // 500


def benchmark(values: Values, seed: int) -> Benchmark:
    """Eleven pairs of hosts, two flows each."""
    forward = (
        Transfer("primary", "s1", "d1", benchmarks.FILE_PACKETS),
        *benchmarks.cross_traffic(benchmarks.CROSS_SPACING_S),
    )
    reverse = tuple(
        replace(one, name=f"{one.name}-reverse", source=one.sink, sink=one.source, path=(REVERSE,)) for one in forward
    )
    return Benchmark(
        "b6",
        (*forward, *reverse),
        (Row("forward", "primary", 1.556, 0.078), Row("reverse", "primary-reverse", 1.556, 0.078)),
        delays_ms=benchmarks.way_back(forward),
        bottlenecks=(BOTTLENECK, REVERSE),
        service_ns=SERVICE_NS,
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
