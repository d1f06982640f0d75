"""Stopwatch: how long the parts of a step took, by name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

Part = Literal["panes", "windows", "sinks", "commit"]


@dataclass(frozen=True)
class StepTimes:
    """The parts of a step, in milliseconds."""

    panes: float
    windows: float
    sinks: float
    commit: float

    @property
    def total(self) -> float:
        """Milliseconds of the whole step."""
        return round(self.panes + self.windows + self.sinks + self.commit, 2)


class Stopwatch:
    """Started when it is made; a lap is the time since the one before. A part may have several."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._laps_s: dict[Part, float] = {}

    def lap(self, part: Part) -> None:
        """End a part of the step, or a second go at it, and add its time."""
        now = time.perf_counter()
        self._laps_s[part] = self._laps_s.get(part, 0.0) + now - self._last
        self._last = now

    def us(self, *parts: Part) -> int:
        """How long some parts took together; one that is not over counts nothing."""
        return int(sum(self._laps_s.get(part, 0.0) for part in parts) * 1e6)

    def times(self) -> StepTimes:
        """The times of all parts of the step."""
        panes, windows, sinks, commit = (
            round(self._laps_s.get(part, 0.0) * 1e3, 2) for part in ("panes", "windows", "sinks", "commit")
        )
        return StepTimes(panes, windows, sinks, commit)
