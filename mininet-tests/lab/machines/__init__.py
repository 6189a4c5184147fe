# SPDX-License-Identifier: GPL-2.0
"""Where runs are carried out: guests, and what goes into them."""
