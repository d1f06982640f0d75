"""Record runs: real records through both virtual stages - strategies decide where and when, the query what."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.model.groups import Int64Array
from skypane.model.panes import Panes
from skypane.scheduling.pane_strategy import PaneStrategy
from skypane.simulate.partials import QueryAlgebra
from skypane.simulate.strategies.window_strategy import WindowStrategy
from skypane.simulate.virtual_pane_stage import VirtualPaneStage
from skypane.simulate.virtual_window_stage import PaneClosed, ShardReady, VirtualWindowStage


class Batch(NamedTuple):
    """Records that arrive together, with their panes."""

    at_us: float
    rows: pa.Table
    panes: Int64Array


class Answer(NamedTuple):
    """One window's answer as it was delivered."""

    window: int
    rows: pa.Table
    delivered_us: float


def run_records(
    algebra: QueryAlgebra,
    window: Panes,
    batches: Sequence[Batch],
    pane_strategy: PaneStrategy,
    window_strategy: WindowStrategy,
    *,
    record_us: float = 50.0,
    period_us: float = 100_000.0,
) -> list[Answer]:
    """Every window that holds a record, in the order of delivery; panes close when the last batch has come.

    All windows of the first to the last record are delivered, those without records too: empty panes are closed like
    others. ``record_us`` is what a pane-stage worker takes for a record.
    """
    seen = np.concatenate([batch.panes for batch in batches])
    windows = range(int(window.first_window(seen).min()), int(window.last_window(seen).max()) + 1)
    stage = VirtualPaneStage(pane_strategy, lambda _pane, _before, added: record_us * added)
    shards = _arrive(stage, batches, period_us)
    last_pane = window.first_pane(windows.stop - 1) + window.panes_per_window - 1
    panes = range(min(window.first_pane(windows.start), int(seen.min())), last_pane + 1)
    events = _close(stage, panes, batches[-1].at_us, shards, algebra, batches[0].rows.slice(0, 0))
    run = VirtualWindowStage(window, window_strategy, algebra, windows.start).run(events)
    return [Answer(d.window, algebra.answer(d.result), d.delivered_us) for d in run.deliveries]


def _arrive(
    stage: VirtualPaneStage, batches: Sequence[Batch], period_us: float
) -> dict[tuple[int, int], list[pa.Table]]:
    """The rows that each worker gets of each pane."""
    shards: dict[tuple[int, int], list[pa.Table]] = {}
    sample_us = period_us
    for batch in batches:
        while batch.at_us >= sample_us:
            stage.sample(sample_us)
            sample_us += period_us
        for pane in np.unique(batch.panes):
            rows = batch.rows.filter(pa.array(batch.panes == pane))
            start = 0
            for worker, count in stage.arrive(batch.at_us, int(pane), rows.num_rows):
                shards.setdefault((int(pane), worker), []).append(rows.slice(start, count))
                start += count
    return shards


def _close(
    stage: VirtualPaneStage,
    panes: range,
    at_us: float,
    shards: dict[tuple[int, int], list[pa.Table]],
    algebra: QueryAlgebra,
    empty: pa.Table,
) -> list[PaneClosed | ShardReady[pa.Table]]:
    """Close all panes; what the window stage gets of them, in the order of time."""
    events: list[PaneClosed | ShardReady[pa.Table]] = []
    for pane in panes:
        finished = stage.punctuate(at_us, pane)
        events.append(PaneClosed(at_us, pane, len(finished.closed.shards)))
        for worker, ready_us in finished.ready_us.items():
            held = shards.pop((pane, worker), [empty])
            events.append(ShardReady(ready_us, pane, algebra.shard(pa.concat_tables(held))))
    assert not shards, "a record is in no closed pane"
    events.sort(key=attrgetter("at_us"))
    return events
