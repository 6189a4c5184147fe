# SPDX-License-Identifier: GPL-2.0
"""Mutants: what is changed, how many of which header, what counts as killed, and errors that say what is wrong."""

import json
from pathlib import Path

import pytest
from lab import cli
from lab.front import mutants
from lab.model.errors import LabError

HEADER = """\
/* SPDX */
#ifndef _A_H
#define _A_H

#include "portable.h"

/* 3 < 4 in a comment */
#define A_MOST (1 + 2)

struct a {
	u32 sum;	/* a < b */
};

static_assert(A_MOST < 4,
	"few");

/*
 * a_bounded - a * b
 */
static inline u32 a_bounded(u32 a,
				u32 b)
{
	if (a < b)
		return a;
	if (a < b)
		return b;
	return A_MOST;
}

#endif /* _A_H */
"""


def made(source: str = HEADER) -> list[mutants.Mutant]:
    return mutants.make_mutants("kmod/a.h", source)


def find(after: str, source: str = HEADER, nth: int = 0) -> mutants.Mutant:
    """The mutant with this line, which must exist."""
    return next(m for m in made(source) if mutants.collapse(m.after) == after and m.nth == nth)


def test_only_code_is_changed() -> None:
    """Comments, guards, includes and static assertions are left alone"""
    changed = {HEADER.splitlines()[mutant.line - 1].strip() for mutant in made()}
    assert changed <= {
        "#define A_MOST (1 + 2)",
        "struct a {",
        "u32 sum;	/* a < b */",
        "};",
        "static inline u32 a_bounded(u32 a,",
        "u32 b)",
        "{",
        "if (a < b)",
        "return a;",
        "return b;",
        "return A_MOST;",
        "}",
    }
    assert not any("comment" in mutant.after or "a < b */" in mutant.after for mutant in made())


def test_a_mutant_knows_where_it_is() -> None:
    """Function, macro or type, and whether the header's own code shows the change"""
    bound = find("if (a <= b)")
    assert (bound.line, bound.function, bound.in_body) == (23, "a_bounded", True)
    macro = find("#define A_MOST (1 - 2)")
    assert (macro.function, macro.in_body) == ("A_MOST", False)
    signature = next(mutant for mutant in made() if mutant.line in (20, 21))
    assert (signature.function, signature.in_body) == ("a_bounded", False)
    late = HEADER.replace("static inline u32 a_bounded(u32 a,", "static inline u32\na_bounded(u32 a,")
    assert find("if (a <= b)", late).function == "a_bounded"


def test_a_digest_survives_moved_lines_and_knows_twins() -> None:
    """Lines above, indentation and comments change no digest; an equal line further on has another"""
    moved = HEADER.replace("#define A_MOST", "#define A_OTHER 7\n#define  A_MOST").replace(
        "\tif (a < b)", "\t\tif (a < b)"
    )
    assert find("if (a <= b)", moved).line == 24
    assert find("if (a <= b)", moved).digest == find("if (a <= b)").digest
    assert find("if (a <= b)", nth=1).digest != find("if (a <= b)").digest
    assert find("if (a <= b)", HEADER.replace("a_bounded(", "a_other(")).digest != find("if (a <= b)").digest


def test_each_change_is_made_once() -> None:
    """Mutants that differ in blanks alone, or not from the header, are dropped"""
    keys = [(mutant.line, "".join(mutant.after.split())) for mutant in made()]
    assert len(keys) == len(set(keys))
    assert not any("".join(m.before.split()) == "".join(m.after.split()) for m in made())


def test_headers_get_mutants_by_their_lines() -> None:
    """In proportion to lines of code, to the last mutant"""
    assert mutants.lines_of_code(HEADER) == 19
    assert mutants.shares({"a": 10, "b": 20, "c": 70}, 1000) == {"a": 100, "b": 200, "c": 700}
    assert mutants.shares({"a": 1, "b": 1, "c": 1}, 1000) == {"a": 334, "b": 333, "c": 333}


def verdicts(killed: int, survived: int, equivalent: int = 0) -> list[mutants.Verdict]:
    fates = ["killed"] * killed + ["survived"] * survived + ["equivalent"] * equivalent
    return [
        mutants.Verdict(mutants.Mutant("kmod/a.h", n, "f", 0, True, "a", f"b{n}"), fate, "test_a" * (fate == "killed"))
        for n, fate in enumerate(fates)
    ]


@pytest.mark.parametrize(("killed", "survived", "good"), [(90, 10, True), (89, 11, False), (3, 1, True), (3, 2, False)])
def test_nine_of_ten_are_killed(killed: int, survived: int, good: bool) -> None:
    """One in ten may survive, and one of few; what the compiler shows to be equivalent does not count"""
    assert mutants.tally("kmod/a.h", verdicts(killed, survived, 50), frozenset()).good is good


def test_a_listed_survivor_does_not_count() -> None:
    """Those that were shown to be equivalent are taken out, and only those"""
    some = verdicts(90, 11)
    listed = frozenset([some[-1].mutant.digest, "0" * 12])
    assert not mutants.tally("kmod/a.h", some, frozenset()).good
    result = mutants.tally("kmod/a.h", some, listed)
    assert (result.killed, result.listed, result.survivors) == (90, 1, 10)
    assert result.good


ENTRY = "{} kmod/a.h a_bounded\n-\tif (a < b)\n+\tif (a <= b)\nBoth return the same.\n"


def listed(folder: Path, text: str) -> list[mutants.Entry]:
    path = folder / "kmod" / mutants.EQUIVALENTS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return mutants.read_equivalents(path)


def test_the_list_is_held_against_headers_and_tests(tmp_path: Path) -> None:
    """A stale entry, one that stands twice, one of another function and one that a test kills are reported"""
    mutant = find("if (a <= b)")
    good = ENTRY.format(mutant.digest)
    assert not mutants.check_list(listed(tmp_path, f"# what it is\n\n{good}"), made(), [])
    (stale,) = mutants.check_list(listed(tmp_path, ENTRY.format("0" * 12)), made(), [])
    assert "kmod/tests/equivalent-mutants.txt:1: 000000000000 is stale" in stale
    (twice,) = mutants.check_list(listed(tmp_path, f"{good}\n{good}"), made(), [])
    assert ":6:" in twice and "listed twice" in twice
    (other,) = mutants.check_list(listed(tmp_path, good.replace("a_bounded", "a_other")), made(), [])
    assert "is a mutant of kmod/a.h a_bounded" in other
    (killed,) = mutants.check_list(listed(tmp_path, good), made(), [mutants.Verdict(mutant, "killed", "test_a")])
    assert "not equivalent: test_a kills it" in killed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense\n", "not 'DIGEST HEADER FUNCTION': nonsense"),
        (ENTRY.format("0" * 12).replace("Both return the same.\n", ""), "and a reason"),
        (ENTRY.format("0" * 12).replace("+\tif", "\tif"), "a line '+'"),
    ],
)
def test_an_entry_without_a_reason_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    """The list says what is wrong with it, and where"""
    with pytest.raises(LabError) as raised:
        listed(tmp_path, f"# comment\n\n{text}")
    assert said in str(raised.value)
    assert "equivalent-mutants.txt:3: " in str(raised.value)


def test_the_lists_of_the_tree_fit_its_headers() -> None:
    """No entry is stale: a header that changed takes its entries along"""
    top = mutants.TOP
    known = [m for name in mutants.find_headers() for m in mutants.make_mutants(name, (top / name).read_text())]
    entries = [e for folder in mutants.FOLDERS for e in mutants.read_equivalents(top / folder / mutants.EQUIVALENTS)]
    assert entries
    # in a variable: a failing comparison shows its arguments, which are all mutants
    said = mutants.check_list(entries, known, [])
    assert not said, said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "no.h"], "no formula header no.h; there are: kmod/control_law.h"),
        (["--only", "pktpair_trace.h"], "no formula header"),
        (["--count", "0"], "not a number above 0: 0"),
        (["--jobs", "-1"], "not a number above 0: -1"),
        (["--seed", "x"], "invalid int value"),
        (["--quick", "--count", "5"], "not allowed with"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An argument that makes no sense ends with status 2 and says why"""
    with pytest.raises(SystemExit) as raised:
        cli.main(["mutants", *arguments])
    assert raised.value.code == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with a header, a test that looks only at its bound, and nothing else"""
    for folder in ("kmod/tests", "qdisc/tests", "include/uapi"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "include/portable.h").write_text("#include <assert.h>\n#include <stdint.h>\ntypedef uint32_t u32;\n")
    (tmp_path / "kmod/a.h").write_text(
        '#include "portable.h"\n'
        "static inline u32 a_twice(u32 a)\n{\n\tu32 unused = 7;\n\n"
        "\tif (a > 9)\n\t\treturn 18;\n\treturn 2 * a;\n}\n"
    )
    (tmp_path / "kmod/tests/test_a.c").write_text(
        '#include "a.h"\nint main(void)\n{\n\treturn a_twice(3) != 6 || a_twice(4) != 8;\n}\n'
    )
    monkeypatch.setattr(mutants, "TOP", tmp_path)
    monkeypatch.setattr(mutants, "OUT", tmp_path / "out")
    monkeypatch.setattr(mutants, "BUILD", tmp_path / "build")
    # which have nothing to find here
    monkeypatch.setattr(mutants, "SANITIZE", ())
    return tmp_path


def test_a_campaign(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A formula without a test survives, an unused number is equivalent, the rest is killed"""
    assert cli.main(["mutants", "--jobs", "2", "--count", "500"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "1 passed, 2 failed"
    row = json.loads((tree / "out/summary.json").read_text())["headers"]["kmod/a.h"]
    assert row["not_compiling"] > 0
    assert row["equivalent_by_compiler"] > 0
    assert row["killed"] == {"test_a": row["sampled"] - row["equivalent_by_compiler"] - len(row["survivors"])}
    assert row["killed"]["test_a"] > 0
    changed = {survivor["before"].strip() for survivor in row["survivors"]}
    assert "return 18;" in changed and "return 2 * a;" not in changed
    assert "u32 unused = 7;" not in changed
    assert "+\t\treturn (18+1);" in (tree / "out/survivors.diff").read_text()
    # nothing is left of the copies
    assert not list((tree / "build").iterdir())


def test_the_same_seed_draws_the_same(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample does not depend on how many work at once; another seed draws another"""

    def sample(seed: str, jobs: str) -> str:
        cli.main(["mutants", "--seed", seed, "--jobs", jobs, "--count", "3", "--only", "a.h"])
        result = json.loads((tree / "out/a/summary.json").read_text())["headers"]
        return json.dumps(result)

    one = sample("1", "1")
    assert one == sample("1", "3")
    assert one != sample("2", "1")


def test_an_endless_loop_is_killed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its processor time, which does not pass while it waits"""
    monkeypatch.setattr(mutants, "CPU_LEAST_S", 1)
    path = tree / "kmod/a.h"
    loop = "\tvolatile u32 n = 0;\n\n\twhile (n < a)\n\t\tn = n + 1;\n"
    path.write_text(path.read_text().replace("\tu32 unused = 7;\n\n", loop))
    work = tree / "build"
    work.mkdir()
    campaign = mutants.Campaign(work, seed=1, count=1, jobs=1, only=None)
    campaign.prepare()
    (endless,) = (m for m in campaign.mutants["kmod/a.h"] if m.after.strip() == "n = n + (1-1);")
    with campaign.workshop() as (_, workshop):
        verdict = campaign.judge(workshop, endless)
    assert (verdict.fate, verdict.by) == ("killed", "test_a")


def test_a_tree_that_fails_is_no_place_for_mutants(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A test that fails already, or does not compile, ends the run with its name"""
    test = tree / "kmod/tests/test_a.c"
    test.write_text('#include "a.h"\nint main(void)\n{\n\treturn a_twice(3) != 7;\n}\n')
    assert cli.main(["mutants", "--count", "5"]) == 2
    assert "test_a fails without any mutant" in capsys.readouterr().err
    test.write_text('#include "a.h"\nint main(void)\n{\n\treturn a_thrice(3;\n}\n')
    assert cli.main(["mutants", "--count", "5"]) == 2
    assert "test_a does not compile, without any mutant" in capsys.readouterr().err
    test.write_text('#include "no.h"\n')
    assert cli.main(["mutants", "--count", "5"]) == 2
    assert "test_a.c does not compile" in capsys.readouterr().err
