# SPDX-License-Identifier: GPL-2.0
"""What the user types: lab list | run | sweep | report | new | plot | draw | exec | shell."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import links, protocol, runner, scenario
from .analyse.figures import Figures, figures
from .store import command
from .store.run import Run
from .vm import CACHE, CLOCKS, TOP, Guest, LabError, find_kernel, leave_no_guest, measuring_guest, shared_guest


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
    run.add_argument("scenarios", nargs="+", metavar="SCENARIO")
    run.add_argument("--cc", action="append", metavar="A", help="congestion control (may be repeated)")
    run.add_argument("--qdisc", action="append", metavar="B", help="queue of the bottleneck (may be repeated)")
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the scenario")
    run.add_argument("--seed", type=int, default=1, metavar="N", help="start times and hashes (default 1)")
    run.add_argument("--json", type=Path, metavar="FILE", help="write the run, or the list of runs, as JSON")
    run.add_argument("--pcap", action="store_true", help="capture packets leaving the bottleneck")
    run.add_argument("--trace", action="store_true", help="keep the kernel trace, with what plot needs")
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
    draw = commands.add_parser("draw", help="draw runs that --json has written, if their scenario has a picture")
    draw.add_argument("run", type=Path, metavar="FILE")
    draw.add_argument("--out", type=Path, metavar="FOLDER", help="where to (default: beside the file)")
    run = commands.add_parser("exec", help="run a command in a booted lab; its exit status is passed on")
    add_guest_options(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    shell = commands.add_parser("shell", help="an interactive shell in a booted lab")
    add_guest_options(shell)
    return top


def announce_native(guest: Guest) -> None:
    """Say what is about to be loaded into the machine's own kernel."""
    names = ", ".join(str(path) for path in guest.modules()) or "no module (none is built for it)"
    print(f"lab: on this machine's own kernel {guest.kernel}; loading: {names}", file=sys.stderr)


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
            announce_native(guest)
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
            announce_native(guest)
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


def combinations(chosen: scenario.Scenario, ccs: list[str] | None, qdiscs: list[str] | None) -> list[tuple[str, str]]:
    """What to run: the scenario's own list, or what was asked for."""
    if not ccs and not qdiscs:
        return chosen.combinations
    first_cc, first_qdisc = chosen.combinations[0]
    return [(cc, qdisc) for cc in ccs or [first_cc] for qdisc in qdiscs or [first_qdisc]]


def known_algorithms(kernel: str) -> list[str]:
    """Congestion controls that a kernel has, with ours."""
    folder = CACHE / "kernels" / kernel / "lib" / "modules" / kernel / "kernel" / "net" / "ipv4"
    return ["reno", "cubic", *scenario.OURS, *sorted(p.name.split(".")[0][4:] for p in folder.glob("tcp_*.ko*"))]


def check_names(arguments: argparse.Namespace) -> None:
    """Refuse a congestion control or queue that does not exist, before booting."""
    for name in arguments.qdisc or []:
        if name not in links.QDISCS:
            raise LabError(f"--qdisc {name}: must be one of {', '.join(links.QDISCS)}")
    if arguments.clock == "native":
        return
    known = known_algorithms(find_kernel(arguments.kernel))
    for name in arguments.cc or []:
        if name not in known:
            raise LabError(f"--cc {name}: must be one of {', '.join(known)}")


def plan_jobs(arguments: argparse.Namespace) -> list[runner.Job]:
    """Everything that was asked for, checked before anything is booted."""
    check_names(arguments)
    chosen = [scenario.load(name) for name in arguments.scenarios]
    jobs = []
    for one in chosen:
        for values in one.all_values(arguments.set, chosen):
            for cc, qdisc in combinations(one, arguments.cc, arguments.qdisc):
                jobs.append(runner.make_job(one, cc, qdisc, arguments.seed, values))
    return jobs


def with_control_events(job: runner.Job) -> scenario.Plan:
    """The plan, recording what tcp_pktpair believes and what is true at fq_rr."""
    wanted = ["pktpair:pktpair_sample"] if any(flow.cc in scenario.OURS for flow in job.plan.flows) else []
    wanted += ["fq_rr:fq_rr_enqueue"] if job.qdisc == "fq_rr" else []
    return replace(job.plan, events=tuple(dict.fromkeys([*job.plan.events, *wanted])))


def plot(arguments: argparse.Namespace) -> int:
    """Lab plot FILE"""
    from . import controlplot  # matplotlib is slow to load

    print(controlplot.plot(arguments.recording, arguments.flow, arguments.out))
    return 0


def check_modules(jobs: Sequence[runner.Job], guest: Guest) -> None:
    """Refuse to run what needs a module that has not been built."""
    built = {path.stem for path in guest.modules()}
    missing = sorted(runner.modules_of(jobs) - built, reverse=True)
    if missing:
        raise LabError(
            f"{' and '.join(missing)} not built for kernel {guest.kernel}: scripts/build-modules {guest.kernel}"
        )


def show_run(run: dict[str, Any]) -> None:
    """One run, for people."""
    settings = " ".join(f"{name}={value}" for name, value in run["parameters"].items())
    print(f"{run['scenario']} {run['cc']}+{run['qdisc']} {settings}  ({run['host_seconds']} s of this machine)")
    if run["error"]:
        print(f"  ERROR: {run['error']}")
    for name, value in run["metrics"].items():
        print(f"  {name:24} {value}")
    for check in run["checks"]:
        verdict = "ok" if check["pass"] else "NOT OK"
        print(f"  {verdict}: {check['quantity']} {check['op']} {check['expected']} (measured {check['measured']})")
    for line in run["warnings"]:
        print(f"  kernel: {line}")
    if run["error"] and not run["warnings"]:
        for line in run.get("dmesg_tail", []):
            print(f"  kernel log: {line}")


def run(arguments: argparse.Namespace) -> int:
    """Lab run SCENARIO..."""
    jobs = plan_jobs(arguments)
    if arguments.trace:
        for job in jobs:
            job.plan = with_control_events(job)
    recordings = TOP / "out" / "lab"
    machine = measuring_guest(arguments.kernel, arguments.clock, arguments.cpus)
    check_modules(jobs, machine)
    with machine as guest:
        if arguments.clock == "native":
            announce_native(guest)

        def report(index: int, result: dict[str, Any] | None) -> None:
            if result is None:
                print(f"lab: run {index + 1} of {len(jobs)}: {jobs[index].title}", file=sys.stderr)
            else:
                show_run(result)

        print(f"lab: kernel {guest.kernel}, clock {guest.clock}", file=sys.stderr)
        runs = runner.run_jobs(
            jobs, guest, report, recordings if arguments.pcap else None, recordings if arguments.trace else None
        )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(runs[0] if len(runs) == 1 else runs, indent=1) + "\n")
    if arguments.pcap or arguments.trace:
        print(f"lab: recordings are in {recordings}", file=sys.stderr)
    return 0 if len(runs) == len(jobs) and all(result["pass"] for result in runs) else 1


def figures_of(run: Run, raw: dict[str, Any]) -> Figures:
    """What a study's tables are made of."""
    return figures(run.scenario, run.values, run.cc, run.qdisc, run.plan, raw)


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
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    print(f"{path} is there. Run it: scripts/lab sweep {path} --seeds 1-3 --out study")
    return 0


def draw(arguments: argparse.Namespace) -> int:
    """Lab draw FILE: nothing is run."""
    try:
        read = json.loads(arguments.run.read_text())
    except (OSError, ValueError) as error:
        raise LabError(f"{arguments.run}: {error}") from None
    runs: dict[str, list[dict[str, Any]]] = {}
    for one in read if isinstance(read, list) else [read]:
        runs.setdefault(one["scenario"], []).append(one)
    pictures = []
    for name, of_scenario in runs.items():
        picture = getattr(scenario.load(name).module, "draw", None)
        if picture is not None:
            folder = arguments.out or arguments.run.parent
            folder.mkdir(parents=True, exist_ok=True)
            pictures += picture(of_scenario, folder)
    if not pictures:
        raise LabError(f"{arguments.run}: no run in it has a picture")
    for path in pictures:
        print(path)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = parser().parse_args(argv)
    leave_no_guest()
    try:
        if getattr(arguments, "clock", None) not in (None, "native"):
            find_kernel(arguments.kernel)
        if arguments.action == "list":
            return show_list()
        if arguments.action == "run":
            return run(arguments)
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
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
