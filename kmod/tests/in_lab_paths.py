#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tcp_pktpair on paths and in uses far from the ordinary.

Runs inside the lab (scripts/lab exec), prints TAP; the path is that of
in_lab_pktpair.py. Each test says what it measured on a line of its own. With
the word "all" also the tests that take minutes, with names of tests only those.
"""

from __future__ import annotations

import contextlib
import json
import resource
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator

from in_guest.tap import equal, expect, run, run_tests, the_kernel_had_nothing_to_complain_of
from in_lab_pktpair import DEFAULT, RECEIVER, Flow, bottleneck, build_path, flow, namespace, traced

RECEIVER6 = "fd00:8:1::2"
# Ethernet, IP and TCP headers with time stamps, per segment
HEADERS_BYTES = 14 + 20 + 32
# struct tcp_info: tcpi_total_retrans
TOTAL_RETRANS_OFFSET = 100


def retransmits(it: Flow) -> int:
    """Segments that the flow has sent again so far."""
    return it.told(TOTAL_RETRANS_OFFSET)


def payload_share(mss_bytes: int, headers_bytes: int = HEADERS_BYTES) -> float:
    """Part of a link's bits that are payload."""
    return mss_bytes / (mss_bytes + headers_bytes)


def delay(milliseconds: float) -> None:
    """Set the round trip, all of it on the way back."""
    run("tc", "-n", "pp-r", "qdisc", "replace", "dev", "rs", "root", "netem")
    run(
        "tc",
        "-n",
        "pp-r",
        "qdisc",
        "replace",
        "dev",
        "rs",
        "root",
        "netem",
        "delay",
        f"{milliseconds}ms",
        "limit",
        "100000",
    )


@contextlib.contextmanager
def round_trip(milliseconds: float) -> Iterator[None]:
    """Another round trip while the body runs."""
    delay(milliseconds)
    try:
        yield
    finally:
        delay(20)


def report(text: str) -> None:
    """A figure for the reader."""
    print(f"# {text}")


def fills(rate_bit_s: float, warm_s: float, seconds: float, least: float = 0.95, mss: int = 1448) -> None:
    """One flow over a link: at least ``least`` of what the link can carry."""
    with flow() as it:
        it.goodput(warm_s)
        # the first ten segments leave at once, whatever the algorithm: below
        # 110 kbit/s their last acknowledgment comes after the first timeout
        again = -retransmits(it)
        used = it.goodput(seconds) * 8 / (rate_bit_s * payload_share(mss))
        again += retransmits(it)
    report(f"{rate_bit_s:.0f} bit/s: {used:.4f} of the link, {again} sent again")
    expect(least <= used < 1.02, f"{used:.3f} of {rate_bit_s:.0f} bit/s, wanted {least}")
    expect(again == 0, f"{again} segments were sent again")


def rates_from_64_kbit_s_up() -> None:
    """64 kbit/s to 200 Mbit/s, half of what the guest's processor can send, over 20 ms."""
    for word, rate, warm, seconds in (
        ("64kbit", 64e3, 20, 60),
        ("500kbit", 500e3, 10, 20),
        ("100mbit", 100e6, 1, 2),
        ("200mbit", 200e6, 1, 1),
    ):
        bottleneck(f"fq_rr rate {word}")
        fills(rate, warm, seconds, 0.93)


def round_trips_from_a_fifth_of_a_millisecond() -> None:
    """0.2 ms, 2 ms, 600 ms, 5 s."""
    for milliseconds, rate, warm, seconds in (
        (0.2, 10e6, 1, 3),
        (2, 10e6, 1, 3),
        (600, 4e6, 15, 20),
        (5000, 1e6, 60, 60),
    ):
        bottleneck(f"fq_rr rate {rate:.0f}bit")
        with round_trip(milliseconds):
            report(f"{milliseconds} ms")
            fills(rate, warm, seconds, 0.9)


def a_round_trip_of_a_minute() -> None:
    """60 s: the handshake is sent several times, and data arrives at the share."""
    # ARP would give up before its answer
    for name, device, other, there, mine in (
        ("pp-s", "sr", "pp-r", "rs", "10.8.0.2"),
        ("pp-r", "rs", "pp-s", "sr", "10.8.0.1"),
    ):
        link = json.loads(run("ip", "-n", other, "-j", "link", "show", "dev", there).stdout)[0]["address"]
        run("ip", "-n", name, "neigh", "replace", mine, "lladdr", link, "dev", device, "nud", "permanent")
    bottleneck("fq_rr rate 200kbit")
    with round_trip(60_000), flow() as it:
        it.goodput(600)
        used = it.goodput(300) * 8 / (200e3 * payload_share(1448))
        report(f"60 s: {used:.4f} of the link, {retransmits(it)} sent again")
    expect(0.85 <= used < 1.02, f"{used:.3f} of the link")


class Segmented(Flow):
    """A flow with segments of a chosen size."""

    mss = 0

    def choose(self, algorithm: str) -> None:
        """Set the size together with the algorithm, before the connection."""
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.mss)
        super().choose(algorithm)


def segments_of_88_bytes() -> None:
    """TCP_MAXSEG 88, the smallest: 76 bytes of payload beside time stamps."""
    bottleneck("fq_rr rate 4mbit")
    Segmented.mss = 88
    it = Segmented()
    try:
        it.goodput(3)
        used = it.goodput(3) * 8 / (4e6 * payload_share(76))
        report(f"MSS 88: {used:.4f} of the link, {retransmits(it)} sent again")
    finally:
        it.close()
    expect(0.93 <= used < 1.02, f"{used:.3f} of the link")


def segments_of_8948_bytes() -> None:
    """Jumbo frames over 100 Mbit/s."""
    for name, device in (("pp-s", "sr"), ("pp-r", "rs"), ("pp-r", "rd"), ("pp-d", "dr")):
        run("ip", "-n", name, "link", "set", device, "mtu", "9000")
    try:
        bottleneck("fq_rr rate 100mbit quantum 9014")
        fills(100e6, 1, 2, 0.95, 8948)
    finally:
        for name, device in (("pp-s", "sr"), ("pp-r", "rs"), ("pp-r", "rd"), ("pp-d", "dr")):
            run("ip", "-n", name, "link", "set", device, "mtu", "1500")


def ipv6_is_served_alike() -> None:
    """The same flow over IPv6."""
    bottleneck("fq_rr rate 10mbit")
    for name, device, address in (
        ("pp-s", "sr", "fd00:8:0::1/64"),
        ("pp-r", "rs", "fd00:8:0::2/64"),
        ("pp-r", "rd", "fd00:8:1::1/64"),
        ("pp-d", "dr", "fd00:8:1::2/64"),
    ):
        run("ip", "-n", name, "addr", "add", address, "dev", device, "nodad")
    run("ip", "netns", "exec", "pp-r", "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
    run("ip", "-n", "pp-s", "-6", "route", "add", "default", "via", "fd00:8:0::2")
    run("ip", "-n", "pp-d", "-6", "route", "add", "default", "via", "fd00:8:1::1")
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER6, 5302), family=socket.AF_INET6)
    with namespace("pp-s"):
        sender = socket.socket(socket.AF_INET6)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"pktpair")
        sender.connect((RECEIVER6, 5302))
    receiver, _ = listener.accept()
    total = 4_000_000
    start = time.monotonic()
    threading.Thread(target=sender.sendall, args=(bytes(total),), daemon=True).start()
    left = total
    while left:
        left -= len(receiver.recv(1 << 16))
    used = total * 8 / (time.monotonic() - start) / (10e6 * payload_share(1428, HEADERS_BYTES + 20))
    for it in (sender, receiver, listener):
        it.close()
    report(f"IPv6: {used:.4f} of the link, start-up included")
    expect(used > 0.95, f"{used:.3f} of the link")


def a_link_that_halves_and_doubles() -> None:
    """10, 5, 10, 20 Mbit/s: the share within two seconds, nothing sent twice."""
    bottleneck("fq_rr rate 10mbit")
    with flow() as it:
        it.goodput(2)
        for rate in (5, 10, 20, 10):
            run("tc", "-n", "pp-r", "qdisc", "change", "dev", "rd", "root", "fq_rr", "rate", f"{rate}mbit")
            it.goodput(1)
            used = it.goodput(2) * 8 / (rate * 1e6 * payload_share(1448))
            report(f"{rate} Mbit/s: {used:.4f} of the link")
            expect(0.94 <= used < 1.03, f"{used:.3f} of {rate} Mbit/s")
        equal(retransmits(it), 0, "segments sent again")


def four_flows(algorithm: str, *queue: str) -> tuple[float, float, float]:
    """Four flows over a queue at 2 Mbit/s: part of the link used, Jain index, part of the segments sent again."""
    run("tc", "-n", "pp-r", "qdisc", "del", "dev", "rd", "root", check=False)
    bottleneck(queue[0])
    for inner in queue[1:]:
        run("tc", "-n", "pp-r", "qdisc", "add", "dev", "rd", "parent", "1:", inner)
    flows = [Flow(algorithm, port=5310 + i) for i in range(4)]
    try:
        flows[0].goodput(10)
        before = [(it.received, retransmits(it)) for it in flows]
        flows[0].goodput(20)
        got = [it.received - start for it, (start, _) in zip(flows, before, strict=True)]
        again = sum(retransmits(it) - start for it, (_, start) in zip(flows, before, strict=True))
    finally:
        for it in flows:
            it.close()
    used = sum(got) * 8 / 20 / (2e6 * payload_share(1448))
    jain = sum(got) ** 2 / (4 * sum(g * g for g in got))
    part = again / (sum(got) / 1448)
    report(f"{algorithm} over {queue[-1]}: {used:.4f} of the link, Jain {jain:.4f}, {part:.4f} of the segments again")
    return used, jain, part


def others_queues_at_half_a_megabit_per_flow() -> None:
    """Over fq_codel and CAKE with their defaults: full and fair; what is lost is told beside the peers' loss."""
    for queue in (
        ("handle 1: tbf rate 2mbit burst 1600 limit 10000000", "fq_codel"),
        ("cake bandwidth 2mbit besteffort flows",),
    ):
        used, jain, _ = four_flows("pktpair", *queue)
        for peer in ("bbr", "cubic"):
            four_flows(peer, *queue)
        expect(used > 0.95, f"{queue[-1]}: {used:.3f} of the link")
        expect(jain > 0.98, f"{queue[-1]}: Jain {jain:.3f}")


def exchanges_take_a_round_trip_each() -> None:
    """A kilobyte there, a kilobyte back, fifty times; then thirty kilobytes there."""
    bottleneck("fq_rr rate 10mbit")
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 5303))
    with namespace("pp-s"):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"pktpair")
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.connect((RECEIVER, 5303))
    server, _ = listener.accept()

    def answer() -> None:
        with contextlib.suppress(OSError):
            while size := server.recv(4, socket.MSG_WAITALL):
                server.recv(struct.unpack("!I", size)[0], socket.MSG_WAITALL)
                server.sendall(bytes(1000))

    threading.Thread(target=answer, daemon=True).start()

    def exchange(size: int) -> float:
        start = time.monotonic()
        client.sendall(struct.pack("!I", size) + bytes(size))
        client.recv(1000, socket.MSG_WAITALL)
        return (time.monotonic() - start) * 1e3

    small = sorted(exchange(1000) for _ in range(50))
    large = sorted(exchange(30_000) for _ in range(20))
    for it in (client, server, listener):
        it.close()
    report(
        f"1 kB: median {small[25]:.1f}, worst {small[-1]:.1f} ms; "
        f"30 kB: median {large[10]:.1f}, worst {large[-1]:.1f} ms"
    )
    # the guest's clock leaps when it reads the host's files, which one exchange may meet
    expect(small[-2] < 20 + 4, f"an exchange of 1 kB took {small[-2]:.1f} ms of 20 and the time to send it")
    # 30,000 bytes take 25 ms of the link
    expect(large[10] < 20 + 25 + 10, f"an exchange of 30 kB took {large[10]:.1f} ms")
    expect(large[-1] < 2 * 20 + 25 + 20, f"an exchange of 30 kB took {large[-1]:.1f} ms")


def after_a_pause_the_flow_is_back_at_its_share() -> None:
    """Three seconds idle, then a megabyte: as fast as the first."""
    bottleneck("fq_rr rate 10mbit")
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 5304))
    with namespace("pp-s"):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"pktpair")
        client.connect((RECEIVER, 5304))
    server, _ = listener.accept()
    took = []
    for _ in range(3):
        start = time.monotonic()
        threading.Thread(target=client.sendall, args=(bytes(1_000_000),), daemon=True).start()
        left = 1_000_000
        while left:
            left -= len(server.recv(1 << 16))
        took.append(time.monotonic() - start)
        time.sleep(3)
    for it in (client, server, listener):
        it.close()
    ideal = 1e6 * 8 / (10e6 * payload_share(1448)) + 0.0
    report("a megabyte: " + ", ".join(f"{t / ideal:.3f}" for t in took) + " of the link's time")
    expect(max(took) < 1.08 * ideal, f"{max(took):.3f} s instead of {ideal:.3f}")


def an_application_that_sends_below_its_share() -> None:
    """2 Mbit/s of 10 in writes of 10 kB: each arrives within a round trip; then all it can."""
    bottleneck("fq_rr rate 10mbit")
    with traced() as events, namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 5305))
        with namespace("pp-s"):
            client = socket.socket()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"pktpair")
            client.connect((RECEIVER, 5305))
        server, _ = listener.accept()
        late = []
        for _ in range(50):
            start = time.monotonic()
            client.sendall(bytes(10_000))
            server.recv(10_000, socket.MSG_WAITALL)
            late.append((time.monotonic() - start) * 1e3)
            time.sleep(max(0.0, 0.04 - (time.monotonic() - start)))
        for it in (client, server, listener):
            it.close()
    rates = [int(e["rate_bytes_ps"]) * 8 for e in events if "rate_bytes_ps" in e and int(e["rate_bytes_ps"])]
    report(
        f"10 kB took {sorted(late)[25]:.1f} ms in the median, {max(late[5:]):.1f} at worst; "
        f"highest rate {max(rates, default=0)}"
    )
    # 10,000 bytes take 8.5 ms of the link
    expect(max(late[5:]) < 10 + 8.5 + 5, f"10 kB took {max(late[5:]):.1f} ms")


def ends_of(servers: list[socket.socket]) -> tuple[list[float], int]:
    """Read them all to their ends: when each came to its own, monotonic seconds, and the bytes that arrived."""
    ends, arrived = [], 0
    with selectors.DefaultSelector() as open_ones:
        for server in servers:
            server.setblocking(False)
            open_ones.register(server, selectors.EVENT_READ)
        while open_ones.get_map():
            for key, _ in open_ones.select():
                data = key.fileobj.recv(1 << 16)
                arrived += len(data)
                if not data:
                    open_ones.unregister(key.fileobj)
                    ends.append(time.monotonic())
    return ends, arrived


def many_connections(algorithm: str, count: int, size: int, apart_us: int) -> tuple[float, int]:
    """Send ``size`` bytes on each of ``count`` connections, which begin ``apart_us`` after each other.

    Return: mean of the seconds that one took, segments sent again.
    """
    with namespace("pp-d"):
        listener = socket.create_server((RECEIVER, 0), backlog=4 * count)
    start = time.monotonic()
    clients = []
    with namespace("pp-s"):
        for _ in range(count):
            client = socket.socket()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            clients.append(client)
    servers = [listener.accept()[0] for _ in range(count)]
    for client in clients:
        client.setblocking(True)
        time.sleep(apart_us / 1e6)
        client.sendall(bytes(size))
        client.shutdown(socket.SHUT_WR)
    ends, arrived = ends_of(servers)
    took = sum(ends) / count - start
    again = sum(
        struct.unpack_from("=I", c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), TOTAL_RETRANS_OFFSET)[0]
        for c in clients
    )
    for it in (*clients, *servers, listener):
        it.close()
    report(f"{count} connections of {algorithm}, {apart_us} us apart: {took:.2f} s, the last {max(ends) - start:.2f}")
    report(f"{again} segments sent again")
    equal(arrived, count * size, "bytes")
    return took, again


def thousands_of_connections_at_once() -> None:
    """Connections of ten segments each: all arrive whole, no later in the mean than CUBIC's.

    Their timers run out while their first packets wait. Whether all that is sent again makes them wait
    longer depends on microseconds, so that one beginning says little; and when the last of them ends
    depends on how often the timer of one has doubled.
    """
    beginnings = [(1000, apart_us) for apart_us in (0, 50, 100, 200, 300)] + [(2000, 0)]
    sockets = 4 * max(count for count, _ in beginnings)
    resource.setrlimit(resource.RLIMIT_NOFILE, (sockets, sockets))
    took, again = {}, {}
    for algorithm in ("pktpair", "cubic"):
        found = []
        for count, apart_us in beginnings:
            # nothing of those before may wait there
            run("tc", "-n", "pp-r", "qdisc", "del", "dev", "rd", "root", check=False)
            bottleneck("fq_rr rate 50mbit flows 65536")
            found.append(many_connections(algorithm, count, 14480, apart_us))
        took[algorithm], again[algorithm] = (sum(of_one) for of_one in zip(*found, strict=True))
        report(f"{algorithm}: {took[algorithm]:.2f} s, {again[algorithm]} segments sent again")
    expect(took["pktpair"] < 1.1 * took["cubic"], f"{took} s: at most 1.1 times CUBIC's are wanted")
    expect(again["pktpair"] < 1.1 * again["cubic"], f"{again} sent again: at most 1.1 times CUBIC's are wanted")


def a_look_at_the_propagation_delay_is_not_taken_for_the_share() -> None:
    """While it drains its queue a flow sends less than it may, in trains cut short: the service time stays."""
    bottleneck("fq_rr rate 2mbit limit 100")
    with round_trip(80), traced() as events, flow() as it:
        # an estimate is refreshed after ten seconds
        it.goodput(12)
    # The guest's clock leaps while a process starts, by ten seconds and more on a busy host: a look
    # may come with the first trains, when nothing has been known for long.
    looks = [i for i, e in enumerate(events) if i >= 40 and int(e["setpoint_q8"]) < 0 and int(e["cwnd"]) < 12]
    known = [int(e["service_ns"]) for e in events]
    expect(len(looks) > 3, "it did not look")
    before = sorted(known[looks[0] // 2 : looks[0]])[looks[0] // 4]
    report(f"service time {before / 1e6:.2f} ms, at most {max(known[looks[0] :]) / 1e6:.2f} ms during a look and after")
    expect(max(known[looks[0] :]) < 1.2 * before, "less than the share was taken for it")


QUICK = [
    a_look_at_the_propagation_delay_is_not_taken_for_the_share,
    segments_of_88_bytes,
    segments_of_8948_bytes,
    ipv6_is_served_alike,
    a_link_that_halves_and_doubles,
    exchanges_take_a_round_trip_each,
    after_a_pause_the_flow_is_back_at_its_share,
    an_application_that_sends_below_its_share,
]
# minutes of a core
LONG = [
    rates_from_64_kbit_s_up,
    round_trips_from_a_fifth_of_a_millisecond,
    a_round_trip_of_a_minute,
    others_queues_at_half_a_megabit_per_flow,
    thousands_of_connections_at_once,
]

if __name__ == "__main__":
    known = {test.__name__: test for test in [*QUICK, *LONG]}
    unknown = [name for name in sys.argv[1:] if name not in (*known, "all")]
    if unknown:
        sys.exit(f"in_lab_paths.py: no test {unknown[0]}; there are: all {' '.join(known)}")
    DEFAULT.write_text("cubic")
    build_path()
    chosen = [*QUICK, *LONG] if "all" in sys.argv else [known[name] for name in sys.argv[1:]] or QUICK
    sys.exit(run_tests([*chosen, the_kernel_had_nothing_to_complain_of]))
