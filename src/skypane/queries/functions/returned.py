"""Returned: what a function of the user's returns as rows of the schema that was promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.columns import CHANGE, PREFIX, REVISION, WINDOW
from skypane.model.ddl import type_text
from skypane.model.errors import OptionError
from skypane.queries.functions.values import as_array, cast

_COLUMNS = (list, tuple, np.ndarray, pa.Array, pa.ChunkedArray)
_KINDS = tuple("iufbM")
"""Of arrays that Arrow has a type for."""
_MISSING = ("NAType", "NaTType")
"""What pandas has for a value that is none."""
_TAKEN = (WINDOW, REVISION, CHANGE)


class ReturnedWrongError(TypeError):
    """A function returned what it was not to; the caller adds which one."""


def check_promised(schema: pa.Schema, what: str) -> None:
    """Refuse names that a result cannot have."""
    if not len(schema):
        raise OptionError(f"{what} has no columns: name at least one, such as 'median double'.")
    seen: set[str] = set()
    for name in schema.names:
        if name.lower() in _TAKEN or name.lower().startswith(PREFIX) or name.lower() in seen:
            why = "is there twice" if name.lower() in seen else "is a name that the result has already"
            raise OptionError(f"{what}: {name!r} {why}. Choose another.")
        seen.add(name.lower())


def as_rows(value: Any, schema: pa.Schema) -> pa.Table:
    """Rows of the schema, or :class:`ReturnedWrongError` that names the column and the type it was to have."""
    if isinstance(value, pa.RecordBatch):
        value = pa.Table.from_batches([value])
    if isinstance(value, Mapping):
        return _from_columns(value, schema)
    if isinstance(value, pa.Table):
        _check_names(value.column_names, schema)
        return pa.table([_cast(value.column(f.name), f) for f in schema], schema=schema)
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a DataFrame of pandas or polars
        _check_names(list(value.columns), schema)
        return _from_columns({name: value[name] for name in value.columns}, schema)
    if isinstance(value, list | tuple) and all(isinstance(row, Mapping) for row in value):
        for row in value:
            _check_names(list(row), schema)
        return pa.table([_array([row[f.name] for row in value], f) for f in schema], schema=schema)
    raise ReturnedWrongError(
        f"returned {'None' if value is None else f'a {type(value).__name__}'}; return a table, a DataFrame, a dict of "
        "columns, or a list of dicts, one for each row; an empty list for no rows"
    )


def _from_columns(columns: Mapping[Any, Any], schema: pa.Schema) -> pa.Table:
    """A dict of columns; one with a plain value in it is a single row."""
    _check_names(list(columns), schema)
    if not all(map(_is_column, columns.values())):
        columns = {name: [None if type(value).__name__ in _MISSING else value] for name, value in columns.items()}
    arrays = [_array(columns[field.name], field) for field in schema]
    lengths = {field.name: len(array) for field, array in zip(schema, arrays, strict=True)}
    if len(set(lengths.values())) > 1:
        raise ReturnedWrongError(f"returned columns of different lengths: {lengths}")
    return pa.table(arrays, schema=schema)


def _is_column(value: Any) -> bool:
    """Several values; a time of pandas can be made an array as its columns can, but has no length."""
    return isinstance(value, _COLUMNS) or (hasattr(value, "to_numpy") and hasattr(value, "__len__"))


def _check_names(names: Sequence[Any], schema: pa.Schema) -> None:
    for field in schema:
        if field.name not in names:
            raise ReturnedWrongError(f"returned no column {field.name!r}, which must be {type_text(field.type)}")
    for name in names:
        if name not in schema.names:
            raise ReturnedWrongError(f"returned a column {name!r}; the schema has {', '.join(schema.names)} only")
        if names.count(name) > 1:
            raise ReturnedWrongError(f"returned column {name!r} twice")


def _array(values: Any, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    try:
        if getattr(values, "ndim", 0) == 1 and getattr(values.dtype, "kind", "") in _KINDS:  # of NumPy or pandas
            values = pa.array(values, from_pandas=not isinstance(values, np.ndarray))
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return _cast(values, field)
        return as_array(values, field.type, from_pandas=hasattr(values, "to_numpy"))
    except ReturnedWrongError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _wrong(field, error) from error


def _cast(values: pa.Array | pa.ChunkedArray, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    try:
        return cast(values, field.type)
    except (pa.ArrowException, ValueError) as error:
        found, wanted = type_text(values.type), type_text(field.type)
        raise ReturnedWrongError(
            f"returned column {field.name!r} as {found}; it must be {wanted} ({_line(error)})"
        ) from error


def _wrong(field: pa.Field, error: Exception) -> ReturnedWrongError:
    return ReturnedWrongError(f"returned a column {field.name!r} that is not {type_text(field.type)} ({_line(error)})")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
