# SPDX-License-Identifier: GPL-2.0
"""The scripts for bpftrace say what the modules' enums and trace events say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


FLOW = "args->netns, $from, args->sport, $to, args->dport"


def probe(event: str) -> str:
    """What the tool does at an event of the module."""
    (body,) = re.findall(rf"^tracepoint:pktpair:{event}\n\{{\n(.*?)^\}}", WATCH, re.DOTALL | re.MULTILINE)
    return body


def fields(event: str) -> set[str]:
    """Of an event, as the module's header declares them."""
    (declared,) = re.findall(rf"^TRACE_EVENT\({event},(.*?)TP_fast_assign", TRACE, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"__(?:field|array)\(\w+, (\w+)[,)]", declared))


@pytest.mark.parametrize("event", ["pktpair_sample", "pktpair_turns"])
def test_what_is_read_of_an_event_is_there(event: str) -> None:
    read = set(re.findall(r"args->(\w+)", probe(event)))
    assert {"netns", "saddr", "daddr", "sport", "dport"} < read <= fields(event)


def test_who_steers_is_what_the_newest_block_says() -> None:
    assert fields("pktpair_turns") > {"shared", "policed", "alarms"}
    kept = re.findall(rf"@(\w+)\[{re.escape(FLOW)}\] = args->(\w+);", probe("pktpair_turns"))
    assert kept == [(name, name) for name in ("shared", "policed", "alarms")]
    (shown,) = re.findall(r'printf\(" %s %3d %6d",(.*?)\);', probe("pktpair_sample"), re.DOTALL)
    assert re.findall(r"@(\w+)\[", shown) == ["shared", "policed", "alarms"]
    # CUBIC's window where the bottleneck does not serve in turn
    assert re.search(r'\? +"cubic" : " pair"', shown.replace("\n", " ").replace("\t", " "))


def test_each_column_has_a_head_of_its_width() -> None:
    heads = [text for text, _ in printed(WATCH[WATCH.index("BEGIN") : WATCH.index("tracepoint:")])]
    cells = [text for text, _ in printed(probe("pktpair_sample"))]
    # a number with decimals is one column
    joined = re.sub(r"%(\d+)d\.%0?(\d?)d", lambda found: f"%{int(found[1]) + 1 + int(found[2] or 1)}d", "".join(cells))
    # a goal has its sign apart, and who steers is padded by hand
    joined = joined.replace("%s%4d", "%5d").replace(" %s %3d %6d", " %5s %3d %6d")
    assert re.sub("d", "s", joined) == "".join(heads)


def test_names_of_columns() -> None:
    """The example has those that the tool prints, and they differ."""
    begun = WATCH[WATCH.index("BEGIN") : WATCH.index("tracepoint:")]
    names = [name for _, rest in printed(begun) for name in re.findall(r'"([^"]+)"', rest)]
    assert len(set(names)) == len(names)
    (example, row) = re.findall(r"^ \*\t +(\S.*::.*|time .*)$", WATCH, re.MULTILINE)
    assert example.split() == names
    assert len(row.split()) == len(names)


def printed(text: str) -> list[tuple[str, str]]:
    """Each format, without the end of the line, and what is printed by it."""
    return [
        (form.removesuffix("\\n"), rest)
        for form, rest in re.findall(r'printf\("((?:[^"\\]|\\.)*)",(.*?)\);', text, re.DOTALL)
    ]


def test_flows_are_told_apart_by_namespace_and_both_addresses() -> None:
    keys = re.findall(r"@(?!interval_ns)\w+\[(.*?)\]", WATCH, re.DOTALL)
    assert keys
    for key in keys:
        assert key.startswith(FLOW), key


def test_what_is_kept_of_flows_is_forgotten() -> None:
    """By flows that have ended, and at the end, where bpftrace would print it."""
    maps = set(re.findall(r"@(\w+)\[", WATCH))
    for block in ("interval:s:600", "END"):
        (body,) = re.findall(rf"^{block}\n\{{\n(.*?)^\}}", WATCH, re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"clear\(@(\w+)\)", body)) - {"interval_ns"} == maps


VPTFRC_TRACE = (TOP / "kmod" / "vptfrc_trace.h").read_text()
VPTFRC_WATCH = (TOP / "scripts" / "vptfrc-watch.bt").read_text()


@pytest.mark.parametrize(("enum", "names"), [("method", "METHODS"), ("mode", "MODES")])
def test_methods_and_modes_are_those_of_the_module(enum: str, names: str) -> None:
    header = (TOP / "kmod" / "tfrc_loss.h").read_text()
    (body,) = re.findall(rf"^enum tfrc_{enum} \{{(.*?)^\}};", header, re.DOTALL | re.MULTILINE)
    values = [name for name in re.findall(r"\bTFRC_\w+", body) if name != f"TFRC_{names}"]
    (listed,) = re.findall(rf"#define VPTFRC_{names}\s(.*?\))\n", VPTFRC_TRACE, re.DOTALL)
    rows = re.findall(r'\((TFRC_\w+), "([\w-]+)"\)', listed)
    assert [name for name, _ in rows] == values
    shown = re.findall(rf'@{enum}\[(\d+)\] = "([\w-]+)"', VPTFRC_WATCH)
    assert shown == [(str(number), word) for number, (_, word) in enumerate(rows)]


def test_what_is_read_of_a_rate_is_there() -> None:
    (declared,) = re.findall(r"^TRACE_EVENT\(vptfrc_rate,(.*?)TP_fast_assign", VPTFRC_TRACE, re.DOTALL | re.MULTILINE)
    there = set(re.findall(r"__(?:field|array)\(\w+, (\w+)[,)]", declared))
    read = set(re.findall(r"args->(\w+)", VPTFRC_WATCH))
    assert {"netns", "saddr", "daddr", "sport", "dport"} < read <= there


FQ_RR_TRACE = (TOP / "qdisc" / "fq_rr_trace.h").read_text()
FQ_RR_TOP = (TOP / "scripts" / "fq_rr-top.bt").read_text()


def test_what_is_read_of_a_departure_is_there() -> None:
    (declared,) = re.findall(r"^TRACE_EVENT\(fq_rr_dequeue,(.*?)TP_fast_assign", FQ_RR_TRACE, re.DOTALL | re.MULTILINE)
    there = set(re.findall(r"__(?:field|array)\(\w+, (\w+)[,)]", declared))
    read = set(re.findall(r"args->(\w+)", FQ_RR_TOP))
    assert {"saddr", "daddr", "sport", "dport", "drops", "marks", "delay_us"} < read <= there


def test_the_view_forgets_all_it_has_shown() -> None:
    maps = set(re.findall(r"@(\w+)(?:\[[^\]]*\])? = ", FQ_RR_TOP))
    for block in ("interval:s:2", "END"):
        (body,) = re.findall(rf"^{block}\n\{{\n(.*?)^\}}", FQ_RR_TOP, re.DOTALL | re.MULTILINE)
        assert maps - {"packets"} <= set(re.findall(r"clear\(@(\w+)\)", body))
