# SPDX-License-Identifier: GPL-2.0
"""The reference of the transfers, against the paper's printed optima and fluid models."""

import itertools
import random
from collections.abc import Iterator

import pytest
from lab.model import arrivals
from lab.model.reference import File, Stream, completions_s

PACKET_NS = 100_000
ROUND_TRIP_NS = 44_000_000
LINK = {"link": PACKET_NS}
MS = 1_000_000


def file(name: str, packets: int, start_ms: float = 0, round_trip_ms: float = 44, path: tuple[str, ...] = ("link",)):
    return File(name, packets, round(start_ms * MS), round(round_trip_ms * MS), path)


def cross(spacing_ms: float) -> list[File]:
    return [file(f"cross{i}", 1000, 100 + i * spacing_ms) for i in range(10)]


@pytest.mark.parametrize("spacing_ms", [44, 4])
def test_cross_traffic(spacing_ms: float) -> None:
    """Benchmarks 1, 2 and 8: 1.444 s, as printed"""
    assert completions_s(LINK, [file("primary", 4000), *cross(spacing_ms)])["primary"] == pytest.approx(1.444, abs=1e-9)


@pytest.mark.parametrize(("packets", "printed_s"), [(4, 0.0444), (20, 0.046), (200, 0.064), (2000, 0.244)])
def test_short_files(packets: int, printed_s: float) -> None:
    """Benchmark 3: as printed"""
    assert completions_s(LINK, [file("primary", packets)]) == {"primary": pytest.approx(printed_s, abs=1e-9)}


def test_path_lengths() -> None:
    """Benchmark 4: as printed, to a packet time; the fluid model's times if the long path is longer on the way there"""
    found = completions_s(LINK, [file("short", 4000), file("long", 4000, 0, 82), *cross(44)])
    assert found["short"] == pytest.approx(1.844, abs=0.00011)
    assert found["long"] == pytest.approx(1.882, abs=0.00011)
    # 19 ms more before the bottleneck: the same round trip, another order of arrival
    found = completions_s(LINK, [file("short", 4000), file("long", 4000, 19, 82 - 19), *cross(44)])
    assert found["short"] == pytest.approx(1.825, abs=0.0006)
    assert found["long"] + 0.019 == pytest.approx(1.863, abs=0.0006)


def test_migrating_bottleneck() -> None:
    """Benchmark 5: 0.644 s over two links, as printed"""
    links = {"first": PACKET_NS, "second": PACKET_NS}
    flows = [
        file("primary", 4000, path=("first", "second")),
        file("on the first", 2000, 100, path=("first",)),
        file("on the second", 500, 250, 4, ("second",)),
        file("also on the second", 500, 250, 4, ("second",)),
    ]
    assert completions_s(links, flows)["primary"] == pytest.approx(0.644, abs=0.0003)


def test_two_way() -> None:
    """Benchmark 6: 1.556 s if every packet shares the link with one acknowledgement, as printed"""
    found = completions_s({"link": 108_000}, [file("primary", 4000), *cross(44)])
    assert found["primary"] == pytest.approx(1.556, abs=1e-9)


def even(rate_packets_s: float, start_s: float) -> Iterator[int]:
    return (round((start_s + i / rate_packets_s) * 1e9) for i in itertools.count())


@pytest.mark.parametrize(
    ("intensity", "from_zero_s", "staggered_s"),
    [(0.2, 0.544, 0.472), (0.4, 0.711, 0.514), (0.6, 1.044, 0.597), (0.8, 2.044, 0.852), (0.9, 4.044, 1.362)],
)
def test_uncontrolled(intensity: float, from_zero_s: float, staggered_s: float) -> None:
    """Benchmark 7: evenly spaced cross traffic gives the fluid model's times, for both readings"""
    for spacing_s, first_s, expected_s in ((0, 0, from_zero_s), (0.044, 0.1, staggered_s)):
        streams = [
            Stream(str(i), even(intensity * 1000, first_s + i * (spacing_s or 1e-5)), ("link",)) for i in range(10)
        ]
        assert completions_s(LINK, [file("primary", 4000)], streams)["primary"] == pytest.approx(expected_s, rel=0.01)


def test_torture() -> None:
    """Benchmark 9: the fluid model's 1.153 and 1.173 s"""
    streams = [
        Stream(str(start_s), arrivals.on_off(2500, start_s, 0.0025, 0.0015), ("link",)) for start_s in (0.0015, 0.003)
    ]
    found = completions_s(LINK, [file("near", 4000, 0, 0.2), file("far", 4000, 0, 20.2)], streams)
    assert found["near"] == pytest.approx(1.153, abs=0.012)
    assert found["far"] == pytest.approx(1.173, abs=0.012)


def test_fair_shares() -> None:
    """While n files are backlogged, each gets every nth turn; a late one waits for its turn only"""
    found = completions_s(LINK, [file("a", 10), file("b", 10), file("c", 1, 0.55)])
    # c arrives in the sixth turn, behind the one flow that is waiting
    assert found == pytest.approx({"a": 0.044 + 0.0020, "b": 0.044 + 0.0021, "c": 0.044 + 0.00025})


def test_two_links() -> None:
    """Over two links the slower one sets the pace, and each is shared on its own"""
    links = {"fast": PACKET_NS, "slow": 2 * PACKET_NS}
    found = completions_s(links, [file("both", 10, path=("fast", "slow")), file("first", 10, path=("fast",))])
    # the first packet passes the fast link alone; then twenty turns of the slow one
    assert found["both"] == pytest.approx(0.044 + 0.0001 + 10 * 0.0002)
    assert found["first"] == pytest.approx(0.044 + 20 * 0.0001)
    found = completions_s(links, [file("both", 10, path=("fast", "slow")), file("second", 10, path=("slow",))])
    assert max(found.values()) == pytest.approx(0.044 + 20 * 0.0002)


def test_work_is_conserved() -> None:
    """The last of any set of files ends when all packets have been served, if the link never idles"""
    for seed in range(20):
        numbers = random.Random(seed)
        flows = [file(str(i), numbers.randint(1, 200), i * 0.3) for i in range(numbers.randint(1, 12))]
        flows[0] = file("0", 400)
        total = sum(flow.packets for flow in flows)
        found = completions_s(LINK, flows)
        ends = [found[flow.name] + flow.start_ns / 1e9 for flow in flows]
        assert max(ends) == pytest.approx(0.044 + total * PACKET_NS / 1e9, abs=1e-9)


def test_bad_input() -> None:
    """Files without packets and names given twice are refused"""
    with pytest.raises(ValueError, match="at least one packet"):
        completions_s(LINK, [file("a", 0)])
    with pytest.raises(ValueError, match="one name"):
        completions_s(LINK, [file("a", 1), file("a", 1)])


def test_poisson() -> None:
    """Poisson arrivals: the mean rate, gaps as variable as they are long, the same for one seed"""
    times = list(itertools.islice(arrivals.poisson(500, 0.1, "seed"), 20_000))
    gaps = [b - a for a, b in itertools.pairwise(times)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert times[0] > 100 * MS and min(gaps) >= 0
    assert mean == pytest.approx(2 * MS, rel=0.03)  # four standard errors of 20,000 gaps
    assert deviation / mean == pytest.approx(1, abs=0.05)
    assert times[:100] == list(itertools.islice(arrivals.poisson(500, 0.1, "seed"), 100))
    assert times[:100] != list(itertools.islice(arrivals.poisson(500, 0.1, "other"), 100))


def test_on_off() -> None:
    """On-off arrivals: the exact mean rate, only while on"""
    times = list(itertools.islice(arrivals.on_off(2500, 0.0015, 0.0025, 0.0015), 2500))
    assert times[0] == 1_500_000
    assert all((time - 1_500_000) % 4_000_000 < 2_500_000 for time in times)
    # 2500 packets are one second of being on: 400 bursts
    assert (times[-1] - times[0]) / 1e9 == pytest.approx(1.6, abs=0.002)
