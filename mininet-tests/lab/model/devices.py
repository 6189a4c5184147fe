# SPDX-License-Identifier: GPL-2.0
"""tc commands that make devices do what a topology's ways say, as pure functions.

Link rates exclude the 14 bytes of Ethernet header: a rate is that of IP datagrams. Every
shaper here lets one packet go at a time, since a burst of two lets a packet pair pass
unshaped. A delay line beside a shaper disturbs it, so where a way has both, the delay
line stands at the receiving node, behind an intermediate device (ifb).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import PlanError
from .topology import MAX_LIMIT_PACKETS, STOCK_MTU_BYTES, Way
from .typed import Range

ETHERNET_HEADER_BYTES = 14
# One packet and the time of 100 bytes for a timer that is late, without which
# a bucket of exactly one packet loses that time for good.
BURST_SLACK_BYTES = 100
# netem counts the packets on its delay line against its limit.
NETEM_LIMIT_PACKETS = 1_000_000
# The one-packet bucket holds nothing back itself: the queue inside it does.
TBF_LIMIT_BYTES = 1_000_000_000
# sch_sfq's own bound.
SFQ_LIMIT_PACKETS = 65408
# tc has 32 bits for each: RED's bandwidth is in bytes per second.
RED_BANDWIDTH_BIT_S = 34_359_738_360
BFIFO_LIMIT_BYTES = 2**32 - 1
# RED's average has 32 bits: 22 of the upper threshold, three tenths of the limit, and 9 of the most packets' constant.
RED_LIMIT_BYTES = 2**22 * 10 // 3
RED_LIMIT_PACKETS = 6_000
# What a policer lets through at once: two full packets, or none of a pair would ever pass
POLICER_BURST_PACKETS = 2
# A device's own txqueuelen, which a pfifo takes that is told nothing.
PFIFO_LIMIT_PACKETS = 1_000
# A change keeps what it does not name. Of a delay line, this is none; delay, jitter and loss tc itself sets to it.
NETEM_NONE = {"slot": "slot 0ms 0ms", "rate": "rate 0bit"}
# The kernel changes nothing of these once they are there.
UNCHANGEABLE = ("htb", "sfq")


@dataclass(frozen=True)
class Shaped:
    """What a queue is told: the way it is on and the flow hash's seed."""

    way: Way
    packet_bytes: int
    hash_seed: int

    @property
    def frame_bytes(self) -> int:
        """A full packet on the device."""
        return self.packet_bytes + ETHERNET_HEADER_BYTES

    def limit(self, option: str = "limit") -> str:
        """The limit as an option, or nothing for the discipline's own."""
        return f" {option} {self.way.limit_packets}" if self.way.limit_packets else ""


def _in_bucket(leaf: Callable[[Shaped], str]) -> Callable[[str, Shaped], list[str]]:
    """A queue that cannot shape, inside a bucket of one packet."""

    def lines(device: str, shaped: Shaped) -> list[str]:
        return [
            f"qdisc add dev {device} root handle 1: stab overhead -{ETHERNET_HEADER_BYTES} linklayer ethernet"
            f" tbf rate {shaped.way.rate_bit_s}bit burst {shaped.frame_bytes + BURST_SLACK_BYTES}"
            f" limit {TBF_LIMIT_BYTES}",
            f"qdisc add dev {device} parent 1:1 handle 10: {leaf(shaped)} {shaped.way.options}".rstrip(),
        ]

    return lines


def _fq_rr(device: str, shaped: Shaped) -> list[str]:
    return [
        f"qdisc add dev {device} root handle 1: fq_rr rate {shaped.way.rate_bit_s}bit"
        f" overhead -{ETHERNET_HEADER_BYTES}{shaped.limit()} seed {shaped.hash_seed} {shaped.way.options}".rstrip()
    ]


def _cake(device: str, shaped: Shaped) -> list[str]:
    # overhead 0: CAKE then counts from the IP header on. Its limit is one of memory.
    return [
        f"qdisc add dev {device} root handle 1: cake bandwidth {shaped.way.rate_bit_s}bit besteffort flows"
        f" overhead 0 {shaped.way.options}".rstrip()
    ]


def _htb(device: str, shaped: Shaped) -> list[str]:
    """Two classes of half the rate each, which may borrow; the flow hash chooses one."""
    rate = shaped.way.rate_bit_s
    burst = f"burst {shaped.frame_bytes} cburst {shaped.frame_bytes} quantum {shaped.frame_bytes}"
    stab = f"stab overhead -{ETHERNET_HEADER_BYTES} linklayer ethernet"
    lines = [
        f"qdisc add dev {device} root handle 1: {stab} htb default 10 {shaped.way.options}".rstrip(),
        f"class add dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit {burst}",
    ]
    for number in (10, 11):
        lines += [
            f"class add dev {device} parent 1:1 classid 1:{number} htb rate {rate // 2}bit ceil {rate}bit {burst}",
            f"qdisc add dev {device} parent 1:{number} handle {number}: {_pfifo(shaped)}",
        ]
    lines.append(
        f"filter add dev {device} parent 1: protocol all prio 1 handle 1 flow hash"
        " keys src,dst,proto,proto-src,proto-dst divisor 2 baseclass 1:10"
    )
    return lines


def _policer(device: str, shaped: Shaped) -> list[str]:
    """A rate without a queue: what is above it is dropped.

    A policer counts the Ethernet header and cannot be told not to: its rate is right for full packets.
    """
    burst = shaped.way.options or f"burst {POLICER_BURST_PACKETS * shaped.frame_bytes}"
    rate_bit_s = shaped.way.rate_bit_s * shaped.frame_bytes // shaped.packet_bytes
    return [
        hook(device),
        f"filter add dev {device} egress matchall action police rate {rate_bit_s}bit {burst} conform-exceed drop/ok",
    ]


# Of bench/sch_thesis.ko, whose parameters have their rate and limit.
SWITCHES, OF_SWITCHES = ("switch_decbit", "switch_fqbit"), "sch_thesis"


def _of_thesis(device: str, shaped: Shaped) -> list[str]:
    """It has no options: its module's parameters have the rate and the limit."""
    way = shaped.way
    given = {"options": way.options, "limit_packets": way.limit_packets}
    for name, value in given.items():
        if value:
            raise PlanError(f"{device}: {way.queue}: {name} {value}: the parameters of {OF_SWITCHES} have all of it")
    return [f"qdisc add dev {device} root handle 1: {shaped.way.queue}"]


def _red(shaped: Shaped) -> str:
    # the discipline counts bytes: of full packets, thresholds at a tenth and three tenths of the limit
    limit = (shaped.way.limit_packets or 100) * shaped.frame_bytes
    own = f"min {limit // 10} max {limit * 3 // 10} probability 0.1 avpkt {shaped.frame_bytes}"
    rate = f"bandwidth {min(shaped.way.rate_bit_s, RED_BANDWIDTH_BIT_S)}bit"
    return f"red limit {limit} {own} {rate} burst {1 + limit * 5 // 30 // shaped.frame_bytes}"


def _bfifo(shaped: Shaped) -> str:
    # room for so many full packets, which small ones share by their bytes
    return f"bfifo limit {(shaped.way.limit_packets or 100) * shaped.frame_bytes}"


def _pfifo(shaped: Shaped) -> str:
    return f"pfifo limit {shaped.way.limit_packets or PFIFO_LIMIT_PACKETS}"


# Queues that cannot shape, and what tc is told of each.
LEAVES: dict[str, Callable[[Shaped], str]] = {
    "bfifo": _bfifo,
    "fq_codel": lambda s: f"fq_codel{s.limit()} quantum {s.frame_bytes}",
    "pfifo": _pfifo,
    "fq": lambda s: f"fq{s.limit()}{s.limit('flow_limit')} nopacing quantum {s.frame_bytes}",
    "sfq": lambda s: (
        f"sfq limit {min(s.way.limit_packets or SFQ_LIMIT_PACKETS, SFQ_LIMIT_PACKETS)} depth 127"
        f" quantum {s.frame_bytes}"
    ),
    "fq_pie": lambda s: f"fq_pie{s.limit()} quantum {s.frame_bytes}",
    "red": _red,
    "netem": lambda s: f"netem{s.limit()}",
    # it has no options and no limit: its module's parameters say what is lost
    "lossy": lambda s: "lossy",
}
QUEUES: dict[str, Callable[[str, Shaped], list[str]]] = {
    "fq_rr": _fq_rr,
    "cake": _cake,
    "htb": _htb,
    "policer": _policer,
    **dict.fromkeys(SWITCHES, _of_thesis),
    **{name: _in_bucket(leaf) for name, leaf in LEAVES.items()},
}


def hook(device: str) -> str:
    """The line that gives a device a place for filters of what leaves and of what arrives, unless it has one."""
    return f"qdisc replace dev {device} clsact"


def rewritten(before: list[str], after: list[str]) -> list[str]:
    """Lines that lead from what some lines have set to what others would set.

    Disciplines that both have stay in place, with the packets that they hold, where a change can do it.
    """
    if [_kind(line) for line in before] == [_kind(line) for line in after]:
        pairs = list(zip(before, after, strict=True))
        if all(old == new or _can_be_changed(old, new) for old, new in pairs):
            # a bucket that is changed gives a FIFO in it its own limit
            return [one for old, new in pairs if old != new or "fifo " in new for one in _in_place(old, new)]
    # a delay line or a queue that was not there, or an option that is gone
    gone = [f"qdisc del dev {line.split()[3]} root" for line in before if " root " in line]
    gone += [one for line in before for one in _without_filters(line)]
    return [*gone, *after]


def _kind(line: str) -> list[str]:
    """Where a line stands and which discipline it names, without its options."""
    words = line.split()
    names = ("fq_rr", "cake", "tbf", "htb", *SWITCHES, "clsact", "gact", "mirred", "police")
    return [words[0], words[3], *(word for word in words[4:] if word in (*names, *LEAVES, "root"))]


def _is_delay_line(line: str) -> bool:
    return " root handle 1: netem " in line


def _can_be_changed(old: str, new: str) -> bool:
    """Whether a change leads from one line to another: it keeps options that it does not name."""
    if old.startswith("filter ") or _is_delay_line(old):
        return True
    kept = {word for word in old.split() if not word[0].isdigit()} <= set(new.split())
    return kept and not (old.startswith("qdisc ") and set(UNCHANGEABLE) & set(old.split()))


def _in_place(old: str, new: str) -> list[str]:
    # a filter that matches all cannot be changed
    if new.startswith("filter "):
        return [*_without_filters(new), new]
    gone = set(old.split()) - set(new.split())
    none = [words for option, words in NETEM_NONE.items() if option in gone] if _is_delay_line(old) else []
    return [" ".join([new.replace(" add ", " change ", 1), *none])]


def _without_filters(line: str) -> list[str]:
    """What takes away the filters of a direction that a line is about."""
    words = line.split()
    return [f"filter del dev {words[3]} {words[4]}"] if words[4:5] in (["egress"], ["ingress"]) else []


def queue(device: str, way: Way, hash_seed: int, packet_bytes: int = STOCK_MTU_BYTES) -> list[str]:
    """Lines for ``tc -batch`` that give a bare device its rate and queue; none if it has no rate.

    :param hash_seed: of the flow hash where the discipline has one that can be set
    :param packet_bytes: the largest IP datagram
    """
    if not way.rate_bit_s:
        return []
    name = way.queue or "pfifo"
    if name not in QUEUES:
        raise PlanError(f"queue {name}: must be one of {', '.join(sorted(QUEUES))}")
    shaped = Shaped(way, packet_bytes, hash_seed)
    limits = {
        "bfifo": Range(1, BFIFO_LIMIT_BYTES // shaped.frame_bytes, or_zero=True),
        # with less tc finds no constant for the average, with more it warns of a slow one
        "red": Range(11, min(RED_LIMIT_PACKETS, RED_LIMIT_BYTES // shaped.frame_bytes), or_zero=True),
        "sfq": Range(2, MAX_LIMIT_PACKETS, or_zero=True),
    }
    if name in limits:
        limits[name].check(f"link {device}: limit_packets of {name}", way.limit_packets)
    return QUEUES[name](device, shaped)


def netem(device: str, way: Way, verb: str = "add") -> list[str]:
    """Lines that delay and lose what leaves a device; none if nothing is."""
    if not way.needs_netem:
        return []
    words = [f"qdisc {verb} dev {device} root handle 1: netem limit {NETEM_LIMIT_PACKETS} delay {way.delay_ms}ms"]
    if way.jitter_ms:
        # a rate that no packet notices keeps packets in their order
        words.append(f"{way.jitter_ms}ms rate 1tbit")
    if way.loss:
        words.append(f"loss random {way.loss * 100}%")
    if way.slot_ms:
        words.append(f"slot {way.slot_ms}ms {way.slot_ms}ms")
    return [" ".join(words)]


def arriving(device: str, way: Way, intermediate: str = "") -> list[str]:
    """Lines for what comes in by a device: some packets are lost, the others may take an intermediate device."""
    actions = []
    if way.lose_every:
        actions.append(f"action gact pipe random determ drop {way.lose_every}")
    if way.keep_every:
        actions.append(f"action gact drop random determ pipe {way.keep_every}")
    if intermediate:
        actions.append(f"action mirred egress redirect dev {intermediate}")
    if not actions:
        return []
    return [hook(device), f"filter add dev {device} ingress matchall {' '.join(actions)}"]
