# SPDX-License-Identifier: GPL-2.0
"""How far a sweep is: a bar on a terminal, elsewhere a line for each run that has ended."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from rich import progress
from rich.console import Console
from rich.table import Column

REDRAWS_PER_S = 2
# Runs take up to minutes: the time left follows from all that ended in so long a time.
SPEED_PERIOD_S = 1800


class Progress:
    """Counts runs as they end, weighed by how long each takes. Every method may be called by any thread."""

    def __init__(self, runs: int, weight: int, console: Console | None = None) -> None:
        """:param weight: of all runs together, in the unit of ``end``"""
        self._runs = runs
        self._ended = 0
        self._under_way: dict[int, str] = {}
        self._lock = threading.Lock()
        self._console = console or Console(stderr=True)
        self._bar = progress.Progress(
            progress.TextColumn("{task.fields[count]}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.TimeRemainingColumn(),
            progress.TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=self._console,
            disable=not self._console.is_terminal,
            expand=True,
            refresh_per_second=REDRAWS_PER_S,
            speed_estimate_period=SPEED_PERIOD_S,
            transient=True,
        )
        self._task = self._bar.add_task("booting", total=weight, count=self._count())

    def _count(self) -> str:
        return f"{self._ended}/{self._runs} runs"

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, guest: Any, title: str) -> None:
        """A guest begins a run."""
        with self._lock:
            self._under_way[id(guest)] = title
            self._show()

    def leave(self, guest: Any) -> None:
        """A guest is gone."""
        with self._lock:
            self._under_way.pop(id(guest), None)
            self._show()

    def end(self, title: str, weight: int, trouble: str | None = None) -> None:
        """A run has ended, well or with trouble."""
        with self._lock:
            self._ended += 1
            self._bar.update(self._task, advance=weight, count=self._count())
            text = title if trouble is None else f"{title}: FAILED: {trouble}"
            if trouble is not None or not self._console.is_terminal:
                line = f"[{self._ended}/{self._runs}] {text}"
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A line that is no run's."""
        with self._lock:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _show(self) -> None:
        self._bar.update(self._task, description=", ".join(self._under_way.values()) or "booting")
