"""Upsert: which stored answers a step's revisions replace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.columns import REVISION, WINDOW
from skypane.tables.grouping import key_codes

_START = "window.start"


class Replaced:
    """The (key, window) pairs that a step answers anew."""

    def __init__(self, keys: Sequence[str], rows: pa.Table) -> None:
        self._keys = list(keys)
        self._pairs = self._identify(rows.filter(pc.greater(rows.column(REVISION), 0)))

    @property
    def empty(self) -> bool:
        """Whether the step revises nothing."""
        return not self._pairs.num_rows

    @property
    def starts(self) -> tuple[int, int]:
        """The first and the last start of a window concerned."""
        bounds = pc.min_max(self._pairs.column(_START)).as_py()
        return bounds["min"], bounds["max"]

    def remove_from(self, rows: pa.Table) -> pa.Table | None:
        """The rows that are not replaced; ``None`` if all of them stay."""
        own = self._identify(rows)
        codes = key_codes(pa.concat_tables([self._pairs, own.cast(self._pairs.schema)]), [*self._keys, _START])
        stays = ~np.isin(codes[self._pairs.num_rows :], codes[: self._pairs.num_rows])
        return None if stays.all() else rows.filter(pa.array(stays))

    def _identify(self, rows: pa.Table) -> pa.Table:
        starts = pc.struct_field(rows.column(WINDOW), "start").cast(pa.timestamp("us")).cast(pa.int64())
        return rows.select(self._keys).append_column(_START, starts)


def replaced_by(keys: Sequence[str], rows: pa.Table) -> Replaced | None:
    """What these rows replace; ``None`` if nothing."""
    if not rows.num_rows:
        return None
    replaced = Replaced(keys, rows)
    return None if replaced.empty else replaced
