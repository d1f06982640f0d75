"""Extent: the length and the distance of windows, in whole units of time or of records."""

from __future__ import annotations

import math
from typing import NamedTuple


class Extent(NamedTuple):
    """Windows of ``size`` every ``slide``: all that a pattern needs to know about them."""

    size: int
    slide: int

    @property
    def pane(self) -> int:
        """The longest piece of which both are whole numbers."""
        return math.gcd(self.size, self.slide)

    @property
    def overlaps(self) -> bool:
        """Whether a record can be in several windows."""
        return self.slide < self.size

    @property
    def of_panes(self) -> Extent:
        """The same windows, counted in panes: what the second stage of a pane farm answers."""
        return Extent(self.size // self.pane, self.slide // self.pane)

    def every(self, n: int) -> Extent:
        """Every n-th window: what one of n replicas answers."""
        return Extent(self.size, self.slide * n)

    def first_window(self, place: int) -> int:
        """The first window that may have the record at this place, from 0 on; windows before 0 there are none."""
        return 0 if place < self.size else -(-(place + 1 - self.size) // self.slide)

    def last_window(self, place: int) -> int:
        """The last one; before the first where windows leave a gap."""
        last = -(-(place + 1) // self.slide) - 1
        return last if place - last * self.slide < self.size else self.first_window(place) - 1

    def windows_of(self, place: int) -> range:
        """The windows that have the record at this place."""
        return range(self.first_window(place), self.last_window(place) + 1)

    def copies(self, place: int, n: int) -> int:
        """To how many of n replicas a record goes."""
        return min(n, len(self.windows_of(place)))


def owner(window: int, key_hash: int, n: int) -> int:
    """Which of n replicas answers a window of a key: keys do not all begin with the same one."""
    return (key_hash % n + window) % n
