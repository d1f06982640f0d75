"""Held: the records whose time is in doubt as a table, with what has come since they did."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import quarantine_rows
from skypane.lateness.future_guard import CLOCK_REASON, FUTURE_REASON
from skypane.lateness.past_guard import PAST_REASON
from skypane.lateness.suspects import Suspects, Verdict
from skypane.model.columns import BEHIND, OTHERS
from skypane.model.groups import BoolArray
from skypane.tables.rows import keep_rows, together
from skypane.tables.times import times_us


def in_doubt(definition: Definition, fresh: pa.Table | None, held: pa.Table | None) -> tuple[pa.Table | None, Suspects]:
    """The suspects of a batch and those held before it, in one table; and the same as numbers."""
    parts = [] if fresh is None else [_counted(fresh, Suspects.fresh(times_us(fresh.column(definition.time))))]
    parts += [] if held is None else [held.select(parts[0].column_names) if parts else held]
    table = together(parts)
    if table is None:
        return None, Suspects.fresh(np.zeros(0, dtype=np.int64))
    came_before = np.arange(table.num_rows) >= (0 if fresh is None else fresh.num_rows)
    others, behind = (table.column(name).to_numpy() for name in (OTHERS, BEHIND))
    times = times_us(table.column(definition.time))
    return table, Suspects(times_us=times, others=others, behind=behind, held=came_before)


def without_past(
    table: pa.Table | None, suspects: Suspects, oldest_us: int | None
) -> tuple[pa.Table | None, Suspects, pa.Table | None]:
    """The suspects from the oldest possible time on; and those before it, with the reason."""
    past = np.zeros(len(suspects.times_us), dtype=np.bool_) if oldest_us is None else suspects.times_us < oldest_us
    if table is None or not past.any():
        return table, suspects, None
    refused = keep_rows(_plain(table), past)
    reasons = pa.array([PAST_REASON] * refused.num_rows, pa.string())
    return keep_rows(table, ~past), suspects.only(~past), quarantine_rows(refused, reasons)


def still_held(table: pa.Table | None, verdict: Verdict) -> pa.Table | None:
    """The records that stay held, with what has come since."""
    if table is None or not verdict.still_held.any():
        return None
    return keep_rows(_counted(_plain(table), verdict.suspects), verdict.still_held)


def accepted_of(table: pa.Table | None, verdict: Verdict) -> pa.Table | None:
    """The records that are believed."""
    return _chosen(table, verdict.accepted)


def refused_of(table: pa.Table | None, verdict: Verdict) -> pa.Table | None:
    """The records that are not, with the reason."""
    rows = _chosen(table, verdict.refused)
    if rows is None:
        return None
    reasons = np.where(verdict.ahead[verdict.refused], CLOCK_REASON, FUTURE_REASON)
    return quarantine_rows(rows, pa.array(reasons.tolist(), pa.string()))


def reasons_of(verdict: Verdict) -> Iterator[tuple[str, int]]:
    """How many are refused for which reason."""
    for reason, asked in ((CLOCK_REASON, verdict.ahead), (FUTURE_REASON, ~verdict.ahead)):
        if count := int((verdict.refused & asked).sum()):
            yield reason, count


def _chosen(table: pa.Table | None, mask: BoolArray) -> pa.Table | None:
    return None if table is None or not mask.any() else keep_rows(_plain(table), mask)


def _plain(table: pa.Table) -> pa.Table:
    return table.drop_columns([OTHERS, BEHIND])


def _counted(rows: pa.Table, suspects: Suspects) -> pa.Table:
    return rows.append_column(OTHERS, pa.array(suspects.others)).append_column(BEHIND, pa.array(suspects.behind))
