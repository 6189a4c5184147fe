# SPDX-License-Identifier: GPL-2.0
"""Runs a command in User Mode Linux: a kernel that is a program.

Its code runs on this machine's processor as any program's does, so that what it takes
is what it takes on a machine of its own, cache misses included.  Its memory is a file
in huge pages, as a kernel's own memory is mapped with; in small ones each access to
packets that lie far apart would have to be translated anew.

The command sees the host's files, and cannot write there.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .vm import CACHE, TOP, Core, LabError

BUILD = CACHE / "torture" / "build-native"
INIT = TOP / "mininet-tests" / "native" / "init"
# 262,144 packets that wait take 200 MiB, 65,535 classes of DRR 100 MiB.
MEMORY_MIB = 1536
# The processor's counter must count time, whatever the processor's frequency.
COUNTER_FLAGS = {"constant_tsc", "nonstop_tsc"}
CPU_INFO = Path("/proc/cpuinfo")


def prepare() -> str:
    """Build kernel and modules unless they are there; returns the kernel's version."""
    done = subprocess.run([TOP / "scripts" / "source-kernel", "native"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise LabError("User Mode Linux could not be built")
    command = [str(TOP / "scripts" / "build-modules"), "--quiet", "--kdir", str(BUILD), "ARCH=um", "SUBARCH=x86_64"]
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise LabError("the modules could not be built for User Mode Linux")
    return done.stdout.strip()


def processor() -> str:
    """What the processor is called; refuses one whose counter does not count time."""
    text = CPU_INFO.read_text()
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    missing = COUNTER_FLAGS - set(flags[1].split() if flags else ())
    if missing:
        raise LabError(f"the processor's counter does not count time: no {', '.join(sorted(missing))} in {CPU_INFO}")
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return name[1] if name else "unknown"


def with_huge_pages(folder: Path) -> list[str]:
    """What to put before a command that gets a file system of huge pages at the folder; nothing if that cannot be."""
    mount = f"mount -t tmpfs -o huge=always,size={MEMORY_MIB + 64}M tmpfs {folder}"
    own_user = ["--map-root-user"] if os.geteuid() else []
    before = ["unshare", *own_user, "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    works = subprocess.run([*before, "true"], capture_output=True, check=False).returncode == 0
    return before if works else []


class UserModeLinux:
    """A command in User Mode Linux, and its status; a context manager that always ends it."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pktpair-native-"))
        self._core = Core()
        self.status = -1
        argv = [
            *with_huge_pages(self._folder),
            *self._core.command(),
            str(BUILD / "linux"),
            f"mem={MEMORY_MIB}M",
            f"uml_dir={self._folder}",
            *("root=/dev/root", "rootfstype=hostfs", "ro", f"init={INIT}"),
            *("con=null", "con0=null,fd:1", "quiet"),
            # until it trusts its random numbers, each takes the kernel microseconds (CAKE draws one a packet)
            "random.trust_cpu=on",
            "--",
            *(str(word) for word in command),
        ]
        self._log = self._folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "TMPDIR": str(self._folder)},
                start_new_session=True,
            )

    def __enter__(self) -> UserModeLinux:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._core.release()
        shutil.rmtree(self._folder, ignore_errors=True)

    def lines(self) -> Iterator[str]:
        """What the command prints, until it has ended; raises LabError if the kernel ends before."""
        assert self._process.stdout is not None
        tail: list[str] = []
        for raw in self._process.stdout:
            line = raw.decode(errors="replace").strip()
            if line.startswith("status "):
                self.status = int(line.split()[1])
                return
            tail = [*tail[-4:], line]
            yield line
        said = [*self._log.read_text(errors="replace").splitlines()[-4:], *tail]
        raise LabError(f"User Mode Linux ended early: {' / '.join(line for line in said if line)}")

    def huge_mib(self) -> int:
        """How much of its memory is mapped in huge pages by now."""
        text = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text()
        found = re.search(r"^ShmemPmdMapped:\s*(\d+) kB", text, re.MULTILINE)
        return int(found[1]) // 1024 if found else 0
