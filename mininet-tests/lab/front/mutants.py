# SPDX-License-Identifier: GPL-2.0
"""Mutation testing: changes formula headers line by line, and counts the changes that no test notices.

    scripts/lab mutants                              1,000 mutants of all headers: what make mutants runs
    scripts/lab mutants --quick                      100 of these, for a first look
    scripts/lab mutants --only qdisc/qlbp.h          this header's part of the 1,000
    scripts/lab mutants --only qlbp.h --count 5000   this header's part of a larger sample
    scripts/lab mutants --seed 2                     another sample

universalmutator makes the mutants.  Each is given to the unit tests and fuzzers that
include its header, the cheapest first, until one fails:

1. unit tests, without sanitizers;
2. two compilers: a mutant whose machine code does not differ is equivalent;
3. the same unit tests with sanitizers;
4. fuzzers: the kept inputs, and a fixed number of new ones.

An endless loop meets a limit of processor time, so the result does not depend on how
busy the machine is.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import files
from ..checkout import TOP
from ..model.errors import LabError
from ..show.progress import Progress

OUT = TOP / "out" / "mutants"
BUILD = TOP / "build" / "mutants"
FOLDERS = ("kmod", "qdisc")
COPIED = (*FOLDERS, "include")
EQUIVALENTS = "tests/equivalent-mutants.txt"  # in each of FOLDERS

COUNT = 1000
QUICK_COUNT = 100
# Of the mutants that are not equivalent, at least this part is killed, in each header
# and in all; of a header with few mutants one may survive.
KILLED_AT_LEAST_PERCENT = 90

FUZZ_RUNS = 5000
# A mutant that takes this much more processor time than the header as it is has an endless loop.
CPU_FACTOR = 10
CPU_LEAST_S = 2
LONGEST_CPU_S = 600  # of a compiler, or of a test that is not yet known
MEMORY_BYTES = 2 << 30

INCLUDES = ("-Iinclude", "-Iinclude/uapi", "-Ikmod", "-Iqdisc", "-Ikmod/tests/stack")
# Warnings are off: tests shall find the fault, not -Werror.
COMMON = ("-w", "-std=gnu11", *INCLUDES)
SANITIZE = ("-g", "-fno-sanitize-recover=all", "-fsanitize=address,undefined")
# What is undefined in C but not in the kernel must not make two programs equal;
# "used" keeps functions that nobody calls.
COMPARE = (
    *("-O2", "-fno-strict-overflow", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    *("-Dinline=__attribute__((__used__))", "-x", "c", "-c", "/dev/null"),
)
RULES = ["universal.rules", "c_like.rules", "c.rules"]

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Checked by the compiler, and no code: a weaker one changes nothing that runs.
STATIC_ASSERT = re.compile(r"\b(?:static_assert|_Static_assert|BUILD_BUG_ON)\s*\((?:[^;]*)\);")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|else|elif|endif|include|undef)\b.*$", re.MULTILINE)
GUARD = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+[ \t]*$", re.MULTILINE)
DEFINITION = re.compile(r"#\s*define\s+(\w+)|(?:struct|enum|union)\s+(\w+)\s*\{|(?:[a-zA-Z_][^#;=]*?)?\b(\w+)\(")


def collapse(text: str) -> str:
    """One line, one blank between words: what a re-indented line keeps."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Mutant:
    """One line of a header, changed."""

    header: str
    line: int  # from 1
    function: str  # or macro or type that the line belongs to
    nth: int  # among equal lines of the function
    in_body: bool  # of a function, so that the header's own code shows any effect
    before: str
    after: str

    @property
    def digest(self) -> str:
        """Its name, which stays when lines are moved."""
        parts = (self.header, self.function, str(self.nth), collapse(self.before), collapse(self.after))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def diff(self) -> str:
        """As one reads it."""
        lines = [f"{self.header}:{self.line} {self.function} ({self.digest})"]
        lines += [f"-{line}" for line in self.before.splitlines()]
        lines += [f"+{line}" for line in self.after.splitlines()]
        return "\n".join(lines) + "\n"


def only_code(source: str) -> str:
    """The source with blanks for what is no code, line by line as long as before."""
    for pattern in (COMMENT, STATIC_ASSERT, DIRECTIVE, GUARD):
        source = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)
    return source


def places(code: str) -> list[tuple[str, bool]]:
    """For each line: what it belongs to, and whether it is in a function's body."""
    result = []
    name, body, macro = "", False, False
    for line in code.splitlines():
        found = None if body or macro or line[:1].isspace() else DEFINITION.match(line)
        if found:
            name = next(group for group in found.groups() if group)
        macro = (macro or line.startswith("#")) and line.endswith("\\")
        if line.startswith("{"):
            body = True
        if line.startswith("}"):
            result.append((name, body))
            name, body = "", False
            continue
        result.append((name, body and not macro))
        if found and found.group(1) and not macro:
            name = ""
    return result


def make_mutants(header: str, source: str) -> list[Mutant]:
    """All mutants of a header, each once."""
    try:
        from universalmutator import mutator
    except ImportError:
        raise LabError("universalmutator is missing: run scripts/bootstrap") from None

    code = only_code(source)
    lines = code.splitlines(keepends=True)
    where = places(code)
    with contextlib.redirect_stdout(io.StringIO()):  # it reports its rules
        changes = mutator.mutants_regexp(lines, RULES, ignorePatterns=[])
    seen: Counter[tuple[str, str]] = Counter()
    nth = []
    for (name, _), line in zip(where, lines, strict=True):
        nth.append(seen[name, collapse(line)])
        seen[name, collapse(line)] += 1
    found: dict[tuple[int, str], Mutant] = {}
    for number, after, *_ in changes:
        before = lines[number - 1]
        key = re.sub(r"/\*.*?\*/|\s", "", after)
        if key == re.sub(r"\s", "", before) or (number, key) in found:
            continue
        name, body = where[number - 1]
        found[number, key] = Mutant(header, number, name, nth[number - 1], body, before.rstrip(), after.rstrip())
    return list(found.values())


def lines_of_code(source: str) -> int:
    """Lines that are neither empty nor comment."""
    return sum(1 for line in COMMENT.sub(lambda c: "\n" * c.group().count("\n"), source).splitlines() if line.strip())


def shares(lines: dict[str, int], count: int) -> dict[str, int]:
    """How many of the mutants each header gets: in proportion to its lines, the largest remainders rounded up."""
    total = sum(lines.values())
    result = {name: count * n // total for name, n in lines.items()}
    late = sorted(lines, key=lambda name: (-(count * lines[name] % total), name))
    for name in late[: count - sum(result.values())]:
        result[name] += 1
    return result


@dataclass(frozen=True)
class Entry:
    """A mutant that was shown to be equivalent."""

    digest: str
    place: str
    where: str  # file and line


def read_equivalents(path: Path) -> list[Entry]:
    """The list in a folder's tests; an entry without a reason is an error."""
    entries = []
    name = f"{path.parent.parent.name}/{EQUIVALENTS}"
    if not path.exists():
        return []
    for block in re.finditer(r"(?:^[^\n]+\n?)+", path.read_text(), re.MULTILINE):
        where = f"{name}:{path.read_text()[: block.start()].count(chr(10)) + 1}"
        lines = [line for line in block.group().splitlines() if not line.startswith("#")]
        if not lines:
            continue
        head = re.fullmatch(r"([0-9a-f]{12}) (\S+) (\S+)", lines[0])
        rest = [line[:1] for line in lines[1:]]
        if not head:
            raise LabError(f"{where}: not 'DIGEST HEADER FUNCTION': {lines[0]}")
        if "-" not in rest or "+" not in rest or not any(sign not in "-+" for sign in rest):
            raise LabError(f"{where}: an entry has a line '-', a line '+' and a reason")
        entries.append(Entry(head[1], f"{head[2]} {head[3]}", where))
    return entries


@dataclass
class Program:
    """A unit test or fuzzer."""

    source: str
    headers: frozenset[str]
    cpu_s: dict[str, float] = field(default_factory=dict)  # by kind, with headers as they are

    @property
    def name(self) -> str:
        """As results call it."""
        return Path(self.source).stem

    @property
    def fuzzes(self) -> bool:
        """A fuzzer is compiled and run in its own way."""
        return self.name.startswith("fuzz_")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int  # negative: by a signal
    cpu_s: float
    output: str


def run(command: Sequence[str], folder: Path, cpu_s: float, memory: bool) -> Ended:
    """Runs a command with a limit of processor time."""
    limits = ["prlimit", f"--cpu={max(1, round(cpu_s))}", "--core=0"]
    if memory:
        limits.append(f"--as={MEMORY_BYTES}")
    environment = {**os.environ, "ASAN_OPTIONS": f"hard_rss_limit_mb={MEMORY_BYTES >> 20}:detect_leaks=0"}
    with open(folder / "output", "w+b") as output:
        process = subprocess.Popen(
            [*limits, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read(1 << 16).decode(errors="replace")
    return Ended(process.returncode, usage.ru_utime + usage.ru_stime, text)


class InvalidMutantError(Exception):
    """A mutant that is no C program; its message is the compiler's."""


class Workshop:
    """A copy of the sources in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cpu_s = 0.0
        for name in COPIED:
            shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns("corpora", "__pycache__"))

    def run(self, command: Sequence[str], cpu_s: float = LONGEST_CPU_S, memory: bool = False) -> Ended:
        """Runs a command here."""
        ended = run(command, self.folder, cpu_s, memory)
        self.cpu_s += ended.cpu_s
        return ended

    def compile(self, command: Sequence[str]) -> None:
        """Compiles something, or says that it cannot be compiled."""
        ended = self.run(command)
        if ended.status:
            raise InvalidMutantError(ended.output)

    def build(self, program: Program, kind: str) -> None:
        """Compiles one test: "plain" or "sanitized", a fuzzer always the latter."""
        target = ["-o", kind, program.source]
        if program.fuzzes:
            self.compile(["clang", "-O1", *COMMON, *SANITIZE, "-fsanitize=fuzzer", *target])
        elif kind == "plain":
            self.compile(["gcc", "-O1", *COMMON, *target, "-lcmocka", "-lm"])
        else:
            self.compile(["gcc", "-O1", *COMMON, *SANITIZE, *target, "-lcmocka", "-lm"])

    def passes(self, program: Program, kind: str) -> Ended:
        """Builds and runs one test."""
        self.build(program, kind)
        command = [f"./{kind}"]
        if program.fuzzes:
            # into a folder of its own, since what a run finds must not help the next one
            shutil.rmtree(self.folder / "found", ignore_errors=True)
            (self.folder / "found").mkdir()
            command += ["-seed=1", f"-runs={FUZZ_RUNS}", "-max_len=4096", "found", f"../seeds/{program.name}"]
        known_s = program.cpu_s.get(kind)
        limit_s = LONGEST_CPU_S if known_s is None else CPU_LEAST_S + CPU_FACTOR * known_s
        return self.run(command, limit_s, memory=kind == "plain")

    def objects(self, header: str) -> list[bytes]:
        """The header's machine code, as two compilers make it."""
        result = []
        for compiler in ("gcc", "clang"):
            self.compile([compiler, *COMMON, "-include", header, *COMPARE, "-o", "object.o"])
            result.append((self.folder / "object.o").read_bytes())
        return result

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Changes the header, and changes it back."""
        path = self.folder / mutant.header
        source = (TOP / mutant.header).read_text()
        lines = source.splitlines(keepends=True)
        lines[mutant.line - 1] = mutant.after + "\n"
        path.write_text("".join(lines))
        try:
            yield
        finally:
            path.write_text(source)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    fate: str  # killed, equivalent (by compiler), survived
    by: str = ""


def find_headers() -> list[str]:
    """All formula headers; a trace header has no formula, and fq_rr_*.h are parts of the qdisc."""
    found = (path for folder in FOLDERS for path in sorted((TOP / folder).glob("*.h")))
    return [
        str(path.relative_to(TOP))
        for path in found
        if not path.name.endswith("_trace.h") and not path.name.startswith("fq_rr_")
    ]


def find_programs() -> list[Program]:
    """All unit tests and fuzzers, with the headers that they include."""
    programs = []
    for path in sorted(path for folder in FOLDERS for path in (TOP / folder / "tests").glob("*.c")):
        if not path.name.startswith(("test_", "fuzz_")):
            continue
        source = str(path.relative_to(TOP))
        listed = subprocess.run(["gcc", *COMMON, "-MM", source], cwd=TOP, capture_output=True, text=True, check=False)
        if listed.returncode:
            raise LabError(f"{source} does not compile:\n{listed.stderr}")
        headers = frozenset(os.path.normpath(word) for word in listed.stdout.replace("\\\n", " ").split()[1:])
        programs.append(Program(source, headers))
    return programs


class Campaign:
    """Tries a sample of mutants."""

    def __init__(self, folder: Path, seed: int, count: int, jobs: int, only: str | None) -> None:
        """:param folder: to work in; everything in it may be overwritten"""
        self.folder = folder
        self.seed = seed
        self.jobs = jobs
        self.sources = {name: (TOP / name).read_text() for name in find_headers()}
        self.mutants = {name: make_mutants(name, source) for name, source in self.sources.items()}
        self.lines = {name: lines_of_code(source) for name, source in self.sources.items()}
        self.sampled = shares(self.lines, count)
        if only:
            self.sampled = {only: self.sampled[only]}
        self.programs = find_programs()
        self.invalid: Counter[str] = Counter()
        self.workshops: queue.SimpleQueue[tuple[int, Workshop]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.draws: dict[str, Iterator[Mutant]] = {}
        for name in self.sampled:
            drawn = list(self.mutants[name])
            random.Random(f"{seed} {name}").shuffle(drawn)
            self.draws[name] = iter(drawn)

    def killers(self, header: str) -> list[tuple[Program, str]]:
        """What is tried on a header's mutants, in this order; between plain and the rest compilers are asked."""
        mine = [program for program in self.programs if header in program.headers]
        own = f"test_{Path(header).stem}"
        tests = sorted((p for p in mine if not p.fuzzes), key=lambda p: (p.name != own, p.name))
        fuzzers = [p for p in mine if p.fuzzes]
        return [(p, "plain") for p in tests] + [(p, "sanitized") for p in tests] + [(p, "sanitized") for p in fuzzers]

    def prepare(self) -> None:
        """Sees that all tests pass on the headers as they are, and how long they take."""
        needed = {(p.source, kind): (p, kind) for name in self.sampled for p, kind in self.killers(name)}
        for program in self.programs:
            seeds = self.folder / "seeds" / program.name
            corpus = TOP / Path(program.source).parent / "corpora" / f"{program.name}.tar.xz"
            if program.fuzzes:
                seeds.mkdir(parents=True)
                subprocess.run(["tar", "-xJf", str(corpus), "-C", str(seeds)], check=True)
        self.all_workshops = [Workshop(self.folder / f"worker-{n}") for n in range(self.jobs)]
        for item in enumerate(self.all_workshops):
            self.workshops.put(item)

        def measure(item: tuple[Program, str]) -> None:
            program, kind = item
            with self.workshop() as (_, workshop):
                try:
                    ended = workshop.passes(program, kind)
                except InvalidMutantError as error:
                    raise LabError(f"{program.name} does not compile, without any mutant:\n{error}") from None
            if ended.status:
                raise LabError(f"{program.name} fails without any mutant:\n{ended.output}")
            program.cpu_s[kind] = ended.cpu_s

        with self.pool() as pool:
            list(pool.map(measure, needed.values()))
        self.objects = {name: self.all_workshops[0].objects(name) for name in self.sampled}

    @contextlib.contextmanager
    def pool(self) -> Iterator[ThreadPoolExecutor]:
        """Workers, who begin nothing more once something has gone wrong."""
        pool = ThreadPoolExecutor(self.jobs)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    @contextlib.contextmanager
    def workshop(self) -> Iterator[tuple[int, Workshop]]:
        """One that nobody else uses."""
        item = self.workshops.get()
        try:
            yield item
        finally:
            self.workshops.put(item)

    def judge(self, workshop: Workshop, mutant: Mutant) -> Verdict:
        """Tries one mutant."""
        with workshop.mutated(mutant):
            workshop.compile(["gcc", *COMMON, "-fsyntax-only", "-include", mutant.header, "-x", "c", "/dev/null"])
            compared = False
            for program, kind in self.killers(mutant.header):
                if kind != "plain" and not compared:
                    compared = True
                    same = zip(self.objects[mutant.header], workshop.objects(mutant.header), strict=True)
                    if mutant.in_body and any(mine == its for mine, its in same):
                        return Verdict(mutant, "equivalent")
                ended = workshop.passes(program, kind)
                if ended.status:
                    note = "" if kind == "plain" or program.fuzzes else " with sanitizers"
                    return Verdict(mutant, "killed", program.name + note)
        return Verdict(mutant, "survived")

    def next_verdict(self, header: str, workshop: Workshop) -> Verdict | None:
        """Of the next mutant that is a C program; none when all have been drawn."""
        while True:
            with self.lock:
                mutant = next(self.draws[header], None)
            if mutant is None:
                return None
            try:
                return self.judge(workshop, mutant)
            except InvalidMutantError:
                with self.lock:
                    self.invalid[header] += 1

    def run(self) -> list[Verdict]:
        """Tries the whole sample."""
        steps = [name for name, count in self.sampled.items() for _ in range(count)]
        with Progress(len(steps), len(steps)) as progress:

            def step(header: str) -> Verdict | None:
                with self.workshop() as (_, workshop):
                    progress.begin(workshop, header)
                    verdict = self.next_verdict(header, workshop)
                    progress.leave(workshop)
                    progress.end(describe(verdict) if verdict else f"{header}: no more mutants", 1)
                    return verdict

            with self.pool() as pool:
                verdicts = list(pool.map(step, steps))
        return sorted((v for v in verdicts if v), key=lambda v: (v.mutant.header, v.mutant.line, v.mutant.digest))


def describe(verdict: Verdict) -> str:
    """One line for a log."""
    mutant = verdict.mutant
    by = f" by {verdict.by}" if verdict.by else ""
    return f"{mutant.header}:{mutant.line} {mutant.digest} {verdict.fate}{by}"


@dataclass(frozen=True)
class Tally:
    """What became of a header's mutants, or of all."""

    name: str
    killed: int
    by_compiler: int
    listed: int
    survivors: int

    @property
    def good(self) -> bool:
        """Whether enough of those that are not equivalent were killed."""
        tried = self.killed + self.survivors
        return self.survivors <= max(1, tried * (100 - KILLED_AT_LEAST_PERCENT) // 100)

    def __str__(self) -> str:
        tried = self.killed + self.survivors
        part = f"{self.killed / tried:.1%}" if tried else "none to kill"
        return (
            f"{self.name}: {self.killed} of {tried} killed ({part}); "
            f"equivalent: {self.by_compiler} by compiler, {self.listed} listed"
        )


def tally(name: str, verdicts: Iterable[Verdict], listed: frozenset[str]) -> Tally:
    """Counts; a survivor that is on the list does not count as one."""
    fates = Counter(
        "listed" if v.fate == "survived" and v.mutant.digest in listed else v.fate
        for v in verdicts
        if name in ("all headers", v.mutant.header)
    )
    return Tally(name, fates["killed"], fates["equivalent"], fates["listed"], fates["survived"])


def check_list(entries: Sequence[Entry], mutants: Iterable[Mutant], verdicts: Iterable[Verdict]) -> list[str]:
    """What is wrong with the lists: entries without a mutant, twice, or killed by a test."""
    known = {mutant.digest: mutant for mutant in mutants}
    killed = {v.mutant.digest: v for v in verdicts if v.fate == "killed"}
    wrong = []
    seen: set[str] = set()
    for entry in entries:
        mutant = known.get(entry.digest)
        if entry.digest in seen:
            wrong.append(f"{entry.where}: {entry.digest} is listed twice")
        elif mutant is None:
            wrong.append(f"{entry.where}: {entry.digest} is stale: {entry.place} has no such mutant")
        elif f"{mutant.header} {mutant.function}" != entry.place:
            wrong.append(f"{entry.where}: {entry.digest} is a mutant of {mutant.header} {mutant.function}")
        elif entry.digest in killed:
            wrong.append(f"{entry.where}: {entry.digest} is not equivalent: {killed[entry.digest].by} kills it")
        seen.add(entry.digest)
    return wrong


def write(
    folder: Path, campaign: Campaign, verdicts: Sequence[Verdict], listed: frozenset[str], seconds: float
) -> None:
    """summary.json, and all survivors as diffs."""
    headers: dict[str, Any] = {}
    for name in campaign.sampled:
        mine = [v for v in verdicts if v.mutant.header == name]
        survivors = [v.mutant for v in mine if v.fate == "survived"]
        headers[name] = {
            "lines_of_code": campaign.lines[name],
            "sampled": len(mine),
            "not_compiling": campaign.invalid[name],
            "equivalent_by_compiler": sum(v.fate == "equivalent" for v in mine),
            "equivalent_by_list": sum(m.digest in listed for m in survivors),
            "killed": dict(Counter(v.by for v in mine if v.fate == "killed").most_common()),
            "survivors": [
                {"digest": m.digest, "line": m.line, "function": m.function, "before": m.before, "after": m.after}
                for m in survivors
                if m.digest not in listed
            ],
        }
    folder.mkdir(parents=True, exist_ok=True)
    summary = {
        "seed": campaign.seed,
        "seconds": round(seconds),
        "processor_seconds": round(sum(workshop.cpu_s for workshop in campaign.all_workshops)),
        "jobs": campaign.jobs,
        "headers": headers,
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    alive = [v.mutant for v in verdicts if v.fate == "survived" and v.mutant.digest not in listed]
    (folder / "survivors.diff").write_text("\n".join(mutant.diff() for mutant in alive))


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command line."""

    def positive(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"not a number above 0: {text}")
        return int(text)

    def header(text: str) -> str:
        known = find_headers()
        matching = [name for name in known if text in (name, Path(name).name)]
        if not matching:
            raise argparse.ArgumentTypeError(f"no formula header {text}; there are: {' '.join(known)}")
        return matching[0]

    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    count = parser.add_mutually_exclusive_group()
    count.add_argument("--count", type=positive, default=COUNT, help=f"mutants of all headers (default {COUNT})")
    count.add_argument("--quick", action="store_const", dest="count", const=QUICK_COUNT, help=f"{QUICK_COUNT} mutants")
    parser.add_argument("--only", type=header, metavar="HEADER", help="only this header's part of the sample")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, help="at once (default: one per core)")


def main(options: argparse.Namespace) -> int:
    """Runs, writes and reports."""
    began = time.monotonic()
    folder = OUT / Path(options.only).stem if options.only else OUT
    try:
        entries = [entry for folder in FOLDERS for entry in read_equivalents(TOP / folder / EQUIVALENTS)]
        BUILD.mkdir(parents=True, exist_ok=True)
        listed = frozenset(entry.digest for entry in entries)
        with files.claimed(folder), tempfile.TemporaryDirectory(dir=BUILD) as work:
            campaign = Campaign(Path(work), options.seed, options.count, options.jobs, options.only)
            campaign.prepare()
            verdicts = campaign.run()
            write(folder, campaign, verdicts, listed, time.monotonic() - began)
    except KeyboardInterrupt:
        print("mutants: interrupted; nothing was written", file=sys.stderr)
        return 130
    wrong = check_list(entries, (m for each in campaign.mutants.values() for m in each), verdicts)
    results = [(str(each), each.good) for each in (tally(n, verdicts, listed) for n in campaign.sampled)]
    if not options.only:
        total = tally("all headers", verdicts, listed)
        results.append((str(total), total.good))
    results.append(("each listed equivalent is a mutant that no test kills", not wrong))
    for number, (text, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {text}")
    for text in wrong:
        print(f"# {text}")
    print(f"Survivors: {(folder / 'survivors.diff').relative_to(TOP)}")
    failed = sum(not good for _, good in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0
