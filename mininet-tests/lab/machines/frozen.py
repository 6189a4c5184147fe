# SPDX-License-Identifier: GPL-2.0
"""A guest that is stopped when its network stands; each run begins with a copy of it.

So a run's result does not depend on what ran before: the machine that it begins with is
the same to the last bit. And a copy goes on within a third of a second, where a boot and
a network take twenty.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from ..guest import protocol
from ..model.errors import LabError
from ..model.plan import Plan
from .plans import PlanGuest, times
from .sealed import MEMORY, command_line

# What the agent's message before the last looks like: the network stands.
STOPPED = "guest-panicked"
SAVE_TIMEOUT_S = 120
# Of the emulator's own random numbers; a run's are its plan's.
SEED = 1
CONTACT_TIMEOUT_S = 20
POLL_S = 0.01


@dataclass(frozen=True)
class Frozen:
    """A stopped guest, saved.

    :param root: its root file system, which the emulator wants to see again
    :param state: all of its memory and devices
    :param modules: source versions of the project's modules in it
    """

    kernel: str
    root: Path
    state: Path
    modules: dict[str, str]

    def remove(self) -> None:
        """Give its space back."""
        self.root.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)


def stopping_options(monitor: str, told: str) -> list[str]:
    """The emulator's arguments for a guest that stops, and that reads a file when it goes on."""
    return [
        *("-device", "pvpanic", "-action", "panic=pause"),
        *("-qmp", f"unix:{monitor},server=on,wait=off"),
        *("-fw_cfg", f"name=opt/lab/job,file={told}"),
    ]


def pathless_command_line() -> str:
    """The emulator's of every copy, without the paths in it: seed, devices, processor, the kernel's arguments."""
    machine = command_line("virtual", SEED, 1, MEMORY, "AGENT", "KERNEL", "ROOT")
    return " ".join([*machine, *stopping_options("MONITOR", "TOLD")])


def orders(plan: Plan) -> dict[str, Any]:
    """What a copy is told of its run; JSON can hold it."""
    return {"plan": plan.as_data(), "times": times(plan)}


class StoppingGuest(PlanGuest):
    """A guest whose agent can stop it and be told what to do when it goes on."""

    def told(self, what: dict[str, Any]) -> list[str]:
        """The emulator's options for a guest that reads this when it goes on."""
        path = self._folder / "told.json"
        path.write_text(json.dumps(what))
        return stopping_options(str(self._folder / "monitor"), str(path))

    def monitor(self) -> QEMUMonitorProtocol:
        """The emulator's monitor, connected."""
        deadline = time.monotonic() + CONTACT_TIMEOUT_S
        path = self._folder / "monitor"
        while not path.exists():
            if time.monotonic() > deadline or self._process is None or self._process.poll() is not None:
                raise LabError(self._failure("the emulator could not be started"))
            time.sleep(POLL_S)
        monitor = QEMUMonitorProtocol(str(path))
        monitor.connect()
        return monitor

    def tell(self, monitor: QEMUMonitorProtocol, command: str, **arguments: Any) -> dict[str, Any]:
        """The emulator's answer to a command or a question; LabError if it has ended."""
        try:
            answer = monitor.cmd(command, **arguments)
        except QMPError as error:
            raise LabError(self._failure(f"the emulator does not answer {command}: {error}")) from None
        assert isinstance(answer, dict)
        return answer

    def await_status(self, monitor: QEMUMonitorProtocol, wanted: str, timeout_s: float) -> None:
        """Wait until the machine is in a state."""
        deadline = time.monotonic() + timeout_s
        while (found := self.tell(monitor, "query-status")["status"]) != wanted:
            if time.monotonic() > deadline:
                raise LabError(self._failure(f"the guest is {found} and not {wanted} after {timeout_s} s"))
            time.sleep(POLL_S)

    @contextlib.contextmanager
    def monitored(self) -> Iterator[QEMUMonitorProtocol]:
        """The monitor until the guest has ended, or is to: closed before, it would move the guest's clock.

        The emulator notices at a moment that depends on this machine.
        """
        monitor = self.monitor()
        try:
            yield monitor
        finally:
            # the emulator may be gone
            with contextlib.suppress(EOFError, OSError, QMPError):
                monitor.close()

    def await_stop(self, monitor: QEMUMonitorProtocol, timeout_s: float) -> None:
        """Wait until the guest has stopped itself, without asking: that would move its clock as well."""
        deadline = time.monotonic() + timeout_s
        try:
            while (monitor.pull_event(wait=max(POLL_S, deadline - time.monotonic())) or {}).get("event") != "STOP":
                pass
        except (QMPError, TimeoutError):
            raise LabError(self._failure(f"the guest has not stopped after {timeout_s} s")) from None


class Template(StoppingGuest):
    """Boots, builds the network of a plan, stops and is saved."""

    _monitor: QEMUMonitorProtocol

    @functools.cached_property
    def _connections(self) -> contextlib.ExitStack:
        """What is closed when the guest is saved, or cannot be."""
        return contextlib.ExitStack()

    def _launch(self, job: dict[str, Any]) -> None:
        self._refuse_unusable()
        self._root = self._pack(job)
        # it waits until somebody listens
        self._boot(self._root, [*self.told({}), "-S"])
        self._monitor = self._connections.enter_context(self.monitored())
        self.tell(self._monitor, "cont")

    def freeze(self, plan: Plan, folder: Path, name: str) -> Frozen:
        """A machine with this plan's network, saved in the folder; LabError if there cannot be one."""
        self._scripts = bool(plan.record.bpftrace)
        return self.freeze_network(plan.structure, folder, name)

    def freeze_network(self, structure: list[Any], folder: Path, name: str) -> Frozen:
        """A machine with a network, as ``Plan.structure`` says it, saved in the folder; LabError likewise."""
        with self._connections:
            return self._freeze(structure, folder, name)

    def _freeze(self, structure: list[Any], folder: Path, name: str) -> Frozen:
        # of all plans with this network the machine is the same, whichever is the first
        self.start({**self.common_job(), "plans": [], "times": [], "structure": structure})
        kind, payload = self.receive()
        if kind != protocol.PROGRESS:
            raise LabError(self._failure("the network could not be built", json.loads(payload)))
        monitor = self._monitor
        self.await_stop(monitor, SAVE_TIMEOUT_S)
        frozen = Frozen(self.kernel, folder / f"{name}.cpio", folder / f"{name}.state", dict(self.ready["modules"]))
        # on a worker of a cluster the folder may be of another file system
        shutil.move(self._root, frozen.root)
        self.tell(monitor, "migrate-set-parameters", **{"max-bandwidth": 0})
        self.tell(monitor, "migrate", uri=f"exec:cat > '{frozen.state}'")
        deadline = time.monotonic() + SAVE_TIMEOUT_S
        while (found := self.tell(monitor, "query-migrate"))["status"] != "completed":
            if found["status"] == "failed" or time.monotonic() > deadline:
                raise LabError(f"the guest could not be saved: {found.get('error-desc', found['status'])}")
            time.sleep(POLL_S)
        self.kill()
        return frozen


class Copy(StoppingGuest):
    """A saved machine that goes on with one plan."""

    def __init__(self, frozen: Frozen) -> None:
        super().__init__(frozen.kernel, seed=SEED)
        self._frozen = frozen

    def do(self, plan: Plan) -> dict[str, Any]:
        """The plan's raw result; LabError if the guest ends before there is one."""
        return self.go_on(orders(plan))

    def go_on(self, orders: dict[str, Any]) -> dict[str, Any]:
        """The same, of what ``orders`` has made of a plan."""
        more = self.told(orders)
        self._boot(self._frozen.root, [*more, "-incoming", f"exec:cat '{self._frozen.state}'"])
        raw: dict[str, Any] = {}
        with self.monitored() as monitor:
            self.await_status(monitor, STOPPED, SAVE_TIMEOUT_S)
            self.tell(monitor, "cont")
            # what was saved has booted, and its first word is the result, however long that takes
            self._heard = True
            for kind, payload in self.frames():
                if kind == protocol.RESULT:
                    raw = json.loads(payload)
                elif kind == protocol.EXIT and not raw:
                    raise LabError(self._failure("the run did not end", json.loads(payload)))
        return raw
