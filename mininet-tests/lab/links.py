# SPDX-License-Identifier: GPL-2.0
"""tc commands for bottlenecks and delays, as pure functions.

Link rates exclude the 14 bytes of Ethernet header: a rate is that of IP
datagrams.  Every shaper here lets one packet go at a time, since a burst of
two lets a packet pair pass unshaped.
"""

from __future__ import annotations

ETHERNET_HEADER_BYTES = 14
IP_UDP_HEADER_BYTES = 28
# Of UDP over IPv4, payload only.
MAX_DATAGRAM_BYTES = 65507
TCP_HEADER_BYTES = 52  # 20 IP, 32 TCP with time stamps
# One packet and the time of 100 bytes for a timer that is late, without which
# a bucket of exactly one packet loses that time for good.
BURST_SLACK_BYTES = 100
# netem counts the packets on its delay line against its limit.
NETEM_LIMIT_PACKETS = 1_000_000
# The one-packet bucket holds nothing back itself: the queue inside it does.
TBF_LIMIT_BYTES = 1_000_000_000

QDISCS = ("fq_rr", "fq_codel", "cake", "pfifo", "fq", "sfq", "fq_pie")


def bottleneck(
    device: str,
    qdisc: str,
    rate_bit_s: int,
    limit_packets: int,
    packet_bytes: int,
    hash_seed: int,
    cake_limit: str = "",
    options: str = "",
) -> list[str]:
    """Lines for ``tc -batch`` that make a device the bottleneck.

    :param packet_bytes: the largest IP datagram
    :param hash_seed: of the flow hash where the qdisc has one that can be set
    :param cake_limit: CAKE has a limit in bytes of memory, and by default its own
    :param options: further ones, of fq_rr or CAKE only
    """
    frame = packet_bytes + ETHERNET_HEADER_BYTES
    if qdisc == "fq_rr":
        return [
            f"qdisc replace dev {device} root handle 1: fq_rr rate {rate_bit_s}bit"
            f" overhead -{ETHERNET_HEADER_BYTES} limit {limit_packets} seed {hash_seed} {options}".rstrip()
        ]
    if qdisc == "cake":
        # overhead 0: CAKE then counts from the IP header on
        return [
            f"qdisc replace dev {device} root handle 1: cake bandwidth {rate_bit_s}bit besteffort flows overhead 0"
            f" {cake_limit} {options}".rstrip()
        ]
    leaves = {
        "fq_codel": f"fq_codel limit {limit_packets} quantum {frame}",
        "pfifo": f"pfifo limit {limit_packets}",
        "fq": f"fq limit {limit_packets} flow_limit {limit_packets} nopacing quantum {frame}",
        "sfq": f"sfq limit {min(limit_packets, 65408)} depth 127 quantum {frame}",
        "fq_pie": f"fq_pie limit {limit_packets} quantum {frame}",
    }
    return [
        f"qdisc replace dev {device} root handle 1: stab overhead -{ETHERNET_HEADER_BYTES}"
        f" linklayer ethernet tbf rate {rate_bit_s}bit burst {frame + BURST_SLACK_BYTES}"
        f" limit {TBF_LIMIT_BYTES}",
        f"qdisc add dev {device} parent 1:1 handle 10: {leaves[qdisc]}",
    ]


def delay(device: str, delay_ms: float) -> list[str]:
    """Lines for ``tc -batch`` that delay what leaves a device."""
    return [f"qdisc replace dev {device} root handle 1: netem delay {delay_ms}ms limit {NETEM_LIMIT_PACKETS}"]
