"""Accumulator: how one aggregate function is computed from pieces.

``lift`` and ``combine`` return one value per *group* for every part; the parts of a group are one row of a partial.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from skypane.model.errors import SchemaError
from skypane.model.groups import Groups

Parts = dict[str, pa.Array]


class Inputs(NamedTuple):
    """What an accumulator gets, a value for each row: its argument, and what else it declares that it needs."""

    values: pa.ChunkedArray
    by: pa.ChunkedArray | None = None
    """The record's time, or the second argument."""
    ids: pa.ChunkedArray | None = None


class InputRow(NamedTuple):
    """The same for one record, as plain values."""

    value: Any
    by: Any = None
    id: int = 0


class Accumulator(ABC):
    """How one aggregate function is computed from pieces, with SQL's treatment of nulls."""

    needs_time: bool = False
    """Whether ``by`` is to be the record's time."""
    compares: ClassVar[bool] = False
    """Whether it compares values with each other."""
    needs_id: ClassVar[bool] = False
    """Whether it cuts ties by the record id, so that the order of arrival does not show."""

    def __init__(self, function: str) -> None:
        self.function = function

    def check(self, kind: pa.DataType, name: str) -> None:
        """Raise :class:`SchemaError` if values of this type cannot be aggregated."""
        if not is_number(kind):
            raise SchemaError(f"{name}={self.function}(...) needs numbers, not {kind}. Cast the argument to a number.")

    def check_order(self, kind: pa.DataType, name: str) -> None:
        """The same for its second argument, if it has one."""
        check_ordered(kind, f"{name}={self.function}(..., ...)")

    @abstractmethod
    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """The parts of each group's values."""

    def condensed(self, kind: pa.DataType) -> Mapping[str, str] | None:
        """SQL aggregates of ``{x}``, a value of this type, from which its parts follow; ``None`` if not exactly."""
        del kind
        return None

    def condensed_parts(self, columns: Mapping[str, pa.ChunkedArray]) -> Parts:
        """The parts, from what these aggregates are; often the same."""
        return {name: column.combine_chunks() for name, column in columns.items()}

    @abstractmethod
    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Merge the parts of each group."""

    @abstractmethod
    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The aggregate of each group."""

    @abstractmethod
    def reference(self, rows: Sequence[InputRow]) -> Any:
        """The aggregate of some rows, the slow obvious way."""


def is_number(kind: pa.DataType) -> bool:
    """Whether values of the type can be added up."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_whole(kind: pa.DataType) -> bool:
    """Whether values are whole numbers, or dates and times, which are stored as such."""
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def check_ordered(kind: pa.DataType, call: str) -> None:
    """Raise :class:`SchemaError` if Arrow cannot order values of the type."""
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        raise SchemaError(f"{call} cannot order values of type {kind}.")


def present_values(rows: Sequence[InputRow]) -> list[Any]:
    """The values that are not null (for references)."""
    return [row.value for row in rows if row.value is not None]
