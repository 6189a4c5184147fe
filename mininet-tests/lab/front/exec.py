# SPDX-License-Identifier: GPL-2.0
"""Any command in a booted lab: our modules are loaded, and the host's files can be read.

    scripts/lab exec -- ss -ti

Its output and exit status are passed on. PYTHONPATH names the lab's packages there.
"""

from __future__ import annotations

import argparse
import os
import sys

from ..guest import protocol
from ..model.errors import LabError
from .own_guest import add_guest_options, chosen, finish


def add_options(parser: argparse.ArgumentParser) -> None:
    """The guest, and the command."""
    add_guest_options(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")


def main(arguments: argparse.Namespace) -> int:
    """Run it; its exit status."""
    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise LabError("exec needs a command: lab exec -- COMMAND...")
    with chosen(arguments) as guest:
        guest.start({"kind": "exec", "command": command, "cwd": os.getcwd()})
        for kind, payload in guest.frames():
            if kind == protocol.STDOUT:
                sys.stdout.buffer.write(payload)
                sys.stdout.buffer.flush()
            elif kind == protocol.STDERR:
                sys.stderr.buffer.write(payload)
                sys.stderr.buffer.flush()
            elif kind == protocol.EXIT:
                return finish(payload, guest)
    raise AssertionError("the agent always ends with a status")
