# SPDX-License-Identifier: GPL-2.0
"""Topologies as data: what follows from them, and what is refused."""

import dataclasses
import itertools
import json
import subprocess
from types import MappingProxyType

import pytest
from lab.model import arrivals, devices
from lab.model.errors import PlanError
from lab.model.layout import lay_out
from lab.model.plan import Change, Command, Exchange, Flow, Plan, Record, Source, changed
from lab.model.topologies import names, topology
from lab.model.topology import Link, Topology, Way


def a_line(**way) -> Topology:
    """Host s1, router r, host d1; what leaves r for d1 takes the way."""
    nodes = {"s1": "host", "r": "router", "d1": "host"}
    return Topology("line", nodes, (Link("s1", "r"), Link("r", "d1", Way(**way))))


@pytest.mark.parametrize("name", names())
def test_every_topology_of_ours_lets_each_host_reach_each(name):
    layout = lay_out(topology(name))
    hosts = [node for node, kind in layout.topology.nodes.items() if kind == "host"]
    for source, sink in itertools.permutations(hosts, 2):
        path = layout.path(source, sink)
        assert path[0].node == source and path[-1].peer == sink
        assert all(layout.topology.nodes[device.node] == "router" for device in path[1:])


def test_the_ways_of_a_topology_are_those_of_its_file():
    found = topology("dumbbell", pairs=2, rate_mbit=7.5, queue="cake", options="nat", delays_ms=[3.0, 5.0])
    assert found.way("r-x") == Way(rate_bit_s=7_500_000, queue="cake", limit_packets=533, options="nat")
    assert [found.way(name).delay_ms for name in ("d1-x", "d2-x", "x-d1", "x-r")] == [3, 5, 0, 0]


def test_each_device_has_an_address_of_its_own():
    layout = lay_out(topology("tree", depth=3, fanout=4))
    for attribute in ("name", "address", "address6", "mac"):
        assert len({getattr(one, attribute) for one in layout.devices.values()}) == len(layout.devices)


def test_a_route_goes_to_every_network_that_is_not_the_nodes_own():
    layout = lay_out(topology("parking_lot"))
    assert len(layout.routes("s1")) == 1 and layout.routes("s1")[0].startswith("default via 10.")
    own = len(layout.of_node("r1"))
    assert len(layout.routes("r1")) == len(layout.links) - own
    assert all(" via 10." in route for route in layout.routes("r1"))
    assert all("fd00:" in route for route in layout.routes("r1", 6))


def test_a_link_that_is_down_is_gone_around():
    two = topology("two_paths")
    assert "r-u" in [device.name for device in lay_out(two).path("s1", "d1")]
    assert "r-l" in [device.name for device in lay_out(two, {"r-u"}).path("s1", "d1")]
    with pytest.raises(PlanError, match="no path from s1 to d1"):
        lay_out(two, {"r-u", "l-x"}).path("s1", "d1")


@pytest.mark.parametrize("down", ["s1-r", "r-s1"])
def test_a_node_has_no_route_by_its_only_link_while_that_is_down(down):
    """Whichever end is down; the other nodes' routes to that link are gone as well."""
    for family in (4, 6):
        layout = lay_out(a_line(), {down})
        assert (layout.routes("s1", family), layout.routes("d1", family)) == (
            [],
            lay_out(a_line()).routes("d1", family),
        )
        assert len(lay_out(a_line()).routes("s1", family)) == 1


def test_a_host_passes_nothing_on():
    nodes = {"a": "host", "b": "host", "c": "host"}
    layout = lay_out(Topology("chain", nodes, (Link("a", "b"), Link("b", "c"))))
    with pytest.raises(PlanError, match="no path from a to c"):
        layout.path("a", "c")


def test_a_delay_line_never_stands_beside_a_shaper():
    layout = lay_out(a_line(rate_bit_s=10**6, delay_ms=5, lose_every=7))
    sender, receiver = layout.devices["r-d1"], layout.devices["d1-r"]
    assert not any("netem" in line for line in sender.sending_lines(1))
    lines = receiver.receiving_lines()
    assert lines[0] == "qdisc replace dev d1-r clsact"
    assert "drop 7" in lines[1] and "redirect dev d1~r" in lines[1]
    assert lines[2].startswith("qdisc add dev d1~r root") and "delay 5ms" in lines[2]


def test_one_packet_of_many_arrives_where_the_others_are_thinned_out():
    lines = lay_out(a_line(keep_every=8)).devices["d1-r"].receiving_lines()
    assert lines[0] == "qdisc replace dev d1-r clsact"
    assert lines[1].endswith("ingress matchall action gact drop random determ pipe 8")


def test_a_fifo_of_bytes_has_room_for_so_many_full_packets():
    lines = devices.queue("r-x", Way(rate_bit_s=10**6, queue="bfifo", limit_packets=3), 1, packet_bytes=500)
    assert lines[1].endswith("bfifo limit 1542")


def test_without_a_shaper_the_delay_line_is_the_senders():
    layout = lay_out(a_line(delay_ms=5, slot_ms=4))
    assert layout.devices["r-d1"].sending_lines(1) == [
        "qdisc add dev r-d1 root handle 1: netem limit 1000000 delay 5ms slot 4ms 4ms"
    ]
    assert layout.devices["d1-r"].receiving_lines() == []


@pytest.mark.parametrize("queue", sorted({*devices.QUEUES} - {*devices.SWITCHES}))
def test_every_queue_has_the_rate_and_its_own_options(queue):
    way = Way(rate_bit_s=12_345_678, queue=queue, limit_packets=50, options="option 9000")
    lines = devices.queue("r-x", way, hash_seed=3)
    # a policer counts the Ethernet header
    assert any(f"{12_345_678 * 1514 // 1500 if queue == 'policer' else 12_345_678}bit" in line for line in lines)
    assert all("dev r-x" in line for line in lines)
    assert sum("option 9000" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ((Link("s1", "nobody"),), "there is no node nobody"),
        ((Link("s1", "s1"),), "linked to itself"),
        ((Link("s1", "r"), Link("r", "s1")), "two links between r and s1"),
        ((Link("s1", "r"),), "node d1 has no link"),
        ((Link("s1", "r"), Link("r", "d1", Way(queue="cake"))), "link r-d1: a queue \\(cake\\) needs a rate"),
        (
            (Link("s1", "r"), Link("r", "d1", Way(limit_packets=9))),
            "link r-d1: limit_packets 9 needs a rate: rate",
        ),
        (
            (Link("s1", "r"), Link("r", "d1", Way(options="ecn"))),
            "link r-d1: options ecn needs a rate: rate_bit_s",
        ),
        ((Link("s1", "r"), Link("r", "d1", Way(delay_ms=-1))), "link r-d1: delay_ms -1: must be at least 0"),
        ((Link("s1", "r"), Link("r", "d1", Way(delay_ms=float("nan")))), "delay_ms nan: must be at least 0"),
        ((Link("s1", "r"), Link("r", "d1", Way(delay_ms=3, jitter_ms=4))), "jitter_ms 4: must be at most delay_ms 3"),
        ((Link("s1", "r"), Link("r", "d1", Way(lose_every=1))), "lose_every 1: nothing would arrive"),
        ((Link("s1", "r"), Link("r", "d1", Way(keep_every=1))), "keep_every 1: nothing would be lost"),
        ((Link("s1", "r"), Link("r", "d1", Way(keep_every=-8))), "keep_every -8: must be at least 0"),
        (
            (Link("s1", "r"), Link("r", "d1", Way(lose_every=2, keep_every=3))),
            "lose_every 2 beside keep_every 3: one of them",
        ),
        ((Link("s1", "r"), Link("r", "d1", Way(loss=1.5))), "loss 1.5: must be at most 1"),
        ((Link("s1", "r"), Link("r", "d1", mtu_bytes=60)), "mtu_bytes 60: must be at least 68"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(links, message):
    nodes = {"s1": "host", "r": "router", "d1": "host"}
    with pytest.raises(PlanError, match=message):
        lay_out(Topology("bad", nodes, links))


def test_a_name_too_long_for_a_device_is_refused():
    nodes = {"a-long-name": "host", "another": "router"}
    with pytest.raises(PlanError, match="at most 15 characters"):
        lay_out(Topology("bad", nodes, (Link("a-long-name", "another"),)))


def test_data_of_a_topology_read_back_are_the_same():
    one = topology("parking_lot", bottlenecks=2, queue="cake")
    assert Topology.of(json.loads(json.dumps(one.as_data()))) == one


def test_a_key_that_is_unknown_is_refused():
    data = a_line().as_data()
    data["links"][0]["there"]["rate"] = 5
    with pytest.raises(PlanError, match="way: unknown rate"):
        Topology.of(data)


@pytest.mark.parametrize(
    ("nodes", "links", "message"),
    [
        (
            {"a-b": "host", "c": "router", "a": "router", "b-c": "host"},
            (Link("a-b", "c"), Link("c", "a"), Link("a", "b-c")),
            "a link between a-b and c and one between a and b-c: both have a device a-b-c: rename a node",
        ),
        ({"root": "host", "r": "host"}, (Link("root", "r"),), "node root: is the guest itself"),
        ({"-x": "host", "r": "host"}, (Link("-x", "r"),), "node '-x': a name has letters, .* begins with none of"),
        ({"..": "host", "r": "host"}, (Link("..", "r"),), "node '..': a name has letters"),
        (
            {"a": "host", "b": "host"},
            (Link("a", "b", Way(8000, options="x\nqdisc del")),),
            "options 'x.*': options have",
        ),
        (
            {"a": "host", "b": "host"},
            (Link("a", "b", Way(8000, options="ecn # x")),),
            "options 'ecn # x': options have",
        ),
        ({"a": "host", "b": "host"}, (Link("a", "b", Way(7999)),), "rate_bit_s 7999: must be 0 or at least 8000"),
        (
            {"a": "host", "b": "host"},
            (Link("a", "b", Way(lose_every=10_001)),),
            "lose_every 10001: must be at most 10000",
        ),
    ],
)
def test_names_and_numbers_that_no_guest_takes_are_refused(nodes, links, message):
    with pytest.raises(PlanError, match=message):
        lay_out(Topology("bad", nodes, links))


@pytest.mark.parametrize(
    ("queue", "limit_packets", "message"),
    [
        ("red", 10, "link r-d1: limit_packets of red 10: must be 0 or at least 11"),
        ("red", 6_001, "limit_packets of red 6001: must be at most 213"),
        ("sfq", 1, "limit_packets of sfq 1: must be 0 or at least 2"),
        ("bfifo", 2**22, "link r-d1: limit_packets 4194304: must be at most 1048576"),
        ("bfifo", 70_000, "limit_packets of bfifo 70000: must be at most 65523"),
    ],
)
def test_a_limit_that_tc_does_not_take_is_refused(queue, limit_packets, message):
    """Of packets of 65535 bytes."""
    link = Link("s1", "d1", mtu_bytes=65_535, back=Way(10**6, queue, limit_packets))
    with pytest.raises(PlanError, match=message.replace("r-d1", "d1-s1")):
        Plan(Topology("pair", {"s1": "host", "d1": "host"}, (link,))).check()


def test_reds_constant_is_found_for_every_limit():
    """As tc finds it: tc_red_eval_ewma() and tc_red_eval_P() of iproute2, which warns of constants above 9."""
    for frame_bytes in (82, 1514, 65_549):
        for limit_packets in (*range(11, 200), 1_000, 5_999, 6_000):
            words = devices.LEAVES["red"](devices.Shaped(Way(10**7, "red", limit_packets), frame_bytes - 14, 1)).split()
            least, most, burst = (int(words[words.index(name) + 1]) for name in ("min", "max", "burst"))
            above = burst + 1 - least / frame_bytes
            assert any(above <= (1 - (1 - 2.0**-log) ** burst) * 2**log for log in range(1, 10))
            assert 0.1 / (most - least) * 2**31 > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "dumbel"}, "no topology dumbel .near: dumbbell"),
        ({"name": "dumbbell", "pairs": 300}, "pairs 300: must be 1 to 250"),
        ({"name": "dumbbell", "colour": "red"}, "colour"),
        ({"name": "mine", "file": "/nowhere/mine.py"}, "/nowhere/mine.py: there is no such file"),
    ],
)
def test_a_topology_that_is_not_there_is_refused(arguments, message):
    with pytest.raises(PlanError, match=message):
        topology(**arguments)


def test_a_users_file_outside_the_checkout_is_read(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from mininet.topo import Topo\n"
        "class Mine(Topo):\n"
        "    def build(self, bw=5):\n"
        "        self.addHost('s1'); self.addSwitch('w1'); self.addHost('d1')\n"
        "        self.addLink('s1', 'w1')\n"
        "        self.addLink('w1', 'd1', bw=bw, delay='3ms', max_queue_size=70, loss=10)\n"
        "topos = {'mine': Mine}\n"
    )
    found = topology("mine", file=path, bw=7)
    assert found.nodes == {"s1": "host", "w1": "router", "d1": "host"}
    both = Way(rate_bit_s=7_000_000, limit_packets=70, delay_ms=3, loss=0.1)
    assert (found.links[1].there, found.links[1].back) == (both, both)
    path.write_text("from mininet.topo import Topo\nclass Mine(Topo:\n    pass\n")
    with pytest.raises(PlanError, match=r"mine\.py: line 2"):
        topology("mine", file=path, bw=7)


def test_a_topology_is_read_from_anywhere(tmp_path, monkeypatch):
    """Nothing is imported from where the user is, and what the file prints is no part of it."""
    for name in ("json", "mininet", "runpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "mine.py"
    path.write_text(
        MINE + "    def build(self):\n        print('building')\n        self.addHost('a'); self.addHost('b')\n"
        "        self.addLink('a', 'b')\ntopos = {'mine': Mine}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert list(topology("mine", file=path).nodes) == ["a", "b"]


MINE = "from lab.topo import LabTopo\nclass Mine(LabTopo):\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise RuntimeError('boom')\n", r"mine\.py: topology mine: line 1: RuntimeError: boom$"),
        ("import sys\nsys.exit(3)\n", r"mine\.py: topology mine: line 2: SystemExit: 3$"),
        (
            MINE + "    def build(self, bw):\n        1 / 0\ntopos = {'mine': Mine}",
            r"mine\.py: topology mine: line 4: ZeroDivisionError: division by zero$",
        ),
        (
            MINE + "    def build(self, pairs): ...\ntopos = {'mine': Mine}",
            r"mine\.py: topology mine: TypeError: Mine\.build\(\) got an unexpected keyword argument 'bw'$",
        ),
        ("topos = {}", r"mine\.py: no topology mine; topos has: nothing$"),
    ],
)
def test_a_topology_file_that_is_wrong(tmp_path, text: str, message: str) -> None:
    """What it raises is said with the file, and the line where it is the file's."""
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PlanError, match=message):
        topology("mine", file=path, bw=7)


def test_mininets_own_command_takes_each_of_our_files():
    script = (
        "import runpy, sys\n"
        "for path in sys.argv[1:]:\n"
        "    for topo in runpy.run_path(path)['topos'].values():\n"
        "        made = topo()\n"
        "        assert made.hosts() and made.links(), path\n"
        "        for _, _, info in made.links(withInfo=True): assert info['intfName1'] and info['addr2']\n"
    )
    folder = topology.__globals__["FOLDER"]
    files = [str(path) for path in sorted(folder.glob("*.py"))]
    done = subprocess.run(
        ["/usr/bin/python3", "-B", "-c", script, *files],
        env={"PYTHONPATH": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_links_of_data_keep_their_order_in_mininet():
    """Addresses follow from the order of links, in the guest as here; Mininet's own order is by nodes."""
    nodes = {"s1": "host", "s2": "host", "s3": "host", "a1": "router", "a2": "router"}
    ends = [("s1", "a1"), ("s2", "a2"), ("s3", "a1"), ("a1", "a2")]
    wanted = Topology("mine", nodes, tuple(Link(*one) for one in ends))
    script = (
        "import json, sys\n"
        "from dataclasses import asdict\n"
        "from lab.model.topology import Topology\n"
        "from lab.topo import DataTopo, read_topo\n"
        "made = read_topo('mine', DataTopo(topology=Topology.of(json.loads(sys.argv[1]))))\n"
        "print(json.dumps([sorted((link.a, link.b)) for link in made.links]))\n"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-B", "-c", script, json.dumps(wanted.as_data())],
        env={"PYTHONPATH": str(topology.__globals__["FOLDER"].parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [sorted(one) for one in ends]


EVEN = {"model": "constant", "rate_packets_s": 10}


def a_plan(**more) -> Plan:
    """A flow of a second through a line."""
    flows = more.pop("flows", (Flow("f1", "s1", "d1", "cubic", seconds=1.0),))
    return Plan(a_line(rate_bit_s=10**6), flows, **more)


def test_data_of_a_plan_read_back_are_the_same():
    plan = a_plan(
        flows=(Flow("f1", "s1", "d1", exchanges=(Exchange(100, 2000, 0.5),)), Flow("f2", "s1", "d1", bytes=5)),
        sources=(Source("u1", "s1", "d1", {"model": "constant", "rate_packets_s": 10}, 1.0, 500),),
        commands=(Command("c1", 0.5, "r", ("true",)),),
        changes=(Change(0.7, "r-d1", {"rate_bit_s": 50_000}),),
        record=Record(events=("a:b",), pcaps=("r-d1",)),
        gro=("d1",),
        gro_hold_us=500.0,
        routes={"d1": "quickack 1"},
        module_parameters={"tcp_pktpair": {"train_min": "5"}},
    )
    plan.check()
    assert Plan.of(json.loads(json.dumps(plan.as_data()))) == plan


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (a_plan(flows=(Flow("f1", "s1", "d9", seconds=1.0),)), "no node d9; it has: s1, r, d1"),
        (a_plan(flows=(Flow("f1", "s1", "d1"),)), "needs one of bytes, seconds, exchanges; has none"),
        (a_plan(flows=(Flow("f1", "s1", "d1", bytes=1, seconds=1.0),)), "has bytes and seconds"),
        (a_plan(flows=(Flow("f1", "s1", "d1", bytes=1, family=5),)), "family 5: must be 4 or 6"),
        (a_plan(flows=(Flow("f1", "s1", "d1", bytes=1),) * 2), "f1: 2 flows or sources of this name"),
        (a_plan(commands=(Command("c", 0.0, "q", ("true",)),)), "no node q"),
        (a_plan(changes=(Change(0.0, "d1-q"),)), "no device d1-q; it has: s1-r, r-s1, r-d1, d1-r"),
        (a_plan(changes=(Change(0.0, "r-d1", {"rate": 5}),)), "unknown rate; known are delay_ms"),
        (a_plan(record=Record(pcaps=("nothing",))), "no device nothing"),
        (a_plan(traffic="netperf"), "traffic netperf: must be one of engine, iperf3"),
        (a_plan(sysctls={"q": {}}), "no node q"),
        (a_plan(routes={"q": "quickack 1"}), "no node q"),
        (
            a_plan(flows=(), sources=(Source("u", "s1", "d1", EVEN, 1.0, 500),), ends_with_flows=True),
            "^ends_with_flows True: there is no flow, so that no source would send: must be False$",
        ),
        (a_plan(gro_hold_us=100.0), "gro_hold_us 100.0: no node is in gro"),
        (a_plan(commands=(Command("c", -1.0, "r", ("true",)),)), "command c: at_s -1.0: must be at least 0"),
        (a_plan(changes=(Change(-1.0, "r-d1", up=False),)), "change of r-d1: at_s -1.0: must be at least 0"),
        (a_plan(settle_s=-1.0), "settle_s -1.0: must be at least 0"),
        (
            a_plan(flows=(Flow("f1", "s1", "d1", bytes=1, packet_bytes=127),)),
            "f1: packet_bytes 127: must be 0 or at least 128",
        ),
        (
            a_plan(flows=(Flow("f1", "s1", "d1", exchanges=(Exchange(0, 1),)),)),
            "f1: request_bytes 0: must be at least 1",
        ),
        (
            a_plan(changes=(Change(1.0, "r-d1", {"delay_ms": float("inf")}),)),
            "link r-d1: delay_ms inf: must be finite",
        ),
        (a_plan(gro=("d1",), gro_hold_us=-1.0), "gro_hold_us -1.0: must be 0 or at least 0.001"),
        (
            dataclasses.replace(
                a_plan(flows=(Flow("f1", "s1", "d1", bytes=1, family=6),)),
                topology=dataclasses.replace(a_line(), links=(Link("s1", "r", mtu_bytes=500), Link("r", "d1"))),
            ),
            "link s1-r: mtu_bytes 500: must be at least 1280 for IPv6",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan, message):
    with pytest.raises(PlanError, match=message):
        plan.check()


def sending(model: str, **arguments) -> Plan:
    """A source for 10 s through a line."""
    return a_plan(sources=(Source("u", "s1", "d1", {"model": model, **arguments}, 10.0, 500),))


def sending_to_itself() -> Plan:
    return a_plan(sources=(Source("u", "d1", "d1", EVEN, 1.0, 500),))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        *(
            (sending("constant", rate_packets_s=rate), f"source u: arrivals constant: rate_packets_s {said}")
            for rate, said in (
                (0, "0: must be at least 1e-06"),
                (-1.0, "-1.0: must be at least"),
                (float("nan"), "nan: must be at least"),
                (float("inf"), "inf: must be finite"),
                (1e9, "1000000000.0: must be at most 10000000"),
                ("5", r"'5' \(str\): must be a number"),
            )
        ),
        (sending("constant", rate_packets_s=2e6), "source u: packets in 10 s 20000000: must be at most 10000000"),
        (
            sending("on_off", rate_packets_s=2e6, start_s=0.0, on_s=12.0, off_s=900_000.0),
            "source u: packets in 10 s 20000000: must be at most 10000000",
        ),
        (sending("poisson", rate_packets_s=1.0, start_s=-1.0, seed="x"), "poisson: start_s -1.0: must be at least 0"),
        (sending("poisson", rate_packets_s=1.0, start_s=0.0, seed=None), r"poisson: seed None \(NoneType\): must be a"),
        (sending("on_off", rate_packets_s=1.0, start_s=0.0, on_s=0.0, off_s=1.0), "on_off: on_s 0.0: must be at least"),
        (sending("on_off", rate_packets_s=1.0, start_s=0.0, on_s=1.0, off_s=-1.0), "off_s -1.0: must be at least 0"),
        (sending("listed", times_s=[0.5, float("inf")]), "arrivals listed: times_s inf: must be finite"),
        (sending("listed", times_s=5), r"arrivals listed: times_s 5 \(int\): must be a list, each a number"),
        (a_plan(flows=(Flow("f", "s1", "d1", seconds=1e6),)), "flow f: seconds 1000000.0: must be at most 999940"),
        (a_plan(flows=(Flow("f", "s1", "d1", bytes=10**20),)), "flow f: bytes 1.*: must be at most 1125899906842624"),
        (a_plan(flows=(Flow("f", "s1", "d1", bytes=2**31),)), "f: bytes 2147483648: are handed over at once: must be"),
        (
            a_plan(flows=(Flow("f", "s1", "d1", bytes=1, window_bytes=2**31),)),
            "window_bytes .*: must be at most 1073741824",
        ),
        (
            a_plan(flows=(Flow("f", "s1", "d1", bytes=1, packet_bytes=1501),)),
            "flow f: packet_bytes over link s1-r 1501: must be at most 1500",
        ),
        (
            a_plan(sources=(Source("u", "s1", "d1", EVEN, 1.0, 1501),)),
            "source u: packet_bytes over link s1-r 1501: must",
        ),
        (a_plan(flows=(Flow("f", "s1", "d1", "a b", bytes=1),)), "flow f: cc 'a b': a name has letters"),
        (a_plan(flows=(Flow("f", "s1", "d1", "c" * 16, bytes=1),)), "cc c+: characters 16: must be at most 15"),
        (a_plan(flows=(Flow("f", "s1", "s1", bytes=1),)), "flow f: sink s1: must be another node than its source"),
        (sending_to_itself(), "source u: sink d1: must be another node than its source"),
        (a_plan(hash_seed=0), "plan: hash_seed 0: must be at least 1"),
        (a_plan(hash_seed=2**32), "plan: hash_seed 4294967296: must be at most 4294967295"),
        (a_plan(record=Record(sample_s=1e-7)), "record: sample_s 1e-07: must be 0 or at least 1e-06"),
        (a_plan(record=Record(sample_s=2.0)), "record: sample_s 2.0: must be at most the run's length, 1 s"),
        (
            a_plan(record=Record(sample_s=1e-6), seconds=2.0),
            "2 flows and queues: samples 4000000: must be at most 2000",
        ),
        (
            # it may take the minute after the run's time
            a_plan(flows=(Flow("f", "s1", "d1", bytes=10**9),), record=Record(sample_s=1e-5)),
            "sample_s 1e-05 for 60 s, 2 flows and queues: samples 12000000: must be at most 2000000",
        ),
        (
            a_plan(flows=(Flow("f", "s1", "d1", exchanges=(Exchange(1, 1),)),), record=Record(sample_s=1e-5)),
            "samples 12000000: must be at most 2000000",
        ),
        (a_plan(record=Record(events=("../x",))), "record: events '../x': must be as fq_rr:fq_rr_enqueue"),
        (a_plan(commands=(Command("c", float("nan"), "r", ("true",)),)), "command c: at_s nan: must be at least 0"),
        (a_plan(commands=(Command("c", 0.0, "r", ("a\0b",)),)), "command c: argv .*: no word can have a character 0"),
        (a_plan(commands=(Command("c", 0.0, "*", ("true",)),)), r"command c: topology line has no node \*"),
        (a_plan(gro=("root",)), "gro: topology line has no node root"),
        (a_plan(routes={"root": "quickack 1"}), "routes: topology line has no node root"),
        (a_plan(routes={"r": "quickack 1"}), "routes of r: all networks are its own: it has no route"),
        (a_plan(routes={"s1": "quickack 1\nroute del default"}), "routes of s1 'quick.*: options have letters"),
        (a_plan(sysctls={"*": {"/etc/passwd": "x"}}), r"sysctls of \* '/etc/passwd': must be as net.ipv4"),
        (a_plan(sysctls={"*": {"..etc.passwd": "x"}}), r"sysctls of \* '..etc.passwd': must be as"),
        (a_plan(module_parameters={"../m": {"p": "x"}}), "module_parameters '../m': a name has letters"),
        (a_plan(observed=("s1-r",), record=Record(sample_s=0.1)), "observed s1-r: never has a queue: must have a rate"),
        (a_plan(observed=("r-d1",)), "observed r-d1: record.sample_s is 0"),
    ],
)
def test_what_would_fail_late_or_mean_nothing_is_refused(plan, message):
    """With the field, the value, and the limit."""
    with pytest.raises(PlanError, match=message):
        plan.check()


@pytest.mark.parametrize(("start_s", "seconds"), [(0.0, 4.0), (0.5, 12.0), (7.0, 7.5), (2.0, 1.0), (0.0, 200.0)])
def test_packets_of_a_source_that_pauses(start_s, seconds):
    model = {"model": "on_off", "rate_packets_s": 100.0, "start_s": start_s, "on_s": 1.5, "off_s": 8.0}
    source = Source("u", "s1", "d1", model, seconds, 500)
    assert abs(source.packets - len(source.times_ns())) <= 1


def named(*names: str) -> Plan:
    """Sources of these names."""
    return a_plan(sources=tuple(Source(name, "s1", "d1", EVEN, 1.0, 500) for name in names))


def done(*names: str) -> tuple[Command, ...]:
    return tuple(Command(name, 0.0, "r", ("true",)) for name in names)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (named("u", "f1"), r"^sources\[1\].name f1: 2 flows or sources of this name, the other is flows\[0\].name$"),
        (
            a_plan(commands=done("c", "c")),
            r"^commands\[1\].name c: 2 commands of this name, the other is commands\[0\]",
        ),
        (named("queue"), r"^sources\[0\].name queue queue_delay_p50_s: 2 parts of .*, the other is every run$"),
        (named("start_queue"), "start_queue_delay_p50_s: 2 parts of the plan with this metric"),
        (
            a_plan(
                record=Record(sample_s=0.1, pcaps=("r-d1", "r-d1")),
            ),
            r"^record.pcaps\[1\] r-d1: 2 of this name, the other is record.pcaps\[0\]$",
        ),
        (a_plan(record=Record(sample_s=0.1), observed=("r-d1",) * 2), r"^observed\[1\] r-d1: 2 of this name"),
        (
            a_plan(changes=(Change(1.0, "r-d1", {"delay_ms": 1.0}), Change(1.0, "r-d1", {"delay_ms": 2.0}))),
            r"^changes\[1\] delay_ms of r-d1 at 1.0 s: 2 changes at once, the other is changes\[0\]$",
        ),
        (a_plan(changes=(Change(1.0, "r-d1", up=False), Change(1.0, "r-d1", up=True))), r"^changes\[1\] up of r-d1"),
    ],
)
def test_two_of_one_name_are_refused(plan, message):
    """Where one's results would replace the other's."""
    with pytest.raises(PlanError, match=message):
        plan.check()


def test_what_differs_may_be_told_at_once():
    one = Change(1.0, "r-d1", {"delay_ms": 1.0})
    a_plan(changes=(one, dataclasses.replace(one, at_s=2.0), Change(1.0, "r-d1", {"loss": 0.1}))).check()
    a_plan(changes=(one, Change(1.0, "d1-r", {"delay_ms": 1.0}))).check()
    a_plan(observed=("d1-r",), record=Record(sample_s=0.1), changes=(Change(0.5, "d1-r", {"delay_ms": 1.0}),)).check()


def test_listed_times_may_be_in_any_order():
    found = arrivals.until(arrivals.of({"model": "listed", "times_s": [0.3, 9.0, 0.1]}), 10**9)
    assert found == [10**8, 3 * 10**8]


NET = {"net.ipv4.tcp_sack": 0}
MODEL = {"model": "constant", "rate_packets_s": 10}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (a_plan(flows=(Flow("f1", "s1", "d1", seconds="5"),)), r"^flow f1: seconds '5' \(str\): must be a number$"),
        (a_plan(flows=(Flow("f1", "s1", "d1", bytes=5e6),)), r"flow f1: bytes 5000000.0 \(float\): must be a whole"),
        (a_plan(flows=(Flow("f1", "s1", "d1", bytes=True),)), r"flow f1: bytes True \(bool\): must be a whole number"),
        (a_plan(flows=(Flow("f1", "s1", "d1", exchanges=(5,)),)), r"exchanges 5 \(int\): must be an Exchange"),
        (
            a_plan(flows=(Flow("f1", "s1", "d1", exchanges=(Exchange("1", 2),)),)),
            r"flow f1: request_bytes '1' \(str\): must be a whole number",
        ),
        (
            a_plan(flows=Flow("f1", "s1", "d1", seconds=1.0)),
            r"plan: flows Flow\(.* \(Flow\): must be a list, each a Flow",
        ),
        (a_plan(sysctls={"s1": NET}), r"^plan: sysctls: s1: net.ipv4.tcp_sack 0 \(int\): must be a text$"),
        (a_plan(module_parameters={"m": {"p": 5}}), r"plan: module_parameters: m: p 5 \(int\): must be a text"),
        (a_plan(sysctls={"s1": "x"}), r"plan: sysctls: s1 'x' \(str\): must be a dict, each value a text"),
        (a_plan(routes=MappingProxyType({})), r"plan: routes mappingproxy\(\{\}\) \(mappingproxy\): must be a dict"),
        (
            a_plan(sources=(Source("u", "s1", "d1", MappingProxyType(MODEL), 1.0, 500),)),
            r"source u: model mappingproxy\(.*\(mappingproxy\): must be a dict, each value any$",
        ),
        (a_plan(ends_with_flows=1), r"plan: ends_with_flows 1 \(int\): must be True or False"),
        (a_plan(record=Record(events="a:b")), r"record: events 'a:b' \(str\): must be a list, each a text"),
        (a_plan(changes=(Change("1", "r-d1"),)), r"change of r-d1: at_s '1' \(str\): must be a number"),
        (a_plan(changes=(Change(1.0, "r-d1", up=0),)), r"up 0 \(int\): must be True or False or None"),
        (a_plan(changes=(Change(1.0, "r-d1", {"delay_ms": "5"}),)), r"delay_ms '5' \(str\): must be a number"),
        (a_plan(commands=(Command("c", 0.0, "r", ()),)), r"command c: argv \(\): has no program"),
        (a_plan(commands=(Command("c", 0.0, "r", "true"),)), r"argv 'true' \(str\): must be a list, each a text"),
        (a_plan(commands=(Command("a/b", 0.0, "r", ("true",)),)), "command 'a/b': a name has letters"),
        (a_plan(flows=(Flow("a b", "s1", "d1", seconds=1.0),)), "flow 'a b': a name has letters"),
        (a_plan(flows=(Flow("", "s1", "d1", seconds=1.0),)), "flow '': a name has letters, .* and at least one"),
        (a_plan(sources=(Source("../x", "s1", "d1", MODEL, 1.0, 500),)), "source '../x': a name has letters"),
        (a_plan(sources=(Source("u", "s1", "d1", MODEL, 1.0, 500.0),)), r"source u: packet_bytes 500.0 \(float\)"),
        (Plan(a_line(delay_ms="5")), r"^link r-d1: delay_ms '5' \(str\): must be a number$"),
        (Plan(a_line(rate_bit_s=1e6)), r"link r-d1: rate_bit_s 1000000.0 \(float\): must be a whole number"),
        (Plan(None), r"plan: topology None \(NoneType\): must be a Topology"),
    ],
)
def test_what_is_of_another_type_is_refused(plan, message):
    """With the field, the value, and what it must be."""
    with pytest.raises(PlanError, match=message):
        plan.check()


def test_a_whole_number_is_a_number_and_a_list_is_as_good_as_a_tuple():
    a_plan(flows=[Flow("f-1.a_B", "s1", "d1", seconds=1)], settle_s=0).check()


def test_a_burst_larger_than_a_datagram_is_refused():
    model = {"model": "constant", "rate_packets_s": 10}
    with pytest.raises(PlanError, match="a burst of 50 packets is 73600 bytes; must be at most 65507"):
        Source("u", "s1", "d1", model, 1.0, 1500, burst=50).check()


DRAWN = """
import random

from lab.topo import LabTopo, way


class Drawn(LabTopo):
    def build(self, seed=None):
        a, b = self.addHost("a"), self.addHost("b")
        self.addLink(a, b, there=way(delay_ms=random.Random(seed).random()))


topos = {"drawn": Drawn}
"""


def test_a_topology_that_is_drawn_anew_each_time_is_refused(tmp_path):
    """No plan of it were ever the same, although a process reads it once."""
    path = tmp_path / "drawn.py"
    path.write_text(DRAWN)
    message = (
        r"two readings of topology drawn .* differ: topology.links\[0\].there.delay_ms is 0\.\d+ and 0\.\d+; what it"
    )
    with pytest.raises(PlanError, match=message):
        topology("drawn", file=path)
    assert topology("drawn", file=path, seed=1) == topology("drawn", file=path, seed=1)


def test_a_change_leaves_what_it_does_not_name():
    before = Way(rate_bit_s=5, queue="cake", delay_ms=3)
    assert changed(before, Change(0.0, "x", {"rate_bit_s": 7})) == dataclasses.replace(before, rate_bit_s=7)


def with_changes(way: Way, *values: dict[str, object], back: Way | None = None) -> Plan:
    """A flow through a line of which what leaves r for d1 takes other ways, one second after another."""
    links = (Link("s1", "r"), Link("r", "d1", way, back or Way()))
    changes = [Change(float(second), "r-d1", one) for second, one in enumerate(values, 1)]
    # the order of the list is none
    return Plan(
        dataclasses.replace(a_line(), links=links), (Flow("f1", "s1", "d1", seconds=9.0),), changes=tuple(changes[::-1])
    )


@pytest.mark.parametrize("queue", devices.SWITCHES)
def test_a_switch_of_the_thesis_has_what_its_module_says(queue):
    """One place for its rate and limit: what a way says beside it is refused, and so is a change."""
    parameters = {"sch_thesis": {"rate_bit_s": "1000000", "limit_packets": "9"}}
    plan = Plan(a_line(rate_bit_s=10**6, queue=queue), module_parameters=parameters)
    plan.check()
    assert lay_out(plan.topology).devices["r-d1"].sending_lines(1)[0].endswith(f"root handle 1: {queue}")
    wrong = {
        "rate_bit_s 1000000: must be the parameter of sch_thesis, 2000": {
            "module_parameters": {"sch_thesis": {"rate_bit_s": "2000"}}
        },
        "must be the parameter of sch_thesis, which the plan does not set": {"module_parameters": {}},
        "limit_packets 5: the parameters of sch_thesis": {
            "topology": a_line(rate_bit_s=10**6, queue=queue, limit_packets=5)
        },
        "options flows 1: the parameters": {"topology": a_line(rate_bit_s=10**6, queue=queue, options="flows 1")},
        "change of r-d1: .* hold for the whole run": {
            "changes": (Change(1.0, "r-d1", {"rate_bit_s": 5}),),
            "seconds": 2,
        },
    }
    for message, fields in wrong.items():
        with pytest.raises(PlanError, match=message):
            dataclasses.replace(plan, **fields).check()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (with_changes(Way(), {"rate_bit_s": 10**6}, {"queue": "cake"}), ""),
        (with_changes(Way(), {"queue": "cake"}, {"rate_bit_s": 10**6}), "change of r-d1 at 1 s: .* needs a rate"),
        (with_changes(Way(10**6), {"queue": "cake"}, {"rate_bit_s": 0}), "change of r-d1 at 2 s: .* needs a rate"),
        (with_changes(Way(), {"loss": 0.1}, {"lose_every": 9}), "at 2 s: .* loss 0.1 beside lose_every 9: one of"),
        (with_changes(Way(), {"loss": 0.1}, {"loss": 0.0}, {"lose_every": 9}), ""),
        (with_changes(Way(10**6), {"queue": "policer"}, back=Way(lose_every=9)), "at 1 s: .* a policer beside"),
        (with_changes(Way(delay_ms=5, jitter_ms=3), {"delay_ms": 2}), "at 1 s: .* jitter_ms 3: must be at most"),
        (with_changes(Way(10**6), {"queue": "no"}), "queue no: must be one of"),
    ],
)
def test_changes_are_checked_in_the_order_of_their_times(plan, message):
    """Each against what those before it have made of the topology."""
    if not message:
        plan.check()
        return
    with pytest.raises(PlanError, match=message):
        plan.check()


def lines_after(before: Way, after: Way) -> list[str]:
    """What tc is told when what leaves r for d1 takes another way, at the device and at the other end."""
    found = []
    for name in ("r-d1", "d1-r"):
        old, new = (lay_out(a_line(**dataclasses.asdict(way))).devices[name] for way in (before, after))
        found += devices.rewritten(old.sending_lines(1), new.sending_lines(1))
        found += devices.rewritten(old.receiving_lines(), new.receiving_lines())
    return found


@pytest.mark.parametrize("queue", sorted({*devices.QUEUES} - {*devices.SWITCHES}))
def test_a_queue_of_another_rate_stays_with_what_it_holds(queue):
    lines = lines_after(Way(4_000_000, queue), Way(8_000_000, queue))
    assert lines and not any(line.startswith("qdisc del") or " add " in line for line in lines if "filter" not in line)
    if queue == "policer":
        assert lines[0] == "filter del dev r-d1 egress" and "police rate 8074666bit" in lines[1]


def red_bits(line: str) -> int:
    """What the kernel's average needs of a RED's line: its larger threshold's bits, and those of tc's constant."""
    words = line.split()
    least, most, packet, burst = (int(words[words.index(name) + 1]) for name in ("min", "max", "avpkt", "burst"))
    above = burst + 1 - least / packet
    constant = next(bits for bits in range(1, 32) if above <= (1 - (1 - 0.5**bits) ** burst) * 2**bits)
    return most.bit_length() + constant


@pytest.mark.parametrize("mtu_bytes", [68, 500, 1500, 2315, 2316, 4000, 9000, 32_000, 65_535])
def test_what_red_takes_the_kernel_takes(mtu_bytes):
    """It refuses an average of 32 bits; of 9000 bytes that are 1553 packets where 6000 of 1500 bytes are taken."""
    way = Way(10**9, "red", 0)
    most = min(6_000, 13_981_013 // (mtu_bytes + 14))
    for limit_packets in (0, 11, 12, 100, most // 2, most - 1, most):
        lines = devices.queue("r-x", dataclasses.replace(way, limit_packets=limit_packets), 1, mtu_bytes)
        assert red_bits(lines[1]) < 32
    with pytest.raises(PlanError, match=f"limit_packets of red {most + 1}: must be at most {most}$"):
        devices.queue("r-x", dataclasses.replace(way, limit_packets=most + 1), 1, mtu_bytes)


@pytest.mark.parametrize(
    ("way", "less", "gone"),
    [
        (Way(4_000_000, "fq_codel", 5), {"limit_packets": 0}, " limit 5 "),
        (Way(4_000_000, "fq_codel", options="ce_threshold 1ms"), {"options": ""}, "ce_threshold"),
        (Way(4_000_000, "fq_codel", options="ecn"), {"options": "noecn"}, " ecn"),
        (Way(4_000_000, "fq_rr", 5), {"limit_packets": 0}, " limit 5 "),
        (Way(4_000_000, "cake", options="memlimit 1mb"), {"options": ""}, "memlimit"),
        (Way(4_000_000, "netem", options="slot 5ms"), {"options": ""}, "slot"),
    ],
)
def test_an_option_that_a_change_takes_away_is_gone(way, less, gone):
    """A change of tc's keeps what it does not name, so that the queue is made anew."""
    after = dataclasses.replace(way, **less)
    bare, *lines = lines_after(way, after)
    assert bare == "qdisc del dev r-d1 root" and gone not in " ".join(lines)
    assert lines == lay_out(a_line(**dataclasses.asdict(after))).devices["r-d1"].sending_lines(1)


@pytest.mark.parametrize("queue", ["sfq", "htb"])
def test_a_queue_that_cannot_be_changed_is_made_anew(queue):
    way = Way(4_000_000, queue, limit_packets=50, options="r2q 5" if queue == "htb" else "")
    less = dataclasses.replace(way, limit_packets=20, options="r2q 6" if queue == "htb" else "")
    assert lines_after(way, less)[0] == "qdisc del dev r-d1 root"


def test_a_delay_line_that_changes_stays_with_what_it_holds():
    """What it does no more, it is told."""
    line = "qdisc change dev r-d1 root handle 1: netem limit 1000000 delay"
    assert lines_after(Way(delay_ms=9.0, slot_ms=300.0), Way(delay_ms=9.0)) == [f"{line} 9.0ms slot 0ms 0ms"]
    assert lines_after(Way(delay_ms=9.0, jitter_ms=3.0), Way(delay_ms=9.0)) == [f"{line} 9.0ms rate 0bit"]
    assert lines_after(Way(delay_ms=9.0, loss=0.5), Way(delay_ms=9.0)) == [f"{line} 9.0ms"]


@pytest.mark.parametrize(("limit_packets", "said"), [(0, 1000), (50, 50)])
def test_a_bucket_that_changes_leaves_the_limit_of_its_queue(limit_packets, said):
    """The kernel gives a FIFO inside it the bucket's own."""
    slow, fast = (Way(rate_bit_s, "pfifo", limit_packets) for rate_bit_s in (4_000_000, 8_000_000))
    bucket, leaf = lines_after(slow, fast)
    assert bucket.startswith("qdisc change dev r-d1 root") and " tbf rate 8000000bit " in bucket
    assert leaf == f"qdisc change dev r-d1 parent 1:1 handle 10: pfifo limit {said}"


def test_what_is_lost_may_change_beside_a_policer():
    """Filters of the other direction stay, and so does what they hang on."""
    losing, more = Way(lose_every=7), Way(lose_every=9)
    assert lines_after(losing, more) == [
        "filter del dev d1-r ingress",
        "filter add dev d1-r ingress matchall action gact pipe random determ drop 9",
    ]
    assert lines_after(losing, Way()) == ["filter del dev d1-r ingress"]


def test_two_kinds_of_drops_on_one_device_are_refused():
    """Its filters' drops are counted in one figure."""
    link = Link("r", "d1", Way(10**6, "policer"), Way(lose_every=5))
    with pytest.raises(PlanError, match="link r-d1: a policer beside lose_every or keep_every of the other way"):
        link.check()
    Link("r", "d1", Way(10**6, "policer"), Way(slot_ms=4)).check()


def test_arrivals_are_those_of_their_model():
    assert arrivals.until(arrivals.of({"model": "constant", "rate_packets_s": 4}), 10**9) == [
        0,
        25 * 10**7,
        5 * 10**8,
        75 * 10**7,
    ]
    assert arrivals.until(arrivals.of({"model": "listed", "times_s": [0.1, 0.3]}), 2 * 10**8) == [10**8]
    with pytest.raises(PlanError, match="arrivals pareto: must be one of poisson"):
        arrivals.of({"model": "pareto"})
    with pytest.raises(PlanError, match="arrivals constant: .*colour"):
        arrivals.of({"model": "constant", "colour": 1})
