# SPDX-License-Identifier: GPL-2.0
"""What tcp_pktpair measures with receivers, ACK paths and applications as they are.

One pktpair flow, alone or among CUBIC flows that are backlogged all the time, so
that its service time is known: so many packet times.  The others have a host
pair of their own, which the case does not touch.

Each case says what it does to the measured flow; what it changes it changes
back, since the network is kept for the next run.  Losses are every n-th packet,
which can be had again.
"""

from dataclasses import dataclass, replace
from typing import Any

from lab import scenario, truth
from lab.scenario import Action, Check, Parameter, Plan, Values

Commands = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """What is done to the measured flow's path, by node and shell command, and undone.

    :param late: done once the connection is there
    :param error: largest relative error of the mean gap that is accepted
    :param sampled: smallest share of trains that has to give a sample, where the flow is
        alone and among others; 0: deliveries may have to do
    :param shows: a verdict that has to occur, which shows that the case bites
    """

    meaning: str
    do: Commands = ()
    undo: Commands = ()
    late: bool = False
    block_bytes: int = scenario.BLOCK_BYTES
    error: float = 0.01
    sampled: tuple[float, float] = (0.9, 0.9)
    shows: str = "sample"


QUICKACK: Commands = (("d1", "ip route change default via 10.1.1.254 quickack 1"),)
NO_QUICKACK: Commands = (("d1", "ip route change default via 10.1.1.254"),)


def thinned(what: str) -> Commands:
    """ACKs of the measured flow: gact's ``what``, every n-th packet, on their way into x."""
    return (("x", f"tc qdisc add dev x-d1 clsact && tc filter add dev x-d1 ingress matchall action gact {what}"),)


NOT_THINNED: Commands = (("x", "tc qdisc del dev x-d1 clsact"),)

CASES = {
    # where the window opens by single segments a train of four leaves as three and one
    "per-packet": Case("an ACK for every segment", QUICKACK, NO_QUICKACK, sampled=(0.9, 0.5)),
    "delayed": Case("a stock receiver: an ACK for every second segment, at first for every one"),
    "out-of-phase": Case(
        "trains of five, of which a stock receiver acknowledges 2, 2, 1 and 1, 2, 2",
        (("root", "echo 5 >/sys/module/tcp_pktpair/parameters/train_min"),),
        (("root", "echo 4 >/sys/module/tcp_pktpair/parameters/train_min"),),
    ),
    "gro": Case(
        "the receiver's interface merges what comes within a millisecond",
        (
            (
                "d1",
                "ethtool -K d1-x gro on && cd /sys/class/net/d1-x && echo 1 >napi_defer_hard_irqs"
                " && echo 1000000 >gro_flush_timeout",
            ),
        ),
        (
            (
                "d1",
                "cd /sys/class/net/d1-x && echo 0 >gro_flush_timeout && echo 0 >napi_defer_hard_irqs"
                " && ethtool -K d1-x gro off",
            ),
        ),
        error=0.03,
        # a train ends with an ACK that the interface's timer causes, not the last segment
        sampled=(0.6, 0.6),
    ),
    "stretch-8": Case(
        "of the ACKs for every segment one in 8 arrives",
        QUICKACK + thinned("drop random determ pass 8"),
        NOT_THINNED + NO_QUICKACK,
        late=True,
    ),
    "stretch-32": Case(
        "of the ACKs for every segment one in 32 arrives",
        QUICKACK + thinned("drop random determ pass 32"),
        NOT_THINNED + NO_QUICKACK,
        late=True,
        # alone, the window of 200 may hold trains of 32 that end where the ACKs do
        sampled=(0, 0.9),
    ),
    "ack-loss": Case(
        "every tenth ACK of a stock receiver is lost",
        thinned("pass random determ drop 10"),
        NOT_THINNED,
        late=True,
        # a train comes back as two ACKs: one in five loses one of them
        sampled=(0.75, 0.75),
    ),
    "reverse": Case(
        "ACKs wait in a FIFO of 4 Mbit/s with the packets of a CUBIC flow",
        (
            ("x", "tc qdisc replace dev x-r root tbf rate 4mbit burst 1600 limit 60000"),
            ("s1", "iperf3 -s -1 -D -p 9000"),
            ("d1", "iperf3 -c 10.0.1.1 -p 9000 -C cubic -t 6 >/dev/null 2>&1 &"),
        ),
        (("x", "tc qdisc del dev x-r root"),),
        error=0.03,
    ),
    "batched": Case(
        "ACKs come to the sender in bunches, once a millisecond",
        (("r", "tc qdisc replace dev r-s1 root netem slot 1ms 1ms limit 1000000"),),
        (("r", "tc qdisc del dev r-s1 root"),),
        error=0.03,
    ),
    "held": Case(
        "the application writes 16 bytes at a time, and so holds its socket much of the time",
        block_bytes=16,
        error=0.03,
        sampled=(0.5, 0.5),
        shows="held",
    ),
    "sack": Case(
        "every 50th data packet is lost behind the bottleneck",
        (
            (
                "x",
                "tc qdisc add dev x-r clsact && tc filter add dev x-r ingress protocol ip"
                " u32 match ip dst 10.1.1.1/32 action gact pass random determ drop 50",
            ),
        ),
        (("x", "tc qdisc del dev x-r clsact"),),
        late=True,
        error=0.04,
        # a hole cuts the window's trains short, and SACKs are held back
        sampled=(0.4, 0.25),
        shows="retransmitted",
    ),
}

CLAIM = "however a receiver acknowledges, mean gap and service time are right within 1 % (4 and 5 % for bunched ACKs)"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {
    "case": Parameter("delayed", "", "what is done to the measured flow", choices=tuple(CASES)),
    "flows": Parameter(1, "flows", "backlogged flows, the measured one included", 1, 50),
    "rate_mbit": Parameter(16.0, "Mbit/s", "rate of the bottleneck", 0.1, 1000),
    "round_trip": Parameter(44.0, "ms", "propagation delay of all flows", 0.1, 10_000),
    "packet": Parameter(500, "bytes", "size of every datagram", 140, 1500),
    "seconds": Parameter(2.0, "s", "measured, after two more seconds", 0.5, 600),
}
# Each alone and among four.
VARIANTS: list[dict[str, scenario.Value]] = [{"case": case, "flows": flows} for case in CASES for flows in (1, 4)]
START_S = 0.5
LATE_S = 0.5
SETTLE_S = 2.0
BUFFER_PACKETS = 20_000
# Largest relative error of the service time, which is the mean that the law is given.
SERVICE_ERROR = 0.05
# Of the other flows' socket buffers: several times their share of the pipe.
WINDOW_BYTES = 400_000


def shell(name: str, at_s: float, commands: Commands) -> tuple[Action, ...]:
    """Actions that run commands one after the other."""
    return tuple(
        Action(f"{name}{index}", at_s + index / 1000, node, ("sh", "-c", command))
        for index, (node, command) in enumerate(commands)
    )


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """The measured flow from the first host, the others from the second."""
    case = CASES[values["case"]]
    seconds = SETTLE_S + values["seconds"] + 0.1
    flows = scenario.among_backlogged(values["flows"], cc, seconds, seed, first_s=START_S, window_bytes=WINDOW_BYTES)
    flows = (replace(flows[0], block_bytes=case.block_bytes), *flows[1:])
    end_s = flows[0].start_s + seconds
    return Plan(
        cc=cc,
        qdisc=qdisc,
        rate_bit_s=int(values["rate_mbit"] * 1e6),
        delays_ms=(values["round_trip"],) * 2,
        limit_packets=BUFFER_PACKETS,
        flows=flows,
        settle_s=SETTLE_S,
        packet_bytes=values["packet"],
        hash_seed=seed,
        events=truth.EVENTS,
        actions=(
            *shell("do", START_S + LATE_S if case.late else 0.0, case.do),
            # before the flow's last segments, whose ACKs must arrive
            *shell("undo", end_s - 0.05, case.undo),
        ),
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """Service time and trains in the window, and the queue estimate against the truth."""
    first = plan.flows[0]
    begin_s = raw["begin_s"] + first.start_s + SETTLE_S
    seen = truth.trains(raw["trace"], first.port, begin_s, begin_s + values["seconds"])
    ideal_ns = plan.packet_bytes * 8e9 / plan.rate_bit_s * values["flows"]
    return {
        **truth.service_figures(seen, ideal_ns),
        **truth.queue_figures(seen),
        "bites": seen.verdicts.get(CASES[values["case"]].shows, 0),
        "failed_actions": sum(action["status"] != 0 for action in raw["actions"]),
    }


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """Bounds of the case."""
    case = CASES[values["case"]]
    sampled = case.sampled[values["flows"] > 1]
    wanted = [
        Check("failed_actions", "==", 0),
        Check("service_error", "in", [-SERVICE_ERROR, SERVICE_ERROR]),
        Check("trains_sampled", ">=", sampled),
    ]
    if sampled:
        wanted += [Check("bites", ">=", 1), Check("gap_error", "in", [-case.error, case.error])]
    return wanted
