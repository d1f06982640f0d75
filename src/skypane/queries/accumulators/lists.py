"""Lists: several rows of each group in one row of parts, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.groups import Groups, Int64Array
from skypane.queries.accumulators.base import Parts

Columns = Mapping[str, pa.ChunkedArray]


class Picked(NamedTuple):
    """Some rows, group by group, and the groups that they make."""

    rows: Int64Array
    groups: Groups

    def up_to(self, limit: int) -> Picked:
        """The first so many of each group."""
        rank = np.arange(len(self.rows)) - np.repeat(self.groups.offsets[:-1], self.groups.sizes)
        return Picked(self.rows[rank < limit], Groups.from_sizes(np.minimum(self.groups.sizes, limit)))


class Runs(NamedTuple):
    """Rows in the order of (group, code, what else), and where each code of each group begins among them."""

    order: Int64Array
    begins: Int64Array

    def first(self, groups: Groups) -> Picked:
        """The first row of each code, codes in their order."""
        rows = self.order[self.begins]
        return Picked(rows, Groups.from_sizes(np.bincount(groups.row_ids()[rows], minlength=len(groups))))


def listed(columns: Columns, picked: Picked) -> Parts:
    """The picked rows of the columns, one list for each group."""
    offsets, rows = pa.array(picked.groups.offsets, pa.int32()), pa.array(picked.rows)
    return {
        name: pa.ListArray.from_arrays(offsets, column.take(rows).combine_chunks()) for name, column in columns.items()
    }


def unlisted(parts: Columns, groups: Groups) -> tuple[dict[str, pa.ChunkedArray], Groups]:
    """The items of all lists as rows, and the groups that they make."""
    pieces = {name: part.combine_chunks() for name, part in parts.items()}
    lengths = pc.list_value_length(next(iter(pieces.values()))).to_numpy()
    items = Groups(Groups.from_sizes(lengths).offsets[groups.offsets])
    return {name: pa.chunked_array([piece.flatten()]) for name, piece in pieces.items()}, items


def in_order(groups: Groups, *by: npt.NDArray[Any]) -> Picked:
    """All rows of each group, smallest first; ``by`` the most important last."""
    return Picked(np.lexsort((*by, groups.row_ids())).astype(np.int64), groups)


def runs_of_equals(groups: Groups, code: Int64Array, *by: npt.NDArray[Any]) -> Runs:
    """Equal codes of each group together, the smallest first; ``by`` the most important last."""
    owner = groups.row_ids()
    order = np.lexsort((*by, code, owner)).astype(np.int64)
    codes, owners = code[order], owner[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (codes[1:] != codes[:-1]) | (owners[1:] != owners[:-1])
    return Runs(order, np.flatnonzero(begins).astype(np.int64))
