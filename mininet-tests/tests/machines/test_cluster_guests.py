# SPDX-License-Identifier: GPL-2.0
"""lab sweep --on with guests: what two workers find is what this machine finds."""

import json
import os
import subprocess

import pytest
from conftest import LAB, lab, raws
from dask_processes import Processes, wait_for

WORDS = ("sweep", "smoke", "--set", "seconds=2", "--cc", "pktpair", "--qdisc", "fq_rr", "--seeds", "1-3")


@pytest.fixture
def processes(tmp_path_factory):
    found = Processes(tmp_path_factory.mktemp("on"))
    yield found
    found.close()


def test_a_worker_is_killed_and_the_study_is_the_local_one(processes) -> None:
    """Tables and raw results, to the last digit; what the killed worker did is said."""
    _, address = processes.scheduler()
    processes.worker(address, "a")
    killed = processes.worker(address, "b")
    out, local, said = (processes.folder / name for name in ("study", "local", "said"))
    file = processes.folder / "mine.toml"
    file.write_text(f'kind = "scheduler"\naddress = "{address}"\nstore = "$STORE"\n')
    with said.open("w") as log:
        sweep = subprocess.Popen([LAB, *WORDS, "--on", file, "--out", out], stdout=log, stderr=log, env=os.environ)
    # it has begun a guest
    wait_for("guest on b", lambda: list((processes.folder / "store-b" / "parcels").glob("[0-9a-f]*/machines/*")))
    processes.kill(killed)
    assert sweep.wait() == 0, said.read_text()
    (retried,) = json.loads((out / "manifest.json").read_text())["sweeps"][-1]["cluster"]["retried"]
    assert retried["workers"] == ["b"] and "3 run, 0 there before, 0 failed" in said.read_text()
    assert lab(*WORDS, "-j", "1", "--out", local).returncode == 0
    assert raws(out) == raws(local) and len(raws(out)) == 3
    assert (out / "table.csv").read_bytes() == (local / "table.csv").read_bytes()
