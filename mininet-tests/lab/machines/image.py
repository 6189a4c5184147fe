# SPDX-License-Identifier: GPL-2.0
"""A root file system in memory for guests that run experiments.

Reading files from the host would move virtual time by what the host takes to
answer, and seed the guest's random numbers with it: no two boots would be
alike.  So a guest that measures is given all that it needs, its job included,
before its first instruction: programs and libraries of the host's
distribution, the kernel modules of networking, and the agent.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from .. import files
from ..checkout import TOP

# Where our packages are.
PACKAGES = TOP / "mininet-tests"
LAB = PACKAGES / "lab"
PYTHON = Path("/usr/bin/python3")
# Where the distribution keeps Mininet.
DISTRIBUTION = "/usr/lib/python3/dist-packages"
# Of the agent: sets are listed in the same order in every boot.
AGENT_ENVIRONMENT = {"PYTHONPATH": "", "PYTHONHASHSEED": "0"}

PROGRAMS = (
    *("bash", "busybox", "cat", "env", "ethtool", "ifconfig", "insmod", "ip", "iperf3", "mnexec", "modprobe"),
    *("ping", "rmmod", "sh", "sleep", "ss", "sysctl", "tc", "tcpdump"),
)
FOLDERS = (
    "dev",
    "etc",
    "lab",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
    "var",
)
LINKS = (
    ("bin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("sbin", "usr/sbin"),
    ("usr/sbin/init", "/init"),
    ("var/run", "/run"),
)
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/sh\ntcpdump:x:100:100::/:/bin/sh\n",
    "group": "root:x:0:\nnogroup:x:65534:\ntcpdump:x:100:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nprotocols: files\nservices: files\n",
    "protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n",
}
# Kernel modules that a run may need, below kernel/ in a module tree.
MODULES = re.compile(
    r"kernel/(net/sched/|net/ipv4/tcp_|drivers/net/(veth|dummy|ifb)\.ko|drivers/virtio/|drivers/char/virtio_console)"
)
COMPILE = """
import json, py_compile, sys
for number, (source, name) in enumerate(json.load(sys.stdin)):
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(source, f"{sys.argv[1]}/{number}", name, doraise=True, invalidation_mode=unchecked)
"""
MODULE_INDICES = re.compile(r"modules\.(dep|alias|symbols|builtin|softdep|devname|order)")
INIT = """#!/usr/bin/busybox sh
export PATH=/usr/sbin:/usr/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox mkdir -p /dev/pts /dev/shm
busybox mount -t devpts devpts /dev/pts
busybox mount -t tmpfs tmpfs /dev/shm
busybox mount -t tracefs tracefs /sys/kernel/tracing
busybox mount -t cgroup2 cgroup2 /sys/fs/cgroup
busybox --install -s /usr/bin 2>/dev/null
hostname lab
modprobe -a virtio_pci virtio_console
({agent} --sealed) </dev/null >/dev/console 2>&1
busybox poweroff -f
"""


class Archive:
    """Writes the format that the kernel unpacks (cpio, "newc")."""

    def __init__(self, out: io.BufferedIOBase) -> None:
        self._out = out
        self._count = 0
        self._known: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes) -> None:
        self._count += 1
        raw = name.encode() + b"\0"
        fields = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        header = b"070701" + b"".join(b"%08x" % value for value in fields)
        self._out.write(header + raw + b"\0" * (-(len(header) + len(raw)) % 4))
        self._out.write(data + b"\0" * (-len(data) % 4))

    def folder(self, name: str) -> None:
        """A folder and those above it."""
        name = name.strip("/")
        if name and name not in self._known:
            self.folder(os.path.dirname(name))
            self._known.add(name)
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def file(self, name: str, data: bytes, executable: bool = False) -> None:
        """A file; a second one of the same name is left out."""
        name = name.strip("/")
        if name not in self._known:
            self.folder(os.path.dirname(name))
            self._known.add(name)
            self._entry(name, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def device(self, name: str, major: int, minor: int) -> None:
        """A character device."""
        self._count += 1
        raw = name.encode() + b"\0"
        fields = (self._count, stat.S_IFCHR | 0o600, 0, 0, 1, 0, 0, 0, 0, major, minor, len(raw), 0)
        header = b"070701" + b"".join(b"%08x" % value for value in fields)
        self._out.write(header + raw + b"\0" * (-(len(header) + len(raw)) % 4))

    def close(self) -> None:
        """The end mark, padded so that another archive can follow."""
        self._entry("TRAILER!!!", 0, b"")
        self._out.write(b"\0" * (-self._out.tell() % 512))


def merged(path: str) -> str:
    """Where a file lies once /bin, /lib and the like are links into /usr."""
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)


def libraries(path: str) -> list[str]:
    """The shared libraries that a program or library needs."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]


def installed(name: str) -> str | None:
    """The path of one of this machine's programs, or None."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def programs() -> list[str]:
    """The programs' paths; LookupError names one that is not installed."""
    found = []
    for name in PROGRAMS:
        path = installed(name)
        if path is None:
            raise LookupError(f"{name} is not installed: run scripts/bootstrap")
        found.append(path)
    return found


def agent_program(code: str, packages: str) -> list[str]:
    """The agent's interpreter, with what it does.

    The lab and Mininet stand behind the standard library. An import looks into each folder in
    turn, and in a guest that sees the host's files each look is a message to the host.

    :param packages: where the lab is
    """
    folders = json.dumps([packages, DISTRIBUTION])
    # -P: nothing is imported from where it is started
    return [str(PYTHON), "-S", "-P", "-B", "-c", f"import sys; sys.path += {folders}; {code}"]


def agent_command(packages: str = str(PACKAGES)) -> list[str]:
    """What starts the agent, in the environment of AGENT_ENVIRONMENT."""
    return agent_program("from lab.guest import agent; agent.main()", packages)


def agent_line(packages: str = str(PACKAGES)) -> str:
    """The same for a shell, which becomes the agent."""
    settings = [f"{name}={value}" for name, value in AGENT_ENVIRONMENT.items()]
    return f"{' '.join(settings)} exec {shlex.join(agent_command(packages))}"


def python_files() -> list[str]:
    """Every file that the agent's interpreter reads, as the host's one does."""
    probe = (
        "import lab.guest.agent, lab.guest.run, encodings.idna, encodings.latin_1, encodings.ascii, pty\n"
        "for m in list(sys.modules.values()):\n"
        "    f = getattr(m, '__file__', None)\n"
        "    if f: print(f)\n"
    )
    command = agent_program(probe, str(PACKAGES))
    # what the user's environment sets is not in the guest
    done = subprocess.run(command, capture_output=True, text=True, env=AGENT_ENVIRONMENT, check=True)
    return done.stdout.split()


def compiled(sources: Sequence[str]) -> list[bytes]:
    """Modules' byte code, which the guest then takes without looking at dates.

    By an interpreter that has done nothing else: which constants of the byte code are marked as
    shared depends on what else the interpreter holds.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [str(PYTHON), "-S", "-P", "-B", "-c", COMPILE, folder]
        asked = json.dumps([(source, inside(source)) for source in sources])
        subprocess.run(command, input=asked, text=True, env={"PYTHONHASHSEED": "0"}, check=True)
        return [(Path(folder) / str(number)).read_bytes() for number in range(len(sources))]


def python_version() -> tuple[int, int]:
    """Of the distribution's interpreter."""
    match = re.search(r"python(\d+)\.(\d+)$", os.path.realpath(PYTHON))
    if match is None:
        raise LookupError(f"{PYTHON} is not called pythonX.Y")
    return int(match[1]), int(match[2])


def inside(path: str) -> str:
    """A file's path in the guest: the checkout lies at /lab, wherever it is here."""
    if path.startswith(f"{TOP}/"):
        return "/lab" + path[len(str(TOP)) :]
    return merged(path)


def module_files(tree: Path) -> Iterable[Path]:
    """Kernel modules that runs may need, with those that they need."""
    depends: dict[str, list[str]] = {}
    for line in (tree / "modules.dep").read_text().splitlines():
        name, _, others = line.partition(":")
        depends[name] = others.split()
    wanted = {name for name in depends if MODULES.match(name)}
    wanted |= {other for name in wanted for other in depends[name]}
    return [tree / name for name in sorted(wanted)]


def machine_files(tree: Path) -> dict[str, tuple[Path, bool]]:
    """Every file of this machine in the base, by its path there: where it is here, and whether it is executable.

    :param tree: the kernel's folder below lib/modules
    """
    found: dict[str, tuple[Path, bool]] = {}

    def add_program(name: str, path: str) -> None:
        found.setdefault(name.strip("/"), (Path(path), True))

    def add_libraries(path: str) -> None:
        for library in libraries(path):
            add_program(merged(library), library)

    for program in programs():
        add_program(merged(program), program)
        add_libraries(program)
    binaries = [os.path.realpath(PYTHON)]
    add_program("usr/bin/python3", binaries[0])
    for source in python_files():
        if source.endswith(".py"):
            found.setdefault(inside(source).strip("/"), (Path(source), False))
        else:
            add_program(inside(source), source)
            binaries.append(source)
    for binary in binaries:
        add_libraries(binary)
    indices = [path for path in sorted(tree.iterdir()) if MODULE_INDICES.match(path.name)]
    for path in (*indices, *module_files(tree)):
        found.setdefault(f"usr/lib/modules/{tree.name}/{path.relative_to(tree)}", (path, False))
    return found


def base(tree: Path, out: io.BufferedIOBase) -> None:
    """Write what is the same for every job.

    :param tree: the kernel's folder below lib/modules
    """
    archive = Archive(out)
    for name in FOLDERS:
        archive.folder(name)
    for name, target in LINKS:
        archive.link(name, target)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3)
    archive.file("init", INIT.format(agent=agent_line(inside(str(PACKAGES)))).encode(), executable=True)
    for name, text in ETC.items():
        archive.file(f"etc/{name}", text.encode())
    machine = machine_files(tree)
    sources = [name for name in machine if name.endswith(".py")]
    code = dict(zip(sources, compiled([str(machine[name][0]) for name in sources]), strict=True))
    major, minor = python_version()
    for name, (path, executable) in machine.items():
        archive.file(name, path.read_bytes(), executable)
        if name in code:
            folder, module = os.path.split(name)
            archive.file(f"{folder}/__pycache__/{module[:-3]}.cpython-{major}{minor}.pyc", code[name])
    archive.close()


def base_key(tree: Path) -> str:
    """Changes when anything changes that the base is made of: each of its files, and the code that makes it."""
    digest = hashlib.sha256(f"{tree}\n".encode())
    used = {name: path for name, (path, _) in machine_files(tree).items()}
    for name, path in sorted([*used.items(), *(("", path) for path in LAB.rglob("*.py"))]):
        status = path.stat()
        digest.update(f"{name} {path} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()[:16]


def kept_base(tree: Path, cache: Path) -> IO[bytes]:
    """The base, open for reading, from the cache; other versions of it go.

    Another command may be about to make the same one, or to remove this one for its own:
    the first waits, and the second takes nothing from who has it open.
    """
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{tree.name}-{base_key(tree)}.cpio"
    with files.locked(cache / "lock"):
        if not path.exists():
            for old in cache.glob(f"{tree.name}-*.cpio"):
                old.unlink()
            made = io.BytesIO()
            base(tree, made)
            files.write(path, made.getvalue())
        return path.open("rb")


def copy_base(tree: Path, cache: Path, out: Path) -> None:
    """Write what is the same for every job; another command may remove the cached one meanwhile."""
    with kept_base(tree, cache) as kept, out.open("wb") as copy:
        shutil.copyfileobj(kept, copy)


def build(
    tree: Path, cache: Path, job: dict[str, Any], extra: Mapping[str, Path], out: Path, kept: Path | None = None
) -> None:
    """Write a guest's whole root file system.

    :param cache: folder that keeps the part that all jobs share
    :param extra: more files, by their path in the guest
    :param kept: that part, where it is not to be as the files are now
    """
    if kept is None:
        copy_base(tree, cache, out)
    else:
        shutil.copyfile(kept, out)
    with out.open("ab") as appended:
        archive = Archive(appended)
        archive.file("lab/job.json", json.dumps(job).encode())
        for name, path in extra.items():
            archive.file(name, path.read_bytes(), executable=True)
        archive.close()
