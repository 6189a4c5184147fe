# SPDX-License-Identifier: GPL-2.0
"""lab router: which runs there are, what is measured of one, and by what it is judged."""

import base64
import json
import re
import zlib
from dataclasses import replace

import fake_lab
import numpy as np
import pytest
from lab import cli
from lab.analyse import router as found
from lab.analyse.figures import RECEIVED, Acks, Figures
from lab.front import measuring, router
from lab.front.router import CASES, QUICK
from lab.model.errors import PlanError, RunError
from lab.model.scenario import load
from lab.show import router_tables, rst
from lab.store.sweep import planned

CASE = "8-20-20"


def runs_of(names, seeds=1):
    return [run for request in router.requests(names, seeds) for run in planned(request, [("6.1", "")])]


def test_the_cases_are_all_combinations_but_the_slowest():
    assert len(CASES) == 16
    assert not [case for case in CASES.values() if (case.flows, case.rate_mbit) == (50, 2)]
    runs = runs_of(CASES)
    # three congestion controls over three queues; of several flows half of each, and once without delay control
    assert len(runs) == 16 * 9 + 10 * 4
    assert {run.qdisc for run in runs if run.values["options"]} == {"fq_rr"}


def test_flows_are_half_and_half_and_send_their_packets():
    for run in runs_of([CASE, "50-20-100"]):
        flows = run.plan.measured
        groups = {cc: len(group) for cc, group in found.groups(run.plan).items()}
        assert groups == ({"pktpair": len(flows) / 2, "cubic": len(flows) / 2} if run.values["beside"] else
                          {run.cc: len(flows)})  # fmt: skip
        begin_s, end_s = run.plan.window_s
        packets = (end_s - begin_s) * run.values["rate_mbit"] * 1e6 / 8 / 1500
        assert packets >= 500 * len(flows) and end_s - begin_s >= 5 - 1e-3


def test_one_flow_is_not_half_and_half():
    one = load("router")
    with pytest.raises(PlanError, match="beside=cubic: flows=1: must be at least 2"):
        one.plan({**{name: p.default for name, p in one.parameters.items()}, "flows": 1, "beside": "cubic"},
                 "pktpair", "fq_rr", 1)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--case", "8-20-21"], "--case 8-20-21: must be one of the 17 cases that --list shows"),
        (["--seeds", "11"], "--seeds: 11: must be at most 10"),
        (["--seeds", "0"], "--seeds: 0: must be at least 1"),
    ],
)
def test_bad_input_names_the_value_and_the_limit(words, message, capsys):
    try:
        status = cli.main(["router", *words])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert message in capsys.readouterr().err


def row(**more):
    asked = {"case": CASE, "flows": 8, "rate_mbit": 20.0, "path_s": 0.02, "qdisc": "fq_rr", "options": "", "seed": 1}
    counts = {**dict.fromkeys(("retransmits", "retransmits_settled", "drops", "marks"), 0), "packets": 500}
    figures = {"delay_p50_s": 0.05, "delay_p99_s": 0.1, "goodput_mbit": 19.0, **counts}
    return {**asked, "cc": "cubic", "beside": "", **figures, **dict.fromkeys(found.ASKED, 0.02), **more}


def beside_peers(**ours):
    return found.judge([row(**ours), row(qdisc="fq_codel", goodput_mbit=19.1), row(qdisc="cake", delay_p99_s=0.2)])


def test_as_good_as_the_peers_meets_every_goal():
    verdicts = beside_peers()
    assert len(verdicts) == 6 and all(one.met for one in verdicts)


@pytest.mark.parametrize(
    ("figure", "limit", "worse"),
    [
        # 1.05 of the better peer's; ten packets of a flow at its share are 48 ms
        ("delay_p50_s", 0.0525, 0.0526),
        ("delay_p99_s", 0.105, 0.1051),
        # 0.99 of 19.0, since 0.97 of 19.1 is less
        ("goodput_mbit", 18.81, 18.80),
        # and one full packet's time
        ("probe_p99_s", 0.0206, 0.0207),
        ("request_p99_s", 0.0206, 0.0207),
        ("name_p99_s", 0.0206, 0.0207),
    ],
)
def test_each_goal_has_its_limit(figure, limit, worse):
    def goal(value):
        return next(one for one in beside_peers(**{figure: value}) if one.name == figure)

    assert goal(limit).limit == pytest.approx(limit, abs=1e-9)
    assert goal(limit).met and not goal(worse).met


def test_ten_packets_of_a_slow_flow_are_allowed():
    verdicts = found.judge([row(delay_p50_s=0.048), row(qdisc="fq_codel", delay_p50_s=0.005), row(qdisc="cake")])
    assert next(one for one in verdicts if one.name == "delay_p50_s").met


def test_half_of_the_flows_is_judged_by_the_goodput_of_all():
    def verdicts(cubic_mbit, pair_mbit, **ours):
        pair = {"cc": "pktpair", "beside": "cubic"}
        shares = {"fq_rr": (cubic_mbit, pair_mbit), "fq_codel": (12.0, 7.1), "cake": (9.5, 9.5)}
        rows = [row(beside="pktpair", qdisc=queue, goodput_mbit=share[0], **(ours if queue == "fq_rr" else {}))
                for queue, share in shares.items()]  # fmt: skip
        rows += [row(**pair, qdisc=queue, goodput_mbit=share[1]) for queue, share in shares.items()]
        # without delay control it is another run
        rows.append(row(**pair, options="no-aqm", goodput_mbit=5.0))
        return {one.name: one for one in found.judge(rows) if one.cc == "cubic beside pktpair"}

    met = verdicts(9.4, 9.41)
    assert len(met) == 6 and all(one.met for one in met.values())
    assert met["goodput_mbit"].limit == pytest.approx(18.81)
    assert not verdicts(9.4, 9.40)["goodput_mbit"].met
    assert not verdicts(9.4, 9.41, delay_p99_s=0.1051)["delay_p99_s"].met


def test_packet_pair_meets_no_delay_control():
    pair = {"cc": "pktpair", "beside": "cubic"}

    def missed(**ours):
        verdicts = found.judge([row(**pair, **ours), row(**pair, options="no-aqm")])
        assert len(verdicts) == 2
        return [one.name for one in verdicts if not one.met]

    assert missed(delay_p99_s=0.11) == []
    assert missed(delay_p99_s=0.1101) == ["delay_p99_s"]
    # it may while it follows a share that fell
    assert missed(retransmits=1) == []
    assert missed(retransmits=1, retransmits_settled=1) == ["retransmits_settled"]


def test_when_a_share_last_fell_to_less_than_half():
    starts_s = [number / 10 for number in range(8)]
    # the first has all, then a third (of three), then a seventh; the second half, a fifth; the fourth and later no less
    # than half of what they began with
    assert [found.fell_s(starts_s, one) for one in starts_s] == [0.6, 0.4, 0.6, None, None, None, None, None]
    assert found.fell_s([0.0, 0.0], 0.0) is None


def test_round_trips_are_counted_from_packet_to_packet():
    # sent at 0, 1, 2, ...; each takes two, the one sent at 3 is not timed
    sent_s = np.arange(10.0)
    rtt_s = np.where(sent_s == 3, 0.0, 2.0)
    nothing = np.zeros(10)
    seen = Acks(sent_s + 2, rtt_s, nothing, nothing, nothing, nothing)
    assert [found.settled_s(seen, 0.5, times) for times in (0, 1, 2)] == [0.5, 3.0, 6.0]
    assert found.settled_s(seen, 0.5, 5) == float("inf")


def test_what_was_dropped_while_a_share_fell_is_sent_again_later():
    # a round trip takes 1 s; packets of 100 bytes, one each second; those of 0 and 1 s are dropped, and sent again at
    # 7 and 8 s, between others
    time_s = np.arange(1.0, 21.0)
    ones = np.ones(20)
    retransmits = (time_s > 7).astype(float) + (time_s > 8)
    sent = 100 * (time_s + retransmits)
    acked = np.where(time_s > 8, 100 * time_s, 0.0)
    seen = Acks(time_s, ones, acked, ones, retransmits, sent)
    # five round trips are over at 6 s, and what was sent by then is acknowledged at 9 s
    assert found.settled_s(seen, 0.5, 5) == 6.0 and found.settled_s(seen, 0.5, 6) == 7.0
    assert found.delivered_s(seen, 6.0, 100) == 9.0 and found.followed_s(seen, 0.5, 100) == 9.0
    assert seen.at(seen.retransmits, 9.0) == 2
    # acknowledged when it is heard of, never, or in a trace that does not tell
    assert found.followed_s(replace(seen, acked_bytes=100 * time_s), 0.5, 100) == 7.0
    assert found.followed_s(replace(seen, acked_bytes=0 * time_s), 0.5, 100) == float("inf")
    assert found.followed_s(replace(seen, sent_bytes=np.nan * ones), 0.5, 100) == 7.0


def test_what_has_no_peer_is_not_judged():
    assert found.judge([row(), row(qdisc="cake")]) == []
    assert found.judge([row(qdisc="cake")]) == []


def test_the_flow_that_sent_fewest_packets_tells_whether_runs_were_long_enough():
    (fewest,) = found.judge_lengths([row(), row(cc="bbr", packets=499), row(qdisc="cake", packets=9)])
    assert (fewest.cc, fewest.measured, fewest.met) == ("bbr", 499, False)
    assert found.judge_lengths([row()])[0].met and found.judge_lengths([]) == []


def test_means_over_seeds_are_judged():
    verdicts = found.judge(
        [row(delay_p99_s=0.05), row(delay_p99_s=0.155, seed=2), row(qdisc="fq_codel"), row(qdisc="cake")]
    )
    one = next(one for one in verdicts if one.name == "delay_p99_s")
    assert one.measured == pytest.approx(0.1025) and one.met


def test_a_page_is_no_later_than_over_cake():
    def pages(ours):
        took = [("fq_rr", ours), ("cake", 1.0), ("cake", 2.0)]
        return [{"case": "page", "qdisc": queue, "seed": 1, "page_s": page_s} for queue, page_s in took]

    assert [one.met for one in found.judge_pages(pages(1.5))] == [True]
    assert [one.met for one in found.judge_pages(pages(1.501))] == [False]
    assert found.judge_pages(pages(1.0)[:1]) == []


def test_a_page_has_ten_seeds_and_all_of_its_bytes():
    runs = runs_of(["page"])
    assert {(run.qdisc, run.seed) for run in runs} == {(q, seed) for q in ("fq_rr", "cake") for seed in range(1, 11)}
    for run in runs:
        page = [flow for flow in run.plan.flows if flow.background]
        assert len(page) == 20
        assert sum(one.response_bytes for flow in page for one in flow.exchanges) == 2_000_000


def test_marks_of_each_queue_are_counted():
    assert found.marks([{"kind": "fq_rr", "marks_aqm": 3, "marks_ce": 0}]) == 3
    assert found.marks([{"kind": "fq_codel", "ecn_mark": 4}]) == 4
    assert found.marks([{"kind": "cake", "tins": [{"ecn_mark": 5}, {"ecn_mark": 1}]}]) == 6
    assert found.marks([{"kind": "fq_rr", "marks_aqm": None}]) == 0


def ack_line(time_s, port, rtt_us, acked, retrans):
    return (
        f" x-1 [000] b.s2. {time_s:.6f}: ack: sport={port} rtt_us={rtt_us} acked={acked} delivered={acked // 1448}"
        f" retrans={retrans}"
    )


def raw_of(run, pair_rtt_us=30_000):
    """CUBIC's packets wait for 50 ms, packet pair's for 10, of which one flow loses one a second into the window."""
    begin_s, end_s = run.plan.window_s
    lines = []
    for flow in run.plan.measured:
        rtt_us = pair_rtt_us if flow.cc == "pktpair" else 70_000
        for number, at_s in enumerate(np.arange(0.5, end_s, 0.01)):
            lost = int(flow.name == "f1" and at_s > begin_s + 1)
            lines.append(ack_line(100 + at_s, run.plan.port(flow), rtt_us, 1448 * number, lost))
    records = np.zeros(10, dtype=RECEIVED)
    records["sent_ns"] = np.linspace(begin_s + 0.1, end_s - 0.1, 10) * 1e9
    records["delay_ns"] = 2_000_000
    # among the starts it takes long, which is not of the window
    asked_ns = [(0, 900_000_000), *((at, at + 20_000_000) for at in records["sent_ns"].astype(int).tolist())]
    answers = [{"name": flow.name, "exchanges": asked_ns} for flow in run.plan.flows if flow.background]
    return {
        "trace": "\n".join(lines),
        "begin_s": 100.0,
        "received": base64.b64encode(zlib.compress(records.tobytes())).decode(),
        "flows": [
            *(
                {"name": flow.name, "data_packets_sent": 600 + index, "mss_bytes": 1448}
                for index, flow in enumerate(run.plan.measured)
            ),
            *answers,
        ],
        "qdiscs": {"r-x": [{"kind": "fq_rr", "marks_aqm": 2}]},
    }


def test_a_group_has_the_figures_of_its_own_flows():
    (run,) = [run for run in runs_of([CASE]) if run.values["beside"] and run.values["options"]]
    metrics = found.metrics(run.plan, raw_of(run))
    assert metrics["pktpair_delay_p99_s"] == pytest.approx(0.010, abs=1e-3)
    assert metrics["cubic_delay_p99_s"] == pytest.approx(0.050, abs=1e-3)
    assert (metrics["pktpair_retransmits"], metrics["cubic_retransmits"]) == (1, 0)
    assert (metrics["pktpair_retransmits_settled"], metrics["cubic_retransmits_settled"]) == (1, 0)
    assert (metrics["pktpair_packets"], metrics["cubic_packets"]) == (600, 601)
    asked = {name: metrics[name] for name in (*found.ASKED, "marks")}
    assert asked == {"probe_p99_s": 0.002, "request_p99_s": 0.02, "name_p99_s": 0.02, "marks": 2}


def test_what_is_lost_while_a_share_is_followed_is_counted_apart():
    (run,) = [run for run in runs_of([CASE]) if run.values["beside"] and run.values["options"]]
    # f1's share fell to a seventh before the window, and it loses one within six round trips of 0.6 s
    metrics = found.metrics(run.plan, raw_of(run, pair_rtt_us=600_000))
    assert (metrics["pktpair_retransmits"], metrics["pktpair_retransmits_settled"]) == (1, 0)


class Known(fake_lab.FakeEngine):
    """Has what the scenario needs."""


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign of which nothing is measured: a command's status and summary."""
    (tmp_path / "engine").mkdir()
    engine = Known(tmp_path / "engine")

    def of_run(run, raw):
        own = {name: row()[name] for name in found.OF_GROUP}
        metrics = {f"{cc}_{name}": value for cc in found.groups(run.plan) for name, value in own.items()}
        return Figures(metrics={**metrics, **{name: row()[name] for name in found.OF_RUN}, "kernel_warnings": 0})

    monkeypatch.setattr(measuring, "figures_of", of_run)
    monkeypatch.setattr(router, "in_guests", lambda program, run: run(engine))

    def done(*words):
        status = cli.main(["router", "--out", str(tmp_path / "out"), *words])
        return status, json.loads((tmp_path / "out" / "summary.json").read_text())

    return done


def test_a_campaign_has_a_row_for_each_group_of_each_run(campaign, capsys):
    status, summary = campaign("--quick")
    assert status == 0
    assert len(summary["rows"]) == sum(len(found.groups(run.plan)) for run in runs_of(QUICK))
    assert {"case", "flows", "cc", "rate_mbit", "path_s", "qdisc", "seed", "delay_p50_s", "delay_p99_s",
            "goodput_mbit", "probe_p99_s", "drops", "marks"} <= set(summary["rows"][0])  # fmt: skip
    assert {"commit", "kernel", "modules", "clock"} <= set(summary)
    assert all(goal["met"] for goal in summary["goals"]) and summary["goals"]
    assert f"{len(summary['goals'])} of {len(summary['goals'])} goals are met" in capsys.readouterr().out


def test_the_documented_tables(tmp_path, monkeypatch):
    """Cells are of the queues in their order, missed goals are listed, and the text around them stays."""
    page = tmp_path / "router.rst"
    page.write_text(f"head\n\n{rst.begin(router_tables.COMMAND)}\n\nstale\n\n{rst.END}\n\nfoot\n")
    pair = {"cc": "pktpair", "beside": "cubic"}
    rows = [
        row(),
        row(seed=2, delay_p50_s=0.07, retransmits=3),
        row(qdisc="fq_codel", delay_p50_s=0.0012, retransmits=7),
        row(qdisc="cake", delay_p99_s=0.2),
        row(**pair, retransmits=5),
        row(**pair, options="no-aqm", delay_p50_s=0.002),
    ]
    pages = [{"qdisc": queue, "seed": 1, "page_s": took} for queue, took in (("fq_rr", 0.9), ("cake", 0.8))]
    goals = [
        one.as_data() for one in (*found.judge(rows), *found.judge_pages([{**one, "case": "page"} for one in pages]))
    ]
    about = {"commit": "abcdef0", "kernel": "6.1.0", "cpu_seconds": 12.3}
    router_tables.document(page, {**about, "rows": rows, "pages": pages, "goals": goals})
    text = page.read_text()
    assert text.startswith("head\n") and text.endswith("foot\n") and "stale" not in text
    assert "commit abcdef0 on Linux 6.1.0: 6 rows, seeds 1, 2 (the page: 1 of them)" in text
    assert re.search(
        r"^8-20-20 +60, 100; 1\.2, 100; 50, 200 +\\-; \\-; \\- +\\-; \\-; \\- +2, 7, 0 +\\-, \\-, \\-$", text, re.M
    )
    assert re.search(r"^8-20-20 +50, 100; 5 +2, 100; 0 +\\- +\\-$", text, re.M)
    assert "fq_rr 0.900 s, cake 0.800 s." in text
    missed = [goal for goal in goals if not goal["met"]]
    assert f"Missed: {len(missed)}." in text and text.count("\n* ") == len(missed) > 1
    assert "\n* page, cubic: page_s <= 0.8, measured 0.9\n" in text
    monkeypatch.setattr(router, "in_guests", lambda program, run: run(None))
    with pytest.raises(PlanError, match="--document writes what all cases gave"):
        router.main(cli.parse(["router", "--quick", "--document"]))


def test_nothing_acknowledged_is_said():
    (run,) = [run for run in runs_of(["1-2-20"]) if (run.cc, run.qdisc) == ("cubic", "fq_rr")]
    line = ack_line(100.5, run.plan.port(run.plan.measured[0]), 30_000, 1448, 0)
    with pytest.raises(RunError, match=r"no flow of cubic was acknowledged from"):
        found.metrics(run.plan, {"trace": line, "begin_s": 100.0})
