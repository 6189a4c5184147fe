# SPDX-License-Identifier: GPL-2.0
"""``python -m lab``: what scripts/lab starts."""

import sys

from .cli import main

# a worker that this process starts imports the module
if __name__ == "__main__":
    sys.exit(main())
