# SPDX-License-Identifier: GPL-2.0
"""lab vptfrc: every check of the paper has a row, what it needs is run, and each judge can say yes and no."""

import json

import pytest
from fake_lab import FakeEngine
from lab import cli
from lab.analyse import any_packet_size as found
from lab.analyse.any_packet_size import BY_BYTES_LOSSES, EXTREME_LOSS, JUDGES, LOSSES, METHODS, TCP, TFRC, Cell, Found
from lab.analyse.figures import Figures
from lab.front import measuring, vptfrc
from lab.model.errors import PlanError
from lab.store.sweep import planned

KINDS = vptfrc.KINDS


def cells_of_requests(**more):
    return {
        vptfrc.cell(run.cc, run.values)
        for request in vptfrc.requests(1, **more)
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


def test_every_check_has_a_row():
    rows = found.rows({}, [1], {})
    assert [(row["id"], row["number"]) for row in rows] == [(one["id"], one["number"]) for one in found.paper()]
    assert len(rows) == 85 and len({(row["id"], row["number"]) for row in rows}) == 85
    keys = {"id", "number", "kind", "check", "origin", "published", "measured", "pass", "seeds", "parameters"}
    assert all(keys <= set(row) for row in rows)
    assert {row["origin"] for row in rows} == {"paper", "derived", "proposed"}


def test_what_was_not_measured_has_not_passed():
    for row in found.rows({}, [1], {}):
        assert row["measured"] is None and row["pass"] is False and row["not_measured"]


def test_each_judge_is_of_a_check():
    assert set(JUDGES) <= {(one["id"], one["number"]) for one in found.paper()}


@pytest.mark.parametrize("key", JUDGES, ids=lambda key: f"{key[0]} {key[1]}")
def test_each_judge_says_yes_and_no(key):
    assert JUDGES[key](Found(as_published()))[1] is True
    assert JUDGES[key](Found(as_opposite()))[1] is False


def test_what_the_judges_need_is_run():
    """And summary.json can keep what they say."""
    rates = dict.fromkeys(cells_of_requests(), 1e6)
    rows = found.rows(rates, [1, 2], {"flows": 2})
    assert {(row["id"], row["number"]) for row in rows if row["measured"] is not None} == set(JUDGES)
    assert json.loads(json.dumps(rows)) == rows


def test_one_kind_of_losses_is_a_part():
    assert {cell.kind for cell in cells_of_requests(kinds=("gilbert",))} == {"gilbert"}
    assert cells_of_requests(kinds=("steady",)) < cells_of_requests()


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
    monkeypatch.setattr(
        measuring, "figures_of", lambda run, raw: Figures(metrics={"goodput_bit_s": 2e6, "kernel_warnings": 0})
    )

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
    assert all(row["seeds"] == [1] and row["parameters"]["flows"] == 2 for row in measured)
    assert set(summary["modules"]) >= {"tcp_vptfrc", "sch_lossy"}
    passed = sum(row["pass"] for row in summary["rows"])
    assert f"{passed} of 85 checks hold, of {len(JUDGES)} that were measured" in capsys.readouterr().out
    # what is there is not run again, and what is kept needs no run
    done = len(engine.titles)
    assert run("--seeds", "1")[1]["rows"] == run("--seeds", "1", "--kept")[1]["rows"] == summary["rows"]
    assert len(engine.titles) == done


def test_what_is_kept_of_a_part(campaign):
    engine, run = campaign
    with pytest.raises(PlanError, match="--kept: .* has none of the"):
        run("--seeds", "1", "--kept")
    run("--seeds", "1", "--only", "gilbert")
    done = len(engine.titles)
    _, summary = run("--seeds", "1", "--kept")
    assert len(engine.titles) == done
    judged = {row["id"] for row in summary["rows"] if row["measured"] is not None}
    assert judged == {"vp-4.1.3-size", "vp-4.1.3-rate"}
    # of two seeds there is one: no cell is whole
    assert run("--seeds", "2", "--kept")[1]["rates"] == []
