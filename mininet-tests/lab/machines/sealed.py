# SPDX-License-Identifier: GPL-2.0
"""A guest that measures: it has all it needs in memory, so that nothing of the host reaches it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checkout import TOP
from ..model.errors import LabError
from . import image
from .core import Core
from .kernels import uncompressed_image
from .qemu import KERNEL_OPTIONS, EmulatedGuest, cpu_options

# The default guest: ten hosts with deep buffers and a trace take a third.
MEMORY = "2G"
# How often a guest's file is looked at for news.
POLL_S = 0.05
# Where a guest has the checkout, and its plugin for tc.
TOP_INSIDE = "/lab"
PLUGIN_INSIDE = "lab/build/tc/q_fq_rr.so"


def command_line(clock: str, seed: int, cpus: int, memory: str, agent: str, kernel: str, root: str) -> list[str]:
    """The emulator's arguments for a guest in memory.

    :param agent: file for what the guest says
    :param root: its root file system
    """
    return [
        *("-name", "pktpair-lab", "-m", memory, "-smp", str(cpus), "-machine", "q35"),
        *("-accel", "kvm" if clock == "real" else "tcg"),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"),
        *("-device", "virtio-serial-pci,max_ports=2,ioeventfd=off"),
        *("-chardev", f"file,id=agent,path={agent}"),
        *("-device", "virtserialport,name=pktpair.agent,chardev=agent"),
        *("-kernel", kernel, "-initrd", root),
        *("-append", " ".join(("console=ttyS0", "panic=-1", *KERNEL_OPTIONS))),
        *cpu_options(clock, seed),
    ]


@dataclass(frozen=True)
class Copies:
    """Copies of what every guest on a kernel is made of, so that a change of the files meanwhile reaches none.

    :param base: what is the same for every job
    :param common: other files that every guest has, by the paths in the guest
    """

    base: Path
    common: Mapping[str, Path]


class SealedGuest(EmulatedGuest):
    """A guest in memory: job and files go in before the first instruction.

    :ivar copies: what it is made of; None is the files as they are now
    """

    memory = MEMORY
    copies: Copies | None = None
    _core: Core | None = None

    def common_files(self) -> dict[str, Path]:
        """What every guest of a kind has beside the base and the modules, by the paths in the guest."""
        plugin = TOP / "build" / "tc" / "q_fq_rr.so"
        return {PLUGIN_INSIDE: plugin} if plugin.exists() else {}

    def more_files(self) -> dict[str, Path]:
        """What a guest needs beside for its job, by the paths in the guest."""
        return {}

    def close(self) -> None:
        """End the guest, whatever state it is in."""
        super().close()
        if self._core is not None:
            self._core.release()
            self._core = None

    def _launch(self, job: dict[str, Any]) -> None:
        self._refuse_unusable()
        self._boot(self._pack(job))

    def _pack(self, job: dict[str, Any]) -> Path:
        """The root file system with the job; its path."""
        tree = self.cache / "kernels" / self.kernel / "lib" / "modules" / self.kernel
        job = {**job, "top": TOP_INSIDE, "modules": [f"/lab/modules/{path.name}" for path in self.modules()]}
        root = self._folder / "root.cpio"
        try:
            base, common = (self.copies.base, self.copies.common) if self.copies else (None, self.common_files())
            modules = {f"lab/modules/{path.name}": path for path in self.modules()}
            extra = modules | dict(common) | self.more_files()
            image.build(tree, self.cache / "images", job, extra, root, base)
        except (LookupError, subprocess.CalledProcessError) as error:
            raise LabError(str(error)) from None
        return root

    def _boot(self, root: Path, more: Sequence[str] = ()) -> None:
        """Start the emulator.

        :param more: further arguments of it
        """
        # A file takes what the guest says at once: it never has to wait for us.
        out = self._folder / "agent"
        out.touch()
        self._out = out.open("rb", buffering=0)
        self._began = time.monotonic()
        self._heard = False
        pinned = []
        if self.clock == "virtual":
            self._core = Core()
            pinned = self._core.command()
        image_path = str(uncompressed_image(self.kernel, self.cache))
        machine = command_line(self.clock, self.seed, self.cpus, self.memory, str(out), image_path, str(root))
        self._spawn([*pinned, "qemu-system-x86_64", *machine, *more])

    def _read(self, size: int) -> bytes:
        assert self._process is not None
        while True:
            # while it still has a process, of which poll() takes leave
            self.cpu_s()
            ended = self._process.poll() is not None
            data = self._out.read(size)
            if data:
                self._heard = True
                return data
            if ended:
                return b""
            if not self._heard and time.monotonic() - self._began > self._boot_limit_s():
                failure = self._boot_failure()
                self.kill()
                raise failure
            time.sleep(POLL_S)
