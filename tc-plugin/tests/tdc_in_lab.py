#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The kernel's test driver of tc on our cases: ``tdc_in_lab.py SUITE``, in the lab.

SUITE is a tools/testing/selftests/tc-testing.  Prints TAP and, as the last line, how
many have passed and failed; what the driver skips because something before it went
wrong has failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tdc_cases

RESULT = re.compile(r"(not )?ok \d+ ")
# Of one command, in the guest's time, which jumps while the host reads a file for it.
TIMEOUT_S = 3600


def local_settings() -> str:
    """The suite's tdc_config_local.py: its commands find our plugin."""
    environment = {name: os.environ[name] for name in ("PATH", "TC_LIB_DIR")}
    names = {"TC": shutil.which("tc"), "IP": shutil.which("ip"), "TIMEOUT": TIMEOUT_S}
    return f"ENVIR = {environment!r}\nEXTRA_NAMES = {names!r}\n"


def switch_ipv6_off() -> None:
    """In the namespaces to come: its own packets, sent when the clock jumps, would be counted."""
    network = Path("/proc/sys/net")
    for family in ("all", "default"):
        (network / "ipv6" / "conf" / family / "disable_ipv6").write_text("1")
    # what the first namespace has set, others begin with
    (network / "core" / "devconf_inherit_init_net").write_text("1")


def run_suite(suite: Path, results: Path) -> subprocess.CompletedProcess[str]:
    """All our cases, in one run of the driver."""
    (suite / "tdc_config_local.py").write_text(local_settings())
    (suite / "plugins").mkdir(exist_ok=True)
    cases = suite / "our-cases"
    cases.mkdir()
    files = [str(path) for path in tdc_cases.write(cases, suite)]
    return subprocess.run(
        [sys.executable, "tdc.py", "--outfile", str(results), "-f", *files],
        cwd=suite,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def main() -> int:
    """Status 0 if there were cases, and all have passed."""
    if len(sys.argv) != 2 or not Path(sys.argv[1], "tdc.py").exists():
        print("tdc_in_lab.py SUITE: a folder with tdc.py", file=sys.stderr)
        return 2
    switch_ipv6_off()
    with tempfile.TemporaryDirectory() as folder:
        # the driver writes beside its own files, and those of the host are not ours
        suite, results = Path(folder, "suite"), Path(folder, "results.tap")
        shutil.copytree(sys.argv[1], suite)
        done = run_suite(suite, results)
        tap = results.read_text() if results.exists() else ""
    if not tap:
        print(done.stdout)
        print("0 passed, 1 failed")
        return 1
    passed = failed = 0
    for line in tap.splitlines():
        found = RESULT.match(line)
        good = bool(found) and not found[1] and "# skipped" not in line
        passed += good
        failed += bool(found) and not good
        print(line.replace("ok ", "not ok ", 1) if found and not found[1] and not good else line)
    if failed:
        print("\n".join(f"# {line}" for line in done.stdout.splitlines()[-60:]))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
