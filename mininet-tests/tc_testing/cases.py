# SPDX-License-Identifier: GPL-2.0
"""Cases of fq_rr for the kernel's own test driver of tc, tdc.

``PYTHONPATH=mininet-tests python3 -m tc_testing.cases FOLDER [SUITE]`` writes them as JSON, for ``tdc.py -f``:

options.json
    what can be asked for, is shown, and is refused.
children.json
    fq_rr below each classful qdisc: its longest queue is flushed and sent empty, its
    limit made smaller, it is deleted or replaced with packets in it.  What once went
    wrong with other children there (CVE-2025-37798 and its kin) was a parent whose
    count differed from its child's, so packets and bytes of all three levels are
    compared.
in_place.json
    of the suite's own family about children (``infra/qdiscs.json``, in kernels since
    6.15), every case with fq_rr in the child's place; absent where the suite has none.
own_child.json
    the same with the children that they have, to tell a kernel's fault from fq_rr's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

Case = dict[str, Any]

DEVICE = (
    "$IP link add dev $DUMMY type dummy || /bin/true",
    # below IPv6's least, whose own packets would be counted; the bucket holds 200 bytes
    "$IP link set dev $DUMMY mtu 186 up",
    "$IP addr add 10.10.10.10/24 dev $DUMMY",
)
SHOW = "$TC qdisc show dev $DUMMY"
EMPTY = "backlog 0b 0p"
COUNT = "$TC -s qdisc show dev $DUMMY"
ADD = "$TC qdisc add dev $DUMMY"
# The link at the root sends one of these packets in 12 s, so that they wait while tc looks.
LINK = "tbf rate 64bit burst 200b limit 100000"
PING_BYTES = 98
FLOOD = "ping -c 20 -f -W 0.1 -I $DUMMY 10.10.10.1 > /dev/null || true"
PING = "ping -c 1 -W 0.5 -I $DUMMY 10.10.10.1 > /dev/null || true"
# until everything has been sent
DRAINED = "sleep 300"

DEFAULTS = (
    "limit auto memory-limit auto flows 1024 quantum auto rate unlimited overhead 0 mpu 0 scheduler drr"
    " drop longest-queue split-gso seed random"
)
# what is typed, and how tc shows it
OPTIONS = {
    "limit 440": "limit 440 ",
    "memory-limit 4m": "memory-limit 4Mb ",
    "flows 65536": "flows 65536 ",
    "quantum 3028": "quantum 3028b ",
    "rate 40mbit overhead -14 mpu 64": "rate 40Mbit overhead -14 mpu 64 ",
    "scheduler strict": "scheduler strict ",
    "drop longest-head": "drop longest-head ",
    "drop longest-tail": "drop longest-tail ",
    "drop arriving": "drop arriving ",
    "no-split-gso": "no-split-gso ",
    "seed 7": "seed 7",
    "mode src-host": "mode src-host",
    "charge-drops": "charge-drops",
    "ecn 33": "ecn 33",
    "rate 40mbit catch-up 5ms": "catch-up 5ms ",
    "target 2ms interval 40ms ce-threshold 1ms noecn": "aqm target 2ms interval 40ms ce-threshold 1ms noecn",
    "no-aqm": "no-aqm ",
    "hosts src": "hosts src no-nat",
    "hosts dst": "hosts dst no-nat",
    "mode dst-host hosts both": "hosts both no-nat",
    "rate 15mbit qlbp mu-min 2mbit mu-max 10mbit q-max 10000b": "mu-min 2Mbit mu-max 10Mbit q-max 10000b",
}
# tc says so itself, and ends with 1; with 2 when the kernel does
REFUSED = {
    **dict.fromkeys(("limit 0", "flows 65537", "quantum 255", "ecn 101", "mpu 257", "drop nothing", "target 9"), 1),
    **dict.fromkeys(("interval 11s", "ce-threshold 9", "hosts dual", "nat no-nat", "noecn ecn"), 1),
    "target 101ms": 2,
    "interval 4ms": 2,
    "mode class hosts src": 2,
}


@dataclass(frozen=True)
class Parent:
    """A classful qdisc and the class that its child sits in."""

    words: str
    child: str
    of_class: str = ""
    filtered: bool = False

    @property
    def kind(self) -> str:
        """As tc calls it."""
        return self.words.split()[0]

    def commands(self, above: str) -> Iterator[str]:
        """Below ``above``, as 2:, with its class."""
        yield f"{ADD} {above} handle 2: {self.words}"
        if self.of_class:
            yield f"$TC class add dev $DUMMY parent 2: classid {self.child} {self.kind} {self.of_class}"
        if self.filtered:
            match = "u32 match ip protocol 1 0xff"
            yield f"$TC filter add dev $DUMMY parent 2: protocol ip prio 1 {match} flowid {self.child}"


PARENTS = (
    Parent("drr", "2:10", "quantum 1500", filtered=True),
    Parent("hfsc default 10", "2:10", "sc rate 1mbit ul rate 1mbit"),
    Parent("qfq", "2:10", "weight 1 maxpkt 2000", filtered=True),
    Parent("ets bands 2 strict 1", "2:1", filtered=True),
    Parent("htb default 10", "2:10", "rate 1mbit"),
    Parent("prio bands 3", "2:1", filtered=True),
    Parent("tbf rate 1mbit burst 2000 latency 1s", "2:1"),
    Parent("red limit 100000 min 30000 max 90000 avpkt 1000 burst 40 bandwidth 1mbit", "2:1"),
)
# Of which a parent once took one that sends to itself for two.
DUPLICATED = ("drr", "hfsc", "qfq", "ets")


def case(name: str, setup: list[str], command: str, verify: str, pattern: str, count: int = 1, status: int = 0) -> Case:
    """As tdc wants it, but for its number."""
    return {
        "name": name,
        "category": ["qdisc", "fq_rr"],
        "plugins": {"requires": "nsPlugin"},
        "setup": [*DEVICE, *setup],
        "cmdUnderTest": command,
        "expExitCode": str(status),
        "verifyCmd": verify,
        "matchPattern": pattern,
        "matchCount": str(count),
        "teardown": ["$IP link del dev $DUMMY type dummy"],
    }


def options() -> Iterator[Case]:
    """One qdisc at the root."""
    add = f"{ADD} handle 1: root fq_rr"
    change = "$TC qdisc change dev $DUMMY handle 1: root fq_rr"
    shown = "qdisc fq_rr 1: root refcnt [0-9]+ "
    yield case("Create fq_rr with its defaults", [], add, SHOW, shown + DEFAULTS)
    for words, pattern in OPTIONS.items():
        yield case(f"Create fq_rr with {words}", [], f"{add} {words}", SHOW, f"{shown}.*{pattern}")
    for words, status in REFUSED.items():
        yield case(f"Refuse fq_rr with {words}", [], f"{add} {words}", SHOW, "qdisc fq_rr", 0, status)
    yield case(
        "Change fq_rr: what is not named stays",
        [f"{add} limit 440 rate 40mbit"],
        f"{change} rate 30mbit",
        SHOW,
        f"{shown}limit 440 .*rate 30Mbit ",
    )
    yield case(
        "Refuse to change the flows of a live fq_rr, and all that came with it",
        [f"{add} flows 16"],
        f"{change} flows 32 limit 5",
        SHOW,
        f"{shown}limit auto .*flows 16 ",
        status=2,
    )
    yield case(
        "Refuse hosts to an fq_rr whose mode is class, and all that came with it",
        [f"{add} mode class"],
        f"{change} limit 5 hosts src",
        SHOW,
        f"{shown}limit auto .*mode class .*hosts none",
        status=2,
    )
    yield case(
        "Give a class of fq_rr a weight",
        [f"{add} flows 8"],
        "$TC class change dev $DUMMY classid 1:3 fq_rr weight 4",
        "$TC class show dev $DUMMY",
        "class fq_rr 1:3 .*weight 4",
    )
    replace = "$TC qdisc replace dev $DUMMY root handle 2: pfifo"
    yield case("Replace fq_rr by pfifo", [add], replace, SHOW, "qdisc pfifo 2: root")
    yield case("Delete fq_rr", [add], "$TC qdisc del dev $DUMMY handle 1: root", SHOW, "qdisc fq_rr", 0)


def below(parent: Parent, child: str) -> list[str]:
    """A slow link, the parent, the child as 10:."""
    return [
        f"{ADD} root handle 1: {LINK}",
        *parent.commands("parent 1:1"),
        f"{ADD} parent {parent.child} handle 10: {child}",
    ]


def counts(kind: str, handle: str, least: int, most: int, then: str = "") -> str:
    """Root and parent count the same: what the child has, and perhaps one that the root has peeked at.

    :param least: packets in the child, and ``most``; what else it shows is ``then``
    """

    def shown(packets: int) -> str:
        return f".*backlog {packets * PING_BYTES}b {packets}p"

    return "|".join(
        f"qdisc tbf 1: {shown(n + peeked)}.*qdisc {kind} 2: {shown(n + peeked)}.*qdisc fq_rr {handle} {shown(n)}{then}"
        for n in range(least, most + 1)
        for peeked in (0, 1)
    )


def children() -> Iterator[Case]:
    """fq_rr below each parent, which is below a slow link."""
    for parent in PARENTS:
        kind = parent.kind
        title = f"fq_rr under {kind}:"
        at = f"dev $DUMMY parent {parent.child}"
        flushed = [*below(parent, "fq_rr flows 1 limit 4 drop longest-queue"), FLOOD]
        full = [*below(parent, "fq_rr flows 1 limit 1000"), FLOOD]
        yield case(
            f"{title} the longest queue is flushed, and all above count the same",
            flushed,
            PING,
            COUNT,
            # none, if the guest's clock has jumped while the host read a file for it
            counts(kind, "10:", 0, 4, ".*flushes [1-9]"),
        )
        yield case(
            f"{title} when what was flushed has been sent, all are empty, and go on",
            [*flushed, DRAINED, PING, DRAINED],
            "true",
            COUNT,
            rf"qdisc tbf 1: .*Sent ([0-9]+ bytes [1-9][0-9]* pkt).*{EMPTY}.*qdisc {kind} 2: .*Sent \1.*{EMPTY}"
            rf".*qdisc fq_rr 10: .*Sent \1.*{EMPTY}.*flushes [1-9]",
        )
        yield case(
            f"{title} a smaller limit drops at once, and the parent hears of it",
            full,
            f"$TC qdisc change {at} handle 10: fq_rr limit 1",
            COUNT,
            counts(kind, "10:", 0, 1, ".*drops flushed [1-9]"),
        )
        yield case(
            f"{title} deleted with packets in it, it leaves none above",
            full,
            f"$TC qdisc del {at} handle 10:",
            COUNT,
            rf"qdisc tbf 1: .*backlog ([0-9]+b [01]p).*qdisc {kind} 2: .*backlog \1",
        )
        yield case(
            f"{title} in the place of a pfifo with packets in it",
            [*below(parent, "pfifo limit 1000"), FLOOD],
            f"$TC qdisc replace {at} handle 11: fq_rr limit 100",
            COUNT,
            counts(kind, "11:", 0, 0),
        )
        if kind in DUPLICATED:
            twice = [
                f"{ADD} parent {parent.child} handle 3: netem duplicate 100%",
                f"{ADD} parent 3:1 handle 10: fq_rr",
            ]
            yield case(
                f"{title} below a netem that duplicates, both packets come through",
                [*parent.commands("root"), *twice],
                PING,
                COUNT,
                rf"qdisc {kind} 2: .*Sent ([0-9]+ bytes 2 pkt).*qdisc fq_rr 10: .*Sent \1.*{EMPTY}",
            )


LEAVES = "codel|fq_codel|pie|fq_pie|fq|hhf|sfq|skbprio|blackhole|cake|dualpi2"
LEAF = re.compile(rf"(\$TC qdisc (?:add|replace|change) .*?\b)({LEAVES})\b(.*)")
# qdiscs with one class, n:1, and a plain queue in it
HOLDER = re.compile(r"\$TC qdisc add dev (\S+) (?:.*handle (\w+):\S* )?.*?(netem|tbf)\b.*")
NAMELESS = "fefe"
CLASS = re.compile(r"\$TC class (?:add|replace) dev (\S+) .*classid (\S+) .*")
# What drops every packet there: fq_rr never drops its last one, and the queue must stand. So
# four packets come at once, of a second and a half each.
DROPS_ALL = re.compile(r"mem(?:ory_)?limit [0-9] ?")
# A device of four queues, of which Debian's kernels have no simulated one.
SIMULATED = {
    'echo "1 1 4" > /sys/bus/netdevsim/new_device': "$IP link add dev $ETH numtxqueues 4 type dummy",
    'echo "1" > /sys/bus/netdevsim/del_device': "$IP link del dev $ETH",
}


def for_lab(text: str) -> str:
    """A command of the suite with what the lab has."""
    # about as long as tc 6.1 takes
    return SIMULATED.get(text, text).replace("netem delay 5000000000", "netem delay 270s")


def swap(text: str) -> str:
    """A command, or the pattern of what one shows, with fq_rr in the child's place."""
    text = for_lab(text)
    found = LEAF.fullmatch(text)
    if not found:
        return re.sub(rf"qdisc ({LEAVES})'", "qdisc fq_rr'", text)
    head, kind, tail = found.groups()
    if DROPS_ALL.search(tail) or kind == "skbprio":
        return f"{head}fq_rr rate 8kbit limit 1 flows 1"
    limit = re.search(r"limit [0-9]+", tail)
    return f"{head}fq_rr{' ' + limit[0] if limit and kind != 'sfq' else ''}"


def counted(shown: dict[str, Any]) -> dict[str, Any]:
    """What tc shall show of a qdisc: what a child dropped after it had taken it in, fq_rr sends."""
    changed = {**shown, "kind": "fq_rr"} if re.fullmatch(LEAVES, shown.get("kind", "")) else shown
    if shown.get("drops"):
        changed = {**changed, "packets": shown["packets"] + shown["drops"], "drops": 0}
    return changed


# whose JSON is none in tc 6.1
TEXT_ONLY = {"multiq", "taprio"}


def of_qdisc(command: str, shown: list[dict[str, Any]]) -> dict[str, str]:
    """What tc shall show of qdiscs, as text."""
    pattern = ".*".join(
        f"qdisc {one['kind']} {one['handle']} .*Sent {one['bytes']} bytes {one['packets']} pkt"
        f".*backlog {one['backlog']}b {one['qlen']}p"
        for one in shown
    )
    return {"verifyCmd": command.replace(" -j", ""), "matchPattern": pattern, "matchCount": "1"}


def of_class(command: str, shown: list[dict[str, Any]]) -> dict[str, str]:
    """What tc shall show of classes, as text: before 6.2 its JSON of them is none."""
    pattern = ".*".join(
        f"class {one['class']} {one['handle']} .*Sent {one['stats']['bytes']} bytes {one['stats']['packets']} pkt"
        for one in shown
    )
    return {
        "verifyCmd": command.replace(" -j", ""),
        "matchPattern": pattern or "class ",
        "matchCount": str(int(bool(shown))),
    }


def as_text(one: Case) -> Case:
    """What tc 6.1 shows: text where it has no JSON, and decimal where tc 6.7 has hexadecimal."""
    changed = dict(one)
    if " -j " in one["verifyCmd"] and " class " in one["verifyCmd"]:
        changed |= of_class(one["verifyCmd"], changed.pop("matchJSON"))
    elif any(shown.get("kind") in TEXT_ONLY for shown in one.get("matchJSON") or ()):
        changed |= of_qdisc(one["verifyCmd"], changed.pop("matchJSON"))
    elif "matchPattern" in one:
        changed["matchPattern"] = one["matchPattern"].replace("default 0x", "default (?:0x)?")
    return changed


def edited(entry: Any, edit: Callable[[str], str]) -> Any:
    """An entry of setup or teardown, which is a command or one with its statuses."""
    return edit(entry) if isinstance(entry, str) else [edit(entry[0]), *entry[1:]]


def own_child(one: Case) -> Case:
    """A case of the suite as it is, but for what the lab and its tc do not have."""
    return as_text(
        {
            **one,
            "setup": [edited(entry, for_lab) for entry in one["setup"]],
            "teardown": [edited(entry, for_lab) for entry in one["teardown"]],
        }
    )


def in_place(one: Case, stable: bool = False) -> Case:
    """A case of the suite with fq_rr for its child, and in classes, netems and tbfs that have none.

    :param stable: for a stable kernel.  Those refuse two netems that duplicate in one tree:
        the second is added when the class of the first has been deleted.
    """
    setup: list[Any] = []
    later: list[Any] = []
    duplicating = 0
    commands = [entry if isinstance(entry, str) else entry[0] for entry in one["setup"]]
    for entry, command in zip(one["setup"], commands, strict=True):
        changed = edited(entry, swap)
        holder = HOLDER.fullmatch(command)
        if holder and not holder[2]:
            named = f" handle {NAMELESS}: {holder[3]}"
            changed = edited(changed, methodcaller("replace", f" {holder[3]}", named))
        duplicating += "netem duplicate" in command
        place = later if stable and "netem duplicate" in command and duplicating > 1 else setup
        place.append(changed)
        handle = holder and (holder[2] or NAMELESS)
        if holder and not any(f"parent {handle}:" in other for other in commands):
            place.append(f"$TC qdisc add dev {holder[1]} parent {handle}:1 fq_rr")
        leaf = CLASS.fullmatch(command)
        if leaf and not any(f"parent {leaf[2]} " in other for other in commands):
            setup.append(f"$TC qdisc add dev {leaf[1]} parent {leaf[2]} fq_rr")
        if command.startswith("$TC class del "):
            setup += later
            later = []
    changed_case = {
        **one,
        "name": f"With fq_rr: {one['name']} ({one['id']})",
        "setup": setup + later,
        "cmdUnderTest": swap(one["cmdUnderTest"]),
        "verifyCmd": swap(one["verifyCmd"]),
        "teardown": [edited(entry, swap) for entry in one["teardown"]],
    }
    if one.get("matchJSON"):
        changed_case["matchJSON"] = [counted(shown) for shown in one["matchJSON"]]
    if "scapy" in one and any(DROPS_ALL.search(command) for command in commands):
        changed_case["scapy"] = {**one["scapy"], "packet": f"[{one['scapy']['packet']}/Raw(b'x' * 1400)] * 4"}
    return as_text(changed_case)


def family(suite: Path) -> list[Case]:
    """The suite's cases about children, as they are; none if it has none."""
    source = suite / "tc-tests" / "infra" / "qdiscs.json"
    return json.loads(source.read_text()) if source.exists() else []


def sets(suite: Path | None, stable: bool = False) -> dict[str, list[Case]]:
    """All cases by file; ours get numbers that the suite does not use.

    :param stable: see in_place()
    """
    theirs = family(suite) if suite else []
    ours = {
        "options": list(options()),
        "children": list(children()),
        "in_place": [in_place(one, stable) for one in theirs],
    }
    numbered = {
        name: [{**one, "id": f"rr{first}{index:02x}"} for index, one in enumerate(cases)]
        for first, (name, cases) in enumerate(ours.items(), 1)
    }
    return {**numbered, "own_child": [own_child(one) for one in theirs]}


def write(folder: Path, suite: Path | None) -> list[Path]:
    """All files that have cases."""
    written = []
    for name, cases in sets(suite).items():
        if cases:
            written.append(folder / f"{name}.json")
            written[-1].write_text(json.dumps(cases, indent=4) + "\n")
    return written


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("tc_testing.cases FOLDER [SUITE]: see its documentation")
    for path in write(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None):
        print(path)
