# SPDX-License-Identifier: GPL-2.0
"""lab sweep: what is run, what is not run again, and what becomes of failures, with guests that are a function."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import fake_lab
import pytest
from conftest import TOP
from fake_lab import FakeEngine, sweep
from lab.machines import plans
from lab.model.errors import PlanError
from lab.model.scenario import Scenario, load
from lab.show.progress import Progress
from lab.store import sweep as sweeping
from lab.store.engine import EngineError
from lab.store.study import Study
from rich.console import Console


def results(out: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in (out / "raw").iterdir()}


def expanded(engine, **axes):
    path = engine.folder / "fair_share.py"
    path.write_text(fake_lab.SCENARIO)
    return sweeping.expand(sweeping.Request((load(str(path)),), **axes), engine)


def started(engine, out, runs_before_it_hangs: int, *words) -> subprocess.Popen:
    """A sweep in another process, once it hangs."""
    command = [sys.executable, fake_lab.__file__, engine.folder, runs_before_it_hangs, "--out", out, *words]
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")},
        # whoever runs the tests in the background may have it ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "hanging\n"
    return process


def test_every_combination_is_run_once(engine, out) -> None:
    """Every combination of --set, --cc, --qdisc and --seeds is run, in the order of the axes."""
    words = ("--set", "rate_mbit=1,2", "--cc", "bbr,cubic", "--qdisc", "cake,pfifo", "--seeds", "1-2,7", "--out", out)
    assert sweep(engine, *words) == 0
    assert len(engine.titles) == len(set(engine.titles)) == 2 * 2 * 2 * 3
    asked = json.loads((out / "manifest.json").read_text())["runs"]
    assert [one["seed"] for one in asked[:4]] == [1, 2, 7, 1]
    assert [one["qdisc"] for one in asked[:4]] == ["cake", "cake", "cake", "pfifo"]


def test_the_scenarios_own_combinations(engine, out) -> None:
    """Without --cc and --qdisc the scenario's own combinations are run."""
    assert sweep(engine, "--out", out) == 0
    assert engine.titles == ["fair-share pktpair+fq_rr seed 1", "fair-share bbr+cake seed 1"]


def test_iperf3_in_place_of_the_labs_own_traffic(engine, out, capsys) -> None:
    """--traffic iperf3 is other runs, which stand beside the others; what iperf3 cannot carry is refused."""
    assert sweep(engine, "--out", out) == 0
    assert sweep(engine, "--traffic", "iperf3", "--out", out) == 0
    assert sweep(engine, "--traffic", "engine", "--out", out) == 0
    assert [title.replace(" seed 1", "") for title in engine.titles] == [
        *("fair-share pktpair+fq_rr", "fair-share bbr+cake"),
        *("fair-share pktpair+fq_rr traffic=iperf3", "fair-share bbr+cake traffic=iperf3"),
    ]
    assert len(results(out)) == 4
    capsys.readouterr()
    path = engine.folder / "files.py"
    path.write_text(fake_lab.SCENARIO.replace("seconds=5.0", "bytes=1000"))
    assert sweep(engine, path, "--traffic", "iperf3", "--out", out) == 2
    assert "files pktpair+fq_rr seed 1: flow f0: iperf3 hangs up" in capsys.readouterr().err


def test_too_many_runs_are_counted_and_not_made(engine, out, capsys, monkeypatch) -> None:
    """Neither their values nor their plans."""
    ones = [",".join(str(1 + n / 10) for n in range(9000)), ",".join(str(n) for n in range(9000))]

    def never(*_, **__) -> None:
        raise AssertionError("made")

    for name in ("values", "plan"):
        monkeypatch.setattr(Scenario, name, never)
    assert sweep(engine, "--set", f"pause_s={ones[0]}", "--set", f"flows={ones[1]}", "--out", out) == 2
    said = "lab: 162000000 runs: must be at most 100000: fewer --seeds, or fewer values of --set\n"
    assert capsys.readouterr().err == said
    # what is asked for twice is one
    monkeypatch.undo()
    assert sweep(engine, "--set", "flows=1,1", "--set", f"pause_s={','.join(['0'] * 9000)}", "--out", out) == 0
    assert len(engine.titles) == 2


def test_two_scenarios_of_one_name_in_a_study(engine, out, capsys) -> None:
    """The second is refused, since its runs would replace the first's; a file that was moved or copied is the same."""
    mine, other = (engine.folder / name / "alike.py" for name in ("mine", "other"))
    for path in (mine, other):
        path.parent.mkdir()
        path.write_text(fake_lab.SCENARIO)
    assert sweep(engine, mine, "--seeds", "1-2", "--out", out) == 0
    assert sweep(engine, other, "--out", out) == 0
    own = [one["path"] for one in json.loads((out / "manifest.json").read_text())["runs"] if one["scenario"] == "alike"]
    assert own == [str(other)] * 4
    before = (out / "manifest.json").read_bytes()
    mine.write_text(fake_lab.SCENARIO.replace("hash_seed=seed", "hash_seed=seed + 1"))
    engine.titles.clear()
    capsys.readouterr()
    assert sweep(engine, mine, "--out", out) == 2
    said = capsys.readouterr().err
    assert f"{out}: has runs of alike by {other}, and {mine} is another scenario of this name: rename one" in said
    assert (out / "manifest.json").read_bytes() == before and not engine.titles
    # it was moved, and edited
    other.unlink()
    assert sweep(engine, mine, "--out", out) == 0
    assert {one["path"] for one in json.loads((out / "manifest.json").read_text())["runs"]} >= {str(mine)}
    assert str(other) not in (out / "manifest.json").read_text()


def test_what_drives_the_flows_is_no_value_of_the_scenarios(engine, out, capsys) -> None:
    """A plan, a measure and checks that take each parameter by its name take those of --traffic as well."""
    path = engine.folder / "strict.py"
    plan = "def plan(values, cc, qdisc, seed):\n    sorted_out(**values)\n"
    strict = fake_lab.SCENARIO.replace("def plan(values, cc, qdisc, seed):\n", plan)
    strict = strict.replace("    return [Check(", "    sorted_out(**values)\n    return [Check(")
    strict += "\ndef sorted_out(rate_mbit, loss, flows, pause_s, note):\n    pass\n"
    path.write_text(strict + "\ndef measure(values, plan, raw):\n    sorted_out(**values)\n    return {}\n")
    assert sweep(engine, path, "--traffic", "iperf3", "--out", out) == 0
    asked = json.loads((out / "manifest.json").read_text())["runs"]
    assert {one["values"]["traffic"] for one in asked} == {"iperf3"}
    one = load(str(path))
    assert one.measure(asked[-1]["values"], None, {}) == {} and one.checks(asked[-1]["values"], "bbr", "cake")


def test_a_parameter_called_traffic_is_the_scenarios(engine, out, capsys) -> None:
    """--traffic does not replace it."""
    path = engine.folder / "own.py"
    path.write_text(fake_lab.SCENARIO.replace('"note":', '"traffic":').replace("hash_seed=seed", "hash_seed=VALUE + 1"))
    path.write_text(path.read_text().replace("VALUE", 'len(values["traffic"])'))
    assert sweep(engine, path, "--set", "traffic=none", "--out", out) == 0
    capsys.readouterr()
    assert sweep(engine, path, "--traffic", "iperf3", "--out", out) == 2
    said = "lab: --traffic iperf3: own has a parameter traffic: must be --set traffic=...\n"
    assert capsys.readouterr().err == said


def test_a_program_that_only_some_plans_use(engine, out, capsys, monkeypatch) -> None:
    """bpftrace is part of what a run with a script comes from; where it is missing, what to install is said."""
    path = engine.folder / "scripted.py"
    path.write_text(fake_lab.SCENARIO.replace("hash_seed=seed,", "hash_seed=seed, record=Record(bpftrace='BEGIN {}'),"))
    path.write_text(path.read_text().replace("import Change,", "import Record, Change,"))
    program, library = engine.folder / "bpftrace", engine.folder / "libbpf.so.1"
    found = []
    for content in (("0.17", "1"), ("0.18.0", "1"), ("0.18.0", "1.2")):
        program.write_text(content[0])
        library.write_text(content[1])
        request = sweeping.Request((load(str(path)),))
        found += sweeping.expand(request, with_bpftrace(engine, lambda: [program, library])).runs.values()
    assert len(found) == len(set(found)) == 3 * 2
    monkeypatch.setattr(plans.image, "installed", lambda name: None)
    with pytest.raises(PlanError, match="bpftrace is not installed: scripts/bootstrap, or apt-get install bpftrace"):
        sweeping.expand(sweeping.Request((load(str(path)),)), with_bpftrace(engine, plans.bpftrace_files))
    # who has no script does not need it
    assert expanded(with_bpftrace(engine, plans.bpftrace_files)).runs


def with_bpftrace(engine, program) -> FakeEngine:
    own = engine.surroundings
    changed = FakeEngine(engine.folder)
    changed.surroundings = lambda kernel, modules: replace(own(kernel, modules), programs={"bpftrace": program})
    return changed


def test_what_is_there_is_not_run_again(engine, out) -> None:
    """A second sweep runs only what is new, and a study grows."""
    assert sweep(engine, "--seeds", "1-3", "--out", out) == 0
    assert sweep(engine, "--seeds", "1-4", "--out", out) == 0
    assert [title.rpartition(" ")[2] for title in engine.titles[6:]] == ["4", "4"]
    assert len(json.loads((out / "manifest.json").read_text())["runs"]) == 8


def test_a_changed_module_reruns_what_uses_it(engine, out) -> None:
    """A changed module runs again what uses it, and nothing else."""
    words = ("--cc", "pktpair_1994,bbr", "--qdisc", "fq_rr,cake", "--out", out)
    assert sweep(engine, *words) == 0
    engine.titles.clear()
    (engine.folder / "tcp_pktpair.ko").write_text("another")
    assert sweep(engine, *words) == 0
    assert sorted(engine.titles) == ["fair-share pktpair_1994+cake seed 1", "fair-share pktpair_1994+fq_rr seed 1"]
    engine.titles.clear()
    (engine.folder / "sch_fq_rr.ko").write_text("another")
    assert sweep(engine, *words) == 0
    assert sorted(engine.titles) == ["fair-share bbr+fq_rr seed 1", "fair-share pktpair_1994+fq_rr seed 1"]
    # what was superseded stands in no table, but is found again
    assert len((out / "table.csv").read_text().splitlines()) == 1 + 4 * 2


def test_two_builds_side_by_side(engine, out) -> None:
    """--modules is an axis: what uses no module is run once, and stands in the table for each build."""
    for build in ("old", "new"):
        (engine.folder / build).mkdir()
        for name in ("tcp_pktpair.ko", "sch_fq_rr.ko"):
            (engine.folder / build / name).write_text(build + name)
    assert sweep(engine, "--modules", "old,new", "--out", out) == 0
    assert len(engine.titles) == 3
    builds = [one["build"] for one in json.loads((out / "manifest.json").read_text())["runs"]]
    assert builds == ["old", "new", "old", "new"]
    assert len((out / "table.csv").read_text().splitlines()) == 1 + 4 * 2


def test_two_kernels_side_by_side(engine, out) -> None:
    """--kernel is an axis: each run is done on each, and its row has the kernel's whole name."""
    for kernel in ("6.12.1", "7.0.0"):
        (engine.folder / f"vmlinuz-{kernel}").write_text(kernel)
    assert sweep(engine, "--kernel", "6.12.1,7.0.0", "--out", out) == 0
    assert len(engine.titles) == 2 * 2
    kernels = [one["kernel"] for one in json.loads((out / "manifest.json").read_text())["runs"]]
    assert kernels == ["6.12.1", "7.0.0"] * 2
    with (out / "table.csv").open() as file:
        # of each run two flows
        assert [row["kernel"] for row in csv.DictReader(file)] == ["6.12.1", "6.12.1", "7.0.0", "7.0.0"] * 2


def test_two_spellings_of_a_kernel_are_one(engine, out) -> None:
    """The default by its name, or by the beginning of it, is the default: one run, and one row."""
    for words in ((), ("--kernel", "6.1"), ("--kernel", "6.1-default,6.1")):
        assert sweep(engine, *words, "--out", out) == 0
    assert len(engine.titles) == 2
    assert {one["kernel"] for one in json.loads((out / "manifest.json").read_text())["runs"]} == {"6.1-default"}
    assert len((out / "table.csv").read_text().splitlines()) == 1 + 2 * 2


def test_a_module_that_is_not_built(engine, out, capsys) -> None:
    """A run whose module is not built is refused; one that does without is done."""
    (engine.folder / "sch_fq_rr.ko").unlink()
    assert sweep(engine, "--out", out) == 2
    assert "sch_fq_rr is not built for kernel 6.1-default: scripts/build-modules" in capsys.readouterr().err
    assert not out.exists()
    assert sweep(engine, "--cc", "bbr", "--qdisc", "cake", "--out", out) == 0


def test_a_run_that_fails(engine, out, capsys) -> None:
    """A run that fails is kept with its reason, the others go on, and it is tried again by the next sweep."""
    engine.instead = lambda run: "flow f0: reset" if run.cc == "bbr" else None
    assert sweep(engine, "--out", out) == 1
    assert "[2/2] fair-share bbr+cake seed 1: FAILED: flow f0: reset" in capsys.readouterr().err
    (kept,) = (out / "failed").iterdir()
    assert json.loads(kept.read_text())["log"] == ["last words"]
    assert len(results(out)) == 1
    assert "flow f0: reset" in (out / "table.csv").read_text()
    engine.instead = lambda run: None
    assert sweep(engine, "--out", out) == 0
    assert engine.titles[2:] == ["fair-share bbr+cake seed 1"]
    assert not list((out / "failed").iterdir())


def test_a_guest_that_dies_is_tried_once_more(engine, out) -> None:
    """A run whose guest dies is done once more before it has failed; the others are not."""

    def die(run) -> None:
        if run.seed == 2:
            raise EngineError("the guest is gone", ["Kernel panic"])

    engine.instead = die
    assert sweep(engine, "--cc", "bbr", "--qdisc", "cake", "--seeds", "1-4", "--out", out) == 1
    assert [title.rpartition(" ")[2] for title in engine.titles] == ["1", "2", "2", "3", "4"]
    (kept,) = (out / "failed").iterdir()
    assert json.loads(kept.read_text())["error"] == "the guest is gone"
    assert json.loads(kept.read_text())["log"] == ["Kernel panic"]
    assert len(results(out)) == 3


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("built anew")], ids=["gone", "changed"])
def test_a_file_that_changes_meanwhile(engine, out, change) -> None:
    """A result is not kept under a module that has changed since the sweep began, or is gone."""
    module = engine.folder / "tcp_pktpair.ko"
    engine.instead = lambda run: change(module) and None if run.cc == "pktpair" else None
    assert sweep(engine, "--out", out) == 1
    assert len(results(out)) == len(list((out / "failed").iterdir())) == 1


def test_a_plan_that_the_engine_cannot_carry_out(engine, out) -> None:
    """A plan that only the engine finds impossible is a failed run; the others go on."""

    def refuse(run) -> None:
        if run.cc == "bbr":
            raise PlanError("this network is too large")

    engine.instead = refuse
    assert sweep(engine, "--out", out) == 1
    assert len(results(out)) == len(list((out / "failed").iterdir())) == 1


def test_it_goes_on_after_a_kill(engine, out) -> None:
    """A sweep that was killed goes on where it was, and its half-written file does not count."""
    words = ("--seeds", "1-5")
    process = started(engine, out, 3, *words)
    before = results(out)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(before) == 3
    (out / "raw" / ".0123.json.gz.abcdef").write_bytes(b"half")
    assert sweep(engine, *words, "--out", out) == 0
    assert len(engine.titles) == 7
    assert before < results(out)
    assert len(results(out)) == 10
    assert not list((out / "raw").glob(".*"))


def test_two_sweeps_on_one_study(engine, out, capsys) -> None:
    """A second sweep on one --out is refused by the first one's pid, and let in when that is dead."""
    process = started(engine, out, 0)
    assert sweep(engine, "--out", out) == 2
    assert f"{out}: a sweep is at work on it: process {process.pid}" in capsys.readouterr().err
    assert not engine.titles
    process.kill()
    process.communicate()
    assert sweep(engine, "--out", out) == 0


def test_an_interrupt_keeps_what_has_ended(engine, out) -> None:
    """After SIGINT the status is 130, and what has ended is stored."""
    process = started(engine, out, 1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate("go on")
    assert process.returncode == 130
    assert "interrupted: " in said
    assert "Traceback" not in said
    assert json.loads((out / "manifest.json").read_text())["sweeps"][0]["counts"]["run"] == len(results(out)) >= 1


def test_an_interrupt_ends_the_guests(engine, out, monkeypatch) -> None:
    """An interrupt ends guests that are under way, whose runs have not failed by it."""
    ended = threading.Event()

    def run(_) -> None:
        ended.wait()
        raise EngineError("killed")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "run", run)
    monkeypatch.setattr(engine, "stop", ended.set)
    monkeypatch.setattr(sweeping, "as_completed", interrupt)
    assert sweep(engine, "--out", out) == 130
    assert not list((out / "failed").iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seeds", "5-1"), "--seeds 5-1: 5-1 ends before it begins: must be 1-5"),
        (("--seeds", "0"), "--seeds 0: must be at least 1"),
        (("--seeds", "1,x"), "--seeds 1,x: x: must be a whole number"),
        (("--seeds", "1-20000"), "--seeds 1-20000: must be at most 10000 seeds"),
        (("--seeds", "4294967296"), "--seeds 4294967296: must be at most 4294967295"),
        (("--seeds", ""), "--seeds : must be as 1-10 or 1,3,7, without an empty part"),
        (("--seeds", "1,,3"), "--seeds 1,,3: must be as 1-10 or 1,3,7"),
        (("--seeds", "1-"), "--seeds 1-: must be as 1-10 or 1,3,7"),
        (("-j", "0"), "-j 0: must be at least 1"),
        (("-j", "257"), "-j 257: must be at most 256"),
        (("-j", "two"), "-j two: must be a whole number"),
        (("--cc", "brr"), "--cc brr: must be one of pktpair, pktpair_1994, bbr, cubic (near: bbr)"),
        (("--cc", "bbr,"), "--cc bbr,: has an empty name"),
        (("--qdisc", "kake"), "--qdisc kake: must be one of fq_rr, cake, "),
        (("--modules", "nowhere"), "--modules nowhere: there is no such folder or revision"),
        (("--set", "rate_mbit=0"), "rate_mbit=0: must be at least 1 Mbit/s"),
        (("--set", "rate=1"), "fair-share has no parameter rate"),
        (("--set", "flows=1", "--set", "flows=2"), "--set flows=2: flows was set before; several values are flows=a,b"),
        (("--set", "flows=1", "--set", "flows=1"), "--set flows=1: flows was set before"),
        (("--set", "rate_mbit=13"), "fair_share.py: line 18: KeyError: 'thirteen'"),
        (("--set", "pause_s=inf"), "pause_s=inf: must be a finite number (s)"),
        (("--set", "pause_s=2e6"), "plan: seconds 2000000.0: must be at most 999940"),
        (("--out", ""), "--out: has no name; must be a folder"),
        (("--out", "/dev/null"), "/dev/null: Not a directory"),
        (("no-such-scenario",), "no scenario no-such-scenario"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_bad_input(engine, out, capsys, words, message) -> None:
    """Bad input has its own message and status 2, and leaves nothing."""
    assert sweep(engine, *words, *(() if "--out" in words else ("--out", out))) == 2
    said = capsys.readouterr().err
    assert said.startswith("lab: ")
    assert message in said
    assert not out.exists()
    assert not engine.titles


def test_the_order_of_settings_does_not_matter(engine) -> None:
    """Digests and order of runs do not depend on the order of --set options or of a file's parameters."""
    one = expanded(engine, settings=("rate_mbit=1,2", "flows=1,3"))
    backwards = fake_lab.SCENARIO + "PARAMETERS = dict(reversed(PARAMETERS.items()))\n"
    (engine.folder / "other.py").write_text(backwards)
    other = sweeping.expand(
        sweeping.Request((load(str(engine.folder / "other.py")),), settings=("flows=1,3", "rate_mbit=1,2")), engine
    )
    assert set(one.runs.values()) == set(other.runs.values())
    assert len(one.runs) == 8
    again = expanded(engine, settings=("rate_mbit=1,2", "flows=1,3"))
    assert list(one.runs.values()) == list(again.runs.values())


@pytest.mark.parametrize(("name", "texts"), [("pause_s", ("5", "5.0", "5e0", "0.5e1")), ("loss", ("0", "0.0", "-0"))])
def test_a_number_has_one_digest_however_it_is_written(engine, name, texts) -> None:
    """On the command line, or in a scenario's variants."""
    found = [expanded(engine, settings=(f"{name}={text}",)) for text in texts]
    path = engine.folder / "fair_share.py"
    for text in texts:
        path.write_text(f"{fake_lab.SCENARIO}\nVARIANTS = [{{'{name}': {text}}}]\n")
        found.append(sweeping.expand(sweeping.Request((load(str(path)),)), engine))
    assert len({digest for one in found for digest in one.runs.values()}) == 2
    assert len({json.dumps(run.identity) for one in found for run in one.runs}) == 2


def test_runs_that_are_told_the_same(engine, out) -> None:
    """Runs of which the guest is told the same are one run, and each has its row."""
    assert sweep(engine, "--set", "note=a,b", "--out", out) == 0
    assert len(engine.titles) == 2
    assert len((out / "table.csv").read_text().splitlines()) == 1 + 4 * 2


def test_order(engine) -> None:
    """Runs of one network together, since a machine is made for it; of these the longest first."""
    path = engine.folder / "other.py"
    path.write_text(fake_lab.SCENARIO.replace('"r"', '"x"'))
    other = sweeping.expand(sweeping.Request((load(str(path)),)), engine).runs
    runs = sweeping.ordered([*other, *expanded(engine, settings=("rate_mbit=1,100",)).runs])
    assert [(run.scenario.name, run.values["rate_mbit"]) for run in runs] == [
        ("fair-share", 100),
        ("fair-share", 100),
        ("fair-share", 1),
        ("fair-share", 1),
        ("other", 10),
        ("other", 10),
    ]


def test_guests_at_a_time(engine, out) -> None:
    """-j 2 has two guests at work at once, and every run is done once."""
    both = threading.Barrier(2, timeout=30)
    engine.instead = lambda run: (both.wait(), None)[1]
    assert sweep(engine, "-j", "2", "--seeds", "1-4", "--out", out) == 0
    assert len(results(out)) == len(set(engine.titles)) == 8


def test_length_of_a_run(engine) -> None:
    """A run's length follows from rate and seconds, however many flows share the rate."""
    lengths = {run.packets for run in expanded(engine, settings=("flows=1,2,8",)).runs}
    assert lengths == {round(5.0 * 10e6 / 8 / 1500)}


def test_several_scenarios(engine, out) -> None:
    """Of several scenarios each takes the parameters that it has."""
    other = engine.folder / "other.py"
    other.write_text(fake_lab.SCENARIO.replace('"note"', '"mark"'))
    assert sweep(engine, other, "--set", "mark=a", "--set", "note=b", "--out", out) == 0
    asked = json.loads((out / "manifest.json").read_text())["runs"]
    assert [one["values"].get("mark", one["values"].get("note")) for one in asked] == ["b", "b", "a", "a"]


def test_a_study_may_grow_by_another_scenario(engine, out) -> None:
    """A study takes runs of a scenario that it has not had before, and keeps the others."""
    assert sweep(engine, "--out", out) == 0
    (engine.folder / "fair_share.py").rename(engine.folder / "kept.py")
    other = fake_lab.SCENARIO.replace("hash_seed=seed", "hash_seed=seed + 100")
    (engine.folder / "fair_share.py").write_text(other)
    assert sweep(engine, engine.folder / "kept.py", "--cc", "cubic", "--out", out) == 0
    asked = json.loads((out / "manifest.json").read_text())["runs"]
    assert [(one["scenario"], one["cc"]) for one in asked] == [
        *(("fair-share", "pktpair"), ("fair-share", "bbr"), ("fair-share", "cubic"), ("kept", "cubic"))
    ]
    assert len(json.loads((out / "manifest.json").read_text())["sweeps"]) == 2


def test_lines_where_there_is_no_terminal(engine, out, capsys) -> None:
    """Without a terminal each run that has ended is a line."""
    sweep(engine, "--out", out)
    assert capsys.readouterr().err.splitlines() == [
        "[1/2] fair-share pktpair+fq_rr seed 1",
        "[2/2] fair-share bbr+cake seed 1",
    ]


def test_the_bar_shows_counts_and_titles() -> None:
    """On a terminal the bar has counts and what the guests are doing; names are no markup."""
    console = Console(force_terminal=True, width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with Progress(4, 100, console) as progress:
        progress.begin(progress, "smoke bbr+[red]cake")
        progress.end("another", 25)
        progress.end("third", 25, "it [b]failed")
        console.print(progress._bar.get_renderable())
    said = console.export_text()
    assert "2/4 runs" in said
    assert "smoke bbr+[red]cake" in said
    assert "[2/4] third: FAILED: it [b]failed" in said


def test_the_bar_says_how_long_it_will_take(monkeypatch) -> None:
    """The time left follows from what has ended, weighed by how long a run takes: 25 took 25 s, and 65 will take 65."""
    clock = [0.0]
    console = Console(force_terminal=True, width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    bar = Progress(4, 100, console)
    bar._bar.get_time = lambda: clock[0]
    with bar as progress:
        for ended_s, weight in ((30.0, 10), (55.0, 25)):
            clock[0] = ended_s
            progress.end("one", weight)
        console.print(progress._bar.get_renderable())
    assert "0:01:05" in console.export_text()


def test_a_study_that_cannot_be_written_ends_the_sweep(engine, out, monkeypatch, capsys) -> None:
    """A study that cannot be written ends the sweep with its reason, and goes on when it can be."""
    kept = Study.store

    def full(study, digest, record) -> None:
        if record["asked"]["seed"] == 3:
            study = Study(Path("/proc/nowhere"))
        kept(study, digest, record)

    monkeypatch.setattr(Study, "store", full)
    assert sweep(engine, "--cc", "bbr", "--qdisc", "cake", "--seeds", "1-4", "--out", out) == 1
    assert engine.stopped
    assert "the same sweep goes on from it" in capsys.readouterr().err
    monkeypatch.setattr(Study, "store", kept)
    assert sweep(engine, "--cc", "bbr", "--qdisc", "cake", "--seeds", "1-4", "--out", out) == 0
    assert len(results(out)) == 4
