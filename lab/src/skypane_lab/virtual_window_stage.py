"""VirtualWindowStage: a window strategy with virtual workers, in virtual time; results leave in order, or almost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from skypane.model.panes import Panes
from skypane_lab.completion import WindowCompletion
from skypane_lab.k_ordered import KOrdered
from skypane_lab.partials import Algebra
from skypane_lab.strategies.window_strategy import Assignment, Task, WindowStrategy
from skypane_lab.virtual_pane_stage import Slowness

P = TypeVar("P")


class PaneClosed(NamedTuple):
    """A pane is closed; so many shards of it will come."""

    at_us: float
    pane: int
    shards: int


class ShardReady(NamedTuple, Generic[P]):
    """The partial of one shard has come."""

    at_us: float
    pane: int
    partial: P


class Delivery(NamedTuple, Generic[P]):
    """A window's result as it leaves."""

    window: int
    result: P
    complete_us: float
    delivered_us: float


class TaskDone(NamedTuple):
    """One task that a worker did."""

    worker: int
    task: Task
    start_us: float
    finish_us: float


@dataclass
class WindowRun(Generic[P]):
    """What happened in the window stage."""

    deliveries: list[Delivery[P]] = field(default_factory=list)
    tasks: list[TaskDone] = field(default_factory=list)
    starved_us: float = 0.0
    """Time, of that counted, that idle workers spent while partials waited that they could not take."""
    worker_us: float = 0.0
    """Time, of that counted, of all workers, idle or not."""


@dataclass(frozen=True)
class TaskLoad:
    """What the workers did in a sampling period, in tasks; those under way count in part."""

    period_us: float
    degree: int
    busy_us: float
    done: float
    offered: int
    """Tasks that came."""
    waiting: int
    """Tasks that wait in the end."""

    def utilization(self, drain_us: float) -> float | None:
        """Tasks that came over those that could have been done; what waits counts, too, as if spread over ``drain_us``.

        ``None`` if there was work but none was done, so that nothing can be told.
        """
        wanted = self.offered + self.waiting * self.period_us / drain_us
        if not self.done:
            return 0.0 if not wanted else None
        idle_us = max(0.0, self.period_us * self.degree - self.busy_us)
        return wanted / (self.done + idle_us * self.done / self.busy_us) if self.busy_us else 0.0

    @property
    def lag_us(self) -> float:
        """How long the workers have to work on what waits."""
        return self.waiting * self.busy_us / self.done / self.degree if self.done else 0.0


class VirtualWindowStage(Generic[P]):
    """Takes closings and shards in order of time (``close``, ``offer``), or all of a run at once (``run``).

    ``disorder``: how many places a result may leave late, see :mod:`skypane_lab.k_ordered`. ``slowness``: see
    :class:`~skypane_lab.virtual_pane_stage.VirtualPaneStage`.
    """

    def __init__(
        self,
        window: Panes,
        strategy: WindowStrategy,
        algebra: Algebra[P],
        first_window: int,
        *,
        counted_us: tuple[float, float] = (0.0, math.inf),
        disorder: int = 0,
        slowness: Slowness | None = None,
    ) -> None:
        self._window = window
        self._strategy = strategy
        self._algebra = algebra
        self._first_window = first_window
        self._counted_us = counted_us
        self._slowness = slowness
        self._completion = WindowCompletion(window.panes_per_window)
        self._collector: KOrdered[tuple[P, float]] = KOrdered(first_window, disorder)
        self._partials: dict[int, P] = {}
        self._uses: dict[int, int] = {}
        self._results: dict[int, P] = {}
        self._numbers = count()
        self._finishing: list[tuple[float, int, Assignment, P, float]] = []
        self._now_us = 0.0
        self._sampled_us = 0.0
        self._sampled = (0.0, 0.0, 0)
        self._busy_us = 0.0
        self._done = 0
        self._offered = 0
        self.found: WindowRun[P] = WindowRun()

    def run(self, events: Iterable[PaneClosed | ShardReady[P]]) -> WindowRun[P]:
        """Process closings and shards, which must be in order of time, and everything that follows from them."""
        for event in events:
            if isinstance(event, PaneClosed):
                self.close(*event)
            else:
                self.offer(*event)
        return self.drain()

    def close(self, at_us: float, pane: int, shards: int) -> None:
        """A pane is closed; it has so many shards, those that have come included."""
        self.advance(at_us)
        self._completion.pane_closed(self._windows_of(pane), shards)

    def offer(self, at_us: float, pane: int, partial: P) -> None:
        """A shard has come, perhaps before its pane is closed."""
        self.advance(at_us)
        self._offer(pane, partial)
        self._start(at_us)

    def advance(self, now_us: float) -> None:
        """Everything that is done by now."""
        while self._finishing and self._finishing[0][0] <= now_us:
            self._finish_next()
        self._pass(now_us)

    def resize(self, now_us: float, degree: int) -> None:
        """So many workers from now on; those that leave finish their tasks."""
        self.advance(now_us)
        self._strategy.resize(degree)
        self._start(now_us)

    def drain(self) -> WindowRun[P]:
        """Until nothing is left to do."""
        while self._finishing:
            self._finish_next()
        return self.found

    def sample(self, now_us: float) -> TaskLoad:
        """End a sampling period."""
        self.advance(now_us)
        running = [(now_us - start_us, finish_us - start_us) for finish_us, _, _, _, start_us in self._finishing]
        busy_us = self._busy_us + sum(worked_us for worked_us, _ in running)
        done = self._done + sum(worked_us / took_us for worked_us, took_us in running if took_us)
        before, self._sampled = self._sampled, (busy_us, done, self._offered)
        period_us, self._sampled_us = now_us - self._sampled_us, now_us
        return TaskLoad(
            period_us,
            self._strategy.degree,
            busy_us - before[0],
            done - before[1],
            self._offered - before[2],
            self._strategy.waiting,
        )

    def _windows_of(self, pane: int) -> range:
        at = np.array([pane])
        first, last = int(self._window.first_window(at)[0]), int(self._window.last_window(at)[0])
        return range(max(first, self._first_window), last + 1)

    def _offer(self, pane: int, partial: P) -> None:
        windows = self._windows_of(pane)
        if not windows:
            return
        number = next(self._numbers)
        self._partials[number], self._uses[number] = partial, len(windows)
        for window in windows:
            self._strategy.offer(window, number)
        self._offered += len(windows)

    def _use(self, number: int) -> P:
        self._uses[number] -= 1
        partial = self._partials[number]
        if not self._uses[number]:
            del self._uses[number], self._partials[number]
        return partial

    def _start(self, now_us: float) -> None:
        for assignment in self._strategy.assign():
            task = assignment.task
            partial = self._use(task.partial)
            into = self._results.get(task.window) if task.other is None else self._use(task.other)
            combined = self._algebra.combine(into, partial)
            slowness = 1.0 if self._slowness is None else self._slowness(now_us)
            finish_us = now_us + combined.took_us * slowness
            heapq.heappush(self._finishing, (finish_us, next(self._numbers), assignment, combined.partial, now_us))

    def _finish_next(self) -> None:
        finish_us, _, (worker, task), partial, start_us = heapq.heappop(self._finishing)
        self._pass(finish_us)
        self._busy_us += finish_us - start_us
        self._done += 1
        self.found.tasks.append(TaskDone(worker, task, start_us, finish_us))
        if task.is_merge:
            number = next(self._numbers)
            self._partials[number], self._uses[number] = partial, 1
            self._completion.merged(task.window)
            self._strategy.finish(worker, number)
        else:
            self._results[task.window] = partial
            self._strategy.finish(worker)
            if self._completion.updated(task.window):
                result = self._results.pop(task.window)
                for window, (ready, complete_us) in self._collector.add(task.window, (result, finish_us)):
                    self.found.deliveries.append(Delivery(window, ready, complete_us, finish_us))
        self._start(finish_us)

    def _pass(self, now_us: float) -> None:
        """Let time pass: count the workers' time, and that in which they were idle although partials waited."""
        spent_us = max(0.0, min(now_us, self._counted_us[1]) - max(self._now_us, self._counted_us[0]))
        self.found.worker_us += spent_us * self._strategy.workers
        idle = self._strategy.idle
        if idle > 0 and self._strategy.waiting:
            self.found.starved_us += spent_us * min(idle, self._strategy.waiting)
        self._now_us = now_us
