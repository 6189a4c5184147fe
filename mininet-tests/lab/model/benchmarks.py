# SPDX-License-Identifier: GPL-2.0
"""File transfers through a bottleneck, each against its optimum.

The nine benchmarks of packet-pair-1994, section 9.4, are scenarios (``b1_*`` ...
``b9_*``) made of what is here. How a row is defined:

packet
    a 500-byte IP datagram, 448 bytes of it payload; 160 and 108 where the hosts'
    setting is ``nowindow``. A packet time is 100 us. Link rates exclude the
    Ethernet header.
file
    a whole number of packets; a transfer lasts from the first byte handed to TCP
    to the last byte acknowledged. Connections stand before the run begins.
optimum
    the paper's where it prints one; else, and for every other flow, the
    packet-level reference (``reference.py``) on the same arrivals and starts.
slowdown
    (measured - optimum) / optimum of the row's own flow.
mean, worst slowdown
    over all controlled flows, each against its own fair reference; a flow ahead
    of its reference counts as 0 in the mean.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import arrivals, reference
from .devices import LEAVES
from .errors import RunError
from .plan import TCP_HEADER_BYTES, Flow, Plan, Record, Source
from .scenario import Parameter, Values
from .topologies import topology
from .topology import Link, Topology, Way

PACKET_NS = 100_000
ROUND_TRIP_MS = 44.0
# One round trip at the bottleneck's rate.
BUFFER_PACKETS = 440
FILE_PACKETS = 4000
CROSS_PACKETS = 1000
CROSS_COUNT = 10
CROSS_FIRST_S = 0.1
CROSS_SPACING_S = 0.044
# The dumbbell's bottleneck, and the pair of hosts that uncontrolled traffic has.
BOTTLENECK = "r-x"
PAIRS = 13
# "minimum default maximum" of tcp_rmem and tcp_wmem: never binds.
OPEN_BUFFERS = "4096 8388608 16777216"
PUBLISHED_CC = "pktpair_1994"
PROBING = {"tcp_pktpair": {"setpoint_probing": "1"}}
# The memorandum's switch: round robin, and the longest queue loses a packet when the buffer is full.
PUBLISHED_QUEUE = "drop longest-tail no-aqm"
# What a packet takes of CAKE's memory limit (its truesize): fq_rr with room for
# 440 packets has held 762,048 bytes when it first dropped one, which is 441 of these.
CAKE_BYTES_PER_PACKET = 1728
# Uncontrolled sources send until the last transfer has ended, and at most so long.
LONGEST_S = 20.0
# The row of benchmark 9 that is about two transfers.
DIFFERENCE = "difference"
# Figures of a row's own transfer, and of all transfers of its run.
OF_ROW = ("completion_s", "optimal_s", "reference_s", "slowdown")
OF_RUN = ("mean_slowdown", "worst_slowdown", "packets", "retransmits")
# A campaign has some eighty different ones, and each takes up to half a second.
_references: dict[str, dict[str, float]] = {}


@dataclass(frozen=True)
class HostSetting:
    """How the hosts are set.

    :param buffers: tcp_rmem and tcp_wmem; "" is the distribution's
    :param published: receivers acknowledge each packet, and fq_rr has no delay control and drops the last
        packet of its longest queue
    :param probing: the setpoint of the published preset probes
    """

    packet_bytes: int = 500
    buffers: str = ""
    gro: bool = False
    published: bool = False
    probing: bool = False

    @property
    def rate_bit_s(self) -> int:
        """Of the bottleneck: a packet takes PACKET_NS in every setting."""
        return self.packet_bytes * 8 * 1_000_000_000 // PACKET_NS


SETTINGS = {
    "stock": HostSetting(),
    "stock-gro": HostSetting(gro=True),
    "open": HostSetting(buffers=OPEN_BUFFERS),
    "nowindow": HostSetting(packet_bytes=160, buffers=OPEN_BUFFERS),
    # the memorandum turns probing off in one experiment of section 9.1, and does not say so of its benchmarks
    "memorandum": HostSetting(buffers=OPEN_BUFFERS, published=True, probing=True),
    "memorandum-fixed": HostSetting(buffers=OPEN_BUFFERS, published=True),
}
HOSTS = Parameter("open", "", "how the hosts are set", choices=tuple(SETTINGS))


@dataclass(frozen=True)
class Transfer:
    """One file from a node to another.

    :param path: the bottlenecks that its packets pass, in order
    """

    name: str
    source: str
    sink: str
    packets: int
    start_s: float = 0.0
    round_trip_ms: float = ROUND_TRIP_MS
    path: tuple[str, ...] = (BOTTLENECK,)


@dataclass(frozen=True)
class Row:
    """A line of the table: which transfer it is about, and what the paper has, if it has it."""

    variant: str
    transfer: str
    optimal_s: float | None
    published: float | None

    def metric(self, name: str) -> str:
        """What a figure of the row is called among its run's."""
        return f"{self.variant}_{name}" if self.variant else name


@dataclass(frozen=True)
class Benchmark:
    """One of the nine, with its parameters chosen.

    :param streams: models of the uncontrolled sources (``arrivals.of``)
    :param delays_ms: by the device that packets leave before they are delayed
    :param bottlenecks: devices with the rate and the queue
    :param service_ns: of a packet at a bottleneck, acknowledgements included
    """

    name: str
    transfers: tuple[Transfer, ...]
    rows: tuple[Row, ...]
    streams: tuple[dict[str, Any], ...] = ()
    delays_ms: Mapping[str, float] = field(default_factory=dict)
    bottlenecks: tuple[str, ...] = (BOTTLENECK,)
    limit_packets: int = BUFFER_PACKETS
    service_ns: int = PACKET_NS

    def starts_ns(self, seed: int) -> list[int]:
        """When each transfer starts: up to one packet time late, by the seed."""
        jitter = random.Random(f"starts {seed}")
        return [round(one.start_s * 1e9) + jitter.randrange(PACKET_NS) for one in self.transfers]

    def plan(self, hosts: str, cc: str, qdisc: str, seed: int) -> Plan:
        """One run of it."""
        setting = SETTINGS[hosts]
        flows = tuple(
            Flow(
                one.name,
                one.source,
                one.sink,
                cc,
                start_s=start_ns / 1e9,
                bytes=one.packets * (setting.packet_bytes - TCP_HEADER_BYTES),
                packet_bytes=setting.packet_bytes,
            )
            for one, start_ns in zip(self.transfers, self.starts_ns(seed), strict=True)
        )
        sources = tuple(
            Source(f"stream{index}", f"s{PAIRS}", f"d{PAIRS}", model, LONGEST_S, setting.packet_bytes)
            for index, model in enumerate(self.streams)
        )
        buffers = {"net.ipv4.tcp_rmem": setting.buffers, "net.ipv4.tcp_wmem": setting.buffers}
        return Plan(
            self._topology(setting, qdisc),
            flows,
            sources,
            record=Record(acks=False),
            hash_seed=seed,
            sysctls={"*": buffers} if setting.buffers else {},
            module_parameters=PROBING if setting.probing and cc == PUBLISHED_CC else {},
            routes=dict.fromkeys((one.sink for one in self.transfers), "quickack 1") if setting.published else {},
            gro=tuple(end for one in self.transfers for end in (one.source, one.sink)) if setting.gro else (),
            ends_with_flows=True,
        )

    def _topology(self, setting: HostSetting, qdisc: str) -> Topology:
        options = f"memlimit {self.limit_packets * CAKE_BYTES_PER_PACKET}" if qdisc == "cake" else ""
        if setting.published and qdisc == "fq_rr":
            options = PUBLISHED_QUEUE
        queue = Way(setting.rate_bit_s, qdisc, self.limit_packets, options)
        bare = _dumbbell()
        links = []
        for link in bare.links:
            ways = {}
            for name, device in (("there", link.device_a), ("back", link.device_b)):
                way = queue if device in self.bottlenecks else Way()
                ways[name] = replace(way, delay_ms=self.delays_ms.get(device, 0.0))
            # a bucket of one packet is to be one of the device's, or tbf warns
            narrow = qdisc in LEAVES and {link.device_a, link.device_b} & set(self.bottlenecks)
            mtu_bytes = setting.packet_bytes if narrow else link.mtu_bytes
            links.append(Link(link.a, link.b, ways["there"], ways["back"], mtu_bytes))
        return Topology("dumbbell", dict(bare.nodes), tuple(links), dict(bare.arguments))

    @property
    def row_sets(self) -> list[str]:
        """Of each row, what its run is called: rows of one run share the figures over all its transfers."""
        return [self.name if len(self.rows) > 1 else f"{self.name} {row.variant}".strip() for row in self.rows]

    def references_s(self, seed: int) -> dict[str, float]:
        """What each transfer takes at its fair share, by name; the same for every queue and congestion control."""
        key = repr((self.transfers, self.streams, self.bottlenecks, self.service_ns, seed))
        if key not in _references:
            _references[key] = self._references_s(seed)
        return _references[key]

    def _references_s(self, seed: int) -> dict[str, float]:
        files = [
            reference.File(one.name, one.packets, start_ns, round(one.round_trip_ms * 1e6), one.path)
            for one, start_ns in zip(self.transfers, self.starts_ns(seed), strict=True)
        ]
        streams = [
            reference.Stream(f"stream {index}", arrivals.of(model), (BOTTLENECK,))
            for index, model in enumerate(self.streams)
        ]
        return reference.completions_s(dict.fromkeys(self.bottlenecks, self.service_ns), files, streams)

    def measure(self, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Slowdowns of a run: of each row, its variant before it, and of all transfers.

        RunError if segments had another size than they were told.
        """
        # the plan of a seed is the seed's own
        references = self.references_s(plan.hash_seed)
        flows: dict[str, dict[str, Any]] = {}
        for flow, result in zip(plan.flows, raw["flows"], strict=True):
            payload_bytes = flow.packet_bytes - TCP_HEADER_BYTES
            if result["mss_bytes"] != payload_bytes:
                raise RunError(f"flow {flow.name}: segments of {result['mss_bytes']} bytes, not {payload_bytes}")
            completion_s = (result["ended_ns"] - result["began_ns"]) / 1e9
            optimal_s = references[result["name"]]
            flows[result["name"]] = {
                "completion_s": completion_s,
                "reference_s": optimal_s,
                "slowdown": completion_s / optimal_s - 1,
            }
        slowdowns = [flow["slowdown"] for flow in flows.values()]
        found: dict[str, Any] = {
            "mean_slowdown": round(sum(max(0.0, one) for one in slowdowns) / len(slowdowns), 5),
            "worst_slowdown": round(max(slowdowns), 5),
            "packets": sum(one.packets for one in self.transfers),
        }
        for row in self.rows:
            own = flows[row.transfer]
            if row.variant == DIFFERENCE:
                own = difference(*flows.values())
            slowdown = own["completion_s"] / row.optimal_s - 1 if row.optimal_s else own["slowdown"]
            found |= {
                row.metric("completion_s"): round(own["completion_s"], 6),
                row.metric("optimal_s"): round(row.optimal_s or own["reference_s"], 6),
                row.metric("reference_s"): round(own["reference_s"], 6),
                row.metric("slowdown"): round(slowdown, 5),
            }
        return found

    def table_rows(self, labels: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A run's lines of summary.json, from its metrics.

        :param labels: hosts, cc, qdisc and seed
        """
        return [
            {
                "benchmark": self.name,
                "variant": row.variant,
                **labels,
                **{name: metrics[row.metric(name)] for name in OF_ROW},
                "published_slowdown": row.published,
                **{name: metrics[name] for name in OF_RUN},
                "row_set": row_set,
                "flows": len(self.transfers),
            }
            for row, row_set in zip(self.rows, self.row_sets, strict=True)
        ]


@functools.cache
def _dumbbell() -> Topology:
    """Links of which each benchmark makes its own: built once, since a campaign has more than a thousand runs."""
    return topology("dumbbell", pairs=PAIRS, rate_mbit=0, queue="", limit_packets=0, delays_ms=[0])


def cross_traffic(spacing_s: float, first_pair: int = 2) -> tuple[Transfer, ...]:
    """The paper's ten cross streams of 500 kB, each between its own hosts."""
    return tuple(
        Transfer(
            f"cross{i + 1}", f"s{first_pair + i}", f"d{first_pair + i}", CROSS_PACKETS, CROSS_FIRST_S + i * spacing_s
        )
        for i in range(CROSS_COUNT)
    )


def among_ten(name: str, spacing_s: float, row: Row, limit_packets: int = BUFFER_PACKETS) -> Benchmark:
    """2 MB from the first host among the ten cross streams, every flow between its own hosts."""
    transfers = (Transfer("primary", "s1", "d1", FILE_PACKETS), *cross_traffic(spacing_s))
    return Benchmark(name, transfers, (row,), delays_ms=way_back(transfers), limit_packets=limit_packets)


def way_back(transfers: Sequence[Transfer]) -> dict[str, float]:
    """All of each path's delay at its receiver, on the way back."""
    return {f"{one.sink}-x": one.round_trip_ms for one in transfers}


def difference(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """How far apart two transfers end, as part of what the first takes.

    Its optimum is the references' difference; either may be the later one.
    """
    apart_s = abs(second["completion_s"] - first["completion_s"])
    return {
        "completion_s": apart_s,
        "reference_s": abs(second["reference_s"] - first["reference_s"]),
        "slowdown": apart_s / first["completion_s"],
    }


def of_scenario(benchmark: Callable[[Values, int], Benchmark]) -> tuple[Callable[..., Plan], Callable[..., Any]]:
    """A scenario's plan() and measure(), from what it says for its values and a seed."""

    def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
        return benchmark(values, seed).plan(values["hosts"], cc, qdisc, seed)

    def measure(values: Values, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
        # the plan of a seed is the seed's own
        return benchmark(values, plan.hash_seed).measure(plan, raw)

    return plan, measure
