# SPDX-License-Identifier: GPL-2.0
"""fq_rr's options as its header has them, and requests drawn from their ranges.

Read from include/uapi/linux/pkt_sched_fq_rr.h, so that an option is tortured as
soon as it exists.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

HEADER = Path(__file__).resolve().parents[2] / "include" / "uapi" / "linux" / "pkt_sched_fq_rr.h"
FORMATS = {"u32": "=I", "s32": "=i", "u64": "=Q"}
WIDEST = {"u32": (0, 2**32 - 1), "s32": (-(2**31), 2**31 - 1), "u64": (0, 2**64 - 1)}
# Options whose limits bear another's name; of those the constants beside the limits do not count.
LIMITS_OF = {"RATE64": "RATE", "MU_MIN": "RATE", "MU_MAX": "RATE"}
CONSTANTS_OF = {"RATE64": "RATE", "MU_MIN": "MU", "MU_MAX": "MU"}
# These cannot change once the qdisc is there.
FIXED = ("FLOWS", "SEED")
# These mean nothing without another, and may contradict one another with it.
OF_QLBP = ("QLBP", "MU_MIN", "MU_MAX", "Q_MAX", "LOAD", "MAX_DELAY")
# The first may not be above the second.
ORDERED = ("TARGET", "INTERVAL")
# With the last value of the first, one queue for all, the second has none but its first.
SHARED = ("MODE", "HOSTS")
# None that may contradict what another is, or is asked to be.
TOGETHER = (*OF_QLBP, *ORDERED, *SHARED)


@dataclass(frozen=True)
class Option:
    """One attribute: its number, type, and what it may be."""

    name: str
    number: int
    kind: str
    low: int
    high: int
    also: frozenset[int]

    def allows(self, value: int) -> bool:
        """Whether the kernel should take the value, for all that this option says."""
        return self.low <= value <= self.high or value in self.also

    def encode(self, value: int) -> bytes:
        """The attribute's payload."""
        return struct.pack(FORMATS[self.kind], value)

    def decode(self, payload: bytes) -> int:
        """The value of a payload that the kernel sent."""
        return int(struct.unpack(FORMATS[self.kind], payload)[0])

    def draw(self, random: Random) -> int:
        """A value that is allowed: limits and special ones often, else as likely in each decade."""
        edge = random.random()
        if self.also and edge < 0.15:
            return random.choice(sorted(self.also))
        if edge < 0.3:
            return random.choice((self.low, self.high))
        if self.low < 0 or self.high - self.low < 16:
            return random.randint(self.low, self.high)
        value = math.exp(random.uniform(math.log(self.low + 1), math.log(self.high + 1))) - 1
        return min(self.high, max(self.low, int(value)))

    def draw_forbidden(self, random: Random) -> int | None:
        """A value that is not allowed, or None if every value is."""
        least, most = WIDEST[self.kind]
        outside = [self.low - 1, self.high + 1, least, most, 2**31, random.randint(least, most)]
        outside = [value for value in outside if least <= value <= most and not self.allows(value)]
        return random.choice(outside) if outside else None


def draw_ordered(random: Random, named: Mapping[str, Option]) -> dict[str, int]:
    """Values of the options that are ordered, in their order."""
    drawn = sorted(named[name].draw(random) for name in ORDERED)
    return dict(zip(ORDERED, drawn, strict=True))


def draw_shared(random: Random, named: Mapping[str, Option]) -> dict[str, int]:
    """A mode, and hosts that there may be with it."""
    mode, hosts = (named[name].draw(random) for name in SHARED)
    return {"MODE": mode, "HOSTS": 0 if mode == named["MODE"].high else hosts}


def _number(text: str, constants: dict[str, int]) -> int | None:
    """What a C constant expression of the header's simple forms comes to."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if text in constants:
        return constants[text]
    if text.startswith("~"):
        return 2**64 - 1
    if match := re.fullmatch(r"(\d+)U? << (\d+)", text):
        return int(match[1]) << int(match[2])
    if match := re.fullmatch(r"(-?\d+)U?(?:LL)?", text):
        return int(match[1])
    return None


def read(header: Path = HEADER) -> list[Option]:
    """All options that have a value."""
    text = header.read_text()
    constants: dict[str, int] = {}
    for body in re.findall(r"enum fq_rr_\w+ \{(.*?)\}", text, re.DOTALL):
        for number, name in enumerate(re.findall(r"FQ_RR_\w+", body)):
            constants[name] = number
    for name, value in re.findall(r"^#define (FQ_RR_\w+)\s+(.+)$", text, re.MULTILINE):
        defined = _number(value, constants)
        if defined is not None:
            constants[name] = defined
    first = re.search(r"enum \{(.*?)__TCA_FQ_RR_MAX", text, re.DOTALL)
    assert first is not None
    found = []
    for number, line in enumerate(re.findall(r"^\tTCA_FQ_RR_(.+)$", first[1], re.MULTILINE)):
        match = re.match(r"(\w+),\s*/\* (u32|s32|u64)(.*)", line)
        if match:
            found.append(_option(match[1], number, match[2], match[3], constants))
    return found


def _option(name: str, number: int, kind: str, meaning: str, constants: dict[str, int]) -> Option:
    prefix = "FQ_RR_" + LIMITS_OF.get(name, name)
    least, most = WIDEST[kind]
    low = constants.get(prefix + "_MIN", least)
    high = constants.get(prefix + "_MAX", 1 if "0 or 1" in meaning else most)
    special = re.compile(f"FQ_RR_{CONSTANTS_OF.get(name, name)}_(?:AUTO|NONE|OFF|NEVER|RANDOM|UNLIMITED)")
    also = frozenset(value for constant, value in constants.items() if special.fullmatch(constant))
    return Option(name, number, kind, low, high, also)
