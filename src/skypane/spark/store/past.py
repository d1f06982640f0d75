"""Past: the sealed panes and the log of revisions, in files that are added to, merged now and then, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.past import PaneRange, Past, forget_panes, forget_revisions, in_range
from skypane.flow.late.revisions import WINDOW_ID
from skypane.model.columns import KEY_GROUPS, PANE
from skypane.scheduling.ranges import GroupRange
from skypane.spark.store.files import read_table, write_table
from skypane.spark.store.manifest import PastKind, PastPart
from skypane.tables.rows import sorted_by_group

_MERGE_AT = 16
"""So many files of one level become one of the next: a row is written again for each factor of sixteen, at most."""
_NUMBERS: dict[PastKind, str] = {"panes": PANE, "revisions": WINDOW_ID}
_FORGET = {"panes": forget_panes, "revisions": forget_revisions}


def load_past(folder: Path, parts: Sequence[PastPart], groups: GroupRange, panes: PaneRange) -> Past:
    """What is known of some panes of some key groups."""
    own = [part for part in parts if part.groups.overlaps(groups)]
    sealed = [part for part in own if part.kind == "panes" and part.numbers.overlaps(panes.first, panes.end - 1)]
    rows = [in_range(groups.slice_of(read_table(folder, part.file)), panes) for part in sealed]
    log = [groups.slice_of(read_table(folder, part.file)) for part in own if part.kind == "revisions"]
    return Past(pa.concat_tables(rows) if rows else None, pa.concat_tables(log) if log else None)


def store_past(folder: Path, stem: str, groups: GroupRange, past: Past) -> list[PastPart]:
    """Write what a task adds to the past."""
    tables: list[tuple[PastKind, pa.Table | None]] = [("panes", past.panes), ("revisions", past.revisions)]
    return [_store(folder, stem, kind, groups, table, 0) for kind, table in tables if table is not None]


def tidy_past(
    folder: Path, step: int, definition: Definition, parts: Sequence[PastPart], punctuation_us: int | None
) -> tuple[PastPart, ...]:
    """Forget files that no late record needs any more; merge many small ones."""
    parts = [part for part in parts if _is_needed(definition, part, punctuation_us)]
    kinds: list[PastKind] = ["panes", "revisions"]
    for kind in kinds:
        level = 0
        while len(same := [part for part in parts if part.kind == kind and part.level == level]) >= _MERGE_AT:
            table = pa.concat_tables([read_table(folder, part.file) for part in same])
            table = _FORGET[kind](definition, table, punctuation_us)
            parts = [part for part in parts if part not in same]
            if table is not None:
                whole = GroupRange(0, KEY_GROUPS)
                parts.append(_store(folder, f"{step:010d}-{kind}", kind, whole, sorted_by_group(table), level + 1))
            level += 1
    return tuple(parts)


def _store(folder: Path, stem: str, kind: PastKind, groups: GroupRange, table: pa.Table, level: int) -> PastPart:
    numbers = table.column(_NUMBERS[kind]).to_numpy()
    span = PaneRange(int(numbers.min()), int(numbers.max()) + 1)
    return PastPart(kind, groups, write_table(folder, f"{stem}-past", table, durable=True), span, level)


def _is_needed(definition: Definition, part: PastPart, punctuation_us: int | None) -> bool:
    if punctuation_us is None:
        return True
    first_pane = definition.history_from(punctuation_us)
    first = first_pane if part.kind == "panes" else first_pane // definition.window.panes_per_slide
    return part.numbers.end > first
