# SPDX-License-Identifier: GPL-2.0
"""The kernel's own tests of tc (tools/testing/selftests/tc-testing), on our cases, in the lab."""
