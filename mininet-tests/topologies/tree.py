# SPDX-License-Identifier: GPL-2.0
"""A server behind a tree of routers; each level has a rate of its own:

s1 --- t0 ====+==== t1 ====+==== d1
              |            +==== d2
              +==== t2 ====+==== d3
                           +==== d4
"""

from lab.topo import LabTopo, way


class Tree(LabTopo):
    """Router t0 is the root; the hosts d1, d2, ... are its leaves."""

    def build(
        self,
        depth: int = 2,
        fanout: int = 2,
        rate_mbit: float = 40.0,
        narrowing: float = 2.0,
        queue: str = "fq_codel",
        limit_packets: int = 200,
        options: str = "",
        delay_ms: float = 40.0,
    ) -> None:
        """:param narrowing: a link has 1/narrowing of the rate of the link above it"""
        if not 1 <= depth <= 6 or not 1 <= fanout <= 16 or fanout**depth > 250:
            raise ValueError(f"depth {depth}, fanout {fanout}: at most 6 and 16, and 250 leaves")
        self.addHost("s1")
        self.addRouter("t0")
        self.addLink("s1", "t0")
        above, routers, leaves = ["t0"], 1, 0
        for level in range(1, depth + 1):
            there = way(rate_mbit / narrowing ** (level - 1), queue, limit_packets=limit_packets, options=options)
            below = []
            for parent in above:
                for _ in range(fanout):
                    if level < depth:
                        name = self.addRouter(f"t{routers}")
                        routers += 1
                        self.addLink(parent, name, there=there)
                    else:
                        leaves += 1
                        name = self.addHost(f"d{leaves}")
                        self.addLink(parent, name, there=there, back=way(delay_ms=delay_ms))
                    below.append(name)
            above = below


topos = {"tree": Tree}
