"""The past in files: sealed panes and the log of revisions, added to by each step, merged now and then, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.past import Past, forget_panes, forget_revisions, in_range
from skypane.flow.late.revisions import WINDOW_ID
from skypane.flow.reports import StateRows
from skypane.flow.shares import GroupRange
from skypane.model.columns import PANE
from skypane.model.panes import PaneRange
from skypane.spark.store.files import read_table
from skypane.spark.store.logs import Log, Parts
from skypane.spark.store.manifest import StoredPart
from skypane.tables.rows import sorted_by_group, together

_SEALED: Final = Log("panes-past", PANE, sorted_by_group, forget_panes)
_REVISIONS: Final = Log("revisions-past", WINDOW_ID, sorted_by_group, forget_revisions)


def load_past(folder: Path, state: StateRows[StoredPart], groups: GroupRange, panes: PaneRange) -> Past:
    """What is known of some panes of some key groups."""
    sealed = [part for part in state.sealed if part.groups.overlaps(groups)]
    near = [part for part in sealed if part.numbers is None or part.numbers.overlaps(panes.first, panes.end - 1)]
    rows = together(in_range(groups.slice_of(read_table(folder, part.file)), panes) for part in near)
    log = [part for part in state.revisions if part.groups.overlaps(groups)]
    return Past(rows, together(groups.slice_of(read_table(folder, part.file)) for part in log))


def store_sealed(folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table]) -> Parts:
    """Write the sealed panes that a task adds to the past."""
    return _SEALED.store(folder, stem, groups, tables)


def store_revisions(folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table]) -> Parts:
    """Write the revisions that a task adds to the past."""
    return _REVISIONS.store(folder, stem, groups, tables)


def tidy_past(
    folder: Path, step: int, definition: Definition, state: StateRows[StoredPart], after_us: int | None
) -> StateRows[StoredPart]:
    """Forget files that no late record needs any more; merge many small ones."""
    if not (state.sealed or state.revisions):
        return state
    first_pane = None if after_us is None else definition.history_from(after_us)
    first_window = None if first_pane is None else first_pane // definition.window.panes_per_slide
    return replace(
        state,
        sealed=_SEALED.tidy(folder, step, definition, state.sealed, first_pane, after_us),
        revisions=_REVISIONS.tidy(folder, step, definition, state.revisions, first_window, after_us),
    )
