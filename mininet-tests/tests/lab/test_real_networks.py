# SPDX-License-Identifier: GPL-2.0
"""``make real-networks`` on its real path, in short: five cases, one seed."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import MODULES, lab
from lab.analyse import real_network_goals as goals
from lab.model.real_networks import CASES, CCS, QUICK


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("real-networks")
    done = lab("real-networks", "--quick", "--out", out)
    # whether goals are met is what the campaign itself says
    missed = [line for line in done.stdout.splitlines() if line.startswith("  MISSED")]
    assert done.returncode == bool(missed), done.stderr
    assert f"{len(QUICK) * len(CCS)}/{len(QUICK) * len(CCS)}" in done.stderr
    return out


@pytest.fixture(scope="module")
def summary(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


def test_each_case_is_run_for_each_congestion_control(summary):
    wanted = {(name, cc, 1) for name in QUICK for cc in CCS}
    assert {(row["case"], row["cc"], row["seed"]) for row in summary["rows"]} == wanted
    assert summary["clock"] == "virtual" and set(summary["modules"]) == MODULES
    assert {goal["case"] for goal in summary["goals"]} == {*QUICK, goals.ALL_IN_TURN}


def test_figures_are_those_of_a_full_link(summary):
    """A single flow delivers what the link's use says, and nothing waits less than its own time on the link."""
    for row in summary["rows"]:
        case = CASES[row["case"]]
        assert 0.85 < row["utilisation"] <= 1.01
        assert 0 <= row["delay_p50_s"] <= row["delay_p99_s"] <= row["rtt_max_s"]
        if case.kind == "gro":
            assert row["goodput_mbit"] == pytest.approx(row["utilisation"] * 2 * 1448 / 1500, rel=0.01)
            assert row["delay_p50_s"] > 1500 * 8 / 2e6
        if case.kind == "policer":
            assert row["delay_p99_s"] < 0.02


def test_the_page_is_there(folder):
    page = (folder / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") >= 2 and "://" not in page
