# SPDX-License-Identifier: GPL-2.0
"""Flows of a TCP with full packets beside as many with packets of other sizes at one bottleneck: for lab vptfrc.

    s1 --- r ========== x --- d1    rates and queues by the paper's rule (lab/model/packet_sizes.py)
    s2 --- r            x --- d2    s2 is there where half of the flows have a short round trip

queues
    red-packets, red-bytes   RED; drops alike for all packets, or in proportion to payload
    tail-packets, tail-bytes drop-tail, limited in packets or in payload
    packet-rate              so many packets a second, of any size, and room for 100
"""

from collections.abc import Sequence
from typing import Any

from lab.analyse import loss_intervals
from lab.analyse.figures import acks_of_flows, rounded
from lab.model.devices import ETHERNET_HEADER_BYTES
from lab.model.errors import PlanError
from lab.model.flows import dumbbell
from lab.model.packet_sizes import (
    REFERENCE_BYTES,
    SETTINGS,
    Setting,
    link_bit_s,
    mean_packet_bytes,
    queue_bytes,
    queue_packets,
    red_max_p,
)
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Values

CLAIM = "beside reno, flows with small packets have what their congestion control makes of the bottleneck's losses"
QUEUES = ("red-packets", "red-bytes", "tail-packets", "tail-bytes", "packet-rate")
COMBINATIONS = [("vptfrc", queue) for queue in QUEUES]
METHODS = ("unmodified", "unbiasing", "virtual", "sampling", "lip")
PARAMETERS = {
    "setting": Parameter(1, "", "of the paper: 1: 100 bytes; 2: 50 packets/s; 3: 160 packets/s; 4: drawn sizes", 1, 4),
    "tcp": Parameter("reno", "", "what full packets are sent by", choices=("reno", "cubic")),
    "pairs": Parameter(2, "flows", "of that", 1, 64),
    "others": Parameter(0, "flows", "beside these; 0: as many", 0, 64),
    "method": Parameter("virtual", "", "of vptfrc", choices=METHODS),
    "mode": Parameter("packet", "", "of vptfrc", choices=("packet", "byte", "byte-tail")),
    "products": Parameter(2.0, "", "bandwidth-delay products (of 500 ms) that the queue has room for", 0.1, 10),
    "round_trip": Parameter(200.0, "ms", "propagation delay", 1, 1000),
    "short_trip": Parameter(0.0, "ms", "of half of the flows of each kind; 0: of none", 0, 1000),
    "richer": Parameter(1.0, "", "so many times the paper's bandwidth", 0.1, 100),
    "packet_rate": Parameter(1000, "packets/s", "of the queue packet-rate", 10, 10000),
    "seconds": Parameter(60.0, "s", "measured, after the first 150", 10, 600),
}
# What reno's slow start has put into the queue stands there for 75 s: a round trip of 3.2 s in place of 1.3. A flow of
# vptfrc remembers eight loss intervals, and at its share one lasts some ten seconds.
SETTLE_S = 150.0
START_WITHIN_S = 15.0
# Flows of the same kind that start at once lose together for a long time.
STAGGER_S = 0.37
PACKET_RATE_ROOM = 100
# Where few of many flows' packets come through, the last ones take longer than a run waits for otherwise.
LAST_PACKETS_S = 600.0
# Of a link whose packets are what it is short of: a full one takes 0.12 ms.
FAST_BIT_S = 100_000_000
# More than two round trips and the queue hold of a flow that has the link alone.
WINDOW_BYTES = 200_000
# Where there is more bandwidth, and more room; and for small packets, each of which takes 1.3 kB of a socket's buffer:
# with 200 kB a flow of 160 packets a second stops for a second at each loss. Sockets get what the machine allows.
LARGE_WINDOW_BYTES = 2_000_000
SYSCTLS = {"net.core.wmem_max": str(LARGE_WINDOW_BYTES), "net.core.rmem_max": str(LARGE_WINDOW_BYTES)}
BLOCK_BYTES = 4_096
PPB = 1_000_000_000
HEADER_BYTES = TCP_HEADER_BYTES + ETHERNET_HEADER_BYTES


def room(values: Values, setting: Setting, flows: int, queue: str, seed: int, rate_bit_s: int) -> dict[str, str]:
    """What the module of the queue is told."""
    size = (setting, flows, values["products"], values["richer"])
    packets = queue_packets(*size)
    mean_bytes = mean_packet_bytes(setting) + TCP_HEADER_BYTES
    said: dict[str, int] = {"header_bytes": HEADER_BYTES}
    if queue.endswith("packets"):
        said["limit_packets"] = packets
    else:
        said["limit_bytes"] = queue_bytes(*size)
    if queue.startswith("red"):
        said |= {"red_ppb": round(red_max_p(packets) * PPB), "packet_us": max(1, round(mean_bytes * 8e6 / rate_bit_s))}
    if queue == "red-bytes":
        said["reference_bytes"] = REFERENCE_BYTES
    return {name: str(value) for name, value in {**said, "seed": seed}.items()}


def flows_of(values: Values, setting: Setting, cc: str, end_s: float, seed: int) -> tuple[Flow, ...]:
    """Both kinds in turn, so that none starts ahead of the other."""
    counts = {"t": values["pairs"], "v": values["others"] or values["pairs"]}
    found = []
    for number in range(max(counts.values())):
        for kind in ("t", "v"):
            if number >= counts[kind]:
                continue
            pair = 2 if values["short_trip"] and number % 2 else 1
            window_bytes = LARGE_WINDOW_BYTES if values["richer"] > 1 or kind == "v" else WINDOW_BYTES
            common: dict[str, Any] = {"source": f"s{pair}", "sink": f"d{pair}", "window_bytes": window_bytes}
            start_s = round((len(found) + seed / 10) * STAGGER_S % START_WITHIN_S, 3)
            common |= {"start_s": start_s, "seconds": end_s - start_s, "unsent_bytes": BLOCK_BYTES}
            if kind == "t":
                packet = REFERENCE_BYTES + TCP_HEADER_BYTES
                found.append(
                    Flow(f"t{number}", cc=values["tcp"], packet_bytes=packet, write_bytes=BLOCK_BYTES, **common)
                )
                continue
            whole = not setting.packets_s and not setting.least_bytes
            found.append(
                Flow(
                    f"v{number}",
                    cc=cc,
                    packet_bytes=(setting.most_bytes if whole else REFERENCE_BYTES) + TCP_HEADER_BYTES,
                    write_bytes=BLOCK_BYTES if whole else setting.most_bytes,
                    packets_s=setting.packets_s,
                    write_least_bytes=setting.least_bytes,
                    **common,
                )
            )
    return tuple(found)


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All flows until the end."""
    if qdisc not in QUEUES:
        raise PlanError(f"--qdisc {qdisc}: must be one of {', '.join(QUEUES)}")
    setting = SETTINGS[values["setting"]]
    end_s = SETTLE_S + values["seconds"]
    others = values["others"] or values["pairs"]
    delays = [values["round_trip"], *([values["short_trip"]] if values["short_trip"] else [])]
    vptfrc = {
        "method": values["method"],
        "mode": values["mode"],
        "reference_bytes": str(REFERENCE_BYTES),
    }
    modules = {"tcp_vptfrc": vptfrc} if cc == "vptfrc" else {}
    if qdisc == "packet-rate":
        topology = dumbbell("lossy", FAST_BIT_S, delays, 0)
        modules["sch_lossy"] = {
            "gap_us": str(round(1e6 / values["packet_rate"])),
            "limit_packets": str(PACKET_RATE_ROOM),
            "seed": str(seed),
        }
    else:
        rate_bit_s = link_bit_s(setting, values["pairs"], others, values["richer"])
        topology = dumbbell("lossy", rate_bit_s, delays, 0)
        modules["sch_lossy"] = room(values, setting, values["pairs"] + others, qdisc, seed, rate_bit_s)
    return Plan(
        topology,
        flows_of(values, setting, cc, end_s, seed),
        record=Record(acks=True, events_if_known=(loss_intervals.EVENT,) if cc == "vptfrc" else ()),
        hash_seed=seed,
        module_parameters=modules,
        sysctls={"root": SYSCTLS},
        settle_s=SETTLE_S - START_WITHIN_S,
        seconds=end_s + LAST_PACKETS_S if qdisc == "packet-rate" else 0.0,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Means over the flows of a kind: goodput in the window, packets, losses, variation."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    begin_s, end_s = plan.window_s or (0.0, plan.end_s)

    def grown(flows: Sequence[Flow], counts: str) -> float:
        """Of a count of all of them, in the window."""
        seen = [(acks[plan.port(flow)], getattr(acks[plan.port(flow)], counts)) for flow in flows]
        return float(sum(one.at(values, end_s) - one.at(values, begin_s) for one, values in seen))

    def mean_bit_s(flows: Sequence[Flow]) -> float:
        return sum(acks[plan.port(flow)].goodput_bit_s(begin_s, end_s) for flow in flows) / len(flows)

    found: dict[str, Any] = {}
    for name, letter in (("tcp", "t"), ("other", "v")):
        own = [flow for flow in plan.flows if flow.name.startswith(letter)]
        lost = grown(own, "retransmits")
        sent = grown(own, "delivered_packets") + lost
        found |= {
            f"{name}_bit_s": rounded(mean_bit_s(own), 0),
            f"{name}_packets_s": rounded(sent / (len(own) * (end_s - begin_s)), 3),
            f"{name}_lost_part": rounded(lost / sent, 6) if sent else None,
            f"{name}_rate_variation": loss_intervals.of_rates(plan, raw, own),
        }
        if letter == "v":
            found |= loss_intervals.of_losses(plan, raw, own)
        if values["short_trip"]:
            halves = {
                "long": [one for one in own if one.source == "s1"],
                "short": [one for one in own if one.source == "s2"],
            }
            found |= {f"{name}_{which}_bit_s": rounded(mean_bit_s(half), 0) for which, half in halves.items() if half}
    return {**found, "ratio": rounded(found["other_bit_s"] / max(found["tcp_bit_s"], 1.0), 4)}


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Flows of both kinds send, and packets of a fixed rate are as many as they were to be; lab vptfrc judges."""
    told = [Check("tcp_bit_s", ">=", 1000), Check("other_bit_s", ">=", 1000)]
    if packets_s := SETTINGS[values["setting"]].packets_s:
        # a turn is skipped while more than a packet waits, and packets that are lost leave twice
        told += [Check("other_packets_s", ">=", 0.8 * packets_s), Check("other_packets_s", "<=", 1.1 * packets_s)]
    return told
