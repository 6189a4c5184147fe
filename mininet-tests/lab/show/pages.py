# SPDX-License-Identifier: GPL-2.0
"""Pages of templates, in which what comes from elsewhere is text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).parent / "templates"


def text(value: Any) -> str:
    """What was measured or published, to be read."""
    return value if isinstance(value, str) else json.dumps(value).replace('"', "").strip("{}")


def rendered(template: str, **values: Any) -> str:
    """A page; jinja2.UndefinedError if the template wants a value that is not given."""
    environment = jinja2.Environment(
        autoescape=True, loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.get_template(template).render(**values)
