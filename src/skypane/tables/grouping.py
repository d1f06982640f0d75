"""Grouping: bring rows into the order of (something, key)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane import kernels
from skypane.model.groups import Groups, Int64Array

_MAX_CODE = 2**62
_DIGIT, _MAX_DIGITS = 2**16, 2**32
"""What one pass of a radix sort can tell apart, and two."""
_SPARSE = 8
"""Integers are as good as codes while there are not many more of them than rows."""
_CROWDED = 4
"""Rows are sorted by counting while there are not many more codes than rows."""


class Order(NamedTuple):
    """A permutation of rows that sorts them by group, and the groups' borders in that order."""

    rows: Int64Array
    groups: Groups

    def first_rows(self) -> Int64Array:
        """One row of each group (none is empty): the representative that carries the key."""
        return self.rows[self.groups.offsets[:-1]]


def key_codes(table: pa.Table, keys: Sequence[str]) -> Int64Array:
    """Small numbers that are equal exactly where all keys are equal (null equals null, as in SQL's GROUP BY)."""
    codes = None
    for key in keys:
        digits, size = _dense(table.column(key)) or _encoded(table.column(key))
        if codes is None:
            codes = digits
            continue
        if len(codes) and int(codes.max()) >= _MAX_CODE // size:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        codes = codes * size + digits
    return np.zeros(table.num_rows, dtype=np.int64) if codes is None else codes


def count_runs(table: pa.Table, columns: Sequence[str]) -> int:
    """How many times neighbouring rows differ in some of the columns, plus one: groups, if rows are in their order."""
    if table.num_rows < 2:
        return int(table.num_rows)
    differs = np.zeros(table.num_rows - 1, dtype=np.bool_)
    for name in columns:
        codes = key_codes(table, [name])
        differs |= codes[1:] != codes[:-1]
    return int(differs.sum()) + 1


def _dense(column: pa.ChunkedArray) -> tuple[Int64Array, int] | None:
    """Integers that lie close together, as they are but for where they begin: several times faster than to look up."""
    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    bounds = pc.min_max(column)
    least, size = bounds["min"].as_py(), bounds["max"].as_py() - bounds["min"].as_py() + 1
    if size > _SPARSE * len(column) or bounds["max"].as_py() >= 2**63:
        return None
    return column.to_numpy().astype(np.int64, copy=False) - least, size


def _encoded(column: pa.ChunkedArray) -> tuple[Int64Array, int]:
    """Where each value is in a dictionary, and the size of that."""
    column = one_zero(column)
    # Piece by piece, with one dictionary for all: together the texts may be more than Arrow has in one piece.
    is_encoded = pa.types.is_dictionary(column.type)
    encoded = column.unify_dictionaries() if is_encoded else column.dictionary_encode(null_encoding="encode")
    pieces = encoded.chunks
    digits = [piece.indices.to_numpy(zero_copy_only=False).astype(np.int64) for piece in pieces]
    size = len(pieces[0].dictionary) + 1 if pieces else 1
    return np.concatenate([np.zeros(0, dtype=np.int64), *digits]), size


def one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as keys, like SQL's GROUP BY has them: -0.0 and 0.0 are one, and so is every NaN."""
    if not pa.types.is_floating(column.type):
        return column
    nan = pa.scalar(np.nan, column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, pa.scalar(0.0, column.type)))


def sort_by(major: Int64Array, minor: Int64Array) -> Order:
    """Group rows by (major, minor), groups in that order, rows of a group in their original order."""
    rows = len(major)
    if rows == 0:
        return Order(np.zeros(0, dtype=np.int64), Groups.from_sizes([]))
    code = _single_code(major, minor)
    if (size := int(code.max()) + 1) <= _CROWDED * rows:
        order, offsets = kernels.counting_order(code, size)
        return Order(order, Groups(offsets))
    order = _stable_order(code)
    ordered = code[order]
    borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return Order(order, Groups(np.concatenate(([0], borders, [rows])).astype(np.int64)))


def _stable_order(code: Int64Array) -> Int64Array:
    """How to sort by codes of 0 or more; numpy sorts 16-bit integers by radix, which is several times faster."""
    most = int(code.max())
    if most >= _MAX_DIGITS:
        return np.argsort(code, kind="stable").astype(np.int64)
    low = code.astype(np.uint8 if most < 2**8 else np.uint16)
    order = np.argsort(low, kind="stable").astype(np.int64)
    return order if most < _DIGIT else order[np.argsort((code >> 16).astype(np.uint16)[order], kind="stable")]


def _from_zero(numbers: Int64Array) -> Int64Array:
    least = numbers.min()
    return numbers - least if least else numbers


def _single_code(major: Int64Array, minor: Int64Array) -> Int64Array:
    major, minor = _from_zero(major), _from_zero(minor)
    width = int(minor.max()) + 1
    if width == 1:
        return major
    if int(major.max()) >= _MAX_CODE // width:
        major = np.unique(major, return_inverse=True)[1].astype(np.int64)
        minor = np.unique(minor, return_inverse=True)[1].astype(np.int64)
        width = int(minor.max()) + 1
    return major * width + minor
