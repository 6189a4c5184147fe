# SPDX-License-Identifier: GPL-2.0
"""Ten cases that the simulator and the lab both run; scripts/simulate --lab compares them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lab.model.plan import Flow, Plan
from lab.model.scenario import Check, Parameter
from lab.model.topologies import topology

SETTLE_S = 2.0
SECONDS = 12.0
SPACING_S = 0.1
# What a guest of the lab takes for an ACK, so that those of a slot follow each other so fast.
SPACING_US = 20
# Of a packet with 1448 bytes of payload: links of the lab do not count the Ethernet header, servers here do.
DATAGRAM_BYTES, WIRE_BYTES = 1500, 1514


@dataclass(frozen=True)
class Case:
    """One bottleneck and some flows that start one after another.

    :param queue: the lab's queue
    :param words: the same queue in the simulator's words
    :param slot_ms: ACKs are handed over every so often
    """

    flows: tuple[str, ...]
    queue: str
    words: str
    rate_mbit: float = 20.0
    path_ms: float = 40.0
    limit_packets: int = 1000
    slot_ms: float = 0.0


FQ_RR = "queue=rr overflow=flush"
FQ_CODEL = "queue=drr overflow=batch codel=1"
PIPE_PACKETS = 67

CASES: Mapping[str, Case] = {
    "alone-fq_rr": Case(("pktpair",), "fq_rr", FQ_RR, rate_mbit=10.0),
    "alone-slots": Case(("pktpair",), "fq_rr", FQ_RR, slot_ms=4.0),
    "alone-long-slots": Case(("pktpair",), "fq_rr", FQ_RR, rate_mbit=10.0, path_ms=20.0, slot_ms=10.0),
    "alone-fq_codel": Case(("pktpair",), "fq_codel", FQ_CODEL, rate_mbit=10.0),
    "alone-fifo": Case(("pktpair",), "pfifo", "queue=fifo", limit_packets=PIPE_PACKETS),
    "cubic-alone-fifo": Case(("cubic",), "pfifo", "queue=fifo", limit_packets=PIPE_PACKETS),
    "four-fq_rr": Case(("pktpair",) * 4, "fq_rr", FQ_RR),
    "beside-cubic-fq_rr": Case(("pktpair", "cubic", "cubic", "cubic"), "fq_rr", FQ_RR),
    "beside-cubic-fifo": Case(("pktpair", "cubic"), "pfifo", "queue=fifo", limit_packets=PIPE_PACKETS),
    "crowd-fq_codel": Case(("pktpair",) * 16, "fq_codel", FQ_CODEL, rate_mbit=10.0, limit_packets=128),
}

CLAIM = "what the simulator says of a bottleneck is what the lab says, within the differences of simulator.rst"
COMBINATIONS = [("pktpair", "as the case has it")]
PARAMETERS = {"case": Parameter("alone-fq_rr", "", "which", choices=tuple(CASES))}


def begins_s(name: str) -> float:
    """When the measured time begins: the last flow has settled."""
    return SPACING_S * (len(CASES[name].flows) - 1) + SETTLE_S


def words(name: str, seed: int) -> str:
    """A case as the simulator reads it."""
    case = CASES[name]
    flows = [f"cc.{i}={cc} start_s.{i}={SPACING_S * i:g}" for i, cc in enumerate(case.flows)]
    return " ".join(
        [
            f"name={name} seed={seed} flows={len(case.flows)} seconds={SECONDS:g} from_s={begins_s(name):g}",
            f"rate_mbit={case.rate_mbit * WIRE_BYTES / DATAGRAM_BYTES:.6g} path_ms={case.path_ms:g} {case.words}",
            f"limit_packets={case.limit_packets} ack_period_ms={case.slot_ms:g} ack_spacing_us={SPACING_US}",
            *flows,
        ]
    )


def plan(values: Mapping[str, Any], cc: str, qdisc: str, seed: int) -> Plan:
    """The same in the lab."""
    case = CASES[values["case"]]
    network = topology(
        "dumbbell",
        pairs=len(case.flows),
        rate_mbit=case.rate_mbit,
        queue=case.queue,
        limit_packets=case.limit_packets,
        # servers of the simulator have no delay control but where the case says so
        options="no-aqm" if case.queue == "fq_rr" else "",
        delays_ms=[case.path_ms],
    )
    links = tuple(
        replace(link, there=replace(link.there, slot_ms=case.slot_ms)) if link.a.startswith("d") else link
        for link in network.links
    )
    flows = tuple(
        Flow(f"f{i + 1}", f"s{i + 1}", f"d{i + 1}", cc, start_s=SPACING_S * i, seconds=SECONDS - SPACING_S * i)
        for i, cc in enumerate(case.flows)
    )
    return Plan(replace(network, links=links), flows, hash_seed=seed, settle_s=SETTLE_S)


def checks(values: Mapping[str, Any], cc: str, qdisc: str) -> list[Check]:
    """None: both sides are shown beside each other."""
    return []
