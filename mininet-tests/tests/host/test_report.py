# SPDX-License-Identifier: GPL-2.0
"""The tables and the page of a study: computed anew, alike in each format, readable by itself."""

import base64
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import fake_lab
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from fake_lab import sweep
from lab.analyse import statistics, table
from lab.analyse.figures import Figures
from lab.analyse.series import series
from lab.front import report
from lab.model.scenario import load
from lab.show import report as page_of_study
from lab.show import runs
from lab.show.units import scale
from lab.store.study import Study


def reported(out: Path) -> str:
    assert fake_lab.report(out) == 0
    return (out / "report.html").read_text()


class Resources(HTMLParser):
    """What a page would load, or lead to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster", "background") or (tag == "link" and name == "href"):
                self.loaded.append(value)
            elif name in ("href", "xlink:href", "action"):
                self.linked.append(value)


def test_columns(engine, out) -> None:
    """The table has labels, parameters, the flow and its figures, metrics, checks, errors: a row per run and flow."""
    assert sweep(engine, "--set", "flows=0,2", "--seeds", "1-2", "--out", out) == 0
    frame = pd.read_parquet(out / "table.parquet")
    assert list(frame.columns) == [
        *("run", "scenario", "seed", "cc", "qdisc", "build", "kernel", "clock"),
        *("rate_mbit", "loss", "flows", "pause_s", "note"),
        *("flow", "flow_cc", "goodput_bit_s", "delay_s", "run_goodput_bit_s", "window_s_1", "window_s_2", "drops"),
        *("checks_passed", "checks_failed", "error"),
    ]
    assert len(frame) == 2 * 2 * (1 + 2)
    assert frame["kernel"].unique() == ["6.1-default"]
    assert frame[frame["flows"] == 0]["flow"].isna().all()


def test_csv_and_parquet_are_alike(engine, out) -> None:
    """table.csv has the columns, types and values of table.parquet, with empty names and missing numbers."""
    engine.instead = lambda run: 'reset, by "peer"\nand more' if run.seed == 2 else None
    assert sweep(engine, "--set", "flows=0,1", "--set", "note=plain,1", "--seeds", "1-2", "--out", out) == 1
    parquet = pyarrow.parquet.read_table(out / "table.parquet")
    options = pyarrow.csv.ConvertOptions(
        column_types=parquet.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
    csv = pyarrow.csv.read_csv(out / "table.csv", convert_options=options, parse_options=parsing)
    assert csv.equals(parquet)
    plain = pd.read_csv(out / "table.csv")
    assert list(plain.columns) == parquet.column_names
    assert parquet.schema.field("seed").type == pa.int64()
    assert plain["seed"].dtype == "int64"
    assert plain["delay_s"].dtype == parquet.to_pandas()["delay_s"].dtype == "float64"


def test_a_parameter_that_is_called_like_a_column(engine, out) -> None:
    """A parameter that is called like a column has a prefix, and a metric gives way to a parameter."""
    text = fake_lab.SCENARIO.replace('"note"', '"seed"').replace(
        '"loss": ', '"delay_s": Parameter(1.0, "s", ""), "loss": '
    )
    (engine.folder / "fair_share.py").write_text(text)
    assert sweep(engine, "--out", out) == 0
    columns = pd.read_parquet(out / "table.parquet").columns
    assert {"seed", "set_seed", "delay_s", "run_delay_s"} <= set(columns)


def test_a_column_of_mixed_values(engine, out) -> None:
    """A column that has numbers and texts is text; what no cell can hold is left out."""

    def figures(run, raw) -> Figures:
        return Figures({"mixed": 1 if run.cc == "bbr" else "none", "big": 2**70, "nan": math.nan, "list": [1]})

    assert sweep(engine, "--out", out) == 0
    found = table.build(Study(out), figures)
    assert found.arrow["mixed"].to_pylist() == ["none", "1"]
    assert found.arrow["big"].to_pylist() == [float(2**70)] * 2
    assert found.arrow["nan"].to_pylist() == [None, None]
    assert "list" not in found.arrow.column_names


def test_a_value_that_no_file_can_hold(engine, out) -> None:
    """Bytes that are no text are written as numbers; a number that is too large for any column is infinite."""
    assert sweep(engine, "--set", "note=\udcff", "--out", out) == 0

    def figures(run, raw) -> Figures:
        return Figures({"huge": 10**400 if run.cc == "bbr" else -(10**400)})

    found = table.build(Study(out), figures)
    found.write(Study(out))
    assert found.arrow["note"].to_pylist() == ["\\udcff"] * 2
    assert found.arrow["huge"].to_pylist() == [-math.inf, math.inf]


def test_figures_are_computed_anew(engine, out) -> None:
    """Figures and verdicts follow from the raw results each time; what cannot be computed is an error of its row."""
    assert sweep(engine, "--seeds", "1-2", "--out", out) == 0

    def figures(run, raw) -> Figures:
        if run.seed == 2:
            raise ZeroDivisionError("by zero")
        return Figures({"other": raw["delay_s"]})

    assert report.report(fake_lab.parsed("report", out), figures) == 0
    frame = pd.read_parquet(out / "table.parquet")
    assert frame["other"].tolist()[0::2] == [0.01, 0.01]
    assert frame["error"].tolist()[1::2] == ["ZeroDivisionError: by zero"] * 2
    assert "ZeroDivisionError: by zero" in (out / "report.html").read_text()


def test_a_scenario_that_is_gone(engine, out) -> None:
    """A study whose scenario's file is gone still has its rows, which say so."""
    assert sweep(engine, "--out", out) == 0
    (engine.folder / "fair_share.py").unlink()
    assert "fair_share.py: there is no such file" in reported(out)


def test_the_page_needs_nothing_else(engine, out) -> None:
    """The page loads nothing from elsewhere: pictures are in it, and it leads to its own folder only."""
    assert sweep(engine, "--set", "rate_mbit=1,10,100", "--seeds", "1-3", "--out", out) == 0
    page = reported(out)
    found = Resources(page)
    assert found.loaded
    assert all(address.startswith("data:image/svg+xml;base64,") for address in found.loaded)
    assert set(found.linked) <= {"table.csv", "table.parquet", "#failed"}
    assert not found.tags & {"script", "link", "iframe", "object", "embed", "base"}
    assert not re.search(r"https?:|@import|url\(", page)
    pictures = [base64.b64decode(address.partition(",")[2]).decode() for address in found.loaded]
    assert not any("<image" in picture for picture in pictures)
    assert '<meta name="viewport" content="width=device-width' in page


def test_what_the_page_shows(engine, out) -> None:
    """The page has what was asked, checks, means with intervals and units, and a picture for each swept number."""
    assert sweep(engine, "--set", "rate_mbit=1,10", "--seeds", "1-3", "--out", out) == 0
    page = reported(out)
    assert "4 runs" not in page
    assert "12 runs have figures" in page
    assert "<dt>settings</dt><dd>rate_mbit=1,10</dd>" in page
    assert '<th>pktpair+fq_rr rate_mbit=1</th><td>3</td><td>2</td><td class="bad">1</td>' in page
    assert "delay_s &lt;= 0.02: measured 0.03 (seed 3)" in page
    # 10, 20 and 30 ms: t(2) * 10 / sqrt(3)
    assert "<th>delay, ms</th>" in page
    assert "<td>20 ± 25</td>" in page
    assert 'alt="delay: against rate: mean and 95 % interval"' in page
    assert re.search(r"The same in every run: .*drops 0", page)


def test_a_parameter_that_has_texts(engine, out) -> None:
    """Texts are drawn as categories, beside each other in the order in which they were asked for, and not joined."""
    assert sweep(engine, "--set", "note=plain,odd,<b>", "--seeds", "1-2", "--out", out) == 0
    page = reported(out)
    assert 'alt="delay: against note: mean and 95 % interval"' in page
    pictures = [base64.b64decode(one.partition(",")[2]).decode() for one in Resources(page).loaded]
    assert any(all(f">{name}</text>" in picture for name in ("plain", "odd", "&lt;b&gt;")) for picture in pictures)


def test_more_texts_than_can_be_read(engine, out, monkeypatch) -> None:
    """A parameter of very many texts has no picture; its numbers are in the table."""
    monkeypatch.setattr(page_of_study, "MAX_CATEGORIES", 2)
    assert sweep(engine, "--set", "note=a,b,c", "--out", out) == 0
    assert "against note" not in reported(out)


def test_each_run_is_in_the_page(engine, out, monkeypatch) -> None:
    """A row for each run, below the means and folded away; of very many the first."""
    assert sweep(engine, "--set", "rate_mbit=1,10", "--seeds", "1-3", "--out", out) == 0
    page = reported(out)
    rows = re.findall(r"<tr>.*?</tr>", page.partition("<summary>Each run</summary>")[2].partition("</details>")[0])
    assert len(rows) == 1 + 2 * 2 * 3
    assert rows[1].startswith("<tr><th>pktpair+fq_rr rate_mbit=1</th><td>1</td><td>10</td>")
    assert rows[3].startswith("<tr><th>pktpair+fq_rr rate_mbit=1</th><td>3</td><td>30</td>")
    monkeypatch.setattr(page_of_study, "MAX_LISTED", 5)
    assert "<summary>Each run; 7 more are in the table only</summary>" in reported(out)


def test_runs_without_a_result(engine, out) -> None:
    """Failed runs are shown with their reason and log, and such as are still to be done are counted."""
    engine.instead = lambda run: "reset" if run.cc == "bbr" else None
    assert sweep(engine, "--out", out) == 1
    next((out / "raw").iterdir()).unlink()
    page = reported(out)
    assert "0 runs have figures" in page
    assert "1 are not run yet" in page
    assert re.search(r"fair-share bbr\+cake seed 1</th><td class=\"text\">reset<details>", page)
    assert "last words" in page


def test_a_study_without_any_result(engine, out) -> None:
    """A report of a study whose first run is still under way has tables without rows."""
    assert sweep(engine, "--out", out) == 0
    for path in (out / "raw").iterdir():
        path.unlink()
    assert "0 runs have figures, 2 are not run yet" in reported(out)
    assert pd.read_csv(out / "table.csv").empty
    assert pd.read_parquet(out / "table.parquet").empty


def test_names_are_escaped(engine, out) -> None:
    """Names, claims and errors are text on the page and in pictures, never markup or formulas."""
    evil = "<script>alert(1)</script>$x$"
    engine.instead = lambda run: evil if run.seed == 2 else None
    assert sweep(engine, "--set", f"note={evil},&lt;", "--seeds", "1-3", "--out", out) == 1
    page = reported(out)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;$x$" in page
    assert "A flow gets &lt;its&gt; share." in page
    pictures = [base64.b64decode(one.partition(",")[2]).decode() for one in Resources(page).loaded]
    assert any("note=&lt;script&gt;alert(1)&lt;/script&gt;$x$" in picture for picture in pictures)


def test_two_builds_have_their_own_checks(engine, out) -> None:
    """Two builds whose result is one file are two combinations, each with figures and checks."""
    for build in ("old", "new"):
        (engine.folder / build).mkdir()
        (engine.folder / build / "sch_fq_rr.ko").write_text(build)
    assert sweep(engine, "--modules", "old,new", "--cc", "bbr", "--qdisc", "fq_rr,cake", "--out", out) == 0
    page = reported(out)
    for combination in ("bbr+fq_rr build=old", "bbr+fq_rr build=new", "bbr+cake build=old", "bbr+cake build=new"):
        assert f"<th>{combination}</th><td>1</td><td>1</td><td>0</td>" in page


def test_seeds_that_give_the_same_plan_count_once(engine, out) -> None:
    """Seeds that change nothing give no confidence: they are one run."""
    text = fake_lab.SCENARIO.replace("hash_seed=seed", "hash_seed=1")
    (engine.folder / "fair_share.py").write_text(text)
    assert sweep(engine, "--seeds", "1-9", "--out", out) == 0
    assert "<th>bbr+cake</th><td>1</td>" in reported(out)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.30265), (3, 3.18245), (9, 2.26216), (30, 2.04227), (1000, 1.96234)]
)
def test_quantiles_of_student(freedom, quantile) -> None:
    """Student's t at 95 %, as printed in tables."""
    assert statistics.t_quantile(freedom) == pytest.approx(quantile, rel=1e-5)


def test_an_interval() -> None:
    """A mean of ten values with its interval; a single value has none."""
    found = statistics.interval([float(n) for n in range(1, 11)])
    assert (found.mean, found.n) == (5.5, 10)
    assert found.half == pytest.approx(2.16585, rel=1e-5)
    assert statistics.interval([3.0]).half is None
    assert statistics.interval([3.0, 3.0]).half == 0


@pytest.mark.parametrize(
    ("name", "value", "title", "text"),
    [
        ("queue_delay_p99_s", 0.0123456, "queue delay p99, ms", "12.35"),
        ("rtt_s", 2.5e-5, "rtt, µs", "25"),
        ("completion_s", 12.0, "completion, s", "12"),
        ("goodput_bit_s", 9.4e6, "goodput, Mbit/s", "9.4"),
        ("rate_mbit", 100, "rate, Mbit/s", "100"),
        ("think_ms", 1500, "think, ms", "1500"),
        ("limit_packets", 123456, "limit, packets", "123456"),
        ("file_bytes", 2_000_000, "file, kB", "2000"),
        ("cross_packets_s", 40, "cross, packets/s", "40"),
        ("jain", 0.98765, "jain", "0.9877"),
        ("flows", 16, "flows", "16"),
    ],
)
def test_units(name, value, title, text) -> None:
    """A figure's unit follows from the end of its name, its scale from its size."""
    found = scale(name, [value])
    assert (found.title, found.text(value)) == (title, text)


OWN_PICTURE = """
def draw(runs, folder):
    words = [f"{run['cc']}_{run['seed']}_{run['parameters']['rate_mbit']}_{run['metrics']['delay_s']}" for run in runs]
    path = folder / f"{'+'.join(words)}.png"
    path.write_bytes(b"a picture")
    return [path]
"""


def with_trace(engine, monkeypatch) -> None:
    """Of two flows over 10 Mbit/s: an ACK each 10 ms for 5 s, 1250 and 2500 bytes at a time, 3 and 6 ms of queue."""
    lines = [
        f" x-0 [000] ..s2. {100 + i / 100:.6f}: ack: sport={10001 + flow} rtt_us={3000 * (flow + 1)}"
        f" acked={1250 * (flow + 1) * i} delivered={i} retrans=0 cwnd=10"
        for i in range(1, 501)
        for flow in (0, 1)
    ]
    plain = engine.run
    monkeypatch.setattr(engine, "run", lambda run: {**plain(run), "trace": "\n".join(lines)})


def test_every_run_can_be_drawn(engine, out, monkeypatch) -> None:
    """Goodput and queue delay over time of each combination's first run, and the delays' distributions of all."""
    with_trace(engine, monkeypatch)
    assert sweep(engine, "--seeds", "2-3", "--out", out) == 0
    page = reported(out)
    texts = re.findall(r"<figcaption>(.*?)</figcaption>", page.partition("<h3>Runs</h3>")[2])
    assert texts == [
        *("pktpair+fq_rr seed 2: goodput of each flow", "pktpair+fq_rr seed 2: queue delay of each flow"),
        *("bbr+cake seed 2: goodput of each flow", "bbr+cake seed 2: queue delay of each flow"),
        "part of round trips with at most so much queue delay, in the measured window",
    ]
    assert all(address.startswith("data:image/svg+xml;base64,") for address in Resources(page).loaded)


def test_what_is_drawn_of_a_run(engine, out, monkeypatch) -> None:
    """Rates are of the payload between two moments; queue delays are round trips without the path's."""
    with_trace(engine, monkeypatch)
    assert sweep(engine, "--cc", "bbr", "--qdisc", "cake", "--out", out) == 0
    study = Study(out)
    (asked,) = study.manifest()["runs"]
    run, raw = table.opened(study, asked, load(asked["path"]))
    drawn = series(run.plan, raw)
    first, second = drawn["flows"]
    assert (first["name"], second["name"]) == ("f0", "f1")
    # what was acknowledged at the end of a bin counts in the next
    assert first["goodput_bit_s"][1:] == pytest.approx([1e6] * 59, rel=0.13)
    assert np.mean(second["goodput_bit_s"]) == pytest.approx(2e6)
    assert set(first["delay_s"]) == {0.003} and set(second["delay_s"]) == {0.006}
    figure = runs.beside_each_other([("one", {"series": drawn})], runs.GOODPUT)
    assert [line.get_label() for line in figure.axes[0].lines] == ["f0, 0 ms", "f1, 0 ms"]


def test_runs_beside_each_other() -> None:
    """Several runs are drawn on common axes, with a colour for each congestion control and a style for each queue."""
    flow = {"name": "f", "propagation_s": 0.02, "goodput_bit_s": [1e6] * 4, "delay_time_s": [1.0], "delay_s": [0.002]}
    found = {"window_s": (1.0, 2.0), "bin_s": 0.5, "flows": [flow], "delay_quantiles_s": [0.001, 0.004]}
    pairs = [("pktpair", "fq_rr"), ("bbr", "fq_rr"), ("bbr", "cake"), ("reno", "cake"), ("reno", "fq")]
    named = [(f"{cc}+{qdisc}", {"cc": cc, "qdisc": qdisc, "series": found}) for cc, qdisc in pairs]
    figure = runs.beside_each_other(named, runs.DELAY)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == [name for name, _ in named]
    assert {(axes.get_xlim(), axes.get_ylim()) for axes in panels} == {((0.0, 2.0), (1.0, 10.0))}
    # of less than a decade there would else be formulas, as text
    assert panels[0].yaxis.get_minor_formatter()(5.0) == ""
    lines = runs.distribution(named).axes[0].lines
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == 5 and len({colour for colour, _ in looks}) == 3
    # the same pair twice, as with a swept parameter: a colour each
    assert len({line.get_color() for line in runs.distribution(named[:1] * 3).axes[0].lines}) == 3


def test_a_scenarios_own_picture(engine, out) -> None:
    """A scenario draws from the first run of each combination, its parameters and figures."""
    (engine.folder / "fair_share.py").write_text(fake_lab.SCENARIO + OWN_PICTURE)
    assert sweep(engine, "--seeds", "2-3", "--out", out) == 0
    page = reported(out)
    assert "<figcaption>pktpair 2 10 0.002+bbr 2 10 0.002</figcaption>" in page
    assert f"data:image/png;base64,{base64.b64encode(b'a picture').decode()}" in Resources(page).loaded


def test_a_picture_that_cannot_be_drawn(engine, out) -> None:
    """A scenario's picture that fails leaves the page whole, and the reason on it."""
    (engine.folder / "fair_share.py").write_text(fake_lab.SCENARIO + "def draw(runs, folder):\n    return runs[9]\n")
    assert sweep(engine, "--out", out) == 0
    page = reported(out)
    (said,) = re.findall("<figcaption>(cannot be drawn: .*)</figcaption>", page)
    assert re.search(r"fair_share\.py: line \d+: IndexError: list index out of range$", said), said
    assert "What was asked" in page


def test_more_combinations_than_are_drawn(engine, out, monkeypatch) -> None:
    """Runs are drawn of a limited number of combinations, and the page says of how many not."""
    (engine.folder / "fair_share.py").write_text(fake_lab.SCENARIO + OWN_PICTURE)
    monkeypatch.setattr(page_of_study, "MAX_DRAWN", 3)
    assert sweep(engine, "--set", "rate_mbit=1,2,5", "--out", out) == 0
    page = reported(out)
    assert "3 further combinations are left out" in page
    (caption,) = re.findall("<figcaption>(.*?)</figcaption>", page.partition("<h3>Runs</h3>")[2])
    assert len(caption.split("+")) == 3
