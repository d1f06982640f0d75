"""Admission: the fate of each arriving record - quarantined, duplicate, late, or accepted if its time is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.flow.definition import Definition
from skypane.flow.distinct.duplicate_finder import DuplicateFinder
from skypane.flow.distinct.known_ids import KnownIds
from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.past_guard import PAST_REASON, FirstTimes
from skypane.lateness.progress import Progress
from skypane.model.columns import DELAY, HARMFUL, PANE, REASON, WATERMARK
from skypane.model.groups import BoolArray, Int64Array
from skypane.tables.rows import keep_rows, without_internal
from skypane.tables.times import before_us, out_of_range, times_us

CORRUPT_REASON = "corrupt record"
NULL_TIME_REASON = "null time"
TIME_RANGE_REASON = "time out of range"

_DENSE_PANES = 1 << 16
"""Fewer panes than this are counted in a plain array, which is several times faster than sorting."""


@dataclass(frozen=True)
class Frontier:
    """What was committed before the step, and the clock: decides which records are late and which are in doubt."""

    progress: Progress
    guard: FutureGuard
    limit_us: int | None = None
    """The newest time that can be true, by the clock; ``None`` where it does not tell."""
    witnesses_us: tuple[int, ...] = ()
    """The newest times that are held, up to the clock: they support others like them."""
    oldest_us: int | None = None
    """The oldest time that can be true, by the past guard; ``None`` for any."""

    def late_before(self, definition: Definition) -> int | None:
        """Records of panes below this number are too late to correct anything."""
        watermark = self.progress.punctuation_us
        if watermark is None:
            return None
        return definition.window.sealed_before(watermark - definition.allowed_lateness_us)


@dataclass(frozen=True)
class Admitted:
    """One arriving table, taken apart."""

    accepted: pa.Table
    """Records to process, with their pane, unless the future guard objects."""
    accepted_times_us: Int64Array
    late: pa.Table
    """Records that came too late, with their pane."""
    quarantined: pa.Table
    duplicates: pa.Table
    seen: Overdue
    first_times: FirstTimes
    """Known only before the first time is believed, which is when the past guard needs it."""


@dataclass(frozen=True)
class Overdue:
    """How late records are, as far as they teach anything: those that no permitted slack could have saved do not."""

    histogram: DelayHistogram
    """How long the panes of the records had been over when they came."""
    max_delay_us: int = 0
    late: int = 0


class Admission:
    """Takes arriving tables apart, against the frontier of the step before and the ids that are known since."""

    def __init__(self, definition: Definition, frontier: Frontier, known: KnownIds | None = None) -> None:
        self._definition = definition
        self._frontier = frontier
        self._late_before = frontier.late_before(definition)
        self._finder = None
        if definition.distinct is not None:
            self._finder = DuplicateFinder(definition.distinct, known or KnownIds.of([]))

    def admit(self, rows: pa.Table) -> Admitted:
        """Decide the fate of every row."""
        rows, quarantined = self._split_invalid(rows)
        times = times_us(rows.column(self._definition.time))
        panes = self._definition.window.pane_of(times)
        duplicates = rows.slice(0, 0)
        if self._finder is not None:  # before anything is learned: a copy says nothing of the stream's delays
            found = self._finder.find(rows, times, self._is_late(panes))
            if found.any():
                duplicates = without_internal(keep_rows(rows, found))
                rows, times, panes = keep_rows(rows, ~found), times[~found], panes[~found]
        overdue = self._overdue(panes, times)
        first_times = FirstTimes()
        if self._frontier.progress.t_max_us is None:
            first_times = FirstTimes.of(times, self._frontier.limit_us)
        rows = rows.append_column(PANE, pa.array(panes))
        late = rows.slice(0, 0)
        is_late = self._is_late(panes)
        if is_late.any():
            late = self._definition.after_admission(keep_rows(rows, is_late))
            rows, times = keep_rows(rows, ~is_late), times[~is_late]
        return Admitted(
            accepted=rows,
            accepted_times_us=times,
            late=late,
            quarantined=quarantined,
            duplicates=duplicates,
            seen=overdue,
            first_times=first_times,
        )

    def _is_late(self, panes: Int64Array) -> BoolArray:
        if self._late_before is None:
            return np.zeros(len(panes), dtype=np.bool_)
        late: BoolArray = panes < self._late_before
        return late

    def _overdue(self, panes: Int64Array, times: Int64Array) -> Overdue:
        """How far the front had passed the records' panes: with less slack than that they would be late."""
        front = self._frontier.progress.front_us
        if front is None or not len(panes):
            return Overdue(DelayHistogram(float(len(panes))))
        numbers, counts = count_panes(panes)
        taught = teaches(self._definition, numbers, front)
        if not taught.all():
            numbers, counts = numbers[taught], counts[taught]
            times = times[np.isin(panes, numbers)]
        return self._overdue_in(numbers, counts, times, front)

    def overdue(self, panes: Int64Array, counts: Int64Array, oldest_us: Int64Array) -> Overdue:
        """Count how overdue condensed records are: so many of a pane, from this time on."""
        front = self._frontier.progress.front_us
        if front is None or not len(panes):
            return Overdue(DelayHistogram(float(counts.sum())))
        taught = teaches(self._definition, panes, front)
        return self._overdue_in(panes[taught], counts[taught], oldest_us[taught], front)

    def _overdue_in(self, numbers: Int64Array, counts: Int64Array, times: Int64Array, front: int) -> Overdue:
        late = counts[numbers < self._late_before].sum() if self._late_before is not None else 0
        histogram = DelayHistogram.count(self._definition.window.overdue_us(numbers, front), counts)
        return Overdue(histogram, max(0, front - int(times.min())) if len(times) else 0, int(late))

    def _split_invalid(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Rows that can be used, and those that cannot with the reason."""
        reasons: list[tuple[BoolArray, str]] = []
        corrupt = self._definition.corrupt
        if corrupt is not None and rows.column(corrupt).null_count < rows.num_rows:
            reasons.append((np.asarray(pc.is_valid(rows.column(corrupt)).to_numpy()), CORRUPT_REASON))
        if rows.column(self._definition.time).null_count:
            reasons.append((np.asarray(pc.is_null(rows.column(self._definition.time)).to_numpy()), NULL_TIME_REASON))
        if (far := out_of_range(rows.column(self._definition.time))) is not None:
            reasons.append((far, TIME_RANGE_REASON))
        if (oldest := self._frontier.oldest_us) is not None:
            past = before_us(rows.column(self._definition.time), oldest)
            reasons += [(past, PAST_REASON)] if past.any() else []
        reasons += [(i.mask, i.reason) for i in self._definition.query.invalid(rows) if i.mask.any()]
        usable = rows.select(self._definition.accepted_schema(rows.schema).names)
        if not reasons:
            return usable, rows.slice(0, 0)
        bad = np.logical_or.reduce([mask for mask, _ in reasons])
        first = np.select([mask for mask, _ in reasons], list(range(len(reasons))), default=0)[bad]
        names = pa.array([reason for _, reason in reasons]).take(pa.array(first))
        return keep_rows(usable, ~bad), quarantine_rows(keep_rows(rows, bad), names)


def describe_late(definition: Definition, before: Progress, rows: pa.Table, harmful: pa.Array) -> pa.Table:
    """The original columns, how old the record was, the watermark it missed, whether it would have mattered."""
    assert before.punctuation_us is not None
    assert before.front_us is not None
    # Windows that were closed by the clock are behind the watermark, though the front has not passed them.
    reached_us = max(before.front_us, before.punctuation_us)
    delay = pa.array(reached_us - times_us(rows.column(definition.time))).cast(pa.duration("us"))
    missed = pa.array(np.full(rows.num_rows, before.punctuation_us))
    watermark = missed.cast(pa.timestamp("us", definition.time_zone))
    described = without_internal(rows).append_column(DELAY, delay).append_column(WATERMARK, watermark)
    return described.append_column(HARMFUL, harmful)


def teaches(definition: Definition, panes: Int64Array, front_us: int) -> BoolArray:
    """Which panes were over for so short a time that some slack could have saved their records."""
    most = definition.max_slack_us
    if most is None:
        return np.ones(len(panes), dtype=np.bool_)
    saved: BoolArray = definition.window.overdue_us(panes, front_us) <= most
    return saved


def count_panes(panes: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The distinct panes and how many records each has."""
    if not len(panes):
        return panes, panes
    first, last = int(panes.min()), int(panes.max())
    if first == last:  # as it often is, where records come nearly in order
        return panes[:1], np.array([len(panes)])
    if last - first > _DENSE_PANES:
        numbers, counts = np.unique(panes, return_counts=True)
        return numbers, counts
    counts = np.bincount(panes - first)
    present = np.flatnonzero(counts)
    return present + first, counts[present]


def quarantine_rows(rows: pa.Table, reasons: pa.Array) -> pa.Table:
    """The original columns and the reason."""
    return without_internal(rows).append_column(REASON, reasons)


def count_reasons(quarantined: pa.Table) -> Iterator[tuple[str, int]]:
    """How many rows were quarantined for each reason."""
    if quarantined.num_rows:
        for entry in quarantined.column(REASON).value_counts().to_pylist():
            yield entry["values"], entry["counts"]
