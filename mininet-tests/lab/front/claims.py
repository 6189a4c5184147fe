# SPDX-License-Identifier: GPL-2.0
"""Documentation/claims.rst, from the papers' entries: what each claims, and what shows it.

    scripts/lab claims           write it
    scripts/lab claims --check   only say whether it is as it would be written

Neither is done if an entry names a scenario, a test, a header or a judge that does not exist.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import files
from ..analyse.claims import absent
from ..checkout import TOP
from ..model import papers
from ..show.claims import page
from .options import FAILED

PAGE = TOP / "Documentation" / "claims.rst"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the page is out of date")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help=argparse.SUPPRESS)


def main(arguments: argparse.Namespace) -> int:
    """Status 1 if something that is named is not there, or the page is out of date; 2 if a paper's file is wrong."""
    known = [papers.load(name) for name in papers.names()]
    wrong = [line for one in known for line in absent(one)]
    text = page(known)
    if arguments.check and (not arguments.page.exists() or arguments.page.read_text() != text):
        wrong.append(f"{arguments.page}: is out of date: scripts/lab claims writes it")
    for line in wrong:
        print(f"claims: {line}", file=sys.stderr)
    if not arguments.check and not wrong:
        files.write(arguments.page, text)
    return FAILED if wrong else 0
