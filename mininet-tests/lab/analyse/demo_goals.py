# SPDX-License-Identifier: GPL-2.0
"""What pktpair over fq_rr is to reach in the demo, as far as the combinations that were run allow to judge it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.our_modules import PACKET_PAIR_OVER_ROUND_ROBIN

UTILISATION = 0.97
JAIN = 0.98
PEER = ("bbr", "fq_codel")

Row = dict[str, Any]


def judge(rows: Sequence[Row], combinations: Sequence[tuple[str, str]]) -> tuple[list[Row], list[str]]:
    """Each goal with its verdict, and such as need a combination that was not run.

    :param rows: of summary.json
    :param combinations: of the whole demo
    """
    by_name = {(row["cc"], row["qdisc"]): row for row in rows}
    missing = [pair for pair in combinations if pair not in by_name]
    texts = {
        "utilisation": f"link used at least {UTILISATION * 100:.0f} %",
        "jain": f"Jain index at least {JAIN}",
        "retransmits": "no more retransmissions than any other combination",
        "delay": "p99 queue delay no more than BBR over fq_codel",
    }
    needed = {
        "utilisation": [PACKET_PAIR_OVER_ROUND_ROBIN],
        "jain": [PACKET_PAIR_OVER_ROUND_ROBIN],
        "retransmits": list(combinations),
        "delay": [PACKET_PAIR_OVER_ROUND_ROBIN, PEER],
    }
    left_out = []
    for goal, text in texts.items():
        lacking = [" + ".join(pair) for pair in needed[goal] if pair in missing]
        if lacking:
            left_out.append(f"{text} (needs {', '.join(lacking)})")
    found = []
    for goal, text in texts.items():
        if not any(pair in missing for pair in needed[goal]):
            met, measured = _verdict(goal, by_name)
            found.append({"met": met, "text": f"{text} ({measured})"})
    return found, left_out


def _verdict(goal: str, rows: dict[tuple[str, str], Row]) -> tuple[bool, str]:
    ours = rows[PACKET_PAIR_OVER_ROUND_ROBIN]
    if goal == "utilisation":
        return ours["utilisation"] >= UTILISATION, f"measured {ours['utilisation'] * 100:.2f} %"
    if goal == "jain":
        return ours["jain"] >= JAIN, f"measured {ours['jain']:.5f}"
    if goal == "retransmits":
        fewest = min(row["retransmits"] for row in rows.values() if row is not ours)
        return ours["retransmits"] <= fewest, f"measured {ours['retransmits']}, fewest {fewest}"
    peer = rows[PEER]["queue_delay_p99_s"]
    measured = ours["queue_delay_p99_s"]
    return measured <= peer, f"measured {measured * 1e3:.1f} ms, BBR {peer * 1e3:.1f} ms"
