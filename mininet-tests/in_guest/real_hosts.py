# SPDX-License-Identifier: GPL-2.0
"""Namespaces that are real hosts to the lab: each with an sshd of its own, cabled to each other by veth pairs.

    anna (sender) --- bert (router) --- carl (receiver)

Each has one more device for ssh alone, to the namespace that gives the orders. All is in a guest, and ends with it.
What a host is, its own programs say: queues, addresses, routes, sysctls, offloads.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
LAB = TOP / "scripts" / "lab"
SSHD = TOP / ".cache" / "sshd" / "usr" / "sbin" / "sshd"
FOLDER = Path("/tmp/real-hosts")
JOURNALS = Path("/var/lib/pktpair-lab")
# Of documentation (RFC 5737): nobody's.
SSH_NETWORK = "192.0.2"
CABLES = (("anna", "to-bert", "bert", "to-anna"), ("bert", "to-carl", "carl", "to-bert"))
ROLES = {"anna": "sender", "bert": "router", "carl": "receiver"}
# What the lab may set on a host.
SYSCTLS = (
    *("net.ipv4.ip_forward", "net.ipv4.tcp_no_metrics_save", "net.core.txrehash", "net.ipv4.conf.all.forwarding"),
    *("net.ipv4.conf.all.accept_redirects", "net.ipv4.conf.default.forwarding", "net.ipv4.tcp_congestion_control"),
)
# Guest time.
PATIENCE_S = 120


def must(*argv: str | Path, text: str = "") -> str:
    """A command that has to succeed; what it printed."""
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, input=text, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def inside(host: str, *argv: str | Path) -> list[str]:
    """A command in a host's namespace."""
    return ["nsenter", f"--net=/run/netns/{host}", *map(str, argv)]


def lab(*words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """scripts/lab with these words."""
    return subprocess.run(
        [str(LAB), *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **more
    )


class Hosts:
    """The namespaces, their sshds, and the file that names them."""

    def __init__(self) -> None:
        FOLDER.mkdir()
        for name in ("build", ".cache"):
            _writable((TOP / name).resolve(), FOLDER / name)
        # sshd wants a user for its unprivileged part, an empty folder for it, and a root that may log in by key
        with open("/etc/passwd", "a") as passwd:
            passwd.write("sshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        shadow = Path("/etc/shadow")
        shadow.write_text(re.sub(r"^root:[^:]*:", "root:*:", shadow.read_text(), flags=re.MULTILINE))
        for name in ("host", "user", "stranger"):
            must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", FOLDER / name)
        shutil.copy(FOLDER / "user.pub", FOLDER / "authorized")
        self.addresses = {host: f"{SSH_NETWORK}.{4 * number + 2}" for number, host in enumerate(ROLES)}
        for number, host in enumerate(ROLES):
            self._add(number, host)
        for one, device, other, its_device in CABLES:
            must("ip", "-n", one, "link", "add", device, "type", "veth", "peer", "name", its_device, "netns", other)
        # one of them is up before the lab comes, with an address and a route of its own
        must("ip", "-n", "anna", "link", "set", "to-bert", "up")
        must("ip", "-n", "anna", "address", "add", "10.9.8.7/24", "dev", "to-bert")
        must("ip", "-n", "anna", "route", "add", "10.77.0.0/16", "via", "10.9.8.1")
        host_key = (FOLDER / "host.pub").read_text().split()[:2]
        known = [f"{address} {' '.join(host_key)}\n" for address in self.addresses.values()]
        (FOLDER / "known").write_text("".join(known))
        self.write("machines.toml")

    def _add(self, number: int, host: str) -> None:
        near, far = f"{SSH_NETWORK}.{4 * number + 1}", self.addresses[host]
        must("ip", "netns", "add", host)
        must("ip", "link", "add", f"ssh-{host}", "type", "veth", "peer", "name", "ssh", "netns", host)
        must("ip", "address", "add", f"{near}/30", "dev", f"ssh-{host}")
        must("ip", "link", "set", f"ssh-{host}", "up")
        must("ip", "-n", host, "address", "add", f"{far}/30", "dev", "ssh")
        must("ip", "-n", host, "link", "set", "ssh", "up")
        must("ip", "-n", host, "link", "set", "lo", "up")
        options = {
            "AuthorizedKeysFile": FOLDER / "authorized",
            "StrictModes": "no",
            "UsePAM": "no",
            "ListenAddress": far,
            "PidFile": FOLDER / f"sshd-{host}",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        # with a kernel's file systems as they are: "ip netns exec" would hide the kernel's tracing
        must(*inside(host, SSHD, "-f", "/dev/null", "-h", FOLDER / "host", "-E", FOLDER / f"log-{host}", *words))

    def write(self, name: str, *, key: str = "user", known: str = "known", **changed: Mapping[str, Any]) -> Path:
        """A file of the machines.

        :param changed: keys of single hosts
        """
        (FOLDER / f"{name}.ssh").write_text(
            "".join(f"Host {host}\n  HostName {address}\n" for host, address in self.addresses.items())
            + f"Host *\n  User root\n  IdentityFile {FOLDER / key}\n  IdentitiesOnly yes\n"
            + f"  UserKnownHostsFile {FOLDER / known}\n  GlobalKnownHostsFile /dev/null\n"
        )
        lines = [f'ssh_config = "{name}.ssh"\n']
        for host, role in ROLES.items():
            cables = {device: peer for one, device, peer, _ in CABLES if one == host}
            cables |= {device: peer for peer, _, one, device in CABLES if one == host}
            keys: dict[str, Any] = {"ssh": host, "role": role, "interfaces": cables, **changed.get(host, {})}
            lines.append(f"[hosts.{host}]\n")
            lines += [f"{key} = {_toml(value)}\n" for key, value in keys.items()]
        (FOLDER / name).write_text("".join(lines))
        return FOLDER / name

    def state(self) -> dict[str, str]:
        """What each host is, as its own programs show it, and what is left of the lab's."""
        found = {}
        for host in ROLES:
            for argv in (
                ("tc", "qdisc", "show"),
                ("ip", "-4", "-o", "address"),
                ("ip", "route", "show", "table", "all"),
                ("ip", "-o", "link"),
                ("sysctl", "-e", *SYSCTLS),
            ):
                found[f"{host}: {' '.join(argv[:3])}"] = must(*inside(host, *argv))
            for one, device, other, its_device in CABLES:
                for owner, name in ((one, device), (other, its_device)):
                    if owner == host:
                        found[f"{host}: ethtool -k {name}"] = must(*inside(host, "ethtool", "-k", name))
                        forwarding = f"net.ipv4.conf.{name}.forwarding"
                        found[f"{host}: {forwarding}"] = must(*inside(host, "sysctl", forwarding))
        found["modules"] = "\n".join(sorted(path.name for path in Path("/sys/module").iterdir()))
        found["probes"] = Path("/sys/kernel/tracing/kprobe_events").read_text()
        found["instances"] = "\n".join(os.listdir("/sys/kernel/tracing/instances"))
        found["work"] = "\n".join(path.name for path in Path("/run").glob("pktpair-lab*"))
        found["journals"] = "\n".join(path.name for path in JOURNALS.glob("*")) if JOURNALS.exists() else ""
        return found


def _writable(folder: Path, changes: Path) -> None:
    """The checkout is read-only in a guest: what is written there from now on is kept elsewhere."""
    for name in ("upper", "work"):
        (changes / name).mkdir(parents=True)
    options = f"lowerdir={folder},upperdir={changes / 'upper'},workdir={changes / 'work'}"
    must("mount", "-t", "overlay", "overlay", "-o", options, folder)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + " }"
    return json.dumps(value)


def agents() -> list[int]:
    """Processes that are agents on hosts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"python3") and any(b"lab.hosts.there" in word for word in words):
            found.append(int(path.parent.name))
    return found


def until(holds: Callable[[], Any]) -> Any:
    """What a condition is when it holds; RuntimeError if it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise RuntimeError("what was waited for did not come")
        time.sleep(0.05)
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """Of each part that is another, what was and what is."""
    return {name: [before[name], now.get(name, "")] for name in before if before[name] != now.get(name)}


def started(*words: str | Path) -> subprocess.Popen[str]:
    """scripts/lab in the background; its python is the process itself."""
    return subprocess.Popen(
        [str(LAB), *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def is_sending() -> bool:
    """Whether the run is in its middle: data pass the router."""
    text = must(*inside("bert", "tc", "-s", "qdisc", "show", "dev", "to-carl"))
    sent = [int(number) for number in re.findall(r"Sent (\d+) bytes", text)]
    return " root" in text and " 1: " in text and max(sent, default=0) > 100_000


def kill(pids: Sequence[int]) -> None:
    """At once, and whatever they do."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
