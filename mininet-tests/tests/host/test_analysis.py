# SPDX-License-Identifier: GPL-2.0
"""From what a guest recorded to figures and to what is drawn: iperf3's flows, sampled queues, series."""

import base64
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.analyse import figures
from lab.analyse.figures import QUEUE_SAMPLE, SAMPLE, backlog_figures, of_engine
from lab.analyse.series import series
from lab.model.errors import PlanError, RunError
from lab.model.plan import Flow, Plan, Record
from lab.model.scenario import Scenario, load
from lab.model.topology import Link, Topology, Way
from lab.show.runs import to_file

SHAPED = Way(rate_bit_s=10_000_000, queue="fq_rr", delay_ms=20.0)
CHAIN = Topology("chain", {"a": "host", "r": "router", "b": "host"}, (Link("a", "r"), Link("r", "b", SHAPED)))
BEGIN_S = 100.0


def a_plan(record: Record, traffic: str = "engine", **more: Any) -> Plan:
    return Plan(CHAIN, (Flow("one", "a", "b", "cubic", seconds=2.0),), record=record, traffic=traffic, **more)


def packed(records: list[tuple[int, ...]], kind: np.dtype[Any]) -> str:
    return base64.b64encode(zlib.compress(np.array(records, dtype=kind).tobytes())).decode()


def ack(time_s: float, acked: int, rtt_us: int, port: int = 10001) -> str:
    fields = f"sport={port} rtt_us={rtt_us} acked={acked} delivered={acked // 1000} retrans=3 cwnd=10 sent={acked}"
    return f"  <idle>-0 [000] ..s1. {BEGIN_S + time_s:.6f}: ack: (tcp_rate_gen+0x0/0x1) {fields}"


# The SYN's byte, and no round trip; payload from 0.06 s on; a last ACK that acknowledges nothing.
TRACE = "\n".join([ack(0.05, 1, -1), ack(0.06, 1001, 30_000), ack(1.06, 251_001, 45_000), ack(1.5, 251_001, 40_000)])
# A run without traffic.
IDLE: dict[str, Any] = {
    **{name: [] for name in ("missing_events", "commands", "flows", "warnings")},
    **{"error": None, "trace": "", "begin_s": 0.0, "qdiscs": {}},
}
REPORT = {"end": {"sender_tcp_congestion": "cubic"}}


def test_a_flow_of_iperf3s_is_what_its_acks_say() -> None:
    """It begins a round trip before its first payload is acknowledged, and ends with the last."""
    plan = a_plan(Record(), "iperf3")
    raw = {"trace": TRACE, "begin_s": BEGIN_S, "flows": [{"name": "one", "report": REPORT, "error": None}]}
    (flow,) = of_engine(plan, raw, figures.acks_of_flows(TRACE, BEGIN_S))["flows"]
    assert (flow["began_ns"], flow["ended_ns"]) == (30_000_000, 1_060_000_000)
    assert (flow["bytes_acked"], flow["retransmits"], flow["cc"]) == (251_000, 3, "cubic")


@pytest.mark.parametrize(
    ("trace", "error", "message"),
    [
        (TRACE, "unable to connect to server", "flow one: unable to connect"),
        ("", None, "flow one: nothing was acknowledged"),
        (ack(0.05, 1, 30_000), None, "flow one: nothing was acknowledged"),
    ],
)
def test_a_flow_of_iperf3s_that_failed(trace: str, error: str | None, message: str) -> None:
    """What iperf3 said, or that nothing arrived."""
    raw = {"trace": trace, "begin_s": BEGIN_S, "flows": [{"name": "one", "report": REPORT, "error": error}]}
    with pytest.raises(RunError, match=message):
        of_engine(a_plan(Record(), "iperf3"), raw, figures.acks_of_flows(trace, BEGIN_S))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 2.5}, "flow one: iperf3 takes whole seconds: seconds 2.5: must be a whole number"),
        ({"seconds": 90_000.0}, "flow one: iperf3: seconds 90000.0: must be at most 86400"),
        ({"seconds": 0.0, "bytes": 1000}, "flow one: iperf3 hangs up before the last of bytes 1000 have arrived"),
        (
            {"write_least_bytes": 50, "write_bytes": 90},
            "flow one: iperf3 draws no sizes: write_least_bytes 50: must be 0",
        ),
        ({"packets_s": 50}, "flow one: iperf3 asks for no rate before it writes: packets_s 50: must be 0"),
        ({"write_bytes": 2 << 20}, "flow one: iperf3: write_bytes 2097152: must be at most"),
        ({"window_bytes": 1 << 30}, "flow one: iperf3: window_bytes 1073741824: must be at most"),
    ],
)
def test_what_iperf3_cannot_carry(change: dict[str, Any], message: str) -> None:
    """Each is refused with the flow's name and the limit."""
    flow = Flow(**{"name": "one", "source": "a", "sink": "b", "seconds": 2.0, **change})
    with pytest.raises(PlanError, match=message):
        Plan(CHAIN, (flow,), traffic="iperf3").check()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (a_plan(Record(acks=False), "iperf3"), "record.acks must be True"),
        (a_plan(Record(sample_s=0.1), "iperf3"), "sample_s 0.1: must be 0"),
        (a_plan(Record(), "iperf3", ends_with_flows=True), "ends_with_flows: must be False"),
    ],
)
def test_what_iperf3_has_not(plan: Plan, message: str) -> None:
    """A plan that needs what only the lab's own engine does."""
    with pytest.raises(PlanError, match=message):
        plan.check()


def test_backlogs() -> None:
    """Of samples in the measured window only, by device."""
    plan = a_plan(Record(sample_s=0.5), settle_s=1.0)
    assert plan.sampled == ("r-b",)
    ticks = [(0, 90, 500_000_000, 90_000, 0), (0, 2, 1_000_000_000, 3028, 0), (0, 4, 1_500_000_000, 6056, 1)]
    found = backlog_figures(plan, {"queues": packed([*ticks, (0, 50, 2_000_000_000, 50_000, 1)], QUEUE_SAMPLE)})
    assert found["backlog_r-b_mean_packets"] == 3 and found["backlog_r-b_max_packets"] == 4
    assert found["backlog_r-b_p50_bytes"] == 4542


def test_observed_devices_are_sampled_instead() -> None:
    """Also one that has no rate; none where there is no interval."""
    assert a_plan(Record(sample_s=0.5), observed=("a-r",)).sampled == ("a-r",)
    assert a_plan(Record(), observed=("a-r",)).sampled == ()
    plan = Plan.of(a_plan(Record(sample_s=0.5), observed=("a-r",)).as_data())
    assert plan.observed == ("a-r",)


def test_series_of_acks() -> None:
    """Bytes by bin, and delays without the path's own."""
    found = series(a_plan(Record()), {"trace": TRACE, "begin_s": BEGIN_S})
    (flow,) = found["flows"]
    assert (found["window_s"], flow["name"], flow["propagation_s"]) == ((0.0, 2.0), "one", 0.02)
    assert found["bin_s"] == pytest.approx(1.5 / 60)
    assert sum(flow["goodput_bit_s"]) * found["bin_s"] == pytest.approx(251_001 * 8)
    assert flow["delay_s"] == pytest.approx([0.01, 0.025, 0.02])
    assert found["delay_quantiles_s"][-1] == pytest.approx(0.025)


def test_series_end_with_the_flows() -> None:
    """Flows that send for a time are drawn until they hand over no more; a bin is no shorter than a round trip."""
    plan = a_plan(Record())
    trace = "\n".join([ack(0.5, 1001, 30_000), ack(1.5, 251_001, 45_000), ack(2.4, 251_001, 40_000)])
    found = series(plan, {"trace": trace, "begin_s": BEGIN_S})
    (flow,) = found["flows"]
    assert flow["delay_time_s"] == [0.5, 1.5]
    assert len(flow["goodput_bit_s"]) * found["bin_s"] == pytest.approx(2.0, rel=1e-4)
    # of 20 ms: four in 90 ms of sending, 25 in the half second of a file
    for change, bins in (({"seconds": 0.09}, 4), ({"seconds": 0.0, "bytes": 1000}, 25)):
        short = replace(plan, flows=(replace(plan.flows[0], **change),))
        (flow,) = series(short, {"trace": ack(0.5, 1001, 30_000), "begin_s": BEGIN_S})["flows"]
        assert len(flow["goodput_bit_s"]) == bins


def test_series_of_samples(tmp_path: Path) -> None:
    """Where no ACKs were recorded: from tcp_info and the flow's end, with the queue."""
    plan = a_plan(Record(acks=False, sample_s=0.5))
    none = (0,) * 6
    samples = [(0, 10, 500_000_000, 100_000, 0, 30_000, *none, 1), (0, 10, 1_000_000_000, 200_000, 0, 25_000, *none, 1)]
    raw = {
        "flows": [{"ended_ns": 1_250_000_000, "bytes_acked": 250_000}],
        "samples": packed(samples, SAMPLE),
        "queues": packed([(0, 7, 500_000_000, 10_598, 2)], QUEUE_SAMPLE),
    }
    found = series(plan, raw)
    (flow,), (queue,) = found["flows"], found["queues"]
    assert sum(flow["goodput_bit_s"]) * found["bin_s"] == pytest.approx(250_000 * 8)
    assert (flow["delay_time_s"], flow["delay_s"]) == ([0.5, 1.0], pytest.approx([0.01, 0.005]))
    assert queue == {"device": "r-b", "time_s": [0.5], "packets": [7], "bytes": [10_598], "drops": [2]}
    run = {"cc": "cubic", "qdisc": "fq_rr", "series": found}
    assert to_file(run, "a run", tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing was recorded"):
        to_file({**run, "series": {}}, "a run", tmp_path / "other.png")
    assert [path.name for path in tmp_path.iterdir()] == ["run.png"]


def a_scenario(path: Path, functions: str) -> Scenario:
    path.write_text(
        f'CLAIM = "x"\nPARAMETERS = {{}}\nCOMBINATIONS = [("reno", "fq")]\n\ndef plan(*_): ...\n\n{functions}'
    )
    return load(str(path))


@pytest.mark.parametrize("name", ["measure", "checks"])
def test_an_error_in_a_users_function_has_its_line(tmp_path: Path, name: str) -> None:
    """The run's error says where; the other runs go on."""
    scenario = a_scenario(tmp_path / "mine.py", f"def {name}(*_):\n    return nothing.at_all\n")
    found = figures.figures(scenario, {}, "cubic", "fq_rr", Plan(CHAIN), IDLE)
    assert found.error is not None
    assert "mine.py: line 8: NameError: name 'nothing' is not defined" in found.error
    # with what is found all the same
    assert found.checks[0]["quantity"] == "kernel_warnings"


def test_series_of_a_scenarios_own_are_no_metric(tmp_path: Path) -> None:
    """What measure has for drawing stays out of tables."""
    own = a_scenario(tmp_path / "mine.py", "def measure(*_):\n    return {'mine': 1, 'series': {'more': [1, 2]}}\n")
    found = figures.figures(own, {}, "cubic", "fq_rr", Plan(CHAIN), IDLE)
    assert (found.error, found.metrics["mine"], found.series) == (None, 1, {"more": [1, 2]})
    assert "series" not in found.metrics
