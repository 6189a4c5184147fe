# SPDX-License-Identifier: GPL-2.0
"""What a study was asked for, when and where: ``manifest.json``."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import digest
from .engine import Surroundings
from .run import Run
from .study import PROGRAM, Study, StudyError


@dataclass
class Counts:
    """Of runs that differ by digest: asked for; with a result from before, from this sweep, without."""

    asked: int = 0
    present: int = 0
    run: int = 0
    failed: int = 0


def now() -> str:
    """The time of day, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def commit() -> str | None:
    """The checkout's, with "+" behind it if a file differs; None where git does not know."""
    words = ("git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*")
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def host() -> dict[str, Any]:
    """The machine on which the guests run."""
    return {"name": platform.node(), "kernel": platform.release(), "cpus": os.cpu_count(), "cpu": _cpu()}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _builds(surroundings: Mapping[tuple[str, str], Surroundings]) -> list[dict[str, Any]]:
    return [
        {
            "kernel": kernel,
            "build": build,
            "release": one.release,
            "image": digest.of_file(one.kernel),
            "emulator": one.emulator,
            "modules": {name: digest.of_file(path) for name, path in one.modules.items()},
            "tools": {name: digest.of_file(path) for name, path in one.tools.items()},
            "code": {name: digest.of_file(path) for name, path in one.code.items()},
            "machine": dict(one.machine),
            "noted": dict(one.noted),
        }
        for (kernel, build), one in surroundings.items()
    ]


class Manifest:
    """The manifest of a study, with one more sweep; written when that begins, and when it ends.

    ``runs`` has every run that was ever asked for with its digest; one that is asked for
    again after something has changed replaces what it was.
    """

    def __init__(
        self,
        study: Study,
        asked: Mapping[str, Any],
        runs: Mapping[Run, str],
        surroundings: Mapping[tuple[str, str], Surroundings],
    ) -> None:
        """StudyError if another scenario of the same name has runs in the study.

        :param asked: what the user chose, axis by axis
        """
        self._study = study
        self._content = study.manifest()
        self._follow({run.scenario.name: run.scenario.path for run in runs})
        self._sweep: dict[str, Any] = {
            "program": PROGRAM,
            "python": platform.python_version(),
            "commit": commit(),
            "host": host(),
            "asked": dict(asked),
            "builds": _builds(surroundings),
            "started": now(),
            "ended": None,
            "counts": None,
        }
        self._content["sweeps"].append(self._sweep)
        known = {_key(one): one for one in self._content["runs"]}
        for run, its_digest in runs.items():
            known[_key(run.identity)] = {"run": its_digest, "path": str(run.scenario.path), **run.identity}
        self._content["runs"] = list(known.values())

    def _follow(self, paths: Mapping[str, Path]) -> None:
        """Runs of a scenario whose file was moved are of where it is now; StudyError if another file is called so."""
        for one in self._content["runs"]:
            name, before = one["scenario"], Path(one["path"])
            now = paths.get(name, before)
            if now != before and os.path.isfile(before) and digest.of_file(before) != digest.of_file(now):
                raise StudyError(
                    f"{self._study.folder}: has runs of {name} by {before}, and {now} is another scenario of this name:"
                    " rename one of them, or choose another --out"
                )
            one["path"] = str(now)

    def write(self) -> None:
        """StudyError if it cannot be written."""
        # in the order of the axes and parameters, which a table keeps
        self._study.write("manifest.json", json.dumps(self._content, separators=(",", ":")) + "\n")

    def end(self, counts: Counts, cluster: Mapping[str, Any] | None = None) -> None:
        """The sweep has ended.

        :param cluster: which workers did it, where this machine did not
        """
        self._sweep |= {"ended": now(), "counts": asdict(counts)}
        if cluster is not None:
            self._sweep["cluster"] = dict(cluster)
        self.write()


def _key(identity: Mapping[str, Any]) -> str:
    return digest.canonical({name: value for name, value in identity.items() if name not in ("run", "path")})
