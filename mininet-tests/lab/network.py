# SPDX-License-Identifier: GPL-2.0
"""Runs experiments in the guest: one network per boot, many runs on it.

A run is a plan (see ``scenario.Plan``); what comes back is raw: what iperf3,
tc and the kernel's tracing said.  Nothing is judged here.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import topology
from mininet.net import Mininet

from lab import datagrams, links, protocol, traffic

TRACING = Path("/sys/kernel/tracing")
WORK = Path("/run/pktpair-lab")
# Per CPU; an acknowledgement takes about 90 bytes, so this holds 700,000.
TRACE_BUFFER_KIB = 65536
# Runs begin on a whole second: the phase of every periodic timer is the same.
SECOND_NS = 1_000_000_000
# Flows end some round trips after their time is up; far above any path's.
DRAIN_S = 60
FIRST_PORT = 10000
# A flow's server listens so far above the flow's own port: the server's side
# of a connection must not pass for the sender's in a trace.
SERVER_PORT_OFFSET = 10000


class Tracer:
    """Kernel tracing into its ring buffer: nothing wakes up during a run."""

    def __init__(self, acks: str | None) -> None:
        (TRACING / "tracing_on").write_text("0")
        (TRACING / "buffer_size_kb").write_text(str(TRACE_BUFFER_KIB))
        (TRACING / "trace_clock").write_text("mono")
        self.acks = acks
        if acks:
            (TRACING / "kprobe_events").write_text(acks + "\n")

    def start(self, events: list[str], ports: range) -> list[str]:
        """Switch events on; returns those that this kernel does not have."""
        missing = []
        (TRACING / "trace").write_text("")
        for event in events:
            folder = TRACING / "events" / event.replace(":", "/")
            if not folder.exists():
                missing.append(event)
                continue
            if "field:u16 sport;" in (folder / "format").read_text() or event == "lab:ack":
                (folder / "filter").write_text(f"sport >= {ports.start} && sport < {ports.stop}")
            (folder / "enable").write_text("1")
        (TRACING / "tracing_on").write_text("1")
        return missing

    def stop(self) -> str:
        """Switch everything off; returns the recorded lines."""
        (TRACING / "tracing_on").write_text("0")
        (TRACING / "events" / "enable").write_text("0")
        lines = (TRACING / "trace").read_text()
        (TRACING / "trace").write_text("")
        return lines


class Network:
    """One dumbbell, kept for all runs that need no more pairs than it has."""

    def __init__(self, pairs: int) -> None:
        # Mininet would raise limits of the machine; hosts keep the stock ones.
        Mininet.inited = True
        topo = topology.Dumbbell(pairs=pairs, bare=True)
        self.net = Mininet(topo=topo, controller=None, build=True)
        self.net.start()
        self.pairs = pairs
        self.chosen: dict[str, str] = {}
        self.servers: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
        self._freeze_neighbours()

    def _freeze_neighbours(self) -> None:
        """The first packet of a path must not wait for ARP, nor a later one."""
        lines: dict[str, list[str]] = {}
        for link in self.net.links:
            for here, there in ((link.intf1, link.intf2), (link.intf2, link.intf1)):
                lines.setdefault(here.node.name, []).append(
                    f"neigh replace {there.IP()} lladdr {there.MAC()} nud permanent dev {here.name}\n"
                )
        for node, batch in lines.items():
            self.must(node, ["ip", "-batch", "-"], "".join(batch))

    def popen(self, node: str, argv: list[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a program in a node, or on the guest itself ("root")."""
        if node != "root":
            argv = ["mnexec", "-a", str(self.net[node].pid), *argv]
        return subprocess.Popen(argv, **more)

    def run(self, node: str, argv: list[str], text: str = "") -> dict[str, Any]:
        """Run a program to its end: status and output."""
        process = self.popen(node, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(text.encode())
        return {
            "status": process.returncode,
            "stdout": out.decode(errors="replace"),
            "stderr": err.decode(errors="replace"),
        }

    def must(self, node: str, argv: list[str], text: str = "") -> str:
        """Run a program that has to succeed; returns its output."""
        done = self.run(node, argv, text)
        if done["status"]:
            raise OSError(
                f"{node}: {' '.join(argv)}: {done['stderr'].strip() or done['stdout'].strip()}\n{text}".strip()
            )
        return str(done["stdout"])

    def serve(self, node: str, port: int) -> None:
        """Have an iperf3 server for a flow; it stays for later runs."""
        server = self.servers.get((node, port))
        if server is None or server.poll() is not None:
            self.servers[node, port] = self.popen(
                node,
                ["iperf3", "-s", "-p", str(port + SERVER_PORT_OFFSET)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def stop(self) -> None:
        """End servers and hosts."""
        for server in self.servers.values():
            server.kill()
            server.wait()
        self.net.stop()


def allow(names: set[str]) -> None:
    """Have the initial namespace choose each algorithm once.

    Until then a restricted one cannot be chosen in another namespace.
    """
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    before = control.read_text()
    for name in sorted(names):
        try:
            control.write_text(name)
        except OSError as error:
            raise OSError(f"congestion control {name}: {error.strerror}") from None
    control.write_text(before)


def choose(network: Network, flows: list[dict[str, Any]]) -> None:
    """Select each sender's algorithm as a user would: by its sysctl."""
    first = {f"s{flow['pair']}": flow["cc"] for flow in reversed(flows)}
    for node, algorithm in first.items():
        if network.chosen.get(node) != algorithm:
            network.must(node, ["sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={algorithm}"])
            network.chosen[node] = algorithm


def client(network: Network, plan: dict[str, Any], flow: dict[str, Any]) -> list[str]:
    """The iperf3 command of one flow."""
    argv = ["iperf3", "-J", "-i", "1", "-c", f"10.1.{flow['pair']}.1"]
    argv += ["-p", str(flow["port"] + SERVER_PORT_OFFSET), "--cport", str(flow["port"])]
    argv += ["-n", str(flow["bytes"])] if flow["bytes"] else ["-t", str(flow["seconds"])]
    if network.chosen.get(f"s{flow['pair']}") != flow["cc"]:
        argv += ["-C", flow["cc"]]
    if flow["window_bytes"]:
        argv += ["-w", str(flow["window_bytes"])]
    if flow["block_bytes"]:
        argv += ["-l", str(flow["block_bytes"])]
    if flow["mss"]:
        argv += ["-M", str(flow["mss"])]
    return argv


def set_network(network: Network, plan: dict[str, Any]) -> None:
    """Give the dumbbell the rate, queue and delays of a run."""
    network.run("r", ["tc", "qdisc", "del", "dev", "r-x", "root"])
    if plan["bottleneck"]:
        network.must("r", ["tc", "-batch", "-"], "\n".join(plan["bottleneck"]) + "\n")
    for index, delay_ms in enumerate(plan["delays_ms"], 1):
        line = links.delay(f"d{index}-x", delay_ms)[0]
        # A new delay line: its counters begin at zero.
        network.run(f"d{index}", ["tc", "qdisc", "del", "dev", f"d{index}-x", "root"])
        network.must(f"d{index}", ["tc", *line.split()])


def read_qdiscs(network: Network, plan: dict[str, Any]) -> dict[str, Any]:
    """Statistics of every qdisc in play, by node."""
    nodes = ["r"] + [f"d{i}" for i in range(1, len(plan["delays_ms"]) + 1)]
    return {node: json.loads(network.must(node, ["tc", "-s", "-j", "qdisc", "show"])) for node in nodes}


def run_one(network: Network, tracer: Tracer, plan: dict[str, Any], modules: dict[str, str]) -> dict[str, Any]:
    """One run from an idle network to an idle network.

    :param modules: files of our modules, by the word that stands for one in an action
    """
    set_network(network, plan)
    flows = plan["flows"]
    allow({flow["cc"] for flow in flows})
    choose(network, flows)
    for flow in flows:
        network.serve(f"d{flow['pair']}", flow["port"])
    capture = None
    if plan["pcap"]:
        WORK.mkdir(exist_ok=True)
        capture = network.popen(
            "r",
            ["tcpdump", "-i", "r-x", "-s", "96", "-w", str(WORK / "r-x.pcap"), "-U"],
            stderr=subprocess.DEVNULL,
        )
    sources = None
    if plan["sources"]:
        namespaces = traffic.Namespaces({host.name: host.pid for host in network.net.hosts})
        sources = datagrams.Datagrams(plan["sources"], namespaces)
    # Servers and the capture are asleep in their system calls by then.
    begin_ns = (time.monotonic_ns() // SECOND_NS + 3) * SECOND_NS
    traffic.sleep_until(begin_ns - SECOND_NS // 4)
    ports = range(FIRST_PORT, FIRST_PORT + 1000)
    missing = tracer.start(plan["events"], ports)

    if sources:
        sources.begin(begin_ns)
    agenda = [(flow["start_s"], "flow", flow) for flow in flows]
    agenda += [(action["at_s"], "action", action) for action in plan["actions"]]
    clients = []
    done = []
    for at_s, kind, item in sorted(agenda, key=lambda entry: entry[0]):
        traffic.sleep_until(begin_ns + int(at_s * SECOND_NS))
        if kind == "flow":
            clients.append(
                network.popen(
                    f"s{item['pair']}",
                    client(network, plan, item),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )
        else:
            argv = [modules.get(word, word) for word in item["argv"]]
            done.append({"name": item["name"], **network.run(item["node"], argv)})
            # An action may have changed what senders use.
            network.chosen.clear()
    deadline_ns = begin_ns + int((plan["seconds"] + DRAIN_S) * SECOND_NS)
    reports = []
    ordered = sorted(flows, key=lambda flow: flow["start_s"])
    for flow, process in zip(ordered, clients, strict=True):
        try:
            out, err = process.communicate(timeout=max(1.0, (deadline_ns - time.monotonic_ns()) / 1e9))
            report = json.loads(out or b"{}")
            problem = report.get("error") or err.decode(errors="replace").strip()
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            report, problem = {}, f"did not end within {DRAIN_S} s of its time"
        reports.append({"name": flow["name"], "report": report, "error": problem or None})
    received = sources.result() if sources else {}
    trace = tracer.stop()
    raw: dict[str, Any] = {
        "begin_s": begin_ns / 1e9,
        "reports": reports,
        "sources": received,
        "actions": done,
        "trace": trace,
        "missing_events": missing,
        "qdiscs": read_qdiscs(network, plan) if plan["delays_ms"] else {},
    }
    if capture is not None:
        capture.send_signal(signal.SIGINT)
        capture.wait()
        raw["pcap"] = base64.b64encode((WORK / "r-x.pcap").read_bytes()).decode()
    return raw


def run_all(port: int, job: dict[str, Any], log: Any) -> int:
    """Do every plan of the job on one network; status 0 if all could be run."""
    tracer = Tracer(job["ack_probe"])
    status = 0
    modules = {f"@{Path(path).stem}": path for path in job["modules"]}
    network = hosts = None
    pairs = max(plan["pairs"] for plan in job["plans"])
    if pairs:
        network = Network(pairs)
    for index, plan in enumerate(job["plans"]):
        protocol.send_json(port, protocol.PROGRESS, {"begin": index})
        raw: dict[str, Any]
        try:
            if network is None:
                raw = {"actions": []}
            elif "transfers" in plan:
                hosts = hosts or traffic.Hosts(network, WORK)
                allow({plan["cc"]})
                raw = traffic.run(hosts, tracer, plan)
            else:
                if hosts:
                    hosts.stock()
                raw = run_one(network, tracer, plan, modules)
            raw["error"] = None
        except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            raw = {"error": str(error)}
            status = 1
        raw["index"] = index
        raw["warnings"] = log.warnings()
        raw["dmesg_tail"] = log.lines[-15:]
        protocol.send_json(port, protocol.RESULT, raw)
    if network:
        network.stop()
    return status
