# SPDX-License-Identifier: GPL-2.0
"""The demo: which combinations it runs, what it says of them, and its page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import fake_lab
import pytest
from lab import cli
from lab.analyse import demo_goals
from lab.front import demo, measuring
from lab.machines import engine
from lab.model import scenario
from lab.model.errors import PlanError
from lab.model.plan import FIRST_FLOW_PORT
from lab.show import runs
from lab.store.engine import EngineError

CHOSEN = scenario.load(demo.SCENARIO)
# Of every flow of a fake run: an acknowledgement each so many seconds.
ACKS_APART_S = 0.05


def rows(**ours: float) -> list[dict[str, Any]]:
    good = {"utilisation": 0.99, "jain": 0.99, "retransmits": 0, "queue_delay_p99_s": 0.01}
    found = [{"cc": cc, "qdisc": qdisc, **good, "queue_delay_p99_s": 0.02} for cc, qdisc in CHOSEN.combinations]
    found[0] |= {**good, **ours}
    return found


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        ({}, []),
        ({"utilisation": 0.96}, [0]),
        ({"jain": 0.97}, [1]),
        ({"retransmits": 1}, [2]),
        ({"queue_delay_p99_s": 0.03}, [3]),
    ],
)
def test_goals(ours: dict[str, float], missed: list[int]) -> None:
    """The demo says which goals are met and which are missed."""
    goals, left_out = demo_goals.judge(rows(**ours), CHOSEN.combinations)
    assert [index for index, goal in enumerate(goals) if not goal["met"]] == missed
    assert len(goals) == 4 and not left_out


@pytest.mark.parametrize(
    ("run", "judged", "left_out"),
    [
        ([("pktpair", "fq_rr"), ("bbr", "fq_codel")], ["link", "Jain", "p99"], ["no more retrans"]),
        ([("pktpair", "fq_rr")], ["link", "Jain"], ["no more retrans", "p99"]),
        ([("bbr", "fq_codel")], [], ["link", "Jain", "no more retrans", "p99"]),
    ],
)
def test_goals_of_a_part(run: list[tuple[str, str]], judged: list[str], left_out: list[str]) -> None:
    """A goal that needs a combination that was not run is left out, and says which one it needs."""
    part = [row for row in rows() if (row["cc"], row["qdisc"]) in run]
    goals, missing = demo_goals.judge(part, CHOSEN.combinations)
    assert [goal["text"].startswith(text) for goal, text in zip(goals, judged, strict=True)] == [True] * len(judged)
    assert [one.startswith(text) for one, text in zip(missing, left_out, strict=True)] == [True] * len(left_out)
    assert all("(needs " in one for one in missing)


def test_combinations() -> None:
    """All eight, or those that are named, or so many of which the goals' come first; in the demo's order"""
    assert demo.combinations(CHOSEN, None, None) == CHOSEN.combinations and len(CHOSEN.combinations) == 8
    assert demo.combinations(CHOSEN, None, 2) == [("pktpair", "fq_rr"), ("bbr", "fq_codel")]
    assert demo.combinations(CHOSEN, None, 3) == [("pktpair", "fq_rr"), ("bbr", "fq_rr"), ("bbr", "fq_codel")]
    assert demo.combinations(CHOSEN, None, 8) == CHOSEN.combinations
    assert demo.combinations(CHOSEN, "cubic+pfifo,pktpair+fq_rr", None) == [("pktpair", "fq_rr"), ("cubic", "pfifo")]
    with pytest.raises(PlanError, match=r"--only bbr\+pfifo: must be of pktpair\+fq_rr, "):
        demo.combinations(CHOSEN, "bbr+pfifo", None)


def test_the_plan() -> None:
    """Round trips double from flow to flow, starts are staggered and moved by the seed, the window has all flows"""
    (values,) = CHOSEN.values({})
    plans = [CHOSEN.plan(values, "bbr", "cake", seed) for seed in (1, 1, 2)]
    starts = [[flow.start_s for flow in plan.flows] for plan in plans]
    assert starts[0] == starts[1] != starts[2]
    assert all(abs(start - 0.1 * index) < 0.0004 for index, start in enumerate(starts[0]))
    assert [plans[0].topology.way(f"d{n}-x").delay_ms for n in (1, 2, 3, 4)] == [20, 40, 80, 160]
    assert (plans[0].topology.way("r-x").queue, plans[0].topology.way("r-x").rate_bit_s) == ("cake", 40_000_000)
    begin_s, end_s = plans[0].window_s
    assert (round(begin_s, 1), round(end_s, 1)) == (4.3, 14.0)


class Demonstrating(fake_lab.FakeEngine):
    """Guests in which each flow has a quarter of the link, and 10 ms of queue before 2 s, 5 ms then."""

    def run(self, run) -> dict[str, Any]:
        self.titles.append(run.title)
        lines, flows = [], []
        for index, flow in enumerate(run.plan.flows):
            delay_s = 0.02 * 2**index
            rate = 10e6 / 8 * 1448 / 1500
            count = int(flow.seconds / ACKS_APART_S)
            for n in range(1, count + 1):
                time_s = flow.start_s + n * ACKS_APART_S
                rtt_us = round((delay_s + (0.01 if time_s < 2 else 0.005)) * 1e6)
                acked = round((time_s - flow.start_s) * rate)
                lines.append(
                    f" {100 + time_s:.6f}: ack: sport={FIRST_FLOW_PORT + index} rtt_us={rtt_us} acked={acked}"
                    f" delivered={acked // 1448} retrans=0 cwnd=10"
                )
            flows.append(
                {
                    "name": flow.name,
                    "error": None,
                    "cc": flow.cc,
                    "began_ns": round(flow.start_s * 1e9),
                    "ended_ns": round((flow.start_s + flow.seconds) * 1e9),
                    "bytes_acked": round(flow.seconds * rate),
                    "retransmits": 0,
                    "data_packets_sent": 10,
                    "mss_bytes": 1448,
                }  # fmt: skip
            )
        return {"error": None, "warnings": [], "dmesg_tail": [], "missing_events": [], "commands": [],
                "trace": "\n".join(lines), "begin_s": 100.0, "flows": flows, "qdiscs": {}}  # fmt: skip


@pytest.fixture(autouse=True)
def empty_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of a demo's time goes into its pictures: one test has them as they are."""
    if request.function is not test_summary:
        monkeypatch.setattr(runs, "save", lambda _, path: (path.write_bytes(b"\x89PNG"), path)[1])


def shown(tmp_path: Path, *words: str) -> Path:
    arguments = cli.parse(["demo", "--out", str(tmp_path / "demo"), "--guests", "1", *words])
    assert demo.run(arguments, Demonstrating(tmp_path / "engine")) == 0
    return tmp_path / "demo"


def test_summary(tmp_path, capsys) -> None:
    """summary.json has its fields; each run's figures and the pictures lie beside it"""
    folder = shown(tmp_path, "--kernel", "6.1")
    summary = json.loads((folder / "summary.json").read_text())
    # its whole name, however it was named
    assert summary["kernel"] == "6.1-default"
    fields = ("scenario", "kernel", "modules", "clock", "seed", "parameters", "window_s", "goals", "rows")
    assert set(summary) == {*fields, "study", "goals_left_out"}
    assert summary["window_s"] == pytest.approx([4.3, 14.0], abs=0.001)
    assert [(row["cc"], row["qdisc"]) for row in summary["rows"]] == CHOSEN.combinations
    row = summary["rows"][0]
    assert list(row) == ["cc", "qdisc", *demo.ROW_METRICS]
    assert row["goodput_bit_s"] == pytest.approx([10e6 * 1448 / 1500] * 4, rel=0.01)
    assert row["queue_delay_p50_s"] == pytest.approx(0.005)
    found = json.loads((folder / "pktpair-fq_rr.json").read_text())
    assert found["metrics"]["start_queue_delay_p99_s"] == pytest.approx(0.01)
    assert len(found["series"]["flows"]) == 4 and len(found["series"]["delay_quantiles_s"]) == 201
    for name in ("goodput", "queue-delay", "queue-delay-distribution"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr().out
    assert "pktpair + fq_rr" in said and "met     link used at least 97 %" in said


def test_two_rows(tmp_path, capsys) -> None:
    """--rows 2 runs two combinations, and says which goal it cannot judge, in every place"""
    folder = shown(tmp_path, "--rows", "2", "--seconds", "6")
    summary = json.loads((folder / "summary.json").read_text())
    assert [(row["cc"], row["qdisc"]) for row in summary["rows"]] == [("pktpair", "fq_rr"), ("bbr", "fq_codel")]
    assert len(summary["goals"]) == 3
    (text,) = summary["goals_left_out"]
    assert text.startswith("no more retransmissions than any other combination (needs bbr + fq_rr, ")
    assert f"not judged: {text}" in capsys.readouterr().out
    page = (folder / "report.html").read_text()
    assert f"not judged: {text}" in page
    assert "In the single queue of pfifo" not in page


def test_what_is_kept(tmp_path) -> None:
    """A second demo measures nothing, and says so; --fresh does"""
    shown(tmp_path, "--rows", "2")
    engine = Demonstrating(tmp_path / "engine")
    words = ["--out", str(tmp_path / "demo"), "--guests", "1", "--rows", "2"]
    assert demo.run(cli.parse(["demo", *words]), engine) == 0
    assert not engine.titles
    assert "2 of 2 runs kept from before" in (tmp_path / "demo" / "report.html").read_text()
    assert demo.run(cli.parse(["demo", *words, "--fresh"]), engine) == 0
    assert len(engine.titles) == 2


@pytest.mark.parametrize("seconds", ["4.2", "4.3", "1"])
def test_too_short(tmp_path, seconds: str) -> None:
    """A demo in which no window is left is refused before anything is booted"""
    arguments = cli.parse(["demo", "--out", str(tmp_path / "demo"), "--seconds", seconds])
    engine = Demonstrating(tmp_path / "engine")
    with pytest.raises(PlanError, match="--seconds.* must be at least 5 s"):
        demo.run(arguments, engine)
    assert not engine.titles


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("demo --only bbr+pfifo", "demo: --only bbr+pfifo: must be of pktpair+fq_rr, "),
        ("demo --seconds 1", "demo: --seconds: seconds=1.0: must be at least 5 s"),
        ("demo --kernel 5.4", "demo: kernel 5.4 is not unpacked"),
        ("demo --out /dev/null", "demo: /dev/null/study: Not a directory"),
        ("transfers --base nowhere", "transfers: --base nowhere: neither a folder nor a revision of this checkout"),
        ("transfers --quick --document", "transfers: --document writes what all rows gave"),
        ("transfers --hosts stock-gro --only b9", "transfers: nothing to run: "),
    ],
)
def test_bad_input(tmp_path, capsys, monkeypatch, words: str, message: str) -> None:
    """The demo and the transfers end with status 2, and the reason, where nothing can be measured"""

    def surroundings(self, kernel, modules):
        raise EngineError(f"kernel {kernel} is not unpacked")

    monkeypatch.setattr(engine.Guests, "surroundings", surroundings)
    # whoever runs the tests has signals of their own
    monkeypatch.setattr(measuring, "leave_no_guest", lambda: None)
    out = () if "--out" in words else ("--out", str(tmp_path / "out"))
    assert cli.main([*words.split(), *out]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class Page(HTMLParser):
    """What a page loads, and the tags it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "srcset", "href", "data")]


def test_the_page_needs_nothing_else(tmp_path) -> None:
    """The page has its pictures inside, loads and links nothing, and has a line for each combination"""
    text = (shown(tmp_path) / "report.html").read_text()
    page = Page(text)
    assert len(page.loaded) == 3
    assert all(address.startswith("data:image/png;base64,") for address in page.loaded)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not re.search(r"https?:|@import|url\(", text)
    assert '<meta name="viewport" content="width=device-width' in text
    assert page.tags.count("tr") == 2 + 8
    # no box scrolls sideways by itself, and there are rules for where it is narrow; what a browser makes of them,
    # no test here sees
    assert "overflow-x" not in text and "@media (max-width" in text


def test_names_are_escaped(tmp_path) -> None:
    """What comes from elsewhere is text on the page"""
    from lab.show import demo_report

    folder = shown(tmp_path, "--rows", "1")
    summary = json.loads((folder / "summary.json").read_text()) | {"kernel": "<b>6.1</b>"}
    runs = [json.loads((folder / "pktpair-fq_rr.json").read_text())]
    names = {"goodput": "goodput", "delay_over_time": "queue-delay", "delay_distribution": "queue-delay-distribution"}
    pictures = {name: folder / f"{file}.png" for name, file in names.items()}
    assert "&lt;b&gt;6.1" in demo_report.page(summary, runs, pictures, 1.0, 0)
