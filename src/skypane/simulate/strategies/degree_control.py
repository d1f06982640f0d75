"""DegreeControl: the degree of the virtual window stage, from its utilization."""

from __future__ import annotations

import numpy as np

from skypane.scheduling.utilization import Measurement


class DegreeControl:
    """Chooses the degree of the window stage from its utilization, as paper 2's rules 4 to 6 do.

    The three fuzzy sets for utilization (fast, acceptable, slow) with the outputs 0.5, 1 and 1.5 are, for this one
    input, a broken line: halve at 0.5 and below, keep at 0.9, one and a half times at 1.3 and above.
    """

    def __init__(self, degree: int, most: int = 60) -> None:
        self._degree = degree
        self._most = most
        self.history: list[tuple[float, int, float]] = [(0.0, degree, 0.0)]
        """When which degree began, and the utilization that led to it."""

    def __call__(self, now_us: float, measurement: Measurement, wanted_tasks: int) -> int:
        """The degree from now on; ``wanted_tasks`` are those that came in the period and those that wait."""
        done = sum(worker.done for worker in measurement.workers)
        busy_us = sum(worker.busy_us for worker in measurement.workers)
        if done and busy_us:
            idle_us = max(0.0, measurement.period_us * self._degree - busy_us)
            rho = wanted_tasks / (done + idle_us / (busy_us / done))
            wanted = self._degree * float(np.interp(rho, [0.5, 0.9, 1.3], [0.5, 1.0, 1.5]))
            # Rounding would keep a degree of 1 for ever: from there any clear overload adds a worker.
            self._degree = max(1, min(self._most, round(wanted) if self._degree > 1 or wanted < 1.25 else 2))
            self.history.append((now_us, self._degree, rho))
        return self._degree

    def capacity_us(self, start_us: float, end_us: float) -> float:
        """Worker time that was there between two times."""
        total = 0.0
        for (begin_us, degree, _), after in zip(self.history, [*self.history[1:], (end_us, 0, 0.0)], strict=True):
            total += degree * max(0.0, min(after[0], end_us) - max(begin_us, start_us))
        return total
