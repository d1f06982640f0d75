"""SplittingController: the loop around the utilization - a relay experiment, then the PID with the gains it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skypane.model.codec import plain, typed
from skypane.model.errors import OptionError
from skypane.tuning.splitting.pid import Gains, Pid
from skypane.tuning.splitting.relay import Relay
from skypane.tuning.splitting.utilization import Measurement, utilization

FALLBACK_GAINS = Gains(0.1, 0.0, 0.05)
"""If the experiment shows no oscillation, because splitting makes no difference: cautious."""


@dataclass(frozen=True)
class ControlOptions:
    """How the splitting is controlled."""

    set_point: float = 0.9
    limit: float = 0.3
    """The largest adjustment in one sampling period; adjustments are relative, of the logarithm."""
    warm_up_periods: int = 40
    """Sampling periods for the relay experiment; 0 takes ``gains`` as they are."""
    gains: Gains | None = None
    """Gains to use instead of those of the experiment."""

    def __post_init__(self) -> None:
        if not 0.1 <= self.set_point < 1.0:
            raise OptionError(f"set_point={self.set_point!r} must be a number from 0.1 to below 1.")
        if self.warm_up_periods < 0:
            raise OptionError(f"warm_up_periods={self.warm_up_periods!r} must be 0 or more.")


class SplittingController:
    """Turns measurements into adjustments: positive to split less, negative to split more."""

    def __init__(self, options: ControlOptions) -> None:
        self._options = options
        self._relay = Relay(options.set_point)
        self._periods = 0
        self._pid = self._tuned() if options.warm_up_periods == 0 else None
        self.last_utilization: float | None = None

    def adjust(self, measurement: Measurement, blocked: int) -> float:
        """The adjustment after one sampling period; ``blocked`` as for :meth:`.Pid.update`."""
        measured = utilization(measurement)
        if measured is None:
            return 0.0
        self.last_utilization = measured
        if self._pid is not None:
            adjustment, self._pid = self._pid.update(measured, blocked=blocked)
            return adjustment
        adjustment, self._relay = self._relay.update(measured)
        self._periods += 1
        if self._periods >= self._options.warm_up_periods:
            self._pid = self._tuned()
        return adjustment

    @property
    def gains(self) -> Gains | None:
        """The gains in use; ``None`` during warm-up."""
        return None if self._pid is None else self._pid.gains

    @property
    def relay(self) -> Relay:
        """The experiment, as far as it has come."""
        return self._relay

    def _tuned(self) -> Pid:
        gains = self._options.gains or self._relay.gains(adds_up=True) or FALLBACK_GAINS
        return Pid(gains, self._options.set_point, self._options.limit)

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "relay": plain(self._relay),
            "periods": self._periods,
            "pid": plain(self._pid),
            "last_utilization": self.last_utilization,
        }

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue from :meth:`to_json`."""
        self._relay = typed(body["relay"], Relay)
        self._periods = body["periods"]
        self._pid = None if body["pid"] is None else typed(body["pid"], Pid)
        self.last_utilization = body["last_utilization"]
