# SPDX-License-Identifier: GPL-2.0
"""Pairs of hosts around one router:

    s1 ---+           +--- d1
    s2 ---+---  r  ===+--- d2
    ...               ...

    cd mininet-tests
    sudo PYTHONPATH=. mn --custom topologies/one_router.py --topo one_router,pairs=1 --controller none

Each receiver's link is a bottleneck; its path's delay stands at the receiver, on the way back. With one pair
it takes three real machines.
"""

from lab.topo import LabTopo, way


class OneRouter(LabTopo):
    """The router's devices r-d1, r-d2, ... are the bottlenecks."""

    def build(
        self,
        pairs: int = 1,
        rate_mbit: float = 10.0,
        queue: str = "fq_codel",
        limit_packets: int = 100,
        delay_ms: float = 10.0,
    ) -> None:
        """:param delay_ms: round trip of each pair"""
        if not 1 <= pairs <= 250:
            raise ValueError(f"pairs {pairs}: must be 1 to 250")
        self.addRouter("r")
        for i in range(1, pairs + 1):
            self.addHost(f"s{i}")
            self.addLink(f"s{i}", "r")
            self.addHost(f"d{i}")
            there = way(rate_mbit, queue, limit_packets=limit_packets)
            self.addLink("r", f"d{i}", there=there, back=way(delay_ms=delay_ms))


topos = {"one_router": OneRouter}
