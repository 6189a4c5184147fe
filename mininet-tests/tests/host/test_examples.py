# SPDX-License-Identifier: GPL-2.0
"""The examples: what needs no guest. kmod/tests/in_lab_vptfrc.py runs the sender."""

import subprocess
import sys
from pathlib import Path

import pytest

SENDER = Path(__file__).resolve().parents[2] / "examples" / "rate_sized_sender.py"


@pytest.fixture
def example(monkeypatch):
    """The sender, imported."""
    monkeypatch.syspath_prepend(str(SENDER.parent))
    import rate_sized_sender

    return rate_sized_sender


@pytest.mark.parametrize(
    ("rate", "bytes_"),
    [
        (0, 20),  # nothing is known yet
        (999, 20),  # below the smallest packet
        (2000, 40),
        (2049, 40),  # a whole number of bytes, never more than is allowed
        (72_400, 1448),
        (10**12, 1448),  # above the largest packet
    ],
)
def test_a_packet_is_what_the_rate_sends_until_the_next(example, rate, bytes_):
    assert example.next_write_bytes(rate, 50.0, 20, 1448) == bytes_


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["localhost", "0"], "0: must be a number from 1 to 65535"),
        (["localhost", "http"], "http: must be a number from 1 to 65535"),
        (["localhost", "9", "--packets-per-s", "0"], "0: must be a number from 0.1 to 10000"),
        (["localhost", "9", "--packets-per-s", "nan"], "nan: must be a number from 0.1 to 10000"),
        (["localhost", "9", "--seconds", "86401"], "86401: must be a number from 0.1 to 86400"),
        (["localhost", "9", "--least", "0"], "0: must be a number from 1 to 65535"),
        (["localhost", "9", "--least", "99", "--most", "98"], "--most 98: must be 0 or at least --least, 99"),
    ],
)
def test_bad_options_are_refused_with_their_limits(words, said):
    done = subprocess.run([sys.executable, str(SENDER), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and said in done.stderr
