# SPDX-License-Identifier: GPL-2.0
"""What scenarios on the dumbbell have in common, and what four of them plan and find."""

import base64
import struct
import zlib
from typing import Any

import pytest
from lab.analyse import figures
from lab.model import flows
from lab.model.errors import PlanError
from lab.model.layout import lay_out
from lab.model.plan import CC_SYSCTL, Command, Flow, Plan, Source
from lab.model.scenario import Scenario, load
from lab.show import pictures

# scenarios of which each end of each range can be planned
NEVER_REFUSED = (
    *("a-flood-costs-one-share", "a-malicious-source-is-held-off", "a-stopped-flow-leaves-its-share"),
    *("demo-dumbbell", "smoke", "unload-under-traffic"),
)
BEGIN_S = 100.0
FIRST_PORT = 10_001


def test_staggered_flows_start_one_after_the_other():
    """Each up to the jitter late, by the seed; pairs of hosts are used in turn."""
    found = flows.staggered(4, "cubic", 5, 0.5, 7, 0.01, pairs=2)
    assert [(one.source, one.sink) for one in found] == [("s1", "d1"), ("s2", "d2")] * 2
    late = [one.start_s - 0.5 * i for i, one in enumerate(found)]
    assert all(0 <= one <= 0.01 for one in late) and len(set(late)) == 4
    assert {one.connects for one in found} == {"start"}
    assert flows.staggered(4, "cubic", 5, 0.5, 7, 0.01, pairs=2) == found
    assert flows.staggered(4, "cubic", 5, 0.5, 8, 0.01, pairs=2) != found


@pytest.mark.parametrize(("qdisc", "mtu_bytes"), [("fq_rr", 1500), ("cake", 1500), ("fq_codel", 500)])
def test_a_bucket_has_room_for_one_packet(qdisc, mtu_bytes):
    """The link is as narrow as the packets where a bucket would let two of them pass."""
    network = flows.dumbbell(qdisc, 8_000_000, (20, 40), 100, packet_bytes=500, options="flows 1")
    link = next(one for one in network.links if one.device_a == "r-x")
    assert (link.mtu_bytes, link.there.rate_bit_s, link.there.options) == (mtu_bytes, 8_000_000, "flows 1")
    assert [network.way(f"d{i}-x").delay_ms for i in (1, 2)] == [20, 40]


def test_a_plan_without_a_window_is_refused():
    network = flows.dumbbell("fq_rr", 1_000_000, (20, 20), 100)
    pair = flows.staggered(2, "cubic", 3, 1.0, 1, 0.0)
    assert flows.measured(Plan(network, pair, settle_s=1.5)).window_s == (2.5, 3)
    with pytest.raises(PlanError, match=r"last flow starts at 1 s, the first ends at 3 s, and 2 s"):
        flows.measured(Plan(network, pair, settle_s=2.0))


def ends(scenario: Scenario) -> list[dict[str, Any]]:
    """The default, and each parameter's least and most."""
    found = []
    for row in scenario.values({}):
        found.append(row)
        for name, one in scenario.parameters.items():
            found += [{**row, name: value} for value in (one.low, one.high) if value is not None]
            found += [{**row, name: choice} for choice in one.choices or ()]
    return found


@pytest.mark.parametrize("name", NEVER_REFUSED)
def test_each_end_of_a_range_can_be_planned(name):
    """And what is checked of a run that is asked for by itself is never nothing."""
    scenario = load(name)
    cc, qdisc = scenario.combinations[0]
    for values in ends(scenario):
        plan = scenario.plan({k: type(scenario.parameters[k].default)(v) for k, v in values.items()}, cc, qdisc, 1)
        assert plan.end_s < 3600 * 2
        assert plan.window_s is not None or any(flow.bytes for flow in plan.flows), values
        assert scenario.checks(values, cc, qdisc)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("demo-dumbbell", {"flows": 7, "shortest": 200.0}, "longest round trip in ms 12800.0: must be at most 2000"),
        ("demo-dumbbell", {"seconds": 5.0, "settle": 6.0}, "nothing would be measured"),
        ("a-flood-costs-one-share", {"seconds": 4.0, "settle": 5.0}, "settle 5.0: must be at most 3.5"),
        ("a-stopped-flow-leaves-its-share", {"rate_mbit": 80.0, "packet": 140}, "packets/s on the link"),
    ],
)
def test_values_that_do_not_go_together_are_refused(name, settings, message):
    scenario = load(name)
    with pytest.raises(PlanError, match=message):
        scenario.plan({**scenario.values({})[0], **settings}, *scenario.combinations[0], 1)


def test_round_trips_double():
    scenario = load("demo-dumbbell")
    plan = scenario.plan(scenario.values({})[0], "pktpair", "fq_rr", 1)
    assert [plan.topology.way(f"d{i}-x").delay_ms for i in range(1, 5)] == [20, 40, 80, 160]


def test_algorithms_of_flows_and_sysctls_are_chosen():
    """Both have to be allowed in the first namespace before a node can choose them."""
    network = flows.dumbbell("fq_rr", 1_000_000, (20,), 100)
    flow = Flow("f1", "s1", "d1", "bbr", seconds=1)
    plan = Plan(network, (flow,), sysctls={"s1": {CC_SYSCTL: "pktpair"}, "*": {"net.ipv4.tcp_rmem": "1 2 3"}})
    assert plan.ccs == {"bbr", "pktpair"}
    assert Plan(network, (Flow("f1", "s1", "d1", seconds=1),)).ccs == set()


def test_modules_are_let_go_one_by_one():
    """Under traffic first; when they are free, senders and the queue have been told before."""
    scenario = load("unload-under-traffic")
    values = {"seconds": 4.0}
    plan = scenario.plan(values, "pktpair", "fq_rr", 1)
    at_s = {command.name: command.at_s for command in plan.commands}
    assert plan.ccs == {"pktpair"} and not any(flow.cc for flow in plan.flows)
    assert max(at_s["busy_cc"], at_s["busy_qdisc"]) < min(flow.seconds for flow in plan.flows)
    assert max(at_s["s1_cubic"], at_s["s2_cubic"]) < at_s["free_cc"] < at_s["again_cc"]
    assert at_s["idle_qdisc"] < at_s["delete"] < at_s["free_qdisc"] < at_s["again_qdisc"]
    assert {check.quantity for check in scenario.checks(values, "pktpair", "fq_rr")} == {
        *(f"{name}_status" for name in at_s),
        "utilisation",
    }


def received(*packets: tuple[int, float, float]) -> str:
    """Of (source, when it was sent, its delay), as the traffic engine writes it."""
    rows = [struct.pack("=IIqq", source, 0, round(sent * 1e9), round(delay * 1e9)) for source, sent, delay in packets]
    return base64.b64encode(zlib.compress(b"".join(rows))).decode()


def test_packets_count_when_they_arrive():
    model = {"model": "constant", "rate_packets_s": 1}
    plan = Plan(
        flows.dumbbell("fq_rr", 1_000_000, (20,), 100),
        sources=(Source("a", "s1", "d1", model, 5, 100), Source("b", "s1", "d1", model, 5, 100)),
    )
    found = figures.arrived(plan, {"received": received((0, 0.9, 0.2), (1, 1.0, 0.5), (0, 1.9, 0.1), (0, 1.5, 0.3))})
    assert found["a"].between(1, 2).tolist() == pytest.approx([0.2, 0.3])
    assert found["b"].between(1, 2).tolist() == pytest.approx([0.5])
    assert not len(found["b"].between(2, 3))


def ack(time_s: float, port: int, rtt_s: float, acked: int) -> str:
    return (
        f" <idle>-0 [000] ..s2. {BEGIN_S + time_s:.6f}: ack: (tcp_rate_gen+0x0/0x170) sport={port}"
        f" rtt_us={round(rtt_s * 1e6)} acked={acked} delivered={acked // 1448} retrans=0 cwnd=10 sent={acked}"
    )


def test_a_trace_that_lost_events_is_no_result():
    """The ring buffer forgets what is oldest; counts would begin with what is left."""
    scenario = load("smoke")
    values = scenario.values({})[0]
    plan = scenario.plan(values, "pktpair", "fq_rr", 1)
    raw = {"error": None, "missing_events": [], "commands": [], "begin_s": BEGIN_S, "flows": [], "qdiscs": {}}
    raw["trace"] = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 70/100   #P:1\n#\n"
    found = figures.figures(scenario, values, "pktpair", "fq_rr", plan, raw)
    assert found.error == "the first 30 of 100 trace events were lost: a shorter run, or a lower rate"
    raw["trace"] = raw["trace"].replace("70/100", "100/100")
    assert "lost" not in (figures.figures(scenario, values, "pktpair", "fq_rr", plan, raw).error or "")


def test_the_start_is_reported_apart():
    """Half of the link and a long queue before the window, all of it and a short one in it."""
    network = flows.dumbbell("fq_rr", 1500 * 8 * 100, (20,), 100)
    plan = Plan(network, (Flow("f1", "s1", "d1", seconds=4, start_s=1.0),), settle_s=2.0)
    moments = [1 + i / 50 for i in range(100)] + [3 + i / 100 for i in range(1, 201)]
    trace = [ack(at, FIRST_PORT, 0.12 if at < 3 else 0.03, 1448 * i) for i, at in enumerate(moments)]
    found = figures.window_figures(plan, lay_out(network), figures.acks_of_flows("\n".join(trace), BEGIN_S))
    assert (found["window_begin_s"], found["window_end_s"]) == (3, 5)
    assert found["utilisation"] == pytest.approx(1, abs=0.01)
    assert found["utilisation_start"] == pytest.approx(0.5, abs=0.01)
    assert (found["queue_delay_p50_s"], found["start_queue_delay_p50_s"]) == (0.01, 0.1)
    unsettled = figures.window_figures(
        Plan(network, plan.flows), lay_out(network), figures.acks_of_flows("\n".join(trace), BEGIN_S)
    )
    assert unsettled["utilisation"] == pytest.approx(0.75, abs=0.01)
    assert "utilisation_start" not in unsettled


@pytest.mark.parametrize("slower", [0.0, 0.02])
def test_what_a_flood_costs(slower):
    """Goodputs, delays and rates before and with it, and their ratios."""
    scenario = load("a-flood-costs-one-share")
    values = {**scenario.values({})[0], "seconds": 4.0, "times": 10.0}
    plan = scenario.plan(values, "cubic", "fq_rr", 1)
    # the windows are 2 to 4 s, and 7 to 9 s
    trace, packets = [], []
    acked = 0.0
    for step in range(901):
        time_s = step / 100
        with_flood = time_s > 7
        acked += 1000 * (1 - slower if with_flood else 1)
        rtt_s = 0.1 * (1 + slower if with_flood else 1)
        trace += [ack(time_s, FIRST_PORT, rtt_s, round(acked)), ack(time_s, FIRST_PORT + 1, 0.1, 1000 * step)]
        packets.append((0, time_s, 0.004 + (slower if with_flood else 0)))
    packets += [(1, 7 + i / 10, 0.05) for i in range(19)]
    raw = {
        "trace": "\n".join(trace),
        "begin_s": BEGIN_S,
        "received": received(*packets),
        "sources": [{"name": "sparse", "sent": 900}, {"name": "flood", "sent": 10_000}],
    }
    found = scenario.measure(values, plan, raw)
    assert found["goodput_ratio_least"] == pytest.approx(1 - slower, abs=0.002)
    assert found["goodput_ratio_most"] == pytest.approx(1, abs=0.002)
    assert found["rtt_p99_ratio"] == pytest.approx(1 + slower)
    assert found["before_sparse_packets_s"] == 100
    assert found["sparse_packets_ratio"] == pytest.approx(1, abs=0.02)
    assert found["sparse_delay_p99_ratio"] == pytest.approx(1 + slower / 0.004, rel=0.01)
    assert found["flood_sent_links"] == 10
    assert found["flood_share"] == pytest.approx(19 / 2 / 250, abs=1e-4)
    judged = figures.judge(scenario.checks(values, "cubic", "fq_rr"), found)
    missed = {check["quantity"] for check in judged if not check["pass"]}
    assert missed == ({"goodput_ratio_least", "rtt_p99_ratio", "sparse_delay_p99_ratio"} if slower else set())


def test_a_flow_that_is_starved_by_a_flood_has_no_delay():
    scenario = load("a-flood-costs-one-share")
    values = {**scenario.values({})[0], "seconds": 4.0}
    plan = scenario.plan(values, "cubic", "fq_codel", 1)
    trace = [ack(i / 10, FIRST_PORT + flow, 0.1, 1000 * i) for i in range(60) for flow in (0, 1)]
    sources = [{"name": "sparse", "sent": 1}, {"name": "flood", "sent": 1}]
    raw = {"trace": "\n".join(trace), "begin_s": BEGIN_S, "received": received((0, 3.0, 0.01)), "sources": sources}
    found = scenario.measure(values, plan, raw)
    assert (found["goodput_ratio_most"], found["rtt_p99_ratio"], found["sparse_packets_ratio"]) == (0, None, 0)


def test_the_picture_of_a_flood_has_every_queue(tmp_path, monkeypatch):
    """A panel for each kind of flood; what starved stands at the bottom and says so."""
    scenario = load("a-flood-costs-one-share")
    names = ("goodput_ratio_least", "rtt_p99_ratio", "sparse_packets_ratio", "sparse_delay_p99_ratio")
    runs, drawn = [], []
    for values in scenario.values({}):
        for qdisc, ratios in (("fq_rr", (1.0, 0.99, 1.01, 1.0)), ("cake", (0.0, None, 0.5, 3.0))):
            metrics = dict(zip(names, ratios, strict=True))
            runs.append({"cc": "cubic", "qdisc": qdisc, "parameters": values, "metrics": metrics})
    plain = pictures.save
    monkeypatch.setattr(pictures, "save", lambda figure, path: drawn.append(figure) or plain(figure, path))
    (path,) = scenario.draw(runs, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    panels = drawn[0].axes
    assert [axes.get_title() for axes in panels] == ["a flood from one port", "a flood from 1000 ports of a host"]
    for axes in panels:
        rows = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
        assert {label.split()[0] for label in rows} == {"cubic+fq_rr", "cubic+cake"}
        assert next(row for label, row in rows.items() if "cake" in label) == [0.001, 0.001, 0.5, 3.0]
        assert [text.get_text() for text in axes.texts].count("none") == 2


def test_what_a_malicious_source_takes():
    """Packets a second and mean delays, of all intervals but the first."""
    scenario = load("a-malicious-source-is-held-off")
    values = {"discipline": "fair", "interval": 10.0}
    plan = scenario.plan(values, "reno", "fq_rr", 1)
    # five packets of 948 bytes a second
    trace = [ack(0.2 * i, FIRST_PORT, 2.0 if i < 50 else 1.0, 948 * i) for i in range(351)]
    packets = [(0, 15.0, 0.04), (0, 65.0, 0.06), (0, 5.0, 1.0), *((1, 0.2 * i, 0.5) for i in range(340))]
    raw = {"trace": "\n".join(trace), "begin_s": BEGIN_S, "received": received(*packets)}
    found = scenario.measure(values, plan, raw)
    assert found == pytest.approx(
        {
            **{"file_packets_s": 5.0, "file_rtt_s": 1.0, "keys_packets_s": 0.033, "keys_delay_s": 0.05},
            **{"malicious_packets_s": 292 / 60, "malicious_delay_s": 0.5},
        },
        abs=0.001,
    )


def test_only_a_window_keeps_a_loss_based_sender_from_filling_the_buffer():
    """pktpair needs none; the route is the receiver's own."""
    scenario = load("a-malicious-source-is-held-off")
    values = {"discipline": "first-come", "interval": 10.0}
    plan = scenario.plan(values, "reno", "fq_rr", 1)
    router = lay_out(plan.topology).devices["x-d1"].address
    words = ("ip", "route", "change", "default", "via", router, "window", "4800", "advmss", "960")
    assert plan.commands == (Command("limit", 0.0, "d1", words),)
    assert plan.flows[0].connects == "start" and plan.flows[0].start_s > 0
    assert plan.topology.way("r-x").options == "no-aqm flows 1 drop arriving"
    assert not scenario.plan(values, "pktpair", "fq_rr", 1).commands
    assert scenario.plan(values, "reno", "pfifo", 1).topology.way("r-x").options == ""


def stopping(claims: tuple[float, float], third_rate: float) -> dict[str, Any]:
    """What is found of two flows with 1/2 of the link each after a third has stopped.

    :param claims: the highest of each of them, some time after the stop
    :param third_rate: part of its share that the third flow has
    """
    scenario = load("a-stopped-flow-leaves-its-share")
    values = {**scenario.values({})[0], "stops": 1}
    plan = scenario.plan(values, "pktpair", "fq_rr", 1)
    packet_s, stopped_s = 0.000_25, 1.1
    lines = []
    for flow, port in enumerate((FIRST_PORT, FIRST_PORT + 1)):
        for i in range(200):
            lines.append((i * 0.01, f"fq_rr_enqueue: x: sport={port} flow_packets={7 + flow}"))
            claim = 1 / 3 if i * 0.01 < stopped_s + 0.1 else 0.5
            if i == 115:
                claim = claims[flow]
            lines.append((i * 0.01 + 0.005, f"pktpair_sample: x: sport={port} service_ns={packet_s * 1e9 / claim:.0f}"))
        lines.append((0.001, f"pktpair_sample: x: sport={port} service_ns=0"))
    step = 3 * packet_s / third_rate
    count = round((stopped_s - 0.5) / step)
    lines += [(0.5 + i * step, f"fq_rr_enqueue: x: sport={FIRST_PORT + 2} flow_packets=3") for i in range(count)]
    # a reset, when all is over
    lines += [(1.99, f"fq_rr_enqueue: x: sport={FIRST_PORT + 2} flow_packets=90")]
    trace = "\n".join(f" <idle>-0 [000] ..s2. {BEGIN_S + at:.6f}: {text}" for at, text in sorted(lines))
    results = [{"ended_ns": 2e9}, {"ended_ns": 2e9}, {"ended_ns": (stopped_s + 0.05) * 1e9}]
    found = scenario.measure(values, plan, {"trace": trace, "begin_s": BEGIN_S, "flows": results})
    judged = figures.judge(scenario.checks(values, "pktpair", "fq_rr"), found)
    return {**found, "missed": [check["quantity"] for check in judged if not check["pass"]]}


def test_claims_after_a_stop():
    """Of each flow that stays the highest in eight round trips, and what it has taken after six."""
    found = stopping((0.6, 0.5), third_rate=0.9)
    assert found.pop("claims") == [0.6, 0.5]
    assert found == {
        **{"least_came": pytest.approx(0.9, abs=0.01), "highest_claim": 0.6, "highest_sum": 1.1, "least_taken": 0.5},
        **{"longest_queue_packets": 8, "whole_part": 0.0, "missed": []},
    }


def test_claims_of_the_whole_link_are_noticed():
    assert stopping((1.0, 0.5), third_rate=0.9)["whole_part"] == 0.5
    assert stopping((1.0, 0.98), third_rate=0.9)["missed"] == ["whole_part"]


def test_a_third_flow_that_never_had_its_share_proves_nothing():
    assert stopping((0.5, 0.5), third_rate=0.5)["missed"] == ["least_came"]
