# SPDX-License-Identifier: GPL-2.0
"""What tcp_pktpair measures with receivers, ACK paths and applications as they are.

One pktpair flow, alone or among CUBIC flows that are backlogged all the time, so
that its service time is known: so many packet times.  The others have a host
pair of their own, which the case does not touch.

Each case says what it does to the measured flow.  Losses are every n-th packet,
which can be had again.

What is promised:

* Where each ACK tells of one segment or a few as they arrived (even), mean gap and service time
  are those of n packet times within 1 %.
* Where ACKs come in bunches of a millisecond, are held, or are cut short by losses (bunched), a train's
  time is up to a bunch longer or shorter than its segments', and only part of that cancels: 4 % of
  the gap, and 5 % of the service time, which is what the law is given.
* Where ACKs wait for full packets of 3 ms each (queued), a train's time is a whole number of these.
  Trains may keep step with them, and then nothing cancels: half a packet of 3 ms in the 14 ms
  between the first and the last ACK of a train of 16, one part in nine.
* The law needs a sample a round trip.  How many trains give one is a figure of the path and of
  the length that trains have grown to; its bound says only that trains are not wasted (``sampled``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lab.analyse import estimates
from lab.analyse.figures import rounded
from lab.model import flows
from lab.model.plan import Change, Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.topology import Topology, Way


@dataclass(frozen=True)
class Case:
    """What is done to the measured flow's path.

    :param ways: by device, what is different about the way that packets take from there
    :param late: likewise, once the connection has sent for a while
    :param acks: how they come: even, as segments arrived; bunched; or queued
    :param sampled: smallest share of trains that has to give a sample, where the flow is
        alone and among others; 0: deliveries may have to do
    :param shows: a verdict that has to occur, which shows that the case bites
    """

    meaning: str
    ways: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    late: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quickack: bool = False
    gro_hold_us: float = 0.0
    train_min: int = 0
    reverse: bool = False
    write_bytes: int = flows.BLOCK_BYTES
    acks: str = "even"
    sampled: tuple[float, float] = (0.9, 0.9)
    shows: str = "sample"


REVERSE = {"rate_bit_s": 4_000_000, "queue": "bfifo", "limit_packets": 39}
CASES = {
    # where the window opens by single segments a train of four leaves as three and one
    "per-packet": Case("an ACK for every segment", quickack=True, sampled=(0.9, 0.5)),
    "delayed": Case("a stock receiver: an ACK for every second segment, at first for every one"),
    "out-of-phase": Case("trains of five, of which a stock receiver acknowledges 2, 2, 1 and 1, 2, 2", train_min=5),
    "gro": Case(
        "the receiver's interface merges what comes within a millisecond",
        gro_hold_us=1000,
        acks="bunched",
        # of a train that fills little more than a bunch all ACKs but the first are smaller than
        # usual, and taken for the timer's: down to every second train, until they have grown
        sampled=(0.4, 0.4),
    ),
    "stretch-8": Case(
        "of the ACKs for every segment one in 8 arrives", late={"d1-x": {"keep_every": 8}}, quickack=True
    ),
    "stretch-32": Case(
        "of the ACKs for every segment one in 32 arrives",
        late={"d1-x": {"keep_every": 32}},
        quickack=True,
        # alone, the window of 200 may hold trains of 32 that end where the ACKs do
        sampled=(0, 0.9),
    ),
    "ack-loss": Case(
        "every tenth ACK of a stock receiver is lost",
        late={"d1-x": {"lose_every": 10}},
        # a train comes back as two ACKs: one in five loses one of them
        sampled=(0.75, 0.75),
    ),
    "reverse": Case(
        "ACKs wait in a FIFO of 4 Mbit/s with the packets of a CUBIC flow",
        ways={"x-r": REVERSE},
        reverse=True,
        acks="queued",
    ),
    "batched": Case(
        "ACKs come to the sender in bunches, once a millisecond", ways={"r-s1": {"slot_ms": 1.0}}, acks="bunched"
    ),
    "held": Case(
        "the application writes 16 bytes at a time, and so holds its socket much of the time",
        write_bytes=16,
        acks="bunched",
        sampled=(0.5, 0.5),
        shows="held",
    ),
    "sack": Case(
        "every 50th data packet is lost behind the bottleneck",
        late={"x-d1": {"lose_every": 50}},
        acks="bunched",
        # a loss spoils its own train, and what the hole leaves of the next comes back as one
        # ACK; of trains of 32, one or two are whole between a loss and the next
        sampled=(0.25, 0.25),
        shows="retransmitted",
    ),
}

CLAIM = "gap and service time are right within 1 %; 4 and 5 % with bunched ACKs or losses, 11 % with a queue of ACKs"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "case": Parameter("delayed", "", "what is done to the measured flow", choices=tuple(CASES)),
    "flows": Parameter(1, "flows", "backlogged flows, the measured one included", 1, 20),
    "rate_mbit": Parameter(16.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 1, 500),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
    "seconds": Parameter(2.0, "s", "measured, after two more seconds", 1, 600),
}
# Each alone and among four.
VARIANTS: list[dict[str, Value]] = [{"case": case, "flows": flows} for case in CASES for flows in (1, 4)]
START_S = 0.5
LATE_S = 0.5
SETTLE_S = 2.0
# Before the flow's last segments, whose ACKs must arrive.
UNDONE_BEFORE_END_S = 0.05
BUFFER_PACKETS = 20_000
# Largest relative errors of the mean gap and of the service time.
GAP_ERROR = {"even": 0.01, "bunched": 0.04, "queued": 0.11}
SERVICE_ERROR = {"even": 0.01, "bunched": 0.05, "queued": 0.11}
# Of the other flows' socket buffers: several times their share of the pipe.
WINDOW_BYTES = 400_000


def path_of(case: Case, network: Topology) -> Topology:
    """The network with the case's ways."""
    links = []
    for link in network.links:
        there = replace(link.there, **case.ways.get(link.device_a, {}))
        back = replace(link.back, **case.ways.get(link.device_b, {}))
        links.append(replace(link, there=there, back=back))
    return replace(network, links=tuple(links))


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow from the first host, the others from the second."""
    case = CASES[values["case"]]
    count, packet_bytes = values["flows"], values["packet"]
    rate_mbit, round_trip = values["rate_mbit"], values["round_trip"]
    flows.check_packet_rate(rate_mbit, packet_bytes)
    flows.check_share(rate_mbit, count)
    flows.check_backlogged(rate_mbit, round_trip, count, WINDOW_BYTES, packet_bytes, BUFFER_PACKETS)
    seconds = SETTLE_S + values["seconds"] + 0.1
    sending = flows.among_backlogged(
        count,
        cc,
        seconds,
        seed,
        first_s=START_S,
        window_bytes=WINDOW_BYTES,
        packet_bytes=packet_bytes,
        other_packet_bytes=packet_bytes,
    )
    first = replace(sending[0], write_bytes=case.write_bytes)
    # the others' standing queues are what is measured: without delay control
    options = "no-aqm" if qdisc == "fq_rr" else ""
    bare = flows.dumbbell(qdisc, int(rate_mbit * 1e6), [round_trip] * 2, BUFFER_PACKETS, packet_bytes, options)
    network = path_of(case, bare)
    fill = Flow("fill", "d1", "s1", "cubic", seconds=START_S + seconds + 1, background=True)
    fill = replace(fill, packet_bytes=network.links[0].mtu_bytes)
    undone_s = first.start_s + seconds - UNDONE_BEFORE_END_S
    own = Way()
    return Plan(
        network,
        (first, *sending[1:], *([fill] if case.reverse else [])),
        changes=tuple(
            change
            for device, values_of in case.late.items()
            for change in (
                Change(START_S + LATE_S, device, values_of),
                Change(undone_s, device, {name: getattr(own, name) for name in values_of}),
            )
        ),
        record=Record(events=estimates.EVENTS),
        hash_seed=seed,
        module_parameters={"tcp_pktpair": {"train_min": str(case.train_min)}} if case.train_min else {},
        routes={"d1": "quickack 1"} if case.quickack else {},
        gro=("d1",) if case.gro_hold_us else (),
        gro_hold_us=case.gro_hold_us,
        settle_s=SETTLE_S,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Service time and trains in the window, and the queue estimate against the queue."""
    first = plan.flows[0]
    begin_s = raw["begin_s"] + first.start_s + SETTLE_S
    seen = estimates.trains(raw["trace"], plan.port(first), begin_s, begin_s + values["seconds"])
    ideal_ns = values["packet"] * 8e3 / values["rate_mbit"] * values["flows"]
    return {
        **estimates.service_figures(seen, ideal_ns),
        **estimates.queue_figures(seen),
        "samples_a_round_trip": rounded(
            seen.verdicts.get("sample", 0) * values["round_trip"] / 1e3 / values["seconds"], 2
        ),
        "bites": seen.verdicts.get(CASES[values["case"]].shows, 0),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Bounds of the case; without samples there is no mean gap, and deliveries show the service time."""
    case = CASES[values["case"]]
    sampled = case.sampled[values["flows"] > 1]
    gap, service = GAP_ERROR[case.acks], SERVICE_ERROR[case.acks]
    wanted = [Check("service_error", "in", [-service, service])]
    if sampled:
        wanted += [
            Check("bites", ">=", 1),
            Check("gap_error", "in", [-gap, gap]),
            Check("samples_a_round_trip", ">=", 1),
            Check("trains_sampled", ">=", sampled),
        ]
    return wanted
