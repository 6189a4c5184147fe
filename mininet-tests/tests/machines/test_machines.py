# SPDX-License-Identifier: GPL-2.0
"""Plans on real machines: namespaces of a guest with an sshd each, which runs and kills leave as they were."""

import csv
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import LAB, TOP
from lab.analyse import table
from lab.front.measuring import figures_of
from lab.machines.plans import TRAFFIC, guest_program
from lab.model.scenario import load
from lab.store.engine import Surroundings
from lab.store.manifest import Counts, Manifest
from lab.store.run import Run
from lab.store.study import Study
from lab.store.sweep import Request, expand

CASES = ("no way there", "no right there", "which machine", "what it has", "what it is")
SETTINGS = ("--set", "seconds=3", "--set", "rate_mbit=2")
# Five minutes of a core. The others are for who changes lab/hosts: HOSTS_CASES=all takes nine beside another guest.
BEGIN = (
    *("refused: no way there", "refused: which machine", "refused: what it has", "dry run", "whole"),
    *("kill control", "kill agents", "lost network"),
)
ALL = os.environ.get("HOSTS_CASES") == "all"
# Each case has an end of its own; this is for a guest that hangs.
LIMIT_S = 1800


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Of each case, what was seen in one boot."""
    # the checkout is read-only there
    guest_program(TRAFFIC, split=True)
    (TOP / "out").mkdir(exist_ok=True)
    # by the clock of this machine: ssh's and the lab's own waits are times of real machines
    words = [LAB, "exec", "--clock", "emulated", "--", TOP / ".venv/bin/python", "-m", "in_guest.real_hosts"]
    words += [] if ALL else BEGIN
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["cases"]


def case(seen: dict[str, Any], name: str) -> Any:
    """What was seen of a case that has left all machines as they were."""
    if not (ALL or any(name.startswith(one) for one in BEGIN)):
        pytest.skip("with HOSTS_CASES=all")
    assert "failed" not in (seen[name]["saw"] or {}), seen[name]["saw"]
    assert seen[name]["differences"] == {}
    return seen[name]["saw"]


@pytest.mark.parametrize("name", CASES)
def test_refused_before_anything_is_touched(seen: dict[str, Any], name: str) -> None:
    """Each host has a fault of its own, and each is named."""
    status, said = case(seen, f"refused: {name}")
    assert status == 2
    expected = {
        "no way there": [
            "host anna: cannot be reached: ssh: connect to host 192.0.2.2 port 2: Connection refused",
            "host bert: ssh bert: takes no key of yours: root@192.0.2.6: Permission denied",
            "host carl: its host key is not known: compare it and log in once by hand: ssh carl",
        ],
        "no right there": [
            "host anna: no root right: ",
            "host carl: has another host key than is known: compare it and log in once by hand: ssh carl",
        ],
        "which machine": [
            "host bert: is this machine, which gives the orders: a router must be another one",
            "hosts anna and carl: are the same machine: must be two",
        ],
        "what it has": [
            "host bert: has no interface eth7; it has: lo, ",
            "host carl: interface ssh carries this ssh connection, which the lab would cut off",
            "host anna: has a route to 10.77.0.0/16, which overlaps the plan's network 10.77.0.0/16",
            "host anna: has no ethtool: apt-get install ethtool",
            "kernel takes signed modules only (module.sig_enforce), and tcp_vptfrc is not signed",
        ],
        "what it is": [
            "host anna: has no kernel module tcp_nonesuch",
            "host bert: interface queued has a queueing discipline that somebody has set up (pfifo 7:)",
            "host carl: interface uplink has a default route, which the lab would cut off",
        ],
    }[name]
    for line in expected:
        assert line in said


def test_a_dry_run_prints_every_command_and_touches_nothing(seen: dict[str, Any]) -> None:
    saw = case(seen, "dry run")
    status, said = saw["run"]
    assert status == 0, said
    # a sweep's is the same, and makes no study
    assert saw["sweep"] == [status, said] and not saw["study"]
    there, back = zip(*(part.split("# and back, on ", 1) for part in said.split("# node ")[1:]), strict=True)
    assert any("bert: ip address add 198.18.2.1/24 dev to-carl" in part for part in there)
    assert any(
        re.search(r"bert: env TC_LIB_DIR=\S+ tc qdisc add dev to-carl root handle 1: fq_rr", part) for part in there
    )
    assert any("anna: ip route del 198.18.2.0/24 via 198.18.1.2 dev to-bert" in part for part in back)


def test_a_run_and_all_is_as_before(seen: dict[str, Any]) -> None:
    status, said = case(seen, "run")
    # whether its checks hold is a matter of how busy this machine is
    assert status in (0, 1) and "clock real, anna, bert, carl" in said
    assert "ERROR" not in said and "ok: kernel_warnings == 0" in said


def raw_results(seen: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = case(seen, "whole")
    return found


class Recorded:
    """An engine whose runs the guest has done."""

    def __init__(self, seen: dict[str, Any], folder: Path) -> None:
        self._raw = raw_results(seen)
        self._folder = folder
        folder.mkdir()

    def surroundings(self, kernel: str, modules: str) -> Surroundings:
        told = self._raw["surroundings"]
        (self._folder / "kernel").write_text(told["release"])
        modules_of = dict.fromkeys(("tcp_pktpair", "sch_fq_rr"), self._folder / "kernel")
        return Surroundings(
            told["release"], self._folder / "kernel", "none", {}, {}, modules_of, told["machine"], noted=told["noted"],
            clock=told["clock"],
        )  # fmt: skip

    def run(self, run: Run) -> dict[str, Any]:
        return {**self._raw[f"{run.cc}+{run.qdisc}"]}

    def stop(self) -> None:
        """Nothing is under way."""


def test_results_are_in_a_study_beside_those_of_virtual_time(seen: dict[str, Any], tmp_path: Path) -> None:
    """The same table has both, and neither is taken for the other."""
    study = Study(tmp_path / "study")
    words = ["sweep", "one-router", *SETTINGS, "--cc", "pktpair", "--qdisc", "fq_rr", "--out", study.folder]
    done = subprocess.run([LAB, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    engine = Recorded(seen, tmp_path / "engine")
    settings = tuple(SETTINGS[1::2])
    request = Request((load("one-router"),), settings=settings, ccs=("pktpair",), qdiscs=("fq_rr",))
    asked = expand(request, engine)
    with study.locked():
        manifest = Manifest(study, request.as_data(), asked.runs, asked.surroundings)
        for run, digest in asked.runs.items():
            record = {"digest": digest, "asked": run.identity, "ingredients": asked.ingredients(run), "job": run.job()}
            study.store(digest, {**record, "raw": engine.run(run)})
        manifest.end(Counts(1, 0, 1, 0))
    frame = table.build(study, figures_of).frame
    rows = [tuple(row) for row in frame[["cc", "qdisc", "clock", "flow", "error"]].fillna("").itertuples(index=False)]
    assert sorted(rows) == sorted(
        (cc, qdisc, clock, flow, "")
        for cc, qdisc, clock in (("pktpair", "fq_rr", "virtual"), ("pktpair", "fq_rr", "real"))
        for flow in ("f1", "f2")
    )
    # real time of a busy machine: that there are figures, and not which
    assert (frame["goodput_bit_s"] > 0).all() and frame["utilisation"].notna().all()
    reported = subprocess.run([LAB, "report", study.folder], capture_output=True, text=True, check=False)
    assert reported.returncode == 0, reported.stderr
    page = (study.folder / "report.html").read_text()
    assert "pktpair+fq_rr clock=virtual" in page and "pktpair+fq_rr clock=real" in page
    assert "clock offset, µs" in page and "clock error, µs" in page


def test_a_sweep_fills_a_study(seen: dict[str, Any]) -> None:
    """lab sweep --machines, from the file of the machines to the table."""
    raw = raw_results(seen)
    status, said = raw["sweep"]
    assert status == 0 and "1 runs asked for: 1 run, 0 there before, 0 failed" in said, said
    # who needs a module of ours and has none builds it, and is without it afterwards
    assert re.fullmatch(r"(--quiet --kdir /lib/modules/[^/]+/build\n){2}", raw["builds"]) and raw["left"] == []
    rows = list(csv.DictReader(raw["table"].splitlines()))
    assert [(row["flow"], row["clock"], row["error"]) for row in rows] == [("f1", "real", ""), ("f2", "real", "")]
    assert all(float(row["goodput_bit_s"]) > 0 and float(row["clock_error_us"]) > 0 for row in rows)


def test_clocks_are_measured_and_stated(seen: dict[str, Any]) -> None:
    """Namespaces of one guest have one clock: the offset that was found is no more than what was allowed for."""
    for name in ("pktpair+fq_rr", "other traffic"):
        clock = raw_results(seen)[name]["clock"]
        assert clock["kind"] == "real" and set(clock["machines"]) == {"anna", "bert", "carl"}
        for one in clock["machines"].values():
            assert abs(one["clock_offset_us"]) <= one["clock_error_us"]
            assert one["kernel"] and one["node"] in ("s1", "r", "d1")


def test_other_traffic(seen: dict[str, Any]) -> None:
    """A file, exchanges and UDP packets, whose ends are on two machines; their queue is sampled."""
    raw = raw_results(seen)["other traffic"]
    file, talk = raw["flows"]
    assert (file["error"], talk["error"]) == (None, None)
    assert (file["bytes_acked"], len(talk["exchanges"])) == (200_000, 2)
    # what the server has sent
    assert talk["bytes_acked"] == 51_000
    (source,) = raw["sources"]
    assert source["sent"] == source["received"] == 100
    assert raw["queues"] and raw["samples"] and raw["missing_events"] == []


def test_orders_that_end_are_no_reason_to_stay_changed(seen: dict[str, Any]) -> None:
    """kill -9 of the program that gives the orders, in the middle of a run."""
    journals = case(seen, "kill control")
    assert len(journals) == 3


def test_a_dry_run_shows_the_way_back_that_the_journals_have(seen: dict[str, Any]) -> None:
    """Of each host, known by its network namespace, every command in its order."""
    shown = {}
    for part in case(seen, "dry run")["run"][1].split("# node ")[1:]:
        there, back = part.split("# and back, on ", 1)
        host, *lines = back.splitlines()
        (namespace,) = set(re.findall(r"/run/pktpair-lab-(\d+)", there))
        shown[f"journal-{namespace}"] = [line.removeprefix(f"{host}: ") for line in lines]
    journals = case(seen, "kill control")
    assert shown == {name: [shlex.join(argv) for argv in way] for name, way in journals.items()}
    assert all(len(way) > 5 for way in shown.values())


def test_agents_that_are_killed_are_restored(seen: dict[str, Any]) -> None:
    """kill -9 of all agents in the middle of a run: all is changed, and lab restore puts it back."""
    saw = case(seen, "kill agents")
    assert saw["run"][0] == 1
    changed, restored = saw["changed"], saw["restored"]
    assert (
        "fq_rr 1: dev to-carl root" in changed["bert: tc qdisc show"]
        and "198.18.2.1" in changed["bert: ip -4 -o address"]
    )
    assert len(changed["journals"].splitlines()) == 3 and restored["journals"] == ""
    status, said = saw["again"]
    assert status == 2 and "host bert: an earlier lab has changed it and was killed: lab restore --machines" in said
    assert saw["dry"] == [0, "".join(f"host {name}: would be put back\n" for name in ("anna", "bert", "carl"))]
    assert saw["restore"][0] == 0 and re.search(r"host bert: \d+ changes undone", saw["restore"][1])
    assert saw["restore again"] == [
        0,
        "".join(f"host {name}: nothing to put back\n" for name in ("anna", "bert", "carl")),
    ]


def test_several_of_each(seen: dict[str, Any]) -> None:
    """Two senders, two routers in series and two receivers: each flow by its own machines, and all is as before."""
    saw = case(seen, "several of each")
    status, said = saw["run"]
    assert status == 0 and "jain" in said, said
    assert saw["differences"] == {}


def test_a_lost_network(seen: dict[str, Any]) -> None:
    """The run fails and says whose connection was lost; that host puts itself back."""
    status, said = case(seen, "lost network")
    assert status == 1
    assert "host bert: the connection was lost" in said and "lab restore --machines" in said
