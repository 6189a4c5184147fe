# SPDX-License-Identifier: GPL-2.0
"""What a kernel that watches itself says when something is wrong."""

import re

COMPLAINT = re.compile(
    r"\bBUG\b|WARNING|KASAN|KCSAN|UBSAN|ODEBUG|Oops|cut here|general protection|possible (circular|recursive)"
    r"|inconsistent|suspicious|bad unlock|held lock|refcount_t|leaked|list_(add|del) corruption"
    r"|scheduling while atomic|sleeping function|unregister_netdevice"
    r"|\bstall|\bhung\b|lockup|new suspected memory leaks|leak detector disabled"
)
# The kernel itself has data races that its authors know of. A report's first line names
# both functions, and their modules.
RACE = re.compile(r"KCSAN: .*\bin\b")
OURS = re.compile(r"\[(sch_fq_rr|tcp_pktpair)\]")


def is_complaint(line: str) -> bool:
    """Whether a line of the kernel's log says that something is wrong.

    A data race counts if one of the two functions is one of our modules'.
    """
    return bool(COMPLAINT.search(line)) and not (RACE.search(line) and not OURS.search(line))
