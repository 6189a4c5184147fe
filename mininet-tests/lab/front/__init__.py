# SPDX-License-Identifier: GPL-2.0
"""The commands of scripts/lab, a module each (``lab/cli.py`` lists them), and what several share."""
