# SPDX-License-Identifier: GPL-2.0
"""lab overload: the paper's arithmetic, what its sources draw, and what is made of a run's samples."""

import base64
import dataclasses
import itertools
import json
import math
import zlib
from pathlib import Path

import numpy as np
import pytest
from lab.analyse import overload as found
from lab.analyse.figures import SAMPLE
from lab.analyse.overload import JUDGES, Found
from lab.front import overload as front
from lab.model import overload, papers, scenario
from lab.model.errors import PlanError
from lab.model.overload import Mean
from lab.show import overload as show

PAPER = papers.load("overload-1995")
BY_ID = {one.id: one for one in PAPER.entries}
SCENARIO = scenario.load("overload")
# What lab reproduce kept of the points of 229 runs, each with five digits.
RECORDED = Path(__file__).with_name("recorded-overload.json")
# Checks that no run decides.
ARITHMETIC = {("ovl-eq4-5", 0), ("ovl-tab1", 0), ("ovl-c3-min-buffer", 0)}


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
    assert BY_ID["ovl-eq6-7"].derived["r1_max"] == pytest.approx(2 / 3, abs=1e-4)
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
    of_four = Mean.of([1.0, 2.0, 3.0, 6.0])
    assert (of_four.mean, of_four.n) == (3.0, 4)
    assert of_four.bar == pytest.approx(1.96 * math.sqrt((4 + 1 + 0 + 9) / 12))
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
    told = SCENARIO.measure(asked, plan, raw)
    assert told["goodput"] == pytest.approx(0.625, abs=1e-4) and told["goodput_bar"] == pytest.approx(0, abs=1e-4)
    assert told["controlled_source"] == pytest.approx(0.25, abs=1e-4)
    assert told["uncontrolled_source"] == pytest.approx(0.125, abs=1e-4)
    assert (told["retransmitted_part"], told["round_trip_s"], told["intervals"]) == (0.1, 0.05, 20)


def point(goodput, controlled=0.09, uncontrolled=0.09, bar=0.001):
    own = {"goodput": goodput, "controlled_source": controlled, "uncontrolled_source": uncontrolled}
    return {**own, **{f"{name}_bar": bar for name in own}, "intervals": 20, "round_trip_s": 0.05}


def as_published(cc=found.JUDGED):
    """Points with which the paper's statements hold."""
    points = {found.LONE: point(0.5)}
    curves = itertools.product(found.MIXES, found.DROPS, found.BUFFERS, (0.5, 5.0))
    for mix, drop, buffer, load in curves:
        who = found.UNCONTROLLED if mix == found.ALL else cc
        # a little more with a larger buffer, and a single source has more with a smaller one
        more = 0.01 * buffer
        best = {"last": 0.91, "longest": 0.82}[drop] if mix == found.NONE else 0.5
        shares = {
            (found.ONE, "last"): (0.1, 0.08),
            (found.ONE, "longest"): (0.1, 0.02),
            (found.NINE, "last"): (0.15 - more, 0.05),
            (found.NINE, "longest"): (0.2 - more, 0.04),
        }
        value = (best if load > 1 else min(best, 0.5)) + more
        # beside others than the judged one stands what the stack makes of sources without control
        stack = mix == found.ALL and cc != found.JUDGED
        one = found.Cell(who, mix, drop, buffer, load, stack=stack)
        points[one] = point(value, *shares.get((mix, drop), (0.09, 0.09)))
    return points


def as_opposite():
    """Points with which none of them holds."""
    points = {found.LONE: {**point(0.4), "round_trip_s": 0.06}}
    for cell in as_published():
        if cell is not found.LONE and cell.sources == 10:
            # collapsed, least with the largest buffer; who should have more has less
            value = {0.5: 0.99, 5.0: 0.25}[cell.load] - 0.2 * cell.buffer
            value += {"last": 0.0, "longest": 0.03}[cell.drop] * (cell.uncontrolled == 0)
            value += 0.5 * (cell.uncontrolled == 10 and cell.load == 5.0)
            shares = (0.02 + 0.01 * cell.buffer, 0.3 if cell.drop == "longest" else 0.2)
            points[cell] = {**point(value, *shares), "intervals": 21}
    return points


def rows_of(points):
    return found.rows(points, [1], {"length_s": 8.1}, {"length_s": 122.1}, {"ovl-fig2a 0": "a reason"})


def test_every_check_has_a_row():
    rows = rows_of({})
    assert [(row["id"], row["number"]) for row in rows] == [
        (one.id, number) for one in PAPER.entries for number in range(len(one.checks))
    ]
    assert len(rows) == 45 and len({row["id"] for row in rows}) == 27
    wanted = "id check origin preset cc qdisc published measured pass seeds length_s parameters beside"
    assert all(set(wanted.split()) <= set(row) for row in rows)


def test_each_judge_is_of_a_check_and_each_check_has_one():
    assert set(JUDGES) == {(row["id"], row["number"]) for row in rows_of({})}


def test_what_was_not_measured_has_not_passed():
    for row in rows_of({}):
        if (row["id"], row["number"]) in ARITHMETIC:
            assert row["pass"] and row["length_s"] is None
        else:
            assert row["measured"] is None and row["pass"] is False and row["not_measured"]


@pytest.mark.parametrize("key", JUDGES, ids=lambda key: f"{key[0]} {key[1]}")
def test_each_judge_says_yes_and_no(key):
    assert JUDGES[key](Found(as_published())).holds is True
    # equal ones are in no order, and what is arithmetic has no opposite
    if key not in ARITHMETIC:
        assert JUDGES[key](Found(as_opposite())).holds is False


def test_rows_state_length_and_reason():
    by_key = {(row["id"], row["number"]): row for row in rows_of(as_opposite())}
    assert by_key["ovl-eq3", 0]["length_s"] == 122.1 and by_key["ovl-fig2a", 1]["length_s"] == 8.1
    assert by_key["ovl-fig2a", 0]["why"] == "a reason"
    assert "why" not in {**{(row["id"], row["number"]): row for row in rows_of(as_published())}}["ovl-fig2a", 0]


def test_the_default_stands_beside():
    """Of a row's own congestion control nothing changes."""
    both = {**as_opposite(), **as_published(found.DEFAULT)}
    both |= {cell: own for cell, own in as_opposite().items() if cell.cc == found.UNCONTROLLED}
    row = next(row for row in rows_of(both) if row["id"] == "ovl-c2-small-buffer")
    assert (row["pass"], row["beside"]["pktpair"]["pass"]) == (False, True)
    assert [goal["met"] for goal in found.goals(both)] == [False, False]
    good = {found.Cell("pktpair", 0, drop, 0.5, 5.0): point(0.95) for drop in found.DROPS}
    assert [goal["met"] for goal in found.goals(good)] == [True, True]


def with_goodput(value):
    """Points of the judged one, of its reading and of the default with the same goodput in each."""
    cells = [cell for cc in (found.JUDGED, found.DEFAULT) for cell in as_published(cc)]
    cells += [dataclasses.replace(cell, rto_min=75) for cell in as_published() if cell is not found.LONE]
    return dict.fromkeys(cells, point(value))


def test_to_be_better_is_no_failure_of_the_default():
    """More goodput than published is none, less is; the reading stays two-sided."""
    reading = f"{found.JUDGED}, rto_min 75 ms"
    for value, own, default in ((1.0, False, True), (0.9, True, True), (0.8, False, False)):
        (row,) = [one for one in rows_of(with_goodput(value)) if (one["id"], one["number"]) == ("ovl-fig2a", 0)]
        assert (row["pass"], row["beside"][reading]["pass"], row["beside"]["pktpair"]["pass"]) == (own, own, default)
    rows = {(one["id"], one["number"]): one for one in rows_of({**as_opposite(), **as_published(found.DEFAULT)})}
    assert rows["ovl-c4-discipline", 0]["beside"]["pktpair"]["pass"] is True


@pytest.mark.parametrize(
    "key",
    [
        *(("ovl-eq8-9", 0), ("ovl-c6-source-goodput-range", 0), ("ovl-c5-incentive", 2), ("ovl-c2-small-buffer", 1)),
        *((f"ovl-fig2{one}", number) for one, number in zip("abcda", (2, 1, 2, 1, 3), strict=True)),
        *(("ovl-fig3a", 1), ("ovl-fig3c", 1), ("ovl-fig4d", 0), ("ovl-fig5a", 1), ("ovl-fig5c", 1)),
    ],
)
def test_an_order_of_buffers_or_disciplines_is_not_asked_of_the_default(key):
    for points in (as_published(), as_opposite()):
        assert JUDGES[key](Found(points)).no_worse is None


def test_peers_stand_beside_where_they_were_run():
    """With half a window alone, and not where an order of buffers is asked for, nor where all are uncontrolled."""
    peers = {cell: own for cc in found.PEERS for cell, own in as_published(cc).items() if cell.buffer == 0.5}
    rows = {(row["id"], row["number"]): row["beside"] for row in rows_of({**as_published(), **peers})}
    without = {key for key, beside in rows.items() if not set(found.PEERS) <= set(beside)}
    of_buffers = {(f"ovl-fig{one}", number) for one, number in (("2a", 2), ("2b", 1), ("2c", 2), ("2d", 1))}
    of_buffers |= {(f"ovl-fig{one}", 1) for one in ("3a", "3c", "5a", "5c")}
    of_none = {("ovl-eq3", 0), ("ovl-eq6-7", 0), ("ovl-fig3b", 0), ("ovl-fig3d", 0)}
    assert without == of_buffers | of_none | ARITHMETIC
    assert list(rows["ovl-fig3b", 1]["bbr"]["measured"]) == ["B=0.5"] and rows["ovl-fig4a", 0]["cubic"]["pass"] is True
    stable = rows["ovl-c1-stability", 0]["bbr"]["measured"]
    assert len(stable) == 6 and not any(name.startswith("0+10") for name in stable)
    assert set(rows["ovl-c6-source-goodput-range", 0]["bbr"]["measured"]) == {"controlled last", "controlled longest"}


def test_who_is_judged():
    """Ten sources without control are no packet pair, and nothing stands beside them."""
    points = {**as_published(), **as_published(found.DEFAULT)}
    rows = {(row["id"], row["number"]): row for row in rows_of(points)}

    def who(key):
        return rows[key]["preset"], rows[key]["cc"], list(rows[key]["beside"])

    for key in (("ovl-fig3b", 0), ("ovl-fig3d", 0), ("ovl-eq3", 0)):
        assert who(key) == ("", "fixed_window", [])
    assert who(("ovl-fig3b", 1)) == ("1994", "pktpair_1994", ["pktpair"])
    assert all(who(key) == ("", "", []) for key in ARITHMETIC)
    assert not any(row["cc"] for row in rows_of({}))


def test_a_row_has_the_parameters_of_what_it_is_from():
    rows = {(row["id"], row["number"]): row["parameters"] for row in rows_of(as_published())}
    of_one = {"uncontrolled": 0, "drop": "last", "buffer": 0.5, "rto_min_ms": "stock", "recovery": "timers"}
    assert rows["ovl-eq8-9", 0] == {"length_s": 8.1, "curves": {"10+0 last B=0.5": {**of_one, "loads": [5.0]}}}
    assert list(rows["ovl-eq3", 0]["curves"]) == ["0+1 last B=0.5"] and rows["ovl-eq3", 0]["length_s"] == 122.1
    both = {"10+0 last B=0.5", "10+0 longest B=0.5"}
    assert set(rows["ovl-fig2a", 3]["curves"]) == set(rows["ovl-c4-discipline", 0]["curves"]) == both
    curves = rows["ovl-c1-stability", 0]["curves"]
    assert len(curves) == 24 and all(one["loads"] == [0.5, 5.0] for one in curves.values())
    assert all(rows[key] == {} for key in ARITHMETIC) and not any(row["parameters"] for row in rows_of({}))


def test_loads_that_were_run_are_stated():
    def told(extent):
        return show.loads_run([vars(cell) for cell in sorted(cells_of(extent), key=str)])

    peers = "1.5 and 5 at B = 0.5 with bbr, cubic, fixed_window (the stack's recovery)"
    usual = told(front.USUAL)
    assert "7 loads" in usual and "0.5, 1, 1.5, 2 and 5 with fixed_window and pktpair_1994" in usual and peers in usual
    whole = told(front.FULL)
    for reading in ("rto_min 75 ms", "the stack's recovery"):
        whole = whole.replace(f"fixed_window ({reading})", "")
    assert "fixed_window" not in whole, "all seven"
    assert "5 at B = 0.25 and 1 with fixed_window and pktpair_1994" in told(front.QUICK)
    assert show.loads_run([]) == ""


def cells_of(extent):
    """Of all runs that are asked for; none is planned."""
    return {
        front.cell(cc, one)
        for request in front.requests(extent, 1)
        for one in SCENARIO.values(SCENARIO.axes(request.settings))
        for cc in request.ccs
    }


def test_todays_controls_keep_the_stacks_recovery():
    """And sources of 1995 have timers, but where the stack's recovery stands beside."""
    for extent in (front.USUAL, front.FULL, front.QUICK):
        for request in front.requests(extent, 1):
            of_1995 = set(request.ccs) <= {found.JUDGED, found.UNCONTROLLED}
            said = {word.partition("=")[2] for word in request.settings if word.startswith("recovery=")}
            assert said <= {"stack", "timers"} if of_1995 else said <= {"stack"}, request
    with pytest.raises(PlanError, match="recovery=timers of pktpair: must be stack"):
        front.cell("pktpair", values(recovery="timers"))


def test_beside_todays_controls_stands_the_stack():
    """Where all sources are without control, nobody's share is compared across two recoveries."""
    for cc, stack in ((found.JUDGED, False), (found.DEFAULT, True)):
        assert found.Found({}, cc).cell(found.ALL, "last", 0.5, 5.0).stack is stack


def test_what_the_judges_need_is_run():
    points = dict.fromkeys(cells_of(front.USUAL), point(0.9))
    assert all(row["measured"] is not None for row in rows_of(points))
    assert {cell.cc for cell in points} == {"pktpair_1994", "pktpair", "bbr", "cubic", "fixed_window"}
    assert {(cell.rto_min, cell.stack) for cell in points} == {(0, False), (75, False), (0, True)}
    assert cells_of(front.QUICK) < set(points) and len(cells_of(front.QUICK)) <= 40
    quick = dict.fromkeys(cells_of(front.QUICK), point(0.9))
    assert all(row["measured"] is not None for row in rows_of(quick))
    whole = {cell for cell in cells_of(front.FULL) if cell.cc in ("pktpair_1994", "fixed_window")}
    judged = {cell for cell in whole if not cell.rto_min and not cell.stack and cell.sources == 10}
    assert len(judged) == 168, "as many runs as the paper has"


def published():
    """A campaign's summary with what is published."""
    points = {**as_published(), **as_published("pktpair"), **as_published("bbr"), **as_published("cubic")}
    return {
        **{"commit": "c", "kernel": "6.1", "clock": "virtual", "modules": {"tcp_pktpair": "1"}},
        **{"runs": {"planned": 3, "measured": 2}, "goals": found.goals(points), "rows": rows_of(points)},
        "points": [{**vars(cell), **own} for cell, own in points.items()],
        "parameters": {
            "length_s": 8.1,
            "settle_s": 2.1,
            "intervals": 20,
            "interval_s": 0.3,
            "published_length_s": 420,
            "published_interval_s": 20,
        },  # fmt: skip
    }


def test_the_page(tmp_path):
    """Each check is in it, each figure is drawn, and it needs nothing else."""
    text = show.page(json.loads(json.dumps(published())))
    assert all(entry.id in text for entry in PAPER.entries)
    assert text.count("data:image/svg+xml;base64,") == 4 and "http" not in text
    pictures = [base64.b64decode(part.split('"')[0]).decode() for part in text.split("svg+xml;base64,")[1:]]
    assert all("pktpair_1994, B = 0.25" in one and "cubic, B = 0.5" in one for one in pictures)
    assert "published, B = 0.5" in pictures[0] and "5(d)" in pictures[3]


def recorded():
    """What lab reproduce keeps and draws, and the rows, judged now."""
    kept = json.loads(RECORDED.read_text())
    of_cell = [one.name for one in dataclasses.fields(found.Cell)]
    points = {found.Cell(**{name: one.pop(name) for name in of_cell}): one for one in kept["points"]}
    data = {**kept, "points": [{**vars(cell), **own} for cell, own in points.items()]}
    return data, found.rows(points, [1], *front.parameters(front.USUAL), show.WHY)


def test_recorded_results_are_judged():
    """What the real stack gave once: a change of a judge that turns a verdict is noticed."""
    data, rows = recorded()
    assert len(data["points"]) == 245 and all(row["measured"] is not None for row in rows)
    assert (len(rows), sum(row["pass"] for row in rows)) == (45, 32)
    beside = {
        name: [row["beside"][name]["pass"] for row in rows if name in row["beside"]] for name in rows[5]["beside"]
    }
    assert {name: (one.count(True), one.count(False), one.count(None)) for name, one in beside.items()} == {
        "pktpair_1994, rto_min 75 ms": (28, 10, 0),
        "pktpair_1994, the stack's recovery": (25, 5, 0),
        "pktpair": (17, 7, 14),
        "bbr": (18, 6, 6),
        "cubic": (18, 6, 6),
    }


def test_what_is_known_is_of_checks_that_do_not_hold():
    rows = {f"{row['id']} {row['number']}": row for row in recorded()[1]}
    missed = {name for name, row in rows.items() if not row["pass"]}
    assert set(show.WHY) <= missed
    assert {name for name in missed if rows[name]["origin"] == "paper"} <= set(show.WHY)
    assert all(rows[name]["why"] == text for name, text in show.WHY.items())


def test_recorded_results_are_drawn():
    data, _ = recorded()
    section = show.section(data)
    assert "A run lasts 8.1 s; the paper's lasts 420 s." in section.intro
    assert "0.5, 1, 1.5, 2 and 5 with fixed_window and pktpair_1994" in section.intro
    pictures = [base64.b64decode(one.picture.partition("base64,")[2]).decode() for one in section.figures]
    assert [one.name for one in section.figures] == [f"Figure {name}" for name in show.FIGURES]
    assert all("pktpair_1994, B = 0.25" in one and "bbr, B = 0.5" in one for one in pictures)
    assert "data:image" in show.section({}).figures[0].picture, "of nothing, empty figures"
