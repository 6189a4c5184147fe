# SPDX-License-Identifier: GPL-2.0
"""One raw result of what each machine has found, on one clock: that of the machine that gave the orders."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..guest.words import flow_files, flow_line, flow_words
from ..model.plan import FIRST_SOURCE_PORT, Flow
from ..model.typed import DRAIN_S
from .changes import Placement

# As the traffic engine writes them.
RECEIVED = np.dtype([("source", "<u4"), ("reserved", "<u4"), ("sent_ns", "<i8"), ("delay_ns", "<i8")])
QUEUE_SAMPLE = np.dtype([("queue", "<u4"), ("packets", "<u4"), ("time_ns", "<i8"), ("bytes", "<u4"), ("drops", "<u4")])
TRACED = re.compile(r"^(.*?\s)(\d+)\.(\d{6})(: \w+: .*)$")
ENTRIES = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)", re.MULTILINE)
NS_PER_US = 1000
ACK_EVENT = "lab:ack"
# A machine that does other things as well warns of much that is no concern of a run.
OF_A_FAULT = re.compile(r"WARNING|BUG|Oops|lockup|stall|pktpair|fq_rr|vptfrc|general protection", re.IGNORECASE)


@dataclass(frozen=True)
class Clock:
    """How a machine's clock differs from that of the machine that gives the orders.

    :param offset_ns: what its monotonic clock shows more
    :param error_ns: the offset is within so much of that: half of the question's and answer's way
    :param real_ns: its time of day, less its monotonic clock
    """

    offset_ns: int
    error_ns: int
    real_ns: int


def measured(exchanges: Sequence[tuple[int, int, int, int]]) -> Clock:
    """Of several questions and answers, by the one that took least.

    :param exchanges: of each, when it was asked and answered by the clock here, and both clocks there
    """
    asked, answered, monotonic, real = min(exchanges, key=lambda one: one[1] - one[0])
    return Clock(monotonic - (asked + answered) // 2, (answered - asked + 1) // 2, real - monotonic)


def parts(placement: Placement, node: str) -> dict[str, str]:
    """By name of a flow or source, which of its ends is at a node."""
    return {
        one.name: "client" if one.source == node else "server" if one.sink == node else "none"
        for one in placement.plan.senders
    }


def traffic_plan(placement: Placement, node: str) -> tuple[str, dict[str, bytes]]:
    """What a node's traffic engine is told, and the files that this names."""
    plan, own = placement.plan, parts(placement, node)
    lines = [f"end at_ns={round((plan.end_s + DRAIN_S) * 1e9)} with_flows={int(plan.ends_with_flows)}"]
    files: dict[str, bytes] = {}
    if plan.record.sample_s:
        lines.append(f"sample every_ns={round(plan.record.sample_s * 1e9)}")
    lines += [f"queue name={placement.nodes[node].interfaces[device]} in=@here" for device in sampled(placement, node)]
    for index, flow in enumerate(plan.flows):
        words = {**_ends(placement, flow.source, flow.sink, own[flow.name]), **flow_words(plan, flow)}
        for name, text in flow_files(flow).items():
            files[f"{name}-{index}"] = text.encode()
            words[name] = f"@folder/{name}-{index}"
        lines.append(flow_line(words))
    port = FIRST_SOURCE_PORT
    for source in plan.sources:
        files[f"times-{source.name}"] = np.array(source.times_ns(), dtype="<u8").tobytes()
        words = {
            **_ends(placement, source.source, source.sink, own[source.name]),
            "name": source.name,
            "port": port,
            "ports": source.ports,
            "packet_bytes": source.packet_bytes,
            "burst": source.burst,
            "times": f"@folder/times-{source.name}",
        }
        lines.append("source " + " ".join(f"{name}={value}" for name, value in words.items()))
        port += source.ports
    return "\n".join(lines) + "\n", files


def _ends(placement: Placement, source: str, sink: str, part: str) -> dict[str, Any]:
    return {
        "from": "@here",
        "to": "@here",
        "from_address": placement.node_address(source),
        "to_address": placement.node_address(sink),
        "part": part,
    }


def sampled(placement: Placement, node: str) -> list[str]:
    """A node's devices whose queues are sampled, by the plan's names."""
    return [name for name in placement.plan.sampled if name in placement.nodes[node].interfaces]


def merged(
    placement: Placement, found: Mapping[str, Mapping[str, Any]], clocks: Mapping[str, Clock], begin_ns: int
) -> dict[str, Any]:
    """A raw result as a guest gives it.

    :param found: of each node, what its agent has found
    :param begin_ns: time 0, by the clock here
    """
    plan = placement.plan
    wanted = [*([ACK_EVENT] if plan.record.acks else []), *plan.record.events]
    # a module is where it is needed, and so are its events
    missing = [event for event in wanted if all(event in one["missing_events"] for one in found.values())]
    return {
        "begin_s": begin_ns / 1e9,
        "flows": [_flow(flow, index, found) for index, flow in enumerate(plan.flows)],
        "sources": [
            {
                **found[source.source]["sources"][index],
                "received": found[source.sink]["sources"][index]["received"],
            }
            for index, source in enumerate(plan.sources)
        ],
        "received": _packed(*(_received(placement, node, found, clocks) for node in found)),
        # each engine numbers flows as the plan does, and samples those of its own
        "samples": _packed(*(_bytes(one["samples"]) for one in found.values())),
        "queues": _packed(*(_queues(placement, node, one) for node, one in found.items())),
        "commands": [],
        "warnings": [
            f"{placement.nodes[node].machine.name}: {line}"
            for node, one in found.items()
            for line in one["warnings"]
            if OF_A_FAULT.search(line)
        ],
        "dmesg_tail": [],
        "trace": _trace({node: _text(one["trace"]) for node, one in found.items()}, clocks),
        "missing_events": missing,
        "qdiscs": {
            device: one["qdiscs"][interface]
            for node, one in found.items()
            for device, interface in placement.nodes[node].interfaces.items()
            if has_queue(placement, device)
        },
        "pcaps": {},
        "bpftrace": "",
    }


def has_queue(placement: Placement, device: str) -> bool:
    """Whether the plan gives a device a queue, a delay line or a filter."""
    one = placement.layout.devices[device]
    return bool(one.sending_lines(placement.plan.hash_seed) or one.receiving_lines())


def _flow(flow: Flow, index: int, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The client's figures; of exchanges, what the server has sent. What the server says of its end's end is none."""
    client = dict(found[flow.source]["flows"][index])
    if flow.exchanges:
        server = found[flow.sink]["flows"][index]
        names = ("bytes_acked", "retransmits", "data_packets_sent", "mss_bytes", "min_rtt_us", "cc")
        client |= {name: server[name] for name in names}
    return client


def _bytes(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text)) if text else b""


def _text(text: str) -> str:
    return _bytes(text).decode(errors="replace")


def _packed(*some: bytes) -> str:
    return base64.b64encode(zlib.compress(b"".join(some), 1)).decode()


def _received(
    placement: Placement, node: str, found: Mapping[str, Mapping[str, Any]], clocks: Mapping[str, Clock]
) -> bytes:
    """What arrived at a node: the engine there has taken the sender's time of day for its own."""
    records = np.frombuffer(_bytes(found[node]["received"]), dtype=RECEIVED).copy()
    own = clocks[node]
    for index, source in enumerate(placement.plan.sources):
        other = clocks[source.source]
        ahead_ns = (own.real_ns + own.offset_ns) - (other.real_ns + other.offset_ns)
        mine = records["source"] == index
        records["sent_ns"][mine] += ahead_ns
        records["delay_ns"][mine] -= ahead_ns
    return records.tobytes()


def _queues(placement: Placement, node: str, one: Mapping[str, Any]) -> bytes:
    """Each engine numbers the queues that it has."""
    data = bytearray(_bytes(one["queues"]))
    records: NDArray[Any] = np.frombuffer(data, dtype=QUEUE_SAMPLE)
    places = np.array([placement.plan.sampled.index(name) for name in sampled(placement, node)], dtype="<u4")
    if len(records):
        records["queue"] = places[records["queue"]]
    return bytes(data)


def _trace(texts: Mapping[str, str], clocks: Mapping[str, Clock]) -> str:
    """Lines of all machines in the order of time, by the clock here."""
    kept = written = 0
    lines: list[tuple[int, str]] = []
    for node, text in texts.items():
        entries = ENTRIES.search(text)
        if entries:
            kept, written = kept + int(entries[1]), written + int(entries[2])
        for line in text.splitlines():
            match = TRACED.match(line)
            if match:
                time_us = int(match[2]) * 1_000_000 + int(match[3]) - round(clocks[node].offset_ns / NS_PER_US)
                whole, part = divmod(time_us, 1_000_000)
                lines.append((time_us, f"{match[1]}{whole}.{part:06d}{match[4]}"))
    lines.sort(key=lambda one: one[0])
    head = f"# entries-in-buffer/entries-written: {kept}/{written}" if texts else ""
    return "\n".join([head, *(line for _, line in lines)]) + "\n"
