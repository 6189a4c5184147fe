# SPDX-License-Identifier: GPL-2.0
"""File transfers and uncontrolled sources in the guest, from one process.

Starting a program in the guest takes tenths of a second of the host, and a
campaign has more than a thousand runs.  So the agent itself opens each socket
in its host's namespace, a thread sleeps in the kernel for each end of each
connection, and the tc of a node stays between runs.  No byte passes through
Python while a transfer is under way.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lab import links
from lab.model import arrivals

SECOND_NS = 1_000_000_000
# A flow's receiver listens so far above the flow's own port: the receiver's
# side of a connection must not pass for the sender's in a trace. (iperf3's
# servers of other runs in the boot stay on other ports.)
SERVER_PORT_OFFSET = 20000
STOCK_MTU_BYTES = 1500
# The longest transfer is a few seconds at its fair share.
DEADLINE_S = 90
# Sources hand over their packets so far ahead; what a run leaves over is less.
AHEAD_NS = 50_000_000
CHUNK_NS = 50_000_000
UDP_HEADER_BYTES = 28  # with IP

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_PR_SET_TIMERSLACK = 29
_SIOCETHTOOL = 0x8946
_SIOCSIFMTU = 0x8922
_ETHTOOL_SGRO = 0x2C
_SO_TIMESTAMPING = 37
_SO_TXTIME = 61
# The moment at which the last byte of a write was acknowledged, without the packet.
_ACK_TIMESTAMPS = 1 << 9 | 1 << 4 | 1 << 11  # TX_ACK, SOFTWARE, OPT_TSONLY
_TCP_INFO_BYTES = 232
_TOTAL_RETRANS = 100  # offsets in struct tcp_info
_SND_MSS = 16
_DATA_SEGS_OUT = 156
RECEIVE_BUFFERS, SEND_BUFFERS = "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"


class TrafficError(OSError):
    """A run could not be done; the message goes to the user."""


def sleep_until(moment_ns: int) -> None:
    """Sleep to an instant of the monotonic clock."""
    left = moment_ns - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)


class Namespaces:
    """Enters the nodes' network namespaces from this process."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self._files = {name: os.open(f"/proc/{pid}/ns/net", os.O_RDONLY) for name, pid in pids.items()}

    @contextlib.contextmanager
    def inside(self, node: str) -> Iterator[None]:
        """What this thread opens meanwhile belongs to the node."""
        self._enter(self._files[node])
        try:
            yield
        finally:
            self._enter(self._own)

    @staticmethod
    def _enter(file: int) -> None:
        if _LIBC.setns(file, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


class Tc:
    """A tc that stays: it takes commands from a pipe and answers in JSON."""

    def __init__(self, network: Any, node: str, errors: Path) -> None:
        self._node = node
        self._errors = errors
        self._process: subprocess.Popen[bytes] = network.popen(
            node,
            ["tc", "-s", "-j", "-force", "-batch", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors.open("wb"),
        )

    def show(self, device: str) -> list[dict[str, Any]]:
        """The qdiscs of a device with their statistics."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"qdisc show dev {device}\n".encode())
        self._process.stdin.flush()
        answer = b""
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise TrafficError(f"{self._node}: tc ended: {self._errors.read_text().strip()}")
            answer += line
            with contextlib.suppress(json.JSONDecodeError):
                return list(json.loads(answer))

    def do(self, device: str, lines: list[str], may_fail: bool = False) -> None:
        """Commands that print nothing; TrafficError if one fails, unless it may."""
        assert self._process.stdin is not None
        before = self._errors.stat().st_size
        self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        # The answer to this comes after all others have been carried out.
        self.show(device)
        said = self._errors.read_bytes()[before:].decode(errors="replace").strip()
        if said and not may_fail:
            raise TrafficError(f"{self._node}: tc: {said}")


class Hosts:
    """The network's settings, changed only where a run wants another."""

    def __init__(self, network: Any, folder: Path) -> None:
        self.network = network
        self.namespaces = Namespaces({node.name: node.pid for node in network.net.hosts})
        self.ends = [node.name for node in network.net.hosts if node.name[0] in "sd"]
        self._folder = folder
        self._tcs: dict[str, Tc] = {}
        self._delays: dict[str, float] = {}
        self._buffers = ""
        self._gro = False
        self._mtus: dict[str, int] = {}
        with self.namespaces.inside(self.ends[0]):
            self._stock = {name: Path("/proc/sys", name).read_text() for name in (RECEIVE_BUFFERS, SEND_BUFFERS)}
        # Timers of the threads that start transfers are exact.
        _LIBC.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)

    def tc(self, node: str) -> Tc:
        """The node's own tc."""
        if node not in self._tcs:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._tcs[node] = Tc(self.network, node, self._folder / f"tc-{node}")
        return self._tcs[node]

    def set_buffers(self, buffers: str) -> None:
        """Give every host these tcp_rmem and tcp_wmem, or ("") the distribution's."""
        if buffers == self._buffers:
            return
        for node in self.ends:
            with self.namespaces.inside(node):
                for name, stock in self._stock.items():
                    Path("/proc/sys", name).write_text(buffers or stock)
        self._buffers = buffers

    def set_gro(self, on: bool) -> None:
        """Switch GRO of every host's interface."""
        if on == self._gro:
            return
        for node in self.ends:
            device = f"{node}-{'r' if node[0] == 's' else 'x'}"
            value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_SGRO, on))
            request = struct.pack("16sQ16x", device.encode(), ctypes.addressof(value))
            with self.namespaces.inside(node), socket.socket() as handle:
                fcntl.ioctl(handle, _SIOCETHTOOL, request)
        self._gro = on

    def set_mtu(self, devices: Iterable[str], mtu_bytes: int) -> None:
        """The largest datagram of these devices: tbf warns of a bucket smaller than that."""
        for device in devices:
            if self._mtus.get(device, STOCK_MTU_BYTES) != mtu_bytes:
                with self.namespaces.inside(device.split("-")[0]), socket.socket() as handle:
                    fcntl.ioctl(handle, _SIOCSIFMTU, struct.pack("16si20x", device.encode(), mtu_bytes))
                self._mtus[device] = mtu_bytes

    def set_algorithm(self, nodes: Iterable[str], name: str) -> None:
        """Select the congestion control as a user would: by its sysctl."""
        for node in sorted(set(nodes)):
            if self.network.chosen.get(node) != name:
                with self.namespaces.inside(node):
                    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(name)
                self.network.chosen[node] = name

    def set_delays(self, delays_ms: dict[str, float]) -> None:
        """Delay lines on these devices; a line keeps its counters when it changes."""
        for device, delay_ms in delays_ms.items():
            if self._delays.get(device) != delay_ms:
                self.tc(device.split("-")[0]).do(device, links.delay(device, delay_ms))
                self._delays[device] = delay_ms

    def remove(self, devices: Iterable[str]) -> None:
        """Take queues off devices, whether there are any or not."""
        for device in devices:
            self.tc(device.split("-")[0]).do(device, [f"qdisc del dev {device} root"], may_fail=True)
            self._delays.pop(device, None)

    def stock(self) -> None:
        """As the other kind of run expects it."""
        self.set_buffers("")
        self.set_gro(False)
        self.set_mtu(list(self._mtus), STOCK_MTU_BYTES)
        self._delays.clear()


class Transfer:
    """One file over one connection; connected when it is made."""

    def __init__(self, hosts: Hosts, flow: dict[str, Any], packet_bytes: int) -> None:
        self._flow = flow
        self._bytes = flow["packets"] * (packet_bytes - links.TCP_HEADER_BYTES)
        self._payload_bytes = packet_bytes - links.TCP_HEADER_BYTES
        self.result: dict[str, Any] = {"name": flow["name"], "error": "did not end"}
        address, port = address_of(flow["sink"]), flow["port"] + SERVER_PORT_OFFSET
        with hosts.namespaces.inside(flow["sink"]):
            server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(1)
        with hosts.namespaces.inside(flow["source"]):
            self._sender = socket.socket()
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The kernel takes the 12 bytes of the time stamps off what is set.
        self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self._payload_bytes + 12)
        self._sender.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _ACK_TIMESTAMPS)
        self._sender.bind((address_of(flow["source"]), flow["port"]))
        self._sender.connect((address, port))
        self._receiver, _ = server.accept()
        server.close()

    def begin(self, begin_ns: int, ground: bytes, sink: bytearray) -> list[threading.Thread]:
        """Start both ends; the sender waits for its time."""
        ends = [
            threading.Thread(target=self._receive, args=(sink,), daemon=True),
            threading.Thread(target=self._send, args=(begin_ns, ground), daemon=True),
        ]
        for end in ends:
            end.start()
        return ends[1:]

    def _receive(self, sink: bytearray) -> None:
        """Take everything as it comes, without copying it."""
        with contextlib.suppress(OSError):
            self._receiver.recv_into(sink, self._bytes, socket.MSG_WAITALL | socket.MSG_TRUNC)

    def _send(self, begin_ns: int, ground: bytes) -> None:
        try:
            self._send_all(begin_ns, memoryview(ground)[: self._bytes])
        except OSError as error:
            self.result["error"] = str(error)

    def _send_all(self, begin_ns: int, data: memoryview) -> None:
        real_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        sleep_until(begin_ns + self._flow["start_ns"])
        began_ns = time.monotonic_ns()
        while data:
            data = data[self._sender.send(data) :]
        ended_ns = self._last_byte_acknowledged_ns() - real_ns
        info = self._sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        self.result = {
            "name": self._flow["name"],
            "began_ns": began_ns - begin_ns,
            "ended_ns": ended_ns - begin_ns,
            "retransmits": struct.unpack_from("I", info, _TOTAL_RETRANS)[0],
            "data_packets_sent": struct.unpack_from("I", info, _DATA_SEGS_OUT)[0],
            "mss_bytes": struct.unpack_from("I", info, _SND_MSS)[0],
            "error": None,
        }

    def _last_byte_acknowledged_ns(self) -> int:
        """The kernel's own time (of day), from the socket's error queue."""
        poll = select.poll()
        poll.register(self._sender, 0)
        while True:
            poll.poll()
            _, ancillary, _, _ = self._sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPING):
                    seconds, nanoseconds = struct.unpack_from("qq", data)
                    return int(seconds * SECOND_NS + nanoseconds)

    def close(self) -> None:
        """Forget the connection at both ends at once."""
        for end in (self._sender, self._receiver):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("iov", ctypes.c_void_p),
        ("iov_length", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (("header", _Header), ("sent", ctypes.c_uint))


class Batch:
    """Sends many datagrams by one system call, each at its own time (SO_TXTIME)."""

    CAPACITY = 256
    CONTROL = struct.Struct("QiiQ")  # cmsghdr: length, level, type; then the time

    def __init__(self, payload_bytes: int) -> None:
        self._payload = ctypes.create_string_buffer(payload_bytes)
        self._iovec = _Iovec(ctypes.addressof(self._payload), payload_bytes)
        self._control = ctypes.create_string_buffer(self.CONTROL.size * self.CAPACITY)
        self._messages = (_Message * self.CAPACITY)()
        for index, message in enumerate(self._messages):
            header = message.header
            header.iov, header.iov_length = ctypes.addressof(self._iovec), 1
            header.control = ctypes.addressof(self._control) + index * self.CONTROL.size
            header.control_length = self.CONTROL.size

    def send(self, sender: socket.socket, times_ns: list[int]) -> None:
        """All datagrams, in pieces of the batch's capacity."""
        for first in range(0, len(times_ns), self.CAPACITY):
            part = times_ns[first : first + self.CAPACITY]
            for index, time_ns in enumerate(part):
                self.CONTROL.pack_into(
                    self._control,
                    index * self.CONTROL.size,
                    self.CONTROL.size,
                    socket.SOL_SOCKET,
                    _SO_TXTIME,
                    time_ns,
                )
            sent = _LIBC.sendmmsg(sender.fileno(), self._messages, len(part), 0)
            if sent != len(part):
                raise OSError(ctypes.get_errno(), f"{sent} of {len(part)} datagrams were sent")


class Sources:
    """Uncontrolled traffic: every packet leaves its host at the time that was drawn for it."""

    def __init__(self, hosts: Hosts, flows: list[dict[str, Any]], packet_bytes: int) -> None:
        self._batch = Batch(packet_bytes - UDP_HEADER_BYTES)
        self._arrivals = [arrivals.of(flow["model"]) for flow in flows]
        self._next = [next(times) for times in self._arrivals]
        self._stopped = threading.Event()
        self.error: str | None = None
        self._senders: list[socket.socket] = []
        self._sinks: list[socket.socket] = []
        for flow in flows:
            self._open(hosts, flow)
        self._thread: threading.Thread | None = None

    def _open(self, hosts: Hosts, flow: dict[str, Any]) -> None:
        with hosts.namespaces.inside(flow["sink"]):
            sink = socket.socket(type=socket.SOCK_DGRAM)
        # Never read: what does not fit is dropped there.
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sink.bind((address_of(flow["sink"]), flow["port"] + SERVER_PORT_OFFSET))
        with hosts.namespaces.inside(flow["source"]):
            sender = socket.socket(type=socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, _SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
        sender.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
        sender.bind((address_of(flow["source"]), flow["port"]))
        sender.connect((address_of(flow["sink"]), flow["port"] + SERVER_PORT_OFFSET))
        self._sinks.append(sink)
        self._senders.append(sender)

    def begin(self, begin_ns: int) -> None:
        """Send from then on."""
        self._thread = threading.Thread(target=self._run, args=(begin_ns,), daemon=True)
        self._thread.start()

    def _run(self, begin_ns: int) -> None:
        chunk_ns = 0
        try:
            while not self._stopped.is_set():
                sleep_until(begin_ns + chunk_ns - AHEAD_NS)
                chunk_ns += CHUNK_NS
                for index, sender in enumerate(self._senders):
                    self._batch.send(sender, list(self._due(index, begin_ns, chunk_ns)))
        except OSError as error:
            self.error = f"source: {error}"

    def _due(self, index: int, begin_ns: int, until_ns: int) -> Iterator[int]:
        while self._next[index] < until_ns:
            yield begin_ns + self._next[index]
            self._next[index] = next(self._arrivals[index])

    def close(self) -> None:
        """Stop, and let what is under way arrive."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            time.sleep((AHEAD_NS + CHUNK_NS) / 1e9)
        for end in (*self._senders, *self._sinks):
            end.close()


def address_of(node: str) -> str:
    """The address of s3 or d3 in the dumbbell."""
    return f"10.{'0' if node[0] == 's' else '1'}.{node[1:]}.1"


def run(hosts: Hosts, tracer: Any, plan: dict[str, Any]) -> dict[str, Any]:
    """One run, from an idle network to an idle network."""
    bottlenecks: dict[str, list[str]] = plan["bottlenecks"]
    hosts.set_buffers(plan["buffers"])
    hosts.set_gro(plan["gro"])
    hosts.set_algorithm((flow["source"] for flow in plan["transfers"]), plan["cc"])
    hosts.set_delays(plan["delays_ms"])
    hosts.remove(bottlenecks)
    hosts.set_mtu(bottlenecks, plan["mtu_bytes"])
    for device, lines in bottlenecks.items():
        hosts.tc(device.split("-")[0]).do(device, lines)
    for node in {flow["source"] for flow in plan["streams"]}:
        # Holds each packet back until its time.
        hosts.tc(node).do(
            f"{node}-r",
            [f"qdisc replace dev {node}-r root handle 1: fq limit 1000000 flow_limit 1000000 nopacing timer_slack 0"],
        )
    packet_bytes = plan["packet_bytes"]
    transfers = [Transfer(hosts, flow, packet_bytes) for flow in plan["transfers"]]
    sources = Sources(hosts, plan["streams"], packet_bytes)
    most = max(flow["packets"] for flow in plan["transfers"]) * packet_bytes
    ground, sink = bytes(most), bytearray(most)
    # Runs begin on a whole second: the phase of every periodic timer is the same.
    begin_ns = (time.monotonic_ns() // SECOND_NS + 2) * SECOND_NS
    missing = tracer.start(plan["events"], range(10000, 11000)) if plan["events"] else []
    waiting = [thread for transfer in transfers for thread in transfer.begin(begin_ns, ground, sink)]
    if plan["streams"]:
        sources.begin(begin_ns)
    deadline_ns = begin_ns + DEADLINE_S * SECOND_NS
    for thread in waiting:
        thread.join(max(0.0, (deadline_ns - time.monotonic_ns()) / 1e9))
    raw: dict[str, Any] = {
        "begin_s": begin_ns / 1e9,
        "trace": tracer.stop() if plan["events"] else "",
        "missing_events": missing,
        "actions": [],
    }
    sources.close()
    for transfer in transfers:
        transfer.close()
    raw["transfers"] = [transfer.result for transfer in transfers]
    raw["source_error"] = sources.error
    devices = sorted({*bottlenecks, *plan["delays_ms"], *(f"{flow['source']}-r" for flow in plan["streams"])})
    raw["qdiscs"] = {device: hosts.tc(device.split("-")[0]).show(device) for device in devices}
    # What another kind of run does not know of.
    hosts.remove(device for device in devices if not device.startswith("d"))
    return raw
