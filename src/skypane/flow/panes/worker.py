"""PaneWorker: one task of the pane stage - admit records, cut them into panes, keep one partial per key and pane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.id_rows import by_hash, known_ids
from skypane.flow.distinct.known_ids import KnownIds
from skypane.flow.panes.admission import Admission, Frontier, count_panes, count_reasons
from skypane.flow.panes.condensed import CondensedRows
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, newest_panes
from skypane.lateness.partitions import PartitionSeen
from skypane.lateness.trust import TaskTrust
from skypane.model.columns import PANE
from skypane.model.groups import Int64Array
from skypane.model.ledger import Ledger
from skypane.tables.rows import keep_rows, rows_by_group, sorted_by_group
from skypane.tables.times import times_us

NEVER_US = -(2**63)
"""Older than any time."""

LIFT_ROWS = 1 << 18
"""Records to gather before they are lifted: large enough for vectorised work, small enough to bound memory."""
_NOTES = 64
LIFT_BYTES = 1 << 28
"""The same for records that are large."""


class PaneWorker:
    """Feed it tables in any number and order; finish once."""

    def __init__(
        self,
        program: Program,
        frontier: Frontier,
        *,
        known: KnownIds | None = None,
        keep_late: bool = True,
        keep_quarantined: bool = True,
        keep_duplicates: bool = True,
    ) -> None:
        self._definition = program.definition
        self._frontier = frontier
        self._admission = Admission(program.definition, frontier, known)
        self._processing = program.processing
        self._keep_late = keep_late
        self._keep_quarantined = keep_quarantined
        self._keep_duplicates = keep_duplicates
        self._pending: list[pa.Table] = []
        self._pending_times: list[Int64Array] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._partials: list[pa.Table] = []
        self._late: list[pa.Table] = []
        self._quarantined: list[pa.Table] = []
        self._duplicates: list[pa.Table] = []
        self._ids: list[pa.Table] = []
        self._seen: list[PaneReport[pa.Table]] = []
        self._trust = TaskTrust(
            frontier.guard,
            t_max_us=frontier.progress.t_max_us,
            witnesses_us=frontier.witnesses_us,
            limit_us=frontier.limit_us,
        )

    def feed(self, rows: pa.Table) -> None:
        """Ingest some records."""
        admitted = self._admission.admit(rows)
        if self._keep_late and admitted.late.num_rows:
            self._late.append(admitted.late)
        if self._keep_quarantined and admitted.quarantined.num_rows:
            self._quarantined.append(admitted.quarantined)
        if self._keep_duplicates and admitted.duplicates.num_rows:
            self._duplicates.append(admitted.duplicates)
        ledger = Ledger(
            late=admitted.late.num_rows,
            quarantined_by_reason=dict(count_reasons(admitted.quarantined)),
            duplicate=admitted.duplicates.num_rows,
        )
        seen = admitted.seen
        self._note(
            PaneReport(
                ledger=ledger,
                missed=seen.late,
                max_delay_us=seen.max_delay_us,
                overdue=seen.histogram,
                first_times=admitted.first_times,
            )
        )
        if admitted.accepted.num_rows:
            self._pending.append(admitted.accepted)
            self._pending_times.append(admitted.accepted_times_us)
            self._pending_rows += admitted.accepted.num_rows
            self._pending_bytes += admitted.accepted.nbytes
        if self._pending_rows >= LIFT_ROWS or self._pending_bytes >= LIFT_BYTES:
            self._lift_pending()

    def feed_condensed(self, rows: CondensedRows) -> None:
        """Take in records that were added up already, since nothing but being accepted can happen to them."""
        if not len(rows.records):
            return
        seen = self._admission.overdue(rows.panes, rows.records, rows.oldest_us)
        numbers, where = np.unique(rows.panes, return_inverse=True)
        counts = np.zeros(len(numbers), dtype=np.int64)
        np.add.at(counts, where, rows.records)
        records = int(counts.sum())
        self._note(
            PaneReport(
                ledger=Ledger(accepted=records),
                condensed=records,
                max_delay_us=seen.max_delay_us,
                overdue=seen.histogram,
                records_by_pane=newest_panes(dict(zip(numbers.tolist(), counts.tolist(), strict=True))),
            )
        )
        self._trust.believe(rows.newest_times(self._frontier.guard))
        partials = rows.in_some_window(self._definition)
        if partials.num_rows:
            self._partials.append(partials)

    def finish(self) -> PaneReport[pa.Table]:
        """Lift what is left and merge the partials of equal key and pane."""
        self._lift_pending()
        partials = self._processing.merge(self._partials)
        seen = PaneReport.merge(self._seen, self._frontier.guard)
        return replace(
            seen,
            partials=() if partials is None else (partials,),
            suspects=tuple(self._pending),
            late=(sorted_by_group(pa.concat_tables(self._late)),) if self._late else (),
            quarantined=tuple(self._quarantined),
            duplicates=tuple(self._duplicates),
            ids=(by_hash(pa.concat_tables(self._ids)),) if self._ids else (),
            suspected=self._pending_rows,
            newest_us=self._trust.newest_us,
            trusted_us=self._trust.trusted_us,
            rows_by_group=rows_by_group(partials),
        )

    def _note(self, seen: PaneReport[pa.Table]) -> None:
        """Remember what was seen; merged now and then, so that a long batch does not make a long list."""
        self._seen.append(seen)
        if len(self._seen) >= _NOTES:
            self._seen = [PaneReport.merge(self._seen, self._frontier.guard)]

    def _lift_pending(self) -> None:
        """Lift the pending records that can be trusted; few stay pending, but for those ahead of the clock."""
        if not self._pending_rows:
            return
        rows, times = pa.concat_tables(self._pending), np.concatenate(self._pending_times)
        beyond = self._trust.suspicious(times)
        self._pending, self._pending_times, self._pending_rows = [], [], int(beyond.sum())
        self._pending_bytes = 0  # of those that stay nothing is counted: they are few, and would only be tried again
        if self._pending_rows:
            self._pending, self._pending_times = [keep_rows(rows, beyond)], [times[beyond]]
            rows, times = keep_rows(rows, ~beyond), times[~beyond]
        self._note(accepted_in(self._definition, rows))
        if self._definition.distinct is not None and rows.num_rows:
            self._ids.append(known_ids(self._definition.distinct, rows, times))
        partials = self._processing.lift(self._definition.after_admission(rows))
        if partials.num_rows:
            self._partials.append(partials)


def accepted_in(definition: Definition, rows: pa.Table) -> PaneReport[pa.Table]:
    """What trusted records say: how many there are, of which panes, and how far the source partitions have come."""
    numbers, counts = count_panes(rows.column(PANE).to_numpy())
    seen: dict[str, PartitionSeen] = {}
    if definition.partition is not None and rows.num_rows:
        encoded = rows.column(definition.partition).combine_chunks().dictionary_encode(null_encoding="encode")
        newest = np.full(len(encoded.dictionary), NEVER_US, dtype=np.int64)
        np.maximum.at(newest, encoded.indices.to_numpy(), times_us(rows.column(definition.time)))
        records = np.bincount(encoded.indices.to_numpy(), minlength=len(newest))
        found = map(PartitionSeen, newest.tolist(), records.tolist())
        seen = dict(zip(map(str, encoded.dictionary.to_pylist()), found, strict=True))
    return PaneReport(
        ledger=Ledger(accepted=rows.num_rows),
        partitions=seen,
        records_by_pane=newest_panes(dict(zip(numbers.tolist(), counts.tolist(), strict=True))),
    )
