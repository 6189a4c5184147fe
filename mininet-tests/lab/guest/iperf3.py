# SPDX-License-Identifier: GPL-2.0
"""Flows that iperf3 sends, in place of the traffic engine's.

Ports, congestion control, segments, buffers and block size are those of the plan; when a
flow began and what was acknowledged, the trace of the acknowledgements says.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.guest.network import Network, NetworkError
from lab.model.plan import FIRST_FLOW_PORT, Flow, Plan

# As the traffic engine's: a server's side does not pass for a sender's in a trace.
SERVER_PORT_OFFSET = 20_000
# Servers are there within a fraction of this.
LISTEN_TIMEOUT_S = 10
LISTENING = "0A"
POLL_S = 0.01


class Iperf3:
    """The flows of one run."""

    def __init__(self, plan: Plan, network: Network, folder: Path) -> None:
        """Start a server for each."""
        self._plan = plan
        self._network = network
        self._folder = folder
        self._servers: list[subprocess.Popen[bytes]] = []
        self._clients: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}
        for index, flow in enumerate(plan.flows):
            words = ["-s", "-1", "-p", str(_server_port(index)), "-B", network.layout.address(flow.sink, flow.family)]
            self._servers.append(self._popen(flow.sink, words, subprocess.DEVNULL))

    def _popen(self, node: str, words: list[str], out: Any) -> subprocess.Popen[bytes]:
        argv = ["iperf3", *words]
        return self._network.popen(node, argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def ready(self) -> None:
        """Wait until all servers listen."""
        deadline = time.monotonic() + LISTEN_TIMEOUT_S
        for index, flow in enumerate(self._plan.flows):
            while not self._listens(flow, _server_port(index)):
                if time.monotonic() > deadline:
                    raise NetworkError(f"flow {flow.name}: iperf3's server did not listen within {LISTEN_TIMEOUT_S} s")
                time.sleep(POLL_S)

    def _listens(self, flow: Flow, port: int) -> bool:
        # of this thread: /proc/net would be the process' first thread's
        path = Path("/proc/thread-self/net", "tcp" if flow.family == 4 else "tcp6")
        with self._network.inside(flow.sink):
            lines = path.read_text().splitlines()[1:]
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == LISTENING for line in lines)

    def start(self, flow: Flow) -> None:
        """Have a flow's client send."""
        path = self._folder / f"iperf3-{self._plan.flows.index(flow)}"
        with path.open("wb") as out:
            self._clients[flow.name] = (self._popen(flow.source, self._client(flow), out), path)

    def _client(self, flow: Flow) -> list[str]:
        layout, index = self._network.layout, self._plan.flows.index(flow)
        words = ["-J", "-c", layout.address(flow.sink, flow.family), "-p", str(_server_port(index))]
        words += ["-B", layout.address(flow.source, flow.family), "--cport", str(FIRST_FLOW_PORT + index)]
        words += ["-t", str(int(flow.seconds))]
        options = {"-C": flow.cc, "-w": flow.window_bytes, "-l": flow.write_bytes, "-M": flow.mss_bytes}
        return words + [word for name, value in options.items() if value for word in (name, str(value))]

    def finish(self, deadline_ns: int) -> list[dict[str, Any]]:
        """Each flow's report, in the plan's order, when all have ended."""
        found = []
        for flow in self._plan.flows:
            process, path = self._clients[flow.name]
            report: dict[str, Any] = {}
            try:
                process.wait(max(0.0, (deadline_ns - time.monotonic_ns()) / 1e9))
                report = json.loads(path.read_text(errors="replace") or "{}")
                error = report.get("error") or (f"status {process.returncode}" if process.returncode else None)
            except subprocess.TimeoutExpired:
                error = "did not end"
            except json.JSONDecodeError:
                error = path.read_text(errors="replace").strip()
            found.append({"name": flow.name, "report": report, "error": error})
        return found

    def kill(self) -> None:
        """End all that is left."""
        for process in (*self._servers, *(process for process, _ in self._clients.values())):
            process.kill()
            process.wait()


def _server_port(index: int) -> int:
    return FIRST_FLOW_PORT + index + SERVER_PORT_OFFSET
