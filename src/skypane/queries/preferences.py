"""Preferences: which attributes to minimize and maximize, and the matrix of numbers that kernels compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.column_names import ColumnNames, column_names
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import BoolArray, Float64Array
from skypane.queries.base import Invalid, Row, find_column

MAX_ATTRIBUTES = 64
_EXACT_INTEGER = 2**53
_EXACT_DECIMAL_DIGITS = 15


@dataclass(frozen=True)
class Preferences:
    """Smaller is better for ``minimize``, larger is better for ``maximize``."""

    minimize: tuple[str, ...]
    maximize: tuple[str, ...]

    @classmethod
    def of(cls, minimize: Sequence[str] | str | None, maximize: Sequence[str] | str | None) -> Preferences:
        """Check the options a user gave."""
        low, high = column_names(minimize, "minimize"), column_names(maximize, "maximize")
        names = low + high
        if not names:
            raise OptionError("Give at least one attribute in minimize=[...] or maximize=[...].")
        if len(names) > MAX_ATTRIBUTES:
            raise OptionError(f"{len(names)} attributes given; at most {MAX_ATTRIBUTES} can be compared.")
        for name in names:
            if names.count(name) > 1:
                raise OptionError(f"Attribute {name!r} is named twice in minimize/maximize; name it once.")
        return cls(low, high)

    def resolved(self, names: ColumnNames) -> Preferences:
        """With the attributes as the records spell them; two spellings of one column are refused."""
        low, high = ([names.find(name, "Attribute") for name in own] for own in (self.minimize, self.maximize))
        return Preferences.of(low, high)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes, in the order of the matrix columns."""
        return self.minimize + self.maximize

    def describe(self) -> dict[str, object]:
        """For fingerprints and explanations."""
        return {"minimize": list(self.minimize), "maximize": list(self.maximize)}

    def check(self, schema: pa.Schema) -> None:
        """Every attribute is a column of a numeric type."""
        for name in self.attributes:
            kind = find_column(schema, name, "Attribute").type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
                raise SchemaError(
                    f"Attribute {name!r} has type {kind}; attributes must be numeric. Cast it to a number first."
                )

    def invalid(self, rows: pa.Table) -> list[Invalid]:
        """Rows with a null or NaN attribute: neither better nor worse than anything."""
        found = []
        for name in self.attributes:
            column = rows.column(name)
            if column.null_count:
                found.append(Invalid(_mask(pc.is_null(column)), f"null in attribute {name!r}"))
            if pa.types.is_floating(column.type):
                nan = _mask(pc.fill_null(pc.is_nan(column), fill_value=False))
                if nan.any():
                    found.append(Invalid(nan, f"NaN in attribute {name!r}"))
        return found

    def matrix(self, rows: pa.Table) -> Float64Array:
        """One row of numbers per record, smaller is better; comparing them compares the records exactly."""
        values = np.empty((rows.num_rows, len(self.attributes)), dtype=np.float64)
        for index, name in enumerate(self.attributes):
            numbers = comparable(rows.column(name))
            # Adding 0.0 turns -0.0 into 0.0: they are equal.
            values[:, index] = numbers + 0.0 if index < len(self.minimize) else 0.0 - numbers
        return values

    def oriented(self, row: Row) -> tuple[float, ...]:
        """The attributes of one plain row, smaller is better (for oracles)."""
        return tuple(row[n] for n in self.minimize) + tuple(_negated(row[n]) for n in self.maximize)


def comparable(column: pa.ChunkedArray) -> Float64Array:
    """Float64 numbers in the same order as the values, equal exactly where the values are equal.

    Where float64 cannot tell neighbours apart (integers past 2**53, long decimals) the rank among the
    values at hand is used: every comparison happens between rows of one table.
    """
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if pa.types.is_decimal(kind):
        if kind.precision <= _EXACT_DECIMAL_DIGITS:
            return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        return _ranks(column)
    if not pa.types.is_primitive(kind):  # texts and bytes
        return _ranks(column)
    numbers = column.to_numpy()
    if (
        len(numbers)
        and numbers.dtype.itemsize == 8
        and (int(numbers.max()) > _EXACT_INTEGER or int(numbers.min()) < -_EXACT_INTEGER)
    ):
        return _ranks(column)
    return np.asarray(numbers, dtype=np.float64)


def _negated(value: Any) -> Any:
    """Exactly: the minus sign would round a Decimal to the digits of its context."""
    return value.copy_negate() if isinstance(value, Decimal) else -value


def _ranks(column: pa.ChunkedArray) -> Float64Array:
    ranks = pc.rank(column.combine_chunks(), sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy(zero_copy_only=False), dtype=np.float64)


def _mask(flags: pa.ChunkedArray) -> BoolArray:
    return np.asarray(flags.to_numpy(), dtype=np.bool_)
