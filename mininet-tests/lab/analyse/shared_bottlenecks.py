# SPDX-License-Identifier: GPL-2.0
"""Checks of the paper on packet sizes at bottlenecks that flows of reno share (4.2, 4.3, appendix A).

ratio
    of the goodput of a flow of vptfrc to that of a flow of reno beside it, each the mean of its kind
unfairness
    mean of the absolute logarithms of the ratios, over methods and numbers of flows
an order that names no number of flows
    of geometric means over the numbers of pairs that were run
drop rate
    retransmitted part of the packets that a kind has sent
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model import packet_sizes, papers
from ..model.errors import NotMeasuredError
from ..model.packet_sizes import REFERENCE_BYTES, SETTINGS

PAPER = "vp-tfrc-2004"
METHODS = ("virtual", "sampling", "lip")
# The paper's TCP, and where cubic is shown in its place: queue and setting.
TCP = "reno"
BESIDE_CUBIC = (("red-packets", 2), ("tail-packets", 2), ("tail-packets", 1))
FEW_PAIRS = 2
# The paper says "more bandwidth for each flow" where round trips are short, and not how much.
RICHER = 5.0
SHORT_MS = 40.0
# Of flows of both kinds together: the paper's "16 flows" may be either.
MANY_FLOWS = 16
# What is kept of a bottleneck's metrics.
OF_KINDS = tuple(
    f"{kind}_{name}"
    for kind in ("tcp", "other")
    for name in ("bit_s", "packets_s", "lost_part", "rate_variation", "short_bit_s", "long_bit_s")
)
METRICS = ("ratio", *OF_KINDS, "loss_event_rate", "interval_variation", "mean_interval_variation")
Metrics = Mapping[str, Any]
Judged = tuple[Any, bool]


@dataclass(frozen=True)
class Shared:
    """One bottleneck, with flows of reno, or cubic, and of vptfrc.

    :param others: flows of vptfrc; 0: as many as of ``tcp``
    :param short_ms: round trip of half of the flows; 0: of none
    """

    queue: str
    setting: int
    pairs: int
    method: str = "virtual"
    mode: str = "packet"
    products: float = 2.0
    round_trip_ms: float = 200.0
    short_ms: float = 0.0
    richer: float = 1.0
    others: int = 0
    tcp: str = TCP


@dataclass(frozen=True)
class Bottlenecks:
    """Each one's metrics (``packet-sizes-at-a-bottleneck``), means over seeds."""

    metrics: Mapping[Shared, Metrics]

    def of(self, one: Shared) -> Metrics:
        """Of one bottleneck."""
        if one not in self.metrics:
            raise NotMeasuredError(one)
        return self.metrics[one]

    def pairs(self, queue: str, setting: int, **more: Any) -> dict[int, Metrics]:
        """Those that differ in the number of pairs alone, by that; NotMeasuredError if there is none."""
        like = Shared(queue, setting, 0, **more)
        found = {
            one.pairs: self.metrics[one]
            for one in sorted(self.metrics, key=lambda one: one.pairs)
            if Shared(**{**vars(one), "pairs": 0}) == like
        }
        if not found:
            raise NotMeasuredError(like)
        return found

    def ratios(self, queue: str, setting: int, most: int = 0, **more: Any) -> dict[int, float]:
        """Ratios by pairs, up to so many; 0: of all."""
        found = self.pairs(queue, setting, **more)
        chosen = {pairs: float(one["ratio"]) for pairs, one in found.items() if not most or pairs <= most}
        if not chosen:
            raise NotMeasuredError(f"{queue}, setting {setting}, {more}: at most {most} pairs")
        return chosen

    def mean(self, queue: str, setting: int, most: int = 0, **more: Any) -> float:
        """Geometric mean of the ratios."""
        return _geometric(self.ratios(queue, setting, most, **more).values())

    def unfairness(self, queue: str, setting: int, most: int = 0, **more: Any) -> float:
        """Of all methods."""
        logarithms = [
            abs(math.log(max(ratio, 1e-9)))
            for method in METHODS
            for ratio in self.ratios(queue, setting, most, **{"method": method, **more}).values()
        ]
        return math.fsum(logarithms) / len(logarithms)

    def means(self, queue: str, setting: int, *methods: str, **more: Any) -> dict[str, float]:
        """Of each method."""
        return {who: self.mean(queue, setting, method=who, **more) for who in methods}


def _geometric(values: Iterable[float]) -> float:
    logarithms = [math.log(max(one, 1e-9)) for one in values]
    return math.exp(math.fsum(logarithms) / len(logarithms))


def _told(values: Mapping[Any, float]) -> dict[str, float]:
    return {str(name): round(value, 3) for name, value in values.items()}


def _order(greater: Mapping[str, float], lesser: Mapping[str, float]) -> Judged:
    return _told({**greater, **lesser}), min(greater.values()) > max(lesser.values())


def _within(values: Mapping[Any, float], low: float, high: float) -> Judged:
    return _told(values), all(low <= one <= high for one in values.values())


def _named(ratios: Mapping[int, float]) -> dict[str, float]:
    return {f"{pairs} and {pairs}": ratio for pairs, ratio in ratios.items()}


def _from(ratios: Mapping[int, float], least: int) -> dict[int, float]:
    chosen = {pairs: ratio for pairs, ratio in ratios.items() if pairs >= least}
    if not chosen:
        raise NotMeasuredError(f"at least {least} pairs")
    return chosen


BYTES: dict[str, Any] = {"method": "virtual", "mode": "byte"}
TAIL: dict[str, Any] = {"method": "virtual", "mode": "byte-tail"}
LOW: dict[str, Any] = {"round_trip_ms": SHORT_MS}


def _lip_and_virtual(found: Bottlenecks, queue: str, setting: int) -> Judged:
    return _order(found.means(queue, setting, "lip"), found.means(queue, setting, "virtual"))


def _virtual_and_sampling(found: Bottlenecks, queue: str, setting: int) -> Judged:
    return _order(found.means(queue, setting, "virtual"), found.means(queue, setting, "sampling"))


def _products(found: Bottlenecks, method: str, greater: float, lesser: float) -> Judged:
    of = {products: found.mean("tail-packets", 1, method=method, products=products) for products in (greater, lesser)}
    return _order({f"{greater:g} products": of[greater]}, {f"{lesser:g} products": of[lesser]})


def _unfairness_order(greater: tuple[str, float], lesser: tuple[str, float]) -> Judged:
    return _order(dict([greater]), dict([lesser]))


def _fairest(found: Bottlenecks) -> Judged:
    own, other = found.unfairness("red-packets", 4), found.unfairness("red-packets", 2)
    return _told({"here": own, "of fig9a": other}), own <= other + 0.1


def _rates_9b_10a(found: Bottlenecks) -> Judged:
    of = {
        name: _geometric(found.means("tail-packets", setting, *METHODS).values())
        for name, setting in (("fig9b", 2), ("fig10a", 1))
    }
    return _order({"fig9b": of["fig9b"]}, {"fig10a": of["fig10a"]})


def _deviation(found: Bottlenecks) -> Judged:
    ratios = _from(found.ratios("red-bytes", 1, **BYTES), 2)
    mean = math.fsum(abs(one - 1) for one in ratios.values()) / len(ratios)
    return {"deviation": round(mean, 3)}, abs(mean - 0.25) <= 0.15


def _drop_ratios(found: Bottlenecks) -> dict[int, float]:
    """Of a reno flow's part to a small one's."""
    return {
        pairs: one["tcp_lost_part"] / max(one["other_lost_part"], 1e-9)
        for pairs, one in found.pairs("tail-bytes", 1, **BYTES).items()
    }


def _drop_ratio_of_sizes(found: Bottlenecks) -> Judged:
    eta = REFERENCE_BYTES / SETTINGS[1].most_bytes
    return _within({"factor": _geometric(_drop_ratios(found).values()) / eta}, 1.5, 2.5)


def _distance(found: Bottlenecks, mode: Mapping[str, Any]) -> float:
    ratios = _from(found.ratios("tail-bytes", 1, **mode), 4)
    return math.fsum(abs(one - 1) for one in ratios.values()) / len(ratios)


def _mix(found: Bottlenecks) -> Judged:
    alone = found.of(Shared("tail-packets", 1, 32, others=1))["ratio"]
    beside = {pairs: found.of(Shared("tail-packets", 1, pairs))["ratio"] for pairs in (16, 32)}
    expected = sum(beside.values()) / len(beside)
    return _told({"1 beside 32": alone, **_named(beside)}), abs(alone / expected - 1) <= 0.3


def _least_pairs(ratios: Mapping[int, float]) -> Judged:
    return _order({"1 and 1": ratios[1]} if 1 in ratios else _lacks(1), _named(_from(ratios, 4)))


def _lacks(pairs: int) -> dict[str, float]:
    raise NotMeasuredError(f"{pairs} pairs")


def _lip_above_all(found: Bottlenecks) -> Judged:
    of = found.means("tail-packets", 3, *METHODS, **LOW)
    return _order({"lip": of["lip"]}, {who: of[who] for who in ("virtual", "sampling")})


def _halves(found: Bottlenecks) -> list[Metrics]:
    return list(found.pairs("tail-packets", 1, short_ms=SHORT_MS).values())


def _short_and_long(found: Bottlenecks) -> Judged:
    of = {"short over long": _geometric(one["tcp_short_bit_s"] / one["tcp_long_bit_s"] for one in _halves(found))}
    return _told(of), max(of.values()) < 200.0 / SHORT_MS


def _short_ones(found: Bottlenecks) -> Judged:
    def over(kind: str) -> float:
        """Of the long round trip's reno, as in the figure."""
        return _geometric(one[f"{kind}_short_bit_s"] / one["tcp_long_bit_s"] for one in _halves(found))

    return _order({"reno": over("tcp")}, {"virtual": over("other")})


def _packet_ratios(found: Bottlenecks, **more: Any) -> dict[int, float]:
    return {
        pairs: one["other_packets_s"] / max(one["tcp_packets_s"], 1e-9)
        for pairs, one in found.pairs("packet-rate", 1, **more).items()
    }


def _two_flows(found: Bottlenecks) -> Metrics:
    return found.of(Shared("packet-rate", 1, 1, mode="byte"))


def _two_flows_ratio(found: Bottlenecks) -> float:
    one = _two_flows(found)
    return float(one["other_packets_s"] / max(one["tcp_packets_s"], 1e-9))


def _falls(found: Bottlenecks) -> Judged:
    ratios = _packet_ratios(found, **BYTES)
    if len(ratios) == 1:
        raise NotMeasuredError("more than one number of pairs")
    return _told(_named(ratios)), all(a > b for a, b in itertools.pairwise(ratios.values()))


def _settings(found: Bottlenecks) -> Judged:
    """Arithmetic: what a fixed packet rate cannot exceed is what the paper states."""
    del found
    published = _entry("vp-4.2-settings").published["settings"]
    stated = {key: one["max_rate_bit_s"] for key, one in published.items() if "max_rate_bit_s" in one}
    own = {key: SETTINGS[int(key)].most_bit_s for key in stated}
    return own, all(abs(own[key] / value - 1) <= 0.001 for key, value in stated.items())


def _queues(found: Bottlenecks) -> Judged:
    """Arithmetic: the lab's queues are those of the rule, at each setting and number of pairs."""
    del found
    table = _entry("vp-queue").derived["queue_by_setting_and_pairs"]
    off = [
        abs(packet_sizes.queue_packets(SETTINGS[int(setting)], 2 * int(pairs)) / one["queue_pkt"] - 1)
        for setting, rows in table.items()
        for pairs, one in rows.items()
    ]
    return {"queues": len(off), "largest difference": round(max(off), 4)}, max(off) <= 0.02


def _entry(name: str) -> papers.Entry:
    return next(one for one in papers.load(PAPER).entries if one.id == name)


# By id and number among the checks of the id.
JUDGES: dict[tuple[str, int], Callable[[Bottlenecks], Judged]] = {
    ("vp-4.2-settings", 0): _settings,
    ("vp-queue", 0): _queues,
    ("vp-fig9a", 0): lambda f: _lip_and_virtual(f, "red-packets", 2),
    ("vp-fig9a", 1): lambda f: _within(
        {
            f"{who}, {name}": ratio
            for who in ("virtual", "sampling")
            for name, ratio in _named(f.ratios("red-packets", 2, method=who)).items()
        },
        0.65,
        1.35,
    ),
    ("vp-fig9a", 2): lambda f: _virtual_and_sampling(f, "red-packets", 2),
    ("vp-fig9b", 0): lambda f: _unfairness_order(
        ("drop-tail", f.unfairness("tail-packets", 2)), ("RED", f.unfairness("red-packets", 2))
    ),
    ("vp-fig9b", 1): lambda f: _within(f.means("tail-packets", 2, "lip"), 1.3 + 1e-9, math.inf),
    ("vp-fig9b", 2): lambda f: _lip_and_virtual(f, "tail-packets", 2),
    ("vp-fig10a", 0): lambda f: _lip_and_virtual(f, "tail-packets", 1),
    ("vp-fig10a", 1): lambda f: _virtual_and_sampling(f, "tail-packets", 1),
    ("vp-fig10a", 2): _rates_9b_10a,
    ("vp-fig10b", 0): lambda f: _products(f, "virtual", 1.0, 2.0),
    ("vp-fig10b", 1): lambda f: _products(f, "sampling", 1.0, 2.0),
    ("vp-fig10b", 2): lambda f: _products(f, "lip", 2.0, 1.0),
    ("vp-fig10b", 3): lambda f: _within(f.means("tail-packets", 1, "lip", products=1.0), 0.7, 1.3),
    ("vp-fig11", 0): lambda f: _unfairness_order(
        ("50 packets/s", f.unfairness("tail-packets", 2)), ("160 packets/s", f.unfairness("tail-packets", 3))
    ),
    ("vp-fig12", 0): _fairest,
    ("vp-lip-buffer", 0): lambda f: _products(f, "lip", 2.0, 1.0),
    ("vp-lip-buffer", 1): lambda f: _products(f, "virtual", 1.0, 2.0),
    ("vp-fig13a", 0): lambda f: _within(_named(_from(f.ratios("red-bytes", 1, **BYTES), 2)), 0.65, 1.35),
    ("vp-fig13a", 1): _deviation,
    ("vp-fig13b", 0): lambda f: _within(_named(_from(f.ratios("tail-bytes", 1, **BYTES), 4)), 2 * 0.65, 2 * 1.35),
    ("vp-fig13b", 1): lambda f: _least_pairs(f.ratios("tail-bytes", 1, **BYTES)),
    ("vp-fig13b", 2): lambda f: _within(_named(_drop_ratios(f)), 25, 100),
    ("vp-drop-ratio", 0): _drop_ratio_of_sizes,
    ("vp-fig13b-corrected", 0): lambda f: _order(
        {"uncorrected": _distance(f, BYTES)}, {"corrected": _distance(f, TAIL)}
    ),
    ("vp-fig13b-corrected", 1): lambda f: _within({"corrected": _distance(f, TAIL)}, 0.0, 0.35),
    ("vp-4.2.3-mix", 0): _mix,
    ("vp-fig14", 0): lambda f: _unfairness_order(
        ("40 ms", f.unfairness("tail-packets", 3, FEW_PAIRS, **LOW)),
        ("200 ms", f.unfairness("tail-packets", 3, FEW_PAIRS)),
    ),
    ("vp-fig14", 1): _lip_above_all,
    ("vp-low-rtt-rich", 0): lambda f: _unfairness_order(
        ("the paper's bandwidth", f.unfairness("tail-packets", 3, FEW_PAIRS, **LOW)),
        (f"{RICHER:g} times", f.unfairness("tail-packets", 1, FEW_PAIRS, richer=RICHER, **LOW)),
    ),
    ("vp-fig15", 0): _short_and_long,
    ("vp-fig15", 1): _short_ones,
    ("vp-pktlimit-packetmode", 0): lambda f: _within(_named(_packet_ratios(f)), 6.0, 14.0),
    ("vp-fig16", 0): lambda f: _within({"reno's packets/s": _two_flows(f)["tcp_packets_s"]}, 75, 125),
    ("vp-fig16", 1): lambda f: _within({"of packets": _two_flows_ratio(f)}, 8 * 0.6, 8 * 1.4),
    ("vp-fig16", 2): lambda f: _within(_named(_from(_packet_ratios(f, **BYTES), MANY_FLOWS // 2)), 0.0, 1.0 - 1e-9),
    ("vp-fig16", 3): lambda f: _within(_named(f.ratios("packet-rate", 1, **BYTES)), 0.0, 1.0 - 1e-9),
    ("vp-fig16", 4): _falls,
}
