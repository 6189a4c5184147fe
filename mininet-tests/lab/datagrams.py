# SPDX-License-Identifier: GPL-2.0
"""UDP packets at given times, whatever the network does with them.

One thread of the agent sends them all: each socket is opened in its host's
namespace and then belongs there.  What arrives waits in the receiver's socket
with the kernel's time of its arrival, and is read when all is over, so that
nothing but the packets themselves takes part in a run.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import heapq
import itertools
import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

from lab.links import IP_UDP_HEADER_BYTES
from lab.model import arrivals
from lab.traffic import Namespaces

# Linux constants that Python's socket module does not name
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
PR_SET_TIMERSLACK = 29
SOL_UDP = 17
UDP_SEGMENT = 103
# A port of the receiver's hosts that nothing else uses; sources differ by their own.
SINK_PORT = 9
# Of each socket: more than a run's packets, as the kernel accounts for them.
BUFFER_BYTES = 256 << 20
MAX_FILES = 8192
# From the last packet sent until what is under way has arrived.
DRAIN_S = 1.0
STAMP = struct.Struct("!q")


def moments_ns(source: dict[str, Any]) -> Iterator[int]:
    """When a source sends, from the beginning of the run."""
    start_s, gap_s = source["start_s"], source["gap_s"]
    if source["random"]:
        times = arrivals.poisson(1 / gap_s, start_s, source["random"])
    else:
        times = itertools.count(int(start_s * 1e9), int(gap_s * 1e9))
    end_ns = int(start_s * 1e9) + int(source["seconds"] * 1e9)
    return itertools.takewhile(lambda moment: moment < end_ns, times)


class Datagrams(threading.Thread):
    """All sources of a run, and what arrived of them."""

    def __init__(self, sources: list[dict[str, Any]], namespaces: Namespaces) -> None:
        """:param namespaces: of the hosts"""
        super().__init__(daemon=True)
        self._sources = sources
        self._namespaces = namespaces
        self._ready = threading.Event()
        self._go = threading.Event()
        self._begin_ns = 0
        self._error: Exception | None = None
        self._result: dict[str, Any] = {}
        self.start()
        self._ready.wait()

    def begin(self, begin_ns: int) -> None:
        """Send; times count from this moment of the monotonic clock."""
        self._begin_ns = begin_ns
        self._go.set()

    def result(self) -> dict[str, Any]:
        """When all is sent: by source, what was sent, and what arrived when."""
        self.join()
        if self._error:
            raise OSError(f"UDP sources: {self._error}") from self._error
        return self._result

    def run(self) -> None:
        """The thread."""
        try:
            self._open()
            self._ready.set()
            self._go.wait()
            # The agent's many objects take some ms to look through.
            gc.disable()
            sent = self._send()
            gc.enable()
            time.sleep(DRAIN_S)
            self._result = {
                source["name"]: {"sent": count, "received": received}
                for source, count, received in zip(self._sources, sent, self._read(), strict=True)
            }
        except Exception as error:
            self._error = error
        self._ready.set()

    def _open(self) -> None:
        # A thousand flows are a thousand sockets, which is where the usual limit is.
        resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_FILES, MAX_FILES))
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
        self._sinks: dict[str, socket.socket] = {}
        for host in {source["sink"] for source in self._sources}:
            with self._namespaces.inside(host):
                sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
            sink.setblocking(False)
            sink.bind(("", SINK_PORT))
            self._sinks[host] = sink
        self._senders = [self._open_source(source) for source in self._sources]

    def _open_source(self, source: dict[str, Any]) -> list[socket.socket]:
        """A socket for each of its ports."""
        senders = []
        for port in range(source["port"], source["port"] + source["ports"]):
            with self._namespaces.inside(source["host"]):
                sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES)
            # A burst is one call; the host's device cuts it into packets.
            sender.setsockopt(SOL_UDP, UDP_SEGMENT, source["packet_bytes"] - IP_UDP_HEADER_BYTES)
            sender.bind(("", port))
            sender.connect((source["address"], SINK_PORT))
            sender.setblocking(False)
            senders.append(sender)
        return senders

    def _send(self) -> list[int]:
        """Each packet at its time; returns how many of each source."""
        counts = [0] * len(self._sources)
        moments = [moments_ns(source) for source in self._sources]
        firsts = [next(moment, None) for moment in moments]
        agenda = [(self._begin_ns + first, i) for i, first in enumerate(firsts) if first is not None]
        paddings = [bytes(source["packet_bytes"] - IP_UDP_HEADER_BYTES - STAMP.size) for source in self._sources]
        heapq.heapify(agenda)
        while agenda:
            due, i = agenda[0]
            left = due - time.monotonic_ns()
            if left > 0:
                time.sleep(left / 1e9)
            senders, burst = self._senders[i], self._sources[i]["burst"]
            payload = STAMP.pack(time.clock_gettime_ns(time.CLOCK_REALTIME)) + paddings[i]
            with contextlib.suppress(OSError):  # a full queue of the host's own
                senders[counts[i] // burst % len(senders)].send(payload * burst)
            counts[i] += burst
            following = next(moments[i], None)
            if following is None:
                heapq.heappop(agenda)
            else:
                heapq.heapreplace(agenda, (self._begin_ns + following, i))
        return counts

    def _read(self) -> list[list[list[float]]]:
        """Per source: when each packet that arrived was sent, and its delay (s)."""
        to_monotonic_ns = time.monotonic_ns() - time.clock_gettime_ns(time.CLOCK_REALTIME)
        by_port = {
            (source["sink"], port): i
            for i, source in enumerate(self._sources)
            for port in range(source["port"], source["port"] + source["ports"])
        }
        received: list[list[list[float]]] = [[] for _ in self._sources]
        for host, sink in self._sinks.items():
            while True:
                try:
                    data, control, _, (_, port) = sink.recvmsg(STAMP.size, 64)
                except BlockingIOError:
                    break
                seconds, nanoseconds = struct.unpack("qq", control[0][2])
                (sent_ns,) = STAMP.unpack(data)
                sent_s = (sent_ns + to_monotonic_ns - self._begin_ns) / 1e9
                delay_s = (seconds * 10**9 + nanoseconds - sent_ns) / 1e9
                received[by_port[host, port]].append([round(sent_s, 9), round(delay_s, 9)])
            sink.close()
        for senders in self._senders:
            for sender in senders:
                sender.close()
        return received
