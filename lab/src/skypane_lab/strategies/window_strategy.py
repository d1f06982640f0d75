"""WindowStrategy: which worker of the window stage does which task; one interface for all engines.

A **task** brings a partial into its window's result (update), or makes one partial of two that wait (merge). Updates of
one window change the same result, so at most one of them runs at a time. The engine calls

* ``offer`` for each window that a finished shard belongs to; partials are known by the numbers the engine gives them;
* ``assign`` after every change: the tasks to start now, each with an idle worker;
* ``finish`` when a task is done, with the number of the merged partial if it was a merge: the worker's feedback.

Strategies are deterministic and their state is plain data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from skypane.model.errors import OptionError
from skypane.tuning.splitting.pane_strategy import MAX_DEGREE


class Task(NamedTuple):
    """Work on one window: an update with ``partial``, or a merge of ``partial`` with ``other``."""

    window: int
    partial: int
    other: int | None = None

    @property
    def is_merge(self) -> bool:
        """Whether two waiting partials become one, without touching the window's result."""
        return self.other is not None


class Assignment(NamedTuple):
    """A task for a worker that is idle."""

    worker: int
    task: Task


class WindowStrategy(ABC):
    """Keeps the waiting partials by window and what each worker is doing; a subclass finds the next task.

    The worker that has been idle for longest is the first to get a task.
    """

    name: ClassVar[str]
    any_worker: ClassVar[bool] = False
    """Whether what one idle worker cannot take, no other can: then only one need be asked."""

    def __init__(self, degree: int) -> None:
        if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE:
            raise OptionError(f"degree={degree!r} must be a whole number from 1 to {MAX_DEGREE}.")
        self.degree = degree
        self._waiting: dict[int, deque[int]] = {}
        self._running: dict[int, Task] = {}
        self._updating: set[int] = set()
        self._last_window: dict[int, int] = {}
        self._ready = list(range(degree))

    def offer(self, window: int, partial: int) -> None:
        """One more partial that the window's result needs."""
        self._waiting.setdefault(window, deque()).append(partial)

    def assign(self) -> list[Assignment]:
        """Start what can be started: as many tasks as there are idle workers and work for them."""
        assignments = []
        if self._waiting:
            for worker in list(self._ready):
                task = self._next_task(worker)
                if task is not None:
                    self._ready.remove(worker)
                    self._running[worker] = task
                    if not task.is_merge:
                        self._updating.add(task.window)
                    self._last_window[worker] = task.window
                    assignments.append(Assignment(worker, task))
                elif self.any_worker:
                    break
        return assignments

    def finish(self, worker: int, merged: int | None = None) -> None:
        """The worker is idle again; a merge hands back its partial, which waits like any other."""
        task = self._running.pop(worker)
        if worker < self.degree:
            self._ready.append(worker)
        if task.is_merge:
            if merged is None:
                raise ValueError("a finished merge must hand back its partial")
            self.offer(task.window, merged)
        else:
            self._updating.discard(task.window)

    @property
    def idle(self) -> int:
        """How many workers have nothing to do."""
        return len(self._ready)

    @property
    def workers(self) -> int:
        """How many workers there are, those included that will leave when their task is done."""
        return len(self._ready) + len(self._running)

    @property
    def waiting(self) -> int:
        """How many partials wait, counted once for every window that needs them."""
        return sum(len(partials) for partials in self._waiting.values())

    def resize(self, degree: int) -> None:
        """Use this many workers from now on. Those beyond it end the task they are doing and get no other."""
        if degree < 1:
            raise OptionError(f"degree={degree!r} must be 1 or more.")
        kept = [worker for worker in self._ready if worker < degree]
        known = {*kept, *self._running}
        self._ready = kept + [worker for worker in range(degree) if worker not in known]
        self.degree = degree

    @abstractmethod
    def _next_task(self, worker: int) -> Task | None:
        """Take the next task for an idle worker out of what waits."""

    def _take_update(self, window: int) -> Task:
        waiting = self._waiting[window]
        task = Task(window, waiting.popleft())
        if not waiting:
            del self._waiting[window]
        return task

    def _can_update(self, window: int) -> bool:
        return window in self._waiting and window not in self._updating

    def to_json(self) -> dict[str, Any]:
        """The whole state, in a form that survives JSON."""
        return {
            "name": self.name,
            "degree": self.degree,
            "waiting": [[window, list(partials)] for window, partials in self._waiting.items()],
            "running": [[worker, list(task)] for worker, task in self._running.items()],
            "last_window": sorted(self._last_window.items()),
            "ready": list(self._ready),
        }

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue from :meth:`to_json` of a strategy of the same name and degree."""
        if (body["name"], body["degree"]) != (self.name, self.degree):
            raise OptionError(f"state of {body['name']} with degree {body['degree']} does not fit {self.name}.")
        self._waiting = {window: deque(partials) for window, partials in body["waiting"]}
        self._running = {worker: Task(*task) for worker, task in body["running"]}
        self._updating = {task.window for task in self._running.values() if not task.is_merge}
        self._last_window = dict(body["last_window"])
        self._ready = list(body["ready"])
