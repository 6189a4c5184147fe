# SPDX-License-Identifier: GPL-2.0
"""What a run of a case of ``lab real-networks`` found.

goodput
    payload of the own flow that was acknowledged: of a FIFO, a bucket and a policer in the second half of the
    run, of a clean start from its fifth round trip on, elsewhere from 2 s on, over that time.
utilisation
    packets that all flows through the bottleneck delivered, selectively acknowledged ones included, each as a full
    packet, over what the rate allows from 2 s to the end. A policer allows its burst as well.
delay
    of the own flow's ACKs from 2 s on: the round trip less the path's own at its time. An ACK that arrives later
    than a change by the new path's round trip has taken the new path, since no ACK of a longer path arrives sooner.
alarms
    times at which a flow of tcp_pktpair took the bottleneck for one that does not serve in turn, by its own trace
    event, while it did: by the topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.errors import RunError
from ..model.layout import lay_out
from ..model.plan import Plan
from ..model.real_networks import (
    BOTTLENECK,
    CHANGE_S,
    PACKET_PAIR,
    POLICER_BURST_S,
    SETTLE_S,
    START_ROUND,
    Case,
    takes_turns,
)
from .figures import Acks, Floats, acks_of_flows, events, layouts_of, propagation_s, rounded, utilisations

EVENT = "pktpair_turns"
# Of a run's metrics that are part of its row.
PREFIX = "network_"
# A longer way there looks like a queue; a flow that is told so by the next round trips has not taken harm.
ROUTE_ALARM_S = 2.0
# How a recovery is found: use of the link over so long, at steps of so much.
RECOVERED_OVER_S = 0.5
RECOVERED_STEP_S = 0.05
RECOVERED = 0.9
# After a change that is judged within as long: the path's round trips before and after, in ms.
RECOVERY_LIMIT_S = {(40.0, 160.0): 1.5, (20.0, 200.0): 2.5}


@dataclass(frozen=True)
class Turns:
    """One event: what a flow took the bottleneck for at the end of a block of round trips."""

    time_s: float
    rounds: int
    shared: bool
    alarms: int


@dataclass(frozen=True)
class Alarms:
    """Of all flows of tcp_pktpair in a run.

    :param false: the bottleneck served in turn, and nothing looked like a queue
    :param route: the way there had become longer, and the flow's mind changed back soon
    :param rounds_within: round trips that a flow spent so, of both
    """

    rounds: int = 0
    false: int = 0
    route: int = 0
    rounds_within: int = 0


def turns(trace: str, begin_s: float) -> dict[int, list[Turns]]:
    """The events of each flow, by its port."""
    found: dict[int, list[Turns]] = {}
    if EVENT not in trace:
        return found
    for moment, fields in events(trace, EVENT):
        numbers = [int(fields[name]) for name in ("rounds", "shared", "alarms")]
        one = Turns(moment - begin_s, numbers[0], bool(numbers[1]), numbers[2])
        found.setdefault(int(fields["sport"]), []).append(one)
    return found


def alarms_of(own: list[Turns], end_s: float, served_in_turn: bool, longer_from_s: float) -> Alarms:
    """Of one flow's events, in their order.

    :param longer_from_s: the way there is longer from then on
    """
    if not own:
        return Alarms()
    rounds = own[-1].rounds
    if not served_in_turn:
        return Alarms(rounds)
    route = within = 0
    begin: Turns | None = None
    for one in own:
        if one.shared and begin is None:
            begin = one
        elif not one.shared and begin is not None:
            within += one.rounds - begin.rounds
            route += _is_of_route(begin, one.time_s, longer_from_s)
            begin = None
    if begin is not None:
        within += rounds - begin.rounds
        route += _is_of_route(begin, end_s, longer_from_s)
    return Alarms(rounds, own[-1].alarms - route, route, within)


def _is_of_route(begin: Turns, ended_s: float, longer_from_s: float) -> bool:
    return begin.time_s >= longer_from_s and ended_s - begin.time_s <= ROUTE_ALARM_S


def serves_in_turn(plan: Plan) -> bool:
    """Whether every queue that the own flow's data pass serves flows in turn."""
    path = lay_out(plan.topology).path(plan.flows[0].source, plan.flows[0].sink)
    return all(takes_turns(device.leaving) for device in path if device.leaving.rate_bit_s)


def alarms(case: Case, plan: Plan, raw: Mapping[str, Any]) -> Alarms:
    """Of all flows of tcp_pktpair together; nothing where the module has no such event."""
    by_port = turns(raw["trace"], raw["begin_s"])
    longer_from_s = CHANGE_S if case.longer_ms and case.longer == "there" else float("inf")
    of_flows = [
        alarms_of(by_port.get(plan.port(flow), []), plan.end_s, serves_in_turn(plan), longer_from_s)
        for flow in plan.flows
        if flow.cc.startswith(PACKET_PAIR)
    ]
    names = ("rounds", "false", "route", "rounds_within")
    return Alarms(**{name: sum(getattr(one, name) for one in of_flows) for name in names})


def delays(plan: Plan, seen: Acks) -> Floats:
    """What each of the own flow's round trips took beyond the path at its time."""
    layouts = layouts_of(plan)
    paths_s = np.array([propagation_s(one, plan.flows[0]) for _, one in layouts])
    known_from_s = np.array(
        [
            begin_s + (path_s if index else 0.0)
            for index, ((begin_s, _), path_s) in enumerate(zip(layouts, paths_s, strict=True))
        ]
    )
    return seen.rtt_s - paths_s[np.maximum(np.searchsorted(known_from_s, seen.time_s, "right") - 1, 0)]


def window_s(case: Case) -> tuple[float, float]:
    """In which goodput is measured."""
    if case.kind == "start":
        return START_ROUND * case.path_ms / 1e3, case.seconds
    return (SETTLE_S if case.in_turn else case.seconds / 2), case.seconds


def use(case: Case, plan: Plan, acks: Mapping[int, Acks], begin_s: float, end_s: float) -> float:
    """Of the bottleneck between two moments."""
    found = utilisations(plan, lay_out(plan.topology), acks, begin_s, end_s)[BOTTLENECK]
    if case.kind == "policer":
        found *= (end_s - begin_s) / (end_s - begin_s + POLICER_BURST_S)
    return found


def recovery_s(case: Case, plan: Plan, acks: Mapping[int, Acks]) -> float:
    """From the change until half a second begins in which the link is used well; until the end if none does."""
    seen = [acks[plan.port(flow)] for flow in plan.flows]
    full = case.rate_mbit * 1e6 / 8 / 1500 * RECOVERED_OVER_S * RECOVERED
    for step in range(int((case.seconds - RECOVERED_OVER_S - CHANGE_S) / RECOVERED_STEP_S)):
        at_s = CHANGE_S + step * RECOVERED_STEP_S
        delivered = sum(
            one.at(one.delivered_packets, at_s + RECOVERED_OVER_S) - one.at(one.delivered_packets, at_s) for one in seen
        )
        if delivered >= full:
            return rounded(at_s - CHANGE_S)
    return rounded(case.seconds - CHANGE_S)


def metrics(case: Case, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """What ``measure`` has found, as metrics of the run."""
    return {PREFIX + name: value for name, value in measure(case, plan, raw).items()}


def of_row(of_run: Mapping[str, Any]) -> dict[str, Any]:
    """A run's part of its row, from all of the run's metrics."""
    return {name.removeprefix(PREFIX): value for name, value in of_run.items() if name.startswith(PREFIX)}


def measure(case: Case, plan: Plan, raw: Mapping[str, Any]) -> dict[str, Any]:
    """A run's part of its row; RunError if the own flow was not acknowledged when it counts."""
    acks = acks_of_flows(raw["trace"], raw["begin_s"])
    own, result = acks[plan.port(plan.flows[0])], raw["flows"][0]
    begin_s, end_s = window_s(case)
    delay_s = delays(plan, own)
    counted = (own.rtt_s > 0) & (own.time_s <= end_s)
    settled = counted & (own.time_s >= SETTLE_S)
    if not settled.any():
        raise RunError(f"nothing was acknowledged from {SETTLE_S:g} to {end_s:g} s")
    heard = alarms(case, plan, raw)
    found = {
        "goodput_mbit": rounded(own.goodput_bit_s(begin_s, end_s) / 1e6),
        "utilisation": use(case, plan, acks, SETTLE_S, end_s),
        "delay_p50_s": rounded(np.quantile(delay_s[settled], 0.5)),
        "delay_p99_s": rounded(np.quantile(delay_s[settled], 0.99)),
        "rtt_max_s": rounded(own.rtt_s[counted].max()),
        "retransmits": result["retransmits"],
        "others_retransmits": sum(one["retransmits"] for one in raw["flows"][1:]),
        "packets": result["data_packets_sent"],
        "rounds": heard.rounds,
        "false_alarms": heard.false,
        "alarm_rounds": heard.rounds_within,
        "route_alarms": heard.route,
    }
    if case.kind == "start":
        found["start_utilisation"] = use(case, plan, acks, begin_s, end_s)
    if case.longer_ms:
        limit_s = RECOVERY_LIMIT_S[case.path_ms, case.longer_ms]
        meanwhile = counted & (own.time_s >= CHANGE_S) & (own.time_s < CHANGE_S + limit_s)
        found["recovery_s"] = recovery_s(case, plan, acks)
        found["recovery_delay_p99_s"] = rounded(np.quantile(delay_s[meanwhile], 0.99)) if meanwhile.any() else 0.0
    return found
