#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A sender whose packets leave at a fixed rate and are as large as the network allows, as those of voice or a game.

    rate_sized_sender.py HOST PORT [--packets-per-s 50] [--seconds 10] [--least 20] [--most BYTES]

The connection has the congestion control vptfrc. Before each packet the program asks the kernel for
the allowed rate (TCP_CC_INFO), and writes as many bytes as that rate sends until the next packet:

    bytes = rate / packets per second, within the smallest and the largest packet

- MSG_EOR keeps the kernel from joining two writes in one packet, TCP_NODELAY from waiting for more.
- What the kernel still holds when the next packet is due is late already. One packet may wait; beyond that
  the program skips its turn, as a codec drops a frame.

A line a second on standard output: time, allowed rate, bytes of the last packet, packets, skipped turns.
The last line is JSON with what it came to. To see it, in two terminals of "scripts/lab shell":

    nc -kl 127.0.0.1 5000 >/dev/null
    mininet-tests/examples/rate_sized_sender.py 127.0.0.1 5000
"""

from __future__ import annotations

import argparse
import fcntl
import json
import socket
import struct
import sys
import time
from dataclasses import dataclass

ALGORITHM = "vptfrc"
# Linux constants that Python's socket module does not name
TCP_CC_INFO, SIOCOUTQNSD = 26, 0x894B
# The first words of struct tcp_bbr_info, where vptfrc has its rate in bytes per second.
RATE_WORDS = struct.Struct("=2I")
# In struct tcp_info: all retransmissions, and all segments with data.
TOTAL_RETRANS, DATA_SEGS_OUT = 100, 156
# What a packet of 20 ms of the simplest codec has.
LEAST_BYTES = 20


def next_write_bytes(rate_bytes_s: float, packets_s: float, least: int, most: int) -> int:
    """As much as the rate sends until the next packet, within the smallest and the largest packet."""
    return max(least, min(most, int(rate_bytes_s / packets_s)))


@dataclass
class Report:
    """What the sending came to."""

    writes: int = 0
    skipped: int = 0
    written_bytes: int = 0


class Sender:
    """A connection with packets at a fixed rate."""

    def __init__(self, address: tuple[str, int], packets_s: float, least: int, most: int) -> None:
        """Connect; OSError says what is wrong.

        :param most: of a packet; 0: what the path's packets carry
        """
        self.stream = socket.socket()
        try:
            self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, ALGORITHM.encode())
        except OSError as error:
            raise OSError(f"congestion control {ALGORITHM}: {error.strerror}: modprobe tcp_{ALGORITHM}") from None
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream.connect(address)
        largest = self.stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        self.packets_s, self.least, self.most = packets_s, least, min(most or largest, largest)
        if least > self.most:
            raise OSError(f"--least {least}: the path's packets carry at most {self.most} bytes")
        self.report = Report()

    def allowed_bytes_s(self) -> int:
        """The rate that vptfrc allows; 0 before it knows the round trip."""
        told = self.stream.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
        if len(told) < RATE_WORDS.size:
            return 0
        low, high = RATE_WORDS.unpack_from(told)
        return int(high << 32 | low)

    def unsent_bytes(self) -> int:
        """What the kernel holds and has not sent once."""
        return int(struct.unpack("=i", fcntl.ioctl(self.stream, SIOCOUTQNSD, bytes(4)))[0])

    def packet(self) -> int:
        """Write one, or skip the turn; returns its bytes."""
        size = next_write_bytes(self.allowed_bytes_s(), self.packets_s, self.least, self.most)
        if self.unsent_bytes() > size:
            self.report.skipped += 1
            return 0
        try:
            sent = self.stream.send(bytes(size), socket.MSG_EOR | socket.MSG_DONTWAIT)
        except BlockingIOError:
            self.report.skipped += 1
            return 0
        self.report.writes += 1
        self.report.written_bytes += sent
        return sent

    def send_for(self, seconds: float) -> None:
        """A packet at each turn, and a line each second."""
        began = time.monotonic()
        shown, last = 1, 0
        for number in range(int(seconds * self.packets_s)):
            due = began + number / self.packets_s
            time.sleep(max(0.0, due - time.monotonic()))
            last = self.packet() or last
            if due - began >= shown:
                shown += 1
                rate, made = self.allowed_bytes_s(), self.report
                print(
                    f"{due - began:4.0f} s {rate:9d} bytes/s {last:5d} bytes {made.writes} {made.skipped}", flush=True
                )

    def told(self) -> dict[str, int]:
        """The report, with the packets that left for the first time, which are as many as the writes."""
        info = self.stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        retransmitted, packets = (struct.unpack_from("=I", info, place)[0] for place in (TOTAL_RETRANS, DATA_SEGS_OUT))
        return {**vars(self.report), "packets": packets - retransmitted}


def number(low: float, high: float, kind: type[int] | type[float]) -> object:
    """An option's type: what is no number in its range is refused, with the range."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(low) - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: must be a number from {low:g} to {high:g}")
        return value

    return read


def main(words: list[str]) -> int:
    """Status 1 where there is no connection, 2 for bad options."""
    parser = argparse.ArgumentParser(description="packets at a fixed rate, as large as the network allows")
    parser.add_argument("host")
    parser.add_argument("port", type=number(1, 65535, int))
    parser.add_argument("--packets-per-s", type=number(0.1, 10_000, float), default=50.0, metavar="N")
    parser.add_argument("--seconds", type=number(0.1, 86_400, float), default=10.0, metavar="S")
    parser.add_argument("--least", type=number(1, 65_535, int), default=LEAST_BYTES, metavar="BYTES")
    parser.add_argument("--most", type=number(0, 65_535, int), default=0, metavar="BYTES", help="0: the path's packets")
    asked = parser.parse_args(words)
    if 0 < asked.most < asked.least:
        parser.error(f"--most {asked.most}: must be 0 or at least --least, {asked.least}")
    try:
        sender = Sender((asked.host, asked.port), asked.packets_per_s, asked.least, asked.most)
        sender.send_for(asked.seconds)
    except OSError as error:
        print(f"rate_sized_sender: {error}", file=sys.stderr)
        return 1
    print(json.dumps(sender.told()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
