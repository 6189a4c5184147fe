# SPDX-License-Identifier: GPL-2.0
"""The errors that a user can act on."""


class LabError(Exception):
    """Something is missing, or cannot be done here; the message says what."""


class PlanError(Exception):
    """An experiment that cannot be as it is described; the message names value and limit."""


class RunError(Exception):
    """The run is not what it was meant to be; its figures mean nothing."""
