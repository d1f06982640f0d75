"""VirtualWindowStage: a window strategy with virtual workers, in virtual time; results leave in order, or almost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from skypane.model.panes import Panes
from skypane.scheduling.k_ordered import KOrdered
from skypane.scheduling.utilization import Measurement, WorkerLoad
from skypane.simulate.completion import WindowCompletion
from skypane.simulate.partials import Algebra
from skypane.simulate.strategies.window_strategy import Assignment, Task, WindowStrategy

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


Controller = Callable[[float, Measurement, int], int]
"""New degree from: the time, what the workers did (in tasks), how many tasks wait."""


class VirtualWindowStage(Generic[P]):
    """Runs one stream of pane closings and shards to its end.

    ``disorder``: how many places a result may leave late, see :mod:`skypane.scheduling.k_ordered`.
    """

    def __init__(
        self,
        window: Panes,
        strategy: WindowStrategy,
        algebra: Algebra[P],
        first_window: int,
        *,
        period_us: float = 2_500_000.0,
        controller: Controller | None = None,
        counted_us: tuple[float, float] = (0.0, math.inf),
        disorder: int = 0,
    ) -> None:
        self._window = window
        self._strategy = strategy
        self._algebra = algebra
        self._first_window = first_window
        self._period_us = period_us
        self._controller = controller
        self._counted_us = counted_us
        self._completion = WindowCompletion(window.panes_per_window)
        self._collector: KOrdered[tuple[P, float]] = KOrdered(first_window, disorder)
        self._partials: dict[int, P] = {}
        self._uses: dict[int, int] = {}
        self._results: dict[int, P] = {}
        self._numbers = count()
        self._finishing: list[tuple[float, int, Assignment, P, float]] = []
        self._offered = 0
        self._run: WindowRun[P] = WindowRun()

    def run(self, events: Iterable[PaneClosed | ShardReady[P]]) -> WindowRun[P]:
        """Process closings and shards, which must be in order of time, and everything that follows from them."""
        now_us, sample_us, sampled = 0.0, self._period_us, (0, 0)
        for event in events:
            while self._finishing and self._finishing[0][0] <= event.at_us:
                now_us = self._finish_next(now_us)
            now_us = self._starve(now_us, event.at_us)
            while self._controller is not None and now_us >= sample_us:
                sampled = self._sample(sample_us, sampled)
                sample_us += self._period_us
            if isinstance(event, PaneClosed):
                self._completion.pane_closed(self._windows_of(event.pane), event.shards)
            else:
                self._offer(event.pane, event.partial)
            self._start(now_us)
        while self._finishing:
            now_us = self._finish_next(now_us)
        return self._run

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
            finish_us = now_us + combined.took_us
            heapq.heappush(self._finishing, (finish_us, next(self._numbers), assignment, combined.partial, now_us))

    def _finish_next(self, before_us: float) -> float:
        finish_us, _, (worker, task), partial, start_us = heapq.heappop(self._finishing)
        self._starve(before_us, finish_us)
        self._run.tasks.append(TaskDone(worker, task, start_us, finish_us))
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
                    self._run.deliveries.append(Delivery(window, ready, complete_us, finish_us))
        self._start(finish_us)
        return finish_us

    def _starve(self, before_us: float, now_us: float) -> float:
        """Count the time in which workers were idle although partials waited."""
        idle = self._strategy.idle
        if idle > 0 and self._strategy.waiting:
            spent_us = min(now_us, self._counted_us[1]) - max(before_us, self._counted_us[0])
            self._run.starved_us += max(0.0, spent_us) * min(idle, self._strategy.waiting)
        return now_us

    def _sample(self, now_us: float, sampled: tuple[int, int]) -> tuple[int, int]:
        """Let the controller choose the degree, from what happened since the last time."""
        assert self._controller is not None
        tasks, offered = sampled
        since_us = now_us - self._period_us
        busy: dict[int, tuple[float, int]] = {}
        for done in self._run.tasks[tasks:]:
            spent, number = busy.get(done.worker, (0.0, 0))
            busy[done.worker] = (spent + done.finish_us - max(done.start_us, since_us), number + 1)
        for _, _, (worker, _), _, start_us in self._finishing:
            spent, number = busy.get(worker, (0.0, 0))
            busy[worker] = (spent + now_us - max(start_us, since_us), number)
        loads = [WorkerLoad(*busy.get(worker, (0.0, 0)), 0) for worker in range(self._strategy.degree)]
        measurement = Measurement(self._period_us, [*loads])
        backlog = self._strategy.waiting
        degree = self._controller(now_us, measurement, self._offered - offered + backlog)
        self._strategy.resize(degree)
        return len(self._run.tasks), self._offered
