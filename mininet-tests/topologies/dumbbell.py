# SPDX-License-Identifier: GPL-2.0
"""Pairs of hosts around one bottleneck:

    s1 ---+                      +--- d1
    s2 ---+--- r ========== x ---+--- d2
    ...         bottleneck           ...

    cd mininet-tests
    sudo PYTHONPATH=. mn --custom topologies/dumbbell.py --topo dumbbell,pairs=2 --controller none

Each path's delay stands at its receiver, on the way back.
"""

from collections.abc import Sequence

from lab.topo import LabTopo, way

DELAYS_MS = (20.0, 40.0, 80.0, 160.0)


class Dumbbell(LabTopo):
    """The router r's device r-x is the bottleneck; x only fans out."""

    def build(
        self,
        pairs: int = 4,
        rate_mbit: float = 40.0,
        queue: str = "fq_codel",
        limit_packets: int = 533,
        options: str = "",
        delays_ms: Sequence[float] = DELAYS_MS,
        mtu_bytes: int = 1500,
    ) -> None:
        """:param delays_ms: round trips of the pairs, used in turn"""
        if not 1 <= pairs <= 250:
            raise ValueError(f"pairs {pairs}: must be 1 to 250")
        self.addRouter("r")
        self.addRouter("x")
        there = way(rate_mbit, queue, limit_packets=limit_packets, options=options)
        self.addLink("r", "x", there=there, mtu_bytes=mtu_bytes)
        for i in range(1, pairs + 1):
            self.addHost(f"s{i}")
            self.addLink(f"s{i}", "r")
            self.addHost(f"d{i}")
            self.addLink(f"d{i}", "x", there=way(delay_ms=delays_ms[(i - 1) % len(delays_ms)]))


topos = {"dumbbell": Dumbbell}
