# SPDX-License-Identifier: GPL-2.0
"""Bottlenecks in series; a long path passes all, each cross path passes one:

    s0 --- r0 ====== r1 ====== r2 --- d0
           |        |  |        |
           s1      d1  s2      d2

Each path's delay stands at its receiver, on the way back.
"""

from lab.topo import LabTopo, way


class ParkingLot(LabTopo):
    """Routers r0, r1, ...; bottleneck *i* is the device r(i-1)-r(i)."""

    def build(
        self,
        bottlenecks: int = 3,
        rate_mbit: float = 10.0,
        queue: str = "fq_codel",
        limit_packets: int = 200,
        options: str = "",
        delay_ms: float = 40.0,
    ) -> None:
        """All bottlenecks and all round trips (``delay_ms``) are alike."""
        if not 1 <= bottlenecks <= 50:
            raise ValueError(f"bottlenecks {bottlenecks}: must be 1 to 50")
        there = way(rate_mbit, queue, limit_packets=limit_packets, options=options)
        for i in range(bottlenecks + 1):
            self.addRouter(f"r{i}")
            if i:
                self.addLink(f"r{i - 1}", f"r{i}", there=there)
        for i in range(bottlenecks + 1):
            self.addHost(f"s{i}")
            self.addHost(f"d{i}")
            self.addLink(f"s{i}", f"r{max(i - 1, 0)}")
            self.addLink(f"d{i}", f"r{i or bottlenecks}", there=way(delay_ms=delay_ms))


topos = {"parking_lot": ParkingLot}
