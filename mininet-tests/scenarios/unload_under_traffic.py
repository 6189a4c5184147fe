# SPDX-License-Identifier: GPL-2.0
"""Removing a module that is in use is refused; removing it afterwards is clean."""

from lab.scenario import Action, Check, Parameter, Plan, Values, staggered

CLAIM = "rmmod of either module is refused under traffic, traffic goes on, and afterwards it is clean"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "seconds": Parameter(5.0, "s", "how long each flow sends", 4, 600),
}
RATE_BIT_S = 10_000_000
# Flows have ended, their last retransmission timers with them.
DRAIN_S = 3.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Refused while two flows run; then senders, queue and modules are let go one by one."""
    busy = values["seconds"] / 2
    after = values["seconds"] + DRAIN_S
    use_cubic = ("sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=cubic")
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=RATE_BIT_S,
        delays_ms=(10, 20),
        limit_packets=100,
        flows=staggered(2, cc, values["seconds"], 0.1, seed, 0.001),
        settle_s=1,
        hash_seed=seed,
        actions=(
            Action("busy_cc", busy, "root", ("rmmod", "tcp_pktpair")),
            Action("busy_qdisc", busy + 0.5, "root", ("rmmod", "sch_fq_rr")),
            Action("s1_cubic", after, "s1", use_cubic),
            Action("s2_cubic", after, "s2", use_cubic),
            Action("idle_qdisc", after + 0.5, "root", ("rmmod", "sch_fq_rr")),
            Action("delete", after + 1, "r", ("tc", "qdisc", "del", "dev", "r-x", "root")),
            Action("free_cc", after + 2, "root", ("rmmod", "tcp_pktpair")),
            Action("free_qdisc", after + 2, "root", ("rmmod", "sch_fq_rr")),
            Action("again_cc", after + 3, "root", ("insmod", "@tcp_pktpair")),
            Action("again_qdisc", after + 3, "root", ("insmod", "@sch_fq_rr")),
        ),
    )


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """1 is rmmod's status when the module is in use."""
    refused = [Check(f"{name}_status", "==", 1) for name in ("busy_cc", "busy_qdisc", "idle_qdisc")]
    done = ("s1_cubic", "s2_cubic", "delete", "free_cc", "free_qdisc", "again_cc", "again_qdisc")
    return [*refused, *(Check(f"{name}_status", "==", 0) for name in done), Check("utilisation", ">=", 0.9)]
