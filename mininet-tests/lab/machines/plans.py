# SPDX-License-Identifier: GPL-2.0
"""Carries plans out in a guest: one boot, many runs, their raw results as they end."""

from __future__ import annotations

import array
import base64
import json
import subprocess
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import btf, files
from ..checkout import TOP
from ..guest import protocol
from ..model.errors import LabError, PlanError
from ..model.plan import Plan
from . import image
from .guest import Guest
from .here import HereGuest
from .kernels import uncompressed_image
from .sealed import SealedGuest

SOURCES = Path(__file__).resolve().parent.parent / "guest"
PROGRAMS = TOP / "build" / "lab"
# The traffic engine, and what reads the emulator's files.
TRAFFIC, TOLD = "traffic", "told"


def guest_program(name: str, split: bool = False) -> Path:
    """One of the guest's programs in C, built if its source has changed; LabError if it cannot be.

    :param split: the traffic engine that has one machine's part of a run
    """
    program, file = PROGRAMS / (f"{name}-split" if split else name), SOURCES / f"{name}.c"
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    with files.locked(PROGRAMS / "lock"):
        source = file.read_bytes()
        kept = program.with_suffix(".c")
        if not program.exists() or not kept.exists() or kept.read_bytes() != source:
            command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-static", "-pthread"]
            command += ["-DSPLIT=1"] if split else []
            done = subprocess.run(
                [*command, "-o", str(program), str(file)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise LabError(f"{file} cannot be built:\n{done.stderr}")
            kept.write_bytes(source)
    return program


def inside(name: str) -> str:
    """Where a guest in memory has one of these programs."""
    return f"lab/{name}"


def times(plan: Plan) -> dict[str, str]:
    """When each source's packets leave, as the guest takes it: drawn here, where it costs little."""
    return {
        source.name: base64.b64encode(zlib.compress(array.array("Q", source.times_ns()).tobytes(), 1)).decode()
        for source in plan.sources
    }


def bpftrace() -> Path:
    """This machine's, which is 200 MB with its libraries; PlanError says how to have it."""
    path = image.installed("bpftrace")
    if path is None:
        raise PlanError("record.bpftrace: bpftrace is not installed: scripts/bootstrap, or apt-get install bpftrace")
    return Path(path)


def bpftrace_files() -> list[Path]:
    """The program and its libraries; PlanError if it is not installed."""
    program = bpftrace()
    return [program, *map(Path, image.libraries(str(program)))]


class Plans(Guest):
    """A guest that carries plans out, of any kind."""

    def _traffic(self) -> str:
        """Where the guest has the traffic engine."""
        raise NotImplementedError

    def _types(self) -> Path:
        """The type information of the guest's kernel."""
        raise NotImplementedError

    def common_job(self) -> dict[str, Any]:
        """What the agent is told whatever the plans are."""
        return {"kind": "plans", "ack_probe": btf.ack_probe(self._types()), "traffic": self._traffic()}

    def job(self, plans: Sequence[Plan]) -> dict[str, Any]:
        """What the agent is told."""
        return {
            **self.common_job(),
            "plans": [plan.as_data() for plan in plans],
            "times": [times(plan) for plan in plans],
        }

    def run(
        self, plans: Sequence[Plan], on_begin: Callable[[int], None], on_result: Callable[[int, dict[str, Any]], None]
    ) -> None:
        """Do all of them; LabError if the guest ends before they are done.

        :param on_begin: called with a plan's index when its run begins
        :param on_result: called with the index and the raw result when it ends
        """
        self.start(self.job(plans))
        for kind, payload in self.frames():
            message = json.loads(payload)
            if kind == protocol.PROGRESS:
                on_begin(message["begin"])
            elif kind == protocol.RESULT:
                on_result(message.pop("index"), message)
            elif kind == protocol.EXIT and message["error"]:
                tail = "\n".join(f"    {line}" for line in message["dmesg_tail"])
                raise LabError(f"{message['error']}\nlast lines of the guest's kernel log:\n{tail}")


class PlanGuest(SealedGuest, Plans):
    """A sealed guest with the traffic engine, and with bpftrace where a plan has a script."""

    _scripts = False

    def _traffic(self) -> str:
        return f"/{inside(TRAFFIC)}"

    def _types(self) -> Path:
        return uncompressed_image(self.kernel)

    def job(self, plans: Sequence[Plan]) -> dict[str, Any]:
        """What the agent is told."""
        self._scripts = any(plan.record.bpftrace for plan in plans)
        return super().job(plans)

    def common_files(self) -> dict[str, Path]:
        """The programs in C as well."""
        return {inside(name): guest_program(name) for name in (TRAFFIC, TOLD)} | super().common_files()

    def more_files(self) -> dict[str, Path]:
        """The programs that are not in every guest."""
        found = bpftrace_files() if self._scripts else []
        return {image.merged(str(path)).lstrip("/"): path for path in found}


class HerePlans(HereGuest, Plans):
    """This machine, with its own kernel."""

    def _traffic(self) -> str:
        return str(guest_program(TRAFFIC))

    def _types(self) -> Path:
        return Path("/sys/kernel/btf/vmlinux")


def plan_guest(kernel: str | None, clock: str, cpus: int) -> Plans:
    """A guest for plans, of the kind that the clock needs."""
    return HerePlans() if clock == "here" else PlanGuest(kernel, clock, cpus)
