# SPDX-License-Identifier: GPL-2.0
"""A command in User Mode Linux: a kernel that is a program.

Its code runs on this machine's processor as any program's does, so that what it takes
is what it takes on a machine of its own, cache misses included.  Its memory is a file
in huge pages, as a kernel's own memory is mapped with; in small ones each access to
packets that lie far apart would have to be translated anew.

The command sees the host's files, and cannot write there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..checkout import CACHE, TOP
from ..guest import protocol
from ..model.errors import LabError
from .core import Core
from .guest import Guest

BUILD = CACHE / "torture" / "build-uml"
INIT = TOP / "mininet-tests" / "uml" / "init"
# 262,144 packets that wait take 200 MiB, 65,535 classes of DRR 100 MiB.
MEMORY_MIB = 1536
# The processor's counter must count time, whatever the processor's frequency.
COUNTER_FLAGS = {"constant_tsc", "nonstop_tsc"}
CPU_INFO = Path("/proc/cpuinfo")


def prepare() -> str:
    """Build kernel and modules unless they are there; returns the kernel's version."""
    done = subprocess.run([TOP / "scripts" / "source-kernel", "uml"], stdout=subprocess.PIPE, text=True, check=False)
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


class UserModeLinux(Guest):
    """Does one command. It has no agent: what its first process prints is made frames here."""

    _core: Core | None = None

    def __init__(self, kernel: str) -> None:
        """Not started yet.

        :param kernel: its version, as ``prepare`` has returned it
        """
        super().__init__(kernel, "real")
        self._is_ready = False
        self._tail: list[str] = []

    def close(self) -> None:
        """End it, whatever state it is in."""
        self.kill_process()
        super().close()
        if self._core is not None:
            self._core.release()
            self._core = None

    def _launch(self, job: dict[str, Any]) -> None:
        if job["kind"] != "exec":
            raise LabError(f"User Mode Linux runs commands, and no {job['kind']}")
        self._core = Core()
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
            *(str(word) for word in job["command"]),
        ]
        self._spawn(argv, output=subprocess.PIPE, env={**os.environ, "TMPDIR": str(self._folder)})

    def receive(self) -> tuple[bytes, bytes]:
        """One frame; raises LabError if the kernel ends before the command."""
        if not self._is_ready:
            self._is_ready = True
            return protocol.READY, json.dumps({"kernel": self.kernel, "modules": {}}).encode()
        assert self._process is not None and self._process.stdout is not None
        raw = self._process.stdout.readline()
        if not raw:
            said = [*self._console_tail()[-4:], *self._tail]
            raise LabError(f"User Mode Linux ended early: {' / '.join(line for line in said if line)}")
        line = raw.decode(errors="replace").strip()
        if line.startswith("status "):
            outcome: dict[str, Any] = {"status": int(line.split()[1]), "error": None, "warnings": [], "dmesg_tail": []}
            return protocol.EXIT, json.dumps(outcome).encode()
        self._tail = [*self._tail[-4:], line]
        return protocol.STDOUT, f"{line}\n".encode()

    def huge_mib(self) -> int:
        """How much of its memory is mapped in huge pages by now."""
        assert self._process is not None
        text = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text()
        found = re.search(r"^ShmemPmdMapped:\s*(\d+) kB", text, re.MULTILINE)
        return int(found[1]) // 1024 if found else 0
