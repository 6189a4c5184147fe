# SPDX-License-Identifier: GPL-2.0
"""What people look at: progress while a study grows, and its report."""
