"""Idleness: whether a stream has been silent for so long, as far as anybody has looked for its records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Idleness:
    """Counts from the last record on. What comes between two looks at the source is seen with the second only."""

    def __init__(
        self, timeout_s: float | None, between_looks_s: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._timeout_s, self._between_looks_s, self._clock = timeout_s, between_looks_s, clock
        self._since = clock()
        self._looking = True

    def is_over(self) -> bool:
        """Whether the time is over; never where there is none."""
        if self._timeout_s is None or not self._looking:
            return False
        return self._clock() - self._since >= self._timeout_s + self._between_looks_s

    def anew(self) -> None:
        """Records have come, or it is known that none have."""
        self._since = self._clock()

    @contextmanager
    def not_looking(self) -> Iterator[None]:
        """Meanwhile nobody looks for records, so nobody knows of any."""
        self._looking = False
        try:
            yield
        finally:
            self.anew()
            self._looking = True
