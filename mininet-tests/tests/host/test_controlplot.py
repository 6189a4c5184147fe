# SPDX-License-Identifier: GPL-2.0
"""lab plot: a flow's events become the values that are drawn, and a picture."""

from pathlib import Path

import pytest
from lab.model.errors import LabError
from lab.show import controlplot


def sample(time_s: float, port: int, verdict: str = "sample", service_ns: int = 1_200_000) -> str:
    return (
        f" <idle>-0 [000] b.s3. {time_s:.6f}: pktpair_sample: family=inet sport={port} dport=20001 verdict={verdict}"
        f" train=4 gap_ns=2400000 covered_segments=2 rtt_us=24200 propagation_us=20000 outstanding=18 delivered=18"
        f" newest_age_us=10 snd_nxt=77 service_ns={service_ns} backlog_q8=640 backlog_paper_q8=600 setpoint_q8=-1280"
        f" rate_bytes_ps=1250000 cwnd=20 mss=1500"
    )


def packet(time_s: float, port: int, queue: int, length: int = 1514) -> str:
    return (
        f" iperf3-150 [000] b.s2. {time_s:.6f}: fq_rr_enqueue: ifindex=2 handle=1: sport={port} dport=20001"
        f" hash=00000001 flow=1 len={length} flow_packets={queue} flow_bytes=0 qlen={queue} end_seq=77"
    )


TRACE = "\n".join(
    [
        packet(9.5, 10002, 7),
        packet(10.0, 10001, 3),
        packet(10.1, 10001, 9, length=66),
        sample(10.2, 10001, service_ns=0),
        sample(10.5, 10001),
        sample(10.75, 10001, "one-ack"),
        sample(11.0, 10002),
    ]
)


def test_values() -> None:
    """Units are what the axes say; other flows, acknowledgements and what is not yet known are left out."""
    flow = controlplot.traced_flow(TRACE, 10001)
    assert flow.time_s == pytest.approx([0.5, 0.75])
    assert flow.setpoint == pytest.approx([-5, -5])
    assert flow.estimate == pytest.approx([2.5, 2.5])
    assert flow.outstanding == pytest.approx([18, 18])
    assert flow.window == pytest.approx([20, 20])
    assert flow.rate_mbit == pytest.approx([10, 10])
    assert flow.share_mbit == pytest.approx([10, 10])
    assert flow.service_ms == pytest.approx([1.2, 1.2])
    assert (list(flow.gap_time_s), list(flow.gap_ms)) == ([0.5], pytest.approx([1.2]))
    assert (list(flow.queue_time_s), list(flow.queue)) == ([0.0], [3.0])


def test_picture(tmp_path: Path) -> None:
    """The flow with the lowest port, beside the recording, unless told otherwise."""
    recording = tmp_path / "run.trace"
    recording.write_text(TRACE)
    first = controlplot.plot(recording, None, None)
    assert first == tmp_path / "run-10001.png" and first.read_bytes().startswith(b"\x89PNG")
    other = controlplot.plot(recording, 10002, tmp_path / "other.png")
    assert other.read_bytes().startswith(b"\x89PNG")


def test_nothing_to_draw(tmp_path: Path) -> None:
    """A file that is no recording, a flow that is not in it: said, and nothing written."""
    recording = tmp_path / "run.trace"
    for text, port, message in (
        ("", None, "has no sample of tcp_pktpair"),
        (TRACE, 10003, "has no flow 10003; it has: 10001, 10002"),
        (sample(1, 10001, service_ns=0), None, "never had a service time"),
    ):
        recording.write_text(text)
        with pytest.raises(LabError, match=message):
            controlplot.plot(recording, port, None)
    with pytest.raises(LabError, match="No such file"):
        controlplot.plot(tmp_path / "missing", None, None)
    assert [path.name for path in tmp_path.iterdir()] == ["run.trace"]
