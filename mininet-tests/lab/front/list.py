# SPDX-License-Identifier: GPL-2.0
"""The scenarios with their claims, or all of some: what --set may change, and what is run without it."""

from __future__ import annotations

import argparse

from ..model import scenario
from ..model.scenario import Parameter, Scenario


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which."""
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO|FILE.py", help="what is shown whole")


def main(arguments: argparse.Namespace) -> int:
    """One line each, or those that are named."""
    chosen = [scenario.load(name) for name in dict.fromkeys(arguments.scenarios)]
    for one in chosen:
        show(one)
    for name in () if chosen else scenario.names():
        print(f"{name:28} {scenario.load(name).claim}")
    return 0


def show(one: Scenario) -> None:
    """A scenario's claim, parameters and combinations."""
    print(f"{one.name}: {one.claim}")
    settings = {f"{name}={known.default} {known.unit}".rstrip(): known for name, known in one.parameters.items()}
    width = max(map(len, settings), default=0)
    for setting, parameter in settings.items():
        print(f"  {setting:{width}}  {parameter.meaning}{limits(parameter)}")
    print(f"  combinations: {', '.join(f'{cc}+{qdisc}' for cc, qdisc in one.combinations)}")


def limits(parameter: Parameter) -> str:
    """What else it may be."""
    if parameter.choices:
        return f" ({', '.join(parameter.choices)})"
    bounds = {"at least": parameter.low, "at most": parameter.high}
    known = [f"{word} {bound}" for word, bound in bounds.items() if bound is not None]
    return f" ({', '.join(known)})" if known else ""
