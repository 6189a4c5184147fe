# SPDX-License-Identifier: GPL-2.0
"""``make demo`` on its real path, in short: two of the eight combinations, six seconds each."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import MODULES, TOP

LAB = TOP / "scripts" / "lab"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    words = ["--rows", "2", "--seconds", "6", "--out", out]
    done = subprocess.run([LAB, "demo", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not judged: no more retransmissions than any other combination (needs bbr + fq_rr" in done.stdout
    return out


@pytest.fixture(scope="module")
def summary(folder) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


def test_the_demo_runs_and_says_what_it_ran(summary):
    assert [(row["cc"], row["qdisc"]) for row in summary["rows"]] == [("pktpair", "fq_rr"), ("bbr", "fq_codel")]
    assert summary["clock"] == "virtual" and set(summary["modules"]) == MODULES
    begin_s, end_s = summary["window_s"]
    assert 4.3 <= begin_s < end_s <= 6.01


def test_packet_pair_meets_its_goals_in_the_demo(summary):
    assert [goal["text"] for goal in summary["goals"] if not goal["met"]] == []
    assert len(summary["goals"]) == 3 and len(summary["goals_left_out"]) == 1


def test_the_demos_figures_are_those_of_a_full_link(summary):
    """Goodputs make up what was used of the link where little was lost; nobody waits less than a packet's own time."""
    ours, _ = summary["rows"]
    # as flows join and leave, shares fall sooner than their senders hear of it: delay control may drop a packet then
    assert ours["retransmits"] == ours["drops"] <= 4
    # elsewhere a hole that is filled in the window sets free what was delivered before it
    assert abs(sum(ours["goodput_bit_s"]) / 40e6 * 1500 / 1448 - ours["utilisation"]) < 0.001
    # an ACK covers two packets: of each flow, the first one in the window tells of two from before it
    begin_s, end_s = summary["window_s"]
    edges = 2 * len(ours["goodput_bit_s"]) * 1500 * 8 / (40e6 * (end_s - begin_s))
    for row in summary["rows"]:
        assert 0.9 < row["utilisation"] <= 1 + edges
        assert 0.0003 <= row["queue_delay_p50_s"] <= row["queue_delay_p95_s"] <= row["queue_delay_p99_s"] < 0.2
    assert ours["queue_delay_p99_s"] < 0.02


def test_the_demos_page_and_files_are_there(folder):
    page = (folder / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 3 and "://" not in page
    names = {path.name for path in folder.iterdir()}
    assert {"pktpair-fq_rr.json", "bbr-fq_codel.json", "goodput.png", "queue-delay.png", "study"} <= names
    assert (folder / "study" / "table.csv").exists()
