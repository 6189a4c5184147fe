# SPDX-License-Identifier: GPL-2.0
"""A page of a study's tables and plots; nothing is run."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..analyse import table
from ..show import report as page
from ..store.study import Study, StudyError
from .measuring import FiguresOf, figures_of
from .options import BAD_INPUT, complain


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which study is shown."""
    parser.add_argument("study", type=Path, metavar="FOLDER", help="what lab sweep --out has written")


def report(arguments: argparse.Namespace, figures: FiguresOf) -> int:
    """Lab report: the tables and a page of a study, also while a sweep is at work on it; 2 if it is none."""
    study = Study(arguments.study)
    try:
        if not study.exists():
            raise StudyError(f"{study.folder}: there is no study; lab sweep --out {study.folder} makes one")
        found = table.build(study, figures)
        found.write(study)
        print(page.write(study, found))
    except StudyError as error:
        complain(error)
        return BAD_INPUT
    return 0


def main(arguments: argparse.Namespace) -> int:
    """Write it."""
    return report(arguments, figures_of)
