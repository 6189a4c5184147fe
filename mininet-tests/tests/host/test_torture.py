# SPDX-License-Identifier: GPL-2.0
"""What torture concludes from what its guests say."""

import argparse
import json
import os
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from torture import complaints, devices, drive, options, tormentor, torture

ROUNDS = ["# round 1: requests 1f, log 2e", "# 30 s: 1 rounds, {}", "# round 2: requests 3d, log 4c"]


@pytest.mark.parametrize("count", [1, 2])
def test_two_guests_that_agree(count: int) -> None:
    """Two guests of one seed agree where their common rounds are the same."""
    told = drive.repeats(ROUNDS, ROUNDS[: 2 * count - 1])
    assert told[0].startswith("ok ")
    assert told[0].endswith(f"in {count} rounds")


@pytest.mark.parametrize(
    "again", [[], ["# round 1: requests 1f, log 2f"], [*ROUNDS[:2], "# round 2: requests 3d, log 5"]]
)
def test_two_guests_that_do_not(again: list[str]) -> None:
    """A guest that had no round, or one with another digest, has not repeated the first."""
    assert drive.repeats(ROUNDS, again)[0].startswith("not ok ")


@pytest.mark.parametrize(
    "line",
    [
        "BUG: KASAN: use-after-free in fq_rr_dequeue+0x1/0x2 [sch_fq_rr]",
        "WARNING: possible recursive locking detected",
        "UBSAN: shift-out-of-bounds in kmod/control_law.h:1:2",
        "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        "kmemleak: Kernel memory leak detector disabled",
        "BUG: KCSAN: data-race in fq_rr_enqueue [sch_fq_rr] / gnet_stats_copy_queue",
        "BUG: KCSAN: data-race in fq_rr_dump / tc_fill_qdisc_inner [sch_fq_rr]",
        "BUG: KCSAN: data-race in __dev_queue_xmit / fq_rr_change [sch_fq_rr]",
        "BUG: KCSAN: assert: race in inet_diag_dump / pktpair_get_info [tcp_pktpair]",
        "unregister_netdevice: waiting for v0 to become free. Usage count = 2",
        "WARNING: inconsistent lock state",
        "inconsistent {SOFTIRQ-ON-W} -> {IN-SOFTIRQ-W} usage.",
        "kernel BUG at kernel/module/main.c:656!",
    ],
)
def test_a_complaint_is_seen(line: str) -> None:
    """What a kernel says when something is wrong is taken for that."""
    assert complaints.is_complaint(line)


@pytest.mark.parametrize(
    "line",
    [
        "netlink: 'python3': attribute type 10 has an invalid length.",
        "tcp_pktpair: setpoint_step=-1: not a number from 1 to 64",
        "__nla_validate_parse: 21 callbacks suppressed",
        "ets_qdisc_dequeue: fq_rr qdisc 1: is non-work-conserving?",
        "BUG: KCSAN: data-race in tick_nohz_stop_tick / tick_sched_do_timer",
        "[   45.570743] BUG: KCSAN: data-race in fq_rr_dequeue [sch_fq_rr] / tc_fill_qdisc",
        "[  201.204113] BUG: KCSAN: data-race in fq_rr_dequeue [sch_fq_rr] / gnet_stats_add_queue",
        "[   61.182331] BUG: KCSAN: data-race in __dev_queue_xmit / fq_rr_apply [sch_fq_rr]",
        "Huh VM_FAULT_OOM leaked out to the #PF handler. Retrying PF",
        "[    4.170435] mtrr: your CPUs had inconsistent fixed MTRR settings",
    ],
)
def test_a_refusal_is_no_complaint(line: str) -> None:
    """What a kernel says of requests, or of a data race of its own, is not."""
    assert not complaints.is_complaint(line)


def test_tc_says_which_commands_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tc takes command after command, and says of each batch what failed in it."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
    tc = tormentor.Batch("tc")
    assert tc.do() == []
    said = tc.do("qdisc show dev no-such-device")
    assert any("no-such-device" in line for line in said)
    assert tc.do() == []


def test_options_have_ranges() -> None:
    """Of every option that is read from the header some value is allowed, and drawn ones are."""
    random = Random(1)
    for option in options.read():
        assert option.low <= option.high
        assert all(option.allows(option.draw(random)) for _ in range(50))
        forbidden = option.draw_forbidden(random)
        assert forbidden is None or not option.allows(forbidden)


def test_every_kind_of_device_has_its_turn() -> None:
    """Of as many arenas in turn as there are kinds, each has another, in an order that is the seed's."""
    orders = set()
    for seed in "123456":
        kinds = [devices.kind_of(seed, arena) for arena in range(2 * len(devices.KINDS))]
        assert kinds == [devices.kind_of(seed, arena) for arena in range(len(kinds))]
        for first in range(0, len(kinds), len(devices.KINDS)):
            assert sorted(kinds[first : first + len(devices.KINDS)]) == sorted(devices.KINDS)
        orders.add(tuple(kinds))
    assert len(orders) > 1


class QuietLog:
    """A kernel's log with the lines that it is given."""

    def __init__(self, *complaints: str) -> None:
        self.complaints = list(complaints)
        self.hash = torture.hashlib.sha256()

    def read(self) -> None:
        """Nothing new."""


SOUND = ({"requests": 9, "with a failed allocation": 2}, sorted(torture.ALL_PATHS), "d1", [])


def verdicts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    answer: tuple[object, ...] = SOUND,
    complaints: tuple[str, ...] = (),
    leaks: str = "",
    wanted: int = 9,
    held: bool = False,
    status: int = 0,
) -> list[str]:
    """What a short torture says in which two arenas answer like that."""

    def arena(_seed: str, _kind: str, _seconds: float, _slow: float, write: int) -> None:
        os.write(write, json.dumps(answer).encode())
        if status:
            raise SystemExit(status)

    def reload() -> None:
        if held:
            raise TimeoutError("sch_fq_rr is still held by 1")

    (folder / "leaks").write_text(leaks)
    monkeypatch.setattr(torture, "Log", lambda: QuietLog(*complaints))
    monkeypatch.setattr(torture, "arena", arena)
    monkeypatch.setattr(torture, "reload_modules", reload)
    monkeypatch.setattr(torture, "LEAKS", folder / "leaks")
    monkeypatch.setattr(torture, "FAULTS", folder)
    monkeypatch.setattr(torture, "LOG_S", 0.01)
    monkeypatch.setattr(torture, "find_leaks", leaks.splitlines)
    made = torture.Torture(argparse.Namespace(name="x", seed=1, seconds=9, arenas=2, slow=1, requests=2 * wanted))
    made.round(0, 1)
    made.tell()
    return [line for line in capsys.readouterr().out.splitlines() if "ok " in line[:7]]


def test_a_sound_torture_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where all arenas say that all is well every check passes, and all that was done is counted."""
    said = verdicts(monkeypatch, capsys, tmp_path)
    assert len(said) == 7
    assert all(line.startswith("ok ") for line in said)
    assert "18 requests" in said[0]


@pytest.mark.parametrize(
    ("trouble", "failing"),
    [
        ({"wanted": 10}, "were wanted"),
        ({"answer": ({"requests": 9, "half-applied": 1}, *SOUND[1:3], ["changed"])}, "half-applied"),
        ({"status": 1}, "no other promise"),
        ({"held": True}, "modules unloaded"),
        ({"complaints": ("BUG: KASAN",)}, "nothing to report"),
        ({"leaks": "unreferenced object"}, "leaked"),
        ({"answer": (SOUND[0], [], *SOUND[2:])}, "paths"),
        ({"answer": ({"requests": 9}, *SOUND[1:])}, "allocations failed"),
    ],
)
def test_each_check_of_torture_can_fail(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    trouble: dict[str, object],
    failing: str,
) -> None:
    """Where one thing is wrong the check that is for it fails."""
    said = verdicts(monkeypatch, capsys, tmp_path, **trouble)  # type: ignore[arg-type]
    assert any(line.startswith("not ok ") and failing in line for line in said), said


@pytest.mark.parametrize(("met_in", "rounds"), [(1, 3), (3, 3), (5, 5), (99, 9)])
def test_torture_goes_on_until_all_paths_were_taken(monkeypatch: pytest.MonkeyPatch, met_in: int, rounds: int) -> None:
    """A path that the last of three rounds has not taken is waited for, for three times as many rounds at most."""
    clock = [0.0]
    done: list[float] = []
    monkeypatch.setattr(torture, "Log", QuietLog)
    monkeypatch.setattr(torture, "busy", lambda: 0.5)
    monkeypatch.setattr(torture, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    made = torture.Torture(argparse.Namespace(seed=1, seconds=60, arenas=1, slow=1, round=20, requests=1))

    def act(_: torture.Torture, number: int, seconds: float) -> None:
        assert 1 <= seconds <= 20
        clock[0] += seconds + 0.5
        done.append(seconds)
        if number + 1 >= met_in:
            made.met = set(torture.ALL_PATHS)

    monkeypatch.setattr(torture.Torture, "round", act)
    made.rounds()
    assert len(done) == rounds
