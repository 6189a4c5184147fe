# SPDX-License-Identifier: GPL-2.0
"""The project's scenarios: what each has, and that nothing in a parameter's range plans nonsense."""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP
from lab.model import flows, scenario
from lab.model.errors import PlanError
from lab.model.plan import TCP_HEADER_BYTES, Flow, Plan
from lab.model.scenario import Check, Parameter, Scenario
from test_flows import NEVER_REFUSED

# Of guest's time: a run of the longest that a range allows still ends within a working day.
LONGEST_S = 4 * 3600


def starts(plan: Plan) -> list[float]:
    return [flow.start_s for flow in plan.flows]


@pytest.mark.parametrize("name", scenario.names())
def test_scenario(name: str) -> None:
    """A scenario has a one-line claim, valid defaults, and plans for each of its combinations."""
    one = scenario.load(name)
    assert one.claim and "\n" not in one.claim
    for key, parameter in one.parameters.items():
        assert parameter.parse(key, str(parameter.default)) == parameter.default
        assert parameter.meaning
    for values in one.values({}):
        for cc, qdisc in one.combinations:
            plan = one.plan(values, cc, qdisc, 1)
            measures_itself = hasattr(one.module, "measure")
            assert plan.window_s is not None or measures_itself or all(flow.bytes for flow in plan.measured)
            quantities = [check.quantity for check in one.checks(values, cc, qdisc)]
            assert len(quantities) == len(set(quantities))


NUMBER = r"\d+(?:\.\d+)?"
# What stands elsewhere and is only named: a table of a paper, a benchmark
NAMED = re.compile(rf"\b(?:table|figure|scenario|section|benchmark) {NUMBER}|pp-b\d")
PERCENT = re.compile(rf"(?:{NUMBER}(?:, | and | to ))*{NUMBER} %")
# Of a unit, what the numbers of plans and checks have of it
UNITS = (1.0, 1e3, 1e-3, 1e-6)


def numbers_of(data: Any) -> Iterator[float]:
    """Every number in a value, its lists and mappings."""
    if isinstance(data, Mapping):
        data = [*data.keys(), *data.values()]
    if isinstance(data, list | tuple | set):
        for one in data:
            yield from numbers_of(one)
    elif isinstance(data, int | float) or (isinstance(data, str) and re.fullmatch(NUMBER, data)):
        yield float(data)


def constants(one: Scenario) -> set[float]:
    """Numbers that a scenario's file names."""
    return set(numbers_of([value for name, value in vars(one.module).items() if name.isupper() and name != "CLAIM"]))


def decided(one: Scenario) -> set[float]:
    """Numbers of a scenario's parameters and names, and what its checks expect for any of their choices."""
    found = constants(one) | set(
        numbers_of([(parameter.default, parameter.choices) for parameter in one.parameters.values()])
    )
    found |= set(numbers_of(getattr(one.module, "VARIANTS", [])))
    axes = [{}, *({name: parameter.choices} for name, parameter in one.parameters.items() if parameter.choices)]
    for values in [values for some in axes for values in one.values(some)]:
        for cc, qdisc in one.combinations:
            found |= set(numbers_of([check.expected for check in one.checks(values, cc, qdisc)]))
    return found


def described(one: Scenario) -> set[float]:
    """Numbers of a scenario's plan."""
    values = one.values({})[0]
    plan = one.plan(values, *one.combinations[0], 1)
    found = set(numbers_of(plan.as_data()))
    # a file is told by its datagrams
    found |= {
        flow.bytes / (flow.packet_bytes - TCP_HEADER_BYTES) * flow.packet_bytes
        for flow in plan.flows
        if flow.bytes and flow.packet_bytes
    }
    if hasattr(one.module, "benchmark"):
        found |= set(numbers_of(dataclasses.asdict(one.module.benchmark(values, 1))))
    return found


def unfounded(one: Scenario, text: str) -> list[str]:
    """Numbers of a text that the scenario does not have, such as a bound that no check has."""
    text = NAMED.sub("", text)
    known = decided(one)
    parts = [value for known_value in known for value in (known_value * 100, abs(1 - known_value) * 100)]
    found = []
    for some in PERCENT.findall(text):
        found += [f"{number} %" for number in re.findall(NUMBER, some) if not near(float(number), parts)]
    others = [value * unit for value in known | described(one) for unit in UNITS]
    for number in re.findall(rf"(?<![\w.]){NUMBER}(?!\w)", PERCENT.sub("", text)):
        if not near(float(number), others):
            found.append(number)
    return found


def near(number: float, known: list[float]) -> bool:
    return any(math.isclose(number, one, rel_tol=1e-6) for one in known)


def documented() -> dict[str, str]:
    """What Documentation/lab/run.rst says of each scenario."""
    rows: dict[str, str] = {}
    name = ""
    for line in (TOP / "Documentation" / "lab" / "run.rst").read_text().partition("The scenarios\n")[2].splitlines():
        row = re.match(r"(``([\w-]+)``)?\s+(.*)", line)
        if row and not line.startswith("="):
            name = row[2] or name
            rows[name] = f"{rows.get(name, '')} {row[3]}".strip()
    return rows


@pytest.mark.parametrize("name", scenario.names())
def test_claim_checks_and_documentation_agree(name: str) -> None:
    """A number in a claim, or in what is documented, is one that checks expect, or that the scenario is made of."""
    one = scenario.load(name)
    assert unfounded(one, one.claim) == []
    assert unfounded(one, documented().get(name, "")) == []


def test_every_scenario_is_documented() -> None:
    """By its name, or as one of the benchmarks."""
    assert {name for name in scenario.names() if not re.match(r"b\d-", name)} <= documented().keys()


@pytest.mark.parametrize(
    ("name", "wrong", "numbers"),
    [
        ("smoke", "two flows for 3.7 seconds", ["3.7"]),
        ("pktpair-keeps-its-share", "keep 96 and 98 % of their fair share", ["96 %"]),
        # the plan has a 44, but a bound is a check's
        ("b1-slow-cross-traffic", "2 MB: at most 44 % longer than 1.444 s", ["44 %"]),
        ("b1-slow-cross-traffic", "2 MB: at most 13 % longer than 1.7 s, as table 9.9 has it", ["1.7"]),
    ],
)
def test_a_number_that_a_scenario_does_not_have(name: str, wrong: str, numbers: list[str]) -> None:
    """A claim that says another number than its checks is found."""
    assert unfounded(scenario.load(name), wrong) == numbers


@pytest.mark.parametrize("name", [name for name in scenario.names() if name not in NEVER_REFUSED])
def test_the_ends_of_each_range(name: str) -> None:
    """The least and the most of each parameter are planned, or refused with a reason."""
    one = scenario.load(name)
    for key, parameter in one.parameters.items():
        if parameter.choices:
            continue
        for value in (parameter.low, parameter.high):
            for values in one.values({key: [type(parameter.default)(value)]}):
                try:
                    plan = one.plan(values, *one.combinations[0], 1)
                except PlanError as error:
                    assert "must be" in str(error)
                else:
                    assert plan.end_s <= LONGEST_S


def test_a_seed_moves_starts() -> None:
    """A seed moves start times, and the same seed does not."""
    first, again, other = (starts(Plan(None, flows.staggered(3, "cubic", 1, 0.1, seed, 0.01))) for seed in (1, 1, 2))
    assert first == again != other
    assert [round(start, 1) for start in first] == [0, 0.1, 0.2]


def test_pairs_are_used_in_turn() -> None:
    """Flows take the pairs of hosts in turn; by default each has its own."""
    assert [flow.source for flow in flows.staggered(3, "cubic", 1, 0, 1, 0, pairs=2)] == ["s1", "s2", "s1"]
    assert [flow.sink for flow in flows.staggered(3, "cubic", 1, 0, 1, 0)] == ["d1", "d2", "d3"]


def test_the_others_are_backlogged_before_and_after_the_first() -> None:
    """The measured flow is alone on its hosts; the others start before it and end after it."""
    first, *others = flows.among_backlogged(
        3, "pktpair", 4.0, 1, first_s=0.5, window_bytes=9000, other_packet_bytes=150
    )
    assert (first.source, first.cc, first.window_bytes, first.packet_bytes) == ("s1", "pktpair", 0, 0)
    for other in others:
        assert (other.source, other.cc, other.window_bytes, other.packet_bytes) == ("s2", "cubic", 9000, 150)
        assert other.start_s < first.start_s
        assert other.start_s + other.seconds > first.start_s + first.seconds


@pytest.mark.parametrize(("qdisc", "mtu_bytes"), [("fq_rr", 1500), ("cake", 1500), ("fq_codel", 500), ("pfifo", 500)])
def test_a_bucket_of_one_packet_is_made_for_the_largest(qdisc: str, mtu_bytes: int) -> None:
    """Where a bucket shapes, small packets have a link of their size, or several would pass at once."""
    network = flows.dumbbell(qdisc, 10**7, [40.0], 100, packet_bytes=500)
    assert network.links[0].mtu_bytes == mtu_bytes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("queue-estimate-is-the-truth", "rate_mbit=100"), "rate_mbit 100.0: 25000 packets of 500 bytes a second"),
        (
            ("queue-estimate-is-the-truth", "flows=50", "rate_mbit=25", "seconds=1"),
            "16 trains a flow: must be at least",
        ),
        (("pair-gap-is-n-packet-times", "flows=50"), "rate_mbit 10.0 for 50 flows: must be at least 0.5 Mbit/s a flow"),
        (("pair-gap-is-n-packet-times", "flows=2", "rate_mbit=100"), "part of the path is 250000 bytes: must be at"),
        (("pair-sensing-by-receiver", "flows=20", "packet=140"), "windows are 45987 packets: must be at most 20000"),
        (("pktpair-keeps-its-share", "seconds=2"), "seconds 2.0: must be at least 3.0: 1 more than settle"),
    ],
)
def test_what_would_mean_nothing_is_refused(words: tuple[str, ...], message: str) -> None:
    """Values that are each in range and together mean nothing are refused, and the message has the limit."""
    one = scenario.load(words[0])
    with pytest.raises(PlanError, match=message):
        for values in one.values(one.axes(words[1:])):
            one.plan(values, *one.combinations[0], 1)


def test_pacing_needs_fq_rr() -> None:
    """A queue that has no qlbp is refused, not measured."""
    one = scenario.load("pacing-follows-the-backlog")
    with pytest.raises(PlanError, match="--qdisc cake: must be fq_rr"):
        one.plan(one.values({})[0], "cubic", "cake", 1)


PARETO = {"distribution": "pareto", "shape": 1.2, "least": 3e3, "most": 3e5}
GAPS = {"distribution": "exponential", "mean": 0.1}


def test_short_flows_are_those_of_their_distributions() -> None:
    """A seed draws sizes and starts, each apart from the other; a mean is what the distribution's is."""
    many = flows.drawn(1000, "cubic", sizes=PARETO, gaps=GAPS, seed=1, pairs=2, first_s=2.0)
    assert many == flows.drawn(1000, "cubic", sizes=PARETO, gaps=GAPS, seed=1, pairs=2, first_s=2.0)
    Plan(flows.dumbbell("cake", 10**7, [40.0, 40.0], 100), many).check()
    sizes = [flow.bytes for flow in many]
    assert min(sizes) >= 3e3 and max(sizes) <= 3e5
    # of x^-1.2 from 3 kB to 300 kB: 6 (1 - 100^-0.2) / (1 - 100^-1.2) times 3 kB
    assert sum(sizes) / 1000 == pytest.approx(10_900, rel=0.15)
    assert many[0].start_s > 2 and many[-1].start_s - 2 == pytest.approx(100, rel=0.1)
    constant = {"distribution": "constant", "value": 0.2}
    others = flows.drawn(1000, "cubic", sizes=constant, gaps=GAPS, seed=1, pairs=2, first_s=2.0)
    assert starts(Plan(None, others)) == starts(Plan(None, many))
    assert {flow.bytes for flow in others} == {1}
    assert flows.drawn(9, "cubic", sizes=PARETO, gaps=GAPS, seed=2)[0].bytes != sizes[0]


def test_a_lognormal_size_is_bounded() -> None:
    """Half of them are below the median, and none above the most."""
    sizes = {"distribution": "lognormal", "median": 1e4, "sigma": 2.0, "most": 2e4}
    found = [flow.bytes for flow in flows.drawn(1000, "", sizes=sizes, gaps=GAPS, seed=1)]
    assert sum(size < 1e4 for size in found) == pytest.approx(500, abs=50)
    assert max(found) == 2e4


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"distribution": "normal"}, "distribution normal: must be one of constant, exponential, pareto, lognormal"),
        ({}, "distribution None: must be one of"),
        ({"distribution": "constant"}, "distribution constant: .*missing 1 required positional argument"),
        ({"distribution": "constant", "value": -1}, "constant: value -1: must be above 0, and finite"),
        ({"distribution": "exponential", "mean": 0}, "exponential: mean 0: must be above 0"),
        ({**PARETO, "shape": "1"}, "distribution pareto: "),
        ({**PARETO, "most": 1e3}, "pareto: 3000 to 1000: must be two finite numbers above 0, the lower one first"),
    ],
)
def test_a_distribution_that_cannot_be_is_refused(sizes: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        flows.drawn(1, "", sizes=sizes, gaps=GAPS, seed=1)


@pytest.mark.parametrize("count", [0, -1, 1001, 10**12])
def test_so_many_flows_cannot_be(count: int) -> None:
    """Before one is made."""
    with pytest.raises(PlanError, match=f"count {count}: must be at"):
        flows.drawn(count, "", sizes=PARETO, gaps=GAPS, seed=1)
    with pytest.raises(PlanError, match=f"count {count}: must be at"):
        flows.staggered(count, "", 1, 0, 1, 0)


def test_a_flow_alone_needs_no_others_windows() -> None:
    """Windows and buffers of others bind only where there are others."""
    flows.check_backlogged(1000, 1000, 1, 1, 1500, 1)
    assert Flow("f", "a", "b", seconds=1).background is False


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        *((True, text, False) for text in ("False", "false", "no", "OFF", "0")),
        *((False, text, True) for text in ("True", "TRUE", "yes", "On", "1")),
        (3, "-12", -12),
        (3, "1000000", 10**6),
        (0.5, "12", 12.0),
        (0.5, "-.5", -0.5),
        (0.5, "1.", 1.0),
        (0.5, "1.5e-3", 0.0015),
        ("any", "1_000", "1_000"),
    ],
)
def test_a_value_is_what_was_typed(default: object, text: str, value: object) -> None:
    """Of the default's type."""
    found = Parameter(default, "", "").parse("x", text)
    assert (found, type(found)) == (value, type(default))


@pytest.mark.parametrize(
    ("default", "text", "message"),
    [
        (True, "2", "^x=2: must be true or false, yes or no, on or off, 1 or 0$"),
        (True, "", "^x=: must be true or false"),
        (3, "1_000", "^x=1_000: must be a whole number$"),
        (3, " 1", "must be a whole number"),
        (3, "\u0663", "must be a whole number"),
        (3, "1e3", "must be a whole number"),
        (3, "+3", "must be a whole number"),
        (3, "9" * 5000, "must be a whole number"),
        (0.5, "1_0.5", "^x=1_0.5: must be a number$"),
        (0.5, "0.5\n", "must be a number"),
        (0.5, "0x10", "must be a number"),
        (0.5, "-inf", "must be a finite number"),
        (0.5, "1e999", "^x=1e999: must be a finite number$"),
    ],
)
def test_a_value_that_nobody_means_is_refused(default: object, text: str, message: str) -> None:
    """Neither any text for a truth, nor what only Python takes for a number."""
    with pytest.raises(PlanError, match=message):
        Parameter(default, "", "").parse("x", text)


MINE = """
import random
from lab.model.plan import Flow, Plan
from lab.model.scenario import Parameter
from lab.model.topology import Link, Topology, Way

CLAIM = "it is so"
PARAMETERS = {"seconds": Parameter(4.0, "s", "of it", 1, 600)}
COMBINATIONS = [("cubic", "pfifo")]
STATE = []
def plan(values, cc, qdisc, seed):
    start_s = seconds = 1.0
    DO
    nodes = {"a": "host", "b": "host"}
    flows = [Flow("f", "a", "b", cc, start_s=start_s, seconds=seconds)]
    return Plan(Topology("pair", nodes, (Link("a", "b"),)), flows)
"""


def mine(folder: Path, do: str, old: str = "", new: str = "") -> Scenario:
    """A scenario of a user's that does something in plan()."""
    (folder / "mine.py").write_text(MINE.replace("DO", do).replace(old, new))
    return scenario.load(str(folder / "mine.py"))


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("start_s = random.random()", r"plan\.flows\[0\]\.start_s is 0\.\d+ and 0\.\d+; what it draws must come from"),
        ("start_s = random.Random(None).random()", r"plan\.flows\[0\]\.start_s is"),
        (
            "STATE.append(1); seconds = len(STATE)",
            r"flows\[0\]\.seconds is 1 and 2; .* what it changes must be its own",
        ),
        ("if seed == 2: STATE.append(1)\n    else: seconds += len(STATE)", r"flows\[0\]\.seconds is 1\.0 and 2\.0"),
        ("STATE.append(seed); seconds = STATE[0]", r"flows\[0\]\.seconds is 2 and 1"),
    ],
)
def test_a_plan_that_comes_from_elsewhere_is_refused(tmp_path: Path, do: str, message: str) -> None:
    """Of other draws, or of what earlier runs have left: whichever run is the first to differ."""
    one = mine(tmp_path, do)
    with pytest.raises(PlanError, match=f"mine.py: .*{message}"):
        for seed in (1, 2, 1):
            one.plan({"seconds": 4.0}, "cubic", "pfifo", seed)


def test_a_plan_has_values_of_its_own(tmp_path: Path) -> None:
    """What plan() does with them, and with the lists that it returns, no other run sees."""
    one = mine(tmp_path, "seconds = values['seconds'] = values['seconds'] * 2; values['more'] = []")
    values = {"seconds": 4.0}
    assert [one.plan(values, "cubic", "pfifo", 1).flows[0].seconds for _ in range(3)] == [8.0] * 3
    assert values == {"seconds": 4.0}
    cached = mine(tmp_path, "global flows", "flows = [", "STATE.clear(); flows = STATE; flows += [")
    first, second = (cached.plan(values, cc, "pfifo", 1) for cc in ("cubic", "reno"))
    assert [first.flows[0].cc, second.flows[0].cc] == ["cubic", "reno"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4.0", "0.5", "parameter seconds: default 0.5: must be at least 1 s"),
        ("4.0", "None", r"parameter seconds: default None \(NoneType\): must be"),
        ("1, 600", "600, 1", "parameter seconds: low 600: must be at most 1"),
        ('"seconds"', "5", "mine.py: 5: must be a Parameter of PARAMETERS"),
        ('"seconds"', '"a,b"', "parameter 'a,b': a name has letters"),
        ("STATE", 'VARIANTS = [{"seconds": "5"}]\nSTATE', "VARIANTS: seconds=5: must be a float, as the default 4.0"),
        ("STATE", 'VARIANTS = [{"seconds": 700}]\nSTATE', "VARIANTS: seconds=700: must be at most 600 s"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """When its file is read."""
    with pytest.raises(PlanError, match=message):
        mine(tmp_path, "", old, new)


@pytest.mark.parametrize(
    ("op", "expected", "message"),
    [("in", (2, 1), "must be lowest and highest"), (">=", math.nan, "nothing is as much")],
)
def test_a_check_that_nothing_can_pass_is_refused(op: str, expected: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Check("jain", op, expected).check()
