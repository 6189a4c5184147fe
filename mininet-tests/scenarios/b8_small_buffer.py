# SPDX-License-Identifier: GPL-2.0
"""Benchmark 8 (packet-pair-1994, 9.4.8): benchmark 1 with a tenth of the buffer."""

from lab import transfers
from lab.scenario import Values
from lab.transfers import Row, Transfer, TransferPlan

CLAIM = "benchmark 1 with 44 packets of buffer for eleven flows: 1.444 s at best"
COMBINATIONS = [("pktpair", "fq_rr")]
PARAMETERS = {"hosts": transfers.HOSTS}


def plan(values: Values, cc: str, qdisc: str, seed: int) -> TransferPlan:
    """Every flow between its own hosts."""
    flows = (
        Transfer("primary", "s1", "d1", transfers.FILE_PACKETS),
        *transfers.cross_traffic(transfers.CROSS_SPACING_S),
    )
    return TransferPlan(
        "b8",
        cc,
        qdisc,
        values["hosts"],
        seed,
        flows,
        (Row("", "primary", 1.444, 0.1676),),
        delays_ms=transfers.way_back(flows),
        limit_packets=transfers.BUFFER_PACKETS // 10,
    )
