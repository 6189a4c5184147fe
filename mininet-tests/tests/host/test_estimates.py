# SPDX-License-Identifier: GPL-2.0
"""What scenarios find in trace events: estimates against the queue, gaps, shares, propagation delays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lab.analyse import estimates
from lab.model import scenario

PORT = 10001


def sample(time_s: float, verdict: str = "sample", port: int = PORT, **more: Any) -> str:
    """A train that came back."""
    words = {
        **{"gap_ns": 4000, "covered_segments": 4, "train": 4, "mss": 1448, "snd_nxt": 0, "service_ns": 1000},
        **{"backlog_q8": 0, "backlog_paper_q8": 0, "propagation_us": 44_000, "setpoint_q8": 2048},
        **more,
    }
    text = " ".join(f"{name}={value}" for name, value in words.items())
    return f" x-1 [000] ..s2. {time_s:.6f}: pktpair_sample: sport={port} verdict={verdict} {text}"


def packet(time_s: float, end_seq: int, found: int, port: int = PORT) -> str:
    """A packet that comes to fq_rr."""
    return f" x-1 [000] ..s2. {time_s:.6f}: fq_rr_enqueue: sport={port} flow_packets={found} end_seq={end_seq}"


def trace(*lines: str) -> str:
    return "\n".join(lines)


def test_an_estimate_is_held_against_what_its_newest_packet_found() -> None:
    """The error is the estimate less the backlog that the packet ending at snd_nxt met, with its sign."""
    seen = estimates.trains(
        trace(
            sample(1.0, snd_nxt=100, backlog_q8=5 * 256, backlog_paper_q8=1 * 256),
            packet(1.1, end_seq=100, found=3),
            sample(1.2, snd_nxt=200, backlog_q8=2 * 256, backlog_paper_q8=256),
            packet(1.3, end_seq=200, found=4),
        ),
        *(PORT, 0.0, 2.0),
    )
    assert seen.error_packets.tolist() == [2.0, -2.0]
    assert seen.error_paper_packets.tolist() == [-2.0, -3.0]


def test_the_first_of_equal_packets_is_the_newest() -> None:
    """A retransmission that ends at the same number is not the packet that the estimate was about."""
    lines = trace(packet(1.1, end_seq=100, found=3), packet(1.5, end_seq=100, found=9))
    assert estimates.backlog_met(lines, PORT) == {100: 3}


def test_an_estimate_without_its_packet_counts_as_a_train_only() -> None:
    """Where nothing newer came to the queue, or there is no estimate yet, there is no error, but there is a train."""
    seen = estimates.trains(
        trace(sample(1.0, snd_nxt=100), sample(1.1, snd_nxt=200, service_ns=0), packet(1.2, end_seq=200, found=3)),
        *(PORT, 0.0, 2.0),
    )
    assert seen.verdicts == {"sample": 2} and len(seen.lengths) == 2
    assert len(seen.error_packets) == len(seen.service_ns) == 0
    assert estimates.queue_figures(seen) == {}


def test_other_flows_and_other_times_are_left_out() -> None:
    """Only the flow's own trains in the span count; its end is no part of it."""
    seen = estimates.trains(trace(sample(0.9), sample(1.0), sample(1.5, port=PORT + 1), sample(2.0)), *(PORT, 1.0, 2.0))
    assert seen.verdicts == {"sample": 1}


def test_a_mean_gap_weighs_trains_by_their_segments() -> None:
    """The mean gap is all time over all segments, of samples alone."""
    seen = estimates.trains(
        trace(
            sample(1.0, gap_ns=4000, covered_segments=4),
            sample(1.1, gap_ns=500, covered_segments=1),
            sample(1.2, "held", gap_ns=10**9, covered_segments=1),
        ),
        *(PORT, 0.0, 2.0),
    )
    assert seen.gap_ns == 900
    assert seen.sampled == pytest.approx(2 / 3)
    found = estimates.service_figures(seen, 1000)
    assert found["trains"] == {"sample": 2, "held": 1}
    assert (found["gap_error"], found["trains_sampled"], found["train_segments"]) == (-0.1, 0.6667, 4)


def test_without_a_sample_there_is_no_gap_error() -> None:
    """Figures of trains that gave nothing say so; none is zero by chance."""
    seen = estimates.trains(trace(sample(1.0, "one-ack", service_ns=0)), PORT, 0.0, 2.0)
    found = estimates.service_figures(seen, 1000)
    assert (found["gap_error"], found["service_error"], found["trains_sampled"]) == (None, None, 0)


def test_error_figures() -> None:
    """Median and 95th percentile are of sizes, the mean has its sign."""
    found = estimates.error_figures(np.array([-4.0, 1.0, 0.0]), "error")
    assert found["error_median_packets"] == 1
    assert found["error_p95_packets"] == pytest.approx(3.7)
    assert found["error_mean_packets"] == -1


def planned(name: str, **chosen: Any) -> tuple[Any, dict[str, Any], Any]:
    """A scenario's file, values and plan."""
    one = scenario.load(name)
    values = {**{key: each.default for key, each in one.parameters.items()}, **chosen}
    return one.module, values, one.plan(values, *one.combinations[0], 1)


def test_a_mean_gap_in_packet_times() -> None:
    """Full packets of the window alone make the mean gap among n flows."""
    module, values, plan = planned("pair-gap-is-n-packet-times", flows=2, samples=1000)
    inside_s = plan.window_s[0] + 1
    # a packet takes 1.2 ms, two flows take turns
    lines = trace(
        sample(inside_s, gap_ns=9_600_000, covered_segments=4),
        sample(inside_s, gap_ns=1, covered_segments=4, mss=500),
        sample(inside_s - 2, gap_ns=1, covered_segments=4),
        sample(inside_s, "one-ack", gap_ns=1),
    )
    found = module.measure(values, plan, {"trace": lines, "begin_s": 0.0})
    assert (found["samples"], found["trains"]) == (1, {"sample": 2, "one-ack": 1})
    assert (found["mean_gap_packet_times"], found["mean_gap_over_n"]) == (2, 1)


@pytest.mark.parametrize(("mine", "other", "ideal_us"), [(1500, 150, 35_848.8), (150, 1500, 849.9)])
def test_a_gap_among_other_packets_is_a_turn_of_bytes(mine: int, other: int, ideal_us: float) -> None:
    """Between two of a flow's packets every other flow sends as many bytes, Ethernet headers included."""
    module, values, plan = planned("mixed-packet-sizes", packet=mine, other_packet=other)
    gap_ns = round(ideal_us * 1e3)
    lines = sample(plan.window_s[0] + 1, gap_ns=4 * gap_ns, covered_segments=4)
    found = module.measure(values, plan, {"trace": lines, "begin_s": 0.0})
    mine_us, other_us = mine * 8 / 6, other * 8 / 6
    assert found["ideal_us"] == pytest.approx(mine_us + 3 * (mine + 14) / (other + 14) * other_us, abs=0.1)
    assert found["gap_error"] == pytest.approx(gap_ns / found["ideal_us"] / 1e3 - 1, abs=1e-3)


def propagation(case: str, estimate_ms: list[tuple[float, float]], dips: tuple[float, ...] = ()) -> dict[str, Any]:
    module, values, plan = planned("propagation-delay-is-honest", case=case)
    lines = [
        sample(time_s, propagation_us=round(ms * 1e3), setpoint_q8=-1 if time_s in dips else 2048)
        for time_s, ms in estimate_ms
    ]
    return module.measure(values, plan, {"trace": trace(*lines), "begin_s": 0.0})


def test_an_estimate_follows_when_it_was_last_wrong() -> None:
    """The time to follow is that of the last estimate which is not the new path's, 1.5 ms a packet."""
    found = propagation("longer-route", [(3.0, 20.0), (5.0, 20.0), (9.0, 66.0), (10.0, 61.5), (23.0, 61.5)])
    assert found["followed_after_s"] == 5
    assert (found["final_ms"], found["final_above_packets"], found["highest_above_packets"]) == (61.5, 1, 4)


def test_an_estimate_below_the_path_is_wrong() -> None:
    """An estimate that is too small is no more honest than one that is too large."""
    found = propagation("standing-queue", [(3.0, 44.0), (12.0, 43.5), (23.0, 44.0)], dips=(3.0, 23.0))
    assert found["followed_after_s"] == 8
    assert (found["dips"], found["dipping"]) == (1, pytest.approx(2 / 3, abs=1e-4))


@pytest.mark.parametrize(("load", "count", "share"), [(0.5, 1, 0.25), (1.0, 1, 0.25), (5.0, 7, 0.1), (0.5, 7, 0.5 / 3)])
def test_a_fair_share_is_max_min(load: float, count: int, share: float) -> None:
    """A source that asks for less than an equal share leaves the rest to the flows."""
    module, _, _ = planned("pktpair-keeps-its-share")
    assert module.fair_share(load, count) == pytest.approx(share)


def test_pacing_gaps() -> None:
    """From a trace: gaps while packets wait, the mean backlog in each, and the integral of the rule."""
    module, _, _ = planned("pacing-follows-the-backlog")
    lines = trace(
        *(
            f" x-1 [000] ..... {moment:.6f}: fq_rr_{event}: sport=1 qlen={qlen}"
            for moment, event, qlen in (
                (1.0, "enqueue", 0),
                (1.0, "dequeue", 0),
                (1.001, "enqueue", 0),
                (1.003, "dequeue", 0),  # nothing waited when the gap began: not one of ours
                (1.003, "enqueue", 0),
                (1.003, "enqueue", 1),
                (1.004, "dequeue", 1),
                (1.005, "enqueue", 1),
                (1.006, "dequeue", 1),
            )
        )
    )
    (gap,) = module.gaps({"trace": lines})
    assert gap.lasts_s == pytest.approx(0.002)
    assert gap.mean_packets == pytest.approx(1.5)
    # 1 ms with one packet waiting, 1 ms with two: 2.8 and 3.6 Mbit/s
    assert gap.rule_bits == pytest.approx(2800 + 3600)
    assert not gap.crosses


@pytest.mark.parametrize(
    ("case", "flows", "gap", "service", "sampled"),
    [
        ("delayed", 1, 0.01, 0.01, 0.9),
        ("per-packet", 4, 0.01, 0.01, 0.5),
        ("reverse", 4, 0.11, 0.11, 0.9),
        ("gro", 1, 0.04, 0.05, 0.4),
        ("sack", 4, 0.04, 0.05, 0.25),
        ("stretch-32", 1, None, 0.01, None),
    ],
)
def test_what_is_promised_of_a_receiver(
    case: str, flows: int, gap: float | None, service: float, sampled: float | None
) -> None:
    """Bounds are the claim's, by how ACKs come; where no train need give a sample only the service time has one."""
    module, values, _ = planned("pair-sensing-by-receiver", case=case, flows=flows)
    bounds = {check.quantity: check.expected for check in module.checks(values, "pktpair", "fq_rr")}
    assert bounds["service_error"] == [-service, service]
    assert bounds.get("gap_error") == (None if gap is None else [-gap, gap])
    assert bounds.get("trains_sampled") == sampled
    assert bounds.get("samples_a_round_trip") == (None if sampled is None else 1)
    assert "1 %; 4 and 5 % with bunched ACKs or losses, 11 %" in module.CLAIM


def test_samples_a_round_trip() -> None:
    """Two samples in two seconds of 44 ms each are 0.04 in a round trip."""
    module, values, plan = planned("pair-sensing-by-receiver", case="sack")
    inside_s = plan.flows[0].start_s + module.SETTLE_S + 0.5
    lines = trace(sample(inside_s), sample(inside_s, "retransmitted"), sample(inside_s + 1))
    found = module.measure(values, plan, {"trace": lines, "begin_s": 0.0})
    assert (found["samples_a_round_trip"], found["bites"]) == (0.04, 1)


def test_a_case_changes_its_own_path_alone() -> None:
    """What a receiver's case does, it does to the measured flow's path; what is thinned late ends before the flow."""
    module, values, plan = planned("pair-sensing-by-receiver", case="sack", flows=4)
    assert [(change.device, dict(change.values)) for change in plan.changes] == [
        ("x-d1", {"lose_every": 50}),
        ("x-d1", {"lose_every": 0}),
    ]
    first = plan.flows[0]
    assert first.start_s < plan.changes[0].at_s < plan.changes[1].at_s < first.start_s + first.seconds
    assert {flow.source for flow in plan.flows[1:]} == {"s2"}
    reverse = planned("pair-sensing-by-receiver", case="reverse")[2]
    assert reverse.topology.way("x-r").queue == "bfifo" and plan.topology.way("x-r").queue == ""
    assert [flow.background for flow in reverse.flows] == [False, True]
    quick = replace(module.CASES["stretch-8"], late={})
    assert quick.quickack and planned("pair-sensing-by-receiver", case="stretch-8")[2].routes == {"d1": "quickack 1"}
    assert values["case"] == "sack"
