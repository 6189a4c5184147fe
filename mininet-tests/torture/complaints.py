# SPDX-License-Identifier: GPL-2.0
"""What a kernel that watches itself says when something is wrong."""

import re

COMPLAINT = re.compile(
    r"\bBUG\b|WARNING|KASAN|KCSAN|UBSAN|ODEBUG|Oops|cut here|general protection|possible (circular|recursive)"
    r"|inconsistent (lock state|\{)|suspicious|bad unlock|held lock|refcount_t|leaked|list_(add|del) corruption"
    r"|scheduling while atomic|sleeping function|unregister_netdevice"
    r"|\bstall|\bhung\b|lockup|new suspected memory leaks|leak detector disabled"
)
# The kernel itself has data races that its authors know of. A report's first line names
# both functions, and their modules.
RACE = re.compile(r"KCSAN: .*\bin\b")
OUR_MODULES = re.compile(r"\[(sch_fq_rr|tcp_pktpair)\]")
# The kernel reads how many packets and bytes any qdisc has, and what it has dropped, without
# its lock, for a dump; who changes the numbers is a function of that qdisc. What fq_rr itself
# dumps is not in there: of a class it hands gnet_stats_add_queue() a copy. KCSAN names the two
# in the order of the alphabet.
LENGTH_READ = re.compile(r"KCSAN: data-race in fq_rr_\w+ \[sch_fq_rr\] / (tc_fill_qdisc|gnet_stats_add_queue)\s*$")
# Nor does it take the lock to see that a qdisc has one at all: that flag stays, another of
# the same word changes with the rate.
FLAGS_READ = re.compile(r"KCSAN: data-race in __dev_queue_xmit / fq_rr_apply \[sch_fq_rr\]\s*$")
# An allocation was made to fail while a page of the requesting process' own was fetched: the
# fault is taken again.
INJECTED = re.compile(r"VM_FAULT_OOM leaked out to the #PF handler")


def is_complaint(line: str) -> bool:
    """Whether a line of the kernel's log says that something is wrong.

    A data race counts if one of the two functions is one of our modules', but for two.
    """
    if any(known.search(line) for known in (INJECTED, LENGTH_READ, FLAGS_READ)):
        return False
    if RACE.search(line) and not OUR_MODULES.search(line):
        return False
    return bool(COMPLAINT.search(line))
