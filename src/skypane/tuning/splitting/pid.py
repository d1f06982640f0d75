"""PID: a discrete-time controller that adjusts one number so that one measurement meets a set-point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from skypane.model.errors import OptionError

OWED_PERIODS = 4
"""At most so many full outputs are made up for after the limit has cut something off."""


class Gains(NamedTuple):
    """Weights of the error, of the sum of errors and of the change of the error."""

    proportional: float
    integral: float
    derivative: float


@dataclass(frozen=True)
class Pid:
    """Equation 3 of paper 1: ``Kp e + Ki sum(e) + Kd (e - e before)`` with ``e = set_point - measured``.

    The output is an *adjustment*, at most ``limit`` either way. What the limit cuts off is made up for in the next
    periods, as far as they have room: errors that are rare and large, all to one side, must not be lost, or the mean is
    off. Three things keep past errors from piling up while nothing can be done about them (integral windup): the sum
    never asks for more than the limit, no more is made up for than fits into a few periods, and neither takes in
    anything that pushes against an actuator that is already at its end (``blocked``).
    """

    gains: Gains
    set_point: float
    limit: float
    error_sum: float = 0.0
    last_error: float | None = None
    owed: float = 0.0
    """What the limit has cut off and is yet to be made up for."""

    def __post_init__(self) -> None:
        if self.limit <= 0:
            raise OptionError(f"the limit of a PID must be above 0, not {self.limit}.")

    def update(self, measured: float, *, blocked: int = 0) -> tuple[float, Pid]:
        """The adjustment for one more measurement, and the controller after it.

        ``blocked`` is 1 if what is adjusted cannot go higher, -1 if it cannot go lower, 0 if it is free.
        """
        error = self.set_point - measured
        total = self.error_sum if blocked * error > 0 else self._bounded(self.error_sum + error)
        change = 0.0 if self.last_error is None else error - self.last_error
        gains = self.gains
        wanted = gains.proportional * error + gains.integral * total + gains.derivative * change + self.owed
        output = _within(self.limit, wanted)
        owed = 0.0 if blocked * wanted > 0 else _within(OWED_PERIODS * self.limit, wanted - output)
        return output, replace(self, error_sum=total, last_error=error, owed=owed)

    def _bounded(self, total: float) -> float:
        if self.gains.integral == 0.0:
            return 0.0
        return _within(self.limit / abs(self.gains.integral), total)


def _within(limit: float, value: float) -> float:
    return max(-limit, min(limit, value))
