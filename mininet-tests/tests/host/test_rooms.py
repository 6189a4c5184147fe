# SPDX-License-Identifier: GPL-2.0
"""The lab's rooms: which may know which others."""

import ast
from pathlib import Path

import pytest
from conftest import TOP

PACKAGE = TOP / "mininet-tests" / "lab"
FOR_ALL = {"files", "checkout"}
# A room, or a single module of one.
ALLOWED: dict[str, set[str]] = {
    "model": set(),
    "guest": {"model", "topo"},
    # the engine is what a sweep asks for, and is told runs
    "machines": {"model", "guest", "btf", "store.engine", "store.run"},
    # what an agent on a host has of the guest's, and what is built for both
    "hosts": {"model", "guest", "btf", "machines.plans", "store.engine", "store.run"},
    "store": {"model"},
    "analyse": {"model", "store"},
    # a report opens a study
    "show": {"model", "analyse", "store.study", "store.digest"},
    "front": {"model", "guest", "machines", "hosts", "store", "analyse", "show"},
    # Mininet's side of a topology, and the kernel's type information
    "topo": {"model"},
    "btf": {"model"},
}


def imported(path: Path) -> set[str]:
    """Modules of the lab that a file imports, wherever in it, by their names below the package."""
    name = path.relative_to(PACKAGE).with_suffix("").parts
    folder = name if path.stem == "__init__" else name[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name.removeprefix("lab.") for one in node.names if one.name.startswith("lab.")}
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] == "lab"):
            above = folder[: len(folder) - node.level + 1] if node.level else ()
            module = (node.module or "") if node.level else (node.module or "").partition(".")[2]
            base = ".".join([*above, *filter(None, [module])])
            found |= {".".join(filter(None, [base, one.name])) for one in node.names}
    return found


def test_imports_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative and absolute ones, in functions and for types."""
    monkeypatch.setattr("test_rooms.PACKAGE", tmp_path)
    path = tmp_path / "store" / "some.py"
    path.parent.mkdir()
    path.write_text(
        "import json\nimport lab.guest.agent\nfrom .. import files\nfrom . import digest\nfrom .run import Run\n"
        "from lab.model import plan\ndef late():\n    from ..show.progress import Progress\n"
    )
    assert imported(path) == {
        *("guest.agent", "files", "store.digest", "store.run.Run", "model.plan", "show.progress.Progress")
    }


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_knows_no_other_than_it_may(room: str) -> None:
    allowed = FOR_ALL | ALLOWED[room] | {room}
    files = sorted((PACKAGE / room).rglob("*.py")) or [PACKAGE / f"{room}.py"]
    strange = {
        f"{path.name}: {name}"
        for path in files
        for name in imported(path)
        if not any(name == known or name.startswith(f"{known}.") for known in allowed)
    }
    assert not strange


def test_every_room_is_known() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == {room for room in ALLOWED if (PACKAGE / room).is_dir()}
