# SPDX-License-Identifier: GPL-2.0
"""Carries out plans in the guest: from an idle network to an idle network each.

What comes back is raw: what the traffic engine, tc and the kernel's tracing said. Nothing
is judged here, and no packet passes through Python.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import signal
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.guest import frozen, leftovers, protocol
from lab.guest.agent import reason
from lab.guest.bpftrace import Script
from lab.guest.iperf3 import Iperf3
from lab.guest.network import Network, NetworkError
from lab.guest.tracer import ACK_EVENT, Tracer
from lab.guest.words import SECOND_NS, flow_files, flow_line, flow_words
from lab.model.plan import FIRST_FLOW_PORT, FIRST_SOURCE_PORT, MAX_SOURCE_PORTS, Change, Command, Flow, Plan
from lab.model.typed import DRAIN_S

WORK = Path("/run/pktpair-lab")
# From when all is ready to the beginning: the servers are asleep by then. Runs begin on a whole second: the
# phase of every periodic timer is the same.
LEAD_S = 2
# Ports that traces are kept of: flows' and sources' own; servers' are above.
TRACED_PORTS = range(FIRST_FLOW_PORT, FIRST_SOURCE_PORT + MAX_SOURCE_PORTS)
# A command of a plan has so long after the run.
PATIENCE_S = 5


class Commands:
    """Programs that a plan starts while it runs."""

    def __init__(self, network: Network, modules: dict[str, str]) -> None:
        self._network = network
        self._modules = modules
        self._started: list[tuple[str, subprocess.Popen[bytes], Path]] = []

    def start(self, command: Command) -> None:
        """Start one; its output goes to files, which nobody has to wait for."""
        argv = [self._modules.get(word, word) for word in command.argv]
        path = WORK / f"command-{len(self._started)}"
        with path.open("wb") as out:
            process = self._network.popen(
                command.node,
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append((command.name, process, path))

    def finish(self) -> list[dict[str, Any]]:
        """Status and output of each; one that does not end is killed, and so is its group."""
        found = []
        deadline = time.monotonic() + PATIENCE_S
        for name, process, path in self._started:
            error = None
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                error = f"did not end within {PATIENCE_S} s of the run"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            output = path.read_text(errors="replace")
            found.append({"name": name, "status": process.returncode, "output": output, "error": error})
        return found


class Engine:
    """The traffic engine of one run (``traffic.c``)."""

    def __init__(self, plan: Plan, network: Network, program: str, times: dict[str, str], folder: Path) -> None:
        """:param times: of each source, packed as the host made them"""
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"end at_ns={round((plan.end_s + DRAIN_S) * SECOND_NS)} with_flows={int(plan.ends_with_flows)}"]
        if plan.record.sample_s:
            lines.append(f"sample every_ns={round(plan.record.sample_s * SECOND_NS)}")
        for device in plan.sampled:
            lines.append(f"queue name={device} in={network.namespace(network.layout.devices[device].node)}")
        if plan.traffic == "engine":
            lines += [self._flow(plan, network, index) for index in range(len(plan.flows))]
        port = FIRST_SOURCE_PORT
        for source in plan.sources:
            path = folder / f"times-{source.name}"
            path.write_bytes(zlib.decompress(base64.b64decode(times[source.name])))
            layout = network.layout
            lines.append(
                f"source name={source.name} from={network.namespace(source.source)} to={network.namespace(source.sink)}"
                f" from_address={layout.address(source.source, source.family)}"
                f" to_address={layout.address(source.sink, source.family)} port={port} ports={source.ports}"
                f" packet_bytes={source.packet_bytes} burst={source.burst} times={path}"
            )
            port += source.ports
        plan_file = folder / "plan"
        plan_file.write_text("\n".join(lines) + "\n")
        self._errors = (folder / "errors").open("w+b")
        self._process = subprocess.Popen(
            [program, str(plan_file), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def _flow(self, plan: Plan, network: Network, index: int) -> str:
        flow, layout = plan.flows[index], network.layout
        words = {
            "from": network.namespace(flow.source),
            "to": network.namespace(flow.sink),
            "from_address": layout.address(flow.source, flow.family),
            "to_address": layout.address(flow.sink, flow.family),
            **flow_words(plan, flow),
        }
        for name, text in flow_files(flow).items():
            words[name] = self._folder / f"{name}-{index}"
            words[name].write_text(text)
        return flow_line(words)

    def _answer(self, wanted: bytes) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != wanted + b"\n":
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            raise NetworkError(self._errors.read().decode(errors="replace").strip() or "the traffic engine ended")

    def ready(self) -> None:
        """Wait until all sockets are open and connected."""
        self._answer(b"ready")

    def begin(self, begin_ns: int) -> None:
        """Say when time 0 is."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{begin_ns}\n".encode())
        self._process.stdin.flush()

    def finish(self) -> dict[str, Any]:
        """Wait for the end; what has become of flows and sources."""
        self._answer(b"done")
        self._process.wait()
        return {
            "flows": _json_lines(self._folder / "flows"),
            "sources": _json_lines(self._folder / "sources"),
            "received": _packed(self._folder / "received"),
            "samples": _packed(self._folder / "samples"),
            "queues": _packed(self._folder / "queues"),
        }

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _packed(path: Path) -> str:
    return base64.b64encode(zlib.compress(path.read_bytes(), 1)).decode() if path.exists() else ""


def sleep_until(moment_ns: int) -> None:
    """Sleep to an instant of the monotonic clock."""
    left = moment_ns - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)


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
            raise NetworkError(f"congestion control {name}: {error.strerror}") from None
    control.write_text(before)


def capture(network: Network, device: str) -> subprocess.Popen[bytes]:
    """A tcpdump of what leaves a device."""
    node = network.layout.devices[device].node
    argv = ["tcpdump", "-i", device, "-Q", "out", "-s", "96", "-w", str(WORK / f"{device}.pcap"), "-U"]
    return network.popen(node, argv, stderr=subprocess.DEVNULL)


class Participants:
    """The programs that take part in a run beside the traffic engine; none outlives it."""

    def __init__(self, plan: Plan, network: Network, modules: dict[str, str]) -> None:
        self._captures = {device: capture(network, device) for device in plan.record.pcaps}
        self.commands = Commands(network, modules)
        self.iperf3 = Iperf3(plan, network, WORK) if plan.traffic == "iperf3" else None
        self.script = Script(plan.record.bpftrace, WORK) if plan.record.bpftrace else None

    def ready(self) -> None:
        """Wait until all are."""
        if self.iperf3:
            self.iperf3.ready()
        if self.script:
            self.script.ready()

    def end(self) -> None:
        """End what has not ended; captures are whole then."""
        for process in self._captures.values():
            process.send_signal(signal.SIGINT)
            process.wait()
        for one in (self.iperf3, self.script):
            if one:
                one.kill()

    def pcaps(self) -> dict[str, str]:
        """What was captured, by device."""
        return {device: base64.b64encode((WORK / f"{device}.pcap").read_bytes()).decode() for device in self._captures}


def follow(plan: Plan, network: Network, others: Participants, begin_ns: int) -> None:
    """Do what the plan says while the run lasts, each at its time."""
    agenda: list[tuple[float, Change | Command | Flow]] = [(item.at_s, item) for item in plan.actions]
    if others.iperf3:
        agenda += [(flow.start_s, flow) for flow in plan.flows]
    for at_s, item in sorted(agenda, key=lambda entry: entry[0]):
        sleep_until(begin_ns + round(at_s * SECOND_NS))
        if isinstance(item, Change):
            network.apply(item, plan.hash_seed)
        elif isinstance(item, Command):
            others.commands.start(item)
        elif others.iperf3:
            others.iperf3.start(item)


def run_one(network: Network, tracer: Tracer, plan: Plan, job: dict[str, Any], times: dict[str, str]) -> dict[str, Any]:
    """One run."""
    allow(plan.ccs)
    network.begin(plan)
    with contextlib.ExitStack() as stack:
        engine = Engine(plan, network, job["traffic"], times, WORK / "traffic")
        stack.callback(engine.kill)
        others = Participants(plan, network, {f"@{Path(path).stem}": path for path in job["modules"]})
        stack.callback(others.end)
        engine.ready()
        others.ready()
        begin_ns = (time.monotonic_ns() // SECOND_NS + 1 + LEAD_S) * SECOND_NS
        sleep_until(begin_ns - SECOND_NS // 4)
        needed = [*([ACK_EVENT] if plan.record.acks else []), *plan.record.events]
        unknown = tracer.start([*needed, *plan.record.events_if_known], TRACED_PORTS)
        missing = [event for event in unknown if event in needed]
        # the collector would take some milliseconds to look through a long list
        gc.disable()
        stack.callback(gc.enable)
        engine.begin(begin_ns)
        follow(plan, network, others, begin_ns)
        traffic = engine.finish()
        if others.iperf3:
            traffic["flows"] = others.iperf3.finish(begin_ns + round((plan.end_s + DRAIN_S) * SECOND_NS))
        if not plan.ends_with_flows:
            sleep_until(begin_ns + round(plan.end_s * SECOND_NS))
        trace = tracer.stop()
        said = others.script.finish() if others.script else ""
        done = others.commands.finish()
    return {
        "begin_s": begin_ns / 1e9,
        **traffic,
        "commands": done,
        "trace": trace,
        "missing_events": missing,
        "qdiscs": network.qdiscs(),
        "pcaps": others.pcaps(),
        "bpftrace": said,
    }


def attempt(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a run has found, or why it failed: whatever that is, it is this run's alone."""
    try:
        return {**run(), "error": None}
    except Exception as error:
        return {"error": reason(error)}


def report(port: int, index: int, raw: dict[str, Any], log: Any) -> None:
    """Tell the host of a run that has ended."""
    raw = {**raw, "index": index, "warnings": log.warnings(), "dmesg_tail": log.lines[-15:]}
    protocol.send_json(port, protocol.RESULT, raw)


def run_frozen(port: int, job: dict[str, Any], log: Any) -> int:
    """Build the job's network, stop, and do the plan that a copy is told of."""
    tracer = Tracer(job["ack_probe"])
    WORK.mkdir(parents=True, exist_ok=True)
    topology, ipv6 = Plan.network_of(job["structure"])
    # what is built ends with the machine: to take it down would be work for nothing
    network = Network(topology, ipv6, WORK)
    network.prepare()
    protocol.send_json(port, protocol.PROGRESS, {"begin": 0})
    frozen.stop()
    told = frozen.job()

    def run() -> dict[str, Any]:
        plan = Plan.of(told["plan"])
        frozen.reseed(plan.hash_seed)
        return run_one(network, tracer, plan, job, told["times"])

    raw = attempt(run)
    report(port, 0, raw, log)
    return int(raw["error"] is not None)


class Boot:
    """One boot's runs, one after another: none is reached by what another left behind."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._tracer = Tracer(job["ack_probe"])
        self._network: Network | None = None
        self._built: list[Any] = []
        WORK.mkdir(parents=True, exist_ok=True)
        leftovers.adopt()

    def run(self, index: int) -> dict[str, Any]:
        """A plan's raw result; its processes have ended then."""
        raw = attempt(lambda: self._run(Plan.of(self._job["plans"][index]), self._job["times"][index]))
        if raw["error"] is None and self._network is not None:
            leftovers.end(self._network.processes())
        else:
            # a network that a run has failed in may be in any state
            with contextlib.suppress(OSError):
                self._tracer.off()
            self.close()
        return raw

    def _run(self, plan: Plan, times: dict[str, str]) -> dict[str, Any]:
        if self._network is None or plan.structure != self._built:
            self.close()
            self._built = plan.structure
            self._network = Network(plan.topology, plan.ipv6, WORK)
        return run_one(self._network, self._tracer, plan, self._job, times)

    def close(self) -> None:
        """Take down the network and end all that is left."""
        network, self._network = self._network, None
        if network is not None:
            # what it cannot take down ends with its processes
            with contextlib.suppress(Exception):
                network.close()
        leftovers.end()


def run_all(port: int, job: dict[str, Any], log: Any) -> int:
    """Do every plan of the job; status 0 if all could be run."""
    if "structure" in job:
        return run_frozen(port, job, log)
    boot = Boot(job)
    status = 0
    for index in range(len(job["plans"])):
        protocol.send_json(port, protocol.PROGRESS, {"begin": index})
        raw = boot.run(index)
        report(port, index, raw, log)
        status |= raw["error"] is not None
    boot.close()
    return status
