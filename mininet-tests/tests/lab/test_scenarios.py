# SPDX-License-Identifier: GPL-2.0
"""Every scenario on the real engine, in a form that takes seconds: its own checks pass."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import lab
from lab.analyse import table
from lab.analyse.figures import judge
from lab.front.measuring import figures_of
from lab.model import scenario
from lab.model.scenario import Check, load
from lab.store.study import Study

# What makes a scenario short; of its combinations the first is run, unless EACH has it.
SHORT: dict[str, dict[str, str]] = {
    "a-flood-costs-one-share": {"times": "20", "flood": "flow", "control": "aqm"},
    "a-malicious-source-is-held-off": {"interval": "10", "discipline": "fair"},
    # eight claims: of four all may be whole by chance
    "a-stopped-flow-leaves-its-share": {},
    "any-packet-size": {"seconds": "10", "loss": "0.03", "packets": "160"},
    "b1-slow-cross-traffic": {},
    "b2-sudden-cross-traffic": {},
    "b3-short-files": {"packets": "20"},
    "b4-path-lengths": {},
    "b5-migrating-bottleneck": {},
    "b6-two-way-traffic": {},
    "b7-uncontrolled-cross-traffic": {"intensity": "0.2", "staggered": "no"},
    "b8-small-buffer": {},
    "b9-rate-control-torture": {},
    "delay-inside-a-flow": {"rate_mbit": "2,19"},
    "demo-dumbbell": {"rate_mbit": "10", "seconds": "8"},
    "many-flows": {"flows": "40", "rate_mbit": "8", "seconds": "12"},
    "mixed-packet-sizes": {"packet": "1500", "other_packet": "150"},
    "one-router": {},
    "overload": {"interval": "0.1"},
    "pacing-follows-the-backlog": {},
    "packet-sizes-at-a-bottleneck": {"seconds": "10", "setting": "2"},
    "packet-pair-1994": {"case": "fixed", "round_trips": "30"},
    "page-beside-an-upload": {},
    "pair-gap-is-n-packet-times": {"flows": "2", "round_trip": "40", "samples": "1000", "settle": "1"},
    # of what a receiver can do: ACKs that are thinned, merged packets, a queue on the way back
    "pair-gap-through-hosts": {},
    "pair-sensing-by-receiver": {"case": "stretch-8,gro,reverse", "flows": "4", "seconds": "1"},
    "pktpair-keeps-its-share": {"uncontrolled": "7", "load": "5", "seconds": "5", "settle": "1.5"},
    "propagation-delay-is-honest": {"case": "longer-route,reverse-queue", "seconds": "20"},
    "qlbp-2011": {"case": "step", "settle": "0.5", "length": "1"},
    "queue-estimate-is-the-truth": {"flows": "1", "rate_mbit": "16", "seconds": "1"},
    "real-networks": {"case": "start-40-fq_rr"},
    "router": {"beside": "cubic"},
    "short-flows": {"count": "20"},
    "smoke": {},
    "thesis-ch6": {"scenario": "2", "interval": "10"},
    "three-bottlenecks": {},
    "traffic-engines-agree": {},
    "unload-under-traffic": {},
    "wifi-reverse-path": {"rate_mbit": "10,20,40"},
}

# Of these single seeds are far apart (b8: 9 to 21 %; claims of the whole link after 12 stops: 54 to 92 of 100): their
# mean is judged, as the campaign does.
SEEDS = dict.fromkeys(("a-stopped-flow-leaves-its-share", "b2-sudden-cross-traffic", "b8-small-buffer"), "1-3")
# What one congestion control is spared, another is held to.
EACH = {"delay-inside-a-flow"}
# And of this one, whose seeds hardly differ, one rate in twenty has a dip of a second (0.96 of 8 s; others 0.998).
MEAN = {*SEEDS, "wifi-reverse-path"}
# With those of its group: pages and pictures of a benchmark and of others.
REPORTED = "three-bottlenecks"


def suits(names: Sequence[str], settings: dict[str, str]) -> bool:
    """Whether each of these scenarios would take its own settings of all, and no other's."""
    own = ({key: text for key, text in settings.items() if key in load(name).parameters} for name in names)
    return all(taken == SHORT[name] for name, taken in zip(names, own, strict=True))


def together() -> list[list[str]]:
    """Scenarios that one sweep can run: alike in their first combination, and none takes another's settings."""
    groups: list[list[str]] = []
    for name in SHORT:
        for group in groups:
            alike = load(name).combinations[0] == load(group[0]).combinations[0]
            alike = alike and SEEDS.get(name) == SEEDS.get(group[0]) and not {name, group[0]} & EACH
            if alike and suits([*group, name], settings_of([*group, name])):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def settings_of(names: Sequence[str]) -> dict[str, str]:
    return {key: text for name in names for key, text in SHORT[name].items()}


@pytest.fixture(scope="module")
def study_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Study]]:
    """The study with a scenario's runs. Sweeps of all that is asked for go on two at a time, the longest first."""
    asked = {item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec")
             and item.path == request.path}  # fmt: skip
    if any(item.name == test_they_can_be_reported.__name__ for item in request.session.items):
        asked.add(REPORTED)
    groups = [tuple(group) for group in together() if {*group} & asked]
    groups.sort(key=lambda group: (group[0] in SEEDS, len(group)), reverse=True)
    folder = tmp_path_factory.mktemp("short")

    def swept(names: tuple[str, ...]) -> tuple[subprocess.CompletedProcess[str], Study]:
        study = folder / names[0]
        cc, qdisc = load(names[0]).combinations[0]
        combination = [] if {*names} & EACH else ["--cc", cc, "--qdisc", qdisc]
        words = [word for item in settings_of(names).items() for word in ("--set", "=".join(item))]
        words += ["--seeds", SEEDS.get(names[0], "1")]
        return lab("sweep", *names, *combination, *words, "-j", "1", "--out", study), Study(study)

    with ThreadPoolExecutor(2) as pool:
        sweeps = {group: pool.submit(swept, group) for group in groups}

        def found(name: str) -> Study:
            done, study = next(sweep for group, sweep in sweeps.items() if name in group).result()
            assert done.returncode == 0, done.stderr
            return study

        yield found
        # a test run that is ended begins no other sweep
        pool.shutdown(cancel_futures=True)


def test_every_scenario_has_a_short_form() -> None:
    assert set(SHORT) == set(scenario.names())
    assert sorted(name for group in together() for name in group) == sorted(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_its_own_checks_pass(name: str, study_of: Callable[[str], Study]) -> None:
    runs = [one for one in table.build(study_of(name), figures_of).runs if one.asked["scenario"] == name]
    assert runs
    for run in runs:
        assert run.figures.error is None
        # the first is the lab's, that the kernel does not complain
        assert len(run.figures.checks) > 1
        if name not in MEAN:
            assert [check for check in run.figures.checks if not check["pass"]] == [], run.asked["values"]
    if name in MEAN:
        assert len(runs) == 3
        means = {
            check["quantity"]: sum(run.figures.metrics[check["quantity"]] for run in runs) / len(runs)
            for check in runs[0].figures.checks
        }
        checks = [Check(one["quantity"], one["op"], one["expected"]) for one in runs[0].figures.checks]
        assert [check for check in judge(checks, means) if not check["pass"]] == []


def test_they_can_be_reported(study_of: Callable[[str], Study]) -> None:
    """Checks, figures and pictures are on a page; what each scenario recorded can be drawn."""
    study = study_of(REPORTED)
    done = lab("report", study.folder)
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip()).read_text()
    reported = {one["scenario"] for one in study.manifest()["runs"]}
    assert {REPORTED, "traffic-engines-agree"} <= reported
    for name in reported:
        section = page.partition(f"<h2>{name}</h2>")[2].partition("<h2>")[0]
        assert load(name).claim.partition("'")[0] in section
        assert "cannot be drawn" not in section
        # a benchmark of file transfers records no ACKs
        for text in ("goodput of each flow", "queue delay of each flow"):
            assert (f'seed 1: {text}"' in section) == (not re.match(r"b\d-", name)), name
