# SPDX-License-Identifier: GPL-2.0
"""A run on a worker of a cluster: ``python -m lab.machines.delivered PARCEL <ORDER >RESULT``.

The parcel has all that the guest is made of, and this code. The frozen machine with a network is kept
beside it, for other runs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import files
from ..model.errors import LabError
from .frozen import Copy, Frozen, Template
from .guest import leave_no_guest
from .sealed import Copies

# A frozen machine takes 200 MB of disk.
KEPT_MACHINES = 4
# Below that a guest fails for want of space, whatever it says.
FULL_BYTES = 64 * 2**20
LOCK = "lock"
COMPLETE = "frozen.json"


class DeliveredTemplate(Template):
    """A guest that is made of a parcel's files."""

    def __init__(self, parcel: Path, order: dict[str, Any]) -> None:
        # in the order of the machine that sweeps, on which memory and time of a guest depend
        found = {room: {name: parcel / room / name for name in names} for room, names in order["files"].items()}
        super().__init__(order["release"], modules=list(found["modules"].values()))
        self._common = order["common"]
        self._more = found["more"]
        self.copies = Copies(parcel / "base", found["common"])

    def common_job(self) -> dict[str, Any]:
        """As the machine that sweeps has found it."""
        return dict(self._common)

    def more_files(self) -> dict[str, Path]:
        """Programs that are not in every guest."""
        return self._more


@contextlib.contextmanager
def machine(parcel: Path, order: dict[str, Any]) -> Iterator[Frozen]:
    """The frozen machine with a network; made if it is not there, and kept while it is used."""
    asked = json.dumps([order["structure"], order["common"], order["files"]])
    place = parcel / "machines" / hashlib.sha256(asked.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    with (place / LOCK).open("ab") as held:
        while True:
            # whoever uses it shares the lock
            fcntl.flock(held, fcntl.LOCK_SH)
            if (place / COMPLETE).exists():
                break
            # not at once: another process may make it in between, or remove it afterwards
            fcntl.flock(held, fcntl.LOCK_EX)
            if not (place / COMPLETE).exists():
                remove_idle(place)
                with DeliveredTemplate(parcel, order) as template:
                    made = template.freeze_network(order["structure"], place, "machine")
                files.write(place / COMPLETE, json.dumps(made.modules))
        os.utime(place / COMPLETE)
        modules = json.loads((place / COMPLETE).read_text())
        yield Frozen(order["release"], place / "machine.cpio", place / "machine.state", modules)


def remove_idle(place: Path) -> None:
    """The machines that were used longest ago, and that nobody uses, so that there is room for one more."""
    found = [path for path in place.parent.glob(f"*/{COMPLETE}")]
    for complete in sorted(found, key=lambda path: path.stat().st_mtime)[: max(0, len(found) - KEPT_MACHINES + 1)]:
        with contextlib.suppress(BlockingIOError), (complete.parent / LOCK).open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            complete.unlink(missing_ok=True)
            for path in complete.parent.glob("machine.*"):
                path.unlink()


def do(parcel: Path, order: dict[str, Any]) -> dict[str, Any]:
    """A run's raw result; LabError if its guest fails."""
    with machine(parcel, order) as frozen, Copy(frozen) as copy:
        raw = copy.go_on(order["orders"])
        return {**raw, "cpu_s": round(copy.cpu_s(), 2)}


def answer(parcel: Path, order: dict[str, Any]) -> dict[str, Any]:
    """The raw result, or why there is none."""
    try:
        return {"raw": do(parcel, order)}
    except LabError as error:
        first, *log = str(error).splitlines()
        is_full = shutil.disk_usage(parcel).free < FULL_BYTES
        return {"failed": first, "log": log, "is_full": is_full}
    except OSError as error:
        if error.errno not in files.REFUSED:
            raise
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return {"failed": f"{error.filename or parcel}: {error.strerror}", "log": [], "is_full": is_full}


def main() -> None:
    """Do what is asked for on standard input."""
    leave_no_guest()
    parcel = Path(sys.argv[1])
    # it is in use
    os.utime(parcel)
    json.dump(answer(parcel, json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
