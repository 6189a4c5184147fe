# SPDX-License-Identifier: GPL-2.0
"""scripts/bootstrap: what it says is missing, and what it refuses."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TOP, Installers

BOOTSTRAP = TOP / "scripts" / "bootstrap"
# What pip leaves in an environment with the lab's own packages.
PACKAGE = Path("lib/python3.11/site-packages/packet_pair_lab-1.0.dist-info")


def bootstrap(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BOOTSTRAP, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def everything_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with cache and environment that lack nothing, and a PATH on which all packages are installed."""
    cache, venv, programs = tmp_path / "cache", tmp_path / "venv", tmp_path / "programs"
    kernel = cache / "kernels" / "default"
    for folder in (kernel / "boot", kernel / "build", venv / "bin", programs):
        folder.mkdir(parents=True)
    for path in (kernel / "boot" / "vmlinuz-6.1", kernel / "build" / "Makefile", kernel / "complete"):
        path.touch()
    (venv / "bin" / "vng").touch(0o755)
    sshd = cache / "sshd" / "usr" / "sbin" / "sshd"
    sshd.parent.mkdir(parents=True)
    sshd.touch(0o755)
    (venv / PACKAGE).mkdir(parents=True)
    shutil.copy(TOP / "scripts" / "requirements.txt", venv / "requirements.installed")
    answers = {
        # but for $MISSING
        "dpkg-query": 'shift 3; for name; do [ "$name" = "$MISSING" ] || echo "$name install ok installed"; done',
        "apt-cache": 'echo "  Candidate: 1.0"',
    }
    for name, does in answers.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PKTPAIR_CACHE", str(cache))
    monkeypatch.setenv("PKTPAIR_VENV", str(venv))
    return tmp_path


def test_complete() -> None:
    """bootstrap --check finds nothing missing once bootstrap has run."""
    done = bootstrap("--check")
    assert done.returncode == 0, done.stdout
    assert "missing" not in done.stdout


def test_silent(complete: Path) -> None:
    """bootstrap says and changes nothing when all is there."""
    before = everything_in(complete)
    done = bootstrap()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert everything_in(complete) == before


@pytest.mark.parametrize("lacking", ["requirements.installed", PACKAGE])
def test_environment_without_the_packages(lacking: str | Path, complete: Path) -> None:
    """An environment in which something was not installed, such as the lab's own packages, is none."""
    path = complete / "venv" / lacking
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()
    done = bootstrap("--check")
    assert done.returncode == 1
    assert f"missing: Python environment: {complete}/venv" in done.stdout


def test_one_package_is_missing(complete: Path, installers: Installers) -> None:
    """Only what is missing is installed; where that fails, again after the lists were refreshed, and then said."""
    done = bootstrap(MISSING="shellcheck")
    install = "apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=600 shellcheck"
    calls = [call.removeprefix("env DEBIAN_FRONTEND=noninteractive ") for call in installers.calls()]
    assert calls == [install, "apt-get -q -o DPkg::Lock::Timeout=600 update", install]
    assert done.returncode == 1
    assert "could not install: shellcheck" in done.stderr


def test_two_at_once(complete: Path) -> None:
    """Of two at once the second waits, and finds what the first has installed."""
    programs, there, calls = complete / "programs", complete / "there", complete / "calls"
    (programs / "apt-get").write_text(f"#!/bin/sh\necho install >>{calls}\nsleep 0.5\ntouch {there}\n")
    (programs / "apt-get").chmod(0o755)
    query = (programs / "dpkg-query").read_text()
    (programs / "dpkg-query").write_text(query.replace("shift 3;", f"shift 3; [ ! -e {there} ] || MISSING=;"))
    environment = {**os.environ, "MISSING": "shellcheck"}
    both = [subprocess.Popen([BOOTSTRAP], stderr=subprocess.DEVNULL, env=environment) for _ in range(2)]
    assert [one.wait(timeout=60) for one in both] == [0, 0]
    assert calls.read_text() == "install\n"


def test_missing_kernel_and_environment(tmp_path: Path) -> None:
    """bootstrap --check names a missing kernel and environment, and makes neither."""
    cache, venv = tmp_path / "cache", tmp_path / "venv"
    done = bootstrap("--check", PKTPAIR_CACHE=str(cache), PKTPAIR_VENV=str(venv))
    assert done.returncode == 1
    assert f"missing: unpacked kernel: {cache}/kernels/default" in done.stdout
    assert f"missing: Python environment: {venv}" in done.stdout
    assert not cache.exists() and not venv.exists()


def test_missing_package() -> None:
    """bootstrap --check names a missing package."""
    done = bootstrap("--check", PKTPAIR_EXTRA_PACKAGES="no-such-package")
    assert done.returncode == 1
    assert "missing: Debian packages: no-such-package" in done.stdout


def test_uninstallable_package(tmp_path: Path, installers: Installers) -> None:
    """A package that no source offers is named, with the command; nothing is installed."""
    cache, venv = tmp_path / "cache", tmp_path / "venv"
    done = bootstrap(PKTPAIR_CACHE=str(cache), PKTPAIR_VENV=str(venv), PKTPAIR_EXTRA_PACKAGES="no-such-package")
    assert done.returncode == 1
    assert "cannot be installed, no apt source offers it: no-such-package" in done.stderr
    assert "nothing was changed; the command would have been: apt-get install" in done.stderr
    assert installers.calls() == ["apt-get -q -o DPkg::Lock::Timeout=600 update"]
    assert set(everything_in(tmp_path)) == {"cache", "cache/bootstrap.lock", "cache/bootstrap.log"}


def test_no_space() -> None:
    """A cache without room is refused with need and supply, before anything is downloaded."""
    script = (
        "mount -t tmpfs -o size=20m none /mnt &&"
        f" {{ PKTPAIR_CACHE=/mnt/cache {BOOTSTRAP}; echo status $?; ls -A /mnt; }}"
    )
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script], capture_output=True, text=True, check=False)
    if "status" not in done.stdout:
        pytest.skip("no user namespaces here")
    assert done.stdout.split() == ["status", "1"]
    assert "no room for the default kernel: 600 MiB needed in /mnt/cache, 20 MiB free" in done.stderr


def test_without_sudo(tmp_path: Path, installers: Installers) -> None:
    """Without root and sudo the command to run is named."""
    for path in [*installers.folder.iterdir(), *Path("/usr/bin").iterdir(), *Path("/usr/sbin").iterdir()]:
        if path.name not in ("sudo", "id") and not (tmp_path / path.name).is_symlink():
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    done = bootstrap(
        PATH=str(tmp_path), PKTPAIR_CACHE=str(tmp_path / "cache"), PKTPAIR_EXTRA_PACKAGES="no-such-package"
    )
    assert done.returncode == 1
    assert "no sudo here: run this as root, then start again: apt-get install" in done.stderr


@pytest.mark.parametrize("what", ["distribution", "architecture"])
def test_unsupported(what: str, tmp_path: Path) -> None:
    """An unsupported system is told what to install by hand."""
    release = tmp_path / "os-release"
    release.write_text('ID=fedora\nPRETTY_NAME="Fedora Linux 42"\n')
    if what == "distribution":
        done = bootstrap(PKTPAIR_OS_RELEASE=str(release))
        assert "unsupported: Fedora Linux 42" in done.stderr
    else:
        done = bootstrap(PKTPAIR_ARCH="arm64")
        assert "(arm64)" in done.stderr
    assert done.returncode == 1
    assert "only Debian 12 (bookworm) on amd64" in done.stderr
    for needed in ("qemu-system-x86", "mininet", "iperf3"):
        assert needed in done.stderr


def test_unknown_argument() -> None:
    """An unknown argument is named, with the known ones."""
    done = bootstrap("--chekc")
    assert done.returncode == 1
    assert "unknown argument: --chekc (known: --browser, --check" in done.stderr


def test_names_no_mirror() -> None:
    """bootstrap names no mirror: the machine's own are used."""
    words = BOOTSTRAP.read_text() + (TOP / "scripts" / "requirements.txt").read_text()
    assert "://" not in words


def test_shellcheck() -> None:
    """bootstrap and the test runner are clean shell."""
    done = subprocess.run(
        [shutil.which("shellcheck") or "shellcheck", BOOTSTRAP, TOP / "mininet-tests" / "tests" / "run"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
