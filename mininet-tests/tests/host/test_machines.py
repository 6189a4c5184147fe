# SPDX-License-Identifier: GPL-2.0
"""Plans on real machines, as far as no machine is needed: the file, the fit, what is refused, and the journal."""

import base64
import dataclasses
import hashlib
import ipaddress
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP, lab
from lab.front import options, real_hosts
from lab.hosts import changes, engine, facts, journal, lacks, merge, ssh, there
from lab.hosts.file import read
from lab.model.errors import PlanError
from lab.model.plan import Command, Flow, Plan, Source
from lab.model.scenario import load

THREE = """
[hosts.anna]
ssh = "root@192.0.2.1"
role = "sender"
interfaces = { eth0 = "bert" }
[hosts.bert]
ssh = "bert"
role = "router"
interfaces = { eth0 = "anna", eth1 = "carl" }
[hosts.carl]
ssh = "carl"
role = "receiver"
interfaces = { eth0 = "bert" }
"""


@pytest.fixture
def three(tmp_path: Path) -> Path:
    path = tmp_path / "three.toml"
    path.write_text(THREE)
    return path


def plan_of(**values: Any) -> Plan:
    scenario = load("one-router")
    own = {name: one.default for name, one in scenario.parameters.items()}
    return scenario.plan({**own, **values}, "pktpair", "fq_rr", 1)


MALFORMED = [
    ("hosts = 3", "hosts: must be a table"),
    ("[hosts", "is not TOML"),
    ("colour = 1", "colour: is not known: must be one of network, ssh_config, hosts"),
    ('network = "10.0.0.0/24"', "network 10.0.0.0/24: must be a /16"),
    ('network = "10.0.0.1/16"', "network 10.0.0.1/16: 10.0.0.1/16 has host bits set"),
    ('ssh_config = "none"', "none: there is no such file"),
]
# What replaces what in the file of three, and what is said.
WRONG = [
    ('role = "sender"', 'role = "king"', "host anna: role 'king': must be one of sender, router, receiver"),
    ('role = "sender"', "role = []", "host anna: role []: must be one of"),
    ('role = "sender"', "", "host anna: role is missing"),
    ('role = "sender"', 'role = "sender"\nport = 22', "host anna: port: is not known: must be one of ssh, role"),
    ('ssh = "bert"', 'ssh = "-oProxyCommand=x"', "host bert: ssh '-oProxyCommand=x': must be as user@host"),
    ('ssh = "bert"', "ssh = 7", "host bert: ssh 7: must be a text"),
    (
        'eth0 = "bert" }\n[hosts.bert]',
        'eth0 = "dora" }\n[hosts.bert]',
        "host anna: interface eth0: dora: must be one of",
    ),
    ('eth1 = "carl"', 'eth1 = "anna"', "host bert: interfaces eth0 and eth1: both lead to anna: must be one"),
    ('eth1 = "carl"', 'eth1 = "bert"', "host bert: interface eth1: leads to bert itself"),
    (', eth1 = "carl"', "", "host carl: interface eth0: leads to bert, of which no interface leads to carl"),
    ('eth1 = "carl"', '"a b" = "carl"', "host bert: interface 'a b': must be a network interface's name"),
    ('eth1 = "carl"', 'lo = "carl"', "host bert: interface 'lo': must be a network interface's name"),
    ("[hosts.anna]", "[hosts.'an na']", "host 'an na': a name has letters"),
    (
        'role = "sender"',
        'role = "sender"\nnode = "x"',
        "host anna: node x: the plan has no such node; it has: r, s1, d1",
    ),
]


@pytest.mark.parametrize(("text", "said"), MALFORMED)
def test_a_file_that_cannot_be(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "machines.toml"
    path.write_text(text if text.startswith(("hosts", "[")) else text + THREE)
    with pytest.raises(PlanError) as refused:
        read(path)
    assert str(path) in str(refused.value) and said in str(refused.value)


@pytest.mark.parametrize(("part", "other", "said"), WRONG)
def test_a_machine_that_cannot_be(part: str, other: str, said: str, three: Path) -> None:
    assert part in THREE
    three.write_text(THREE.replace(part, other, 1))
    with pytest.raises(PlanError) as refused:
        changes.place(plan_of(), read(three))
    assert said in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = lab("run", "one-router", "--machines", tmp_path / "none.toml")
    assert (done.returncode, done.stdout) == (options.BAD_INPUT, "")
    assert done.stderr == f"lab: --machines {tmp_path}/none.toml: No such file or directory\n"


OPTIONS = {
    ("--dry-run",): "--dry-run: is about real machines: needs --machines FILE",
    ("--kernel", "6.1"): "--kernel 6.1: real machines have their own: must be left out with --machines",
    ("--clock", "here"): "--clock here: is of a guest: must be left out with --machines",
    ("--pcap",): "--pcap: packets are captured in guests only: must be left out with --machines",
}


@pytest.mark.parametrize("words", OPTIONS)
def test_options_that_do_not_go_together(words: tuple[str, ...], three: Path) -> None:
    machines = () if words == ("--dry-run",) else ("--machines", three)
    done = lab("run", "one-router", *words, *machines)
    assert (done.returncode, done.stderr) == (options.BAD_INPUT, f"lab: {OPTIONS[words]}\n")


def test_one_run_at_a_time(three: Path, tmp_path: Path) -> None:
    """Each needs all machines."""
    done = lab("sweep", "one-router", "-j", "4", "--machines", three, "--out", tmp_path / "study")
    said = "lab: -j 4: each run needs all machines: must be left out with --machines\n"
    assert (done.returncode, done.stderr) == (options.BAD_INPUT, said) and not (tmp_path / "study").exists()


def test_the_fit_goes_by_roles_and_cables(three: Path) -> None:
    placement = changes.place(plan_of(), read(three))
    found = {node: placed.machine.name for node, placed in placement.nodes.items()}
    assert found == {"r": "bert", "s1": "anna", "d1": "carl"}
    assert placement.nodes["r"].interfaces == {"r-s1": "eth0", "r-d1": "eth1"}
    assert (placement.node_address("s1"), placement.node_address("d1")) == ("198.18.1.1", "198.18.2.2")


def test_a_plan_that_does_not_fit_says_how_many(three: Path) -> None:
    with pytest.raises(PlanError) as refused:
        changes.place(plan_of(pairs=3), read(three))
    said = f"has 3 senders (s1, s2, s3), and {three} has 1 sender (anna): must be at least 3"
    assert str(refused.value) == f"topology one_router: {said}"


def test_a_plan_whose_links_have_no_cable(three: Path) -> None:
    """Enough machines of each role, and yet no way."""
    text = THREE.replace(', eth1 = "carl"', "") + 'node = ""\n'
    three.write_text(text.replace('node = ""\n', "").replace('eth0 = "bert" }\n', 'eth0 = "anna" }\n').replace(
        '[hosts.anna]\nssh = "root@192.0.2.1"\nrole = "sender"\ninterfaces = { eth0 = "anna" }',
        '[hosts.anna]\nssh = "root@192.0.2.1"\nrole = "sender"\ninterfaces = { eth0 = "bert", eth1 = "carl" }',
    ))  # fmt: skip
    with pytest.raises(PlanError) as refused:
        changes.place(plan_of(), read(three))
    assert f"its links (s1-r, r-d1) cannot be laid over the cables of {three} (anna-bert, anna-carl)" in str(
        refused.value
    )


def file_of(roles: dict[str, str], links: Iterable[tuple[str, str]]) -> str:
    """A file of machines; each has an interface for each of its links."""
    lines = []
    for name, role in roles.items():
        peers = [other for one in links for other in one if name in one and other != name]
        cables = ", ".join(f'e{peer} = "{peer}"' for peer in peers)
        lines.append(f'[hosts.{name}]\nssh = "{name}"\nrole = "{role}"\ninterfaces = {{ {cables} }}\n')
    return "".join(lines)


def test_two_routers(tmp_path: Path) -> None:
    """A parking lot: a router is known by the machines behind it, whatever the order in the file."""
    links = (("b", "q"), ("a", "q"), ("q", "p"), ("p", "x"), ("p", "y"))
    roles = {"p": "router", "q": "router", "x": "receiver", "y": "receiver", "a": "sender", "b": "sender"}
    path = tmp_path / "six.toml"
    path.write_text(file_of(roles, links))
    scenario = load("three-bottlenecks")
    values = {name: one.default for name, one in scenario.parameters.items()} | {"bottlenecks": 1}
    plan = scenario.plan(values, "pktpair", "fq_rr", 1)
    found = {node: one.machine.name for node, one in changes.place(plan, read(path)).nodes.items()}
    assert (found["r0"], found["r1"]) == ("q", "p") and {found["s0"], found["s1"]} == {"a", "b"}


def test_several_of_each(tmp_path: Path) -> None:
    """Two pairs: each sender's receiver is behind the router, and equals are taken in the file's order."""
    hosts = {"r": "router", "a": "sender", "b": "sender", "x": "receiver", "y": "receiver", "spare": "sender"}
    text = file_of(hosts, [("r", other) for other in hosts if other != "r"])
    path = tmp_path / "six.toml"
    path.write_text(text)
    found = {node: one.machine.name for node, one in changes.place(plan_of(pairs=2), read(path)).nodes.items()}
    assert found == {"r": "r", "s1": "a", "s2": "b", "d1": "x", "d2": "y"}
    path.write_text(text.replace('ssh = "b"', 'ssh = "b"\nnode = "s1"'))
    found = {node: one.machine.name for node, one in changes.place(plan_of(pairs=2), read(path)).nodes.items()}
    assert found == {"r": "r", "s1": "b", "s2": "a", "d1": "x", "d2": "y"}


def only(**more: Any) -> Plan:
    one = plan_of()
    return Plan(one.topology, one.flows, **more)


CANNOT = {
    "commands: must be empty": only(commands=(Command("c", 0.0, "r", ("true",)),)),
    "sysctls of root: must be empty": only(sysctls={"root": {"vm.swappiness": "1"}}),
    "sysctl net/ipv4/ip_forward: sets that of every": only(sysctls={"r": {"net/ipv4/ip_forward": "1"}}),
    "traffic iperf3: must be engine": only(traffic="iperf3"),
    "flow v6: family 6: must be 4": Plan(plan_of().topology, (Flow("v6", "s1", "d1", bytes=1, family=6),)),
    "source u: family 6: must be 4": Plan(
        plan_of().topology,
        sources=(Source("u", "s1", "d1", {"model": "constant", "rate_packets_s": 1}, 1, 100, family=6),),
    ),
}


@pytest.mark.parametrize("said", CANNOT)
def test_a_plan_that_only_a_guest_can_do(said: str, three: Path) -> None:
    with pytest.raises(PlanError, match=said):
        changes.place(CANNOT[said], read(three))


# The second says whether it can be changed; a virtual interface has no UDP segmentation.
FEATURES = {
    "tcp-segmentation-offload": (True, True),
    "generic-segmentation-offload": (True, True),
    "generic-receive-offload": (True, True),
    "large-receive-offload": (False, False),
}


def of_machine(**more: Any) -> dict[str, Any]:
    """What a machine says of itself that may be bert, with some of it otherwise."""
    qdiscs = [{"kind": "mq", "handle": "0:", "root": True}]
    card = {
        "mtu": 1500,
        "up": True,
        "features": FEATURES,
        "carrier": True,
        "master": "",
        "carries": [],
        "addresses": [],
        "ipv6": [],
        "qdiscs": qdiscs,
        "managed": False,
    }
    good = {
        "kernel": "6.1.0-9-amd64", "machine": "x86_64", "boot": "b", "namespace": 1, "root": True, "net_admin": True,
        "tools": dict.fromkeys((*lacks.TOOLS, *lacks.BUILDING), "/usr/bin/x"),
        "interfaces": {"eth0": card, "eth1": card},
        "all_interfaces": ["lo", "eth0", "eth1"], "ssh_devices": ["wlan0"], "default_devices": ["wlan0"],
        "routes": ["192.0.2.0/24"], "modules": {"sch_fq_rr": {"state": "installed", "version": "1", "signed": True}},
        "headers": True, "lockdown": "none", "sig_enforce": False, "secure_boot": False, "ccs": ["cubic"],
        "default_qdisc": "fq_codel", "sysctls": {}, "tracing": "/sys/kernel/tracing", "btf": "x", "journal": "",
        "parameters": {}, "no_files": [],
    }  # fmt: skip
    return {**good, **more}


def card(**more: Any) -> dict[str, Any]:
    return {"interfaces": {**of_machine()["interfaces"], "eth1": {**of_machine()["interfaces"]["eth1"], **more}}}


NOT_THERE = {"sch_fq_rr": {"state": "missing", "version": "", "signed": False}}
UNSIGNED = {"sch_fq_rr": {"state": "installed", "version": "", "signed": False}}
SECURE = {"lockdown": "integrity", "secure_boot": True}
LACKS: list[tuple[dict[str, Any], str]] = [
    ({"root": False}, "no root right: the user must be root, or be allowed sudo without a password"),
    ({"net_admin": False}, "root may not change networks here (CAP_NET_ADMIN): it is in a container"),
    ({"journal": "left"}, "an earlier lab has changed it and was killed: lab restore --machines "),
    ({"journal": "held"}, "another lab is at work on it"),
    (
        {"tools": {**of_machine()["tools"], "tc": "", "ethtool": ""}},
        "has no tc, ethtool: apt-get install iproute2 ethtool",
    ),
    ({"tools": {**of_machine()["tools"], "setpriv": ""}}, "has no setpriv: apt-get install util-linux"),
    ({"machine": "aarch64"}, "is aarch64: the traffic engine is built for x86_64"),
    ({"modules": NOT_THERE, "headers": False}, "apt-get install linux-headers-6.1.0-9-amd64"),
    ({"modules": NOT_THERE, "tools": {**of_machine()["tools"], "gcc": ""}}, "has no gcc: apt-get install gcc"),
    (
        {"modules": UNSIGNED, **SECURE},
        "Secure Boot is enabled, and the kernel takes signed modules only (lockdown integ",
    ),
    (
        {"modules": NOT_THERE, "sig_enforce": True},
        "takes signed modules only (module.sig_enforce), and sch_fq_rr is not",
    ),
    ({"interfaces": {"eth0": None, "eth1": None}}, "has no interface eth1; it has: lo, eth0, eth1"),
    ({"ssh_devices": ["eth1"]}, "interface eth1 carries this ssh connection, which the lab would cut off"),
    ({"default_devices": ["eth1"]}, "interface eth1 has a default route, which the lab would cut off"),
    (card(master="br0"), "interface eth1 belongs to br0: must be in no bridge or bond"),
    (card(carries=["eth1.5"]), "interface eth1 carries eth1.5, whose traffic and MTU would follow the plan's"),
    (
        card(qdiscs=[{"kind": "tbf", "handle": "1:", "root": True}]),
        "somebody has set up (tbf 1:), which cannot be put back",
    ),
    (card(qdiscs=[{"kind": "clsact", "handle": "ffff:"}]), "somebody has set up (clsact ffff:)"),
    (
        card(qdiscs=[{"kind": "fq", "handle": "0:", "root": True}]),
        "has fq, and net.core.default_qdisc is fq_codel by now",
    ),
    (card(addresses=["198.18.9.1/24"], up=False), "has the address 198.18.9.1/24 of the plan's network 198.18.0.0/16"),
    (card(ipv6=["2001:db8::1/64"], up=False), "has the IPv6 address 2001:db8::1/64, which the kernel takes off"),
    ({"routes": ["198.16.0.0/14"]}, "has a route to 198.16.0.0/14, which overlaps the plan's network 198.18.0.0/16"),
    (
        card(features={**FEATURES, "tcp-segmentation-offload": (True, False)}),
        "interface eth1 has tcp-segmentation-offload on for good: the plan needs it off",
    ),
    ({"sysctls": {"net.core.txrehash": None}}, "has no sysctl net.core.txrehash: the plan sets it"),
    ({"tracing": ""}, "shows no kernel tracing"),
    ({"btf": ""}, "has no type information of its kernel"),
]


def refusals(three: Path, control: tuple[str, int] = ("c", 1), **more: Any) -> list[str]:
    machines = read(three)
    placed = changes.place(plan_of(), machines).nodes["r"]
    said = of_machine(**more)
    said["sysctls"] = {**dict.fromkeys(placed.sysctls, "0"), **said["sysctls"]}
    loaded = {"state": "loaded", "version": "", "signed": True}
    said["modules"] = {**dict.fromkeys(placed.modules, loaded), **said["modules"]}
    return lacks.refusals(placed, said, machines, control, True)


def test_a_machine_that_lacks_nothing(three: Path) -> None:
    assert refusals(three) == []
    # a module that is loaded needs no signature, and an interface that the lab does not use may be anything
    assert refusals(three, **SECURE, default_devices=["wlan0"]) == []


@pytest.mark.parametrize(("what", "said"), LACKS)
def test_what_a_machine_lacks_is_said(what: dict[str, Any], said: str, three: Path) -> None:
    found = refusals(three, **what)
    assert any(line.startswith("host bert: ") and said in line for line in found), found


def test_what_is_to_be_sent_has_to_be_here(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused with what a machine lacks: before anything is touched there."""

    def ask(self: engine.RealHosts, about: Any) -> None:
        for name, wanted in about.items():
            loaded = {"state": "loaded", "version": "", "signed": True}
            self._facts[name] = of_machine(
                boot=name, fq_rr=False, sysctls=dict.fromkeys(wanted["sysctls"], "0"),
                modules=dict.fromkeys(wanted["modules"], loaded),
            )  # fmt: skip

    monkeypatch.setattr(engine.RealHosts, "_connect", lambda self, wanted: None)
    monkeypatch.setattr(engine.RealHosts, "_ask_facts", ask)
    with engine.RealHosts(read(three)) as hosts:
        assert set(hosts._placed(plan_of()).nodes) == {"r", "s1", "d1"}
        monkeypatch.setattr(engine, "TOP", tmp_path)
        with pytest.raises(
            PlanError, match=r"host bert: its tc does not speak fq_rr, and \S+ is not built: make plugin"
        ):
            hosts._placed(plan_of())


def test_what_a_plan_writes_has_to_be_there(three: Path) -> None:
    """A file of a device, and a parameter of a module that is there. One that is built has what its source has."""
    machines = read(three)
    plan = dataclasses.replace(plan_of(), gro=("r",), gro_hold_us=50.0, module_parameters={"sch_fq_rr": {"hue": "1"}})
    placed = changes.place(plan, machines).nodes["r"]
    files = lacks.files_of_devices(placed)
    assert "/sys/class/net/eth1/gro_flush_timeout" in files and len(files) == 4
    loaded = {"state": "loaded", "version": "", "signed": True}
    said = of_machine(
        sysctls=dict.fromkeys(placed.sysctls, "0"),
        modules=dict.fromkeys(placed.modules, loaded),
        parameters={"sch_fq_rr": ["colour"]},
        no_files=["/sys/class/net/eth1/napi_defer_hard_irqs"],
    )
    assert lacks.refusals(placed, said, machines, ("c", 1), False) == [
        "host bert: has no /sys/class/net/eth1/napi_defer_hard_irqs: the plan writes it, and kernel 6.1.0-9-amd64"
        " does not have it",
        "host bert: kernel module sch_fq_rr has no parameter hue there: the plan sets it",
    ]
    said |= {"modules": {**said["modules"], **NOT_THERE}, "no_files": []}
    assert lacks.refusals(placed, said, machines, ("c", 1), False) == []


def test_a_build_shows_each_of_its_commands() -> None:
    do, undo = there.commands({"build": "/lib/modules/6.1/build"})
    assert [argv[0] for argv in do] == ["mkdir", "tar", "bash"] and undo == []


@pytest.mark.parametrize("answer", ["yes", "no", "fails"])
def test_network_manager_is_asked_and_told(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves alone what is under test, and gets back what it had; without it nothing is done."""
    told = tmp_path / "told"
    program = tmp_path / "nmcli"
    program.write_text(f'#!/bin/sh\n[ "$1" = -g ] || echo "$@" >>{told}\necho {answer}\n[ {answer} != fails ]\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    one = journal.Journal.begin({}, folder=tmp_path / "journals")
    one.change(*there.commands({"unmanage": "eth1"}))
    assert one.undo() == []
    one.remove()
    lines = told.read_text().splitlines() if told.exists() else []
    assert lines == ([f"device set eth1 managed {word}" for word in ("no", "yes")] if answer == "yes" else [])


def test_a_dry_run_knows_no_parameter_of_a_module_that_is_not_loaded(tmp_path: Path) -> None:
    hue = tmp_path / "hue"
    assert there.commands({"write": [str(hue), "1"]})[1] == [
        ["sh", "-c", 'echo "$1" >"$2"', "sh", there.AS_FOUND, str(hue)]
    ]
    hue.write_text("7\n")
    assert there.commands({"write": [str(hue), "1"]})[1] == [["sh", "-c", 'echo "$1" >"$2"', "sh", "7", str(hue)]]


def test_what_is_written_and_loaded_is_compared(tmp_path: Path) -> None:
    hue = tmp_path / "hue"
    hue.write_text("7\n")
    before = facts.state((), (), ("nonesuch",), (str(hue),))
    one = journal.Journal.begin(before, folder=tmp_path / "j")
    assert one.differences(facts.state((), (), ("nonesuch",), (str(hue),))) == []
    hue.write_text("8\n")
    now = facts.state((), (), ("nonesuch",), (str(hue),)) | {"module": "nonesuch loaded"}
    assert one.differences(now) == [
        "module: - nonesuch missing",
        "module: + nonesuch loaded",
        f"file: - {hue} = 7",
        f"file: + {hue} = 8",
    ]


def test_what_a_module_depends_on_is_unloaded_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before stays; a name has one kind of dash, whatever its file has."""
    program = tmp_path / "modprobe"
    program.write_text(
        "#!/bin/sh\necho insmod /m/sch_there.ko\necho insmod /m/sch-pie.ko.xz; echo insmod /m/sch_fq_pie.ko\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    states = {"sch_there": "loaded"}
    monkeypatch.setattr(facts, "module", lambda name: {"state": states.get(name, "installed")})
    load = ["modprobe", "sch_fq_pie"]
    assert there.commands({"module": ["sch_fq_pie", load]}) == ([load], [["rmmod", "sch_fq_pie"], ["rmmod", "sch_pie"]])
    built = ["insmod", "/w/source/build/6.1/kmod/tcp_pktpair.ko"]
    assert there.commands({"module": ["tcp_pktpair", built]}) == ([built], [["rmmod", "tcp_pktpair"]])
    states["sch_fq_pie"] = "loaded"
    assert there.commands({"module": ["sch_fq_pie", load]}) == ([], [])


def test_parameters_are_those_that_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "sys/module/sch_fq_rr/parameters").mkdir(parents=True)
    (tmp_path / "sys/module/sch_fq_rr/parameters/hue").touch()
    (tmp_path / "sys/module/sch_red").mkdir()
    assert [facts.parameters(name, tmp_path) for name in ("sch_fq_rr", "sch_red", "nothing")] == [["hue"], [], []]


def test_a_router_that_gives_the_orders(three: Path) -> None:
    assert refusals(three, control=("b", 1)) == [
        "host bert: is this machine, which gives the orders: a router must be another one"
    ]


SSH_SAYS = {
    "ssh: connect to host x port 22: No route to host": "cannot be reached: ssh: connect to host x port 22",
    "No ED25519 host key is known for x and you have requested strict checking.\nHost key verification failed.": (
        "its host key is not known: compare it and log in once by hand: ssh me@x"
    ),
    "@ REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.": "has another host key than is known",
    "me@x: Permission denied (publickey).": "ssh me@x: takes no key of yours",
    "sudo: a password is required": "no root right: sudo: a password is required",
    "sh: 1: python3: not found": "has no python3: apt-get install python3",
    "Timeout, server x not responding.": "the connection was lost: Timeout, server x not responding.",
}


@pytest.mark.parametrize("said", SSH_SAYS)
def test_what_ssh_says_is_explained(said: str) -> None:
    assert ssh.reason("me@x", ssh.LOST, said).startswith(SSH_SAYS[said])


def test_ssh_is_told_to_ask_nothing_and_to_take_no_unknown_host(three: Path) -> None:
    words = ssh.command(read(three), read(three).hosts["anna"])
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ServerAliveInterval=5"} <= set(words)
    # the destination is no option, whatever it is
    assert words[words.index("--") + 1] == "root@192.0.2.1"


def test_who_is_not_root_logs_in_by_sudo(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent starts as whom sudo makes root, which is asked no password."""
    told = tmp_path / "told"
    for name, text in (("id", "echo 1000"), ("sudo", f'printf "%s\\n" "$1" >>{told}; shift; exec "$@"')):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = ssh.command(read(three), read(three).hosts["anna"])[-1]
    done = subprocess.run(["sh", "-c", script], input=ssh.bundle(), capture_output=True, check=False)
    # nothing follows the agent, and so it ends
    assert (done.returncode, done.stdout) == (0, ssh.READY), done.stderr
    assert told.read_text() == "-n\n"


# The journal


def test_what_was_changed_is_undone_backwards_and_again(tmp_path: Path) -> None:
    file = tmp_path / "f"
    one = journal.Journal.begin({}, folder=tmp_path / "j")
    for number in range(3):
        one.change(
            [["sh", "-c", f"echo {number} >>{file}"]],
            [["sh", "-c", f"sed -i '/^{number}$/q1' {file} && exit 1; sed -i '$d' {file}"]],
        )
    assert file.read_text() == "0\n1\n2\n"
    assert one.undo() == []
    assert file.read_text() == ""


@pytest.mark.parametrize("is_of_others", [False, True])
def test_what_was_there_before_is_not_undone(is_of_others: bool, tmp_path: Path) -> None:
    """A user's route, or a folder of ours that was left: the second alone is ours to remove."""
    (tmp_path / "it").mkdir()
    it = str(tmp_path / "it")
    one = journal.Journal.begin({}, folder=tmp_path / "j")
    one.change([["mkdir", f"{it}2"]], [["rmdir", f"{it}2"]], is_of_others)
    with pytest.raises(journal.ChangeError, match="File exists"):
        one.change([["mkdir", it]], [["rmdir", it]], is_of_others)
    assert one.changes == (1 if is_of_others else 2) and one.undo() == []
    assert Path(it).exists() == is_of_others and not Path(f"{it}2").exists()


def killed_after(changes_made: int, folder: Path) -> None:
    """A process that makes changes and is killed in the middle of the next, by that change's own command."""
    text = f"""
        import os, sys
        from pathlib import Path
        from lab.hosts.journal import Journal
        one = Journal.begin({{"files": ""}}, folder=Path({str(folder / "j")!r}))
        for number in range(9):
            path = f"{folder}/changed-{{number}}"
            kill = f"kill -9 {{os.getpid()}}" if number == {changes_made} else "true"
            one.change([["sh", "-c", f"touch {{path}}; {{kill}}"]], [["rm", path]])
    """
    words = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")}, check=False)
    assert done.returncode == -signal.SIGKILL
    # the command that it was at has the lock until it has ended as well
    left = journal.Journal.there(folder / "j", patience=lambda: time.sleep(0.01) is None)
    assert left is not None
    left.close()


@pytest.mark.parametrize("changes_made", [0, 1, 5])
def test_killed_in_the_middle(changes_made: int, tmp_path: Path) -> None:
    """Also the change that it was at is undone: what undoes it was written before."""
    killed_after(changes_made, tmp_path)
    assert len(list(tmp_path.glob("changed-*"))) == changes_made + 1
    left = journal.Journal.there(tmp_path / "j")
    assert left is not None and left.changes == changes_made + 1
    with pytest.raises(journal.JournalError, match="there is one already"):
        journal.Journal.begin({}, folder=tmp_path / "j")
    assert left.undo() == [] and not list(tmp_path.glob("changed-*"))
    # what is undone already, or was never made, is no error
    assert left.undo() == []
    left.remove()
    assert journal.Journal.there(tmp_path / "j") is None


def test_a_line_that_is_not_whole_is_of_no_change(tmp_path: Path) -> None:
    killed_after(1, tmp_path)
    (path,) = (tmp_path / "j").iterdir()
    path.write_text(path.read_text() + '{"undo": [["rm", "-r", "/tm')
    left = journal.Journal.there(tmp_path / "j")
    assert left is not None and left.changes == 2 and left.undo() == []


@pytest.mark.parametrize(
    "line", ["\0\0\0", "{", "3", "[]", "{}", '{"undo": 3}', '{"undo": "rm"}', '{"undo": [[]]}', '{"undo": [["rm", 3]]}']
)
def test_a_journal_that_cannot_be_read_stays(line: str, tmp_path: Path) -> None:
    """Of another version, or damaged: the changes of all lines are still to be put back."""
    killed_after(1, tmp_path)
    (path,) = (tmp_path / "j").iterdir()
    head, first, second = path.read_text().splitlines()
    path.write_text("\n".join([head, first, line, second, ""]))
    with pytest.raises(journal.JournalError, match="cannot be read, and so nothing is undone by it"):
        journal.Journal.there(tmp_path / "j")
    path.write_text("\n".join([line, first, second, ""]))
    with pytest.raises(journal.JournalError, match="cannot be read, and so nothing is undone by it"):
        journal.Journal.there(tmp_path / "j")
    assert path.exists() and len(list(tmp_path.glob("changed-*"))) == 2
    # nobody holds it
    path.write_text("\n".join([head, first, second, ""]))
    left = journal.Journal.there(tmp_path / "j")
    assert left is not None and left.undo() == [] and not list(tmp_path.glob("changed-*"))


def test_no_space_for_the_journal(tmp_path: Path) -> None:
    """The change is not made, and those before it are undone."""
    text = f"""
        import resource
        from pathlib import Path
        from lab.hosts.journal import Journal, JournalError
        one = Journal.begin({{}}, folder=Path({str(tmp_path / "j")!r}))
        one.change([["touch", "{tmp_path}/a"]], [["rm", "{tmp_path}/a"]])
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        try:
            one.change([["touch", "{tmp_path}/b"]], [["rm", "x" * 1000]])
        except JournalError:
            assert Path("{tmp_path}/a").exists() and not Path("{tmp_path}/b").exists()
            assert one.changes == 1 and one.undo() == [] and not Path("{tmp_path}/a").exists()
            raise SystemExit(3)
    """
    words = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")}, check=False)
    assert done.returncode == 3


def test_what_an_agent_that_was_killed_was_at_is_undone_when_it_has_ended(tmp_path: Path) -> None:
    text = f"""
        from pathlib import Path
        from lab.hosts.journal import Journal
        one = Journal.begin({{}}, folder=Path({str(tmp_path / "j")!r}))
        slow = "touch {tmp_path}/begun; sleep 1; touch {tmp_path}/late"
        one.change([["sh", "-c", slow]], [["rm", "{tmp_path}/late"]])
    """
    words = [sys.executable, "-c", textwrap.dedent(text)]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")}) as agent:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        agent.kill()
    with pytest.raises(journal.JournalError, match="is held by a process that is at work"):
        journal.Journal.there(tmp_path / "j")
    left = journal.Journal.there(tmp_path / "j", patience=lambda: time.sleep(0.1) is None)
    assert left is not None and left.undo() == [] and not (tmp_path / "late").exists()


def test_what_cannot_be_put_back_is_said(tmp_path: Path) -> None:
    one = journal.Journal.begin({}, folder=tmp_path)
    one.change([["true"]], [["sh", "-c", "echo not now >&2; exit 3"]])
    assert one.undo() == ["sh -c echo not now >&2; exit 3: not now"]


def test_another_boot_needs_nothing_undone(tmp_path: Path) -> None:
    killed_after(1, tmp_path)
    (path,) = (tmp_path / "j").iterdir()
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(head), "boot": "of before"}), *lines]) + "\n")
    left = journal.Journal.there(tmp_path / "j")
    assert left is not None and left.undo() == []
    assert len(list(tmp_path.glob("changed-*"))) == 2


def test_a_journal_is_of_one_lab_at_a_time(tmp_path: Path) -> None:
    one = journal.Journal.begin({}, folder=tmp_path)
    with pytest.raises(journal.JournalError, match="is held by a process that is at work"):
        journal.Journal.there(tmp_path)
    one.close()
    assert journal.Journal.there(tmp_path) is not None


def test_a_difference_is_named(tmp_path: Path) -> None:
    one = journal.Journal.begin({"ip route": "a\nb", "sysctl": "c"}, folder=tmp_path)
    assert one.differences({"ip route": "b\nd", "sysctl": "c"}) == ["ip route: - a", "ip route: + d"]


@pytest.mark.parametrize(("said", "is_undone"), [("File exists", False), ("no memory", True)])
def test_the_agent_undoes_nothing_that_was_there(
    said: str, is_undone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that ip or tc refuses, since somebody's own is there."""
    begin, undone = journal.Journal.begin, tmp_path / "undone"
    monkeypatch.setattr(journal.Journal, "there", lambda: None)
    monkeypatch.setattr(journal.Journal, "begin", lambda before, watched: begin(before, watched, tmp_path / "j"))
    monkeypatch.setattr(there.facts, "state", lambda *watched: {})
    host = there.Host(there.Orders(os.open(os.devnull, os.O_RDONLY)), 1)
    # /dev/null has ended, and so have its orders
    monkeypatch.setattr(host._orders, "check", lambda: None)
    step = {"command": [["sh", "-c", f"echo {said} >&2; exit 2"]], "undo": [["touch", str(undone)]]}
    with pytest.raises(journal.ChangeError, match=said):
        host.do_apply({"interfaces": [], "sysctls": [], "modules": [], "files": [], "steps": [step]})
    assert host.put_back()["problems"] == []
    assert undone.exists() == is_undone


def test_what_another_boot_put_back_is_not_counted(tmp_path: Path) -> None:
    killed_after(1, tmp_path)
    (path,) = (tmp_path / "j").iterdir()
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(head), "boot": "of before"}), *lines]) + "\n")
    host = there.Host(there.Orders(os.open(os.devnull, os.O_RDONLY)), 1)
    host._journal = journal.Journal.there(tmp_path / "j")
    assert host.put_back() == {"changes": 0, "problems": [], "differences": []}
    assert not path.exists()


# What a machine is, and what comes back


@pytest.mark.parametrize("takes", [1, 2, 3])
def test_what_another_program_undoes_is_put_back_again(takes: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Once more, and then it is said; the journal goes, since a third time would do the same."""
    undone = tmp_path / "undone"
    host = there.Host(there.Orders(os.open(os.devnull, os.O_RDONLY)), 1)
    host._journal = journal.Journal.begin({"eth0": "as it was"}, folder=tmp_path)
    host._journal.change([], [["sh", "-c", f"echo >>{undone}"]])
    monkeypatch.setattr(there, "SETTLE_S", 0.0)

    def state(*watched: Any) -> dict[str, str]:
        return {"eth0": "as it was" if undone.stat().st_size >= takes else "otherwise"}

    monkeypatch.setattr(there.facts, "state", state)
    found = host.put_back()
    assert undone.stat().st_size == min(takes, 2) and found["problems"] == []
    assert found["differences"] == ([] if takes < 3 else ["eth0: - as it was", "eth0: + otherwise"])
    assert not journal.path_in(tmp_path).exists()


def test_secure_boot_is_seen(tmp_path: Path) -> None:
    assert facts.lockdown(tmp_path) == {"lockdown": "none", "sig_enforce": False, "secure_boot": False}
    for name, content in {
        "sys/kernel/security/lockdown": b"none [integrity] confidentiality\n",
        "sys/module/module/parameters/sig_enforce": b"Y\n",
        facts.SECURE_BOOT: b"\6\0\0\0\1",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert facts.lockdown(tmp_path) == {"lockdown": "integrity", "sig_enforce": True, "secure_boot": True}


def test_the_offset_is_of_the_fastest_answer() -> None:
    """Asked at 100, answered at 104: it was 102 here when it was 1102 there, to within 2."""
    found = merge.measured([(0, 50, 1030, 5030), (100, 104, 1102, 5102), (200, 230, 1220, 5220)])
    assert found == merge.Clock(offset_ns=1000, error_ns=2, real_ns=4000)


def test_traces_are_on_one_clock() -> None:
    line = "  swapper-0 [000] d..1. 12.000005: ack: (tcp_rate_gen+0x0/0x1) sport=10001"
    head = "# entries-in-buffer/entries-written: 1/1   #P:1\n"
    clocks = {"a": merge.Clock(2_000_000_000, 1, 0), "b": merge.Clock(-1_000, 1, 0)}
    found = merge._trace({"a": head + line, "b": head + line}, clocks)
    assert "entries-written: 2/2" in found
    assert [part.split()[3] for part in found.splitlines()[1:]] == ["10.000005:", "12.000006:"]


def test_the_network_is_for_benchmarks(three: Path) -> None:
    """RFC 2544's."""
    assert read(three).network.subnet_of(ipaddress.IPv4Network("198.18.0.0/15"))


def test_a_signal_ends_a_command_as_an_interrupt_does() -> None:
    """So that machines are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        real_hosts.leave_nothing_changed()
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# In place of ssh: takes the agent's source, says that it is ready, and answers as the lines of its plan say.
FAKE_SSH = """#!/usr/bin/env python3
import json, os, struct, sys, time
def read(size):
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        open(os.environ["ENDED"], "w").close()
        sys.exit()
    return data
def say(kind, payload):
    os.write(1, kind + len(payload).to_bytes(4, "little") + payload)
read(int(read(9)))
say(b"R", b"{}")
while True:
    order = json.loads(read(int.from_bytes(read(5)[1:], "little")))
    if order["do"] == "late":
        time.sleep(order["after_s"])
    if order["do"] == "raw":
        os.write(1, bytes.fromhex(order["hex"]))
    elif order["do"] != "stay":
        say(b"D", json.dumps({"answer": order, "error": order.get("error")}).encode())
"""


@pytest.fixture
def remote(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[ssh.Remote]:
    program = tmp_path / "ssh"
    program.write_text(FAKE_SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("ENDED", str(tmp_path / "ended"))
    machines = read(three)
    one = ssh.Remote(machines, machines.hosts["anna"])
    yield one
    one.kill()


def frame(payload: bytes, kind: bytes = b"D", size_bytes: int | None = None) -> str:
    return (kind + (len(payload) if size_bytes is None else size_bytes).to_bytes(4, "little") + payload).hex()


NONSENSE = {
    "half": frame(b"{"),
    "no text": frame(b"\xff\xfe"),
    "a list": frame(b"[]"),
    "nothing": frame(b"null"),
    "no error": frame(b'{"answer": 1}'),
    "deep": frame(b"[" * 100_000),
    "another kind": frame(b'{"answer": 1, "error": null}', kind=b"P"),
    "giant": frame(b"", size_bytes=2**32 - 1),
    "a greeting": b"Last login: Thu Nov 26".hex(),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_an_answer_that_is_none(what: str, remote: ssh.Remote) -> None:
    """Names the host; and what comes after it is not taken for the answer to another question."""
    with pytest.raises(ssh.HostError, match="host anna: (what it answers to raw cannot be read|answers with a frame)"):
        remote.ask("raw", hex=NONSENSE[what])
    with pytest.raises(ssh.HostError, match="host anna: undo: has not answered raw yet"):
        remote.ask("undo")


def test_an_interrupt_while_a_host_is_at_work(remote: ssh.Remote, tmp_path: Path) -> None:
    """Its answer is still to come, and is not the one to what is asked next; the agent hears of the end meanwhile."""
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(remote.ask("late", after_s=1.0)))
    waiting.start()
    while not remote._asked:
        threading.Event().wait(0.01)
    with pytest.raises(ssh.HostError, match="host anna: undo: has not answered late yet"):
        remote.ask("undo")
    remote.close()
    waiting.join()
    assert answers == [{"do": "late", "after_s": 1.0}] and (tmp_path / "ended").exists()


def test_what_a_host_says_is_nothing_to_a_terminal(remote: ssh.Remote) -> None:
    evil = "\x1b]0;owned\x07\x9b2J\rfine\u202e\n"
    shown = "\\x1b]0;owned\\x07\\x9b2J\\rfine\\u202e\n"
    assert remote.ask("echo", text=evil, names=[{evil: 1}]) == {"do": "echo", "text": shown, "names": [{shown: 1}]}
    with pytest.raises(ssh.HostError) as failed:
        remote.ask("echo", error=evil)
    assert str(failed.value) == f"host anna: {shown}"


class Types:
    """A machine that is asked for its kernel's type information."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def ask(self, what: str) -> Any:
        return self.answer


def test_a_probe_is_kept_whole_or_not_at_all(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no space for it, a part of it is not there for the next run."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)

    def no_space(types: Path) -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3, old[1]))
        return "p:lab/ack tcp_ack"

    monkeypatch.setattr(engine, "CACHE", tmp_path)
    monkeypatch.setattr(engine.btf, "ack_probe", no_space)
    digest = hashlib.sha256(b"types").hexdigest()
    packed = base64.b64encode(zlib.compress(b"types")).decode()
    with engine.RealHosts(read(three)) as hosts:
        monkeypatch.setattr(hosts, "close", lambda: None)
        hosts._facts, hosts._remotes = {"anna": {"btf": digest}}, {"anna": Types(packed)}  # type: ignore[dict-item]
        try:
            with pytest.raises(OSError):
                hosts._probe("anna")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert list((tmp_path / "btf").iterdir()) == []
        monkeypatch.setattr(engine.btf, "ack_probe", lambda types: "p:lab/ack tcp_ack")
        assert hosts._probe("anna") == "p:lab/ack tcp_ack"


@pytest.mark.parametrize("answer", [None, 3, "no base64", base64.b64encode(b"not packed").decode()])
def test_type_information_that_is_none(answer: Any, three: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(engine, "CACHE", tmp_path)
    with engine.RealHosts(read(three)) as hosts:
        monkeypatch.setattr(hosts, "close", lambda: None)
        hosts._facts, hosts._remotes = {"anna": {"btf": "0" * 64}}, {"anna": Types(answer)}  # type: ignore[dict-item]
        with pytest.raises(ssh.HostError, match="host anna: its kernel's type information cannot be read"):
            hosts._probe("anna")


def test_a_slow_way_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that take long to arrive are heard of all the time, though their frame is not whole yet."""
    monkeypatch.setattr(there, "SILENCE_S", 10.0)
    clock = [0.0]
    monkeypatch.setattr(there.time, "monotonic", lambda: clock[0])
    reader, writer = os.pipe()
    orders = there.Orders(reader)
    whole = b"J" + (1000).to_bytes(4, "little")
    os.write(writer, whole)
    for second in range(1, 30):
        clock[0] = float(second)
        os.write(writer, b"x")
        patience = 1000
        while orders._heard_s != clock[0] and patience:
            patience -= 1
            threading.Event().wait(0.005)
        orders.check()
    clock[0] += 11
    with pytest.raises(there.LostError):
        orders.check()
    os.close(writer)


def test_the_connection_by_a_link_local_address_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a host with IPv6 only, sshd names the interface behind a %, and ip takes no such address."""
    links = [{"ifname": "eth1", "addr_info": [{"local": "fe80::2"}]}, {"ifname": "lo", "addr_info": []}]
    asked = []

    def listed(*argv: str) -> list[dict[str, Any]]:
        asked.append(argv)
        return links if argv[2] == "address" else []

    monkeypatch.setattr(facts, "listed", listed)
    assert facts.ssh_devices("fe80::1%eth1 40000 fe80::2%eth1 22") == ["eth1"]
    assert facts.ssh_devices("fe80::1 40000 fe80::2%eth1 22") == ["eth1"]
    assert not any("%" in word for argv in asked for word in argv)


def test_what_lies_on_an_interface_is_seen() -> None:
    """As ip -j link shows it: a VLAN, the ends of a veth pair, and one end whose other is in another namespace."""
    links = [{"ifname": "eth0"}, {"ifname": "eth0.5", "link": "eth0"}, {"ifname": "v0", "link": "v1"},
             {"ifname": "v1", "link": "v0"}, {"ifname": "far", "link_index": 2}]  # fmt: skip
    assert {one["ifname"]: facts.carried(links, one["ifname"]) for one in links} == {
        "eth0": ["eth0.5"], "eth0.5": [], "v0": [], "v1": [], "far": []
    }  # fmt: skip


def test_each_way_of_a_default_route_counts() -> None:
    """As ip -j shows a route with two next hops, and one of the kernel's that refuses."""
    ways = [{"gateway": "192.0.2.1", "dev": "eth0", "weight": 1}, {"gateway": "198.51.100.1", "dev": "eth1"}]
    routes = [{"dst": "default", "nexthops": ways}, {"dst": "192.0.2.0/24", "dev": "eth2"}]
    refusing = {"type": "unreachable", "dst": "default", "dev": "lo"}
    assert facts.default_devices([*routes, refusing, {"dst": "default", "dev": "wlan0"}]) == ["eth0", "eth1", "wlan0"]


def test_the_other_end_of_a_cable_is_no_difference() -> None:
    """A machine is compared with what it was before the next one is put back."""
    was = "10.9.8.0/24 dev to-bert proto kernel scope link src 10.9.8.7 linkdown"
    assert facts.LEFT.sub("", was) == was.removesuffix(" linkdown")
    assert facts.LEFT.sub("", "10.9.8.0/24 dev linkdowns") == "10.9.8.0/24 dev linkdowns"
