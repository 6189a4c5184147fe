# SPDX-License-Identifier: GPL-2.0
"""Instructions per acknowledgment and per byte, pktpair's, vptfrc's and bbr's, into out/cost-ack/summary.json.

Measuring is the guest's: ``kmod/tests/cost_ack.py``.
Ends with status 1 if a goal is missed: a median of 1.4 times bbr's for an acknowledgment of pktpair's, of bbr's for one
of vptfrc's, 1.1 times bbr's for a byte of pktpair's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from ..checkout import TOP

SUMMARY = TOP / "out" / "cost-ack" / "summary.json"
# Of an acknowledgment's median over bbr's.
GOALS = {"pktpair": 1.4, "vptfrc": 1.0}
BYTE_GOAL = 1.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def main(_: argparse.Namespace) -> int:
    """Measure in the lab, write, print and judge."""
    command: list[str | Path] = [TOP / "scripts" / "lab", "exec", "--", TOP / "kmod" / "tests" / "cost_ack.py"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.returncode
    summary = json.loads(done.stdout)
    costs = {name: figures["instructions"] for name, figures in summary["algorithms"].items()}
    over_bbr = {name: round(costs[name]["p50"] / costs["bbr"]["p50"], 3) for name in GOALS}
    summary |= {f"{name}_over_bbr": ratio for name, ratio in over_bbr.items()}
    summary["goals"] = GOALS
    per_byte = {name: figures["instructions_per_byte"] for name, figures in summary["senders"].items()}
    summary["byte_pktpair_over_bbr"] = round(per_byte["pktpair"] / per_byte["bbr"], 3)
    summary["byte_goal"] = BYTE_GOAL
    SUMMARY.parent.mkdir(parents=True, exist_ok=True)
    SUMMARY.write_text(json.dumps(summary, indent=1) + "\n")

    quantiles = list(costs["bbr"])
    print(f"instructions per acknowledgment, one flow through {summary['bottleneck']}")
    print(f"{'':14}{'calls':>8}" + "".join(f"{name:>7}" for name in quantiles))
    for name, values in costs.items():
        calls = summary["algorithms"][name]["calls"]
        print(f"{name:14}{calls:8}" + "".join(f"{values[q]:7}" for q in quantiles))
    for name, goal in GOALS.items():
        print(f"{name}'s median over bbr's: {over_bbr[name]} (goal: at most {goal})")
    print(f"\ninstructions per byte, all of the guest: {summary['flows']} flows, {summary['shared_bottleneck']}")
    print(f"{'':14}{'Mbit/s':>8}{'busy':>7}{'per byte':>10}")
    for name, figures in summary["senders"].items():
        print(f"{name:14}{figures['goodput_mbit']:8}{figures['busy']:7}{per_byte[name]:10}")
    print(f"pktpair's over bbr's: {summary['byte_pktpair_over_bbr']} (goal: at most {BYTE_GOAL})")
    print(f"{SUMMARY.relative_to(TOP)} has all figures")
    met = all(over_bbr[name] <= goal for name, goal in GOALS.items()) and summary["byte_pktpair_over_bbr"] <= BYTE_GOAL
    return 0 if met else 1
