"""Feedback: a worker that becomes free takes the next task (paper 1, WIN_FB), or merges what waits (paper 2)."""

from __future__ import annotations

from skypane_lab.strategies.window_strategy import Task, WindowStrategy


class WindowFeedback(WindowStrategy):
    """The same window first, since its result is in the worker's cache; else the oldest that no worker updates."""

    name = "win_fb"
    any_worker = True

    def _next_task(self, worker: int) -> Task | None:
        last = self._last_window.get(worker)
        if last is not None and self._can_update(last):
            return self._take_update(last)
        window = min((w for w in self._waiting if self._can_update(w)), default=None)
        return None if window is None else self._take_update(window)


class WindowFeedbackMerge(WindowFeedback):
    """When every window with work is being updated, an idle worker merges two waiting partials of one of them."""

    name = "win_fb_merge"

    def _next_task(self, worker: int) -> Task | None:
        update = super()._next_task(worker)
        if update is not None:
            return update
        window = min((w for w, partials in self._waiting.items() if len(partials) >= 2), default=None)
        if window is None:
            return None
        waiting = self._waiting[window]
        task = Task(window, waiting.popleft(), waiting.popleft())
        if not waiting:
            del self._waiting[window]
        return task
