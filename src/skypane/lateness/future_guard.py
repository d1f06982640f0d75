"""FutureGuard: one record dated tomorrow must not make every other record late.

The newest trusted time ``t_max`` may move

* in steps of at most ``max_future`` from one record to the next, or
* anywhere, where at least ``support`` records are.

What is still beyond is quarantined, and remembered as evidence: once ``support`` such records have come, the stream
really has moved there. All of it is a function of the committed state and of the records as a multiset, so that a
replay, or another distribution of records over tasks, decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array

FUTURE_REASON = "time beyond the future guard"


@dataclass(frozen=True)
class FutureGuard:
    """How far ahead of the stream a record may be dated; ``None`` lets any time through."""

    max_future_us: int | None
    support: int = 5

    def __post_init__(self) -> None:
        if self.support < 1:
            raise OptionError(f"future_support={self.support} must be 1 or more.")

    def newest(self, times: Iterable[int]) -> tuple[int, ...]:
        """The ``support`` newest times, newest first: all that :meth:`anchor` needs to know of many records."""
        return tuple(sorted(times, reverse=True)[: self.support])

    def newest_of(self, times: Int64Array) -> tuple[int, ...]:
        """The same for an array, without sorting all of it."""
        if len(times) > self.support:
            times = np.partition(times, len(times) - self.support)[-self.support :]
        return self.newest(times.tolist())

    def anchor(self, t_max_us: int | None, newest: Sequence[int]) -> int | None:
        """The newest time that is beyond doubt: ``t_max`` so far, or one that enough records reach."""
        supported = newest[self.support - 1] if len(newest) >= self.support else None
        known = [t for t in (t_max_us, supported) if t is not None]
        return max(known) if known else None

    def trusted_until(self, anchor_us: int | None, times: Int64Array) -> int | None:
        """The newest trusted time once these records are seen; records beyond it are not trusted."""
        if self.max_future_us is None:
            newest = int(times.max()) if len(times) else anchor_us
            return newest if anchor_us is None else max(anchor_us, newest if newest is not None else anchor_us)
        if anchor_us is None:
            return None
        ahead = np.sort(times[times > anchor_us])
        if not len(ahead):
            return anchor_us
        jumps = np.diff(ahead, prepend=anchor_us) > self.max_future_us
        reached = int(np.argmax(jumps)) if jumps.any() else len(ahead)
        return int(ahead[reached - 1]) if reached else anchor_us
