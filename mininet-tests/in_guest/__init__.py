# SPDX-License-Identifier: GPL-2.0
"""What tests inside a guest share: TAP, a link to test on, netlink by hand, fq_rr.

Needs only the standard library, root, and the modules loaded.  ``scripts/lab exec`` puts
the folder of this package on the path of what it runs.
"""
