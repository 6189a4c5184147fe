# SPDX-License-Identifier: GPL-2.0
"""From a run's raw results to its figures.  Nothing is run or drawn here.

Definitions, used everywhere:

window
    from ``settle_s`` after the last flow's start to the first flow's end, so
    that every flow is sending all the time.
goodput of a flow
    payload acknowledged in the window over its length.
utilisation
    packets delivered in the window (selectively acknowledged ones included),
    each with the IP and TCP headers of a full packet, over what the shaped
    rate allows in that time.  Link rates exclude Ethernet headers, and so
    does this.
queue delay
    round trip of the newest segment of each acknowledgement, minus the
    flow's propagation delay, over all flows' acknowledgements in the window.
    It contains the packet's own time on the link.
Jain index
    of the flows' goodputs: 1 when all are equal, 1/n when one has all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scenario import FIRST_PORT, Check, Plan

# Width of the bins of the goodput series, and points of a drawn trace.
BIN_S = 0.25
DRAWN_POINTS = 1500
QUANTILES = (0.5, 0.95, 0.99)

_LINE = re.compile(r"\s(\d+\.\d+): (\w+): (.*)")
_PAIR = re.compile(r"(\w+)=(-?[\w.-]+)")

Floats = NDArray[np.float64]


class RunError(Exception):
    """The run is not what it was meant to be; its figures mean nothing."""


@dataclass
class Acks:
    """What a sender saw, one row per acknowledgement."""

    time_s: Floats
    rtt_s: Floats
    acked_bytes: Floats
    delivered_packets: Floats
    retransmits: Floats
    cwnd: Floats

    def acked_by(self, moment_s: float) -> float:
        """Payload acknowledged up to a moment."""
        index = int(np.searchsorted(self.time_s, moment_s, side="right"))
        return float(self.acked_bytes[index - 1]) if index else 0.0

    def delivered_by(self, moment_s: float) -> float:
        """Packets delivered up to a moment."""
        index = int(np.searchsorted(self.time_s, moment_s, side="right"))
        return float(self.delivered_packets[index - 1]) if index else 0.0


def events(trace: str, name: str) -> list[tuple[float, dict[str, str]]]:
    """All trace events of a name: time and fields."""
    found = []
    for line in trace.splitlines():
        match = _LINE.search(line)
        if match and match[2] == name:
            found.append((float(match[1]), dict(_PAIR.findall(match[3]))))
    return found


def acks_of_flows(trace: str, begin_s: float) -> dict[int, Acks]:
    """Acknowledgements by the flow's port, times from the beginning of the run."""
    rows: dict[int, list[tuple[float, ...]]] = {}
    for time_s, fields in events(trace, "ack"):
        rows.setdefault(int(fields["sport"]), []).append(
            (
                time_s - begin_s,
                int(fields["rtt_us"]) / 1e6,
                int(fields["acked"]),
                int(fields["delivered"]),
                int(fields["retrans"]),
                int(fields["cwnd"]),
            )
        )
    return {port: Acks(*np.array(values, dtype=float).T) for port, values in rows.items()}


def jain(shares: list[float]) -> float:
    """Jain's index of fairness."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def rounded(value: float, digits: int = 6) -> float:
    """For the JSON: no digits that mean nothing."""
    return round(float(value), digits)


def quantiles(samples: Floats) -> dict[str, float]:
    """p50, p95 and p99, in the unit of the samples."""
    if not len(samples):
        return {}
    return {f"p{round(q * 100)}": rounded(np.quantile(samples, q)) for q in QUANTILES}


def flow_figures(plan: Plan, raw: dict[str, Any], acks: dict[int, Acks]) -> list[dict[str, Any]]:
    """The ``flows`` of a run's JSON."""
    figures = []
    reports = {report["name"]: report for report in raw["reports"]}
    for flow in plan.flows:
        if reports[flow.name]["error"]:
            raise RunError(f"flow {flow.name}: {reports[flow.name]['error']}")
        seen = acks.get(flow.port)
        if seen is None or not seen.acked_bytes[-1] > 1:
            raise RunError(f"flow {flow.name}: nothing was acknowledged")
        valid = seen.rtt_s > 0
        first = int(np.argmax((seen.acked_bytes > 1) & valid))
        start_s = seen.time_s[first] - seen.rtt_s[first]
        last = int(np.searchsorted(seen.acked_bytes, seen.acked_bytes[-1]))
        # One byte of what is acknowledged is the connection's first.
        payload = seen.acked_bytes[-1] - 1
        lasted_s = seen.time_s[last] - start_s
        rtt = quantiles(seen.rtt_s[valid])
        figures.append(
            {
                "name": flow.name,
                "cc": flow.cc,
                "port": flow.port,
                "propagation_s": rounded(plan.delays_ms[flow.pair - 1] / 1e3),
                "bytes": int(payload),
                "start_s": rounded(start_s),
                "completion_s": rounded(lasted_s),
                "goodput_bit_s": rounded(payload * 8 / lasted_s, 0),
                "retransmits": int(seen.retransmits[-1]),
                "rtt_s": {"min": rounded(seen.rtt_s[valid].min()), **rtt},
                "acks": len(seen.time_s),
            }
        )
    return figures


def queue_delays(plan: Plan, acks: dict[int, Acks], begin_s: float, end_s: float) -> Floats:
    """Queue delays of all flows' acknowledgements between two moments."""
    parts = []
    for flow in plan.flows:
        seen = acks[flow.port]
        chosen = (seen.time_s >= begin_s) & (seen.time_s < end_s) & (seen.rtt_s > 0)
        parts.append(seen.rtt_s[chosen] - plan.delays_ms[flow.pair - 1] / 1e3)
    return np.concatenate(parts)


def window_figures(plan: Plan, acks: dict[int, Acks]) -> dict[str, Any]:
    """The metrics that need all flows to be sending."""
    window = plan.window_s
    if window is None:
        return {}
    begin_s, end_s = window
    ports = [flow.port for flow in plan.flows]

    def utilisation(from_s: float, to_s: float) -> float:
        packets = sum(acks[port].delivered_by(to_s) - acks[port].delivered_by(from_s) for port in ports)
        return packets * plan.packet_bytes * 8 / (plan.rate_bit_s * (to_s - from_s))

    goodput = [(acks[port].acked_by(end_s) - acks[port].acked_by(begin_s)) * 8 / (end_s - begin_s) for port in ports]
    delays = queue_delays(plan, acks, begin_s, end_s)
    if not len(delays):
        raise RunError(f"nothing was acknowledged from {begin_s:.3f} to {end_s:.3f} s, while all flows should send")
    start_delays = queue_delays(plan, acks, 0, begin_s)
    metrics: dict[str, Any] = {
        "window_s": [rounded(begin_s), rounded(end_s)],
        "utilisation": rounded(utilisation(begin_s, end_s)),
        "utilisation_start": rounded(utilisation(min(f.start_s for f in plan.flows), begin_s)),
        "jain": rounded(jain(goodput)),
        "window_goodput_bit_s": [rounded(rate, 0) for rate in goodput],
    }
    for name, value in quantiles(delays).items():
        metrics[f"queue_delay_{name}_s"] = value
    for name, value in quantiles(start_delays).items():
        metrics[f"start_queue_delay_{name}_s"] = value
    return metrics


def series(plan: Plan, acks: dict[int, Acks]) -> dict[str, Any]:
    """What the figures are drawn from."""
    edges = np.arange(0, plan.end_s + BIN_S, BIN_S)
    drawn = []
    for flow in plan.flows:
        seen = acks[flow.port]
        bits = np.array([seen.acked_by(edge) for edge in edges]) * 8
        valid = np.flatnonzero((seen.rtt_s > 0) & (seen.time_s < plan.end_s))
        chosen = valid[:: max(1, len(valid) // DRAWN_POINTS)]
        delay = seen.rtt_s[chosen] - plan.delays_ms[flow.pair - 1] / 1e3
        drawn.append(
            {
                "name": flow.name,
                "goodput_bit_s": [round(rate) for rate in np.diff(bits) / BIN_S],
                "delay_time_s": [round(t, 4) for t in seen.time_s[chosen]],
                "delay_s": [round(d, 5) for d in delay],
            }
        )
    result: dict[str, Any] = {"bin_s": BIN_S, "flows": drawn}
    if plan.window_s:
        delays = queue_delays(plan, acks, *plan.window_s)
        result["delay_quantiles_s"] = [rounded(q) for q in np.quantile(delays, np.linspace(0, 1, 201))]
    return result


def qdisc_figures(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The ``qdiscs`` of a run's JSON; a netem that dropped is an error."""
    figures = []
    for node, entries in raw["qdiscs"].items():
        for entry in entries:
            if entry["kind"] == "noqueue":
                continue
            known = ("kind", "dev", "handle", "parent", "root", "refcnt", "options")
            statistics = {key: value for key, value in entry.items() if key not in known}
            figures.append(
                {
                    "node": node,
                    "device": entry.get("dev", ""),
                    "kind": entry["kind"],
                    "parent": entry.get("parent", "root"),
                    "options": entry.get("options", {}),
                    "statistics": statistics,
                }
            )
            if entry["kind"] == "netem" and entry["drops"]:
                raise RunError(
                    f"netem on {entry.get('dev', node)} dropped {entry['drops']} packets that it was not told to"
                )
    return figures


def bottleneck_drops(qdiscs: list[dict[str, Any]]) -> int:
    """Drops where the queue is: a parent counts its child's as well."""
    here = [entry for entry in qdiscs if entry["node"] == "r"]
    leaves = [entry for entry in here if entry["parent"] != "root"] or here
    return sum(int(entry["statistics"].get("drops", 0)) for entry in leaves)


OPERATORS = {
    ">=": lambda measured, expected: measured >= expected,
    "<=": lambda measured, expected: measured <= expected,
    "==": lambda measured, expected: measured == expected,
    "in": lambda measured, expected: expected[0] <= measured <= expected[1],
}


def judge(checks: list[Check], metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """The ``checks`` of a run's JSON; a figure that is missing fails."""
    judged = []
    for check in checks:
        measured = metrics.get(check.quantity)
        judged.append(
            {
                "quantity": check.quantity,
                "op": check.op,
                "expected": check.expected,
                "measured": measured,
                "pass": measured is not None and bool(OPERATORS[check.op](measured, check.expected)),
            }
        )
    return judged


def flow_of_port(port: int) -> str:
    """The name of a flow, from the port in a trace."""
    return f"f{port - FIRST_PORT}"
