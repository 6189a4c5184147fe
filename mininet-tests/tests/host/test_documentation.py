# SPDX-License-Identifier: GPL-2.0
"""Documentation/index.rst: its map of the sources."""

import re

from conftest import TOP


def test_map() -> None:
    """The map names every source file of both modules and the plugin, and nothing that there is not."""
    text = (TOP / "Documentation" / "index.rst").read_text()
    (block,) = re.findall(r"^::\n\n((?: {4}.*\n|\n)+)", text, re.MULTILINE)
    named = {line.split()[0] for line in block.splitlines() if line}
    assert not [path for path in named if not list(TOP.glob(path))]
    folders = ("include", "include/uapi/linux", "kmod", "qdisc", "tc-plugin")
    sources = {str(path.relative_to(TOP)) for folder in folders for path in (TOP / folder).glob("*.[ch8]")}
    assert {path for path in named if path.split("/")[0] in ("include", "kmod", "qdisc", "tc-plugin")} == sources
