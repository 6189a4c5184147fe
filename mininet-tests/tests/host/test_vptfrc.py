# SPDX-License-Identifier: GPL-2.0
"""lab vptfrc: every check of the paper has a row, what it needs is run, and each judge can say yes and no."""

import functools
import json
import re

import pytest
from fake_lab import FakeEngine
from lab import cli
from lab.analyse import any_packet_size as found
from lab.analyse import packet_size_formulas as formulas
from lab.analyse import packet_size_goals
from lab.analyse import shared_bottlenecks as shared
from lab.analyse.any_packet_size import (
    BY_BYTES_LOSSES,
    EXTREME_LOSS,
    JUDGES,
    LOSSES,
    METHODS,
    OF_FORMULAS,
    TFRC,
    VARIATION_LOSS,
    Cell,
    Found,
)
from lab.analyse.figures import Figures
from lab.analyse.packet_size_formulas import Answers
from lab.analyse.shared_bottlenecks import TCP, Bottlenecks, Shared
from lab.front import measuring, vptfrc
from lab.model import packet_sizes, scenario
from lab.model.errors import PlanError
from lab.show import rst, vptfrc_tables
from lab.show import vptfrc as show
from lab.store.sweep import planned

KINDS = vptfrc.KINDS


@functools.cache
def cells_of_requests(parts=vptfrc.PARTS):
    return {
        vptfrc.cell(run.cc, run.values)
        for request in vptfrc.requests(vptfrc.USUAL, 1, parts)
        for run in planned(request, [("6.1", "")])
        if run.scenario.name == vptfrc.LOSSY
    }


@functools.cache
def bottlenecks_of_requests(extent=vptfrc.USUAL):
    return {
        vptfrc.bottleneck(run.qdisc, run.values)
        for request in vptfrc.requests(extent, 1, (vptfrc.BOTTLENECKS,))
        for run in planned(request, [("6.1", "")])
    }


def as_published():
    """Rates with which the paper's statements hold, of a TCP of 1 Mbit/s at each loss."""
    rates = {}
    for loss in (*LOSSES, EXTREME_LOSS, *BY_BYTES_LOSSES):
        for kind in KINDS:
            for who in (TCP, TFRC, "cubic"):
                rates[Cell(who, loss, kind)] = rates[Cell(who, loss, kind, by_bytes=True)] = 1e6
            for sizes in ("fixed", "adapted"):
                rates[Cell("unbiasing", loss, kind, sizes)] = 0.95e6
                for who in ("virtual", "sampling", "lip"):
                    rates[Cell(who, loss, kind, sizes)] = 1.05e6
        rates[Cell("unmodified", loss)] = 1e6 * (1 + 1000 * loss)
        rates[Cell("unmodified", loss, sizes="own", by_bytes=True)] = 1.2e6 if loss > 0.1 else 0.316e6
        rates[Cell("virtual", loss, mode="byte")] = 0.316e6
        rates[Cell("virtual", loss, by_bytes=True)] = 3.16e6
        # a swinging loss: unbiasing takes most, and more where its packets are of a fixed size
        rates[Cell("unbiasing", loss, "swinging")] = 2e6
        rates[Cell("unbiasing", loss, "swinging", "adapted")] = 1.4e6
        rates[Cell("lip", loss, "swinging")] = 1.3e6
        # bursts of losses: full packets of TFRC take four times as much as TCP, and virtual ones are near TCP
        rates[Cell(TFRC, loss, "gilbert")] = 4e6
        rates[Cell("unbiasing", loss, "gilbert")] = 5e6
        for who in METHODS:
            rates[Cell(who, loss, "gilbert", "adapted")] = (1.1 if loss < 0.1 else 1.6) * 1e6
    return rates


def as_opposite():
    """Rates with which none of them holds: who should have more has less."""
    rates = {cell: 1e12 / rate for cell, rate in as_published().items()}
    # ratios that should be near 1 are far off
    for cell in rates:
        if cell.kind == "steady" and cell.who in (*METHODS, TFRC) and cell.mode == "packet" and not cell.by_bytes:
            rates[cell] *= 0.2 if cell.who != "unbiasing" else 3.0
        if cell == Cell("virtual", cell.loss, "swinging"):
            rates[cell] *= 1.6
        if cell == Cell("virtual", cell.loss, "gilbert"):
            rates[cell] *= 30
        if cell.kind == "gilbert" and cell.sizes == "adapted" and cell.loss == LOSSES[0]:
            rates[cell] *= 9
    return rates


def metrics_as_published():
    """Variations of intervals and rates, and loss event rates, with which the paper's statements hold."""
    of = {
        TFRC: (0.9, 0.5),
        "virtual": (0.285, 0.2),
        "sampling": (0.92, 0.48),
        "lip": (0.88, 0.3),
        "unbiasing": (0.5, 0.9),
    }
    found = {
        Cell(who, VARIATION_LOSS): {"interval_variation": interval, "rate_variation": rate}
        for who, (interval, rate) in of.items()
    }
    found[Cell("unmodified", EXTREME_LOSS)] = {"loss_event_rate": 0.008}
    found[Cell(TFRC, 0.01, by_bytes=True)] = {"loss_event_rate": 0.01}
    found[Cell("unmodified", 0.01, sizes="own", by_bytes=True)] = {"loss_event_rate": 0.001}
    return found


def metrics_as_opposite():
    """With which none of them holds."""
    of = {TFRC: (0.5, 0.2), "virtual": (0.5, 0.6), "sampling": (0.2, 0.4), "lip": (0.9, 0.8), "unbiasing": (0.5, 0.1)}
    found = {
        Cell(who, VARIATION_LOSS): {"interval_variation": interval, "rate_variation": rate}
        for who, (interval, rate) in of.items()
    }
    found[Cell("unmodified", EXTREME_LOSS)] = {"loss_event_rate": 0.02}
    found[Cell(TFRC, 0.01, by_bytes=True)] = {"loss_event_rate": 0.001}
    found[Cell("unmodified", 0.01, sizes="own", by_bytes=True)] = {"loss_event_rate": 0.001}
    return found


def ratio_as_published(one):
    """Of a flow of vptfrc to one of reno."""
    if one.queue == "packet-rate":
        return 1.0 if one.mode == "packet" else 0.8 / one.pairs
    if one.queue == "red-bytes":
        return 1.25
    if one.queue == "tail-bytes":
        return (2.0 if one.pairs > 1 else 3.0) if one.mode == "byte" else 1.2
    of = {"virtual": 1.15, "sampling": 1.1, "lip": 1.3}
    if one.queue == "tail-packets":
        of = {
            2: {"virtual": 1.35, "sampling": 1.3, "lip": 1.9},
            1: {"virtual": 1.05, "sampling": 1.0, "lip": 1.5},
            3: {"virtual": 1.1, "sampling": 1.1, "lip": 1.4},
        }[one.setting]
        if one.products == 1.0:
            of = {"virtual": 1.3, "sampling": 1.3, "lip": 1.1}
        if one.round_trip_ms == shared.SHORT_MS:
            of = {"virtual": 1.5, "sampling": 1.4, "lip": 3.0} if one.richer == 1.0 else dict.fromkeys(METHODS, 1.1)
    return of[one.method]


def ratio_as_opposite(one):
    """None of the statements holds: who should have more has less, and what should be near 1 is far off."""
    if one.queue == "packet-rate":
        return 2.0 * one.pairs
    if one.queue == "red-bytes":
        return 2.0
    if one.queue == "tail-bytes":
        return (4.0 if one.pairs > 1 else 1.0) if one.mode == "byte" else 6.0
    of = {2: {"virtual": 0.3, "sampling": 0.5, "lip": 0.2}, 4: dict.fromkeys(METHODS, 9.0)}.get(
        one.setting, {"virtual": 0.3, "sampling": 0.8, "lip": 0.2}
    )
    if one.queue == "tail-packets":
        of = {
            2: {"virtual": 0.8, "sampling": 0.9, "lip": 0.75},
            1: {"virtual": 0.95, "sampling": 1.0, "lip": 0.9},
            3: {"virtual": 0.3, "sampling": 0.4, "lip": 0.2},
        }[one.setting]
        if one.products == 1.0:
            of = {"virtual": 0.9, "sampling": 0.9, "lip": 5.0}
        if one.round_trip_ms == shared.SHORT_MS:
            of = {"virtual": 0.9, "sampling": 0.95, "lip": 0.8} if one.richer == 1.0 else dict.fromkeys(METHODS, 9.0)
        if one.others:
            of = dict.fromkeys(METHODS, 3.0)
    return of[one.method]


def bottlenecks(ratio, cells, opposite=False):
    """Metrics of each, with this ratio."""

    def metrics(one):
        packets = {False: 8.0 / one.pairs if one.pairs < 8 else 4.0 / one.pairs, True: 0.5 * one.pairs}[opposite]
        if one.mode == "packet":
            packets = 30.0 if opposite else 10.0
        drops = 100.0 if opposite else 25.0
        return {
            "ratio": ratio(one),
            "tcp_packets_s": 300.0 if opposite else 100.0,
            "other_packets_s": packets * (300.0 if opposite else 100.0),
            "tcp_lost_part": 0.1,
            "other_lost_part": 0.1 / (drops if not opposite else 1.0),
            "tcp_long_bit_s": 1e5,
            "tcp_short_bit_s": 7e5 if opposite else 3e5,
            "other_short_bit_s": 9e5 if opposite else 2e5,
            "other_long_bit_s": 1e5,
        }

    return Bottlenecks({one: metrics(one) for one in cells})


def answers(factor=1.0):
    """What the formulas answer, off by a factor."""
    said = {}
    for question in formulas.questions():
        words = question.split()
        if words[0] == "rate":
            said[question] = (formulas.equation_bytes_s(float(words[1]), int(words[2]), int(words[4])) * factor,)
        elif words[0] == "defined":
            said[question] = (float(words[2] == "0" or factor != 1.0),)
        elif words[0] == "capped":
            free = formulas.equation_bytes_s(formulas.CAP_LOSS, 100_000, formulas.TIMEOUT)
            said[question] = (free / (5 if words[1] != "0" and factor == 1.0 else 1),)
        else:
            method, size = int(words[1]), int(words[4])
            is_biased = method == formulas.UNMODIFIED and size == formulas.SMALL_BYTES
            mean = formulas.N * formulas.ETA - 1 + 1 / formulas.P if is_biased else formulas.MEAN
            variance = {formulas.VIRTUAL: formulas.GEOMETRIC / formulas.ETA}.get(
                method, (formulas.N - 1) * (1 - 1 / formulas.ETA) + formulas.GEOMETRIC
            )
            said[question] = (mean * factor, variance * factor)
    return Answers(said)


def all_as_published():
    return Found(
        as_published(), metrics_as_published(), bottlenecks(ratio_as_published, bottlenecks_of_requests()), answers()
    )


def all_as_opposite():
    cells = bottlenecks_of_requests()
    return Found(
        as_opposite(), metrics_as_opposite(), bottlenecks(ratio_as_opposite, cells, opposite=True), answers(1.5)
    )


def test_every_check_has_a_row():
    rows = found.rows(Found({}), [1], {})
    assert [(row["id"], row["number"]) for row in rows] == [(one["id"], one["number"]) for one in found.paper()]
    assert len(rows) == 85 and len({(row["id"], row["number"]) for row in rows}) == 85
    keys = {"id", "number", "kind", "check", "origin", "published", "measured", "pass", "seeds", "parameters"}
    assert all(keys <= set(row) for row in rows)
    assert {row["origin"] for row in rows} == {"paper", "derived", "proposed"}


def test_what_was_not_measured_has_not_passed():
    for row in found.rows(Found({}), [1], {}):
        if (row["id"], row["number"]) in {("vp-4.2-settings", 0), ("vp-queue", 0)}:
            assert row["pass"] and row["seeds"] == [], "arithmetic needs no run"
            continue
        assert row["measured"] is None and row["pass"] is False and row["not_measured"]


def test_each_check_has_a_judge():
    assert set(JUDGES) == {(one["id"], one["number"]) for one in found.paper()}


# Arithmetic of the lab's own tables: what would make it fail is tried below.
ALWAYS = {("vp-4.2-settings", 0), ("vp-queue", 0)}


@pytest.mark.parametrize("key", [key for key in JUDGES if key not in ALWAYS], ids=lambda key: f"{key[0]} {key[1]}")
def test_each_judge_says_yes_and_no(key):
    assert JUDGES[key](all_as_published())[1] is True
    assert JUDGES[key](all_as_opposite())[1] is False


@pytest.mark.parametrize("key", sorted(ALWAYS))
def test_the_arithmetic_can_be_wrong(key, monkeypatch):
    assert JUDGES[key](Found({}))[1] is True
    other = packet_sizes.Setting(100_000, 110, 60)
    monkeypatch.setitem(packet_sizes.SETTINGS, 2, other)
    assert JUDGES[key](Found({}))[1] is False


def test_what_the_judges_need_is_run():
    """And summary.json can keep what they say."""
    known = all_as_published()
    cells = cells_of_requests()
    have = Found(
        {cell: rate for cell, rate in known.rates.items() if cell in cells},
        {cell: metrics for cell, metrics in known.metrics.items() if cell in cells},
        known.bottlenecks,
        known.answers,
    )
    rows = found.rows(have, [1, 2], {"flows": 2})
    assert [row["id"] for row in rows if row["measured"] is None] == []
    assert json.loads(json.dumps(rows)) == rows


def test_rows_of_formulas_name_no_seed():
    for row in found.rows(all_as_published(), [1], {"flows": 2}):
        assert bool(row["seeds"]) != ((row["id"], row["number"]) in OF_FORMULAS)


def test_checks_are_judged_without_a_stack_as_well():
    """By what the headers alone send, whatever was measured; not where nothing is sent on a link of chance."""
    known = all_as_published()
    tfrc = {cell: rate for cell, rate in known.rates.items() if cell.who == "tfrc"}
    said = vptfrc.answers(known.rates)
    for factor in (1, 100):
        rates = {**known.rates, **{cell: rate * factor for cell, rate in tfrc.items()}}
        rows = found.rows(Found(rates, known.metrics, answers=said), [1], {})
        beside = {(row["id"], row["number"]): row["beside"].get("without a stack") for row in rows}
        assert set(filter(beside.get, beside)) <= set(found.ON_LINKS)
        # the module's timeout, reno's rates as published
        assert beside["vp-fig1", 0]["holds"] and beside["vp-4.1.3-size", 3]["holds"]
        assert not beside["vp-fig8", 0]["holds"] and "sampling" in beside["vp-fig8", 0]["measured"]
        # loss event rates are the stack's
        assert beside["vp-fig1", 2] is None


def test_what_the_paper_leaves_open_is_read_twice():
    """Both verdicts are there; without the other reading's metric the first alone."""
    known = all_as_published()
    assert not any("of the weighted mean" in row["beside"] for row in found.rows(known, [1], {}))
    swapped = {"virtual": 0.9, "tfrc": 0.3, "sampling": 0.3, "lip": 0.3}
    metrics = {
        cell: {
            **of,
            "mean_interval_variation": swapped.get(cell.who, 0.5),
            "fine_rate_variation": of.get("rate_variation"),
        }
        for cell, of in known.metrics.items()
    }
    rows = found.rows(Found(known.rates, metrics, known.bottlenecks, known.answers), [1], {})
    holds = {(row["id"], row["number"]): row["beside"] for row in rows if row["id"] in ("vp-fig7", "vp-fig8")}
    assert [holds["vp-fig7", n]["of the weighted mean"]["holds"] for n in range(4)] == [False, True, True, False]
    assert all(holds["vp-fig8", n]["in bins of 0.1 s"]["holds"] for n in range(3))


def test_each_way_of_sending_is_asked_for():
    cells = cells_of_requests()
    asked = {cell: found.alone(cell) for cell in cells}
    assert {cell.who for cell, question in asked.items() if question is None} == {"reno", "cubic"}
    questions = [question for question in asked.values() if question]
    assert len(set(questions)) == len(questions)


def test_a_swinging_loss_has_two_values_in_turn():
    """Half of the mean and one and a half times that, ten seconds each, the lower one first."""
    one = scenario.load("any-packet-size")
    values = {name: parameter.default for name, parameter in one.parameters.items()}
    made = one.plan({**values, "kind": "swinging", "loss": 0.02, "seconds": 45.0}, "reno", "lossy", 1)
    said = [(0.0, made.module_parameters["sch_lossy"]["loss_ppb"])]
    said += [(command.at_s, command.argv[2].split()[1]) for command in made.commands]
    assert said == [(10.0 * n, "30000000" if n % 2 else "10000000") for n in range(6)]
    assert all(command.argv[2].endswith("/sys/module/sch_lossy/parameters/loss_ppb") for command in made.commands)


def test_goals_are_met_and_missed():
    rates = {Cell("reno", loss): 1e6 for loss in (0.03, 0.1, 0.5)}
    # off by 15 %: within bounds at 0.1 alone
    rates |= {Cell(who, loss): 1.15e6 for who in ("virtual", "sampling", "lip") for loss in (0.03, 0.1, 0.5)}
    rates |= {Cell("virtual", 0.03, sizes="250"): 0.9e6, Cell("virtual", 0.03, mode="byte"): 1e6}
    shared = {"ratio": 1.26, "other_rate_variation": 0.2, "tcp_rate_variation": 0.4}
    cells = [
        Shared("tail-packets", 1, 2),
        Shared("tail-packets", 1, 2, "lip"),
        Shared("tail-packets", 1, 32),
        Shared("tail-packets", 1, 2, others=1),
        Shared("tail-packets", 1, 2, tcp="cubic"),
        Shared("tail-bytes", 1, 1, mode="byte"),
    ]
    known = Found(rates, bottlenecks=Bottlenecks(dict.fromkeys(cells, shared)))
    told = packet_size_goals.goals(known, rates, cells)
    assert [(goal["name"], goal["case"], goal["met"]) for goal in told] == [
        ("rate", "virtual, 100 bytes, loss 0.03", False),
        ("rate", "virtual, 100 bytes, loss 0.1", True),
        ("rate", "sampling, 100 bytes, loss 0.03", False),
        ("rate", "sampling, 100 bytes, loss 0.1", True),
        ("rate", "virtual, 250 bytes, loss 0.03", True),
        ("share", "virtual, tail-packets, setting 1, 2 products, 200 ms, 2 and 2", False),
        ("variation", "virtual, tail-packets, setting 1, 2 products, 200 ms, 2 and 2", True),
    ]
    lines = show.goal_lines({"goals": told})
    assert [line for line in lines if not line.startswith("MISS")] == [
        "3 of 5 goals are met: goodput on a lossy link, of reno's",
        "0 of 1 goals are met: goodput at a bottleneck, of reno's",
        "1 of 1 goals are met: variation of the rate there, of reno's",
    ]
    assert len(lines) == 6
    # what was to be run and was not is missed, and not left out
    others = packet_size_goals.goals(known, [*rates, Cell("virtual", 0.01)], [*cells, Shared("red-packets", 2, 1)])
    assert [goal["met"] for goal in others if goal["measured"] is None] == [False] * 3
    assert len(others) == len(told) + 3
    assert sum("not measured" in line for line in show.goal_lines({"goals": others})) == 3


def test_the_headers_answer():
    """The formulas of the module itself meet the paper's, each judge by its own closed form."""
    real = Found({}, answers=vptfrc.answers())
    for key in formulas.JUDGES:
        measured, passed = JUDGES[key](real)
        assert passed, f"{key}: {measured}"


def test_why_is_said_of_what_does_not_hold():
    rows = found.rows(all_as_opposite(), [1], {}, {"vp-fig9a 0": "because"})
    assert [(row["id"], row["why"]) for row in rows if "why" in row] == [("vp-fig9a", "because")]
    assert not any("why" in row for row in found.rows(all_as_published(), [1], {}, {"vp-fig9a 0": "because"}))


def test_windows_fill_every_queue():
    """Of the TCP flows alone: otherwise nothing is lost, and the receivers' windows are what is measured."""
    for request in vptfrc.requests(vptfrc.USUAL, 1, (vptfrc.BOTTLENECKS,)):
        for run in planned(request, [("6.1", "")]):
            told = run.plan.module_parameters["sch_lossy"]
            window_bytes = sum(flow.window_bytes for flow in run.plan.flows if flow.cc != "vptfrc")
            room_bytes = int(told.get("limit_bytes", 0)) or int(told["limit_packets"]) * 1000
            assert window_bytes > room_bytes, run.title


def test_windows_of_few_flows_swing_as_often_as_those_of_many():
    """Reno takes half a minute from one loss to the next at such a queue: eight of these of all its flows."""
    for request in vptfrc.requests(vptfrc.USUAL, 1, (vptfrc.BOTTLENECKS,)):
        for run in planned(request, [("6.1", "")]):
            if run.qdisc == "packet-rate":
                continue
            fewer = min(run.values["pairs"], run.values["others"] or run.values["pairs"])
            begin_s, end_s = run.plan.window_s
            assert (end_s - begin_s) * fewer >= 8 * 30, run.title


def test_the_quick_bottlenecks_are_a_part():
    quick = bottlenecks_of_requests(vptfrc.QUICK)
    assert {one.queue for one in quick} == {one.queue for one in bottlenecks_of_requests()}
    assert Shared("tail-bytes", 1, 4, mode="byte") in quick


def test_one_kind_of_losses_is_a_part():
    assert {cell.kind for cell in cells_of_requests(parts=("gilbert",))} == {"gilbert"}
    assert cells_of_requests(parts=("steady",)) < cells_of_requests()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_flow_without_any_rate_is_far_behind(loss):
    rates = {Cell(TCP, loss): 0.0, Cell("unmodified", loss): 5.0}
    assert Found(rates).ratio("unmodified", loss) == 5.0


class Lossy(FakeEngine):
    """Has what the scenario needs."""

    def __init__(self, folder):
        super().__init__(folder)
        for name in ("tcp_vptfrc.ko", "sch_lossy.ko"):
            (folder / name).write_text(name)

    def surroundings(self, kernel, modules):
        found = super().surroundings(kernel, modules)
        return type(found)(**{**vars(found), "ccs": ("reno", "cubic", "vptfrc")})


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign of which nothing is measured: a command's status and summary."""
    (tmp_path / "engine").mkdir()
    engine = Lossy(tmp_path / "engine")
    names = ("packets_s", "lost_part", "bit_s", "rate_variation")
    of_kinds = {f"{kind}_{name}": 1.0 for kind in ("tcp", "other") for name in names}
    halves = dict.fromkeys(("tcp_long_bit_s", "tcp_short_bit_s", "other_short_bit_s", "other_long_bit_s"), 1e5)
    variations = dict.fromkeys(found.VARIATIONS, 0.5)
    metrics = {"goodput_bit_s": 2e6, "kernel_warnings": 0, "ratio": 1.0, **of_kinds, **halves, **variations}
    monkeypatch.setattr(measuring, "figures_of", lambda run, raw: Figures(metrics=dict(metrics), error=raw["error"]))

    def run(*words):
        status = vptfrc.run(cli.parse(["vptfrc", "-j", "1", "--out", str(tmp_path / "out"), *words]), engine)
        return status, json.loads((tmp_path / "out" / "summary.json").read_text())

    return engine, run


def test_a_campaign(campaign, capsys):
    engine, run = campaign
    status, summary = run("--seeds", "1")
    measured = [row for row in summary["rows"] if row["measured"] is not None]
    assert status == 1 and len(summary["rows"]) == 85 and len(measured) == len(JUDGES)
    assert {row["bit_s"] for row in summary["rates"]} == {1_000_000}, "of a flow, and not of both"
    of_runs = [row for row in measured if (row["id"], row["number"]) not in OF_FORMULAS]
    assert all(row["seeds"] == [1] and row["parameters"]["link"]["flows"] == 2 for row in of_runs)
    cells = {(row["id"], row["number"]): row["parameters"]["cells"] for row in of_runs}
    assert all(cells.values()) and cells["vp-4.1.2-size", 3] == [
        {"who": who, "loss": loss, "kind": "swinging"} for loss in found.LOSSES for who in ("virtual", "reno")
    ]
    assert {"queue": "tail-bytes", "setting": 1, "pairs": 1, "mode": "byte-tail"} in cells["vp-fig13b-corrected", 0]
    report = (engine.folder.parent / "out" / "report.html").read_text()
    assert report.count("<figure>") == len(show.PICTURES), "a picture for each figure"
    assert set(summary["modules"]) >= {"tcp_vptfrc", "sch_lossy"}
    passed = sum(row["pass"] for row in summary["rows"])
    assert f"{passed} of 85 checks hold, of {len(JUDGES)} that were measured" in capsys.readouterr().out
    # what is there is not run again, and what is kept needs no run
    done = len(engine.titles)
    assert run("--seeds", "1")[1]["rows"] == run("--seeds", "1", "--kept")[1]["rows"] == summary["rows"]
    assert len(engine.titles) == done


def test_the_documented_tables(campaign, tmp_path, monkeypatch):
    """What was measured stands in the page, what was not is named, and the text around it stays."""
    _, run = campaign
    page = tmp_path / "tcp_vptfrc.rst"
    page.write_text(f"head\n\n{rst.begin(vptfrc_tables.COMMAND)}\n\nstale\n\n{rst.END}\n\nfoot\n")
    monkeypatch.setattr(vptfrc, "DOCUMENT", page)
    _, summary = run("--seeds", "1", "--document")
    text = page.read_text()
    assert text.startswith("head\n") and text.endswith("foot\n") and "stale" not in text
    for line in (
        "virtual, 100 bytes *1000 *1000 *1000 *1000",
        r"virtual, 250 bytes *\\- *1000 *1000 *1000",
        r"virtual, 160 packets/s *\\- *1000 *1000 *1000",
        "the equation, each loss an event *3085 *937 *497 *194",
        r"drop-tail, 160 packets/s, 40 ms *1, 2 *1\.00, 1\.00 *1\.00, 1\.00 *1\.00, 1\.00",
        r"drop-tail in bytes, byte mode *1, 4 *1\.00, 1\.00 *\\- *\\-",
        r"drop-tail, 50 packets/s *1, 2, 8" + r" *1\.00, 1\.00, 1\.00" * 4,
    ):
        assert re.search(f"^{line}$", text, re.MULTILINE), line
    missed = [row for row in summary["rows"] if not row["pass"]]
    assert missed and all(f"\n{row['id']} {row['number']} " in text for row in missed)
    for part in (["--quick"], ["--only", "steady"]):
        with pytest.raises(PlanError, match="--document writes what all runs gave"):
            run(*part, "--document")


def test_what_is_kept_of_a_part(campaign):
    engine, run = campaign
    with pytest.raises(PlanError, match="--kept: .* has none of the"):
        run("--seeds", "1", "--kept")
    run("--seeds", "1", "--only", "gilbert")
    done = len(engine.titles)
    _, summary = run("--seeds", "1", "--kept")
    assert len(engine.titles) == done
    decided = [(row["id"], row["number"]) for row in summary["rows"] if row["measured"] is not None]
    judged = {name for name, number in decided if (name, number) not in OF_FORMULAS}
    assert judged == {"vp-4.1.3-size", "vp-4.1.3-rate"}
    # of two seeds there is one: no cell is whole
    assert run("--seeds", "2", "--kept")[1]["rates"] == []


def test_a_run_that_fails_leaves_the_others_judged(campaign, capsys):
    engine, run = campaign
    words = ("--seeds", "1", "--only", "gilbert")
    failed = set()

    def instead(one):
        if one.values["method"] == "virtual":
            failed.add(one.title)
            return "the guest ended"
        return None

    engine.instead = instead
    status, summary = run(*words)
    said = capsys.readouterr()
    assert status == 1 and "the guest ended" in said.err
    decided = sum(row["measured"] is not None for row in summary["rows"])
    assert f"of {decided} that were measured" in said.out
    # what has failed is measured again, and the others are not
    done, engine.instead = len(engine.titles), lambda one: None
    again = run(*words)[1]["rows"]
    assert 0 < len(failed) == len(engine.titles) - done < done
    assert sum(row["measured"] is not None for row in again) > decided > len(OF_FORMULAS)


def test_where_every_run_fails_nothing_is_judged(campaign):
    engine, run = campaign

    engine.instead = lambda one: "the guest ended"
    with pytest.raises(measuring.MeasuringError, match="the guest ended"):
        run("--seeds", "1", "--only", "gilbert")
