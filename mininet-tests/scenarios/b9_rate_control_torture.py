# SPDX-License-Identifier: GPL-2.0
"""Benchmark 9 (packet-pair-1994, 9.4.9): round trips of 0.2 and 20.2 ms beside fast on-off sources.

Two sources, each a quarter of the link for 2.5 ms and silent for 1.5 ms.  What
the paper judges is the difference of the two files' times over the first's.
"""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import DIFFERENCE, Benchmark, Row, Transfer
from lab.model.scenario import Values

CLAIM = "2 MB each over 0.2 and 20.2 ms beside two sources of 2.5 ms bursts: at most 10 % of the first's time apart"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": benchmarks.HOSTS}
SOURCE_STARTS_S = (0.0015, 0.003)
ON_S, OFF_S = 0.0025, 0.0015
ON_PART = 0.25
# The paper prints measured times only; its slowdown is over the reference's (pp-b9).
PUBLISHED_S = {"conn1": 1.113, "conn2": 1.188}
FLUID_S = {"conn1": 1.153, "conn2": 1.173}
PUBLISHED_DIFFERENCE = 0.067


def benchmark(values: Values, seed: int) -> Benchmark:
    """The sources share a pair of hosts."""
    flows = (
        Transfer("conn1", "s1", "d1", benchmarks.FILE_PACKETS, round_trip_ms=0.2),
        Transfer("conn2", "s2", "d2", benchmarks.FILE_PACKETS, round_trip_ms=20.2),
    )
    streams = tuple(
        {
            "model": "on_off",
            "rate_packets_s": ON_PART * 1e9 / benchmarks.PACKET_NS,
            "start_s": start_s,
            "on_s": ON_S,
            "off_s": OFF_S,
        }
        for start_s in SOURCE_STARTS_S
    )
    rows = tuple(Row(name, name, None, round(PUBLISHED_S[name] / FLUID_S[name] - 1, 3)) for name in FLUID_S)
    return Benchmark(
        "b9",
        flows,
        (*rows, Row(DIFFERENCE, "conn2", None, PUBLISHED_DIFFERENCE)),
        streams,
        delays_ms=benchmarks.way_back(flows),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
