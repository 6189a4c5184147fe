# SPDX-License-Identifier: GPL-2.0
"""Scenarios, one after another, shown as they end, and kept as JSON.

With the virtual clock each run begins with a copy of one machine, as in a sweep, and so has the
same figures whatever ran before it. The other clocks have one boot for all.

Status 0: every check of every run holds, 1: one does not, 2: bad input.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..checkout import TOP
from ..hosts.engine import RealHosts
from ..hosts.file import Machines
from ..machines.kernels import find_kernel
from ..model import scenario
from ..model.errors import LabError, PlanError
from ..model.our_modules import TURNS_EVENT
from ..model.plan import MAX_SAMPLES, TRAFFIC, Plan
from ..store import sweep as sweeping
from ..store.digest import modules_of, of_text, programs_of
from ..store.engine import Engine, EngineError, Surroundings
from ..store.run import Run
from . import real_hosts
from .measuring import FiguresOf, figures_of, source_version, versions
from .options import BAD_INPUT, FAILED, MAX_SEED, chosen, complain, whole_number
from .own_guest import add_guest_options, announce, begin

if TYPE_CHECKING:
    from ..analyse.figures import Figures
    from ..machines.plans import Plans

RECORDINGS = TOP / "out" / "lab"
# Of the modules, what they say of themselves; "lab plot" draws pktpair's and fq_rr's.
EVENTS = {
    "tcp_pktpair": "pktpair:pktpair_sample",
    "tcp_vptfrc": "vptfrc:vptfrc_rate",
    "sch_fq_rr": "fq_rr:fq_rr_enqueue",
}
# Likewise of what not every build of a module has.
EVENTS_IF_KNOWN = {"tcp_pktpair": TURNS_EVENT}
# Of a label, to which a device's name and an ending are added: a file's name has 255 at most.
LABEL_CHARACTERS = 200
# Where no ACKs are recorded, pictures are drawn from tcp_info at this interval: a shortest transfer has two.
SAMPLE_S = 0.02


def add_options(parser: argparse.ArgumentParser) -> None:
    """The guest, what is run, and what is kept; values are checked by ``requested``."""
    add_guest_options(parser)
    real_hosts.add_options(parser)
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO|FILE.py")
    parser.add_argument("--cc", action="append", metavar="A", help="congestion control (may be repeated)")
    parser.add_argument("--qdisc", action="append", metavar="B", help="queue of the bottleneck (may be repeated)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the scenario; A,B runs both"
    )
    parser.add_argument("--seed", default="1", metavar="N", help="start times and hashes (default 1)")
    parser.add_argument("--traffic", choices=TRAFFIC, help="what drives the flows (default: the scenario's choice)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the list of runs as JSON")
    parser.add_argument("--pcap", action="store_true", help="capture packets leaving each device that has a queue")
    parser.add_argument("--trace", action="store_true", help="keep the kernel trace, with what plot needs")


@dataclass(frozen=True)
class Recordings:
    """What is kept beside the figures."""

    pcap: bool
    trace: bool

    def of(self, run: Run) -> Run:
        """The run with a plan that records it; PlanError if it cannot."""
        record = run.plan.record
        if self.pcap:
            with_queue = [name for link in run.plan.topology.links for name, way in link.ways if way.rate_bit_s]
            record = replace(record, pcaps=tuple(dict.fromkeys([*record.pcaps, *with_queue])))
        if self.trace:
            modules = modules_of(run)
            events = [*record.events, *(EVENTS[module] for module in modules if module in EVENTS)]
            known = [
                *record.events_if_known,
                *(EVENTS_IF_KNOWN[module] for module in modules if module in EVENTS_IF_KNOWN),
            ]
            record = replace(
                record,
                acks=True,
                events=tuple(dict.fromkeys(events)),
                events_if_known=tuple(dict.fromkeys(known)),
            )
        plan = replace(run.plan, record=record)
        if not record.acks and not record.sample_s:
            plan = sampled(plan)
        plan.check()
        return replace(run, plan=plan)

    def save(self, run: Run, raw: dict[str, Any]) -> None:
        """Files in RECORDINGS, named after the run."""
        RECORDINGS.mkdir(parents=True, exist_ok=True)
        if self.trace:
            files.write(RECORDINGS / f"{label(run)}.trace", raw.get("trace", ""))
        for device, packed in raw.get("pcaps", {}).items() if self.pcap else ():
            files.write(RECORDINGS / f"{label(run)}-{device}.pcap", base64.b64decode(packed))


def sampled(plan: Plan) -> Plan:
    """The plan with samples for its pictures: every SAMPLE_S, or as often as its length allows."""
    often = replace(plan, record=replace(plan.record, sample_s=SAMPLE_S))
    series = len(plan.flows) + len(often.sampled)
    # half of the most, since a number of samples is rounded
    every_s = max(SAMPLE_S, 2 * plan.longest_s * series / MAX_SAMPLES)
    if plan.flows and all(flow.seconds for flow in plan.flows):
        every_s = min(every_s, plan.end_s)
    return replace(plan, record=replace(plan.record, sample_s=every_s))


def label(run: Run) -> str:
    """A file's name that tells a run from the others of its command."""
    own = {name: one.default for name, one in run.scenario.parameters.items()}
    values = [f"{name}-{value}" for name, value in run.values.items() if value != own.get(name)]
    text = "-".join([run.scenario.name, *values, run.cc, run.qdisc, str(run.seed)])
    name = re.sub(r"[^\w.+-]", "_", text, flags=re.ASCII)[:LABEL_CHARACTERS]
    # what was replaced or left out tells two runs apart as well
    return name if name == text else f"{name}-{of_text(ascii(text))[:8]}"


def names(option: str, texts: Sequence[str] | None) -> tuple[str, ...]:
    """Of an option that may be repeated, each once."""
    return tuple(dict.fromkeys(name for text in texts or () for name in chosen(option, text)))


def requested(arguments: argparse.Namespace, on: Surroundings | None = None) -> list[Run]:
    """Everything that was asked for, checked before anything is booted; PlanError names what is wrong.

    :param on: real machines, or None for a guest
    """
    request = sweeping.Request(
        scenarios=tuple(scenario.load(name) for name in dict.fromkeys(arguments.scenarios)),
        settings=tuple(arguments.set),
        ccs=names("--cc", arguments.cc),
        qdiscs=names("--qdisc", arguments.qdisc),
        seeds=(whole_number(f"--seed {arguments.seed}", arguments.seed, 1, MAX_SEED),),
        traffic=arguments.traffic or "",
    )
    recordings = Recordings(arguments.pcap, arguments.trace)
    if on is not None:
        return [recordings.of(run) for run in sweeping.planned(request, [(on.release, "")], on.clock)]
    kernel = "" if arguments.clock == "here" else find_kernel(arguments.kernel)
    if kernel:
        from ..machines.engine import known_ccs

        sweeping.check_ccs(request.ccs, known_ccs(kernel))
    return [recordings.of(run) for run in sweeping.planned(request, [(kernel, "")])]


def check_installed(runs: Sequence[Run], guest: Plans) -> None:
    """PlanError if a run needs a module that has not been built, or a program that is not there."""
    built = {path.stem for path in guest.modules()}
    missing = sorted({module for run in runs for module in modules_of(run)} - built, reverse=True)
    if missing:
        raise PlanError(
            f"{' and '.join(missing)} not built for kernel {guest.kernel}: scripts/build-modules {guest.kernel}"
        )
    if any(programs_of(run) for run in runs):
        from ..machines.plans import bpftrace

        bpftrace()


def prepare(path: Path | None) -> None:
    """The folder of a file that is to be written; PlanError if it cannot be, before an hour's runs."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise PlanError(f"--json {path}: is a folder; must be a file")
        if not os.access(path.parent, os.W_OK):
            raise PlanError(f"--json {path}: {path.parent} cannot be written")
    except OSError as error:
        reason = "is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise PlanError(f"--json {path}: {path.parent}: {reason}") from None


@dataclass(frozen=True)
class Place:
    """Where runs were done.

    :param kernel: its release
    :param modules: source versions of the project's modules
    :param machines: of the run that has ended, which real machines it was on, and their clocks
    """

    kernel: str
    clock: str
    modules: Mapping[str, str]
    machines: Callable[[], Mapping[str, Any]] | None = None


def as_data(run: Run, place: Place, raw: dict[str, Any], found: Figures) -> dict[str, Any]:
    """A run's JSON, without what is drawn."""
    return {
        **run.described(found),
        **of_benchmark(run, found),
        "metrics": {**found.metrics, **lists(found)},
        "path": str(run.scenario.path),
        "label": label(run),
        "kernel": place.kernel,
        "modules": dict(place.modules),
        "clock": place.clock,
        "machines": dict(place.machines()) if place.machines else {},
        "traffic": run.plan.traffic,
        "flows": [_flow(one) for one in found.flows],
        "qdiscs": _qdiscs(run.plan, raw),
        "error": found.error,
        "warnings": raw.get("warnings", []),
        "commands": raw.get("commands", []),
        "bpftrace": raw.get("bpftrace", ""),
        "pass": found.error is None and all(check["pass"] for check in found.checks),
    }


def lists(found: Figures) -> dict[str, list[Any]]:
    """Figures of the window as programs that read the JSON knew them before there were tables, which hold no lists."""
    if "window_end_s" not in found.metrics:
        return {}
    goodput = [flow["window_goodput_bit_s"] for flow in found.flows if "window_goodput_bit_s" in flow]
    return {
        "window_s": [found.metrics["window_begin_s"], found.metrics["window_end_s"]],
        "window_goodput_bit_s": goodput,
    }


def of_benchmark(run: Run, found: Figures) -> dict[str, Any]:
    """Of one of the nine benchmarks, its hosts and its lines of the transfers' summary.json."""
    its_own = run.scenario.path.resolve().parent == scenario.FOLDER
    if found.error or not its_own or not hasattr(run.scenario.module, "benchmark"):
        return {}
    return {"hosts": run.values["hosts"], "rows": summary_lines(run, found.metrics)}


def summary_lines(run: Run, metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A benchmark's run in the transfers' summary.json."""
    labels = {"hosts": run.values["hosts"], "cc": run.cc, "qdisc": run.qdisc, "seed": run.seed}
    lines: list[dict[str, Any]] = run.scenario.module.benchmark(run.values, run.seed).table_rows(labels, metrics)
    return lines


def _plain(value: Any) -> Any:
    """What a scenario's ``measure`` has found, as JSON can hold it: numpy's numbers, and anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _flow(figures: dict[str, Any]) -> dict[str, Any]:
    """Round trips under one name."""
    rtt = {name: figures[f"rtt_{name}_s"] for name in ("min", "p50", "p95", "p99") if f"rtt_{name}_s" in figures}
    others = {name: value for name, value in figures.items() if not re.fullmatch(r"rtt_\w+_s", name)}
    return {**others, "rtt_s": rtt}


def _qdiscs(plan: Plan, raw: dict[str, Any]) -> list[dict[str, Any]]:
    """What tc said of every queue."""
    known = ("kind", "dev", "handle", "parent", "root", "refcnt", "options")
    return [
        {
            "node": device.partition("-")[0],
            "device": device,
            "kind": entry["kind"],
            "parent": entry.get("parent", "root"),
            "options": entry.get("options", {}),
            "statistics": {key: value for key, value in entry.items() if key not in known},
        }
        for device, entries in raw.get("qdiscs", {}).items()
        for entry in entries
        if entry["kind"] != "noqueue"
    ]


def show(run: dict[str, Any]) -> None:
    """One run, for people."""
    settings = " ".join(f"{name}={value}" for name, value in run["parameters"].items())
    print(f"{run['scenario']} {run['cc']}+{run['qdisc']} {settings}  ({run['host_seconds']} s of this machine)")
    if run["error"]:
        print(f"  ERROR: {run['error']}")
    for name, value in run["metrics"].items():
        # in the JSON only: the window's are there twice
        if name not in ("window_s", "window_goodput_bit_s"):
            print(f"  {name:24} {value}")
    for check in run["checks"]:
        verdict = "ok" if check["pass"] else "NOT OK"
        print(f"  {verdict}: {check['quantity']} {check['op']} {check['expected']} (measured {check['measured']})")
    for line in run["warnings"]:
        print(f"  kernel: {line}")
    if run["error"] and not run["warnings"]:
        for line in run.get("dmesg_tail", []):
            print(f"  kernel log: {line}")


class Runs:
    """The runs of a command, as they begin and end."""

    def __init__(self, runs: Sequence[Run], figures: FiguresOf, recordings: Recordings) -> None:
        self._runs = runs
        self._figures = figures
        self._recordings = recordings
        self._began = time.monotonic()
        self.count = len(runs)
        self.done: list[dict[str, Any]] = []

    def begin(self, index: int) -> None:
        """A run begins."""
        print(f"lab: run {index + 1} of {len(self._runs)}: {self._runs[index].title}", file=sys.stderr)
        self._began = time.monotonic()

    def end(self, index: int, raw: dict[str, Any], place: Place, cpu_s: float) -> None:
        """A run has ended: its figures, its recordings.

        :param cpu_s: what it took of this machine's cores
        """
        run = self._runs[index]
        took = {"host_seconds": round(time.monotonic() - self._began, 1), "cpu_seconds": round(cpu_s, 2)}
        found = self._figures(run, raw)
        data = {**as_data(run, place, raw, found), **took}
        if data["error"] is None:
            from ..analyse.series import series

            data["series"] = series(run.plan, raw) | found.series
        if data["error"] or data["warnings"]:
            data["dmesg_tail"] = raw.get("dmesg_tail", [])
        self.done.append(data)
        self._recordings.save(run, raw)
        show(data)


def in_copies(runs: Sequence[Run], progress: Runs) -> None:
    """Each run in a copy of a machine with its network; a guest that fails is that run's error."""
    from ..machines.engine import Guests

    with Guests() as engine:
        # of one command, all runs are on one kernel, with the checkout's modules
        try:
            surroundings = engine.surroundings(runs[0].kernel, "")
        except EngineError as error:
            raise LabError(str(error)) from None
        place = Place(surroundings.release, "virtual", versions(surroundings))
        one_by_one(runs, engine, place, progress)


def one_by_one(runs: Sequence[Run], engine: Engine, place: Place, progress: Runs) -> None:
    """Each by itself; what fails is that run's error."""
    for index, run in enumerate(runs):
        progress.begin(index)
        try:
            raw = engine.run(run)
        except (EngineError, PlanError) as error:
            raw = {"error": str(error), "warnings": [], "dmesg_tail": getattr(error, "log", [])}
        progress.end(index, raw, place, float(raw.get("cpu_s", 0.0)))


def in_one_boot(runs: Sequence[Run], guest: Plans, progress: Runs) -> None:
    """All of them in one guest, or on this machine itself; a guest that ends early is the error of the run it was at.

    LabError if it was at none.
    """
    began_cpu_s = 0.0
    at: int | None = None

    def begin(index: int) -> None:
        nonlocal began_cpu_s, at
        began_cpu_s, at = guest.cpu_s(), index
        progress.begin(index)

    def end(index: int, raw: dict[str, Any]) -> None:
        nonlocal at
        at = None
        modules = {path.stem: guest.ready["modules"].get(path.stem) or source_version(path) for path in guest.modules()}
        progress.end(index, raw, Place(guest.kernel, guest.clock, modules), guest.cpu_s() - began_cpu_s)

    with guest:
        if guest.clock == "here":
            announce(guest)
        try:
            guest.run([run.plan for run in runs], begin, end)
        except LabError as error:
            if at is None:
                raise
            first, *log = str(error).splitlines()
            end(at, {"error": first, "warnings": [], "dmesg_tail": log})
            if left := len(runs) - len(progress.done):
                complain(f"{left} of {len(runs)} runs were not done: the guest has ended")


def run(arguments: argparse.Namespace, figures: FiguresOf) -> int:
    """Lab run: 0 if every check of every run holds, 1 if one does not, 2 for bad input."""
    from ..machines.plans import plan_guest

    try:
        machines = real_hosts.machines_of(arguments)
        if machines is not None:
            return on_machines(arguments, machines, figures)
        runs = requested(arguments)
        guest = plan_guest(arguments.kernel, arguments.clock, arguments.cpus)
        check_installed(runs, guest)
        prepare(arguments.json)
    except PlanError as error:
        complain(error)
        return BAD_INPUT
    progress = Runs(runs, figures, Recordings(arguments.pcap, arguments.trace))
    print(f"lab: kernel {guest.kernel}, clock {guest.clock}", file=sys.stderr)
    return finished(arguments, progress, lambda: in_guest(runs, guest, progress))


def in_guest(runs: Sequence[Run], guest: Plans, progress: Runs) -> None:
    """All of them, in a guest of the kind that the clock needs."""
    if guest.clock == "virtual":
        in_copies(runs, progress)
    else:
        in_one_boot(runs, guest, progress)


def on_machines(arguments: argparse.Namespace, machines: Machines, figures: FiguresOf) -> int:
    """All of them on real machines, or what would be done there; PlanError before anything is changed."""
    prepare(arguments.json)
    with RealHosts(machines) as engine:
        try:
            surroundings = engine.surroundings("", "")
        except EngineError as error:
            raise PlanError(str(error)) from None
        runs = requested(arguments, surroundings)
        engine.check(runs)
        if arguments.dry_run:
            return real_hosts.dry_run(engine, runs)
        place = Place(surroundings.release, surroundings.clock, surroundings.noted["modules"], engine.provenance)
        progress = Runs(runs, figures, Recordings(False, arguments.trace))
        print(f"lab: kernel {place.kernel}, clock {place.clock}, {', '.join(machines.hosts)}", file=sys.stderr)
        return finished(arguments, progress, lambda: one_by_one(runs, engine, place, progress))


def finished(arguments: argparse.Namespace, progress: Runs, do: Callable[[], None]) -> int:
    """Do all runs, and keep what was asked for of them; the exit status."""
    try:
        do()
    finally:
        # those that have ended, whatever ends the command
        if arguments.json and progress.done:
            files.write(arguments.json, json.dumps(progress.done, indent=1, default=_plain) + "\n")
    if arguments.pcap or arguments.trace:
        print(f"lab: recordings are in {RECORDINGS}", file=sys.stderr)
    passed = len(progress.done) == progress.count and all(one["pass"] for one in progress.done)
    return 0 if passed else FAILED


def main(arguments: argparse.Namespace) -> int:
    """Run them."""
    if arguments.machines is not None:
        real_hosts.leave_nothing_changed()
    else:
        begin(arguments)
    return run(arguments, figures_of)
