"""Collected: the values of each group as a list, up to a limit, the earliest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from skypane.model.groups import Groups
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, check_ordered
from skypane.queries.accumulators.columns import keep_present, order_key, ordinals
from skypane.queries.accumulators.lists import Picked, in_order, listed, runs_of_equals, unlisted
from skypane.tables.grouping import key_codes

_VALUES, _TIMES, _IDS = "v", "t", "id"


class Collected(Accumulator):
    """As Spark's ``collect_list``, nulls left out, but in the order of time, then record id, and with an end."""

    needs_time = True
    needs_id = True

    def __init__(self, function: str, limit: int) -> None:
        super().__init__(function)
        self._limit = limit

    def check(self, kind: pa.DataType, name: str) -> None:
        """Anything can be in a list."""

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """The earliest values of each group."""
        columns, groups = keep_present(inputs.values, [inputs.values, inputs.by, inputs.ids], groups)
        return self._first(dict(zip((_VALUES, _TIMES, _IDS), columns, strict=True)), groups)

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """The earliest of the earliest."""
        return self._first(*unlisted(parts, groups))

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The values."""
        return parts[_VALUES]

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Sort everything."""
        return [row.value for row in _sorted(rows)[: self._limit]]

    def _first(self, columns: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        return listed(columns, self._ranked(columns, groups).up_to(self._limit))

    def _ranked(self, columns: Mapping[str, pa.ChunkedArray], groups: Groups) -> Picked:
        return in_order(groups, columns[_IDS].to_numpy(), ordinals(columns[_TIMES]))


class CollectedSet(Collected):
    """As Spark's ``collect_set``, but in the order in which values came first, and with an end."""

    compares = True

    def check(self, kind: pa.DataType, name: str) -> None:
        """Whatever Arrow can tell apart."""
        check_ordered(kind, f"{name}={self.function}(...)")

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Sort everything, and leave out what was there before."""
        found: dict[Any, Any] = {}
        for row in _sorted(rows):
            found.setdefault(order_key(row.value), row.value)
        return list(found.values())[: self._limit]

    def _ranked(self, columns: Mapping[str, pa.ChunkedArray], groups: Groups) -> Picked:
        ids, times = columns[_IDS].to_numpy(), ordinals(columns[_TIMES])
        codes = key_codes(pa.table({_VALUES: columns[_VALUES]}), [_VALUES])
        first = runs_of_equals(groups, codes, ids, times).first(groups)
        ranked = in_order(first.groups, ids[first.rows], times[first.rows])
        return Picked(first.rows[ranked.rows], ranked.groups)


def _sorted(rows: Sequence[InputRow]) -> list[InputRow]:
    return sorted((row for row in rows if row.value is not None), key=lambda row: (row.by, row.id))
