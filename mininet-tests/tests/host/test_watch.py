# SPDX-License-Identifier: GPL-2.0
"""scripts/pktpair-watch.bt says of trains what the module's enum says."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
HEADER = (TOP / "kmod" / "pair_probe.h").read_text()
TRACE = (TOP / "kmod" / "pktpair_trace.h").read_text()
WATCH = (TOP / "scripts" / "pktpair-watch.bt").read_text()


def enumerators(text: str) -> list[str]:
    """Names of enum pair_verdict, in order; none has a number of its own."""
    found = re.search(r"^enum pair_verdict \{(.*?)^\};", text, re.DOTALL | re.MULTILINE)
    assert found
    return [name.strip() for name in found.group(1).split(",") if name.strip()]


def test_the_verdicts_are_those_of_the_module() -> None:
    names = enumerators(HEADER)
    assert all(re.fullmatch(r"PAIR_[A-Z_]+", name) for name in names)
    assert enumerators(WATCH) == names


def test_every_verdict_is_shown_once_and_counted_anew() -> None:
    # of an open train there is no event
    names = [name for name in enumerators(HEADER) if name not in ("PAIR_OPEN", "PAIR_VERDICTS")]
    assert re.findall(r"PKTPAIR_VERDICT(?:_END)?\((PAIR_\w+), ", TRACE) == names
    flow = r"@trains\[args->netns, \$from, args->sport, \$to, args->dport,\s+"
    assert re.findall(r"delete\(" + flow + r"(\w+)\]\)", WATCH) == names
    assert re.findall(r"(?<!delete\()" + flow + r"(PAIR_\w+)\]", WATCH) == names


def test_flows_are_told_apart_by_namespace_and_both_addresses() -> None:
    keys = re.findall(r"@(?:trains|next)\[(.*?)\]", WATCH, re.DOTALL)
    assert keys
    for key in keys:
        assert key.startswith("args->netns, $from, args->sport, $to, args->dport"), key
