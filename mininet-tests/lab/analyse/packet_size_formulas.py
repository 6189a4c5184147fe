# SPDX-License-Identifier: GPL-2.0
"""Formulas of the paper on packet sizes, judged by what the module's own headers answer (kmod/tests/ask_vptfrc.c).

The closed forms here are floating point and the paper's: they share nothing with the headers. N is the number of
reference packets in a round trip, eta that of small packets in a reference packet, p the probability of a loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.errors import NotMeasuredError

# As enum tfrc_method and enum tfrc_mode have them.
UNMODIFIED, UNBIASING, VIRTUAL, SAMPLING, LIP = range(5)
PACKET, BYTE = range(2)
# Of a sender without a stack: with a minute each of ten runs on the stack.
ALONE_S = 600
N, ETA, P = 4.0, 10, 0.2
LARGE_BYTES, SMALL_BYTES = 1000, 100
# Of so many intervals a mean's deviation is half a percent, a variance's one and a half.
INTERVALS = 30_000
LOSSES = (1e-4, 1e-3, 1e-2, 0.1, 0.3)
ROUND_TRIPS_US = (1_000, 100_000, 1_000_000)
CAP, CAP_LOSS = 2, 0.01
# Retransmission timeout in the equation, round trips: the paper's and the module's.
PAPERS_TIMEOUT, TIMEOUT = 4, 2
Judged = tuple[Any, bool]


@dataclass(frozen=True)
class Answers:
    """What was answered, numbers by the question."""

    said: Mapping[str, tuple[float, ...]]

    def of(self, question: str) -> tuple[float, ...]:
        """One answer."""
        if question not in self.said:
            raise NotMeasuredError(f"no answer to: {question}")
        return self.said[question]


def intervals(method: int, mode: int, size: int, loss: float) -> str:
    """The question for mean and variance of loss intervals."""
    return f"intervals {method} {mode} {N:g} {size} {loss!r} {INTERVALS}"


def rate(loss: float, rtt_us: int) -> str:
    """The question for the equation's rate, with the paper's timeout."""
    return f"rate {loss!r} {rtt_us} {LARGE_BYTES} {PAPERS_TIMEOUT}"


def defined(method: int, mode: int) -> str:
    """The question whether a method has a mode."""
    return f"defined {method} {mode}"


def capped(cap: int) -> str:
    """The question for the rate of small packets with a cap on their number."""
    return f"capped {cap} {CAP_LOSS!r} {SMALL_BYTES}"


def sends(
    method: int, mode: int, reference: int, size: int, packets: int, kind: int, loss: float, by_bytes: bool
) -> str:
    """The question for what a paced sender without a stack has on a link of :mod:`..analyse.any_packet_size`.

    :param packets: of a fixed rate, packets/s; 0: of a fixed size
    :param kind: as enum paced_kind has it
    """
    return f"sends {method} {mode} {reference} {size} {packets} {kind} {loss!r} {by_bytes:d} {ALONE_S}"


def equation_bytes_s(loss: float, rtt_us: int, timeout: int = PAPERS_TIMEOUT) -> float:
    """Equation (1), which has the paper's timeout.

    :param timeout: round trips
    """
    root = math.sqrt(2 * loss / 3) + timeout * 3 * math.sqrt(3 * loss / 8) * loss * (1 + 32 * loss**2)
    return LARGE_BYTES / (rtt_us / 1e6 * root)


def _near(values: Mapping[str, tuple[float, float]], tolerance: float) -> Judged:
    told = {name: {"found": round(got, 4), "formula": round(wanted, 4)} for name, (got, wanted) in values.items()}
    return told, all(abs(got / wanted - 1) <= tolerance for got, wanted in values.values())


def _rates(answers: Answers) -> Judged:
    return _near(
        {
            f"{loss:g}, {rtt_us} us": (answers.of(rate(loss, rtt_us))[0], equation_bytes_s(loss, rtt_us))
            for loss in LOSSES
            for rtt_us in ROUND_TRIPS_US
        },
        0.01,
    )


def _mean(answers: Answers, question: str, wanted: float, tolerance: float = 0.05) -> Judged:
    return _near({"mean": (answers.of(question)[0], wanted)}, tolerance)


def _variance(answers: Answers, question: str, wanted: float) -> Judged:
    return _near({"variance": (answers.of(question)[1], wanted)}, 0.15)


# Of full packets, and of any method that is without bias.
MEAN = N - 1 + 1 / P
GEOMETRIC = (1 - P) / P**2


def _theta(answers: Answers) -> Judged:
    return _near(
        {
            "full packets": (answers.of(intervals(UNMODIFIED, PACKET, LARGE_BYTES, P))[0], MEAN),
            "small ones": (answers.of(intervals(UNMODIFIED, PACKET, SMALL_BYTES, P))[0], N * ETA - 1 + 1 / P),
        },
        0.05,
    )


def _of(method: int) -> str:
    return intervals(method, PACKET, SMALL_BYTES, P)


def _of_bytes(method: int) -> str:
    return intervals(method, BYTE, SMALL_BYTES, P / ETA)


def _no_byte_mode(answers: Answers) -> Judged:
    has = {name: bool(answers.of(defined(LIP, mode))[0]) for name, mode in (("packet", PACKET), ("byte", BYTE))}
    return has, has == {"packet": True, "byte": False}


def _optional_cap(answers: Answers) -> Judged:
    """Without it the rate is the equation's; with it the packets are so many times a TCP flow's."""
    free, held = answers.of(capped(0))[0], answers.of(capped(CAP))[0]
    packets = held / SMALL_BYTES / (free / LARGE_BYTES)
    told = {"bytes/s without": free, "bytes/s with": held, "times TCP's packets": round(packets, 3)}
    return told, abs(free / equation_bytes_s(CAP_LOSS, 100_000, TIMEOUT) - 1) < 0.01 and abs(packets / CAP - 1) < 0.01


JUDGES: dict[tuple[str, int], Callable[[Answers], Judged]] = {
    ("vp-eq1", 0): _rates,
    ("vp-theta", 0): _theta,
    ("vp-m-unbias-packet", 0): lambda a: _mean(a, _of(UNBIASING), MEAN),
    ("vp-m-unbias-byte", 0): lambda a: _mean(a, _of_bytes(UNBIASING), MEAN),
    ("vp-m-virtual-packet", 0): lambda a: _mean(a, _of(VIRTUAL), MEAN),
    ("vp-m-virtual-packet", 1): lambda a: _variance(a, _of(VIRTUAL), GEOMETRIC / ETA),
    ("vp-m-virtual-byte", 0): lambda a: _mean(a, _of_bytes(VIRTUAL), MEAN),
    ("vp-m-random-packet", 0): lambda a: _mean(a, _of(SAMPLING), MEAN),
    ("vp-m-random-packet", 1): lambda a: _variance(a, _of(SAMPLING), (N - 1) * (1 - 1 / ETA) + GEOMETRIC),
    ("vp-m-random-byte", 0): lambda a: _mean(a, _of_bytes(SAMPLING), MEAN, 0.1),
    ("vp-m-lip-packet", 0): lambda a: _mean(a, _of(LIP), MEAN),
    ("vp-m-lip-byte", 0): _no_byte_mode,
    ("vp-rate-cap", 0): _optional_cap,
}


class _Asking(Answers):
    """Notes what is asked."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked: dict[str, None] = {}

    def of(self, question: str) -> tuple[float, ...]:
        self.asked[question] = None
        return (1.0, 1.0)


def questions() -> list[str]:
    """Everything that the judges need, each once."""
    noted = _Asking()
    for judge in JUDGES.values():
        judge(noted)
    return list(noted.asked)
