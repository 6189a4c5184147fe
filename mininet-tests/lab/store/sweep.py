# SPDX-License-Identifier: GPL-2.0
"""Every combination of a study's axes: which runs are missing, and in which order they are done."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..model.devices import QUEUES
from ..model.errors import PlanError
from ..model.plan import Plan
from ..model.scenario import TRAFFIC_LABEL, Scenario, Value, Values, nearest
from .digest import canonical, digest, ingredients
from .engine import VIRTUAL, Engine, EngineError, EngineGoneError, Surroundings
from .manifest import Counts
from .run import Run
from .study import Study, StudyError

# A guest may fail for reasons of this machine's.
TRIES = 2
MAX_RUNS = 100_000
# What a run costs beside its packets (topology, start, collection), in packets.
RUN_OVERHEAD_PACKETS = 1_000


@dataclass(frozen=True)
class Request:
    """A study's axes, as the user named them; () where nothing was chosen."""

    scenarios: tuple[Scenario, ...]
    settings: tuple[str, ...] = ()
    ccs: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    builds: tuple[str, ...] = ("",)
    kernels: tuple[str, ...] = ("",)
    traffic: str = ""

    def as_data(self) -> dict[str, Any]:
        """For the manifest."""
        traffic = [self.traffic] if self.traffic else []
        return {**vars(self), "scenarios": [one.name for one in self.scenarios], "traffic": traffic}


@dataclass(frozen=True)
class Asked:
    """Every run of a request with its digest, in the request's order, and what they come from.

    :param surroundings: by kernel and build
    """

    runs: Mapping[Run, str]
    surroundings: Mapping[tuple[str, str], Surroundings]

    def ingredients(self, run: Run) -> dict[str, str]:
        """Of a run, as the files are now."""
        return ingredients(run, self.surroundings[run.kernel, run.build])


def expand(request: Request, engine: Engine) -> Asked:
    """Everything that is asked for; PlanError or EngineError names what cannot be."""
    return expand_all([request], engine)


def expand_all(requests: Sequence[Request], engine: Engine) -> Asked:
    """What several requests ask for, each run once; PlanError or EngineError names what cannot be."""
    known: dict[tuple[str, str], Surroundings] = {}
    surroundings: dict[tuple[str, str], Surroundings] = {}
    runs: dict[str, Run] = {}
    _check_names([scenario for request in requests for scenario in request.scenarios])
    for request in requests:
        machines: list[tuple[str, str]] = []
        for named in itertools.product(request.kernels, request.builds):
            one = known[named] = known.get(named) or engine.surroundings(*named)
            # whichever way it was named, it is one kernel
            machines.append((one.release, named[1]))
            surroundings[machines[-1]] = one
            check_ccs(request.ccs, one.ccs)
        for run in planned(request, machines, one.clock):
            runs.setdefault(canonical(run.identity), run)
        _check_count(len(runs))
    asked = Asked({}, surroundings)
    return replace(asked, runs={run: digest(asked.ingredients(run)) for run in runs.values()})


def planned(request: Request, machines: Sequence[tuple[str, str]], clock: str = VIRTUAL) -> list[Run]:
    """Every run of a request, each once; PlanError names what cannot be.

    :param machines: kernels and builds
    :param clock: what time is there
    """
    _check_names(request.scenarios)
    _check_qdiscs(request)
    axes = [_axes(scenario, request) for scenario in request.scenarios]
    pairs = list(zip(request.scenarios, axes, strict=True))
    of_each = sum(scenario.count(own) * len(_combinations(scenario, request)) for scenario, own in pairs)
    _check_count(of_each * len(request.seeds) * len(machines))
    runs: dict[str, Run] = {}
    for scenario, own in pairs:
        for run in _runs(scenario, own, request, machines, clock):
            runs.setdefault(canonical(run.identity), run)
    return list(runs.values())


def _check_count(runs: int) -> None:
    if runs > MAX_RUNS:
        raise PlanError(f"{runs} runs: must be at most {MAX_RUNS}: fewer --seeds, or fewer values of --set")


def _axes(scenario: Scenario, request: Request) -> dict[str, list[Value]]:
    """What is set of a scenario's parameters; PlanError names what cannot be."""
    if request.traffic and TRAFFIC_LABEL in scenario.parameters:
        own = f"{scenario.name} has a parameter {TRAFFIC_LABEL}: must be --set {TRAFFIC_LABEL}=..."
        raise PlanError(f"--traffic {request.traffic}: {own}")
    return scenario.axes(_settings_of(scenario, request))


def _runs(
    scenario: Scenario,
    axes: Mapping[str, Sequence[Value]],
    request: Request,
    machines: Sequence[tuple[str, str]],
    clock: str,
) -> Iterable[Run]:
    for values in scenario.values(axes):
        for cc, qdisc in _combinations(scenario, request):
            for seed in request.seeds:
                plan = _plan(scenario, values, cc, qdisc, seed)
                other = request.traffic not in ("", plan.traffic)
                chosen = {**values, TRAFFIC_LABEL: request.traffic} if other else values
                if other:
                    plan = _plan(scenario, values, cc, qdisc, seed, request.traffic)
                for kernel, build in machines:
                    yield Run(scenario, chosen, cc, qdisc, seed, build, kernel, plan, clock)


def _settings_of(scenario: Scenario, request: Request) -> list[str]:
    """Of several scenarios, each takes the parameters that it has; one that none has is refused by the first."""
    known = {name for one in request.scenarios for name in one.parameters}
    found = []
    for setting in request.settings:
        name = setting.partition("=")[0]
        if name in scenario.parameters or name not in known:
            found.append(setting)
    return found


def _combinations(scenario: Scenario, request: Request) -> list[tuple[str, str]]:
    if not request.ccs and not request.qdiscs:
        return scenario.combinations
    first_cc, first_qdisc = scenario.combinations[0]
    return [(cc, qdisc) for cc in request.ccs or (first_cc,) for qdisc in request.qdiscs or (first_qdisc,)]


def _plan(scenario: Scenario, values: Values, cc: str, qdisc: str, seed: int, traffic: str = "") -> Plan:
    try:
        plan = scenario.plan(values, cc, qdisc, seed)
        if traffic:
            # iperf3 does not say when a flow began and ended, but its ACKs do
            acks = plan.record.acks or traffic == "iperf3"
            plan = replace(plan, traffic=traffic, record=replace(plan.record, acks=acks))
            plan.check()
        return plan
    except PlanError as error:
        raise PlanError(f"{scenario.name} {cc}+{qdisc} seed {seed}: {error}") from None


def check_ccs(ccs: Sequence[str], known: Sequence[str]) -> None:
    """PlanError if one is not known; () is that nothing is."""
    for cc in ccs:
        if known and cc not in known:
            raise PlanError(f"--cc {cc}: must be one of {', '.join(known)}{nearest(cc, known)}")


def _check_qdiscs(request: Request) -> None:
    """PlanError if one is neither a queue of the lab's nor a scenario's own word."""
    own = {qdisc for one in request.scenarios for _, qdisc in one.combinations}
    known = [*QUEUES, *sorted(own - set(QUEUES))]
    for qdisc in request.qdiscs:
        if qdisc not in known:
            raise PlanError(f"--qdisc {qdisc}: must be one of {', '.join(known)}{nearest(qdisc, known)}")


def _check_names(scenarios: Sequence[Scenario]) -> None:
    paths = {one.name: one.path for one in scenarios}
    for one in scenarios:
        if paths[one.name] != one.path:
            raise PlanError(f"{one.path} and {paths[one.name]} are both called {one.name}: rename one of them")


def weight(run: Run) -> int:
    """How long a run takes, relative to others."""
    return RUN_OVERHEAD_PACKETS + run.packets


def ordered(runs: Iterable[Run]) -> list[Run]:
    """The order in which runs are done: those of one machine together, what takes longest first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(canonical([run.kernel, run.build, run.plan.structure]), []).append(run)
    inside = [sorted(group, key=lambda run: -weight(run)) for group in groups.values()]
    return [run for group in sorted(inside, key=lambda group: -sum(map(weight, group))) for run in group]


class Progress(Protocol):
    """Who is told how far a sweep is, by several threads at once."""

    def begin(self, guest: Any, title: str) -> None:
        """A guest begins a run."""

    def leave(self, guest: Any) -> None:
        """A guest is gone."""

    def end(self, title: str, weight: int, trouble: str | None = None) -> None:
        """A run has ended, well or with trouble."""


class Sweep:
    """Has the missing runs of a study done, and keeps what they give."""

    def __init__(self, study: Study, engine: Engine, asked: Asked) -> None:
        self._study = study
        self._engine = engine
        self._asked = asked
        first: dict[str, Run] = {}
        for run, its_digest in asked.runs.items():
            first.setdefault(its_digest, run)
        self.due = [run for its_digest, run in first.items() if not study.has(its_digest)]
        self.counts = Counts(asked=len(first), present=len(first) - len(self.due))
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def run(self, guests: int, progress: Progress) -> None:
        """Do all that is missing, in so many guests at a time.

        StudyError if a result cannot be stored, EngineGoneError if no further run can be done.
        What ends it early, an interrupt included, ends the guests.
        """
        self._progress = progress
        pool = ThreadPoolExecutor(guests)
        try:
            for future in as_completed([pool.submit(self._do, run) for run in ordered(self.due)]):
                future.result()
        except BaseException as error:
            self._stopping.set()
            self._engine.stop()
            if isinstance(error, StudyError | EngineGoneError):
                goes_on = "what was stored is whole, and the same sweep goes on from it"
                raise type(error)(f"{error}; {goes_on}") from None
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _do(self, run: Run) -> None:
        """Do a run, once more if its guest fails."""
        trouble: Exception | None = None
        for _ in range(TRIES):
            if self._stopping.is_set():
                return
            self._progress.begin(run, run.title)
            try:
                raw = self._engine.run(run)
            except EngineGoneError:
                # the run is not to blame, and the next sweep does it
                raise
            except (EngineError, PlanError) as error:
                trouble = error
            else:
                self._take(run, raw)
                return
            finally:
                self._progress.leave(run)
        if not self._stopping.is_set():
            self._fail(run, str(trouble), getattr(trouble, "log", []))

    def _take(self, run: Run, raw: dict[str, Any]) -> None:
        """A guest has ended a run."""
        if raw.get("error") is not None:
            self._fail(run, str(raw["error"]), raw.get("dmesg_tail", []))
            return
        its_digest = self._asked.runs[run]
        try:
            found = self._asked.ingredients(run)
        except PlanError as error:
            self._fail(run, f"{error}: it was there when the sweep began", [])
            return
        if digest(found) != its_digest:
            self._fail(run, "a file that its result comes from was changed meanwhile: sweep again", [])
            return
        # not of the raw result, which is the same whoever measures it
        cpu_s = raw.pop("cpu_s", None)
        record = {"digest": its_digest, "asked": run.identity, "ingredients": found, "job": run.job(), "raw": raw}
        record["cpu_s"] = cpu_s
        self._study.store(its_digest, record)
        with self._lock:
            self.counts.run += 1
        self._progress.end(run.title, weight(run))

    def _fail(self, run: Run, error: str, log: Sequence[str]) -> None:
        self._study.fail(self._asked.runs[run], {"asked": run.identity, "error": error, "log": list(log)})
        with self._lock:
            self.counts.failed += 1
        self._progress.end(run.title, weight(run), error)
