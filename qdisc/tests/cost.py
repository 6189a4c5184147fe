#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a packet costs in fq_rr and in its peers, in instructions or in nanoseconds.

Runs in the lab, or with --uml in User Mode Linux: scripts/lab cost.  Each row is a
qdisc made by tc on a dummy device, whose own enqueue and dequeue the module in bench/
calls.  Prints one JSON object a line: first what holds for all rows, then the rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from in_guest.link import new_namespace
from in_guest.tap import TestFailedError, dmesg_complaints, equal, expect, run

DEVICE = "cost0"
HANDLE = "8000"
MODULE = Path(__file__).resolve().parents[2] / "build" / run("uname", "-r").stdout.strip() / "bench" / "qdisc_cost.ko"
RUN = Path("/sys/module/qdisc_cost/parameters/run")
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

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
BUDGET_TICKS = 1_000_000_000
# What the counter may differ from instructions: nothing but its own two readings.
RULER_ERROR = 1e-4

# Nanoseconds. A batch is over in less than a millisecond, so that few of them are
# interrupted (the timers of host and guest, the host's other programs), and the median
# of many is one that was not. The first packets of a batch find the caches as the
# program that asked left them.
BATCH = 512
BATCH_WARM = 256
BATCHES = 65
# DRR's classes have a queue each, and the kernel has so many numbers for queues.
DRR_CLASSES_MAX = 32767


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
    ipv6: bool = False

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
            # delay control looks at every packet, and drops none
            return f"limit {limit} memory-limit {MEMORY_BYTES} flows {queues} target 10s interval 10s {split(row)}"
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
        case "drr" if row.flows <= DRR_CLASSES_MAX:
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


def order(row: Row, count: int, seed: int = SEED, goes_on: bool = False) -> str:
    """The line for the module: to begin, or to go on with what waits."""
    case = row.case
    closed = case.standing > 0
    # an open loop's standing packets fill the qdisc to its limit before anything is counted
    standing = case.standing if closed else (row.limit // row.queued + 1) * (case.load > 1)
    warm = row.limit // row.queued
    if goes_on:
        standing, warm = 0, BATCH_WARM
    dequeues = row.queued
    return (
        f"{DEVICE} {HANDLE}: {row.flows} {row.packet_bytes} {row.segments} {row.hashed:d}"
        f" {standing} {closed:d} {case.load} {dequeues} {warm} {count} {BUDGET_TICKS} {seed} {6 if row.ipv6 else 4}"
    )


def ask(row: Row, line: str) -> dict[str, int]:
    """Have the module do something, and read what it found."""
    try:
        RUN.write_text(line)
    except OSError as error:
        last = [line for line in run("dmesg").stdout.splitlines() if "qdisc_cost" in line][-1:]
        raise SystemExit(f"cost: {row}: {error.strerror}; {' '.join(last)}") from None
    found = dict(field.split("=") for field in RUN.read_text().split())
    return {name: int(value) for name, value in found.items()}


def measure(row: Row, told: str, count: int) -> dict[str, int]:
    """Configure, run, read."""
    configure(row, told)
    counts = ask(row, order(row, count))
    check(row, counts)
    if not counts["khz"]:
        ratio = counts["ruler"] / counts["ruler_instructions"]
        expect(abs(ratio - 1) < RULER_ERROR, f"the clock counts {ratio} for an instruction: {row}")
    return counts


def measure_batches(row: Row, told: str) -> list[dict[str, int]]:
    """The same in many batches."""
    configure(row, told)
    ask(row, order(row, BATCH))
    batches = [ask(row, order(row, BATCH, SEED + number, goes_on=True)) for number in range(1, BATCHES + 1)]
    check(row, {name: sum(batch[name] for batch in batches) for name in batches[0]})
    return batches


def check(row: Row, counts: dict[str, int]) -> None:
    """The case was what it is called."""
    kind = f"{row.packet_bytes} bytes {row.gso}{' hashed' if row.hashed else ''}{' over IPv6' if row.ipv6 else ''}"
    what = f"{row.qdisc}, {row.flows} flows, {row.case.name}, {kind}: {counts}"
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


def per_packet(row: Row, counts: dict[str, int]) -> tuple[float, float]:
    """Ticks in enqueue and dequeue for a packet that comes."""
    # one that is offered, and one that leaves for each that does
    enqueue = (counts["enqueue"] - counts["segmenting"] * (row.gso == "split")) / counts["offered"] / row.queued
    dequeue = counts["dequeue"] / counts["sent"] / row.case.load
    return enqueue, dequeue


def common(row: Row, told: str, counts: dict[str, int]) -> dict[str, object]:
    """What rows have whatever was counted."""
    return {
        "qdisc": row.qdisc,
        "flows": row.flows,
        "case": row.case.name,
        "packet_bytes": row.packet_bytes,
        "gso": row.gso or None,
        "hashed": row.hashed,
        "ipv6": row.ipv6,
        "waiting": counts["qlen_after"],
        "options": told or f"{row.flows} classes, flow hash",
    }


def result(row: Row, told: str, counts: dict[str, int]) -> dict[str, object]:
    """A row of the summary, in instructions."""
    enqueue, dequeue = per_packet(row, counts)
    return {
        **common(row, told, counts),
        "instructions_per_packet": round(enqueue + dequeue, 1),
        "enqueue": round(enqueue, 1),
        "dequeue": round(dequeue, 1),
        "can_bypass": bool(counts["can_bypass"]),
        "offered": counts["offered"],
        "sent": counts["sent"],
        "lost": counts["lost"],
        "warmed": counts["warmed"],
        "segmentation_per_packet": round(counts["segmenting"] / counts["offered"] / row.queued, 1),
    }


def result_in_ns(row: Row, told: str, batches: list[dict[str, int]]) -> dict[str, object]:
    """A row in nanoseconds: the batch in the middle, and the mean of all."""
    ns_per_tick = 1e6 / batches[0]["khz"]
    costs = sorted((tuple(ns_per_tick * part for part in per_packet(row, batch)) for batch in batches), key=sum)
    enqueue, dequeue = costs[len(costs) // 2]
    return {
        **common(row, told, batches[-1]),
        "nanoseconds_per_packet": round(enqueue + dequeue, 1),
        "enqueue": round(enqueue, 1),
        "dequeue": round(dequeue, 1),
        "mean": round(statistics.fmean(sum(cost) for cost in costs), 1),
        "offered": sum(batch["offered"] for batch in batches),
        "lost": sum(batch["lost"] for batch in batches),
    }


def rows(qdiscs: list[str], flows: list[int], cases: list[str], gso: bool, small: bool) -> Iterator[Row]:
    """What to measure."""
    sizes = [SMALL_BYTES, FULL_BYTES] if small else [FULL_BYTES]
    for size, case, count, qdisc in itertools.product(sizes, cases, flows, qdiscs):
        yield Row(qdisc, count, CASES[case], size)
    for count, qdisc in itertools.product(flows, qdiscs):
        if "below" in cases and qdisc in WITH_HASH:
            yield Row(qdisc, count, CASES["below"], FULL_BYTES, hashed=True)
            yield Row(qdisc, count, CASES["below"], FULL_BYTES, ipv6=True)
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
        "clock": CLOCK.read_text().strip(),
        "seed": SEED,
        "parameters": {
            "standing_per_flow": STANDING,
            "limit_per_flow": LIMIT_PER_FLOW,
            "limit_least": LIMIT_LEAST,
            "segments_of_a_super_packet": SEGMENTS,
            "budget_ticks": BUDGET_TICKS,
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
    parser.add_argument("--uml", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    set_up()
    print(json.dumps(about()), flush=True)
    failed = 0
    chosen_rows = list(rows(chosen.qdiscs, chosen.flows, chosen.cases, chosen.gso, chosen.small))
    for number, row in itertools.product(range(chosen.rounds), chosen_rows):
        told = options(row, waiting_truesize(row))
        if told is None:
            continue
        try:
            if chosen.uml:
                found = {"round": number, **result_in_ns(row, told, measure_batches(row, told))}
            else:
                found = result(row, told, measure(row, told, chosen.count if not row.gso else chosen.count // 4))
        except TestFailedError as error:
            failed += 1
            print(f"cost: {error}", file=sys.stderr, flush=True)
        else:
            print(json.dumps(found), flush=True)
    equal(dmesg_complaints(), [], "kernel log")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
