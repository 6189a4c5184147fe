# SPDX-License-Identifier: GPL-2.0
"""A page of a study's tables and plots."""

from __future__ import annotations

import argparse

from ..store import command
from .measuring import figures_of

add_options = command.add_report_options


def main(arguments: argparse.Namespace) -> int:
    """Write it; nothing is run."""
    return command.report(arguments, figures_of)
