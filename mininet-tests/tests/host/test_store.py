# SPDX-License-Identifier: GPL-2.0
"""A study on disk and its digests: what is refused, what survives, what a digest contains."""

import errno
import gzip
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import fake_lab
import pytest
from fake_lab import sweep
from lab import files
from lab.model.errors import PlanError
from lab.model.plan import Change, Command, Flow, Plan, Record, Source
from lab.model.scenario import load
from lab.model.topology import Link, Topology, Way
from lab.store import digest
from lab.store.run import Run
from lab.store.study import Study, StudyError

CHAIN = Topology("chain", {"a": "host", "b": "host"}, (Link("a", "b", back=Way(rate_bit_s=1000, queue="cake")),))
INGREDIENTS = {"plan": "1"}
KEY = digest.digest(INGREDIENTS)
RECORD = {"digest": KEY, "ingredients": INGREDIENTS, "job": {}, "raw": {"error": None}}


@pytest.fixture
def run(engine) -> Run:
    """bbr over CAKE: it uses no module of ours."""
    path = engine.folder / "fair_share.py"
    path.write_text(fake_lab.SCENARIO)
    scenario = load(str(path))
    values = {name: one.default for name, one in scenario.parameters.items()}
    return Run(scenario, values, "bbr", "cake", 1, "", "6.1", scenario.plan(values, "bbr", "cake", 1))


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "store.json",
            '{"format": 0, "program": "lab 0.0.7"}',
            "was written by lab 0.0.7 in format 0, and this is lab",
        ),
        ("store.json", '{"format": 99, "program": "lab 9"}', "was written by lab 9 in format 99"),
        ("store.json", '{"format": 1', "cannot be read, so that its format is not known"),
        ("store.json", '["format"]', "cannot be read, so that its format is not known"),
        ("summary.json", "{}", "is not empty, and not a study: there is no store.json in it"),
    ],
)
def test_another_store_is_refused_and_untouched(engine, tmp_path, capsys, name, text, message) -> None:
    """A store of another version, an unreadable one and a foreign folder are refused and not touched."""
    out = tmp_path / "study"
    out.mkdir()
    (out / name).write_text(text)
    before = content_of(out)
    assert sweep(engine, "--out", out) == 2
    assert fake_lab.report(out) == 2
    assert capsys.readouterr().err.count(message) == 2
    assert content_of(out) == before
    assert not engine.titles


def test_a_report_of_nothing(tmp_path, capsys) -> None:
    """A report of a folder that is not there says how one is made, and makes nothing."""
    assert fake_lab.report(tmp_path / "none") == 2
    assert "there is no study; lab sweep --out" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_sweep_that_died_at_its_first_step(engine, tmp_path) -> None:
    """A folder in which a sweep died before it wrote its version is a study yet to be made."""
    out = tmp_path / "study"
    out.mkdir()
    (out / "lock").write_text("123\n")
    (out / ".store.json.abc").write_text("{")
    assert sweep(engine, "--out", out) == 0


def test_no_space(engine, tmp_path, capsys) -> None:
    """On a full file system a sweep ends with the reason; with space again the same sweep goes on."""
    out = tmp_path / "small"
    out.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "lab", out]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here; the next test makes a full file system up")
    try:
        study, ballast = out / "study", out / "ballast"
        assert sweep(engine, "--seeds", "1-2", "--out", study) == 0
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4096))
        os.truncate(ballast, ballast.stat().st_size - 5 * 4096)
        assert sweep(engine, "--seeds", "1-12", "--out", study) == 1
        assert "no space is left there; what was stored is whole" in capsys.readouterr().err
        assert 4 < len(list((study / "raw").iterdir())) < 24
        ballast.unlink()
        engine.titles.clear()
        assert sweep(engine, "--seeds", "1-12", "--out", study) == 0
        assert len(engine.titles) < 20
        assert len(list((study / "raw").iterdir())) == 24
    finally:
        subprocess.run(["umount", out], check=True)


def test_no_space_in_the_middle(engine, tmp_path, capsys, monkeypatch) -> None:
    """Space that ends in the middle of a sweep: what was stored before stays, and nothing is half there."""
    out = tmp_path / "study"
    write = files.write

    def full(path, data) -> None:
        if path.parent.name == "raw" and len(list(path.parent.iterdir())) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(files, "write", full)
    assert sweep(engine, "--seeds", "1-3", "--out", out) == 1
    assert "no space is left there; what was stored is whole, and the same sweep goes on" in capsys.readouterr().err
    assert json.loads((out / "manifest.json").read_text())["sweeps"][0]["counts"]["run"] == 3
    monkeypatch.setattr(files, "write", write)
    engine.titles.clear()
    assert sweep(engine, "--seeds", "1-3", "--out", out) == 0
    assert len(engine.titles) == 3


def test_a_raw_result_that_is_damaged(engine, tmp_path) -> None:
    """A raw result that cannot be read is an error of its row, which says what to do."""
    out = tmp_path / "study"
    assert sweep(engine, "--out", out) == 0
    path = sorted((out / "raw").iterdir())[0]
    path.write_bytes(path.read_bytes()[:40])
    assert fake_lab.report(out) == 0
    assert f"{path}: cannot be read" in (out / "table.csv").read_text()
    path.unlink()
    engine.titles.clear()
    assert sweep(engine, "--out", out) == 0
    assert len(engine.titles) == 1


def corrupted(data: bytes) -> bytes:
    """A whole file, of which the middle cannot be decompressed."""
    return data[:20] + bytes(20) + data[40:]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (corrupted, "cannot be read (Error -3 while decompressing data"),
        (lambda data: data + b"more", "cannot be read (Not a gzipped file"),
        (lambda _: gzip.compress(b"[1]"), "cannot be read (is of kind list, and not a mapping): remove it"),
        (lambda _: gzip.compress(b"{}"), "cannot be read (digest is missing, and must be of kind str): remove it"),
        (
            lambda _: gzip.compress(json.dumps({**RECORD, "job": 5}).encode()),
            "cannot be read (job is of kind int, and must be of kind dict): remove it",
        ),
        (
            lambda _: gzip.compress(json.dumps({**RECORD, "digest": "ab"}).encode()),
            f"is of another run: it says ab, and not {KEY}: remove it and sweep again",
        ),
        (
            lambda _: gzip.compress(json.dumps({**RECORD, "ingredients": {"plan": "2"}}).encode()),
            f"is of another run: it comes from {digest.digest({'plan': '2'})}, and not {KEY}: remove it",
        ),
    ],
)
def test_a_raw_result_that_is_not_this_runs(tmp_path, damage, message) -> None:
    """What cannot be read, has another shape, or is of another run, is an error with the file and what is wrong."""
    study = Study(tmp_path / "study")
    with study.locked():
        study.store(KEY, RECORD)
    path = study.folder / "raw" / f"{KEY}.json.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StudyError, match=re.escape(f"{path}: {message}")):
        study.load(KEY)


def test_a_raw_result_under_another_runs_name(engine, tmp_path, capsys) -> None:
    """A file that was renamed is not served as the other run's: its row says so."""
    out = tmp_path / "study"
    assert sweep(engine, "--out", out) == 0
    first, second = sorted((out / "raw").iterdir())
    first.rename(second)
    engine.titles.clear()
    assert sweep(engine, "--out", out) == 0
    assert len(engine.titles) == 1
    its, other = (path.name.partition(".")[0] for path in (first, second))
    (row,) = [line for line in (out / "table.csv").read_text().splitlines() if "is of another run" in line]
    assert f"{second}: is of another run: it says {its}, and not {other}: remove it and sweep again" in row


ASKED = {"run": KEY, "path": "x.py", "scenario": "x", "values": {}, "seed": 1}
ASKED |= {"cc": "bbr", "qdisc": "cake", "build": "", "kernel": "6.1"}
OLD = {"program": "lab 0.0.7", "sweeps": [], "runs": [ASKED]}
SWEPT = {"program": "lab 0.0.7", "python": "3.11", "commit": None, "started": "", "ended": None, "counts": None}
SWEPT |= {"builds": [], "asked": {}, "host": {"name": "n", "kernel": "6", "cpus": 2, "cpu": "c"}}
BUILD = {"release": "6.1", "emulator": "q", "build": "", "modules": {"m": 5}}


@pytest.mark.parametrize(
    ("content", "message", "writer"),
    [
        ([], "is of kind list, and not a mapping", "lab 0.1"),
        ("runs", "is of kind str, and not a mapping", "lab 0.1"),
        (5, "is of kind int, and not a mapping", "lab 0.1"),
        ({}, "sweeps is missing, and must be of kind list", "lab 0.1"),
        ({"program": "lab 0.0.7"}, "sweeps is missing, and must be of kind list", "lab 0.0.7"),
        ({**OLD, "runs": {}}, "runs is of kind dict, and must be of kind list", "lab 0.0.7"),
        ({**OLD, "runs": [ASKED, "x"]}, "runs, 2 of 2: is of kind str, and not a mapping", "lab 0.0.7"),
        ({**OLD, "runs": [{**ASKED, "values": None}]}, "runs, 1 of 1: values is of kind NoneType, and ", "lab 0.0.7"),
        (
            {**OLD, "sweeps": [{**SWEPT, "builds": 5}]},
            "sweeps, 1 of 1: builds is of kind int, and must be",
            "lab 0.0.7",
        ),
        *(
            ({**OLD, "sweeps": [{**SWEPT, name: value}]}, f"sweeps, 1 of 1: {name}{message}", "lab 0.0.7")
            for name, value, message in (
                ("builds", [1], ", 1 of 1: is of kind int, and not a mapping"),
                ("builds", [BUILD], ", 1 of 1: modules: m is of kind int, and must be of kind str"),
                ("host", {}, ": name is missing, and must be of kind str"),
                ("counts", 3, " is of kind int, and must be of kind dict"),
                ("counts", {"run": 1}, ": present is missing, and must be of kind int"),
                ("asked", {"ccs": 5}, ": ccs is of kind int, and must be of kind list | str"),
                ("commit", 5, " is of kind int, and must be of kind str | None"),
            )
        ),
        ({**OLD, "runs": [{**ASKED, "run": "x" * 400}]}, "runs, 1 of 1: run 'xxx", "lab 0.0.7"),
        ({**OLD, "runs": [{**ASKED, "run": "../x"}]}, "runs, 1 of 1: run '../x': must be as [0-9a-f]{64}", "lab 0.0.7"),
        (b"{", "Expecting property name", "lab 0.1"),
        (b"[" * 100_000, "is nested too deeply", "lab 0.1"),
        (b"\xff\xfe\xff", "'utf-16-le' codec can't decode", "lab 0.1"),
    ],
    ids=lambda part: part if isinstance(part, str) and part.startswith("lab") else "",
)
def test_a_manifest_of_another_shape(engine, tmp_path, capsys, content, message, writer) -> None:
    """It is refused by sweep and report with what is wrong and who wrote it, and nothing is changed."""
    out = tmp_path / "study"
    assert sweep(engine, "--out", out) == 0
    (out / "manifest.json").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    engine.titles.clear()
    (out / "lock").write_text("123\n")
    before = content_of(out)
    assert sweep(engine, "--seeds", "1-2", "--out", out) == 2
    assert fake_lab.report(out) == 2
    said = capsys.readouterr().err.splitlines()[-2:]
    assert said[0] == said[1]
    assert said[0].startswith(f"lab: {out}/manifest.json: cannot be read: {message}")
    assert said[0].endswith(f"; it was written by {writer}, and this is lab 0.1; nothing was changed")
    assert content_of(out) == before
    assert not engine.titles


def test_a_manifest_that_is_whole_is_read(engine, tmp_path) -> None:
    """Its sweeps' axes stand in the report as they were asked for."""
    out = tmp_path / "study"
    assert sweep(engine, "--traffic", "iperf3", "--out", out) == 0
    content = json.loads((out / "manifest.json").read_text())
    content["sweeps"].append(SWEPT)
    (out / "manifest.json").write_text(json.dumps(content))
    assert fake_lab.report(out) == 0
    assert "<dt>traffic</dt><dd>iperf3</dd>" in (out / "report.html").read_text()


def test_a_manifest_with_a_path_that_no_file_has(engine, tmp_path) -> None:
    """The runs' rows say so, and a sweep puts the right one there."""
    out = tmp_path / "study"
    assert sweep(engine, "--out", out) == 0
    right = (out / "manifest.json").read_text()
    content = json.loads(right)
    for one in content["runs"]:
        one["path"] = "x" * 5_000 + ".py"
    (out / "manifest.json").write_text(json.dumps(content))
    assert fake_lab.report(out) == 0
    assert "xxx.py: there is no such file" in (out / "table.csv").read_text()
    assert sweep(engine, "--out", out) == 0
    assert json.loads((out / "manifest.json").read_text())["runs"] == json.loads(right)["runs"]


def test_a_manifest_that_is_a_folder(engine, tmp_path, capsys) -> None:
    """What the file system says of it is said, and nothing is changed."""
    out = tmp_path / "study"
    assert sweep(engine, "--out", out) == 0
    (out / "manifest.json").unlink()
    (out / "manifest.json").mkdir()
    assert fake_lab.report(out) == sweep(engine, "--out", out) == 2
    message = f"lab: {out}/manifest.json: cannot be read: Is a directory; it was written by lab 0.1"
    assert capsys.readouterr().err.count(message) == 2


def test_a_failure_of_another_shape(engine, tmp_path) -> None:
    """Why a run failed cannot be read: its row says so, and the others are shown."""
    out = tmp_path / "study"
    engine.instead = lambda run: "no" if run.cc == "bbr" else None
    assert sweep(engine, "--out", out) == 1
    (path,) = (out / "failed").iterdir()
    path.write_text("[]")
    assert fake_lab.report(out) == 0
    lines = (out / "table.csv").read_text()
    assert f"{path}: cannot be read: is of kind list, and not a mapping: remove it and sweep again" in lines
    assert len(lines.splitlines()) == 1 + 2 + 1


def test_a_record_says_what_it_comes_from(engine, tmp_path) -> None:
    """A stored result has its ingredients, whose digest is its name."""
    out = tmp_path / "study"
    assert sweep(engine, "--cc", "pktpair", "--qdisc", "cake", "--out", out) == 0
    (path,) = (out / "raw").iterdir()
    name = path.name.partition(".")[0]
    record = Study(out).load(name)
    assert digest.digest(record["ingredients"]) == name == record["digest"]
    assert set(record["ingredients"]) == {
        *("plan", "kernel", "emulator", "tool usr/sbin/tc", "code agent.py", "machine cpu", "module tcp_pktpair")
    }
    assert Plan.of(record["job"]).flows[0].cc == "pktpair"


SETTINGS = {"net.ipv4.tcp_wmem": "4096 9 9", "net.ipv4.tcp_rmem": "4096 8 8"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sysctls", {"a": SETTINGS}),
        ("sysctls", {"a": SETTINGS, "b": SETTINGS}),
        ("module_parameters", {"tcp_bbr": {"x": "1", "y": "2"}}),
        ("routes", {"a": "quickack 1", "b": "quickack 1"}),
        ("topology", {"a": "host", "b": "host"}),
    ],
)
def test_a_digest_changes_with_the_order_of_what_a_guest_does(engine, run, name, value) -> None:
    """A guest makes nodes and settings one after the other: where the order is another, so may be the result."""

    def backwards(mapping):
        return {one: backwards(mapping[one]) for one in reversed(mapping)} if isinstance(mapping, dict) else mapping

    found = []
    for now in (value, dict(value), backwards(value)):
        what = replace(CHAIN, nodes=now) if name == "topology" else now
        plan = replace(Plan(CHAIN), **{name: what})
        found.append(digest.ingredients(replace(run, plan=plan), engine.surroundings("", ""))["plan"])
    assert found[0] == found[1] != found[2]


def test_what_all_nodes_have_goes_before_what_one_has() -> None:
    """Whichever comes first in the plan: "*" sets each node, and a name then changes it."""
    of_all, of_b, of_root = {"x": "1"}, {"x": "2"}, {"x": "3"}
    wanted = [("a", of_all), ("b", of_all), ("root", of_root), ("b", of_b)]
    for settings in ({"*": of_all, "root": of_root, "b": of_b}, {"root": of_root, "b": of_b, "*": of_all}):
        assert Plan(CHAIN).by_node(settings) == wanted
    assert Plan(CHAIN).by_node({"b": of_b}) == [("b", of_b)]


@pytest.mark.parametrize("name", ["vmlinuz", "tc", "agent.py"])
def test_a_digest_changes_with_content_only(engine, run, name) -> None:
    """A digest changes with a file's content, and not with its time stamp."""
    surroundings = engine.surroundings("", "")
    before = digest.ingredients(run, surroundings)
    os.utime(engine.folder / name, ns=(1, 1))
    assert digest.ingredients(run, surroundings) == before
    (engine.folder / name).write_text("something else")
    after = digest.ingredients(run, surroundings)
    assert len(before.items() - after.items()) == 1


def test_a_digest_changes_with_emulator_and_machine(engine, run) -> None:
    """Another QEMU and another CPU model are other results."""
    surroundings = engine.surroundings("", "")
    three = (surroundings, replace(surroundings, emulator="QEMU 8"), replace(surroundings, machine={"cpu": "qemu64"}))
    assert len({digest.digest(digest.ingredients(run, one)) for one in three}) == 3


def test_a_digest_changes_with_what_python_draws(engine, run, monkeypatch) -> None:
    """When a source's packets leave is drawn by this Python: where another draws otherwise, the result is another."""
    source = Source("s", "a", "b", {"model": "poisson", "rate_packets_s": 100.0, "start_s": 0.0, "seed": "1"}, 1.0, 500)
    with_source = replace(run, plan=replace(run.plan, sources=(source,)))
    surroundings = engine.surroundings("", "")
    assert "times" not in digest.ingredients(run, surroundings)
    before = digest.ingredients(with_source, surroundings)
    assert digest.ingredients(with_source, surroundings) == before
    monkeypatch.setattr(digest, "_drawn", {})
    monkeypatch.setattr(Source, "times_ns", lambda self: [1, 2, 3])
    after = digest.ingredients(with_source, surroundings)
    assert {name for name, _ in before.items() ^ after.items()} == {"times"}


def test_a_manifest_names_what_the_guests_had(engine, tmp_path) -> None:
    """Each tool and the guest's code by content; and what is only noted, which is in no digest."""
    plain = engine.surroundings
    out = tmp_path / "study"
    for real_time in (True, False):
        engine.surroundings = lambda *named, now=real_time: replace(plain(*named), noted={"real_time": now})
        assert sweep(engine, "--out", out) == 0
    first, second = (one["builds"][0] for one in json.loads((out / "manifest.json").read_text())["sweeps"])
    assert first["tools"] == {"usr/sbin/tc": digest.of_file(engine.folder / "tc")}
    assert first["code"] == {"agent.py": digest.of_file(engine.folder / "agent.py")}
    assert (first["noted"], second["noted"]) == ({"real_time": True}, {"real_time": False})
    assert len(engine.titles) == 2


@pytest.mark.parametrize(
    ("changes", "cc", "modules"),
    [
        ({}, "bbr", []),
        ({}, "pktpair_1994", ["tcp_pktpair"]),
        ({"flows": (Flow("f", "a", "b", "pktpair_1994", bytes=1),)}, "bbr", ["tcp_pktpair"]),
        ({"flows": (Flow("pktpair", "a", "b", "cubic", bytes=1),)}, "bbr", []),
        ({"changes": (Change(1.0, "a-b", {"queue": "fq_rr", "rate_bit_s": 1}),)}, "bbr", ["sch_fq_rr"]),
        ({"commands": (Command("unload", 1.0, "root", ("insmod", "@sch_fq_rr")),)}, "bbr", ["sch_fq_rr"]),
        ({"module_parameters": {"tcp_pktpair": {"train_min": "5"}}}, "bbr", ["tcp_pktpair"]),
        ({"sysctls": {"a": {"net.ipv4.tcp_congestion_control": "pktpair"}}}, "", ["tcp_pktpair"]),
        ({"record": Record(events=("fq_rr:fq_rr_enqueue",))}, "bbr", ["sch_fq_rr"]),
        ({"record": Record(bpftrace="kprobe:fq_rr_dequeue { @ = count(); }")}, "bbr", ["sch_fq_rr"]),
        ({"routes": {"*": "congctl pktpair"}}, "bbr", ["tcp_pktpair"]),
        ({"sysctls": {"root": {"net.core.default_qdisc": "fq_rr"}}}, "bbr", ["sch_fq_rr"]),
        ({"commands": (Command("fq_rr", 1.0, "a", ("sh", "-c", "true")),)}, "bbr", []),
        (
            {"commands": (Command("c", 1.0, "a", ("sh", "-c", "ip route change default congctl pktpair")),)},
            "bbr",
            ["tcp_pktpair"],
        ),
    ],
)
def test_which_modules_a_run_uses(run, changes, cc, modules) -> None:
    """A run uses a module where its plan mentions it, wherever that is, but in a name."""
    assert digest.modules_of(replace(run, cc=cc, plan=replace(Plan(CHAIN), **changes))) == modules


def test_a_queue_on_any_way_uses_its_module(run) -> None:
    """fq_rr on the way back of any link counts."""
    back = Way(rate_bit_s=1000, queue="fq_rr")
    topology = replace(CHAIN, links=(Link("a", "b", back=back),))
    assert digest.modules_of(replace(run, plan=Plan(topology))) == ["sch_fq_rr"]


def test_a_missing_file_is_named(engine, run) -> None:
    """A file that is gone is named."""
    surroundings = engine.surroundings("", "")
    (engine.folder / "tc").unlink()
    with pytest.raises(PlanError, match="tc: No such file"):
        digest.ingredients(run, surroundings)


def test_a_number_that_is_none_is_refused() -> None:
    """A plan with a number that JSON does not know has no digest."""
    with pytest.raises(PlanError, match="cannot be kept: Out of range float values are not JSON compliant"):
        digest.canonical({"rate": float("nan")})


def test_a_failure_is_forgotten_when_the_run_succeeds(tmp_path) -> None:
    """A run has failed or has a result, never both."""
    study = Study(tmp_path / "study")
    with study.locked():
        study.fail(KEY, {"error": "gone", "log": []})
        assert study.failure(KEY) == {"error": "gone", "log": []}
        study.store(KEY, RECORD)
        assert study.failure(KEY) is None
        assert study.load(KEY) == RECORD


def test_a_lock_is_free_after_the_sweep(tmp_path) -> None:
    """A lock is held by one, and free when that has ended."""
    with Study(tmp_path / "study").locked():
        other = Study(tmp_path / "study").locked()
        with pytest.raises(StudyError, match=f"process {os.getpid()}"):
            other.__enter__()
    with Study(tmp_path / "study").locked():
        pass


def test_equal_content_is_written_alike(tmp_path) -> None:
    """A raw result has no time stamp: the same result is the same file."""
    study = Study(tmp_path / "study")
    with study.locked():
        study.store("ab", {"raw": list(range(100))})
        study.store("cd", {"raw": list(range(100))})
    raw = tmp_path / "study" / "raw"
    assert (raw / "ab.json.gz").read_bytes() == (raw / "cd.json.gz").read_bytes()
