# SPDX-License-Identifier: GPL-2.0
"""What the agent does, without a guest."""

import json
import os
import subprocess

import pytest
from lab.machines import image


def inside(code: str, *words: str) -> str:
    """What a program prints that is started as the agent is."""
    program = [*image.agent_program(code, str(image.PACKAGES)), *words]
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, env={**os.environ, **image.AGENT_ENVIRONMENT}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_standard_library_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's imports look into no other folder before, and Mininet is not among them"""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    code = "import json, lab.guest.agent; print(json.dumps([sys.path, 'mininet' in sys.modules]))"
    path, has_mininet = json.loads(inside(code))
    assert path[-2:] == [str(image.PACKAGES), image.DISTRIBUTION]
    assert len(path) > 2 and all(folder.startswith("/usr/lib/python3") for folder in path[:-2])
    assert not has_mininet
