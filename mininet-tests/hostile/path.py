# SPDX-License-Identifier: GPL-2.0
"""What is to happen when, and the bottleneck between the two ends."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count
from typing import Any

SECOND_NS = 1_000_000_000
MS_NS = 1_000_000


class Lateness:
    """By how much a busy processor was late for anything, at most: it holds up ACKs."""

    def __init__(self) -> None:
        """Nothing was late."""
        self.most_ns = 0


class Clock:
    """Calls functions at their times, by the guest's clock."""

    def __init__(self) -> None:
        """Nothing is to happen."""
        self.due: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.number = count()
        self.watches: list[Lateness] = []

    @staticmethod
    def now() -> int:
        """Nanoseconds, of the clock that the kernel's TCP uses."""
        return time.monotonic_ns()

    def at(self, moment: int, act: Callable[..., None], *arguments: Any) -> None:
        """Have a function called."""
        heapq.heappush(self.due, (moment, next(self.number), act, arguments))

    def run(self) -> float:
        """Call what is due; returns the seconds until something else is."""
        due = self.due
        while due:
            wait = due[0][0] - time.monotonic_ns()
            if wait > 0:
                return wait / SECOND_NS
            _, _, act, arguments = heapq.heappop(due)
            for watch in self.watches:
                watch.most_ns = max(watch.most_ns, round(-wait))
            act(*arguments)
        return 1.0


class Bottleneck:
    """A link with a queue: one rate, one delay, so many bytes of room."""

    def __init__(self, rate_bytes_s: int, delay_ns: int, room_bytes: int) -> None:
        """Nothing waits."""
        self.rate = rate_bytes_s
        self.delay_ns = delay_ns
        self.room = room_bytes
        self.free_ns = 0
        self.dropped = 0
        # the fastest that a sender may read off gaps, when less is acknowledged
        self.shown = 0

    def enter(self, now: int, size: int) -> int | None:
        """When a packet that comes now arrives at the other side; None if it is dropped."""
        begin = max(now, self.free_ns)
        if (begin - now) * self.rate > self.room * SECOND_NS:
            self.dropped += 1
            return None
        self.free_ns = begin + size * SECOND_NS // self.rate
        return self.free_ns + self.delay_ns

    def show(self, rate_bytes_s: int) -> None:
        """A rate that gaps show from here on, whatever is sent."""
        self.shown = max(self.shown, rate_bytes_s)

    def change_rate(self, now: int, rate_bytes_s: int) -> None:
        """Another rate, for what waits as well."""
        waiting = max(self.free_ns - now, 0)
        self.free_ns = now + waiting * self.rate // rate_bytes_s
        if rate_bytes_s > self.rate:
            self.show(rate_bytes_s)
        self.rate = rate_bytes_s
