# SPDX-License-Identifier: GPL-2.0
"""Which workers ``lab sweep --on`` uses: a file in TOML, or the name of one of the project's own."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model.errors import PlanError
from ..model.scenario import nearest

FOLDER = Path(__file__).resolve().parents[2] / "clusters"
MAX_WORKERS = 1000
MAX_GUESTS = 256
MAX_WAIT_S = 7 * 24 * 3600
# Dask's, of which a worker listens at one.
ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}")
# What every kind has, with the kind of value; "options" goes to Dask's own class as it is.
COMMON: dict[str, type] = {"kind": str, "store": str, "wait_s": int}
STARTED: dict[str, type] = {"guests": int, "python": str, "options": dict}
KINDS: dict[str, dict[str, type]] = {
    "scheduler": {**COMMON, "address": str},
    "local": {**COMMON, "guests": int, "options": dict, "workers": int},
    "ssh": {**COMMON, **STARTED, "hosts": list},
    "slurm": {**COMMON, **STARTED, "workers": int},
    "kubernetes": {**COMMON, "guests": int, "options": dict, "workers": int, "image": str},
}
NEEDED = {"scheduler": ("address",), "ssh": ("hosts",), "slurm": ("workers",), "kubernetes": ("workers", "image")}


@dataclass(frozen=True)
class ClusterFile:
    """What a file says.

    :param name: the file's, for messages
    :param workers: how many there are to be
    :param guests: at a time, on each
    :param hosts: of ``ssh``: the first has the scheduler, each other one a worker
    :param python: the interpreter on the workers, which has Dask; "" is the one of this machine
    :param store: the folder of each worker that keeps what it got
    :param wait_s: for the first worker, and for another one when the last is lost
    :param options: for Dask's class
    """

    name: str
    kind: str
    address: str = ""
    workers: int = 2
    guests: int = 1
    hosts: tuple[str, ...] = ()
    python: str = ""
    image: str = ""
    store: str = "/var/tmp/pktpair-$UID"
    wait_s: int = 300
    options: dict[str, Any] = field(default_factory=dict)


def names() -> list[str]:
    """Of the project's own."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> ClusterFile:
    """One of ours by its name, or a file by its path; PlanError names the value and what is allowed."""
    option = f"--on {name}"
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and name not in names():
        raise PlanError(f"{option}: must be one of {', '.join(names())}, or a file NAME.toml{nearest(name, names())}")
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise PlanError(f"{option}: {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{option}: {path}: is not TOML: {error}") from None
    return checked(str(path), content)


def checked(path: str, content: dict[str, Any]) -> ClusterFile:
    """What a file says; PlanError names the value and what is allowed.

    :param path: for messages
    """
    if "kind" not in content:
        raise PlanError(f"{path}: kind is missing: must be one of {', '.join(KINDS)}")
    kind = content["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise PlanError(f"{path}: kind {kind}: must be one of {', '.join(KINDS)}{nearest(str(kind), KINDS)}")
    known = KINDS[kind]
    for key, value in content.items():
        if key not in known:
            raise PlanError(f"{path}: {key}: a cluster of kind {kind} has {', '.join(known)}{nearest(key, known)}")
        # true is a whole number as well
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise PlanError(f"{path}: {key} {value!r}: must be of kind {known[key].__name__}")
    for key in NEEDED.get(kind, ()):
        if key not in content:
            raise PlanError(f"{path}: {key} is missing, which a cluster of kind {kind} has")
    _check_values(path, content)
    hosts = {"hosts": tuple(content["hosts"])} if "hosts" in content else {}
    return ClusterFile(path, **{**content, **hosts})


def _check_values(path: str, content: dict[str, Any]) -> None:
    for key, low, high in (("workers", 1, MAX_WORKERS), ("guests", 1, MAX_GUESTS), ("wait_s", 1, MAX_WAIT_S)):
        if key in content and not low <= content[key] <= high:
            raise PlanError(f"{path}: {key} {content[key]}: must be {low} to {high}")
    if "address" in content and not ADDRESS.fullmatch(content["address"]):
        raise PlanError(f"{path}: address {content['address']}: must be as tcp://HOST:PORT or tls://HOST:PORT")
    for key in ("image", "python", "store"):
        if key in content and not content[key]:
            raise PlanError(f"{path}: {key}: is empty")
    if "store" in content and not content["store"].startswith(("/", "$")):
        raise PlanError(f"{path}: store {content['store']}: must begin with / or with a variable, as $TMPDIR")
    hosts = content.get("hosts", ["", ""])
    if len(hosts) < 2 or not all(isinstance(one, str) for one in hosts):
        raise PlanError(f"{path}: hosts {hosts}: must be the scheduler's host and at least one worker's, as texts")
