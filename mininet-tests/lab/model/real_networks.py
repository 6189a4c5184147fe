# SPDX-License-Identifier: GPL-2.0
"""The cases of ``lab real-networks``: one flow on real networks, and what is beside it.

All cases have one structure, two pairs of hosts around a bottleneck, so that all runs are copies of one machine:

    s1 --- r ========== x --- d1    the own flow
    s2 --- r            x --- d2    what is beside it

A path's delay stands at its receiver, on the way back, or half of it there, behind the bottleneck.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from .benchmarks import OPEN_BUFFERS
from .devices import ETHERNET_HEADER_BYTES
from .flows import BLOCK_BYTES, UNSENT_BYTES
from .our_modules import TURNS_EVENT
from .plan import TCP_HEADER_BYTES, Change, Command, Exchange, Flow, Plan, Record
from .topologies import topology
from .topology import STOCK_MTU_BYTES, Topology, Way

CCS = ("pktpair", "bbr", "cubic")
# What all congestion controls of tcp_pktpair are called after.
PACKET_PAIR = "pktpair"
# Among peers: a flow of the congestion control under test.
OWN = "own"
BOTTLENECK, WAY_BACK = "r-x", "x-r"
OWN_ACKS, OWN_DATA, OTHER_ACKS = "d1-x", "x-d1", "d2-x"
IN_TURN = ("slot", "jitter", "gro", "loss", "start", "route", "rates")
KINDS = (*IN_TURN, "fifo", "bucket", "policer")
# Queues that serve flows in turn, unless an option makes one flow of all.
TURNS_QUEUES = ("fq_rr", "fq_codel", "cake", "fq", "sfq", "fq_pie")
ONE_BUCKET = "flows 1"

SECONDS = {**dict.fromkeys(IN_TURN, 15.0), **dict.fromkeys(("fifo", "bucket", "policer"), 20.0), "start": 3.0}
SEEDS = {**dict.fromkeys(IN_TURN, 1), **dict.fromkeys(("fifo", "bucket", "policer"), 3)}
# The figures of a whole run begin here.
SETTLE_S = 2.0
# Who joins the others joins so long after the run's begin, and everybody up to so much later, by the seed.
JOIN_S = 5.0
STARTS_WITHIN_S = 0.5
# When the path becomes longer, and when the rate changes first and then again.
CHANGE_S = 6.0
RATE_CHANGES_S = (5.0, 10.0)
# A clean start is judged from this round trip on.
START_ROUND = 5
# Queues that serve in turn hold so many pipes; no fewer packets than this.
PIPES_IN_TURN = 4.0
LEAST_LIMIT_PACKETS = 100
POLICER_BURST_S = 0.02
# The link on the way back, where a flow fills it: its rate and its queue, in full packets.
BACK_MBIT = 4.0
BACK_LIMIT_PACKETS = 40
# An application that answers requests: 20 full packets and more, then a pause.
BURST_BYTES = 200_000
BURST_RESPONSE_BYTES = 1_000
BURST_PAUSE_S = 0.3
# Of the window-limited application: a third of the pipe of 10 Mbit/s and 40 ms, as socket buffers count it.
WINDOW_BYTES = 32_768


@dataclass(frozen=True)
class Case:
    """One path, what is beside the own flow, and what happens meanwhile.

    :param peers: congestion controls of flows from the second pair; "own" is that of the own flow
    :param joins: "together" all start; "early" the own flow is first; "late" it is last
    :param pipes: what the queue holds, in products of rate and path
    :param slot_ms: ACKs leave the receiver in slots
    :param jitter_ms: ACKs are up to so much earlier or later
    :param merged: the receiver merges so many segments that arrive together and acknowledges them at once
    :param lost: part of the own flow's packets that is lost at random, behind the bottleneck
    :param gro_hold_us: the receiver holds what arrives so long for more to merge
    :param longer_ms: what the path takes after the change
    :param longer: "back" or "there": the way that becomes longer
    :param then_mbit: the link's further rates
    :param window_bytes: of the own flow's socket buffers
    :param bursts: the own flow carries requests with pauses between
    :param back_queue: of a link on the way back that a CUBIC flow fills
    """

    kind: str
    rate_mbit: float
    queue: str
    path_ms: float = 40.0
    peers: tuple[str, ...] = ()
    joins: str = "together"
    pipes: float = PIPES_IN_TURN
    slot_ms: float = 0.0
    jitter_ms: float = 0.0
    merged: int = 0
    lost: float = 0.0
    gro_hold_us: float = 0.0
    longer_ms: float = 0.0
    longer: str = "back"
    then_mbit: tuple[float, ...] = ()
    window_bytes: int = 0
    bursts: bool = False
    back_queue: str = ""

    @property
    def in_turn(self) -> bool:
        """Whether the bottleneck serves flows in turn."""
        return self.kind in IN_TURN

    @property
    def seconds(self) -> float:
        """How long a run lasts."""
        return SECONDS[self.kind]

    @property
    def alone(self) -> bool:
        """Whether nothing is beside the own flow."""
        return not self.peers and not self.back_queue

    @property
    def beside(self) -> str:
        """What is beside the own flow, for people."""
        counts = {cc: self.peers.count(cc) for cc in dict.fromkeys(self.peers)}
        words = [f"{count} {cc}" for cc, count in counts.items()]
        return ", ".join([*words, *(["1 cubic on the way back"] if self.back_queue else [])]) or "none"

    @property
    def limit_packets(self) -> int:
        """What the bottleneck's queue holds."""
        packets = round(self.pipes * self.rate_mbit * 1e6 / 8 * self.path_ms / 1e3 / STOCK_MTU_BYTES)
        return max(LEAST_LIMIT_PACKETS, packets) if self.in_turn else packets

    @property
    def mean_mbit(self) -> float:
        """The link's rate over the run: what its packets cost the lab."""
        rates = (self.rate_mbit, *self.then_mbit)
        return sum(rates) / len(rates)

    @property
    def payload_share_mbit(self) -> float:
        """Payload of a full link, over its flows that are backlogged."""
        return self.mean_mbit * (STOCK_MTU_BYTES - TCP_HEADER_BYTES) / STOCK_MTU_BYTES / (1 + len(self.peers))


FQ_RR, FQ_CODEL, CAKE = "fq_rr", "fq_codel", "cake"


def _in_turn() -> Iterator[tuple[str, Case]]:
    for slot_ms, rate_mbit, queue, peers in (
        (1.0, 10.0, FQ_RR, ()),
        (1.0, 20.0, CAKE, ()),
        (2.0, 20.0, FQ_CODEL, ()),
        (2.0, 10.0, CAKE, ("cubic",)),
        (4.0, 40.0, FQ_RR, ()),
        (4.0, 10.0, FQ_CODEL, (OWN,)),
        (8.0, 20.0, FQ_RR, ()),
        (8.0, 40.0, CAKE, ()),
    ):
        yield (
            f"slot-{slot_ms:g}ms-{rate_mbit:g}-{queue}",
            Case("slot", rate_mbit, queue, peers=peers, slot_ms=slot_ms),
        )
    for jitter_ms, rate_mbit, queue, peers in (
        (1.0, 10.0, FQ_CODEL, ()),
        (1.0, 20.0, FQ_RR, ("cubic",)),
        (3.0, 40.0, FQ_CODEL, ()),
        (3.0, 10.0, CAKE, (OWN,)),
        (5.0, 10.0, FQ_RR, ()),
        (5.0, 20.0, CAKE, ()),
    ):
        yield (
            f"jitter-{jitter_ms:g}ms-{rate_mbit:g}-{queue}",
            Case("jitter", rate_mbit, queue, peers=peers, jitter_ms=jitter_ms),
        )
    # what is 32 segments of 10 Mbit/s is a whole path of 40 ms
    for merged, rate_mbit, queue, path_ms in (
        (8, 10.0, FQ_RR, 40.0),
        (8, 40.0, FQ_CODEL, 40.0),
        (32, 10.0, CAKE, 100.0),
        (32, 40.0, FQ_RR, 40.0),
    ):
        yield f"gro-{merged}-{rate_mbit:g}-{queue}", Case("gro", rate_mbit, queue, path_ms, merged=merged)
    for rate_mbit, queue in ((2.0, FQ_RR), (2.0, FQ_CODEL), (10.0, FQ_CODEL), (10.0, CAKE), (40.0, CAKE)):
        yield f"gro-1ms-{rate_mbit:g}-{queue}", Case("gro", rate_mbit, queue, gro_hold_us=1000.0)
    for lost, rate_mbit, queue, path_ms in (
        (0.01, 10.0, FQ_RR, 40.0),
        (0.01, 40.0, CAKE, 100.0),
        (0.02, 20.0, FQ_CODEL, 40.0),
        (0.02, 40.0, FQ_RR, 100.0),
        (0.05, 10.0, CAKE, 40.0),
        (0.05, 20.0, FQ_RR, 100.0),
    ):
        yield f"loss-{lost * 100:g}pc-{rate_mbit:g}-{queue}", Case("loss", rate_mbit, queue, path_ms, lost=lost)
    for rate_mbit, queue in ((40.0, FQ_RR), (40.0, CAKE), (100.0, FQ_RR), (100.0, FQ_CODEL)):
        yield f"start-{rate_mbit:g}-{queue}", Case("start", rate_mbit, queue, 20.0)
    for before_ms, longer_ms, longer, queue in (
        (40.0, 160.0, "back", FQ_RR),
        (40.0, 160.0, "there", FQ_CODEL),
        (20.0, 200.0, "back", CAKE),
        (20.0, 200.0, "there", FQ_RR),
    ):
        yield (
            f"route-{before_ms:g}-{longer_ms:g}-{longer}",
            # the queue may hold four pipes of the longer path
            Case(
                "route",
                10.0,
                queue,
                before_ms,
                pipes=PIPES_IN_TURN * longer_ms / before_ms,
                longer_ms=longer_ms,
                longer=longer,
            ),
        )
    for queue in (FQ_RR, FQ_CODEL):
        yield f"rates-10-20-5-{queue}", Case("rates", 10.0, queue, then_mbit=(20.0, 5.0))
    for queue, peers in ((FQ_RR, ()), (CAKE, ("cubic",))):
        yield f"rates-window-{queue}", Case("rates", 10.0, queue, peers=peers, window_bytes=WINDOW_BYTES)
    for queue, peers in ((FQ_CODEL, ()), (FQ_RR, ("cubic",))):
        yield f"rates-bursts-{queue}", Case("rates", 10.0, queue, peers=peers, bursts=True)
    for name, queue, back in (("in-turn", FQ_RR, FQ_CODEL), ("one-queue", FQ_CODEL, "pfifo")):
        yield f"rates-back-{name}", Case("rates", 10.0, queue, back_queue=back)
    for rate_mbit, count, queue in ((2.0, 4, FQ_RR), (1.0, 2, FQ_CODEL), (4.0, 2, CAKE), (8.0, 4, FQ_RR)):
        yield (
            f"rates-{rate_mbit / count:g}-of-{rate_mbit:g}-{queue}",
            Case("rates", rate_mbit, queue, peers=(OWN,) * (count - 1)),
        )


def _not_in_turn() -> Iterator[tuple[str, Case]]:
    for pipes, rate_mbit, count, cc, joins in (
        (1, 5.0, 1, "cubic", "together"),
        (2, 10.0, 1, "cubic", "late"),
        (5, 5.0, 1, "cubic", "early"),
        (2, 50.0, 1, "cubic", "together"),
        (1, 10.0, 4, "cubic", "together"),
        (2, 5.0, 4, "cubic", "early"),
        (5, 5.0, 4, "cubic", "late"),
        (1, 10.0, 8, "cubic", "late"),
        (2, 10.0, 8, "cubic", "together"),
        (5, 5.0, 8, "cubic", "early"),
        (1, 5.0, 1, "bbr", "together"),
        (2, 5.0, 1, "bbr", "late"),
        (5, 10.0, 1, "bbr", "early"),
        (1, 5.0, 1, OWN, "together"),
        (2, 10.0, 1, OWN, "late"),
        (5, 5.0, 1, OWN, "early"),
        (1, 10.0, 3, OWN, "together"),
        (5, 5.0, 3, OWN, "late"),
        (2, 10.0, 8, OWN, "together"),
        (1, 20.0, 8, OWN, "late"),
    ):
        yield (
            f"fifo-{pipes}bdp-{rate_mbit:g}-{count}{cc}-{joins}",
            Case("fifo", rate_mbit, "pfifo", peers=(cc,) * count, joins=joins, pipes=pipes),
        )
    for pipes, rate_mbit in ((1, 5.0), (2, 20.0), (5, 50.0)):
        yield f"fifo-{pipes}bdp-{rate_mbit:g}-alone", Case("fifo", rate_mbit, "pfifo", pipes=pipes)
    for rate_mbit, peers in (
        (5.0, ("cubic",)),
        (10.0, (OWN,)),
        (5.0, ("cubic", "cubic")),
        (5.0, (OWN, "cubic")),
        (5.0, ("cubic",) * 3),
        (10.0, (OWN,) * 3),
        (5.0, ("cubic",) * 4),
        (5.0, (OWN, OWN, "cubic", "cubic")),
    ):
        beside = "-".join(f"{peers.count(cc)}{cc}" for cc in dict.fromkeys(peers))
        yield f"bucket-{1 + len(peers)}-{rate_mbit:g}-{beside}", Case("bucket", rate_mbit, FQ_CODEL, peers=peers)
    for rate_mbit, path_ms in ((5.0, 20.0), (5.0, 80.0), (10.0, 20.0), (10.0, 80.0)):
        yield f"policer-{rate_mbit:g}-{path_ms:g}ms", Case("policer", rate_mbit, "policer", path_ms)


CASES: Mapping[str, Case] = dict([*_in_turn(), *_not_in_turn()])
# A handful that has one of each goal's kinds, and takes a minute.
QUICK = ("slot-4ms-10-fq_codel", "gro-1ms-2-fq_rr", "start-40-fq_rr", "fifo-1bdp-5-1cubic-together", "policer-5-20ms")


def takes_turns(way: Way) -> bool:
    """Whether a queue serves flows in turn."""
    return way.queue in TURNS_QUEUES and ONE_BUCKET not in way.options


def _network(case: Case) -> Topology:
    """The dumbbell, whose file is read once for all cases, with the case's ways."""
    found = topology("dumbbell", pairs=2)
    options = {"bucket": ONE_BUCKET, "policer": f"burst {_burst_bytes(case)}"}.get(case.kind, "")
    limit = 0 if case.kind == "policer" else case.limit_packets
    ways = {
        BOTTLENECK: Way(round(case.rate_mbit * 1e6), case.queue, limit, options),
        OWN_ACKS: Way(delay_ms=case.path_ms, slot_ms=case.slot_ms, jitter_ms=case.jitter_ms),
        OTHER_ACKS: Way(delay_ms=case.path_ms),
    }
    if case.back_queue:
        ways[WAY_BACK] = Way(round(BACK_MBIT * 1e6), case.back_queue, BACK_LIMIT_PACKETS)
    if case.merged:
        # so many packets of the bottleneck arrive together
        ways[OWN_DATA] = Way(slot_ms=case.merged * STOCK_MTU_BYTES * 8 / (case.rate_mbit * 1e3))
    if case.lost:
        ways[OWN_DATA] = Way(loss=case.lost)
    if case.longer_ms and case.longer == "there":
        ways[OWN_ACKS] = ways[OWN_DATA] = Way(delay_ms=case.path_ms / 2)
    links = tuple(
        replace(link, there=ways.get(link.device_a, Way()), back=ways.get(link.device_b, Way())) for link in found.links
    )
    return replace(found, links=links, arguments={})


def _burst_bytes(case: Case) -> int:
    """Of the policer's bucket, which counts Ethernet headers."""
    datagrams = case.rate_mbit * 1e6 / 8 * POLICER_BURST_S
    return round(datagrams * (STOCK_MTU_BYTES + ETHERNET_HEADER_BYTES) / STOCK_MTU_BYTES)


def _flows(name: str, case: Case, cc: str, seed: int) -> tuple[Flow, ...]:
    """The own flow first; starts depend on case and seed alone, so that each congestion control has the same."""
    drawn = random.Random(f"{name} {seed}")
    clean = case.kind == "start"

    def flow(flow_name: str, pair: int, its_cc: str, first_s: float) -> Flow:
        start_s = round(first_s + (0.0 if clean else drawn.random() * STARTS_WITHIN_S), 6)
        return Flow(
            flow_name,
            f"s{pair}",
            f"d{pair}",
            its_cc,
            start_s=start_s,
            seconds=case.seconds - start_s,
            connects="before" if clean else "start",
            write_bytes=BLOCK_BYTES,
            unsent_bytes=UNSENT_BYTES,
        )

    own = flow("own", 1, cc, JOIN_S if case.joins == "late" else 0.0)
    if case.window_bytes:
        own = replace(own, window_bytes=case.window_bytes)
    if case.bursts:
        least_s = BURST_PAUSE_S + BURST_BYTES * 8 / (case.rate_mbit * 1e6) + case.path_ms / 1e3
        one = Exchange(BURST_BYTES, BURST_RESPONSE_BYTES, BURST_PAUSE_S)
        exchanges = (one,) * int(case.seconds / least_s / (1 + len(case.peers)))
        own = replace(own, seconds=0.0, write_bytes=0, unsent_bytes=0, exchanges=exchanges)
    peers = [
        flow(f"peer{index + 1}", 2, cc if peer == OWN else peer, JOIN_S if case.joins == "early" else 0.0)
        for index, peer in enumerate(case.peers)
    ]
    if case.back_queue:
        peers.append(replace(flow("back1", 2, "cubic", 0.0), source="d2", sink="s2"))
    return (own, *peers)


def _changes(case: Case) -> tuple[Change, ...]:
    found = [
        Change(at_s, BOTTLENECK, {"rate_bit_s": round(rate_mbit * 1e6)})
        for at_s, rate_mbit in zip(RATE_CHANGES_S, case.then_mbit, strict=False)
    ]
    if case.longer_ms:
        if case.longer == "there":
            found.append(Change(CHANGE_S, OWN_DATA, {"delay_ms": case.longer_ms - case.path_ms / 2}))
        else:
            found.append(Change(CHANGE_S, OWN_ACKS, {"delay_ms": case.longer_ms}))
    return tuple(found)


def plan(name: str, cc: str, seed: int) -> Plan:
    """One run of a case."""
    case = CASES[name]
    # of so many segments, and not of one more
    most = case.merged * (STOCK_MTU_BYTES - TCP_HEADER_BYTES) + STOCK_MTU_BYTES // 2
    merging = Command("merging", 0.0, "d1", ("ip", "link", "set", "dev", OWN_ACKS, "gro_max_size", str(most)))
    buffers = {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS}
    flows = _flows(name, case, cc, seed)
    has_event = any(flow.cc.startswith(PACKET_PAIR) for flow in flows)
    return Plan(
        _network(case),
        flows,
        commands=(merging,) if case.merged else (),
        changes=_changes(case),
        # a plan that names the module's event is run again whenever the module changes
        record=Record(events_if_known=(TURNS_EVENT,) if has_event else ()),
        hash_seed=seed,
        sysctls={"*": buffers} if case.kind == "start" else {},
        gro=("d1",) if case.merged or case.gro_hold_us else (),
        gro_hold_us=case.gro_hold_us,
        settle_s=START_ROUND * case.path_ms / 1e3 if case.kind == "start" else SETTLE_S,
        seconds=case.seconds,
    )
