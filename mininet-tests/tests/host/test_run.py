# SPDX-License-Identifier: GPL-2.0
"""lab run with guests that are functions: what becomes of its JSON when a run, a guest or the command ends early."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_lab
import numpy as np
import pytest
from fake_lab import FakeEngine
from lab import cli
from lab.analyse.figures import Figures
from lab.front import run as run_command
from lab.machines import engine as machines
from lab.machines import plans
from lab.model import benchmarks
from lab.model.errors import LabError, PlanError
from lab.model.plan import Flow, Plan, Record
from lab.model.scenario import load
from lab.model.topology import Link, Topology, Way
from lab.store.engine import EngineError
from lab.store.run import Run
from test_documentation import rows_of

LINE = Plan(Topology("line", {"a": "host", "b": "host"}, (Link("a", "b"),)))
RAW = {"error": None, "warnings": [], "dmesg_tail": ["all is well"]}
# The keys of a run that has ended well.
SHAPE = set(rows_of("results", "The JSON of a run")) - {"dmesg_tail"}


def figures(run: Any, raw: dict[str, Any]) -> Figures:
    """Of a scenario whose own figures are numpy's."""
    return Figures(error=raw["error"], metrics={} if raw["error"] else {"count": np.int64(3), "delays_s": np.ones(2)})


class OneBoot:
    """A guest that does all runs in one boot."""

    kernel = "6.1-default"
    ready: dict[str, Any] = {"modules": {}}  # noqa: RUF012
    ended = False

    def __init__(self, clock: str, engine: FakeEngine) -> None:
        self.clock = clock
        self._engine = engine

    def modules(self) -> list[Path]:
        return sorted(self._engine.folder.glob("*.ko"))

    def __enter__(self) -> "OneBoot":
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True

    def cpu_s(self) -> float:
        return 1.0

    def run(self, of: list[Any], on_begin: Callable[[int], None], on_result: Callable[..., None]) -> None:
        for index, _ in enumerate(of):
            on_begin(index)
            on_result(index, self._engine.run_of(index))


@pytest.fixture(params=["virtual", "real"])
def run(request, engine, tmp_path, monkeypatch) -> Callable[..., tuple[int, Any]]:
    """lab run of two runs, or one; what it returns is the status and what its JSON has."""
    (tmp_path / "fair_share.py").write_text(fake_lab.SCENARIO)
    path = tmp_path / "runs.json"
    happens: dict[int, Callable[[], None]] = {}

    def run_of(index: int) -> dict[str, Any]:
        happens.get(index, lambda: None)()
        return dict(RAW)

    engine.run_of = run_of
    guest = OneBoot(request.param, engine)
    monkeypatch.setattr(machines, "Guests", lambda: contextlib.nullcontext(engine))
    monkeypatch.setattr(plans, "plan_guest", lambda *_: guest)
    monkeypatch.setattr(run_command, "find_kernel", lambda _: "")
    monkeypatch.setattr(run_command, "begin", lambda _: None)
    monkeypatch.setattr(run_command, "figures_of", figures)
    monkeypatch.setattr("lab.analyse.series.series", lambda plan, raw: {"flows": []})
    monkeypatch.setattr(run_command.Recordings, "save", lambda *_: None)
    counter = iter(range(10))
    engine.run = lambda _: run_of(next(counter))

    def does(what: dict[int, Callable[[], None]], cc: str = "bbr,cubic") -> tuple[int, Any]:
        happens.update(what)
        words = ("--json", path, "--cc", cc, "--qdisc", "cake", "--clock", request.param)
        status = cli.main(["run", str(tmp_path / "fair_share.py"), *map(str, words)])
        return status, json.loads(path.read_text()) if path.exists() else None

    return does


def raises(error: BaseException) -> Callable[[], None]:
    """What happens instead of a run."""

    def happens() -> None:
        raise error

    return happens


def dies(clock: str) -> Callable[[], None]:
    """A guest that ends in the middle of a run."""
    error = EngineError("it ended", ["last", "words"]) if clock == "virtual" else LabError("it ended\nlast\nwords")
    return raises(error)


@pytest.fixture
def clock(request) -> str:
    """Of the runs."""
    return request.node.callspec.params["run"]


def test_one_run_has_the_shape_of_several(run) -> None:
    """A list of runs, each with all that the reference has; numpy's numbers are numbers."""
    status, several = run({})
    assert status == 0 and [one["cc"] for one in several] == ["bbr", "cubic"]
    assert [set(one) for one in several] == [SHAPE, SHAPE]
    assert several[0]["metrics"] == {"count": 3, "delays_s": [1.0, 1.0]}


def test_the_json_keeps_its_earlier_names() -> None:
    """The window's lists, and of a benchmark its hosts and rows; of another's scenario, or after an error, none"""
    of_flows = [{"name": name, "window_goodput_bit_s": 5.0} for name in ("a", "b")] + [{"name": "background"}]
    found = Figures(metrics={"window_begin_s": 1.0, "window_end_s": 4.0}, flows=of_flows)
    place = run_command.Place("6.1", "virtual", {})
    smoke = Run(load("smoke"), {}, "cubic", "pfifo", 1, "", "6.1", LINE)
    data = run_command.as_data(smoke, place, {}, found)
    assert data["metrics"] == {**found.metrics, "window_s": [1.0, 4.0], "window_goodput_bit_s": [5.0, 5.0]}
    assert not {"hosts", "rows"} & set(data)
    values = {"hosts": "stock"}
    b4 = Run(load("b4-path-lengths"), values, "pktpair", "fq_rr", 1, "", "6.1", LINE)
    one = b4.scenario.module.benchmark(values, 1)
    metrics = {row.metric(name): 1.0 for row in one.rows for name in benchmarks.OF_ROW}
    metrics |= dict.fromkeys(benchmarks.OF_RUN, 2)
    data = run_command.as_data(b4, place, {}, Figures(metrics=metrics))
    assert data["metrics"] == metrics
    assert data["hosts"] == "stock" and [row["variant"] for row in data["rows"]] == ["short", "long"]
    assert "rows" not in run_command.as_data(b4, place, {}, Figures(error="it ended"))


def test_one_run(run) -> None:
    """Alone it is in a list as well."""
    status, one = run({}, "bbr")
    assert status == 0 and [set(each) for each in one] == [SHAPE]


def test_a_guest_that_dies_is_its_runs_error(run, clock, capsys) -> None:
    """The first of two runs has its figures, the second the reason; the status says that not all is well."""
    status, (first, second) = run({1: dies(clock)})
    assert status == 1
    assert set(first) == SHAPE and set(second) == SHAPE - {"series"} | {"dmesg_tail"}
    assert (first["error"], second["error"], second["dmesg_tail"]) == (None, "it ended", ["last", "words"])
    assert (first["pass"], second["pass"]) == (True, False)
    assert "ERROR: it ended" in capsys.readouterr().out


def test_the_first_guest_dies(run, clock, capsys) -> None:
    """A boot of its own for each run: the others go on. One boot for all: they are not done, which is said."""
    status, found = run({0: dies(clock)})
    assert status == 1
    assert [one["error"] for one in found] == (["it ended", None] if clock == "virtual" else ["it ended"])
    said = "lab: 1 of 2 runs were not done: the guest has ended"
    assert (said in capsys.readouterr().err) == (clock == "real")


def test_an_interrupt_keeps_what_has_ended(run) -> None:
    """The runs before it are in the file."""
    status, found = run({1: raises(KeyboardInterrupt())})
    assert status == 130
    assert [(one["cc"], one["error"]) for one in found] == [("bbr", None)]


def test_a_command_in_which_nothing_ended_writes_nothing(run) -> None:
    """What an earlier command wrote stays."""
    assert run({0: raises(KeyboardInterrupt())}) == (130, None)


@pytest.mark.parametrize("run", ["virtual"], indirect=True)
def test_a_run_that_only_the_engine_finds_impossible(run) -> None:
    """It is that run's error, as in a sweep."""
    status, (first, second) = run({0: raises(PlanError("this network is too large"))})
    assert status == 1
    assert (first["error"], second["error"]) == ("this network is too large", None)


@pytest.mark.parametrize(("seconds", "samples"), [(0.002, 1), (0.02, 1), (6.0, 300), (500_000.0, 333_333)])
def test_samples_for_pictures_fit_every_length(seconds: float, samples: int) -> None:
    """What the command adds for its pictures is no reason to refuse a plan."""
    nodes = {"s1": "host", "r": "router", "d1": "host"}
    rated = Way(10**7, "fq_codel", 100)
    network = Topology("line", nodes, (Link("s1", "r"), Link("r", "d1", rated)))
    flows = (Flow("a", "s1", "d1", "cubic", seconds=seconds), Flow("b", "s1", "d1", "cubic", seconds=seconds))
    plan = run_command.sampled(Plan(network, flows, record=Record(acks=False)))
    plan.check()
    assert round(plan.end_s / plan.record.sample_s) == samples


def test_samples_for_pictures_fit_files_of_any_number() -> None:
    """A file may take the minute after the run's time."""
    network = Topology("line", {"s1": "host", "d1": "host"}, (Link("s1", "d1", Way(10**7)),))
    flows = tuple(Flow(f"f{n}", "s1", "d1", bytes=1000) for n in range(1000))
    plan = run_command.sampled(Plan(network, flows, record=Record(acks=False)))
    plan.check()
    assert 0.05 < plan.record.sample_s < 0.07
