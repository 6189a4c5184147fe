# SPDX-License-Identifier: GPL-2.0
"""Put real machines back that a run on them has left changed, because it was killed in the middle.

    scripts/lab restore --machines FILE

Each machine has a journal of what was changed there, which is replayed backwards. Where there is none, nothing is
done, so that the command may be given at any time. Status 0: no machine has anything to put back any more, and none
is found that differs from what it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..hosts.engine import restore
from ..hosts.file import read
from .options import FAILED


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the machines are named."""
    parser.add_argument("--machines", type=Path, metavar="FILE", required=True, help="the file that names them")
    parser.add_argument("--dry-run", action="store_true", help="only say which machines would be put back")


def main(arguments: argparse.Namespace) -> int:
    """Put them back; 0 if all are as they were."""
    lines, is_well = restore(read(arguments.machines), arguments.dry_run)
    print("\n".join(lines))
    return 0 if is_well else FAILED
