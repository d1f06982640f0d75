"""Round-robin by window: window ``j`` belongs to worker ``j mod degree`` (paper 1, WIN_RR)."""

from __future__ import annotations

from skypane_lab.strategies.window_strategy import Task, WindowStrategy


class WindowRoundRobin(WindowStrategy):
    """Each worker takes the oldest of its own windows; heavy windows may meet at one worker while others idle."""

    name = "win_rr"

    def _next_task(self, worker: int) -> Task | None:
        own = (w for w in self._waiting if w % self.degree == worker and self._can_update(w))
        window = min(own, default=None)
        return None if window is None else self._take_update(window)
