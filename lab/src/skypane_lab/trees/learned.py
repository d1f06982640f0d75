"""VirtualLearned: a query with what its own steps took, in any tree, on any number of virtual cores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from skypane.tuning.patterns.base import Pattern, Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.planner.cost_model import CostModel
from skypane_lab.trees.floor import Machine
from skypane_lab.trees.prices import Prices, Taken, VirtualQuery
from skypane_lab.trees.tree_run import TreeRun, TreeStream

_MAX_KEYS: Final = 16
_MAX_SOURCES: Final = 8
_MAX_OVERLAP: Final = 100
"""More windows than that at once are as good as that many."""
_MAX_RECORDS: Final = 2_000
"""Bunches of a key and a pane are counted, so more records would only be larger numbers."""
_TURNS: Final = 3


@dataclass(frozen=True)
class VirtualLearned(VirtualQuery):
    """Each row is read once by each worker that gets it; a record of the run may stand for several of the stream."""

    record_us: float
    row_us: float
    rows_per_record: float
    answer_us: float

    def rows(self, records: float) -> float:
        """As the steps had them."""
        return records * self.rows_per_record

    def take_us(self, taken: Taken, rows: float, windows: int) -> float:
        """Records become partials, rows of partials windows; who answers windows of records does both."""
        del windows
        of_rows = self.row_us * self.rows_per_record
        by_kind = {
            Taken.FOR_PARTS: self.record_us,
            Taken.FOR_WINDOWS: self.record_us + of_rows,
            Taken.RESULTS: self.row_us,
        }
        return rows * by_kind[taken]

    def part_us(self, records: float) -> float:
        """Partials are made as records come."""
        del records
        return 0.0

    def window_us(self, records: float, rows: float) -> float:
        """One answer, of all keys that one key stands for."""
        del records, rows
        return self.answer_us


def simulated_step_us(tree: Pattern, work: Work, learned: CostModel, cores: int) -> float:
    """What a step's records would take, if the tree's nodes were threads on so many cores; no jobs are started.

    Records are read in parallel, as tasks do, so the first emitter's work is done by several; it takes time only in
    trees that send records to other tasks on Spark, too.
    """
    load, costs = learned.load, learned.costs
    work = _shortened(tree, work)
    windows, records = work.windows, max(1.0, load.records)
    panes = windows.slide // windows.pane
    keys = min(_MAX_KEYS, max(1, round(1 / load.heaviest)))
    # In the run a step is a slide; what a step has of records and answers is dealt out to its panes and keys.
    drawn = max(1, min(round(records / panes), _MAX_RECORDS * keys))
    stands_for = records / panes / drawn
    query = VirtualLearned(
        record_us=costs.record_us * stands_for,
        row_us=costs.row_us * stands_for,
        rows_per_record=load.rows / records,
        answer_us=costs.window_us * load.windows / keys,
    )
    slides = windows.size // windows.slide + 2 + _TURNS * tree.workers
    sources = min(cores, _MAX_SOURCES)
    stream = TreeStream(work, drawn, slides * panes, keys, sources, bunch=drawn)
    sends = tree.stage_plan().splitting is not None
    prices = Prices(send_us=costs.exchange_us * stands_for if sends else 0.0)
    run = TreeRun(tree, stream, query, prices, Machine(cores, queue_size=2 * drawn), spread=True)
    return drawn * panes / run.records_per_s() * 1e6


def _shortened(tree: Pattern, work: Work) -> Work:
    """Windows that overlap less, but enough for the tree."""
    (size, slide), overlap = work.windows, _MAX_OVERLAP
    while overlap * slide < size:
        shorter = replace(work, windows=Extent(overlap * slide, slide))
        if tree.legal(shorter):
            return shorter
        overlap *= 2
    return work
