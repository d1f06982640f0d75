"""ArrivalTable: a generated stream as counts - so many records of which pane in which slice of arrival time.

Virtual workers take records in slices of a few milliseconds: what follows (queues, utilization, latency) is on time
scales of tens of milliseconds and more, so nothing is lost, and a stream of millions of records is some
ten thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Block, Stream


@dataclass(frozen=True)
class ArrivalTable:
    """Rows in order of arrival; of equal slices by pane."""

    pane_us: int
    slice_us: int
    slices: Int64Array
    """The slice of each row; it is handed over when the slice ends."""
    panes: Int64Array
    counts: Int64Array
    punctuation_us: Int64Array
    """The punctuation at the end of each slice."""
    dropped: int
    """Late records: their pane was closed before they came."""

    @property
    def records(self) -> int:
        """Records that were in time."""
        return int(self.counts.sum())

    def pane_sizes(self) -> Int64Array:
        """Records of each pane, from the first to the last."""
        return np.bincount(self.panes, weights=self.counts).astype(np.int64)


@dataclass
class _Tracker:
    """K-slack over a stream that comes block by block; a fixed slack if one is given."""

    fixed_slack_us: int | None
    t_max_us: int = 0
    slack_us: int = 0
    punctuation_us: int = 0

    def follow(self, block: Block) -> Int64Array:
        """The punctuation just before each record."""
        t_max = np.maximum.accumulate(np.maximum(block.ts_us, self.t_max_us))
        if self.fixed_slack_us is None:
            slack = np.maximum.accumulate(np.maximum(t_max - block.ts_us, self.slack_us))
        else:
            slack = np.full(len(t_max), self.fixed_slack_us, dtype=np.int64)
        after = np.maximum.accumulate(np.maximum(t_max - slack, self.punctuation_us))
        before = np.concatenate(([self.punctuation_us], after[:-1]))
        self.t_max_us, self.slack_us, self.punctuation_us = int(t_max[-1]), int(slack[-1]), int(after[-1])
        return before.astype(np.int64)


class _Counts:
    """How many records of which pane in which slice, counted block by block."""

    def __init__(self, pane_us: int) -> None:
        self._pane_us = pane_us
        self._parts: list[tuple[Int64Array, Int64Array, Int64Array]] = []

    def add(self, slices: Int64Array, ts_us: Int64Array) -> None:
        """Count the records of a block."""
        if not len(ts_us):
            return
        panes = ts_us // self._pane_us
        low_slice, low_pane = int(slices.min()), int(panes.min())
        width = int(panes.max()) - low_pane + 1
        cells = (slices - low_slice) * width + (panes - low_pane)
        # A block is short, so a table of all its slices and panes is small - unless a few records are spread widely.
        if int(cells.max()) < 16 * len(cells):
            counts = np.bincount(cells)
            found = np.flatnonzero(counts)
            counts = counts[found]
        else:
            found, counts = np.unique(cells, return_counts=True)
        self._parts.append((found // width + low_slice, found % width + low_pane, counts))

    def table(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Slices, panes and counts, in order; blocks may have shared a slice."""
        slices, panes, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((panes, slices))
        slices, panes, counts = slices[order], panes[order], counts[order]
        first = np.flatnonzero(np.diff(slices, prepend=-1) | np.diff(panes, prepend=-1))
        return slices[first], panes[first], np.add.reduceat(counts, first)


def tabulate(
    spec: TrafficSpec,
    pane_us: int,
    slice_us: int = 10_000,
    *,
    in_order: bool = False,
    fixed_slack_us: int | None = None,
) -> ArrivalTable:
    """Count a generated stream of given duration, with K-slack punctuations (or a fixed slack).

    With ``in_order`` records are held back until the punctuation passes them, like in engines that sort first; their
    times are then kept until the end, otherwise a stream need not fit in memory.
    """
    tracker, counts = _Tracker(fixed_slack_us), _Counts(pane_us)
    held_back: list[Int64Array] = []
    steps: list[tuple[int, int]] = []  # slice, punctuation at its last record so far
    dropped = 0
    for block in blocks(spec):
        before = tracker.follow(block)
        # A punctuation closes whole panes: a record is late only if its pane is closed.
        in_time = block.ts_us // pane_us >= before // pane_us
        dropped += len(in_time) - int(np.count_nonzero(in_time))
        ts_us, slices = block.ts_us[in_time], block.arrival_us // slice_us
        if in_order:
            held_back.append(ts_us)
        else:
            counts.add(slices[in_time], ts_us)
        last = np.flatnonzero(np.diff(slices, append=slices[-1] + 1))
        known = np.append(before[1:], tracker.punctuation_us)
        steps += zip(slices[last].tolist(), known[last].tolist(), strict=True)
    if not steps:
        raise OptionError("rate= and duration= make a stream without records: raise one of them.")
    punctuation_us = _by_slice(steps, steps[-1][0] + 1)
    for ts_us in held_back:
        released = np.searchsorted(punctuation_us, ts_us, side="right")
        # What is still held back at the end is let go with the last slice.
        counts.add(np.minimum(released, len(punctuation_us) - 1), ts_us)
    return ArrivalTable(pane_us, slice_us, *counts.table(), punctuation_us, dropped)


def blocks(spec: TrafficSpec) -> Iterator[Block]:
    """A generated stream of given duration in order of arrival, block by block; none is empty."""
    stream = Stream(spec)
    end_us = stream.end_us
    assert end_us is not None, "a stream to simulate has a duration"
    for index in range(-(-end_us // stream.block_us)):
        block = stream.block(0, index)
        if len(block.ts_us):
            yield block


def _by_slice(steps: list[tuple[int, int]], slices: int) -> Int64Array:
    punctuation = np.zeros(slices, dtype=np.int64)
    for index, value in steps:
        punctuation[index] = value
    return np.maximum.accumulate(punctuation)
