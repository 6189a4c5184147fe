# SPDX-License-Identifier: GPL-2.0
"""A lab whose guests are a function, and the sweep of it as a process of its own."""

import argparse
import sys
from pathlib import Path

from lab import cli
from lab.analyse.figures import Figures
from lab.front import report as report_command
from lab.front import sweep as sweep_command
from lab.store.engine import EngineError, Surroundings

SCENARIO = """
from lab.model.plan import Change, Flow, Plan
from lab.model.scenario import Check, Parameter
from lab.model.topology import Link, Topology, Way

CLAIM = "A flow gets <its> share."
PARAMETERS = {
    "rate_mbit": Parameter(10, "Mbit/s", "of the link", low=1, high=1000),
    "loss": Parameter(0.0, "", "at random", low=0, high=1),
    "flows": Parameter(2, "", "at a time", low=0),
    "pause_s": Parameter(0.0, "s", "before the end", low=0),
    "note": Parameter("plain", "", "changes nothing"),
}
COMBINATIONS = [("pktpair", "fq_rr"), ("bbr", "cake")]

def plan(values, cc, qdisc, seed):
    if values["rate_mbit"] == 13:
        raise KeyError("thirteen")
    way = Way(rate_bit_s=values["rate_mbit"] * 1_000_000, queue=qdisc)
    links = (Link("a", "r", there=way), Link("r", "b", there=Way(loss=values["loss"])))
    topology = Topology("chain", {"a": "host", "r": "router", "b": "host"}, links)
    flows = tuple(Flow(f"f{n}", "a", "b", cc, seconds=5.0) for n in range(values["flows"]))
    return Plan(topology, flows, hash_seed=seed, seconds=values["pause_s"])

def checks(values, cc, qdisc):
    return [Check("delay_s", "<=", 0.02)]
"""


class FakeEngine:
    """Does every run in no time; remembers what it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.titles: list[str] = []
        self.stopped = False
        # what a test changes: title -> what happens instead of a result
        self.instead = lambda run: None
        for name in ("vmlinuz", "tc", "agent.py", "tcp_pktpair.ko", "sch_fq_rr.ko"):
            path = folder / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(name)

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        folder = self.folder / modules
        if not folder.is_dir():
            raise EngineError(f"--modules {modules}: there is no such folder or revision")
        built = {path.stem: path for path in folder.glob("*.ko")}
        return Surroundings(
            release={"": "6.1-default", "6.1": "6.1-default"}.get(kernel, kernel),
            kernel=own_image if (own_image := self.folder / f"vmlinuz-{kernel}").exists() else self.folder / "vmlinuz",
            emulator="QEMU emulator version 7.2",
            tools={"usr/sbin/tc": self.folder / "tc"},
            code={"agent.py": self.folder / "agent.py"},
            modules=built,
            machine={"cpu": "max"},
            ccs=("pktpair", "pktpair_1994", "bbr", "cubic"),
        )

    def run(self, run) -> dict:
        self.titles.append(run.title)
        error = self.instead(run)
        traced = {"begin_s": 100.0, "trace": ""}
        return {"error": error, "dmesg_tail": ["last words"], "delay_s": 0.01 * run.seed, **traced}

    def stop(self) -> None:
        self.stopped = True


def figures(run, raw) -> Figures:
    delay_s = raw["delay_s"] / run.values["rate_mbit"]
    passes = delay_s <= 0.02
    return Figures(
        metrics={"delay_s": delay_s, "goodput_bit_s": 1e6 * run.values["rate_mbit"], "window_s": (0, 1), "drops": 0},
        flows=[
            {"name": flow.name, "cc": flow.cc, "goodput_bit_s": 1e5 * (n + 1)} for n, flow in enumerate(run.plan.flows)
        ],
        checks=[{"quantity": "delay_s", "op": "<=", "expected": 0.02, "measured": delay_s, "pass": passes}],
    )


def parsed(*words) -> argparse.Namespace:
    return cli.parse([str(word) for word in words])


def sweep(engine, *words) -> int:
    """Of the scenario beside the engine's files, and of more that the words begin with."""
    path = engine.folder / "fair_share.py"
    if not path.exists():
        path.write_text(SCENARIO)
    return sweep_command.sweep(parsed("sweep", "-j", 1, path, *words), engine, figures)


def report(folder) -> int:
    return report_command.report(parsed("report", folder), figures)


if __name__ == "__main__":
    # ENGINE-FOLDER RUNS-BEFORE-IT-HANGS OPTION...: for tests that kill a sweep
    fake = FakeEngine(Path(sys.argv[1]))
    left = [int(sys.argv[2])]

    def hang(run):
        if left[0] == 0:
            print("hanging", flush=True)
            sys.stdin.read()
        left[0] -= 1

    fake.instead = hang
    sys.exit(sweep(fake, *sys.argv[3:]))
