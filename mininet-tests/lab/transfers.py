# SPDX-License-Identifier: GPL-2.0
"""File transfers through a bottleneck, each against its optimum.

The nine benchmarks of packet-pair-1994, section 9.4, are scenarios (``b1_*`` ...
``b9_*``) made of what is here.  How a row is defined:

packet
    a 500-byte IP datagram, 448 bytes of it payload; 160 and 108 where the hosts'
    setting is ``nowindow``.  A packet time is 100 us.  Link rates exclude the
    Ethernet header.
file
    a whole number of packets; a transfer lasts from the first byte handed to TCP
    to the last byte acknowledged.  Connections stand before the run begins.
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

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import links, measure, reference
from .model import arrivals
from .scenario import FIRST_PORT, Parameter
from .vm import LabError

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
SOURCE_PAIR = 13
PAIRS = 13
# A primary that is so far ahead of its fair share has taken it from others.
AHEAD_LIMIT = -0.01
# "minimum default maximum" of tcp_rmem and tcp_wmem: never binds.
OPEN_BUFFERS = "4096 8388608 16777216"
# What a packet takes of CAKE's memory limit (its truesize): fq_rr with room for
# 440 packets has held 762,048 bytes when it first dropped one, which is 441 of these.
CAKE_BYTES_PER_PACKET = 1728
# Part of the uncontrolled datagrams that are held back until their time; those
# that were handed over late are not.
WAITED = 0.95
# The row of benchmark 9 that is about two transfers.
DIFFERENCE = "difference"
TRACED = ("lab:ack", "pktpair:pktpair_sample")


@dataclass(frozen=True)
class HostSetting:
    """How the hosts are set.

    :param buffers: tcp_rmem and tcp_wmem; "" is the distribution's
    """

    packet_bytes: int = 500
    buffers: str = ""
    gro: bool = False

    @property
    def rate_bit_s(self) -> int:
        """Of the bottleneck: a packet takes PACKET_NS in every setting."""
        return self.packet_bytes * 8 * 1_000_000_000 // PACKET_NS


SETTINGS = {
    "stock": HostSetting(),
    "stock-gro": HostSetting(gro=True),
    "open": HostSetting(buffers=OPEN_BUFFERS),
    "nowindow": HostSetting(packet_bytes=160, buffers=OPEN_BUFFERS),
}
HOSTS = Parameter("open", "", "how the hosts are set", choices=tuple(SETTINGS))


@dataclass(frozen=True)
class Transfer:
    """One file from a node to another; its flow's number in the run is its port.

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
    """A line of the table: which transfer it is about, and what the paper has."""

    variant: str
    transfer: str
    optimal_s: float | None
    published: float


@dataclass(frozen=True)
class TransferPlan:
    """One run of a benchmark.

    :param streams: models of the uncontrolled sources (``arrivals.of``)
    :param delays_ms: delay lines, by device
    :param bottlenecks: devices with a shaper and the queue
    :param service_ns: of a packet at a bottleneck, acknowledgements included
    """

    benchmark: str
    cc: str
    qdisc: str
    hosts: str
    seed: int
    transfers: tuple[Transfer, ...]
    rows: tuple[Row, ...]
    streams: tuple[dict[str, Any], ...] = ()
    delays_ms: Mapping[str, float] = field(default_factory=dict)
    bottlenecks: tuple[str, ...] = (BOTTLENECK,)
    limit_packets: int = BUFFER_PACKETS
    service_ns: int = PACKET_NS

    @property
    def label(self) -> str:
        """What tells this run from others of its scenario."""
        return "-".join([self.hosts, *(row.variant for row in self.rows if row.variant)])

    @property
    def packets(self) -> int:
        """Data packets of all files: what a run costs, roughly."""
        return sum(one.packets for one in self.transfers)

    def starts_ns(self) -> list[int]:
        """When each transfer starts: up to one packet time late, by the seed."""
        jitter = random.Random(f"starts {self.seed}")
        return [round(one.start_s * 1e9) + jitter.randrange(PACKET_NS) for one in self.transfers]

    def for_guest(self, pcap: bool, trace: bool = False) -> dict[str, Any]:
        """As the agent wants it."""
        if pcap:
            raise LabError("--pcap: transfers do not capture packets; --trace shows every acknowledgement")
        setting = SETTINGS[self.hosts]
        queue = {
            device: links.bottleneck(
                device,
                self.qdisc,
                setting.rate_bit_s,
                self.limit_packets,
                setting.packet_bytes,
                self.seed,
                f"memlimit {self.limit_packets * CAKE_BYTES_PER_PACKET}",
            )
            for device in self.bottlenecks
        }
        transfers = [
            {
                "name": one.name,
                "source": one.source,
                "sink": one.sink,
                "packets": one.packets,
                "start_ns": start_ns,
                "port": FIRST_PORT + index,
            }
            for index, (one, start_ns) in enumerate(zip(self.transfers, self.starts_ns(), strict=True), 1)
        ]
        streams = [
            {"model": model, "source": f"s{SOURCE_PAIR}", "sink": f"d{SOURCE_PAIR}", "port": FIRST_PORT + 500 + index}
            for index, model in enumerate(self.streams)
        ]
        return {
            "pairs": PAIRS,
            "cc": self.cc,
            "packet_bytes": setting.packet_bytes,
            "buffers": setting.buffers,
            "gro": setting.gro,
            "bottlenecks": queue,
            # a bucket of one packet, which is what tbf is to have, is one of the device's
            "mtu_bytes": setting.packet_bytes if any("tbf" in lines[0] for lines in queue.values()) else 1500,
            "delays_ms": dict(self.delays_ms),
            "transfers": transfers,
            "streams": streams,
            "events": list(TRACED) if trace else [],
        }

    def references_s(self) -> dict[str, float]:
        """What each transfer takes at its fair share, by name."""
        files = [
            reference.File(one.name, one.packets, start_ns, round(one.round_trip_ms * 1e6), one.path)
            for one, start_ns in zip(self.transfers, self.starts_ns(), strict=True)
        ]
        streams = [
            reference.Stream(f"stream {index}", arrivals.of(model), (BOTTLENECK,))
            for index, model in enumerate(self.streams)
        ]
        return reference.completions_s(dict.fromkeys(self.bottlenecks, self.service_ns), files, streams)


def cross_traffic(spacing_s: float, first_pair: int = 2) -> tuple[Transfer, ...]:
    """The paper's ten cross streams of 500 kB, each between its own hosts."""
    return tuple(
        Transfer(
            f"cross{i + 1}", f"s{first_pair + i}", f"d{first_pair + i}", CROSS_PACKETS, CROSS_FIRST_S + i * spacing_s
        )
        for i in range(CROSS_COUNT)
    )


def way_back(transfers: Sequence[Transfer]) -> dict[str, float]:
    """All of each path's delay at its receiver, on the way back."""
    return {f"{one.sink}-x": one.round_trip_ms for one in transfers}


def flow_figures(plan: TransferPlan, raw: dict[str, Any]) -> list[dict[str, Any]]:
    """What became of each transfer; RunError if the run is not what it was meant to be."""
    if raw["source_error"]:
        raise measure.RunError(raw["source_error"])
    for device, qdiscs in raw["qdiscs"].items():
        for one in qdiscs:
            if one["kind"] == "fq" and device not in plan.bottlenecks and one["throttled"] < WAITED * one["packets"]:
                raise measure.RunError(f"{one['throttled']} of {one['packets']} datagrams waited for their time")
        lost = [one["kind"] for one in qdiscs if device not in plan.bottlenecks and one.get("drops")]
        if lost:
            raise measure.RunError(f"{lost[0]} on {device} dropped packets that it was not told to")
    payload_bytes = SETTINGS[plan.hosts].packet_bytes - links.TCP_HEADER_BYTES
    references = plan.references_s()
    figures = []
    for one, result in zip(plan.transfers, raw["transfers"], strict=True):
        if result["error"]:
            raise measure.RunError(f"transfer {one.name}: {result['error']}")
        if result["mss_bytes"] != payload_bytes:
            raise measure.RunError(f"transfer {one.name}: segments of {result['mss_bytes']} bytes, not {payload_bytes}")
        completion_s = (result["ended_ns"] - result["began_ns"]) / 1e9
        figures.append(
            {
                "name": one.name,
                "packets": one.packets,
                "start_s": round(result["began_ns"] / 1e9, 6),
                "completion_s": round(completion_s, 6),
                "reference_s": round(references[one.name], 6),
                "slowdown": round(completion_s / references[one.name] - 1, 5),
                "retransmits": result["retransmits"],
                "data_packets_sent": result["data_packets_sent"],
            }
        )
    return figures


def difference(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """How far apart two transfers end, as part of what the first takes.

    Its optimum is the references' difference; either may be the later one.
    """
    apart_s = abs(second["completion_s"] - first["completion_s"])
    return {
        "completion_s": round(apart_s, 6),
        "reference_s": round(abs(second["reference_s"] - first["reference_s"]), 6),
        "slowdown": round(apart_s / first["completion_s"], 5),
    }


def row_figures(plan: TransferPlan, flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The run's lines of summary.json."""
    by_name = {flow["name"]: flow for flow in flows}
    common = {
        "mean_slowdown": round(sum(max(0.0, flow["slowdown"]) for flow in flows) / len(flows), 5),
        "worst_slowdown": max(flow["slowdown"] for flow in flows),
        "packets": sum(flow["packets"] for flow in flows),
        "retransmits": sum(flow["retransmits"] for flow in flows),
    }
    rows = []
    for row in plan.rows:
        flow = by_name[row.transfer]
        if row.variant == DIFFERENCE:
            flow = difference(*flows)
        optimal_s = row.optimal_s or flow["reference_s"]
        slowdown = flow["completion_s"] / row.optimal_s - 1 if row.optimal_s else flow["slowdown"]
        rows.append(
            {
                "benchmark": plan.benchmark,
                "variant": row.variant,
                "hosts": plan.hosts,
                "cc": plan.cc,
                "qdisc": plan.qdisc,
                "seed": plan.seed,
                "completion_s": flow["completion_s"],
                "optimal_s": optimal_s,
                "reference_s": flow["reference_s"],
                "slowdown": round(slowdown, 5),
                "published_slowdown": row.published,
                **common,
            }
        )
    return rows


def fill_in(run: dict[str, Any], plan: TransferPlan, raw: dict[str, Any]) -> None:
    """The part of a run's JSON that is about transfers."""
    run["hosts"] = plan.hosts
    run["qdiscs"] = [{"device": device, **entry} for device, entries in raw["qdiscs"].items() for entry in entries]
    run["flows"] = flow_figures(plan, raw)
    run["rows"] = row_figures(plan, run["flows"])
    for row in run["rows"]:
        prefix = f"{row['variant']}_" if row["variant"] else ""
        for name in ("completion_s", "optimal_s", "slowdown"):
            run["metrics"][prefix + name] = row[name]
    for name in ("mean_slowdown", "worst_slowdown", "packets", "retransmits"):
        run["metrics"][name] = run["rows"][0][name]
