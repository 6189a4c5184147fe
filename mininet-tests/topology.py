# SPDX-License-Identifier: GPL-2.0
"""The lab's topologies, for the lab and for Mininet's own command:

    sudo mn --custom mininet-tests/topology.py --topo dumbbell --controller none

        s1 ---+                      +--- d1
        s2 ---+--- r ========== x ---+--- d2
        s3 ---+     bottleneck       +--- d3
        ...                              ...

Senders s1..., receivers d1..., the router r, whose interface r-x is the
bottleneck, and x, which only fans out.  All of a path's delay stands at the
receiver, on its way back: a delay line beside a shaper would disturb it.
Packets are segmented before they reach the router (no offloads there and at
the receivers); the senders keep GSO, since a train is a GSO packet.

``dumbbell,PAIRS,RATE_MBIT,QDISC`` sets the number of pairs (4), the rate (40)
and the queue (fq_codel); the round trips are 20, 40, 80 and 160 ms in turn.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from mininet.link import Intf
from mininet.node import Node
from mininet.topo import Topo

# Mininet executes this file without telling it its name.
_FILE = inspect.currentframe().f_code.co_filename  # type: ignore[union-attr]
sys.path.insert(0, str(Path(_FILE).resolve().parent))

from lab import links  # noqa: E402

DELAYS_MS = (20, 40, 80, 160)
MAX_PAIRS = 250
# One bandwidth-delay product of the longest path at 40 Mbit/s.
LIMIT_PACKETS = 533
PACKET_BYTES = 1500


class Station(Node):
    """A node without segmentation offload; its sysctls make runs repeatable."""

    # no_metrics_save: nothing is remembered from one connection to the next.
    # max_tw_buckets: ports can be used again at once, so they can be fixed.
    # txrehash: a flow keeps its queue when its timer expires.
    SYSCTLS = (
        ("net/ipv4/tcp_no_metrics_save", "1"),
        ("net/ipv4/tcp_max_tw_buckets", "0"),
        ("net/core/txrehash", "0"),
        ("net/ipv6/conf/all/disable_ipv6", "1"),
    )
    FORWARD = False
    OFFLOADS = "tso off gso off gro off"

    def config(self, routes: list[str] | None = None, **params: Any) -> dict[str, Any]:
        """Called by Mininet once the interfaces exist."""
        done = super().config(**params)
        script = [f"echo {value} >/proc/sys/{name}" for name, value in self.SYSCTLS]
        if self.FORWARD:
            script.append("echo 1 >/proc/sys/net/ipv4/ip_forward")
        script += [f"ip route add {route}" for route in routes or []]
        for interface in self.intfList():
            script.append(f"ethtool -K {interface.name} {self.OFFLOADS}")
        output = self.cmd("{ " + "; ".join(script) + "; } 2>&1")
        if output.strip():
            raise RuntimeError(f"{self.name}: {output.strip()}")
        return done


class Sender(Station):
    """Keeps GSO: a train of segments leaves as one packet and is cut on the wire."""

    OFFLOADS = "tso off tx-udp-segmentation off gso on gro off"


class Router(Station):
    """Forwards."""

    FORWARD = True


class TcIntf(Intf):
    """An interface with tc commands of its own (Mininet's TCIntf allows bursts)."""

    def config(self, tc: list[str] | None = None, **params: Any) -> dict[str, Any]:
        """Called by Mininet when the link is made."""
        done = super().config(**params)
        for line in tc or []:
            output = self.cmd(f"tc {line}")
            if output.strip():
                raise RuntimeError(f"{self.name}: tc {line}: {output.strip()}")
        return done


def mac(index: int) -> str:
    """A fixed address, so that nothing about a run is random."""
    return f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}"


class Dumbbell(Topo):
    """Pairs of senders and receivers around one bottleneck."""

    def build(self, pairs: int = 4, rate_mbit: float = 40, qdisc: str = "fq_codel", bare: bool = False) -> None:
        """:param bare: without any qdisc, for a caller that sets its own"""
        pairs = int(pairs)
        if not 1 <= pairs <= MAX_PAIRS:
            raise ValueError(f"pairs {pairs}: must be 1 to {MAX_PAIRS}")
        if qdisc not in links.QDISCS:
            raise ValueError(f"qdisc {qdisc}: must be one of {', '.join(links.QDISCS)}")
        shaper = []
        if not bare:
            shaper = links.bottleneck("r-x", qdisc, int(float(rate_mbit) * 1e6), LIMIT_PACKETS, PACKET_BYTES, 1)
        index = range(1, pairs + 1)
        self.addNode("r", cls=Router, ip=None, routes=["10.1.0.0/16 via 10.2.0.2"])
        self.addNode("x", cls=Router, ip=None, routes=["10.0.0.0/16 via 10.2.0.1"])
        self.addLink(
            "r",
            "x",
            intf=TcIntf,
            intfName1="r-x",
            intfName2="x-r",
            addr1=mac(1),
            addr2=mac(2),
            params1={"ip": "10.2.0.1/24", "tc": shaper},
            params2={"ip": "10.2.0.2/24"},
        )
        for i in index:
            self.addNode(f"s{i}", cls=Sender, ip=f"10.0.{i}.1/24", defaultRoute=f"via 10.0.{i}.254")
            self.addLink(
                f"s{i}",
                "r",
                intfName1=f"s{i}-r",
                intfName2=f"r-s{i}",
                addr1=mac(i * 4 + 0),
                addr2=mac(i * 4 + 1),
                params2={"ip": f"10.0.{i}.254/24"},
            )
            self.addNode(f"d{i}", cls=Station, ip=f"10.1.{i}.1/24", defaultRoute=f"via 10.1.{i}.254")
            netem = [] if bare else links.delay(f"d{i}-x", DELAYS_MS[(i - 1) % len(DELAYS_MS)])
            self.addLink(
                f"d{i}",
                "x",
                intf=TcIntf,
                intfName1=f"d{i}-x",
                intfName2=f"x-d{i}",
                addr1=mac(i * 4 + 2),
                addr2=mac(i * 4 + 3),
                params1={"tc": netem},
                params2={"ip": f"10.1.{i}.254/24"},
            )


topos = {"dumbbell": Dumbbell}
