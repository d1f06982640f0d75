"""The past in files: sealed panes and the log of revisions, added to by each step, merged now and then, forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.past import Past, forget_panes, forget_revisions, in_range
from skypane.flow.late.revisions import WINDOW_ID
from skypane.flow.reports import StateRows
from skypane.flow.shares import GroupRange
from skypane.model.columns import KEY_GROUPS, PANE
from skypane.model.panes import PaneRange
from skypane.spark.store.files import read_table, write_table
from skypane.spark.store.manifest import StoredPart
from skypane.tables.rows import sorted_by_group, together

_MERGE_AT = 16
"""So many files of one level become one of the next: a row is written again for each factor of sixteen, at most."""
Parts = tuple[StoredPart, ...]


@dataclass(frozen=True)
class _Kind:
    """Sealed panes, or the log of revisions."""

    name: str
    number: str
    """The column with the number of the pane or window."""
    forget: Callable[[Definition, pa.Table | None, int | None], pa.Table | None]


_SEALED: Final = _Kind("panes", PANE, forget_panes)
_REVISIONS: Final = _Kind("revisions", WINDOW_ID, forget_revisions)


def load_past(folder: Path, state: StateRows[StoredPart], groups: GroupRange, panes: PaneRange) -> Past:
    """What is known of some panes of some key groups."""
    sealed = [part for part in state.sealed if part.groups.overlaps(groups)]
    near = [part for part in sealed if part.numbers is None or part.numbers.overlaps(panes.first, panes.end - 1)]
    rows = together(in_range(groups.slice_of(read_table(folder, part.file)), panes) for part in near)
    log = [part for part in state.revisions if part.groups.overlaps(groups)]
    return Past(rows, together(groups.slice_of(read_table(folder, part.file)) for part in log))


def store_sealed(folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table]) -> Parts:
    """Write the sealed panes that a task adds to the past."""
    return tuple(_store(folder, stem, _SEALED, groups, table, 0) for table in tables)


def store_revisions(folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table]) -> Parts:
    """Write the revisions that a task adds to the past."""
    return tuple(_store(folder, stem, _REVISIONS, groups, table, 0) for table in tables)


def tidy_past(
    folder: Path, step: int, definition: Definition, state: StateRows[StoredPart], after_us: int | None
) -> StateRows[StoredPart]:
    """Forget files that no late record needs any more; merge many small ones."""
    if not (state.sealed or state.revisions):
        return state
    first_pane = None if after_us is None else definition.history_from(after_us)
    first_window = None if first_pane is None else first_pane // definition.window.panes_per_slide

    def tidied(parts: Parts, kind: _Kind, first: int | None) -> Parts:
        needed = [part for part in parts if first is None or part.numbers is None or part.numbers.end > first]
        return _merged(folder, step, definition, needed, kind, after_us)

    return replace(
        state,
        sealed=tidied(state.sealed, _SEALED, first_pane),
        revisions=tidied(state.revisions, _REVISIONS, first_window),
    )


def _merged(
    folder: Path, step: int, definition: Definition, parts: list[StoredPart], kind: _Kind, after_us: int | None
) -> Parts:
    """With many files of one level made one of the next."""
    level = 0
    while len(same := [part for part in parts if part.level == level]) >= _MERGE_AT:
        table = kind.forget(definition, together(read_table(folder, part.file) for part in same), after_us)
        parts = [part for part in parts if part not in same]
        if table is not None:
            whole = GroupRange(0, KEY_GROUPS)
            stem = f"{step:010d}-{kind.name}"
            parts.append(_store(folder, stem, kind, whole, sorted_by_group(table), level + 1))
        level += 1
    return tuple(parts)


def _store(folder: Path, stem: str, kind: _Kind, groups: GroupRange, table: pa.Table, level: int) -> StoredPart:
    numbers = table.column(kind.number).to_numpy()
    span = PaneRange(int(numbers.min()), int(numbers.max()) + 1)
    file = write_table(folder, f"{stem}-past", table)
    return StoredPart(groups, file, numbers=span, level=level)
