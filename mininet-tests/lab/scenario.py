# SPDX-License-Identifier: GPL-2.0
"""What a scenario is: a claim, its parameters, and the plan of one run.

A scenario is one file in ``mininet-tests/scenarios`` named after its claim,
with ``CLAIM``, ``PARAMETERS``, ``COMBINATIONS`` and ``plan``; where the common
figures do not say enough, ``measure``, ``checks`` and ``draw``; and ``VARIANTS``
where the claim is about several values of a parameter.
"""

from __future__ import annotations

import difflib
import importlib.util
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from . import links
from .vm import LabError

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
FIRST_PORT = 10000
# What tcp_pktpair registers: the default, the risk-averse preset, the risk-taking, the memorandum's.
OURS = ("pktpair", "pktpair_averse", "pktpair_risky", "pktpair_1994")
# A full packet, and the headers of one with time stamps: 20 IP, 32 TCP.
FULL_PACKET_BYTES = 1500
HEADER_BYTES = 52
# Of applications whose copying must not hold up the guest's one CPU.
BLOCK_BYTES = 16384

Value = float | int | str
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """A knob of a scenario: its default, unit, range and meaning."""

    default: Value
    unit: str
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None

    def parse(self, name: str, text: str) -> Value:
        """The value a user typed, or LabError with the limit it breaks."""
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise LabError(f"{name}={text}: must be one of {', '.join(self.choices)}")
            return text
        kind = type(self.default)
        try:
            value = kind(text)
        except ValueError:
            wanted = "a whole number" if kind is int else "a number"
            raise LabError(f"{name}={text}: must be {wanted} ({self.unit})") from None
        if self.low is not None and not value >= self.low:
            raise LabError(f"{name}={text}: must be at least {self.low} {self.unit}".rstrip())
        if self.high is not None and not value <= self.high:
            raise LabError(f"{name}={text}: must be at most {self.high} {self.unit}".rstrip())
        return value


@dataclass(frozen=True)
class Flow:
    """One TCP connection from sender ``pair`` to its receiver.

    Sends for ``seconds``, or ``bytes`` of payload if that is not zero; its
    port, fixed, is what it is known by in traces.  ``window_bytes`` fixes both
    socket buffers; ``block_bytes`` is what it reads and writes at a time (iperf3's
    own choice is 128 KiB); ``packet_bytes``, if not zero, holds instead of the plan's.
    """

    name: str
    pair: int
    cc: str
    start_s: float
    seconds: float = 0
    bytes: int = 0
    port: int = 0
    window_bytes: int = 0
    block_bytes: int = 0
    packet_bytes: int = 0


@dataclass(frozen=True)
class Source:
    """UDP packets from sender ``pair`` to its receiver, whatever becomes of them.

    :param gap_s: from one packet, or burst of ``burst`` packets, to the next
    :param packet_bytes: IP datagram
    :param port: its own; with ``ports`` more than one, the first of so many flows that take turns
    :param random: if any, the seed of exponential gaps, of which ``gap_s`` is the mean
    """

    name: str
    pair: int
    start_s: float
    seconds: float
    gap_s: float
    packet_bytes: int
    port: int
    ports: int = 1
    burst: int = 1
    random: str = ""

    def __post_init__(self) -> None:
        """A burst is handed to the kernel as one datagram, which has a largest size."""
        total = self.burst * (self.packet_bytes - links.IP_UDP_HEADER_BYTES)
        if total > links.MAX_DATAGRAM_BYTES:
            raise LabError(
                f"source {self.name}: a burst of {self.burst} packets is {total} bytes, more than"
                f" {links.MAX_DATAGRAM_BYTES}"
            )

    def for_guest(self) -> dict[str, Any]:
        """As the agent wants it."""
        return {**vars(self), "host": f"s{self.pair}", "sink": f"d{self.pair}", "address": f"10.1.{self.pair}.1"}


@dataclass(frozen=True)
class Action:
    """A command in a node ("r", "s1", ..., or "root") some time into a run.

    ``@tcp_pktpair`` and ``@sch_fq_rr`` stand for the files of the modules.
    """

    name: str
    at_s: float
    node: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """What is asserted of a figure: ``op`` is one of >=, <=, ==, or in (a range)."""

    quantity: str
    op: str
    expected: Any


def mss(packet_bytes: int) -> int:
    """What TCP_MAXSEG is set to for packets of a size; 0 for full ones."""
    # The kernel takes the 12 bytes of the time stamps off what is set.
    return packet_bytes - HEADER_BYTES + 12 if packet_bytes != FULL_PACKET_BYTES else 0


@dataclass(frozen=True)
class Plan:
    """One run: a dumbbell, its flows and what is recorded.

    :param settle_s: the measured window opens so long after the last flow has started
    :param events: trace events beside the acknowledgements
    :param qdisc_options: further options of an fq_rr or a CAKE
    """

    cc: str
    qdisc: str
    rate_bit_s: int
    delays_ms: tuple[float, ...]
    limit_packets: int
    flows: tuple[Flow, ...]
    settle_s: float = 0
    packet_bytes: int = FULL_PACKET_BYTES
    hash_seed: int = 1
    events: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    sources: tuple[Source, ...] = ()
    qdisc_options: str = ""

    @property
    def end_s(self) -> float:
        """When the last flow stops handing over data."""
        return max((flow.start_s + flow.seconds for flow in (*self.flows, *self.sources)), default=0.0)

    @property
    def window_s(self) -> tuple[float, float] | None:
        """The measured window, in which every flow is sending, or None."""
        if not self.flows or any(flow.bytes for flow in self.flows):
            return None
        begin = max(flow.start_s for flow in self.flows) + self.settle_s
        end = min(flow.start_s + flow.seconds for flow in self.flows)
        return (begin, end) if end > begin else None

    def for_guest(self, pcap: bool, trace: bool = False) -> dict[str, Any]:
        """As the agent wants it; it is traced in any case."""
        actions = max((action.at_s for action in self.actions), default=0.0)
        return {
            "bottleneck": links.bottleneck(
                "r-x",
                self.qdisc,
                self.rate_bit_s,
                self.limit_packets,
                self.packet_bytes,
                self.hash_seed,
                options=self.qdisc_options,
            ),
            "pairs": len(self.delays_ms),
            "delays_ms": list(self.delays_ms),
            "flows": [{**vars(flow), "mss": mss(flow.packet_bytes or self.packet_bytes)} for flow in self.flows],
            "sources": [source.for_guest() for source in self.sources],
            "actions": [{**vars(action), "argv": list(action.argv)} for action in self.actions],
            "events": ["lab:ack", *self.events],
            "seconds": max(self.end_s, actions),
            "pcap": pcap,
        }


@dataclass
class Scenario:
    """A scenario file, loaded."""

    name: str
    module: ModuleType
    claim: str
    parameters: dict[str, Parameter]
    combinations: list[tuple[str, str]]
    variants: list[dict[str, Value]]
    plan: Callable[[Values, str, str, int], Plan] = field(repr=False)

    def all_values(self, settings: Sequence[str], others: Sequence[Scenario] = ()) -> list[dict[str, Value]]:
        """The values of every run: what the user sets holds in each variant."""
        given = self.values(settings, others)
        chosen = {setting.partition("=")[0] for setting in settings}
        found: list[dict[str, Value]] = []
        for variant in self.variants:
            values = {**given, **{name: value for name, value in variant.items() if name not in chosen}}
            if values not in found:
                found.append(values)
        return found

    def values(self, settings: Sequence[str], others: Sequence[Scenario] = ()) -> dict[str, Value]:
        """Defaults overridden by name=value settings; LabError names what is wrong.

        :param others: scenarios of the same command, which may own a setting
        """
        values = {name: parameter.default for name, parameter in self.parameters.items()}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals:
                raise LabError(f"--set {setting}: must be name=value")
            if name in self.parameters:
                values[name] = self.parameters[name].parse(name, text)
            elif not any(name in other.parameters for other in others):
                known = ", ".join(
                    f"{key} ({p.default} {p.unit})".replace(" )", ")") for key, p in self.parameters.items()
                )
                raise LabError(f"{self.name} has no parameter {name}{nearest(name, self.parameters)}; it has: {known}")
        return values


def nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A hint at what was probably meant, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f" (near: {', '.join(close)})" if close else ""


def names() -> list[str]:
    """Names of all scenarios."""
    return sorted(path.stem.replace("_", "-") for path in FOLDER.glob("[a-z]*.py"))


def load(name: str) -> Scenario:
    """Load a scenario by name; LabError if there is none."""
    path = FOLDER / f"{name.replace('-', '_')}.py"
    if name not in names():
        raise LabError(f"no scenario {name}{nearest(name, names())}; lab list shows them all")
    spec = importlib.util.spec_from_file_location(f"scenarios.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    variants = getattr(module, "VARIANTS", [{}])
    return Scenario(name, module, module.CLAIM, module.PARAMETERS, module.COMBINATIONS, variants, module.plan)


def staggered(
    count: int, cc: str, seconds: float, stagger_s: float, seed: int, jitter_s: float, pairs: int | None = None
) -> tuple[Flow, ...]:
    """Flows that start one after another, each up to jitter_s later by the seed."""
    random_of_seed = random.Random(seed)
    return tuple(
        Flow(
            name=f"f{i + 1}",
            pair=i % (pairs or count) + 1,
            cc=cc,
            start_s=round(i * stagger_s + random_of_seed.random() * jitter_s, 6),
            seconds=seconds,
            port=FIRST_PORT + i + 1,
        )
        for i in range(count)
    )


def among_backlogged(
    count: int, cc: str, seconds: float, seed: int, *, first_s: float = 0.0, window_bytes: int, packet_bytes: int = 0
) -> tuple[Flow, ...]:
    """One flow from the first host, ``first_s`` later the first of ``count`` in all, and CUBIC flows from the second.

    The others' ``window_bytes``, several times their share of the pipe, keep them
    backlogged for as long as the first one sends.  Blocks are 16 KiB: with
    iperf3's 128 KiB its copying keeps the guest's one CPU for a millisecond, in
    which the shaper is not served either.
    """
    first, *others = staggered(count, cc, seconds, 0, seed, 0.001, 1)
    return (
        replace(first, start_s=first.start_s + first_s, block_bytes=BLOCK_BYTES),
        *(
            replace(
                flow,
                pair=2,
                cc="cubic",
                start_s=flow.start_s + first_s / 2,
                seconds=seconds + first_s,
                window_bytes=window_bytes,
                block_bytes=BLOCK_BYTES,
                packet_bytes=packet_bytes,
            )
            for flow in others
        ),
    )
