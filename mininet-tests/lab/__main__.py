# SPDX-License-Identifier: GPL-2.0
"""``python -m lab``: what scripts/lab starts."""

import sys

from .cli import main

sys.exit(main())
