# SPDX-License-Identifier: GPL-2.0
"""Figures are computed as they are defined."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lab import btf, demo, links, measure, runner, scenario, transfers, vm
from lab.scenario import Check, Flow, Plan

RATE = 12_000_000  # a full packet is a millisecond


def plan(flows: int = 1, seconds: float = 4.0) -> Plan:
    return Plan(
        cc="cubic",
        qdisc="pfifo",
        rate_bit_s=RATE,
        delays_ms=(10.0,) * flows,
        limit_packets=10,
        flows=tuple(
            Flow(f"f{i}", i, "cubic", 0.0, seconds=seconds, port=scenario.FIRST_PORT + i) for i in range(1, flows + 1)
        ),
        settle_s=1,
    )


def ack(time_s: float, port: int, rtt_us: int, packets: int, retrans: int = 0) -> str:
    return (
        f" <idle>-0 [000] ..s2. {time_s:.6f}: ack: (tcp_rate_gen+0x0/0x170) sport={port} rtt_us={rtt_us}"
        f" acked={packets * 1448 + 1} delivered={packets} retrans={retrans} cwnd=10 packets_out=4"
    )


def raw(trace: list[str], plan: Plan, **more: Any) -> dict[str, Any]:
    reports = [{"name": flow.name, "report": {}, "error": None} for flow in plan.flows]
    return {"trace": "\n".join(trace), "begin_s": 100.0, "reports": reports, "qdiscs": {}, **more}


def full_link(share: int = 1, of: int = 1, delay_us: int = 3000) -> list[str]:
    """Acknowledgements of a flow that has 1/of of the link, one per packet."""
    times = np.arange(0.010 * of, 5.0, 0.001 * of)
    return [ack(100 + t, scenario.FIRST_PORT + share, 10_000 + delay_us, n + 1) for n, t in enumerate(times)]


def test_full_link() -> None:
    """A flow with a packet every packet time uses all of the link."""
    acks = measure.acks_of_flows("\n".join(full_link()), 100.0)
    metrics = measure.window_figures(plan(), acks)
    assert metrics["window_s"] == [1, 4]
    assert metrics["utilisation"] == pytest.approx(1, abs=0.001)
    assert metrics["window_goodput_bit_s"][0] == pytest.approx(RATE * 1448 / 1500, rel=0.001)
    assert metrics["queue_delay_p50_s"] == pytest.approx(0.003)
    assert metrics["queue_delay_p99_s"] == pytest.approx(0.003)


def test_shares() -> None:
    """Two flows with half and a quarter of the link: utilisation, Jain index and goodput."""
    acks = measure.acks_of_flows("\n".join(full_link(1, 2) + full_link(2, 4)), 100.0)
    metrics = measure.window_figures(plan(2), acks)
    assert metrics["utilisation"] == pytest.approx(0.75, abs=0.002)
    assert metrics["jain"] == pytest.approx(0.9, abs=0.002)  # (2 + 1)^2 / (2 (4 + 1))


def test_flow_figures() -> None:
    """A flow's bytes, start, completion and retransmissions come from its acknowledgements."""
    lines = [ack(100.0, 10001, -1, 0), ack(100.510, 10001, 10_000, 1), ack(101.510, 10001, 30_000, 101, 7)]
    (flow,) = measure.flow_figures(plan(), raw(lines, plan()), measure.acks_of_flows("\n".join(lines), 100.0))
    assert flow["bytes"] == 101 * 1448
    assert flow["start_s"] == pytest.approx(0.5)
    assert flow["completion_s"] == pytest.approx(1.01)
    assert flow["goodput_bit_s"] == pytest.approx(101 * 1448 * 8 / 1.01, abs=1)
    assert flow["retransmits"] == 7
    assert flow["rtt_s"]["min"] == 0.01


def test_silent_flow() -> None:
    """A flow of which nothing was acknowledged is an error, not a zero."""
    with pytest.raises(measure.RunError, match="flow f1: nothing was acknowledged"):
        measure.flow_figures(plan(), raw([], plan()), {})


def test_silent_window() -> None:
    """So is a window without an acknowledgement."""
    early = [line for line in full_link() if float(line.split()[3][:-1]) < 101]
    with pytest.raises(measure.RunError, match=r"nothing was acknowledged from 1\.000 to 4\.000 s"):
        measure.window_figures(plan(), measure.acks_of_flows("\n".join(early), 100.0))


@pytest.mark.parametrize("reason", [measure.RunError("nothing came"), IndexError("nothing came")])
def test_a_run_without_figures_is_reported_as_one(monkeypatch: pytest.MonkeyPatch, reason: Exception) -> None:
    """The run fails and says why; whoever runs several keeps the others."""

    def nothing(*_: object) -> None:
        raise reason

    monkeypatch.setattr(runner, "fill_in", nothing)
    monkeypatch.setattr(runner, "module_versions", lambda _: {})
    smoke = scenario.load("smoke")
    job = runner.Job(smoke, "cubic", "pfifo", 1, {}, plan())
    guest: Any = SimpleNamespace(kernel="6.1", clock="virtual")
    run = runner.figures(job, guest, {"error": None, "warnings": []})
    assert "nothing came" in run["error"]
    assert not run["pass"]


def test_netem_drop() -> None:
    """A delay line that dropped a packet makes the run an error."""
    entry = {"kind": "netem", "dev": "d1-x", "drops": 1, "root": True}
    with pytest.raises(measure.RunError, match="netem on d1-x dropped 1 packets"):
        measure.qdisc_figures({"qdiscs": {"d1": [entry]}})
    assert measure.qdisc_figures({"qdiscs": {"d1": [{**entry, "drops": 0}]}})[0]["kind"] == "netem"


def test_drops_counted_once() -> None:
    """Drops are the leaf's, since its parent counts them too."""
    tbf = {"node": "r", "parent": "root", "statistics": {"drops": 5}}
    leaf = {"node": "r", "parent": "1:1", "statistics": {"drops": 5}}
    assert measure.bottleneck_drops([tbf, leaf]) == 5
    assert measure.bottleneck_drops([tbf]) == 5


@pytest.mark.parametrize(
    ("op", "expected", "measured", "good"),
    [
        (">=", 0.97, 0.97, True),
        (">=", 0.97, 0.96, False),
        ("<=", 3, 4, False),
        ("==", 0, 0, True),
        ("in", [0.99, 1.01], 1.01, True),
        ("in", [0.99, 1.01], 1.02, False),
        (">=", 1, None, False),
    ],
)
def test_judge(op: str, expected: Any, measured: Any, good: bool) -> None:
    """A check compares, and fails where there is nothing to compare."""
    metrics = {} if measured is None else {"x": measured}
    (verdict,) = measure.judge([Check("x", op, expected)], metrics)
    assert verdict == {"quantity": "x", "op": op, "expected": expected, "measured": measured, "pass": good}


@pytest.mark.parametrize("qdisc", links.QDISCS)
def test_no_burst(qdisc: str) -> None:
    """No bottleneck lets two packets go at once."""
    (first, *others) = links.bottleneck("r-x", qdisc, RATE, 100, 1500, 1)
    assert f"{RATE}bit" in first
    if "tbf" in first:
        words = first.split()
        burst = int(words[words.index("burst") + 1])
        assert 1514 <= burst < 2 * 1500
        assert qdisc in others[0]
    else:
        assert not others


@pytest.mark.parametrize("name", scenario.names())
def test_scenario(name: str) -> None:
    """A scenario has a one-line claim, valid defaults, and a plan that starts its flows in time."""
    loaded = scenario.load(name)
    assert loaded.claim and "\n" not in loaded.claim
    for key, parameter in loaded.parameters.items():
        assert parameter.parse(key, str(parameter.default)) == parameter.default
        assert parameter.meaning
    for values in loaded.all_values([]):
        for cc, qdisc in loaded.combinations:
            planned = loaded.plan(values, cc, qdisc, 1)
            if isinstance(planned, transfers.TransferPlan):
                assert planned.rows and planned.references_s().keys() >= {row.transfer for row in planned.rows}
                continue
            senders = [*planned.flows, *planned.sources]
            # some that stay and some that end by bytes have no window in common
            mixed = len({bool(flow.bytes) for flow in planned.flows}) == 2
            assert planned.window_s is not None or (planned.sources and not planned.flows) or mixed
            assert len({sender.port for sender in senders}) == len(senders)
            assert all(1 <= sender.pair <= len(planned.delays_ms) for sender in senders)


def test_burst_too_large() -> None:
    """A source whose burst the kernel would not take is refused when it is planned."""
    scenario.Source("b", 1, 0, 1, 1, 1500, 10001, burst=44)
    with pytest.raises(vm.LabError, match="burst of 45 packets is 66240 bytes, more than 65507"):
        scenario.Source("b", 1, 0, 1, 1, 1500, 10001, burst=45)


def test_pacing_gaps() -> None:
    """From a trace: gaps while packets wait, the mean backlog in each, and the integral of the rule."""
    trace = "\n".join(
        f" x-1 [000] ..... {moment:.6f}: fq_rr_{event}: sport=1 qlen={qlen}"
        for moment, event, qlen in (
            (1.0, "enqueue", 0),
            (1.0, "dequeue", 0),
            (1.001, "enqueue", 0),
            (1.003, "dequeue", 0),  # nothing waited when the gap began: not one of ours
            (1.003, "enqueue", 0),
            (1.003, "enqueue", 1),
            (1.004, "dequeue", 1),
            (1.005, "enqueue", 1),
            (1.006, "dequeue", 1),
        )
    )
    module = scenario.load("pacing-follows-the-backlog").module
    (gap,) = module.gaps({"trace": trace})
    assert gap.lasts_s == pytest.approx(0.002)
    assert gap.mean_packets == pytest.approx(1.5)
    # 1 ms with one packet waiting, 1 ms with two: 2.8 and 3.6 Mbit/s
    assert gap.rule_bits == pytest.approx(2800 + 3600)
    assert not gap.crosses


def test_seed() -> None:
    """A seed moves start times, and the same seed not."""
    loaded = scenario.load("demo-dumbbell")
    starts = [
        [flow.start_s for flow in loaded.plan(loaded.values([]), "bbr", "cake", seed).flows] for seed in (1, 1, 2)
    ]
    assert starts[0] == starts[1] != starts[2]


def test_offsets() -> None:
    """The kernel's type information is read, and a member that is not there is named."""
    types = btf.Btf.of_kernel(vm.uncompressed_image(vm.find_kernel(None)))
    assert types.offset("sock_common", "skc_num") == 14  # two addresses, a hash, a port
    assert types.offset("tcp_sock", "bytes_acked") % 8 == 0
    assert btf.ack_probe(types).startswith("p:lab/ack tcp_rate_gen sport=+14($arg1):u16")
    with pytest.raises(btf.BtfError, match="tcp_sock has no member bytes_akced"):
        types.offset("tcp_sock", "bytes_akced")


def demo_rows(**ours: float) -> list[dict[str, Any]]:
    good = {"utilisation": 0.99, "jain": 0.99, "retransmits": 0, "queue_delay_p99_s": 0.01}
    peer = {"cc": "bbr", "qdisc": "fq_codel", "retransmits": 0, "queue_delay_p99_s": 0.02}
    return [{"cc": "pktpair", "qdisc": "fq_rr", **good, **ours}, peer]


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        ({}, []),
        ({"utilisation": 0.96}, [0]),
        ({"jain": 0.97}, [1]),
        ({"retransmits": 1}, [2]),
        ({"queue_delay_p99_s": 0.03}, [3]),
    ],
)
def test_goals(ours: dict[str, float], missed: list[int]) -> None:
    """The demo says which goals are met and which are missed."""
    goals = demo.judge(demo_rows(**ours))
    assert [index for index, goal in enumerate(goals) if not goal["met"]] == missed
