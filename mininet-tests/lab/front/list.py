# SPDX-License-Identifier: GPL-2.0
"""The scenarios with their claims."""

from __future__ import annotations

import argparse

from ..model import scenario


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def main(_: argparse.Namespace) -> int:
    """One line each."""
    for name in scenario.names():
        print(f"{name:28} {scenario.load(name).claim}")
    return 0
