# SPDX-License-Identifier: GPL-2.0
"""A progress bar for several guests at once."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

BAR_WIDTH = 40
REDRAW_S = 0.25
# What a boot with its topology costs, in runs.
BOOT_WEIGHT = 0.8
# A step that is under way never looks finished.
MOST_OF_A_STEP = 0.95


class Progress:
    """Counts steps as they end, and guesses within them from how long others took.

    On a terminal a bar that is redrawn; elsewhere one line per finished step.
    """

    def __init__(self, guests: int, runs: int, step_s: float) -> None:
        """:param step_s: first guess at what a run takes"""
        self._total = guests * BOOT_WEIGHT + runs
        self._done = 0.0
        self._step_s = step_s
        self._under_way: dict[int, tuple[float, float]] = {}  # guest: weight, began
        self._label = "booting"
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._redraw, daemon=True)

    def __enter__(self) -> Progress:
        if self._terminal:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._terminal:
            self._thread.join()
            sys.stderr.write("\r\033[K")

    def begin(self, guest: int, label: str, weight: float = 1.0) -> None:
        """A guest begins a step."""
        with self._lock:
            self._under_way[guest] = (weight, time.monotonic())
            self._label = label

    def end(self, guest: int, text: str) -> None:
        """A guest has ended its step."""
        with self._lock:
            weight, began = self._under_way.pop(guest)
            self._done += weight
            self._step_s = (time.monotonic() - began) / weight
            done = self._done / self._total
        if not self._terminal:
            print(f"[{round(100 * done):3}%] {text}", file=sys.stderr, flush=True)

    def _fraction(self) -> float:
        now = time.monotonic()
        with self._lock:
            done = self._done
            for weight, began in self._under_way.values():
                done += weight * min(MOST_OF_A_STEP, (now - began) / (self._step_s * weight))
        return min(1.0, done / self._total)

    def _redraw(self) -> None:
        while not self._ended.wait(REDRAW_S):
            fraction = self._fraction()
            filled = round(fraction * BAR_WIDTH)
            elapsed = round(time.monotonic() - self._began)
            sys.stderr.write(
                f"\r\033[K[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {round(fraction * 100):3}%"
                f"  {elapsed // 60}:{elapsed % 60:02}  {self._label}"
            )
            sys.stderr.flush()
