"""Pane merge: partials of one key and pane, from the state and from several tasks, become one partial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.columns import GROUP, PANE
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Grouped
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order, key_codes, sort_by
from skypane.tables.rows import conform, together
from skypane.tables.take import take_rows


def merge_panes(definition: Definition, parts: Sequence[pa.Table]) -> Grouped:
    """One group of rows per key and pane; only panes that got something new are combined again."""
    table = pa.concat_tables(parts) if len(parts) > 1 else parts[0]
    order = sort_by(key_codes(table, [GROUP, *definition.keys]), table.column(PANE).to_numpy())
    source = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])[order.rows]
    borders, sizes = order.groups.offsets, order.groups.sizes
    mixed = source[borders[:-1]] != source[borders[1:] - 1]  # rows of a group are in the order of the parts
    if not mixed.any():
        return Grouped(take_rows(table, order.rows), order.groups)
    row_mixed = np.repeat(mixed, sizes)
    several = Order(order.rows[row_mixed], Groups.from_sizes(sizes[mixed]))
    fresh = combine(definition.query, table, several, definition.frame)
    if mixed.all():
        return fresh
    return _interleave(table, order.rows[~row_mixed], fresh, np.where(mixed, -1, sizes))


def beside(sealed_rows: Sequence[pa.Table], merged: Grouped | None) -> Grouped:
    """Rows that were merged by earlier steps, and behind them those of this one, as far as there are any.

    Where one pane ends and the next begins in the old ones is not looked up: each is a group of its own.
    """
    old = together(sealed_rows)
    if old is None:
        assert merged is not None
        return merged
    table = old if merged is None else pa.concat_tables([conform(old, merged.table.schema), merged.table])
    return Grouped(table, Groups(np.arange(table.num_rows + 1)))


def _interleave(table: pa.Table, kept: Int64Array, fresh: Grouped, sizes: Int64Array) -> Grouped:
    """Kept rows of the table and fresh groups in one order; ``sizes`` of the kept groups, below 0 for a fresh one."""
    is_fresh = sizes < 0
    sizes = sizes.copy()
    sizes[is_fresh] = fresh.groups.sizes
    from_fresh = np.repeat(is_fresh, sizes)
    rows = np.empty(len(from_fresh), dtype=np.int64)
    rows[~from_fresh] = kept
    rows[from_fresh] = table.num_rows + np.arange(fresh.groups.rows)
    both = pa.concat_tables([table.select(fresh.table.column_names), fresh.table])
    return Grouped(take_rows(both, rows), Groups.from_sizes(sizes))
