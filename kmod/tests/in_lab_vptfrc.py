#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tcp_vptfrc as a user meets it: knobs, rate, small packets, ss, trace, unloading.

Runs inside the lab (scripts/lab exec), prints TAP; the path is that of in_lab_pktpair.py,
with a netem at the router that loses packets.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of
from in_lab_pktpair import DEFAULT, RECEIVER, Flow, bottleneck, build_path, namespace

PARAMETERS = Path("/sys/module/tcp_vptfrc/parameters")
TRACING = Path("/sys/kernel/tracing")
TOP = Path(__file__).resolve().parents[2]
SENDER = TOP / "mininet-tests" / "examples" / "rate_sized_sender.py"
MODULE = TOP / "build" / run("uname", "-r").stdout.strip() / "kmod" / "tcp_vptfrc.ko"
# of tcp_info
TOTAL_RETRANS = 100
# initial value, and what is refused, as Documentation/tcp_vptfrc.rst has it
KNOBS = {
    "method": ("virtual", ("virtua", "1")),
    "mode": ("packet", ("bytes", "0")),
    "reference_bytes": ("1448", ("63", "65536", "-1", "many")),
    "packet_rate_cap": ("0", ("1461", "-1")),
}


def load(*parameters: str) -> None:
    """Load the module."""
    run("insmod", str(MODULE), *parameters)


def unload() -> None:
    """Unload it; closing sockets may hold it for some more round trips."""
    for _ in range(100):
        if run("rmmod", "tcp_vptfrc", check=False).returncode == 0:
            return
        time.sleep(0.1)
    expect(condition=False, text="the module is still in use ten seconds after its last flow")


@contextlib.contextmanager
def flow(max_rate: int = 0) -> Iterator[Flow]:
    """A flow of vptfrc that is closed at the end."""
    it = Flow("vptfrc", max_rate)
    try:
        yield it
    finally:
        # what is queued may be minutes of a slow rate
        bottleneck("pfifo limit 10000")
        it.close()


@contextlib.contextmanager
def traced() -> Iterator[list[dict[str, str]]]:
    """Collect the events of vptfrc:vptfrc_rate while the body runs."""
    events: list[dict[str, str]] = []
    enable = TRACING / "events/vptfrc/vptfrc_rate/enable"
    (TRACING / "trace").write_text("")
    enable.write_text("1")
    try:
        yield events
    finally:
        enable.write_text("0")
        for line in (TRACING / "trace").read_text().splitlines():
            if "vptfrc_rate:" in line:
                events.append(dict(re.findall(r"(\w+)=(\S+)", line)))


def knobs_have_their_documented_values() -> None:
    """Each knob is there, with its initial value."""
    for name, (initial, _) in KNOBS.items():
        equal((PARAMETERS / name).read_text().strip(), initial, name)


def bad_knob_values_are_refused_by_name_and_limit() -> None:
    """What is no value, or no mode of the method: refused, logged, nothing changed."""
    for name, (initial, bad_ones) in KNOBS.items():
        for bad in bad_ones:
            with contextlib.suppress(OSError):
                (PARAMETERS / name).write_text(bad)
                expect(condition=False, text=f"{name} took {bad!r}")
            equal((PARAMETERS / name).read_text().strip(), initial, f"{name} after {bad!r}")
            expect(f"{name}={bad}: not " in run("dmesg").stdout, f"dmesg has no {name}={bad}")
    (PARAMETERS / "method").write_text("lip")
    with contextlib.suppress(OSError):
        (PARAMETERS / "mode").write_text("byte")
        expect(condition=False, text="lip has a byte mode")
    expect("mode=byte: method lip has no mode byte" in run("dmesg").stdout, "dmesg does not say why")
    (PARAMETERS / "method").write_text("virtual")


def a_bad_parameter_keeps_the_module_out() -> None:
    """And the next attempt, without it, loads."""
    unload()
    refused = run("insmod", str(MODULE), "method=best", check=False)
    expect(refused.returncode != 0, "insmod took method=best")
    load("mode=byte-tail", "reference_bytes=1000")
    equal((PARAMETERS / "mode").read_text().strip(), "byte-tail", "mode")
    unload()
    load()


def the_pacing_limit_of_the_socket_is_obeyed() -> None:
    """SO_MAX_PACING_RATE bounds what arrives."""
    bottleneck("pfifo limit 1000")
    with flow(max_rate=250_000) as it:
        it.goodput(1)
        rate = it.goodput(4)
    expect(0.9 * 250_000 < rate < 1.05 * 250_000, f"{rate:.0f} bytes/s, limit 250000")


def with_losses_the_rate_is_the_equation_s() -> None:
    """One percent of random loss at 20 ms: 11.7 packets in a round trip, 6.8 Mbit/s."""
    bottleneck("netem loss 1% limit 10000")
    with traced() as events, flow() as it:
        it.goodput(10)
        rate = it.goodput(30) * 8
    wanted = 11.72 * 1448 * 8 / 0.020
    expect(0.7 * wanted < rate < 1.3 * wanted, f"{rate:.0f} bit/s, of {wanted:.0f}")
    expect(any(event["loss_event"] == "1" for event in events), "no loss event was traced")
    last = events[-1]
    equal((last["method"], last["mode"], last["reference_bytes"]), ("virtual", "packet", "1448"), "the trace")
    # some have none yet, and some are from the end, where nothing is lost
    interval = statistics.median(int(event["interval_q16"]) for event in events) / 65536
    expect(70 < interval < 160, f"a mean loss interval of {interval}")
    print(f"# {rate / 1e6:.2f} Mbit/s, mean loss interval {interval:.0f}", flush=True)


class SmallFlow(Flow):
    """A flow whose segments have 100 bytes of payload."""

    def choose(self, algorithm: str) -> None:
        """Set its congestion control, and before it connects its MSS, with 12 bytes of time stamps."""
        super().choose(algorithm)
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 112)


def small_packets_get_the_same_rate() -> None:
    """Segments of 100 bytes, one percent lost: what full segments get, by virtual packets only."""
    rates = {}
    for method in ("virtual", "unmodified"):
        (PARAMETERS / "method").write_text(method)
        bottleneck("netem loss 1% limit 10000")
        it = SmallFlow("vptfrc")
        it.goodput(5)
        rates[method] = it.goodput(8) * 8
        bottleneck("pfifo limit 10000")
        it.close()
    (PARAMETERS / "method").write_text("virtual")
    wanted = 11.72 * 1448 * 8 / 0.020
    print(f"# {rates['virtual'] / 1e6:.2f}, unmodified {rates['unmodified'] / 1e6:.2f} Mbit/s", flush=True)
    expect(0.6 * wanted < rates["virtual"] < 1.4 * wanted, f"{rates['virtual']:.0f} bit/s, of {wanted:.0f}")
    expect(rates["unmodified"] > 1.3 * rates["virtual"], "an unmodified flow got no more")


def ss_shows_the_rate() -> None:
    """Its bandwidth is the allowed rate, its round trip the smoothed one."""
    bottleneck("netem loss 1% limit 10000")
    with flow() as it:
        it.goodput(3)
        shown = run("ip", "netns", "exec", "pp-s", "ss", "-tin", "dst", RECEIVER).stdout
    found = re.search(r"vptfrc .*bbr:\(bw:(\S+)bps,mrtt:([\d.]+)\)", shown)
    expect(found is not None, f"ss shows {shown!r}")
    assert found is not None
    expect(19 < float(found[2]) < 30, f"a round trip of {found[2]} ms")


def the_watch_shows_each_flow() -> None:
    """vptfrc-watch.bt: a line a second with method, rate and loss event rate."""
    script = TOP / "scripts" / "vptfrc-watch.bt"
    bottleneck("netem loss 1% limit 10000")
    words = ["bpftrace", "-B", "line", str(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as watch:
        assert watch.stdout is not None
        said = [watch.stdout.readline()]
        while said[-1] and "sport" not in said[-1]:
            said.append(watch.stdout.readline())
        with flow() as it:
            it.goodput(8)
        watch.send_signal(signal.SIGINT)
        shown = watch.stdout.read()
    expect(len(said) == 2, f"bpftrace has complaints: {said}")
    rows = [dict(zip(said[-1].split(), line.split(), strict=True)) for line in shown.splitlines() if line.strip()]
    expect(len(rows) >= 6, f"not a line a second: {shown!r}")
    for row in rows[2:]:
        expect((row["method"], row["mode"], row["size"]) == ("virtual", "packet", "1448"), f"{row}")
    equal({row["daddr"] for row in rows}, {f"::ffff:{RECEIVER}"}, "addresses")
    expect(any(int(row["interval"]) > 0 for row in rows), f"no loss interval: {rows}")


def an_idle_flow_resumes() -> None:
    """After a pause of seconds it goes on, and every byte arrives."""
    bottleneck("netem loss 1% limit 10000")
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 5400))
    with namespace("pp-s"):
        sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"vptfrc")
    sender.connect((RECEIVER, 5400))
    receiver, _ = listener.accept()
    for _ in range(3):
        sender.sendall(bytes(20_000))
        missing = 20_000
        while missing:
            missing -= len(receiver.recv(missing))
        time.sleep(3)
    for it in (sender, receiver, listener):
        it.close()


def sent_by_the_example(loss: str, packets_s: int) -> dict[str, int]:
    """What the sender that sizes its packets by the rate came to in ten seconds."""
    bottleneck(f"netem loss {loss} limit 10000")
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 5500))

    def receive() -> None:
        stream, _ = listener.accept()
        with stream:
            while stream.recv(1 << 16):
                pass

    receiver = threading.Thread(target=receive, daemon=True)
    receiver.start()
    words = [sys.executable, str(SENDER), RECEIVER, "5500", "--packets-per-s", str(packets_s)]
    said = run("ip", "netns", "exec", "pp-s", *words, "--seconds", "10").stdout
    receiver.join(60)
    listener.close()
    told: dict[str, int] = json.loads(said.splitlines()[-1])
    return told


def an_application_sizes_its_packets_by_the_rate() -> None:
    """1,000 packets a second, smaller where more is lost: a write each, and their bytes those of the equation."""
    made = {}
    # packets in a round trip, by the equation
    for loss, in_a_round_trip in (("1%", 11.72), ("5%", 4.41)):
        wanted = in_a_round_trip * 1448 / 0.020
        made[loss] = told = sent_by_the_example(loss, 1000)
        rate = told["written_bytes"] / 10
        print(f"# {loss}: {told}, {rate:.0f} bytes/s of {wanted:.0f}", flush=True)
        expect(0.6 * wanted < rate < 1.4 * wanted, f"{loss}: {rate:.0f} bytes/s, of {wanted:.0f}")
        expect(abs(told["packets"] - told["writes"]) <= 0.02 * told["writes"], f"{loss}: writes were joined: {told}")
        expect(told["writes"] > 0.9 * 10_000, f"{loss}: turns were skipped: {told}")
    expect(made["5%"]["written_bytes"] < 0.6 * made["1%"]["written_bytes"], f"packets did not shrink: {made}")


def marks_count_as_losses() -> None:
    """One percent marked, and nothing dropped: the equation's rate, and nothing is sent again."""
    for name in ("pp-s", "pp-d"):
        run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_ecn=1")
    bottleneck("netem loss 1% ecn limit 10000")
    with flow() as it:
        it.goodput(5)
        rate = it.goodput(8) * 8
        again = it.told(TOTAL_RETRANS)
    for name in ("pp-s", "pp-d"):
        run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_ecn=2")
    wanted = 11.72 * 1448 * 8 / 0.020
    print(f"# {rate / 1e6:.2f} Mbit/s, {again} sent again", flush=True)
    expect(0.6 * wanted < rate < 1.5 * wanted, f"{rate:.0f} bit/s, of {wanted:.0f}")
    equal(again, 0, "sent again")


def a_change_of_the_law_forgets_no_losses() -> None:
    """To reno and back, twenty times a second: no more than who stays."""
    bottleneck("netem loss 3% limit 10000")
    with flow() as it:
        it.goodput(5)
        honest = it.goodput(8)
        before, begin = it.received, time.monotonic()
        while time.monotonic() < begin + 8:
            it.choose("reno")
            it.choose("vptfrc")
            time.sleep(0.05)
        changed = (it.received - before) / (time.monotonic() - begin)
    print(f"# {honest:.0f} bytes/s, {changed:.0f} with changes", flush=True)
    expect(changed < 1.3 * honest, f"{changed:.0f} bytes/s with changes, {honest:.0f} without")


def unloading_is_refused_in_use_and_clean_afterwards() -> None:
    """Rmmod under traffic fails, after it succeeds, and the module loads again."""
    bottleneck("netem loss 1% limit 10000")
    with flow() as it:
        it.goodput(1)
        busy = run("rmmod", "tcp_vptfrc", check=False)
        expect(busy.returncode != 0 and "in use" in busy.stderr, f"rmmod in use: {busy.stderr!r}")
        it.choose("cubic")
        it.goodput(1)
        it.choose("vptfrc")
        expect(it.goodput(1) > 0, "the flow stopped")
    unload()
    load()


if __name__ == "__main__":
    DEFAULT.write_text("cubic")
    build_path()
    # netem drops what the stack hands over at once: one packet, and not a train of them
    run("ip", "netns", "exec", "pp-s", "ethtool", "-K", "sr", "tso", "off", "gso", "off")
    sys.exit(
        run_tests(
            [
                knobs_have_their_documented_values,
                bad_knob_values_are_refused_by_name_and_limit,
                the_pacing_limit_of_the_socket_is_obeyed,
                with_losses_the_rate_is_the_equation_s,
                small_packets_get_the_same_rate,
                ss_shows_the_rate,
                the_watch_shows_each_flow,
                an_idle_flow_resumes,
                an_application_sizes_its_packets_by_the_rate,
                marks_count_as_losses,
                a_change_of_the_law_forgets_no_losses,
                unloading_is_refused_in_use_and_clean_afterwards,
                a_bad_parameter_keeps_the_module_out,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
