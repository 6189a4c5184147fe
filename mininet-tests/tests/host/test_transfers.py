# SPDX-License-Identifier: GPL-2.0
"""The benchmarks' plans and figures, which runs a campaign has, and what it does again."""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import fake_lab
import pytest
from lab import cli
from lab.analyse.figures import RunError
from lab.front import measuring, transfers
from lab.model import benchmarks
from lab.model.benchmarks import Benchmark, Row, Transfer
from lab.model.errors import PlanError
from lab.show import slowdowns
from lab.store import digest
from lab.store.engine import EngineError
from lab.store.sweep import planned as planned_runs


def benchmark(**changes: Any) -> Benchmark:
    """Two equal files at once: a fair link takes 20 ms for both, and then a round trip."""
    values: dict[str, Any] = {
        "name": "b0",
        "transfers": (Transfer("a", "s1", "d1", 100), Transfer("b", "s2", "d2", 100)),
        "rows": (Row("", "a", 0.064, 0.5),),
        "delays_ms": {"d1-x": 44.0, "d2-x": 44.0},
    }
    return Benchmark(**{**values, **changes})


def raw(*lasted_s: float) -> dict[str, Any]:
    flows = [
        {"name": "ab"[index], "began_ns": 1000, "ended_ns": 1000 + round(time_s * 1e9), "mss_bytes": 448}
        for index, time_s in enumerate(lasted_s)
    ]
    return {"flows": flows}


def rows(of: Benchmark, found: dict[str, Any]) -> list[dict[str, Any]]:
    labels = {"hosts": "open", "cc": "reno", "qdisc": "fq_rr", "seed": 1}
    return of.table_rows(labels, {**of.measure(of.plan("open", "reno", "fq_rr", 1), found), "retransmits": 7})


def test_row() -> None:
    """A row: the primary against the paper's optimum, mean and worst against each flow's reference."""
    (row,) = rows(benchmark(), raw(0.096, 0.032))
    assert row["slowdown"] == 0.5 and row["completion_s"] == 0.096 and row["optimal_s"] == 0.064
    # references: 64 ms less what the other's last packet takes, by the start's jitter
    assert row["reference_s"] == pytest.approx(0.064, abs=0.0002)
    assert row["worst_slowdown"] == pytest.approx(0.5, abs=0.005)
    # the flow that is ahead by half counts as 0
    assert row["mean_slowdown"] == pytest.approx(0.25, abs=0.003)
    assert (row["packets"], row["retransmits"], row["flows"], row["row_set"]) == (200, 7, 2, "b0")


def test_optimum_by_reference() -> None:
    """Where the paper prints no optimum, the reference is the optimum"""
    (row,) = rows(benchmark(rows=(Row("", "b", None, 0.5),)), raw(0.064, 0.128))
    assert row["optimal_s"] == row["reference_s"] == pytest.approx(0.064, abs=0.0002)
    assert row["slowdown"] == pytest.approx(1, abs=0.005)


def test_difference() -> None:
    """Benchmark 9: how far apart two transfers end, over the first, whichever is later"""
    of = benchmark(rows=(Row("a", "a", None, 0.0), Row(benchmarks.DIFFERENCE, "b", None, 0.067)))
    assert rows(of, raw(0.1, 0.12))[1]["slowdown"] == pytest.approx(0.2)
    assert rows(of, raw(0.1, 0.08))[1]["slowdown"] == pytest.approx(0.2)
    assert [row["row_set"] for row in rows(of, raw(0.1, 0.08))] == ["b0", "b0"]


def test_other_segments() -> None:
    """A run whose segments have another size than they were told is an error, not a row"""
    found = raw(0.1, 0.1)
    found["flows"][1]["mss_bytes"] = 1448
    with pytest.raises(RunError, match="flow b: segments of 1448 bytes, not 448"):
        rows(benchmark(), found)


def test_start_jitter() -> None:
    """Starts are up to one packet time late, by the seed and nothing else"""
    starts = [benchmark().starts_ns(seed) for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= start < benchmarks.PACKET_NS for one in starts for start in one)


def test_settings() -> None:
    """A packet takes the same time in every setting of the hosts; only one has other buffers than stock"""
    for name, setting in benchmarks.SETTINGS.items():
        assert setting.packet_bytes * 8e9 / setting.rate_bit_s == benchmarks.PACKET_NS, name
    assert [name for name, setting in benchmarks.SETTINGS.items() if setting.gro] == ["stock-gro"]
    assert benchmarks.SETTINGS["nowindow"].rate_bit_s == 12_800_000


def test_plan() -> None:
    """What a run is: CAKE's limit in bytes, segments by their packet, links as narrow as a bucket wants them"""
    plan = benchmark(limit_packets=44).plan("open", "reno", "cake", 1)
    assert plan.topology.way("r-x").options == f"memlimit {44 * benchmarks.CAKE_BYTES_PER_PACKET}"
    assert {flow.bytes for flow in plan.flows} == {100 * 448}
    widths = []
    for queue in ("fq_rr", "fq_codel"):
        links = benchmark().plan("open", "reno", queue, 1).topology.links
        widths.append({link.mtu_bytes for link in links if "r-x" in (link.device_a, link.device_b)})
    assert widths == [{1500}, {500}]
    assert benchmark().plan("stock-gro", "reno", "cake", 1).gro == ("s1", "d1", "s2", "d2")
    assert benchmark().plan("stock", "reno", "cake", 1).sysctls == {}


def test_references_are_computed_once(monkeypatch) -> None:
    """The reference of a benchmark and seed is the same for every queue, and computed once"""
    found = []
    monkeypatch.setattr(benchmarks, "_references", {})
    monkeypatch.setattr(Benchmark, "_references_s", lambda self, seed: found.append(seed) or {"a": 1.0})
    for seed in (1, 2, 1):
        benchmark().references_s(seed)
        benchmark(rows=()).references_s(seed)
    benchmark(service_ns=1).references_s(1)
    assert found == [1, 2, 1]


@pytest.fixture(scope="module")
def planned() -> list[Any]:
    """The whole campaign's runs; without digests, which would draw every packet of the random traffic."""
    return [run for one in transfers.requests(transfers.Selection()) for run in planned_runs(one, [("6.1", "")])]


def test_campaign(planned) -> None:
    """The campaign: every row, three seeds (five with random traffic), pktpair's own settings for pktpair only"""
    labels = Counter(
        (row.benchmark, row.variant, run.values["hosts"], run.cc, run.qdisc)
        for run in planned
        for of in [run.scenario.module.benchmark(run.values, run.seed)]
        for row in [_Named(of.name, one.variant) for one in of.rows]
    )
    assert all(count == (5 if key[0] == "b7" else 3) for key, count in labels.items())
    variants = Counter(key[0] for key in labels if key[2:] == ("open", "pktpair", "fq_rr"))
    assert variants == {"b1": 1, "b2": 1, "b3": 4, "b4": 2, "b5": 1, "b6": 2, "b7": 10, "b8": 1, "b9": 3}
    peers = {key for key in labels if key[3] != "pktpair"}
    assert {key[2] for key in peers} == {"stock", "open"} and not any("staggered" in key[1] for key in peers)
    nowindow = {key for key in labels if key[2] == "nowindow"}
    assert {key[4] for key in nowindow} == {"fq_rr"} and not any("staggered" in key[1] for key in nowindow)
    assert {key[0] for key in labels if key[2] == "stock-gro"} == {"b1", "b2", "b3"}
    assert len(planned) == len({digest.canonical(run.identity) for run in planned}) == 1306


class _Named:
    def __init__(self, benchmark: str, variant: str) -> None:
        self.benchmark, self.variant = benchmark, variant


def test_a_run_depends_on_the_modules_that_it_uses(planned) -> None:
    """A peer over a peer's queue need not be measured again when a module of ours has changed"""
    used: dict[tuple[str, str], set[str]] = {}
    for run in (one for one in planned if one.seed == 1):
        used.setdefault((run.cc, run.qdisc), set()).add(" ".join(digest.modules_of(run)))
    assert used["bbr", "cake"] == used["cubic", "fq_codel"] == {""}
    assert used["bbr", "fq_rr"] == {"sch_fq_rr"}
    assert used["pktpair", "cake"] == {"tcp_pktpair"}
    assert used["pktpair", "fq_rr"] == {"tcp_pktpair sch_fq_rr"}


def test_a_choice_that_there_is_not() -> None:
    """A selection refuses what there is not"""
    assert transfers.chosen("b3,b1", transfers.BENCHMARKS) == ("b1", "b3")
    with pytest.raises(transfers.argparse.ArgumentTypeError, match="b10: must be of b1, b2"):
        transfers.chosen("b1,b10", transfers.BENCHMARKS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("transfers --seeds 0", "argument --seeds: 0: must be at least 1"),
        ("transfers --seeds 10001", "argument --seeds: 10001: must be at most 10000"),
        ("transfers --guests x", "argument --guests: x: must be a whole number"),
        ("demo --guests 257", "argument --guests: 257: must be at most 256"),
        ("demo --rows 9", "argument --rows: 9: must be at most 8"),
        ("demo --seed 1.5", "argument --seed: 1.5: must be a whole number"),
    ],
)
def test_a_number_that_is_out_of_range(capsys, words: str, message: str) -> None:
    """Transfers and demo refuse a number with its limit, status 2"""
    with pytest.raises(SystemExit) as ended:
        cli.parse(words.split())
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


class Transferring(fake_lab.FakeEngine):
    """Guests in which every transfer takes twice its reference, or what a build of tcp_pktpair says."""

    def surroundings(self, kernel, modules):
        if modules:
            for name in ("tcp_pktpair", "sch_fq_rr"):
                path = self.folder / modules / f"{name}.ko"
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text((self.folder / path.name).read_text())
        return super().surroundings(kernel, modules)

    def run(self, run) -> dict[str, Any]:
        self.titles.append(run.title)
        if self.instead(run):
            raise EngineError(self.instead(run), ["last words"])
        content = (self.folder / run.build / "tcp_pktpair.ko").read_text()
        factor = 1.5 if run.cc == "pktpair" and content == "faster" else 2.0
        of = run.scenario.module.benchmark(run.values, run.seed)
        references = of.references_s(run.seed)
        flows = [
            {
                "name": flow.name,
                "error": None,
                "cc": flow.cc,
                "began_ns": 0,
                "ended_ns": round(factor * references[flow.name] * 1e9),
                "bytes_acked": flow.bytes,
                "retransmits": 1,
                "data_packets_sent": 10,
                "mss_bytes": flow.packet_bytes - 52,
            }
            for flow in run.plan.flows
        ]
        raw = {"error": None, "warnings": [], "dmesg_tail": [], "missing_events": [], "commands": [], "trace": "",
               "begin_s": 0.0, "flows": flows, "qdiscs": {}, "cpu_s": 1.25}  # fmt: skip
        return raw


@pytest.fixture(autouse=True)
def no_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Much of a campaign's time goes into its pictures: one test has them as they are."""
    if request.function is not test_summary:
        monkeypatch.setattr(slowdowns, "picture", lambda *_: None)


WORDS = ("--only", "b2,b4", "--cc", "pktpair,bbr", "--qdisc", "fq_rr,cake", "--hosts", "open", "--seeds", "2")


def campaign(engine, out, *words: str) -> dict[str, Any]:
    arguments = cli.parse(["transfers", *WORDS, "--out", str(out), "--guests", "1", *words])
    assert transfers.run(arguments, engine) == 0
    return json.loads((out / "summary.json").read_text())


def test_summary(tmp_path, capsys) -> None:
    """summary.json has its fields, and its table and pictures lie beside it; all is in one study"""
    summary = campaign(Transferring(tmp_path / "engine"), tmp_path / "out")
    fields = ("commit", "kernel", "modules", "clock", "study", "cpu_seconds", "goals", "rows")
    assert tuple(summary) == fields
    assert summary["study"] == "study" and (tmp_path / "out" / "study" / "table.csv").exists()
    assert set(summary["modules"]) == {"tcp_pktpair", "sch_fq_rr"}
    # one variant of b2 and two of b4, two seeds
    assert summary["cpu_seconds"] == dict.fromkeys(
        ("open-pktpair-fq_rr", "open-pktpair-cake", "open-bbr-fq_rr", "open-bbr-cake"), 5.0
    )
    assert len(summary["rows"]) == 2 * 2 * (1 + 2) * 2
    row = summary["rows"][0]
    reference = {"benchmark", "variant", "hosts", "cc", "qdisc", "seed", "completion_s", "optimal_s", "reference_s"}
    reference |= {"slowdown", "published_slowdown", "mean_slowdown", "worst_slowdown", "packets", "retransmits"}
    assert set(row) == reference | {"row_set", "flows"}
    assert row["mean_slowdown"] == pytest.approx(1.0)
    goal = {"kind", "name", "hosts", "qdisc", "measured", "limit", "met", "text", "row_set"}
    assert set(summary["goals"][0]) == goal
    assert (tmp_path / "out" / "b2.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr()
    assert "MISSED  b4 short, hosts open, fq_rr: slowdown 10" in said.out
    # the scenarios' own checks are in the table, and a campaign does not complain of them
    assert "FAILED" not in said.err and "Error" not in said.err
    with (tmp_path / "out" / "study" / "table.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["scenario"] == "b4-path-lengths"]
    failed = {(row["cc"], row["qdisc"]) for row in rows if row["checks_failed"] == "2"}
    assert failed == {("pktpair", "fq_rr")} != {(row["cc"], row["qdisc"]) for row in rows}


def test_what_is_kept(tmp_path) -> None:
    """A changed tcp_pktpair runs again what uses it, and bbr over CAKE not; --fresh runs all again"""
    engine, out = Transferring(tmp_path / "engine"), tmp_path / "out"
    campaign(engine, out)
    assert len(engine.titles) == 2 * 2 * 2 * 2
    engine.titles.clear()
    (engine.folder / "tcp_pktpair.ko").write_text("faster")
    summary = campaign(engine, out)
    assert len(engine.titles) == 2 * 2 * 2 and not any("bbr" in title for title in engine.titles)
    assert {round(row["mean_slowdown"], 3) for row in summary["rows"] if row["cc"] == "pktpair"} == {0.5}
    engine.titles.clear()
    campaign(engine, out)
    assert not engine.titles
    campaign(engine, out, "--fresh")
    assert len(engine.titles) == 2 * 2 * 2 * 2


def test_figures_are_not_kept(tmp_path, monkeypatch) -> None:
    """Slowdowns follow from the raw results and the optima of today, without a run"""
    engine, out = Transferring(tmp_path / "engine"), tmp_path / "out"
    campaign(engine, out)
    engine.titles.clear()
    completions = benchmarks.reference.completions_s
    monkeypatch.setattr(benchmarks, "_references", {})
    monkeypatch.setattr(
        benchmarks.reference, "completions_s", lambda *a: {name: 2 * one for name, one in completions(*a).items()}
    )
    summary = campaign(engine, out)
    assert not engine.titles
    assert {round(row["mean_slowdown"], 3) for row in summary["rows"]} == {0.0}


def test_a_run_that_fails(tmp_path) -> None:
    """A run that cannot be done is named with its guest's log; the others are kept, and the rest goes on from them"""
    engine, out = Transferring(tmp_path / "engine"), tmp_path / "out"
    engine.instead = lambda run: "the guest is gone" if run.title.startswith("b4") and run.seed == 2 else None
    with pytest.raises(
        measuring.MeasuringError,
        match=r"(?s)b4-path-lengths .* seed 2: the guest is gone\n +last words\nand 3 more of 16 runs",
    ):
        campaign(engine, out)
    assert not (out / "summary.json").exists()
    engine.titles.clear()
    engine.instead = lambda run: None
    campaign(engine, out)
    assert len(engine.titles) == 4 and all("seed 2" in title for title in engine.titles)


def test_a_kernel_that_complains(tmp_path) -> None:
    """A run in which the kernel complained has no figures, and the complaint is shown"""
    engine, out = Transferring(tmp_path / "engine"), tmp_path / "out"
    campaign(engine, out)
    path = sorted((out / "study" / "raw").iterdir())[0]
    record = json.loads(gzip.decompress(path.read_bytes()))
    record["raw"]["warnings"] = ["WARNING: at net/core/dev.c"]
    path.write_bytes(gzip.compress(json.dumps(record).encode()))
    with pytest.raises(measuring.MeasuringError, match=r"the kernel complained\n +WARNING: at net/core"):
        campaign(engine, out)


def test_a_base(tmp_path, capsys, monkeypatch) -> None:
    """--base runs what uses a module again with the base's, in the same study, and says which rows are worse"""
    engine, out = Transferring(tmp_path / "engine"), tmp_path / "out"
    (engine.folder / "before").mkdir()
    (engine.folder / "before" / "tcp_pktpair.ko").write_text("faster")
    monkeypatch.setattr(transfers, "build_label", lambda base: base)
    summary = campaign(engine, out, "--base", "before")
    # what uses tcp_pktpair twice, all else once: a queue that is the same is no other queue
    assert len(engine.titles) == 2 * 2 * 2 * (2 + 1)
    assert len(summary["rows"]) == 2 * 2 * (1 + 2) * 2
    assert summary["base"]["build"] == "before"
    assert set(summary["base"]["modules"]) == {"tcp_pktpair", "sch_fq_rr"}
    found = {(one["benchmark"], one["variant"], one["cc"], one["qdisc"]): one for one in summary["base"]["rows"]}
    assert len(found) == 2 * 2 * 3
    assert {key[2] for key, one in found.items() if one["worse"]} == {"pktpair"}
    assert {key[2] for key, one in found.items() if one["differs"]} == {"pktpair"}
    mine = found["b2", "", "pktpair", "cake"]
    assert mine["slowdown"]["mean"] == pytest.approx(1.0, abs=0.01)
    assert mine["base_slowdown"]["mean"] == pytest.approx(0.5, abs=0.01)
    assert "6 of 6 rows are worse; 6 use no module that differs" in capsys.readouterr().out


def test_a_base_that_there_is_not() -> None:
    """A base that is neither a folder nor a revision is refused; a revision is known by its commit"""
    with pytest.raises(PlanError, match="--base nowhere: neither a folder nor a revision"):
        transfers.build_label("nowhere")
    assert transfers.build_label("HEAD") == transfers.build_label("HEAD^{commit}")
    assert len(transfers.build_label("HEAD")) >= transfers.SHORT_HASH


def test_nothing_to_run(tmp_path) -> None:
    """A selection without a run is refused, and so is a document of a part"""
    engine = Transferring(tmp_path / "engine")
    with pytest.raises(PlanError, match="nothing to run"):
        campaign(engine, tmp_path / "out", "--hosts", "stock-gro", "--cc", "bbr")
    with pytest.raises(PlanError, match="--document writes what all rows gave"):
        campaign(engine, tmp_path / "out", "--document")
    assert not engine.titles and not (tmp_path / "out").exists()


def test_another_folder(tmp_path) -> None:
    """A folder that is no study is refused and not touched"""
    out = tmp_path / "out"
    (out / "study").mkdir(parents=True)
    (out / "study" / "notes").write_text("mine")
    with pytest.raises(PlanError, match="is not empty, and not a study"):
        campaign(Transferring(tmp_path / "engine"), out)
    assert [path.name for path in Path(out / "study").iterdir()] == ["notes"]
