# SPDX-License-Identifier: GPL-2.0
"""The thesis' chapter 6, re-run: plans, what is made of a run, and the judges on recorded results."""

import base64
import json
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lab.analyse import thesis as found
from lab.analyse.figures import RECEIVED, SAMPLE
from lab.analyse.thesis import CONCLUSION, JUDGED, PAIRS, Found, Key
from lab.front import thesis as front
from lab.front.paper import LENGTHS, Asked
from lab.model import papers, scenario, thesis
from lab.model.errors import NotMeasuredError
from lab.model.layout import lay_out
from lab.show import thesis as show
from lab.store.run import Run
from matplotlib.figure import Figure

SCENARIO = scenario.load("thesis-ch6")
PAPER = papers.load(found.PAPER)
RECORDED = Path(__file__).with_name("recorded-thesis.json")


def planned(cc: str, queue: str, **words: Any) -> tuple[Any, Any]:
    (values,) = SCENARIO.values(SCENARIO.axes([f"{name}={value}" for name, value in words.items()]))
    return values, SCENARIO.plan(values, cc, queue, 1)


def test_networks_are_the_thesis() -> None:
    """Common figures, round trips, and who passes which lines."""
    common = PAPER.common
    rates = [common[f"{which}_line_rate_bit_s"] for which in ("slow", "fast")]
    assert rates == [thesis.SLOW_BIT_S, thesis.FAST_BIT_S]
    assert common["slow_line_rate_pkt_s"] == thesis.SLOW_PACKETS_S
    for number in thesis.CASES:
        _, plan = planned(JUDGED, "fq_rr", scenario=number)
        layout = plan.check()
        for flow in plan.flows:
            delays = [
                d.leaving.delay_ms
                for ends in ((flow.source, flow.sink), (flow.sink, flow.source))
                for d in layout.path(*ends)
            ]
            wanted = {3: 4.0, 7: 12.0, 8: 12.0 if flow.name == "source1" else 24.0}.get(number, 0.0)
            assert sum(delays) == pytest.approx(wanted * 1e3)
        lines = [device for device in layout.devices.values() if device.leaving.rate_bit_s == thesis.SLOW_BIT_S]
        assert {line.leaving.limit_packets for line in lines} == {thesis.CASES[number].buffers}


def test_entries_have_the_parameters_that_are_run() -> None:
    for entry in PAPER.entries:
        number = found.scenario_of(entry.id)
        if not number:
            continue
        case, own = thesis.CASES[number], entry.parameters
        assert own["scenario"] == number
        assert own["max_window_pkt"] in (case.window, None) and own.get("buffers_pkt") in (case.buffers, None)


def test_lines_of_six_users() -> None:
    """Each line of scenarios 7 and 8 has two files and four Poisson sources, whichever reading."""
    for number in (7, 8):
        for reading in ("each", "all"):
            _, plan = planned(JUDGED, "fq_rr", scenario=number, cross=reading)
            layout = lay_out(plan.topology)
            for line in range(3):
                passing = [
                    one.name
                    for one in plan.senders
                    if f"r{line}-r{line + 1}" in {device.name for device in layout.path(one.source, one.sink)}
                ]
                assert len(passing) == 6


def test_protocols_have_their_windows_timers_and_receivers() -> None:
    _, generic = planned("thesis_generic", "fcfs", scenario=2)
    assert generic.module_parameters == {"tcp_thesis": {"window": "5"}}
    assert generic.sysctls["s1"]["net.ipv4.tcp_reordering"] == "127"
    assert generic.topology.way("r0-r1").options == "flows 1 drop arriving no-aqm"
    _, decbit = planned("thesis_decbit", "decbit", scenario=6, panic="no")
    assert decbit.routes["d1"] == "quickack 1 congctl thesis_decbit"
    told = {"limit_packets": "40", "rate_bit_s": "80000", "factor_pct": "90", "panic_mode": "0"}
    assert decbit.module_parameters == {"tcp_thesis": {"window": "5"}, "sch_thesis": told}
    _, reno = planned("reno", "fq_rr", scenario=1)
    assert reno.routes["d1"] == "quickack 1 window 4800 advmss 960" and not reno.module_parameters
    _, pair = planned(JUDGED, "fq_rr", scenario=7)
    assert pair.routes["d1"] == "quickack 1 window 57600 advmss 960"
    _, pair = planned(JUDGED, "fq_rr", scenario=2)
    assert pair.routes["d1"] == "quickack 1 window 4800 advmss 960"
    _, pair = planned(JUDGED, "fq_rr", scenario=1, setpoint=2, pair_window="open")
    assert pair.module_parameters == {"tcp_pktpair": {"setpoint_packets": "2"}} and pair.routes["d1"] == "quickack 1"
    _, mixed = planned(JUDGED, "fq_rr", scenario=5, partner="generic")
    assert [flow.cc for flow in mixed.flows] == [JUDGED] * 2 + ["thesis_generic"] * 2
    assert "s3" in mixed.sysctls and "s1" not in mixed.sysctls
    _, cubic = planned("cubic", "fq_rr", scenario=1)
    assert not cubic.routes


def packed(rows: list[tuple[Any, ...]], kind: Any) -> str:
    return base64.b64encode(zlib.compress(np.array(rows, dtype=kind).tobytes())).decode()


def ack(at_s: float, port: int, packets: int, rtt_s: float, again: int = 0) -> str:
    told = f"sport={port} acked={packets * thesis.PAYLOAD_BYTES} delivered={packets} retrans={again}"
    return f" x-1 [000] ..s2. {1 + at_s:.6f}: ack: {told} rtt_us={round(rtt_s * 1e6)}"


def test_a_run_is_measured() -> None:
    """Scenario 4: a file of five packets a second, keys, and a source of which half is lost."""
    values, plan = planned("thesis_jk", "fq_rr", scenario=4, interval=10)
    lines = [ack(at / 5, plan.port(plan.flows[0]), at, 0.5 if at < 50 else 1.0, at // 100) for at in range(1, 350)]
    samples = [(0, 5, int(at * 1e9), 0, 0, 0, 0, 4, 0, 0, 0, 0, 0) for at in range(1, 70)]
    raw = {
        **{"trace": "\n".join(lines), "begin_s": 1.0, "samples": packed(samples, SAMPLE)},
        "flows": [{}, {"exchanges": [[int(at * 1e9), int((at + 0.25) * 1e9)] for at in range(5, 70, 5)]}],
        "sources": [{"sent": 700, "received": 350}],
        "received": packed([(0, 0, int(at * 2e8), 1000) for at in range(350)], RECEIVED),
        "qdiscs": {"r0-r1": [{"root": True, "drops": 353}]},
    }
    told = SCENARIO.measure(values, plan, raw)
    assert told["file_rate_1"] == pytest.approx(5, abs=0.02) and told["file_delay_1"] == 1.0
    assert (told["file_delay_deviation_1"], told["telnet_delay_deviation_2"]) == (0.0, 0.0)
    assert told["telnet_rate_2"] == 0.2 and told["telnet_delay_2"] == 0.25
    assert told["other_rate"] == pytest.approx(5, abs=0.02)
    assert (told["other_lost"], told["drops_of_tcp"], told["length_s"]) == (350, 3, 70.0)
    assert (told["most_window_1"], told["most_outstanding_1"]) == (5, 4)
    assert told["again_1"] == pytest.approx(3 / 60, abs=1e-3)


def test_delays_deviate_between_intervals() -> None:
    """Of the intervals' means; an interval without a delay leaves none."""
    measured = SCENARIO.module._told
    delays, places = np.array([1.0, 3.0, 5.0, 4.0, 4.0]), np.array([1, 1, 2, 3, 3])
    told = measured("file", "1", np.array([4.0, 5.0, 6.0]), delays, places)
    assert told == {
        **{"file_rate_1": 5.0, "file_deviation_1": 1.0},
        **{"file_delay_1": 3.4, "file_delay_deviation_1": pytest.approx(1.5275, abs=1e-4)},
    }
    assert measured("file", "1", np.array([4.0, 0.0, 6.0, 0.0]), delays, places)["file_delay_deviation_1"] is None
    one_period = measured("on_file", "1", np.array([4.0]), delays, np.ones(5))
    assert one_period["on_file_deviation_1"] is None and one_period["on_file_delay_deviation_1"] is None
    nothing = measured("telnet", "1", np.array([0.0, 0.0]), np.zeros(0), np.zeros(0))
    assert nothing["telnet_delay_1"] is None and nothing["telnet_delay_deviation_1"] is None


def test_spacings_are_of_the_first_sources_packets_and_acks() -> None:
    """Figure 6.21: a packet's payload over the pacing rate, and times between ACKs of one packet."""
    _, plan = planned(JUDGED, "fq_rr", scenario=7)
    first, second = (plan.port(flow) for flow in plan.flows)
    times = ((9.6, first, 1), (10.0, first, 2), (10.1, second, 1), (10.3, first, 3), (10.9, first, 5), (11.4, first, 6))
    times += ((20.5, first, 7),)
    packet = thesis.PAYLOAD_BYTES
    rates = ((0, 8.0, packet), (0, 10.0, 2 * packet), (1, 10.0, packet), (0, 12.0, 2**64 - 1), (0, 14.0, 0))
    rates += ((0, 16.0, 4 * packet),)
    raw = {
        **{"trace": "\n".join(ack(at, port, count, 12.0) for at, port, count in times), "begin_s": 1.0},
        "samples": packed([(flow, 5, int(at * 1e9), 0, rate, *[0] * 8) for flow, at, rate in rates], SAMPLE),
    }
    assert found.spacings(plan, raw, 10.0, 20.0) == {
        "sent": [[10.0, 0.5], [16.0, 0.25]],
        "acked": [[10.0, 0.4], [10.3, 0.3], [11.4, 0.5]],
    }


def test_curves_have_the_spacings_of_scenario_7() -> None:
    """From the middle of the sources' time, of packet pair alone."""
    values, plan = planned(JUDGED, "fq_rr", scenario=7, interval=40)
    port, rate = plan.port(plan.flows[0]), 5 * thesis.PAYLOAD_BYTES // 2
    raw = {
        **{"trace": "\n".join(ack(at / 2, port, at, 12.0) for at in range(1, 600)), "begin_s": 1.0},
        "samples": packed([(0, 5, int(at * 1e9), 0, rate, *[0] * 8) for at in range(0, 280, 2)], SAMPLE),
    }
    run = Run(SCENARIO, values, JUDGED, "fq_rr", 1, "", "", plan)
    study = SimpleNamespace(load=lambda _: {"raw": raw})
    measured = SimpleNamespace(runs=[run], digests={run: ""}, study=study)
    curves = front.curves(measured)  # type: ignore[arg-type]
    assert set(curves) == {"7 pp-fq", show.SPACINGS}
    for name, one in (("sent", 0.4), ("acked", 0.5)):
        assert {spacing for _, spacing in curves[show.SPACINGS][name]} == {one}
        assert (curves[show.SPACINGS][name][0][0], int(curves[show.SPACINGS][name][-1][0])) in ((140, 238), (140, 239))


def test_single_probes_are_of_scenario_3s_packet_pair() -> None:
    """Of one source, in one period: a packet's time of each train that gave a sample."""
    _, plan = planned(JUDGED, "fq_rr", scenario=3)
    assert plan.record.events == ("pktpair:pktpair_sample",)
    assert not planned("thesis_jk", "fq_rr", scenario=3)[1].record.events
    assert not planned(JUDGED, "fq_rr", scenario=7)[1].record.events
    told = [
        # when, whose, segments, s of them
        *((400, 20001, 1, 9.0), (451, 20001, 1, 0.2), (452, 20002, 1, 5.0), (453, 20001, 2, 0.2)),
        *((454, 20001, 1, 0.2), (601, 20001, 1, 9.0)),
    ]
    lines = [
        f" x-1 [000] ..s2. {at + 1:.6f}: pktpair_sample: sport={port} verdict=sample gap_ns={round(gap_s * 1e9)} "
        f"covered_segments={count}"
        for at, port, count, gap_s in told
    ]
    lines.insert(2, " x-1 [000] ..s2. 453.5: pktpair_sample: sport=20001 verdict=short gap_ns=0 covered_segments=0")
    raw = {"trace": "\n".join(lines), "begin_s": 1.0}
    jump = SCENARIO.module._greatest_jump
    assert jump(raw, 20001, 450, 600) == 1.0
    assert jump(raw, 20002, 450, 600) is None


@pytest.mark.parametrize("length", LENGTHS)
def test_all_that_is_judged_is_run(length: str) -> None:
    """No check of a campaign's rows lacks a run."""
    asked = Asked(length, 1)
    keys = set()
    for request in front.requests(asked):
        (values,) = SCENARIO.values(SCENARIO.axes(request.settings))
        run = type("Run", (), {"values": values, "cc": request.ccs[0], "qdisc": request.qdiscs[0]})
        keys.add(front.key_of(run))  # type: ignore[arg-type]
    assert len(keys) == len(front.requests(asked))
    points = {key: made_up(key) for key in keys}
    for row in found.rows(points, [1], {}):
        assert row["measured"] is not None, row


@pytest.mark.parametrize(
    ("number", "window", "reading"),
    [(1, "open", ""), (1, "thesis", found.WINDOW_OF_FIVE), (6, "thesis", ""), (6, "open", found.OPEN_WINDOW)],
)
def test_packet_pairs_window_is_what_its_tables_have(number: int, window: str, reading: str) -> None:
    """More than five packets are outstanding in the table of scenario 1, and in none of the others."""
    published = next(one for one in PAPER.entries if one.id == f"th-s{number}-pp-fq").published
    rates, delays = (published.get(f"ftp_{name}") or published[name] for name in ("throughput_pkt_s", "delay_s"))
    outstanding = max(rates[one][0] * delays[one][0] for one in rates if one in delays)
    assert (outstanding > thesis.CASES[number].window) is (front.pair_window(number) == "open")
    (values,) = SCENARIO.values(SCENARIO.axes([f"scenario={number}", f"pair_window={window}"]))
    assert front.reading_of(values) == reading


def made_up(key: Key) -> dict[str, Any]:
    """Figures of any run."""
    case = thesis.CASES[key.scenario]
    told: dict[str, Any] = {"length_s": 100.0, "sum": 9.0, "file_jain": 1.0, "other_rate": 5.0, "other_lost": 500}
    told |= {"drops_of_tcp": 0, "drops_measured": 0, "drops_rate": 0.0, "on_other_rate": 3.0}
    for number in range(1, case.files + case.telnets + 1):
        for kind in ("file", "telnet", "on_file", "off_file"):
            told |= {f"{kind}_rate_{number}": 1.0, f"{kind}_delay_{number}": 1.0, f"{kind}_deviation_{number}": 0.1}
        told |= {f"again_{number}": 0.0, f"most_window_{number}": 5, f"most_outstanding_{number}": 5}
        told |= {f"window_off_{number}": [40, 40], f"probe_jump_on_{number}": 1.0}
    return told


def test_nothing_is_passed_that_was_not_run() -> None:
    rows = found.rows({}, [1], {})
    assert len(rows) == sum(len(entry.checks) for entry in PAPER.entries)
    assert all(row["measured"] is None and row["pass"] is False and row["not_measured"] for row in rows)


def test_the_others_stand_in_packet_pairs_and_jks_place() -> None:
    points = {
        Key(1, cc, "fq_rr"): made_up(Key(1, cc, "fq_rr")) for cc in (JUDGED, "pktpair", "cubic", "thesis_jk", "reno")
    }
    points[Key(1, "cubic", "fq_rr")]["drops_measured"] = 3
    rows = {(row["id"], row["number"]): row for row in found.rows(points, [1], {})}
    beside = rows["th-s1-pp-fq", 4]["beside"]
    assert {cc: one["pass"] for cc, one in beside.items()} == {"pktpair": True, "cubic": False}
    assert list(rows["th-s1-jk-fq", 4]["beside"]) == ["reno"] and rows["th-s1-g-fq", 4]["measured"] is None
    with pytest.raises(NotMeasuredError, match="s1 thesis_generic fq_rr was not run"):
        Found(points, 1, "g-fq").of("sum")


def test_bounds_are_those_of_the_paper() -> None:
    """A figure within them passes, and one beyond does not."""
    points = {Key(1, *pair): made_up(Key(1, *pair)) for pair in PAIRS.values()}
    own = points[Key(1, *PAIRS["g-fcfs"])]
    for rate, passes in ((4.99, True), (4.75, True), (4.73, False), (5.23, True), (5.25, False)):
        own |= {"file_rate_1": rate, "file_rate_2": 4.99}
        assert row_of(points, "th-s1-g-fcfs", 0)["pass"] is passes
    own |= {"telnet_delay_3": 1.0, "telnet_delay_4": 1.0}
    points[Key(1, *PAIRS["g-fq"])] |= {"telnet_delay_3": 0.1, "telnet_delay_4": 0.1}
    assert row_of(points, "th-s1-claims", 0)["pass"] is True
    points[Key(1, *PAIRS["g-fq"])] |= {"telnet_delay_3": 1.0, "telnet_delay_4": 1.0}
    assert row_of(points, "th-s1-claims", 0)["pass"] is False


def test_an_order_is_asked_of_a_stand_in_on_the_better_side_alone() -> None:
    """A shorter delay than G's, more throughput than JK's and a ratio nearer to 1 are no worse."""
    queued = {name: pair for name, pair in PAIRS.items() if pair[1] == "fq_rr"}
    points = {
        Key(number, cc, queue): made_up(Key(number, cc, queue))
        for number in (1, 7, 8)
        for cc, queue in (*PAIRS.values(), ("pktpair", "fq_rr"), ("reno", "fq_rr"))
    }
    points[Key(1, *queued["pp-fq"])] |= {"file_delay_1": 1.2, "file_delay_2": 1.2}
    points[Key(1, "pktpair", "fq_rr")] |= {"file_delay_1": 0.7, "file_delay_2": 0.7}
    row = row_of(points, "th-s1-claims", 4)
    assert row["pass"] is True and row["beside"]["pktpair"]["pass"] is None
    points[Key(7, *queued["pp-fq"])]["sum"] = points[Key(7, "reno", "fq_rr")]["sum"] = 9.5
    points[Key(7, "pktpair", "fq_rr")]["sum"] = 8.5
    beside = row_of(points, "th-s7-claims", 0)["beside"]
    assert {name: one["pass"] for name, one in beside.items()} == {"pktpair": False, "reno": None}
    points[Key(8, "thesis_generic", "fcfs")]["file_rate_2"] = 1.8
    assert row_of(points, "th-s8-claims", 0)["beside"]["pktpair"]["pass"] is None
    mixes = [Key(5, *mix) for mix in found.MIXES.values()] + [Key(5, cc, "fq_rr", "generic") for cc in ("bbr", "reno")]
    points = {key: {**made_up(key), "file_rate_3": 0.5, "file_rate_4": 0.5} for key in mixes}
    assert row_of(points, "th-s5-pp-g-fq", 0)["beside"]["bbr"]["pass"] is True
    points[Key(5, "reno", "fq_rr", "generic")] |= {"file_rate_1": 2.0, "file_rate_2": 2.0}
    beside = row_of(points, "th-s5-pp-g-fq", 2)["beside"]
    assert {name: one["pass"] for name, one in beside.items()} == {"bbr": False, "reno": None}


def row_of(points: found.Points, name: str, number: int) -> dict[str, Any]:
    return next(row for row in found.rows(points, [1], {}) if (row["id"], row["number"]) == (name, number))


def test_the_goal_is_strict() -> None:
    """To two digits: less than another's share, or more loss, is a miss."""
    ours, other = Key(1, "pktpair", "fq_rr"), Key(1, "thesis_jk", "fq_rr")
    for rate, loss, met in ((4.8, 0.0, True), (4.7, 0.0, False), (4.8, 0.02, False), (5.0, 0.0, True)):
        points = {ours: made_up(ours), other: {**made_up(other), "file_rate_1": 4.8, "file_rate_2": 4.8}}
        points[ours] |= {"file_rate_1": rate, "file_rate_2": 5.0, "drops_rate": loss}
        (goal,) = found.goals(points)
        assert goal["met"] is met and goal["beside"] == "jk-fq"


def recorded() -> dict[Key, dict[str, Any]]:
    kept = json.loads(RECORDED.read_text())
    return {
        Key(**{name: one[name] for name in ("scenario", "cc", "queue", "own", "reading")}): one["metrics"]
        for one in kept["points"]
    }


def test_recorded_results_are_judged() -> None:
    """What the real stack gave once: a change of a judge that turns a verdict is noticed."""
    rows = found.rows(recorded(), [1], show.WHY)
    verdicts = {f"{row['id']} {row['number']}": row["pass"] for row in rows if row["measured"] is not None}
    assert verdicts == json.loads(RECORDED.read_text())["verdicts"]
    assert all(name in verdicts and not verdicts[name] for name in show.WHY)
    assert rows[-1]["id"] == CONCLUSION


def test_rows_state_their_runs() -> None:
    """Those of the conclusion are all that its claims rest on."""
    keys = [
        *(Key(number, *pair) for number in thesis.CASES for pair in PAIRS.values()),
        *(Key(5, *mix) for mix in found.MIXES.values()),
        Key(1, JUDGED, "fq_rr", found.SET_POINT_2),
    ]
    points = {key: {**made_up(key), "length_s": 100.0 * key.scenario} for key in keys}
    rows = found.rows(points, [1], {})
    known = [row for row in rows if row["measured"] is not None]
    assert len(known) == len(rows)
    assert all(row["length_s"] and row["cc"] and row["qdisc"] and row["seeds"] == [1] for row in known)
    end = rows[-1]
    claims = [row for row in known if row["id"].endswith("-claims")]
    assert set(end["parameters"]) == {name for row in claims for name in row["parameters"]}
    assert end["length_s"] == 800.0 and end["preset"] == "1994"
    assert set(end["cc"].split(", ")) == {cc for cc, _ in PAIRS.values()}
    missing = found.rows({}, [1], {})[-1]
    assert missing["length_s"] is None and not missing["parameters"] and not missing["seeds"]


def tabled(scenario_number: int, cc: str, queue: str, own: str = "", **metrics: Any) -> dict[str, Any]:
    """A table's rows, by source and period, of one pair."""
    data = {"points": [{**vars(Key(scenario_number, cc, queue, own)), "metrics": metrics}]}
    table = show.table_of(data, scenario_number)
    assert all(len(row) == len(table.head) for row in table.rows)
    return {f"{row[0]}, {row[1]}": tuple(row[2:]) for row in table.rows}


def test_tables_have_what_is_published_beside_what_was_measured() -> None:
    """Throughput, delay, drops and what was sent again: files, Telnet sources, and those without flow control."""
    rates = {f"file_rate_{n}": 1.666 for n in range(1, 7)}
    rows = tabled(2, "thesis_generic", "fcfs", **rates, again_1=0.013, telnet_delay_7=2.5, drops_rate=0.21)
    assert rows["g-fcfs, 1"] == ("1.69 / 1.67", "3.19 / -", "0.02 / -", "0.02 / 0.01")
    assert rows["g-fcfs, 7"] == ("0.05 / -", "2.3 / 2.5", "0.06 / -", "0.04 / -")
    assert rows["g-fcfs, all"] == ("", "", "0.24 / 0.21", "") and len(rows) == 9
    rows = tabled(3, JUDGED, "fq_rr", off_file_rate_1=4.9, on_other_rate=3.2, on_file_delay_2=6.0, on_again_2=0.05)
    assert rows["pp-fq off, 1"] == ("4.92 / 4.9", "", "0.0 / -", "0.0 / -")
    assert rows["pp-fq on, 2"] == ("3.35 / -", "- / 6.0", "0.05 / -", "0.06 / 0.05")
    assert rows["pp-fq on, Bkg"] == ("3.23 / 3.2", "", "1.65 / -", "0.0 / -") and len(rows) == 7
    rows = tabled(4, "thesis_jk", "fcfs", other_rate=7.6, drops_rate=0.1)
    assert rows["jk-fcfs, 3"][0] == "7.62 / 7.6" and rows["jk-fcfs, all"][2] == "0.0 / 0.1"
    rows = tabled(5, "thesis_jk", "fcfs", "generic", file_rate_4=3.2, file_delay_4=1.5)
    assert rows["jk-fcfs generic, G2"] == ("3.21 / 3.2", "1.56 / 1.5", "0.0 / -", "0.0 / -")
    rows = tabled(1, JUDGED, "fq_rr", found.SET_POINT_2, file_delay_1=0.5)
    assert rows["pp-fq setpoint 2, 1"][1] == "0.85 / 0.5" and len(rows) == 5
    assert tabled(8, "bbr", "fq_rr", file_rate_2=0.77)["bbr-fq_rr, 2"] == ("- / 0.77", "", "", "")


def test_a_box_is_the_confidence_of_six_intervals() -> None:
    """Throughput and delay to each side; of a recorded result without the delay's deviation, throughput alone."""
    assert show.half_box(1.0) == pytest.approx(2.5706 / 6**0.5, abs=1e-4) and show.half_box(None) == 0
    metrics = {"file_rate_1": 5.0, "file_delay_1": 1.0, "file_deviation_1": 0.2}
    for known, high in (({"file_delay_deviation_1": 0.1}, 2 * show.half_box(0.1)), ({}, 0.0)):
        axes = Figure().add_subplot()
        show._box(axes, {**metrics, **known}, 1, ("black", "FIFO"))
        (box,) = axes.patches
        assert (box.get_width(), box.get_height()) == pytest.approx((2 * show.half_box(0.2), high))
        assert box.get_center() == pytest.approx((5.0, 1.0))
    axes = Figure().add_subplot()
    show._box(axes, {}, 1, ("black", "FIFO"))
    assert not axes.patches and not axes.lines


def test_it_is_drawn() -> None:
    kept = json.loads(RECORDED.read_text())
    kept["curves"][show.SPACINGS] = {"sent": [[10.0, 0.5], [12.0, 0.4]], "acked": [[10.0, 0.3], [10.3, 0.4]]}
    section = show.section({**kept, "goals": found.goals(recorded())})
    pictures = [base64.b64decode(one.picture.partition("base64,")[2]).decode() for one in section.figures]
    assert len(pictures) == len(show.FIGURES) and all("pp-fq" in pictures[0] for _ in pictures[:1])
    assert "between ACKs" in pictures[list(show.FIGURES).index("6.21, scenario 7")]
    assert section.tables[0].rows and len(section.tables) == len(thesis.CASES)
    assert {one.what.partition(":")[0] for one in section.goals} >= {"Scenario 1", "Scenario 8"} and section.verdict
    assert show.section({}).figures, "of nothing, empty figures"
