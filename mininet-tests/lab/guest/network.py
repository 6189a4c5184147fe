# SPDX-License-Identifier: GPL-2.0
"""A topology in namespaces, and what a run changes of it.

Built once for all runs of one structure. Each run begins with bare devices: whatever the
run before left (queues, delays, sysctls, routes) is taken away first.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mininet.net import Mininet

from lab.model import devices
from lab.model.layout import Device, lay_out
from lab.model.plan import Change, Plan, after
from lab.model.topology import Topology
from lab.topo import DataTopo

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
# A device that is taken down keeps its IPv6 addresses, as it does IPv4's.
KEEP_ADDRESSES = Path("/proc/sys/net/ipv6/conf/all/keep_addr_on_down")


class NetworkError(OSError):
    """A run could not be set up; the message goes to the user."""


class Tc:
    """A tc in a node that stays: it takes commands from a pipe and answers in JSON."""

    def __init__(self, network: Network, node: str, errors: Path) -> None:
        self._node = node
        self._errors = errors
        self._process = network.popen(
            node,
            ["tc", "-s", "-j", "-force", "-batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors.open("wb"),
        )
        self.pid = self._process.pid

    def show(self, device: str) -> list[dict[str, Any]]:
        """The qdiscs of a device with their statistics."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"qdisc show dev {device}\n".encode())
        self._process.stdin.flush()
        answer = b""
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise NetworkError(f"{self._node}: tc ended: {self._errors.read_text().strip()}")
            answer += line
            with contextlib.suppress(json.JSONDecodeError):
                return list(json.loads(answer))

    def do(self, device: str, lines: list[str], may_fail: bool = False) -> None:
        """Commands that print nothing; NetworkError if one fails, unless it may."""
        assert self._process.stdin is not None
        before = self._errors.stat().st_size
        self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        # The answer to this comes after all others have been carried out.
        self.show(device)
        said = self._errors.read_bytes()[before:].decode(errors="replace").strip()
        if said and not may_fail:
            raise NetworkError(f"{self._node}: tc: {said}")


class Network:
    """The nodes of a topology, built."""

    def __init__(self, topology: Topology, ipv6: bool, folder: Path) -> None:
        """:param folder: for files of this network's programs"""
        # Mininet would raise limits of the machine; hosts keep the stock ones.
        Mininet.inited = True
        self.layout = lay_out(topology)
        self._mininet = Mininet(topo=DataTopo(topology=topology, bare=True, ipv6=ipv6), controller=None, build=True)
        self._mininet.start()
        self._families = (4, 6) if ipv6 else (4,)
        for node in topology.nodes:
            with self.inside(node):
                KEEP_ADDRESSES.write_text("1")
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._tcs: dict[str, Tc] = {}
        self._queued: set[str] = set()
        self._intermediates: set[str] = set()
        self._down: set[str] = set()
        self._settings: list[tuple[str, Path, str]] = []
        self._merging: tuple[str, ...] = ()
        self._hold_us = 0.0
        self._route_options: dict[str, str] = {}

    def close(self) -> None:
        """End the nodes."""
        self._mininet.stop()

    def processes(self) -> set[int]:
        """Those that last as long as the network."""
        nodes = {self._mininet[node].pid for node in self.layout.topology.nodes}
        return nodes | {tc.pid for tc in self._tcs.values()}

    def namespace(self, node: str) -> str:
        """The file of a node's network namespace."""
        return f"/proc/{self._mininet[node].pid}/ns/net"

    @contextlib.contextmanager
    def inside(self, node: str) -> Iterator[None]:
        """This thread is in a node's namespace meanwhile."""
        with open("/proc/thread-self/ns/net") as own, open(self.namespace(node)) as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(own.fileno())

    def popen(self, node: str, argv: list[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a program in a node, or on the guest itself ("root")."""
        if node != "root":
            argv = ["mnexec", "-a", str(self._mininet[node].pid), *argv]
        return subprocess.Popen(argv, **more)

    def must(self, node: str, argv: list[str], text: str = "") -> str:
        """Run a program that has to succeed; returns its output."""
        process = self.popen(node, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(text.encode())
        if process.returncode:
            said = (err or out).decode(errors="replace").strip()
            raise NetworkError(f"{node}: {' '.join(argv)}: {said}\n{text}".strip())
        return out.decode(errors="replace")

    def prepare(self) -> None:
        """Start what each run would start, for a machine that is copied for each run."""
        for device in self.layout.devices.values():
            self._tc(device.node).show(device.name)

    def begin(self, plan: Plan) -> None:
        """Bare devices, then what this run's plan says of them."""
        self.end()
        self.layout = lay_out(plan.topology)
        for device in self.layout.devices.values():
            self._set(device.name, plan.hash_seed)
        for node, values in plan.by_node(plan.sysctls):
            for name, value in values.items():
                self._write(node, Path("/proc/sys", name.replace(".", "/")), value, f"sysctl {name}")
        for module, values in plan.module_parameters.items():
            for name, value in values.items():
                path = Path("/sys/module", module, "parameters", name)
                self._write("root", path, value, f"parameter {name} of {module}")
        self._route_options = dict(plan.by_node(plan.routes))
        for node in self._route_options:
            self._change_routes(node)
        self._merging = plan.gro
        for node in plan.gro:
            self._merge(node, "on")
        self._hold_us = plan.gro_hold_us
        if self._hold_us:
            for node in plan.gro:
                self._hold(node, self._hold_us)

    def end(self) -> None:
        """Take away what a run has set."""
        for node in self._merging:
            self._merge(node, "off")
            if self._hold_us:
                self._hold(node, 0)
        for node, path, value in reversed(self._settings):
            with self._where(node):
                path.write_text(value)
        for device in [name for name in self._down if name in self.layout.devices]:
            self._take("up", device)
        for device in self._queued:
            lines = [f"qdisc del dev {device} root", f"qdisc del dev {device} clsact"]
            self._tc(self.layout.devices[device].node).do(device, lines, may_fail=True)
        changed_routes, self._route_options = list(self._route_options), {}
        for node in changed_routes:
            self._change_routes(node)
        self._merging, self._settings = (), []
        self._queued.clear()

    def apply(self, change: Change, hash_seed: int) -> None:
        """A change of a link while packets pass it: what is not named stays as it is."""
        if change.up is not None:
            self._take("up" if change.up else "down", change.device)
        if not change.values:
            return
        before = self.layout
        self.layout = lay_out(after(before.topology, change), self._down)
        sender = self.layout.devices[change.device]
        self._rewrite(
            sender.name, before.devices[sender.name].sending_lines(hash_seed), sender.sending_lines(hash_seed)
        )
        receiver = self.layout.devices[f"{sender.peer}-{sender.node}"]
        self._rewrite(receiver.name, before.devices[receiver.name].receiving_lines(), receiver.receiving_lines())

    def qdiscs(self, devices: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
        """Statistics of the queues of these devices, or of all that have one."""
        names = devices or [name for name in self.layout.devices if name in self._queued]
        return {name: self._tc(self.layout.devices[name].node).show(name) for name in names}

    def _set(self, name: str, hash_seed: int) -> None:
        """The queues of a bare device."""
        device = self.layout.devices[name]
        self._add_intermediate(device)
        if device.intermediate:
            line = f"qdisc del dev {device.intermediate} root"
            self._tc(device.node).do(device.intermediate, [line], may_fail=True)
        lines = [*device.sending_lines(hash_seed), *device.receiving_lines()]
        if lines:
            self._queued.add(name)
            self._tc(device.node).do(name, lines)

    def _add_intermediate(self, device: Device) -> None:
        """What delays what arrives, where the other end has a queue and so no room for a delay line."""
        if device.intermediate and device.intermediate not in self._intermediates:
            self.must(device.node, ["ip", "link", "add", device.intermediate, "type", "ifb"])
            self.must(device.node, ["ip", "link", "set", device.intermediate, "up"])
            self._intermediates.add(device.intermediate)

    def _rewrite(self, name: str, before: list[str], after: list[str]) -> None:
        """Lines that differ are changed in place where the disciplines stay the same."""
        if before == after:
            return
        self._add_intermediate(self.layout.devices[name])
        node = self.layout.devices[name].node
        lines = devices.rewritten(before, after)
        self._queued.add(name)
        self._tc(node).do(name, lines)

    def _take(self, state: str, name: str) -> None:
        """Take a link down by one of its devices, or up by all that are down; neighbours and routes follow."""
        device = self.layout.devices[name]
        before = self.layout
        ends = {name} if state == "down" else {name, f"{device.peer}-{device.node}"} & {name, *self._down}
        self._down = self._down - ends if state == "up" else self._down | ends
        self.layout = lay_out(self.layout.topology, self._down)
        for one in sorted(ends):
            self.must(self.layout.devices[one].node, ["ip", "link", "set", one, state])
        if state == "up":
            self._introduce(device)
        for node in self.layout.topology.nodes:
            for family in self._families:
                old, new = before.routes(node, family), self.layout.routes(node, family)
                gone = {route.split()[0] for route in old} - {route.split()[0] for route in new}
                again = new if node in (device.node, device.peer) else [route for route in new if route not in old]
                # the kernel has removed some of those already
                lines = [f"route replace {self._with_options(node, route)}" for route in again]
                if lines:
                    self.must(node, ["ip", f"-{family}", "-batch", "-"], "\n".join(lines) + "\n")
                for route in gone:
                    process = self.popen(node, ["ip", f"-{family}", "route", "del", route], stderr=subprocess.DEVNULL)
                    process.wait()

    def _introduce(self, device: Device) -> None:
        """Tell both ends of a link each other's hardware address, which a device that was down has forgotten."""
        peer = self.layout.devices[f"{device.peer}-{device.node}"]
        for one, other in ((device, peer), (peer, device)):
            for address in (other.address, other.address6)[: len(self._families)]:
                words = ["ip", "neigh", "replace", address, "lladdr", other.mac, "nud", "permanent", "dev"]
                self.must(one.node, [*words, one.name])

    def _where(self, node: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if node == "root" else self.inside(node)

    def _write(self, node: str, path: Path, value: str, what: str) -> None:
        """A setting that lasts as long as the run."""
        try:
            with self._where(node):
                before = path.read_text()
                path.write_text(value)
        except OSError as error:
            raise NetworkError(f"{node}: {what}={value}: {error.strerror}") from None
        self._settings.append((node, path, before))

    def _with_options(self, node: str, route: str) -> str:
        return f"{route} {self._route_options.get(node, '')}".rstrip()

    def _change_routes(self, node: str) -> None:
        """Give a node's routes the options that it has now."""
        for family in self._families:
            lines = [f"route change {self._with_options(node, one)}\n" for one in self.layout.routes(node, family)]
            self.must(node, ["ip", f"-{family}", "-batch", "-"], "".join(lines))

    def _merge(self, node: str, state: str) -> None:
        for device in self.layout.of_node(node):
            self.must(node, ["ethtool", "-K", device.name, "gro", state])

    def _hold(self, node: str, hold_us: float) -> None:
        # the timer counts where interrupts are put off as well
        values = {"gro_flush_timeout": round(hold_us * 1e3), "napi_defer_hard_irqs": int(hold_us > 0)}
        for device in self.layout.of_node(node):
            # a node's devices are in its own sysfs only
            lines = [f"echo {value} >/sys/class/net/{device.name}/{name}" for name, value in values.items()]
            self.must(node, ["sh", "-ec", "\n".join(lines)])

    def _tc(self, node: str) -> Tc:
        if node not in self._tcs:
            self._tcs[node] = Tc(self, node, self._folder / f"tc-{node}")
        return self._tcs[node]


def _enter(namespace: int) -> None:
    if LIBC.setns(namespace, CLONE_NEWNET):
        raise NetworkError(ctypes.get_errno(), "setns")
