# SPDX-License-Identifier: GPL-2.0
"""Documentation: its map of the sources, its reference of the lab, its quick start and its commands."""

import argparse
import ast
import base64
import dataclasses
import functools
import inspect
import json
import math
import re
import shlex
import typing
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docutils.core
import docutils.nodes
import numpy as np
import pytest
import test_figures
from conftest import TOP, quick_start
from fake_lab import FakeEngine, sweep
from lab import cli
from lab.analyse import figures, series, table
from lab.front import run as front_run
from lab.model import arrivals, devices, distributions, plan, scenario, topologies, topology, typed
from lab.model.errors import PlanError
from lab.model.plan import Command, Flow, Plan, Record, Source
from lab.model.topology import Link, Topology, Way
from lab.store.run import Run
from lab.store.study import Study

PAGES = TOP / "Documentation"
LAB = PAGES / "lab"
# A cell's text, by the first cell of its row; each row by the table's heads.
Rows = dict[str, dict[str, str]]


@functools.cache
def tables(path: Path) -> tuple[tuple[str, Rows], ...]:
    """Each table of a page with the title that it stands under."""
    return tuple(_tables(path))


def _tables(path: Path) -> Iterator[tuple[str, Rows]]:
    # what only Sphinx knows is no error here
    quiet = {"report_level": 5, "halt_level": 5}
    page = docutils.core.publish_doctree(path.read_text(), settings_overrides=quiet)
    for one in page.findall(docutils.nodes.table):
        section = one.parent
        while not isinstance(section, docutils.nodes.section | docutils.nodes.document):
            section = section.parent
        heads, *rows = [
            [entry.astext().replace("\n", " ") for entry in row.findall(docutils.nodes.entry)]
            for row in one.findall(docutils.nodes.row)
        ]
        yield (
            section.next_node(docutils.nodes.title).astext(),
            {row[0]: dict(zip(heads, row, strict=True)) for row in rows},
        )


def rows_of(page: str, title: str) -> Rows:
    """The table below a title of one of the lab's pages."""
    (found,) = [rows for section, rows in tables(LAB / f"{page}.rst") if section == title]
    return found


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text))


def test_map() -> None:
    """The map names every source file of the modules and the plugin, and nothing that there is not."""
    text = (PAGES / "index.rst").read_text()
    (block,) = re.findall(r"^::\n\n((?: {4}.*\n|\n)+)", text, re.MULTILINE)
    named = {line.split()[0] for line in block.splitlines() if line}
    assert not [path for path in named if not list(TOP.glob(path))]
    folders = ("include", "include/uapi/linux", "kmod", "qdisc", "tc-plugin")
    sources = {str(path.relative_to(TOP)) for folder in folders for path in (TOP / folder).glob("*.[ch8]")}
    assert {path for path in named if path.split("/")[0] in ("include", "kmod", "qdisc", "tc-plugin")} == sources


CLASSES = (
    *(scenario.Parameter, scenario.Check),
    *(topology.Topology, topology.Link, topology.Way),
    *(plan.Plan, plan.Flow, plan.Exchange, plan.Source, plan.Command, plan.Change, plan.Record),
)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_fields(kind: type) -> None:
    """The reference has every field of a class in its order, with its default."""
    found = rows_of("plan", kind.__name__)
    assert list(found) == [one.name for one in dataclasses.fields(kind)]
    for one in dataclasses.fields(kind):
        default = one.default_factory() if one.default_factory is not dataclasses.MISSING else one.default
        text = found[one.name]["default"]
        given = dataclasses.MISSING if text == "-" else eval(text, {"Way": Way, "Record": Record})
        assert repr(given) == repr(default), one.name


LINE = Topology(
    "line",
    {"a": "host", "r": "router", "b": "host"},
    (Link("a", "r", mtu_bytes=65_535), Link("r", "b", mtu_bytes=65_535)),
)
FILE = Flow("f", "a", "b", bytes=1000, write_bytes=1000)
SOURCE = Source("u", "a", "b", {"model": "constant", "rate_packets_s": 10}, 1.0, 500)
PLANNED = CLASSES[CLASSES.index(Link) :]


def with_field(kind: type, name: str, value: float) -> Plan:
    """A plan of which all but this field can be."""
    if kind is Way:
        beside: dict[str, dict[str, Any]] = {
            "jitter_ms": {"delay_ms": value},
            "limit_packets": {"rate_bit_s": 1_000_000, "queue": "pfifo"},
        }
        more = beside.get(name, {})
        return Plan(replace(LINE, links=(LINE.links[0], Link("r", "b", replace(Way(), **{**more, name: value})))))
    if kind is Link:
        return Plan(replace(LINE, links=(LINE.links[0], replace(LINE.links[1], **{name: value}))))
    if kind is Flow:
        # it carries bytes or lasts for seconds
        lasts = {"bytes": 0, "seconds": 1.0}
        others = {("seconds", True): {"bytes": 0}, ("bytes", False): {"seconds": 1.0}, ("packets_s", True): lasts}
        other = others.get((name, bool(value)), {})
        if name == "write_least_bytes":
            other = {**lasts, "write_bytes": value if isinstance(value, int) else 1}
        if name in ("write_gap_s", "until_s"):
            other = {"bytes": 0, "exchanges": (plan.Exchange(1, 1),), "write_bytes": 1}
        return Plan(LINE, (replace(FILE, **{**other, name: value}),))
    if kind is plan.Exchange:
        return Plan(LINE, (replace(FILE, bytes=0, exchanges=(replace(plan.Exchange(1, 1), **{name: value}),)),))
    if kind is Source:
        return Plan(LINE, sources=(replace(SOURCE, **{name: value}),))
    if kind is Record:
        return Plan(LINE, record=replace(Record(), **{name: value}), seconds=999_940.0)
    if kind is Command:
        return Plan(LINE, commands=(replace(Command("c", 0.0, "r", ("true",)), **{name: value}),))
    if kind is plan.Change:
        return Plan(LINE, changes=(replace(plan.Change(0.0, "r-b"), **{name: value}),))
    return replace(Plan(LINE, gro=("b",)), **{name: value})


def numbers() -> Iterator[Any]:
    """Each number of a plan, with its type and its range."""
    for kind in PLANNED:
        for name, hint in typed.kinds(kind).items():
            number, *limits = typing.get_args(hint) or (hint,)
            if number in (int, float):
                yield pytest.param(kind, name, number, limits, id=f"{kind.__name__}.{name}")


@pytest.mark.parametrize(("kind", "name", "number", "limits"), numbers())
def test_ranges(kind: type, name: str, number: type, limits: list[typed.Range]) -> None:
    """Each number of a plan has a range; what the reference says may be, may be, and what is beyond is refused."""
    said = rows_of("plan", kind.__name__)[name]["unit, range"].split(", ")[-1]
    if name == "family":
        assert said == "4 or 6"
        good, bad = [4, 6], [0, 5, 7]
    else:
        (limit,) = limits
        assert said == str(limit)
        good = [number(limit.low), number(limit.high), *([number(0)] if limit.or_zero else [])]
        bad = [number(limit.low / 2) if limit.or_zero else number(limit.low - 1), -1, number(limit.high * 1.001 + 1)]
        bad += [1] if name in ("lose_every", "keep_every") else []
        bad += [math.nan, math.inf, True, "1"]
    for value in good:
        with_field(kind, name, value).check()
    for value in bad:
        with pytest.raises(PlanError):
            with_field(kind, name, value).check()


def test_ranges_are_understood() -> None:
    """What looks like a range in the reference is one that is tested."""
    tested = {one.id for one in numbers()}
    for kind in CLASSES:
        for name, row in rows_of("plan", kind.__name__).items():
            limited = re.search(r"\d", row.get("unit, range", row.get("unit", "")))
            assert not limited or f"{kind.__name__}.{name}" in tested


def test_metrics_that_names_must_not_have() -> None:
    """The plan knows each metric of runs, sources and devices, so that no name can stand for two."""
    known = {*plan.OF_RUN, "{}_status"}
    known |= {text.format("SOURCE") for text in plan.OF_SOURCE} | {text.format("DEVICE") for text in plan.OF_DEVICE}
    found = {name.replace("pQ", q) for name in rows_of("results", "Metrics of a run") for q in plan.QUANTILES}
    assert {name.replace("NAME", "{}") for name in found} == known


def test_names_in_the_reference() -> None:
    """The reference has each queue, model, topology, and function of a scenario's file."""
    assert set(rows_of("plan", "Queues")) == set(devices.QUEUES)
    assert set(rows_of("plan", "Topologies")) == set(topologies.names())
    models = rows_of("plan", "Models")
    assert set(models) == set(arrivals.MODELS)
    for name, model in arrivals.MODELS.items():
        assert set(inspect.signature(model).parameters) == words(models[name]["arguments"]) - {"0"}
    drawn = rows_of("plan", "Many short flows")
    assert set(drawn) == set(distributions.DISTRIBUTIONS)
    for name, distribution in distributions.DISTRIBUTIONS.items():
        assert set(inspect.signature(distribution).parameters) == words(drawn[name]["arguments"])
    files = rows_of("plan", "Scenario files")
    for name in ("plan", "checks", "measure", "draw"):
        _, *arguments = inspect.signature(getattr(scenario.Scenario, name)).parameters
        assert f"{name}({', '.join(arguments)})" in files
    assert {"CLAIM", "PARAMETERS", "COMBINATIONS", "VARIANTS"} < set(files)


def packed(records: Any) -> str:
    """As the traffic engine's are in a raw result."""
    return base64.b64encode(zlib.compress(records.tobytes())).decode()


def everything() -> tuple[Plan, dict[str, Any]]:
    """A plan of which all is recorded, and its raw result."""
    model = {"model": "constant", "rate_packets_s": 10}
    asked = test_figures.plan(
        2,
        sources=(Source("u1", "s1", "d1", model, 1.0, 500),),
        commands=(Command("cmd", 1.0, "root", ("true",)),),
        record=Record(sample_s=0.5),
    )
    # figures of all kinds in one flow
    first = replace(asked.flows[0], exchanges=(plan.Exchange(100, 5000),))
    asked = replace(asked, flows=(first, asked.flows[1]))
    seen = np.array([(queue, 3, 1_500_000_000, 4500, 0) for queue in (0, 1)], dtype=figures.QUEUE_SAMPLE)
    arrived = np.array([(0, 0, 5, 4_000_000)], dtype=figures.RECEIVED)
    entry = {"kind": "pfifo", "root": True, "drops": 0}
    return asked, test_figures.raw(
        test_figures.full_link(1, 2) + test_figures.full_link(2, 2),
        flows=[test_figures.result("f1", exchanges=[[0, 10**7]]), test_figures.result("f2")],
        sources=[{"name": "u1", "sent": 10, "not_sent": 0, "received": 1}],
        commands=[{"name": "cmd", "status": 0, "error": None}],
        qdiscs={"r-d1": [entry], "d1-r": [entry]},
        received=packed(arrived),
        queues=packed(seen),
    )


def placeholder(name: str) -> str:
    """A metric as the reference calls it."""
    for pattern, text in (("r-d1|d1-r", "DEVICE"), ("u1", "SOURCE"), ("cmd", "NAME"), (r"p(50|95|99)(?=_)", "pQ")):
        name = re.sub(pattern, text, name)
    return name


def test_figures_of_runs_and_flows() -> None:
    """The reference has each metric of a run, each figure of a flow, and no other."""
    asked, raw = everything()
    clock = {"clock_offset_us": -70.0, "clock_error_us": 50.0, "clock_drift_us": 1.0}
    machines = {"anna": {**clock, "clock_offset_us": 3.0}, "bert": clock}
    found = figures.figures(
        scenario.load("smoke"), {}, "cubic", "pfifo", asked, {**raw, "clock": {"machines": machines}}
    )
    assert (found.metrics["clock_offset_us"], found.metrics["clock_error_us"]) == (70.0, 50.0)
    assert found.error is None
    assert {placeholder(name) for name in found.metrics} == set(rows_of("results", "Metrics of a run"))
    assert {placeholder(name) for name in found.flows[0]} == set(rows_of("results", "Figures of a flow"))


def test_columns_and_keys() -> None:
    """The reference has each column of the table, each key of a run's JSON and of what is drawn, and no other."""
    columns = {name for name in rows_of("results", "The table") if re.fullmatch(r"\w+", name)} - {"parameters"}
    assert columns == {*table.LABELS, *table.TEXTS, *table.COUNTS}
    asked, raw = everything()
    smoke = scenario.load("smoke")
    run = Run(smoke, {}, "cubic", "pfifo", 1, "", "6.1", asked)
    found = figures.figures(smoke, {}, "cubic", "pfifo", asked, raw)
    place = front_run.Place("6.1", "virtual", {})
    of_ends = {"host_seconds", "cpu_seconds", "dmesg_tail", "series"}
    assert {*front_run.as_data(run, place, raw, found), *of_ends} == set(rows_of("results", "The JSON of a run"))
    drawn, rows = series.series(asked, raw), rows_of("results", "Series")
    assert set(drawn) == set(rows)
    for key in ("flows", "queues"):
        assert set(drawn[key][0]) <= words(rows[key]["what it is"])


def returned(path: Path, function: str) -> set[str]:
    """Keys of the mapping that a function returns."""
    (body,) = [one for one in ast.walk(ast.parse(path.read_text())) if getattr(one, "name", "") == function]
    (value,) = [one.value for one in ast.walk(body) if isinstance(one, ast.Return) and isinstance(one.value, ast.Dict)]
    return {key.value for key in value.keys if isinstance(key, ast.Constant)}


def test_raw_results() -> None:
    """The reference has each key of a raw result, and each field of its records."""
    guest = TOP / "mininet-tests" / "lab" / "guest" / "run.py"
    of_engine = {"flows", "sources", "received", "samples", "queues"}
    keys = {*returned(guest, "run_one"), *of_engine, "error", "index", "warnings", "dmesg_tail"}
    raw, records = (rows for title, rows in tables(LAB / "results.rst") if title == "The raw result")
    assert set(raw) == keys
    for name, row in records.items():
        fields = set(getattr(figures, name).names) - {"reserved"}
        assert fields <= words(row["fields"])


def of_guests() -> set[str]:
    """The ingredients of a digest that an engine with guests names."""
    code = ast.parse((TOP / "mininet-tests" / "lab" / "machines" / "engine.py").read_text())
    (made,) = [
        one for one in ast.walk(code) if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "Surroundings"
    ]
    kinds = {"tools": "tool", "programs": "tool", "code": "code", "machine": "machine"}
    return {
        f"{kinds[one.arg]} {key.value}"
        for one in made.keywords
        if one.arg in kinds
        for names in ast.walk(one.value)
        if isinstance(names, ast.Dict)
        for key in names.keys
        if isinstance(key, ast.Constant)
    }


def test_store(tmp_path: Path) -> None:
    """The reference has each file of a study, each key of a run and of the manifest, each kind of ingredient."""
    out = tmp_path / "study"
    engine = FakeEngine(tmp_path / "engine")
    assert sweep(engine, "--seeds", "1", "--out", out) == 0
    files = set(next(rows for title, rows in tables(LAB / "store.rst") if title == "Studies on disk"))
    assert {path.name for path in out.iterdir()} <= {name.split("/")[0] for name in files}
    records = [Study(out).load(path.name.split(".")[0]) for path in (out / "raw").iterdir()]
    assert set(records[0]) == set(rows_of("store", "A run"))
    ingredients = rows_of("store", "The digest")
    # a plan with sources has times; this one has none
    used = {"times"} | {name.split()[0] for record in records for name in record["ingredients"]}
    assert used == {name.split()[0] for name in ingredients}
    named = {name for name in ingredients if " " in name and not name.endswith("NAME")}
    assert named == of_guests()
    manifest = json.loads((out / "manifest.json").read_text())
    assert set(manifest["sweeps"][0]) == set(rows_of("store", "The manifest"))
    asked = rows_of("store", "The manifest")["asked"]["what it is"]
    assert set(manifest["sweeps"][0]["asked"]) <= words(asked)
    assert set(manifest["sweeps"][0]["builds"][0]) <= words(rows_of("store", "The manifest")["builds"]["what it is"])


def options(command: str) -> set[str]:
    """Of a subcommand."""
    (subcommands,) = [one for one in cli.parser(command)._actions if isinstance(one, argparse._SubParsersAction)]
    return set(subcommands.choices[command]._option_string_actions) - {"-h", "--help"}


@pytest.mark.parametrize(
    ("page", "title", "command"), [("run", "run some scenarios once", "run"), ("sweep", "vary parameters", "sweep")]
)
def test_options(page: str, title: str, command: str) -> None:
    """The how-to has each option of the command, and no other."""
    found = next(rows for section, rows in tables(LAB / f"{page}.rst") if section == title)
    assert {name.split()[0] for name in found} == options(command)


def test_scenarios() -> None:
    """The list of scenarios has each."""
    found = rows_of("run", "The scenarios")
    numbered = re.compile(r"b[1-9]-")
    assert {name for name in found if not numbered.match(name)} == {
        name for name in scenario.names() if not numbered.match(name)
    }


def literal_lines() -> Iterator[tuple[str, str]]:
    """Indented lines of all pages, without what two spaces or a # set apart."""
    for path in [TOP / "README.md", *PAGES.rglob("*.rst")]:
        for line in re.findall(r"^ {4}(\S.*)$", path.read_text(), re.MULTILINE):
            yield path.name, re.split(r" {2,}| #", line)[0]


def test_commands() -> None:
    """Each command of the lab's is understood, and each target of make is there."""
    targets = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(), re.MULTILINE))
    count = 0
    for page, line in literal_lines():
        program, *rest = shlex.split(line) if line.startswith(("make ", "scripts/lab ")) else [""]
        if program == "make":
            assert {word for word in rest if "=" not in word} <= targets, f"{page}: {line}"
        elif program:
            cli.parse(rest)
            count += 1
    assert count > 20


def test_quick_start(tmp_path: Path) -> None:
    """The quick start's files are a scenario and its topology, and its sweep has as many runs as it says."""
    (command,) = quick_start(tmp_path)
    one = scenario.load(str(tmp_path / "access_link.py"))
    values = one.values(one.axes(["up_mbit=0.5,2"]))
    assert command == "scripts/lab sweep mine/access_link.py --set up_mbit=0.5,2 --seeds 1-2 --out mine/study"
    plans = [one.plan(row, *pair, seed) for row in values for pair in one.combinations for seed in (1, 2)]
    assert len(plans) == 8
    assert plans[0].topology.way("home-isp") == Way(rate_bit_s=500_000, queue="fq_rr", limit_packets=50)
    assert {check.quantity for check in one.checks(values[0], "cubic", "fq_rr")} == {"jain", "utilisation_isp-home"}
