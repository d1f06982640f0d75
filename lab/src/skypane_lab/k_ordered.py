"""KOrdered: window results leave with bounded disorder: what leaves more than k places after x is not older than x.

With k = 0 they leave in order. A window is *overtaken* when a newer one leaves before it; the first time that happens,
at place p, it must leave by place p + k. So a result may go only if afterwards all windows that were overtaken and are
missing still fit, one in each place, by their deadlines; else it is held. Numbers have no gaps, so every missing one
will come. A sequence that comes k-ordered leaves as it comes.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import takewhile
from typing import Generic, TypeVar

from skypane.model.errors import OptionError

T = TypeVar("T")


class KOrdered(Generic[T]):
    """Collects the results of the windows ``first``, ``first + 1``, ..., each of which comes once, in any order."""

    def __init__(self, first: int, k: int = 0) -> None:
        if k < 0:
            raise OptionError(f"k={k} must be a whole number from 0: how many places a result may be late.")
        self._k = k
        self._next = first
        """Nothing from here on was overtaken, nor has left."""
        self._place = 0
        self._late: deque[tuple[int, int]] = deque()
        """Windows that were overtaken and have not left, with the place by which they must; both in order."""
        self._held: dict[int, T] = {}
        self._newer: list[int] = []
        """Held windows from the next one on, as a heap: a step that catches up may close many thousands."""

    @property
    def held(self) -> int:
        """Results that wait for older ones."""
        return len(self._held)

    def add(self, window: int, result: T) -> list[tuple[int, T]]:
        """Take in one result; those that leave now."""
        if window in self._held or (window < self._next and all(window != late for late, _ in self._late)):
            raise ValueError(f"window {window} was delivered or is held already")
        self._held[window] = result
        if window >= self._next:
            heappush(self._newer, window)
        leaving: list[tuple[int, T]] = []
        while (ready := self._ready()) is not None:
            leaving.append((ready, self._held.pop(ready)))
            self._leave(ready)
        return leaving

    def _ready(self) -> int | None:
        """The oldest held window that may leave; if the oldest overtaken may not wait, only that one may."""
        overtaken = next((late for late, _ in self._late if late in self._held and self._may_go_late(late)), None)
        if overtaken is not None:
            return overtaken
        return self._newer[0] if self._newer and self._may_overtake(self._newer[0]) else None

    def _may_go_late(self, window: int) -> bool:
        """Whether those overtaken before it still fit if it takes this place."""
        older = takewhile(lambda entry: entry[0] != window, self._late)
        return all(self._place + 1 + index <= deadline for index, (_, deadline) in enumerate(older))

    def _may_overtake(self, window: int) -> bool:
        """Whether all that are missing still fit, those that it overtakes included."""
        missing = len(self._late) + window - self._next
        if missing > self._k:
            return False
        return all(self._place + 1 + index <= deadline for index, (_, deadline) in enumerate(self._late))

    def _leave(self, window: int) -> None:
        if window < self._next:
            self._late = deque(entry for entry in self._late if entry[0] != window)
        else:
            heappop(self._newer)
            self._late.extend((older, self._place + self._k) for older in range(self._next, window))
            self._next = window + 1
        self._place += 1
