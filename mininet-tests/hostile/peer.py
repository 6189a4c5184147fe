# SPDX-License-Identifier: GPL-2.0
"""In the guest: a TCP in user space that does to pktpair or vptfrc what no peer should, and TAP of what came of it.

    peer.py --seed N --seconds S [--name NAME] [--rate] [--only TEXT] [--plan N] [--lanes N] [--full]

A process of nobody's (uid 65534) makes a user and a network namespace of its own, with
TUN devices. On one side of each is the kernel's TCP with one of pktpair's presets, or with vptfrc (--rate), on
the other the far end of far_end.py, behind a bottleneck that is simulated there. Each
connection first gets to know its share; then the far end misbehaves for some round
trips (misdeeds.py); then it keeps the rules again. What must hold (connection.py):

- In no round trip leaves more than a multiple of what was acknowledged before.
- A stated part of the bottleneck is filled a stated number of round trips later; by vptfrc, any at all.
- What TCP_CC_INFO tells is what it should be.
- The kernel does not complain, and the module unloads.
"""

from __future__ import annotations

import argparse
import ctypes

# names of hosts need it: loaded later, from a file, it would have the guest's clock leap
import encodings.idna  # noqa: F401
import json
import os
import select
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from in_guest.link import CLONE_NEWNET
from in_guest.tap import run
from torture import checks

from . import misdeeds, wire
from .connection import Connection
from .far_end import Settings
from .path import MS_NS, SECOND_NS, Clock

TOP = Path(__file__).resolve().parents[2]
NOBODY = 65534
CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE, PR_SET_TIMERSLACK = 4, 29
LIBC = ctypes.CDLL(None, use_errno=True)
PRESETS = ("pktpair", "pktpair_1994")
RATE = ("vptfrc",)
HOSTS = range(2, 250)
# Packets taken from a device before what is due is looked at.
READ_AT_ONCE = 32
TRAINS = Path("/sys/module/tcp_pktpair/parameters/trains")


def become_tenant() -> None:
    """Nobody, but root in namespaces of its own."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # or /proc/self would still be root's
    LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {NOBODY} 1")
    Path("/proc/self/gid_map").write_text(f"0 {NOBODY} 1")
    sysctl("tcp_no_metrics_save", 1)
    sysctl("tcp_ecn", 1)


def sysctl(name: str, value: int) -> None:
    """One of the namespace's own settings of TCP."""
    Path("/proc/sys/net/ipv4", name).write_text(str(value))


def netstat() -> Counter[str]:
    """The namespace's counters of TCP."""
    found: Counter[str] = Counter()
    for path in ("/proc/self/net/netstat", "/proc/self/net/snmp"):
        lines = Path(path).read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            found.update(dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True)))
    return found


def draw_settings(random: Random) -> Settings:
    """A path and a connection of some usual kind."""
    rate = random.choice((2, 3, 5, 8)) * misdeeds.MBIT
    round_trip = random.choice((30, 40, 60, 100)) * MS_NS
    return Settings(
        rate_bytes_s=rate,
        round_trip_ns=round_trip,
        room_bytes=max(rate * round_trip // SECOND_NS * random.choice((1, 2, 4)), 60_000),
        mtu=random.choice((576, 1500, 1500, 1500, 4000)),
        ack_every=random.choice((1, 2, 2)),
        stamps=random.random() < 0.8,
        sack=random.random() < 0.9,
        passive=random.random() < 0.3,
        ecn=random.random() < 0.3,
        scale=random.choice((7, 8, 14)),
    )


Plan = tuple[str, tuple[misdeeds.Misdeed, ...], str]


def plans(seed: str, only: str, algorithms: Sequence[str] = PRESETS) -> Iterator[Plan]:
    """Every misdeed once, then with each other algorithm; then, for ever, with some at once."""
    random = Random(seed)
    chosen = [deed for deed in misdeeds.ALL if only in deed.name]
    random.shuffle(chosen)
    number = 0
    for turn in range(len(algorithms)):
        for place, deed in enumerate(chosen):
            yield algorithms[(place + turn) % len(algorithms)], (deed,), f"{seed}/{number}"
            number += 1
    while not only:
        yield random.choice(algorithms), tuple(random.sample(misdeeds.MIXED, random.choice((2, 3)))), f"{seed}/{number}"
        number += 1


def chosen(arguments: argparse.Namespace) -> Iterator[Plan]:
    """What was asked for: all of them, or one."""
    source = plans(str(arguments.seed), arguments.only, RATE if arguments.rate else PRESETS)
    return source if arguments.plan is None else islice(source, arguments.plan, arguments.plan + 1)


class Lane:
    """One device, and one connection after another over it."""

    def __init__(self, number: int, source: Iterator[Plan], clock: Clock, counts: Counter[str]) -> None:
        """Nothing runs yet."""
        self.tun = wire.Tun(number, 1500)
        self.source, self.clock, self.counts = source, clock, counts
        self.host = 0
        self.connection: Connection | None = None
        self.title = ""

    def next(self) -> bool:
        """Begin the next plan; false if there is none."""
        plan = next(self.source, None)
        if plan is None:
            self.connection = None
            return False
        algorithm, deeds, seed = plan
        random = Random(seed)
        settings = draw_settings(random)
        for deed in deeds:
            settings = deed.on(settings, random)
        if algorithm == "pktpair_1994":
            # its trains are pairs, and one ACK for both shows nothing
            settings.ack_every = 1
        self.host += 1
        host = HOSTS[self.host % len(HOSTS)]
        self.title = f"{seed}: {algorithm}: {' + '.join(deed.name for deed in deeds)}: {settings}"
        self.connection = Connection(self.clock, self.tun, host, algorithm, settings, deeds, random, self.counts)
        return True

    def read(self) -> None:
        """Take what the kernel has sent."""
        for _ in range(READ_AT_ONCE):
            data = self.tun.read()
            if data is None:
                return
            packet = wire.parse(data)
            connection = self.connection
            if packet and connection and packet.host == connection.far.host and not connection.far.closed:
                connection.far.take(packet, data)


def misbehave(arguments: argparse.Namespace, answer: int) -> None:
    """As the tenant: connection after connection, until time is over."""
    become_tenant()
    clock = Clock()
    counts: Counter[str] = Counter()
    broken: list[str] = []
    source = chosen(arguments)
    lanes = [Lane(number, source, clock, counts) for number in range(arguments.lanes)]
    began = clock.now()
    until = began + int(arguments.seconds * SECOND_NS)
    for lane in lanes:
        lane.next()
    while clock.now() < until and any(lane.connection for lane in lanes):
        wait = clock.run()
        writers = {stream: lane for lane in lanes if lane.connection and (stream := lane.connection.wants_to_write())}
        by_fd = {lane.tun.fd: lane for lane in lanes}
        readable, writable, _ = select.select(list(by_fd), list(writers), [], wait)
        for fd in readable:
            by_fd[fd].read()
        for stream in writable:
            connection = writers[stream].connection
            if connection:
                connection.feed()
        for lane in lanes:
            if lane.connection and lane.connection.phase == "over":
                counts["connections"] += 1
                if counts["connections"] % 50 == 0:
                    told = f"{counts['connections']} connections, {len(broken)} broken"
                    print(f"# round {(clock.now() - began) / SECOND_NS:.0f} s: {told}", flush=True)
                told = f"{lane.title}:{lane.connection.told}"
                if arguments.full or lane.connection.broken:
                    print(f"# {(clock.now() - began) / SECOND_NS:.1f} s: {told}", flush=True)
                for text in lane.connection.broken:
                    broken.append(f"{lane.title}: {text}")
                    print(f"# BROKEN {text}", flush=True)
                if clock.now() < until:
                    lane.next()
                else:
                    lane.connection = None
    for lane in lanes:
        if lane.connection:
            lane.connection.close()
    counts["guest ms"] = (clock.now() - began) // MS_NS
    counts["writes refused"] = sum(lane.tun.refused for lane in lanes)
    with os.fdopen(answer, "w") as out:
        json.dump([dict(counts), dict(netstat()), broken], out)


def trains() -> Counter[str]:
    """What became of the trains of all connections."""
    return Counter({name: int(count) for name, count in (line.split() for line in TRAINS.read_text().splitlines())})


# What a run must have come to, for each time that all misdeeds could have had their turn:
# half or less of what runs with --only of the misdeeds that cause it came to.
REACHED: dict[str, float] = {
    "share believed": 23,
    "recovered": 20,
    "state Loss": 3,
    "state Recovery": 3,
    "reneged": 1,
    "MTU changed": 5,
    "ICMP: too big": 1,
    "windows": 40,
    "algorithm switched": 4,
    "SYN lost": 1,
    "segments with an old time stamp": 20,
    "netstat TCPSACKReneging": 1,
    "netstat PAWSEstab": 20,
    "netstat TCPTimeouts": 3,
    "netstat TCPDSACKRecv": 1,
    "trains sample": 1000,
    "trains one-ack": 50,
    "trains retransmitted": 10,
}
# Likewise of vptfrc, whose connections no train measures.
RATE_REACHED: dict[str, float] = {
    **{name: often for name, often in REACHED.items() if not name.startswith("trains ") and name != "share believed"},
    "rate told": 1000,
    "bottleneck filled": 20,
}
# What one misdeed alone brings about in a turn, once all four turns are over: each of them once, and
# half of what came of it. After those with each preset they are drawn.
BROUGHT_ABOUT: dict[str, float] = {
    **dict.fromkeys((deed.name for deed in misdeeds.ALL), 1),
    "divided ACKs": 100,
    "ACK of what has not come": 400,
    "ACK of what was not sent": 100,
    "D-SACK of what came once": 75,
    "repeated ACKs": 500,
    "ACKs lost": 200,
    "marked": 50,
    "CWR": 30,
    "state CWR": 2,
}
# Of the connections, on a kernel without checkers.
JUDGED_PART = 0.8
# A second of the guest's is worth this at least: half of what it was.
CONNECTIONS_PER_S = 0.6


def reload_module(name: str) -> list[str]:
    """Unload a module, and load it again from where it was built; returns what went wrong."""
    try:
        checks.unload(name)
    except (TimeoutError, OSError) as error:
        return [str(error)]
    places = (TOP / "modules", TOP / "build" / os.uname().release / "kmod")
    for path in (place / f"{name}.ko" for place in places):
        if path.exists():
            run("insmod", str(path))
            return []
    return ["the module is not where it is built, and stays unloaded"]


def too_rare(found: Counter[str], algorithms: Sequence[str], reached: Mapping[str, float]) -> list[str]:
    """What happened less often than it must have."""
    turns = found["connections"] / len(misdeeds.ALL)
    floors = {name: max(1, int(often * turns)) for name, often in reached.items()}
    # once each has been done with each algorithm: how much one brings about varies; some are still under way
    whole = len(algorithms) if turns > len(algorithms) + 0.1 else 0
    floors |= {name: int(often * whole) for name, often in BROUGHT_ABOUT.items()}
    return [f"{name}: {found[name]}, not {least}" for name, least in floors.items() if found[name] < least]


def work(arguments: argparse.Namespace) -> tuple[Counter[str], list[str]]:
    """Have the tenant do it; returns what was counted and what broke."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(read)
            misbehave(arguments, write)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise SystemExit(f"the tenant ended with {status}")
    counts, kernel, broken = json.loads(text)
    return Counter(counts) + Counter({f"netstat {name}": count for name, count in kernel.items()}), broken


def place(text: str) -> int:
    """Which of the plans, from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def main() -> int:
    """Have it done, then tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="peer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", action="store_true", help="vptfrc, and not the presets of pktpair")
    parser.add_argument("--only", default="", help="only misdeeds with this in their names")
    parser.add_argument(
        "--plan", type=place, metavar="N", help="only connection N of those, from 0, as SEED/N names it"
    )
    parser.add_argument("--lanes", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="tell what came of each connection")
    arguments = parser.parse_args()
    if not Path(wire.DEVICE).exists():
        run("modprobe", "tun")
    # for everyone, as in any distribution
    os.chmod(wire.DEVICE, 0o666)
    checks.begin()
    log = checks.Log()
    before = trains()
    found, broken = work(arguments)
    found += Counter({f"trains {name}": count for name, count in (trains() - before).items()})
    seconds = found["guest ms"] / 1000
    for name, count in sorted(found.items()):
        print(f"# {count} {name}")
    wrong = reload_module("tcp_vptfrc" if arguments.rate else "tcp_pktpair")
    log.read()
    leaked = checks.leaks() if checks.LEAKS.exists() else []
    log.read()
    part_only = bool(arguments.only) or arguments.plan is not None
    rare = [] if part_only else too_rare(found, *((RATE, RATE_REACHED) if arguments.rate else (PRESETS, REACHED)))
    enough = found["connections"] >= CONNECTIONS_PER_S * seconds
    told = [
        (f"{found['connections']} connections in {seconds:.0f} s", enough or part_only, []),
        ("states and events were met often enough", not rare, rare),
        ("the module unloads", not wrong, wrong),
        ("the kernel's checks have nothing to report", not log.complaints, log.complaints),
    ]
    # Whether a kernel looks for it is up to its configuration. One that does takes several times as
    # long for a packet, cannot keep up with the bottlenecks here, and hands over ACKs in heaps: what
    # leaves then is its CPU's doing and is not judged.
    if checks.LEAKS.exists():
        told.append(("no memory has leaked", not leaked, leaked))
        print(f"# {len(broken)} bounds that only a kernel without checkers can keep")
    else:
        told.append(("what a peer does has bounds, and passes", not broken, broken))
        judged = found["connections"] - found["not judged"]
        part = f"{judged} of {found['connections']} connections had a far end that was in time"
        told.append((part, judged >= JUDGED_PART * found["connections"], []))
    print(f"1..{len(told)}")
    for number, (text, good, details) in enumerate(told, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {arguments.name}: {text}")
        for line in details[:120]:
            print(f"# {line}")
    return 0 if all(good for _, good, _ in told) else 1


if __name__ == "__main__":
    sys.exit(main())
