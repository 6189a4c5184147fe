# SPDX-License-Identifier: GPL-2.0
"""What guests in QEMU have in common.

Virtual time: QEMU's instruction counter is the guest's clock (one instruction
is one nanosecond) and an idle guest jumps to its next timer, so that what is
measured does not depend on the speed or load of the host.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..checkout import CACHE
from ..model.errors import LabError
from .guest import Guest
from .kernels import find_kernel

KVM_DEVICE = Path(os.environ.get("PKTPAIR_KVM", "/dev/kvm"))

# A boot takes 15 s of one core; a host that is ten times slower still gets in.
BOOT_TIMEOUT_S = 180
# With working KVM a boot takes 3 s; where KVM exists but cannot run a stock
# kernel the guest hangs, and this is how long we let it.
KVM_PROBE_TIMEOUT_S = int(os.environ.get("PKTPAIR_KVM_TIMEOUT", "40"))
# Every boot begins at this instant, so nothing depends on the date.
GUEST_EPOCH = "2026-01-01T00:00:00"

# Without the mitigations a guest instruction is not spent on attacks that a
# throw-away guest need not fear; without a random base address every boot lays
# out the kernel alike.
KERNEL_OPTIONS = ("mitigations=off", "nokaslr", "edd=off", "loglevel=5")

# QEMU's q35 has room for some more.
MAX_CPUS = 255
KVM_GET_API_VERSION = 0xAE00
KVM_CREATE_VM = 0xAE01


def probe_kvm() -> str | None:
    """Why KVM cannot be used, or None if the device answers."""
    if not KVM_DEVICE.exists():
        return f"{KVM_DEVICE} does not exist"
    try:
        with KVM_DEVICE.open("rb+", buffering=0) as device:
            version = fcntl.ioctl(device, KVM_GET_API_VERSION)
            if version != 12:
                return f"{KVM_DEVICE} speaks version {version} of the interface, not 12"
            os.close(fcntl.ioctl(device, KVM_CREATE_VM, 0))
    except OSError as error:
        return f"{KVM_DEVICE} is present but unusable: {error.strerror}"
    return None


def cpu_options(clock: str, seed: int) -> list[str]:
    """What the emulator needs for a clock; the same for every kind of guest."""
    options = ["-seed", str(seed)]
    if clock != "real":
        # A plain processor: what "max" adds (five-level page tables, access
        # prevention) costs the emulator a fifth of its speed, and so do the
        # idle routine and clocks of an old AMD one.
        model = "qemu64,vendor=GenuineIntel,family=6,model=94,stepping=3,+rdrand"
        if clock == "emulated":
            # pandas is compiled for x86-64-v2
            model += ",+ssse3,+sse4.1,+sse4.2,+popcnt"
        options += ["-cpu", model]
    if clock == "virtual":
        options += ["-icount", "shift=0,sleep=off", "-rtc", f"base={GUEST_EPOCH},clock=vm"]
    return options


class EmulatedGuest(Guest):
    """A guest in QEMU."""

    # with its kernel, and its root file system once that is made
    cache = CACHE

    def __init__(
        self,
        kernel: str | None = None,
        clock: str = "virtual",
        cpus: int = 1,
        seed: int = 1,
        modules: Sequence[Path] | None = None,
    ) -> None:
        """Not booted yet; LabError if it cannot be.

        :param modules: files of the project's modules; by default those that the checkout has built
        """
        if not 1 <= cpus <= MAX_CPUS:
            raise LabError(f"--cpus {cpus}: must be 1 to {MAX_CPUS}")
        if clock == "virtual" and cpus != 1:
            raise LabError(
                f"--cpus {cpus}: the virtual clock counts the instructions of one CPU; "
                "use --clock real, or --clock emulated without KVM"
            )
        super().__init__(find_kernel(kernel, self.cache), clock, modules)
        self.cpus = cpus
        self.seed = seed

    def _refuse_unusable(self) -> None:
        if self.clock == "real":
            why = probe_kvm()
            if why:
                raise LabError(f"--clock real needs KVM: {why}; the default --clock virtual needs no KVM")
        if shutil.which("qemu-system-x86_64") is None:
            raise LabError("qemu-system-x86_64 is not installed: run scripts/bootstrap")

    def _boot_limit_s(self) -> float:
        return KVM_PROBE_TIMEOUT_S if self.clock == "real" else BOOT_TIMEOUT_S

    def _boot_failure(self) -> LabError:
        limit_s = self._boot_limit_s()
        if self.clock == "real":
            return LabError(
                f"--clock real: {KVM_DEVICE} is present but unusable: a stock kernel did not boot with it "
                f"within {limit_s} s; the default --clock virtual needs no KVM"
            )
        return LabError(self._failure(f"the guest did not boot within {limit_s} s"))
