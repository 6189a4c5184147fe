# SPDX-License-Identifier: GPL-2.0
"""QLBP 2011 of lab reproduce: every check has a row, what it needs is run, and each judge can say yes and no."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.analyse import pacing
from lab.analyse import qlbp as found
from lab.analyse.packet_pair import Point
from lab.analyse.qlbp import BUFFERS, DEFAULT, JUDGED, JUDGES, NONE, STOCK_PACING, TCP, TEXT, Found, core, on_off, trace
from lab.front import qlbp as front
from lab.front import reproduce
from lab.front.paper import LENGTHS, QUICK, USUAL, Asked
from lab.model import qlbp, scenario
from lab.model.errors import PlanError
from lab.show import qlbp as show
from lab.store.sweep import planned

SCENARIO = scenario.load("qlbp-2011")
# Figures of the runs of a quick campaign that was stopped before its last ones, and what was judged of them.
RECORDED = Path(__file__).with_name("recorded-qlbp.json")
BY_ID = found.entries()
RATES = ("1", "2", "4", "6", "8", "10", "12", "15")
Metrics = dict[str, dict[str, Any]]


def as_published() -> Metrics:
    """Metrics with which the paper's statements hold, by the names of runs."""
    rates: dict[str, Any] = {}
    for row in BY_ID["ql-tab2"].published["rows"]:
        name = f"r{row['rate_bit_s'] / 1e6:g}"
        rates |= {f"{name}_queue": row["q_pkt"], f"{name}_delay_s": row["pacing_delay_s"]}
        rates[f"{name}_delay_max_s"] = row["pacing_delay_s"]
    told: Metrics = {
        "rates": rates,
        "prototype": {"r0.2_queue": 0, "r0.2_bit_s": 0.2e6, "r3_queue": 1, "r3_bit_s": 3e6},
        "bursts": {"rule_error_mean": 0.0001, "rule_error_p99": 0.01},
        "tcp none": {"gap_cov": 1.3, "first_tenth": 0.9},
        "tcp qlbp": {"gap_cov": 0.3, "first_tenth": 0.1},
        "step": {
            **{"alpha_per_s": qlbp.tandem_rule(160).alpha_per_s, "thumb_mu_max_Bps": 90e6 / 8},
            **{"thumb_mu_min_Bps": 40e6 / 8, "thumb_q_max_bytes": 112_500},
            **{"oc12_300_pacing_bound_ns": 4e6, "oc12_600_pacing_bound_ns": 2e6},
        },
    }
    theory = BY_ID["ql-fig15"].derived["theory_relative_CoV_by_qmax_for_1_2_3_pacers"]
    for q_max in qlbp.TANDEM_CUTOFFS:
        alpha = qlbp.tandem_rule(q_max).alpha_per_s
        own: dict[str, Any] = {f"relative_cov_{n}": one for n, one in enumerate(theory[str(q_max)], 1)}
        own |= {f"relative_mean_{n}": 1.0 for n in qlbp.PACERS}
        own |= {"autocovariance_before": [1.0, 0.9], "autocovariance_behind": [alpha / (alpha + 15), 0.8]}
        told[on_off(q_max)] = own
    for place, q_max in enumerate(qlbp.TRACE_CUTOFFS):
        # the more of the scales, the larger the cutoff
        behind = [0.5] * (2 + place) + [0.99] * (9 - place)
        told[trace(q_max)] = {"cov_before": [1.0] * 11, "cov_behind": behind}
    for pacing_, used in ((NONE, 0.3), (10, 0.55), (20, 0.6), (40, 0.65), (80, 0.75), (160, 0.97), (TCP, 0.7)):
        for place, buffer in enumerate(BUFFERS):
            told[core(pacing_, buffer)] = {"used": used + place * 0.005, "used_bar": 0.001}
    for tail, (word, pacing_) in zip((0.1, 0.05, 0.01), found.TECHNIQUES.items(), strict=True):
        row = found.published_table_3()[word]
        told[core(pacing_, 12)] |= {
            **{"used": row["utilisation"], "delay_mean_s": row["delay_mean_s"], "tail": tail, "delay_p999_s": tail},
        }
    # the curves of figure 18 and table III are of one run here
    for pacing_, used in ((NONE, 0.47), (40, 0.76), (160, 0.98)):
        told[core(pacing_, 40)]["used"] = told[core(pacing_, 100)]["used"] = used + 0.01
    for pacing_, used in ((10, 0.6), (20, 0.7), (80, 0.8), (TCP, 0.75)):
        for buffer in BUFFERS[1:]:
            told[core(pacing_, buffer)]["used"] = used
    return told


def as_opposite() -> Metrics:
    """Metrics with which none of them holds."""
    told = as_published()
    told["rates"] = {name: 50.0 for name in told["rates"]} | {"r15_queue": 1.0, "r15_delay_s": 90.0}
    told["prototype"] = {"r0.2_queue": 3, "r0.2_bit_s": 0.1e6, "r3_queue": 9, "r3_bit_s": 2e6}
    told["bursts"] = {"rule_error_mean": 0.0001, "rule_error_p99": 0.2}
    told["tcp none"], told["tcp qlbp"] = told["tcp qlbp"], told["tcp none"]
    told["step"] = {name: value * 2 for name, value in told["step"].items()}
    for q_max in qlbp.TANDEM_CUTOFFS:
        told[on_off(q_max)] = {
            **{f"relative_cov_{n}": 1 + n / 10 for n in qlbp.PACERS},
            **{f"relative_mean_{n}": 0.9 for n in qlbp.PACERS},
            **{"autocovariance_before": [1.0, 0.9], "autocovariance_behind": [1.0, 1.0]},
        }
    for q_max in qlbp.TRACE_CUTOFFS:
        told[trace(q_max)] = {"cov_before": [1.0] * 11, "cov_behind": [0.99] * 10 + [1.01]}
    told[trace(5)]["cov_behind"] = told[trace(10)]["cov_behind"] = [0.8] * 11
    for pacing_ in (NONE, *qlbp.DUMBBELL_CUTOFFS, TCP):
        for place, buffer in enumerate(BUFFERS):
            used = 0.9 - place * 0.1 - (0.05 * qlbp.DUMBBELL_CUTOFFS.index(pacing_) if pacing_ in (80, 160) else 0)
            told[core(pacing_, buffer)] = {"used": used, "used_bar": 0.001}
    for tail, delay, pacing_ in ((0.01, 0.2, NONE), (0.05, 0.3, 40), (0.1, 0.1, 160)):
        told[core(pacing_, 12)] |= {"delay_mean_s": delay, "tail": tail, "delay_p999_s": tail}
    return told


def points(metrics: Metrics, cc: str = JUDGED) -> dict[tuple[str, str], Point]:
    return {(cc, name): Point(one, {"a": 1}, 2.0) for name, one in metrics.items()}


def test_every_check_of_the_paper_has_a_row() -> None:
    rows = found.rows({}, [1], {})
    wanted = [(one.id, number) for one in BY_ID.values() for number in range(len(one.checks))]
    assert [(row["id"], row["number"]) for row in rows] == wanted
    assert set(wanted) - set(JUDGES) == {("ql-related", 0)}
    for row in rows:
        assert (row["measured"], row["pass"], row["seeds"], row["length_s"]) == (None, False, [], None)
        assert row["not_measured"]


@pytest.mark.parametrize("key", JUDGES)
def test_a_judge_says_yes_to_what_is_published(key: tuple[str, int]) -> None:
    told = found.judged(Found(points(as_published())), key)
    assert told["pass"] is True, told


@pytest.mark.parametrize("key", JUDGES)
def test_a_judge_says_no_to_the_opposite(key: tuple[str, int]) -> None:
    told = found.judged(Found(points(as_opposite())), key)
    assert told["measured"] is not None and told["pass"] is False, told


def test_a_bar_leaves_a_curve_open() -> None:
    told = as_published()
    told[core(20, 100)]["used"] -= 0.004
    assert found.judged(Found(points(told)), ("ql-fig18", 3))["pass"] is False
    told[core(20, 100)]["used_bar"] = 0.004
    assert found.judged(Found(points(told)), ("ql-fig18", 3))["pass"] is True


def row_of(rows: list[dict[str, Any]], name: str, number: int) -> dict[str, Any]:
    return next(row for row in rows if (row["id"], row["number"]) == (name, number))


def test_what_stands_beside() -> None:
    """Another reading is judged as the first, and takes what it has not from there; the default has to be no worse."""
    stock = {core(TCP, buffer): {"used": 0.999, "used_bar": 0.0} for buffer in BUFFERS}
    slow = {core(one, 12): {"used": 0.3, "used_bar": 0.0} for one in found.TECHNIQUES.values()}
    rows = found.rows(
        {**points(as_published()), **points(stock, STOCK_PACING), **points(slow, DEFAULT)}, [1], {"ql-fig18 2": "no"}
    )
    row = row_of(rows, "ql-fig18", 2)
    assert row["pass"] is True and "why" not in row and row["cc"] == JUDGED
    assert row["beside"][STOCK_PACING]["pass"] is False and DEFAULT not in row["beside"]
    row = row_of(rows, "ql-tab3", 3)
    assert row["beside"][DEFAULT]["pass"] is False and STOCK_PACING not in row["beside"] and TEXT not in row["beside"]
    assert (row["length_s"], row["seeds"]) == (2.0, [1]) and core(40, 12) in row["parameters"]
    assert row_of(rows, "ql-tab2", 0)["cc"] == ""


def names_of(length: str) -> set[tuple[str, str]]:
    runs = [run for one in front.asked_for(Asked(length, 1)) for run in planned(one, [("6.1", "")])]
    told = [(front.label_of(run), front.name_of(run)) for run in runs]
    assert len(set(told)) == len(told)
    return set(told)


def test_what_the_judges_need_is_run() -> None:
    usual, quick = names_of(USUAL), names_of(QUICK)
    assert quick < usual == names_of(LENGTHS[2]) and len(quick) <= 30
    told = as_published()
    for names in (usual, quick):
        run = {key: Point(told.get(key[1], {})) for key in names}
        assert not [key for key in JUDGES if found.judged(Found(run), key)["measured"] is None]
    assert {cc for cc, _ in usual} == {JUDGED, DEFAULT, *found.PEERS, *found.READINGS}
    assert {(TEXT, core(160, 12)), (STOCK_PACING, core(TCP, 5)), ("bbr", core(NONE, 12))} < usual


def values_of(*words: str) -> dict[str, Any]:
    (values,) = SCENARIO.values(SCENARIO.axes([*words, "settle=3", "length=4"]))
    return values


def test_plans() -> None:
    """Pacers are at the access routers alone, and the windows of both readings are 32 packets."""
    for reading, size in (("table", 1052), ("text", 1000)):
        plan = SCENARIO.plan(values_of("case=dumbbell", f"reading={reading}", "q_max=40"), "reno", "fq_rr", 1)
        assert plan.topology.way("a1-c0").options.endswith(
            f"mu-min 1000000bit mu-max 100000000bit q-max {40 * (size + 14)}b"
        )
        assert (plan.topology.way("c0-c1").queue, plan.topology.way("c0-c1").limit_packets) == ("pfifo", 12)
        assert set(plan.routes.values()) == {f"window {32 * (size - 52)} quickack 1"}
        assert {flow.packet_bytes for flow in plan.flows} == {size} and len(plan.flows) == 40
        delays = [plan.topology.way(f"a{(i - 1) % 4 + 1}-s{i}").delay_ms / 2 for i in range(1, 41)]
        low, high = qlbp.READINGS[reading].edge_delays_ms
        assert low <= min(delays) < max(delays) <= high
        # four of each group's ten to each receiver
        assert {len([1 for flow in plan.flows if flow.sink == f"r{i}"]) for i in range(1, 11)} == {4}
    none, sender, stock = (
        SCENARIO.plan(values_of("case=dumbbell", f"pacing={one}"), "reno", "fq_rr", 1)
        for one in (NONE, "tcp", "tcp-stock")
    )
    assert "qlbp" not in none.topology.way("a1-c0").options and none.topology.way("s1-a1").queue == ""
    assert sender.topology.way("s1-a1").options == "pacing" and replace(sender, sysctls={}) == stock
    assert sender.sysctls["*"]["net.ipv4.tcp_pacing_ca_ratio"] == "100"
    with pytest.raises(PlanError, match="pacing=tcp: senders pace in the case dumbbell alone"):
        SCENARIO.plan(values_of("case=tcp", "pacing=tcp"), "reno", "fq_rr", 1)
    with pytest.raises(PlanError, match="--qdisc fq_codel: must be fq_rr"):
        SCENARIO.plan(values_of("case=dumbbell"), "reno", "fq_codel", 1)


def test_rules() -> None:
    """As derived from the paper's numbers."""
    alphas = BY_ID["ql-fig15"].derived["alpha_per_s"]
    assert {str(q): pytest.approx(qlbp.tandem_rule(q).alpha_per_s, abs=0.06) for q in qlbp.TANDEM_CUTOFFS} == alphas
    assert qlbp.Rule(2 * qlbp.MBIT, 10 * qlbp.MBIT, 10).bound_s == pytest.approx(0.008)


def test_the_first_part_of_round_trips() -> None:
    """Bursts at the begin of each count wholly, even spacing by a tenth; the last round trip does not count."""
    bursts = np.concatenate([number * 0.1003 + np.arange(10) * 0.0005 for number in range(20)])
    assert pacing.first_part(bursts, 0.1) == 1.0
    assert pacing.first_part(np.arange(0.0, 2.0, 0.001), 0.1) == pytest.approx(0.1, abs=0.011)


def line(at_s: float, event: str, **words: Any) -> str:
    text = " ".join(f"{name}={value}" for name, value in words.items())
    return f" x-1 [000] ..s2. {at_s:.9f}: {event}: {text}"


def test_first_transmissions() -> None:
    """What is sent again, ACKs and another flow's packets count for nothing; sequence numbers wrap."""
    start = 2**32 - 1500
    frames = [(1.0, 1000), (1.1, 2000), (1.2, 3000), (1.3, 2000), (1.4, 4000)]
    lines = [line(at, "fq_rr_enqueue", sport=10001, len=1066, end_seq=(start + end) % 2**32) for at, end in frames]
    lines.append(line(1.05, "fq_rr_enqueue", sport=10001, len=66, end_seq=start))
    lines.append(line(1.5, "fq_rr_enqueue", sport=10002, len=566, end_seq=500))
    sent_s, ends = pacing.first_transmissions({"trace": "\n".join(lines), "begin_s": 1.0})[10001]
    assert list(ends) == [1000, 2000, 3000, 4000]
    assert sent_s == pytest.approx([0.0, 0.1, 0.2, 0.4])


def test_rates_behind_a_pacer() -> None:
    """A packet's bits over its time, and nothing after it."""
    rates = pacing._rates(np.array([0.01, 0.02]), np.array([0.01, 0.004]), 0.0, 0.03)
    assert rates[:10].max() == 0 and rates[11:20] == pytest.approx([8e5] * 9)
    assert rates[21:24] == pytest.approx([2e6] * 3) and rates[25:].max() == 0


def test_theorem_2_is_the_variance_at_lag_0() -> None:
    for q_max in qlbp.TANDEM_CUTOFFS:
        alpha = qlbp.tandem_rule(q_max).alpha_per_s
        assert show.covariance(q_max, 0.0) == pytest.approx(4 * 5 * 10 / 15**2 * alpha / (alpha + 15))
        assert show.covariance(q_max, 0.2) < show.covariance(q_max, 0.05) < show.covariance(q_max, 0.0)


def recorded() -> dict[str, Any]:
    """A campaign's figures, judged now."""
    kept = json.loads(RECORDED.read_text())
    known = {(one["cc"], one["run"]): Point(one["metrics"], {}, one["length_s"]) for one in kept["data"]["points"]}
    return {**kept, "rows": found.rows(known, [1], show.WHY)}


def test_recorded_results_are_judged() -> None:
    """What the real stack gave once: a change of a judge that turns a verdict is noticed."""
    kept = recorded()
    verdicts = {f"{row['id']} {row['number']}": row["pass"] for row in kept["rows"] if row["measured"] is not None}
    assert verdicts == kept["verdicts"]
    assert all(name in verdicts and not verdicts[name] for name in show.WHY)


def test_goals() -> None:
    """Three are checks of the paper as well; what was not run is not met."""
    kept = recorded()
    known = {(one["cc"], one["run"]): Point(one["metrics"], {}, one["length_s"]) for one in kept["data"]["points"]}
    of_rows = {(row["id"], row["number"]): row["pass"] for row in kept["rows"]}
    told = found.goals(known)
    assert [one["met"] for one in told[:-1]] == [of_rows[key] for key in found.AS_CHECKS]
    for used, met in ((0.979, False), (0.98, True)):
        known[found.JUDGED, found.core(160, found.TABLE_BUFFER)] = Point({"used": used}, {}, 4.0)
        assert (found.goals(known)[-1]["measured"], found.goals(known)[-1]["met"]) == (used, met)
    assert [(one["measured"], one["met"]) for one in found.goals({})] == [(None, False)] * 4


def test_the_section() -> None:
    """Each figure is drawn, and of no runs as well."""
    kept = recorded()
    section = reproduce.RERUN[found.PAPER].section(kept["data"])
    pictures = [base64.b64decode(one.picture.partition("base64,")[2]).decode() for one in section.figures]
    assert len(pictures) == len(show.FIGURES)
    of_words = ("published", "fluid theory", "no pacing", "no pacing", "no pacing")
    assert all(word in one for word, one in zip(of_words, pictures, strict=True))
    assert any("published" in row for table in section.tables for row in table.rows)
    nothing = reproduce.RERUN[found.PAPER].section({})
    assert len(nothing.figures) == len(show.FIGURES)


def test_quick_is_shorter() -> None:
    quick, usual = front.EXTENTS[QUICK], front.USUAL
    assert quick.on_off_s < usual.on_off_s and quick.trace_s < usual.trace_s and quick.core_s < usual.core_s
