# SPDX-License-Identifier: GPL-2.0
"""From a run's raw result to its figures. Nothing is run or drawn here.

window
    from ``settle_s`` after the last flow's start to the first flow's end, so
    that every flow is sending all the time. Runs of files or exchanges have none.
    What there was before it is reported apart (``utilisation_start``, ``start_*``).
    Flows in the background count in the utilisation of devices, and in nothing else here.
goodput of a flow
    payload acknowledged over the flow's own time; ``window_goodput_bit_s`` in the window, over its length.
utilisation of a device
    packets delivered in the window of flows that pass it (selectively acknowledged ones
    included), each with the IP and TCP headers of a full packet, over what its rate
    allows, each rate for its time. ``utilisation`` is that of the device that is used most, of those that measured
    flows' data pass.
queue delay
    round trip of the newest segment of each acknowledgement, minus the least
    propagation delay that the path had meanwhile, over all flows' acknowledgements
    in the window. It contains the packet's own time on each link.
Jain index
    of the flows' goodputs: 1 when all are equal, 1/n when one has all.
backlog of a device
    packets and bytes in its queue, at each sample in the window, or in the whole run where there is none.
clocks of real machines
    the greatest offset and drift of a run's machines, and the greatest error with which an offset is known.
a flow of iperf3's
    begins a round trip before its first payload is acknowledged and ends with the last ACK that
    acknowledges any: by its ACKs, since its own report has no time of day.
"""

from __future__ import annotations

import base64
import functools
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.errors import PlanError, RunError
from ..model.layout import Device, Layout, lay_out
from ..model.plan import CLOCK_FIGURES, Flow, Plan, after, changed
from ..model.scenario import OPERATORS, Check, Scenario, Values
from ..model.topology import STOCK_MTU_BYTES, Way

QUANTILES = (0.5, 0.95, 0.99)
_LINE = re.compile(r"\s(\d+\.\d+): (\w+): (.*)")
_PAIR = re.compile(r"(\w+)=(-?[\w.-]+)")
_ENTRIES = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)", re.MULTILINE)
RECEIVED = np.dtype([("source", "<u4"), ("reserved", "<u4"), ("sent_ns", "<i8"), ("delay_ns", "<i8")])
SAMPLE = np.dtype(
    [("flow", "<u4"), ("cwnd", "<u4"), ("time_ns", "<i8"), ("bytes_acked", "<u8"), ("pacing_rate", "<u8")]
    + [(name, "<u4") for name in ("srtt_us", "min_rtt_us", "unacked", "retrans_total", "lost", "notsent_bytes")]
    + [("delivered", "<u4"), ("state", "<u4")]
)
QUEUE_SAMPLE = np.dtype([("queue", "<u4"), ("packets", "<u4"), ("time_ns", "<i8"), ("bytes", "<u4"), ("drops", "<u4")])

Floats = NDArray[np.float64]
# A run that the kernel complained about is wrong, whatever its figures.
NO_WARNING = Check("kernel_warnings", "==", 0)


@dataclass
class Figures:
    """What was found in a run.

    :param series: of the scenario's own, for what is drawn
    :param error: why the figures mean nothing, or None
    """

    metrics: dict[str, Any] = field(default_factory=dict)
    flows: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    series: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass
class Seen:
    """A flow's round trips and payload as its sender came to know them; times from the beginning of the run."""

    time_s: Floats
    rtt_s: Floats
    acked_bytes: Floats

    def at(self, values: Floats, moment_s: float) -> float:
        """A count as it was at a moment."""
        index = int(np.searchsorted(self.time_s, moment_s, side="right"))
        return float(values[index - 1]) if index else 0.0

    def goodput_bit_s(self, begin_s: float, end_s: float) -> float:
        """Payload acknowledged from one moment until another, over that time."""
        return (self.at(self.acked_bytes, end_s) - self.at(self.acked_bytes, begin_s)) * 8 / (end_s - begin_s)


@dataclass
class Acks(Seen):
    """What a sender saw, one row per acknowledgement.

    :param sent_bytes: payload that has left, again as well; not a number in traces that do not tell
    """

    delivered_packets: Floats
    retransmits: Floats
    sent_bytes: Floats


def events(trace: str, name: str) -> list[tuple[float, dict[str, str]]]:
    """All trace events of a name: time and fields."""
    found = []
    for line in trace.splitlines():
        match = _LINE.search(line)
        if match and match[2] == name:
            found.append((float(match[1]), dict(_PAIR.findall(match[3]))))
    return found


@functools.lru_cache(maxsize=1)
def acks_of_flows(trace: str, begin_s: float) -> Mapping[int, Acks]:
    """Acknowledgements by the flow's port. A scenario's measure() asks for those that its run was just asked for."""
    rows: dict[int, list[tuple[float, ...]]] = {}
    for time_s, fields in events(trace, "ack"):
        numbers = (int(fields[name]) for name in ("acked", "delivered", "retrans"))
        row = (time_s - begin_s, int(fields["rtt_us"]) / 1e6, *numbers, float(fields.get("sent", "nan")))
        rows.setdefault(int(fields["sport"]), []).append(row)
    found = {}
    for port, values in rows.items():
        columns = np.array(values, dtype=float).T
        # what is kept for the next who asks is nobody's to change
        columns.flags.writeable = False
        found[port] = Acks(*columns)
    return MappingProxyType(found)


def unpacked(text: str, kind: np.dtype[Any]) -> NDArray[Any]:
    """Records that the traffic engine has written."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind) if text else np.zeros(0, dtype=kind)


def rounded(value: float | np.floating[Any], digits: int = 6) -> float:
    """For the JSON: no digits that mean nothing."""
    return round(float(value), digits)


def quantiles(samples: Floats, name: str) -> dict[str, float]:
    """p50, p95 and p99, in the unit of the samples: ``name`` has "{}" for the quantile."""
    if not len(samples):
        return {}
    return {name.format(f"p{round(q * 100)}"): rounded(float(np.quantile(samples, q))) for q in QUANTILES}


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def propagation_s(layout: Layout, flow: Flow) -> float:
    """Round trip of an empty path, without the packets' times on the links."""
    there, back = layout.path(flow.source, flow.sink), layout.path(flow.sink, flow.source)
    return sum(device.leaving.delay_ms for device in (*there, *back)) / 1e3


def full_packet_bytes(layout: Layout, flow: Flow) -> int:
    """A full packet of a flow as an IP datagram."""
    smallest = min(device.mtu_bytes for device in layout.path(flow.source, flow.sink))
    return min(flow.packet_bytes or STOCK_MTU_BYTES, smallest)


def flow_figures(plan: Plan, layout: Layout, raw: Mapping[str, Any], acks: Mapping[int, Acks]) -> list[dict[str, Any]]:
    """What became of each flow; RunError if one did not do what it was to do."""
    figures = []
    for flow, result in zip(plan.flows, raw["flows"], strict=True):
        if flow.cc and result["cc"] != flow.cc:
            raise RunError(f"flow {flow.name}: congestion control {result['cc']}, not {flow.cc}")
        lasted_s = (result["ended_ns"] - result["began_ns"]) / 1e9
        one = {
            "name": flow.name,
            "cc": result["cc"],
            "port": plan.port(flow),
            "source": flow.source,
            "sink": flow.sink,
            "propagation_s": rounded(propagation_s(layout, flow)),
            "start_s": rounded(result["began_ns"] / 1e9),
            "completion_s": rounded(lasted_s),
            "bytes": result["bytes_acked"],
            "goodput_bit_s": rounded(result["bytes_acked"] * 8 / lasted_s, 0),
            "retransmits": result["retransmits"],
            **{name: result[name] for name in ("data_packets_sent",) if name in result},
        }
        if flow.exchanges:
            one |= quantiles(responses_s(result), "response_{}_s")
        seen = acks.get(plan.port(flow))
        if plan.record.acks and seen is None:
            raise RunError(f"flow {flow.name}: nothing was acknowledged")
        if seen is not None and (seen.rtt_s > 0).any():
            valid = seen.rtt_s[seen.rtt_s > 0]
            one |= {"acks": len(seen.time_s), "rtt_min_s": rounded(valid.min()), **quantiles(valid, "rtt_{}_s")}
        if seen is not None and plan.window_s and flow in plan.measured:
            one["window_goodput_bit_s"] = rounded(seen.goodput_bit_s(*plan.window_s), 0)
        figures.append(one)
    return figures


def responses_s(result: Mapping[str, Any], begin_s: float = 0.0, end_s: float = math.inf) -> Floats:
    """From each request of a flow, of those that begin within a time of the run, to the last byte of its response."""
    chosen = (pair for pair in result["exchanges"] if begin_s <= pair[0] / 1e9 < end_s)
    return np.array([(ended_ns - began_ns) / 1e9 for began_ns, ended_ns in chosen])


def of_iperf3(flow: Flow, result: Mapping[str, Any], seen: Acks | None) -> dict[str, Any]:
    """What the traffic engine would say of a flow that iperf3 has sent; RunError if nothing was acknowledged."""
    # one of the bytes that are acknowledged is the SYN's
    payload = seen.acked_bytes - 1 if seen is not None else np.zeros(0)
    with_rtt = (payload > 0) & (seen.rtt_s > 0) if seen is not None else payload > 0
    if seen is None or not with_rtt.any():
        raise RunError(f"flow {flow.name}: nothing was acknowledged")
    first = int(np.argmax(with_rtt))
    last = int(np.searchsorted(payload, payload[-1]))
    end = result["report"]["end"]
    return {
        **result,
        "cc": end["sender_tcp_congestion"],
        "began_ns": round((seen.time_s[first] - seen.rtt_s[first]) * 1e9),
        "ended_ns": round(seen.time_s[last] * 1e9),
        "bytes_acked": int(payload[-1]),
        "retransmits": int(seen.retransmits[-1]),
    }


def of_engine(plan: Plan, raw: dict[str, Any], acks: Mapping[int, Acks]) -> dict[str, Any]:
    """A raw result whose flows are as the traffic engine describes them; RunError if one of them failed."""
    for flow, result in zip(plan.flows, raw["flows"], strict=True):
        if result["error"]:
            raise RunError(f"flow {flow.name}: {result['error']}")
    if plan.traffic == "engine":
        return raw
    flows = zip(plan.flows, raw["flows"], strict=True)
    return {**raw, "flows": [of_iperf3(flow, result, acks.get(plan.port(flow))) for flow, result in flows]}


def backlog_figures(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of each device whose queue was sampled."""
    if not plan.sampled:
        return {}
    records = unpacked(raw["queues"], QUEUE_SAMPLE)
    begin_s, end_s = plan.window_s or (0.0, float("inf"))
    time_s = records["time_ns"] / 1e9
    figures: dict[str, Any] = {}
    for index, device in enumerate(plan.sampled):
        chosen = records[(records["queue"] == index) & (time_s >= begin_s) & (time_s < end_s)]
        for unit in ("packets", "bytes"):
            values = chosen[unit].astype(float)
            if len(values):
                figures[f"backlog_{device}_mean_{unit}"] = rounded(values.mean())
                figures[f"backlog_{device}_max_{unit}"] = int(values.max())
                figures |= quantiles(values, f"backlog_{device}_{{}}_{unit}")
    return figures


def window_figures(plan: Plan, layout: Layout, acks: Mapping[int, Acks]) -> dict[str, Any]:
    """The metrics that need all flows to be sending."""
    window = plan.window_s
    if window is None or not plan.record.acks:
        return {}
    begin_s, end_s = window
    goodput = [acks[plan.port(flow)].goodput_bit_s(begin_s, end_s) for flow in plan.measured]
    delay_s = queue_delays(plan, acks, begin_s, end_s)
    if not len(delay_s):
        raise RunError(f"nothing was acknowledged from {begin_s:.3f} to {end_s:.3f} s, while all flows should send")
    used = utilisations(plan, layout, acks, begin_s, end_s)
    then = [its_layout for _, _, its_layout in _layouts(plan, begin_s, end_s)]
    passed = {device.name for one in then for flow in plan.measured for device in _path(one, flow)}
    of_measured = [value for name, value in used.items() if name in passed]
    return {
        "window_begin_s": rounded(begin_s),
        "window_end_s": rounded(end_s),
        **({"utilisation": max(of_measured)} if of_measured else {}),
        **{f"utilisation_{device}": value for device, value in used.items()},
        "jain": rounded(jain(goodput)),
        "goodput_bit_s": rounded(sum(goodput), 0),
        **quantiles(delay_s, "queue_delay_{}_s"),
        **start_figures(plan, layout, acks, begin_s),
    }


def start_figures(plan: Plan, layout: Layout, acks: Mapping[int, Acks], end_s: float) -> dict[str, Any]:
    """What there was from the first flow's start to the beginning of the window."""
    begin_s = min(flow.start_s for flow in plan.measured)
    if end_s <= begin_s:
        return {}
    used = utilisations(plan, layout, acks, begin_s, end_s)
    return {
        **({"utilisation_start": max(used.values())} if used else {}),
        **quantiles(queue_delays(plan, acks, begin_s, end_s), "start_queue_delay_{}_s"),
    }


def queue_delays(plan: Plan, seen: Mapping[int, Seen], begin_s: float, end_s: float) -> Floats:
    """Of the measured flows' round trips between two moments.

    :param seen: by the flow's port; a flow of which nothing is known has none
    """
    delays: list[Floats] = [np.zeros(0)]
    layouts = layouts_of(plan)
    for flow in plan.measured:
        one = seen.get(plan.port(flow))
        if one is not None:
            chosen = (one.time_s >= begin_s) & (one.time_s < end_s) & (one.rtt_s > 0)
            delays.append(delays_of(layouts, flow, one)[chosen])
    return np.concatenate(delays)


def layouts_of(plan: Plan) -> list[tuple[float, Layout]]:
    """A run's layouts, one after another: from when, and which."""
    return [(begin_s, layout) for begin_s, _, layout in _layouts(plan, 0.0, float("inf"))]


def delays_of(layouts: Sequence[tuple[float, Layout]], flow: Flow, seen: Seen) -> Floats:
    """What each of a flow's round trips took beyond the least propagation delay that its path had meanwhile."""
    starts_s = [begin_s for begin_s, _ in layouts]
    then = np.array([propagation_s(one, flow) if _has_path(one, flow) else np.inf for _, one in layouts])
    begin_s = seen.time_s - seen.rtt_s
    first, last = (np.maximum(np.searchsorted(starts_s, at_s, "right") - 1, 0) for at_s in (begin_s, seen.time_s))
    least = then[first]
    for further in range(1, 1 + int(np.max(last - first, initial=0))):
        least = np.minimum(least, then[np.minimum(first + further, last)])
    # what was acknowledged took some path, however late the lab has changed it
    return seen.rtt_s - np.where(np.isfinite(least), least, then.min())


def utilisations(
    plan: Plan, layout: Layout, acks: Mapping[int, Acks], begin_s: float, end_s: float
) -> dict[str, float]:
    """Of each device that has a rate all the time, by its name."""
    bits: dict[str, float] = {}
    allowed = {name: _allowed_bits(plan, name, begin_s, end_s) for name in layout.devices}
    for first_s, last_s, then in _layouts(plan, begin_s, end_s):
        for flow in plan.flows:
            one = acks[plan.port(flow)]
            packets = one.at(one.delivered_packets, last_s) - one.at(one.delivered_packets, first_s)
            for device in _path(then, flow):
                if allowed[device.name]:
                    sent = packets * full_packet_bytes(then, flow) * 8
                    bits[device.name] = bits.get(device.name, 0.0) + sent
    return {name: rounded(value / allowed[name]) for name, value in bits.items()}


def _ways(plan: Plan, device: str) -> list[tuple[float, Way]]:
    """The ways that what leaves a device takes in a run, one after another: from when, and which."""
    found = [(0.0, plan.topology.way(device))]
    for change in sorted(plan.changes, key=lambda one: one.at_s):
        if change.device == device:
            found.append((change.at_s, changed(found[-1][1], change)))
    return found


def _layouts(plan: Plan, begin_s: float, end_s: float) -> list[tuple[float, float, Layout]]:
    """From when to when which links were up and had which delays, between two moments."""
    topology, down = plan.topology, frozenset[str]()
    found = [(begin_s, lay_out(topology))]
    for change in sorted(plan.changes, key=lambda one: one.at_s):
        if change.at_s < end_s and (change.up is not None or "delay_ms" in change.values):
            link = topology.link(change.device)
            if change.up is not None:
                down = down - {link.device_a, link.device_b} if change.up else down | {change.device}
            if "delay_ms" in change.values:
                topology = after(topology, replace(change, values={"delay_ms": change.values["delay_ms"]}))
            found.append((max(begin_s, change.at_s), lay_out(topology, down)))
    ends_s = [*(at_s for at_s, _ in found[1:]), end_s]
    return [(at_s, until_s, layout) for (at_s, layout), until_s in zip(found, ends_s, strict=True) if at_s < until_s]


def _has_path(layout: Layout, flow: Flow) -> bool:
    """There and back."""
    return bool(_path(layout, flow) and _path(layout, replace(flow, source=flow.sink, sink=flow.source)))


def _path(layout: Layout, flow: Flow) -> list[Device]:
    """By which a flow's data leave, none where there is no path."""
    try:
        return layout.path(flow.source, flow.sink)
    except PlanError:
        return []


def _allowed_bits(plan: Plan, device: str, begin_s: float, end_s: float) -> float:
    """What a device's rate allows between two moments; 0 if it had none at a time."""
    ways = _ways(plan, device)
    ends_s = [*(at_s for at_s, _ in ways[1:]), end_s]
    bits = 0.0
    for (at_s, way), until_s in zip(ways, ends_s, strict=True):
        lasted_s = min(until_s, end_s) - max(at_s, begin_s)
        if lasted_s > 0 and not way.rate_bit_s:
            return 0.0
        bits += way.rate_bit_s * max(0.0, lasted_s)
    return bits


def queue_figures(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drops of each device's queue; a delay line that dropped is an error."""
    figures: dict[str, Any] = {}
    for device, entries in raw["qdiscs"].items():
        ways = [way for _, way in _ways(plan, device)]
        # a parent counts its child's drops as well
        leaves = [entry for entry in entries if not entry.get("root")] or entries
        # what filters drop of what leaves is a policer's; of what arrives, it is another device's link's
        counted = [
            entry for entry in leaves if entry["kind"] != "clsact" or any(way.queue == "policer" for way in ways)
        ]
        dropped = sum(int(entry.get("drops", 0)) for entry in counted)
        if any(way.rate_bit_s for way in ways):
            figures[f"drops_{device}"] = dropped
        elif dropped and not any(way.loss for way in ways):
            raise RunError(f"the delay line of {device} dropped {dropped} packets that it was not told to")
    return {"drops": sum(figures.values()), **figures}


@dataclass
class Arrived:
    """A source's packets that arrived, in this order; times from the beginning of the run."""

    time_s: Floats
    delay_s: Floats

    def between(self, begin_s: float, end_s: float) -> Floats:
        """Delays of what arrived from one moment until another."""
        return self.delay_s[(self.time_s >= begin_s) & (self.time_s < end_s)]


def arrived(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Arrived]:
    """What arrived of each source, by its name."""
    records = unpacked(raw["received"], RECEIVED)
    found = {}
    for index, source in enumerate(plan.sources):
        own = records[records["source"] == index]
        found[source.name] = Arrived((own["sent_ns"] + own["delay_ns"]) / 1e9, own["delay_ns"] / 1e9)
    return found


def source_figures(plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Packets and delays of each source."""
    if not plan.sources:
        return {}
    packets = arrived(plan, raw)
    figures: dict[str, Any] = {}
    for source, result in zip(plan.sources, raw["sources"], strict=True):
        if result["not_sent"]:
            raise RunError(f"source {source.name}: {result['not_sent']} packets found the host's own queue full")
        figures[f"{source.name}_sent"] = result["sent"]
        figures[f"{source.name}_received"] = result["received"]
        figures |= quantiles(packets[source.name].delay_s, source.name + "_delay_{}_s")
    return figures


def judge(checks: Sequence[Check], metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each check with what was measured; a figure that is missing fails."""
    judged = []
    for check in checks:
        measured = metrics.get(check.quantity)
        # a scenario's own metric may be anything
        passed = isinstance(measured, int | float) and OPERATORS[check.op](measured, check.expected)
        judged.append({**vars(check), "measured": measured, "pass": passed})
    return judged


def figures(scenario: Scenario, values: Values, cc: str, qdisc: str, plan: Plan, raw: dict[str, Any]) -> Figures:
    """A run's figures and verdicts."""
    found = Figures(error=raw["error"])
    try:
        if found.error is None:
            fill_in(found, scenario, values, plan, raw)
    except (RunError, PlanError) as error:
        found.error = str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # the other runs are none the worse for it
        found.error = f"its figures cannot be computed: {type(error).__name__}: {error}"
    found.metrics["kernel_warnings"] = len(raw.get("warnings", []))
    machines = raw.get("clock", {}).get("machines", {})
    if machines:
        found.metrics |= {name: max(abs(one[name]) for one in machines.values()) for name in CLOCK_FIGURES}
    checks = [NO_WARNING]
    try:
        checks += scenario.checks(values, cc, qdisc)
    except PlanError as error:
        found.error = found.error or str(error)
    found.checks = judge(checks, found.metrics)
    return found


def fill_in(found: Figures, scenario: Scenario, values: Values, plan: Plan, raw: dict[str, Any]) -> None:
    """Everything that is computed from what the guest recorded."""
    if raw["missing_events"]:
        raise RunError(f"this kernel does not have the trace events {', '.join(raw['missing_events'])}")
    entries = _ENTRIES.search(raw["trace"])
    if entries and entries[1] != entries[2]:
        lost = int(entries[2]) - int(entries[1])
        raise RunError(f"the first {lost} of {entries[2]} trace events were lost: a shorter run, or a lower rate")
    for command in raw["commands"]:
        if command["error"]:
            raise RunError(f"command {command['name']}: {command['error']}")
        found.metrics[f"{command['name']}_status"] = command["status"]
    layout = lay_out(plan.topology)
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    raw = of_engine(plan, raw, acks)
    found.flows = flow_figures(plan, layout, raw, acks)
    found.metrics["retransmits"] = sum(
        flow["retransmits"] for flow, planned in zip(found.flows, plan.flows, strict=True) if not planned.background
    )
    found.metrics |= window_figures(plan, layout, acks)
    found.metrics |= queue_figures(plan, raw)
    found.metrics |= source_figures(plan, raw)
    found.metrics |= backlog_figures(plan, raw)
    own = _plain(scenario.measure(values, plan, raw))
    found.series = own.pop("series", {})
    if not isinstance(found.series, dict):
        raise RunError(f"measure(): series is a {type(found.series).__name__}: must be a dict")
    found.metrics |= own


def _plain(value: Any) -> Any:
    """What a scenario has measured, as a check compares it and a table and JSON hold it: numpy's values as Python's."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
