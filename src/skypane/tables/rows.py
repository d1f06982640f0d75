"""Rows: keep some of a table, or bring them into the order of their key groups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from skypane.model.columns import GROUP, PANE, PREFIX
from skypane.model.groups import BoolArray
from skypane.model.panes import PaneRange
from skypane.tables.take import take_rows


def keep_rows(rows: pa.Table, mask: BoolArray) -> pa.Table:
    """The rows where the mask is true."""
    return rows.filter(pa.array(mask))


def without_internal(rows: pa.Table) -> pa.Table:
    """Only the columns that came from the source."""
    return rows.select([name for name in rows.column_names if not name.startswith(PREFIX)])


def sorted_by_group(table: pa.Table) -> pa.Table:
    """Rows of one key group together, groups in order."""
    groups = table.column(GROUP).to_numpy()
    if (groups[1:] >= groups[:-1]).all():
        return table
    return take_rows(table, np.argsort(groups, kind="stable"))


def rows_by_group(table: pa.Table | None) -> dict[int, int]:
    """How many rows each key group has."""
    if table is None:
        return {}
    groups, counts = np.unique(table.column(GROUP).to_numpy(), return_counts=True)
    return dict(zip(groups.tolist(), counts.tolist(), strict=True))


def panes_in(table: pa.Table) -> PaneRange | None:
    """From the oldest to the newest pane; ``None`` without rows, or where records have no panes yet."""
    if not table.num_rows or PANE not in table.column_names:
        return None
    panes = table.column(PANE).to_numpy()
    return PaneRange(int(panes.min()), int(panes.max()) + 1)


def present(tables: Iterable[pa.Table | None]) -> tuple[pa.Table, ...]:
    """The tables that are not ``None``."""
    return tuple(table for table in tables if table is not None)


def together(tables: Iterable[pa.Table | None]) -> pa.Table | None:
    """One table of all that are there, with the columns that all of them have; ``None`` if none is.

    Columns are like those of the last one: others may be of sessions that showed times in another zone.
    """
    found = present(tables)
    if len(found) < 2:
        return found[0] if found else None
    names = [name for name in found[-1].column_names if all(name in table.column_names for table in found)]
    wanted = found[-1].select(names).schema
    return pa.concat_tables([conform(table.select(names), wanted) for table in found])


def with_columns_of(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Without columns of records that the schema does not have; those that only it has are null.

    Records may have been stored with all of their columns, or only with those that were read then.
    """
    names = [name for name in table.column_names if name in schema.names or name.startswith(PREFIX)]
    table = table.select(names)
    for field in schema:
        if field.name not in names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns as this run has them, in front of what the slide has added to its state.

    The state may be of a session that ordered its columns, or showed its times, otherwise.
    """
    added = [field for field in table.schema if field.name not in schema.names]
    wanted = pa.schema([*schema, *added])
    return table if table.schema.equals(wanted) else table.select(wanted.names).cast(wanted)
