# SPDX-License-Identifier: GPL-2.0
"""Pictures of the runs that ``lab run --json`` has written."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from ..model import scenario
from ..model.errors import LabError
from ..show.runs import to_file


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which runs, and where to."""
    parser.add_argument("run", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to (default: beside the file)")


def read_runs(path: Path) -> list[dict[str, Any]]:
    """What ``lab run --json`` has written; LabError if it is something else."""
    try:
        runs = json.loads(path.read_text())
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LabError(f"{path}: is not JSON: {error}") from None
    wanted = ("path", "label", "title")
    if not isinstance(runs, list) or not runs or not all(isinstance(one, dict) for one in runs):
        raise LabError(f"{path}: is no list of runs; lab run --json writes one")
    missing = [name for name in wanted if not all(name in one for one in runs)]
    missing += ["series"] if not all(isinstance(one.get("series", {}), dict) for one in runs) else []
    if missing:
        raise LabError(f"{path}: its runs have no {', '.join(missing)}; lab run --json writes them")
    labels = [one["label"] for one in runs]
    for label in labels:
        # a picture's file is called so
        if not isinstance(label, str) or not re.fullmatch(r"[\w.+-]+", label):
            raise LabError(f"{path}: label {label!r}: has other characters than those that lab run writes")
        if labels.count(label) > 1:
            raise LabError(f"{path}: {labels.count(label)} runs have the label {label}")
    return runs


def main(arguments: argparse.Namespace) -> int:
    """Draw them; nothing is run."""
    runs = read_runs(arguments.run)
    folder = arguments.out or arguments.run.parent
    drawn = []
    try:
        for one in runs:
            if one.get("error") is None and one.get("series"):
                drawn.append(to_file(one, one["title"], folder / f"{one['label']}.png"))
        # a scenario's own pictures, where the runs come from this machine
        for path in dict.fromkeys(one["path"] for one in runs if Path(one["path"]).is_file()):
            folder.mkdir(parents=True, exist_ok=True)
            drawn += scenario.load(path).draw([one for one in runs if one["path"] == path], folder)
    except KeyError as error:
        raise LabError(f"{arguments.run}: its series have no {error}: another version's lab run wrote it") from None
    except OSError as error:
        raise LabError(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise LabError(f"{arguments.run}: {error}") from None
    if not drawn:
        raise LabError(f"{arguments.run}: no run in it can be drawn")
    for path in drawn:
        print(path)
    return 0
