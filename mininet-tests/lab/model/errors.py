# SPDX-License-Identifier: GPL-2.0
"""The one error that a user can act on."""


class PlanError(Exception):
    """An experiment that cannot be as it is described; the message names value and limit."""
