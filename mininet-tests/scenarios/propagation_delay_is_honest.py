# SPDX-License-Identifier: GPL-2.0
"""What tcp_pktpair takes for the propagation delay of its path, while the path changes.

A standing queue at the setpoint hides the propagation delay; a route may become
longer or shorter; a queue on the way back is neither.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lab import links
from lab import measure as common
from lab.measure import rounded
from lab.scenario import Action, Check, Parameter, Plan, Value, Values, staggered


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
    "rate_mbit": Parameter(8.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "seconds": Parameter(24.0, "s", "how long the flow sends", 20, 3600),
}
VARIANTS: list[dict[str, Value]] = [{"case": case} for case in CASES]
CHANGE_S = 4.0
# The queue on the way back lasts less than the estimate goes unconfirmed.
REVERSE_S = 6.0
# The estimate may be this much above the path: packets of the flow itself.
ABOVE_PACKETS = 2


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """One flow."""
    case = CASES[values["case"]]
    actions: tuple[Action, ...] = ()
    if case.before_ms != case.after_ms:
        line = links.delay("d1-x", case.after_ms)[0].replace("replace", "change", 1)
        actions = (Action("change", CHANGE_S, "d1", ("tc", *line.split())),)
    if case.reverse:
        fill = f"iperf3 -c 10.0.1.1 -p 9000 -C cubic -t {REVERSE_S} >/dev/null 2>&1 &"
        actions = (
            Action("fifo", 0, "x", ("sh", "-c", "tc qdisc replace dev x-r root tbf rate 4mbit burst 1600 limit 40000")),
            Action("server", CHANGE_S - 0.1, "s1", ("iperf3", "-s", "-1", "-D", "-p", "9000")),
            Action("fill", CHANGE_S, "d1", ("sh", "-c", fill)),
            Action("no_fifo", values["seconds"] - 1, "x", ("tc", "qdisc", "del", "dev", "x-r", "root")),
        )
    flows = staggered(1, cc, values["seconds"], 0, seed, 0.001, 1)
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(case.before_ms,),
        limit_packets=1000,
        flows=tuple(replace(flow, start_s=flow.start_s + 0.2) for flow in flows),
        settle_s=1,
        hash_seed=seed,
        events=("pktpair:pktpair_sample",),
        actions=actions,
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The estimate in the last second, the time it took to follow, and how often it was looked for."""
    case = CASES[values["case"]]
    packet_ms = plan.packet_bytes * 8e3 / plan.rate_bit_s
    times, estimates, setpoints = [], [], []
    for moment, sample in common.events(raw["trace"], "pktpair_sample"):
        if int(sample["propagation_us"]):
            times.append(moment - raw["begin_s"])
            estimates.append(int(sample["propagation_us"]) / 1e3)
            setpoints.append(int(sample["setpoint_q8"]))
    time_s, estimate_ms, dips = np.array(times), np.array(estimates), np.array(setpoints) < 0
    truth_ms = np.where(time_s < CHANGE_S, case.before_ms, case.after_ms)
    above = (estimate_ms - truth_ms) / packet_ms
    within = (above <= ABOVE_PACKETS) & (estimate_ms >= truth_ms - 0.1)
    wrong = time_s[(time_s > CHANGE_S) & ~within]
    began = np.flatnonzero(dips[1:] & ~dips[:-1])
    return {
        "final_ms": rounded(np.median(estimate_ms[time_s > values["seconds"] - 2]), 3),
        "final_above_packets": rounded(np.median(above[time_s > values["seconds"] - 2]), 3),
        "highest_above_packets": rounded(above.max(), 3),
        "followed_after_s": rounded(wrong.max() - CHANGE_S if len(wrong) else 0, 3),
        "dips": len(began),
        "dipping": rounded(np.mean(dips), 4),
        "failed_actions": sum(action["status"] != 0 for action in raw["actions"]),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """An estimate that nothing confirms is looked for anew after ten seconds, in three round trips.

    The link stays busy meanwhile; not so while a longer route has not been
    noticed, or while packets wait on the way back.
    """
    found = [
        Check("failed_actions", "==", 0),
        Check("final_above_packets", "in", [-0.1, ABOVE_PACKETS]),
        Check("followed_after_s", "<=", 12.0 if values["case"] == "longer-route" else 1.0),
    ]
    if values["case"] in ("standing-queue", "shorter-route"):
        found.append(Check("utilisation", ">=", 0.95))
    if values["case"] == "standing-queue":
        found.append(Check("dips", ">=", 1))
    return found
