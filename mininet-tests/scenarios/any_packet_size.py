# SPDX-License-Identifier: GPL-2.0
"""Flows of one packet size on a link that loses packets by chance, without a queue: lab vptfrc compares them.

    s1 --- r ========== x --- d1    100 Mbit/s, which no flow fills
    s2 --- r            x --- d2
    ...

The flows share nothing but the link, and each has losses of its own: a run has the mean of several.
"""

from typing import Any

from lab.analyse import loss_intervals
from lab.analyse.figures import rounded
from lab.model.devices import ETHERNET_HEADER_BYTES
from lab.model.flows import dumbbell
from lab.model.plan import TCP_HEADER_BYTES, Command, Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Values

CLAIM = "flows on a lossy link have the rate that their congestion control makes of the losses"
COMBINATIONS = [("vptfrc", "lossy")]
METHODS = ("unmodified", "unbiasing", "virtual", "sampling", "lip")
PARAMETERS = {
    "loss": Parameter(0.01, "", "mean probability that a packet is lost", 1e-6, 1.0),
    "kind": Parameter("steady", "", "how the probability changes", choices=("steady", "swinging", "gilbert")),
    "by_bytes": Parameter(False, "", "losses are in proportion to payload: the probability is that of 1000 bytes"),
    "payload": Parameter(1000, "bytes", "of each packet", 100, 1448),
    "packets": Parameter(0, "packets/s", "of a fixed rate, each as large as the rate allows; 0: fixed size", 0, 1000),
    "method": Parameter("virtual", "", "of vptfrc", choices=METHODS),
    "mode": Parameter("packet", "", "of vptfrc", choices=("packet", "byte", "byte-tail")),
    "reference": Parameter(1000, "bytes", "payload of the packets whose rate vptfrc computes", 64, 1448),
    "recovery": Parameter("rack", "", "rack: RACK and tail loss probes; acks: neither", choices=("rack", "acks")),
    "round_trip": Parameter(100.0, "ms", "propagation delay", 1, 1000),
    "flows": Parameter(4, "flows", "side by side", 1, 32),
    "seconds": Parameter(60.0, "s", "measured, after the first ten", 10, 600),
}
RECOVERY = {"rack": {}, "acks": {"net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_early_retrans": "0"}}
RATE_MBIT = 100.0
# At such a loss each of the last packets is lost several times, and timeouts double up to two minutes.
HEAVY_LOSS, LAST_PACKETS_S = 0.4, 1800.0
# A round trip, as the link has it by default.
FINE_BIN_S = 0.1
# Of the turns of a flow with a fixed rate of packets, those that send one.
LEAST_TURNS = 0.8
# Slow start and the first loss events, of which the mean of eight is made.
SETTLE_S = 10.0
# The swinging probability has half of its mean and one and a half times that, in turn.
SWING_S = 10.0
SWING_PARTS = (0.5, 1.5)
# The Gilbert link's bad state loses all; it lasts so long in the mean.
BAD_US = 10_000
PPB = 1_000_000_000
LINK_REFERENCE_BYTES = 1000
# More than the largest window: 40 packets in a round trip at a loss of 0.001, twice, and what waits unsent.
WINDOW_BYTES = 400_000
# A packet of 100 bytes takes 1.3 kB of a socket's buffer, and there are 1,100 of them in a round trip at 9 Mbit/s.
VPTFRC_WINDOW_BYTES = 4_000_000
SYSCTLS = {"net.core.wmem_max": str(VPTFRC_WINDOW_BYTES), "net.core.rmem_max": str(VPTFRC_WINDOW_BYTES)}
BLOCK_BYTES = 8_192
PARAMETER_FILE = "/sys/module/sch_lossy/parameters/loss_ppb"


def losses(values: Values, seed: int) -> dict[str, str]:
    """What the link is told."""
    said = {"loss_ppb": round(values["loss"] * PPB), "good_us": 0, "bad_us": BAD_US}
    if values["kind"] == "swinging":
        said["loss_ppb"] = round(min(1.0, values["loss"] * SWING_PARTS[0]) * PPB)
    if values["kind"] == "gilbert":
        # the part of the time that is bad is the mean loss
        said |= {"loss_ppb": PPB, "good_us": round(BAD_US * (1 / values["loss"] - 1))}
    if values["by_bytes"]:
        said |= {
            "reference_bytes": LINK_REFERENCE_BYTES,
            "header_bytes": TCP_HEADER_BYTES + ETHERNET_HEADER_BYTES,
        }
    return {name: str(value) for name, value in {**said, "seed": seed}.items()}


def swings(values: Values, end_s: float) -> tuple[Command, ...]:
    """Commands that change the probability."""
    times = [number * SWING_S for number in range(1, int(end_s / SWING_S) + 1)]
    return tuple(
        Command(
            f"swing-{number}",
            at_s,
            "root",
            ("sh", "-c", f"echo {round(min(1.0, values['loss'] * SWING_PARTS[number % 2]) * PPB)} >{PARAMETER_FILE}"),
        )
        for number, at_s in enumerate(times, 1)
        if at_s < end_s
    )


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """All flows from the beginning to the end."""
    end_s = SETTLE_S + values["seconds"]
    packet_bytes = values["payload"] + TCP_HEADER_BYTES
    flows = tuple(
        Flow(
            name=f"f{number}",
            source="s1",
            sink="d1",
            cc=cc,
            seconds=end_s,
            packet_bytes=packet_bytes,
            window_bytes=VPTFRC_WINDOW_BYTES if cc == "vptfrc" else WINDOW_BYTES,
            write_bytes=values["payload"] if values["packets"] else BLOCK_BYTES,
            unsent_bytes=BLOCK_BYTES,
            packets_s=values["packets"],
        )
        for number in range(1, values["flows"] + 1)
    )
    vptfrc = {"method": values["method"], "mode": values["mode"], "reference_bytes": str(values["reference"])}
    return Plan(
        dumbbell(qdisc, int(RATE_MBIT * 1e6), [values["round_trip"]], 0),
        flows,
        commands=swings(values, end_s) if values["kind"] == "swinging" else (),
        record=Record(acks=True, events_if_known=(loss_intervals.EVENT,) if cc == "vptfrc" else ()),
        hash_seed=seed,
        module_parameters={"sch_lossy": losses(values, seed), **({"tcp_vptfrc": vptfrc} if cc == "vptfrc" else {})},
        sysctls={"root": SYSCTLS, "s1": RECOVERY[values["recovery"]]},
        settle_s=SETTLE_S,
        seconds=end_s + LAST_PACKETS_S if values["loss"] > HEAVY_LOSS else 0.0,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Part of the packets that the link has lost, packets of a flow, loss intervals, and how much the rate varies."""
    sent = sum(int(flow["data_packets_sent"]) for flow in raw["flows"])
    lost = sum(int(flow["retransmits"]) for flow in raw["flows"])
    return {
        "retransmitted_part": rounded(lost / sent, 5) if sent else None,
        "packets_s": rounded((sent - lost) / (plan.end_s * len(plan.flows)), 2),
        "rate_variation": loss_intervals.of_rates(plan, raw, plan.flows),
        "fine_rate_variation": loss_intervals.of_rates(plan, raw, plan.flows, FINE_BIN_S),
        **(loss_intervals.of_losses(plan, raw, plan.flows) if plan.record.events_if_known else {}),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """What it comes to depends on the losses; packets of a fixed rate are as many as they were to be."""
    told = [Check("goodput_bit_s", ">=", 1000)]
    if values["packets"]:
        # a turn is skipped while more than a packet waits
        told += [
            Check("packets_s", ">=", LEAST_TURNS * values["packets"]),
            Check("packets_s", "<=", 1.01 * values["packets"]),
        ]
    return told
