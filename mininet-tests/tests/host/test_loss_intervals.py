# SPDX-License-Identifier: GPL-2.0
"""How much a flow's rate varies: what it sends is judged, and not what is acknowledged in order."""

import pytest
from lab.analyse import loss_intervals
from lab.model.flows import dumbbell
from lab.model.plan import Flow, Plan

RATE_BYTES_S, SECONDS = 10_000, 20
PLAN = Plan(
    dumbbell("lossy", 1_000_000, [100.0], 0),
    (Flow("f0", source="s1", sink="d1", cc="reno", seconds=SECONDS),),
    settle_s=2.0,
)


def trace(stall_s=0, name="sent"):
    """Ten ACKs a second of a steady sender; once what is missing holds up the ACKs of some seconds."""
    port, lines = PLAN.port(PLAN.flows[0]), []
    for tenth in range(10 * SECONDS + 1):
        sent = tenth * RATE_BYTES_S // 10
        is_held = 50 <= tenth < 50 + 10 * stall_s
        acked = 5 * RATE_BYTES_S if is_held else sent
        fields = f"sport={port} rtt_us=100000 acked={acked} delivered={sent // 1000} retrans=0 cwnd=10 {name}={sent}"
        lines.append(f"  <idle>-0 [000] ..s1. {100 + tenth / 10:.6f}: ack: (tcp_rate_gen+0x0/0x1) {fields}")
    return {"trace": "\n".join(lines), "begin_s": 100.0}


@pytest.mark.parametrize("stall_s", [0, 3])
def test_a_steady_sender_is_steady(stall_s):
    assert loss_intervals.of_rates(PLAN, trace(stall_s), PLAN.flows) < 0.02


def test_a_trace_that_does_not_tell():
    assert loss_intervals.of_rates(PLAN, trace(name="packets_out"), PLAN.flows) is None
