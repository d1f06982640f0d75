"""ElasticRun: one stream through both stages on one clock, while two control loops move splitting and degrees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from skypane.model.windows import WindowSpec
from skypane.tuning.elastic.controllers import SET_POINT
from skypane.tuning.elastic.loops import Decided, InnerSample, Loops
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane.tuning.splitting.utilization import Measurement, utilization
from skypane_lab.arrivals import ArrivalTable
from skypane_lab.cost_model import CostModel
from skypane_lab.pane_run import Distributions, PaneRun, Sample, pane_record, slices
from skypane_lab.partials import CountedAlgebra, CountedPartial
from skypane_lab.strategies.pane_strategies import pane_strategy
from skypane_lab.strategies.window_strategies import window_strategy
from skypane_lab.two_stages import TwoStages
from skypane_lab.virtual_pane_stage import Shard, Slowness, VirtualPaneStage
from skypane_lab.virtual_window_stage import VirtualWindowStage, WindowRun


@dataclass(frozen=True)
class Elastic:
    """Who controls what, and from which degrees it starts."""

    loops: Loops
    """With ``inner_us``: the sampling period of the splitting."""
    pane_degree: int = 1
    window_degree: int = 1
    pane_strategy: str = "adaptive_pid"
    window_strategy: str = "win_fb_merge"
    splitting: ControlOptions | None = None
    controls_panes: bool = True
    """If not, the degree of the stage stays, and ``other_rho`` is reported as its utilization."""
    controls_windows: bool = True
    other_rho: float = SET_POINT
    slowness: Slowness | None = None

    def fixed(self, pane_degree: int, window_degree: int) -> Elastic:
        """The same with degrees that stay."""
        return replace(
            self,
            pane_degree=pane_degree,
            window_degree=window_degree,
            controls_panes=False,
            controls_windows=False,
        )


class Step(NamedTuple):
    """One outer period: what was decided at its end."""

    at_us: float
    decided: Decided
    worker_us: float
    """Time of all workers so far."""


@dataclass
class ElasticRun:
    """What happened."""

    panes: PaneRun
    windows: WindowRun[CountedPartial]
    steps: list[Step] = field(default_factory=list)
    pane_worker_us: float = 0.0
    """Time of the pane workers after the warm-up, while records came; of window workers: in ``windows``."""
    pane_busy_us: float = 0.0
    """Of that time: in which they worked."""

    @property
    def seconds(self) -> float:
        """After the warm-up, while records came."""
        return (self.panes.end_us - self.panes.warm_up_us) / 1e6

    @property
    def pane_workers(self) -> float:
        """Mean pane degree."""
        return self.pane_worker_us / 1e6 / self.seconds

    @property
    def window_workers(self) -> float:
        """Mean window degree."""
        return self.windows.worker_us / 1e6 / self.seconds

    @property
    def core_seconds(self) -> float:
        """Of both stages."""
        return (self.pane_worker_us + self.windows.worker_us) / 1e6

    @property
    def busy_seconds(self) -> float:
        """In which workers of both stages worked, after the warm-up, while records came."""
        start_us, end_us = self.panes.warm_up_us, self.panes.end_us
        windows_us = sum(max(0.0, min(t.finish_us, end_us) - max(t.start_us, start_us)) for t in self.windows.tasks)
        return (self.pane_busy_us + windows_us) / 1e6

    def after_warm_up(self) -> list[Step]:
        """The decisions after the warm-up."""
        return [step for step in self.steps if step.at_us > self.panes.warm_up_us]


def run_elastic(
    table: ArrivalTable,
    window: WindowSpec,
    cost: CostModel,
    points: Distributions,
    setup: Elastic,
    warm_up_us: float = 0.0,
) -> ElasticRun:
    """Send a stream through both stages."""
    return _Running(table, window, cost, points, setup, warm_up_us).run()


class _Running:
    """One run under way."""

    def __init__(
        self,
        table: ArrivalTable,
        window: WindowSpec,
        cost: CostModel,
        points: Distributions,
        setup: Elastic,
        warm_up_us: float,
    ) -> None:
        self._table, self._cost, self._points, self._setup = table, cost, points, setup
        self._algebra = CountedAlgebra(cost)
        end_us = float(len(table.punctuation_us) * table.slice_us)
        self._next_pane = int(table.panes[0])
        self._state = setup.loops.start(setup.pane_degree, setup.window_degree)
        panes = VirtualPaneStage(
            pane_strategy(setup.pane_strategy, self._state.pane_degree, setup.splitting),
            self._insert_us,
            setup.slowness,
        )
        windows = VirtualWindowStage(
            window,
            window_strategy(setup.window_strategy, self._state.window_degree),
            self._algebra,
            -(-self._next_pane // window.panes_per_slide),
            counted_us=(warm_up_us, end_us),
            slowness=setup.slowness,
        )
        self._stages = TwoStages(panes, windows, self._partial_of)
        self._found = ElasticRun(PaneRun(self._state.pane_degree, warm_up_us, end_us), windows.found)
        self._names: dict[int, str] = {}
        self._first_us: dict[int, float] = {}
        self._completing: list[tuple[float, int]] = []

    def run(self) -> ElasticRun:
        found, panes = self._found, self._stages.panes
        period_us = self._setup.loops.inner_us or 250_000.0
        sample_us, before_us, busy_us = period_us, 0.0, 0.0
        for now_us, arrivals, closed_before in slices(self._table):
            self._stages.advance(now_us)
            self._arrive(now_us, arrivals)
            while self._next_pane < closed_before:
                self._close(now_us)
            if now_us >= sample_us:
                self._sample(now_us)
                sample_us += period_us
            if now_us <= found.panes.warm_up_us:
                before_us, busy_us = panes.worker_us(now_us), panes.busy_us(now_us)
        found.pane_worker_us = panes.worker_us(found.panes.end_us) - before_us
        found.pane_busy_us = panes.busy_us(found.panes.end_us) - busy_us
        self._stages.drain()
        return found

    def _arrive(self, now_us: float, arrivals: Iterable[tuple[int, int]]) -> None:
        for pane, records in arrivals:
            if pane not in self._names:
                self._names[pane] = self._points.of(pane, self._table.pane_us)
                self._first_us[pane] = now_us
            self._stages.arrive(now_us, pane, records)

    def _close(self, now_us: float) -> None:
        pane = self._next_pane
        self._next_pane += 1
        self._names.setdefault(pane, "independent")
        finished = self._stages.close(now_us, pane)
        first_us = self._first_us.pop(pane, now_us)
        record = pane_record(finished, self._cost, self._names.pop(pane), now_us, pane, first_us)
        self._found.panes.panes.append(record)
        self._completing.append((record.complete_us, len(record.shards)))

    def _insert_us(self, pane: int, before: int, added: int) -> float:
        return self._cost.insert_us(self._names[pane], before, added)

    def _partial_of(self, pane: int, shard: Shard) -> CountedPartial:
        return self._algebra.shard(self._names[pane], shard.records)

    def _sample(self, now_us: float) -> None:
        """End an inner period, and perhaps an outer one."""
        panes, windows, setup = self._stages.panes, self._stages.windows, self._setup
        measurement = panes.sample(now_us)
        tasks = windows.sample(now_us)
        found = Sample(now_us, utilization(measurement), panes.waiting(), 0.0, panes.strategy.describe())
        self._found.panes.samples.append(found)
        done = [shards for at_us, shards in self._completing if at_us <= now_us]
        self._completing = [(at_us, shards) for at_us, shards in self._completing if at_us > now_us]
        self._decide(
            now_us,
            InnerSample(
                measurement.period_us,
                _rho(measurement, found.utilization) if setup.controls_panes else setup.other_rho,
                tasks.utilization(setup.loops.outer_us) if setup.controls_windows else setup.other_rho,
                len(done) if setup.controls_panes else 0,
                sum(done) if setup.controls_panes else 0,
                panes.lag_us(now_us),
                tasks.lag_us,
                _load(measurement) if setup.controls_panes else setup.other_rho,
            ),
        )

    def _decide(self, now_us: float, sample: InnerSample) -> None:
        setup = self._setup
        self._state, decided = setup.loops.sample(self._state, sample)
        if decided is not None:
            # Even where there are too few workers for both, a stage that is not controlled keeps its own.
            if not setup.controls_panes:
                self._state = replace(self._state, pane_degree=setup.pane_degree)
            if not setup.controls_windows:
                self._state = replace(self._state, window_degree=setup.window_degree)
            worker_us = self._stages.panes.worker_us(now_us) + self._stages.windows.found.worker_us
            self._found.steps.append(Step(now_us, decided, worker_us))
            self._stages.resize(now_us, self._state.pane_degree, self._state.window_degree)


def _rho(measurement: Measurement, measured: float | None) -> float | None:
    """Nothing to do is no load, rather than nothing to tell."""
    return measured if any(worker.scheduled for worker in measurement.workers) else 0.0


def _load(measurement: Measurement) -> float | None:
    """Time that the records that came take, over the time of all workers."""
    busy_us = sum(worker.busy_us for worker in measurement.workers)
    done = sum(worker.done for worker in measurement.workers)
    scheduled = sum(worker.scheduled for worker in measurement.workers)
    if not scheduled or not done:
        return 0.0 if not scheduled else None
    return scheduled * busy_us / done / measurement.period_us / len(measurement.workers)
