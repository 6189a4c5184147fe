# SPDX-License-Identifier: GPL-2.0
"""What a sweep needs of whoever has guests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .run import Run

VIRTUAL = "virtual"


class EngineError(Exception):
    """A guest could not be had, or died; the message goes to the user.

    :param log: the end of the guest's kernel log
    """

    def __init__(self, message: str, log: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.log = list(log)


class EngineGoneError(EngineError):
    """No further run can be done, whatever the run; the message goes to the user."""


@dataclass(frozen=True)
class Surroundings:
    """What the runs on one kernel with one build of the modules come from, beside their plans.

    :param release: what the kernel calls itself
    :param kernel: its image
    :param emulator: what QEMU says of its version
    :param tools: all else that goes into the guest (programs, libraries, the kernel's own
        modules), by the name that it has there
    :param code: the guest's own code, likewise
    :param modules: the project's modules for this kernel, by their name; what is not built is missing
    :param programs: those that only some plans use, each with its libraries, found when one does; PlanError if it
        is not installed
    :param machine: what else a result may depend on, such as the CPU model that the guest sees
    :param noted: for the manifest only: under which circumstances the guests run
    :param ccs: congestion controls that the guest has; () if it is not known
    :param clock: what time is: "virtual", or "real" on real machines
    """

    release: str
    kernel: Path
    emulator: str
    tools: Mapping[str, Path]
    code: Mapping[str, Path]
    modules: Mapping[str, Path]
    machine: Mapping[str, str] = field(default_factory=dict)
    ccs: tuple[str, ...] = ()
    programs: Mapping[str, Callable[[], Sequence[Path]]] = field(default_factory=dict)
    noted: Mapping[str, Any] = field(default_factory=dict)
    clock: str = VIRTUAL


class Engine(Protocol):
    """Does runs in guests; ``run`` is called by several threads at once."""

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        """Of a kernel and a build of the modules, as the user named them; "" is the default.

        EngineError says what is not there.
        """

    def run(self, run: Run) -> dict[str, Any]:
        """A run's raw result; EngineError if its guest fails.

        It has "error" (None, or why the run failed) and then "dmesg_tail". "cpu_s", where it is
        there, is what the run took of this machine's cores.
        """

    def stop(self) -> None:
        """End every guest at once: each ``run`` that is under way raises EngineError."""
