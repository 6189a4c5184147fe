# SPDX-License-Identifier: GPL-2.0
"""Removing a module that is in use is refused; removing it afterwards is clean."""

from lab.model.flows import dumbbell, staggered
from lab.model.plan import CC_SYSCTL, Command, Plan
from lab.model.scenario import Check, Parameter, Values

CLAIM = "rmmod of either module is refused under traffic, traffic goes on, and afterwards it is clean"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "seconds": Parameter(5.0, "s", "how long each flow sends", 4, 600),
}
RATE_BIT_S = 10_000_000
ROUND_TRIPS_MS = (10.0, 20.0)
LIMIT_PACKETS = 100
STAGGER_S, JITTER_S = 0.1, 0.001
SETTLE_S = 1.0
# Flows have ended, their last retransmission timers with them.
DRAIN_S = 3.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Refused while two flows run; then senders, queue and modules are let go one by one.

    Senders choose the algorithm by their sysctl, as a user does, so that they hold the
    module when their flows have ended.
    """
    busy = values["seconds"] / 2
    after = values["seconds"] + DRAIN_S
    use_cubic = ("sysctl", "-q", "-w", f"{CC_SYSCTL}=cubic")
    return Plan(
        dumbbell(qdisc, RATE_BIT_S, ROUND_TRIPS_MS, LIMIT_PACKETS),
        staggered(2, "", values["seconds"], STAGGER_S, seed, JITTER_S),
        commands=(
            Command("busy_cc", busy, "root", ("rmmod", "tcp_pktpair")),
            Command("busy_qdisc", busy + 0.5, "root", ("rmmod", "sch_fq_rr")),
            Command("s1_cubic", after, "s1", use_cubic),
            Command("s2_cubic", after, "s2", use_cubic),
            Command("idle_qdisc", after + 0.5, "root", ("rmmod", "sch_fq_rr")),
            Command("delete", after + 1, "r", ("tc", "qdisc", "del", "dev", "r-x", "root")),
            Command("free_cc", after + 2, "root", ("rmmod", "tcp_pktpair")),
            Command("free_qdisc", after + 2, "root", ("rmmod", "sch_fq_rr")),
            Command("again_cc", after + 3, "root", ("insmod", "@tcp_pktpair")),
            Command("again_qdisc", after + 3, "root", ("insmod", "@sch_fq_rr")),
        ),
        hash_seed=seed,
        sysctls={node: {CC_SYSCTL: cc} for node in ("s1", "s2")},
        settle_s=SETTLE_S,
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """1 is rmmod's status when the module is in use."""
    refused = [Check(f"{name}_status", "==", 1) for name in ("busy_cc", "busy_qdisc", "idle_qdisc")]
    done = ("s1_cubic", "s2_cubic", "delete", "free_cc", "free_qdisc", "again_cc", "again_qdisc")
    return [*refused, *(Check(f"{name}_status", "==", 0) for name in done), Check("utilisation", ">=", 0.9)]
