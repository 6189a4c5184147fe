# SPDX-License-Identifier: GPL-2.0
"""Both modules in kernels that watch themselves, tortured (Documentation/torture.rst)."""
