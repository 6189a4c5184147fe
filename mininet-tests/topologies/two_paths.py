# SPDX-License-Identifier: GPL-2.0
"""A short path and a longer one between two routers, for changes of route:

                 +---- u ----+
    s1 --- r ----|           |---- x --- d1
                 +---- l ----+

The shortest path by links is the upper one, until its link is taken down: both are
equally long, and the first that was made is used.
"""

from lab.topo import LabTopo, way


class TwoPaths(LabTopo):
    """The upper path's bottleneck is u-x, the lower one's l-x."""

    def build(
        self,
        pairs: int = 1,
        rate_mbit: float = 10.0,
        lower_rate_mbit: float = 10.0,
        queue: str = "fq_codel",
        limit_packets: int = 200,
        options: str = "",
        delay_ms: float = 40.0,
        lower_delay_ms: float = 160.0,
    ) -> None:
        """:param delay_ms: round trip of the upper path, all of it on the way back"""
        if not 1 <= pairs <= 250:
            raise ValueError(f"pairs {pairs}: must be 1 to 250")
        for name in ("r", "u", "l", "x"):
            self.addRouter(name)
        for name, rate, delay in (("u", rate_mbit, delay_ms), ("l", lower_rate_mbit, lower_delay_ms)):
            there = way(rate, queue, limit_packets=limit_packets, options=options)
            self.addLink("r", name, back=way(delay_ms=delay))
            self.addLink(name, "x", there=there)
        for i in range(1, pairs + 1):
            self.addHost(f"s{i}")
            self.addLink(f"s{i}", "r")
            self.addHost(f"d{i}")
            self.addLink(f"d{i}", "x")


topos = {"two_paths": TwoPaths}
