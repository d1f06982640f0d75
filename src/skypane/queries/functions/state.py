"""State: what a fold keeps, a dict of plain values and arrays, as rows of Arrow and back; nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.ddl import type_text
from skypane.model.errors import OptionError
from skypane.queries.functions.returned import ReturnedWrongError
from skypane.queries.functions.values import as_array, shows_type

State = dict[str, Any]
NO_STATE = "init={!r} must be a dict, or a function that returns one: names and first values."


@dataclass(frozen=True, eq=False)
class StateType:
    """The fields of a state, and which of them are NumPy arrays, of which shape unless they have one dimension."""

    schema: pa.Schema
    arrays: Mapping[str, tuple[int, ...] | None]

    @classmethod
    def of(cls, init: object, declared: pa.Schema | None) -> StateType:
        """From the state to begin with; types that it does not show must be declared."""
        if not isinstance(init, Mapping) or not init or not all(isinstance(name, str) for name in init):
            raise OptionError(NO_STATE.format(init))
        arrays = {n: v.shape if v.ndim != 1 else None for n, v in init.items() if isinstance(v, np.ndarray)}
        if declared is None:
            declared = pa.schema([pa.field(name, _inferred(name, value)) for name, value in init.items()])
        if sorted(declared.names) != sorted(init):
            raise OptionError(f"state= has the fields {declared.names}, init has {list(init)}: they must be the same.")
        found = cls(declared, arrays)
        try:
            found.to_table([dict(init)])
        except ReturnedWrongError as error:
            raise OptionError(f"init {error}. Change it, or declare the types with state=.") from error
        return found

    def to_table(self, states: Sequence[State]) -> pa.Table:
        """One row for each state; a :class:`ReturnedWrongError` names the field that does not fit."""
        for state in states:
            self._check(state)
        columns = [self._column(field, [state[field.name] for state in states]) for field in self.schema]
        return pa.table(columns, schema=self.schema)

    def from_table(self, table: pa.Table) -> list[State]:
        """The states of all rows."""
        columns = {field.name: self._values(field.name, table.column(field.name)) for field in self.schema}
        return [{name: values[row] for name, values in columns.items()} for row in range(table.num_rows)]

    def _check(self, state: object) -> None:
        if not isinstance(state, Mapping):
            raise ReturnedWrongError(f"returned a {type(state).__name__}; it must return the state, a dict")
        if set(state) != set(self.schema.names):
            raise ReturnedWrongError(f"returned a state with the fields {list(state)}; it has {self.schema.names}")
        for name, shape in self.arrays.items():
            if shape is not None and (found := _shape(state[name])) != shape:
                raise ReturnedWrongError(f"returned state field {name!r} of shape {found}; in init it is {shape}")
            if shape is None and isinstance(own := state[name], np.ndarray) and own.ndim > 1:
                raise ReturnedWrongError(
                    f"returned state field {name!r} of shape {own.shape}; in init it has one dimension"
                )

    def _column(self, field: pa.Field, values: list[Any]) -> pa.Array:
        try:
            flat = [np.ravel(v) if field.name in self.arrays and v is not None else v for v in values]
            return as_array(flat, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            why, kind = " ".join(str(error).split()), type_text(field.type)
            raise ReturnedWrongError(
                f"returned state field {field.name!r} that is not {kind}, its type by init or state= ({why})"
            ) from error

    def _values(self, name: str, column: pa.ChunkedArray) -> list[Any]:
        if name not in self.arrays:
            return list(column.to_pylist(maps_as_pydicts="strict"))
        shape = self.arrays[name]
        # A copy: the function may change its state in place, and what Arrow hands out is read-only.
        found = [None if not item.is_valid else item.values.to_numpy(zero_copy_only=False).copy() for item in column]
        return found if shape is None else [None if item is None else item.reshape(shape) for item in found]


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(value))
    except ValueError:  # lists of different lengths
        return None


def _inferred(name: str, value: object) -> pa.DataType:
    try:
        kind = pa.array([np.ravel(value) if isinstance(value, np.ndarray) else value]).type
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"init: {name!r} is {value!r}, which Arrow cannot store ({error}).") from error
    if not shows_type(kind):
        raise OptionError(
            f"init: {name!r} is {value!r}, which does not show its type. Declare all types, e.g. state='{name} double'."
        )
    return kind
