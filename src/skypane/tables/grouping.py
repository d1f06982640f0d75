"""Grouping: bring rows into the order of (something, key)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.groups import Groups, Int64Array

_MAX_CODE = 2**62


class Order(NamedTuple):
    """A permutation of rows that sorts them by group, and the groups' borders in that order."""

    rows: Int64Array
    groups: Groups

    def first_rows(self) -> Int64Array:
        """One row of each group (none is empty): the representative that carries the key."""
        return self.rows[self.groups.offsets[:-1]]


def key_codes(table: pa.Table, keys: Sequence[str]) -> Int64Array:
    """Small numbers that are equal exactly where all keys are equal (null equals null, as in SQL's GROUP BY)."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        column = one_zero(table.column(key))
        # Piece by piece, with one dictionary for all: together the texts may be more than Arrow has in one piece.
        is_encoded = pa.types.is_dictionary(column.type)
        encoded = column.unify_dictionaries() if is_encoded else column.dictionary_encode(null_encoding="encode")
        pieces = encoded.chunks
        digits = [piece.indices.to_numpy(zero_copy_only=False).astype(np.int64) for piece in pieces]
        size = len(pieces[0].dictionary) + 1 if pieces else 1
        if len(codes) and int(codes.max()) >= _MAX_CODE // size:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        codes = codes * size + np.concatenate([np.zeros(0, dtype=np.int64), *digits])
    return codes


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
    # numpy sorts 16-bit integers by radix: with few panes and one key that is several times faster.
    small = code.astype(np.uint16) if int(code.max()) < 2**16 else code
    order = np.argsort(small, kind="stable").astype(np.int64)
    ordered = small[order]
    borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return Order(order, Groups(np.concatenate(([0], borders, [rows])).astype(np.int64)))


def _single_code(major: Int64Array, minor: Int64Array) -> Int64Array:
    major, minor = major - major.min(), minor - minor.min()
    width = int(minor.max()) + 1
    if int(major.max()) >= _MAX_CODE // width:
        major = np.unique(major, return_inverse=True)[1].astype(np.int64)
        minor = np.unique(minor, return_inverse=True)[1].astype(np.int64)
        width = int(minor.max()) + 1
    return major * width + minor
