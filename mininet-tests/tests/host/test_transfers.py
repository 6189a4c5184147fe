# SPDX-License-Identifier: GPL-2.0
"""From a run of transfers to its rows, and which runs a campaign has."""

from collections import Counter
from typing import Any

import pytest
from lab import campaign, measure, runner, transfers
from lab.transfers import Row, Transfer, TransferPlan


def plan(**changes: Any) -> TransferPlan:
    """Two equal files at once: a fair link takes 20 ms for both, and then a round trip."""
    values: dict[str, Any] = {
        "benchmark": "b0",
        "cc": "reno",
        "qdisc": "fq_rr",
        "hosts": "open",
        "seed": 1,
        "transfers": (Transfer("a", "s1", "d1", 100), Transfer("b", "s2", "d2", 100)),
        "rows": (Row("", "a", 0.064, 0.5),),
        "delays_ms": {"d1-x": 44.0, "d2-x": 44.0},
    }
    return TransferPlan(**{**values, **changes})


def raw(*lasted_s: float, **changes: Any) -> dict[str, Any]:
    results = [
        {
            "name": "ab"[index],
            "error": None,
            "began_ns": 1000,
            "ended_ns": 1000 + round(time_s * 1e9),
            "retransmits": 3 + index,
            "data_packets_sent": 110,
            "mss_bytes": 448,
        }
        for index, time_s in enumerate(lasted_s)
    ]
    return {"transfers": results, "source_error": None, "qdiscs": {"d1-x": [{"kind": "netem", "drops": 0}]}, **changes}


def rows(of: TransferPlan, found: dict[str, Any]) -> list[dict[str, Any]]:
    return transfers.row_figures(of, transfers.flow_figures(of, found))


def test_row() -> None:
    """A row: the primary against the paper's optimum, mean and worst against each flow's reference."""
    (row,) = rows(plan(), raw(0.096, 0.032))
    assert row["slowdown"] == 0.5 and row["completion_s"] == 0.096 and row["optimal_s"] == 0.064
    # references: 64 ms less what the other's last packet takes, by the start's jitter
    assert row["reference_s"] == pytest.approx(0.064, abs=0.0002)
    assert row["worst_slowdown"] == pytest.approx(0.5, abs=0.005)
    # the flow that is ahead by half counts as 0
    assert row["mean_slowdown"] == pytest.approx(0.25, abs=0.003)
    assert (row["packets"], row["retransmits"]) == (200, 7)


def test_optimum_by_reference() -> None:
    """Where the paper prints no optimum, the reference is the optimum"""
    (row,) = rows(plan(rows=(Row("", "b", None, 0.5),)), raw(0.064, 0.128))
    assert row["optimal_s"] == row["reference_s"] == pytest.approx(0.064, abs=0.0002)
    assert row["slowdown"] == pytest.approx(1, abs=0.005)


def test_difference() -> None:
    """Benchmark 9: how far apart two transfers end, over the first, whichever is later"""
    of = plan(rows=(Row(transfers.DIFFERENCE, "b", None, 0.067),))
    assert rows(of, raw(0.1, 0.12))[0]["slowdown"] == pytest.approx(0.2)
    assert rows(of, raw(0.1, 0.08))[0]["slowdown"] == pytest.approx(0.2)


WRONG = {
    "a transfer that failed": ({"error": "did not end"}, {}, "transfer b: did not end"),
    "other segments": ({"mss_bytes": 1448}, {}, "transfer b: segments of 1448 bytes, not 448"),
    "a delay line that dropped": ({}, {"qdiscs": {"d1-x": [{"kind": "netem", "drops": 1}]}}, "netem on d1-x dropped"),
    "datagrams that were sent at once": (
        {},
        {"qdiscs": {"s13-r": [{"kind": "fq", "drops": 0, "packets": 100, "throttled": 94}]}},
        "94 of 100 datagrams waited",
    ),
    "a source that failed": ({}, {"source_error": "source: no"}, "source: no"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_runs(case: str) -> None:
    """A run that is not what it was meant to be is an error, not a row"""
    result, whole, message = WRONG[case]
    found = raw(0.1, 0.1, **whole)
    found["transfers"][1].update(result)
    with pytest.raises(measure.RunError, match=message):
        rows(plan(), found)


def test_bottleneck_may_drop() -> None:
    """Drops at the bottleneck are no error"""
    assert rows(plan(), raw(0.1, 0.1, qdiscs={"r-x": [{"kind": "fq_rr", "drops": 9}]}))


def test_start_jitter() -> None:
    """Starts are up to one packet time late, by the seed and nothing else"""
    starts = [plan(seed=seed).starts_ns() for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert all(0 <= start < transfers.PACKET_NS for one in starts for start in one)


def test_settings() -> None:
    """A packet takes the same time in every setting of the hosts; only one has other buffers than stock"""
    for name, setting in transfers.SETTINGS.items():
        assert setting.packet_bytes * 8e9 / setting.rate_bit_s == transfers.PACKET_NS, name
    assert [name for name, setting in transfers.SETTINGS.items() if setting.gro] == ["stock-gro"]
    assert transfers.SETTINGS["nowindow"].rate_bit_s == 12_800_000


def test_guest_plan() -> None:
    """What the guest is told: queue, ports, and no capture"""
    told = plan(qdisc="cake", limit_packets=44).for_guest(False)
    assert f"memlimit {44 * transfers.CAKE_BYTES_PER_PACKET}" in told["bottlenecks"]["r-x"][0]
    assert len({flow["port"] for flow in told["transfers"]}) == 2
    assert [plan(qdisc=qdisc).for_guest(False)["mtu_bytes"] for qdisc in ("fq_rr", "fq_codel")] == [1500, 500]
    with pytest.raises(transfers.LabError, match="--pcap"):
        plan().for_guest(True)


def test_campaign() -> None:
    """The campaign: every row, three seeds (five with random traffic), pktpair's own settings for pktpair only"""
    jobs = [job for boot in campaign.boots(campaign.Selection()) for job in boot.jobs]
    labels = Counter(
        (job.plan.benchmark, row.variant, job.plan.hosts, job.cc, job.qdisc) for job in jobs for row in job.plan.rows
    )
    assert all(count == (5 if key[0] == "b7" else 3) for key, count in labels.items())
    variants = Counter(key[0] for key in labels if key[2:] == ("open", "pktpair", "fq_rr"))
    assert variants == {"b1": 1, "b2": 1, "b3": 4, "b4": 2, "b5": 1, "b6": 2, "b7": 10, "b8": 1, "b9": 3}
    peers = {key for key in labels if key[3] != "pktpair"}
    assert {key[2] for key in peers} == {"stock", "open"} and not any("staggered" in key[1] for key in peers)
    assert {key[4] for key in labels if key[2] == "nowindow"} == {"fq_rr"}
    assert {key[0] for key in labels if key[2] == "stock-gro"} == {"b1", "b2", "b3"}
    seeds = {(job.plan.label, job.scenario.name, job.cc, job.qdisc, job.seed) for job in jobs}
    assert len(seeds) == len(jobs)


def test_selection() -> None:
    """A selection has what was asked for, and refuses what there is not"""
    (boot,) = campaign.boots(campaign.Selection(("b1", "b3"), ("bbr",), ("cake",), ("stock",), 1))
    assert boot.name == "stock-bbr-cake" and len(boot.jobs) == 5
    with pytest.raises(campaign.argparse.ArgumentTypeError, match="b10: must be of b1, b2"):
        campaign.chosen("b1,b10", campaign.BENCHMARKS)


def test_a_boot_depends_on_the_modules_that_it_uses() -> None:
    """A peer over a peer's queue need not be measured again when a module of ours has changed"""
    used = {
        boot.name: runner.modules_of(boot.jobs)
        for boot in campaign.boots(campaign.Selection(benchmarks=("b3",), hosts=("open",), qdiscs=("fq_rr", "cake")))
    }
    assert used["open-bbr-cake"] == set()
    assert used["open-bbr-fq_rr"] == {"sch_fq_rr"}
    assert used["open-pktpair-cake"] == {"tcp_pktpair"}
    assert used["open-pktpair-fq_rr"] == {"tcp_pktpair", "sch_fq_rr"}
