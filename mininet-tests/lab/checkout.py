# SPDX-License-Identifier: GPL-2.0
"""Where the checkout is, and its cache."""

from __future__ import annotations

import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("PKTPAIR_CACHE", TOP / ".cache"))
