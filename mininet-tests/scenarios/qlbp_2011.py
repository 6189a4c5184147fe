# SPDX-License-Identifier: GPL-2.0
"""The experiments of Cai, Wolf and Gong (2011): what queue-length based pacing does to flows, bursts and small buffers.

tcp
    Figures 9 and 10: one flow over 100 ms and 10 Mbit/s, with and without a pacer before them.
step
    Section III-B1: a constant rate that begins at once; and what qdiscs say of the rules of thumb.
on-off
    Figure 15 and theorem 2: a Markov source through one, two and three pacers.
self-similar
    Figure 16: a synthetic source, H = 0.95, in the place of the paper's trace.
dumbbell
    Figures 18 and 19, table III: 40 flows with windows of 32 packets, four pacers, and a small buffer at the core.

Constant rates and bursts are in pacing-follows-the-backlog. scripts/lab reproduce compares all of it with what is
published.
"""

import random
from typing import Any

from lab.analyse import pacing
from lab.model import qlbp
from lab.model.errors import PlanError
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan, Record, Source
from lab.model.scenario import Check, Parameter, Value, Values

CLAIM = "pacing by the backlog makes traffic smoother, and small buffers enough"
COMBINATIONS = [("reno", "fq_rr")]
PACING = ("none", "qlbp", "tcp", "tcp-stock")
PARAMETERS = {
    "case": Parameter("dumbbell", "", "which experiment", choices=tuple(pacing.MEASURES)),
    "pacing": Parameter(
        "qlbp", "", "by pacers, or by the senders at their window over the round trip, or as stock TCP", choices=PACING
    ),
    "q_max": Parameter(160, "packets", "cutoff of each pacer", 1, 1000),
    "buffer": Parameter(12, "packets", "of the case dumbbell: at the core", 1, 1000),
    "reading": Parameter(
        "table", "", "of the case dumbbell: packets and delays, as table III or the text", choices=tuple(qlbp.READINGS)
    ),
    "receivers": Parameter("each", "", "of the case dumbbell: ACK each packet, or as stock", choices=("each", "stock")),
    "sack": Parameter("yes", "", "of the case dumbbell: selective acknowledgments", choices=("yes", "no")),
    "delays": Parameter("no", "", "of the case dumbbell: also of each packet", choices=("no", "yes")),
    "starts": Parameter(1.0, "s", "of the case dumbbell: in which all flows begin", 0.01, 100.0),
    "settle": Parameter(3.0, "s", "left out before what is measured", 0.5, 1000.0),
    "length": Parameter(4.0, "s", "that is measured", 1.0, 4000.0),
}
VARIANTS: list[dict[str, Value]] = [
    {"case": "tcp", "settle": 1.0},
    {"case": "step", "settle": 0.5, "length": 1.0},
    {"case": "on-off", "settle": 2.0, "length": 60.0},
    {"case": "self-similar", "settle": 1.0, "length": 16.0},
    {"case": "dumbbell"},
]
AT_CWND = {"net.ipv4.tcp_pacing_ss_ratio": "100", "net.ipv4.tcp_pacing_ca_ratio": "100"}
# RACK works without selective acknowledgments as well, and ns-2's senders have neither
WITHOUT_SACK = {"net.ipv4.tcp_sack": "0", "net.ipv4.tcp_recovery": "0"}
SAMPLES = 4 * pacing.PARTS


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One of the experiments."""
    if qdisc != "fq_rr":
        raise PlanError(f"--qdisc {qdisc}: must be fq_rr, which alone has qlbp")
    if values["pacing"] not in ("none", "qlbp") and values["case"] != "dumbbell":
        raise PlanError(f"pacing={values['pacing']}: senders pace in the case dumbbell alone")
    if values["pacing"] == "none" and values["case"] not in ("tcp", "dumbbell"):
        raise PlanError(f"pacing=none: the case {values['case']} has a pacer, and what it is given beside it")
    return PLANS[values["case"]](values, cc, seed)


def end_s(values: Values) -> float:
    """When a run stops sending."""
    return round(values["settle"] + values["length"], 6)


def of_tcp(values: Values, cc: str, seed: int) -> Plan:
    """Figures 9 and 10."""
    flow = Flow("flow", "s", "d", cc, seconds=end_s(values), write_bytes=16384, unsent_bytes=32768)
    record = Record(acks=False, events=("fq_rr:fq_rr_dequeue",))
    return Plan(qlbp.prototype(values["pacing"] == "qlbp"), (flow,), record=record, hash_seed=seed)


def of_step(values: Values, cc: str, seed: int) -> Plan:
    """Section III-B1; the last packets, for which nothing comes any more, are not looked at."""
    model = {"model": "constant", "rate_packets_s": qlbp.STEP_BIT_S / qlbp.PACKET_BITS, "start_s": 0.1}
    source = Source("step", "s", "d", model, end_s(values), qlbp.PACKET_BYTES)
    record = Record(acks=False, events=("fq_rr:fq_rr_enqueue",))
    return Plan(qlbp.stepped(values["q_max"]), sources=(source,), record=record, hash_seed=seed)


def of_on_off(values: Values, cc: str, seed: int) -> Plan:
    """Figure 15: the same source before one, two and three pacers."""
    model = {
        **{"model": "markov_on_off", "rate_packets_s": qlbp.ON_OFF_BIT_S / qlbp.PACKET_BITS, "start_s": 0.1},
        **{"mean_on_s": qlbp.MEAN_ON_S, "mean_off_s": qlbp.MEAN_OFF_S, "seed": f"on-off {seed}"},
    }
    sources = tuple(
        Source(f"chain{count}", f"s{count}", f"d{count}", model, end_s(values), qlbp.PACKET_BYTES)
        for count in qlbp.PACERS
    )
    return Plan(qlbp.tandems(values["q_max"]), sources=sources, record=Record(acks=False), hash_seed=seed)


def of_self_similar(values: Values, cc: str, seed: int) -> Plan:
    """Figure 16."""
    model = {**qlbp.TRACE_SOURCE, "start_s": 0.1, "seed": f"self-similar {seed}"}
    source = Source("trace", "s", "d", model, end_s(values), qlbp.PACKET_BYTES, burst=qlbp.TRACE_BURST_PACKETS)
    network = qlbp.one_pacer(qlbp.TRACE_LINK_BIT_S, qlbp.trace_rule(values["q_max"]))
    return Plan(network, sources=(source,), record=Record(acks=False), hash_seed=seed)


def of_dumbbell(values: Values, cc: str, seed: int) -> Plan:
    """Figure 17; a receiver's window is what the paper bounds the congestion window by."""
    reading = qlbp.READINGS[values["reading"]]
    payload_bytes = reading.packet_bytes - TCP_HEADER_BYTES
    window_bytes = qlbp.WINDOW_PACKETS * payload_bytes
    size = {"packet_bytes": reading.packet_bytes, "write_bytes": window_bytes // 2, "unsent_bytes": window_bytes}
    rule = qlbp.dumbbell_rule(values["q_max"], reading) if values["pacing"] == "qlbp" else None
    starts = random.Random(f"starts {seed}")
    flows = []
    for number in range(1, qlbp.SENDERS + 1):
        start_s = round(starts.uniform(0, values["starts"]), 6)
        ends = (f"s{number}", f"r{(number - 1) // qlbp.GROUPS % qlbp.RECEIVERS + 1}")
        lasts_s = round(end_s(values) - start_s, 6)
        flows.append(Flow(f"f{number}", *ends, cc, start_s=start_s, seconds=lasts_s, **size))
    is_traced = values["delays"] == "yes"
    sysctls = AT_CWND if values["pacing"] == "tcp" else {}
    if values["sack"] == "no":
        sysctls = sysctls | WITHOUT_SACK
    route = f"window {window_bytes}{' quickack 1' if values['receivers'] == 'each' else ''}"
    return Plan(
        qlbp.dumbbell(rule, values["buffer"], reading, seed, values["pacing"].startswith("tcp")),
        tuple(flows),
        record=Record(
            acks=is_traced,
            events=("fq_rr:fq_rr_enqueue",) if is_traced else (),
            sample_s=round(values["length"] / SAMPLES, 6),
        ),
        hash_seed=seed,
        routes={f"r{number}": route for number in range(1, qlbp.RECEIVERS + 1)},
        sysctls={"*": sysctls} if sysctls else {},
    )


PLANS = {"tcp": of_tcp, "step": of_step, "on-off": of_on_off, "self-similar": of_self_similar, "dumbbell": of_dumbbell}


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """What the paper's figures and tables have, of each case."""
    return pacing.MEASURES[values["case"]](values, plan, raw)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Whether an experiment is what it says; what is published is judged over the whole sweep."""
    case = values["case"]
    if case == "on-off":
        # the source is 2 Mbit/s a third of the time, and pacers delay packets but keep them
        return [Check("unpaced_cov", "in", [1.0, 1.6]), Check("relative_mean_3", "in", [0.98, 1.02])]
    if case == "self-similar":
        return [Check("hurst", "in", [0.75, 1.15])]
    if case == "step":
        alpha = qlbp.tandem_rule(values["q_max"]).alpha_per_s
        return [Check("alpha_per_s", "in", [0.85 * alpha, 1.15 * alpha])]
    return [Check("used", ">=", 0.05)] if case == "dumbbell" else [Check("packets", ">=", 100)]
