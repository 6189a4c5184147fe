# SPDX-License-Identifier: GPL-2.0
"""lab overload: the paper's arithmetic, what its sources draw, and what is made of a run's samples."""

import base64
import itertools
import math
import zlib

import numpy as np
import pytest
from lab.analyse.figures import SAMPLE
from lab.model import overload, papers, scenario
from lab.model.errors import PlanError
from lab.model.overload import Mean

PAPER = papers.load("overload-1995")
BY_ID = {one.id: one for one in PAPER.entries}
SCENARIO = scenario.load("overload")


def values(**more):
    (one,) = SCENARIO.values({name: [value] for name, value in more.items()})
    return one


def test_round_trip():
    """Eq (3) and the window."""
    published = BY_ID["ovl-eq3"].published
    assert overload.round_trip_s() == pytest.approx(published["T_RT_s"], abs=1e-6)
    assert overload.window_packets() == pytest.approx(published["window_pkt"], abs=0.01)


def test_mean_message():
    """Eqs (4) and (5), and what is drawn."""
    assert overload.mean_on_s() == 2 * overload.round_trip_s()
    assert overload.mean_message_packets() == pytest.approx(202.4, abs=0.05)
    packets = [
        one.response_bytes / 448 for source in range(1, 11) for one in overload.messages(0.5, 300.0, 1, source, 448)[1]
    ]
    assert sum(packets) / len(packets) == pytest.approx(202.4, rel=0.05)
    assert all(one == int(one) and one >= 1 for one in packets)
    # geometric: so large a part is above its mean
    assert sum(one > 202.4 for one in packets) / len(packets) == pytest.approx(math.exp(-1), abs=0.02)


@pytest.mark.parametrize(("load", "off_s"), BY_ID["ovl-eq6-7"].derived["T_OFF_s_for_r1"].items())
def test_load(load, off_s):
    """Eq (6), and its limit (7)."""
    assert overload.mean_off_s(float(load)) == pytest.approx(off_s, rel=1e-3)
    assert overload.load_of(overload.mean_on_s(), overload.mean_off_s(float(load))) == pytest.approx(float(load))


def test_no_load_beyond_the_limit():
    assert 2 / 3 == pytest.approx(BY_ID["ovl-eq6-7"].derived["r1_max"], abs=1e-4)
    for load in (0.0, 2 / 3, 1.0, -0.1):
        with pytest.raises(PlanError, match="load .* of a source: must be above 0 and below 0.6667"):
            overload.mean_off_s(load)


@pytest.mark.parametrize("load", [0.05, 0.5])
def test_what_is_drawn_has_its_load(load):
    start_s, drawn = overload.messages(load, 50_000.0, 1, 1, 448)
    on_s = sum(one.response_bytes / 448 for one in drawn) * overload.packet_s()
    off_s = sum(one.think_s for one in drawn)
    assert on_s / (on_s + off_s + len(drawn) * overload.round_trip_s()) == pytest.approx(load, rel=0.05)
    assert start_s >= 0 and (start_s, drawn) == overload.messages(load, 50_000.0, 1, 1, 448)
    assert drawn[:9] not in [overload.messages(load, 50.0, *other, 448)[1][:9] for other in ((2, 1), (1, 2))]


def test_bars():
    """Eqs (8) and (9)."""
    found = Mean.of([1.0, 2.0, 3.0, 6.0])
    assert (found.mean, found.n) == (3.0, 4)
    assert found.bar == pytest.approx(1.96 * math.sqrt((4 + 1 + 0 + 9) / 12))
    assert overload.INTERVALS == 20


@pytest.mark.parametrize("row", BY_ID["ovl-tab1"].published["rows"])
def test_table_1(row):
    bits, cells = overload.window_of(row["rate_bit_s"])
    assert bits == pytest.approx(row["window_bits"], rel=1e-3)
    assert cells == pytest.approx(row["window_cells"], rel=2e-3), "the paper rounds"


def test_least_buffer():
    assert overload.least_buffer_windows() == pytest.approx(0.2, abs=0.005)
    assert [overload.buffer_packets(one) for one in (1.0, 0.5, 0.25)] == [101, 51, 25]


def test_plan():
    """Who sends how, what the queue drops, and what the routes say."""
    plan = SCENARIO.plan(values(uncontrolled=1, drop="longest", rto_min=75), "pktpair_1994", "fq_rr", 1)
    plan.check()
    assert [flow.cc for flow in plan.flows] == ["pktpair_1994"] * 9 + ["fixed_window"]
    way = plan.topology.way("r-x")
    assert (way.rate_bit_s, way.limit_packets, way.options) == (8_095_200, 51, "drop longest-queue no-aqm")
    assert plan.routes == {"s1": "rto_min 75ms", "d1": "quickack 1"}
    assert all(flow.packet_bytes == 500 and flow.write_bytes == 448 for flow in plan.flows)
    assert plan.module_parameters == {"tcp_fixed_window": {"window": "65536"}}
    peers = SCENARIO.plan(values(), "cubic", "fq_rr", 1)
    assert (peers.routes, peers.module_parameters) == ({}, {})


def test_measure():
    """Two controlled sources with a quarter of the link each, an uncontrolled one with an eighth."""
    asked = values(sources=3, uncontrolled=1, load=1.0, interval=1.0, settle=1.0)
    plan = SCENARIO.plan(asked, "pktpair", "fq_rr", 1)
    packets_s = 8_095_200 / 8 / 500
    samples = np.zeros(3 * 22, SAMPLE)
    for place, (second, flow) in enumerate(itertools.product(range(22), range(3))):
        acked = second * packets_s * (0.125 if flow == 2 else 0.25) * 448
        samples[place]["flow"], samples[place]["time_ns"] = flow, second * 10**9
        samples[place]["bytes_acked"], samples[place]["srtt_us"] = round(acked), 50_000
    packed = base64.b64encode(zlib.compress(samples.tobytes())).decode()
    raw = {"samples": packed, "flows": [{"retransmits": 1, "data_packets_sent": 10}] * 3}
    found = SCENARIO.measure(asked, plan, raw)
    assert found["goodput"] == pytest.approx(0.625, abs=1e-4) and found["goodput_bar"] == pytest.approx(0, abs=1e-4)
    assert found["controlled_source"] == pytest.approx(0.25, abs=1e-4)
    assert found["uncontrolled_source"] == pytest.approx(0.125, abs=1e-4)
    assert (found["retransmitted_part"], found["round_trip_s"], found["intervals"]) == (0.1, 0.05, 20)
