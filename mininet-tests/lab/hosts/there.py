# SPDX-License-Identifier: GPL-2.0
"""The agent on a real host: says what the host is, changes it for a run, has its part of the traffic, puts it back.

It is sent over ssh and runs from memory, with the distribution's own Python and standard library only. It puts
the host back when it is told to, when its connection ends, when it hears nothing for a while, and on a signal that
can be caught. After one that cannot, the journal is there for ``lab restore``.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from lab.guest import protocol
from lab.guest.agent import KernelLog
from lab.hosts import facts
from lab.hosts.journal import Argv, ChangeError, Journal, JournalError, boot, namespace

# The other side says so often that it is there, and is given up after so long without a word.
ALIVE_S = 2.0
SILENCE_S = 20.0
POLL_S = 0.2
# After the changes are undone other programs may be at work still: NetworkManager sets an interface's address again.
SETTLE_S = 3.0
# A lab that was killed may still be putting this host back.
PATIENCE_S = 30.0
# Per CPU; an acknowledgement takes about 90 bytes, so this holds 180,000.
TRACE_KIB = 16_384
# Where the traffic engine is told which part of a flow is here.
OWN_NAMESPACE = "/proc/self/ns/net"
# Files of the work folder: the traffic engine, what teaches tc fq_rr, and the modules' source.
ENGINE, PLUGIN, SOURCE = "traffic-engine", "tc/q_fq_rr.so", "source.tar"
# What a dry run shows where the value is not known before the run.
AS_FOUND = "(as found)"
PING = ("ping", "-n", "-q", "-c", "1", "-W", "2")
PING_TRIES = 5
# Nothing of an experiment outlives the agent, however that ends.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


class LostError(Exception):
    """Whoever gave orders is gone."""


class Orders:
    """What the other side sends, read by a thread of its own: it is noticed at once when that side is gone."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._heard_s = time.monotonic()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                _, payload = protocol.receive(self._part)
                order = json.loads(payload)
                if order["do"] == "clock":
                    # answered by the one thread that waits for nothing else
                    order["heard_ns"] = (time.monotonic_ns(), time.time_ns())
                if order["do"] != "stay":
                    self._queue.put(order)
        except (OSError, EOFError, ValueError):
            self._ended = True
            self._queue.put(None)

    def _part(self, size: int) -> bytes:
        data = os.read(self._fd, size)
        # of what takes long on its way each part is a word
        self._heard_s = time.monotonic()
        return data

    def check(self) -> None:
        """LostError if the other side is gone."""
        if self._ended:
            raise LostError("the connection has ended")
        if time.monotonic() - self._heard_s > SILENCE_S:
            raise LostError(f"nothing was heard for {SILENCE_S:g} s")

    def next(self) -> dict[str, Any]:
        """The next one; LostError if there will be none."""
        while True:
            try:
                order = self._queue.get(timeout=POLL_S)
            except queue.Empty:
                self.check()
                continue
            if order is None:
                raise LostError("the connection has ended")
            return order


def work_folder(of: int | None = None) -> Path:
    """For the files of a run; the journal removes it.

    :param of: the network namespace of the host, by default this one's
    """
    return Path(f"/run/pktpair-lab-{of or namespace()}")


def trace_folder(tracing: str = "", of: int | None = None) -> str:
    """An instance of the kernel's tracing of our own, which leaves the user's alone.

    :param tracing: where the host's tracing is, by default this one's
    :param of: the network namespace of the host, by default this one's
    """
    return f"{tracing or facts.tracing()}/instances/pktpair-lab-{of or namespace()}"


def probe_name() -> str:
    """The group of our kernel probe."""
    return f"pktpair_lab_{namespace()}"


def commands(step: dict[str, Any]) -> tuple[list[Argv], list[Argv]]:
    """What makes a change and what undoes it, by what the host is now; nothing where it is so already."""
    (kind, what), *_ = step.items()
    if kind == "command":
        return step["command"], step.get("undo", [])
    if kind == "sysctl":
        return _setting(["sysctl", "-q", "-w"], what[0], what[1], facts.text_of(facts.sysctl_path(what[0])))
    if kind == "write":
        path, value = what
        # a parameter is there when its module is loaded, and until then in a dry run only
        before = facts.text_of(Path(path)) if Path(path).exists() else AS_FOUND
        return ([], []) if before == value else ([_echo(value, path)], [_echo(before, path)])
    if kind == "offloads":
        return _offloads(*what)
    if kind == "up":
        is_up = facts.link(what)["up"]
        return ([], []) if is_up else ([_link(what, "up")], [_link(what, "down")])
    if kind == "mtu":
        before = facts.link(what[0])["mtu"]
        return ([], []) if before == what[1] else ([_link(what[0], "mtu", what[1])], [_link(what[0], "mtu", before)])
    if kind == "unmanage":
        words = ["nmcli", "device", "set", what, "managed"]
        return ([[*words, "no"]], [[*words, "yes"]]) if facts.managed(what) else ([], [])
    if kind == "module":
        name, load = what
        # one that is built in need not show itself below /sys/module
        if facts.module(name)["state"] == "loaded":
            return [], []
        return [load], [["rmmod", one] for one in reversed(facts.loaded_by(load))]
    if kind == "probe":
        events = f"{facts.tracing()}/kprobe_events"
        definition = what.replace("p:lab/ack ", f"p:{probe_name()}/ack ", 1)
        append = 'echo "$1" >>"$2"'
        return (
            [["sh", "-c", append, "sh", definition, events], ["mkdir", trace_folder()]],
            [["rmdir", trace_folder()], ["sh", "-c", append, "sh", f"-:{probe_name()}/ack", events]],
        )
    if kind == "work":
        return [["mkdir", "-m", "700", str(work_folder())]], [["rm", "-rf", str(work_folder())]]
    if kind == "build":
        # what it makes is in the work folder
        source = f"{work_folder()}/source"
        return [
            ["mkdir", source],
            ["tar", "-x", "-f", f"{work_folder()}/{SOURCE}", "-C", source],
            ["bash", f"{source}/scripts/build-modules", "--quiet", "--kdir", what],
        ], []
    raise ValueError(f"unknown kind of change {kind}")


def _setting(words: list[str], name: str, value: str, before: str) -> tuple[list[Argv], list[Argv]]:
    if before.split() == value.split():
        return [], []
    return [[*words, f"{name}={value}"]], [[*words, f"{name}={before}"]]


def _echo(value: str, path: str) -> list[str]:
    return ["sh", "-c", 'echo "$1" >"$2"', "sh", value, path]


def _link(device: str, *words: Any) -> list[str]:
    return ["ip", "link", "set", "dev", device, *map(str, words)]


def _offloads(device: str, wanted: dict[str, bool]) -> tuple[list[Argv], list[Argv]]:
    """One may change another with it: all that can be changed are put back."""
    now = facts.features(device)
    due = {name: on for name, on in wanted.items() if now.get(name) == (not on, True)}
    if not due:
        return [], []

    def words(values: dict[str, bool]) -> list[str]:
        return [
            "ethtool",
            "-K",
            device,
            *(word for name, on in values.items() for word in (name, "on" if on else "off")),
        ]

    return [words(due)], [words({name: on for name, (on, changeable) in now.items() if changeable})]


class Traffic:
    """This host's part of a run's traffic: the traffic engine, and the kernel's trace."""

    def __init__(self, orders: Orders, order: dict[str, Any], trace: str) -> None:
        """:param trace: our instance of the kernel's tracing, or nothing"""
        self._orders = orders
        self._folder = work_folder() / "traffic"
        self._folder.mkdir(exist_ok=True)
        for name, packed in order["files"].items():
            (self._folder / name).write_bytes(_unpacked(packed))
        plan = self._folder / "plan"
        plan.write_text(order["plan"].replace("@folder", str(self._folder)).replace("@here", OWN_NAMESPACE))
        self._errors = (self._folder / "errors").open("w+b")
        self._process = subprocess.Popen(
            [*DIES_WITH_US, str(work_folder() / ENGINE), str(plan), str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._trace = Path(trace) if trace else None
        self._log = KernelLog()
        self._log.warnings()
        self.missing: list[str] = []

    def await_word(self, wanted: str) -> None:
        """Wait until the engine says a word; ChangeError with what it said if it does not, LostError."""
        output: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        while not select.select([output], [], [], POLL_S)[0]:
            self._orders.check()
        if output.readline() != wanted.encode() + b"\n":
            self.kill()
            self._errors.seek(0)
            raise ChangeError(self._errors.read().decode(errors="replace").strip() or "the traffic engine ended")

    def tell(self, word: str) -> None:
        """A line for the engine."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        self._process.stdin.flush()

    def begin(self, begin_ns: int, events: Sequence[str], ports: Sequence[int]) -> None:
        """Trace from now on, and say when time 0 is."""
        if self._trace:
            self._trace_on(events, ports)
        self.tell(str(begin_ns))

    def _trace_on(self, events: Sequence[str], ports: Sequence[int]) -> None:
        assert self._trace is not None
        (self._trace / "tracing_on").write_text("0")
        (self._trace / "buffer_size_kb").write_text(str(TRACE_KIB))
        (self._trace / "trace_clock").write_text("mono")
        (self._trace / "trace").write_text("")
        for event in events:
            folder = self._trace / "events" / event.replace("lab:", f"{probe_name()}:").replace(":", "/")
            if not folder.exists():
                self.missing.append(event)
                continue
            if ports and "field:u16 sport;" in (folder / "format").read_text():
                chosen = f"sport >= {min(ports)} && sport <= {max(ports)}"
                (folder / "filter").write_text(" || ".join(f"sport == {port}" for port in ports[:64]) or chosen)
            (folder / "enable").write_text("1")
        (self._trace / "tracing_on").write_text("1")

    def finish(self) -> dict[str, Any]:
        """What this part has found."""
        self.await_word("done")
        self._process.wait()
        trace = ""
        if self._trace:
            (self._trace / "tracing_on").write_text("0")
            trace = (self._trace / "trace").read_text()
        return {
            **{name: _lines(self._folder / name) for name in ("flows", "sources")},
            **{name: _packed(self._folder / name) for name in ("received", "samples", "queues")},
            "trace": base64.b64encode(zlib.compress(trace.encode(), 1)).decode(),
            "missing_events": self.missing,
            "warnings": self._log.warnings(),
        }

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _packed(path: Path) -> str:
    return base64.b64encode(zlib.compress(path.read_bytes(), 1)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


class Host:
    """This host, for as long as the connection lasts."""

    def __init__(self, orders: Orders, answers: int) -> None:
        self._orders = orders
        self._answers = answers
        self._journal: Journal | None = None
        self._traffic: Traffic | None = None
        self._kept: dict[str, str] = {}

    def serve(self) -> None:
        """Do what is asked until the connection ends."""
        protocol.send_json(self._answers, protocol.READY, {})
        while True:
            order = self._orders.next()
            try:
                answer = {"answer": getattr(self, f"do_{order['do']}")(order), "error": None}
            except (ChangeError, JournalError, OSError) as error:
                answer = {"answer": None, "error": str(error)}
            protocol.send_json(self._answers, protocol.RESULT, answer)

    def do_facts(self, order: dict[str, Any]) -> dict[str, Any]:
        """What this host is and has."""
        return facts.facts(*(order[name] for name in ("interfaces", "modules", "sysctls", "files")))

    def do_identity(self, order: dict[str, Any]) -> dict[str, Any]:
        """What tells this host from others."""
        return facts.identity(order["modules"])

    def do_btf(self, order: dict[str, Any]) -> str:
        """The type information of its kernel."""
        return _packed(Path("/sys/kernel/btf/vmlinux"))

    def do_clock(self, order: dict[str, Any]) -> list[int]:
        """The monotonic clock and the time of day, when the question came."""
        return list(order["heard_ns"])

    def do_keep(self, order: dict[str, Any]) -> None:
        """Files for the work folder of each run to come, kept in memory."""
        self._kept |= order["files"]

    def do_commands(self, order: dict[str, Any]) -> list[tuple[list[Argv], list[Argv]]]:
        """Of each change, what makes it and what undoes it; nothing is changed."""
        return [commands(step) for step in order["steps"]]

    def do_apply(self, order: dict[str, Any]) -> None:
        """Make changes, each after it is in the journal."""
        watched = [order[what] for what in ("interfaces", "sysctls", "modules", "files")]
        old = Journal.there()
        if old is not None:
            if old.header.get("boot") == boot():
                old.close()
                raise JournalError(f"{old.path}: what an earlier lab has changed here was not put back")
            # the machine was started anew since, which has put everything back
            old.remove()
        self._journal = Journal.begin(facts.state(*watched), watched)
        for step in order["steps"]:
            self._orders.check()
            # addresses, routes and devices have no name of ours
            self._journal.change(*commands(step), is_of_others="command" in step)
            if "work" in step:
                self._write_kept()

    def _write_kept(self) -> None:
        for name, packed in self._kept.items():
            path = work_folder() / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_unpacked(packed))
            path.chmod(0o755)
            if name == PLUGIN:
                # for what tc is asked later
                os.environ["TC_LIB_DIR"] = str(path.parent)

    def do_reach(self, order: dict[str, Any]) -> list[str]:
        """Of some addresses, those that do not answer."""
        return [address for address in order["addresses"] if not self._answers_ping(address)]

    def _answers_ping(self, address: str) -> bool:
        for _ in range(PING_TRIES):
            self._orders.check()
            # a link that has just come up may need a moment
            if subprocess.run([*PING, address], capture_output=True, check=False).returncode == 0:
                return True
        return False

    def do_traffic(self, order: dict[str, Any]) -> None:
        """Start the traffic engine; returns when all that others connect to is there."""
        self._traffic = Traffic(self._orders, order, trace_folder() if order["trace"] else "")
        self._traffic.await_word("listening")

    def do_connect(self, order: dict[str, Any]) -> None:
        """Connect what is connected before the run."""
        assert self._traffic is not None
        self._traffic.tell("connect")
        self._traffic.await_word("ready")

    def do_begin(self, order: dict[str, Any]) -> None:
        """Begin, and wait until all that this host sends is sent."""
        assert self._traffic is not None
        self._traffic.begin(order["begin_ns"], order["events"], order["ports"])
        self._traffic.await_word("sent")

    def do_finish(self, order: dict[str, Any]) -> dict[str, Any]:
        """End the run; what this host has found."""
        assert self._traffic is not None
        self._traffic.tell("stop")
        found = self._traffic.finish()
        qdiscs = {device: facts.listed("tc", "-s", "-j", "qdisc", "show", "dev", device) for device in order["devices"]}
        return {**found, "qdiscs": qdiscs}

    def do_undo(self, order: dict[str, Any]) -> dict[str, Any]:
        """Put back what this connection has changed."""
        return self.put_back()

    def do_restore(self, order: dict[str, Any]) -> dict[str, Any]:
        """Put back what a lab that has died has changed."""
        deadline = time.monotonic() + PATIENCE_S

        def patience() -> bool:
            self._orders.check()
            time.sleep(POLL_S)
            return time.monotonic() < deadline

        self._journal = Journal.there(patience=patience)
        return self.put_back()

    def put_back(self) -> dict[str, Any]:
        """All that the journal has: how many changes, what could not be put back, and what is not as it was.

        The journal stays where something could not be put back.
        """
        traffic, self._traffic = self._traffic, None
        if traffic is not None:
            traffic.kill()
        # it is ours until all is done: what ends this early, a signal as well, ends with another call
        journal = self._journal
        if journal is None:
            return {"changes": 0, "problems": [], "differences": []}
        # what was changed in an earlier boot is back already
        changes = journal.changes if journal.header.get("boot") == boot() else 0
        problems = journal.undo()
        differences = self._differences(journal)
        if differences:
            # what has not taken, or was undone by another program of the host, is put back once more
            problems = journal.undo()
            differences = self._differences(journal)
        self._journal = None
        if problems:
            journal.close()
        else:
            journal.remove()
        return {"changes": changes, "problems": problems, "differences": differences}

    @staticmethod
    def _differences(journal: Journal) -> list[str]:
        """What is not as it was, for as long as SETTLE_S."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            found = journal.differences(facts.state(*(journal.header.get("watched") or [[], []])))
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(POLL_S)


def _stop(number: int, frame: Any) -> None:
    raise LostError(f"signal {number}")


def main() -> None:
    """Serve the other side of a connection, and leave the host as it was."""
    # what is printed by mistake is no frame
    answers = os.dup(1)
    os.dup2(2, 1)
    for number in (signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    host = Host(Orders(0), answers)
    try:
        host.serve()
    except (LostError, BrokenPipeError):
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(BrokenPipeError, OSError):
            found = host.put_back()
            if found["problems"]:
                print("\n".join(found["problems"]), file=sys.stderr)
    # a thread may be in a read of a connection that is silent
    os._exit(0)
