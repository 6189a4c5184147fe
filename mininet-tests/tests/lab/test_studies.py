# SPDX-License-Identifier: GPL-2.0
"""Sweeps on the real engine: any topology, a file from anywhere, and runs that depend on nothing but their plan."""

import csv
import random
import re
from pathlib import Path

import pytest
from conftest import assert_passed, lab, quick_start, raws, run_scenarios
from lab.model import devices

# Those whose rate and limit are their way's.
ORDINARY = [name for name in devices.QUEUES if name not in devices.SWITCHES]


def said(*words: str | Path) -> str:
    done = lab(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(study: Path) -> list[dict[str, str]]:
    with (study / "table.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Path:
    """Three bottlenecks in series, two seeds, one guest at a time."""
    study = tmp_path_factory.mktemp("serial") / "study"
    said("sweep", "three-bottlenecks", "--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3", "--seeds", "1-2",
        "-j", "1", "--out", study)  # fmt: skip
    return study


def test_each_of_three_bottlenecks_in_series_is_observed(serial):
    found = rows(serial)
    assert [row["flow"] for row in found] == ["long", "cross1", "cross2", "cross3"] * 2
    for row in found:
        assert [float(row[f"utilisation_r{i}-r{i + 1}"]) > 0.95 for i in range(3)] == [True] * 3
        assert (row["checks_failed"], row["error"]) == ("0", "")


def test_a_run_depends_on_nothing_but_its_plan(serial, tmp_path):
    """In another order, beside another run and after others, every byte is the same."""
    seeds = [2, 1, 3]
    random.Random(1).shuffle(seeds)
    words = ("three-bottlenecks", "--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3")
    said("sweep", *words, "--seeds", ",".join(map(str, seeds)), "-j", "2", "--out", tmp_path / "study")
    again = raws(tmp_path / "study")
    before = raws(serial)
    assert len(before) == 2 and len(again) == 3
    assert {name: again[name] == raw for name, raw in before.items()} == dict.fromkeys(before, True)


def test_a_papers_run_is_the_same_after_another_boot(tmp_path):
    """Packets, trains and probes of section 9.2 of packet-pair-1994, to the byte: what two like machines would give."""
    words = ("packet-pair-1994", "--cc", "pktpair_1994", "--qdisc", "fq_rr",
             "--set", "case=joining", "--set", "sources=2")  # fmt: skip
    boots = [tmp_path / "first", tmp_path / "second"]
    for boot in boots:
        said("sweep", *words, "--seeds", "1", "-j", "1", "--out", boot)
    first, second = map(raws, boots)
    assert len(first) == 1 and first == second


def test_a_run_has_the_figures_that_a_sweep_gives_it(serial, tmp_path):
    """Whatever ran before it in the same command."""
    words = ("--cc", "pktpair", "--qdisc", "fq_rr", "--set", "seconds=3", "--seed", "2")
    before, run = run_scenarios(tmp_path / "runs.json", "smoke", "three-bottlenecks", *words)
    assert before["scenario"] == "smoke" and run["error"] is None
    row = next(row for row in rows(serial) if row["seed"] == "2")
    # where a flow has a figure of the same name, the run's has another
    columns = {name: f"run_{name}" if f"run_{name}" in row else name for name in run["metrics"]}
    # earlier names, which the JSON keeps and a table has not
    earlier = [columns.pop(name) for name in ("window_s", "window_goodput_bit_s")]
    assert len(columns) > 15 and not {"window_s", "run_window_goodput_bit_s"} & row.keys()
    assert {name: float(row[column]) for name, column in columns.items()} == {
        name: value for name, value in run["metrics"].items() if name not in earlier
    }


def test_acks_in_slots_come_in_slots(tmp_path):
    said("sweep", "wifi-reverse-path", "--cc", "cubic", "--qdisc", "fq_codel", "--set", "seconds=3",
        "--set", "slot_ms=0,8", "-j", "2", "--out", tmp_path / "study")  # fmt: skip
    without, with_slots = sorted(rows(tmp_path / "study"), key=lambda row: float(row["slot_ms"]))
    # the median wait for a slot is half of it
    assert float(with_slots["rtt_p50_s"]) - float(without["rtt_p50_s"]) > 0.002
    assert float(with_slots["utilisation"]) > 0.9


def test_a_file_from_anywhere_runs_sweeps_and_reports(tmp_path):
    """Over each queue that there is, which also says that tc takes what the lab tells it."""
    mine = tmp_path / "mine.py"
    said("new", mine)
    queues = sorted(ORDINARY)
    words = ("sweep", mine, "--set", "seconds=3", "--set", "rate_mbit=4", "--cc", "cubic", "--qdisc", ",".join(queues),
             "-j", "2", "--out", tmp_path / "study")  # fmt: skip
    said(*words)
    found = [row for row in rows(tmp_path / "study") if row["flow"] == "near"]
    assert [row["qdisc"] for row in found] == queues
    # a policer drops what a queue would keep
    full = {row["qdisc"]: float(row["utilisation"]) for row in found}
    assert {queue for queue, part in full.items() if not 0.9 < part < 1.01} <= {"policer"}, full
    assert 0.2 < full["policer"] < 1.1
    page = Path(said("report", tmp_path / "study").strip())
    assert "mine" in page.read_text()
    # nothing is run twice
    assert f"{len(queues)} there before" in said(*words)


def test_the_quick_starts_sweep_and_report(tmp_path):
    """Of its own topology file and scenario, far from the checkout; one rate and one seed of it."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (command,) = quick_start(mine)
    words = command.removeprefix("scripts/lab ").replace("mine/", f"{mine}/")
    words = words.replace("up_mbit=0.5,2", "up_mbit=2").replace("--seeds 1-2", "--seeds 1")
    assert "2 runs asked for: 2 run, 0 there before, 0 failed." in said(*words.split(), "-j", "1")
    found = rows(mine / "study")
    assert sorted((row["cc"], row["flow"]) for row in found) == [
        (cc, flow) for cc in ("cubic", "pktpair") for flow in ("to_laptop", "to_phone")
    ]
    assert {(row["checks_failed"], row["error"]) for row in found} == {("0", "")}
    page = Path(said("report", mine / "study").strip()).read_text()
    assert "two downloads share the access link equally" in page


# A link of which rate, delay and losses change, with ACKs in slots from 1.5 s on, and one that nothing passes.
CHANGING = """
from lab.model.plan import Change, Command, Flow, Plan
from lab.model.topology import Link, Topology, Way

CLAIM = "links change while packets pass"
PARAMETERS = {}
COMBINATIONS = [("cubic", "fq_codel")]


def plan(values, cc, qdisc, seed):
    nodes = {"s": "host", "r": "router", "d": "host", "e": "host"}
    # 60 ms of the first rate
    options = "burst 30000" if qdisc == "policer" else ""
    link = Link("r", "d", Way(4_000_000, qdisc, options=options), Way(delay_ms=10.0))
    idle = Link("r", "e", Way(4_000_000, qdisc, limit_packets=77), Way(delay_ms=5.0, jitter_ms=2.0))
    changes = (
        Change(0.5, "r-e", {"rate_bit_s": 8_000_000}),
        Change(1.0, "r-e", {"limit_packets": 0}),
        Change(1.0, "e-r", {"jitter_ms": 0.0}),
        Change(1.0, "r-d", {"rate_bit_s": 8_000_000}),
        Change(1.5, "d-r", {"slot_ms": 2.0}),
        Change(2.0, "r-d", {"delay_ms": 10.0}),
        Change(2.5, "r-d", {"delay_ms": 20.0}),
        Change(3.0, "d-r", {"slot_ms": 0.0}),
        Change(3.5, "r-d", {"delay_ms": 0.0}),
    )
    flows = (Flow("f", "s", "d", cc, seconds=5.0),)
    looks = ((0.7, "r-e"), (1.2, "r-e"), (0.7, "e-r"), (1.2, "e-r"), (1.7, "d-r"), (3.2, "d-r"))
    commands = tuple(Command(f"{device}-{at_s}", at_s, device[0], ("tc", "qdisc", "show", "dev", device))
                     for at_s, device in looks)
    network = Topology("line", nodes, (Link("s", "r"), link, idle))
    return Plan(network, flows, changes=changes, commands=commands, hash_seed=seed)
"""


def test_a_link_changes_over_each_queue(tmp_path):
    """Its rate doubles after a fifth of the run; delay lines come and go beside the queue, and so do options."""
    mine = tmp_path / "changing.py"
    mine.write_text(CHANGING)
    queues = sorted(ORDINARY)
    said("sweep", mine, "--cc", "cubic", "--qdisc", ",".join(queues), "-j", "2", "--out", tmp_path / "study")
    full = {row["qdisc"]: float(row["utilisation"]) for row in rows(tmp_path / "study")}
    assert sorted(full) == queues
    # of what the rate allows, before it changes and after; a policer lets CUBIC have less
    assert {queue for queue, part in full.items() if not 0.83 < part < 1.011} <= {"policer"}, full
    assert 0.6 < full["policer"] < 1.06
    limited = set()
    for raw in raws(tmp_path / "study").values():
        shown = {one["name"]: one["output"] for one in raw["commands"]}
        if re.search(r"limit 77p?\s", shown["r-e-0.7"]):
            limited.add(re.findall(r"^qdisc (\w+)", shown["r-e-0.7"], re.MULTILINE)[-1])
        assert not re.search(r"limit 77p?\s", shown["r-e-1.2"]), shown
        # what is not named is as it was before: a FIFO has no other limit
        assert "fifo" not in shown["r-e-1.2"] or re.search(r"limit 1000p|limit 151400b", shown["r-e-1.2"]), shown
        assert "slot" in shown["d-r-1.7"] and "slot" not in shown["d-r-3.2"], shown
        assert "rate" in shown["e-r-0.7"] and "rate" not in shown["e-r-1.2"], shown
    assert limited == {"fq_codel", "fq", "fq_pie", "netem", "pfifo", "fq_rr", "sfq"}


# A link that is taken down and up again below flows of both families, and a path that loses and delays at random,
# where a command leaves something running.
ROUGH = """
from lab.model.plan import Change, Command, Flow, Plan
from lab.model.scenario import Check, Parameter
from lab.model.topologies import topology
from lab.model.topology import Link, Topology, Way

CLAIM = "flows outlive what happens to their path"
PARAMETERS = {"case": Parameter("moved", "", "what happens", choices=("moved", "lossy"))}
COMBINATIONS = [("cubic", "fq_codel")]


def moved(cc, qdisc, seed):
    network = topology("two_paths", pairs=2, rate_mbit=4.0, lower_rate_mbit=4.0, queue=qdisc, lower_delay_ms=60.0)
    flows = tuple(Flow(f"v{n}", f"s{i}", f"d{i}", cc, seconds=6.0, family=n) for i, n in ((1, 4), (2, 6)))
    changes = (Change(1.5, "u-x", up=False), Change(3.0, "u-x", up=True))
    return Plan(network, flows, changes=changes, hash_seed=seed)


def lossy(cc, qdisc, seed):
    nodes = {"s": "host", "r": "router", "x": "router", "d": "host"}
    links = (
        Link("s", "r", Way(delay_ms=5.0, loss=0.01)),
        Link("r", "x", Way(8_000_000, qdisc, lose_every=200), Way(delay_ms=10.0, jitter_ms=4.0)),
        Link("x", "d"),
    )
    background = Command("leaving", 0.5, "r", ("sh", "-c", "sleep 1000 &"))
    return Plan(Topology("line", nodes, links), (Flow("f", "s", "d", cc, seconds=3.0),), commands=(background,),
                hash_seed=seed)


def plan(values, cc, qdisc, seed):
    return {"moved": moved, "lossy": lossy}[values["case"]](cc, qdisc, seed)


def measure(values, plan, raw):
    if values["case"] == "moved":
        return {f"{name}_bytes": max(one.get("bytes", 0) for one in raw["qdiscs"][name]) for name in ("u-x", "l-x")}
    return {}


def checks(values, cc, qdisc):
    if values["case"] == "moved":
        # 4.5 s and 1.5 s of 4 Mbit/s are 2.25 and 0.75 MB; to stay with one path were 3
        return [Check("jain", ">=", 0.8), Check("u-x_bytes", "in", (1.6e6, 2.8e6)), Check("l-x_bytes", ">=", 3e5)]
    return [Check("leaving_status", "==", 0), Check("utilisation", "in", (0.2, 1.0))]
"""


def test_flows_outlive_what_happens_to_their_path(tmp_path):
    """Over two_paths with both families, and over a path with all kinds of losses; both in one boot."""
    mine = tmp_path / "rough.py"
    mine.write_text(ROUGH)
    moved, lossy = run_scenarios(tmp_path / "runs.json", mine, "--set", "case=moved,lossy")
    assert_passed(moved)
    assert_passed(lossy)
    (flow,) = lossy["flows"]
    # one of a hundred and one of two hundred are lost
    assert 0.008 < flow["retransmits"] / flow["data_packets_sent"] < 0.03
    # 15 ms, of which 4 ms come or go
    assert 0.0105 < flow["rtt_s"]["min"] < 0.0135
    assert flow["rtt_s"]["p95"] > 0.0175


# Settings of one node that stand before those of all.
SETTINGS = """
from lab.model.plan import Command, Flow, Plan
from lab.model.scenario import Check
from lab.model.topology import Link, Topology, Way

CLAIM = "what a node has of its own counts, wherever it stands"
PARAMETERS = {}
COMBINATIONS = [("cubic", "pfifo")]


def plan(values, cc, qdisc, seed):
    network = Topology("line", {"s": "host", "r": "router", "d": "host"}, (Link("s", "r", Way(4_000_000, qdisc)),
                       Link("r", "d")))
    name = "net/ipv4/tcp_retries2"
    commands = tuple(Command(f"{what}-{node}", 1.0, node, argv) for node in ("s", "d") for what, argv in (
        ("retries", ("cat", f"/proc/sys/{name}")), ("routes", ("ip", "route", "show", "default"))))
    sysctls = {"d": {name: "7"}, "*": {name: "5"}}
    routes = {"d": "initcwnd 7", "*": "initcwnd 5"}
    return Plan(network, (Flow("f", "s", "d", cc, seconds=2.0),), commands=commands, hash_seed=seed,
                sysctls=sysctls, routes=routes)
"""


def test_what_a_node_has_of_its_own(tmp_path):
    """It goes after what all nodes have, although the plan has it before."""
    mine = tmp_path / "settings.py"
    mine.write_text(SETTINGS)
    said("sweep", mine, "-j", "1", "--out", tmp_path / "study")
    (raw,) = raws(tmp_path / "study").values()
    output = {one["name"]: one["output"].strip() for one in raw["commands"]}
    assert (output["retries-s"], output["retries-d"]) == ("5", "7")
    assert "initcwnd 5" in output["routes-s"] and "initcwnd 7" in output["routes-d"]
