"""PaneRun: one stream through the virtual pane stage, and the figures that the papers report of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skypane.tuning.splitting.pane_strategy import PaneStrategy
from skypane.tuning.splitting.utilization import utilization
from skypane_lab.arrivals import ArrivalTable
from skypane_lab.cost_model import CostModel
from skypane_lab.virtual_pane_stage import FinishedPane, Shard, VirtualPaneStage


@dataclass(frozen=True)
class Distributions:
    """Which spatial distribution the records of a pane have: the named ones in turn, each for some time."""

    names: tuple[str, ...] = ("independent",)
    every_us: int = 700_000

    def of(self, pane: int, pane_us: int) -> str:
        """The distribution when the pane starts."""
        return self.names[pane * pane_us // self.every_us % len(self.names)]


class PaneRecord(NamedTuple):
    """One pane, from its first record to the window stage."""

    pane: int
    shards: list[Shard]
    first_us: float
    computed_us: float
    closed_us: float
    selected: float
    """Rows of all its shards' partials: what the window stage gets."""

    @property
    def records(self) -> int:
        """Of all shards."""
        return sum(shard.records for shard in self.shards)

    @property
    def complete_us(self) -> float:
        """When the last shard is ready."""
        return max(shard.ready_us for shard in self.shards)


class Sample(NamedTuple):
    """One sampling period."""

    at_us: float
    utilization: float | None
    waiting: int
    held: float
    """Rows of the open shards' partials, as far as records were routed."""
    state: dict[str, float]


@dataclass
class PaneRun:
    """What happened in the pane stage; means are taken after ``warm_up_us``."""

    degree: int
    warm_up_us: float
    end_us: float
    panes: list[PaneRecord] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    busy_us: list[float] = field(default_factory=list)

    def _after_warm_up(self) -> list[PaneRecord]:
        return [p for p in self.panes if p.closed_us >= self.warm_up_us and p.records]

    def utilizations(self) -> list[float]:
        """Of each sampling period."""
        return [s.utilization for s in self.samples if s.utilization is not None and s.at_us > self.warm_up_us]

    @property
    def utilization(self) -> float:
        """The mean utilization."""
        return float(np.mean(self.utilizations()))

    @property
    def splitting_factor(self) -> float:
        """Mean shards per pane."""
        return float(np.mean([len(p.shards) for p in self._after_warm_up()]))

    @property
    def selected_per_pane(self) -> float:
        """Mean rows that the window stage gets of a pane."""
        return float(np.mean([p.selected for p in self._after_warm_up()]))

    @property
    def filtering_ratio(self) -> float:
        """Rows that the window stage gets over records that came."""
        panes = self._after_warm_up()
        return sum(p.selected for p in panes) / sum(p.records for p in panes)

    @property
    def sustained(self) -> float:
        """Panes completed over panes closed, while records came: below 1 the stage is a bottleneck."""
        closed = [p for p in self.panes if self.warm_up_us <= p.closed_us < self.end_us]
        done = [p for p in self.panes if self.warm_up_us <= p.complete_us < self.end_us]
        return min(1.0, len(done) / max(1, len(closed)))

    @property
    def latency_us(self) -> float:
        """Mean time from the first record of a pane until its last record has been processed."""
        return float(np.mean([p.computed_us - p.first_us for p in self._after_warm_up()]))

    @property
    def closing_lag_us(self) -> float:
        """Mean time from when the last record of a pane was processed until the punctuation that closes it."""
        return float(np.mean([max(0.0, p.closed_us - p.computed_us) for p in self._after_warm_up()]))

    @property
    def imbalance(self) -> float:
        """Busy time of the most over that of the least loaded worker."""
        return max(self.busy_us) / max(1.0, min(self.busy_us))


def run_panes(
    table: ArrivalTable,
    strategy: PaneStrategy,
    cost: CostModel,
    distributions: Distributions,
    *,
    period_us: int = 1_000_000,
    warm_up_us: int = 30_000_000,
) -> PaneRun:
    """Send a stream through the pane stage; ``period_us`` is the sampling period."""
    names: dict[int, str] = {}

    def insert_us(pane: int, before: int, added: int) -> float:
        return cost.insert_us(names[pane], before, added)

    stage = VirtualPaneStage(strategy, insert_us)
    run = PaneRun(strategy.degree, float(warm_up_us), float(len(table.punctuation_us) * table.slice_us))
    first_us: dict[int, float] = {}
    busy_us = np.zeros(strategy.degree)
    next_pane, sample_us = int(table.panes[0]), period_us
    for now_us, arrivals, closed_before in slices(table):
        for pane, records in arrivals:
            if pane not in names:
                names[pane] = distributions.of(pane, table.pane_us)
                first_us[pane] = now_us
            stage.arrive(now_us, pane, records)
        while next_pane < closed_before:
            name = names.pop(next_pane, "independent")
            finished = stage.punctuate(now_us, next_pane)
            first = first_us.pop(next_pane, now_us)
            run.panes.append(pane_record(finished, cost, name, now_us, next_pane, first))
            next_pane += 1
        if now_us >= sample_us:
            measurement = stage.sample(now_us)
            held = sum(cost.rows(names[p], n) for p, shards in stage.open_shards().items() for n in shards.values())
            run.samples.append(Sample(now_us, utilization(measurement), stage.waiting(), held, strategy.describe()))
            if now_us > warm_up_us:
                busy_us += [load.busy_us for load in measurement.workers]
            sample_us += period_us
    run.busy_us = busy_us.tolist()
    return run


def slices(table: ArrivalTable) -> Iterator[tuple[float, Iterable[tuple[int, int]], int]]:
    """When each slice of the stream ends, its records by pane, and before which pane all are closed then."""
    borders = np.searchsorted(table.slices, np.arange(len(table.punctuation_us) + 1)).tolist()
    panes, counts = table.panes.tolist(), table.counts.tolist()
    closed_at = (table.punctuation_us // table.pane_us).tolist()
    closed_at[-1] = max(panes) + 1  # the stream is over: every pane closes
    for index, closed_before in enumerate(closed_at):
        own = slice(borders[index], borders[index + 1])
        yield float((index + 1) * table.slice_us), zip(panes[own], counts[own], strict=True), closed_before


def pane_record(
    finished: FinishedPane, cost: CostModel, name: str, now_us: float, pane: int, first_us: float
) -> PaneRecord:
    """What is remembered of a pane that was closed."""
    shards = finished.all_shards()
    selected = sum(cost.rows(name, shard.records) for shard in shards)
    return PaneRecord(pane, shards, first_us, finished.computed_us, now_us, selected)
