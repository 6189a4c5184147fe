# SPDX-License-Identifier: GPL-2.0
"""The networks of Cai, Wolf and Gong (2011), for queue-length based pacing on the real stack.

Numbers of sections, figures and tables are the paper's. Rates and packet sizes are those of IP datagrams. q-max
counts what tc shows as backlog: with the Ethernet header.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

from .devices import ETHERNET_HEADER_BYTES
from .plan import TCP_HEADER_BYTES
from .topology import STOCK_MTU_BYTES, Link, Topology, Way

MBIT = 1_000_000
PACKET_BYTES = 1000
PACKET_BITS = PACKET_BYTES * 8
PAYLOAD_BYTES = PACKET_BYTES - TCP_HEADER_BYTES
FRAME_BYTES = PACKET_BYTES + ETHERNET_HEADER_BYTES


@dataclass(frozen=True)
class Rule:
    """A pacer: rates in bit/s, the cutoff in packets."""

    mu_min_bit_s: int
    mu_max_bit_s: int
    q_max_packets: int
    packet_bytes: int = PACKET_BYTES

    @property
    def options(self) -> str:
        """For fq_rr: one queue without delay control, as there."""
        q_max_bytes = self.q_max_packets * (self.packet_bytes + ETHERNET_HEADER_BYTES)
        return f"{FIFO} qlbp mu-min {self.mu_min_bit_s}bit mu-max {self.mu_max_bit_s}bit q-max {q_max_bytes}b"

    @property
    def alpha_per_s(self) -> float:
        """Eq (3): the constant with which the rate follows the input."""
        return (self.mu_max_bit_s - self.mu_min_bit_s) / (self.q_max_packets * self.packet_bytes * 8)

    @property
    def bound_s(self) -> float:
        """Theorem 1."""
        return self.q_max_packets * self.packet_bytes * 8 / self.mu_max_bit_s


# One queue, whose last packet is dropped when it is full.
FIFO = "no-aqm flows 1 drop arriving"
PACER_BUFFER_PACKETS = 2000


def way(rate_bit_s: int, rule: Rule | None, limit_packets: int = PACER_BUFFER_PACKETS, delay_ms: float = 0.0) -> Way:
    """A link of a rate, with a pacer or a FIFO."""
    return Way(rate_bit_s, "fq_rr", limit_packets, rule.options if rule else FIFO, delay_ms)


# Section IV-A.
PROTOTYPE = Rule(1_200_000, 200 * MBIT, 100, STOCK_MTU_BYTES)
ROUND_TRIP_S = 0.1
BOTTLENECK_BIT_S, BOTTLENECK_PACKETS = 10 * MBIT, 16


def prototype(paced: bool) -> Topology:
    """Figure 7: s - r1 (pacer) - r2 (10 Mbit/s) - d; the whole round trip is on the way back.

    The paper does not name the rate of the pacer's link: that of mu-max leaves the rule its whole range.
    """
    return Topology(
        "prototype",
        {"s": "host", "r1": "router", "r2": "router", "d": "host"},
        (
            Link("s", "r1"),
            Link("r1", "r2", there=way(PROTOTYPE.mu_max_bit_s, PROTOTYPE if paced else None)),
            Link(
                "r2",
                "d",
                there=Way(BOTTLENECK_BIT_S, "pfifo", BOTTLENECK_PACKETS),
                back=Way(delay_ms=ROUND_TRIP_S * 1e3),
            ),
        ),
    )


# Section III-B1, and rules that qdiscs only state: by their device.
STEP_BIT_S = 8 * MBIT
THUMB_BIT_S, THUMB_LOAD_PERCENT, THUMB_DELAY_MS = 100 * MBIT, 80, 10
OC12_BIT_S, OC12_MU_MAX_BIT_S, OC12_Q_MAX_BYTES = 600 * MBIT, (300 * MBIT, 600 * MBIT), 150_000
STATED = {"thumb": "d-p", "oc12_300": "p-s", "oc12_600": "s-p"}


def stepped(q_max_packets: int) -> Topology:
    """From s by p to d, with a pacer at p; other devices have a rule to state, and delay none of what passes."""

    def stating(rate_bit_s: int, words: str) -> Way:
        return Way(rate_bit_s, "fq_rr", PACER_BUFFER_PACKETS, f"{FIFO} qlbp {words}")

    thumb = stating(THUMB_BIT_S, f"load {THUMB_LOAD_PERCENT} max-delay {THUMB_DELAY_MS}ms")
    slow, fast = (
        stating(OC12_BIT_S, f"mu-min {mu_max}bit mu-max {mu_max}bit q-max {OC12_Q_MAX_BYTES}b")
        for mu_max in OC12_MU_MAX_BIT_S
    )
    paced = way(TANDEM_BIT_S, tandem_rule(q_max_packets))
    return Topology(
        "stepped",
        {"s": "host", "p": "router", "d": "host"},
        (Link("s", "p", there=fast, back=slow), Link("p", "d", there=paced, back=thumb)),
    )


# Section IV-C1.
ON_OFF_BIT_S, MEAN_ON_S, MEAN_OFF_S, BIN_S = 2 * MBIT, 0.1, 0.2, 0.05
TANDEM_BIT_S, TANDEM_DELAY_MS = 10 * MBIT, 2.0
PACERS = (1, 2, 3)
TANDEM_CUTOFFS = (10, 20, 40, 80, 160)


def tandem_rule(q_max_packets: int) -> Rule:
    """Of each pacer of figure 13."""
    return Rule(10_000, TANDEM_BIT_S, q_max_packets)


def tandems(q_max_packets: int) -> Topology:
    """Figure 13 three times: i pacers in a row between s{i} and d{i}, for i from 1 to 3.

    The link to the first pacer is as fast as the guest: the paper's 10 Mbit/s delay what comes at 2.
    """
    nodes: dict[str, str] = {}
    links = []
    paced = way(TANDEM_BIT_S, tandem_rule(q_max_packets))
    for count in PACERS:
        chain = [f"s{count}", *(f"p{count}{place}" for place in range(1, count + 1)), f"d{count}"]
        nodes |= {name: "host" if name in (chain[0], chain[-1]) else "router" for name in chain}
        for a, b in itertools.pairwise(chain):
            links.append(Link(a, b, there=Way() if a == chain[0] else paced))
    return Topology("tandems", nodes, tuple(links))


# Section IV-C2. The source stands for the paper's trace: 10 to 35 Mbit/s, 16 in the mean, H = 0.95.
TRACE_HURST = 0.95
TRACE_LINK_BIT_S = 1_000 * MBIT
TRACE_CUTOFFS = (5, 10, 20, 40, 80, 160, 320)
BASE_SCALE_S, SCALES = 0.005, tuple(range(11))
TRACE_MEAN_BIT_S = 16 * MBIT
# Sixteen sources of 10 Mbit/s, each on for a tenth of the time, whose packets come in windows of eight, back to back
# (section II-A). Below some 80 ms these windows are what is seen, and not the self-similar rate.
TRACE_BURST_PACKETS = 8
TRACE_SOURCE = {
    **{"model": "self_similar", "rate_packets_s": 156.25, "sources": 16, "hurst": TRACE_HURST},
    **{"least_on_s": 0.002, "least_off_s": 0.0226, "most_s": 5.0},
}
TRACE_FIRST_OCTAVE = 4


def trace_rule(q_max_packets: int) -> Rule:
    """Of the pacer of figure 14."""
    return Rule(1 * MBIT, 35 * MBIT, q_max_packets)


def one_pacer(rate_bit_s: int, rule: Rule) -> Topology:
    """From s by p to d, with a pacer at p."""
    return Topology(
        "one-pacer",
        {"s": "host", "p": "router", "d": "host"},
        (Link("s", "p"), Link("p", "d", there=way(rate_bit_s, rule))),
    )


# Section IV-D.
GROUPS, SENDERS, RECEIVERS = 4, 40, 10
CORE_BIT_S = 100 * MBIT
CORE = "c0-c1"
WINDOW_PACKETS = 32
TRUNK_DELAY_MS = 20.0
DUMBBELL_CUTOFFS = (10, 20, 40, 80, 160)


@dataclass(frozen=True)
class Reading:
    """What 1000 bytes are, and the edge delays, which are drawn evenly between two (ms)."""

    packet_bytes: int
    edge_delays_ms: tuple[float, float]


# "table": ns-2's packets of 1000 bytes have headers beside them, and the least, mean and greatest delays of
# table III, less what a pacer adds, are those of paths of 42.8 to 54.1 ms. "text": datagrams of 1000 bytes, delays as
# the text has them; with windows of 32 packets no more than 0.90 of the link can be used there with 160 packets.
READINGS = {
    "table": Reading(PACKET_BYTES + TCP_HEADER_BYTES, (1.4, 7.05)),
    "text": Reading(PACKET_BYTES, (1.0, 10.0)),
}


def dumbbell_rule(q_max_packets: int, reading: Reading) -> Rule:
    """Of each pacer of figure 17."""
    return Rule(1 * MBIT, CORE_BIT_S, q_max_packets, reading.packet_bytes)


def dumbbell(
    rule: Rule | None, buffer_packets: int, reading: Reading, seed: int, senders_pace: bool = False
) -> Topology:
    """Figure 17: s1 to s40 in four groups - a1 to a4 - c0 - c1 - r1 to r10.

    A path's propagation delay stands on the way back, at the receiver and at the access router: all that it does to
    a flow is its part of the round trip. Links of hosts are as fast as the guest, unless senders pace.

    :param rule: of the links from a1 to a4 to c0; None: they are FIFOs
    :param senders_pace: with fq, at the rate that TCP asks for
    """
    edge = random.Random(f"edge delays {seed}")
    hosts = (*(f"s{i}" for i in range(1, SENDERS + 1)), *(f"r{i}" for i in range(1, RECEIVERS + 1)))
    delays_ms = {name: round(edge.uniform(*reading.edge_delays_ms), 3) for name in hosts}
    nodes = dict.fromkeys(hosts, "host") | {f"a{i}": "router" for i in range(1, GROUPS + 1)}
    nodes |= {"c0": "router", "c1": "router"}
    sending = Way(CORE_BIT_S, "fq", options="pacing") if senders_pace else Way()
    links = [
        Link(f"s{i}", f"a{(i - 1) % GROUPS + 1}", there=sending, back=Way(delay_ms=2 * delays_ms[f"s{i}"]))
        for i in range(1, SENDERS + 1)
    ]
    links += [Link(f"a{i}", "c0", there=way(CORE_BIT_S, rule)) for i in range(1, GROUPS + 1)]
    links.append(Link("c0", "c1", there=Way(CORE_BIT_S, "pfifo", buffer_packets)))
    links += [
        Link("c1", f"r{i}", back=Way(delay_ms=round(2 * delays_ms[f"r{i}"] + 4 * TRUNK_DELAY_MS, 3)))
        for i in range(1, RECEIVERS + 1)
    ]
    small = tuple(Link(one.a, one.b, one.there, one.back, reading.packet_bytes) for one in links)
    return Topology("small-buffers", nodes, small)
