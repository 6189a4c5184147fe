# SPDX-License-Identifier: GPL-2.0
"""Documentation/claims.rst: what the papers claim, and what shows it."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.papers import STATES, Entry, Paper, Shown
from .rst import heading, sentence, table

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0
.. Written by scripts/lab claims from mininet-tests/lab/model/papers/.

What the papers claim
=====================

The {count} claims, experiments, formulas, methods and set-ups of {papers} papers, one row each: what is claimed, and
what decides whether it holds.

=========== ==============================================================================================
state       meaning
=========== ==============================================================================================
``shown``   tests or scenarios decide all checks of it; an experiment is decided by runs in the lab
``in part`` they decide a part; the row names the rest
``stack``   the kernel's stack does this, and differs as the row says
``out``     nothing is to show it, for the reason in the row
``open``    nothing decides it yet; the row names what will
=========== ==============================================================================================

What is *shown* is decided by every run of the named test or scenario. A campaign (``scripts/lab vptfrc``) writes a
verdict for each check, which may be that it does not hold.

"""
FOOT = """
The checks with their bounds, the parameters that the text does not state, and the readings that it leaves open are in
``mininet-tests/lab/model/papers/``. After a change there, or of a test's name::

    scripts/lab claims           writes this page
    scripts/lab claims --check   fails if the page is out of date, or something that is named does not exist
"""


def page(papers: Sequence[Paper]) -> str:
    """All of it."""
    counts = [[f"``{one.name}``", *one.counts.values(), len(one.entries)] for one in papers]
    whole = ["all", *(sum(one.counts[state] for one in papers) for state in STATES)]
    whole.append(sum(len(one.entries) for one in papers))
    parts = [
        HEAD.format(count=whole[-1], papers=len(papers)),
        table([*counts, whole], ["paper", *STATES, "all"]),
        FOOT,
    ]
    for one in papers:
        parts.append(f"\n{heading(one.name, '-')}{sentence(one.title)}.\n\n")
        rows = [[f"``{entry.id}``", sentence(entry.claim), entry.state, _where(entry)] for entry in one.entries]
        parts.append(table(rows, ["id", "claim", "state", "what shows it, or why nothing does"], "14 36 8 42"))
    return "".join(parts)


def _where(entry: Entry) -> str:
    """What shows an entry, and what is said of the rest."""
    parts = [_shown(one) for one in entry.shown if one.by != "header"]
    headers = [f"Formula in ``{one.name}``." for one in entry.shown if one.by == "header"]
    told = {"The stack": entry.stack, "Out": entry.out, "Open": entry.open}
    rest = [f"*{name}:* {sentence(text)}" for name, text in told.items() if text]
    return " ".join([*([f"{'; '.join(parts)}."] if parts else []), *headers, *rest])


def _shown(one: Shown) -> str:
    name = f"``{one.name}``"
    if one.values:
        name += f" with {', '.join(f'``{key}={value}``' for key, value in one.values.items())}"
    if one.by == "judge":
        name = f"``scripts/lab {one.name}``, check {', '.join(map(str, one.checks))}"
    return f"{name} ({sentence(one.what)})" if one.what else name
