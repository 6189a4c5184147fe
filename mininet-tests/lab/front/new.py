# SPDX-License-Identifier: GPL-2.0
"""A commented scenario to begin with, which runs."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ..model.errors import LabError

TEMPLATE = Path(__file__).resolve().parent.parent / "show" / "templates" / "scenario.py"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where to."""
    parser.add_argument("file", type=Path, metavar="FILE.py")


def main(arguments: argparse.Namespace) -> int:
    """Write it; nothing that is there is overwritten."""
    path = arguments.file
    if path.suffix != ".py":
        raise LabError(f"{path}: must end with .py")
    try:
        with path.open("x") as file:
            file.write(TEMPLATE.read_text())
    except FileExistsError:
        raise LabError(f"{path}: is there already, and stays as it is") from None
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    # what begins with - would be an option
    word = shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))
    print(f"{path} is there. Run it: scripts/lab sweep {word} --seeds 1-3 --out study")
    return 0
