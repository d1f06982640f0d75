"""Ids in files: those of accepted records, where duplicates are found - added to by each step, merged, forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.id_rows import by_hash, forget_ids, remembered_from_us
from skypane.flow.shares import GroupRange
from skypane.model.columns import DISTINCT, KEY_GROUPS, TIME_US
from skypane.spark.store.files import map_table
from skypane.spark.store.logs import Log, Parts
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.state_files import load_state
from skypane.spark.store.writers import Written
from skypane.tables.rows import together

_FILE_IDS = 1 << 18
"""Fewer ids are not worth files of their own."""
_HASHES_OF_GROUP = 2**64 // KEY_GROUPS


def group_of(id_hash: int) -> int:
    """The part of all hashes, in order, that a hash is in."""
    return id_hash // _HASHES_OF_GROUP + KEY_GROUPS // 2


def _ranges(ids: pa.Table) -> Iterator[tuple[GroupRange, pa.Table]]:
    """Ids in the order of their hashes, in one file for each so many."""
    files = 1
    while files < KEY_GROUPS and ids.num_rows >= 2 * files * _FILE_IDS:
        files *= 2
    width = KEY_GROUPS // files
    first = [(file * width - KEY_GROUPS // 2) * _HASHES_OF_GROUP for file in range(files)]
    borders = [*np.searchsorted(ids.column(DISTINCT).to_numpy(), first).tolist(), ids.num_rows]
    for file, (low, high) in enumerate(pairwise(borders)):
        if high > low:
            yield GroupRange(file * width, (file + 1) * width), ids.slice(low, high - low)


def _count(parts: Sequence[StoredPart]) -> int:
    """How often they have each hash."""
    return sum(part.groups.end - part.groups.first for part in parts) // KEY_GROUPS


_IDS: Final = Log("ids", TIME_US, by_hash, forget_ids, _ranges, _count)


@dataclass(frozen=True)
class IdFiles:
    """The tables of ids that a stage looks into; travels to the workers."""

    folder: str
    parts: Parts
    fresh: tuple[Written, ...] = ()
    """Of this step's own pane stage."""

    def __call__(self, first: int, last: int) -> Iterator[pa.Table]:
        """The tables that may have hashes from the first to the last."""
        groups = GroupRange(group_of(first), group_of(last) + 1)
        near = (part for part in self.parts if part.groups.overlaps(groups))
        yield from (load_state(Path(self.folder), part.file) for part in near)
        yield from (map_table(file.path) for file in self.fresh)


def remember_ids(
    folder: Path,
    step: int,
    definition: Definition,
    parts: Parts,
    new: Sequence[pa.Table | None],
    after_us: int | None,
) -> Parts:
    """The files after a step that accepted the new ids."""
    # One by one: of a batch that is long past, little is left to be put together.
    ids = together(forget_ids(definition, table, after_us) for table in new)
    if ids is not None and ids.num_rows:
        for groups, rows in _ranges(by_hash(ids)):
            parts += _IDS.store(folder, f"{step:010d}", groups, [rows])
    return _IDS.tidy(folder, step, definition, parts, remembered_from_us(definition, after_us), after_us)
