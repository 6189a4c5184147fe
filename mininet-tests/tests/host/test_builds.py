# SPDX-License-Identifier: GPL-2.0
"""Builds of the modules: the checkout's, a folder's, or a revision's, which is built."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import TOP
from lab.machines import engine
from lab.model.errors import PlanError

RELEASE = "6.1-lab"
# What builds the modules in the fake checkout: it knows no more than old revisions' did.
# With a file "slow" beside the headers it takes a while once.
BUILD = f"""#!/bin/sh
[ "$1" = --kdir ] && [ -d "$2" ] && [ $# = 2 ] || {{ echo "build-modules: $*" >&2; exit 1; }}
mkdir -p build/{RELEASE}/kmod
if [ -e "$2/slow" ]; then
	echo half >build/{RELEASE}/kmod/tcp_pktpair.ko
	mv "$2/slow" "$2/begun"
	sleep 1
	echo late >build/{RELEASE}/kmod/tcp_pktpair.ko
	exit 1
fi
cp module.c build/{RELEASE}/kmod/tcp_pktpair.ko
"""
BUILDS = """
import signal, sys
from pathlib import Path
from lab.machines import engine
signal.signal(signal.SIGINT, signal.default_int_handler)
engine.TOP, engine.CACHE, engine.BUILDS = map(Path, sys.argv[1:4])
engine.modules_of(sys.argv[4], "HEAD")
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    """A repository with two revisions of a module, and an empty cache with a kernel's headers."""
    top = tmp_path / "checkout"
    (top / "scripts").mkdir(parents=True)
    (top / "scripts" / "build-modules").write_text(BUILD)
    (top / "scripts" / "build-modules").chmod(0o755)
    words = ["git", "-C", top, "-c", "user.name=lab", "-c", "user.email=lab@example.org"]
    subprocess.run([*words, "init", "--quiet"], check=True)
    for text in ("old", "new"):
        (top / "module.c").write_text(text)
        subprocess.run([*words, "add", "."], check=True)
        subprocess.run([*words, "commit", "--quiet", "-m", text], check=True)
    cache = tmp_path / "cache"
    (cache / "kernels" / RELEASE / "build").mkdir(parents=True)
    monkeypatch.setattr(engine, "TOP", top)
    monkeypatch.setattr(engine, "CACHE", cache)
    monkeypatch.setattr(engine, "BUILDS", cache / "builds")
    engine._revision.cache_clear()
    yield top
    engine._revision.cache_clear()


def built(build: str) -> list[str]:
    return [path.read_text() for path in engine.modules_of(RELEASE, build)]


def test_revisions(checkout) -> None:
    """Each revision's modules are built from its own sources, once, apart from the checkout"""
    (checkout / "module.c").write_text("changed, and not committed")
    assert (built("HEAD~1"), built("HEAD")) == (["old"], ["new"])
    assert built("") == []
    (path,) = engine.modules_of(RELEASE, "HEAD~1")
    path.write_text("built before")
    assert built("HEAD~1") == ["built before"]


def test_a_folder(checkout, tmp_path) -> None:
    """A folder's modules are taken as they are, from it or from its build of the kernel"""
    folder = tmp_path / "elsewhere"
    (folder / "build" / RELEASE / "kmod").mkdir(parents=True)
    (folder / "tcp_pktpair.ko").write_text("beside")
    assert built(str(folder)) == ["beside"]
    (folder / "build" / RELEASE / "kmod" / "tcp_pktpair.ko").write_text("inside")
    assert built(str(folder)) == ["inside"]
    with pytest.raises(
        PlanError,
        match="none of tcp_pktpair.ko, tcp_vptfrc.ko, sch_fq_rr.ko, sch_lossy.ko, tcp_fixed_window.ko, tcp_thesis.ko,"
        " sch_thesis.ko",
    ):
        engine.modules_of("6.2", str(tmp_path))


def test_a_revision_that_does_not_build(checkout) -> None:
    """A revision that does not build is named with what was said, and is built anew the next time"""
    (checkout / "scripts" / "build-modules").write_text("#!/bin/sh\necho 'module.c:1: error' >&2; exit 1\n")
    subprocess.run(
        ["git", "-C", checkout, "-c", "user.name=lab", "-c", "user.email=lab@example.org", "commit", "-aqm", "broken"],
        check=True,
    )
    for _ in range(2):
        with pytest.raises(PlanError, match=r"revision [0-9a-f]{40}: scripts/build-modules .*module.c:1: error"):
            built("HEAD")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_was_interrupted(checkout, by) -> None:
    """It is made anew, once what goes on building without its command has ended."""
    headers = engine.CACHE / "kernels" / RELEASE / "build"
    (headers / "slow").touch()
    words = [sys.executable, "-c", BUILDS, checkout, engine.CACHE, engine.BUILDS, RELEASE]
    environment = {**os.environ, "PYTHONPATH": str(TOP / "mininet-tests")}
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as builds:
        while not (headers / "begun").exists():
            time.sleep(0.01)
        builds.send_signal(by)
    assert builds.returncode != 0
    for _ in range(2):
        assert built("HEAD") == ["new"]
        time.sleep(1.2)


def test_no_revision(checkout) -> None:
    """What is neither a folder nor a revision is refused"""
    with pytest.raises(PlanError, match="--modules nowhere: neither a folder nor a revision"):
        engine.modules_of(RELEASE, "nowhere")
