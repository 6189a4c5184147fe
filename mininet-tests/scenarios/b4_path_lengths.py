# SPDX-License-Identifier: GPL-2.0
"""Benchmark 4 (packet-pair-1994, 9.4.4): a path of 44 ms beside one of 82 ms."""

from lab import transfers
from lab.scenario import Values
from lab.transfers import Row, Transfer, TransferPlan

CLAIM = "2 MB each over 44 and 82 ms beside benchmark 1's cross traffic: 1.844 and 1.882 s at best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": transfers.HOSTS}
LONG_ROUND_TRIP_MS = 82.0


def plan(values: Values, cc: str, qdisc: str, seed: int) -> TransferPlan:
    """Every flow between its own hosts."""
    flows = (
        Transfer("short", "s1", "d1", transfers.FILE_PACKETS),
        Transfer("long", "s12", "d12", transfers.FILE_PACKETS, round_trip_ms=LONG_ROUND_TRIP_MS),
        *transfers.cross_traffic(transfers.CROSS_SPACING_S),
    )
    return TransferPlan(
        "b4",
        cc,
        qdisc,
        values["hosts"],
        seed,
        flows,
        (Row("short", "short", 1.844, 0.014), Row("long", "long", 1.882, 0.059)),
        delays_ms=transfers.way_back(flows),
    )
