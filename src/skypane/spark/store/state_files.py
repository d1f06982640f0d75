"""State files: tables of the state, written once and kept in the memory of the process that used them last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from skypane.flow.shares import GroupRange
from skypane.spark.store.files import FileRef, read_table, write_table
from skypane.spark.store.manifest import StoredPart
from skypane.tables.rows import panes_in, rows_by_group

_CACHED_FILES = 4
_CACHED_BYTES = 1 << 28
"""More files are kept while they are small."""


def store_state(
    folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table], panes: int = 0
) -> tuple[StoredPart, ...]:
    """Write tables of the new state."""
    parts = []
    for table in tables:
        ref = write_table(folder, stem, table)
        _remember(ref, table)
        parts.append(StoredPart(groups, ref, rows_by_group(table), panes=panes, numbers=panes_in(table)))
    return tuple(parts)


_cache_lock = threading.Lock()
_cache: OrderedDict[str, tuple[pa.Table, int]] = OrderedDict()
"""State tables this process used last, and their bytes: files never change, so that an entry is never stale."""


def load_state(folder: Path, ref: FileRef) -> pa.Table:
    """A state file, from this process's memory if it is there."""
    table, _ = _cache.pop(ref.name, (None, 0))
    if table is None:
        table = read_table(folder, ref)
    _remember(ref, table)
    return table


def _remember(ref: FileRef, table: pa.Table) -> None:
    with _cache_lock:
        _cache[ref.name] = table, ref.bytes
        while len(_cache) > _CACHED_FILES and sum(size for _, size in _cache.values()) > _CACHED_BYTES:
            _cache.popitem(last=False)
