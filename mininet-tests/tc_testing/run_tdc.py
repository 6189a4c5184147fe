# SPDX-License-Identifier: GPL-2.0
"""The kernel's test driver of tc on some cases: ``SUITE CASES``, in the guest.

SUITE is a tools/testing/selftests/tc-testing, where Python finds tdc, CASES a JSON file as tdc takes.  For each
case prints ``case ID``, and after it ``ok ID`` or ``not ok ID`` with remarks.  Each is a
run of tdc of its own, so that one that goes wrong takes no other with it; and the
kernel's log is read after each.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lab.guest.agent import KernelLog
from torture.complaints import is_complaint

# Of one command; some sleep for five minutes.
TIMEOUT_S = 600
# What 6.1 says of any child with a shaper, once.
EXPECTED = re.compile(r"non-workconserving leaf")
WITH_EXPECTED = re.compile(r"cut here|WARNING: .* qfq_dequeue\+")


def preload() -> Any:
    """The driver, as a module, with what it and its plugins import."""
    # the agent's interpreter does without site, which makes it
    builtins.exit = sys.exit  # type: ignore[assignment]
    importlib.import_module("scapy.all")
    # without either the driver would go on before a namespace is there
    for name in ("IPRoute", "netns"):
        getattr(importlib.import_module("pyroute2"), name)
    return importlib.import_module("tdc")


def local_settings() -> str:
    """The suite's tdc_config_local.py: its commands find our plugin."""
    environment = {name: os.environ[name] for name in ("PATH", "TC_LIB_DIR")}
    names = {"TC": shutil.which("tc"), "IP": shutil.which("ip"), "TIMEOUT": TIMEOUT_S}
    return f"ENVIR = {environment!r}\nEXTRA_NAMES = {names!r}\n"


def switch_ipv6_off() -> None:
    """In the namespaces to come: its own packets would be counted."""
    network = Path("/proc/sys/net")
    for family in ("all", "default"):
        (network / "ipv6" / "conf" / family / "disable_ipv6").write_text("1")
    # what the first namespace has set, others begin with
    (network / "core" / "devconf_inherit_init_net").write_text("1")


def run_tdc(driver: Any, one: dict[str, Any], folder: Path) -> tuple[str, str]:
    """One case in a process of its own; its TAP, empty if there is none, and all that was said."""
    case, results, said = (folder / name for name in ("case.json", "results.tap", "said"))
    case.write_text(json.dumps([one]))
    results.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        with said.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        sys.argv = ["tdc.py", "--outfile", str(results), "-f", str(case)]
        try:
            driver.main()
        except SystemExit:
            pass
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    return results.read_text() if results.exists() else "", said.read_text(errors="replace")


def complaints(lines: Iterable[str]) -> list[str]:
    """Of the kernel's log, what is no mere remark."""
    found = list(lines)
    if any(EXPECTED.search(line) for line in found):
        found = [line for line in found if not WITH_EXPECTED.search(line)]
    return [f"kernel says: {line}" for line in found if is_complaint(line)]


def main() -> int:
    """Status 0 when every case has been run, whatever came out."""
    suite, cases = (Path(word) for word in sys.argv[1:])
    switch_ipv6_off()
    (suite / "tdc_config_local.py").write_text(local_settings())
    (suite / "plugins").mkdir(exist_ok=True)
    os.chdir(suite)
    driver = preload()
    log = KernelLog()
    log.warnings()
    for one in json.loads(cases.read_text()):
        print(f"case {one['id']}", flush=True)
        tap, said = run_tdc(driver, one, cases.parent)
        wrong = complaints(log.warnings())
        good = not wrong and re.search(r"^ok 1 ", tap, re.MULTILINE) and "# skipped" not in tap
        print(f"{'ok' if good else 'not ok'} {one['id']}", flush=True)
        if not good:
            remarks = [*wrong, *tap.splitlines(), *said.splitlines()[-40:]]
            print("\n".join(f"# {line}" for line in remarks if line.strip()), flush=True)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
