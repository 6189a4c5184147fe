# SPDX-License-Identifier: GPL-2.0
"""Ten sources that are on and off, some of them without rate control, at a link that they overload.

    d1 --- x ========== r --- s1        8.0952 Mbit/s, a round trip of 50 ms, packets of 500 bytes
            (bottleneck r to x)

Keshav and Morgan (1995). A sink asks its source for a message: the request takes the round trip
for which the paper's source waits for the last acknowledgement. The source makes a packet every 494 us.
A source without control (``fixed_window``) sends it at once, and what was lost again at once.
scripts/lab overload compares mixes, loads, buffers and drop policies.
"""

from typing import Any

import numpy as np
from lab.analyse.figures import SAMPLE, unpacked
from lab.model import overload
from lab.model.flows import dumbbell
from lab.model.overload import INTERVALS, PACKET_BYTES, Mean
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Values

CLAIM = "goodput does not collapse when sources offer several times what the link can carry"
COMBINATIONS = [("pktpair_1994", "fq_rr"), ("pktpair", "fq_rr")]
UNCONTROLLED = "fixed_window"
DROPS = {"last": "arriving", "longest": "longest-queue"}
PARAMETERS = {
    "sources": Parameter(overload.SOURCES, "sources", "that share the link", 1, 10),
    "uncontrolled": Parameter(0, "sources", "of these without rate control", 0, 10),
    "load": Parameter(5.0, "", "nominal, of all sources, of the link's rate", 0.01, 6.6),
    "drop": Parameter("last", "", "what a full buffer drops: the packet, or the longest queue", choices=tuple(DROPS)),
    "buffer": Parameter("0.5", "windows", "of a round trip", choices=overload.BUFFERS),
    "rto_min": Parameter(0, "ms", "least retransmission timeout; 0: the stack's", 0, 10_000),
    "recovery": Parameter(
        "stack", "", "of packets that were lost twice: as the stack, or by timers alone", choices=("stack", "timers")
    ),
    "interval": Parameter(0.3, "s", f"of which {INTERVALS} are measured", 0.05, 20.0),
    "settle": Parameter(2.1, "s", "left out before them", 0.05, 60.0),
}
PAYLOAD_BYTES = PACKET_BYTES - TCP_HEADER_BYTES
# A message of ten times the mean, each packet with what the kernel needs for it, on either side.
WINDOW_BYTES = 8 << 20
# Packets that the uncontrolled source may have outstanding: more than a message has.
WINDOW_PACKETS = 1 << 16
# A packet that is lost again is found by the retransmission timer, as in 1995, and not by RACK or a probe.
TIMERS_ALONE = {"net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0"}
# The published controllers have an ACK for each packet.
EACH_ACKED = ("pktpair_1994", UNCONTROLLED)


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All sources on one pair of hosts, each with a queue of its own."""
    count, load = values["sources"], values["load"] / values["sources"]
    end_s = round(values["settle"] + INTERVALS * values["interval"], 6)
    # the paper's round trip less what the lab's bottleneck takes
    delay_ms = round((overload.round_trip_s() - overload.packet_s()) * 1e3, 6)
    flows = []
    for number in range(1, count + 1):
        start_s, exchanges = overload.messages(load, end_s, seed, number, PAYLOAD_BYTES)
        flows.append(
            Flow(
                name=f"source{number}",
                source="d1",
                sink="s1",
                cc=UNCONTROLLED if number > count - values["uncontrolled"] else cc,
                start_s=start_s,
                exchanges=tuple(exchanges),
                packet_bytes=PACKET_BYTES,
                window_bytes=WINDOW_BYTES,
                write_bytes=PAYLOAD_BYTES,
                write_gap_s=round(overload.packet_s(), 9),
                until_s=end_s,
            )
        )
    routes = {"s1": f"rto_min {values['rto_min']}ms"} if values["rto_min"] else {}
    if cc in EACH_ACKED:
        routes["d1"] = "quickack 1"
    sysctls = {"root": {"net.core.wmem_max": str(WINDOW_BYTES), "net.core.rmem_max": str(WINDOW_BYTES)}}
    if values["recovery"] == "timers":
        sysctls["*"] = TIMERS_ALONE
    options = f"drop {DROPS[values['drop']]} no-aqm" if qdisc == "fq_rr" else ""
    limit = overload.buffer_packets(float(values["buffer"]))
    return Plan(
        dumbbell(qdisc, overload.BACKBONE_BIT_S, [delay_ms], limit, options=options),
        tuple(flows),
        record=Record(acks=False, sample_s=values["interval"]),
        hash_seed=seed,
        sysctls=sysctls,
        module_parameters={"tcp_fixed_window": {"window": str(WINDOW_PACKETS)}}
        if UNCONTROLLED in {flow.cc for flow in flows}
        else {},
        routes=routes,
        seconds=end_s,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Goodput of all and of a source of each kind, as parts of the link: the mean of intervals and half of its bar."""
    found = unpacked(raw["samples"], SAMPLE)
    edges_s = values["settle"] + values["interval"] * np.arange(INTERVALS + 1)
    taken = values["interval"] * overload.BACKBONE_BIT_S / 8 / PACKET_BYTES
    acked = []
    for index in range(len(plan.flows)):
        own = found[found["flow"] == index]
        at = np.interp(edges_s, own["time_ns"] / 1e9, own["bytes_acked"]) if len(own) else np.zeros(len(edges_s))
        acked.append(np.diff(at) / PAYLOAD_BYTES / taken)
    controlled = len(acked) - values["uncontrolled"]
    kinds = {"controlled": acked[:controlled], "uncontrolled": acked[controlled:]}
    told: dict[str, Any] = _named("goodput", np.sum(acked, axis=0))
    for kind, parts in kinds.items():
        told |= _named(f"{kind}_source", np.mean(parts, axis=0)) if parts else {}
    smoothed_us = found["srtt_us"][found["srtt_us"] > 0]
    sent = sum(int(flow["data_packets_sent"]) for flow in raw["flows"])
    messages = [one.response_bytes / PAYLOAD_BYTES for flow in plan.flows for one in flow.exchanges]
    return {
        **told,
        "intervals": INTERVALS,
        "retransmitted_part": round(sum(int(flow["retransmits"]) for flow in raw["flows"]) / max(sent, 1), 5),
        "round_trip_s": round(int(smoothed_us.min()) / 1e6, 6) if len(smoothed_us) else None,
        "message_packets": round(sum(messages) / len(messages), 3),
    }


def _named(name: str, values: Any) -> dict[str, float]:
    found = Mean.of([float(value) for value in values])
    return {name: round(found.mean, 5), f"{name}_bar": round(found.bar, 5)}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Something arrives; what it comes to is judged over the whole sweep."""
    return [Check("goodput", ">=", 0.01)]
