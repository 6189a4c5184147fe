# SPDX-License-Identifier: GPL-2.0
"""The bottlenecks of the paper on packet sizes: what applications send, and how large queues are (4.2, appendix A).

Sizes are of payload, as the paper's simulator has it. A link carries headers as well, so its rate is what the
fair rates are with them; queues that count bytes leave headers out.
"""

from __future__ import annotations

from dataclasses import dataclass

from .plan import TCP_HEADER_BYTES

# S, and what the queues' rule takes for the round trip, whatever it is.
REFERENCE_BYTES = 1000
ASSUMED_RTT_S = 0.5
# Flows of each kind that the text names.
PAIRS = (1, 2, 16, 32)
# RED's thresholds are parts of the queue, as is max_p's inverse.
LOW_PART, HIGH_PART, MAX_P_PART = 0.05, 0.5, 0.225


@dataclass(frozen=True)
class Setting:
    """What an application sends.

    :param fair_bit_s: a flow's part of the bottleneck
    :param most_bytes: of a packet
    :param packets_s: at a fixed rate; 0: as many as the rate allows
    :param least_bytes: of sizes that are drawn up to the largest; 0: all packets have that
    """

    fair_bit_s: int
    most_bytes: int
    packets_s: int = 0
    least_bytes: int = 0

    @property
    def fair_bytes(self) -> float:
        """Mean size of its packets at the fair rate."""
        if self.packets_s:
            return self.fair_bit_s / 8 / self.packets_s
        return (self.least_bytes + self.most_bytes) / 2 if self.least_bytes else self.most_bytes

    @property
    def most_bit_s(self) -> int:
        """Of a fixed packet rate, what it cannot exceed."""
        return self.most_bytes * self.packets_s * 8


SETTINGS = {1: Setting(96_000, 100), 2: Setting(64_000, 200, 50), 3: Setting(96_000, 100, 160)}
SETTINGS[4] = Setting(96_000, 350, least_bytes=50)


def capacity_bit_s(setting: Setting, flows: int, richer: float = 1.0) -> float:
    """Payload that a bottleneck carries: the fair rates of all flows, of both kinds."""
    return setting.fair_bit_s * flows * richer


def link_bit_s(setting: Setting, tcp_flows: int, others: int, richer: float = 1.0) -> int:
    """The same with the headers of packets at fair rates."""
    full, small = (1 + TCP_HEADER_BYTES / size for size in (REFERENCE_BYTES, setting.fair_bytes))
    return round(setting.fair_bit_s * richer * (tcp_flows * full + others * small))


def queue_bytes(setting: Setting, flows: int, products: float = 2.0, richer: float = 1.0) -> int:
    """Room in bytes: so many bandwidth-delay products."""
    return round(products * capacity_bit_s(setting, flows, richer) / 8 * ASSUMED_RTT_S)


def mean_packet_bytes(setting: Setting) -> float:
    """Of two flows with the same rate, one of full packets (appendix A)."""
    return 2 * REFERENCE_BYTES / (1 + REFERENCE_BYTES / setting.fair_bytes)


def queue_packets(setting: Setting, flows: int, products: float = 2.0, richer: float = 1.0) -> int:
    """Room in packets."""
    return round(queue_bytes(setting, flows, products, richer) / mean_packet_bytes(setting))


def red_max_p(packets: int) -> float:
    """RED's max_p of a queue with room for so many packets."""
    return min(1.0, 1 / (MAX_P_PART * packets))
