# SPDX-License-Identifier: GPL-2.0
"""Benchmark 7 (packet-pair-1994, 9.4.7): ten Poisson sources that heed nothing.

The paper's text lets them start 44 ms apart, its optima have all of them on from
the beginning (papers/packet-pair-1994, pp-b7): that is the first reading here,
and ``staggered`` the other.  The optimum is the reference's, on the same arrivals.
"""

from lab.analyse import transfer_goals
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.scenario import Parameter, Value, Values

CLAIM = "2 MB beside ten Poisson sources of 20 to 90 % of the link: at most 21 to 9 % longer than the rest of it allows"
COMBINATIONS = [("pktpair", "fq_rr")]
# The paper's slowdown, by the sources' part of the link.
PUBLISHED = {"0.2": 0.252, "0.4": 0.315, "0.6": 0.275, "0.8": 0.093, "0.9": 0.017}
PARAMETERS = {
    "hosts": benchmarks.HOSTS,
    "intensity": Parameter("0.2", "", "the sources' part of the link", choices=tuple(PUBLISHED)),
    "staggered": Parameter("no", "", "the sources start 44 ms apart", choices=("no", "yes")),
}
VARIANTS: list[dict[str, Value]] = [
    {"intensity": intensity, "staggered": staggered} for staggered in ("no", "yes") for intensity in PUBLISHED
]
SOURCES = 10


def benchmark(values: Values, seed: int) -> Benchmark:
    """The sources share a pair of hosts; each is a flow of its own at the bottleneck."""
    intensity, staggered = values["intensity"], values["staggered"] == "yes"
    streams = tuple(
        {
            "model": "poisson",
            "rate_packets_s": float(intensity) * 1e9 / benchmarks.PACKET_NS / SOURCES,
            "start_s": benchmarks.CROSS_FIRST_S + i * benchmarks.CROSS_SPACING_S if staggered else 0.0,
            "seed": f"b7 {seed} {i}",
        }
        for i in range(SOURCES)
    )
    flows = (Transfer("primary", "s1", "d1", benchmarks.FILE_PACKETS),)
    return Benchmark(
        "b7",
        flows,
        (Row(intensity + "-staggered" * staggered, "primary", None, PUBLISHED[intensity]),),
        streams,
        delays_ms=benchmarks.way_back(flows),
    )


plan, measure = benchmarks.of_scenario(benchmark)
checks = transfer_goals.checks_of_scenario(benchmark)
