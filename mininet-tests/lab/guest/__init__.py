# SPDX-License-Identifier: GPL-2.0
"""What runs inside a guest, with the distribution's own Python."""
