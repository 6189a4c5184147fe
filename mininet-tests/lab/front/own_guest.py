# SPDX-License-Identifier: GPL-2.0
"""A guest of a command's own: which one, and how its job ended."""

from __future__ import annotations

import argparse
import json
import sys

from ..machines.guest import Guest, SocketGuest, leave_no_guest
from ..machines.here import HereGuest
from ..machines.kernels import find_kernel
from ..machines.virtme import VirtmeGuest

CLOCKS = ("virtual", "real", "emulated", "here")


def add_guest_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose the machine an experiment runs on."""
    parser.add_argument("--kernel", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument(
        "--clock",
        # it was called native once
        type=lambda clock: "here" if clock == "native" else clock,
        choices=CLOCKS,
        default="virtual",
        help="virtual: QEMU's instruction counter, exact and repeatable (default); real: KVM; "
        "emulated: real time without KVM, for work on several CPUs; here: this machine's own kernel, as root",
    )
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="virtual CPUs (not with the virtual clock)")


def begin(arguments: argparse.Namespace) -> None:
    """Before a guest boots: LabError if its kernel is not there."""
    leave_no_guest()
    if arguments.clock != "here":
        find_kernel(arguments.kernel)


def chosen(arguments: argparse.Namespace) -> SocketGuest:
    """The guest that was asked for, which sees the host's files; it boots when it is started."""
    begin(arguments)
    if arguments.clock == "here":
        guest = HereGuest()
        announce(guest)
        return guest
    return VirtmeGuest(arguments.kernel, arguments.clock, arguments.cpus)


def announce(guest: Guest) -> None:
    """Say what is about to be loaded into the machine's own kernel."""
    modules = ", ".join(str(path) for path in guest.modules()) or "no module (none is built for it)"
    print(f"lab: on this machine's own kernel {guest.kernel}; loading: {modules}", file=sys.stderr)


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
