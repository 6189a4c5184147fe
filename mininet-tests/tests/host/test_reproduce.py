# SPDX-License-Identifier: GPL-2.0
"""lab reproduce: every check of four papers has a row, what it needs is run, and each judge can say yes and no."""

import base64
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import TOP
from lab import cli
from lab.analyse import estimators
from lab.analyse import memorandum as seen
from lab.analyse import packet_pair as found
from lab.analyse.packet_pair import (
    ARITHMETIC,
    COUNTS,
    DEFAULT,
    JUDGED,
    JUDGES,
    Found,
    Point,
    closed,
    joined,
    opened,
    probing,
)
from lab.front import overload as overload_front
from lab.front import packet_pair as front
from lab.front import qlbp as qlbp_front
from lab.front import reproduce
from lab.front import thesis as thesis_front
from lab.front.paper import LENGTHS, QUICK, Asked, Judged
from lab.model import memorandum, papers, scenario
from lab.model.errors import PlanError, RunError
from lab.model.memorandum import PACKET_S, PAYLOAD_BYTES
from lab.show import checks, results
from lab.show import overload as overload_show
from lab.show import packet_pair as show
from lab.show import qlbp as qlbp_show
from lab.show import thesis as thesis_show
from lab.show.rst import sentence
from lab.store.sweep import planned

SCENARIO = scenario.load("packet-pair-1994")
# A quick campaign's summary without its rows: figures of each run, and thinned curves of two.
RECORDED = Path(__file__).with_name("recorded-reproduce.json")
TRAINS = Path(__file__).with_name("recorded-estimators.json")
BY_ID = found.entries()


def rows_of(name: str) -> list[dict[str, Any]]:
    return list(BY_ID[name].published["rows"])


def as_published() -> dict[str, dict[str, Any]]:
    """Metrics with which the memorandum's statements hold, by the names of runs."""
    told: dict[str, dict[str, Any]] = {
        "fixed": {
            **{"mean_queue": 20, "least_queue": 19, "most_queue": 21, "round_trips_to_full": 4.5, "slope": 1.0},
            **{"utilisation_after": 1.0, "mean_outstanding": 120, "estimate_error_p95_packets": 1},
        },
        probing(): {
            **{"mean_setpoints": [25] * 4, "setpoints_at_drop": 100, "fairness_long": 0.99, "fairness_short": 0.9},
            **{"dropped": 16, "retransmitted": 16, "drops_of_sources": [4] * 4, "rates": [0.25] * 4},
            **{"share_over_fair": [1.0] * 4, "setpoint_slope": [1.0] * 4},
        },
        probing(1): {"dropped": 4},
        "joining fig17": {"rate_at_1000": 0.1, "jain_after_2000": 0.99},
        "joining fig18": {"rates_after_joins": [1 / (k + 1) for k in range(1, 10)]},
    }
    for table_4, table_5 in zip(rows_of("pp-9.2-tab4"), rows_of("pp-9.2-tab5"), strict=True):
        lost = round(table_4["loss_rate_pkt_per_1000tu"] * table_4["completion_tu"] / 1000)
        told[joined(table_4["N"])] = {
            **{"completion_tu": table_4["completion_tu"], "peak_queue": table_4["peak_queue_pkt"], "dropped": lost},
            **{"retransmitted": lost, "queue_before": 10, "quiet_tu": 1200, "peak_before_quiet": 41},
            **{
                "least_after_quiet": 1,
                "peak_after_quiet": 41,
                "steady_gap_tu": 10,
                "steady_rate": 0.1,
                "steady_queue": 10,
            },
        }
        told[joined(table_5["N"], 10_000)] = {
            **{"peak_queue": table_5["peak_queue_pkt"], "dropped": 0, "peak_before_quiet": 41, "peak_after_quiet": 86}
        }
    for kind, name in {"closed": closed, "open": opened}.items():
        told |= {name(row["nominal_load"]): {"goodput": row["goodput"]} for row in rows_of(f"pp-9.3-{kind}")}

    def transfer(completion_s: float, slowdown_pct: float = 0.0) -> dict[str, float]:
        return {"completion_s": completion_s, "slowdown": slowdown_pct / 100}

    for name in ("b1", "b2", "b5", "b8"):
        own = BY_ID[f"pp-{name}"].published
        told[name] = transfer(own["packet_pair_s"], own["slowdown_pct"])
    for row in rows_of("pp-b3"):
        told[f"b3 {row['size_pkt']}"] = transfer(row["packet_pair_s"], row["slowdown_pct"])
    told |= {"b3 50": transfer(0.1, 120), "b3 100": transfer(0.13, 140)}
    for one, key in (("b4 short", "short"), ("b4 long", "long"), ("b6 forward", "conn1"), ("b6 reverse", "conn2")):
        own = BY_ID[f"pp-{one[:2]}"].published[key]
        told[one] = transfer(own["packet_pair_s"], own["slowdown_pct"])
    for row in rows_of("pp-b7"):
        told[f"b7 {row['intensity']:g}"] = transfer(row["packet_pair_mean_s"], row["slowdown_pct"])
    for one in ("conn1", "conn2"):
        told[f"b9 {one}"] = transfer(BY_ID["pp-b9"].published[f"{one}_s"])
    return told


def as_opposite() -> dict[str, dict[str, Any]]:
    """Metrics with which none of them holds."""
    told = as_published()
    told["fixed"] |= {"mean_queue": 40, "most_queue": 40, "round_trips_to_full": 9, "slope": 0.5}
    told["fixed"] |= {"utilisation_after": 0.5, "mean_outstanding": 200, "estimate_error_p95_packets": 30}
    told[probing()] |= {"mean_setpoints": [25, 25, 25, 80], "setpoints_at_drop": 300, "fairness_long": 0.5}
    told[probing()] |= {"dropped": 100, "retransmitted": 400, "drops_of_sources": [0, 0, 0, 100], "rates": [0.1] * 4}
    told[probing()] |= {"share_over_fair": [2.0] * 4, "setpoint_slope": [3.0] * 4}
    told[probing(1)] = {"dropped": 100}
    told["joining fig17"] = {"rate_at_1000": 0.9, "jain_after_2000": 0.3}
    told["joining fig18"] = {"rates_after_joins": [1.0] * 9}
    for count in COUNTS:
        told[joined(count)] = {
            **{"completion_tu": 20_000 - count, "peak_queue": 90, "dropped": 300 - count, "retransmitted": 900},
            **{"queue_before": 10, "quiet_tu": 1200, "peak_before_quiet": 41, "least_after_quiet": 1},
            # it comes back to its steady state, and no further
            **{"peak_after_quiet": 12, "steady_gap_tu": 30, "steady_rate": 0.03, "steady_queue": 10},
        }
        told[joined(count, 10_000)] = {
            **{"peak_queue": 900, "dropped": 9, "peak_before_quiet": 90, "peak_after_quiet": 8}
        }
    for name in told:
        if name.startswith(("closed", "open")):
            told[name] = {"goodput": 0.5}
    slow = {"completion_s": 99.0, "slowdown": 9.0}
    told |= {name: dict(slow) for name in told if name.startswith("b") and name != "b5"}
    # what has a lower bound, and what should come later or be further behind
    told["b5"] = {"completion_s": 0.1, "slowdown": 9.0}
    told["b1"] = {"completion_s": 1.0, "slowdown": 9.0}
    told["b2"] = {"completion_s": 0.5, "slowdown": 9.0}
    told["b8"] = {"completion_s": 9.0, "slowdown": 9.0}
    told["b4 short"] = {"completion_s": 100.0, "slowdown": 9.0}
    told["b6 forward"] = {"completion_s": 50.0, "slowdown": 9.5}
    told["b9 conn2"] = {"completion_s": 98.0, "slowdown": 9.0}
    told["b3 2000"] = {"completion_s": 9.0, "slowdown": 99.0}
    told["b7 0.9"] = {"completion_s": 99.0, "slowdown": 99.0}
    return told


def points(metrics: dict[str, dict[str, Any]], cc: str = JUDGED) -> dict[tuple[str, str], Point]:
    return {(cc, name): Point(one, {"a": 1}, 2.0) for name, one in metrics.items()}


def test_every_check_of_the_paper_has_a_row() -> None:
    rows = found.rows({}, [1], {})
    wanted = [(one.id, number) for one in BY_ID.values() for number in range(len(one.checks))]
    assert [(row["id"], row["number"]) for row in rows] == wanted
    assert set(JUDGES) <= set(wanted)
    for row in rows:
        if (row["id"], row["number"]) not in ARITHMETIC:
            assert (row["measured"], row["pass"], row["seeds"], row["length_s"]) == (None, False, [], None)
            assert row["not_measured"]


@pytest.mark.parametrize("key", JUDGES)
def test_a_judge_says_yes_to_what_is_published(key: tuple[str, int]) -> None:
    told = found.judged(Found(points(as_published())), key)
    assert told["pass"] is True, told


# With their run's opposite these would need another one: each has its own.
OF_ITS_OWN: dict[tuple[str, int], dict[str, dict[str, Any]]] = {
    ("pp-b1", 0): {"b1": {"completion_s": 2.0, "slowdown": 1.0}},
    ("pp-b8", 1): {"b8": {"completion_s": 0.5, "slowdown": 0.0}},
    ("pp-b9", 3): {"b9 conn2": {"completion_s": 120.0, "slowdown": 0.0}},
    ("pp-b6", 2): {"b6 forward": {"completion_s": 9.0, "slowdown": 10.0}},
    ("pp-b7", 1): {"b7 0.9": {"completion_s": 9.0, "slowdown": 99.0}},
    ("pp-9.2-tab4", 5): {joined(2): {"peak_queue": 1}},
}


@pytest.mark.parametrize("key", [key for key in JUDGES if key not in ARITHMETIC])
def test_a_judge_says_no_to_the_opposite(key: tuple[str, int]) -> None:
    told = found.judged(Found(points({**as_opposite(), **OF_ITS_OWN.get(key, {})})), key)
    assert told["measured"] is not None and told["pass"] is False, told


def test_to_be_faster_is_no_failure_of_the_default() -> None:
    """Two-sided for the published preset, one-sided beside it."""
    fast = {"b1": {"completion_s": 1.35, "slowdown": -0.02}}
    both = {**points(fast), **points(fast, DEFAULT)}
    row = next(row for row in found.rows(both, [1, 2], {"pp-b1 0": "a reason"}) if row["id"] == "pp-b1")
    assert (row["measured"], row["pass"], row["why"], row["seeds"]) == (1.35, False, "a reason", [1, 2])
    assert row["beside"][DEFAULT] == {"measured": 1.35, "pass": True}
    assert (row["length_s"], row["parameters"], row["preset"]) == (2.0, {"b1": {"a": 1}}, "1994")
    slow = {"b1": {"completion_s": 1.9, "slowdown": 0.3}}
    row = next(row for row in found.rows(points(slow, DEFAULT), [1], {}) if row["id"] == "pp-b1")
    assert row["measured"] is None and row["beside"][DEFAULT]["pass"] is False


def test_an_order_is_not_asked_of_the_others() -> None:
    told = found.judged(Found(points(as_published(), "bbr"), "bbr"), ("pp-b2", 1), one_sided=True)
    assert told["pass"] is None and told["measured"] is not None


def names_of(extents: dict[str, front.Extent]) -> set[tuple[str, str]]:
    told = set()
    for request in front.requests(extents, 1):
        for run in planned(request, [("6.1", "")]):
            if run.scenario.name == front.SCENARIO:
                told.add((front.label_of(run), front.name_of(run.values)))
            else:
                number = run.scenario.name.partition("-")[0]
                rows = run.scenario.module.benchmark(run.values, 1).rows
                variants = [row.variant.removesuffix("-staggered") for row in rows]
                told |= {(front.label_of(run), f"{number} {variant}".strip()) for variant in variants}
                assert run.values["hosts"].startswith("memorandum" if run.cc == JUDGED else "open")
    return told


def test_what_the_judges_need_is_run() -> None:
    usual, quick = names_of(front.USUAL_EXTENTS), names_of(front.QUICK_EXTENTS)
    assert quick < usual and len(quick) <= 60
    all_metrics = as_published()
    run = {key: Point(all_metrics.get(key[1], {})) for key in usual}
    assert not [key for key in JUDGES if found.judged(Found(run), key)["measured"] is None]
    assert {cc for cc, _ in usual} == {JUDGED, DEFAULT, "bbr", "cubic", *found.READINGS}
    others = {(found.STAGGERED_STARTS, "b7 0.2"), (found.WHOLE_QUEUE, probing()), (found.FIXED_SETPOINT, "b1")}
    for one in (found.SINGLY, found.AT_LINK_RATE):
        others |= {(one, found.closed(5.0)), (one, found.opened(0.5))}
    assert others < usual and not {cc for cc, _ in quick} & set(found.READINGS)


def test_another_reading_is_judged_as_the_first() -> None:
    """Two-sided, and no longer than the row's own."""
    fast = {"b1": {"completion_s": 1.35, "slowdown": -0.02}}
    both = {**points(as_published()), **points(fast, found.FIXED_SETPOINT)}
    row = next(row for row in found.rows(both, [1], {}) if row["id"] == "pp-b1")
    assert row["pass"] is True and row["beside"][found.FIXED_SETPOINT] == {"measured": 1.35, "pass": False}


def test_a_name_is_that_of_its_settings() -> None:
    for name in front.USUAL_EXTENTS[JUDGED].names:
        words = [f"{key}={value}" for key, value in front.settings_of(name).items()]
        (values,) = SCENARIO.values(SCENARIO.axes(words))
        assert front.name_of(values) == name
        SCENARIO.plan(values, JUDGED, "fq_rr", 1).check()


def test_plan() -> None:
    """The published preset has its setpoint and an ACK for each packet; another congestion control has neither."""
    (values,) = SCENARIO.values(SCENARIO.axes(["case=probing", "sources=4", "step=1"]))
    own, other = (SCENARIO.plan(values, cc, "fq_rr", 1) for cc in (JUDGED, DEFAULT))
    assert own.module_parameters == {"tcp_pktpair": {"setpoint_probing": "1", "setpoint_step": "1"}}
    assert own.routes == {f"d{number}": "quickack 1" for number in range(1, 5)}
    assert (other.module_parameters, other.routes) == ({}, {})
    assert replace(own, flows=other.flows, module_parameters={}, routes={}) == other
    assert own.topology.way("r-x").options == "drop longest-tail no-aqm"
    later = SCENARIO.plan(values, JUDGED, "fq_rr", 2)
    assert [flow.start_s for flow in later.flows] != [flow.start_s for flow in own.flows]


def test_hosts_of_the_published_benchmarks() -> None:
    """An ACK for each packet, a queue without delay control, and a setpoint that probes, of the published preset."""
    b1 = scenario.load("b1-slow-cross-traffic")
    plans = {}
    for hosts in ("memorandum", "memorandum-fixed", "open"):
        (values,) = b1.values(b1.axes([f"hosts={hosts}"]))
        plans[hosts] = b1.plan(values, JUDGED, "fq_rr", 1)
        plans[hosts].check()
    assert [plan.routes.get("d11") for plan in plans.values()] == ["quickack 1", "quickack 1", None]
    assert [plan.topology.way("r-x").options for plan in plans.values()] == ["drop longest-tail no-aqm"] * 2 + [""]
    assert [len(plan.module_parameters) for plan in plans.values()] == [1, 0, 0]
    (values,) = b1.values(b1.axes(["hosts=memorandum"]))
    assert b1.plan(values, "cubic", "fq_rr", 1).module_parameters == {}


@pytest.mark.parametrize("on_rate", memorandum.ON_RATES)
def test_messages(on_rate: str) -> None:
    """A source has its packets in all, and its part of the link while it is alone."""
    for load in (0.05, 0.5):
        start_s, drawn = memorandum.messages(load, 1, 1, on_rate)
        assert sum(one.response_bytes for one in drawn) == 2000 * memorandum.PAYLOAD_BYTES and start_s > 0
    # a source's last message is what is left
    many = [memorandum.messages(0.25, 1, source, on_rate)[1][0] for source in range(3000)]
    packets = sum(one.response_bytes / memorandum.PAYLOAD_BYTES for one in many)
    on_s = packets * PACKET_S * memorandum.gap_packets(0.25, on_rate)
    off_s = sum(one.think_s for one in many) + len(many) * memorandum.seconds(100)
    assert packets * PACKET_S / (on_s + off_s) == pytest.approx(0.25, rel=0.05)
    if on_rate == memorandum.TWICE:
        assert on_s == pytest.approx(off_s, rel=0.05), "on for half of the time"
    with pytest.raises(PlanError, match="load 0.7 of a source: must be above 0 and below 0.6667"):
        memorandum.messages(0.7, 1, 1, on_rate)
    with pytest.raises(PlanError, match="load 0 of a source: must be above 0"):
        memorandum.writes(0.0, 1, 1, on_rate)


@pytest.mark.parametrize(("on_rate", "load", "gap"), [("link", 0.5, 1), ("link", 0.05, 1), ("twice", 0.5, 1),
                                                      ("twice", 0.05, 10)])  # fmt: skip
def test_packets_of_an_open_source(on_rate: str, load: float, gap: int) -> None:
    """One each packet time at the link's rate, or at twice its mean rate; its time off begins with its last packet."""
    of_source = [memorandum.writes(load, 1, source, on_rate) for source in range(1, 301)]
    assert all(len(at_s) == memorandum.SOURCE_PACKETS and at_s == sorted(at_s) for _, at_s in of_source)
    gaps_s = [b - a for _, at_s in of_source for a, b in pairwise(at_s)]
    assert min(gaps_s) == pytest.approx(gap * PACKET_S, abs=2e-9), "times are whole nanoseconds"
    # no time off follows the last message
    assert load < PACKET_S / (sum(gaps_s) / len(gaps_s)) < 1.15 * load


def test_packets_that_are_handed_over_in_pairs() -> None:
    """Both when the second one is made; a closed source's message of an odd number ends with a lone one."""
    singly, pairs = (memorandum.writes(0.1, 1, 1, "twice", count)[1] for count in (1, 2))
    assert pairs == singly[1::2] and len(pairs) == memorandum.SOURCE_PACKETS // 2
    for case, count in (("on-off", 0), ("open", len(pairs))):
        axes = [f"case={case}", "sources=10", "load=1", "at_once=2"]
        (values,) = SCENARIO.values(SCENARIO.axes(axes))
        plan = SCENARIO.plan(values, JUDGED, "fq_rr", 1)
        plan.check()
        assert {(flow.write_bytes, len(flow.writes_s)) for flow in plan.flows} == {(2 * PAYLOAD_BYTES, count)}
        gap_s = 0.0 if count else 10 * PACKET_S
        assert all(flow.write_gap_s == pytest.approx(gap_s, abs=1e-9) for flow in plan.flows)


def test_an_open_source_waits_for_nothing() -> None:
    """All that it has fits into its socket, and writes that cannot be are refused with the limit."""
    (values,) = SCENARIO.values(SCENARIO.axes(["case=open", "sources=10", "load=5"]))
    plan = SCENARIO.plan(values, JUDGED, "fq_rr", 1)
    plan.check()
    flow = plan.flows[0]
    assert (len(flow.writes_s), flow.bytes) == (2000, 2000 * flow.write_bytes)
    assert flow.window_bytes >= 2000 * (flow.write_bytes + 2048)
    wrong: dict[str, dict[str, Any]] = {
        "writes_s: length 1999: must be at least 2000": {"writes_s": flow.writes_s[:-1]},
        "writes_s: need bytes and write_bytes": {"write_bytes": 0},
        "writes_s: 1.0 after 2.0: must not fall, and be at most 999940": {
            "writes_s": (0.0, 2.0, 1.0),
            "bytes": 3,
            "write_bytes": 1,
        },
    }
    for said, fields in wrong.items():
        with pytest.raises(PlanError, match=said):
            replace(flow, **fields).check()
    with pytest.raises(PlanError, match="iperf3 .*bytes|iperf3 writes when it likes"):
        flow.check_iperf3()


def line(event: str, tu: float, **words: Any) -> str:
    text = " ".join(f"{name}={value}" for name, value in words.items())
    return f" x-1 [000] ..s2. {1 + tu * PACKET_S:.9f}: {event}: {text}"


def trace_of_pairs(pairs: int, queue: int, begin_tu: float = 0.0, port: int = 10001) -> str:
    """Pairs that come every two packet times to a queue that they find at ``queue``, and leave one by one."""
    lines = []
    for number in range(pairs):
        at = begin_tu + 2 * number
        for place in (0, 1):
            met = {"len": 514, "flow_packets": queue + place, "qlen": queue + place, "end_seq": 2 * number + place}
            lines.append(line("fq_rr_enqueue", at + place * 0.01, sport=port, **met))
        for place in (1, 2):
            lines.append(line("fq_rr_dequeue", at + place - 0.02, sport=port, len=514, qlen=queue + 2 - place))
    return "\n".join(lines)


def of_case(*words: str) -> tuple[Any, Any]:
    (values,) = SCENARIO.values(SCENARIO.axes(list(words)))
    return values, SCENARIO.plan(values, JUDGED, "fq_rr", 1)


def test_a_fixed_setpoint_is_measured() -> None:
    """Pairs swing by two packets, and the link is full from the first departures on."""
    values, plan = of_case("case=fixed", "sources=1", "round_trips=20")
    told = SCENARIO.measure(values, plan, {"trace": trace_of_pairs(1000, 19), "begin_s": 1.0})
    assert (told["least_queue"], told["most_queue"], told["slope"]) == (19, 21, pytest.approx(1, abs=1e-3))
    # in two packet times: 20 for 0.01, 21 for 0.97, 20 for 1, 19 for 0.02
    assert told["mean_queue"] == pytest.approx(20.475, abs=0.01)
    assert told["round_trips_to_full"] == pytest.approx(0.26, abs=0.02)
    assert told["utilisation_after"] == pytest.approx(1, abs=0.01)


def test_a_link_that_is_never_full_says_so() -> None:
    departures = np.arange(0.0, 100.0, 2.0)
    assert seen.first_full(departures) is None
    assert seen.first_full(np.concatenate([departures, 102 + np.arange(0.0, 50.0)])) == pytest.approx(1.27, abs=0.001)


def test_drops_are_what_never_left() -> None:
    values, plan = of_case("case=probing", "sources=1", "round_trips=20")
    lines = trace_of_pairs(1000, 19).splitlines()
    less = [one for number, one in enumerate(lines) if "dequeue" not in one or number % 100 != 2]
    told = SCENARIO.measure(values, plan, {"trace": "\n".join(less), "begin_s": 1.0, "flows": [{"retransmits": 7}]})
    assert (told["dropped"], told["drops_of_sources"], told["retransmitted"]) == (40, [40], 7)


def test_setpoints_are_measured() -> None:
    """Of two sources: the mean, their sum when the buffer is full, and a rise of a packet in a round trip."""
    times = np.arange(0.0, 4000.0, 10.0)
    rows = [
        {
            **{"tu": times, "setpoint": 5 + times / 100 + more, "rtt_tu": np.full(len(times), 100.0)},
            **{"service_tu": np.full(len(times), 2.0)},
        }
        for more in (0.0, 10.0)
    ]
    run = seen.Seen(0.0, [], times, times, 2500.0, rows)
    told = seen.setpoint_figures(run, 4000)
    assert told["mean_setpoints"] == [pytest.approx(30, abs=0.1), pytest.approx(40, abs=0.1)]
    assert told["setpoints_at_drop"] == pytest.approx(70, abs=0.3)
    assert told["setpoint_slope"] == [pytest.approx(1, abs=0.01)] * 2 and told["share_over_fair"] == [1.0, 1.0]
    assert told["fairness_long"] > told["fairness_short"] - 0.01


def test_a_source_that_another_joins_is_measured() -> None:
    """Rates, completion and what was dropped, of a link that is twice as fast as its packets are."""
    values, plan = of_case("case=joining", "sources=2")
    lines = [*trace_of_pairs(2500, 10).splitlines(), *trace_of_pairs(2000, 10, 1000.0, 10002).splitlines()[:-1]]
    ends = (5000, 5100)
    flows = [{"began_ns": 0, "ended_ns": at * PACKET_S * 1e9, "retransmits": 2} for at in ends]
    told = SCENARIO.measure(values, plan, {"trace": "\n".join(lines), "begin_s": 1.0, "flows": flows})
    assert (told["completion_tu"], told["length_tu"], told["peak_queue"]) == (5000, 5100, 12)
    # the last packet of the second never left
    assert (told["drops_of_sources"], told["dropped"], told["retransmitted"]) == ([0, 1], 1, 4)
    # a packet that comes at an edge is in one of two windows
    assert [*told["rates_after_joins"], told["rate_at_1000"]] == [pytest.approx(1, abs=0.011)] * 2
    assert told["jain_after_2000"] == pytest.approx(1, abs=1e-4) and told["steady_rate"] == pytest.approx(1, abs=1e-3)
    assert told["queue_before"] in (11, 12) and "quiet_tu" not in told


def test_build_ups_are_found() -> None:
    """A queue that grows when others join, silence, a second queue, and a steady state."""
    came = [*np.arange(0, 1100.0, 1), *np.arange(1300.0, 1330.0, 1), *np.arange(1500.0, 6000.0, 10)]
    queued = [*[10] * 1000, *range(10, 110), *range(1, 31), *[10] * 450]
    own = seen.Packets(np.array(came), np.array(queued, dtype=float), np.array(came))
    none = {"gap_tu": np.array([np.nan, 10.0, 10.0]), "tu": np.array([1.0, 3500.0, 3600.0])}
    told = seen.build_ups(own, none, 1000, 6000)
    assert (told["queue_before"], told["peak_before_quiet"], told["peak_after_quiet"]) == (10, 109, 30)
    assert told["quiet_tu"] == pytest.approx(1100, abs=5) and told["least_after_quiet"] == 1
    assert (told["steady_gap_tu"], told["steady_rate"]) == (10.0, pytest.approx(0.1, abs=1e-3))
    assert told["steady_queue"] == 10
    busy = seen.Packets(*(np.arange(0, 6000.0, 5),) * 3)
    assert "quiet_tu" not in seen.build_ups(busy, none, 1000, 6000)


def test_a_trace_without_packets_is_an_error() -> None:
    values, plan = of_case("case=fixed", "sources=1")
    with pytest.raises(RunError, match="no packet of data came to fq_rr"):
        SCENARIO.measure(values, plan, {"trace": "", "begin_s": 1.0})


def test_on_off_sources_are_measured() -> None:
    values, plan = of_case("case=on-off", "sources=10", "load=5")
    flows = [{"retransmits": 100, "ended_ns": 30_000 * PACKET_S * 1e9}] * 10
    told = SCENARIO.measure(values, plan, {"flows": flows})
    assert (told["packets"], told["retransmitted"], told["goodput"]) == (20_000, 1000, 0.95)
    assert told["length_tu"] == pytest.approx(30_000, abs=1)


def test_means() -> None:
    assert front.mean([1, 2]) == 1.5 and front.mean([[1, 2], [3, 4]]) == [2, 3]
    assert front.mean([1, None]) is None and front.mean([[1], [1, 2]]) is None


def test_a_paper_that_is_not_run_has_its_rows() -> None:
    for name in reproduce.PAPERS:
        rows = reproduce.not_measured(name).rows
        assert len(rows) == sum(len(one.checks) for one in papers.load(name).entries)
        assert all(row["pass"] is False and row["measured"] is None and row["not_measured"] for row in rows)


@pytest.mark.parametrize("name", reproduce.RERUN)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_paper_can_be_asked_for(name: str, length: str) -> None:
    """Each request can be planned, for any length; a part of each curve is less than all of it."""
    count = [
        sum(len(planned(request, [("6.1", "")])) for request in reproduce.RERUN[name].requests(Asked(one, 1)))
        for one in (length, QUICK)
    ]
    assert count[0] >= count[1] > 0


def estimated() -> dict[str, Any]:
    """Estimators over trains of the simulator, in the shape of a campaign's; none of a lab run is recorded."""
    kept = json.loads(TRAINS.read_text())["cases"]
    return {"lab": {}, **{name: estimators.of_simulated(kept[name]) for name in estimators.SIMULATED}}


# What runs each paper, and what says why its checks do not hold.
OF_PAPERS = (
    (front, show),
    (overload_front, overload_show),
    (thesis_front, thesis_show),
    (qlbp_front, qlbp_show),
)
# Of a quick campaign, which is recorded, the peaks of table 4 are too few.
WHY_OF_FEW = set(show.WHY) - {"pp-9.2-tab4 5"}


def recorded() -> dict[str, Any]:
    """A campaign's summary, its rows judged now."""
    kept = json.loads(RECORDED.read_text())
    known = {(one["cc"], one["run"]): Point(one["metrics"], {}, one["length_s"]) for one in kept["points"]}
    data = {**{name: kept[name] for name in ("parameters", "points", "curves")}, "goals": found.goals(known)}
    judged = {name: reproduce.not_measured(name) for name in reproduce.PAPERS}
    judged[found.PAPER] = Judged(found.rows(known, [1], show.WHY), {**data, "estimators": estimated()})
    return {
        **{name: kept[name] for name in ("commit", "kernel", "modules", "clock", "runs")},
        **{"length": QUICK, "seeds": 1},
        "papers": {
            name: {"title": papers.load(name).title, "run": name == found.PAPER, "data": one.data}
            for name, one in judged.items()
        },
        "rows": [{**row, "paper": name} for name, one in judged.items() for row in one.rows],
    }


def test_recorded_results_are_judged() -> None:
    """What the real stack gave once: a change of a judge that turns a verdict is noticed."""
    rows = {(row["id"], row["number"]): row for row in recorded()["rows"]}
    verdicts = {f"{name} {number}": row["pass"] for (name, number), row in rows.items() if row["measured"] is not None}
    assert verdicts == json.loads(RECORDED.read_text())["verdicts"]
    assert all(name in verdicts and not verdicts[name] for name in WHY_OF_FEW)


def test_the_page() -> None:
    """Each check of four papers is in it, each figure is drawn, and it needs nothing else."""
    text = reproduce.page(recorded())
    ids = [entry.id for name in reproduce.PAPERS for entry in papers.load(name).entries]
    assert all(f">{one}&nbsp;" in text for one in ids) and "http" not in text
    pictures = [base64.b64decode(part.split('"')[0]).decode() for part in text.split("svg+xml;base64,")[1:]]
    drawn = dict(zip(show.FIGURES, pictures, strict=True))
    trace, _ = drawn.pop("9.2, figures 17 to 19"), drawn.pop("4.4 and 4.5, lab")
    of_estimators = [drawn.pop(f"4.4 and 4.5, {name}") for name in estimators.SIMULATED]
    assert "its service time allows" in trace and "setpoint" in drawn["9.1, figures 11, 12 and 14"]
    assert all("pktpair_1994" in one for one in drawn.values())
    assert all("published" in one for name, one in drawn.items() if name.startswith(("9.3", "9.4", "9.2, table")))
    for picture in of_estimators:
        assert all(name in picture for name in ("truth", *show.DRAWN_ESTIMATORS))
    assert all(text.count(f"<td>{name}</td>") == len(of_estimators) for name in estimators.ESTIMATORS)


def test_a_page_of_nothing() -> None:
    """Where no run was made all rows are there, and every figure is empty."""
    summary = recorded()
    summary["rows"] = [{**row, "paper": name} for name in reproduce.PAPERS for row in reproduce.not_measured(name).rows]
    for one in summary["papers"].values():
        one |= {"run": True, "data": {}}
    summary["papers"] = {name: one for name, one in summary["papers"].items() if name in reproduce.RERUN}
    text = reproduce.page(summary)
    assert text.count("not measured") >= len(JUDGES) and text.count("svg+xml") >= len(reproduce.RERUN)
    summary["papers"][found.PAPER]["data"] = {"estimators": {"noise": {"why": "a reason"}}}
    assert "not compared: a reason" in reproduce.page(summary)


def test_a_check_is_a_sentence() -> None:
    said = {
        "q = 5 ± 10 %": {"op": "rel_tol", "quantity": "q", "expected": 5, "rel_tol": 0.1},
        "q = r/k ± 3": {"op": "abs_tol", "quantity": "q", "expected": "r/k", "abs_tol": 3},
        "1 ≤ q ≤ 2.5": {"op": "between", "quantity": "q", "low": 1, "high": 2.5},
        "a > b (once)": {"op": "order", "greater": "a", "lesser": "b", "note": "once"},
        "q is increasing over n": {"op": "monotone", "quantity": "q", "over": "n", "direction": "increasing"},
        "It is so.": {"op": "qualitative", "statement": "It is so."},
        "q ≥ 0.9": {"op": "ge", "quantity": "q", "value": 0.9},
    }
    assert {checks.said(check): check for check in said.values()} == said
    for paper in papers.names():
        assert all(checks.said(one.as_data()) for entry in papers.load(paper).entries for one in entry.checks)


def test_checks_are_grouped_by_what_became_of_them() -> None:
    groups = {group.verdict: group.rows for group in checks.groups(recorded_rows(found.PAPER), found.PAPER)}
    assert [one for one in checks.VERDICTS if one in groups] == list(groups), "what is not held stands first"
    names = {verdict: {f"{row['id']} {row['number']}" for row in rows} for verdict, rows in groups.items()}
    assert len(names[checks.MISSED]) + len(names[checks.HELD]) == 70
    assert names[checks.MISSED] >= WHY_OF_FEW
    # a unit test, the stack, a run that is not made yet
    assert {"pp-eq14 0", "pp-eq19 0"} <= names[checks.ELSEWHERE] and "pp-b7 2" in names[checks.OPEN]
    assert sum(map(len, groups.values())) == sum(len(entry.checks) for entry in BY_ID.values())
    (only,) = checks.groups([{"id": "pp-none", "number": 0, "measured": None}], found.PAPER)
    assert only.verdict == checks.OPEN


def recorded_rows(paper: str) -> list[dict[str, Any]]:
    return [row for row in recorded()["rows"] if row["paper"] == paper]


def test_results_are_documented(tmp_path: Path) -> None:
    """A page of what was run has each check once, and the raw result beside it each row."""
    summary, folder = recorded(), tmp_path / "results"
    reproduce.document(summary, folder)
    assert {one.name for one in folder.iterdir()} == {
        "index.rst",
        *(f"{found.PAPER}.{kind}" for kind in ("rst", "json", "svg")),
    }
    page = (folder / f"{found.PAPER}.rst").read_text()
    for entry in BY_ID.values():
        for number in range(len(entry.checks)):
            assert page.count(f'``{entry.id}`` {number}"') == 1
    assert summary["commit"] in page and "59 of 79 checks hold, of 70 that were measured" in page
    assert all(sentence(show.WHY[name]) in page for name in WHY_OF_FEW)
    goals = [line for line in page.splitlines() if line.strip().startswith('"9.3, ')]
    assert len(goals) == 2 and all(line.endswith(('"yes"', '"no"')) for line in goals)
    assert '"2";"2761";' in page and "Held: the queue stays" in page
    assert f".. figure:: {found.PAPER}.svg" in page and "setpoint" in (folder / f"{found.PAPER}.svg").read_text()
    raw = json.loads((folder / f"{found.PAPER}.json").read_text())
    assert [(row["id"], row["number"], row["measured"]) for row in raw["rows"]] == [
        (row["id"], row["number"], row["measured"]) for row in recorded_rows(found.PAPER)
    ]
    assert raw["commit"] == summary["commit"] and raw["modules"] == summary["modules"]


def test_the_overload_study_has_its_parameters() -> None:
    of_all, lone = overload_front.parameters(overload_front.FULL)
    assert (of_all["length_s"], lone["length_s"], lone["sources"]) == (420.0, 420.0, 1)


def test_the_readme_says_what_was_found() -> None:
    """Its counts are those of the results that it names."""
    folder = TOP / "Documentation" / "results"
    rows = [row for path in folder.glob("*.json") for row in json.loads(path.read_text())["rows"]]
    checks, _, hold, bounds, bounds_hold = results.tally(rows)
    said = f"Of {checks} checks {hold} hold, among them {bounds_hold} of the {bounds} orders and bounds"
    assert said in (TOP / "README.md").read_text()


@pytest.mark.parametrize("name", reproduce.PAPERS)
def test_every_miss_has_a_reason(name: str) -> None:
    """In the results that are published; and no reason is left of a check that holds."""
    why = {one.PAPER.name: shown.WHY for one, shown in OF_PAPERS}[name]
    rows = json.loads((TOP / "Documentation" / "results" / f"{name}.json").read_text())["rows"]
    missed = {f"{row['id']} {row['number']}": row for row in rows if row["measured"] is not None and not row["pass"]}
    assert set(why) == set(missed)
    assert {key: row["why"] for key, row in missed.items()} == why


def test_a_failed_campaign_is_not_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its report is made, and Documentation/results stays as it is."""
    done: list[str] = []
    monkeypatch.setattr(reproduce, "write", lambda *_: done.append("report") or {})
    monkeypatch.setattr(reproduce, "document", lambda *_: done.append("documentation"))
    for failure, expected in (("the guest ended", ["report"]), ("", ["report", "documentation"])):
        measured = SimpleNamespace(failure=failure)
        monkeypatch.setattr(reproduce.campaign, "run_checks", lambda *said, own=measured: len(said[4](tmp_path, own)))
        done.clear()
        reproduce.run(cli.parse(["reproduce", "--only", "qlbp-2011", "--document"]), None)
        assert done == expected
