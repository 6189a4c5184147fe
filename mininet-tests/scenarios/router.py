# SPDX-License-Identifier: GPL-2.0
"""One run of ``lab router`` (Documentation/router.rst): a router's queue with everybody's flows in it, and who asks.

All flows have one pair of hosts. Beside them another pair has a datagram of 64 bytes, a request of 64 bytes and a
small response (as of a name server) every 100 ms.
"""

from dataclasses import replace
from typing import Any

from lab.analyse import router as found
from lab.model import flows
from lab.model.benchmarks import OPEN_BUFFERS
from lab.model.errors import PlanError
from lab.model.plan import Exchange, Flow, Plan, Source
from lab.model.scenario import Check, Parameter, Values
from lab.model.topologies import topology

CLAIM = "one queue serves packet pair and everybody else; lab router judges it beside its peers"
COMBINATIONS = [("cubic", "fq_rr")]
PARAMETERS = {
    "flows": Parameter(8, "", "that fill the link", 1, 50),
    "rate_mbit": Parameter(20.0, "Mbit/s", "rate of the link", 1, 100),
    "round_trip": Parameter(20.0, "ms", "of the empty path", 1, 200),
    "beside": Parameter("", "", "congestion control of every second flow; none: that of the others"),
    "options": Parameter("", "", "further ones of fq_rr"),
}
# Each flow's share of the link is so many packets at least, and the figures of no run are of less time.
PACKETS_OF_FLOW = found.LEAST_PACKETS
LEAST_S = 5.0
# Flows start within so long, and have found their shares so much later.
STARTS_S, SETTLE_S = 0.5, 2.0
ASKED_EVERY_S = 0.1
ASKED_BYTES, NAME_BYTES = 64, 512


def plan(values: Values, cc: str, qdisc: str, seed: int) -> Plan:
    """Queues as they are by default; hosts whose windows do not bind."""
    count = int(values["flows"])
    if values["beside"] and count < 2:
        raise PlanError(f"beside={values['beside']}: flows={count}: must be at least 2")
    network = topology(
        "dumbbell",
        pairs=2,
        rate_mbit=values["rate_mbit"],
        queue=qdisc,
        limit_packets=0,
        delays_ms=[values["round_trip"]],
        options=values["options"] if qdisc == "fq_rr" else "",
    )
    packets_s = values["rate_mbit"] * 1e6 / 8 / flows.FULL_PACKET_BYTES
    seconds = round(STARTS_S + SETTLE_S + max(LEAST_S, PACKETS_OF_FLOW * count / packets_s), 3)
    many = flows.staggered(count, cc, seconds, STARTS_S / count, seed, STARTS_S / count, 1)
    many = tuple(replace(one, seconds=round(seconds - one.start_s, 6), unsent_bytes=flows.UNSENT_BYTES,
                         write_bytes=flows.BLOCK_BYTES) for one in many)  # fmt: skip
    if values["beside"]:
        many = tuple(replace(one, cc=values["beside"]) if index % 2 else one for index, one in enumerate(many))
    waits_s = ASKED_EVERY_S + values["round_trip"] / 1e3
    times = max(1, int((seconds - STARTS_S) / (waits_s + 0.1)))

    def asking(name: str, source: str, sink: str, answer_bytes: int) -> Flow:
        exchange = Exchange(ASKED_BYTES, answer_bytes, ASKED_EVERY_S)
        return Flow(name, source, sink, "cubic", start_s=STARTS_S, exchanges=(exchange,) * times, background=True)

    probe = {"model": "constant", "rate_packets_s": 1 / ASKED_EVERY_S}
    return Plan(
        network,
        # a request passes the link, or its answer does
        (*many, asking("request", "s2", "d2", ASKED_BYTES), asking("name", "d2", "s2", NAME_BYTES)),
        sources=(Source("probe", "s2", "d2", probe, seconds, ASKED_BYTES),),
        hash_seed=seed,
        settle_s=SETTLE_S,
        sysctls={"*": {"net.ipv4.tcp_rmem": OPEN_BUFFERS, "net.ipv4.tcp_wmem": OPEN_BUFFERS}},
    )


def measure(values: Values, plan: Plan, raw: dict[str, Any]) -> dict[str, Any]:
    """The run's part of its rows in summary.json."""
    return found.metrics(plan, raw)


def checks(values: Values, cc: str, qdisc: str) -> list[Check]:
    """What holds of any of the queues."""
    return [Check("utilisation", ">=", 0.9)]
