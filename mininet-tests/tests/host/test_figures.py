# SPDX-License-Identifier: GPL-2.0
"""Figures of a run's raw result are computed as they are defined."""

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lab.analyse import figures, series, table
from lab.model import scenario
from lab.model.layout import lay_out
from lab.model.plan import FIRST_FLOW_PORT, Change, Exchange, Flow, Plan, Record, Source
from lab.model.scenario import Check
from lab.model.topology import Link, Topology, Way

RATE_BIT_S = 12_000_000  # a full packet is a millisecond
BEGIN_S = 100.0
NODES = {"s1": "host", "r": "router", "d1": "host"}
THERE, BACK = Way(rate_bit_s=RATE_BIT_S, queue="pfifo"), Way(rate_bit_s=RATE_BIT_S, queue="pfifo", delay_ms=10)
LINE = Topology("line", NODES, (Link("s1", "r"), Link("r", "d1", THERE, BACK)))
LAYOUT = lay_out(LINE)


def plan(flows: int = 1, seconds: float = 4.0, **more: Any) -> Plan:
    sending = tuple(Flow(f"f{i + 1}", "s1", "d1", "cubic", seconds=seconds) for i in range(flows))
    return replace(Plan(LINE, sending, settle_s=1.0), **more)


def ack(time_s: float, port: int, rtt_us: int, packets: int, retrans: int = 0) -> str:
    return (
        f" <idle>-0 [000] ..s2. {time_s:.6f}: ack: (tcp_rate_gen+0x0/0x170) sport={port} rtt_us={rtt_us}"
        f" acked={packets * 1448 + 1} delivered={packets} retrans={retrans} cwnd=10 sent={packets * 1448}"
    )


def full_link(share: int = 1, of: int = 1, delay_us: int = 3000) -> list[str]:
    """Acknowledgements of a flow that has 1/of of the link, one per packet."""
    times = np.arange(0.010 * of, 5.0, 0.001 * of)
    port = FIRST_FLOW_PORT + share - 1
    return [ack(BEGIN_S + t, port, 10_000 + delay_us, n + 1) for n, t in enumerate(times)]


def acks(lines: list[str]) -> dict[int, figures.Acks]:
    return figures.acks_of_flows("\n".join(lines), BEGIN_S)


def result(name: str = "f1", **more: Any) -> dict[str, Any]:
    """What the traffic engine says of a flow."""
    numbers = {"began_ns": 500_000_000, "ended_ns": 1_510_000_000, "bytes_acked": 101 * 1448}
    return {"name": name, "error": None, "cc": "cubic", "retransmits": 7, "data_packets_sent": 108, **numbers, **more}


def raw(lines: list[str], **more: Any) -> dict[str, Any]:
    common = {"missing_events": [], "commands": [], "sources": [], "qdiscs": {}, "warnings": [], "error": None}
    return {"trace": "\n".join(lines), "begin_s": BEGIN_S, "flows": [result()], **common, **more}


def test_full_link() -> None:
    """A flow with a packet every packet time uses all of the link."""
    metrics = figures.window_figures(plan(), LAYOUT, acks(full_link()))
    assert (metrics["window_begin_s"], metrics["window_end_s"]) == (1, 4)
    assert metrics["utilisation"] == metrics["utilisation_r-d1"] == pytest.approx(1, abs=0.001)
    assert metrics["goodput_bit_s"] == pytest.approx(RATE_BIT_S * 1448 / 1500, rel=0.001)
    assert metrics["queue_delay_p50_s"] == metrics["queue_delay_p99_s"] == pytest.approx(0.003)


def test_responses() -> None:
    """From each request to its response's last byte, whatever the client thinks between them."""
    exchanges = [[i * 10**9, i * 10**9 + 10**7 * (1 + i)] for i in range(3)]
    asked = replace(plan(), flows=(replace(plan().flows[0], seconds=0.0, exchanges=(Exchange(1, 2),) * 3),))
    (flow,) = figures.flow_figures(asked, LAYOUT, raw([], flows=[result(exchanges=exchanges)]), acks(full_link()))
    assert [flow[f"response_{part}_s"] for part in ("p50", "p95")] == [0.02, 0.029]


def test_shares() -> None:
    """Two flows with half and a quarter of the link: utilisation, Jain index and goodput."""
    metrics = figures.window_figures(plan(2), LAYOUT, acks(full_link(1, 2) + full_link(2, 4)))
    assert metrics["utilisation"] == pytest.approx(0.75, abs=0.002)
    assert metrics["jain"] == pytest.approx(0.9, abs=0.002)  # (2 + 1)^2 / (2 (4 + 1))


def test_a_flow_in_the_background() -> None:
    """A flow in the background counts in what its links carry, and neither opens nor shuts the window."""
    fill = Flow("fill", "d1", "s1", "cubic", start_s=1.5, seconds=1.0, background=True)
    both = replace(plan(), flows=(*plan().flows, fill))
    metrics = figures.window_figures(both, LAYOUT, acks(full_link(1, 2) + full_link(2, 1, 90_000)))
    assert both.window_s == plan().window_s == (1, 4)
    assert metrics["utilisation"] == metrics["utilisation_r-d1"] == pytest.approx(0.5, abs=0.002)
    assert metrics["utilisation_d1-r"] == pytest.approx(1, abs=0.001)
    assert metrics["jain"] == 1
    assert metrics["queue_delay_p99_s"] == pytest.approx(0.003)
    assert replace(both, flows=(fill,)).window_s is None


def test_retransmissions_of_a_flow_in_the_background_are_its_own() -> None:
    """What a flow in the background sends again is not the measured flows'."""
    lines = full_link(1, 2) + full_link(2, 2)
    both = plan(2)
    both = replace(both, flows=(both.flows[0], replace(both.flows[1], background=True)))
    smoke = scenario.load("smoke")
    found = figures.figures(
        smoke, {}, "cubic", "pfifo", both, raw(lines, flows=[result("f1"), result("f2", retransmits=50)])
    )
    assert found.error is None
    assert found.metrics["retransmits"] == 7
    assert [flow["retransmits"] for flow in found.flows] == [7, 50]


def test_flow_figures() -> None:
    """A flow's bytes and times are the traffic engine's, its round trips those of its acknowledgements."""
    lines = [ack(100.0, 10001, -1, 0), ack(100.510, 10001, 10_000, 1), ack(101.510, 10001, 30_000, 101, 7)]
    (flow,) = figures.flow_figures(plan(), LAYOUT, raw(lines), acks(lines))
    assert flow["bytes"] == 101 * 1448
    assert flow["completion_s"] == pytest.approx(1.01)
    assert flow["goodput_bit_s"] == pytest.approx(101 * 1448 * 8 / 1.01, abs=1)
    assert (flow["retransmits"], flow["rtt_min_s"], flow["propagation_s"]) == (7, 0.01, 0.01)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "flow f1: nothing was acknowledged"),
        ({"error": "send: Connection reset"}, "flow f1: send: Connection reset"),
        ({"cc": "reno"}, "flow f1: congestion control reno, not cubic"),
    ],
)
def test_a_flow_that_did_not_do_what_it_was_to_do(more: dict[str, Any], message: str) -> None:
    """A flow of which nothing came, that failed or that ran another algorithm is an error, not a zero."""
    with pytest.raises(figures.RunError, match=message):
        figures.flow_figures(plan(), LAYOUT, figures.of_engine(plan(), raw([], flows=[result(**more)]), {}), {})


def test_silent_window() -> None:
    """So is a window without an acknowledgement."""
    early = [line for line in full_link() if float(line.split()[3][:-1]) < 101]
    with pytest.raises(figures.RunError, match=r"nothing was acknowledged from 1\.000 to 4\.000 s"):
        figures.window_figures(plan(), LAYOUT, acks(early))


@pytest.mark.parametrize("reason", [figures.RunError("nothing came"), IndexError("nothing came")])
def test_a_run_without_figures_is_reported_as_one(monkeypatch: pytest.MonkeyPatch, reason: Exception) -> None:
    """A run whose figures cannot be computed says why, and its checks fail."""

    def nothing(*_: object) -> None:
        raise reason

    monkeypatch.setattr(figures, "fill_in", nothing)
    one = scenario.load("wifi-reverse-path")
    values = one.values({})[0]
    found = figures.figures(one, values, "pktpair", "fq_rr", plan(), raw([]))
    assert found.error is not None and "nothing came" in found.error
    assert [check["pass"] for check in found.checks] == [True, False, False]


def test_a_delay_line_that_drops() -> None:
    """A delay line that dropped a packet makes the run an error, unless it was told to."""
    entry = {"kind": "netem", "root": True, "drops": 1}
    with pytest.raises(figures.RunError, match="the delay line of s1-r dropped 1 packets"):
        figures.queue_figures(plan(), {"qdiscs": {"s1-r": [entry]}})
    assert figures.queue_figures(plan(), {"qdiscs": {"s1-r": [{**entry, "drops": 0}]}}) == {"drops": 0}
    lossy = replace(LINE, links=(Link("s1", "r", Way(loss=0.1)), LINE.links[1]))
    for told in (plan(topology=lossy), plan(changes=(Change(2.0, "s1-r", {"loss": 0.1}),))):
        assert figures.queue_figures(told, {"qdiscs": {"s1-r": [entry]}}) == {"drops": 0}


def test_a_queue_that_a_change_makes_drops() -> None:
    """It is no delay line, whatever was there before."""
    changes = (Change(1.0, "s1-r", {"rate_bit_s": 10**6}),)
    found = figures.queue_figures(
        plan(changes=changes), {"qdiscs": {"s1-r": [{"kind": "tbf", "root": True, "drops": 4}]}}
    )
    assert found == {"drops": 4, "drops_s1-r": 4}


@pytest.mark.parametrize(
    ("changes", "used"),
    [
        # half of the link all the time; in the last of three seconds its rate is another
        ((Change(3.0, "r-d1", {"rate_bit_s": RATE_BIT_S // 2}),), 0.6),
        ((Change(3.0, "d1-r", {"rate_bit_s": RATE_BIT_S // 2}),), 0.5),
        ((Change(0.5, "r-d1", {"rate_bit_s": 2 * RATE_BIT_S}), Change(9.0, "r-d1", {"rate_bit_s": 8000})), 0.25),
        ((Change(3.0, "r-d1", {"rate_bit_s": 0, "queue": ""}),), None),
    ],
)
def test_utilisation_is_of_the_rate_at_its_time(changes: tuple[Change, ...], used: float | None) -> None:
    """Also where the rate changes; of a link that has none at a time there is no utilisation."""
    found = figures.window_figures(plan(changes=changes), LAYOUT, acks(full_link(of=2)))
    assert found.get("utilisation_r-d1") == (used if used is None else pytest.approx(used, abs=0.002))


def test_what_a_scenario_measures_may_be_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compared, and kept, as Python's."""
    one = scenario.load("smoke")
    own = {"n": np.int64(5), "x": np.float32(0.5), "ok": np.bool_(True), "each": np.arange(2), 3: {4: np.int64(1)}}
    monkeypatch.setattr(one.module, "measure", lambda *_: own, raising=False)
    found = [Check("n", "==", 5), Check("x", ">=", 0.25), Check("ok", "==", 1)]
    monkeypatch.setattr(one.module, "checks", lambda *_: found, raising=False)
    computed = figures.figures(one, one.values({})[0], "cubic", "pfifo", plan(), raw(full_link()))
    assert computed.error is None and all(check["pass"] for check in computed.checks)
    assert computed.metrics["each"] == [0, 1] and computed.metrics["3"] == {"4": 1}
    assert json.loads(json.dumps(computed.metrics)) == computed.metrics


def test_a_series_that_is_none_is_the_runs_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other runs of the command are none the worse for it."""
    one = scenario.load("smoke")
    monkeypatch.setattr(one.module, "measure", lambda *_: {"series": [1, 2]}, raising=False)
    computed = figures.figures(one, one.values({})[0], "cubic", "pfifo", plan(), raw(full_link()))
    assert computed.error == "measure(): series is a list: must be a dict"


def test_utilisation_is_of_the_path_at_its_time() -> None:
    """Of three seconds one by the upper path, and after half a second without any, the rest by the lower one."""
    way = Way(rate_bit_s=RATE_BIT_S, queue="pfifo")
    nodes = {"s1": "host", "r": "router", "u": "router", "l": "router", "x": "router", "d1": "host"}
    ends = (("s1", "r"), ("r", "u"), ("u", "x"), ("r", "l"), ("l", "x"), ("x", "d1"))
    topology = Topology("two", nodes, tuple(Link(a, b, way if b == "x" else Way()) for a, b in ends))
    changes = (
        *(Change(2.0, device, up=False) for device in ("u-x", "x-l")),
        Change(2.5, "l-x", up=True),
        Change(9.0, "u-x", up=True),
    )
    found = figures.window_figures(plan(topology=topology, changes=changes), lay_out(topology), acks(full_link()))
    assert found["utilisation_u-x"] == pytest.approx(1 / 3, abs=0.002)
    assert found["utilisation"] == found["utilisation_l-x"] == pytest.approx(1.5 / 3, abs=0.002)


def test_queue_delay_is_beyond_the_delay_at_its_time() -> None:
    """Of acknowledgements 3 ms late, the delay of 10 ms being another for a second, or told by another path."""
    lines = full_link()
    slower = [Change(2.0, "d1-r", {"delay_ms": 30.0, "rate_bit_s": RATE_BIT_S}), Change(3.0, "d1-r", {"delay_ms": 10})]
    # those that were under way when it changed may have had either
    late = [ack(BEGIN_S + t, FIRST_FLOW_PORT, 33_000, n) for n, t in enumerate(np.arange(2.034, 2.9995, 0.001), 3000)]
    before = [line for line in lines if float(line.split()[3][:-1]) < BEGIN_S + 2.0]
    behind = [line for line in lines if float(line.split()[3][:-1]) > BEGIN_S + 3.0]
    changing = plan(changes=tuple(slower))
    found = figures.window_figures(changing, LAYOUT, acks(before + late + behind))
    assert [found[f"queue_delay_{one}_s"] for one in ("p50", "p95", "p99")] == [0.003] * 3
    straddling = [ack(BEGIN_S + 2.02, FIRST_FLOW_PORT, 33_000, 2999)]
    (delay_s,) = figures.queue_delays(changing, acks(straddling), 1.0, 4.0)
    assert delay_s == pytest.approx(0.023)
    # what follows from these, for pictures
    drawn = series.series(changing, {"trace": "\n".join(late), "begin_s": BEGIN_S})["flows"][0]
    assert set(drawn["delay_s"]) == {0.003} and drawn["propagation_s"] == 0.01


def test_queue_delay_is_of_the_path_at_its_time() -> None:
    """A link that goes down leaves a longer one, whose propagation is no queue's delay."""
    nodes = {"s1": "host", "r": "router", "u": "router", "x": "router", "d1": "host"}
    ends = (("s1", "r"), ("r", "x"), ("r", "u"), ("u", "x"), ("x", "d1"))
    topology = Topology("two", nodes, tuple(Link(a, b, Way(delay_ms=10.0)) for a, b in ends))
    changes = (Change(2.0, "x-r", up=False), Change(3.0, "r-x", up=True))
    moved = plan(topology=topology, changes=changes)
    rtts = ((1.5, 33_000), (2.5, 43_000), (2.01, 43_000), (3.02, 43_000), (3.5, 33_000))
    lines = [ack(BEGIN_S + t, FIRST_FLOW_PORT, rtt_us, 5) for t, rtt_us in rtts]
    delays_s = figures.queue_delays(moved, acks(lines), 1.0, 4.0)
    assert list(delays_s) == pytest.approx([0.003, 0.003, 0.013, 0.013, 0.003])


def test_what_a_policer_drops_is_counted() -> None:
    """Of filters' drops, those of a policer: a link that loses what arrives has its own."""
    entries = [{"kind": "noqueue", "root": True}, {"kind": "clsact", "parent": "ffff:fff1", "drops": 3}]
    for queue, drops in (("policer", 3), ("pfifo", 0)):
        topology = replace(LINE, links=(LINE.links[0], Link("r", "d1", Way(10**6, queue))))
        found = figures.queue_figures(plan(topology=topology), {"qdiscs": {"r-d1": entries}})
        assert found == {"drops": drops, "drops_r-d1": drops}


def test_drops_counted_once() -> None:
    """Drops are the leaf's, since its parent counts them too."""
    tbf, leaf = {"kind": "tbf", "root": True, "drops": 5}, {"kind": "pfifo", "parent": "1:1", "drops": 5}
    for entries in ([tbf, leaf], [tbf]):
        found = figures.queue_figures(plan(), {"qdiscs": {"r-d1": entries}})
        assert found == {"drops": 5, "drops_r-d1": 5}


def test_source_figures() -> None:
    """Packets and delays of each source come from what its sink has received."""
    model = {"model": "constant", "rate_packets_s": 10}
    two = plan(0, sources=(Source("u1", "s1", "d1", model, 1.0, 500), Source("u2", "s1", "d1", model, 1.0, 500)))
    records = np.array([(1, 0, 5, 4_000_000), (0, 0, 7, 2_000_000)], dtype=figures.RECEIVED)
    packed = base64.b64encode(zlib.compress(records.tobytes())).decode()
    sent = [{"name": name, "sent": 10, "not_sent": 0, "received": 1} for name in ("u1", "u2")]
    found = figures.source_figures(two, {"received": packed, "sources": sent})
    assert (found["u1_delay_p50_s"], found["u2_delay_p50_s"], found["u2_received"]) == (0.002, 0.004, 1)
    with pytest.raises(figures.RunError, match="source u2: 3 packets found the host's own queue full"):
        figures.source_figures(two, {"received": packed, "sources": [sent[0], {**sent[1], "not_sent": 3}]})


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
    (verdict,) = figures.judge([Check("x", op, expected)], metrics)
    assert verdict == {"quantity": "x", "op": op, "expected": expected, "measured": measured, "pass": good}


def test_a_missing_event_is_an_error() -> None:
    """Figures without the events that they are made of are refused."""
    found = figures.Figures()
    one = scenario.load("wifi-reverse-path")
    with pytest.raises(figures.RunError, match="does not have the trace events a:b, c:d"):
        figures.fill_in(found, one, {}, plan(record=Record()), raw([], missing_events=["a:b", "c:d"]))


def test_what_a_cell_can_hold() -> None:
    """Lists and mappings have a cell for each value; what cannot be one is left out."""
    metrics = {"shares": [0.25, np.float64(0.5)], "trains": {"sample": 7, "held": 1}, "n": 3, "s": {1, 2}}
    assert table._scalars(metrics) == {
        **{"shares_1": 0.25, "shares_2": 0.5},
        **{"trains_sample": 7, "trains_held": 1, "n": 3},
    }
