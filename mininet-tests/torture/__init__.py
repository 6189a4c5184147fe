# SPDX-License-Identifier: GPL-2.0
"""The modules in kernels that watch themselves, tortured (Documentation/torture.rst)."""
