# SPDX-License-Identifier: GPL-2.0
"""The program that drives the traffic of a run, on the loopback device of this machine."""

import ctypes
import functools
import json
import os
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[3]
SOURCE = TOP / "mininet-tests" / "lab" / "guest" / "traffic.c"
WARNINGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread")
SANITIZERS = ("-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OWN = "/proc/self/ns/net"
FLOW = f"flow name=f1 from={OWN} to={OWN} from_address=127.0.0.1 to_address=127.0.0.1 port=11001"
UDP = f"source name=u1 from={OWN} to={OWN} from_address=127.0.0.1 to_address=127.0.0.1 port=21001"
MS = 1_000_000
# A run ends with its last flow and source: this is reached only by what never ends.
END_NS = 600_000 * MS
END = f"end at_ns={END_NS}"
PIDFD_GETFD = 438
# More than it takes to start threads, unless the machine does something else meanwhile.
BEGIN_IN_NS = (200 * MS, 2_000 * MS, 20_000 * MS)
FILE_BYTES = 1792000
LATE = "traffic: the beginning is past\n"
RECEIVED = struct.Struct("=IIqq")
SAMPLE = struct.Struct("=IIQQQ8I")
QUEUE_SAMPLE = struct.Struct("=IIQII")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may enter namespaces and force socket buffers")


@dataclass
class Outcome:
    """What a run left in its folder."""

    flows: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    received: list[tuple[int, ...]]
    samples: list[tuple[int, ...]]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """As it is used, and one that watches its memory."""
    folder = tmp_path_factory.mktemp("traffic")
    found = {"plain": folder / "plain", "sanitized": folder / "sanitized"}
    compilers = [
        subprocess.Popen(["gcc", *WARNINGS, *options, "-o", found[name], SOURCE])
        for name, options in (("plain", ()), ("sanitized", SANITIZERS))
    ]
    assert [compiler.wait() for compiler in compilers] == [0, 0]
    return found


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """A namespace in which there is nothing but a loopback device."""
    keeper = subprocess.Popen(
        ["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert keeper.stdout and keeper.stdout.readline() == b"up\n"
    yield f"/proc/{keeper.pid}/ns/net"
    keeper.communicate()


@functools.cache
def undisturbed() -> list[str]:
    """What to put before a program so that it has one CPU, as in a guest, and runs there before all others.

    On two, a queue's packets and its bytes may be read with an arrival between them.
    """
    ahead = ["chrt", "--fifo", "1"]
    allowed = subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode == 0
    return ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *(ahead if allowed else [])]


def start(program: Path, folder: Path, *plan: str) -> "subprocess.Popen[str]":
    path = folder / "plan"
    path.write_text("".join(f"{line}\n" for line in plan))
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # with ports of its own, so that several of these tests may run on a machine at once
    alone = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] if os.geteuid() == 0 else []
    return subprocess.Popen([*undisturbed(), *alone, program, path, folder], text=True, **pipes)


def drive(program: Path, folder: Path, *plan: str, cut: int = 0) -> Outcome:
    """A run that has to succeed; the client's connection from port ``cut`` is cut before it begins."""
    for begin_in_ns in BEGIN_IN_NS:
        process = start(program, folder, *plan)
        assert process.stdin and process.stdout
        ready = process.stdout.readline()
        if cut:
            shut_down(process.pid, cut)
        out, err = process.communicate(f"{time.monotonic_ns() + begin_in_ns}\n" if ready else "")
        # nothing has been sent then
        if err != LATE:
            break
    assert (process.returncode, ready, out, err) == (0, "ready\n", "done\n", "")
    flows, sources = ([json.loads(line) for line in (folder / name).open()] for name in ("flows", "sources"))
    received, samples = (folder / "received").read_bytes(), (folder / "samples").read_bytes()
    return Outcome(flows, sources, list(RECEIVED.iter_unpack(received)), list(SAMPLE.iter_unpack(samples)))


def shut_down(pid: int, port: int) -> None:
    """End the connection of another process whose local port this is."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        if link.readlink().name.startswith("socket:"):
            handle = os.pidfd_open(pid)
            with socket.socket(fileno=ctypes.CDLL(None).syscall(PIDFD_GETFD, handle, int(link.name), 0)) as found:
                if found.getsockname()[1] == port:
                    found.shutdown(socket.SHUT_RDWR)
            os.close(handle)


def refused(program: Path, folder: Path, *plan: str) -> str:
    """What is said where there can be no run."""
    process = start(program, folder, *plan)
    out, err = process.communicate("1\n")
    assert (process.returncode, out) == (1, ""), err
    return err


def times(folder: Path, *times_ns: int) -> str:
    """A file of times."""
    path = folder / f"times-{len(times_ns)}"
    path.write_bytes(struct.pack(f"<{len(times_ns)}Q", *times_ns))
    return str(path)


@needs_root
@pytest.mark.parametrize("build", ["plain", "sanitized"])
@pytest.mark.parametrize("connect", ["before", "start"])
def test_a_file_arrives_whole(programs: dict[str, Path], tmp_path: Path, build: str, connect: str) -> None:
    """The flow ends when its last byte is acknowledged, whichever size writes have; the second flow waits"""
    options = f"bytes={FILE_BYTES} cc=reno mss=500 sndbuf=100000 rcvbuf=200000 connect={connect}"
    second = f"{FLOW.replace('f1', 'f2').replace('11001', '11002')} bytes=1 start_ns={20 * MS} write=7"
    found = drive(programs[build], tmp_path, "# a comment", "", f"{FLOW} {options}", second, END)
    first, last = found.flows
    assert (first["name"], first["error"], first["cc"], first["bytes_acked"]) == ("f1", None, "reno", FILE_BYTES)
    assert 0 <= first["began_ns"] < first["ended_ns"]
    assert first["mss_bytes"] <= 500 and first["data_packets_sent"] >= FILE_BYTES / first["mss_bytes"]
    assert set(first) >= {"retransmits", "min_rtt_us"} and "exchanges" not in first
    assert (last["name"], last["error"], last["bytes_acked"], last["data_packets_sent"]) == ("f2", None, 1, 1)
    assert 20 * MS <= last["began_ns"] < last["ended_ns"]
    assert (found.sources, found.received, found.samples) == ([], [], [])


@needs_root
def test_a_flow_of_a_given_time_with_samples(programs: dict[str, Path], tmp_path: Path) -> None:
    """It ends after its time, when all it has written is acknowledged; samples go on until then"""
    flow = f"{FLOW} seconds_ns={90 * MS} start_ns={10 * MS} write=20000 sndbuf=20000"
    found = drive(programs["sanitized"], tmp_path, flow, f"sample every_ns={5 * MS}", END)
    (result,) = found.flows
    assert result["error"] is None and result["bytes_acked"] > 20000
    assert result["ended_ns"] >= 100 * MS
    assert {(sample[0], sample[-1]) for sample in found.samples} == {(0, 1)}, "of flow 0, established"
    moments, acked = ([sample[column] for sample in found.samples] for column in (2, 3))
    assert moments == sorted(set(moments)) and moments[0] >= 0
    assert acked == sorted(acked) and acked[-1] <= result["bytes_acked"]


@needs_root
def test_a_write_that_blocks_is_given_up(programs: dict[str, Path], tmp_path: Path) -> None:
    """With a write that is never done in the time, the flow ends nevertheless"""
    flow = f"{FLOW} seconds_ns={40 * MS} write={1 << 28} mss=100 rcvbuf=2000"
    (result,) = drive(programs["sanitized"], tmp_path, flow, END).flows
    assert result["error"] is None and 1 < result["bytes_acked"] < 1 << 28


@needs_root
@pytest.mark.parametrize("unsent", [0, 40_000])
def test_what_waits_unsent_is_bounded(programs: dict[str, Path], tmp_path: Path, unsent: int) -> None:
    """Of a write of a megabyte no more waits unsent than was said, and without a bound nearly all of it does"""
    flow = f"{FLOW} seconds_ns={100 * MS} write=1000000 sndbuf=4000000 rcvbuf=20000 unsent={unsent}"
    found = drive(programs["plain"], tmp_path, flow, f"sample every_ns={MS}", END)
    most_bytes = max(sample[10] for sample in found.samples)
    # the packet that goes over the bound is filled
    assert most_bytes <= unsent + 65536 if unsent else most_bytes > 500_000


@needs_root
@pytest.mark.parametrize("connect", ["before", "start"])
def test_exchanges(programs: dict[str, Path], tmp_path: Path, connect: str) -> None:
    """Each request follows the response before it by the time to think"""
    (tmp_path / "web").write_text(f"100 200000 {10 * MS}\n300000 1 0\n1 1 {5000 * MS}\n")
    (result,) = drive(
        programs["sanitized"], tmp_path, f"{FLOW} connect={connect} cc=reno exchanges={tmp_path}/web", END
    ).flows
    assert (result["error"], result["cc"]) == (None, "reno")
    (began, first), (second, ended), (third, last) = result["exchanges"]
    assert result["began_ns"] <= began < first and first + 10 * MS <= second < ended <= third < last
    assert result["ended_ns"] == last
    assert 200000 <= result["bytes_acked"] <= 200002, "the server's; its last acknowledgment may be under way"


@needs_root
def test_a_message_is_made_a_write_at_a_time(programs: dict[str, Path], tmp_path: Path) -> None:
    """And none begins at the time at which no more do"""
    (tmp_path / "web").write_text(f"1 1000 {10 * MS}\n" * 1000)
    words = f"exchanges={tmp_path}/web write=100 write_gap_ns={5 * MS} until_ns={200 * MS}"
    (result,) = drive(programs["sanitized"], tmp_path, f"{FLOW} {words}", END).flows
    assert result["error"] is None
    took = [ended - began for began, ended in result["exchanges"]]
    assert all(one >= 9 * 5 * MS for one in took), "ten writes"
    assert all(began < 200 * MS for began, _ in result["exchanges"])
    assert 1 <= len(took) <= 4 and result["ended_ns"] >= 200 * MS


@needs_root
def test_writes_at_their_times(programs: dict[str, Path], tmp_path: Path) -> None:
    """A source goes on whatever has been acknowledged; the last write is what is left"""
    (tmp_path / "writes").write_text(f"0\n{20 * MS}\n{20 * MS}\n{70 * MS}\n")
    words = f"start_ns={10 * MS} bytes=350 write=100 writes={tmp_path}/writes"
    (found,) = drive(programs["sanitized"], tmp_path, f"{FLOW} {words}", END).flows
    assert (found["error"], found["bytes_acked"]) == (None, 350)
    assert 10 * MS <= found["began_ns"] < found["ended_ns"] - 70 * MS + 1
    for text, said in {
        "0\n1\n2\n": "has 3 times for 4 writes",
        "0\n1\n2\n3\n4\n": "has 5 times for 4 writes",
        "0\n5\n4\n6\n": "line 3 is not a time, or before the last one",
        "0\n-1\n4\n6\n": "line 2 is not a time, or before the last one",
        "0\n1 \n4\n6\n": "line 2 is not a time, or before the last one",
    }.items():
        (tmp_path / "writes").write_text(text)
        assert said in refused(programs["sanitized"], tmp_path, f"{FLOW} {words}", END)


@needs_root
@pytest.mark.parametrize(("address", "headers"), [("127.0.0.1", 28), ("::1", 48)])
def test_udp_packets_at_their_times(programs: dict[str, Path], tmp_path: Path, address: str, headers: int) -> None:
    """Each packet that was sent is accounted for: those of several ports, of bursts, of two sources for one sink"""
    at = [2 * MS, 2 * MS, 3 * MS, 50 * MS, 7 * MS]
    ends = f"from={OWN} to={OWN} from_address={address} to_address={address}"
    found = drive(
        programs["sanitized"],
        tmp_path,
        f"source name=many {ends} port=21001 ports=3 packet_bytes=500 burst=4 times={times(tmp_path, *at)}",
        f"source name=small {ends} port=22001 packet_bytes={headers + 12} times={times(tmp_path, 2 * MS)}",
        f"source name=none {ends} port=23001 packet_bytes=500 times={times(tmp_path)}",
        f"flow name=f {ends} port=11001 bytes=100000",
        END,
    )
    assert found.sources == [
        {"name": "many", "sent": 20, "not_sent": 0, "received": 20},
        {"name": "small", "sent": 1, "not_sent": 0, "received": 1},
        {"name": "none", "sent": 0, "not_sent": 0, "received": 0},
    ]
    assert Counter(source for source, *_ in found.received) == {0: 20, 1: 1}
    sent = [sent_ns for source, _, sent_ns, _ in found.received if source == 0]
    assert sent == sorted(sent) and set(Counter(sent).values()) == {4}, "a burst has one time"
    assert all(sent_ns >= due - 1000 for sent_ns, due in zip(sent[::4], sorted(at), strict=True)), (
        "clocks differ by 1 us"
    )
    assert all(delay_ns > 0 for *_, delay_ns in found.received)
    assert (found.flows[0]["error"], found.flows[0]["bytes_acked"]) == (None, 100000)


@needs_root
def test_more_packets_than_sinks_hold(programs: dict[str, Path], tmp_path: Path) -> None:
    """540 MB of large packets and many small ones, for two sinks: none is lost in a socket, or out of its order."""
    ends = [f"from={OWN} to={OWN} from_address=127.0.0.1 to_address=127.0.0.{place}" for place in (1, 2)]
    found = drive(
        programs["plain"],
        tmp_path,
        f"source name=large {ends[0]} port=21001 packet_bytes=60000 times={times(tmp_path, *[0] * 9000)}",
        f"source name=small {ends[1]} port=22001 packet_bytes=100 burst=64 times={times(tmp_path, *[0] * 500)}",
        END,
    )
    assert [(one["sent"] + one["not_sent"], one["received"] - one["sent"]) for one in found.sources] == [
        (9000, 0),
        (32_000, 0),
    ]
    for source in (0, 1):
        sent = [sent_ns for one, _, sent_ns, _ in found.received if one == source]
        assert sent == sorted(sent)


@needs_root
def test_sources_end_with_the_last_flow(programs: dict[str, Path], tmp_path: Path) -> None:
    times = tmp_path / "times"
    times.write_bytes(struct.pack("<2Q", 0, 4000 * MS))
    source = f"{UDP} packet_bytes=100 times={times}"
    # it begins late enough for the first packet to have been sent, however busy the machine is
    flow = f"{FLOW} bytes=1000 start_ns={300 * MS}"
    outcome = drive(programs["sanitized"], tmp_path, flow, source, f"{END} with_flows=1")
    assert outcome.flows[0]["error"] is None
    # the second is due long after the flow has ended
    assert outcome.sources[0]["sent"] == 1
    outcome = drive(programs["sanitized"], tmp_path, END)
    assert outcome == Outcome([], [], [], [])


@needs_root
def test_a_flow_that_does_not_end(programs: dict[str, Path], tmp_path: Path) -> None:
    """The end of the run finds a flow between two exchanges, and one that has not begun"""
    (tmp_path / "slow").write_text(f"1 1 {4000 * MS}\n1 1 0\n")
    late = f"{FLOW.replace('f1', 'f2').replace('11001', '11002')} bytes=1 start_ns={4000 * MS}"
    found = drive(
        programs["sanitized"], tmp_path, f"{FLOW} exchanges={tmp_path}/slow", late, f"end at_ns={300 * MS}"
    ).flows
    assert [(flow["error"], flow["ended_ns"]) for flow in found] == [("did not end", None)] * 2
    assert len(found[0]["exchanges"]) == 1 and found[1]["began_ns"] is None


@needs_root
def test_a_connection_that_breaks(programs: dict[str, Path], tmp_path: Path) -> None:
    """Its flow fails, and others go on"""
    second = f"{FLOW.replace('f1', 'f2').replace('11001', '11002')} bytes=1000"
    first, last = drive(programs["sanitized"], tmp_path, f"{FLOW} bytes=1000", second, END, cut=11001).flows
    assert (first["error"], first["ended_ns"]) == ("recv: Broken pipe", None)
    assert (last["error"], last["bytes_acked"]) == (None, 1000)


@needs_root
def test_packets_at_a_rate_that_nobody_tells(programs: dict[str, Path], tmp_path: Path) -> None:
    """Reno tells no rate to size packets by; mininet-tests/tests/lab/test_scenarios.py has a flow of vptfrc's"""
    flow = f"{FLOW} seconds_ns={100 * MS} packets_ps=50 cc=reno"
    (found,) = drive(programs["sanitized"], tmp_path, flow, END).flows
    assert (found["error"], found["ended_ns"]) == ("packets_ps: allowed rate: Operation not supported", None)


@needs_root
def test_writes_of_sizes_that_are_drawn(programs: dict[str, Path], tmp_path: Path) -> None:
    """Each is a packet of its own: of 100 to 300 bytes the mean is 200, and another flow has others"""
    lasts = f"seconds_ns={200 * MS} write=300 write_least=100 unsent=300 draws=7"
    second = f"{FLOW.replace('f1', 'f2').replace('11001', '11002')} {lasts}"
    found = drive(programs["sanitized"], tmp_path, f"{FLOW} {lasts}", second, END).flows
    means = [flow["bytes_acked"] / flow["data_packets_sent"] for flow in found]
    # of 1000 packets the mean's deviation is 1.8 bytes; the last packet has one byte
    assert all(flow["error"] is None and flow["data_packets_sent"] > 1000 for flow in found)
    assert all(190 < mean < 210 for mean in means) and means[0] != means[1]


@needs_root
def test_refused_connections(programs: dict[str, Path], tmp_path: Path, elsewhere: str) -> None:
    """Before the run there is none; at a flow's start the flow fails, and others go on"""
    flow = f"{FLOW.replace(f'to={OWN}', f'to={elsewhere}')} bytes=1000"
    said = refused(programs["sanitized"], tmp_path, flow, END)
    assert said == "traffic: flow f1: connect: Connection refused\n"
    second = f"{FLOW.replace('f1', 'f2').replace('11001', '11002')} bytes=1000"
    found = drive(programs["sanitized"], tmp_path, f"{flow} connect=start", second, END).flows
    assert [flow["error"] for flow in found] == ["connect: Connection refused", None]
    assert found[0]["ended_ns"] is None


FAULTS = [
    (f"{FLOW} bytes=1 foo=2", "unknown key foo"),
    (f"{FLOW} bytes=1 bytes=1", "a second bytes"),
    (f"{FLOW}  bytes=1", '"" is not KEY=VALUE'),
    (f"{FLOW} bytes", '"bytes" is not KEY=VALUE'),
    (FLOW.replace("port=11001", "bytes=1"), "missing key port"),
    (f"{FLOW} bytes=-1", f"bytes=-1 is not a number from 0 to {1 << 50}"),
    (f"{FLOW} bytes=1k", f"bytes=1k is not a number from 0 to {1 << 50}"),
    (f"{FLOW} mss=40000", "mss=40000 is not a number from 0 to 32767"),
    (f"{FLOW} seconds_ns=1 packets_ps=10001", "packets_ps=10001 is not a number from 0 to 10000"),
    (f"{FLOW} bytes=1 packets_ps=50", "packets_ps=50 without seconds_ns"),
    (f"{FLOW} bytes=1 write_least=50", "write_least=50 without seconds_ns, or with packets_ps"),
    (f"{FLOW} seconds_ns=1 write=40 write_least=50", "write_least=50 above write=40"),
    (FLOW.replace("11001", "45536"), "port=45536 is too high"),
    (FLOW, "one of bytes, seconds_ns and exchanges is expected"),
    (f"{FLOW} bytes=1 seconds_ns=1", "one of bytes, seconds_ns and exchanges is expected"),
    (f"{FLOW} bytes=1 write_gap_ns=1", "write_gap_ns and until_ns are of exchanges"),
    (f"{FLOW} bytes=1 until_ns=1", "write_gap_ns and until_ns are of exchanges"),
    (f"{FLOW} seconds_ns=1 write=1 writes=/nowhere", "writes are of bytes, and need write"),
    (f"{FLOW} bytes=1 write=1 writes=/nowhere", "/nowhere: No such file or directory"),
    (f"{FLOW} exchanges=/nowhere", "/nowhere: No such file or directory"),
    (f"{FLOW} exchanges=/dev/null", "/dev/null is empty"),
    (f"{FLOW} exchanges={SOURCE}", f"{SOURCE} line 1 is not an exchange"),
    (f"{FLOW} bytes=1 connect=later", "connect=later is neither before nor start"),
    (FLOW.replace("name=f1", 'name="f1"'), 'name="f1" has characters that a name must not have'),
    (FLOW.replace("=127.0.0.1", "=localhost", 1), "localhost is not an address"),
    (FLOW.replace("=127.0.0.1", "=::1", 1), "addresses of two families"),
    (f"{UDP} packet_bytes=39 times=/dev/null", "packet_bytes=39 is less than 40"),
    (f"{UDP} packet_bytes=1500 burst=45 times=/dev/null", "a burst has more than 65507 bytes"),
    (f"{UDP} packet_bytes=500 ports=50000 times=/dev/null", "port=21001 is too high"),
    ("sample", "missing key every_ns"),
    ("sample every_ns=0", "every_ns=0 is not a number from 1 to 1000000000000000"),
    ("flwo name=f1", "unknown kind flwo"),
    (END, "a second end"),
]


@pytest.mark.parametrize(("line", "said"), FAULTS, ids=[said for _, said in FAULTS])
def test_a_faulty_line_is_named(programs: dict[str, Path], tmp_path: Path, line: str, said: str) -> None:
    """Each kind of fault by its line, before anything is opened"""
    assert refused(programs["sanitized"], tmp_path, "# a comment", END, line) == f"traffic: plan line 3: {said}\n"


@needs_root
def test_a_faulty_list_of_times_is_named(programs: dict[str, Path], tmp_path: Path) -> None:
    """A file that is missing, is cut, or has a time at which there is no run any more"""
    (tmp_path / "cut").write_bytes(bytes(9))
    late = times(tmp_path, END_NS)
    for path, said in (
        ("/nowhere", "/nowhere: No such file or directory"),
        (f"{tmp_path}/cut", f"{tmp_path}/cut is not a list of times"),
        (late, f"{late}: {END_NS} is not before the end"),
    ):
        plan = (END, f"{UDP} packet_bytes=500 times={path}")
        assert refused(programs["sanitized"], tmp_path, *plan) == f"traffic: plan line 2: {said}\n"


def test_an_incomplete_call_is_refused(programs: dict[str, Path], tmp_path: Path) -> None:
    """No plan, no end, no traffic; and no time to begin at"""
    program = programs["sanitized"]
    done = subprocess.run([program, tmp_path / "plan"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "usage: traffic PLAN OUT\n")
    assert refused(program, tmp_path, f"{FLOW} bytes=1") == "traffic: plan: no end\n"


@needs_root
@pytest.mark.parametrize(
    ("begin", "said"),
    [("", "standard input has no time of the beginning"), ("1\n", "the beginning is past")],
    ids=["no time", "past"],
)
def test_a_run_begins_in_the_future(programs: dict[str, Path], tmp_path: Path, begin: str, said: str) -> None:
    """A time to begin at that is missing or past ends the program"""
    process = start(programs["sanitized"], tmp_path, f"{FLOW} bytes=1", END)
    out, err = process.communicate(begin)
    assert (process.returncode, out, err) == (1, "ready\n", f"traffic: {said}\n")


@needs_root
@pytest.mark.parametrize("build", ["plain", "sanitized"])
def test_queues_are_sampled(programs: dict[str, Path], tmp_path: Path, elsewhere: str, build: str) -> None:
    """Of ten packets behind 0.1 Mbit/s, a sample shows those that wait, their bytes, and what was dropped"""
    shaped = "tbf rate 100kbit burst 1600 limit 6056"
    subprocess.run(
        ["nsenter", f"--net={elsewhere}", "tc", "qdisc", "add", "dev", "lo", "root", *shaped.split()], check=True
    )
    source = UDP.replace(OWN, elsewhere) + f" packet_bytes=1500 times={times(tmp_path, *[0] * 10, 300 * MS)}"
    drive(programs[build], tmp_path, source, "sample every_ns=5000000", f"queue name=lo in={elsewhere}", END)
    samples = list(QUEUE_SAMPLE.iter_unpack((tmp_path / "queues").read_bytes()))
    assert {sample[0] for sample in samples} == {0}
    # one leaves at once, four wait, five find no room; the last comes when two have left
    assert max(packets for _, packets, _, _, _ in samples) == 4
    assert {(packets, size) for _, packets, _, size, _ in samples} <= {(n, n * 1514) for n in range(5)}
    assert samples[-1][4] == 5
    moments = [time_ns for _, _, time_ns, _, _ in samples]
    assert moments == sorted(moments) and moments[0] >= 0


@needs_root
def test_a_queue_that_cannot_be_read_is_said(programs: dict[str, Path], tmp_path: Path, elsewhere: str) -> None:
    """A device that is not there, and a line without one; a device without a queue has an empty one"""
    program = programs["plain"]
    assert "nowhere: SIOCGIFINDEX: No such device" in refused(program, tmp_path, f"queue name=nowhere in={OWN}", END)
    assert "plan line 1: missing key in" in refused(program, tmp_path, "queue name=lo", END)
    assert "is too long for a device" in refused(program, tmp_path, f"queue name={'x' * 16} in={OWN}", END)
    # the second packet, so that it lasts until a sample
    source = UDP.replace(OWN, elsewhere) + f" packet_bytes=1500 times={times(tmp_path, 0, 300 * MS)}"
    drive(program, tmp_path, source, "sample every_ns=5000000", f"queue name=lo in={elsewhere}", END)
    assert {sample[1::2] for sample in QUEUE_SAMPLE.iter_unpack((tmp_path / "queues").read_bytes())} == {(0, 0)}
