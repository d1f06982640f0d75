"""Delivery: answers leave before their step ends, window by window, as tasks finish; almost in order, or exactly.

Tasks that share the windows of some key groups finish one after the other. What each has answered is handed on as soon
as the windows before it allow it: with ``disorder=0`` in the order of windows, else with bounded disorder. Corrections
of earlier answers are handed on at once. So are windows of records, and what is told live: no two tasks share a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.flow.definition import Definition
from skypane.model.columns import PANE, WINDOW
from skypane.model.groups import Int64Array
from skypane.model.panes import Span
from skypane.scheduling.k_ordered import KOrdered
from skypane.scheduling.partitioning import WindowShare
from skypane.scheduling.ranges import GroupRange
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows
from skypane.tables.times import times_us


@dataclass(frozen=True)
class Delivery:
    """Where answers go while a step is running."""

    to: Callable[[pa.Table], object]
    """Gets the rows of one window, of the keys of some key groups; of windows of records, and live, of a task."""
    disorder: int = 0
    """How many places after a newer window of the same keys a window may come."""


class StepDelivery:
    """The answers of one step."""

    def __init__(self, definition: Definition, delivery: Delivery, span: Span, rows: Sequence[pa.Table]) -> None:
        self._definition, self._delivery, self._span = definition, delivery, span
        self._rows = rows
        self._at_once = definition.window.counted or definition.emit.instants
        """Whether each key has windows of its own, or none."""
        self._open: dict[GroupRange, tuple[Int64Array, KOrdered[pa.Table | None]]] = {}

    def finished(self, share: WindowShare, answers: Sequence[pa.Table]) -> None:
        """A task has answered its windows."""
        if self._at_once:
            for table in answers:
                self._delivery.to(table)
            return
        windows, collector = self._open.setdefault(share.groups, self._begin(share.groups))
        found = dict(self._by_window(windows, answers))
        for place in np.flatnonzero(share.answers(windows)).tolist():
            for _, table in collector.add(place, found.get(place)):
                if table is not None:
                    self._delivery.to(table)

    def _begin(self, groups: GroupRange) -> tuple[Int64Array, KOrdered[pa.Table | None]]:
        """The windows of the step that may have answers of these keys."""
        panes = np.unique(
            np.concatenate(
                [groups.slice_of(rows).column(PANE).to_numpy() for rows in self._rows] or [np.zeros(0, np.int64)]
            )
        )
        window, looks_back = self._definition.window, self._definition.emit.looks_back
        first = np.maximum(window.first_window(panes), self._span.first)
        last = np.minimum(window.last_window(panes) + looks_back, self._span.end - 1)
        windows = np.unique(ranges(first, np.maximum(last - first + 1, 0)))
        return windows, KOrdered(0, self._delivery.disorder)

    def _by_window(self, windows: Int64Array, answers: Sequence[pa.Table]) -> Iterator[tuple[int, pa.Table]]:
        """The rows of each window that the step closes; others go on at once."""
        if not answers:
            return
        table = pa.concat_tables(answers)
        ends_us = self._definition.window.window_end_us(windows)
        end_us = times_us(pc.struct_field(table.column(WINDOW), "end"))
        place = np.searchsorted(ends_us, end_us)
        earlier = end_us < (ends_us[0] if len(ends_us) else np.iinfo(np.int64).max)
        if earlier.any():
            self._delivery.to(table.filter(pa.array(earlier)))
        order = np.flatnonzero(~earlier)
        order = order[np.argsort(place[order], kind="stable")]
        numbers, begins = np.unique(place[order], return_index=True)
        ordered, borders = take_rows(table, order.astype(np.int64)), [*begins.tolist(), len(order)]
        for number, (low, high) in zip(numbers.tolist(), pairwise(borders), strict=True):
            yield number, ordered.slice(low, high - low)
