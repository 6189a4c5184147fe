# SPDX-License-Identifier: GPL-2.0
"""Scenarios, one after another in one boot: 0 if every check of every run holds, 1 if not, 2 for bad input."""

from __future__ import annotations

import argparse

from ..store import boot
from .measuring import figures_of
from .own_guest import add_guest_options, begin


def add_options(parser: argparse.ArgumentParser) -> None:
    """The guest, and what is run."""
    add_guest_options(parser)
    boot.add_run_options(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run them."""
    begin(arguments)
    return boot.run(arguments, figures_of)
