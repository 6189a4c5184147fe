#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""cubic_window.h beside the kernel's tcp_cubic, with the same ACKs and losses at the same times.

Runs inside the lab (scripts/lab exec), prints TAP; the path is that of
in_lab_pktpair.py. A connection of tcp_cubic loses packets at stated times, and
bpftrace records each of its ACKs and losses. replay_cubic_window.c then gives
the record to the header. Windows right before each loss are compared.
"""

from __future__ import annotations

import contextlib
import functools
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from in_guest.netlink import TCA_STATS2, TCA_STATS_QUEUE, dump, split_attributes
from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of
from in_lab_pktpair import DEFAULT, bottleneck, build_path, flow, namespace

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent / "cubic_window.h"
HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
# After a loss at 100 packets the curve is back there in 4.2 s. In these 14 round trips Reno's window
# grows by 7 packets and the curve by 30, so that C decides.
ROUND_TRIP_MS = 300
# Time from each loss to the next. Some are far below that time, and some far above: near it the
# window is the one before the last loss, whatever beta and C are.
APART_S = (1.0, 6.0, 1.0, 7.5, 2.0, 5.5, 0.9, 6.5, 3.0, 7.0, 1.5, 5.0, 0.9, 8.0, 2.5, 6.0, 4.0, 1.2, 6.5, 7.0)
# Packets leave less than 2 ms apart on average: a loss is of some packets and not of many.
POLL_S = 0.002
# and one comes within some round trips, if the flow is alive
LOST_WITHIN_S = 10.0
# A rate that never limits the flow: the stack then paces by window and round trip.
PACING_BYTES_PS = 1_000_000_000
# Windows differ by so much at most. tcp_cubic's clock ticks in 4 ms, and its root is 1.5 permille off.
MOST_APART = 0.05
# What the header's constants are changed to: by 7 and 10 %, since less is within MOST_APART.
OTHER_CONSTANTS = (("BETA", 768), ("C", 450))
RECORD = """
kprobe:cubictcp_cong_avoid {
    $tp = (struct tcp_sock *)arg0;
    printf("ack %llu %u %u %u %u %u %u\\n", $tp->tcp_mstamp, arg2, $tp->rtt_min.s[0].v, $tp->snd_cwnd,
        $tp->snd_ssthresh, $tp->is_cwnd_limited, $tp->max_packets_out);
}
kprobe:cubictcp_recalc_ssthresh {
    $tp = (struct tcp_sock *)arg0;
    printf("loss %llu %u\\n", $tp->tcp_mstamp, $tp->snd_cwnd);
}
kprobe:tcp_enter_loss { printf("timeout\\n"); }
"""


def dropped() -> int:
    """Packets that the bottleneck has dropped so far."""
    statistics = dict(split_attributes(dump("rd")[0][TCA_STATS2]))
    return int(struct.unpack_from("=III", statistics[TCA_STATS_QUEUE])[2])


def lose() -> None:
    """Drop what comes to the bottleneck, at each of the stated times until something has come."""
    with namespace("pp-r"), subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True) as tc:
        assert tc.stdin is not None
        for apart_s in APART_S:
            time.sleep(apart_s)
            before, began = dropped(), time.monotonic()
            print("qdisc change dev rd root netem limit 100000 loss 100%", file=tc.stdin, flush=True)
            while dropped() == before:
                expect(time.monotonic() - began < LOST_WITHIN_S, f"no packet to lose within {LOST_WITHIN_S} s")
                time.sleep(POLL_S)
            print("qdisc change dev rd root netem limit 100000 loss 0%", file=tc.stdin, flush=True)


@contextlib.contextmanager
def without_hystart() -> Iterator[None]:
    """tcp_cubic without what the header has not; as it was afterwards, for other tests in this guest."""
    before = HYSTART.read_text()
    HYSTART.write_text("0")
    try:
        yield
    finally:
        HYSTART.write_text(before)


def grows(line: list[str]) -> bool:
    """Whether tcp_cubic takes this ACK for growth: tcp_is_cwnd_limited()."""
    window, threshold, is_limited, most_out = (int(word) for word in line[4:])
    return bool(is_limited) or (window < threshold and window < 2 * most_out)


@functools.cache
def recorded() -> str:
    """Record a connection of tcp_cubic's: a line for each ACK and each loss."""
    delay = ("root", "netem", "delay", f"{ROUND_TRIP_MS}ms", "limit", "100000")
    run("tc", "-n", "pp-r", "qdisc", "replace", "dev", "rs", *delay)
    bottleneck("netem limit 100000")
    with without_hystart(), tempfile.NamedTemporaryFile("w+") as said:
        watch = subprocess.Popen(["bpftrace", "-B", "line", "-e", RECORD], stdout=said, stderr=subprocess.STDOUT)
        while "Attaching" not in (text := Path(said.name).read_text()):
            expect(watch.poll() is None, f"bpftrace ended with {watch.returncode}: {text}")
            time.sleep(0.1)
        with flow("cubic", PACING_BYTES_PS):
            lose()
        watch.terminate()
        watch.wait()
        lines = [line.split() for line in Path(said.name).read_text().splitlines()[1:] if line]
    others = [line for line in lines if line[0] not in ("ack", "loss")]
    equal(others, [], "timeouts, and what bpftrace has to say")
    equal(sum(line[0] == "loss" for line in lines), len(APART_S), "losses")
    return "\n".join(" ".join(line[:4]) for line in lines if line[0] == "loss" or grows(line))


def replayed(header: str) -> list[tuple[int, int]]:
    """The windows before each loss: tcp_cubic's, and the one that this text of the header computes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / HEADER.name).write_text(header)
        program = Path(folder, "replay")
        include = HERE.parents[1] / "include"
        run(
            "gcc",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Werror",
            f"-I{folder}",
            f"-I{include}",
            "-o",
            str(program),
            str(HERE / "replay_cubic_window.c"),
        )
        said = subprocess.run([program], input=recorded(), capture_output=True, text=True, check=True).stdout
    windows = [(int(kernel), int(ours)) for kernel, ours in (line.split() for line in said.splitlines())]
    equal(len(windows), len(APART_S), "windows that were compared")
    return windows


def apart(windows: list[tuple[int, int]]) -> float:
    """The greatest difference, as a part of tcp_cubic's window."""
    return max(abs(ours / kernel - 1) for kernel, ours in windows)


def the_window_before_each_loss_is_tcp_cubics() -> None:
    """Twenty losses, all windows within 5 %."""
    windows = replayed(HEADER.read_text())
    print("# packets, tcp_cubic's and the header's: " + ", ".join(f"{kernel} {ours}" for kernel, ours in windows))
    print(f"# apart by at most {100 * apart(windows):.1f} %")
    expect(apart(windows) <= MOST_APART, f"apart by {apart(windows):.3f}, at most {MOST_APART} is wanted")


def another_beta_or_c_is_noticed() -> None:
    """With another constant in the header windows are further apart."""
    for name, value in OTHER_CONSTANTS:
        changed, count = re.subn(rf"(#define CUBIC_WINDOW_{name}\s+)\d+U", rf"\g<1>{value}U", HEADER.read_text())
        equal(count, 1, f"definitions of {name}")
        found = apart(replayed(changed))
        print(f"# {name} {value}: apart by at most {100 * found:.1f} %")
        expect(found > MOST_APART, f"{name} of {value} is not noticed: apart by {found:.3f}")


if __name__ == "__main__":
    DEFAULT.write_text("cubic")
    build_path()
    sys.exit(
        run_tests(
            [
                the_window_before_each_loss_is_tcp_cubics,
                another_beta_or_c_is_noticed,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
