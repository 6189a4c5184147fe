# SPDX-License-Identifier: GPL-2.0
"""The errors that a user can act on."""


class LabError(Exception):
    """Something is missing, or cannot be done here; the message says what."""


class PlanError(Exception):
    """An experiment that cannot be as it is described; the message names value and limit."""


class RunError(Exception):
    """The run is not what it was meant to be; its figures mean nothing."""


class NotMeasuredError(Exception):
    """A check needs a run that was not made, or a figure that it has not."""


def in_range(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """PlanError with the limit that a number breaks; one that is none breaks each."""
    if not value >= low:
        raise PlanError(f"{name} {value}: must be at least {shown(low)}")
    if value == float("inf"):
        raise PlanError(f"{name} {value}: must be finite")
    if value > high:
        raise PlanError(f"{name} {value}: must be at most {shown(high)}")


def shown(number: float) -> str:
    """A limit with all of its digits."""
    return f"{number:.16g}"
