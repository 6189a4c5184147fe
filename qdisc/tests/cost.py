#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a packet costs in fq_rr and in its peers, in instructions.

Runs in the lab: scripts/cost.  Each row is a qdisc made by tc on a dummy device,
whose own enqueue and dequeue the module in bench/ calls.  Prints one JSON object
a line: first what holds for all rows, then the rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labtools import TestFailedError, dmesg_complaints, equal, expect, new_namespace, run

DEVICE = "cost0"
HANDLE = "8000"
MODULE = Path(__file__).resolve().parents[2] / "build" / run("uname", "-r").stdout.strip() / "bench" / "qdisc_cost.ko"
RUN = Path("/sys/module/qdisc_cost/parameters/run")

SMALL_BYTES, FULL_BYTES = 64, 1514
FLOWS = (1, 100, 1024, 65536)
# A super-packet of 44 segments is what 64 KiB hold.
SEGMENTS = 44
# More than 1024 flows of 44 segments each do not fit the guest's memory.
GSO_FLOWS = (1, 100, 1024)
# Whom a hash that comes with the packet helps most.
WITH_HASH = ("fq_rr", "fq_codel", "cake")
SEED = 1

# Queues of a qdisc that lets one choose, unless there are more flows: everybody's default.
QUEUES = 1024
# Packets that a backlogged flow has waiting: what a shallow window leaves there.
STANDING = 2
# Room for so many packets of each flow, and for so many in all.
LIMIT_PER_FLOW = 4
LIMIT_LEAST = 1024
# No limit in bytes where there is one in packets.
MEMORY_BYTES = 1 << 30
# No queue may be judged by its delay: the guest's clock is no link's.
NO_DELAY = "1000s"

# Packets that warm up are as many as the limit holds, those counted fewer; a scheduler
# that takes tens of thousands of instructions for one would take minutes.
COUNT = 4096
BUDGET_INSTRUCTIONS = 1_000_000_000
# What the counter may differ from instructions: nothing but its own two readings.
RULER_ERROR = 1e-4


@dataclass(frozen=True)
class Case:
    """How many packets are offered for each that leaves; 1: never above the limit."""

    name: str
    load: int
    standing: int


CASES = {
    case.name: case
    for case in (
        Case("bypass", 1, 0),
        Case("below", 1, STANDING),
        Case("over-2x", 2, 0),
        Case("over-100x", 100, 0),
    )
}


@dataclass(frozen=True)
class Row:
    """One measurement."""

    qdisc: str
    flows: int
    case: Case
    packet_bytes: int
    gso: str = ""  # none; "split": into segments before they wait; "whole"
    hashed: bool = False  # by the device they came from

    @property
    def segments(self) -> int:
        """Segments of a packet that comes."""
        return SEGMENTS if self.gso else 1

    @property
    def queued(self) -> int:
        """Packets that wait for one that comes."""
        return SEGMENTS if self.gso == "split" else 1

    @property
    def limit(self) -> int:
        """Packets that may wait."""
        room = max(LIMIT_LEAST, LIMIT_PER_FLOW * self.flows)
        # below the limit there is room for all that stands, and a packet more
        return room * self.queued


def split(row: Row) -> str:
    """The word for tc."""
    return "split-gso" if row.gso != "whole" else "no-split-gso"


def of_queues(row: Row) -> int:
    """Queues of a qdisc that lets one choose."""
    return max(QUEUES, row.flows)


def drr_classes(row: Row) -> list[str]:
    """A class for each flow, and a filter that hashes: DRR has neither by itself."""
    at = f"dev {DEVICE} parent {HANDLE}:"
    # flows may share a class: only where something is to be lost is its room a share
    room = row.limit // row.flows if row.case.load > 1 else row.limit
    lines = []
    for minor in range(1, row.flows + 1):
        lines.append(f"class add {at} classid {HANDLE}:{minor:x} drr quantum {FULL_BYTES}")
        lines.append(f"qdisc add dev {DEVICE} parent {HANDLE}:{minor:x} pfifo limit {room}")
    keys = "src,dst,proto,proto-src,proto-dst"
    lines.append(f"filter add {at} protocol ip handle 1 flow hash keys {keys} divisor {row.flows} baseclass {HANDLE}:1")
    return lines


def options(row: Row, truesize: int) -> str | None:
    """What tc is told of a qdisc with the row's limit; None: it cannot hold that many flows."""
    limit, queues = row.limit, of_queues(row)
    match row.qdisc:
        case "fq_rr":
            return f"limit {limit} memory-limit {MEMORY_BYTES} flows {queues} {split(row)}"
        case "fq_codel":
            return (
                f"limit {limit} memory_limit {MEMORY_BYTES} flows {queues} target {NO_DELAY} interval {NO_DELAY}"
                f" quantum {FULL_BYTES}"
            )
        case "cake" if row.flows <= QUEUES:
            # its only limit is one of memory
            return f"unlimited besteffort flows rtt {NO_DELAY} {split(row)} memlimit {limit * truesize}"
        case "sfq" if row.flows < 65408:
            return f"limit {limit} depth 127 flows 65407 divisor 65536 quantum {FULL_BYTES}"
        case "fq":
            return f"limit {limit} flow_limit {limit} buckets {queues} orphan_mask {(1 << 20) - 1} quantum {FULL_BYTES}"
        case "fq_pie":
            return f"limit {limit} memory_limit {MEMORY_BYTES} flows {queues} target {NO_DELAY} quantum {FULL_BYTES}"
        case "drr" if row.flows <= 65535:
            return ""
        case "pfifo":
            return f"limit {limit}"
    return None


def configure(row: Row, told: str) -> None:
    """A fresh qdisc."""
    run("tc", "qdisc", "del", "dev", DEVICE, "root", check=False)
    run("tc", *f"qdisc add dev {DEVICE} root handle {HANDLE}: {row.qdisc} {told}".split())
    if row.qdisc == "drr":
        batch = Path("/tmp/cost-drr")
        batch.write_text("\n".join(drr_classes(row)) + "\n")
        run("tc", "-batch", str(batch))


def order(row: Row, count: int) -> str:
    """The line for the module."""
    case = row.case
    closed = case.standing > 0
    # an open loop's standing packets fill the qdisc to its limit before anything is counted
    standing = case.standing if closed else (row.limit // row.queued + 1) * (case.load > 1)
    warm = row.limit // row.queued
    dequeues = row.queued
    return (
        f"{DEVICE} {HANDLE}: {row.flows} {row.packet_bytes} {row.segments} {row.hashed:d}"
        f" {standing} {closed:d} {case.load} {dequeues} {warm} {count} {BUDGET_INSTRUCTIONS} {SEED}"
    )


def measure(row: Row, told: str, count: int) -> dict[str, int]:
    """Configure, run, read."""
    configure(row, told)
    try:
        RUN.write_text(order(row, count))
    except OSError as error:
        last = [line for line in run("dmesg").stdout.splitlines() if "qdisc_cost" in line][-1:]
        raise SystemExit(f"cost: {row}: {error.strerror}; {' '.join(last)}") from None
    found = dict(field.split("=") for field in RUN.read_text().split())
    counts = {name: int(value) for name, value in found.items()}
    check(row, counts)
    return counts


def check(row: Row, counts: dict[str, int]) -> None:
    """The case was what it is called."""
    kind = f"{row.packet_bytes} bytes {row.gso}{' hashed' if row.hashed else ''}"
    what = f"{row.qdisc}, {row.flows} flows, {row.case.name}, {kind}: {counts}"
    ratio = counts["ruler"] / counts["ruler_instructions"]
    expect(abs(ratio - 1) < RULER_ERROR, f"the clock counts {ratio} for an instruction: {what}")
    equal(counts["nothing"], 0, f"dequeues in vain, {what}")
    if row.case.load == 1:
        equal(counts["lost"], 0, f"lost below the limit, {what}")
    else:
        expect(counts["lost"] > 0, f"nothing lost above the limit, {what}")


def waiting_truesize(row: Row) -> int:
    """Memory of a packet that waits; 0 where nothing depends on it."""
    if row.qdisc != "cake":
        return 0
    probe = Row("fq_rr", 1, CASES["below"], row.packet_bytes, row.gso)
    return measure(probe, options(probe, 0) or "", 64)["truesize_sent"]


def result(row: Row, told: str, counts: dict[str, int]) -> dict[str, object]:
    """A row of the summary."""
    # one that is offered, and one that leaves for each that does
    enqueue = (counts["enqueue"] - counts["segmenting"] * (row.gso == "split")) / counts["offered"] / row.queued
    dequeue = counts["dequeue"] / counts["sent"] / row.case.load
    return {
        "qdisc": row.qdisc,
        "flows": row.flows,
        "case": row.case.name,
        "packet_bytes": row.packet_bytes,
        "gso": row.gso or None,
        "hashed": row.hashed,
        "instructions_per_packet": round(enqueue + dequeue, 1),
        "enqueue": round(enqueue, 1),
        "dequeue": round(dequeue, 1),
        "can_bypass": bool(counts["can_bypass"]),
        "offered": counts["offered"],
        "sent": counts["sent"],
        "lost": counts["lost"],
        "warmed": counts["warmed"],
        "waiting": counts["qlen_after"],
        "segmentation_per_packet": round(counts["segmenting"] / counts["offered"] / row.queued, 1),
        "options": told or f"{row.flows} classes, flow hash",
    }


def rows(qdiscs: list[str], flows: list[int], cases: list[str], gso: bool, small: bool) -> Iterator[Row]:
    """What to measure."""
    sizes = [SMALL_BYTES, FULL_BYTES] if small else [FULL_BYTES]
    for size, case, count, qdisc in itertools.product(sizes, cases, flows, qdiscs):
        yield Row(qdisc, count, CASES[case], size)
    for count, qdisc in itertools.product(flows, qdiscs):
        if "below" in cases and qdisc in WITH_HASH:
            yield Row(qdisc, count, CASES["below"], FULL_BYTES, hashed=True)
    for case, count, (qdisc, how) in itertools.product(
        cases, flows, [("fq_rr", "split"), ("cake", "split"), ("fq_rr", "whole"), ("fq_codel", "whole")]
    ):
        if gso and qdisc in qdiscs and count in GSO_FLOWS:
            yield Row(qdisc, count, CASES[case], FULL_BYTES, how)


def set_up() -> None:
    """A device that nothing else sends to, and the module."""
    expect(MODULE.exists(), f"{MODULE} does not exist: run make lab-modules")
    new_namespace()
    if not RUN.exists():
        run("insmod", str(MODULE))
    run("ip", "link", "add", DEVICE, "type", "dummy")
    run("ip", "link", "set", DEVICE, "up")


def about() -> dict[str, object]:
    """What holds for all rows."""
    return {
        "kernel": run("uname", "-r").stdout.strip(),
        "modules": {"sch_fq_rr": Path("/sys/module/sch_fq_rr/srcversion").read_text().strip()},
        "seed": SEED,
        "parameters": {
            "standing_per_flow": STANDING,
            "limit_per_flow": LIMIT_PER_FLOW,
            "limit_least": LIMIT_LEAST,
            "segments_of_a_super_packet": SEGMENTS,
            "budget_instructions": BUDGET_INSTRUCTIONS,
        },
    }


def main() -> int:
    """Measure and print; 1 if a row was not what it is called."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--qdiscs", type=lambda text: text.split(","))
    parser.add_argument("--flows", type=lambda text: [int(word) for word in text.split(",")], default=list(FLOWS))
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--no-gso", dest="gso", action="store_false")
    parser.add_argument("--no-small", dest="small", action="store_false")
    parser.add_argument("--count", type=int, default=COUNT)
    chosen = parser.parse_args()
    set_up()
    print(json.dumps(about()), flush=True)
    failed = 0
    for row in rows(chosen.qdiscs, chosen.flows, chosen.cases, chosen.gso, chosen.small):
        told = options(row, waiting_truesize(row))
        if told is None:
            continue
        try:
            counts = measure(row, told, chosen.count if not row.gso else chosen.count // 4)
        except TestFailedError as error:
            failed += 1
            print(f"cost: {error}", file=sys.stderr, flush=True)
        else:
            print(json.dumps(result(row, told, counts)), flush=True)
    equal(dmesg_complaints(), [], "kernel log")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
