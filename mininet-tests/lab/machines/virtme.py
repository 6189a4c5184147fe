# SPDX-License-Identifier: GPL-2.0
"""A guest for commands and shells, which sees the host's files through virtme-ng."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from ..checkout import TOP
from ..guest import protocol
from ..model.errors import LabError
from . import image
from .guest import SocketGuest
from .kernels import uncompressed_image
from .qemu import KERNEL_OPTIONS, EmulatedGuest, cpu_options
from .sealed import MEMORY


def _path_without_tmpfiles(folder: Path) -> str:
    """A PATH for init in which systemd-tmpfiles does nothing (saves 2 s a boot)."""
    stub = folder / "systemd-tmpfiles"
    stub.write_text("#!/bin/sh\nexit 0\n")
    stub.chmod(0o755)
    return f"{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class VirtmeGuest(SocketGuest, EmulatedGuest):
    """A guest that sees the host's files, for commands and shells."""

    def _launch(self, job: dict[str, Any]) -> None:
        self._refuse_unusable()
        vng = Path(sys.prefix) / "bin" / "vng"
        if not vng.exists():
            raise LabError(f"{vng} does not exist: run scripts/bootstrap")
        address = self._folder / "agent"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(address))
        listener.listen(1)
        qemu = [
            f"-chardev socket,id=agent,path={address}",
            "-device virtio-serial-pci -device virtserialport,name=pktpair.agent,chardev=agent",
            # QEMU's main loop would poll 64 descriptors per serial device at
            # every timer of the guest.
            "-global virtio-serial-pci.ioeventfd=off -global virtio-serial-pci.max_ports=2",
            "-global virtio-9p-pci.ioeventfd=off",
            *cpu_options(self.clock, self.seed),
        ]
        command = [str(vng), "--verbose", "--force-9p", "--run", str(uncompressed_image(self.kernel))]
        command += ["--user", "root", "--cpus", str(self.cpus), "--memory", MEMORY]
        # The guest's init mounts file systems of its own over /run, /var/tmp, /dev and
        # others, and a checkout there would be hidden: it is mounted after those.
        command.append(f"--rodir={TOP}")
        if self.clock != "real":
            command.append("--disable-kvm")
        for option in (*KERNEL_OPTIONS, f"PATH={_path_without_tmpfiles(self._folder)}"):
            command += ["--append", option]
        command += [f"--qemu-opts={' '.join(qemu)}"]
        command += ["--", image.agent_line()]
        self._spawn(command, env={**os.environ, "PATH": f"{vng.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"})
        self._await_contact(listener)
        self.send(protocol.JOB, json.dumps(job).encode())

    def _await_contact(self, listener: socket.socket) -> None:
        """Wait for QEMU to connect and for the agent's first frame."""
        assert self._process is not None
        deadline = time.monotonic() + self._boot_limit_s()
        listener.settimeout(0.2)
        while self._socket is None:
            try:
                self._socket, _ = listener.accept()
            except TimeoutError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise LabError(self._failure("the guest could not be started")) from None
        listener.close()
        self._socket.settimeout(max(1.0, deadline - time.monotonic()))
        try:
            self.receive()
        except TimeoutError:
            failure = self._boot_failure()
            self.kill()
            raise failure from None
        self._socket.settimeout(None)
