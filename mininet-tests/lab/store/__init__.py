# SPDX-License-Identifier: GPL-2.0
"""Which runs a study asks for, who executes them, and where what they gave is kept."""
