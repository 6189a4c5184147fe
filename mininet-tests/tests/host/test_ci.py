# SPDX-License-Identifier: GPL-2.0
"""What .ci/run and scripts/test make of their stages: one count, and no failure without a number."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TOP

# What a stage says, and the status it ends with
GOOD = ("ok 1 - a\\n5 passed, 0 failed", 0)
SKIPPED = ("5 passed, 0 failed, 2 skipped", 0)
BAD = ("not ok 1 - a\\n4 passed, 1 failed", 2)
DEAD = ("make: out of memory", 2)
UNCOUNTED = ("5 passed, 0 failed", 2)
EMPTY = ("0 passed, 0 failed", 0)
INSIDE = ("1 passed, 0 failed\\n5 passed, 0 failed", 0)


def program(path: Path, does: str) -> Path:
    """A shell program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def path_with(folder: Path) -> dict[str, str]:
    """An environment in which the folder's programs come first."""
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def waiting_for(seen: Path) -> str:
    """Goes on when a file is there; one who shows nothing before the end never makes it, and gets a failure."""
    give_up = "echo 'not ok 9 - nobody has seen anything'; echo 0 passed, 1 failed; exit 1"
    return f"n=0; until [ -e {seen} ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 300 ] || {{ {give_up}; }}; done"


def result_lines(text: str) -> list[str]:
    """Lines that whoever looks for a result would take for one."""
    return [line for line in text.splitlines() if re.match(r"\d+ passed, ", line)]


@pytest.mark.parametrize(
    ("said", "last", "status"),
    [
        ((GOOD, GOOD, GOOD), "15 passed, 0 failed", 0),
        ((SKIPPED, GOOD, GOOD), "15 passed, 0 failed, 2 skipped", 0),
        ((SKIPPED, SKIPPED, SKIPPED), "15 passed, 0 failed, 6 skipped", 0),
        ((BAD, GOOD, GOOD), "14 passed, 1 failed", 1),
        ((GOOD, BAD, GOOD), "14 passed, 1 failed", 1),
        ((GOOD, GOOD, BAD), "14 passed, 1 failed", 1),
        ((GOOD, DEAD, GOOD), "10 passed, 1 failed", 1),
        ((GOOD, GOOD, DEAD), "10 passed, 1 failed", 1),
        ((DEAD, GOOD, GOOD), "10 passed, 1 failed", 1),
        ((GOOD, UNCOUNTED, GOOD), "15 passed, 1 failed", 1),
        ((GOOD, GOOD, UNCOUNTED), "15 passed, 1 failed", 1),
        ((EMPTY, GOOD, GOOD), "10 passed, 1 failed", 1),
        ((INSIDE, GOOD, GOOD), "15 passed, 0 failed", 0),
    ],
)
def test_ci_counts_all_stages(
    tmp_path: Path, said: tuple[tuple[str, int], tuple[str, int], tuple[str, int]], last: str, status: int
) -> None:
    """A make in the place of the real one says what each stage came to; one line counts them."""
    answers = dict(zip(("test", "torture-short", "hostile-short"), said, strict=True))
    cases = "\n".join(f"*' {name}') printf '{text}\\n'; exit {end} ;;" for name, (text, end) in answers.items())
    program(tmp_path / "make", f'case " $*" in\n{cases}\nesac\nexit 99')
    done = subprocess.run([TOP / ".ci" / "run"], env=path_with(tmp_path), capture_output=True, text=True)
    assert result_lines(done.stdout) == [last], done.stdout + done.stderr
    assert (done.stdout.splitlines()[-1], done.returncode) == (last, status), done.stdout + done.stderr
    for name, (text, _) in answers.items():
        assert all(line in done.stdout for line in text.split("\\n"))
        assert re.search(rf"^== make {name} took \d+ s$", done.stdout, re.MULTILINE)


def test_ci_begins_nothing_that_it_could_not_end(tmp_path: Path) -> None:
    """What comes after the tests is skipped and counted where too much time is gone."""
    program(tmp_path / "make", "case \" $*\" in *' test') echo 5 passed, 0 failed ;; *) exit 99 ;; esac")
    late = {**path_with(tmp_path), "CI_ENDS_S": "0"}
    done = subprocess.run([TOP / ".ci" / "run"], env=late, capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.returncode) == ("5 passed, 0 failed, 2 skipped", 0)
    for name in ("torture-short", "hostile-short"):
        assert re.search(rf"^== make {name}: skipped, \d+ s are gone of 0, and it takes \d+ s$", done.stdout, re.M)


@pytest.mark.parametrize(("built", "last"), [(True, "15 passed, 0 failed"), (False, "5 passed, 0 failed, 2 skipped")])
def test_ci_allows_for_a_kernel_that_is_still_to_be_built(tmp_path: Path, built: bool, last: str) -> None:
    """Where there is time for a stage and not for its kernel, the stage is begun only if the kernel is there."""
    program(tmp_path / "make", "echo 5 passed, 0 failed")
    if built:
        kernel = tmp_path / "torture" / "build-checkers" / "complete"
        kernel.parent.mkdir(parents=True)
        kernel.touch()
    soon = {**path_with(tmp_path), "CI_ENDS_S": "1200", "PKTPAIR_CACHE": str(tmp_path)}
    done = subprocess.run([TOP / ".ci" / "run"], env=soon, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == last


def test_ci_shows_failures_again_at_its_end(tmp_path: Path) -> None:
    """Whoever keeps only the end of what CI says learns which test failed."""
    said = {
        "test": "lint: not ok 1 - shown by the stage\\nfailed: lint: not ok 1 - a\\n4 passed, 1 failed",
        "torture-short": "not ok 2 - b\\n3 passed, 1 failed",
        "hostile-short": "dead",
    }
    cases = "\n".join(f"*' {name}') printf '{text}\\n'; exit 1 ;;" for name, text in said.items())
    program(tmp_path / "make", f'case " $*" in\n{cases}\nesac')
    done = subprocess.run([TOP / ".ci" / "run"], env=path_with(tmp_path), capture_output=True, text=True)
    assert done.stdout.splitlines()[-4:] == [
        "test: failed: lint: not ok 1 - a",
        "torture-short: not ok 2 - b",
        "not ok - make hostile-short ended with status 1 and no count",
        "7 passed, 3 failed",
    ], done.stdout + done.stderr


def test_ci_shows_what_comes(tmp_path: Path) -> None:
    """What a stage says is shown before the stage ends."""
    seen = tmp_path / "seen"
    program(tmp_path / "make", f"echo ok 1 - a; {waiting_for(seen)}; echo 1 passed, 0 failed")
    with subprocess.Popen([TOP / ".ci" / "run"], env=path_with(tmp_path), stdout=subprocess.PIPE, text=True) as ci:
        assert ci.stdout is not None
        assert [ci.stdout.readline() for _ in range(2)] == ["== make test\n", "ok 1 - a\n"]
        seen.touch()
        assert ci.stdout.read().endswith("\n3 passed, 0 failed\n")


# The stages of scripts/test by the programs that they call: some print TAP, for prove ...
TAP = {
    "lint": ("scripts/lint", "# why not\nnot ok 1 - a\nok 2 - b\n# of a test that passes\nok 3 - c\n1..3"),
    "make": ("scripts/tests/make-targets", "ok 1 - a # SKIP no root\nok 2 - b\n1..2"),
    "qdisc": ("tc-plugin/tests/roundtrip.py", "1..1\nok 1 - a"),
    "kmod": ("kmod/tests/in_lab_a.py", "1..1\nok 1 - a"),
}
# ... and some count by themselves
COUNTED = {
    "unit": ("scripts/unit", "a: 1 passed, 0 failed, 0 skipped, 0 s\n2 passed, 0 failed"),
    "unit-32bit": ("scripts/unit-32bit", "1 passed, 0 failed"),
}
PYTEST = """\
a.py::test_a PASSED                    [ 20%]
a.py::test_b FAILED                    [ 40%]
a.py::test_c[not ok - a] PASSED        [ 60%]
a.py::test_c ERROR                     [ 60%]
a.py::test_d SKIPPED (no root)         [ 80%]
E   because
E   5 passed, 0 failed
"""
STAGES = "unit unit-32bit lint make host qdisc kmod machines lab"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """scripts/test with other programs around it."""
    (tmp_path / "scripts" / "tests").mkdir(parents=True)
    for name in ("test", "tests/count", "tests/Counting.pm"):
        shutil.copy(TOP / "scripts" / name, tmp_path / "scripts" / name)
    for path, said in (TAP | COUNTED).values():
        program(tmp_path / path, f"cat <<'E'\n{said}\nE")
    program(tmp_path / "qdisc" / "tests" / "in_lab_b.py", "echo ok 1 - b; echo 1..1")
    program(tmp_path / "scripts" / "lab", '[ "$1 $2" = "exec --" ] && shift 2 && exec "$@"')
    summary = "=== 1 failed, 2 passed, 1 skipped, 3 warnings, 1 error in 0.10s ==="
    lab = "echo '=== 1 passed in 400.00s (0:06:40) ==='"
    program(
        tmp_path / "mininet-tests/tests/run", f"[ $1 = host ] || exec {lab}\ncat <<'E'\n{PYTEST}{summary}\nE\nexit 1"
    )
    return tmp_path


def run_tests(checkout: Path, *stages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / "scripts" / "test", *stages], capture_output=True, text=True, check=False)


def test_all_stages(checkout: Path) -> None:
    """Failures with what explains them, skipped tests, each stage's count and time, and one count in all."""
    done = run_tests(checkout)
    lines = done.stdout.splitlines()
    assert lines[-1] == "13 passed, 3 failed, 2 skipped", done.stdout + done.stderr
    assert result_lines(done.stdout) == lines[-1:]
    assert done.returncode == 1
    lint = [line.removeprefix("lint: scripts/lint: ") for line in lines if line.startswith("lint: scripts/lint: ")]
    assert lint[:-1] == ["# why not", "not ok 1 - a"]
    assert re.fullmatch(r"2 passed, 1 failed, 0 skipped, \d+ s", lint[-1])
    assert "make: scripts/tests/make-targets: ok 1 - a # SKIP no root" in lines
    shown = [line for line in PYTEST.splitlines() if " PASSED " not in line]
    assert [line for line in lines if line.startswith("host: ")][1 : 1 + len(shown)] == [
        f"host: {line}" for line in shown
    ]
    counts = {"unit": (2, 0, 0), "lint": (2, 1, 0), "make": (1, 0, 1), "host": (2, 2, 1), "qdisc": (2, 0, 0)}
    assert [line for line in lines[-8:] if line.startswith("failed: ")] == [
        "failed: lint: scripts/lint: not ok 1 - a",
        "failed: host: a.py::test_b FAILED                    [ 40%]",
        "failed: host: a.py::test_c ERROR                     [ 60%]",
    ]
    for name, (good, bad, skipped) in counts.items():
        expected = rf"{name}: {good} passed, {bad} failed, {skipped} skipped, \d+ s"
        assert any(re.fullmatch(expected, line) for line in lines), name


@pytest.mark.parametrize(
    ("does", "last"),
    [
        ("echo ok 1 - a; echo 1..1; exit 3", "1 passed, 1 failed"),
        ("echo ok 1 - a; echo 1..2", "1 passed, 1 failed"),
        ("echo ok 1 - a", "1 passed, 1 failed"),
        ("echo nothing", "0 passed, 1 failed"),
        ("echo 1..0", "0 passed, 1 failed"),
        ("kill -9 $$", "0 passed, 1 failed"),
        ("echo not ok 1 - a; exit 1", "0 passed, 1 failed"),
    ],
)
def test_a_program_that_dies(checkout: Path, does: str, last: str) -> None:
    """One that ends with a status and no failure, tests nothing, or not what it planned, has failed."""
    program(checkout / "scripts" / "lint", does)
    done = run_tests(checkout, "lint")
    assert (done.stdout.splitlines()[-1], done.returncode) == (last, 1), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("does", "last"),
    [
        ("echo 5 passed, 0 failed; exit 3", "5 passed, 1 failed"),
        ("echo a: 5 passed, 0 failed, 0 skipped, 3 s", "0 passed, 1 failed"),
        ("echo 0 passed, 0 failed", "0 passed, 1 failed"),
        ("echo === no tests ran in 0.01s ===; exit 5", "0 passed, 1 failed"),
        ("echo === 1 error in 0.01s ===; exit 2", "0 passed, 1 failed"),
        ("echo === 3 passed in 0.01s ===; echo Segmentation fault; exit 139", "0 passed, 1 failed"),
        ("kill -9 $$", "0 passed, 1 failed"),
    ],
)
def test_a_stage_that_dies(checkout: Path, does: str, last: str) -> None:
    """A stage that ends with a status and no failure, that tests nothing or does not count, has failed."""
    program(checkout / "scripts" / "unit", does)
    done = run_tests(checkout, "unit")
    assert (done.stdout.splitlines()[-1], done.returncode) == (last, 1), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("stage", "path", "line", "shown"),
    [
        ("lint", "scripts/lint", "not ok 1 - a", "lint: scripts/lint: not ok 1 - a\n"),
        ("host", "mininet-tests/tests/run", "'a.py::test_b FAILED'", "host: a.py::test_b FAILED\n"),
    ],
)
def test_a_failure_is_shown_at_once(checkout: Path, stage: str, path: str, line: str, shown: str) -> None:
    """A test that fails is shown before its stage ends."""
    seen = checkout / "seen"
    program(checkout / path, f"echo {line}; {waiting_for(seen)}; echo === 1 failed in 1.00s ===")
    with subprocess.Popen([checkout / "scripts" / "test", stage], stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        assert [tests.stdout.readline() for _ in range(2)] == [f"{stage}: ...\n", shown]
        seen.touch()
        assert tests.stdout.read().endswith("\n0 passed, 1 failed\n")


def test_an_unknown_stage(checkout: Path) -> None:
    """An unknown stage is named, with those that there are."""
    done = run_tests(checkout, "modules")
    assert done.returncode == 2
    assert f"no stage modules; there are: {STAGES}" in done.stderr
