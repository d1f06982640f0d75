"""Turns what callers hand in into the contiguous arrays that the compiled kernels expect."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[Any]  # float64 or float32
Indices: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, or a copy where it is read-only or unaligned: numba would compile anew for each of these."""
    return array if array.flags.carray else array.copy()


def as_table(values: npt.ArrayLike) -> Floats:
    """A C-contiguous (n, d) table; float32 stays float32, everything else becomes float64."""
    table = np.asarray(values)
    if table.ndim != 2:
        raise ValueError(f"expected a table of shape (records, attributes), got shape {table.shape}")
    wanted = np.float32 if table.dtype == np.float32 else np.float64
    return _plain(np.ascontiguousarray(table, dtype=wanted))


def as_tables(left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two tables of one type with the same attributes."""
    first, second = as_table(left), as_table(right)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"tables have {first.shape[1]} and {second.shape[1]} attributes")
    if first.dtype != second.dtype:
        first, second = first.astype(np.float64), second.astype(np.float64)
    return first, second


def as_column(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A contiguous float64 vector."""
    return _plain(np.ascontiguousarray(values, dtype=np.float64))


def as_integers(values: npt.ArrayLike) -> Indices:
    """A contiguous int64 vector."""
    return _plain(np.ascontiguousarray(values, dtype=np.int64))


def as_offsets(offsets: npt.ArrayLike, rows: int) -> Indices:
    """Group boundaries: ascending, from 0 to the number of rows."""
    bounds = as_integers(offsets)
    if bounds.ndim != 1 or len(bounds) == 0 or bounds[0] != 0 or bounds[-1] != rows:
        raise ValueError(f"offsets must start at 0 and end at the number of rows, {rows}")
    if np.any(bounds[1:] < bounds[:-1]):
        raise ValueError("offsets must not descend")
    return bounds
