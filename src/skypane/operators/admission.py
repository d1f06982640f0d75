"""Admission: what happens to each arriving record - accepted, late, quarantined, or too far ahead to tell yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE, PREFIX
from skypane.model.groups import Int64Array
from skypane.operators.definition import Definition
from skypane.queries.base import BoolArray

REASON = "reason"
DELAY = "delay"
PUNCTUATION = "punctuation"
NULL_TIME_REASON = "null time"


@dataclass(frozen=True)
class Frontier:
    """What was committed before the step: decides which records are late and which are too far ahead."""

    progress: Progress
    guard: FutureGuard

    def sealed_before(self, definition: Definition) -> int | None:
        """Records of panes below this number are late."""
        punctuation = self.progress.punctuation_us
        return None if punctuation is None else definition.window.sealed_before(punctuation)


@dataclass(frozen=True)
class Admitted:
    """One arriving table, taken apart."""

    accepted: pa.Table
    """Records to process, with their pane, unless the future guard objects."""
    accepted_times_us: Int64Array
    late: pa.Table
    quarantined: pa.Table
    max_delay_us: int


class Admission:
    """Takes arriving tables apart, against the frontier of the step before."""

    def __init__(self, definition: Definition, frontier: Frontier) -> None:
        self._definition = definition
        self._frontier = frontier
        self._sealed_before = frontier.sealed_before(definition)

    def admit(self, rows: pa.Table) -> Admitted:
        """Decide the fate of every row."""
        rows, quarantined = self._split_invalid(rows)
        times = times_us(rows.column(self._definition.time))
        t_max = self._frontier.progress.t_max_us
        max_delay = max(0, t_max - int(times.min())) if t_max is not None and len(times) else 0
        panes = self._definition.window.pane_of(times)
        late = rows.slice(0, 0)
        if self._sealed_before is not None:
            is_late = panes < self._sealed_before
            if is_late.any():
                late = self._describe_late(keep_rows(rows, is_late), times[is_late])
                rows, times, panes = keep_rows(rows, ~is_late), times[~is_late], panes[~is_late]
        return Admitted(rows.append_column(PANE, pa.array(panes)), times, late, quarantined, max_delay)

    def _split_invalid(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Rows that can be used, and those that cannot with the reason."""
        reasons: list[tuple[BoolArray, str]] = []
        if rows.column(self._definition.time).null_count:
            reasons.append((np.asarray(pc.is_null(rows.column(self._definition.time)).to_numpy()), NULL_TIME_REASON))
        reasons += [(i.mask, i.reason) for i in self._definition.query.invalid(rows) if i.mask.any()]
        if not reasons:
            return rows, rows.slice(0, 0)
        bad = np.logical_or.reduce([mask for mask, _ in reasons])
        first = np.select([mask for mask, _ in reasons], list(range(len(reasons))), default=0)[bad]
        names = pa.array([reason for _, reason in reasons]).take(pa.array(first))
        return keep_rows(rows, ~bad), quarantine_rows(keep_rows(rows, bad), names)

    def _describe_late(self, rows: pa.Table, times: Int64Array) -> pa.Table:
        """The original columns, how old the record was, and the punctuation it missed."""
        progress = self._frontier.progress
        assert progress.punctuation_us is not None
        assert progress.t_max_us is not None
        delay = pa.array(progress.t_max_us - times).cast(pa.duration("us"))
        missed = pa.array(np.full(len(times), progress.punctuation_us))
        punctuation = missed.cast(pa.timestamp("us", self._definition.time_zone))
        return without_internal(rows).append_column(DELAY, delay).append_column(PUNCTUATION, punctuation)


def quarantine_rows(rows: pa.Table, reasons: pa.Array) -> pa.Table:
    """The original columns and the reason."""
    return without_internal(rows).append_column(REASON, reasons)


def without_internal(rows: pa.Table) -> pa.Table:
    """Only the columns that came from the source."""
    return rows.select([name for name in rows.column_names if not name.startswith(PREFIX)])


def times_us(column: pa.ChunkedArray) -> Int64Array:
    """Microseconds since the epoch of a timestamp column without nulls."""
    kind = column.type
    if kind.unit != "us":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def count_reasons(quarantined: pa.Table) -> Iterator[tuple[str, int]]:
    """How many rows were quarantined for each reason."""
    if quarantined.num_rows:
        for entry in quarantined.column(REASON).value_counts().to_pylist():
            yield entry["values"], entry["counts"]


def keep_rows(rows: pa.Table, mask: BoolArray) -> pa.Table:
    """The rows where the mask is true."""
    return rows.filter(pa.array(mask))
