# SPDX-License-Identifier: GPL-2.0
"""A tenant who attacks fq_rr, and a peer who plays TCP at tcp_pktpair (Documentation/hostile.rst)."""
