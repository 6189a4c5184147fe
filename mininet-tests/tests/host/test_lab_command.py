# SPDX-License-Identifier: GPL-2.0
"""scripts/lab: every bad input has its own message, before anything is booted."""

import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import LAB, TOP, lab
from lab import cli
from lab.front import run as run_command
from lab.machines import core as cores
from lab.machines import qemu
from lab.machines.core import Core
from lab.machines.kernels import find_kernel
from lab.machines.sealed import SealedGuest
from lab.model import scenario
from lab.model.errors import LabError
from lab.model.plan import Plan
from lab.store.run import Run

# A chain of two hosts and a router; what a test replaces, it breaks.
SCENARIO = """
from lab.model.plan import Flow, Plan, Record
from lab.model.scenario import Parameter
from lab.model.topology import Link, Topology, Way
from lab.model.topologies import topology

CLAIM = "a flow"
PARAMETERS = {"seconds": Parameter(4.0, "s", "of it", 1, 600)}
COMBINATIONS = [("cubic", "fq_codel")]

def plan(values, cc, qdisc, seed):
    there = Way(rate_bit_s=10_000_000, queue=qdisc)
    network = Topology("chain", {"a": "host", "r": "router", "b": "host"}, (Link("a", "r"), Link("r", "b", there)))
    return Plan(network, (Flow("f", "a", "b", cc, seconds=values["seconds"]),), record=Record())
"""


def test_list() -> None:
    """lab list shows every scenario with its claim."""
    done = lab("list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == sorted(names)
    assert {"b1-slow-cross-traffic", "three-bottlenecks", "traffic-engines-agree"} <= set(names)
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines())


def test_list_of_some(tmp_path: Path) -> None:
    """lab list SCENARIO shows each parameter with its meaning, and a file of the user's as well."""
    assert lab("new", tmp_path / "mine.py").returncode == 0
    done = lab("list", "b3-short-files", tmp_path / "mine.py")
    assert done.returncode == 0, done.stderr
    for name, parameter in scenario.load("b3-short-files").parameters.items():
        assert re.search(
            f"^  {name}=.* {parameter.meaning} \\({', '.join(parameter.choices or ())}\\)$", done.stdout, re.M
        )
    assert "  rate_mbit=10.0 Mbit/s  of the bottleneck (at least 0.5, at most 200)\n" in done.stdout
    assert "  combinations: pktpair+fq_rr, cubic+fq_codel\n" in done.stdout
    done = lab("list", "b3-short")
    assert (done.returncode, done.stdout) == (2, "") and "no scenario b3-short (near: " in done.stderr


def test_a_set_has_one_order(tmp_path: Path) -> None:
    """What a scenario makes of one is the same each time that the lab is started."""
    path = tmp_path / "mine.py"
    path.write_text(SCENARIO.replace('"a flow"', "str(set('abcdefgh'))"))
    first, second = (lab("list", path, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.returncode == 0 and first.stdout == second.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's own help says what it is for; lab --help names it."""
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: lab {name} ") and len(said.splitlines()) > 3
    assert f" {name} " in cli.parser().format_help().replace("\n", " ")


def test_what_is_not_asked_for_is_not_loaded() -> None:
    """lab list loads no other command, and nothing that draws tables or pictures."""
    program = "import sys; from lab import cli; cli.main(['list']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TOP / "mininet-tests", capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "lab.front.list" in loaded
    assert not {"matplotlib", "pandas", "lab.front.run", "lab.front.demo", "torture.drive"} & loaded


THREE = "three-bottlenecks"
BAD = {
    "unknown scenario": (["run", "three-botlenecks"], "no scenario three-botlenecks (near: three-bottlenecks"),
    "misspelt parameter": (["run", THREE, "--set", "secnds=3"], "has no parameter secnds (near: seconds)"),
    "parameters listed": (
        ["run", THREE, "--set", "secnds=3"],
        "it has: bottlenecks (3 links), rate_mbit (10.0 Mbit/s)",
    ),
    "too small": (["run", THREE, "--set", "rate_mbit=0"], "rate_mbit=0: must be at least 0.5 Mbit/s"),
    "too large": (["run", THREE, "--set", "seconds=1e9"], "seconds=1e9: must be at most 600 s"),
    "more than the guest's CPU": (
        ["run", THREE, "--set", "bottlenecks=8", "--set", "rate_mbit=100"],
        "rate_mbit 100.0 at each of 8 bottlenecks: 66667 packets of 1500 bytes a second: must be at most 20000",
    ),
    "not a number": (["run", THREE, "--set", "seconds=soon"], "seconds=soon: must be a number (s)"),
    "not whole": (["run", THREE, "--set", "bottlenecks=2.5"], "bottlenecks=2.5: must be a whole number (links)"),
    "not a setting": (["run", THREE, "--set", "seconds"], "--set seconds: must be name=value"),
    "set to nothing": (["run", THREE, "--set", "seconds="], "--set seconds=: must be name=value or name=value,value"),
    "set to one too few": (["run", THREE, "--set", "seconds=3,"], "--set seconds=3,: must be name=value"),
    "set without a name": (["run", THREE, "--set", "=3"], "--set =3: must be name=value"),
    "set twice": (
        ["run", THREE, "--set", "seconds=3", "--set", "seconds=4"],
        "--set seconds=4: seconds was set before",
    ),
    "unknown queue": (["run", THREE, "--qdisc", "fq_rrr"], "--qdisc fq_rrr: must be one of fq_rr, cake"),
    "unknown algorithm": (["run", THREE, "--cc", "bbbr"], "--cc bbbr: must be one of reno, cubic, pktpair"),
    "unknown kernel": (["run", THREE, "--kernel", "9.9"], "kernel 9.9 is not unpacked"),
    "seed": (["run", THREE, "--seed", "0"], "--seed 0: must be at least 1"),
    "no seed": (["run", THREE, "--seed", "one"], "--seed one: must be a whole number"),
    "two virtual CPUs for runs": (["run", THREE, "--cpus", "2"], "--cpus 2: the virtual clock counts"),
    "iperf3 has no files": (["run", "b3-short-files", "--traffic", "iperf3"], "flow primary: iperf3 hangs up before"),
    "kernel can be added": (["exec", "--kernel", "9.9", "--", "true"], "scripts/bootstrap --kernel 9.9"),
    "two virtual CPUs": (["exec", "--cpus", "2", "--", "true"], "--cpus 2: the virtual clock counts"),
    "nothing to draw": (["draw", "pyproject.toml"], "pyproject.toml: is not JSON: Expecting value"),
    "no file to draw": (["draw", "no-such.json"], "no-such.json: No such file or directory"),
    "a folder to draw": (["draw", "scripts"], "scripts: Is a directory"),
    "a scenario that is there": (["new", "mininet-tests/scenarios/smoke.py"], "smoke.py: is there already, and stays"),
    "no folder for it": (["new", "no-such/mine.py"], "no-such/mine.py: No such file or directory"),
    "no scenario's name": (["new", "mine.txt"], "mine.txt: must end with .py"),
    "results into a folder": (["run", THREE, "--json", "scripts"], "--json scripts: is a folder; must be a file"),
    "results below a file": (
        ["run", THREE, "--json", "Makefile/x.json"],
        "--json Makefile/x.json: Makefile: is no folder",
    ),
    "no CPU": (["exec", "--cpus", "0", "--", "true"], "--cpus 0: must be 1 to 255"),
    "sweep: no revision": (
        ["sweep", THREE, "--modules", "no-such"],
        "--modules no-such: neither a folder nor a revision",
    ),
    "sweep: no modules": (
        ["sweep", THREE, "--modules", "scripts"],
        "--modules scripts: none of tcp_pktpair.ko, tcp_vptfrc.ko, sch_fq_rr.ko, sch_lossy.ko, tcp_fixed_window.ko,"
        " tcp_thesis.ko, sch_thesis.ko for"
        " kernel",
    ),
    "sweep: no kernel": (["sweep", THREE, "--kernel", "9.9"], "kernel 9.9 is not unpacked"),
    "sweep: into a file": (["sweep", THREE, "--out", "Makefile"], "Makefile: Not a directory"),
    "report of a file": (["report", "Makefile"], "Makefile: Not a directory"),
    "report of no study": (["report", "scripts"], "scripts: is not empty, and not a study"),
    "no trace to plot": (["plot", "no-such.trace"], "no-such.trace: No such file"),
    "no command": (["exec", "--"], "exec needs a command"),
    "no terminal": (["shell"], "shell needs a terminal"),
}


def refused(folder: Path, *arguments: str | Path) -> str:
    """What is said where nothing can be run; nothing is left of it."""
    temporary = folder / "tmp"
    temporary.mkdir()
    said = io.StringIO()
    # not as a program of its own, of which each would load numpy anew
    with (
        pytest.MonkeyPatch.context() as patch,
        open(os.devnull) as nothing,
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as end,
    ):
        patch.setattr(tempfile, "tempdir", str(temporary))
        patch.setattr(sys, "stdin", nothing)
        sys.exit(cli.main([str(argument) for argument in arguments]))
    assert end.value.code == 2, said.getvalue()
    assert list(temporary.iterdir()) == []
    return said.getvalue()


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, tmp_path: Path) -> None:
    """Bad input to lab is refused with its own message."""
    arguments, message = BAD[case]
    assert message in refused(tmp_path, *arguments)


# Of runs by the fields that "lab draw" needs.
OTHER_RUNS = {
    "no list": ({"path": "x"}, "is no list of runs; lab run --json writes one"),
    "nothing": ([], "is no list of runs"),
    "no runs": ([1], "is no list of runs"),
    "no titles": ([{"path": "x", "label": "y"}], "its runs have no title; lab run --json writes them"),
    "another version's": (
        [{"path": "x", "label": "y", "title": "z", "series": {"flows": [{"name": "f", "goodput_bit_s": [1]}]}}],
        "its series have no 'bin_s': another version's lab run wrote it",
    ),
    "a label elsewhere": (
        [{"path": "x", "label": "../y", "title": "z"}],
        "label '../y': has other characters than those that lab run writes",
    ),
    "one label": ([{"path": "x", "label": "y", "title": "z"}] * 2, "2 runs have the label y"),
    "no series": ([{"path": "x", "label": "y", "title": "z", "series": 5}], "its runs have no series"),
    "nothing recorded": ([{"path": "x", "label": "y", "title": "z"}], "no run in it can be drawn"),
}


@pytest.mark.parametrize("case", OTHER_RUNS)
def test_what_cannot_be_drawn(case: str, tmp_path: Path) -> None:
    """A JSON file that lab run has not written, or not this version's, is refused, and nothing is drawn."""
    content, message = OTHER_RUNS[case]
    (tmp_path / "runs.json").write_text(json.dumps(content))
    said = refused(tmp_path, "draw", tmp_path / "runs.json", "--out", tmp_path / "drawn")
    assert f"{tmp_path}/runs.json: {message}" in said
    assert not (tmp_path / "drawn").exists()


BROKEN = {
    "no topology": (
        'Topology("chain"',
        'topology("dumbel") or Topology("chain"',
        "no topology dumbel (near: dumbbell)",
    ),
    "no rate": ("rate_bit_s=10_000_000", "rate_bit_s=0", "link r-b: a queue (fq_codel) needs a rate: rate_bit_s is 0"),
    "no path": ('Link("a", "r")', 'Link("a", "c")', "topology chain: there is no path from a to b"),
    "no node": ('"a", "b", cc', '"a", "z", cc', "topology chain has no node z; it has: a, r, b"),
    "syntax": ("def plan(", "def plan((", "broken.py: line 11: "),
    "name": ("PARAMETERS = {", "PARAMETERS = {nobody: 1, ", "broken.py: line 8: NameError: name 'nobody'"),
    "in the plan": ("there = Way", "there = Weg", "broken.py: line 12: NameError: name 'Weg'"),
    "no plan": ("return Plan(", "return (lambda *_, **more: more)(", "broken.py: plan() returned dict, not a Plan"),
    "no pairs": ('[("cubic", "fq_codel")]', "[]", "broken.py: COMBINATIONS []: must be pairs of a congestion control"),
    "no queue": ('("cubic", "fq_codel")', '("cubic",)', "COMBINATIONS [('cubic',)]: must be pairs"),
    "no parameter": ("PARAMETERS = {", 'PARAMETERS = {"loss": 0.1, ', "broken.py: loss: must be a Parameter"),
    "no such variant": ("CLAIM =", 'VARIANTS = [{"los": 1}]\nCLAIM =', "broken.py: los: must be a Parameter"),
    "nothing": ("CLAIM =", "CLAIMS =", "broken.py: has no CLAIM"),
    "ends": ("CLAIM =", "raise SystemExit(3)\nCLAIM =", "broken.py: line 7: SystemExit: 3"),
    "ends in the plan": ("there = Way", "raise SystemExit(3)\n    there = Way", "broken.py: line 12: SystemExit: 3"),
    "unknown link": ("Link(", "Lynk(", "NameError: name 'Lynk'"),
    "no device": ("Record()", 'Record(pcaps=("r-z",))', "topology chain has no device r-z; it has: a-r, r-a, r-b, b-r"),
    "a wrong type": (
        'seconds=values["seconds"]',
        'seconds="5"',
        "broken.py: flow f: seconds '5' (str): must be a number",
    ),
    "a wrong type of a way": (
        "Way(rate_bit_s",
        "Way(delay_ms='5', rate_bit_s",
        "broken.py: link r-b: delay_ms '5' (str)",
    ),
    "nobody's fields": ("(Flow(", "[5] or (Flow(", "broken.py: plan: flows 5 (int): must be a Flow"),
    "variants": ("CLAIM =", "VARIANTS = 5\nCLAIM =", "broken.py: VARIANTS 5: must be a list of dicts"),
    "parameters": ("PARAMETERS = {", "PARAMETERS = 5 or {", "broken.py: PARAMETERS 5: must be a dict"),
    "pairs of nothing": ('[("cubic", "fq_codel")]', "[5]", "broken.py: COMBINATIONS [5]: must be pairs"),
    "checks": ("def plan", "def checks(*_): return [5]\ndef plan", "checks() returned [5], not a list of Check"),
    "in the checks": (
        "def plan",
        "def checks(*_): raise ValueError('two\\nlines')\ndef plan",
        "broken.py: line 11: ValueError: two lines",
    ),
    "a check's comparison": (
        "def plan",
        "from lab.model.scenario import Check\ndef checks(*_): return [Check('jain', '>', 1)]\ndef plan",
        "broken.py: check of jain: op >: must be one of >=, <=, ==, in",
    ),
    "a check's number": (
        "def plan",
        "from lab.model.scenario import Check\ndef checks(*_): return [Check('jain', '>=', '1')]\ndef plan",
        "broken.py: check of jain: expected '1': must be a number",
    ),
    "not observed": ("record=Record()", 'observed=("r-z",)', "topology chain has no device r-z; it has: a-r, r-a"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_wrong(case: str, tmp_path: Path) -> None:
    """A scenario's file that is wrong is refused with the line, or with the value and its limit."""
    old, new, message = BROKEN[case]
    text = SCENARIO.replace(old, new)
    if case == "no path":
        text = text.replace('"r": "router"', '"c": "host", "r": "router"').replace(
            'Link("r", "b"', 'Link("c", "r"), Link("r", "b"'
        )
    (tmp_path / "broken.py").write_text(text)
    said = refused(tmp_path, "run", tmp_path / "broken.py")
    assert message in said and len(said.splitlines()) == 1


def test_a_new_scenario_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that is shown takes it for a file."""
    monkeypatch.chdir(tmp_path)
    for name, word in (("-x.py", "./-x.py"), ("-a b.py", "'./-a b.py'"), ("x.py", "x.py")):
        assert cli.main(["new", "--", name]) == 0
        assert capsys.readouterr().out == (
            f"{name} is there. Run it: scripts/lab sweep {word} --seeds 1-3 --out study\n"
        )
    (one,) = cli.parse(["sweep", "./-x.py"]).scenarios
    assert (tmp_path / one).is_file()


def test_no_space(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A full disk, also that of the temporary folder, is said in a line, with status 1; other errors are the lab's."""

    def full(*named: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", *named)

    monkeypatch.setattr("lab.front.new.main", lambda arguments: full(str(arguments.file)))
    assert cli.main(["new", "mine.py"]) == 1
    monkeypatch.setattr("lab.front.new.main", lambda _: full())
    assert cli.main(["new", "mine.py"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"lab: {name}: No space left on device" for name in ("mine.py", tempfile.gettempdir())]


@pytest.mark.parametrize("words", ["list", "--help", "run --help", "new /dev/null/mine.py"])
def test_no_space_for_what_is_printed(words: str) -> None:
    """A standard output that is full is said in a line, with status 1; one that is closed is nobody's."""
    if words.startswith("new"):
        # what is wrong with the input is said, and nothing was printed
        message, status = "lab: /dev/null/mine.py: Not a directory\n", 2
    else:
        message, status = "lab: standard output: No space left on device\n", 1
    command = f"{LAB} {words}"
    done = subprocess.run(["sh", "-c", f"{command} >/dev/full"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, message)
    done = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and done.returncode == (status if status == 2 else 0)


def test_no_space_in_the_middle_of_what_is_printed() -> None:
    """More than is written at once is refused while a command is at work, and said likewise."""
    program = (
        "import sys; from lab import cli; from lab.front import list as one;"
        "one.main = lambda _: print('x' * 100_000); sys.exit(cli.main(['list']))"
    )
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=TOP / "mininet-tests", stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "lab: standard output: No space left on device\n")


def test_what_iperf3_cannot_carry(tmp_path: Path) -> None:
    """A flow that iperf3 would send otherwise than it is planned is refused, by its name."""
    path = tmp_path / "mine.py"
    path.write_text(SCENARIO)
    said = refused(tmp_path, "run", path, "--set", "seconds=25.9", "--traffic", "iperf3")
    assert "flow f: iperf3 takes whole seconds: seconds 25.9: must be a whole number" in said


def asked(*words: str | Path) -> list[Run]:
    """What a command line would run."""
    return run_command.requested(cli.parse(["run", *map(str, words)]))


def test_seconds_hold(tmp_path: Path) -> None:
    """A time of a fraction of a second is planned as it is, to the nanosecond that a guest is told."""
    path = tmp_path / "mine.py"
    path.write_text(SCENARIO)
    (run,) = asked(path, "--set", "seconds=25.9")
    (flow,) = Plan.of(json.loads(json.dumps(run.job()))).flows
    assert (flow.seconds, round(flow.seconds * 1e9)) == (25.9, 25_900_000_000)


def test_lists_and_repeated_options(tmp_path: Path) -> None:
    """Every value of a list is run, under every algorithm, over every queue."""
    path = tmp_path / "mine.py"
    path.write_text(SCENARIO)
    runs = asked(path, "--set", "seconds=3,4", "--cc", "cubic", "--cc", "bbr", "--qdisc", "cake", "--qdisc", "fq")
    assert [(run.values["seconds"], run.cc, run.qdisc) for run in runs] == [
        (seconds, cc, qdisc) for seconds in (3.0, 4.0) for cc in ("cubic", "bbr") for qdisc in ("cake", "fq")
    ]
    assert len({run_command.label(run) for run in runs}) == len(runs)


def test_labels_of_any_text(tmp_path: Path) -> None:
    """They are names of files, and no two are one."""
    path = tmp_path / "mine.py"
    path.write_text(SCENARIO + 'PARAMETERS["note"] = Parameter("", "", "any text")\n')
    texts = ["a_b", "a/b", "a b", "\udcff", "ü" * 300, "ü" * 299, "x" * 300]
    labels = [run_command.label(run) for run in asked(path, "--set", f"note={','.join(texts)}")]
    assert labels[0] == "mine-note-a_b-cubic-fq_codel-1" and len(set(labels)) == len(texts)
    assert all(re.fullmatch(r"[\w.+-]{1,220}", label, re.ASCII) for label in labels)


@pytest.mark.parametrize("name", scenario.names())
def test_trace_and_pcap_of_any_scenario(name: str) -> None:
    """Traced are ACKs and what the modules in use have to say; captured is what leaves each queue."""
    for run in asked(name, "--trace", "--pcap"):
        record = run.plan.record
        text = json.dumps(run.job())
        assert record.acks
        uses_pktpair = "pktpair" in re.sub(r"pktpair:pktpair_(sample|turns)", "", f"{run.cc} {text}")
        assert ("pktpair:pktpair_sample" in record.events) == uses_pktpair
        assert ("pktpair:pktpair_turns" in record.events_if_known) == uses_pktpair
        assert ("fq_rr:fq_rr_enqueue" in record.events) == ('"queue": "fq_rr"' in text)
        rates = {name for link in run.plan.topology.links for name, way in link.ways if way.rate_bit_s}
        assert rates and rates <= set(record.pcaps)


@pytest.mark.parametrize("name", scenario.names())
def test_what_is_not_traced_is_sampled(name: str) -> None:
    """Of a run without recorded ACKs there is something to draw: of each flow of any scenario."""
    for run in asked(name):
        plan = scenario.load(name).plan(run.values, run.cc, run.qdisc, run.seed)
        if plan.record.acks or plan.record.sample_s:
            assert run.plan.record == plan.record
        else:
            assert (run.plan.record.acks, run.plan.record.sample_s) == (False, 0.02)


def test_kvm_absent(tmp_path: Path) -> None:
    """--clock real without /dev/kvm says so and names the default."""
    done = lab("exec", "--clock", "real", "--", "true", PKTPAIR_KVM=str(tmp_path / "kvm"))
    assert done.returncode == 2
    assert f"--clock real needs KVM: {tmp_path}/kvm does not exist; the default --clock virtual" in done.stderr


def test_kvm_unusable(tmp_path: Path) -> None:
    """--clock real with a /dev/kvm that does not answer says so."""
    device = tmp_path / "kvm"
    device.touch()
    done = lab("exec", "--clock", "real", "--", "true", PKTPAIR_KVM=str(device))
    assert done.returncode == 2
    assert f"{device} is present but unusable" in done.stderr


def test_kvm_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--clock real with a KVM in which no kernel boots gives up after its time."""
    emulator = tmp_path / "qemu-system-x86_64"
    emulator.write_text("#!/bin/sh\nexec sleep 600\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(qemu, "probe_kvm", lambda: None)
    monkeypatch.setattr(qemu, "KVM_PROBE_TIMEOUT_S", 1)
    with SealedGuest(clock="real") as guest:
        with pytest.raises(LabError, match="present but unusable: a stock kernel did not boot with it within 1 s"):
            guest.start({"kind": "run"})
        assert guest._process is None


def test_guest_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest that ends early is reported with the end of its console."""
    emulator = tmp_path / "qemu-system-x86_64"
    emulator.write_text("#!/bin/sh\necho Kernel panic - not syncing\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with SealedGuest() as guest, pytest.raises(LabError, match="Kernel panic"):
        guest.start({"kind": "run"})


def test_module_not_built(tmp_path: Path) -> None:
    """A run that needs a module that is not built names it and how to build it."""
    kernel = find_kernel(None)
    for name in (kernel, "9.9.9-test"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "complete").touch()
    done = lab(
        "run", THREE, "--cc", "pktpair", "--qdisc", "fq_rr", "--kernel", "9.9.9-test", PKTPAIR_CACHE=str(tmp_path)
    )
    assert done.returncode == 2
    assert "tcp_pktpair and sch_fq_rr not built for kernel 9.9.9-test: scripts/build-modules" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="this is root")
@pytest.mark.parametrize("clock", ["here", "native"])
def test_here_needs_root(clock: str) -> None:
    """--clock here, once called native, as a user says that it needs root."""
    done = lab("exec", "--clock", clock, "--", "true")
    assert done.returncode == 2
    assert "run it as root" in done.stderr


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_no_guest_outlives_the_command(by: signal.Signals, tmp_path: Path) -> None:
    """A command that is told to end, or killed, takes its guests along, whatever session they are in."""
    program = (
        "import time; from lab.machines.guest import Guest, leave_no_guest; leave_no_guest();"
        "guest = Guest('x', 'real');"
        "guest._spawn(['sleep', '1000']); print(guest._process.pid, flush=True); time.sleep(1000)"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=TOP / "mininet-tests",
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert command.stdout is not None
    guest = Path(f"/proc/{int(command.stdout.readline())}")
    assert comes(lambda: (guest / "comm").read_text() == "sleep\n")
    command.send_signal(by)
    assert command.wait(timeout=60) == (-by if by == signal.SIGKILL else 128 + by)
    # an orphan is its new parent's to reap: gone, or dead
    assert comes(lambda: not guest.exists() or (guest / "stat").read_text().split()[2] == "Z")


def comes(is_so: Callable[[], bool]) -> bool:
    """Whether something becomes so within some seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not is_so():
        time.sleep(0.01)
    return is_so()


def test_a_core_is_of_one_guest_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, of whatever checkout, finds none while all are taken, and one when its guest has ended."""
    name = f"\0packet-pair-test-{os.getpid()}-{{}}"
    monkeypatch.setattr(cores, "NAME", name)
    have = sorted(os.sched_getaffinity(0))
    taken = [Core() for _ in have]
    assert sorted(core.number for core in taken) == have
    asks = f"from lab.machines import core; core.NAME = {name!r}; print(core.Core()._lock is not None)"

    def gets_one() -> str:
        words = [sys.executable, "-c", asks]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=TOP / "mininet-tests")
        return done.stdout.strip()

    assert gets_one() == "False"
    taken[-1].release()
    assert gets_one() == "True"
    for core in taken:
        core.release()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "6.1.0-56-amd64"),
        ("default", "6.1.0-56-amd64"),
        ("6.1", "6.1.0-56-amd64"),
        ("6.1.", "6.1.0-56-amd64"),
        ("6.1.0-56-amd64", "6.1.0-56-amd64"),
        ("6.12", "6.12.48+deb12-amd64"),
        ("6", "6.12.48+deb12-amd64"),
        ("6.1.0-5", None),
        ("", None),
    ],
)
def test_a_kernel_by_the_beginning_of_its_version(tmp_path, wanted, found):
    """Of whole numbers: 6.1 is not 6.12, and the newest is the one with the greatest."""
    for release in ("6.1.0-56-amd64", "6.12.48+deb12-amd64", "6.9.1-amd64"):
        (tmp_path / "kernels" / release).mkdir(parents=True)
        (tmp_path / "kernels" / release / "complete").touch()
    (tmp_path / "kernels" / "default").symlink_to("6.1.0-56-amd64")
    if found:
        assert find_kernel(wanted, tmp_path) == found
        return
    with pytest.raises(LabError, match="6.12.48"):
        find_kernel(wanted, tmp_path)
