"""PaneWorker: one task of the pane stage - admit records, cut them into panes, keep one partial per key and pane."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Admission, Frontier, count_panes, count_reasons
from skypane.flow.panes.stats import PaneStats, newest_panes
from skypane.lateness.delay_histogram import DelayHistogram
from skypane.model.columns import PANE
from skypane.model.groups import Int64Array
from skypane.model.ledger import Ledger
from skypane.queries.reduce import combine, lift
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.rows import keep_rows, rows_by_group, sorted_by_group
from skypane.tables.times import times_us

NEVER_US = -(2**63)
"""Older than any time."""

LIFT_ROWS = 1 << 18
"""Records to gather before they are lifted: large enough for vectorised work, small enough to bound memory."""


@dataclass(frozen=True)
class PaneOutput:
    """What a pane-stage task hands over."""

    partials: pa.Table | None
    """Sorted by key group, so that a range of key groups is a slice; ``None`` if there are none."""
    suspects: pa.Table | None
    """Records too far in the future for this task to judge: the driver, who knows all tasks, decides."""
    late: pa.Table | None
    """Late records, if they are kept, with their pane and sorted by key group."""
    quarantined: Sequence[pa.Table]
    stats: PaneStats


class PaneWorker:
    """Feed it tables in any number and order; finish once."""

    def __init__(
        self,
        definition: Definition,
        frontier: Frontier,
        *,
        keep_late: bool = True,
        keep_quarantined: bool = True,
    ) -> None:
        self._definition = definition
        self._frontier = frontier
        self._admission = Admission(definition, frontier)
        self._keep_late = keep_late
        self._keep_quarantined = keep_quarantined
        self._pending: list[pa.Table] = []
        self._pending_times: list[Int64Array] = []
        self._pending_rows = 0
        self._partials: list[pa.Table] = []
        self._late: list[pa.Table] = []
        self._quarantined: list[pa.Table] = []
        self._ledger = Ledger()
        self._between_windows = 0
        self._max_delay_us = 0
        self._overdue: list[DelayHistogram] = []
        self._seen: list[PaneStats] = []
        self._newest_us: tuple[int, ...] = ()
        self._trusted_us: int | None = None
        self._work_ns = 0

    def feed(self, rows: pa.Table) -> None:
        """Take in some records."""
        started = time.perf_counter_ns()
        admitted = self._admission.admit(rows)
        self._ledger += Ledger(0, admitted.late.num_rows, dict(count_reasons(admitted.quarantined)))
        if self._keep_late and admitted.late.num_rows:
            self._late.append(admitted.late)
        if self._keep_quarantined and admitted.quarantined.num_rows:
            self._quarantined.append(admitted.quarantined)
        self._max_delay_us = max(self._max_delay_us, admitted.max_delay_us)
        self._overdue.append(admitted.overdue)
        if admitted.accepted.num_rows:
            self._pending.append(admitted.accepted)
            self._pending_times.append(admitted.accepted_times_us)
            self._pending_rows += admitted.accepted.num_rows
        if self._pending_rows >= LIFT_ROWS:
            self._lift_pending()
        self._work_ns += time.perf_counter_ns() - started

    def finish(self) -> PaneOutput:
        """Lift what is left and merge the partials of equal key and pane."""
        started = time.perf_counter_ns()
        self._lift_pending()
        partials = merge_partials(self._definition, self._partials)
        self._work_ns += time.perf_counter_ns() - started
        seen = PaneStats.merge(self._seen, self._frontier.guard)
        stats = PaneStats(
            ledger=self._ledger,
            between_windows=self._between_windows,
            suspects=self._pending_rows,
            newest_us=self._newest_us,
            trusted_us=self._trusted_us,
            max_delay_us=self._max_delay_us,
            overdue=DelayHistogram.merge(self._overdue),
            newest_by_partition_us=seen.newest_by_partition_us,
            records_by_pane=seen.records_by_pane,
            partial_rows_by_group=rows_by_group(partials),
            work_us=self._work_ns // 1_000,
        )
        suspects = pa.concat_tables(self._pending) if self._pending_rows else None
        late = sorted_by_group(pa.concat_tables(self._late)) if self._late else None
        return PaneOutput(partials, suspects, late, self._quarantined, stats)

    def _lift_pending(self) -> None:
        """Lift the pending records that the future guard trusts; fewer than its ``support`` stay pending."""
        if not self._pending_rows:
            return
        rows, times = pa.concat_tables(self._pending), np.concatenate(self._pending_times)
        beyond = times > self._trust(times)
        self._pending, self._pending_times, self._pending_rows = [], [], int(beyond.sum())
        if self._pending_rows:
            self._pending, self._pending_times = [keep_rows(rows, beyond)], [times[beyond]]
            rows = keep_rows(rows, ~beyond)
        self._ledger += Ledger(accepted=rows.num_rows)
        self._seen.append(PaneStats(**seen_in(self._definition, rows)))
        partials, between = lift_accepted(self._definition, rows)
        self._between_windows += between
        if partials.num_rows:
            self._partials.append(partials)

    def _trust(self, times: Int64Array) -> int:
        """The newest time that this task can trust: every task together can only trust more."""
        guard, progress = self._frontier.guard, self._frontier.progress
        self._newest_us = guard.newest((*self._newest_us, *guard.newest_of(times)))
        anchor = guard.anchor(progress.t_max_us, guard.newest((*self._newest_us, *progress.future_evidence_us)))
        start = max((t for t in (anchor, self._trusted_us) if t is not None), default=None)
        self._trusted_us = guard.trusted_until(start, times)
        return NEVER_US if self._trusted_us is None else self._trusted_us


def seen_in(definition: Definition, rows: pa.Table) -> dict[str, Any]:
    """What trusted records say of panes and source partitions: ``records_by_pane`` and ``newest_by_partition_us``."""
    numbers, counts = count_panes(rows.column(PANE).to_numpy())
    records_by_pane = newest_panes(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    newest_us: dict[str, int] = {}
    if definition.partition is not None and rows.num_rows:
        encoded = rows.column(definition.partition).combine_chunks().dictionary_encode(null_encoding="encode")
        newest = np.full(len(encoded.dictionary), NEVER_US, dtype=np.int64)
        np.maximum.at(newest, encoded.indices.to_numpy(), times_us(rows.column(definition.time)))
        newest_us = dict(zip(map(str, encoded.dictionary.to_pylist()), newest.tolist(), strict=True))
    return {"records_by_pane": records_by_pane, "newest_by_partition_us": newest_us}


def lift_accepted(definition: Definition, rows: pa.Table) -> tuple[pa.Table, int]:
    """One partial per key and pane; also how many records fall between hopping windows and so into no partial.

    With ``processing="in_order"`` the records stay as they are: the window stage buffers them and lifts them later.
    """
    panes = rows.column(PANE).to_numpy()
    in_window = definition.window.in_some_window(panes)
    between = rows.num_rows - int(in_window.sum())
    if between:
        rows, panes = keep_rows(rows, in_window), panes[in_window]
    if definition.processing == "in_order":
        return rows, between
    return lift_rows(definition, rows), between


def lift_rows(definition: Definition, rows: pa.Table) -> pa.Table:
    """One partial per key and pane."""
    panes = rows.column(PANE).to_numpy()
    order = sort_by(key_codes(rows, definition.keys), panes)
    return lift(definition.query, rows, order, definition.frame).table


def merge_partials(definition: Definition, parts: Sequence[pa.Table]) -> pa.Table | None:
    """One partial per key and pane from several, sorted by key group; ``None`` if there are none."""
    if not parts:
        return None
    table = parts[0]
    if len(parts) > 1:
        table = pa.concat_tables(parts)
    if len(parts) > 1 and definition.processing != "in_order":
        order = sort_by(key_codes(table, definition.keys), table.column(PANE).to_numpy())
        table = combine(definition.query, table, order, definition.frame).table
    return sorted_by_group(table)
