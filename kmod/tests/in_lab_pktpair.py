#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tcp_pktpair as a user meets it: sysctl, knobs, ss, trace, live sockets, unloading.

Runs inside the lab (scripts/lab exec), prints TAP.  The path is sender --
router -- receiver in three network namespaces: 20 ms of delay on the way back,
and on the way there the router's queue, which each test chooses.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of

PARAMETERS = Path("/sys/module/tcp_pktpair/parameters")
TRACING = Path("/sys/kernel/tracing")
CLONE_NEWNET = 0x40000000
SO_MAX_PACING_RATE = 47
DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
RECEIVER = "10.8.1.2"
PORT = 5301
MODULE = Path(__file__).resolve().parents[2] / "build" / run("uname", "-r").stdout.strip() / "kmod" / "tcp_pktpair.ko"
# name: initial value, smallest, largest; as Documentation/tcp_pktpair.rst has it
KNOBS = {
    "setpoint_packets": (5, 2, 4096),
    "setpoint_probing": (0, 0, 1),
    "setpoint_step": (2, 1, 64),
    "setpoint_max_us": (5000, 100, 10_000_000),
    "train_min": (4, 2, 64),
    "train_max": (64, 2, 64),
    "first_window": (0, 0, 1024),
    "first_rate_kbit": (0, 0, 100_000_000),
}

# as many packets as leave in the first round trip of 20 ms: in the first 15
FIRST_FLIGHT_S = 0.015

libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Run the body in the network namespace ``name``."""
    with open("/proc/self/ns/net") as home, open(f"/run/netns/{name}") as away:
        expect(libc.setns(away.fileno(), CLONE_NEWNET) == 0, f"setns to {name}")
        try:
            yield
        finally:
            expect(libc.setns(home.fileno(), CLONE_NEWNET) == 0, "setns back")


def unload_module() -> None:
    """Unload the module; closing sockets may hold it for some more round trips."""
    for _ in range(100):
        if run("rmmod", "tcp_pktpair", check=False).returncode == 0:
            return
        time.sleep(0.1)
    expect(condition=False, text="the module is still in use ten seconds after its last flow")


def reload_module(*parameters: str) -> None:
    """Unload the module and load it again."""
    unload_module()
    run("insmod", str(MODULE), *parameters)


def build_path() -> None:
    """Make the three namespaces."""
    run("ip", "link", "set", "lo", "up")
    for name in ("pp-s", "pp-r", "pp-d"):
        # of a program before this one in the same guest
        run("ip", "netns", "del", name, check=False)
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    for left, right, net in (("pp-s", "pp-r", 0), ("pp-r", "pp-d", 1)):
        here, there = f"{left[3]}{right[3]}", f"{right[3]}{left[3]}"
        run("ip", "link", "add", here, "netns", left, "type", "veth", "peer", "name", there, "netns", right)
        run("ip", "-n", left, "addr", "add", f"10.8.{net}.1/24", "dev", here)
        run("ip", "-n", right, "addr", "add", f"10.8.{net}.2/24", "dev", there)
        run("ip", "-n", left, "link", "set", here, "up")
        run("ip", "-n", right, "link", "set", there, "up")
    run("ip", "-n", "pp-s", "route", "add", "default", "via", "10.8.0.2")
    run("ip", "-n", "pp-d", "route", "add", "default", "via", "10.8.1.1")
    run("ip", "netns", "exec", "pp-r", "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for name, device in (("pp-r", "rs"), ("pp-r", "rd"), ("pp-d", "dr")):
        run("ip", "netns", "exec", name, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")
    run("tc", "-n", "pp-r", "qdisc", "add", "dev", "rs", "root", "netem", "delay", "20ms", "limit", "100000")
    run("ip", "netns", "exec", "pp-s", "ping", "-qc1", RECEIVER)
    # read from the shared root now: later it would stop the guest's clock
    # (with the kernel modules that ss asks for)
    for program in (("ss", "-tin"), ("rmmod", "--version"), ("insmod", "--version"), ("sysctl", "--version")):
        run("ip", "netns", "exec", "pp-s", *program, check=False)


def bottleneck(qdisc: str) -> None:
    """Put ``qdisc`` (tc's words) at the router's way to the receiver."""
    run("tc", "-n", "pp-r", "qdisc", "replace", "dev", "rd", "root", *qdisc.split())


class Flow:
    """A TCP connection whose sender always has more to send."""

    def __init__(self, algorithm: str = "pktpair", max_rate: int = 0, port: int = PORT) -> None:
        """Connect; ``max_rate`` is SO_MAX_PACING_RATE in bytes per second."""
        with namespace("pp-d"):
            listener = socket.create_server((RECEIVER, port))
        with namespace("pp-s"):
            self.sender = socket.socket()
        self.choose(algorithm)
        if max_rate:
            self.sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, max_rate)
        self.sender.connect((RECEIVER, port))
        self.receiver, _ = listener.accept()
        listener.close()
        self.received = 0
        self.running = True
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def choose(self, algorithm: str) -> None:
        """Set the congestion control of the sender."""
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())

    def send(self) -> None:
        """Send until closed; the n-th byte is n modulo 251."""
        pattern = bytes(range(251)) * 261
        with contextlib.suppress(OSError):
            while self.running:
                self.sender.sendall(pattern)
            self.sender.shutdown(socket.SHUT_WR)

    def receive(self) -> None:
        """Receive until closed and check every byte."""
        while data := self.receiver.recv(1 << 16):
            start = self.received % 251
            pattern = (bytes(range(251)) * (len(data) // 251 + 2))[start : start + len(data)]
            self.intact = data == pattern
            if not self.intact:
                break
            self.received += len(data)

    def told(self, offset: int) -> int:
        """A number of the sender's tcp_info, 32 bits at an offset."""
        info = self.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return int(struct.unpack_from("=I", info, offset)[0])

    def goodput(self, seconds: float) -> float:
        """Bytes per second that arrive within the next ``seconds`` of guest time."""
        before, start = self.received, time.monotonic()
        time.sleep(seconds)
        return (self.received - before) / (time.monotonic() - start)

    def close(self) -> None:
        """End the connection once everything has arrived."""
        self.running = False
        for thread in self.threads:
            thread.join(60)
        expect(self.intact, "the receiver got other bytes than were sent")
        self.sender.close()
        self.receiver.close()


@contextlib.contextmanager
def flow(algorithm: str = "pktpair", max_rate: int = 0) -> Iterator[Flow]:
    """A flow that is closed at the end."""
    it = Flow(algorithm, max_rate)
    try:
        yield it
    finally:
        it.close()


@contextlib.contextmanager
def knobs(**values: int) -> Iterator[None]:
    """Parameters of the module, back at their documented defaults afterwards."""
    for name, value in values.items():
        (PARAMETERS / name).write_text(str(value))
    try:
        yield
    finally:
        for name in values:
            (PARAMETERS / name).write_text(str(KNOBS[name][0]))


@contextlib.contextmanager
def traced() -> Iterator[list[dict[str, str]]]:
    """Collect the events of pktpair:pktpair_sample while the body runs."""
    events: list[dict[str, str]] = []
    (TRACING / "trace").write_text("")
    (TRACING / "events/pktpair/pktpair_sample/enable").write_text("1")
    try:
        yield events
    finally:
        (TRACING / "events/pktpair/pktpair_sample/enable").write_text("0")
        for line in (TRACING / "trace").read_text().splitlines():
            if "pktpair_sample:" in line:
                events.append(dict(re.findall(r"(\w+)=(\S+)", line)))


def counted() -> dict[str, int]:
    """Trains of all connections so far, by what became of them."""
    lines = (PARAMETERS / "trains").read_text().splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines)}


def choose_in(name: str, algorithm: str) -> bool:
    """Whether the namespace ``name`` lets its sysctl choose ``algorithm``."""
    setting = f"net.ipv4.tcp_congestion_control={algorithm}"
    return run("ip", "netns", "exec", name, "sysctl", "-w", setting, check=False).returncode == 0


def who_may_choose_which() -> None:
    """Anyone may choose pktpair; pktpair_1994 is restricted until the initial namespace chooses it.

    The last of the tests that need the module unloaded: a refused choice leaves
    a reference to the module behind (6.1's tcp_set_default_congestion_control()
    takes it before it looks at the permission).
    """
    reload_module()
    expect(choose_in("pp-s", "pktpair"), "another namespace may not choose pktpair")
    expect(not choose_in("pp-s", "pktpair_1994"), "a restricted algorithm was chosen by another namespace")
    DEFAULT.write_text("pktpair_1994")
    expect(choose_in("pp-s", "pktpair_1994"), "not even after the initial namespace chose it")
    # a namespace's default keeps the module in use
    expect(choose_in("pp-s", "cubic"), "cubic cannot be chosen")
    DEFAULT.write_text("cubic")


def knobs_have_their_documented_values() -> None:
    """Each knob is there, with its initial value."""
    for name, (initial, _, _) in KNOBS.items():
        equal(int((PARAMETERS / name).read_text()), initial, name)


def bad_knob_values_are_refused_by_name_and_limit() -> None:
    """Out of range, negative or no number: refused, logged, nothing changed."""
    for name, (initial, lowest, highest) in KNOBS.items():
        for bad in (str(highest + 1), "-1", "many", "", *([str(lowest - 1)] if lowest else [])):
            try:
                (PARAMETERS / name).write_text(bad)
            except OSError:
                pass
            else:
                expect(bad == "", f"{name} took {bad!r}")  # nothing was written
            equal(int((PARAMETERS / name).read_text()), initial, f"{name} after {bad!r}")
            wanted = f"{name}={bad}: not a number from {lowest} to {highest}"
            expect(not bad or wanted in run("dmesg").stdout, f"dmesg has no {wanted!r}")
        for good in (lowest, highest, initial):
            (PARAMETERS / name).write_text(str(good))
            equal(int((PARAMETERS / name).read_text()), good, name)


def a_bad_parameter_keeps_the_module_out() -> None:
    """Insmod with a value out of range fails and says why."""
    unload_module()
    refused = run("insmod", str(MODULE), "setpoint_packets=1", check=False)
    expect(refused.returncode != 0, "loaded with setpoint_packets=1")
    wanted = "setpoint_packets=1: not a number from 2 to 4096"
    expect(wanted in run("dmesg").stdout, f"dmesg has no {wanted!r}")
    run("insmod", str(MODULE), "setpoint_packets=7")
    equal((PARAMETERS / "setpoint_packets").read_text().strip(), "7", "setpoint_packets")
    (PARAMETERS / "setpoint_packets").write_text("5")


def first_flight(algorithm: str) -> int:
    """Full packets that reach the bottleneck in the first round trip of a connection."""
    enabled = TRACING / "events/fq_rr/fq_rr_enqueue/enable"
    (TRACING / "trace").write_text("")
    enabled.write_text("1")
    try:
        with flow(algorithm) as it:
            it.goodput(0.2)
    finally:
        enabled.write_text("0")
    events = re.findall(rf" (\d+\.\d+): fq_rr_enqueue: .* dport={PORT} .* len=(\d+) ", (TRACING / "trace").read_text())
    times = [float(moment) for moment, length in events if int(length) > 1000]
    return sum(moment < times[0] + FIRST_FLIGHT_S for moment in times)


def the_first_flight_is_what_the_knobs_say() -> None:
    """The stack's ten; a window; what a known rate sends in a round trip; the memorandum's pair."""
    bottleneck("fq_rr rate 10mbit")
    equal(first_flight("pktpair"), 10, "first flight")
    with knobs(first_window=6):
        equal(first_flight("pktpair"), 6, "first flight with first_window=6")
        equal(first_flight("pktpair_1994"), 2, "first flight of 1994, which is no knob")
    with knobs(first_rate_kbit=9000):
        # 22.5 kB and more, since the handshake's round trip is a little longer than 20 ms;
        # three quarters of it within 15 ms, and the ten that the stack does not pace
        count = first_flight("pktpair")
        expect(14 <= count <= 22, f"9 Mbit/s for 20 ms are 16 packets, not {count}")


def a_setpoint_that_probes_rises() -> None:
    """With setpoint_probing it rises by the step until something is lost, and stays without."""
    bottleneck("fq_rr rate 10mbit limit 1000 no-aqm")
    with knobs(setpoint_max_us=100_000, setpoint_step=4):
        with knobs(setpoint_probing=1), traced() as events, flow() as it:
            it.goodput(2)
        with traced() as calm, flow() as it:
            it.goodput(1)
    bottleneck("fq_rr rate 10mbit aqm")
    setpoints = sorted({int(e["setpoint_q8"]) for e in events if int(e["setpoint_q8"]) > 0})
    equal(setpoints[:3], [5 * 256, 9 * 256, 13 * 256], "setpoints that probe")
    equal({int(e["setpoint_q8"]) for e in calm if int(e["setpoint_q8"]) > 0}, {5 * 256}, "setpoints that do not")


def the_1994_preset_is_the_memorandum() -> None:
    """Pairs; the rate rises a fifth of the way per pair; S - R / s_b; a setpoint without a bound in time."""
    bottleneck("fq_rr rate 10mbit")
    # an ACK for every packet, as the memorandum has it
    run("ip", "-n", "pp-d", "route", "change", "default", "via", "10.8.1.1", "quickack", "1")
    try:
        with traced() as events, flow("pktpair_1994") as it:
            it.goodput(1)
            rate = it.goodput(3) * 8
    finally:
        run("ip", "-n", "pp-d", "route", "change", "default", "via", "10.8.1.1")
    expect(rate > 0.97 * 10e6 * 1448 / 1514, f"{rate:.0f} bit/s of 9.56 Mbit/s")
    equal({int(e["train"]) for e in events}, {2}, "segments of a train")
    known = [e for e in events if int(e["rate_bytes_ps"])]
    share = 10e6 / 8 * 1448 / 1514
    first = int(known[0]["rate_bytes_ps"]) / share
    # the pipe is 17 packets, so five over 1.5 round trips are 0.2 of the share more: 0.24 of it
    expect(0.18 < first < 0.3, f"the first rate is {first:.2f} of the share")
    rates = [int(e["rate_bytes_ps"]) / share for e in known[:12]]
    expect(rates == sorted(rates) and rates[-1] > 0.4, f"no rise by fifths: {rates}")
    equal({int(e["setpoint_q8"]) for e in known}, {5 * 256}, "setpoint, whatever setpoint_max_us allows")
    late = known[len(known) // 2 :]
    for e in late:
        pipe = int(e["propagation_us"]) * 1000 / int(e["service_ns"])
        estimate = max(int(e["outstanding"]) - pipe, 0)
        expect(abs(int(e["backlog_q8"]) / 256 - estimate) < 0.02, f"n_b is not S - R / s_b: {e}")


def ss_shows_share_and_propagation_delay() -> None:
    """In bbr's fields: bw is the share on the wire's payload, mrtt the propagation delay."""
    bottleneck("fq_rr rate 10mbit")
    with flow() as it:
        it.goodput(3)
        shown = run("ip", "netns", "exec", "pp-s", "ss", "-tin", "dst", RECEIVER).stdout
    expect(" pktpair " in shown, f"ss does not name pktpair: {shown}")
    found = re.search(r"bbr:\(bw:(\d+)bps,mrtt:([\d.]+),pacing_gain:([\d.]+),cwnd_gain:([\d.]+)\)", shown)
    expect(found, f"ss shows no share: {shown}")
    assert found
    share, ideal = int(found[1]), 10e6 * 1448 / 1514
    expect(abs(share / ideal - 1) < 0.05, f"bw {share} bit/s, not {ideal:.0f}")
    expect(20 <= float(found[2]) < 22.5, f"mrtt {found[2]} ms, not 20 and a packet or two")
    expect(0.5 <= float(found[3]) <= 2, f"pacing_gain {found[3]} is outside the law's bounds")


def trains_come_back_with_gaps_from_a_stock_receiver() -> None:
    """Trains of four, delayed ACKs: nearly every train gives a sample."""
    bottleneck("fq_rr rate 10mbit")
    time.sleep(1)  # until the flow before has closed at both ends
    before = counted()
    with traced() as events:
        with flow() as it:
            it.goodput(4)
        time.sleep(1)
    after = counted()
    for name in after:
        equal(after[name] - before[name], sum(e["verdict"] == name for e in events), f"{name} counted without tracing")
    samples = [e for e in events if e["verdict"] == "sample"]
    expect(len(samples) > 500, f"only {len(samples)} samples")
    expect(len(samples) > 0.8 * len(events), f"{len(samples)} samples of {len(events)} trains")
    time_ns = sum(int(e["gap_ns"]) for e in samples)
    segments = sum(int(e["covered_segments"]) for e in samples)
    ideal_ns = 1514 * 8 / 10e6 * 1e9
    expect(abs(time_ns / segments / ideal_ns - 1) < 0.01, f"{time_ns / segments:.0f} ns, not {ideal_ns:.0f}")


def the_watch_shows_each_flow() -> None:
    """pktpair-watch.bt: a line a second with the flow's share, round trips, queue and trains."""
    bottleneck("fq_rr rate 10mbit")
    script = Path(__file__).resolve().parents[2] / "scripts" / "pktpair-watch.bt"
    watch = subprocess.Popen(
        ["bpftrace", "-B", "line", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert watch.stdout is not None
    said = [watch.stdout.readline()]
    while said[-1] and "sport" not in said[-1]:
        said.append(watch.stdout.readline())
    with flow() as it:
        it.goodput(4)
        port = it.sender.getsockname()[1]
        addresses = (it.sender.getsockname(), it.sender.getpeername())
    watch.send_signal(signal.SIGINT)
    lines = watch.communicate()[0].splitlines()
    expect(len(said) == 2, f"bpftrace has complaints: {said}")
    texts = [dict(zip(said[-1].split(), line.split(), strict=True)) for line in lines if line.strip()]
    ends = {(text.pop("saddr"), text.pop("daddr")) for text in texts}
    equal({text.pop("law") for text in texts}, {"pair"}, "laws that steer")
    rows = [{name: float(value) for name, value in text.items()} for text in texts]
    expect(len(rows) >= 3 and {row["sport"] for row in rows} == {port}, f"not a line a second for {port}: {lines}")
    expect(len(ends) == 1 and ends == {tuple(f"::ffff:{end[0]}" for end in addresses)}, f"{ends}, not {addresses}")
    for row in rows:
        expect(abs(row["s_b,us"] / (1514 * 8 / 10) - 1) < 0.02, f"service time: {row}")
        expect(20 <= row["R,ms"] <= row["RTT,ms"] < 40, f"round trips: {row}")
        expect(0 <= row["queue"] < 10 and row["goal"] <= 5 and row["train"] == 4, f"queue: {row}")
        # 826 packets a second in trains of four
        rejected = sum(row[name] for name in ("1ack", "retr", "held", "late", "drai", "fast"))
        expect(150 < row["gaps"] < 230 and rejected < 50, f"trains: {row}")


def without_a_gap_the_flow_still_fills_its_share() -> None:
    """Pairs against delayed ACKs come back as one ACK: window growth, then delivered rate."""
    bottleneck("fq_rr rate 10mbit")
    before = counted()
    with knobs(train_max=2, train_min=2), flow() as it:
        it.goodput(2)
        rate = it.goodput(4) * 8
    after = counted()
    expect(after["one-ack"] - before["one-ack"] > 100, f"pairs that came back as one ACK are counted: {before} {after}")
    expect(rate > 0.9 * 10e6 * 1448 / 1514, f"{rate:.0f} bit/s of 9.56 Mbit/s")


def a_mark_cuts_the_setpoint() -> None:
    """CE marks act as losses do: RFC 3168 is obeyed although cong_control bypasses the stack's answer."""
    for name in ("pp-s", "pp-d"):
        run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_ecn=1")
    bottleneck("handle 1: tbf rate 10mbit burst 1600 limit 200000")
    run("tc", "-n", "pp-r", "qdisc", "add", "dev", "rd", "parent", "1:", "fq_codel", "ecn", "ce_threshold", "1ms")
    # five packets of 1.2 ms, and not what five milliseconds hold
    with knobs(setpoint_max_us=100_000), traced() as events, flow() as it:
        it.goodput(3)
    for name in ("pp-s", "pp-d"):
        run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_ecn=2")
    lowest = min(int(e["setpoint_q8"]) for e in events if int(e["setpoint_q8"]) > 0)
    expect(lowest < 5 * 256, f"marked all the time, the setpoint stayed at {lowest / 256} packets")


def the_pacing_limit_of_the_socket_is_obeyed() -> None:
    """SO_MAX_PACING_RATE of 2 Mbit/s over a link of 10."""
    bottleneck("fq_rr rate 10mbit")
    with flow(max_rate=250_000) as it:
        it.goodput(1)
        rate = it.goodput(4)
    expect(0.9 * 250_000 < rate < 1.05 * 250_000, f"{rate:.0f} bytes/s, limit 250000")


def a_live_socket_changes_to_and_fro() -> None:
    """Cubic, pktpair, reno: each change under traffic, every byte intact."""
    bottleneck("fq_rr rate 10mbit")
    with flow("cubic") as it:
        for algorithm in ("pktpair", "cubic", "pktpair", "reno", "pktpair"):
            it.goodput(0.5)
            it.choose(algorithm)
        it.goodput(1)
        rate = it.goodput(3) * 8
    expect(rate > 0.93 * 10e6 * 1448 / 1514, f"{rate:.0f} bit/s after the changes")


def unloading_is_refused_in_use_and_clean_afterwards() -> None:
    """Rmmod under traffic fails, after it succeeds, and the module loads again."""
    bottleneck("fq_rr rate 10mbit")
    with flow() as it:
        it.goodput(1)
        busy = run("rmmod", "tcp_pktpair", check=False)
        expect(busy.returncode != 0 and "in use" in busy.stderr, f"rmmod in use: {busy.stderr!r}")
        expect(it.goodput(1) > 0, "the flow stopped")
    reload_module()


if __name__ == "__main__":
    # the lab has chosen pktpair; here that is a test of its own
    DEFAULT.write_text("cubic")
    build_path()
    sys.exit(
        run_tests(
            [
                knobs_have_their_documented_values,
                bad_knob_values_are_refused_by_name_and_limit,
                ss_shows_share_and_propagation_delay,
                the_first_flight_is_what_the_knobs_say,
                a_setpoint_that_probes_rises,
                the_1994_preset_is_the_memorandum,
                trains_come_back_with_gaps_from_a_stock_receiver,
                the_watch_shows_each_flow,
                without_a_gap_the_flow_still_fills_its_share,
                a_mark_cuts_the_setpoint,
                the_pacing_limit_of_the_socket_is_obeyed,
                a_live_socket_changes_to_and_fro,
                unloading_is_refused_in_use_and_clean_afterwards,
                a_bad_parameter_keeps_the_module_out,
                who_may_choose_which,
                the_kernel_had_nothing_to_complain_of,
            ]
        )
    )
