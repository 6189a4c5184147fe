# SPDX-License-Identifier: GPL-2.0
"""What a host is and has. It is read only: nothing on the host is changed.

Runs on the host, with the distribution's own Python and standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.hosts import journal

TOOLS = ("bash", "ethtool", "gcc", "insmod", "ip", "make", "modinfo", "modprobe", "nmcli", "ping", "rmmod", "rsync")
MORE_TOOLS = ("setpriv", "sh", "sysctl", "tar", "tc")
TRACING = ("sys/kernel/tracing", "sys/kernel/debug/tracing")
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# "generic-receive-offload: on", "large-receive-offload: off [fixed]"; a part of a group is indented
FEATURE = re.compile(r"\t?([\w-]+): (on|off)( \[.*\])?")
# ip shows how long an address or a route has left, which is another number each time, and whether the other end of
# the cable is up, which is another machine's matter.
LEFT = re.compile(r"\s((valid_lft|preferred_lft|expires) \S+|linkdown\b)")


def said(*argv: str) -> str:
    """What a program that only reads prints; nothing if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def listed(*argv: str) -> list[dict[str, Any]]:
    """Likewise of a program that prints a list as JSON."""
    try:
        return [one for one in json.loads(said(*argv) or "[]") if one]
    except ValueError:
        return []


def text_of(path: Path) -> str:
    """A file's content, or nothing."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def features(device: str) -> dict[str, tuple[bool, bool]]:
    """A device's offloads, by ethtool's name: whether each is on, and whether it can be changed."""
    found = {}
    for line in said("ethtool", "-k", device).splitlines():
        match = FEATURE.fullmatch(line.rstrip())
        if match:
            # what is asked for and cannot be is on again when it can
            more = match[3] or ""
            found[match[1]] = (match[2] == "on" or "requested on" in more, "fixed" not in more)
    return found


def link(name: str) -> dict[str, Any]:
    """Whether an interface is up, and its MTU."""
    links = listed("ip", "-j", "link", "show", "dev", name)
    return {"up": "UP" in links[0]["flags"], "mtu": links[0]["mtu"]} if links else {"up": False, "mtu": 0}


def interface(name: str) -> dict[str, Any] | None:
    """A network interface, or None if there is none of this name."""
    links = listed("ip", "-j", "-d", "link", "show", "dev", name)
    if not links:
        return None
    link = links[0]
    addresses = listed("ip", "-j", "-4", "address", "show", "dev", name)
    return {
        "mtu": link["mtu"],
        "up": "UP" in link["flags"],
        "features": features(name),
        "carrier": "LOWER_UP" in link["flags"],
        "master": link.get("master", ""),
        "carries": carried(listed("ip", "-j", "link", "show"), name),
        "addresses": [
            f"{one['local']}/{one['prefixlen']}" for entry in addresses for one in entry.get("addr_info", [])
        ],
        "ipv6": [
            f"{one['local']}/{one['prefixlen']}"
            for entry in listed("ip", "-j", "-6", "address", "show", "dev", name)
            for one in entry.get("addr_info", [])
            if one.get("scope") == "global" and not one.get("dynamic")
        ],
        "qdiscs": [
            {"kind": one["kind"], "handle": one.get("handle", "0:"), "root": one.get("root", False)}
            for one in listed("tc", "-j", "qdisc", "show", "dev", name)
        ],
        "driver": _field(said("ethtool", "-i", name), "driver"),
        "managed": managed(name),
    }


def carried(links: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Interfaces that lie on another one, as VLANs do; the two ends of a veth pair name each other."""
    own = next((one.get("link") for one in links if one["ifname"] == name), None)
    return [one["ifname"] for one in links if one.get("link") == name and one["ifname"] != own]


def managed(name: str) -> bool:
    """Whether NetworkManager sees to an interface, and would undo what is set there."""
    return said("nmcli", "-g", "GENERAL.NM-MANAGED", "device", "show", name).strip() == "yes"


def _field(text: str, name: str) -> str:
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(f"{name}:")), "")


def ssh_devices(connection: str) -> list[str]:
    """The devices that this connection is by.

    :param connection: SSH_CONNECTION: the client's address and port, the server's address and port
    """
    words = connection.split()
    if len(words) < 3:
        return []
    # of a link-local address of IPv6 sshd says the interface as well, which no other program takes here
    (client, _, scope), server = words[0].partition("%"), words[2].partition("%")[0]
    found = [scope] if scope else []
    found += [entry["dev"] for entry in listed("ip", "-j", "route", "get", client) if "dev" in entry]
    for link in listed("ip", "-j", "address", "show"):
        if any(one.get("local") == server for one in link.get("addr_info", [])):
            found.append(link["ifname"])
    return sorted(set(found))


def default_devices(routes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The devices of all default routes; one of several ways has each of them as a next hop."""
    ways = [
        way
        for one in routes
        if one.get("dst") == "default" and one.get("type") != "unreachable"
        for way in (one, *one.get("nexthops", []))
    ]
    return sorted({way["dev"] for way in ways if "dev" in way})


def module(name: str, root: Path = Path("/")) -> dict[str, Any]:
    """How a kernel module can be had: loaded, built into the kernel, installed, or not at all."""
    loaded = root / "sys" / "module" / name
    if loaded.exists():
        return {"state": "loaded", "version": text_of(loaded / "srcversion"), "signed": True}
    info = said("modinfo", name)
    file = _field(info, "filename")
    if file == "(builtin)":
        return {"state": "loaded", "version": "", "signed": True}
    if not file:
        return {"state": "missing", "version": "", "signed": False}
    return {"state": "installed", "version": _field(info, "srcversion"), "signed": bool(_field(info, "signer"))}


def loaded_by(load: Sequence[str]) -> list[str]:
    """Modules that a command would load, in their order: those as well that the named one depends on.

    :param load: modprobe with a module's name, or insmod with its file
    """
    words = [["insmod", load[1]]]
    if load[0] == "modprobe":
        # "insmod FILE OPTION=VALUE", or "builtin NAME"
        words = [line.split() for line in said("modprobe", "--show-depends", load[1]).splitlines()]
    names = [Path(word[1]).name.partition(".ko")[0].replace("-", "_") for word in words if word[:1] == ["insmod"]]
    return [name for name in names if module(name)["state"] != "loaded"] or [load[1]]


def lockdown(root: Path = Path("/")) -> dict[str, Any]:
    """Whether the kernel refuses modules that nobody has signed, and why."""
    chosen = re.search(r"\[(\w+)\]", text_of(root / "sys/kernel/security/lockdown"))
    variable = root / SECURE_BOOT
    # four bytes of attributes, and then the value
    secure_boot = variable.exists() and variable.read_bytes()[4:5] == b"\1"
    return {
        "lockdown": chosen[1] if chosen else "none",
        "sig_enforce": text_of(root / "sys/module/module/parameters/sig_enforce") == "Y",
        "secure_boot": secure_boot,
    }


def tracing() -> str:
    """Where the kernel's tracing is, or nothing."""
    return next((f"/{path}" for path in TRACING if Path("/", path, "kprobe_events").exists()), "")


def fq_rr_known() -> bool:
    """Whether this host's own tc speaks fq_rr."""
    status, text = journal.run(["tc", "qdisc", "add", "dev", "lo", "root", "fq_rr", "help"])
    return "Unknown" not in text and "fq_rr" in text and status != 127


def sysctl_path(name: str) -> Path:
    """The file of a sysctl; one whose interface has a dot in its name has slashes for dots."""
    return Path("/proc/sys", name if "/" in name else name.replace(".", "/"))


def left_journal() -> str:
    """Of a lab that has changed this host: "held" while it is at work, "left" by one that has died, or nothing."""
    try:
        found = journal.Journal.there()
    except journal.JournalError as error:
        return "held" if "at work" in str(error) else "left"
    if found is None:
        return ""
    found.close()
    return "left" if found.header.get("boot") == journal.boot() else "old"


def state(
    devices: Sequence[str], sysctls: Sequence[str], modules: Sequence[str] = (), files: Sequence[str] = ()
) -> dict[str, str]:
    """What may be changed, as the host's own programs show it, to be compared with later.

    :param files: what the plan writes, of devices and of modules' parameters
    """
    found = {"ip route": LEFT.sub("", said("ip", "-4", "route", "show", "table", "all"))}
    for device in devices:
        link = listed("ip", "-j", "link", "show", "dev", device)
        # a device that never was up has none, and this one when it has been
        qdiscs = said("tc", "qdisc", "show", "dev", device).splitlines()
        found[f"tc qdisc {device}"] = "\n".join(line for line in qdiscs if " noqueue 0: " not in line)
        found[f"ip address {device}"] = LEFT.sub("", said("ip", "-4", "-o", "address", "show", "dev", device))
        ipv6 = said("ip", "-6", "-o", "address", "show", "dev", device, "scope", "global")
        found[f"ip -6 address {device}"] = LEFT.sub("", ipv6)
        found[f"ip link {device}"] = "\n".join(
            f"mtu {one['mtu']} {'up' if 'UP' in one['flags'] else 'down'}" for one in link
        )
        found[f"ethtool -k {device}"] = said("ethtool", "-k", device)
    found["sysctl"] = "\n".join(f"{name} = {text_of(sysctl_path(name))}" for name in sysctls)
    found["module"] = "\n".join(f"{name} {module(name)['state']}" for name in modules)
    found["file"] = "\n".join(f"{name} = {text_of(Path(name))}" for name in files)
    return found


def identity(modules: Sequence[str]) -> dict[str, Any]:
    """What tells a host from others, and its versions."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "name": platform.node(),
        "cpu": _field(text_of(Path("/proc/cpuinfo")).replace("\t", ""), "model name"),
        "cpus": os.cpu_count(),
        "tc": said("tc", "-V").strip(),
        "modules": {name: module(name) for name in modules},
    }


def parameters(name: str, root: Path = Path("/")) -> list[str]:
    """A module's parameters: of one that is loaded those that can be set by now, of an installed one all."""
    loaded = root / "sys" / "module" / name
    if loaded.exists():
        folder = loaded / "parameters"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    return sorted(line.partition(":")[0] for line in said("modinfo", "-F", "parm", name).splitlines())


def facts(
    interfaces: Sequence[str], modules: Sequence[str], sysctls: Sequence[str], files: Sequence[str]
) -> dict[str, Any]:
    """All that decides whether a plan can be run here.

    :param files: those of /sys/class that the plan writes
    """
    routes = listed("ip", "-j", "-4", "route", "show", "table", "all")
    found: Mapping[str, Any] = {
        **identity(modules),
        "parameters": {name: parameters(name) for name in modules},
        "no_files": [name for name in files if not Path(name).exists()],
        "boot": journal.boot(),
        "namespace": journal.namespace(),
        "python": platform.python_version(),
        "root": os.geteuid() == 0,
        "net_admin": _net_admin(),
        "tools": {name: shutil.which(name) or "" for name in (*TOOLS, *MORE_TOOLS)},
        "fq_rr": fq_rr_known(),
        "interfaces": {name: interface(name) for name in interfaces},
        "all_interfaces": [link["ifname"] for link in listed("ip", "-j", "link", "show")],
        "ssh_devices": ssh_devices(os.environ.get("SSH_CONNECTION", "")),
        "default_devices": default_devices(
            [*routes, *listed("ip", "-j", "-6", "route", "show", "table", "all", "default")]
        ),
        "routes": sorted({one["dst"] for one in routes if one.get("dst", "default") != "default"}),
        "headers": Path("/lib/modules", platform.release(), "build", "Makefile").exists(),
        **lockdown(),
        "ccs": text_of(Path("/proc/sys/net/ipv4/tcp_available_congestion_control")).split(),
        "default_qdisc": text_of(Path("/proc/sys/net/core/default_qdisc")),
        "sysctls": {name: text_of(sysctl_path(name)) if sysctl_path(name).exists() else None for name in sysctls},
        "tracing": tracing(),
        "btf": _digest(Path("/sys/kernel/btf/vmlinux")),
        "journal": left_journal(),
        "argv": sys.executable,
    }
    return dict(found)


def _net_admin() -> bool:
    """Whether this process may change networks (CAP_NET_ADMIN is number 12)."""
    mask = re.search(r"^CapEff:\s*([0-9a-f]+)", text_of(Path("/proc/self/status")), re.MULTILINE)
    return bool(mask) and bool(int(mask[1], 16) >> 12 & 1)  # type: ignore[index]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
