"""Idleness: whether a stream has been silent for so long, as far as Spark has looked for its records.

Time that has passed says nothing by itself: the process may have been frozen, a step or a pause between two may have
been long, and records wait at the source. So when the time is over Spark's next look at the source is waited for, and
only one that finds nothing makes the stream a silent one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery


class Look(Protocol):
    """Looks at a source."""

    def ask(self) -> None:
        """Start watching now."""
        ...

    def found_nothing(self) -> bool:
        """Whether the source was read since then, without records."""
        ...


class SparkLook:
    """Watches Spark's own looks, by the flag that its ``processAllAvailable()`` waits for."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._execution = query._jsq.streamingQuery()  # noqa: SLF001 - there is no public way
        self._is_old = False

    def ask(self) -> None:
        """One that is under way may have begun before a pause: it does not count."""
        self._forget()
        self._is_old = bool(self._query.status["isTriggerActive"])

    def found_nothing(self) -> bool:
        """Whether Spark has begun to look after it was asked, and has ended without records."""
        if not self._execution.noNewData():
            return False
        if self._is_old:
            self._forget()
            self._is_old = False
            return False
        return True

    def _forget(self) -> None:
        getattr(self._execution, "noNewData_$eq")(False)


class Idleness:
    """Counts from the last record on."""

    def __init__(self, timeout_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s, self._clock = timeout_s, clock
        self._asked = False
        self._since = clock()

    def is_over(self, look: Look) -> bool:
        """Whether the time is over, and nothing was found after it; never where there is none."""
        if self._timeout_s is None or self._clock() - self._since < self._timeout_s:
            return False
        if not self._asked:
            look.ask()
            self._asked = True
        return look.found_nothing()

    def anew(self) -> None:
        """Records have come, or it is known that none have."""
        self._since = self._clock()
        self._asked = False
