"""Frames: pandas, polars and Arrow tables, answered in this process, without Spark; the same type comes back."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from skypane.local.one_table import answer_of, check_once, partial_of
from skypane.model.column_names import missing_column
from skypane.model.columns import ID, PREFIX
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Query
from skypane.tables.grouping import one_zero
from skypane.tables.row_hashes import row_hashes

_ROW = f"{PREFIX}row"
"""Where the row is in the frame: only what is compared goes through Arrow, whole rows are taken from the frame."""


def answer_frame(df: Any, query: Query, keys: tuple[str, ...], invalid: str) -> Any:
    """The rows that the query chooses, in their order unless it ranks them, with the columns that it adds."""
    frame = frame_of(df)
    records = _records(frame, query, keys)
    check_once(records.schema, keys, invalid)
    prepared = _prepared(records, query, keys)
    query.check(prepared.drop_columns([_ROW]).schema)
    answer = answer_of(query, keys, partial_of(query, keys, prepared.to_batches(), invalid))
    if not answer.num_rows:  # no partial has been lowered: the columns that the query adds are still missing
        answer = query.lower(prepared.slice(0, 0), Groups.from_sizes([])).table
    rows = answer.column(_ROW).to_numpy()
    if query.answer_is_partial:
        return nw.to_native(_chosen(frame, np.sort(rows)))
    added = nw.from_arrow(answer.select(list(query.added_columns())), backend=frame.implementation)
    return nw.to_native(_chosen(frame, rows).with_columns(*(added[name] for name in added.columns)))


def _chosen(frame: nw.DataFrame[Any], rows: Int64Array) -> nw.DataFrame[Any]:
    try:
        return frame[rows]
    except pa.ArrowNotImplementedError as error:
        raise SchemaError(f"Arrow cannot take rows of a column of this table: {error}. Convert it first.") from error


def frame_of(df: Any) -> nw.DataFrame[Any]:
    """A frame of any kind that is answered in process; anything else is refused."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(df, eager_only=True)
    except TypeError as error:
        kind = f"{type(df).__module__.split('.')[0]}.{type(df).__name__}"
        raise OptionError(
            f"A table of type {kind} is not understood. Give a Spark, pandas or polars DataFrame or an Arrow table; "
            "of a lazy frame, collect() it first."
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise SchemaError(f"A column is there twice. Rename one of them. ({error})") from error
    for name in frame.columns:
        if not isinstance(name, str):
            raise SchemaError(f"Column {name!r}: names of columns must be texts. Rename it.")
        if name.lower().startswith(PREFIX):
            raise SchemaError(f"Column {name!r}: names that start with {PREFIX!r} are reserved. Rename it.")
    return frame


def _records(frame: nw.DataFrame[Any], query: Query, keys: tuple[str, ...]) -> pa.Table:
    """What is compared, or whole rows where ties are cut by a hash of them; dictionaries as plain values."""
    scores = [expression.sql for expression in query.expressions().values()]
    for score in scores:
        if score not in frame.columns:
            raise OptionError(
                f"{score!r} is not a column; only Spark can compute SQL expressions. Add it to the table as a column "
                f"first and give the column's name. The columns are: {', '.join(frame.columns)}."
            )
    compared = (*keys, *scores, *(query.selection.inputs() if query.selection else ()))
    for name in compared:
        if name not in frame.columns and not name.startswith(PREFIX):
            role = "Grouping column" if name in keys else "Attribute"
            raise missing_column(frame.columns, name, role)
    # Names that the query adds are looked at, too: it refuses them.
    wanted = {*compared, *(name for name in frame.columns if name.lower() in query.added_columns())}
    names = [name for name in frame.columns if name in wanted or query.needs_record_id()]
    try:
        table = frame.select(*names).to_arrow().select(names)
    except (pa.ArrowException, TypeError) as error:
        raise SchemaError(f"A column has values of no one type: {error}. Drop it, or turn it into text.") from error
    return pa.table({name: _plain(name, table.column(name)) for name in names})


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as Spark would hand them over; a type that cannot be compared or hashed is refused by name."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        kind = pa.string() if pa.types.is_string_view(kind) else pa.binary()
    if pa.types.is_null(kind) and not len(column):  # a frame without rows: any type will do
        kind = pa.float64()
    try:
        return column if kind == column.type else column.cast(kind)
    except pa.ArrowException as error:
        raise SchemaError(
            f"Column {name!r} of type {column.type} cannot be used: {error}. Convert it first."
        ) from error


def _prepared(records: pa.Table, query: Query, keys: tuple[str, ...]) -> pa.Table:
    """The records with what Spark would compute for them: keys with one zero, expressions, record id."""
    columns = {name: records.column(name) for name in records.column_names}
    columns |= {key: one_zero(columns[key]) for key in keys}
    columns |= {name: records.column(expression.sql) for name, expression in query.expressions().items()}
    if query.needs_record_id():
        columns[ID] = pa.chunked_array([pa.array(row_hashes(records))])
    columns[_ROW] = pa.chunked_array([pa.array(np.arange(records.num_rows))])
    return pa.table(columns)
