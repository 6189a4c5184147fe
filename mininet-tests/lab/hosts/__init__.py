# SPDX-License-Identifier: GPL-2.0
"""Plans on real machines, over ssh: which node each is, what is changed there, and how it is put back."""
