"""TaskTrust: which of its records one task can trust by itself; all tasks together can only trust more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skypane.lateness.future_guard import FutureGuard
from skypane.model.groups import BoolArray, Int64Array


class TaskTrust:
    """Show it times, in any number and order."""

    def __init__(
        self, guard: FutureGuard, t_max_us: int | None, witnesses_us: Sequence[int], limit_us: int | None
    ) -> None:
        self.newest_us: tuple[int, ...] = ()
        """The newest times up to the clock, newest first."""
        self.trusted_us: int | None = None
        """The newest time that it could trust so far."""
        self._guard, self._t_max_us, self._witnesses_us, self._limit_us = guard, t_max_us, witnesses_us, limit_us

    def believe(self, newest_us: Sequence[int]) -> None:
        """Of records that are beyond doubt, these are the newest times."""
        self.newest_us = self._guard.newest((*self.newest_us, *newest_us))
        self.trusted_us = max((t for t in (*newest_us, self.trusted_us) if t is not None), default=None)

    def suspicious(self, times_us: Int64Array) -> BoolArray:
        """Which of these times it cannot trust: those beyond the clock, and fewer than ``support`` others."""
        guard = self._guard
        possible = times_us if self._limit_us is None else times_us[times_us <= self._limit_us]
        self.newest_us = guard.newest((*self.newest_us, *guard.newest_of(possible)))
        anchor = guard.anchor(self._t_max_us, guard.newest((*self.newest_us, *self._witnesses_us)))
        start = max((t for t in (anchor, self.trusted_us) if t is not None), default=None)
        self.trusted_us = guard.trusted_until(start, possible)
        if self.trusted_us is None:
            return np.ones(len(times_us), dtype=np.bool_)
        beyond: BoolArray = times_us > self.trusted_us
        return beyond
