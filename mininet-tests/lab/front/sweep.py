# SPDX-License-Identifier: GPL-2.0
"""Every combination of a scenario's parameters, several guests at once, into a study."""

from __future__ import annotations

import argparse

from ..store import command
from ..vm import leave_no_guest
from .measuring import figures_of

add_options = command.add_sweep_options


def main(arguments: argparse.Namespace) -> int:
    """Measure what is not there yet."""
    from ..machines.engine import Guests

    leave_no_guest()
    with Guests() as guests:
        return command.sweep(arguments, guests, figures_of)
