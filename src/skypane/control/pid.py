"""PID: a discrete-time controller that adjusts one number so that one measurement meets a set-point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skypane.model.errors import OptionError


@dataclass(frozen=True)
class Gains:
    """Weights of the error, of the sum of errors and of the change of the error."""

    proportional: float
    integral: float
    derivative: float


@dataclass(frozen=True)
class Pid:
    """Equation 3 of paper 1: ``Kp e + Ki sum(e) + Kd (e - e before)`` with ``e = set_point - measured``.

    The output is an *adjustment*, at most ``limit`` either way. Two things keep past errors from piling up while
    nothing can be done about them (integral windup): the sum never asks for more than the limit, and it takes in no
    error that pushes against an actuator that is already at its end (``blocked``).
    """

    gains: Gains
    set_point: float
    limit: float
    error_sum: float = 0.0
    last_error: float | None = None

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
        wanted = gains.proportional * error + gains.integral * total + gains.derivative * change
        after = replace(self, error_sum=total, last_error=error)
        return max(-self.limit, min(self.limit, wanted)), after

    def _bounded(self, total: float) -> float:
        if self.gains.integral == 0.0:
            return 0.0
        most = self.limit / abs(self.gains.integral)
        return max(-most, min(most, total))

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        gains = self.gains
        return {
            "gains": [gains.proportional, gains.integral, gains.derivative],
            "set_point": self.set_point,
            "limit": self.limit,
            "error_sum": self.error_sum,
            "last_error": self.last_error,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Pid:
        """The inverse of :meth:`to_json`."""
        return cls(Gains(*body["gains"]), body["set_point"], body["limit"], body["error_sum"], body["last_error"])
