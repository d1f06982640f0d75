"""Pane merge: partials of one key and pane, from the state and from several tasks, become one partial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Groups
from skypane.queries.base import Grouped
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order, key_codes, sort_by
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows


def merge_panes(definition: Definition, parts: Sequence[pa.Table]) -> Grouped:
    """One group of rows per key and pane; only panes that got something new are combined again."""
    table = pa.concat_tables(parts) if len(parts) > 1 else parts[0]
    order = sort_by(key_codes(table, definition.keys), table.column(PANE).to_numpy())
    source = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])[order.rows]
    starts, sizes = order.groups.offsets[:-1], order.groups.sizes
    mixed = np.minimum.reduceat(source, starts) != np.maximum.reduceat(source, starts)
    if not mixed.any():
        return Grouped(take_rows(table, order.rows), order.groups)
    row_mixed = np.repeat(mixed, sizes)
    several = Order(order.rows[row_mixed], Groups.from_sizes(sizes[mixed]))
    fresh = combine(definition.query, table, several, definition.frame)
    if mixed.all():
        return fresh
    kept = Grouped(take_rows(table, order.rows[~row_mixed]), Groups.from_sizes(sizes[~mixed]))
    return _interleave(kept, fresh, mixed)


def _interleave(kept: Grouped, fresh: Grouped, is_fresh: BoolArray) -> Grouped:
    """Put groups from two tables back into one order."""
    starts, sizes = np.empty(len(is_fresh), dtype=np.int64), np.empty(len(is_fresh), dtype=np.int64)
    starts[~is_fresh], sizes[~is_fresh] = kept.groups.offsets[:-1], kept.groups.sizes
    starts[is_fresh], sizes[is_fresh] = fresh.groups.offsets[:-1] + kept.groups.rows, fresh.groups.sizes
    both = pa.concat_tables([kept.table, fresh.table])
    return Grouped(take_rows(both, ranges(starts, sizes)), Groups.from_sizes(sizes))
