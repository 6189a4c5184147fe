# SPDX-License-Identifier: GPL-2.0
"""What tcp_pktpair takes for the propagation delay of its path, while the path changes.

A standing queue at the setpoint hides the propagation delay; a route may become
longer or shorter; a queue on the way back is neither.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lab.analyse.figures import events, rounded
from lab.model import flows
from lab.model.flows import FULL_PACKET_BYTES
from lab.model.plan import Change, Flow, Plan, Record
from lab.model.scenario import Check, Parameter, Value, Values
from lab.model.topology import Way


@dataclass(frozen=True)
class Case:
    """Round trips in ms before and after the change; or a queue on the way back from then on."""

    before_ms: float
    after_ms: float
    reverse: bool = False


CASES = {
    "standing-queue": Case(44, 44),
    "longer-route": Case(20, 60),
    "shorter-route": Case(60, 20),
    "reverse-queue": Case(44, 44, reverse=True),
}
CLAIM = "the propagation delay follows the route, up and down, and no queue, neither ours nor one on the way back"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "case": Parameter("standing-queue", "", "what happens to the path", choices=tuple(CASES)),
    "rate_mbit": Parameter(8.0, "Mbit/s", "rate of the bottleneck", 1, 100),
    "seconds": Parameter(24.0, "s", "how long the flow sends", 20, 3600),
}
VARIANTS: list[dict[str, Value]] = [{"case": case} for case in CASES]
CHANGE_S = 4.0
# The queue on the way back is gone, with what waits to be sent again, seconds before the estimate is looked for anew.
REVERSE_S = 4.0
REVERSE = Way(rate_bit_s=4_000_000, queue="bfifo", limit_packets=26)
BUFFER_PACKETS = 1000
START_S = 0.2
# The estimate may be this much above the path: packets of the flow itself.
ABOVE_PACKETS = 2


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One flow."""
    case = CASES[values["case"]]
    network = flows.dumbbell(qdisc, int(values["rate_mbit"] * 1e6), [case.before_ms], BUFFER_PACKETS)
    (flow,) = flows.staggered(1, cc, values["seconds"], 0, seed, 0.001)
    sending = [replace(flow, start_s=flow.start_s + START_S)]
    changes: tuple[Change, ...] = ()
    if case.before_ms != case.after_ms:
        changes = (Change(CHANGE_S, "d1-x", {"delay_ms": case.after_ms}),)
    if case.reverse:
        links = [replace(link, back=REVERSE) if link.device_b == "x-r" else link for link in network.links]
        network = replace(network, links=tuple(links))
        sending.append(Flow("fill", "d1", "s1", "cubic", CHANGE_S, seconds=REVERSE_S, background=True))
    return Plan(
        network,
        tuple(sending),
        changes=changes,
        record=Record(events=("pktpair:pktpair_sample",)),
        hash_seed=seed,
        settle_s=1.0,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The estimate in the last second, the time it took to follow, and how often it was looked for."""
    case = CASES[values["case"]]
    packet_ms = FULL_PACKET_BYTES * 8 / (values["rate_mbit"] * 1e3)
    times, estimates, setpoints = [], [], []
    for moment, sample in events(raw["trace"], "pktpair_sample"):
        if int(sample["propagation_us"]):
            times.append(moment - raw["begin_s"])
            estimates.append(int(sample["propagation_us"]) / 1e3)
            setpoints.append(int(sample["setpoint_q8"]))
    time_s, estimate_ms, dips = np.array(times), np.array(estimates), np.array(setpoints) < 0
    path_ms = np.where(time_s < CHANGE_S, case.before_ms, case.after_ms)
    above = (estimate_ms - path_ms) / packet_ms
    within = (above <= ABOVE_PACKETS) & (estimate_ms >= path_ms - 0.1)
    wrong = time_s[(time_s > CHANGE_S) & ~within]
    began = np.flatnonzero(dips[1:] & ~dips[:-1])
    return {
        "final_ms": rounded(np.median(estimate_ms[time_s > values["seconds"] - 2]), 3),
        "final_above_packets": rounded(np.median(above[time_s > values["seconds"] - 2]), 3),
        "highest_above_packets": rounded(above.max(), 3),
        "followed_after_s": rounded(wrong.max() - CHANGE_S if len(wrong) else 0, 3),
        "dips": len(began),
        "dipping": rounded(np.mean(dips), 4),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """An estimate that nothing confirms is looked for anew after ten seconds, in three round trips.

    The link stays busy meanwhile; not so while a longer route has not been
    noticed, or while packets wait on the way back.
    """
    found = [
        Check("final_above_packets", "in", [-0.1, ABOVE_PACKETS]),
        Check("followed_after_s", "<=", 12.0 if values["case"] == "longer-route" else 1.0),
    ]
    if values["case"] in ("standing-queue", "shorter-route"):
        found.append(Check("utilisation", ">=", 0.95))
    if values["case"] == "standing-queue":
        found.append(Check("dips", ">=", 1))
    return found
