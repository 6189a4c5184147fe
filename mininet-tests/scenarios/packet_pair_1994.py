# SPDX-License-Identifier: GPL-2.0
"""The experiments of packet-pair-1994, sections 9.1 to 9.3: setpoints, sources that join, sources that are on and off.

    s1 ... s10 --- r ========== x --- d1 ... d10      6.7 Mbit/s, packets of 500 bytes, a pipe of 100
                    (bottleneck r to x)

All lengths are in packet times at the bottleneck ("TU" in the memorandum). pktpair_1994 has an ACK for each packet
and the experiment's setpoint; all others run as they come, beside it. scripts/lab reproduce compares them with
what is published.
"""

import random
from typing import Any

from lab.analyse import memorandum as found
from lab.model import memorandum
from lab.model.benchmarks import OPEN_BUFFERS
from lab.model.flows import dumbbell
from lab.model.memorandum import PACKET_BYTES, PAYLOAD_BYTES, ROUND_TRIP_PACKETS, SOURCES, seconds
from lab.model.plan import Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "packet pair holds its queue at the setpoint, shares the link with who joins, and keeps it full"
COMBINATIONS = [("pktpair_1994", "fq_rr")]
PUBLISHED = "pktpair_1994"
DROPS = ("longest-tail", "longest-queue")
CASES = ("fixed", "probing", "joining", "on-off", "open")
PARAMETERS = {
    "case": Parameter(
        "fixed", "", "setpoint, or what sources do", choices=("fixed", "probing", "joining", "on-off", "open")
    ),
    "sources": Parameter(1, "sources", "each between hosts of its own", 1, SOURCES),
    "setpoint": Parameter(20, "packets", "of the case fixed", 2, 100),
    "step": Parameter(2, "packets", "that a probing setpoint rises in two round trips", 1, 10),
    "spacing": Parameter(0.0, "round trips", "of the case joining: between two starts", 0, 10),
    "first_join": Parameter(
        1000, "packet times", "of the case joining: the first source is alone until then", 100, 5000
    ),
    "first_packets": Parameter(2000, "packets", "of the case joining: of the first source", 100, 10_000),
    "load": Parameter(1.0, "", "of the cases on-off and open: of all sources, of the link's rate", 0.4, 6.6),
    "on_rate": Parameter(
        memorandum.TWICE, "", "of a source that is on: twice its mean, or the link's", choices=memorandum.ON_RATES
    ),
    "at_once": Parameter(
        1, "packets", "that a source of these cases hands over: each as it is made, or two for a pair", 1, 2
    ),
    "limit": Parameter(memorandum.BUFFER_PACKETS, "packets", "of the buffer", 10, 10_000),
    "drop": Parameter(DROPS[0], "", "what a full buffer drops", choices=DROPS),
    "round_trips": Parameter(60, "round trips", "that the cases fixed and probing last", 20, 2000),
}
VARIANTS: list[dict[str, Value]] = [
    {"case": "fixed", "sources": 1},
    {"case": "probing", "sources": 4},
    {"case": "joining", "sources": 10},
    {"case": "on-off", "sources": 10},
    {"case": "open", "sources": 10},
]
# All that a source of the case open has, with what the kernel needs for each packet: no write waits for room.
WINDOW_BYTES = 8 << 20
OTHER_PACKETS = 500
# Packet times that a start and losses take beyond those of all packets: 1019 at most in the memorandum's table 4.
MOST_OVERHEAD = 1200


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Each source between its own hosts; starts are up to a packet time late, by the seed."""
    case, count = values["case"], values["sources"]
    jitter = random.Random(f"starts {seed}")
    flows = []
    for number in range(1, count + 1):
        own: dict[str, Any] = {"start_s": seconds(jitter.random())}
        if case == "joining":
            joins = values["first_join"] + (number - 2) * values["spacing"] * ROUND_TRIP_PACKETS
            own["start_s"] += seconds(joins) if number > 1 else 0.0
            own["bytes"] = (values["first_packets"] if number == 1 else OTHER_PACKETS) * PAYLOAD_BYTES
        elif case == "on-off":
            load, on_rate, at_once = values["load"] / count, values["on_rate"], values["at_once"]
            own["start_s"], exchanges = memorandum.messages(load, seed, number, on_rate)
            gap_s = round(at_once * seconds(memorandum.gap_packets(load, on_rate)), 9)
            own |= {"exchanges": tuple(exchanges), "write_bytes": at_once * PAYLOAD_BYTES, "write_gap_s": gap_s}
        elif case == "open":
            load, on_rate, at_once = values["load"] / count, values["on_rate"], values["at_once"]
            own["start_s"], made_s = memorandum.writes(load, seed, number, on_rate, at_once)
            own |= {"bytes": memorandum.SOURCE_PACKETS * PAYLOAD_BYTES, "write_bytes": at_once * PAYLOAD_BYTES}
            own |= {"writes_s": tuple(made_s), "window_bytes": WINDOW_BYTES}
        else:
            own["seconds"] = seconds(values["round_trips"] * ROUND_TRIP_PACKETS)
            own["write_bytes"], own["unsent_bytes"] = 16 * PAYLOAD_BYTES, 32 * PAYLOAD_BYTES
        own["start_s"] = round(own["start_s"], 9)
        ends = (f"s{number}", f"d{number}")
        # the client asks, and the server is the source
        source, sink = ends[::-1] if case == "on-off" else ends
        flows.append(Flow(f"source{number}", source, sink, cc, packet_bytes=PACKET_BYTES, **own))
    # a packet's own time at the bottleneck is part of the round trip
    delay_ms = round(seconds(ROUND_TRIP_PACKETS - 1) * 1e3, 6)
    options = f"drop {values['drop']} no-aqm" if qdisc == "fq_rr" else ""
    knobs = {"setpoint_packets": str(values["setpoint"])} if case == "fixed" else {}
    if case != "fixed":
        knobs = {"setpoint_probing": "1", "setpoint_step": str(values["step"])}
    is_on_off = case in ("on-off", "open")
    most = {"net.core.wmem_max": str(WINDOW_BYTES), "net.core.rmem_max": str(WINDOW_BYTES)}
    return Plan(
        dumbbell(qdisc, memorandum.RATE_BIT_S, [delay_ms] * count, values["limit"], options=options),
        tuple(flows),
        record=Record(acks=False, events=found.EVENTS if not is_on_off and qdisc == "fq_rr" else ()),
        hash_seed=seed,
        sysctls={
            "*": {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS},
            **({"root": most} if case == "open" else {}),
        },
        module_parameters={"tcp_pktpair": knobs} if cc == PUBLISHED else {},
        routes={f"d{number}": "quickack 1" for number in range(1, count + 1)} if cc == PUBLISHED else {},
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What the memorandum's figures and tables have, of each case."""
    return found.MEASURES[values["case"]](values, plan, raw)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Whether the published preset still works; what is published is judged over the whole sweep."""
    if cc != PUBLISHED or qdisc != "fq_rr":
        return []
    case, count = values["case"], values["sources"]
    if case == "joining":
        all_packets = values["first_packets"] + (count - 1) * OTHER_PACKETS
        return [Check("completion_tu", "<=", all_packets + MOST_OVERHEAD)]
    if case in ("on-off", "open"):
        return [Check("goodput", ">=", 0.9)]
    found = [Check("utilisation_after", ">=", 0.99)]
    if case == "fixed" and count == 1:
        found.append(Check("mean_queue", "in", [values["setpoint"] - 2, values["setpoint"] + 2]))
    return found
