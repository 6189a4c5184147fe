# SPDX-License-Identifier: GPL-2.0
"""Runs scenarios: one boot, many runs, each turned into its JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import btf, files, measure, protocol, transfers
from .scenario import OURS, Check, Plan, Scenario, Value
from .vm import Guest, LabError, uncompressed_image

# A run that the kernel complained about is wrong, whatever its figures.
NO_WARNING = Check("kernel_warnings", "==", 0)


@dataclass
class Job:
    """One run that was asked for."""

    scenario: Scenario
    cc: str
    qdisc: str
    seed: int
    values: dict[str, Value]
    plan: Plan | transfers.TransferPlan

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.scenario.name} {self.cc}+{self.qdisc}"


def make_job(scenario: Scenario, cc: str, qdisc: str, seed: int, values: dict[str, Value]) -> Job:
    """Plan one run."""
    return Job(scenario, cc, qdisc, seed, values, scenario.plan(values, cc, qdisc, seed))


def modules_of(jobs: Iterable[Job]) -> set[str]:
    """Names of the project's modules that these runs use; others may be loaded beside them."""
    used = set()
    for job in jobs:
        used |= {"tcp_pktpair"} if job.cc in OURS else set()
        used |= {"sch_fq_rr"} if job.qdisc == "fq_rr" else set()
    return used


def ack_probe(guest: Guest) -> str:
    """The event that shows every acknowledgement in this kernel."""
    if guest.clock == "native":
        image = Path("/sys/kernel/btf/vmlinux")
    else:
        image = uncompressed_image(guest.kernel)
    return btf.ack_probe(btf.Btf.of_kernel(image))


def module_versions(guest: Guest) -> dict[str, str]:
    """Source version of each loaded module, or a digest of its file."""
    versions = dict(guest.ready["modules"])
    for path in guest.modules():
        if not versions.get(path.stem):
            versions[path.stem] = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return versions


def figures(job: Job, guest: Guest, raw: dict[str, Any]) -> dict[str, Any]:
    """A run's JSON."""
    run: dict[str, Any] = {
        "scenario": job.scenario.name,
        "cc": job.cc,
        "qdisc": job.qdisc,
        "kernel": guest.kernel,
        "modules": module_versions(guest),
        "clock": guest.clock,
        "seed": job.seed,
        "parameters": job.values,
        "flows": [],
        "qdiscs": [],
        "metrics": {},
        "checks": [],
        "error": raw["error"],
        "warnings": raw["warnings"],
    }
    if raw["error"] is None:
        try:
            fill_in(run, job, raw)
        except measure.RunError as error:
            run["error"] = str(error)
        except (ArithmeticError, LookupError, ValueError) as error:
            # the other runs of this boot are none the worse for it
            run["error"] = f"its figures cannot be computed: {type(error).__name__}: {error}"
    run["metrics"]["kernel_warnings"] = len(raw["warnings"])
    checks = [
        NO_WARNING,
        *getattr(job.scenario.module, "checks", lambda values, cc, qdisc: [])(job.values, job.cc, job.qdisc),
    ]
    run["checks"] = measure.judge(checks, run["metrics"])
    run["pass"] = run["error"] is None and all(check["pass"] for check in run["checks"])
    return run


def fill_in(run: dict[str, Any], job: Job, raw: dict[str, Any]) -> None:
    """Everything that is computed from what the guest recorded."""
    plan = job.plan
    if raw.get("missing_events"):
        raise measure.RunError(f"this kernel does not have the trace events {', '.join(raw['missing_events'])}")
    if isinstance(plan, transfers.TransferPlan):
        transfers.fill_in(run, plan, raw)
        return
    acks = measure.acks_of_flows(raw["trace"], raw["begin_s"])
    run["qdiscs"] = measure.qdisc_figures(raw)
    run["flows"] = measure.flow_figures(plan, raw, acks)
    run["metrics"] = measure.window_figures(plan, acks)
    run["metrics"]["retransmits"] = sum(flow["retransmits"] for flow in run["flows"])
    run["metrics"]["drops"] = measure.bottleneck_drops(run["qdiscs"])
    for action in raw["actions"]:
        run["metrics"][f"{action['name']}_status"] = action["status"]
    run["actions"] = raw["actions"]
    if plan.flows:
        run["series"] = measure.series(plan, acks)
    extra = getattr(job.scenario.module, "measure", None)
    if extra is not None:
        found = extra(job.values, plan, raw)
        # what is drawn is too long to be printed
        run["series"] = run.get("series", {}) | found.pop("series", {})
        run["metrics"].update(found)


Report = Callable[[int, dict[str, Any] | None], None]


def run_jobs(
    jobs: Sequence[Job],
    guest: Guest,
    report: Report,
    pcap_folder: Path | None = None,
    trace_folder: Path | None = None,
) -> list[dict[str, Any]]:
    """Run all jobs in one boot.

    :param guest: not yet started
    :param report: called with a job's index when it begins, and with its run when it ends
    """
    guest.start(
        {
            "kind": "run",
            "ack_probe": ack_probe(guest),
            "plans": [job.plan.for_guest(pcap_folder is not None, trace_folder is not None) for job in jobs],
        }
    )
    runs: list[dict[str, Any]] = []
    began, cpu_s = time.monotonic(), 0.0
    for kind, payload in guest.frames():
        message = json.loads(payload)
        if kind == protocol.PROGRESS:
            report(message["begin"], None)
            began, cpu_s = time.monotonic(), guest.cpu_s()
        elif kind == protocol.RESULT:
            job = jobs[message["index"]]
            run = figures(job, guest, message)
            run["host_seconds"] = round(time.monotonic() - began, 1)
            run["cpu_seconds"] = round(guest.cpu_s() - cpu_s, 2)
            runs.append(run)
            if pcap_folder is not None and "pcap" in message:
                save(pcap_folder, job, "pcap", base64.b64decode(message["pcap"]))
            if trace_folder is not None:
                save(trace_folder, job, "trace", message.get("trace", "").encode())
            if run["error"] or run["warnings"]:
                run["dmesg_tail"] = message["dmesg_tail"]
            report(message["index"], run)
        elif kind == protocol.EXIT and message["error"]:
            tail = "\n".join(f"    {line}" for line in message["dmesg_tail"])
            raise LabError(f"{message['error']}\nlast lines of the guest's kernel log:\n{tail}")
    return runs


def save(folder: Path, job: Job, kind: str, data: bytes) -> None:
    """Keep a raw recording of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(job.plan, transfers.TransferPlan):
        label = f"-{job.plan.label}"
    else:
        own = {name: parameter.default for name, parameter in job.scenario.parameters.items()}
        label = "".join(f"-{name}-{value}" for name, value in job.values.items() if value != own[name])
    files.write(folder / f"{job.scenario.name}{label}-{job.cc}-{job.qdisc}-{job.seed}.{kind}", data)
