# SPDX-License-Identifier: GPL-2.0
"""From raw results to figures: always computed anew, never kept."""
