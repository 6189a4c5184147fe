# SPDX-License-Identifier: GPL-2.0
"""Kernel tracing into its ring buffer: nothing wakes up during a run."""

from __future__ import annotations

from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
# Per CPU; an acknowledgement takes about 90 bytes, so this holds 700,000.
BUFFER_KIB = 65536
ACK_EVENT = "lab:ack"


class Tracer:
    """Trace events of the own ports of flows and sources."""

    def __init__(self, acks: str | None) -> None:
        """:param acks: the definition of the event that shows an acknowledgement in this kernel"""
        (TRACING / "tracing_on").write_text("0")
        (TRACING / "buffer_size_kb").write_text(str(BUFFER_KIB))
        (TRACING / "trace_clock").write_text("mono")
        if acks:
            (TRACING / "kprobe_events").write_text(acks + "\n")

    def start(self, events: list[str], ports: range) -> list[str]:
        """Switch events on; returns those that this kernel does not have."""
        missing = []
        (TRACING / "trace").write_text("")
        for event in events:
            folder = TRACING / "events" / event.replace(":", "/")
            if not folder.exists():
                missing.append(event)
                continue
            if "field:u16 sport;" in (folder / "format").read_text() or event == ACK_EVENT:
                (folder / "filter").write_text(f"sport >= {ports.start} && sport < {ports.stop}")
            (folder / "enable").write_text("1")
        (TRACING / "tracing_on").write_text("1")
        return missing

    def stop(self) -> str:
        """Switch everything off; returns the recorded lines."""
        self.off()
        lines = (TRACING / "trace").read_text()
        (TRACING / "trace").write_text("")
        return lines

    def off(self) -> None:
        """Record nothing more."""
        (TRACING / "tracing_on").write_text("0")
        (TRACING / "events" / "enable").write_text("0")
