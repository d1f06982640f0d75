"""Completion: when a window has everything it needs, and in which order results leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class WindowCompletion:
    """Counts what each window still needs: the shards of its panes, as far as the panes are closed.

    A pane says how many shards it has when it is closed, and each shard counts once when it is taken into the window's
    result; a merge makes one of two. A window is complete when all its panes are closed and nothing is outstanding.
    """

    def __init__(self, panes_per_window: int) -> None:
        self._panes_per_window = panes_per_window
        self._missing_panes: dict[int, int] = {}
        self._outstanding: dict[int, int] = {}

    def pane_closed(self, windows: Iterable[int], shards: int) -> None:
        """A pane of these windows is closed, with so many shards."""
        for window in windows:
            self._missing_panes[window] = self._missing_panes.get(window, self._panes_per_window) - 1
            self._outstanding[window] = self._outstanding.get(window, 0) + shards

    def merged(self, window: int) -> None:
        """Two of the window's partials became one."""
        self._outstanding[window] -= 1

    def updated(self, window: int) -> bool:
        """One partial is in the window's result; whether that makes it complete. Says so exactly once."""
        self._outstanding[window] -= 1
        if self._outstanding[window] or self._missing_panes[window]:
            return False
        del self._outstanding[window], self._missing_panes[window]
        return True

    @property
    def open_windows(self) -> int:
        """Windows that are not complete."""
        return len(self._outstanding)


class OrderedCollector(Generic[T]):
    """Holds results back until all windows before them have been delivered."""

    def __init__(self, first_window: int) -> None:
        self._next = first_window
        self._held: dict[int, T] = {}

    def add(self, window: int, result: T) -> list[tuple[int, T]]:
        """Take in one result; the results that can be delivered now, in order."""
        if window < self._next or window in self._held:
            raise ValueError(f"window {window} was delivered or is held already")
        self._held[window] = result
        ready = []
        while self._next in self._held:
            ready.append((self._next, self._held.pop(self._next)))
            self._next += 1
        return ready

    @property
    def held(self) -> int:
        """Results that wait for older windows."""
        return len(self._held)
