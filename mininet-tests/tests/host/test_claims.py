# SPDX-License-Identifier: GPL-2.0
"""The papers' claims: none is missing, what shows one exists, and Documentation/claims.rst says so."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP
from lab import cli
from lab.analyse.claims import absent, run_by
from lab.model import papers
from lab.model.errors import PlanError
from lab.model.papers import FOLDER, OPERATORS, Entry, Paper
from lab.show.claims import page

# Of each paper: how its ids begin, how many there are, and the rest of each, in its order.
IDS = {
    "packet-pair-1994": (
        "pp-",
        39,
        """
        tab1 tab2 probe eq12 eq14 eq9 eq19 startup timeout retx setpoint fuzzy singleton tab3 9.1-fig11
        9.1-fig12 9.1-fig13 9.1-fig14 9.1-fig15 9.1-fig16 9.1-fig16b 9.2-fig17 9.2-fig18 9.2-fig19-21 9.2-tab4
        9.2-tab5 9.3-open 9.3-closed b1 b2 b3 b4 b5 b6 b7 b8 b9 9.4-summary 9.5-video
        """,
    ),
    "overload-1995": (
        "ovl-",
        27,
        """
        eq3 eq4-5 eq6-7 eq8-9 tab1 fig2a fig2b fig2c fig2d fig3a fig3b fig3c fig3d fig4a fig4b fig4c fig4d fig5a
        fig5b fig5c fig5d c1-stability c2-small-buffer c3-min-buffer c4-discipline c5-incentive
        c6-source-goodput-range
        """,
    ),
    "thesis-ch6": (
        "th-",
        65,
        """
        s1-g-fcfs s1-g-fq s1-jk-fcfs s1-jk-fq s1-dec-dec s1-dec-fqb s1-pp-fq s1-setpoint2 s1-claims s2-g-fcfs
        s2-g-fq s2-jk-fcfs s2-jk-fq s2-dec-dec s2-dec-fqb s2-pp-fq s2-claims s3-g-fcfs s3-g-fq s3-jk-fcfs
        s3-jk-fq s3-dec-dec s3-dec-fqb s3-pp-fq s3-dynamics s3-claims s4-g-fcfs s4-g-fq s4-jk-fcfs s4-jk-fq
        s4-dec-dec s4-dec-fqb s4-pp-fq s4-claims s5-jk-g-fcfs s5-jk-g-fq s5-pp-g-fq s5-pp-jk-fq s5-claims
        s6-g-fcfs s6-g-fq s6-jk-fcfs s6-jk-fq s6-dec-dec s6-dec-fqb s6-pp-fq s6-claims s7-g-fcfs s7-g-fq
        s7-jk-fcfs s7-jk-fq s7-dec-dec s7-dec-fqb s7-pp-fq s7-dynamics s7-claims s8-g-fcfs s8-g-fq s8-jk-fcfs
        s8-jk-fq s8-dec-dec s8-dec-fqb s8-pp-fq s8-claims conclusion
        """,
    ),
    "qlbp-2011": (
        "ql-",
        17,
        """
        rule1 thumb th1 th1-oc12 eq3 th2 th2-remark A-tcp A-cbr-low A-cbr-high tab2 fig15 fig16 fig18 tab3 fig19
        related
        """,
    ),
    "vp-tfrc-2004": (
        "vp-",
        42,
        """
        eq1 theta fig1 fig2 m-unbias-packet m-unbias-byte m-virtual-packet m-virtual-byte m-random-packet
        m-random-byte m-lip-packet m-lip-byte 4.1.1-size 4.1.1-rate 4.1.2-size 4.1.2-rate 4.1.3-size 4.1.3-rate
        fig7 fig8 4.2-settings queue fig9a fig9b fig10a fig10b fig11 fig12 lip-buffer fig13a fig13b drop-ratio
        fig13b-corrected 4.2.3-mix fig14 low-rtt-rich fig15 mismatch pktlimit-packetmode fig16 rate-cap
        conclusion
        """,
    ),
}


def wanted(name: str) -> list[str]:
    """The ids of a paper."""
    prefix, count, text = IDS[name]
    found = [prefix + word for word in text.split()]
    assert len(found) == len(set(found)) == count
    return found


def lacking(paper: Paper) -> list[str]:
    """Ids that a paper has not."""
    known = {one.id for one in paper.entries}
    return [one for one in wanted(paper.name) if one not in known]


def data_of(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def loaded(folder: Path, name: str, data: Any) -> Paper:
    """A paper of changed data."""
    (folder / f"{name}.json").write_text(json.dumps(data))
    return papers.load(name, folder)


def test_every_paper_is_here() -> None:
    assert papers.names() == sorted(IDS)
    assert sum(len(wanted(name)) for name in IDS) == 190


@pytest.mark.parametrize("name", IDS)
def test_no_id_is_missing(name: str) -> None:
    paper = papers.load(name)
    assert [one.id for one in paper.entries] == wanted(name)
    assert sum(paper.counts.values()) == len(paper.entries)


@pytest.mark.parametrize("name", IDS)
def test_a_missing_id_is_noticed(name: str, tmp_path: Path) -> None:
    data = data_of(name)
    gone = data["entries"].pop()
    assert lacking(loaded(tmp_path, name, data)) == [gone["id"]]


@pytest.mark.parametrize("name", IDS)
def test_all_that_is_named_exists(name: str) -> None:
    assert absent(papers.load(name)) == []


CHECK = {"op": "ge", "quantity": "rate", "value": 1, "origin": "paper"}
GOOD = {
    "id": "pp-1",
    "section": "1",
    "kind": "formula",
    "claim": "It is so.",
    "parameters": {"rate": 1, "link": {"delay_s": 0}},
    "checks": [CHECK],
    "open": "A run.",
}


def of_one(**changes: Any) -> Paper:
    return Paper("some", "A paper", [Entry.of({**GOOD, **changes})])


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ({"by": "scenario", "name": "b0-no-traffic"}, "no scenario b0-no-traffic"),
        ({"by": "scenario", "name": "smoke", "values": {"case": "a"}}, "smoke has no parameter case"),
        (
            {"by": "scenario", "name": "pacing-follows-the-backlog", "values": {"case": "table3"}},
            "case=table3: must be one of",
        ),
        ({"by": "test", "name": "kmod/tests/test_no_law.c::rises"}, "there is no such test"),
        # what the file has and does not run: a helper, a program's function that stands in no list, a fixture
        ({"by": "test", "name": "kmod/tests/test_law_1994.c::oracle_rate"}, "runs no test oracle_rate"),
        ({"by": "test", "name": "kmod/tests/in_lab_pktpair.py::first_flight"}, "runs no test first_flight"),
        ({"by": "test", "name": "mininet-tests/tests/lab/test_claims.py::results"}, "runs no test results"),
        ({"by": "test", "name": "kmod/tests/test_law_1994.c"}, "runs no test"),
        ({"by": "test", "name": "kmod/law_1994.h::rises"}, "there is no such test"),
        ({"by": "header", "name": "kmod/law_1993.h"}, "there is no such header"),
        ({"by": "header", "name": "kmod/tcp_pktpair.c"}, "there is no such header"),
        ({"by": "judge", "name": "vptfrc", "checks": [0]}, "vptfrc: no judge of check 0"),
        ({"by": "judge", "name": "transfers", "checks": [0]}, "transfers: no judge of check 0"),
    ],
)
def test_what_does_not_exist_is_noticed(shown: dict[str, Any], says: str) -> None:
    # beside what exists, since a header alone shows nothing
    there = {"by": "test", "name": "kmod/tests/test_law_1994.c::rate_is_the_appendix"}
    (found,) = absent(of_one(shown=[shown, there]))
    assert found.startswith("pp-1: ") and says in found


def test_tests_are_found_in_each_kind_of_file() -> None:
    assert "rate_is_the_appendix" in run_by(TOP / "kmod" / "tests" / "test_law_1994.c")
    assert "a_mark_cuts_the_setpoint" in run_by(TOP / "kmod" / "tests" / "in_lab_pktpair.py")
    # one whose list is made before it is run
    assert "a_weight_counts_in_its_host" in run_by(TOP / "qdisc" / "tests" / "in_lab_hosts.py")
    assert "test_tests_are_found_in_each_kind_of_file" in run_by(Path(__file__).resolve())


def test_a_good_entry_is_loaded() -> None:
    (one,) = of_one(inferred=["rate", "link.delay_s"]).entries
    assert one.taken == {"rate": 1, "link.delay_s": 0}
    (one,) = of_one(parameters={"at": [{"s": 1}, {"s": 2}, {}]}, inferred=["at[].s"]).entries
    assert one.taken == {"at[].s": [1, 2, None]}
    (one,) = of_one(inferred=["rate", "link.delay_s"]).entries
    assert one.state == "open" and one.checks[0].as_data() == {"op": "ge", "quantity": "rate", "value": 1}


SHOWN = [{"by": "scenario", "name": "smoke"}]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"open": "", "shown": SHOWN}, "shown"),
        ({"shown": SHOWN}, "in part"),
        ({"open": "", "shown": SHOWN, "stack": "It does this."}, "in part"),
        ({"open": "", "stack": "It does this."}, "stack"),
        ({"stack": "It does a part."}, "open"),
        ({"open": "", "out": "No numbers."}, "out"),
        ({}, "open"),
    ],
)
def test_states(changes: dict[str, Any], state: str) -> None:
    assert of_one(**changes).entries[0].state == state


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"checks": [{**CHECK, "op": "about"}]}, "pp-1: check 0: op about: must be one of rel_tol"),
        (
            {"checks": [{name: one for name, one in CHECK.items() if name != "origin"}]},
            "origin missing: must be one of",
        ),
        ({"checks": [{**CHECK, "origin": "ours"}]}, "origin ours: must be one of paper, derived, proposed"),
        ({"checks": [{**CHECK, "low": 1}]}, "check 0: low: is not known here"),
        ({"checks": [{**CHECK, "op": "eq", "quantity": ""}]}, "quantity '': must be a text"),
        ({"checks": [{**CHECK, "value": True}]}, "value True: must be a text"),
        (
            {"checks": [CHECK, {"op": "rel_tol", "quantity": "a", "expected": 1, "origin": "paper"}]},
            "1: has no rel_tol",
        ),
        (
            {"checks": [{"op": "abs_tol", "quantity": "a", "expected": 1, "abs_tol": "1", "origin": "paper"}]},
            "abs_tol '1': must be a number",
        ),
        ({"checks": []}, "must have a section, a sentence for its claim, and a check"),
        ({"checks": ["ge"]}, "check 0 'ge': must be a dict"),
        ({"claim": "No sentence"}, "must have a section, a sentence"),
        ({"kind": "table"}, "kind table: must be one of setup"),
        ({"section": 1}, "section 1 (int): must be a text"),
        ({"note": "more"}, "pp-1: note: is not known here"),
        ({"inferred": ["link.rate", "delay_s"]}, "inferred delay_s: is no parameter"),
        ({"open": ""}, "must be shown, the stack's, out or open"),
        ({"out": "No numbers."}, "what is out is not shown"),
        ({"shown": [{"by": "header", "name": "kmod/law_1994.h"}]}, "a header shows nothing"),
        ({"shown": [{"by": "hand", "name": "smoke"}]}, "shown 0: by hand: must be one of"),
        ({"shown": [{"by": "scenario"}]}, "shown 0: has no name"),
        ({"shown": [{"by": "test", "name": "a::b", "values": {"a": 1}}]}, "values are a scenario's"),
        ({"shown": [{"by": "judge", "name": "vptfrc"}]}, "a judge has checks"),
        ({"shown": [{"by": "judge", "name": "vptfrc", "checks": [1]}]}, "check 1: there are 1, from 0 on"),
    ],
)
def test_a_malformed_entry_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError) as error:
        of_one(**changes)
    assert says in str(error.value)


@pytest.mark.parametrize("op", OPERATORS)
def test_each_operator_has_its_terms(op: str) -> None:
    """Each term is asked for; numbers and texts are told apart."""
    terms = dict.fromkeys(OPERATORS[op], "some") | {name: 0.5 for name in OPERATORS[op] if name in papers.NUMBERS}
    assert of_one(checks=[{"op": op, "origin": "derived", **terms}]).entries[0].checks[0].terms == terms
    for name in terms:
        less = {key: one for key, one in terms.items() if key != name}
        with pytest.raises(PlanError, match=f"has no {name}"):
            of_one(checks=[{"op": op, "origin": "derived", **less}])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"title": "A paper", "entries": [GOOD, GOOD]}, "some.json: pp-1: is there twice"),
        ({"entries": [GOOD]}, "some.json: paper: has no title"),
        ({"title": "A paper", "entries": [GOOD], "year": 1}, "some.json: paper: year: is not known here"),
        ([GOOD], "must be a dict"),
    ],
)
def test_a_malformed_paper_is_refused(data: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as error:
        loaded(tmp_path, "some", data)
    assert says in str(error.value)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text("{")
    for name in ("some", "other"):
        with pytest.raises(PlanError, match=f"^{name}.json: "):
            papers.load(name, tmp_path)


def test_the_page_is_up_to_date() -> None:
    assert cli.main(["claims", "--check"]) == 0


def test_an_old_page_is_noticed_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "claims.rst"
    assert cli.main(["claims", "--check", "--page", str(path)]) == 1
    assert cli.main(["claims", "--page", str(path)]) == 0
    assert cli.main(["claims", "--check", "--page", str(path)]) == 0
    path.write_text(path.read_text().replace("``pp-b1``", "``pp-b0``"))
    assert cli.main(["claims", "--check", "--page", str(path)]) == 1
    assert "claims.rst: is out of date" in capsys.readouterr().err


def test_with_what_does_not_exist_no_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lab.model.papers.names", lambda: ["some"])
    gone = [{"by": "scenario", "name": "gone"}]
    monkeypatch.setattr("lab.model.papers.load", lambda name: of_one(shown=gone))
    path = tmp_path / "claims.rst"
    assert cli.main(["claims", "--page", str(path)]) == 1
    assert "pp-1: no scenario gone" in capsys.readouterr().err and not path.exists()


def test_the_page_counts_and_has_a_row_for_each() -> None:
    known = [papers.load(name) for name in papers.names()]
    text = page(known)
    for paper in known:
        counts = ";".join(f'"{count}"' for count in [*paper.counts.values(), len(paper.entries)])
        assert f'"``{paper.name}``";{counts}\n' in text
        assert all(text.count(f'\n   "``{one}``";') == 1 for one in wanted(paper.name))
    assert ';"190"\n' in text


def test_sentences_are_no_markup() -> None:
    """Of a row: what shows it, with what, and the rest."""
    shown = [
        {"by": "header", "name": "qdisc/qlbp.h"},
        {"by": "scenario", "name": "smoke", "values": {"seconds": 4.0}, "what": "all of a*b"},
        {"by": "judge", "name": "vptfrc", "checks": [0]},
    ]
    row = next(
        line for line in page([of_one(claim="a*b is a_1 and `c` of d_.", shown=shown)]).splitlines() if "pp-1" in line
    )
    assert row.split(";") == [
        '   "``pp-1``"',
        '"a\\*b is a_1 and \\`c\\` of d\\_."',
        '"in part"',
        '"``smoke`` with ``seconds=4.0`` (all of a\\*b)',
        ' ``scripts/lab vptfrc``, check 0. Formula in ``qdisc/qlbp.h``. *Open:* A run."',
    ]
