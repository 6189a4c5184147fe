# SPDX-License-Identifier: GPL-2.0
"""What the project's two modules add to a kernel."""

# Of tcp_pktpair.
CONGESTION_CONTROLS = ("pktpair", "pktpair_1994")
# What the goals are about: a congestion control, and the queue that it is made for.
PACKET_PAIR_OVER_ROUND_ROBIN = ("pktpair", "fq_rr")
# What tcp_pktpair takes the bottleneck for: an event at the end of each block of round trips, and of each change.
TURNS_EVENT = "pktpair:pktpair_turns"
