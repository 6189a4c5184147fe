# SPDX-License-Identifier: GPL-2.0
"""A guest of a command's own: which one, and how its job ended."""

from __future__ import annotations

import argparse
import json
import sys

from ..store.boot import announce_native
from ..vm import CLOCKS, Guest, SocketGuest, find_kernel, leave_no_guest, shared_guest


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


def begin(arguments: argparse.Namespace) -> None:
    """Before a guest boots: LabError if its kernel is not there."""
    leave_no_guest()
    if arguments.clock != "native":
        find_kernel(arguments.kernel)


def chosen(arguments: argparse.Namespace) -> SocketGuest:
    """The guest that was asked for, which sees the host's files; it boots when it is started."""
    begin(arguments)
    guest = shared_guest(arguments.kernel, arguments.clock, arguments.cpus)
    if arguments.clock == "native":
        announce_native(guest)
    return guest


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
