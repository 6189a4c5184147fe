# SPDX-License-Identifier: GPL-2.0
"""What the user types: ``lab COMMAND ...``.

A command is a module with ``add_options(parser)`` and ``main(arguments)``, which returns the
exit status. It is imported when it is asked for: some are slow to load.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Sequence

from . import files
from .model.errors import LabError, PlanError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
STANDARD_OUTPUT = "standard output"
# Each command: what it does, and its module.
COMMANDS = {
    "list": ("the scenarios and their claims", "lab.front.list"),
    "run": ("scenarios, one after another", "lab.front.run"),
    "sweep": ("every combination of parameters, several guests at once, into a study", "lab.front.sweep"),
    "restore": ("put real machines back that a run on them has left changed", "lab.front.restore"),
    "report": ("a page of a study's tables and plots", "lab.front.report"),
    "new": ("a commented scenario to begin with", "lab.front.new"),
    "plot": ("one tcp_pktpair flow of a kept trace, drawn", "lab.front.plot"),
    "draw": ("pictures of the runs that run --json has written", "lab.front.draw"),
    "exec": ("any command in a booted lab; its exit status is passed on", "lab.front.exec"),
    "shell": ("an interactive shell in a booted lab", "lab.front.shell"),
    "demo": ("the main job: packet pair beside its peers", "lab.front.demo"),
    "transfers": ("the nine file transfer benchmarks", "lab.front.transfers"),
    "real-networks": ("packet pair on real networks, beside its peers and goals", "lab.front.real_networks"),
    "router": ("fq_rr as a router's only queue, beside fq_codel and CAKE", "lab.front.router"),
    "vptfrc": ("the experiments of the paper on packet sizes, beside TCP", "lab.front.vptfrc"),
    "overload": ("overload as published in 1995, beside BBR and CUBIC", "lab.front.overload"),
    "reproduce": ("the papers re-run on the real stack, in one report", "lab.front.reproduce"),
    "claims": ("what the papers claim and what shows it, for the documentation", "lab.front.claims"),
    "cost": ("instructions per packet, fq_rr beside its peers", "lab.front.cost"),
    "cost-native": ("nanoseconds per packet, in User Mode Linux", "lab.front.cost_uml"),
    "cost-ack": ("instructions per acknowledgment and per byte, pktpair's and bbr's", "lab.front.cost_ack"),
    "mutants": ("changes of formula headers: how much of it tests notice", "lab.front.mutants"),
    "hostile": ("a tenant and a peer who mean harm, in a kernel that watches itself", "hostile.drive"),
    "torture": ("the modules in kernels that watch themselves", "torture.drive"),
    "tdc": ("the kernel's own tests of tc, on our cases", "tc_testing.drive"),
}


def parser(chosen: str = "") -> argparse.ArgumentParser:
    """The command line, with the options of the chosen command."""
    top = argparse.ArgumentParser(
        prog="lab",
        description="Network experiments on a real kernel in virtual time, and what is measured and tested with them.",
        epilog="Each command has --help.",
    )
    commands = top.add_subparsers(dest="action", required=True, metavar="COMMAND", title="commands")
    for name, (does, module) in COMMANDS.items():
        command = commands.add_parser(name, help=does, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == chosen:
            found = importlib.import_module(module)
            command.description = found.__doc__
            command.allow_abbrev = False
            found.add_options(command)
            command.set_defaults(main=found.main)
    return top


def parse(words: Sequence[str]) -> argparse.Namespace:
    """What was typed; ``main`` is what to call with it."""
    return parser(words[0] if words else "").parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    try:
        try:
            return _status(words)
        finally:
            # what cannot be written is said here: Python would at its end, in its own way
            _flush()
    except BrokenPipeError:
        # who read it wants no more
        _discard_output()
        return FAILED
    except OSError as error:
        if error.errno not in files.REFUSED:
            raise
        print(f"lab: {error.filename or _unnamed()}: {error.strerror}", file=sys.stderr)
        return FAILED


def _status(words: Sequence[str] | None) -> int:
    arguments = parse(sys.argv[1:] if words is None else words)
    try:
        return int(arguments.main(arguments))
    except (LabError, PlanError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def _unnamed() -> str:
    """Where something was written that has no name: what is printed, or a copy into the temporary folder."""
    try:
        # a device that is full refuses even to write nothing
        os.write(1, b"")
    except OSError as error:
        if error.errno in files.REFUSED:
            _discard_output()
            return STANDARD_OUTPUT
    return tempfile.gettempdir()


def _flush() -> None:
    """Write what is printed; OSError names it."""
    try:
        if sys.stdout is not None:  # None where it is closed
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        error.filename = STANDARD_OUTPUT
        raise


def _discard_output() -> None:
    """Nothing is to be said of what is not printed yet when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
