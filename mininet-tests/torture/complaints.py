# SPDX-License-Identifier: GPL-2.0
"""What a kernel that watches itself says when something is wrong."""

import re

COMPLAINT = re.compile(
    r"\bBUG\b|WARNING|KASAN|KCSAN|UBSAN|ODEBUG|Oops|cut here|general protection|possible (circular|recursive)"
    r"|inconsistent|suspicious|bad unlock|held lock|refcount_t|leaked|list_(add|del) corruption"
    r"|scheduling while atomic|sleeping function|unregister_netdevice"
    r"|\bstall|\bhung\b|lockup|new suspected memory leaks"
)
