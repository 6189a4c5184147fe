# SPDX-License-Identifier: GPL-2.0
"""What the hostile suite takes for arguments, and concludes from what its guests say."""

import argparse
import struct
import subprocess
from itertools import islice
from pathlib import Path

import pytest
from conftest import TOP
from hostile import kinds, packets, tenant
from in_guest import netlink
from torture import guests

REACHED = dict.fromkeys(tenant.FLOORS, 1000000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "x"], "argument --seed: 'x' is not a number from 0 on"),
        (["--seed", "-1"], "argument --seed: '-1' is not a number from 0 on"),
        (["--seed"], "argument --seed: expected one argument"),
        (["--seconds", "0"], "argument --seconds: '0' is not a number from 1 to 600"),
        (["--seconds", "nan"], "argument --seconds: 'nan' is not a number from 1 to 600"),
        (["--seconds", "601"], "argument --seconds: '601' is not a number from 1 to 600"),
        (["--only", "races"], "argument --only: invalid choice: 'races'"),
        (["--sho"], "unrecognized arguments: --sho"),
        (["tenant"], "unrecognized arguments: tenant"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments: list[str], said: str) -> None:
    """Each is named, before a kernel is built or a guest is booted."""
    done = subprocess.run([TOP / "scripts" / "lab", "hostile", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout


def test_help_names_every_option() -> None:
    """It lists what can be asked for, and builds nothing."""
    done = subprocess.run([TOP / "scripts" / "lab", "hostile", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("--short", "--build", "--seed", "--seconds", "--only"))


@pytest.mark.parametrize(
    ("lines", "last", "status"),
    [
        (["ok 1 - a", "# not ok", "ok 1 - b"], "2 passed, 0 failed", 0),
        (["ok 1 - a", "not ok 2 - b"], "1 passed, 1 failed", 1),
        ([], "0 passed, 0 failed", 1),
    ],
)
def test_guests_are_added_up(lines: list[str], last: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """One failure is enough, and nothing at all is one."""
    assert guests.add_up(lines) == status
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_scenes_repeat_with_their_seed_and_leave_nothing_out() -> None:
    """Every kind of device and every scene comes, in an order that the seed decides."""
    first = list(islice(tenant.scenes_of(1), 100))
    assert first == list(islice(tenant.scenes_of(1), 100))
    assert first != list(islice(tenant.scenes_of(2), 100))
    assert {kind for _, kind in first} == set(kinds.KINDS)
    assert {scene for scene, _ in first} == {*tenant.SCENES, "deep"}
    assert all(hasattr(tenant.Tenant, scene) for scene, _ in first)
    assert ("mtus", "wireguard") in first[:20]


def test_a_packet_in_two_parts_is_one() -> None:
    """The parts fit together: what reassembles them has a whole packet."""
    first, second = packets.fragments(7)
    assert int.from_bytes(first[6:8]) == packets.MORE_FRAGMENTS
    assert int.from_bytes(second[6:8]) * 8 == len(first) - 20


def test_what_is_no_attribute_ends() -> None:
    """A number taken for attributes is refused, and not gone through for ever."""
    with pytest.raises(ValueError, match="an attribute of 0 bytes"):
        list(netlink.split_attributes(struct.pack("=I", 0x80000000)))


class QuietLog:
    """A kernel's log with the lines that it is given."""

    complaints: list[str]

    def read(self) -> None:
        """Nothing new."""


def verdicts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, trouble: dict[str, object]
) -> list[str]:
    """What the tenant's program says at the end."""
    (folder / "leaks").write_text("")
    log = QuietLog()
    log.complaints = list(trouble.get("complaints", []))  # type: ignore[call-overload]
    monkeypatch.setattr(tenant.checks, "Log", lambda: log)
    monkeypatch.setattr(tenant.checks, "LEAKS", folder / "leaks")
    monkeypatch.setattr(tenant.checks, "leaks", lambda: trouble.get("leaks", []))
    made = tenant.Hostility(argparse.Namespace(name="x", seed=1, seconds=100))
    monkeypatch.setattr(made, "told", lambda: {**REACHED, **trouble.get("reached", {})})  # type: ignore[dict-item]
    made.broken += trouble.get("broken", [])  # type: ignore[arg-type]
    made.reloads = int(trouble.get("reloads", 1))  # type: ignore[call-overload]
    status = made.tell()
    said = [line for line in capsys.readouterr().out.splitlines() if "ok " in line[:7]]
    assert (status == 0) == all(line.startswith("ok ") for line in said)
    return said


def test_a_sound_run_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where all was reached and nothing broke every check passes."""
    assert all(line.startswith("ok ") for line in verdicts(monkeypatch, capsys, tmp_path, {}))


@pytest.mark.parametrize(
    ("trouble", "failing"),
    [
        ({"broken": ["a process ended"]}, "no process ended"),
        ({"reloads": 0}, "modules unloaded 0 times"),
        ({"complaints": ["BUG: KASAN"]}, "nothing to report"),
        ({"leaks": ["unreferenced object"]}, "leaked"),
        ({"reached": {next(iter(REACHED)): 0}}, "were reached"),
    ],
)
def test_each_check_can_fail(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    trouble: dict[str, object],
    failing: str,
) -> None:
    """Where one thing is wrong the check that is for it fails."""
    said = verdicts(monkeypatch, capsys, tmp_path, trouble)
    assert any(line.startswith("not ok ") and failing in line for line in said), said
