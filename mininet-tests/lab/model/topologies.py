# SPDX-License-Identifier: GPL-2.0
"""Topologies by name or file, as data: ``topology("parking_lot", bottlenecks=3)``."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from .errors import PlanError
from .scenario import difference, nearest
from .topology import Topology

FOLDER = Path(__file__).resolve().parents[2] / "topologies"
# Mininet belongs to the distribution's interpreter.
PYTHON = "/usr/bin/python3"


def names() -> list[str]:
    """Names of the project's own topologies."""
    return sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def topology(name: str, file: str | Path | None = None, **arguments: Any) -> Topology:
    """One of ours, or the one that a file names so; PlanError says what is wrong.

    :param file: a Python file with ``topos``, as for ``mn --custom``
    :param arguments: of the topology's ``build``
    """
    if file is None:
        path = FOLDER / f"{name}.py"
        if not path.exists():
            raise PlanError(f"no topology {name}{nearest(name, names())}; there are: {', '.join(names())}")
    else:
        path = Path(file).resolve()
        if not path.is_file():
            raise PlanError(f"topology {name}: {path}: there is no such file")
    return Topology.of(json.loads(_read(path, path.stat().st_mtime_ns, name, json.dumps(arguments, sort_keys=True))))


@functools.lru_cache(maxsize=1024)
def _read(path: Path, _changed_ns: int, name: str, arguments: str) -> str:
    """What the file's topology is, as JSON; read again when the file has changed.

    PlanError if two readings of a user's file differ, since each plan is then another.
    """
    found = _read_once(path, name, arguments)
    if path.parent != FOLDER:
        differs = difference("topology", json.loads(found), json.loads(_read_once(path, name, arguments)))
        if differs:
            raise PlanError(
                f"{path}: two readings of topology {name} with the same arguments differ: {differs}; what it draws"
                " must come from random.Random of an argument"
            )
    return found


def _read_once(path: Path, name: str, arguments: str) -> str:
    # -P: nothing is imported from where the user is
    command = [PYTHON, "-B", "-P", "-c", "import sys, lab.topo; sys.exit(lab.topo.main())", str(path), name, arguments]
    # Mininet imports distutils, which setuptools would replace by its own: that takes twice as long as all else
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent), "SETUPTOOLS_USE_DISTUTILS": "stdlib"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise PlanError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{path}: cannot be read")
    return done.stdout
