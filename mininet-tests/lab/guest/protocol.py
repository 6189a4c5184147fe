# SPDX-License-Identifier: GPL-2.0
"""Frames between the host and the agent in the guest, over one byte stream.

A frame is one byte of type, four bytes of length (little endian) and the
payload.  The stream is a virtio-serial port, or a socket pair when the lab
runs on the machine's own kernel.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from typing import Any

JOB = b"J"  # host to guest: what to do (JSON)
READY = b"R"  # guest to host: modules are loaded (JSON: what was found)
PROGRESS = b"P"  # guest to host: between runs (JSON)
RESULT = b"D"  # guest to host: one run's raw results (JSON)
STDOUT = b"O"  # guest to host: bytes of the command
STDERR = b"E"
STDIN = b"I"  # host to guest: bytes for the interactive shell
EXIT = b"X"  # guest to host: the end (JSON: status, warnings)

_HEADER = struct.Struct("<cI")
# virtio-serial moves pages; more per write gains nothing.
_WRITE_BYTES = 32768


class StreamClosedError(EOFError):
    """The other side went away."""


def read_exactly(read: Callable[[int], bytes], size: int) -> bytes:
    """Read size bytes or raise StreamClosedError."""
    parts = []
    while size:
        part = read(size)
        if not part:
            raise StreamClosedError("stream closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class FrameError(ValueError):
    """A frame that the other side never sends; the message has its header."""


def receive(read: Callable[[int], bytes], kinds: bytes = b"", most_bytes: int = 2**32) -> tuple[bytes, bytes]:
    """Read one frame: its type and payload.

    :param kinds: types that the other side may send, by default any; FrameError for another one
    :param most_bytes: that its payload may have; FrameError for more, before it is read
    """
    header = read_exactly(read, _HEADER.size)
    kind, size = _HEADER.unpack(header)
    if size > most_bytes or (kinds and kind not in kinds):
        raise FrameError(f"{header!r}")
    return kind, read_exactly(read, size)


def send(fd: int, kind: bytes, payload: bytes) -> None:
    """Write one frame to a file descriptor."""
    data = memoryview(_HEADER.pack(kind, len(payload)) + payload)
    while data:
        data = data[os.write(fd, data[:_WRITE_BYTES]) :]


def send_json(fd: int, kind: bytes, message: Any) -> None:
    """Write one frame whose payload is JSON."""
    send(fd, kind, json.dumps(message).encode())
