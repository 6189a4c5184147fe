# SPDX-License-Identifier: GPL-2.0
"""What the user types: lab list | run | sweep | report | new | plot | draw | exec | shell."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import termios
import threading
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import files, protocol
from .front.measuring import figures_of
from .model import scenario
from .model.errors import PlanError
from .store import boot, command
from .vm import CLOCKS, Guest, LabError, find_kernel, leave_no_guest, shared_guest


def add_guest_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose the machine an experiment runs on."""
    parser.add_argument("--kernel", metavar="VERSION", help="an unpacked kernel (default: Debian 12's)")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="virtual",
        help="virtual: QEMU's instruction counter, exact and repeatable (default); real: KVM; "
        "emulated: real time without KVM, for work on several CPUs; native: this machine's own kernel, as root",
    )
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="virtual CPUs (not with the virtual clock)")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab", description="Network experiments on a real kernel in virtual time.")
    commands = top.add_subparsers(
        dest="action", required=True, metavar="list|run|sweep|report|new|plot|draw|exec|shell"
    )
    commands.add_parser("list", help="scenarios with their claims")
    run = commands.add_parser("run", help="run scenarios, all in one boot")
    add_guest_options(run)
    boot.add_run_options(run)
    command.add_sweep_options(
        commands.add_parser("sweep", help="run every combination of a scenario's parameters, several guests at once")
    )
    command.add_report_options(commands.add_parser("report", help="a page of a study's tables and plots"))
    new = commands.add_parser("new", help="write a commented scenario that runs")
    new.add_argument("file", type=Path, metavar="FILE.py")
    plot = commands.add_parser("plot", help="draw one tcp_pktpair flow of a kept trace: queue, window, rate, gap")
    plot.add_argument("recording", type=Path, metavar="FILE", help="a .trace file in out/lab")
    plot.add_argument("--flow", type=int, metavar="PORT", help="its sender's port (default: the lowest)")
    plot.add_argument("--out", type=Path, metavar="PNG", help="the picture (default: beside FILE)")
    draw = commands.add_parser("draw", help="draw runs that --json has written")
    draw.add_argument("run", type=Path, metavar="FILE")
    draw.add_argument("--out", type=Path, metavar="FOLDER", help="where to (default: beside the file)")
    run = commands.add_parser("exec", help="run a command in a booted lab; its exit status is passed on")
    add_guest_options(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    shell = commands.add_parser("shell", help="an interactive shell in a booted lab")
    add_guest_options(shell)
    return top


def finish(payload: bytes, guest: Guest) -> int:
    """Report how the agent's job ended; returns the exit status."""
    outcome = json.loads(payload)
    if outcome["error"]:
        print(f"lab: {outcome['error']}", file=sys.stderr)
    if outcome["error"] or outcome["warnings"]:
        lines = outcome["warnings"] or outcome["dmesg_tail"]
        if lines:
            print(f"lab: kernel {guest.kernel} says:", file=sys.stderr)
            for line in lines:
                print(f"    {line}", file=sys.stderr)
    return int(outcome["status"])


def execute(arguments: argparse.Namespace) -> int:
    """Lab exec -- COMMAND..."""
    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise LabError("exec needs a command: lab exec -- COMMAND...")
    with shared_guest(arguments.kernel, arguments.clock, arguments.cpus) as guest:
        if arguments.clock == "native":
            boot.announce_native(guest)
        guest.start({"kind": "exec", "command": command, "cwd": os.getcwd()})
        for kind, payload in guest.frames():
            if kind == protocol.STDOUT:
                sys.stdout.buffer.write(payload)
                sys.stdout.buffer.flush()
            elif kind == protocol.STDERR:
                sys.stderr.buffer.write(payload)
                sys.stderr.buffer.flush()
            elif kind == protocol.EXIT:
                return finish(payload, guest)
    raise AssertionError("the agent always ends with a status")


def shell(arguments: argparse.Namespace) -> int:
    """Lab shell"""
    if not sys.stdin.isatty():
        raise LabError("shell needs a terminal; use: lab exec -- COMMAND...")
    size = shutil.get_terminal_size()
    with shared_guest(arguments.kernel, arguments.clock, arguments.cpus) as guest:
        if arguments.clock == "native":
            boot.announce_native(guest)
        guest.start({"kind": "shell", "size": (size.lines, size.columns), "term": os.environ.get("TERM", "linux")})

        def forward() -> None:
            while data := os.read(sys.stdin.fileno(), 4096):
                guest.send(protocol.STDIN, data)

        saved = termios.tcgetattr(sys.stdin)
        tty.setraw(sys.stdin)
        try:
            threading.Thread(target=forward, daemon=True).start()
            for kind, payload in guest.frames():
                if kind == protocol.STDOUT:
                    os.write(sys.stdout.fileno(), payload)
                elif kind == protocol.EXIT:
                    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
                    return finish(payload, guest)
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
    raise AssertionError("the agent always ends with a status")


def show_list() -> int:
    """Lab list"""
    for name in scenario.names():
        print(f"{name:28} {scenario.load(name).claim}")
    return 0


def plot(arguments: argparse.Namespace) -> int:
    """Lab plot FILE"""
    from .show import controlplot  # matplotlib is slow to load

    print(controlplot.plot(arguments.recording, arguments.flow, arguments.out))
    return 0


def sweep(arguments: argparse.Namespace) -> int:
    """Lab sweep SCENARIO..."""
    from .machines.engine import Guests

    with Guests() as guests:
        return command.sweep(arguments, guests, figures_of)


def new(path: Path) -> int:
    """Lab new FILE.py"""
    if path.suffix != ".py":
        raise LabError(f"{path}: must end with .py")
    try:
        with path.open("x") as file:
            file.write((Path(__file__).parent / "show" / "templates" / "scenario.py").read_text())
    except FileExistsError:
        raise LabError(f"{path}: is there already, and stays as it is") from None
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    print(f"{path} is there. Run it: scripts/lab sweep {path} --seeds 1-3 --out study")
    return 0


def read_runs(path: Path) -> list[dict[str, Any]]:
    """What ``lab run --json`` has written; LabError if it is something else."""
    try:
        runs = json.loads(path.read_text())
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LabError(f"{path}: is not JSON: {error}") from None
    wanted = ("path", "label", "title")
    if not isinstance(runs, list) or not runs or not all(isinstance(one, dict) for one in runs):
        raise LabError(f"{path}: is no list of runs; lab run --json writes one")
    missing = [name for name in wanted if not all(name in one for one in runs)]
    if missing:
        raise LabError(f"{path}: its runs have no {', '.join(missing)}; lab run --json writes them")
    return runs


def draw(arguments: argparse.Namespace) -> int:
    """Lab draw FILE: nothing is run."""
    from .show.runs import to_file  # matplotlib is slow to load

    runs = read_runs(arguments.run)
    folder = arguments.out or arguments.run.parent
    drawn = []
    try:
        for one in runs:
            if one.get("error") is None and one.get("series"):
                drawn.append(to_file(one, one["title"], folder / f"{one['label']}.png"))
        # a scenario's own pictures, where the runs come from this machine
        for path in dict.fromkeys(one["path"] for one in runs if Path(one["path"]).is_file()):
            folder.mkdir(parents=True, exist_ok=True)
            drawn += scenario.load(path).draw([one for one in runs if one["path"] == path], folder)
    except KeyError as error:
        raise LabError(f"{arguments.run}: its series have no {error}: another version's lab run wrote it") from None
    except OSError as error:
        raise LabError(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise LabError(f"{arguments.run}: {error}") from None
    if not drawn:
        raise LabError(f"{arguments.run}: no run in it can be drawn")
    for path in drawn:
        print(path)
    return 0


def act(arguments: argparse.Namespace) -> int:
    """Do what was asked for; returns the exit status."""
    if getattr(arguments, "clock", None) not in (None, "native"):
        find_kernel(arguments.kernel)
    if arguments.action == "list":
        return show_list()
    if arguments.action == "run":
        return boot.run(arguments, figures_of)
    if arguments.action == "sweep":
        return sweep(arguments)
    if arguments.action == "report":
        return command.report(arguments, figures_of)
    if arguments.action == "new":
        return new(arguments.file)
    if arguments.action == "plot":
        return plot(arguments)
    if arguments.action == "draw":
        return draw(arguments)
    if arguments.action == "exec":
        return execute(arguments)
    if arguments.action == "shell":
        return shell(arguments)
    raise AssertionError(arguments.action)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = parser().parse_args(argv)
    leave_no_guest()
    try:
        return act(arguments)
    except (LabError, PlanError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.errno not in files.REFUSED:
            raise
        # a copy into the temporary folder names no file
        print(f"lab: {error.filename or tempfile.gettempdir()}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
