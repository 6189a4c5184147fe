# SPDX-License-Identifier: GPL-2.0
"""Real networks: which cases there are, what is measured of a run, and by what it is judged."""

import json
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import fake_lab
import numpy as np
import pytest
from lab import cli
from lab.analyse import real_network_goals as goals
from lab.analyse import real_networks as found
from lab.front import measuring, real_networks
from lab.machines import engine
from lab.model import real_networks as cases
from lab.model.errors import PlanError, RunError
from lab.model.plan import FIRST_FLOW_PORT, Plan, Record
from lab.model.real_networks import CASES, CCS, Case
from lab.model.topology import Way
from lab.show import real_networks as shown

BEGIN_S = 100.0
PAYLOAD_BYTES = 1448

# Of each dimension: which cases have one of its values, and what the values are.
DIMENSIONS: dict[str, tuple[Any, set[Any]]] = {
    "slot": (lambda one: one.slot_ms, {1.0, 2.0, 4.0, 8.0}),
    "jitter": (lambda one: one.jitter_ms, {1.0, 3.0, 5.0}),
    "rate where ACKs are bunched": (lambda one: one.kind in ("slot", "jitter") and one.rate_mbit, {10.0, 20.0, 40.0}),
    "queue where ACKs are bunched": (
        lambda one: one.kind in ("slot", "jitter") and one.queue,
        {"fq_rr", "fq_codel", "cake"},
    ),
    "segments acknowledged at once": (lambda one: one.merged, {8, 32}),
    "part that is lost": (lambda one: one.lost, {0.01, 0.02, 0.05}),
    "rate with losses": (lambda one: one.kind == "loss" and one.rate_mbit, {10.0, 20.0, 40.0}),
    "queue with losses": (lambda one: one.kind == "loss" and one.queue != "fq_codel" and one.queue, {"fq_rr", "cake"}),
    "path with losses": (lambda one: one.kind == "loss" and one.path_ms, {40.0, 100.0}),
    "GRO timer": (lambda one: one.gro_hold_us, {1000.0}),
    "rate with merging": (lambda one: one.kind == "gro" and one.rate_mbit, {2.0, 10.0, 40.0}),
    "rate of a start": (lambda one: one.kind == "start" and one.rate_mbit, {40.0, 100.0}),
    "path": (lambda one: one.longer_ms and (one.path_ms, one.longer_ms), {(40.0, 160.0), (20.0, 200.0)}),
    "way that becomes longer": (lambda one: one.longer_ms and one.longer, {"back", "there"}),
    "rates": (lambda one: one.then_mbit, {(20.0, 5.0)}),
    "window": (lambda one: one.window_bytes, {cases.WINDOW_BYTES}),
    "bursts": (lambda one: one.bursts, {True}),
    "queue on the way back": (lambda one: bool(one.back_queue), {True}),
    "low share": (lambda one: one.kind == "rates" and one.rate_mbit / (1 + len(one.peers)) <= 2
                  and one.rate_mbit / (1 + len(one.peers)), {0.5, 2.0}),
    "BDP": (lambda one: one.kind == "fifo" and one.pipes, {1, 2, 5}),
    "rate of a FIFO": (lambda one: one.kind == "fifo" and one.rate_mbit, {5.0, 10.0, 20.0, 50.0}),
    "beside on a FIFO": (
        lambda one: one.kind == "fifo" and one.beside,
        {"none", "1 cubic", "4 cubic", "8 cubic", "1 bbr", "1 own", "3 own", "8 own"},
    ),
    "who joins on a FIFO": (lambda one: one.kind == "fifo" and one.joins, {"together", "early", "late"}),
    "flows of a bucket": (lambda one: one.kind == "bucket" and 1 + len(one.peers), {2, 3, 4, 5}),
    "rate of a policer": (lambda one: one.kind == "policer" and one.rate_mbit, {5.0, 10.0}),
    "path to a policer": (lambda one: one.kind == "policer" and one.path_ms, {20.0, 80.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", DIMENSIONS)
def test_dimensions(name: str) -> None:
    """The cases take each value of each dimension at least twice, and no other."""
    value, wanted = DIMENSIONS[name]
    counts = Counter(value(case) for case in CASES.values() if value(case))
    assert set(counts) == wanted
    assert min(counts.values()) >= 2


def test_cases() -> None:
    """There are 30 cases and more of each half, each is named after its kind, and the small ones have one of each."""
    assert len(CASES) >= 60 and sum(case.in_turn for case in CASES.values()) >= 30
    assert sum(not case.in_turn for case in CASES.values()) >= 30
    for name, case in CASES.items():
        assert name.split("-")[0] == case.kind and sum(kind in name for kind in cases.KINDS) == 1
        in_turn = case.in_turn
        assert (cases.SEEDS[case.kind], case.seconds) == (
            (1, 3.0 if case.kind == "start" else 15.0) if in_turn else (3, 20.0)
        )
    assert {CASES[name].kind for name in cases.QUICK} >= {"slot", "gro", "start", "fifo", "policer"}
    assert {case.kind for case in CASES.values()} == set(cases.KINDS)


def test_length() -> None:
    """All runs together send so many packets as two cores do in half an hour, at 0.28 ms each and 1.3 s a run."""
    runs = sum(len(CCS) * cases.SEEDS[case.kind] for case in CASES.values())
    packets = sum(
        len(CCS) * cases.SEEDS[case.kind] * case.seconds * case.mean_mbit * 1e6 / 8 / 1500 for case in CASES.values()
    )
    assert 1.3 * runs + 0.28e-3 * packets < 2 * 30 * 60


@pytest.mark.parametrize("name", CASES)
def test_plans(name: str) -> None:
    """A case's plan can be; starts are those of case and seed; the module's event is asked of its own flows alone."""
    case = CASES[name]
    plans = {cc: cases.plan(name, cc, 1) for cc in CCS}
    for plan in plans.values():
        plan.check()
        assert plan.flows[0].name == "own" and len(plan.flows) == 1 + len(case.peers) + bool(case.back_queue)
        assert plan.end_s == case.seconds
    assert len({tuple((flow.name, flow.start_s, flow.seconds) for flow in plan.flows) for plan in plans.values()}) == 1
    assert len({json.dumps(plan.structure) for plan in plans.values()}) == 1
    assert [plan.record.events_if_known != () for plan in plans.values()] == [True, False, False]
    assert "pktpair" not in json.dumps(plans["cubic"].as_data())
    again, other = cases.plan(name, "pktpair", 1), cases.plan(name, "pktpair", 2)
    assert again == plans["pktpair"]
    if case.kind != "start":
        assert other.flows[0].start_s != again.flows[0].start_s
    assert found.serves_in_turn(again) == case.in_turn


def test_all_cases_are_of_one_machine() -> None:
    """Nodes and links are the same, so that all runs are copies of one guest."""
    assert len({json.dumps(cases.plan(name, "cubic", 1).structure) for name in CASES}) == 1


def test_paths() -> None:
    """What a case says is done to the path."""
    topology = cases.plan("slot-4ms-10-fq_codel", "pktpair", 1).topology
    assert topology.way("d1-x") == Way(delay_ms=40.0, slot_ms=4.0) and topology.way("d2-x") == Way(delay_ms=40.0)
    merged = cases.plan("gro-8-10-fq_rr", "pktpair", 1)
    # eight packets of 1.2 ms arrive together: the eighth fits, and the ninth does not
    assert merged.topology.way("x-d1").slot_ms == pytest.approx(9.6) and merged.gro == ("d1",)
    most = int(merged.commands[0].argv[-1])
    assert 1500 + 7 * PAYLOAD_BYTES < most <= 1500 + 8 * PAYLOAD_BYTES
    # behind the bottleneck: the link carries what is lost
    lossy = cases.plan("loss-2pc-20-fq_codel", "pktpair", 1).topology
    assert lossy.way("x-d1") == Way(loss=0.02) and not lossy.way("x-d2").loss
    there = cases.plan("route-20-200-there", "pktpair", 1)
    assert [there.topology.way(device).delay_ms for device in ("d1-x", "x-d1")] == [10.0, 10.0]
    assert [(one.at_s, one.device, one.values) for one in there.changes] == [(6.0, "x-d1", {"delay_ms": 190.0})]
    fifo = cases.plan("fifo-5bdp-5-4cubic-late", "pktpair", 1)
    assert fifo.topology.way("r-x").limit_packets == round(5 * 5e6 / 8 * 0.04 / 1500)
    assert fifo.flows[0].start_s >= 5 > max(flow.start_s for flow in fifo.flows[1:])
    assert {flow.cc for flow in fifo.flows[1:]} == {"cubic"}
    early = cases.plan("fifo-5bdp-5-1own-early", "bbr", 1)
    assert early.flows[0].start_s < 5 <= early.flows[1].start_s and early.flows[1].cc == "bbr"
    # 20 ms of 5 Mbit/s as the policer counts, with Ethernet headers
    assert cases.plan("policer-5-20ms", "cubic", 1).topology.way("r-x").options == "burst 12617"
    rates = cases.plan("rates-10-20-5-fq_rr", "cubic", 1)
    assert [(one.at_s, one.values) for one in rates.changes] == [
        (5.0, {"rate_bit_s": 20_000_000}),
        (10.0, {"rate_bit_s": 5_000_000}),
    ]


def ack(time_s: float, rtt_s: float, packets: int, index: int = 0) -> str:
    return (
        f" <idle>-0 [000] ..s2. {BEGIN_S + time_s:.6f}: ack: (tcp_rate_gen+0x0/0x170) sport={FIRST_FLOW_PORT + index}"
        f" rtt_us={round(rtt_s * 1e6)} acked={packets * PAYLOAD_BYTES + 1} delivered={packets} retrans=0 cwnd=10"
    )


def event(time_s: float, rounds: int, shared: int, alarms: int, index: int = 0) -> str:
    return (
        f" <idle>-0 [000] ..s2. {BEGIN_S + time_s:.6f}: pktpair_turns: family=inet sport={FIRST_FLOW_PORT + index}"
        f" dport=1 rounds={rounds} shared={shared} served_q8=256 waited_us=5000 score_q4=-3 alarms={alarms} netns=1"
    )


def sending(plan: Plan, part: float, *, index: int = 0, until_s: float = 0.0, every: int = 1) -> list[str]:
    """ACKs, each for so many packets, of a flow that has a part of the bottleneck's rate; 5 ms are its queue."""
    rate = plan.topology.way("r-x").rate_bit_s
    path_s = sum(plan.topology.way(device).delay_ms for device in ("d1-x", "x-d1")) / 1e3
    times = np.arange(path_s, until_s or plan.end_s, every * 1500 * 8 / rate / part)
    return [ack(time, path_s + 0.005, every * (n + 1), index) for n, time in enumerate(times)]


def raw(lines: list[str], plan: Plan) -> dict[str, Any]:
    flows = [
        {
            "name": flow.name,
            "error": None,
            "cc": flow.cc,
            "began_ns": round(flow.start_s * 1e9),
            "ended_ns": round(plan.end_s * 1e9),
            "bytes_acked": 1_000_000,
            "retransmits": 3 + index,
            "data_packets_sent": 1000,
            "mss_bytes": PAYLOAD_BYTES,
            "exchanges": [[0, 10**9]],
        }
        for index, flow in enumerate(plan.flows)
    ]
    commands = [{"name": one.name, "status": 0, "error": None} for one in plan.commands]
    return {"error": None, "warnings": [], "dmesg_tail": [], "missing_events": [], "commands": commands, "qdiscs": {},
            "trace": "\n".join(lines), "begin_s": BEGIN_S, "flows": flows}  # fmt: skip


def measured(name: str, *more: list[str], cc: str = "pktpair", part: float = 1.0) -> dict[str, Any]:
    plan = cases.plan(name, cc, 1)
    lines = sending(plan, part, every=5) + [line for lines in more for line in lines]
    lines += [ack(1.0, 0.05, 1, index + 1) for index in range(len(plan.flows) - 1) if not more]
    return found.measure(CASES[name], plan, raw(lines, plan))


def test_figures_of_a_run() -> None:
    """Goodput, use of the link, delays and counts of one flow that has four fifths of it."""
    row = measured("slot-1ms-10-fq_rr", part=0.8)
    assert row["goodput_mbit"] == pytest.approx(8 * 1448 / 1500, rel=0.001)
    assert row["utilisation"] == pytest.approx(0.8, rel=0.001)
    assert (row["delay_p50_s"], row["delay_p99_s"], row["rtt_max_s"]) == (0.005, 0.005, 0.045)
    assert (row["retransmits"], row["others_retransmits"], row["packets"]) == (3, 0, 1000)
    # today's module has no such event
    assert [row[name] for name in ("rounds", "false_alarms", "alarm_rounds", "route_alarms")] == [0, 0, 0, 0]


def test_utilisation_is_of_all_flows() -> None:
    """What the others deliver counts, and their retransmissions are theirs."""
    name = "fifo-2bdp-10-1cubic-late"
    plan = cases.plan(name, "pktpair", 1)
    row = measured(name, sending(plan, 0.5, index=1), part=0.25)
    assert row["utilisation"] == pytest.approx(0.75, rel=0.002)
    assert (row["retransmits"], row["others_retransmits"]) == (3, 4)


def test_a_policers_burst_is_allowed() -> None:
    """Rate and time, and 20 ms of the rate."""
    plan = cases.plan("policer-5-20ms", "pktpair", 1)
    row = found.measure(CASES["policer-5-20ms"], plan, raw(sending(plan, 1.0), plan))
    assert row["utilisation"] == pytest.approx(18 / 18.02, rel=0.0005)


def test_goodput_of_a_fifo_is_of_the_second_half() -> None:
    """What comes after 10 s does not count where all is sent before."""
    name = "fifo-1bdp-5-alone"
    plan = cases.plan(name, "bbr", 1)
    row = found.measure(CASES[name], plan, raw(sending(plan, 1.0, until_s=15.0), plan))
    assert row["goodput_mbit"] == pytest.approx(2.5 * 1448 / 1500, rel=0.005)
    assert row["utilisation"] == pytest.approx(13 / 18, rel=0.005)


def test_a_start_is_judged_from_the_fifth_round_trip_on() -> None:
    """Of 20 ms: from 0.1 s."""
    name = "start-40-fq_rr"
    plan = cases.plan(name, "pktpair", 1)
    late = [ack(0.1 + n * 0.0003, 0.022, n + 1) for n in range(9666)]
    row = found.measure(CASES[name], plan, raw([ack(0.09, 0.02, 0), *late], plan))
    assert row["start_utilisation"] == pytest.approx(1, abs=0.001)
    assert row["goodput_mbit"] == pytest.approx(40 * 1448 / 1500, rel=0.002)


@pytest.mark.parametrize("name", ["route-40-160-back", "route-40-160-there"])
def test_a_longer_path_is_no_queue(name: str) -> None:
    """From when its first ACK can have arrived, and a round trip later, the path is as long as it has become."""
    plan = cases.plan(name, "pktpair", 1)
    before = [ack(t, 0.045, n + 1) for n, t in enumerate(np.arange(0.1, 6.05, 0.0012))]
    count = len(before)
    after = [ack(t, 0.17, count + n) for n, t in enumerate(np.arange(6.16, 15, 0.0012))]
    row = found.measure(CASES[name], plan, raw(before + after, plan))
    assert (row["delay_p50_s"], row["delay_p99_s"]) == (0.01, 0.01)
    assert row["recovery_delay_p99_s"] == 0.01
    # of the half second from 0.05 s on, 0.11 s are missing: 78 %; from 0.11 s on 90 %
    assert row["recovery_s"] == pytest.approx(0.1, abs=0.051)


def test_a_link_that_is_not_used_again() -> None:
    """It has not recovered until the run's end."""
    plan = cases.plan("route-20-200-back", "pktpair", 1)
    lines = sending(plan, 1.0, until_s=6.0) + [ack(7.0 + n, 0.21, 5000 + n) for n in range(8)]
    row = found.measure(CASES["route-20-200-back"], plan, raw(lines, plan))
    assert row["recovery_s"] == 9.0


def test_nothing_acknowledged() -> None:
    """A run whose own flow was not acknowledged when it counts has no figures."""
    plan = cases.plan("slot-1ms-10-fq_rr", "pktpair", 1)
    with pytest.raises(RunError, match="nothing was acknowledged from 2 to 15 s"):
        found.measure(CASES["slot-1ms-10-fq_rr"], plan, raw(sending(plan, 1.0, until_s=2.0), plan))


def alarms(name: str, lines: list[str]) -> list[int]:
    row = measured(name, lines)
    return [row[one] for one in ("rounds", "false_alarms", "alarm_rounds", "route_alarms")]


def test_alarms() -> None:
    """Changes of mind where turns are taken are false, with the round trips until it changes back or the run ends."""
    calm = [event(t, 25 * t, 0, 0) for t in range(1, 15)]
    assert alarms("slot-1ms-10-fq_rr", calm) == [350, 0, 0, 0]
    one = [event(3, 75, 1, 1), event(4, 100, 1, 1), event(5, 125, 0, 1), event(14, 350, 0, 1)]
    assert alarms("slot-1ms-10-fq_rr", one) == [350, 1, 50, 0]
    until_the_end = [event(3, 75, 0, 0), event(12, 300, 1, 1), event(14, 350, 1, 1)]
    assert alarms("slot-1ms-10-fq_rr", until_the_end) == [350, 1, 50, 0]
    # of a change and a change back between two events only the count is left
    assert alarms("slot-1ms-10-fq_rr", [event(3, 75, 0, 0), event(9, 225, 0, 1)]) == [225, 1, 0, 0]


def test_where_turns_are_not_taken_an_alarm_is_right() -> None:
    for name in ("fifo-1bdp-5-alone", "policer-5-20ms"):
        assert alarms(name, [event(3, 75, 1, 1), event(14, 350, 1, 1)]) == [350, 0, 0, 0]


@pytest.mark.parametrize(
    ("begin_s", "end_s", "false", "route"),
    [
        (5.9, 6.5, 1, 0),  # before the way became longer
        (6.1, 8.0, 0, 1),
        (6.0, 8.0, 0, 1),  # two seconds are allowed
        (6.1, 8.2, 1, 0),
        (13.5, None, 0, 1),  # until the run's end, which comes first
        (12.5, None, 1, 0),
    ],
)
def test_a_longer_way_there(begin_s: float, end_s: float | None, false: int, route: int) -> None:
    """What is taken back within two seconds after the way there has become longer is counted apart."""
    lines = [event(1, 25, 0, 0), event(begin_s, 150, 1, 1)]
    lines += [event(end_s, 190, 0, 1)] if end_s else [event(14.9, 190, 1, 1)]
    assert alarms("route-40-160-there", lines) == [190, false, 40, route]
    # a longer way back is no longer queue
    assert alarms("route-40-160-back", lines) == [190, 1, 40, 0]


def test_alarms_of_all_flows_of_the_module() -> None:
    """Flows beside the own one that have the same congestion control count; CUBIC's are asked nothing."""
    lines = [event(14, 300, 0, 1), event(14, 200, 0, 2, index=1), ack(1.0, 0.05, 1, 1)]
    assert alarms("slot-4ms-10-fq_codel", lines) == [500, 3, 0, 0]
    plan = cases.plan("slot-4ms-10-fq_codel", "cubic", 1)
    row = found.measure(CASES["slot-4ms-10-fq_codel"], plan, raw(sending(plan, 0.5, every=5) + lines, plan))
    assert (row["rounds"], row["false_alarms"]) == (0, 0)


@pytest.mark.parametrize(
    ("way", "turns"),
    [
        (Way(10**7, "fq_rr"), True),
        (Way(10**7, "fq_codel"), True),
        (Way(10**7, "cake"), True),
        (Way(10**7, "fq_codel", options="flows 1"), False),
        (Way(10**7, "pfifo"), False),
        (Way(10**7, "policer"), False),
        (Way(10**7), False),
    ],
)
def test_who_takes_turns(way: Way, turns: bool) -> None:
    assert cases.takes_turns(way) == turns


def test_the_event_may_be_unknown() -> None:
    """An event that a module does not have is no error where the plan can do without it, and has to be a name."""
    plan = cases.plan("slot-1ms-10-fq_rr", "pktpair", 1)
    assert plan.record == Record(events_if_known=("pktpair:pktpair_turns",))
    assert Plan.of(json.loads(json.dumps(plan.as_data()))) == plan
    with pytest.raises(PlanError, match="record: events_if_known 'turns': must be as fq_rr:fq_rr_enqueue"):
        replace(plan, record=Record(events_if_known=("turns",))).check()


GOOD = {
    "goodput_mbit": 2.0,
    "utilisation": 1.0,
    "delay_p50_s": 0.005,
    "delay_p99_s": 0.02,
    "rtt_max_s": 0.06,
    "retransmits": 10,
    "others_retransmits": 10,
    "packets": 1000,
    "rounds": 300,
    "false_alarms": 0,
    "alarm_rounds": 0,
    "route_alarms": 0,
    "start_utilisation": 1.0,
    "recovery_s": 1.0,
    "recovery_delay_p99_s": 0.01,
}


def rows_of(name: str, of_cubic: dict[str, Any] | None = None, seeds: int = 1, **ours: Any) -> list[dict[str, Any]]:
    """Rows of a case in which all is well but for what is named; a list has a value for each seed."""
    pairs = []
    for cc in CCS:
        for seed in range(seeds):
            own = {"pktpair": ours, "cubic": of_cubic or {}}.get(cc, {})
            values = {key: value[seed] if isinstance(value, list) else value for key, value in own.items()}
            pairs.append(({"case": name, "cc": cc, "seed": seed + 1}, GOOD | values))
    return goals.rows(pairs)


def missed(rows: list[dict[str, Any]]) -> list[str]:
    return [one.name for one in goals.judge(rows) if not one.met]


FIFO, ALONE = "fifo-1bdp-5-1cubic-together", "fifo-2bdp-20-alone"
DELAY, LOST, USED = "queue delay p99, s", "retransmissions", "utilisation"
LEAST, MOST = "of CUBIC's goodput, least", "of CUBIC's goodput, most"


@pytest.mark.parametrize(
    ("name", "ours", "of_cubic", "expected"),
    [
        ("slot-1ms-10-fq_rr", {}, {}, []),
        # bbr's is 20 ms
        ("slot-1ms-10-fq_rr", {"delay_p99_s": 0.03}, {}, []),
        ("jitter-5ms-10-fq_rr", {"delay_p99_s": 0.030001}, {}, [DELAY]),
        # the more of CUBIC's 10 and half a percent
        ("slot-1ms-10-fq_rr", {"retransmits": 11}, {}, [LOST]),
        ("slot-1ms-10-fq_rr", {"retransmits": 11, "packets": 2200}, {}, []),
        ("slot-1ms-10-fq_rr", {"retransmits": 11, "packets": 2199}, {}, [LOST]),
        ("jitter-5ms-10-fq_rr", {"retransmits": 20}, {"retransmits": 20}, []),
        ("slot-1ms-10-fq_rr", {"utilisation": 0.97}, {}, []),
        ("slot-1ms-10-fq_rr", {"utilisation": 0.969999}, {}, [USED]),
        ("loss-1pc-10-fq_rr", {"delay_p99_s": 0.03, "utilisation": 0.8, "retransmits": 900}, {}, []),
        ("loss-1pc-10-fq_rr", {"delay_p99_s": 0.030001, "utilisation": 0.799999}, {}, [DELAY, USED]),
        ("gro-8-10-fq_rr", {"utilisation": 0.1, "delay_p99_s": 1.0}, {}, []),
        ("gro-8-10-fq_rr", {"retransmits": 11, "packets": 100_000}, {}, [LOST]),
        ("gro-8-10-fq_rr", {"retransmits": 0}, {"retransmits": 0}, []),
        ("start-40-fq_rr", {"start_utilisation": 0.9}, {}, []),
        ("start-40-fq_rr", {"start_utilisation": 0.899999}, {}, ["utilisation from the fifth round trip on"]),
        ("route-40-160-back", {"recovery_s": 1.5}, {}, []),
        ("route-40-160-there", {"recovery_s": 1.55}, {}, ["s until 90 % of the link are used"]),
        ("route-20-200-back", {"recovery_s": 2.5}, {}, []),
        ("route-20-200-there", {"recovery_s": 2.55}, {}, ["s until 90 % of the link are used"]),
        ("route-40-160-back", {"recovery_delay_p99_s": 0.049999}, {}, []),
        ("route-40-160-back", {"recovery_delay_p99_s": 0.05}, {}, ["queue delay p99 meanwhile, s"]),
        ("rates-window-fq_rr", {"utilisation": 0.1, "retransmits": 900}, {}, []),
        (FIFO, {"goodput_mbit": 1.4}, {}, []),
        (FIFO, {"goodput_mbit": 1.399}, {}, [LEAST]),
        (FIFO, {"goodput_mbit": 2.6}, {}, []),
        (FIFO, {"goodput_mbit": 2.601}, {}, [MOST]),
        ("bucket-2-10-1own", {"goodput_mbit": 1.399}, {}, [LEAST]),
        # a seed may be far off where the mean is not
        (FIFO, {"goodput_mbit": [0.8, 2.0, 2.6]}, {}, []),
        (FIFO, {"goodput_mbit": [0.79, 2.0, 2.6]}, {}, [f"{LEAST} of a seed"]),
        (FIFO, {"goodput_mbit": [4.0, 1.5, 1.5]}, {}, []),
        (FIFO, {"goodput_mbit": [4.01, 1.5, 1.5]}, {}, [f"{MOST} of a seed"]),
        # beside what CUBIC got with the same seed
        (FIFO, {"goodput_mbit": [1.0, 2.0, 3.0]}, {"goodput_mbit": [1.0, 2.0, 3.0]}, []),
        (FIFO, {"goodput_mbit": [3.0, 2.0, 1.0]}, {"goodput_mbit": [1.0, 2.0, 3.0]},
         [f"{LEAST} of a seed", f"{MOST} of a seed"]),
        (FIFO, {"others_retransmits": 12}, {}, []),
        (FIFO, {"others_retransmits": 13}, {}, ["retransmissions of others"]),
        (FIFO, {"others_retransmits": 0}, {"others_retransmits": 0}, []),
        (FIFO, {"retransmits": 900, "utilisation": 0.1, "false_alarms": 0}, {}, []),
        (ALONE, {"goodput_mbit": 0.1, "others_retransmits": 0, "utilisation": 0.97}, {}, []),
        (ALONE, {"utilisation": 0.969}, {}, [USED]),
        # five packets are 3 ms at 20 Mbit/s, and four more 2.4
        (ALONE, {"delay_p50_s": 0.0054}, {}, []),
        (ALONE, {"delay_p50_s": 0.0055}, {}, ["queue delay p50, s"]),
        # and 12 ms at 5 Mbit/s, of which the setpoint is 5
        ("fifo-1bdp-5-alone", {"delay_p50_s": 0.0146}, {}, []),
        ("fifo-1bdp-5-alone", {"delay_p50_s": 0.0147}, {}, ["queue delay p50, s"]),
        ("policer-5-20ms", {"utilisation": 0.9, "retransmits": 29}, {}, []),
        ("policer-5-20ms", {"utilisation": 0.8999}, {}, [USED]),
        ("policer-5-20ms", {"retransmits": 30}, {}, ["lost part"]),
    ],
)  # fmt: skip
def test_goals(name: str, ours: dict[str, Any], of_cubic: dict[str, Any], expected: list[str]) -> None:
    """Each goal at its limit and beyond."""
    seeds = max([len(value) for value in (*ours.values(), *of_cubic.values()) if isinstance(value, list)], default=1)
    assert missed(rows_of(name, of_cubic, seeds, **ours)) == expected


@pytest.mark.parametrize(
    ("rounds", "false", "expected"),
    [(0, 1, []), (0, 2, ["false alarms"]), (9999, 2, ["false alarms"]), (10_000, 2, []), (10_000, 3, ["false alarms"])],
)
def test_false_alarms(rounds: int, false: int, expected: list[str]) -> None:
    """One in 5000 round trips of all cases in turn together, and one in any case."""
    rows = rows_of("slot-1ms-10-fq_rr", rounds=rounds // 2, false_alarms=false)
    rows += rows_of("rates-window-fq_rr", rounds=rounds - rounds // 2, route_alarms=9)
    # what flows on a FIFO do is no part of it
    rows += rows_of(ALONE, rounds=10**6, false_alarms=0)
    assert missed(rows) == expected


def test_goals_of_a_part() -> None:
    """Without a peer's run a case is not judged; false alarms need no peer."""
    rows = [row for row in rows_of("slot-1ms-10-fq_rr") if row["cc"] != "bbr"]
    assert [(one.case, one.name) for one in goals.judge(rows)] == [("all in turn", "false alarms")]
    assert goals.judge(rows_of(FIFO)[:1]) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slot-1ms-10-fq_rr", [("network_utilisation", ">=", 0.97)]),
        ("start-40-fq_rr", [("network_start_utilisation", ">=", 0.9)]),
        ("policer-5-20ms", [("network_utilisation", ">=", 0.9)]),
        ("loss-5pc-20-fq_rr", [("network_utilisation", ">=", 0.8)]),
        (ALONE, [("network_utilisation", ">=", 0.97)]),
        (FIFO, []),
        ("gro-8-10-fq_rr", []),
    ],
)
def test_checks_of_one_run(name: str, expected: list[tuple[str, str, float]]) -> None:
    """Of a run of pktpair is asked what needs no other run; of a peer's nothing."""
    assert [(one.quantity, one.op, one.expected) for one in goals.checks(CASES[name], "pktpair")] == expected
    assert goals.checks(CASES[name], "cubic") == []


def test_what_is_fair() -> None:
    """Of a FIFO CUBIC's goodput with the same seed; elsewhere the payload of a flow's part of the link."""
    rows = rows_of(FIFO, {"goodput_mbit": [1.0, 2.0, 3.0]}, 3)
    assert [row["fair_mbit"] for row in rows] == [1.0, 2.0, 3.0] * 3
    assert rows_of("slot-4ms-10-fq_codel")[0]["fair_mbit"] == pytest.approx(5 * 1448 / 1500, abs=1e-6)
    assert rows_of("rates-10-20-5-fq_rr")[0]["fair_mbit"] == pytest.approx(35 / 3 * 1448 / 1500, abs=1e-6)
    assert goals.rows([({"case": FIFO, "cc": "pktpair", "seed": 1}, GOOD)])[0]["fair_mbit"] is None


class Networks(fake_lab.FakeEngine):
    """Guests in which the own flow has the link at 5 ms of queue, and the others have an ACK each."""

    def run(self, run: Any) -> dict[str, Any]:
        self.titles.append(run.title)
        lines = sending(run.plan, 1.0, every=20)
        lines += [ack(time_s, 0.05, n, index) for index in range(1, len(run.plan.flows))
                  for n, time_s in enumerate((1.0, run.plan.end_s - 0.5))]  # fmt: skip
        return {**raw(lines, run.plan), "cpu_s": 1.25}


@pytest.fixture(autouse=True)
def no_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Much of a campaign's time goes into its page: two tests have it as it is."""
    if request.function not in (test_summary, test_a_missed_goal):
        monkeypatch.setattr(shown, "page", lambda *_: "")


WORDS = ("--case", "slot-1ms-10-fq_rr", "--case", FIFO)


def campaign(engine: Networks, out: Path, *words: str) -> tuple[int, dict[str, Any]]:
    arguments = cli.parse(["real-networks", *(words or WORDS), "--out", str(out), "-j", "1"])
    status = real_networks.run(arguments, engine)
    return status, json.loads((out / "summary.json").read_text())


def test_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """summary.json has its fields by name; each case is run for three congestion controls and its seeds."""
    engine = Networks(tmp_path / "engine")
    status, summary = campaign(engine, tmp_path / "out")
    assert status == 0
    wanted = ("commit", "kernel", "modules", "clock", "scenario", "study", "cpu_seconds", "parameters", "goals", "rows")
    assert tuple(summary) == wanted
    assert summary["kernel"] == "6.1-default" and set(summary["modules"]) == {"tcp_pktpair", "sch_fq_rr"}
    assert len(engine.titles) == len(summary["rows"]) == 3 + 9 and summary["cpu_seconds"] == 15.0
    assert [tuple(row) for row in summary["rows"]] == [(*goals.FIELDS, "run")] * 12
    assert [(row["case"], row["cc"], row["seed"]) for row in summary["rows"]] == [
        *(("slot-1ms-10-fq_rr", cc, 1) for cc in CCS),
        *((FIFO, cc, seed) for cc in CCS for seed in (1, 2, 3)),
    ]
    assert (summary["rows"][-1]["peers"], summary["rows"][-1]["qdisc"]) == ("1 cubic", "pfifo, 1 BDP")
    assert {field.name for field in fields(Case)} == set(summary["parameters"][FIFO])
    assert set(summary["goals"][0]) == {"case", "name", "op", "limit", "measured", "met"}
    assert [goal["case"] for goal in summary["goals"]] == ["slot-1ms-10-fq_rr"] * 3 + [FIFO] * 5 + ["all in turn"]
    assert "9 of 9 goals are met" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 2 and "://" not in page
    for digest in (row["run"] for row in summary["rows"]):
        assert list((tmp_path / "out" / "study" / "raw").glob(f"{digest}*"))


def test_a_missed_goal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 1, and what was missed is said, with its limit, and drawn over time."""
    engine = Networks(tmp_path / "engine")
    engine.run = lambda run: raw(sending(run.plan, 0.6, every=5), run.plan)  # type: ignore[method-assign]
    status, summary = campaign(engine, tmp_path / "out", "--case", "slot-1ms-10-fq_rr")
    assert status == 1 and [goal["name"] for goal in summary["goals"] if not goal["met"]] == [USED]
    assert "MISSED  slot-1ms-10-fq_rr: utilisation >= 0.97: measured 0." in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 1 + 2


def test_quick(tmp_path: Path) -> None:
    """A handful of cases, or those that are named, with one seed."""
    engine = Networks(tmp_path / "engine")
    campaign(engine, tmp_path / "quick", "--quick")
    assert len(engine.titles) == 3 * len(cases.QUICK)
    engine.titles.clear()
    campaign(engine, tmp_path / "quick", "--quick", "--case", ALONE)
    assert len(engine.titles) == 3 and all("seed 1" in title for title in engine.titles)


def test_what_is_kept(tmp_path: Path) -> None:
    """A second campaign runs nothing; a changed module runs again what uses it; --fresh all."""
    engine, words = Networks(tmp_path / "engine"), (*WORDS, "--quick")
    campaign(engine, tmp_path / "out", *words)
    engine.titles.clear()
    campaign(engine, tmp_path / "out", *words)
    assert not engine.titles
    (engine.folder / "tcp_pktpair.ko").write_text("faster")
    campaign(engine, tmp_path / "out", *words)
    assert len(engine.titles) == 2 and all("pktpair+" in title for title in engine.titles)
    engine.titles.clear()
    campaign(engine, tmp_path / "out", *words, "--fresh")
    assert len(engine.titles) == 6


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Each case in a line, without a guest."""
    assert cli.main(["real-networks", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CASES)
    assert all(len(name) < shown.NAME for name in CASES)
    for text in ("ACKs in slots of 8 ms", "then 200 ms, by the way there", "5 BDP", "a GRO timer of 1 ms"):
        assert any(text in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--case slot", f"--case slot: must be one of the {len(CASES)} cases that --list shows"),
        ("--case policer-5-20", "that --list shows (near: policer-5-20ms"),
        ("--case slot --list", "--case slot: must be one of"),
        ("--kernel 5.4", "kernel 5.4 is not unpacked"),
        ("-j 0", "argument -j: 0: must be at least 1"),
        ("-j 257", "argument -j: 257: must be at most 256"),
        ("-j two", "argument -j: two: must be a whole number"),
    ],
)
def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    """It ends with status 2, and says what value it was and what it must be, before anything is booted."""

    def surroundings(self: Any, kernel: str, modules: str) -> None:
        raise measuring.EngineError(f"kernel {kernel} is not unpacked")

    monkeypatch.setattr(engine.Guests, "surroundings", surroundings)
    # whoever runs the tests has signals of their own
    monkeypatch.setattr(measuring, "leave_no_guest", lambda: None)
    try:
        status = cli.main(["real-networks", *words.split(), "--out", str(tmp_path / "out")])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
