"""Completion: when a window has everything it needs."""

from __future__ import annotations

from collections.abc import Iterable


class WindowCompletion:
    """Counts what each window still needs: the shards of its panes, as far as the panes are closed.

    A pane says how many shards it has when it is closed, and each shard counts once when it is taken into the window's
    result; a merge makes one of two. A window is complete when all its panes are closed and nothing is outstanding.
    Shards of workers that left come before their pane is closed: what is outstanding may be below 0 until then.
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
        self._take(window)

    def updated(self, window: int) -> bool:
        """One partial is in the window's result; whether that makes it complete. Says so exactly once."""
        self._take(window)
        if self._outstanding[window] or self._missing_panes.get(window, self._panes_per_window):
            return False
        del self._outstanding[window], self._missing_panes[window]
        return True

    def _take(self, window: int) -> None:
        self._outstanding[window] = self._outstanding.get(window, 0) - 1

    @property
    def open_windows(self) -> int:
        """Windows that are not complete."""
        return len(self._outstanding)
