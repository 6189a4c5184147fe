# SPDX-License-Identifier: GPL-2.0
"""One run of an experiment: a topology, traffic, what happens meanwhile, what is recorded."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from . import arrivals, devices
from .errors import PlanError, in_range
from .layout import Layout, lay_out
from .topology import IPV6_MTU_BYTES, Link, Topology, Way
from .typed import DRAIN_S, MAX_SECONDS, Range, Seconds, check_name, check_options, check_types

# A flow's port is FIRST_FLOW_PORT + its number, its server's is so much higher; traces are
# kept of the flows' own ports, so that a server's side does not pass for a sender's.
FIRST_FLOW_PORT = 10_001
MAX_FLOWS = 1_000
FIRST_SOURCE_PORT = 20_001
MAX_SOURCE_PORTS = 5_000
# 20 IP, 32 TCP with time stamps; 40 more bytes of IPv6, 20 less of IPv4
TCP_HEADER_BYTES = 52
TIME_STAMP_BYTES = 12
IPV6 = 6
UDP_HEADER_BYTES = {4: 28, 6: 48}
MAX_DATAGRAM_BYTES = 65_507
# What the traffic engine writes into each packet of a source: when it was sent, and whose it is.
STAMP_BYTES = 12
# The kernels before 6.9 cut no larger burst.
MAX_BURST_PACKETS = 64
TRAFFIC = ("engine", "iperf3")
# What iperf3 (3.12) takes: a time in whole seconds, blocks, socket buffers and segments.
IPERF3_MAX_SECONDS = 86_400
IPERF3_MAX_WRITE_BYTES = 1 << 20
IPERF3_MAX_WINDOW_BYTES = 512 << 20
IPERF3_MAX_MSS_BYTES = 9_216
# What chooses the congestion control of a node's own.
CC_SYSCTL = "net.ipv4.tcp_congestion_control"
# TCP_CA_NAME_MAX, without the 0 at its end
CC_CHARACTERS = 15
# The kernel's TCP_MIN_MSS, and its MAX_TCP_WINDOW, as an IPv4 packet.
MIN_MSS_BYTES = 88
MAX_PACKET_BYTES = 32_767 + TCP_HEADER_BYTES - TIME_STAMP_BYTES
# What the traffic engine takes.
MAX_FLOW_PACKETS_S = 10_000
MAX_WRITE_BYTES = 1 << 30
Bytes = Annotated[int, Range(1, 1 << 50)]
Buffer = Annotated[int, Range(0, MAX_WRITE_BYTES)]
# What the guest has memory for: 40 bytes of a packet of a source, and 80 of a sample.
MAX_SOURCE_PACKETS = 10_000_000
MAX_SAMPLES = 2_000_000
# 0 is drawn anew each time.
HASH_SEEDS = Range(1, 2**32 - 1)
SYSCTL = re.compile(r"\w[\w-]*([./]\w[\w-]*)*", re.ASCII)
EVENT = re.compile(r"\w+:\w+", re.ASCII)
# Metrics of every run (``analyse.figures``), and those of its sources and devices.
QUANTILES = ("p50", "p95", "p99")
# Of real machines, by host in the raw result; a run's is the greatest.
CLOCK_FIGURES = ("clock_offset_us", "clock_error_us", "clock_drift_us")
OF_RUN = (
    *("window_begin_s", "window_end_s", "utilisation", "utilisation_start", "jain", "goodput_bit_s"),
    *(f"{which}queue_delay_{quantile}_s" for which in ("", "start_") for quantile in QUANTILES),
    *("retransmits", "drops", "kernel_warnings", *CLOCK_FIGURES),
)
OF_SOURCE = ("{}_sent", "{}_received", *(f"{{}}_delay_{quantile}_s" for quantile in QUANTILES))
OF_DEVICE = (
    *("drops_{}", "utilisation_{}"),
    *(f"backlog_{{}}_{which}_{unit}" for which in ("mean", "max", *QUANTILES) for unit in ("packets", "bytes")),
)


@dataclass(frozen=True)
class Exchange:
    """A request, its response, and how long the client thinks after it."""

    request_bytes: Bytes
    response_bytes: Bytes
    think_s: Seconds = 0.0


@dataclass(frozen=True)
class Flow:
    """One TCP connection from a node to another.

    It carries ``bytes`` of payload, or as much as it can for ``seconds``, or ``exchanges``.

    :param cc: congestion control of the sender; "" is the node's own
    :param start_s: when its first byte is handed over
    :param connects: "before" the run begins, or at its "start", when the handshake counts
    :param packet_bytes: of full packets as IP datagrams; 0: what the path allows
    :param window_bytes: both socket buffers; 0: the system's
    :param write_bytes: handed over at a time; 0: a file at once, what is sent for a time by 128 KiB
    :param unsent_bytes: what waits in the socket unsent before the application stops handing over; 0: what
        its buffer takes, of which a third is then handed over at once
    :param packets_s: packets that are sent in a second, each of what the rate that its congestion control tells
        sends until the next, and of write_bytes at most; 0: as much as the socket takes
    :param write_least_bytes: of a flow with seconds: a write is a packet of its own, of a size that is drawn
        evenly from this to write_bytes; 0: each write has write_bytes
    :param write_gap_s: of exchanges: a message is handed over write_bytes at a time, so far apart; 0: at once
    :param writes_s: of bytes: so long after start_s each write_bytes is handed over, whatever has been acknowledged
        by then; window_bytes must hold what waits. Empty: as fast as the socket takes it
    :param until_s: no exchange begins then or later; 0: all of them are had
    :param family: 4 or 6
    :param background: it is there for what it does to the others: the measured window does not wait
        for it, and the window's metrics leave it out
    """

    name: str
    source: str
    sink: str
    cc: str = ""
    start_s: Seconds = 0.0
    bytes: Annotated[int, Range(0, 1 << 50)] = 0
    seconds: Annotated[float, Range(1e-9, MAX_SECONDS, or_zero=True)] = 0.0
    exchanges: Annotated[tuple[Exchange, ...], Range(0, 100_000)] = ()
    connects: str = "before"
    packet_bytes: Annotated[int, Range(0, MAX_PACKET_BYTES)] = 0
    window_bytes: Buffer = 0
    write_bytes: Buffer = 0
    unsent_bytes: Buffer = 0
    packets_s: Annotated[int, Range(0, MAX_FLOW_PACKETS_S)] = 0
    write_least_bytes: Buffer = 0
    write_gap_s: Seconds = 0.0
    writes_s: Annotated[tuple[float, ...], Range(0, 1_000_000)] = ()
    until_s: Seconds = 0.0
    family: int = 4
    background: bool = False

    def check(self) -> None:
        """PlanError if it cannot be."""
        check_types(f"flow {self.name}", self)
        check_name("flow", self.name)
        what = [name for name in ("bytes", "seconds", "exchanges") if getattr(self, name)]
        if len(what) != 1:
            given = " and ".join(what) or "none"
            raise PlanError(f"flow {self.name}: needs one of bytes, seconds, exchanges; has {given}")
        for exchange in self.exchanges:
            check_types(f"flow {self.name}", exchange)
        if self.cc:
            check_name(f"flow {self.name}: cc", self.cc)
            in_range(f"flow {self.name}: cc {self.cc}: characters", len(self.cc), 1, CC_CHARACTERS)
        if self.bytes > MAX_WRITE_BYTES and not self.write_bytes:
            most = f"must be at most {MAX_WRITE_BYTES}, or have write_bytes"
            raise PlanError(f"flow {self.name}: bytes {self.bytes}: are handed over at once: {most}")
        if self.packets_s and not self.seconds:
            raise PlanError(f"flow {self.name}: packets_s {self.packets_s}: needs seconds")
        if self.write_least_bytes:
            self._check_random_writes()
        if (self.write_gap_s or self.until_s) and not self.exchanges:
            raise PlanError(f"flow {self.name}: write_gap_s and until_s: need exchanges")
        if self.write_gap_s and not self.write_bytes:
            raise PlanError(f"flow {self.name}: write_gap_s {self.write_gap_s}: needs write_bytes")
        self._check_writes()
        if self.family not in UDP_HEADER_BYTES:
            raise PlanError(f"flow {self.name}: family {self.family}: must be 4 or 6")
        if self.connects not in ("before", "start"):
            raise PlanError(f"flow {self.name}: connects {self.connects}: must be before or start")
        least = self.packet_bytes - self.mss_bytes + MIN_MSS_BYTES
        if 0 < self.packet_bytes < least:
            raise PlanError(f"flow {self.name}: packet_bytes {self.packet_bytes}: must be 0 or at least {least}")

    def _check_writes(self) -> None:
        if not self.writes_s:
            return
        what = f"flow {self.name}: writes_s"
        if not (self.bytes and self.write_bytes):
            raise PlanError(f"{what}: need bytes and write_bytes")
        in_range(f"{what}: length", len(self.writes_s), *[math.ceil(self.bytes / self.write_bytes)] * 2)
        for before_s, at_s in itertools.pairwise((0.0, *self.writes_s)):
            if not before_s <= at_s <= MAX_SECONDS:
                raise PlanError(f"{what}: {at_s} after {before_s}: must not fall, and be at most {MAX_SECONDS}")

    def _check_random_writes(self) -> None:
        what = f"flow {self.name}: write_least_bytes {self.write_least_bytes}"
        if not self.seconds or self.packets_s:
            raise PlanError(f"{what}: needs seconds, and no packets_s")
        if self.write_least_bytes > self.write_bytes:
            raise PlanError(f"{what}: must be at most write_bytes, {self.write_bytes}")

    @property
    def mss_bytes(self) -> int:
        """What TCP_MAXSEG is set to, or 0: the kernel takes the time stamps off it."""
        if not self.packet_bytes:
            return 0
        headers = TCP_HEADER_BYTES if self.family == 4 else TCP_HEADER_BYTES + 20
        return self.packet_bytes - headers + TIME_STAMP_BYTES

    def check_iperf3(self) -> None:
        """PlanError if iperf3 cannot carry it."""
        what = f"flow {self.name}: iperf3"
        if self.exchanges:
            raise PlanError(f"{what} has no exchanges: must be seconds")
        if self.bytes:
            # Its client says that all is sent when all is in the socket's buffer, and its server
            # then closes the connection: of -n 1000001 over loopback nothing at all is received.
            raise PlanError(f"{what} hangs up before the last of bytes {self.bytes} have arrived: must be seconds")
        if self.writes_s:
            raise PlanError(f"{what} writes when it likes: writes_s: must be empty")
        if self.packets_s:
            raise PlanError(f"{what} asks for no rate before it writes: packets_s {self.packets_s}: must be 0")
        if self.write_least_bytes:
            raise PlanError(f"{what} draws no sizes: write_least_bytes {self.write_least_bytes}: must be 0")
        if self.seconds != int(self.seconds):
            raise PlanError(f"{what} takes whole seconds: seconds {self.seconds}: must be a whole number")
        in_range(f"{what}: seconds", self.seconds, 1, IPERF3_MAX_SECONDS)
        in_range(f"{what}: write_bytes", self.write_bytes, 0, IPERF3_MAX_WRITE_BYTES)
        in_range(f"{what}: window_bytes", self.window_bytes, 0, IPERF3_MAX_WINDOW_BYTES)
        in_range(f"{what}: segments of", self.mss_bytes, 0, IPERF3_MAX_MSS_BYTES)


@dataclass(frozen=True)
class Source:
    """UDP packets from a node to another, whatever becomes of them.

    :param model: when they leave (``arrivals.of``): constant, poisson, on_off, or a list of times
    :param packet_bytes: IP datagrams
    :param ports: so many flows take turns
    :param burst: packets that leave at once each time
    """

    name: str
    source: str
    sink: str
    model: Mapping[str, Any]
    seconds: Seconds
    packet_bytes: Annotated[int, Range(UDP_HEADER_BYTES[4] + STAMP_BYTES, 65_535)]
    ports: Annotated[int, Range(1, MAX_SOURCE_PORTS)] = 1
    burst: Annotated[int, Range(1, MAX_BURST_PACKETS)] = 1
    family: int = 4

    def check(self) -> None:
        """PlanError if it cannot be."""
        check_types(f"source {self.name}", self)
        check_name("source", self.name)
        if self.family not in UDP_HEADER_BYTES:
            raise PlanError(f"source {self.name}: family {self.family}: must be 4 or 6")
        least = UDP_HEADER_BYTES[self.family] + STAMP_BYTES
        if self.packet_bytes < least:
            raise PlanError(f"source {self.name}: packet_bytes {self.packet_bytes}: must be at least {least}")
        total = self.burst * (self.packet_bytes - UDP_HEADER_BYTES[self.family])
        if total > MAX_DATAGRAM_BYTES:
            raise PlanError(
                f"source {self.name}: a burst of {self.burst} packets is {total} bytes; must be at most"
                f" {MAX_DATAGRAM_BYTES}"
            )
        try:
            arrivals.of(self.model)
        except PlanError as error:
            raise PlanError(f"source {self.name}: {error}") from None
        in_range(f"source {self.name}: packets in {self.seconds:g} s", round(self.packets), 0, MAX_SOURCE_PACKETS)

    @property
    def packets(self) -> float:
        """About how many it sends."""
        model = self.model
        if "rate_packets_s" not in model:
            return len(self.times_ns()) * self.burst
        sending_s = max(0.0, self.seconds - model.get("start_s", 0.0))
        if "on_s" in model:
            periods, rest_s = divmod(sending_s, model["on_s"] + model["off_s"])
            sending_s = periods * model["on_s"] + min(rest_s, model["on_s"])
        if model["model"] in arrivals.PARTS_ON:
            sending_s *= arrivals.PARTS_ON[model["model"]](model)
        return sending_s * model["rate_packets_s"] * self.burst

    def times_ns(self) -> list[int]:
        """When each packet or burst leaves, from the beginning of the run."""
        return arrivals.until(arrivals.of(self.model), round(self.seconds * 1e9))


@dataclass(frozen=True)
class Command:
    """A program that is run in a node some time into a run, and ends before the run does.

    ``@tcp_pktpair``, ``@tcp_vptfrc`` and ``@sch_fq_rr`` stand for the files of the modules.

    :param node: or "root", the guest itself
    """

    name: str
    at_s: Seconds
    node: str
    argv: tuple[str, ...]

    def check(self) -> None:
        """PlanError if it cannot be."""
        check_types(f"command {self.name}", self)
        check_name("command", self.name)
        if not self.argv or not self.argv[0]:
            raise PlanError(f"command {self.name}: argv {self.argv}: has no program")
        if any("\0" in word for word in self.argv):
            raise PlanError(f"command {self.name}: argv {self.argv}: no word can have a character 0")


@dataclass(frozen=True)
class Change:
    """What leaves a device takes another way from now on; what is not named stays as it is.

    :param up: False takes the device and with it the link down; True brings the link up, whichever device is down
    """

    at_s: Seconds
    device: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    up: bool | None = None

    def check(self) -> None:
        """PlanError if it cannot be."""
        check_types(f"change of {self.device}", self)


@dataclass(frozen=True)
class Record:
    """What is kept of a run beside the flows' and queues' own figures.

    :param acks: every acknowledgement that a sender takes
    :param events: trace events
    :param events_if_known: further ones, where the guest has them
    :param sample_s: tcp_info of each flow, and the queue of each observed device, at this interval; 0 is none
    :param pcaps: devices whose packets are captured as they leave
    :param bpftrace: a script that runs in the guest, from before the run begins until it has ended
    """

    acks: bool = True
    events: tuple[str, ...] = ()
    events_if_known: tuple[str, ...] = ()
    sample_s: Annotated[float, Range(1e-6, MAX_SECONDS, or_zero=True)] = 0.0
    pcaps: tuple[str, ...] = ()
    bpftrace: str = ""


@dataclass(frozen=True)
class Plan:
    """One run.

    :param observed: devices of which the queue is sampled (``record.sample_s``); () is all that have a rate
    :param hash_seed: of the queues' flow hashes
    :param sysctls: by node ("*" is each of them, and goes before one that is named), name and value
    :param module_parameters: by kernel module, name and value
    :param routes: by node ("*" is each of them that is not named): options of its routes, as ip takes them
        ("quickack 1")
    :param gro: nodes that merge packets as they arrive
    :param gro_hold_us: what arrives at these nodes is held so long for more to merge; 0 is not at all
    :param settle_s: the measured window opens so long after the last flow has started
    :param ends_with_flows: sources stop when the last flow has ended
    :param traffic: what drives the flows: the lab's own engine, or iperf3 where it can (``Flow.check_iperf3``);
        iperf3 connects when a flow starts
    """

    topology: Topology
    flows: Annotated[tuple[Flow, ...], Range(0, MAX_FLOWS)] = ()
    sources: Annotated[tuple[Source, ...], Range(0, MAX_SOURCE_PORTS)] = ()
    commands: Annotated[tuple[Command, ...], Range(0, 1_000)] = ()
    changes: Annotated[tuple[Change, ...], Range(0, 10_000)] = ()
    record: Record = dataclasses.field(default_factory=Record)
    hash_seed: Annotated[int, HASH_SEEDS] = 1
    sysctls: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    module_parameters: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    routes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    gro: tuple[str, ...] = ()
    gro_hold_us: Annotated[float, Range(0.001, 1_000_000, or_zero=True)] = 0.0
    settle_s: Seconds = 0.0
    seconds: Seconds = 0.0
    ends_with_flows: bool = False
    traffic: str = "engine"
    observed: tuple[str, ...] = ()

    @property
    def senders(self) -> tuple[Flow | Source, ...]:
        """All that sends."""
        return (*self.flows, *self.sources)

    @property
    def actions(self) -> tuple[Command | Change, ...]:
        """All that is done while the run lasts."""
        return (*self.commands, *self.changes)

    @property
    def end_s(self) -> float:
        """When the last flow stops handing over data, or the last thing happens."""
        ends = [max(flow.start_s + flow.seconds, flow.until_s) for flow in self.flows]
        ends += [source.seconds for source in self.sources]
        ends += [item.at_s for item in self.actions]
        return max([self.seconds, *ends])

    @property
    def longest_s(self) -> float:
        """What it may last where flows end that have no time of their own."""
        return self.end_s + (0 if self._flows_are_timed else DRAIN_S)

    @property
    def _flows_are_timed(self) -> bool:
        return all(flow.seconds for flow in self.flows)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """The measured window, in which every flow is sending that is measured, or None."""
        if not self.measured or any(not flow.seconds for flow in self.measured):
            return None
        begin = max(flow.start_s for flow in self.measured) + self.settle_s
        end = min(flow.start_s + flow.seconds for flow in self.measured)
        return (begin, end) if end > begin else None

    @property
    def measured(self) -> tuple[Flow, ...]:
        """The flows that the window's metrics are about."""
        return tuple(flow for flow in self.flows if not flow.background)

    @property
    def ipv6(self) -> bool:
        """Whether nodes need addresses of that family."""
        return any(item.family == IPV6 for item in self.senders)

    @property
    def ccs(self) -> set[str]:
        """The congestion controls that its flows and sysctls name."""
        chosen = {settings.get(CC_SYSCTL, "") for settings in self.sysctls.values()}
        return {*chosen, *(flow.cc for flow in self.flows)} - {""}

    def by_node(self, settings: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Sysctls or routes, node by node: what "*" says goes before what is said of a node by its name."""
        of_all = [(node, settings["*"]) for node in self.topology.nodes if "*" in settings]
        return of_all + [(node, value) for node, value in settings.items() if node != "*"]

    @property
    def structure(self) -> list[Any]:
        """What two plans have in common whose nodes and links may be the same; JSON can hold it."""
        links = [[link.a, link.b, link.mtu_bytes] for link in self.topology.links]
        return [[list(item) for item in self.topology.nodes.items()], links, self.ipv6]

    @staticmethod
    def network_of(structure: list[Any]) -> tuple[Topology, bool]:
        """Nodes and links of a structure, and whether nodes have addresses of IPv6."""
        nodes, links, ipv6 = structure
        return Topology("bare", dict(nodes), tuple(Link(a, b, mtu_bytes=mtu) for a, b, mtu in links)), ipv6

    @property
    def sampled(self) -> tuple[str, ...]:
        """Devices of which the queue is sampled."""
        if not self.record.sample_s:
            return ()
        ways = [(name, way) for link in self.topology.links for name, way in link.ways]
        return self.observed or tuple(name for name, way in ways if way.rate_bit_s)

    def port(self, flow: Flow) -> int:
        """What a flow is known by in traces."""
        return FIRST_FLOW_PORT + self.flows.index(flow)

    def check(self) -> Layout:
        """PlanError if the run cannot be done; returns the topology's layout."""
        check_types("plan", self)
        check_types("record", self.record)
        for part in (*self.senders, *self.actions):
            part.check()
        layout = lay_out(self.topology)
        self._check_limits()
        self._check_unique()
        for device in layout.devices.values():
            device.sending_lines(self.hash_seed)
            if self.ipv6 and device.mtu_bytes < IPV6_MTU_BYTES:
                least = f"must be at least {IPV6_MTU_BYTES} for IPv6"
                raise PlanError(f"link {device.name}: mtu_bytes {device.mtu_bytes}: {least}")
        for item in self.senders:
            kind = "flow" if isinstance(item, Flow) else "source"
            if item.source == item.sink:
                raise PlanError(f"{kind} {item.name}: sink {item.sink}: must be another node than its source")
            path = [*layout.path(item.source, item.sink), *layout.path(item.sink, item.source)]
            narrow = min(path, key=lambda device: device.mtu_bytes)
            what = f"{kind} {item.name}: packet_bytes over link {narrow.name}"
            in_range(what, item.packet_bytes, 0, narrow.mtu_bytes)
        self._check_switches()
        self._check_observed(self._check_changes())
        for device_name in self.record.pcaps:
            self.topology.way(device_name)
        self._check_settings(layout)
        return layout

    def _check_changes(self) -> set[str]:
        """Each change is of what those before it have made; returns devices that have a queue or delay line."""
        topology = self.topology
        queued = {name for link in topology.links for name, way in link.ways if way.rate_bit_s or way.needs_netem}
        for change in sorted(self.changes, key=lambda one: one.at_s):
            topology = after(topology, change)
            link, way = topology.link(change.device), topology.way(change.device)
            try:
                link.check()
                devices.queue(change.device, way, self.hash_seed, link.mtu_bytes)
            except PlanError as error:
                raise PlanError(f"change of {change.device} at {change.at_s:g} s: {error}") from None
            if way.rate_bit_s or way.needs_netem:
                queued.add(change.device)
        return queued

    def _check_switches(self) -> None:
        """What a module's parameters say of a link is what its way says."""
        told = self.module_parameters.get(devices.OF_SWITCHES, {}).get("rate_bit_s")
        changed = {change.device for change in self.changes if change.values}
        for name, way in (pair for link in self.topology.links for pair in link.ways):
            if way.queue not in devices.SWITCHES:
                continue
            if told != str(way.rate_bit_s):
                wanted = f"must be the parameter of {devices.OF_SWITCHES}, {told or 'which the plan does not set'}"
                raise PlanError(f"link {name}: {way.queue}: rate_bit_s {way.rate_bit_s}: {wanted}")
            if name in changed:
                raise PlanError(f"change of {name}: {way.queue}: its parameters hold for the whole run")

    def _check_observed(self, queued: set[str]) -> None:
        for name in self.observed:
            self.topology.way(name)
            if name not in queued:
                raise PlanError(f"observed {name}: never has a queue: must have a rate or a delay")
        if self.observed and not self.record.sample_s:
            raise PlanError(f"observed {', '.join(self.observed)}: record.sample_s is 0: must be above 0")

    def _check_settings(self, layout: Layout) -> None:
        """What nodes and modules are told can be said, and there are these nodes."""
        named: list[tuple[str, Iterable[str], tuple[str, ...]]] = [
            ("gro", self.gro, ()),
            ("sysctls", self.sysctls, ("*", "root")),
            ("routes", self.routes, ("*",)),
            *((f"command {command.name}", [command.node], ("root",)) for command in self.commands),
        ]
        for what, nodes, others in named:
            for node in nodes:
                try:
                    has_routes = node in others or layout.routes(node)
                except PlanError as error:
                    raise PlanError(f"{what}: {error}") from None
                if what == "routes" and not has_routes:
                    raise PlanError(f"routes of {node}: all networks are its own: it has no route")
        for node, options in self.routes.items():
            check_options(f"routes of {node}", options)
        for node, settings in self.sysctls.items():
            for name in settings:
                if not SYSCTL.fullmatch(name):
                    raise PlanError(f"sysctls of {node} {name!r}: must be as {CC_SYSCTL}")
        for module, settings in self.module_parameters.items():
            for name in (module, *settings):
                check_name("module_parameters", name)
        for kind in ("events", "events_if_known"):
            for event in getattr(self.record, kind):
                if not EVENT.fullmatch(event):
                    raise PlanError(f"record: {kind} {event!r}: must be as fq_rr:fq_rr_enqueue")

    def _check_unique(self) -> None:
        """What is kept by a name has a name of its own: flows and sources, commands, devices, metrics."""
        for what, kinds in (("flows or sources", ("flows", "sources")), ("commands", ("commands",))):
            names = [(f"{kind}[{i}].name", one.name) for kind in kinds for i, one in self._numbered(kind)]
            _each_once(f"{what} of this name", names)
        for kind, devices_of in (("observed", self.observed), ("record.pcaps", self.record.pcaps)):
            _each_once("of this name", [(f"{kind}[{i}]", name) for i, name in enumerate(devices_of)])
        at_once = [
            (f"changes[{i}]", f"{field} of {one.device} at {float(one.at_s)} s")
            for i, one in self._numbered("changes")
            for field in (*one.values, *(["up"] if one.up is not None else []))
        ]
        _each_once("changes at once", at_once)
        _each_once("parts of the plan with this metric", self._metrics())

    def _numbered(self, kind: str) -> Iterator[tuple[int, Any]]:
        return enumerate(getattr(self, kind))

    def _metrics(self) -> Iterator[tuple[str, str]]:
        """Metrics that a run may have, and whose each is."""
        yield from (("every run", metric) for metric in OF_RUN)
        for link in self.topology.links:
            for device, _ in link.ways:
                yield from ((f"link {device}", metric.format(device)) for metric in OF_DEVICE)
        for i, one in self._numbered("sources"):
            yield from ((f"sources[{i}].name {one.name}", metric.format(one.name)) for metric in OF_SOURCE)
        for i, one in self._numbered("commands"):
            yield f"commands[{i}].name {one.name}", f"{one.name}_status"

    def _check_limits(self) -> None:
        in_range("ports of sources", sum(source.ports for source in self.sources), 0, MAX_SOURCE_PORTS)
        in_range("packets of sources", round(sum(source.packets for source in self.sources)), 0, MAX_SOURCE_PACKETS)
        if self.gro_hold_us and not self.gro:
            raise PlanError(f"gro_hold_us {self.gro_hold_us}: no node is in gro")
        if self.ends_with_flows and not self.flows:
            raise PlanError("ends_with_flows True: there is no flow, so that no source would send: must be False")
        in_range("the run's length", self.end_s, 0, MAX_SECONDS)
        self._check_samples()
        if self.traffic not in TRAFFIC:
            raise PlanError(f"traffic {self.traffic}: must be one of {', '.join(TRAFFIC)}")
        if self.traffic == "iperf3":
            self._check_iperf3()

    def _check_samples(self) -> None:
        every_s = self.record.sample_s
        if not every_s:
            return
        if self.flows and self._flows_are_timed and every_s > self.end_s:
            raise PlanError(f"record: sample_s {every_s}: must be at most the run's length, {self.end_s:g} s")
        sampled = len(self.flows) + len(self.sampled)
        what = f"record: sample_s {every_s} for {self.longest_s:g} s, {sampled} flows and queues: samples"
        in_range(what, round(self.longest_s / every_s * sampled), 0, MAX_SAMPLES)

    def _check_iperf3(self) -> None:
        for flow in self.flows:
            flow.check_iperf3()
        if not self.record.acks:
            raise PlanError("traffic iperf3: does not say when a flow began and ended: record.acks must be True")
        if self.record.sample_s:
            raise PlanError(f"traffic iperf3: sample_s {self.record.sample_s}: must be 0, or traffic engine")
        if self.ends_with_flows:
            raise PlanError("traffic iperf3: ends_with_flows: must be False, or traffic engine")

    def as_data(self) -> dict[str, Any]:
        """For JSON; ``of`` reads it."""
        return _plain(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Plan:
        """From what ``as_data`` has made of one."""
        flows = [
            Flow(
                **{
                    **one,
                    "exchanges": tuple(Exchange(**exchange) for exchange in one["exchanges"]),
                    "writes_s": tuple(one.get("writes_s", ())),
                }
            )
            for one in data["flows"]
        ]
        lists = ("events", "events_if_known", "pcaps")
        record = {**data["record"], **{name: tuple(data["record"].get(name, ())) for name in lists}}
        return cls(
            **{
                **data,
                "topology": Topology.of(data["topology"]),
                "flows": tuple(flows),
                "sources": tuple(Source(**one) for one in data["sources"]),
                "commands": tuple(Command(**{**one, "argv": tuple(one["argv"])}) for one in data["commands"]),
                "changes": tuple(Change(**one) for one in data["changes"]),
                "record": Record(**record),
                "gro": tuple(data["gro"]),
                "observed": tuple(data.get("observed", ())),
            }
        )


def _plain(value: Any) -> Any:
    """What ``dataclasses.asdict`` makes of a value, without its copies of what cannot change."""
    if dataclasses.is_dataclass(value):
        return {name: _plain(one) for name, one in vars(value).items()}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _each_once(what: str, named: Iterable[tuple[str, str]]) -> None:
    """PlanError if two have one name.

    :param named: where each is, and its name
    """
    known: dict[str, str] = {}
    for where, name in named:
        if name in known:
            raise PlanError(f"{where} {name}: 2 {what}, the other is {known[name]}")
        known[name] = where


def changed(way: Way, change: Change) -> Way:
    """A way after a change; PlanError names what cannot be changed."""
    known = {one.name for one in dataclasses.fields(Way)}
    for name in change.values:
        if name not in known:
            raise PlanError(f"change of {change.device}: unknown {name}; known are {', '.join(sorted(known))}")
    return dataclasses.replace(way, **change.values)


def after(topology: Topology, change: Change) -> Topology:
    """A topology after a change of one of its ways; PlanError names what cannot be changed."""
    own = topology.link(change.device)
    new = (
        dataclasses.replace(own, there=changed(own.there, change))
        if change.device == own.device_a
        else dataclasses.replace(own, back=changed(own.back, change))
    )
    return dataclasses.replace(topology, links=tuple(new if link is own else link for link in topology.links))
