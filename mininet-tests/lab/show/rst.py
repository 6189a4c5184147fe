# SPDX-License-Identifier: GPL-2.0
"""Parts of pages in Documentation/ that commands write."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

# What reStructuredText takes for markup in a sentence.
MARKUP = re.compile(r"[*`|\\]|(?<=\w)_(?!\w)")


def sentence(text: str) -> str:
    """Text that is to stand as it is."""
    return MARKUP.sub(lambda found: "\\" + found[0], text)


def heading(text: str, line: str) -> str:
    """A heading, underlined with a character."""
    return f"{text}\n{line * len(text)}\n\n"


def table(rows: Iterable[Sequence[object]], header: Sequence[str], widths: str = "") -> str:
    """A table.

    :param widths: of the columns, relative to each other
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\n")
    options = f"   :widths: {widths}\n" if widths else ""
    text.write(f".. csv-table::\n   :delim: ;\n   :header-rows: 1\n{options}\n")
    for row in [header, *rows]:
        text.write("   ")
        writer.writerow(row)
    return text.getvalue()
