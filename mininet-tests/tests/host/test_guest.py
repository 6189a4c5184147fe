# SPDX-License-Identifier: GPL-2.0
"""What the agent does, without a guest."""

import io
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import lab
from lab.guest import agent, protocol
from lab.machines import image
from lab.machines.guest import Guest

# How a program outlives the command that starts it, and how many processes that makes.
DETACHED = {
    "in the background": ("sleep $0 &", 1),
    "in a session of its own": ("setsid sleep $0 &", 1),
    "deaf to SIGHUP": ("nohup sleep $0 >/dev/null 2>&1 &", 1),
    "forked twice": ("(setsid sh -c 'sleep $0 & sleep $0; true' $0 &)", 3),
}
# Starts such a program beside one that is to stay; prints how many there are before and after.
LEFTOVERS = """
import subprocess, sys, time
from lab.guest import leftovers

seconds, line, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

def running():
    done = subprocess.run(["pgrep", "--count", "--full", f"^(sleep|sh -c .*) {seconds}$"], stdout=subprocess.PIPE)
    return int(done.stdout)

leftovers.adopt()
kept = subprocess.Popen(["sleep", seconds])
subprocess.run(["sh", "-c", line, seconds], check=True)
while running() < 1 + count:
    time.sleep(0.01)
leftovers.end({kept.pid})
assert kept.poll() is None
print(running())
leftovers.end()
print(running())
"""
# Four plans whose runs end as their words say, in a boot whose network and runs are not real.
BOOT = """
import json, os, subprocess, sys, types
from pathlib import Path
from lab.guest import leftovers, run
from lab.model.errors import PlanError

class Network:
    def __init__(self, topology, ipv6, folder):
        said.append("built")
    def processes(self):
        return set()
    def close(self):
        said.append("closed")
        raise OSError("a node is gone")

class Tracer:
    def __init__(self, acks):
        pass
    def off(self):
        said.append("untraced")

class Log:
    lines = []
    def warnings(self):
        return []

def run_one(network, tracer, plan, job, times):
    said.append(plan.word)
    subprocess.run(["sh", "-c", "setsid sleep 30 &"], check=True)
    if plan.word == "refused":
        raise PlanError("a limit: 3")
    if plan.word == "unforeseen":
        return {}["nothing"]
    return {"figure": 1}

said = []
run.Network, run.Tracer, run.run_one, run.WORK = Network, Tracer, run_one, Path(sys.argv[1])
run.Plan.of = lambda word: types.SimpleNamespace(word=word, structure=[], topology=None, ipv6=False)
plans = ["sound", "refused", "unforeseen", "last", "again"]
port = os.open(sys.argv[2], os.O_WRONLY)
status = run.run_all(port, {"plans": plans, "times": [{}] * len(plans), "ack_probe": None}, Log())
assert not leftovers.children()
print(json.dumps([status, said]))
"""


def inside(code: str, *words: str) -> str:
    """What a program prints that is started as the agent is."""
    program = [*image.agent_program(code, str(image.PACKAGES)), *words]
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, env={**os.environ, **image.AGENT_ENVIRONMENT}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def frames(path: Path) -> list[tuple[bytes, bytes]]:
    """What was sent to a file."""
    data, found = io.BytesIO(path.read_bytes()), []
    while data.tell() < len(data.getbuffer()):
        found.append(protocol.receive(data.read))
    return found


def test_the_standard_library_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's imports look into no other folder before, and Mininet is not among them"""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    code = "import json, lab.guest.agent; print(json.dumps([sys.path, 'mininet' in sys.modules]))"
    path, has_mininet = json.loads(inside(code))
    assert path[-2:] == [str(image.PACKAGES), image.DISTRIBUTION]
    assert len(path) > 2 and all(folder.startswith("/usr/lib/python3") for folder in path[:-2])
    assert not has_mininet


@pytest.mark.parametrize("way", DETACHED)
def test_nothing_outlives_a_run(way: str) -> None:
    """However a program has detached itself; what is to stay does"""
    line, count = DETACHED[way]
    seconds = f"30.{os.getpid()}{list(DETACHED).index(way)}"
    assert inside(LEFTOVERS, seconds, line, str(count)).split() == ["1", "0"]


def test_a_run_that_fails_is_its_own_failure(tmp_path: Path) -> None:
    """Whatever the failure is, the next run begins, with a network of its own, and without the processes before"""
    port = tmp_path / "port"
    port.touch()
    status, said = json.loads(inside(BOOT, str(tmp_path / "work"), str(port)))
    assert status == 1
    failed = ["untraced", "closed"]
    assert said == [
        *("built", "sound", "refused", *failed),
        *("built", "unforeseen", *failed),
        *("built", "last", "again", "closed"),
    ]
    told = [(kind, json.loads(payload)) for kind, payload in frames(port)]
    assert [message["begin"] for kind, message in told if kind == protocol.PROGRESS] == [0, 1, 2, 3, 4]
    results: list[dict[str, Any]] = [message for kind, message in told if kind == protocol.RESULT]
    assert [one["index"] for one in results] == [0, 1, 2, 3, 4]
    errors = [one["error"] for one in results]
    assert errors[2].startswith("KeyError: 'nothing' (<string>, line ")
    assert [*errors[:2], *errors[3:]] == [None, "a limit: 3", None, None]
    assert results[0]["figure"] == 1


def test_a_background_command_is_not_waited_for(tmp_path: Path) -> None:
    """All that a command itself has said is passed on, and its status"""
    said = tmp_path / "said"
    job = {"command": ["sh", "-c", "head -c 200000 /dev/zero; sleep 60 & echo $! >&2; exit 3"], "cwd": "/", "top": "/"}
    with said.open("wb") as port:
        assert agent.run_command(port.fileno(), job) == 3
    out, err = (
        b"".join(payload for kind, payload in frames(said) if kind == wanted)
        for wanted in (protocol.STDOUT, protocol.STDERR)
    )
    # it is still there
    os.kill(int(err), signal.SIGKILL)
    assert out == bytes(200000)


def test_two_threads_may_end_a_guest() -> None:
    """One sees that it has ended, the other ends it."""
    for _ in range(20):
        guest = Guest("x", "real", [])
        guest._spawn(["sleep", "60"])
        process = guest._process
        assert process is not None

        def closes(guest: Guest = guest, process: subprocess.Popen[bytes] = process) -> None:
            process.wait()
            guest.close()

        worker = threading.Thread(target=closes)
        worker.start()
        guest.kill()
        worker.join()


def test_an_ended_guest_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does what is said of it later make one; a command that is refused has none"""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Guest("x", "real") as guest:
        guest._spawn(["echo", "last words"])
        assert guest._process is not None
        guest._process.wait()
        assert guest._failure("over").split()[-2:] == ["last", "words"]
    assert guest._failure("over") == "over"
    done = lab("exec", "--clock", "real", "--", "true", TMPDIR=str(tmp_path), PKTPAIR_KVM=str(tmp_path / "kvm"))
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())
