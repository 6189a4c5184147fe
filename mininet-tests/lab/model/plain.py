# SPDX-License-Identifier: GPL-2.0
"""What other machines say, as it may be shown: a terminal would obey some characters."""

from __future__ import annotations

from typing import Any


def plain(said: Any) -> Any:
    """The same, whatever JSON has, with characters that are not printed written out.

    Ends of lines and tabs stay.
    """
    if isinstance(said, str):
        if said.isprintable():
            return said
        return "".join(one if one.isprintable() or one in "\n\t" else repr(one)[1:-1] for one in said)
    if isinstance(said, dict):
        return {plain(name): plain(value) for name, value in said.items()}
    if isinstance(said, list | tuple):
        return [plain(one) for one in said]
    return said
