"""In order, as the first paper compares it: buffer records until their pane is sealed, then process them.

Out of order, an open pane holds only what may still matter. Here a record waits, whole, until no older one can come.
The answers are the same; memory and latency are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.panes.lifting import in_some_window, lift_rows
from skypane.flow.processing.base import WindowInputs
from skypane.flow.processing.out_of_order import OutOfOrder
from skypane.flow.reports import WindowReport
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE
from skypane.tables.rows import present, sorted_by_group
from skypane.tables.take import take_rows
from skypane.tables.times import times_us


class InOrder(OutOfOrder):
    """For comparison, and for folds in which the order of records matters."""

    name = "in_order"
    buffers = True

    @property
    def hands_over(self) -> str:
        """The pane stage passes records on as they are."""
        return "hands records over, to be buffered"

    def lift(self, rows: pa.Table) -> pa.Table:
        """Records stay as they are."""
        return in_some_window(self._definition, rows)

    def combine(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Concatenate the records."""
        return pa.concat_tables(parts)

    def run(
        self, before: Progress, after_us: int | None, inputs: WindowInputs, joining: Joining = LOCAL_JOIN
    ) -> WindowReport[pa.Table, pa.Table]:
        """Lift the records of panes that are sealed by now; go on as usual."""
        partials, buffer = release(self._definition, inputs.buffer, inputs.fresh, after_us)
        if partials is not None:
            inputs = inputs.conforming(partials.schema)
        report = self._advance(before, after_us, inputs, present([partials]), buffer, joining)
        held = [inputs.share.owned(rows) for rows in present([buffer])]
        return replace(report, state=replace(report.state, buffer=tuple(rows for rows in held if rows.num_rows)))


class Released(NamedTuple):
    """What a step lets go, and what it goes on holding."""

    partials: pa.Table | None
    buffer: pa.Table | None


def release(
    definition: Definition, buffer: pa.Table | None, fresh: Sequence[pa.Table], after_us: int | None
) -> Released:
    """Process the records of sealed panes in the order of their times; go on holding the others."""
    rows = [part for part in (buffer, *fresh) if part is not None and part.num_rows]
    if not rows:
        return Released(None, None)
    table = pa.concat_tables(rows)
    if after_us is None:
        return Released(None, sorted_by_group(table))
    ready = table.column(PANE).to_numpy() < definition.window.sealed_before(after_us)
    held = table.filter(pa.array(~ready))
    table = table.filter(pa.array(ready))
    partials = None
    if table.num_rows:
        in_order = np.argsort(times_us(table.column(definition.time)), kind="stable")
        partials = sorted_by_group(lift_rows(definition, take_rows(table, in_order)))
    return Released(partials, sorted_by_group(held) if held.num_rows else None)
