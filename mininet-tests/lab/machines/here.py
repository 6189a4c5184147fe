# SPDX-License-Identifier: GPL-2.0
"""This machine itself, with its own kernel."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from ..guest import protocol
from ..model.errors import LabError
from . import image
from .guest import SocketGuest


class HereGuest(SocketGuest):
    """This machine, with its own kernel."""

    def __init__(self) -> None:
        super().__init__(os.uname().release, "here")

    def _launch(self, job: dict[str, Any]) -> None:
        if os.geteuid() != 0:
            raise LabError("--clock here loads modules into the machine's own kernel: run it as root")
        self._socket, theirs = socket.socketpair()
        environment = {**os.environ, **image.AGENT_ENVIRONMENT}
        self._spawn([*image.agent_command(), str(theirs.fileno())], pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self.receive()
        self.send(protocol.JOB, json.dumps(job).encode())
