# SPDX-License-Identifier: GPL-2.0
"""In the guest: torture the modules and tell, as TAP, what broke.

    torture.py --seed N --seconds S --arenas N [--requests MIN] [--round S] [--slow FACTOR]

In rounds: each has some arenas, a pair of namespaces with a link, whose kind of device
is another in each, in which one process makes requests about qdiscs while others
flood the link, use TCP sockets and read everything. At a round's end all of it is killed where it stands, and both
modules are unloaded and loaded. The kernel's log is read after each round, and
its list of leaked memory at the end.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import math
import os
import signal
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from in_guest.link import CLONE_NEWNET
from in_guest.tap import expect, run

from . import devices, traffic
from .checks import DEBUG, LEAKS, LIBC, LOG_S, Log, begin, busy, reload_modules
from .checks import leaks as find_leaks
from .tormentor import REACHED, Batch, Tormentor

FAULTS = DEBUG / "failslab"
WATCHES = Path("/sys/module/kcsan/parameters")
# How long KCSAN waits for another CPU to touch what one is about to, and how many accesses
# it lets pass in between. By default 80 us, 20 us and 4,000, for real CPUs, which do more
# in so short a time than emulated ones.
WATCH = {"udelay_task": 1000, "udelay_interrupt": 200, "skip_watch": 2000}
# What is done around the requests gives way to them, or one CPU would make few.
NICE = 15
# What torture of any length must have done.
ALL_PATHS = {
    *REACHED,
    *traffic.DEEDS,
    *devices.PATHS,
    *([traffic.DEED_WITH_FAULTS] if traffic.FAIL_NTH.exists() else []),
}


def set_up() -> None:
    """Debugfs, which allocations may fail, and which devices a namespace begins with."""
    begin()
    for kind in ("failslab", "fail_page_alloc"):
        if not (DEBUG / kind).exists():
            continue
        settings = {"task-filter": "Y", "probability": 20, "interval": 1, "times": -1, "verbose": 0}
        settings |= {"ignore-gfp-wait": "N"} | ({"min-order": 0} if kind == "fail_page_alloc" else {})
        for name, value in settings.items():
            (DEBUG / kind / name).write_text(str(value))
    for name, value in WATCH.items():
        if WATCHES.exists():
            (WATCHES / name).write_text(str(value))


def new_namespace() -> Batch:
    """A network namespace of this process' own, and what makes links in it."""
    if LIBC.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    ip = Batch("ip")
    ip.must("link set lo up")
    return ip


def far_end(arena: socket.socket, kind: str, seed: str) -> None:
    """The other namespace: it takes connections, over an fq_rr of its own."""
    ip = new_namespace()
    arena.send(b"namespace")
    arena.recv(1)
    commands, file = devices.make(kind, 1)
    ip.must(*commands, f"addr add {traffic.FAR}/24 dev v1")
    if kind == "wireguard":
        devices.introduce(1)
    ip.must("link set v1 up")
    ip.end()
    choose_pktpair()
    run("tc", "qdisc", "add", "dev", "v1", "root", "handle", "1:", "fq_rr", "rate", "20mbit")
    socket.send_fds(arena, [b"link"], [] if file is None else [file])
    traffic.serve(seed)


def choose_pktpair() -> None:
    """For connections of this process' namespace."""
    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("pktpair")


def loop_up(seed: str) -> int:
    """A loopback device that is called v0, in a new namespace; returns the process that takes connections.

    Whose routes go away with the device, unlike those of a listener at the far end of a link.
    """
    ip = new_namespace()
    commands, _ = devices.make("lo", 0)
    ip.must(*commands, *(f"addr add {address}/24 dev v0" for address in (traffic.NEAR, traffic.FAR)), "link set v0 up")
    ip.end()
    choose_pktpair()
    return traffic.child(lambda: traffic.serve(seed + "serve", switched=True), NICE)


def link_up(kind: str, seed: str) -> dict[str, int]:
    """A link between two new namespaces; returns the process in the far one, and one that carries packets."""
    ip = new_namespace()
    here, there = socket.socketpair()
    far = traffic.child(lambda: far_end(there, kind, seed + "serve"), NICE)
    # so that nothing comes from it once that process has ended
    there.close()
    expect(here.recv(16) == b"namespace", "the far end has no namespace")
    commands, file = devices.make(kind, 0, far)
    ip.must(*commands, f"addr add {traffic.NEAR}/24 dev v0")
    if kind == "wireguard":
        devices.introduce(0)
    ip.must("link set v0 up")
    ip.end()
    here.send(b"l")
    said, files, _, _ = socket.recv_fds(here, 16, 1)
    expect(said == b"link", "the far end has no link")
    here.close()
    around = {"serve": far}
    if file is not None:
        around["carry"] = traffic.child(lambda: devices.shuttle(file, files[0]), NICE)
        # the devices end with that process
        os.close(file)
        os.close(files[0])
    return around


def arena(seed: str, kind: str, seconds: float, slow: float, answer: int) -> None:
    """One link with all that goes on around it; answers with what was done."""
    around = {"serve": loop_up(seed)} if kind == "lo" else link_up(kind, seed)
    deeds = traffic.Deeds()
    frames = traffic.FRAMES if devices.has_ethernet(kind) else traffic.PACKETS
    around["flood"] = traffic.child(lambda: traffic.flood(seed + "flood", "v0", frames, slow), NICE)
    around["connect"] = traffic.child(lambda: traffic.connect(seed + "connect", deeds, slow), NICE)
    around["read"] = traffic.child(lambda: traffic.read(seed + "read", "v0", slow), NICE)
    senders = [around[name] for name in ("flood", "connect", *(["serve"] if kind == "lo" else []))]
    try:
        tally = Tormentor(seed, kind, senders).torment(seconds)
        gone = [name for name, pid in around.items() if os.waitpid(pid, os.WNOHANG)[0]]
        tally.broken += [f"{kind}: the process that should {name} ended" for name in gone]
        met = [*sorted(tally.met), *deeds.done()]
        answers = [dict(tally.counts), met, tally.digest, [text[:2000] for text in tally.broken]]
        os.write(answer, json.dumps(answers).encode())
    finally:
        # all where it stands, with packets in every queue
        for pid in around.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Torture:
    """Rounds, and what came of them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Nothing has been done yet."""
        self.arguments = arguments
        self.log = Log()
        self.counts: Counter[str] = Counter()
        # paths that were taken, in any round and in the last one
        self.met: set[str] = set()
        self.met_last: set[str] = set()
        self.broken: list[str] = []
        self.reloads = 0
        # of all requests and answers so far
        self.hash = hashlib.sha256()

    def round(self, number: int, seconds: float) -> None:
        """Some arenas at once, then the modules anew."""
        read, write = os.pipe()
        seeds = [f"{self.arguments.seed}/{number}/{place}" for place in range(self.arguments.arenas)]
        slow = self.arguments.slow
        first = number * self.arguments.arenas
        kinds = [devices.kind_of(str(self.arguments.seed), first + place) for place in range(self.arguments.arenas)]
        pids = [
            traffic.child(partial(arena, seed, kind, seconds, slow, write))
            for seed, kind in zip(seeds, kinds, strict=True)
        ]
        for pid, seed in zip(pids, seeds, strict=True):
            # a kernel with much to report overwrites its log before the round is over
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                self.log.read()
                time.sleep(LOG_S)
            status = os.waitstatus_to_exitcode(ended[1])
            if status:
                self.broken.append(f"arena {seed} ended with {status}")
        os.close(write)
        with os.fdopen(read, "rb") as answers:
            # one after another, without a mark between
            text = answers.read().decode()
        self.met_last = set()
        decoder = json.JSONDecoder()
        while text:
            (counts, met, digest, broken), used = decoder.raw_decode(text)
            text = text[used:]
            self.counts += Counter(counts)
            self.met_last |= set(met)
            self.hash.update(digest.encode())
            self.broken += broken
        self.met |= self.met_last
        try:
            reload_modules()
            self.reloads += 1
        except (TimeoutError, OSError) as error:
            self.broken.append(f"reloading: {error}")

    def rounds(self) -> None:
        """Until time is over or something broke; until every path was taken, in three times as many rounds at most.

        Which paths a round takes is left to chance: a rare one may be missed in three of them. It is
        rounds that count, since a busy machine does fewer of them in a real time.
        """
        seconds = self.arguments.seconds
        most = 3 * math.ceil(seconds / self.arguments.round)
        began = time.monotonic()
        number = 0
        while not self.broken and not self.log.complaints:
            left = seconds - (time.monotonic() - began)
            if left < 1:
                if self.met >= ALL_PATHS or number >= most:
                    break
                left = self.arguments.round
            self.round(number, min(self.arguments.round, left))
            self.log.read()
            number += 1
            digests = f"requests {self.hash.hexdigest()[:16]}, log {self.log.hash.hexdigest()[:16]}"
            if left >= self.arguments.round:
                print(f"# round {number}: {digests}", flush=True)
            print(
                f"# {time.monotonic() - began:.0f} s: {number} rounds, {dict(sorted(self.counts.items()))},"
                f" not met in the last {sorted(ALL_PATHS - self.met_last)}, {100 * busy():.0f} % busy",
                flush=True,
            )

    def tell(self) -> int:
        """TAP; returns the exit status."""
        self.log.read()
        looked = LEAKS.exists() and not self.broken and not self.log.complaints
        leaks = find_leaks() if looked else []
        self.log.read()
        requests = self.counts["requests"]
        wanted = self.arguments.requests
        halves = self.counts["half-applied"]
        never = sorted(ALL_PATHS - self.met)
        told = "requests, " + ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items()) if what != "requests")
        checks = [
            (f"{requests} {told}; at least {wanted} were wanted", requests >= wanted, []),
            (f"{halves} half-applied requests, and no other promise broken", not self.broken, self.broken),
            (f"modules unloaded under way {self.reloads} times", self.reloads > 0, []),
            ("the kernel's checks have nothing to report", not self.log.complaints, self.log.complaints),
            (f"paths that were taken: {', '.join(sorted(self.met))}", not never, [f"never: {path}" for path in never]),
        ]
        # what a kernel has of these is up to its configuration, which is checked when it is built
        if LEAKS.exists():
            checks.append(
                ("no memory has leaked" if looked else "leaks were not looked for", looked and not leaks, leaks)
            )
        if FAULTS.exists():
            failed = self.counts["with a failed allocation"]
            checks.append((f"allocations failed in {failed} requests", failed > 0, []))
        for number, (name, good, details) in enumerate(checks, 1):
            print(f"{'ok' if good else 'not ok'} {number} - {self.arguments.name}: {name}")
            for line in details[:120]:
                print(f"# {line}")
        print(f"1..{len(checks)}")
        return 0 if all(good for _, good, _ in checks) else 1


def main() -> int:
    """Torture, then tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="torture")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--arenas", type=int, default=1)
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--round", type=float, default=20)
    parser.add_argument("--slow", type=float, default=1)
    torture = Torture(parser.parse_args())
    set_up()
    reload_modules()
    torture.rounds()
    return torture.tell()


if __name__ == "__main__":
    sys.exit(main())
