# SPDX-License-Identifier: GPL-2.0
"""The cases for tdc, and fq_rr in the place of another child."""

import json
import sys
from pathlib import Path

from conftest import TOP

sys.path.insert(0, str(TOP / "tc-plugin" / "tests"))

import tdc_cases

COMMON = {"name": "a case", "cmdUnderTest": "true", "verifyCmd": "$TC -s qdisc show dev $DUMMY"}


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
    """What has no child gets one: netem, with a handle if it had none, and a class; what has one keeps it."""
    netem = "$TC qdisc add dev $DUMMY parent 1:1 handle 2:0 netem duplicate 100%"
    assert setup_of(netem) == [netem, "$TC qdisc add dev $DUMMY parent 2:1 fq_rr"]
    nameless = setup_of("$TC qdisc add dev $DUMMY parent ffff:1 netem delay 1s")
    assert nameless[1] == f"$TC qdisc add dev $DUMMY parent {tdc_cases.NAMELESS}:1 fq_rr"
    group = "$TC class add dev $DUMMY parent 3: classid 3:1 drr"
    assert setup_of(group) == [group, "$TC qdisc add dev $DUMMY parent 3:1 fq_rr"]
    assert setup_of(group, "$TC qdisc add dev $DUMMY parent 3:1 handle 4: drr") == [
        group,
        "$TC qdisc add dev $DUMMY parent 3:1 handle 4: drr",
    ]
