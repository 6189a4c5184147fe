# SPDX-License-Identifier: GPL-2.0
"""Sphinx: sphinx-build -W Documentation FOLDER, which make lint does, warns of nothing."""

project = "Packet pair for Linux"
# literal blocks are commands, formulas and tables
highlight_language = "none"
# a reference to what there is not is a warning, too
nitpicky = True
