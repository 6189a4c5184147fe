# SPDX-License-Identifier: GPL-2.0
"""What the project's modules add to a kernel."""

# Where a build has each module that guests load; those below bench are for experiments: a lossy link, a congestion
# control whose window stays, and protocols and switches of the thesis' chapter 6.
FILES = (
    *("kmod/tcp_pktpair.ko", "kmod/tcp_vptfrc.ko", "qdisc/sch_fq_rr.ko"),
    *("bench/sch_lossy.ko", "bench-cc/tcp_fixed_window.ko", "bench-cc/tcp_thesis.ko", "bench/sch_thesis.ko"),
)
# By module.
CONGESTION_CONTROLS = {
    "tcp_pktpair": ("pktpair", "pktpair_1994"),
    "tcp_vptfrc": ("vptfrc",),
    "tcp_fixed_window": ("fixed_window",),
    "tcp_thesis": ("thesis_generic", "thesis_jk", "thesis_decbit"),
}
# What the goals are about: a congestion control, and the queue that it is made for.
PACKET_PAIR_OVER_ROUND_ROBIN = ("pktpair", "fq_rr")
# What tcp_pktpair takes the bottleneck for: an event at the end of each block of round trips, and of each change.
TURNS_EVENT = "pktpair:pktpair_turns"
