"""In-order processing, as the first paper compares it: buffer records until their pane is sealed, then process them.

Out-of-order processing lifts records as they come, so that an open pane holds only what may still matter. Here a record
waits, whole, until no older one can come. The answers are the same; memory and latency are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.worker import lift_rows
from skypane.model.columns import PANE
from skypane.tables.rows import sorted_by_group
from skypane.tables.take import take_rows
from skypane.tables.times import times_us


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
