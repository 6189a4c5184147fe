# SPDX-License-Identifier: GPL-2.0
"""Commands that are more than a sweep: what the user types, and what becomes of it."""
