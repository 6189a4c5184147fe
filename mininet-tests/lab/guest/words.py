# SPDX-License-Identifier: GPL-2.0
"""What the traffic engine (``traffic.c``) is told of a flow, wherever its two ends are."""

from __future__ import annotations

from typing import Any

from lab.model.plan import Flow, Plan

SECOND_NS = 1_000_000_000


def flow_words(plan: Plan, flow: Flow) -> dict[str, Any]:
    """All but where its ends are, and its files."""
    return {
        "name": flow.name,
        "port": plan.port(flow),
        "start_ns": round(flow.start_s * SECOND_NS),
        "bytes": flow.bytes,
        "seconds_ns": round(flow.seconds * SECOND_NS),
        "mss": flow.mss_bytes,
        "sndbuf": flow.window_bytes,
        "rcvbuf": flow.window_bytes,
        "write": flow.write_bytes or flow.bytes,
        "unsent": flow.unsent_bytes,
        "packets_ps": flow.packets_s,
        **({"write_least": flow.write_least_bytes, "draws": plan.hash_seed} if flow.write_least_bytes else {}),
        "write_gap_ns": round(flow.write_gap_s * SECOND_NS),
        "until_ns": round(flow.until_s * SECOND_NS),
        "connect": flow.connects,
        **({"cc": flow.cc} if flow.cc else {}),
    }


def flow_files(flow: Flow) -> dict[str, str]:
    """What does not fit into its line, by the word that names the file: its exchanges, the times of its writes."""
    exchanges = (
        f"{one.request_bytes} {one.response_bytes} {round(one.think_s * SECOND_NS)}\n" for one in flow.exchanges
    )
    writes = (f"{round(at_s * SECOND_NS)}\n" for at_s in flow.writes_s)
    return {
        name: text for name, lines in {"exchanges": exchanges, "writes": writes}.items() if (text := "".join(lines))
    }


def flow_line(words: dict[str, Any]) -> str:
    """A line of the engine's plan."""
    return "flow " + " ".join(f"{name}={value}" for name, value in words.items())
