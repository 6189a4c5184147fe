# SPDX-License-Identifier: GPL-2.0
"""One tcp_pktpair flow of a kept trace: its queue, window, rate and gap, drawn."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..show import controlplot


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which flow, and where to."""
    parser.add_argument("recording", type=Path, metavar="FILE", help="a .trace file in out/lab")
    parser.add_argument("--flow", type=int, metavar="PORT", help="its sender's port (default: the lowest)")
    parser.add_argument("--out", type=Path, metavar="PNG", help="the picture (default: beside FILE)")


def main(arguments: argparse.Namespace) -> int:
    """Draw it."""
    print(controlplot.plot(arguments.recording, arguments.flow, arguments.out))
    return 0
