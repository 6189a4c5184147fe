# SPDX-License-Identifier: GPL-2.0
"""An interactive shell in a booted lab: our modules are loaded, and the host's files can be read."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import termios
import threading
import tty

from ..guest import protocol
from ..model.errors import LabError
from .own_guest import add_guest_options, chosen, finish

add_options = add_guest_options


def main(arguments: argparse.Namespace) -> int:
    """Until its end; its exit status."""
    if not sys.stdin.isatty():
        raise LabError("shell needs a terminal; use: lab exec -- COMMAND...")
    size = shutil.get_terminal_size()
    with chosen(arguments) as guest:
        guest.start({"kind": "shell", "size": (size.lines, size.columns), "term": os.environ.get("TERM", "linux")})

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
