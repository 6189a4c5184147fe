# SPDX-License-Identifier: GPL-2.0
"""Every scenario on the real engine, in a form that takes seconds: its own checks pass."""

from pathlib import Path

import pytest
from conftest import lab
from lab.analyse import table
from lab.front.measuring import figures_of
from lab.model.scenario import load
from lab.store.study import Study

# What makes a scenario short; of its combinations the first is run.
SHORT: dict[str, list[str]] = {
    "a-flood-costs-one-share": ["times=20", "flood=flow"],
    "a-malicious-source-is-held-off": ["interval=10", "discipline=fair"],
    "a-stopped-flow-leaves-its-share": ["stops=2"],
    "demo-dumbbell": ["rate_mbit=10", "seconds=8"],
    "mixed-packet-sizes": ["packet=1500", "other_packet=150"],
    "pacing-follows-the-backlog": [],
    "pair-gap-is-n-packet-times": ["flows=2", "round_trip=40", "samples=1000", "settle=1"],
    # of what a receiver can do: ACKs that are thinned, merged packets, a queue on the way back
    "pair-sensing-by-receiver": ["case=stretch-8,gro,reverse", "flows=4", "seconds=1"],
    "pktpair-keeps-its-share": ["uncontrolled=7", "load=5", "seconds=5", "settle=1.5"],
    "propagation-delay-is-honest": ["case=longer-route,reverse-queue", "seconds=20"],
    "queue-estimate-is-the-truth": ["flows=1", "rate_mbit=16", "seconds=1"],
    "short-flows": ["count=20"],
    "smoke": [],
    "unload-under-traffic": [],
}


@pytest.mark.parametrize("name", SHORT)
def test_its_own_checks_pass(name: str, tmp_path: Path) -> None:
    cc, qdisc = load(name).combinations[0]
    settings = [word for setting in SHORT[name] for word in ("--set", setting)]
    done = lab("sweep", name, "--cc", cc, "--qdisc", qdisc, *settings, "-j", "1", "--out", tmp_path / "study")
    assert done.returncode == 0, done.stderr
    runs = table.build(Study(tmp_path / "study"), figures_of).runs
    assert runs
    for run in runs:
        assert run.figures.error is None
        # the first is the lab's, that the kernel does not complain
        assert len(run.figures.checks) > 1
        assert [check for check in run.figures.checks if not check["pass"]] == [], run.asked["values"]
