# SPDX-License-Identifier: GPL-2.0
"""Does runs on real machines: checks what they have, changes them, has them send, and puts them back, run by run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import btf, files
from ..checkout import CACHE, TOP
from ..machines.plans import TRAFFIC, guest_program
from ..model.errors import LabError, PlanError
from ..model.our_modules import FILES
from ..model.plan import Plan
from ..store.engine import EngineError, Surroundings
from ..store.run import Run
from . import lacks
from .changes import Placed, Placement, place
from .file import Machine, Machines
from .journal import FOLDER, boot, namespace, path_in
from .merge import ACK_EVENT, Clock, measured, merged, traffic_plan
from .ssh import HostError, Remote, shown, together
from .there import ENGINE, PING, PLUGIN, SOURCE, trace_folder, work_folder

CLOCK = "real"
# Of so many questions the one that is answered first tells the clocks' offset.
CLOCK_QUESTIONS = 20
# From when all is ready until time 0.
LEAD_NS = 2_000_000_000
# What was checked so lately is taken to be so still.
CHECKED_S = 60.0
# What is under way arrives after the last sender has ended: queues, and the longest way there.
DRAIN_S = 0.5
# The modules' source, as scripts/build-modules wants it.
SOURCE_PARTS = ("Kbuild", "include", "kmod", "qdisc", "scripts/build-modules", "scripts/probes")
Facts = Mapping[str, Any]


class RealHosts:
    """The engine of runs on real machines; a context manager that leaves them as they were."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._remotes: dict[str, Remote] = {}
        self._facts: dict[str, Facts] = {}
        self._kept: set[tuple[str, str]] = set()
        self._probes: dict[str, str] = {}
        # one run at a time: each needs all of its machines
        self._lock = threading.Lock()
        self._stopped = False
        self._provenance_of_last: Mapping[str, Any] = {}
        # what has just been checked is not asked for again
        self._checked: dict[int, tuple[Placement, float]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="pktpair-hosts-")

    def __enter__(self) -> RealHosts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._folder.cleanup()

    def close(self) -> None:
        """End all connections: each agent puts its machine back."""
        remotes, self._remotes = list(self._remotes.values()), {}
        self._kept.clear()
        if remotes:
            together(remotes, Remote.close)

    def stop(self) -> None:
        """End what is under way."""
        self._stopped = True
        for remote in list(self._remotes.values()):
            remote.kill()

    # What a sweep asks for

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        """What runs on these machines come from; EngineError if one cannot be reached."""
        if kernel:
            raise EngineError(f"--kernel {kernel}: real machines have their own: must be left out with --machines")
        if modules:
            raise EngineError(f"--modules {modules}: real machines have their own: must be left out with --machines")
        try:
            self._connect(self._machines.hosts.values())
            own = sorted(lacks.OWN_MODULES)
            remotes = list(self._remotes.values())
            found = together(remotes, lambda remote: remote.ask("identity", modules=own))
            self._facts = {name: found[remotes.index(self._remotes[name])] for name in self._machines.hosts}
        except HostError as error:
            raise EngineError(str(error)) from None
        releases = sorted({facts["kernel"] for facts in self._facts.values()})
        return Surroundings(
            release=", ".join(releases),
            kernel=self._described("kernels", {name: facts["kernel"] for name, facts in self._facts.items()}),
            emulator="none: real machines",
            tools={},
            code={"traffic engine": _split_engine()},
            modules={name: self._module(name) for name in sorted(lacks.OWN_MODULES)},
            machine={"clock": CLOCK, "hosts": json.dumps(self._identities(), sort_keys=True)},
            noted={"clock": CLOCK, "machines": self._identities(), "modules": self._versions()},
            clock=CLOCK,
        )

    def _identities(self) -> dict[str, Any]:
        """What tells these machines from others: results of two sets of them are never taken for one another's."""
        names = ("name", "kernel", "machine", "cpu", "cpus", "tc")
        return {
            host: {name: facts[name] for name in names} | {"cables": dict(self._machines.hosts[host].cables)}
            for host, facts in self._facts.items()
        }

    def _versions(self) -> dict[str, str]:
        """Of the project's modules, where they are there: the version, or each machine's."""
        found = {}
        for name in sorted(lacks.OWN_MODULES):
            versions = {host: facts["modules"][name]["version"] for host, facts in self._facts.items()}
            there = {host: version for host, version in versions.items() if version}
            if there:
                same = len(set(there.values())) == 1
                found[name] = next(iter(there.values())) if same else json.dumps(there)
        return found

    def _described(self, name: str, content: Any) -> Path:
        """A file that stands for something that is on other machines, for digests."""
        path = Path(self._folder.name) / name
        path.write_text(json.dumps(content, sort_keys=True))
        return path

    def _module(self, name: str) -> Path:
        """For the digest: each machine's version of a module, or the source that it would be built from."""
        versions = {
            host: facts["modules"][name]["version"] or facts["modules"][name]["state"]
            for host, facts in self._facts.items()
        }
        if "missing" in versions.values():
            versions["source"] = hashlib.sha256(_source()).hexdigest()
        return self._described(f"module-{name}", versions)

    def provenance(self) -> Mapping[str, Any]:
        """Of the run that has ended: by host, which node it was, what it is, and what its clock showed."""
        return self._provenance_of_last

    def check(self, runs: Sequence[Run]) -> None:
        """PlanError with all that stands against these runs, before anything is touched."""
        try:
            for run in runs:
                self._checked[id(run.plan)] = self._placed(run.plan), time.monotonic()
        except HostError as error:
            raise PlanError(str(error)) from None

    def run(self, run: Run) -> dict[str, Any]:
        """A run's raw result; EngineError if a machine fails. The machines are as they were then."""
        with self._lock:
            if self._stopped:
                raise EngineError("the sweep has ended")
            try:
                return self._run(run.plan)
            except (HostError, LabError) as error:
                raise EngineError(str(error)) from None

    # What is done for a run

    def _connect(self, wanted: Any) -> None:
        """A connection to each of these machines; HostError names all that cannot be reached."""
        missing = [machine for machine in wanted if machine.name not in self._remotes]
        problems: list[str] = []

        def one(machine: Machine) -> None:
            try:
                self._remotes[machine.name] = Remote(self._machines, machine)
            except HostError as error:
                problems.append(str(error))

        threads = [threading.Thread(target=one, args=(machine,), daemon=True) for machine in missing]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise HostError("\n".join(sorted(problems)))

    def _ask_facts(self, about: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
        """:param about: by host, the interfaces, modules, sysctls and files that matter"""

        def one(remote: Remote) -> Facts:
            found: Facts = remote.ask("facts", **{what: list(names) for what, names in about[remote.name].items()})
            return found

        remotes = [self._remotes[name] for name in about]
        for remote, facts in zip(remotes, together(remotes, one), strict=True):
            self._facts[remote.name] = facts

    def _placed(self, plan: Plan) -> Placement:
        """A plan laid over machines that can do it; PlanError says all that they lack."""
        placement = place(plan, self._machines)
        used = {placed.machine.name: placed for placed in placement.nodes.values()}
        self._connect([placed.machine for placed in used.values()])
        self._ask_facts(
            {
                name: {
                    "interfaces": placed.interfaces.values(),
                    "modules": {*placed.modules, *lacks.OWN_MODULES},
                    "sysctls": placed.sysctls,
                    "files": lacks.files_of_devices(placed),
                }
                for name, placed in used.items()
            }
        )
        control = (boot(), namespace())
        found = []
        for name, placed in used.items():
            found += lacks.refusals(placed, self._facts[name], self._machines, control, _recorded(plan))
        same: dict[tuple[str, int], str] = {}
        for name in used:
            key = (self._facts[name]["boot"], self._facts[name]["namespace"])
            if (other := same.setdefault(key, name)) != name:
                found.append(f"hosts {other} and {name}: are the same machine: must be two")
        if found:
            raise PlanError("\n".join(found))
        for placed in used.values():
            # what is to be sent has to be here
            self._files(placed)
        return placement

    def _changes(self, placement: Placement, placed: Placed) -> list[dict[str, Any]]:
        """What is changed on a machine, by what it has."""
        facts = self._facts[placed.machine.name]
        work = str(work_folder(facts["namespace"]))
        building = lacks.to_build(placed, facts)
        built = f"{work}/source/build/{facts['kernel']}"
        found: list[dict[str, Any]] = []
        for change in placed.changes:
            found.append(self._adapted(change, work, facts, building, built))
            if "work" in change and building:
                found.append({"build": f"/lib/modules/{facts['kernel']}/build"})
        if _recorded(placement.plan):
            # before it is put back, modules whose events it shows stay
            last = max(index for index, change in enumerate(found) if {"work", "build", "module"} & change.keys())
            found.insert(last + 1, {"probe": self._probe(placed.machine.name)})
        return found

    @staticmethod
    def _adapted(
        change: dict[str, Any], work: str, facts: Facts, building: Sequence[str], built: str
    ) -> dict[str, Any]:
        """A change with the machine's own paths."""
        if "module" in change and change["module"][0] in building:
            name = change["module"][0]
            file = next(file for file in FILES if file.endswith(f"/{name}.ko"))
            return {"module": [name, ["insmod", f"{built}/{file}"]]}
        if "command" in change and not facts["fq_rr"]:
            plugin = f"TC_LIB_DIR={work}/{PLUGIN.partition('/')[0]}"
            lines = [["env", plugin, *argv] if "fq_rr" in argv else argv for argv in change["command"]]
            return {**change, "command": lines}
        return change

    def _probe(self, host: str) -> str:
        """The kernel probe that sees every acknowledgement on a machine's kernel."""
        digest = self._facts[host]["btf"]
        # it is a file's name here, and the machine says it
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise HostError(f"host {host}: says that {digest!r} is the SHA-256 of its kernel's type information")
        if digest not in self._probes:
            folder = CACHE / "btf"
            kept = folder / digest
            if not kept.exists():
                folder.mkdir(parents=True, exist_ok=True)
                types = Path(self._folder.name) / "btf"
                try:
                    types.write_bytes(zlib.decompress(base64.b64decode(self._remotes[host].ask("btf"))))
                except (zlib.error, TypeError, ValueError) as error:
                    raise HostError(f"host {host}: its kernel's type information cannot be read: {error}") from None
                if hashlib.sha256(types.read_bytes()).hexdigest() != digest:
                    raise HostError(f"host {host}: its kernel's type information has another SHA-256 than it said")
                # whole or not at all: what is there is taken for good
                files.write(kept, btf.ack_probe(types))
            self._probes[digest] = kept.read_text()
        return self._probes[digest]

    def _files(self, placed: Placed) -> dict[str, bytes]:
        """For a machine's work folder."""
        facts = self._facts[placed.machine.name]
        found = {ENGINE: _split_engine().read_bytes()}
        if "sch_fq_rr" in placed.modules and not facts["fq_rr"]:
            plugin = TOP / "build" / PLUGIN
            if not plugin.exists():
                raise PlanError(
                    f"host {placed.machine.name}: its tc does not speak fq_rr, and {plugin} is not built: make plugin"
                )
            found[PLUGIN] = plugin.read_bytes()
        if lacks.to_build(placed, facts):
            found[SOURCE] = _source()
        return found

    def _keep(self, placed: Placed) -> None:
        """Send a machine its files, unless it has them."""
        due = {}
        for name, data in self._files(placed).items():
            key = (placed.machine.name, f"{name} {hashlib.sha256(data).hexdigest()}")
            if key not in self._kept:
                due[name] = _packed(data)
                self._kept.add(key)
        if due:
            self._remotes[placed.machine.name].ask("keep", files=due)

    def _run(self, plan: Plan) -> dict[str, Any]:
        placement, at_s = self._checked.pop(id(plan), (None, 0.0))
        lost = placement is not None and {one.machine.name for one in placement.nodes.values()} - self._remotes.keys()
        if placement is None or lost or time.monotonic() - at_s > CHECKED_S:
            placement = self._placed(plan)
        try:
            raw = self._changed_and_run(placement)
        except BaseException as error:
            # also of an interrupt
            left = self._put_back(placement)
            if isinstance(error, HostError):
                raise HostError("\n".join([str(error), *left])) from None
            raise
        left = self._put_back(placement)
        if left:
            raise HostError("\n".join(left))
        return {**raw, "error": None}

    def _put_back(self, placement: Placement) -> list[str]:
        """All machines as they were; what could not be put back, and how to do it."""
        problems: list[str] = []
        for placed in placement.nodes.values():
            name = placed.machine.name
            remote = self._remotes.get(name)
            if remote is None:
                continue
            try:
                problems += told(name, remote.ask("undo"))
            except HostError as error:
                # its agent does it, as soon as it notices; after an interrupt that is now
                self._remotes.pop(name).close()
                self._kept = {key for key in self._kept if key[0] != name}
                problems.append(
                    f"{error}; it puts itself back within half a minute: lab restore --machines {self._machines.path}"
                    " makes sure"
                )
        return problems

    def _changed_and_run(self, placement: Placement) -> dict[str, Any]:
        nodes = placement.nodes
        remotes = {node: self._remotes[placed.machine.name] for node, placed in nodes.items()}
        of = {remote.name: node for node, remote in remotes.items()}

        def apply(remote: Remote) -> None:
            placed = nodes[of[remote.name]]
            self._keep(placed)
            remote.ask(
                "apply",
                steps=self._changes(placement, placed),
                interfaces=list(placed.interfaces.values()),
                sysctls=list(placed.sysctls),
                modules=list(placed.modules),
                files=lacks.written(placed),
            )

        for placed in nodes.values():
            if _recorded(placement.plan):
                self._probe(placed.machine.name)
        together(list(remotes.values()), apply)
        self._check_ways(placement, remotes)

        def traffic(remote: Remote) -> None:
            text, files = traffic_plan(placement, of[remote.name])
            packed = {name: _packed(data) for name, data in files.items()}
            remote.ask("traffic", plan=text, files=packed, trace=_recorded(placement.plan))

        together(list(remotes.values()), traffic)
        together(list(remotes.values()), lambda remote: remote.ask("connect"))
        before = self._clocks(remotes)
        begin_ns = (time.monotonic_ns() + LEAD_NS) // 1_000_000 * 1_000_000

        def begin(remote: Remote) -> None:
            node = of[remote.name]
            remote.ask(
                "begin",
                begin_ns=begin_ns + before[node].offset_ns,
                events=_events(placement, node),
                ports=_ports(placement, node),
            )

        together(list(remotes.values()), begin)
        time.sleep(DRAIN_S + _longest_way_s(placement))

        def finish(remote: Remote) -> dict[str, Any]:
            own = nodes[of[remote.name]].interfaces
            found: dict[str, Any] = remote.ask("finish", devices=list(own.values()))
            return found

        found = dict(zip(remotes, together(list(remotes.values()), finish), strict=True))
        after = self._clocks(remotes)
        raw = merged(placement, found, before, begin_ns)
        self._provenance_of_last = self._provenance(placement, before, after)
        return {**raw, "clock": {"kind": CLOCK, "machines": self._provenance_of_last}}

    def _clocks(self, remotes: Mapping[str, Remote]) -> dict[str, Clock]:
        """By node; one after another, since questions at once would wait for each other."""
        return {node: measured([remote.clock() for _ in range(CLOCK_QUESTIONS)]) for node, remote in remotes.items()}

    def _provenance(
        self, placement: Placement, before: Mapping[str, Clock], after: Mapping[str, Clock]
    ) -> dict[str, Any]:
        """By host: which node it was, what it is, and how far its clock is to be trusted, in us."""
        found = {}
        for node, placed in placement.nodes.items():
            facts = self._facts[placed.machine.name]
            found[placed.machine.name] = {
                "node": node,
                **{name: facts[name] for name in ("kernel", "cpu", "cpus")},
                "interfaces": {
                    device: {"name": name, "driver": facts["interfaces"][name]["driver"]}
                    for device, name in placed.interfaces.items()
                },
                "modules": {name: facts["modules"][name] for name in placed.modules},
                "clock_offset_us": before[node].offset_ns / 1e3,
                "clock_error_us": before[node].error_ns / 1e3,
                "clock_drift_us": (after[node].offset_ns - before[node].offset_ns) / 1e3,
            }
        return found

    def _check_ways(self, placement: Placement, remotes: Mapping[str, Remote]) -> None:
        """HostError if a cable leads elsewhere than the file says, or a router does not pass on."""
        for first, second in placement.layout.links:
            if remotes[first.node].ask("reach", addresses=[placement.address(second)]):
                one, other = (placement.nodes[end.node] for end in (first, second))
                raise HostError(
                    f"host {one.machine.name}: interface {one.interfaces[first.name]}: {placement.address(second)} of"
                    f" {other.machine.name} does not answer: is it cabled to its"
                    f" {other.interfaces[second.name]}, and lets its firewall ping through?"
                )
        for source, sink in _pairs(placement):
            if remotes[source].ask("reach", addresses=[placement.node_address(sink)]):
                one, other = placement.nodes[source], placement.nodes[sink]
                raise HostError(
                    f"host {one.machine.name}: {placement.node_address(sink)} of {other.machine.name} does not answer:"
                    " does a firewall of a router's drop what it should pass on?"
                )

    # What is shown, and nothing done

    def dry_run(self, run: Run) -> list[str]:
        """Every command of a run, machine by machine; PlanError says why there would be none."""
        try:
            placement = self._placed(run.plan)
            lines = [f"# {run.title}"]
            for node, placed in placement.nodes.items():
                lines += self._shown(placement, node, placed)
        except HostError as error:
            raise PlanError(str(error)) from None
        return lines

    def _shown(self, placement: Placement, node: str, placed: Placed) -> list[str]:
        host = placed.machine.name
        its_namespace = self._facts[host]["namespace"]
        work = work_folder(its_namespace)
        lines = [f"# node {node} is host {host}", shown(self._machines, placed.machine)]
        lines.append(f"{host}: (writes {path_in(FOLDER, its_namespace)})")
        lines += [f"{host}: (writes {work}/{name})" for name in self._files(placed)]
        steps = self._changes(placement, placed)
        undone: list[str] = []
        for do, undo in self._remotes[host].ask("commands", steps=steps):
            lines += [f"{host}: {shlex.join(argv)}" for argv in do]
            undone = [f"{host}: {shlex.join(argv)}" for argv in undo] + undone
        for first, second in placement.layout.links:
            if first.node == node:
                lines.append(f"{host}: {shlex.join([*PING, placement.address(second)])}")
        for source, sink in _pairs(placement):
            if source == node:
                lines.append(f"{host}: {shlex.join([*PING, placement.node_address(sink)])}")
        if _recorded(placement.plan):
            tracing = trace_folder(self._facts[host]["tracing"], its_namespace)
            lines.append(f"{host}: (writes tracing_on, buffer_size_kb, trace_clock and trace below {tracing})")
            lines += [f"{host}: (writes filter and enable of {one} there)" for one in _events(placement, node)]
        lines.append(f"{host}: setpriv --pdeathsig KILL {work}/{ENGINE} {work}/traffic/plan {work}/traffic")
        lines += [f"{host}: tc -s -j qdisc show dev {interface}" for interface in placed.interfaces.values()]
        return [*lines, f"# and back, on {host}", *undone]


def told(host: str, found: Mapping[str, Any]) -> list[str]:
    """What a machine says that was not put back, for people."""
    problems = [f"host {host}: was not put back: {one}" for one in found["problems"]]
    return problems + [f"host {host}: is not as it was: {one}" for one in found["differences"]]


def restore(machines: Machines, is_dry: bool) -> tuple[list[str], bool]:
    """Put all machines back that a lab has left changed; a line for each, and whether all are as they were.

    :param is_dry: only say which
    """
    lines: list[str] = []
    well = True
    for machine in machines.hosts.values():
        try:
            remote = Remote(machines, machine)
        except HostError as error:
            lines.append(str(error))
            well = False
            continue
        try:
            if is_dry:
                left = remote.ask("facts", interfaces=[], modules=[], sysctls=[], files=[])["journal"]
                lines.append(f"host {machine.name}: {WOULD[left]}")
                continue
            found = remote.ask("restore")
            problems = told(machine.name, found)
            well = well and not problems
            count = found["changes"]
            done = f"{count} changes undone" if count else "nothing to put back"
            lines += problems or [f"host {machine.name}: {done}"]
        except HostError as error:
            lines.append(str(error))
            well = False
        finally:
            remote.close()
    return lines, well


WOULD = {
    "": "nothing to put back",
    "old": "was started anew since: nothing to put back",
    "left": "would be put back",
    "held": "a lab is at work on it",
}


def _recorded(plan: Plan) -> bool:
    return bool(plan.record.acks or plan.record.events or plan.record.events_if_known)


def _pairs(placement: Placement) -> list[tuple[str, str]]:
    """Nodes that send, each with one that receives of it."""
    return list(dict.fromkeys((one.source, one.sink) for one in placement.plan.senders))


def _events(placement: Placement, node: str) -> list[str]:
    """The kernel's trace events that are recorded on a node."""
    record = placement.plan.record
    acks = [ACK_EVENT] if record.acks and _ports(placement, node) else []
    return [*acks, *record.events, *record.events_if_known]


def _ports(placement: Placement, node: str) -> list[int]:
    """Own ports of the flows whose data a node sends."""
    return [
        placement.plan.port(flow)
        for flow in placement.plan.flows
        if node == flow.source or (flow.exchanges and node == flow.sink)
    ]


def _longest_way_s(placement: Placement) -> float:
    ways = [way for link in placement.plan.topology.links for _, way in link.ways]
    return sum(way.delay_ms + way.jitter_ms for way in ways) / 1e3


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 1)).decode()


def _split_engine() -> Path:
    """The traffic engine that has one machine's part."""
    return guest_program(TRAFFIC, split=True)


def _source() -> bytes:
    """What the modules are built from, packed."""
    command = ["tar", "-c", "--sort=name", "--mtime=@0", "--owner=0", "--group=0"]
    done = subprocess.run([*command, "-C", str(TOP), *SOURCE_PARTS], capture_output=True, check=False)
    if done.returncode:
        raise LabError(f"{TOP}: the modules' source cannot be packed: {done.stderr.decode().strip()}")
    return done.stdout
