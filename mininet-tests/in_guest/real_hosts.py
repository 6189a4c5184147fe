# SPDX-License-Identifier: GPL-2.0
"""Runs on real machines, in a guest: namespaces are the machines, each with an sshd of its own, and cabled to others.

    .venv/bin/python -m in_guest.real_hosts

    anna (sender) --- bert (router) --- carl (receiver)

Each has one more device for ssh alone, to the namespace that gives the orders. All is in a guest, and ends with it.
What a host is, its own programs say: queues, addresses, routes, sysctls, offloads. The last line of what is printed
is JSON: of each case what was seen, for a test to judge.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab import cli
from lab.analyse import series  # noqa: F401 what commands load late is loaded before they are copied
from lab.front import restore, run, sweep  # noqa: F401
from lab.hosts import engine as hosts_engine
from lab.hosts.engine import RealHosts
from lab.hosts.file import read
from lab.model.our_modules import FILES
from lab.model.plan import Exchange, Flow, Plan, Source
from lab.model.scenario import load
from lab.store.sweep import Request, planned

TOP = Path(__file__).resolve().parents[2]
SSHD = TOP / ".cache" / "sshd" / "usr" / "sbin" / "sshd"
FOLDER = Path("/tmp/real-hosts")
JOURNALS = Path("/var/lib/pktpair-lab")
# Of documentation (RFC 5737): nobody's.
SSH_NETWORK = "192.0.2"
# Of the machine that gives the orders.
OWN_ADDRESS = "127.0.0.7"
CABLES = (("anna", "to-bert", "bert", "to-anna"), ("bert", "to-carl", "carl", "to-bert"))
ROLES = {"anna": "sender", "bert": "router", "carl": "receiver"}
# Two of each, cabled as a parking lot with one bottleneck: from dora or emil by fred and gina to hans or ines.
MORE_ROLES = {
    **dict.fromkeys(("dora", "emil"), "sender"),
    **dict.fromkeys(("fred", "gina"), "router"),
    **dict.fromkeys(("hans", "ines"), "receiver"),
}
MORE_CABLES = (
    *(("dora", "to-fred", "fred", "to-dora"), ("emil", "to-fred", "fred", "to-emil")),
    *(("fred", "to-gina", "gina", "to-fred"), ("gina", "to-hans", "hans", "to-gina")),
    ("gina", "to-ines", "ines", "to-gina"),
)
# What the lab may set on a host.
SYSCTLS = (
    *("net.ipv4.ip_forward", "net.ipv4.tcp_no_metrics_save", "net.core.txrehash", "net.ipv4.conf.all.forwarding"),
    *("net.ipv4.conf.all.accept_redirects", "net.ipv4.conf.default.forwarding", "net.ipv4.tcp_congestion_control"),
)
# Of a guest on a machine that is busy with other things; what takes longer hangs.
PATIENCE_S = 240


def must(*argv: str | Path, text: str = "") -> str:
    """A command that has to succeed; what it printed."""
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, input=text, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def inside(host: str, *argv: str | Path) -> list[str]:
    """A command in a host's namespace."""
    return ["nsenter", f"--net=/run/netns/{host}", *map(str, argv)]


class Command:
    """scripts/lab with these words, in a process of its own that has loaded all that is slow to load."""

    def __init__(self, *words: str | Path) -> None:
        sys.stdout.flush()
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 read when the process has ended
        self.pid = os.fork()
        if self.pid == 0:
            status = 99
            try:
                # a command that is killed is killed with nothing but its connections
                os.setsid()
                for fd in (1, 2):
                    os.dup2(self._output.fileno(), fd)
                status = cli.main([str(word) for word in words])
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)

    def end(self) -> tuple[int, str]:
        """Wait for it: its status, and what it said; RuntimeError if it does not end."""
        deadline = time.monotonic() + PATIENCE_S
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        while not ended and time.monotonic() < deadline:
            time.sleep(0.05)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        self._output.seek(0)
        if not ended:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise RuntimeError(f"no end after {PATIENCE_S} s; it said: {self._output.read()[-2000:]}")
        return os.waitstatus_to_exitcode(status), self._output.read()


def lab(*words: str | Path) -> tuple[int, str]:
    """Status and output of scripts/lab with these words."""
    return Command(*words).end()


class Hosts:
    """The namespaces, their sshds, and the file that names them."""

    def __init__(self) -> None:
        FOLDER.mkdir()
        must("mount", "-t", "tmpfs", "tmpfs", FOLDER)
        for name in ("build", ".cache", "out"):
            _writable((TOP / name).resolve(), FOLDER / name)
        # sshd wants a user for its unprivileged part, an empty folder for it, and a root that may log in by key
        # whose shell reads nothing that this machine's user has in his home
        passwd = Path("/etc/passwd")
        root = f"root:x:0:0:root:{FOLDER}:/bin/sh"
        users = re.sub(r"^root:.*$", root, passwd.read_text(), flags=re.MULTILINE)
        passwd.write_text(f"{users}sshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        shadow = Path("/etc/shadow")
        shadow.write_text(re.sub(r"^root:[^:]*:", "root:*:", shadow.read_text(), flags=re.MULTILINE))
        for name in ("host", "user", "stranger"):
            must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", FOLDER / name)
        shutil.copy(FOLDER / "user.pub", FOLDER / "authorized")
        self._roles: dict[str, str] = {}
        self._cables: list[tuple[str, str, str, str]] = []
        self.addresses: dict[str, str] = {}
        self.add(ROLES, CABLES)
        # one of them is up before the lab comes, with an address and a route of its own
        must("ip", "-n", "anna", "link", "set", "to-bert", "up")
        must("ip", "-n", "anna", "address", "add", "10.9.8.7/24", "dev", "to-bert")
        must("ip", "-n", "anna", "route", "add", "10.77.0.0/16", "via", "10.9.8.1")
        self.file = self.write("machines.toml")

    def add(self, roles: Mapping[str, str], cables: Sequence[tuple[str, str, str, str]]) -> None:
        """More of them; files that are written from now on name them as well."""
        for host in roles:
            number = len(self.addresses)
            self.addresses[host] = f"{SSH_NETWORK}.{4 * number + 2}"
            self._add(number, host)
        for one, device, other, its_device in cables:
            must("ip", "-n", one, "link", "add", device, "type", "veth", "peer", "name", its_device, "netns", other)
            for owner, name in ((one, device), (other, its_device)):
                # the kernel gives a device that is up for the first time what it has ever after
                must("ip", "-n", owner, "link", "set", name, "up")
                must("ip", "-n", owner, "link", "set", name, "down")
        self._roles |= roles
        self._cables += cables
        host_key = (FOLDER / "host.pub").read_text().split()[:2]
        with (FOLDER / "known").open("a") as known:
            known.writelines(f"{self.addresses[host]} {' '.join(host_key)}\n" for host in roles)

    def _add(self, number: int, host: str) -> None:
        near, far = f"{SSH_NETWORK}.{4 * number + 1}", self.addresses[host]
        must("ip", "netns", "add", host)
        must("ip", "link", "add", f"ssh-{host}", "type", "veth", "peer", "name", "ssh", "netns", host)
        must("ip", "address", "add", f"{near}/30", "dev", f"ssh-{host}")
        must("ip", "link", "set", f"ssh-{host}", "up")
        must("ip", "-n", host, "address", "add", f"{far}/30", "dev", "ssh")
        must("ip", "-n", host, "link", "set", "ssh", "up")
        must("ip", "-n", host, "link", "set", "lo", "up")
        self.serve(host, far, inside(host))

    def serve(self, name: str, address: str, where: Sequence[str]) -> None:
        """An sshd of its own.

        :param where: what runs a command there
        """
        options = {
            "AuthorizedKeysFile": FOLDER / "authorized",
            "StrictModes": "no",
            "UsePAM": "no",
            "ListenAddress": address,
            "PidFile": FOLDER / f"sshd-{name}",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        # with a kernel's file systems as they are: "ip netns exec" would hide the kernel's tracing
        must(*where, SSHD, "-f", "/dev/null", "-h", FOLDER / "host", "-E", FOLDER / f"log-{name}", *words)

    def write(self, name: str, *, stranger: str = "nobody", first: str = "", ssh: str = "", **changed: Any) -> Path:
        """A file of the machines.

        :param stranger: the host that is shown a key which it does not take
        :param first: the file's first lines
        :param ssh: what goes before all else in ssh's own file
        :param changed: keys of single hosts
        """
        (FOLDER / f"{name}.ssh").write_text(
            ssh
            + "".join(f"Host {host}\n  HostName {address}\n" for host, address in self.addresses.items())
            + f"Host {stranger}\n  IdentityFile {FOLDER / 'stranger'}\n"
            + f"Host * !{stranger}\n  IdentityFile {FOLDER / 'user'}\n"
            + f"Host *\n  User root\n  IdentitiesOnly yes\n  UserKnownHostsFile {FOLDER / 'known'}\n"
            + "  GlobalKnownHostsFile /dev/null\n"
        )
        lines = [first, f'ssh_config = "{name}.ssh"\n']
        for host, role in self._roles.items():
            cables = {device: peer for one, device, peer, _ in self._cables if one == host}
            cables |= {device: peer for peer, _, one, device in self._cables if one == host}
            keys: dict[str, Any] = {"ssh": host, "role": role, "interfaces": cables, **changed.get(host, {})}
            lines.append(f"[hosts.{host}]\n")
            lines += [f"{key} = {_toml(value)}\n" for key, value in keys.items()]
        (FOLDER / name).write_text("".join(lines))
        return FOLDER / name

    def state(self) -> dict[str, str]:
        """What each host is, as its own programs show it, and what is left of the lab's."""
        found = {}
        for host in self._roles:
            for argv in (
                ("tc", "qdisc", "show"),
                ("ip", "-4", "-o", "address"),
                ("ip", "-4", "route", "show", "table", "all"),
                ("ip", "-o", "link"),
                ("sysctl", "-e", *SYSCTLS),
            ):
                found[f"{host}: {' '.join(argv[:4])}"] = must(*inside(host, *argv))
            for one, device, other, its_device in self._cables:
                for owner, name in ((one, device), (other, its_device)):
                    if owner == host:
                        found[f"{host}: ethtool -k {name}"] = must(*inside(host, "ethtool", "-k", name))
                        forwarding = f"net.ipv4.conf.{name}.forwarding"
                        found[f"{host}: {forwarding}"] = must(*inside(host, "sysctl", forwarding))
        found["modules"] = "\n".join(sorted(path.name for path in Path("/sys/module").iterdir()))
        found["probes"] = Path("/sys/kernel/tracing/kprobe_events").read_text()
        found["instances"] = "\n".join(os.listdir("/sys/kernel/tracing/instances"))
        found["work"] = "\n".join(path.name for path in Path("/run").glob("pktpair-lab*"))
        found["journals"] = "\n".join(path.name for path in JOURNALS.glob("*")) if JOURNALS.exists() else ""
        return found


def _writable(folder: Path, changes: Path) -> None:
    """The checkout is read-only in a guest: what is written there from now on is kept elsewhere."""
    for name in ("upper", "work"):
        (changes / name).mkdir(parents=True)
    options = f"lowerdir={folder},upperdir={changes / 'upper'},workdir={changes / 'work'}"
    must("mount", "-t", "overlay", "overlay", "-o", options, folder)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + " }"
    return json.dumps(value)


def agents() -> list[int]:
    """Processes that are agents on hosts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"python3") and any(b"lab.hosts.there" in word for word in words):
            found.append(int(path.parent.name))
    return found


def until(holds: Callable[[], Any]) -> Any:
    """What a condition is when it holds; RuntimeError if it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise RuntimeError("what was waited for did not come")
        time.sleep(0.05)
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """Of each part that is another, what was and what is."""
    return {name: [before[name], now.get(name, "")] for name in before if before[name] != now.get(name)}


def is_sending() -> bool:
    """Whether the run is in its middle: data pass the router."""
    text = must(*inside("bert", "tc", "-s", "qdisc", "show", "dev", "to-carl"))
    sent = [int(number) for number in re.findall(r"Sent (\d+) bytes", text)]
    return " root" in text and " 1: " in text and max(sent, default=0) > 100_000


def kill(pids: Sequence[int]) -> None:
    """At once, and whatever they do."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


# An emulated CPU that others use as well carries so much.
SLOW = ("--set", "rate_mbit=2")
RUN = ("one-router", "--cc", "pktpair", "--qdisc", "fq_rr")
# Of each case: what the file of the machines says otherwise, and further words of the command. Each host has a fault of
# its own, and each is named.
Case = tuple[dict[str, Any], tuple[str, ...]]
REFUSED: dict[str, Case] = {
    "no way there": (
        {
            "ssh": f"Host anna\n  Port 2\nHost carl\n  UserKnownHostsFile {FOLDER / 'nobody'}\n",
            "stranger": "bert",
        },
        (),
    ),
    "no right there": ({"ssh": f"Host anna\n  User plain\nHost carl\n  UserKnownHostsFile {FOLDER / 'others'}\n"}, ()),
    "which machine": (
        {"ssh": f"Host bert\n  HostName {OWN_ADDRESS}\nHost carl\n  HostName 192.0.2.2\n"},
        (),
    ),
    "what it has": (
        {
            "bert": {"interfaces": {"eth7": "anna", "to-carl": "carl"}},
            "carl": {"interfaces": {"ssh": "bert"}},
            "first": 'network = "10.77.0.0/16"\n',
        },
        ("--cc", "vptfrc"),
    ),
    "what it is": (
        {
            "bert": {"interfaces": {"queued": "anna", "to-carl": "carl"}},
            "carl": {"interfaces": {"uplink": "bert"}},
        },
        ("--cc", "nonesuch"),
    ),
}


@contextlib.contextmanager
def covered(path: str, text: str) -> Iterator[None]:
    """A file has another content meanwhile, and nobody may run it."""
    cover = FOLDER / f"cover-{Path(path).name}"
    cover.write_text(text)
    must("mount", "--bind", cover, path)
    try:
        yield
    finally:
        must("umount", path)


def prepare_refusals(hosts: Hosts) -> None:
    """What the cases need that machines have."""
    for host, device in (("carl", "uplink"), ("bert", "queued")):
        must("ip", "-n", host, "link", "add", device, "type", "dummy")
        must("ip", "-n", host, "link", "set", device, "up")
    must("ip", "-n", "carl", "route", "add", "default", "dev", "uplink")
    must(*inside("bert", "tc", "qdisc", "add", "dev", "queued", "root", "handle", "7:", "pfifo"))
    with open("/etc/passwd", "a") as passwd, open("/etc/shadow", "a") as shadow:
        passwd.write("plain:x:1000:1000::/tmp:/bin/sh\n")
        shadow.write("plain:*:20000:0:99999:7:::\n")
    (FOLDER / "nobody").write_text("")
    stranger = " ".join((FOLDER / "stranger.pub").read_text().split()[:2])
    (FOLDER / "others").write_text("".join(f"{address} {stranger}\n" for address in hosts.addresses.values()))
    must("ip", "address", "add", f"{OWN_ADDRESS}/32", "dev", "lo")
    hosts.serve("own", OWN_ADDRESS, ())
    with (FOLDER / "known").open("a") as known:
        known.write(f"{OWN_ADDRESS} {' '.join((FOLDER / 'host.pub').read_text().split()[:2])}\n")
    # neither loaded nor installed, so that it would be built
    must("rmmod", "tcp_vptfrc")


def refused(hosts: Hosts, name: str) -> list[Any]:
    """Status and message of a run that cannot be."""
    changed, words = REFUSED[name]
    path = hosts.write("refused.toml", **changed)
    with contextlib.ExitStack() as stack:
        if name == "what it has":
            stack.enter_context(covered("/sys/module/module/parameters/sig_enforce", "Y\n"))
            stack.enter_context(covered("/usr/sbin/ethtool", ""))
        run = ("one-router", *words) if "--cc" in words else (*RUN, *words)
        return list(lab("run", *run, "--machines", path))


def middle(hosts: Hosts, *words: str) -> Command:
    """A run that is in its middle."""
    command = Command("run", *RUN, *SLOW, *words, "--set", "seconds=40", "--machines", hosts.file)
    until(lambda: is_sending() or os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
    if not is_sending():
        raise RuntimeError(f"the run has ended before its middle: {command.end()}")
    return command


def dry_run(hosts: Hosts) -> dict[str, Any]:
    """What lab run and lab sweep say that they would do."""
    words = ("--machines", hosts.file, "--dry-run")
    study = FOLDER / "dry"
    found: dict[str, Any] = {"run": lab("run", *RUN, *words), "sweep": lab("sweep", *RUN, *words, "--out", study)}
    return found | {"study": study.exists()}


def kill_control(hosts: Hosts) -> dict[str, list[list[str]]]:
    """The program that gives the orders dies: the agents put their hosts back, without being told to.

    :returns: by the network namespace of each host, its way back by its journal, in the middle of the run
    """
    command = middle(hosts)
    while_it_ran = {path.name: _way_back(path) for path in JOURNALS.glob("*")}
    kill([command.pid])
    command.end()
    until(lambda: not agents())
    return while_it_ran


def _way_back(path: Path) -> list[list[str]]:
    """Commands in the order in which they would be run."""
    entries = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [argv for entry in reversed(entries) for argv in entry["undo"]]


def kill_agents(hosts: Hosts) -> dict[str, Any]:
    """The agents die: what they have changed stays until it is restored."""
    command = middle(hosts)
    kill(agents())
    found: dict[str, Any] = {"run": command.end(), "changed": hosts.state()}
    found["again"] = lab("run", *RUN, "--machines", hosts.file)
    found["dry"] = lab("restore", "--machines", hosts.file, "--dry-run")
    found["restore"] = lab("restore", "--machines", hosts.file)
    found["restored"] = hosts.state()
    found["restore again"] = lab("restore", "--machines", hosts.file)
    return found


def lose_network(hosts: Hosts) -> tuple[int, str]:
    """The router's connection is lost: it puts itself back, and the others are told to."""
    command = middle(hosts)
    must("ip", "link", "set", "ssh-bert", "down")
    said = command.end()
    until(lambda: not agents())
    must("ip", "link", "set", "ssh-bert", "up")
    until(lambda: "linkdown" not in must(*inside("bert", "ip", "route")))
    return said


@contextlib.contextmanager
def built_there() -> Iterator[Path]:
    """The hosts have none of our modules meanwhile: they get the source and build it.

    In place of the compiler, which an emulated CPU keeps for a quarter of an hour, what was built before is copied;
    the file that is yielded has the build's arguments.
    """
    release = os.uname().release
    built = TOP / "build" / release
    told, stand_in = FOLDER / "builds", FOLDER / "source"
    program = stand_in / "scripts" / "build-modules"
    program.parent.mkdir(parents=True)
    program.write_text(f'echo "$@" >>{told}\nmkdir -p "${{0%/*}}/../build"\ncp -r {built} "${{0%/*}}/../build"\n')
    headers = Path("/lib/modules", release, "build")
    if not (headers / "Makefile").exists():
        headers.mkdir(exist_ok=True)
        (headers / "Makefile").touch()
    names = ("sch_fq_rr", "tcp_pktpair")
    before = hosts_engine._source
    hosts_engine._source = lambda: subprocess.check_output(["tar", "-c", "-C", stand_in, "scripts"])
    must("rmmod", *names)
    try:
        yield told
    finally:
        hosts_engine._source = before
        for file in FILES:
            if Path(file).stem in names and not Path("/sys/module", Path(file).stem).exists():
                must("insmod", built / file)


def whole(hosts: Hosts) -> dict[str, Any]:
    """What a sweep says and keeps, and raw results of UDP packets and exchanges."""
    found: dict[str, Any] = {}
    both = {"role": ["sender", "receiver"]}
    path = hosts.write("both.toml", anna=both, carl=both)
    study = FOLDER / "study"
    with built_there() as builds:
        found["sweep"] = lab("sweep", *RUN, *SLOW, "--set", "seconds=3", "--machines", path, "--out", study)
        found["builds"] = builds.read_text() if builds.exists() else ""
        found["left"] = [name for name in ("sch_fq_rr", "tcp_pktpair") if Path("/sys/module", name).exists()]
    if found["sweep"][0]:
        raise RuntimeError(f"lab sweep: {found['sweep']}")
    (kept,) = (study / "raw").iterdir()
    found["pktpair+fq_rr"] = json.loads(gzip.decompress(kept.read_bytes()))["raw"]
    found["table"] = (study / "table.csv").read_text()
    with RealHosts(read(path)) as engine:
        surroundings = engine.surroundings("", "")
        request = Request((load("one-router"),), settings=("seconds=3", "rate_mbit=2"))
        machines = [(surroundings.release, "")]
        runs = planned(request, machines, surroundings.clock)
        engine.check(runs)
        found["other traffic"] = engine.run(replace(runs[1], plan=other_traffic(runs[1].plan)))
        found["surroundings"] = {"release": surroundings.release, "clock": surroundings.clock}
        found["surroundings"] |= {"machine": dict(surroundings.machine), "noted": dict(surroundings.noted)}
    return found


def several(hosts: Hosts) -> dict[str, Any]:
    """A plan with two senders, two routers and two receivers."""
    hosts.add(MORE_ROLES, MORE_CABLES)
    path = hosts.write("several.toml")
    # they have one kernel: who loads it could not unload it while the others use it
    must("modprobe", "sch_netem")
    before = hosts.state()
    found: dict[str, Any] = {}
    words = ("three-bottlenecks", "--cc", "pktpair", "--qdisc", "fq_rr", *SLOW, "--set", "bottlenecks=1")
    found["run"] = lab("run", *words, "--set", "seconds=3", "--machines", path)
    found["differences"] = differences(before, hosts.state())
    must("rmmod", "sch_netem")
    return found


def other_traffic(plan: Plan) -> Plan:
    """UDP packets there, and a file and exchanges back; queues and flows are sampled, and the router merges."""
    flows = (
        Flow("file", "d1", "s1", "cubic", bytes=200_000),
        Flow("talk", "s1", "d1", "cubic", exchanges=(Exchange(100, 50_000, 0.1), Exchange(100, 1_000))),
    )
    source = Source("packets", "s1", "d1", {"model": "constant", "rate_packets_s": 100.0}, 1.0, 200)
    record = replace(plan.record, sample_s=0.1)
    return replace(plan, flows=flows, sources=(source,), record=record, sysctls={"r": {"net.ipv4.tcp_ecn": "1"}})


def main() -> None:
    """All cases, one after another; each begins with hosts that nobody has changed."""
    began = time.monotonic()
    hosts = Hosts()
    prepare_refusals(hosts)
    before = hosts.state()
    found: dict[str, Any] = {}
    chosen = sys.argv[1:]
    cases: dict[str, Callable[[], Any]] = {
        **{f"refused: {name}": functools.partial(refused, hosts, name) for name in REFUSED},
        "dry run": lambda: dry_run(hosts),
        "run": lambda: lab("run", *RUN, *SLOW, "--set", "seconds=2", "--machines", hosts.file),
        "whole": lambda: whole(hosts),
        "kill control": lambda: kill_control(hosts),
        "kill agents": lambda: kill_agents(hosts),
        "lost network": lambda: lose_network(hosts),
        "several of each": lambda: several(hosts),
    }
    for name, case in cases.items():
        if chosen and not any(name.startswith(one) for one in chosen):
            continue
        try:
            saw = case()
            found[name] = {"saw": saw, "differences": differences(before, hosts.state())}
        except Exception as error:
            found[name] = {"saw": {"failed": f"{type(error).__name__}: {error}"}, "differences": {}}
        # one that hangs later leaves what was seen until then
        kept = {"at_s": round(time.monotonic() - began), name: found[name]}
        print(json.dumps(kept)[:4000], file=sys.stderr, flush=True)
    print(json.dumps({"before": before, "cases": found}))


if __name__ == "__main__":
    main()
