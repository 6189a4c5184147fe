# SPDX-License-Identifier: GPL-2.0
"""What a result depends on, by content."""

from __future__ import annotations

import array
import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..model.errors import PlanError
from ..model.plan import Source
from .engine import Surroundings
from .run import Run

# What a plan says where it uses a module: the congestion controls pktpair,
# pktpair_1994, vptfrc, fixed_window and those of the thesis, the queues fq_rr, lossy and those of the thesis, their
# trace events and their files.
# A plan that says it of something else is run once too often, never once too rarely.
MODULE_MARKS = {
    **{"tcp_pktpair": "pktpair", "tcp_vptfrc": "vptfrc", "tcp_fixed_window": "fixed_window"},
    **{"sch_fq_rr": "fq_rr", "sch_lossy": "lossy", "tcp_thesis": "thesis_", "sch_thesis": "switch_"},
}
# Of sources that were drawn before, by all that they are.
_drawn: dict[str, str] = {}


def canonical(data: Any, ordered: bool = False) -> str:
    """JSON that is the same whatever the order of a mapping; PlanError if it holds what JSON cannot, as infinity.

    :param ordered: the order counts
    """
    try:
        return json.dumps(data, sort_keys=not ordered, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise PlanError(f"a parameter or plan has a value that cannot be kept: {error}") from None


def of_text(text: str) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def of_file(path: Path) -> str:
    """Of a file's content, which is read again only if the file has changed; PlanError if it cannot be."""
    try:
        status = path.stat()
        return _content(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None


@functools.cache
def _content(path: Path, mtime_ns: int, size_bytes: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def modules_of(run: Run) -> list[str]:
    """The project's modules that a run uses: those that its plan mentions, wherever, but in a name."""
    said = run.job()
    for one in (said["topology"], *said["flows"], *said["sources"], *said["commands"]):
        del one["name"]
    text = f"{run.cc} {canonical(said)}"
    return [module for module, mark in MODULE_MARKS.items() if mark in text]


def programs_of(run: Run) -> list[str]:
    """Programs in the guest that only some plans use."""
    return ["bpftrace"] if run.plan.record.bpftrace else []


def _times(source: Source) -> str:
    """Of when a source's packets leave: Python draws that here, and another version may draw otherwise."""
    key = canonical(vars(source))
    if key not in _drawn:
        _drawn[key] = hashlib.sha256(array.array("Q", source.times_ns()).tobytes()).hexdigest()
    return _drawn[key]


def ingredients(run: Run, surroundings: Surroundings) -> dict[str, str]:
    """All that a run's result comes from, by name; PlanError if a module that it uses is not built."""
    found = {
        # a guest does what mappings say in their order
        "plan": of_text(canonical(run.job(), ordered=True)),
        "kernel": of_file(surroundings.kernel),
        "emulator": surroundings.emulator,
    }
    found |= {f"tool {name}": of_file(path) for name, path in surroundings.tools.items()}
    found |= {f"code {name}": of_file(path) for name, path in surroundings.code.items()}
    for name in programs_of(run):
        program, *libraries = surroundings.programs[name]()
        found[f"tool {name}"] = of_file(program)
        found |= {f"tool {name} {library.name}": of_file(library) for library in libraries}
    if run.plan.sources:
        found["times"] = of_text(canonical([_times(source) for source in run.plan.sources]))
    found |= {f"machine {name}": text for name, text in surroundings.machine.items()}
    for module in modules_of(run):
        if module not in surroundings.modules:
            where = f" in {run.build}" if run.build else ""
            release = surroundings.release
            raise PlanError(f"{module} is not built for kernel {release}{where}: scripts/build-modules {release}")
        found[f"module {module}"] = of_file(surroundings.modules[module])
    return found


def digest(of: Mapping[str, str]) -> str:
    """What a result is kept under, from its ingredients."""
    return of_text(canonical(dict(of)))
