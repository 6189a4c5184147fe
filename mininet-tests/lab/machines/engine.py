# SPDX-License-Identifier: GPL-2.0
"""Does a sweep's runs in guests: one frozen machine for each kernel, build and network, a copy for each run."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from .. import files
from ..checkout import CACHE, TOP
from ..model.errors import LabError, PlanError
from ..model.our_modules import CONGESTION_CONTROLS, FILES
from ..model.plan import Plan
from ..store.engine import EngineError, Surroundings
from ..store.run import Run
from . import image
from .core import may_go_ahead
from .frozen import Copy, Frozen, Template, pathless_command_line
from .guest import Guest
from .kernels import find_kernel, uncompressed_image
from .plans import TOLD, TRAFFIC, PlanGuest, bpftrace_files, inside
from .sealed import PLUGIN_INSIDE, TOP_INSIDE, Copies

EMULATOR = "qemu-system-x86_64"
BUILDS = CACHE / "builds"
# A frozen machine takes 200 MB of disk.
KEPT_MACHINES = 4

AnyGuest = TypeVar("AnyGuest", bound=Guest)


@dataclass
class Machine:
    """A frozen guest that is being made, or there, and how many use it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    frozen: Frozen | None = None


class Guests:
    """The engine of a sweep; a context manager that ends its guests and removes what they were copied from."""

    def __init__(self) -> None:
        self._folder, self._held = files.held_folder("pktpair-frozen-")
        self._machines: dict[str, Machine] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._copying = threading.Lock()
        self._guests: set[Guest] = set()
        self._stopped = False
        # what its guests are made of: copies, so that each guest has what the digests are of
        self._common: dict[str, Copies] = {}
        self._modules: dict[tuple[str, str], list[Path]] = {}

    def __enter__(self) -> Guests:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._held.close()

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        """What the runs on a kernel with a build of the modules come from; EngineError says what is missing."""
        try:
            release = find_kernel(kernel or None)
            guest = PlanGuest(release)
            copies = self._common_of(guest)
            # the checkout's, whatever modules a guest has
            plugin = copies.common.get(PLUGIN_INSIDE)
            version = subprocess.run([EMULATOR, "--version"], capture_output=True, text=True, check=True).stdout
            built = self._modules_of(release, modules)
            told = {**guest.common_job(), "clock": guest.clock, "top": TOP_INSIDE}
            return Surroundings(
                release=release,
                kernel=uncompressed_image(release),
                emulator=version.splitlines()[0],
                tools={"image": copies.base, **({"tc plugin": plugin} if plugin else {})},
                code={"traffic engine": copies.common[inside(TRAFFIC)], "told": copies.common[inside(TOLD)]},
                modules={path.stem: path for path in built},
                programs={"bpftrace": bpftrace_files},
                machine={"command line": pathless_command_line(), "job": json.dumps(told)},
                noted={"real_time": may_go_ahead()},
                ccs=tuple(ccs(release, built)),
            )
        except (LabError, LookupError) as error:
            raise EngineError(str(error)) from None
        except subprocess.CalledProcessError as error:
            raise EngineError(f"{EMULATOR}: {error}") from None
        except OSError as error:
            raise EngineError(self._refused(error)) from None

    def run(self, run: Run) -> dict[str, Any]:
        """A run's raw result, of a copy of the machine with its network; EngineError if a guest fails."""
        try:
            with self._machine(run.kernel, run.build, run.plan) as frozen, self._kept(Copy(frozen)) as copy:
                raw = copy.do(run.plan)
                return {**raw, "cpu_s": round(copy.cpu_s(), 2)}
        except LabError as error:
            first, *log = str(error).splitlines()
            raise EngineError(first, log) from None
        except OSError as error:
            if error.errno not in files.REFUSED:
                raise
            raise EngineError(self._refused(error)) from None

    def parts(self, kernel: str, build: str) -> tuple[Copies, list[Path]]:
        """What the guests on a kernel with a build of the modules are made of: common files, and the modules."""
        release = find_kernel(kernel or None)
        return self._common_of(PlanGuest(release)), self._modules_of(release, build)

    def _refused(self, error: OSError) -> str:
        """A copy into the folder names no file."""
        return f"{error.filename or self._folder}: {error.strerror}"

    def stop(self) -> None:
        """End every guest at once."""
        with self._lock:
            self._stopped = True
            for guest in self._guests:
                # its thread closes it
                guest.kill_process()

    @contextlib.contextmanager
    def _machine(self, kernel: str, build: str, plan: Plan) -> Iterator[Frozen]:
        """The machine with a plan's network, made when it is first asked for; it stays while it is used."""
        key = json.dumps([kernel, build, plan.structure, bool(plan.record.bpftrace)])
        with self._lock:
            machine = self._machines.setdefault(key, Machine())
            machine.users += 1
            # the last that was asked for is the last to go
            self._machines[key] = self._machines.pop(key)
        try:
            with machine.lock:
                if machine.frozen is None:
                    release = find_kernel(kernel or None)
                    template = Template(release, modules=self._modules_of(release, build))
                    template.copies = self._common_of(template)
                    with self._kept(template):
                        machine.frozen = template.freeze(plan, self._folder, f"machine-{next(self._numbers)}")
            yield machine.frozen
        finally:
            with self._lock:
                machine.users -= 1
                idle = [name for name, one in self._machines.items() if not one.users]
                for name in idle[: max(0, len(self._machines) - KEPT_MACHINES)]:
                    gone = self._machines.pop(name)
                    if gone.frozen is not None:
                        gone.frozen.remove()

    def _common_of(self, guest: PlanGuest) -> Copies:
        """What every guest on a kernel has, copied when it is first asked for."""
        with self._copying:
            if guest.kernel not in self._common:
                folder = self._folder / f"common-{guest.kernel}"
                folder.mkdir(exist_ok=True)
                tree = CACHE / "kernels" / guest.kernel / "lib" / "modules" / guest.kernel
                image.copy_base(tree, CACHE / "images", folder / "base")
                common = {
                    name: Path(shutil.copy2(path, folder / path.name)) for name, path in guest.common_files().items()
                }
                self._common[guest.kernel] = Copies(folder / "base", common)
            return self._common[guest.kernel]

    def _modules_of(self, release: str, build: str) -> list[Path]:
        """The project's modules of a build, copied when they are first asked for."""
        with self._copying:
            if (release, build) not in self._modules:
                folder = self._folder / f"modules-{next(self._numbers)}"
                folder.mkdir()
                copies = []
                for path in modules_of(release, build):
                    # while they are read, scripts/build-modules waits
                    with files.locked(path.parent.parent / "lock", shared=True):
                        copies.append(Path(shutil.copy2(path, folder / path.name)))
                self._modules[release, build] = copies
            return self._modules[release, build]

    @contextlib.contextmanager
    def _kept(self, guest: AnyGuest) -> Iterator[AnyGuest]:
        """The guest, which "stop" ends; closed at the end."""
        with self._lock:
            if self._stopped:
                raise LabError("the sweep has ended")
            self._guests.add(guest)
        try:
            with guest:
                yield guest
        finally:
            with self._lock:
                self._guests.discard(guest)


def ccs(release: str, modules: list[Path]) -> list[str]:
    """Congestion controls that a kernel has, with ours if they are built."""
    built = {path.stem for path in modules}
    missing = {name for module, names in CONGESTION_CONTROLS.items() if module not in built for name in names}
    return [name for name in known_ccs(release) if name not in missing]


def known_ccs(release: str) -> list[str]:
    """Congestion controls that a kernel has, with ours, whether they are built or not."""
    folder = CACHE / "kernels" / release / "lib" / "modules" / release / "kernel" / "net" / "ipv4"
    return [
        "reno",
        "cubic",
        *(name for names in CONGESTION_CONTROLS.values() for name in names),
        *sorted(path.name.split(".")[0][4:] for path in folder.glob("tcp_*.ko*")),
    ]


def modules_of(release: str, build: str) -> list[Path]:
    """The project's modules for a kernel: the checkout's own, a folder's, or a revision's, which is built."""
    folder = _folder_of(build)
    if build and not Path(build).is_dir():
        _build(folder, release)
    places = [folder / "build" / release, folder]
    for place in places:
        found = [place / part for file in FILES for part in (file, Path(file).name)]
        found = [path for path in found if path.exists()]
        if found:
            return found
    if build:
        names = ", ".join(Path(file).name for file in FILES)
        raise PlanError(f"--modules {build}: none of {names} for kernel {release} in {folder}")
    return []


def _folder_of(build: str) -> Path:
    if not build:
        return TOP
    if Path(build).is_dir():
        return Path(build).resolve()
    return BUILDS / _revision(build)


@functools.cache
def _revision(name: str) -> str:
    command = ["git", "-C", str(TOP), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PlanError(f"--modules {name}: neither a folder nor a revision of this checkout")
    return done.stdout.strip()


def unpack(revision: str, folder: Path) -> Path:
    """A new folder with the files of a revision of this checkout."""
    folder.mkdir()
    packed = subprocess.run(["git", "-C", str(TOP), "archive", revision], capture_output=True, check=True)
    # by tar: the tarfile of the distribution's Python 3.11.2 cannot be told to keep within a folder
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


def _build(folder: Path, release: str) -> None:
    """Build a revision's modules for a kernel, and its plugin for tc, unless they are there."""
    BUILDS.mkdir(parents=True, exist_ok=True)
    # what a killed command leaves behind builds on, and keeps the lock
    with files.locked(BUILDS / "lock") as held:
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=BUILDS) as partial:
                unpack(folder.name, Path(partial) / "tree").rename(folder)
        built = folder / "build" / release
        complete = folder / "build" / f"{release}.complete"
        if complete.exists():
            return
        shutil.rmtree(built, ignore_errors=True)
        # its own folder has no cache, and an old one no --quiet
        command = ["scripts/build-modules", "--kdir", str(CACHE / "kernels" / release / "build")]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, pass_fds=held)
        if done.returncode:
            raise PlanError(f"revision {folder.name}: {' '.join(command)}: {done.stderr.strip()[-500:]}")
        complete.touch()
