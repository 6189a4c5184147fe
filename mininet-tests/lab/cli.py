# SPDX-License-Identifier: GPL-2.0
"""What the user types: lab list | run | exec | shell."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Sequence

from . import protocol
from .vm import CLOCKS, Guest, LabError, find_kernel


def add_guest_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose the machine an experiment runs on."""
    parser.add_argument("--kernel", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="virtual",
        help="virtual: QEMU's instruction counter, exact and repeatable (default); real: KVM; "
        "emulated: real time without KVM, for work on several CPUs; native: this machine's own kernel, as root",
    )
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="virtual CPUs (not with the virtual clock)")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab", description="Network experiments on a real kernel in virtual time.")
    commands = top.add_subparsers(dest="action", required=True, metavar="list|run|exec|shell")
    commands.add_parser("list", help="scenarios with their claims")
    run = commands.add_parser("exec", help="run a command in a booted lab; its exit status is passed on")
    add_guest_options(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    shell = commands.add_parser("shell", help="an interactive shell in a booted lab")
    add_guest_options(shell)
    return top


def announce_native(guest: Guest) -> None:
    """Say what is about to be loaded into the machine's own kernel."""
    names = ", ".join(str(path) for path in guest.modules()) or "no module (none is built for it)"
    print(f"lab: on this machine's own kernel {guest.kernel}; loading: {names}", file=sys.stderr)


def finish(payload: bytes, guest: Guest) -> int:
    """Report how the agent's job ended; returns the exit status."""
    outcome = json.loads(payload)
    if outcome["error"]:
        print(f"lab: {outcome['error']}", file=sys.stderr)
    if outcome["error"] or outcome["warnings"]:
        lines = outcome["warnings"] or outcome["dmesg_tail"]
        if lines:
            print(f"lab: kernel {guest.kernel} says:", file=sys.stderr)
            for line in lines:
                print(f"    {line}", file=sys.stderr)
    return int(outcome["status"])


def execute(arguments: argparse.Namespace) -> int:
    """lab exec -- COMMAND..."""
    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise LabError("exec needs a command: lab exec -- COMMAND...")
    with Guest(arguments.kernel, arguments.clock, arguments.cpus) as guest:
        if arguments.clock == "native":
            announce_native(guest)
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


def shell(arguments: argparse.Namespace) -> int:
    """lab shell"""
    if not sys.stdin.isatty():
        raise LabError("shell needs a terminal; use: lab exec -- COMMAND...")
    size = shutil.get_terminal_size()
    with Guest(arguments.kernel, arguments.clock, arguments.cpus) as guest:
        if arguments.clock == "native":
            announce_native(guest)
        guest.start(
            {"kind": "shell", "size": (size.lines, size.columns), "term": os.environ.get("TERM", "linux")}
        )

        def forward() -> None:
            while data := os.read(sys.stdin.fileno(), 4096):
                guest.send(protocol.STDIN, data)

        saved = termios.tcgetattr(sys.stdin)
        tty.setraw(sys.stdin)
        try:
            threading.Thread(target=forward, daemon=True).start()
            for kind, payload in guest.frames():
                if kind == protocol.STDOUT:
                    os.write(sys.stdout.fileno(), payload)
                elif kind == protocol.EXIT:
                    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
                    return finish(payload, guest)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
    raise AssertionError("the agent always ends with a status")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        if getattr(arguments, "clock", None) not in (None, "native"):
            find_kernel(arguments.kernel)
        if arguments.action == "exec":
            return execute(arguments)
        if arguments.action == "shell":
            return shell(arguments)
        return 0
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
