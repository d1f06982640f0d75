"""Record runs: real records through both virtual stages - strategies decide where and when, the query what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.model.groups import Int64Array
from skypane.model.panes import Panes
from skypane.tuning.splitting.pane_strategy import PaneStrategy
from skypane_lab.partials import QueryAlgebra
from skypane_lab.strategies.window_strategy import WindowStrategy
from skypane_lab.two_stages import TwoStages
from skypane_lab.virtual_pane_stage import Shard, VirtualPaneStage
from skypane_lab.virtual_window_stage import VirtualWindowStage


class Batch(NamedTuple):
    """Records that arrive together, with their panes."""

    at_us: float
    rows: pa.Table
    panes: Int64Array


class Resize(NamedTuple):
    """So many workers of both stages from a time on."""

    at_us: float
    pane_degree: int
    window_degree: int


class Answer(NamedTuple):
    """One window's answer as it was delivered."""

    window: int
    rows: pa.Table
    delivered_us: float


@dataclass
class _Shards:
    """The rows that each worker has of each open pane."""

    algebra: QueryAlgebra
    empty: pa.Table
    rows: dict[tuple[int, int], list[pa.Table]] = field(default_factory=dict)

    def partial_of(self, pane: int, shard: Shard) -> pa.Table:
        """Of a shard that is handed over; should its worker come back, it begins with nothing."""
        held = self.rows.pop((pane, shard.worker), [self.empty])
        partial = pa.concat_tables(held)
        assert partial.num_rows == shard.records, "a shard has other records than were counted"
        return self.algebra.shard(partial)


def run_records(
    algebra: QueryAlgebra,
    window: Panes,
    batches: Sequence[Batch],
    pane_strategy: PaneStrategy,
    window_strategy: WindowStrategy,
    *,
    record_us: float = 50.0,
    period_us: float = 100_000.0,
    schedule: Sequence[Resize] = (),
) -> list[Answer]:
    """Every window that holds a record, in the order of delivery; a pane closes when its last record has come.

    All windows of the first to the last record are delivered, those without records too: empty panes are closed like
    others. ``record_us`` is what a pane-stage worker takes for a record; ``schedule``, in order of time, is when
    workers come and go.
    """
    seen = np.concatenate([batch.panes for batch in batches])
    windows = range(int(window.first_window(seen).min()), int(window.last_window(seen).max()) + 1)
    last_pane = window.first_pane(windows.stop - 1) + window.panes_per_window - 1
    panes = range(min(window.first_pane(windows.start), int(seen.min())), last_pane + 1)
    shards = _Shards(algebra, batches[0].rows.slice(0, 0))
    stages = TwoStages(
        VirtualPaneStage(pane_strategy, lambda _pane, _before, added: record_us * added),
        VirtualWindowStage(window, window_strategy, algebra, windows.start),
        shards.partial_of,
    )
    _deliver(stages, shards, batches, panes, _ticks(batches, period_us, schedule))
    assert not shards.rows, "a record is in no closed pane"
    return [Answer(d.window, algebra.answer(d.result), d.delivered_us) for d in stages.drain().deliveries]


def _ticks(batches: Sequence[Batch], period_us: float, schedule: Sequence[Resize]) -> list[tuple[float, Resize | None]]:
    """What happens beside the batches, in order of time: a sample (``None``), or workers come and go."""
    samples = range(1, int(batches[-1].at_us // period_us) + 1)
    ticks: list[tuple[float, Resize | None]] = [(number * period_us, None) for number in samples]
    return sorted([*ticks, *((change.at_us, change) for change in schedule)], key=lambda tick: tick[0], reverse=True)


def _deliver(
    stages: TwoStages[pa.Table],
    shards: _Shards,
    batches: Sequence[Batch],
    panes: range,
    ticks: list[tuple[float, Resize | None]],
) -> None:
    """Bring all batches to the stages, and close each pane after the last batch that has records of it."""
    oldest_left = np.minimum.accumulate([int(batch.panes.min()) for batch in batches][::-1])[::-1]
    open_from = panes.start
    for batch, still_to_come in zip(batches, [*oldest_left[1:].tolist(), panes.stop], strict=True):
        while ticks and ticks[-1][0] <= batch.at_us:
            at_us, change = ticks.pop()
            if change is None:
                stages.panes.sample(at_us)
            else:
                stages.resize(*change)
        for pane in np.unique(batch.panes):
            rows = batch.rows.filter(pa.array(batch.panes == pane))
            start = 0
            for worker, count in stages.arrive(batch.at_us, int(pane), rows.num_rows):
                shards.rows.setdefault((int(pane), worker), []).append(rows.slice(start, count))
                start += count
        while open_from < still_to_come:
            stages.close(batch.at_us, open_from)
            open_from += 1
