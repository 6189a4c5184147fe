# SPDX-License-Identifier: GPL-2.0
"""The cases for tdc, and fq_rr in the place of another child."""

import json
import marshal
from pathlib import Path

from lab.machines import image
from tc_testing import cases as tdc_cases
from tc_testing import drive, run_tdc

COMMON = {
    "id": "3a62",
    "name": "a case",
    "cmdUnderTest": "true",
    "verifyCmd": "$TC -s qdisc show dev $DUMMY",
    "teardown": [],
}


def setup_of(*commands: str | list[object]) -> list[object]:
    """The setup of a case after fq_rr has been put into it."""
    changed = tdc_cases.in_place({**COMMON, "setup": list(commands)})["setup"]
    assert isinstance(changed, list)
    return changed


def test_numbers(tmp_path: Path) -> None:
    """Each case has a number of its own; without a suite there are two files."""
    files = tdc_cases.write(tmp_path, None)
    assert [path.name for path in files] == ["options.json", "children.json"]
    numbers = [one["id"] for path in files for one in json.loads(path.read_text())]
    assert len(numbers) == len(set(numbers)) > 60


def test_child_replaced() -> None:
    """A queue below a parent becomes fq_rr with its limit, also where its failure is expected."""
    add = "$TC qdisc replace dev $DUMMY handle 2: parent 1:1"
    assert setup_of(f"{add} codel limit 1000 ecn", ["ping x", 1]) == [f"{add} fq_rr limit 1000", ["ping x", 1]]
    dropping = "$TC qdisc add dev $DUMMY parent 1:10 handle 10:"
    assert setup_of(f"{dropping} fq_codel memory_limit 1 flows 1 target 0.1ms") == [
        f"{dropping} fq_rr rate 8kbit limit 1 flows 1"
    ]
    shown = tdc_cases.in_place({**COMMON, "setup": [], "verifyCmd": "$TC -s qdisc show | grep -A 5 'qdisc fq_codel'"})
    assert shown["verifyCmd"].endswith("'qdisc fq_rr'")


def test_child_added() -> None:
    """What has no child gets one: netem or tbf, with a handle if it had none, and a class; what has one keeps it."""
    netem = "$TC qdisc add dev $DUMMY parent 1:1 handle 2:0 netem duplicate 100%"
    assert setup_of(netem) == [netem, "$TC qdisc add dev $DUMMY parent 2:1 fq_rr"]
    nameless = setup_of("$TC qdisc add dev $DUMMY parent ffff:1 netem delay 1s")
    assert nameless[1] == f"$TC qdisc add dev $DUMMY parent {tdc_cases.NAMELESS}:1 fq_rr"
    bucket = "$TC qdisc add dev $DUMMY parent 1:2 handle 20: tbf rate 8bit burst 100b latency 1s"
    assert setup_of(bucket)[1] == "$TC qdisc add dev $DUMMY parent 20:1 fq_rr"
    below = "$TC qdisc add dev $DUMMY parent 20: handle 3: drr"
    assert setup_of(bucket, below) == [bucket, below]
    group = "$TC class add dev $DUMMY parent 3: classid 3:1 drr"
    assert setup_of(group) == [group, "$TC qdisc add dev $DUMMY parent 3:1 fq_rr"]
    assert setup_of(group, "$TC qdisc add dev $DUMMY parent 3:1 handle 4: drr") == [
        group,
        "$TC qdisc add dev $DUMMY parent 3:1 handle 4: drr",
    ]


def test_counted_once_taken_in() -> None:
    """A child that drops what it has taken in counts it as dropped; fq_rr sends it, and all above count that."""
    shown = [
        {"kind": "qfq", "handle": "1:", "packets": 4, "drops": 2},
        {"kind": "dualpi2", "handle": "10:", "packets": 2, "drops": 2},
        {"kind": "plug", "handle": "2:", "packets": 2, "drops": 0},
        {"class": "ets", "handle": "1:1"},
    ]
    changed = tdc_cases.in_place({**COMMON, "setup": [], "matchJSON": shown})["matchJSON"]
    assert changed == [
        {"kind": "qfq", "handle": "1:", "packets": 6, "drops": 0},
        {"kind": "fq_rr", "handle": "10:", "packets": 4, "drops": 0},
        *shown[2:],
    ]


def test_device_with_queues() -> None:
    """Where a case wants a simulated device of four queues, it gets a dummy one, and removes it."""
    changed = tdc_cases.in_place(
        {
            **COMMON,
            "setup": ['echo "1 1 4" > /sys/bus/netdevsim/new_device'],
            "teardown": ["true", 'echo "1" > /sys/bus/netdevsim/del_device'],
        }
    )
    assert changed["setup"] == ["$IP link add dev $ETH numtxqueues 4 type dummy"]
    assert changed["teardown"] == ["true", "$IP link del dev $ETH"]


def test_classes_as_text() -> None:
    """What tc's JSON cannot say of classes before 6.2 is looked for in its text; and none is none."""
    question = "$TC -j -s class show dev $DUMMY"
    shown = [{"class": "ets", "handle": "1:1", "stats": {"bytes": 196, "packets": 2}}]
    changed = tdc_cases.in_place({**COMMON, "setup": [], "verifyCmd": question, "matchJSON": shown})
    assert "matchJSON" not in changed
    assert changed["verifyCmd"] == "$TC -s class show dev $DUMMY"
    assert (changed["matchPattern"], changed["matchCount"]) == ("class ets 1:1 .*Sent 196 bytes 2 pkt", "1")
    none = tdc_cases.in_place({**COMMON, "setup": [], "verifyCmd": question, "matchJSON": []})
    assert (none["matchPattern"], none["matchCount"]) == ("class ", "0")


def test_packets_at_once() -> None:
    """Where a child drops every packet, four come at once, so that fq_rr's queue stands."""
    dropping = "$TC qdisc add dev $DUMMY parent 1:10 handle 10: fq_codel memory_limit 1 flows 1"
    scapy = {"iface": "$DEV0", "count": 5, "packet": "Ether()/IP()"}
    changed = tdc_cases.in_place({**COMMON, "setup": [dropping], "scapy": scapy})
    assert changed["scapy"] == {**scapy, "packet": "[Ether()/IP()/Raw(b'x' * 1400)] * 4"}
    assert tdc_cases.in_place({**COMMON, "setup": [], "scapy": scapy})["scapy"] == scapy


def test_qdiscs_as_text() -> None:
    """So too what tc's JSON cannot say of some qdiscs."""
    shown = [{"kind": "multiq", "handle": "2:", "bytes": 98, "packets": 1, "backlog": 0, "qlen": 0}]
    question = {"verifyCmd": "$TC -s -j qdisc ls dev $ETH parent 1:", "matchJSON": shown}
    changed = tdc_cases.in_place({**COMMON, "setup": [], **question})
    assert "matchJSON" not in changed
    assert changed["verifyCmd"] == "$TC -s qdisc ls dev $ETH parent 1:"
    assert changed["matchPattern"] == "qdisc multiq 2: .*Sent 98 bytes 1 pkt.*backlog 0b 0p"


GOOD = drive.Outcome(True)
MISMATCH = drive.Outcome(False, ["", "1..1", "not ok 1 3a62", "None", "Value doesn't match"])
PANIC = drive.Outcome(False, ["kernel ended", "BUG"])


def verdicts(mine: drive.Outcome, own: drive.Outcome | None) -> list[tuple[str, str]]:
    """Of one of our cases, which passes, and one of the family's, with fq_rr and with its own child."""
    cases: dict[str, list[tdc_cases.Case]] = {
        "options": [{"id": "rr100", "name": "ours"}],
        "children": [],
        "in_place": [{"id": "rr300", "name": "mine"}],
        "own_child": [{"id": "3a62", "name": "own"}],
    }
    others = {"3a62": own} if own else {}
    judged = drive.judge(cases, {"rr100": GOOD, "rr300": mine}, others)
    return [(verdict, " ".join(said)) for verdict, _, said in judged]


def test_whose_fault() -> None:
    """A case that fails is skipped only where it fails with its own child as well, and no less gravely."""
    assert verdicts(GOOD, None) == [("ok", ""), ("ok", "")]
    assert verdicts(MISMATCH, None)[1][0] == "not ok"
    assert verdicts(MISMATCH, GOOD)[1][0] == "not ok"
    assert verdicts(MISMATCH, MISMATCH)[1] == ("skip", "with its own child too: Value doesn't match")
    assert verdicts(MISMATCH, PANIC)[1] == ("skip", "with its own child too: kernel ended")
    assert verdicts(PANIC, PANIC)[1][0] == "skip"
    assert verdicts(PANIC, MISMATCH)[1][0] == "not ok"


def test_kernel_complaints() -> None:
    """A remark of the kernel's is none; of a warning only what 6.1 says of any child with a shaper is left out."""
    said = ["HTB: quantum of class 10010 is small.", "------------[ cut here ]------------"]
    warning = "WARNING: CPU: 0 PID: 152 at net/sched/sch_qfq.c:1023 qfq_dequeue+0x395/0x3b0 [sch_qfq]"
    assert run_tdc.complaints(said[:1]) == []
    assert run_tdc.complaints([*said, warning]) == [f"kernel says: {line}" for line in (said[1], warning)]
    assert run_tdc.complaints([*said, "qfq_dequeue: non-workconserving leaf", warning]) == []
    assert run_tdc.complaints(["BUG: kernel NULL pointer dereference"]) != []


def test_stable_kernels() -> None:
    """In those the second netem that duplicates comes when the class of the first has gone."""
    setup = [
        "$TC qdisc add dev $DUMMY parent 1:1 handle 2:0 netem duplicate 100%",
        "$TC qdisc add dev $DUMMY parent 1:2 handle 3:0 netem duplicate 100%",
        "$TC class del dev $DUMMY classid 1:1",
    ]
    children = ["$TC qdisc add dev $DUMMY parent 2:1 fq_rr", "$TC qdisc add dev $DUMMY parent 3:1 fq_rr"]
    assert setup_of(*setup) == [setup[0], children[0], setup[1], children[1], setup[2]]
    stable = tdc_cases.in_place({**COMMON, "setup": setup}, stable=True)["setup"]
    assert stable == [setup[0], children[0], setup[2], setup[1], children[1]]


def test_own_child() -> None:
    """With its own child a case differs only in what the lab and its tc do not have."""
    setup = ["$TC qdisc add dev $DUMMY parent 2: netem delay 5000000000", "$TC qdisc add dev $DUMMY root codel"]
    changed = tdc_cases.own_child({**COMMON, "setup": setup, "scapy": {"packet": "Ether()"}})
    assert changed["setup"] == ["$TC qdisc add dev $DUMMY parent 2: netem delay 270s", setup[1]]
    assert {**changed, "setup": setup} == {**COMMON, "setup": setup, "scapy": {"packet": "Ether()"}}


def test_the_guest_has_the_suite_and_what_it_imports(tmp_path: Path) -> None:
    """Of a made-up suite, which has Debian's packages too: sources, their byte code, libraries of what is neither."""
    suite = tmp_path / "suite"
    empty = ("plugins/one.py", "scapy/all.py")
    made_up = {"tdc.py": "import _ctypes\n", "pyroute2.py": "IPRoute = netns = 0\n", **dict.fromkeys(empty, "")}
    for name, text in made_up.items():
        (suite / name).parent.mkdir(parents=True, exist_ok=True)
        (suite / name).write_text(text)
    one = {**COMMON, "setup": []}
    with drive.TdcGuest("default", suite, [one]) as guest:
        files = guest.more_files()
        missing = [path for path in files.values() if not path.exists()]
        assert not missing
        assert json.loads(files[drive.CASES].read_text()) == [one]
        assert {f"{drive.SUITE}/{name}": suite / name for name in made_up}.items() <= files.items()
        source = Path(run_tdc.__file__)
        inside = Path(image.inside(str(source)))
        major, minor = image.python_version()
        code = files[f"{inside.parent}/__pycache__/{inside.stem}.cpython-{major}{minor}.pyc"].read_bytes()
        # behind the header
        assert marshal.loads(code[16:]).co_filename == str(inside)
        assert files[str(inside)] == source
        (library,) = [path for path in files.values() if path.name.startswith("_ctypes.")]
        assert set(map(Path, image.libraries(str(library)))) <= set(files.values())
