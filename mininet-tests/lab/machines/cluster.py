# SPDX-License-Identifier: GPL-2.0
"""Does a sweep's runs on the workers of a cluster, which Dask has.

Dask starts workers, hands runs to those that are free, does a run again whose worker is lost, and has the
dashboard. This is what it is told: each worker is looked at first, is refused if its guests would be others, and
gets what it lacks. Then it has as much of a resource, named after the sweep, as it takes runs at a time; runs
go only where that resource is.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Protocol

from ..model.errors import LabError, PlanError
from ..model.plain import plain
from ..store.engine import EngineError, EngineGoneError, Surroundings
from ..store.run import Run
from . import errand
from .cluster_file import ClusterFile
from .dask_start import connected
from .engine import Guests
from .frozen import orders
from .parcel import Content, Parcel, code, parcel

POLL_S = 0.5
# Without an answer of the scheduler's for so long it is gone.
SCHEDULER_S = 30
# A run that no worker does for so long is handed over again, and then after twice as long: Dask may leave
# one behind another run, or forget one whose worker is lost.
IDLE_S = 15
# A worker that is there, and of which this often something else than a connection fails, is refused.
MAX_TROUBLES = 3
# Workers that get their files at the same time.
AT_ONCE = 4
# A frozen machine, and a guest's files beside it.
MACHINE_BYTES = 400 * 2**20
MIB = 2**20


class Shows(Protocol):
    """Who is told which runs are under way."""

    def begin(self, guest: Any, title: str) -> None:
        """A guest begins a run."""

    def leave(self, guest: Any) -> None:
        """A guest is gone."""


@dataclass
class Worker:
    """A worker that gets runs, or has got some.

    :param name: Dask's
    :param slots: runs at a time
    """

    name: str
    address: str
    host: str
    slots: int
    cpus: int = 0
    kernel: str = ""
    real_time: bool = False


@dataclass
class Under:
    """A run that is under way.

    :param begun: workers' addresses, one for each time that it has begun
    :param idle_since: when a worker that was there was last seen to do it, or when it was handed over
    """

    run: Run
    begun: list[str] = field(default_factory=list)
    idle_since: float = field(default_factory=time.monotonic)


class WorkersLostError(EngineError):
    """So many workers were lost while they did a run that Dask gives it up."""


class ByValue:
    """A function that a worker gets as code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(errand)
        self.__name__ = function.__name__
        self._code = cloudpickle.dumps(function)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return cloudpickle.loads, (self._code,)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What Dask takes for a function."""
        raise NotImplementedError("only on a worker")


class Cluster:
    """The engine of a sweep on a cluster; a context manager, which ends what it has started."""

    def __init__(self, cluster: ClusterFile, guests: Guests, say: Callable[[str], None]) -> None:
        """Not connected yet.

        :param guests: of this machine, which knows what the runs come from
        :param say: a line to the user
        """
        self._cluster = cluster
        self._guests = guests
        self.say = say
        self.shows: Shows | None = None
        self._topic = f"pktpair-{secrets.token_hex(4)}"
        self._stack = contextlib.ExitStack()
        self._client: Any = None
        self._parcels: dict[tuple[str, str, bool], Parcel] = {}
        self._jobs: dict[tuple[str, str], dict[str, Any]] = {}
        # of what is told to several threads
        self._changed = threading.Condition()
        self._stopped = False
        self._gone = ""
        self._number = 0
        self._accepted: dict[str, Worker] = {}
        # while no worker is there Dask forgets who could take a run: it is handed over again
        self._generation = 0
        # how often a worker that was there has been told to do no more
        self._closed = 0
        self._alone_since = time.monotonic()
        self._emulator = ""
        self._emulator_files: dict[str, str] = {}
        self._examined: set[str] = set()
        # of these what is found is not known yet: a slow way, and much to send
        self._under_examination: set[str] = set()
        # how often a worker's examination has failed, by its address
        self._troubles: dict[str, int] = {}
        self._under: dict[str, Under] = {}
        self._outstanding = 0
        self._workers: list[Worker] = []
        self.refused: list[dict[str, str]] = []
        self.lost: list[str] = []
        self.retried: dict[str, list[str]] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._stack.close()

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        """What the runs on a kernel with a build of the modules come from: of this machine, and so of each worker."""
        return self._guests.surroundings(kernel, modules)

    def open(self, runs: Iterable[Run], surroundings: Mapping[tuple[str, str], Surroundings]) -> None:
        """Start or reach the cluster, and wait for the first worker that can be used.

        EngineError says why there is none.
        """
        try:
            self._pack(runs, surroundings)
        except (LabError, PlanError, OSError) as error:
            raise EngineError(str(error)) from None
        self._client = self._stack.enter_context(connected(self._cluster))
        try:
            versions = self._client.get_versions(check=False)
        except Exception as error:
            # whatever Dask says of a scheduler that is lost already
            raise EngineError(
                f"{self._cluster.name}: its scheduler does not say its versions: {plain(str(error))}"
            ) from None
        if reason := self._other(versions["scheduler"], versions["client"]):
            raise EngineError(f"{self._cluster.name}: its scheduler {plain(reason)}")
        self._do = ByValue(errand.do)
        self.say(f"{self._cluster.name}: dashboard {self._client.dashboard_link}")
        self._client.subscribe_topic(self._topic, self._began)
        self._alone_since = time.monotonic()
        watch = threading.Thread(target=self._watch, name="cluster", daemon=True)
        watch.start()
        with self._changed:
            while not self._accepted:
                if self._gone:
                    raise EngineError(self._gone)
                self._changed.wait(POLL_S)

    def _pack(self, runs: Iterable[Run], surroundings: Mapping[tuple[str, str], Surroundings]) -> None:
        of_code = code()
        for run in runs:
            key = (run.kernel, run.build, bool(run.plan.record.bpftrace))
            if key in self._parcels:
                continue
            one = surroundings[run.kernel, run.build]
            copies, modules = self._guests.parts(run.kernel, run.build)
            self._parcels[key] = parcel(of_code, one.release, one.kernel, copies, modules, key[2])
            told = json.loads(one.machine["job"])
            # what the worker's guest adds itself
            self._jobs[key[:2]] = {name: value for name, value in told.items() if name not in ("clock", "top")}
            self._emulator = one.emulator
        self._emulator_files = errand.machine()["emulator_files"]

    @property
    def slots(self) -> int:
        """Runs at a time, on all workers that are there."""
        return sum(worker.slots for worker in self._accepted.values())

    def run(self, run: Run) -> dict[str, Any]:
        """A run's raw result; EngineError if its guest fails, EngineGoneError if no worker is left to do it."""
        key = (run.kernel, run.build, bool(run.plan.record.bpftrace))
        order = {
            "release": run.kernel,
            "common": self._jobs[key[:2]],
            "structure": run.plan.structure,
            "files": self._parcels[key].rooms,
            "orders": orders(run.plan),
        }
        packed = json.dumps(order).encode()
        patience_s = float(IDLE_S)
        while True:
            found = self._done(run, self._parcels[key].digest, packed, patience_s)
            if found is None:
                patience_s *= 2
                # its worker is no more, or was full: the run is not to blame
                continue
            if "raw" in found:
                return dict(found["raw"])
            raise EngineError(found["failed"], found["log"])

    def _done(self, run: Run, parcel_digest: str, packed: bytes, patience_s: float) -> dict[str, Any] | None:
        """What a worker says of a run; None if none could do it.

        :param patience_s: how long no worker may do it
        """
        generation, closed = self._take_slot()
        key = self._next_key(run)
        under = self._under[key] = Under(run)
        future = None
        try:
            future = self._client.submit(
                self._do,
                self._cluster.store,
                parcel_digest,
                packed,
                self._topic,
                key,
                key=key,
                pure=False,
                resources={self._topic: 1},
            )
            answer = self._await(
                future,
                generation,
                lambda: (self._closed != closed and not under.begun) or self._idle_s(under) > patience_s,
            )
        except WorkersLostError:
            self._note_retry(under)
            raise
        finally:
            with self._changed:
                del self._under[key]
                self._outstanding -= 1
                self._changed.notify()
            if future is not None:
                with contextlib.suppress(Exception):
                    future.release()
            if self.shows is not None:
                self.shows.leave(under)
        if answer is None:
            self._note_retry(under)
            return None
        try:
            found = _read(answer)
        except (zlib.error, KeyError, TypeError, ValueError, RecursionError) as error:
            raise EngineError(f"what its worker answers cannot be read: {plain(str(error))}") from None
        if found.get("is_full"):
            self._refuse(self._accepted.get(under.begun[-1]) if under.begun else None, found["failed"])
            self._note_retry(under)
            return None
        return found

    def _next_key(self, run: Run) -> str:
        with self._changed:
            self._number += 1
            return f"{run.scenario.name}-{self._topic}-{self._number}"

    def _take_slot(self) -> tuple[int, int]:
        """Wait until a worker is free; the generation of the workers that are there, and how often one was closed."""
        with self._changed:
            while not self._accepted or self._outstanding >= self.slots:
                self._check()
                self._changed.wait(POLL_S)
            self._check()
            self._outstanding += 1
            return self._generation, self._closed

    def _check(self) -> None:
        if self._stopped:
            raise EngineError("the sweep has ended")
        if self._gone:
            raise EngineGoneError(self._gone)

    def _await(self, future: Any, generation: int, is_stuck: Callable[[], bool]) -> bytes | None:
        """A run's answer, or None if its workers are gone.

        :param is_stuck: whether it may wait at a worker that does no more runs, which Dask does not take it from
        """
        from distributed.scheduler import KilledWorker

        while True:
            with self._changed:
                self._check()
                if self._generation != generation or is_stuck():
                    with contextlib.suppress(Exception):
                        future.cancel(force=True)
                    return None
            try:
                answer: bytes = future.result(timeout=POLL_S)
                return answer
            except TimeoutError:
                continue
            except KilledWorker as error:
                lost = error.allowed_failures + 1
                who = "a worker was" if lost == 1 else f"{lost} workers were"
                raise WorkersLostError(f"{who} lost while doing it") from None
            except CancelledError:
                # the scheduler has forgotten it, since this client or it was away
                self._await_scheduler()
                return None
            except Exception as error:
                raise EngineError(f"{type(error).__name__}: {plain(str(error))}") from None

    def _idle_s(self, under: Under) -> float:
        """How long no worker that is there, one that gets no more included, has been doing a run."""
        if under.begun and under.begun[-1] in self._examined:
            under.idle_since = time.monotonic()
        return time.monotonic() - under.idle_since

    def _await_scheduler(self) -> None:
        """Until it answers again, or is known to be gone."""
        with self._changed:
            while self._client.status != "running":
                self._check()
                self._changed.wait(POLL_S)

    def _began(self, event: tuple[float, Any]) -> None:
        """A worker has begun a run: one that has begun before is done again."""
        said = event[1]
        under = self._under.get(said["key"])
        if under is None:
            return
        if under.begun:
            self._note_retry(under)
        under.begun.append(said["address"])
        if self.shows is not None:
            self.shows.begin(under, under.run.title)

    def _note_retry(self, under: Under) -> None:
        if under.begun:
            names = {one.address: one.name for one in self._workers}
            with self._changed:
                self.retried.setdefault(under.run.title, []).append(names.get(under.begun[-1], under.begun[-1]))

    def _watch(self) -> None:
        """Look at workers that come, and notice those that go, until the sweep is over."""
        try:
            self._look_around()
        except BaseException as error:
            # nobody would wait any more for what cannot come
            self._end(f"{self._cluster.name}: {type(error).__name__}: {error}")
            raise

    def _look_around(self) -> None:
        heard = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while not self._stopped and not self._gone:
                try:
                    found = self._workers_now()
                    heard = time.monotonic()
                except Exception:
                    # of whichever layer
                    if self._client.status == "closed" or time.monotonic() - heard > SCHEDULER_S:
                        self._end(f"{self._cluster.name}: the scheduler does not answer any more")
                        return
                    time.sleep(POLL_S)
                    continue
                self._drop_lost(found)
                for address, one in found.items():
                    if address not in self._examined and one.get("status") == "running":
                        self._examined.add(address)
                        self._under_examination.add(address)
                        pool.submit(self._examine, address, plain(str(one["name"])), int(one["nthreads"]))
                self._check_alone(found)
                time.sleep(POLL_S)

    def _workers_now(self) -> dict[str, Any]:
        """What the scheduler says of its workers; of what the client keeps, Dask makes a part anew without them."""
        found: dict[str, Any] = self._client.sync(self._client.scheduler.identity, n_workers=-1)["workers"]
        return found

    def _end(self, reason: str) -> None:
        with self._changed:
            self._gone = self._gone or reason
            self._changed.notify_all()

    def _drop_lost(self, found: Mapping[str, Any]) -> None:
        for address in [address for address in self._accepted if address not in found]:
            with self._changed:
                worker = self._accepted.pop(address, None)
                if worker is None:
                    continue
                self.lost.append(worker.name)
                self._left()
            self.say(f"worker {worker.name} on {worker.host} is lost: what it did begins again on another one")
        self._examined &= set(found)

    def _left(self) -> None:
        """A worker is no longer there; the caller has the lock."""
        if not self._accepted:
            self._generation += 1
            self._alone_since = time.monotonic()
        self._changed.notify_all()

    def _check_alone(self, found: Mapping[str, Any]) -> None:
        """Give up if no worker is left, and none is to be expected."""
        if self._accepted:
            return
        if self._under_examination & set(found):
            self._alone_since = time.monotonic()
            return
        names = {one["worker"] for one in self.refused}
        present = {str(one["name"]) for one in found.values()}
        expected = self._cluster.workers if self._cluster.kind != "scheduler" else 1
        if self._cluster.kind == "ssh":
            expected = len(self._cluster.hosts) - 1
        reasons = "".join(f"\n    {one['worker']} on {one['host']}: {one['reason']}" for one in self.refused)
        if present and present <= names and len(present) >= expected:
            self._end(f"{self._cluster.name}: every worker is refused:{reasons}")
        elif time.monotonic() - self._alone_since > self._cluster.wait_s:
            self._end(f"{self._cluster.name}: no worker within {self._cluster.wait_s} s (wait_s){reasons}")

    def _ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of errand.py answers on a worker."""
        return plain(self._client.run(ByValue(function), *arguments, workers=[address])[address])

    def _examine(self, address: str, name: str, slots: int) -> None:
        """Have a new worker do runs, or refuse it."""
        try:
            self._take_or_refuse(address, name, slots)
        finally:
            self._under_examination.discard(address)

    def _take_or_refuse(self, address: str, name: str, slots: int) -> None:
        try:
            reason, worker = self._prepared(address, name, slots)
            if reason:
                self._refuse(worker, reason)
                return
            self._ask(address, errand.accept, self._topic, slots)
        except Exception as error:
            what = f"{type(error).__name__}: {plain(str(error))}"
            # of a connection that is lost Dask has an OSError of its own
            if not isinstance(error, OSError):
                self._troubles[address] = self._troubles.get(address, 0) + 1
            if self._troubles.get(address, 0) >= MAX_TROUBLES:
                self._refuse(Worker(name, address, _host_of(address), slots), what)
                return
            # it may be gone by now; if it is there, it is looked at again
            self.say(f"worker {name} at {address}: {what}")
            self._examined.discard(address)
            return
        with self._changed:
            self._accepted[address] = worker
            self._workers.append(worker)
            self._changed.notify_all()

    def _prepared(self, address: str, name: str, slots: int) -> tuple[str, Worker]:
        """Send a worker what it lacks; why it cannot be used, or nothing, and what it is."""
        worker = Worker(name, address, _host_of(address), slots)
        if reason := self._of_another_version(address):
            return reason, worker
        contents = {one.digest: one for each in self._parcels.values() for one in each.files.values()}
        store = self._cluster.store
        found = self._ask(address, errand.look, store, {one.digest: one.size_bytes for one in contents.values()})
        if "refused" in found:
            return found["refused"], worker
        worker.host, worker.cpus, worker.kernel = found["host"], found["cpus"], found["kernel"]
        worker.real_time = found["real_time"]
        if reason := self._unsuited(found):
            return reason, worker
        for digest, _ in found["lacking"]:
            answer = self._send(address, contents[digest])
            if "refused" in answer:
                return answer["refused"], worker
        for each in self._parcels.values():
            answer = self._ask(address, errand.unpack, store, each.digest, each.digests)
            if "refused" in answer:
                return answer["refused"], worker
        return "", worker

    def _of_another_version(self, address: str) -> str:
        """Why a worker's Dask or Python cannot work with the ones here, or nothing.

        It is asked before it gets any code, which another Python could not read.
        """
        versions = self._client.get_versions(check=False)
        there = versions["workers"].get(address)
        if there is None:
            raise LabError("does not say its versions")
        return self._other(there, versions["client"])

    @staticmethod
    def _other(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
        """Which version of one is not that of the other, or nothing."""
        python = ".".join(there["host"]["python"].split(".")[:2])
        own = ".".join(here["host"]["python"].split(".")[:2])
        if python != own:
            return f"has Python {python}, and must have {own}"
        for package in ("distributed", "cloudpickle"):
            if there["packages"][package] != here["packages"][package]:
                return f"has {package} {there['packages'][package]}, and must have {here['packages'][package]}"
        return ""

    def _unsuited(self, found: Mapping[str, Any]) -> str:
        if found["missing"]:
            return f"{', '.join(found['missing'])} not installed there"
        if found["emulator"] != self._emulator:
            return f"has {found['emulator']}, and must have {self._emulator}"
        for name, here in self._emulator_files.items():
            there = found["emulator_files"][name]
            if there != here:
                return f"has another build of {name}: SHA-256 {there[:16] or '(not there)'}, and must be {here[:16]}"
        need = sum(size_bytes for _, size_bytes in found["lacking"]) + MACHINE_BYTES
        if found["free_bytes"] < need:
            free = found["free_bytes"] // MIB
            return f"no room in {found['folder']}: {need // MIB} MiB needed, {free} MiB free"
        return ""

    def _send(self, address: str, content: Content) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for begin, part, is_last in content.parts():
            sender = self._topic
            answer = self._ask(
                address, errand.receive, self._cluster.store, content.digest, sender, begin, part, is_last
            )
            if "refused" in answer:
                return answer
        return answer

    def _refuse(self, worker: Worker | None, reason: str) -> None:
        """Have a worker do no runs, or no more."""
        if worker is None:
            return
        reason = plain(reason)
        with self._changed:
            was_there = self._accepted.pop(worker.address, None) is not None
            self.refused.append({"worker": worker.name, "host": worker.host, "reason": reason})
            if was_there:
                self._left()
        self.say(f"worker {worker.name} on {worker.host} is refused: {reason}")
        if was_there:
            with contextlib.suppress(Exception):
                self._ask(worker.address, errand.accept, self._topic, 0)
            with self._changed:
                self._closed += 1

    def stop(self) -> None:
        """End every guest at once."""
        with self._changed:
            if self._stopped:
                return
            self._stopped = True
            self._changed.notify_all()
        if self._client is not None and self._client.status == "running":
            with contextlib.suppress(Exception):
                addresses = list(self._accepted)
                self._client.run(ByValue(errand.leave), self._topic, self._topic, workers=addresses, on_error="ignore")

    def outcome(self) -> dict[str, Any]:
        """For the manifest: which workers there were, and what became of them."""
        if self._client is not None and self._client.status == "running":
            # one may have been lost since the last look
            with contextlib.suppress(Exception):
                self._drop_lost(self._workers_now())
        return {
            "on": self._cluster.name,
            "kind": self._cluster.kind,
            "workers": [asdict(one) for one in self._workers],
            "refused": list(self.refused),
            "lost": list(self.lost),
            "retried": [{"run": title, "workers": names} for title, names in self.retried.items()],
        }


def _host_of(address: str) -> str:
    return address.partition("://")[2].rpartition(":")[0]


def _read(answer: bytes) -> dict[str, Any]:
    """What a worker says of a run, with "raw", or with "failed" and "log"; one of several errors if it says neither."""
    found = dict(json.loads(zlib.decompress(answer)))
    if "raw" in found:
        return {"raw": dict(found["raw"])}
    log = [plain(str(line)) for line in found["log"]]
    return {"failed": plain(str(found["failed"])), "log": log, "is_full": bool(found.get("is_full"))}


def complain(text: str) -> None:
    """A line where there is no bar."""
    print(f"lab: {text}", file=sys.stderr)
