# SPDX-License-Identifier: GPL-2.0
"""Benchmark 1 (packet-pair-1994, 9.4.1): ten cross streams come up one round trip apart."""

from lab import transfers
from lab.scenario import Values
from lab.transfers import Row, Transfer, TransferPlan

CLAIM = "2 MB while ten files of 500 kB start 44 ms apart: 1.444 s at best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": transfers.HOSTS}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> TransferPlan:
    """Every flow between its own hosts."""
    flows = (
        Transfer("primary", "s1", "d1", transfers.FILE_PACKETS),
        *transfers.cross_traffic(transfers.CROSS_SPACING_S),
    )
    return TransferPlan(
        "b1",
        cc,
        qdisc,
        values["hosts"],
        seed,
        flows,
        (Row("", "primary", 1.444, 0.091),),
        delays_ms=transfers.way_back(flows),
    )
