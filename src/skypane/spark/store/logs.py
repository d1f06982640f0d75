"""Logs: rows of the state that each step adds to, in files - merged now and then, deleted when all are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.shares import ALL_GROUPS, GroupRange
from skypane.model.panes import PaneRange
from skypane.spark.store.files import read_table, write_table
from skypane.spark.store.manifest import StoredPart
from skypane.tables.rows import together

_MERGE_AT = 16
"""So many files of one level become one of the next: a row is written again for each factor of sixteen, at most."""
Parts = tuple[StoredPart, ...]


Split = Callable[[pa.Table], Iterable[tuple[GroupRange, pa.Table]]]


def whole(table: pa.Table) -> Iterable[tuple[GroupRange, pa.Table]]:
    """One file for all groups."""
    return [(ALL_GROUPS, table)]


@dataclass(frozen=True)
class Log:
    """What the rows are, and how long they are needed."""

    name: str
    number: str
    """The column with the number by which rows are forgotten: of a pane, a window, or a time."""
    in_order: Callable[[pa.Table], pa.Table]
    """Brings the rows into the order in which they are looked up."""
    forget: Callable[[Definition, pa.Table | None, int | None], pa.Table | None]
    split: Split = whole
    """How rows that are merged are split into files, so that a task reads no more than it needs."""
    count: Callable[[Sequence[StoredPart]], int] = len
    """How many files there are, those that were split from one counted as one: else they would be merged for ever."""

    def store(self, folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table], level: int = 0) -> Parts:
        """Write rows that a step adds."""
        parts = []
        for table in tables:
            numbers = table.column(self.number).to_numpy()
            span = PaneRange(int(numbers.min()), int(numbers.max()) + 1)
            file = write_table(folder, f"{stem}-{self.name}", table)
            parts.append(StoredPart(groups, file, numbers=span, level=level))
        return tuple(parts)

    def tidy(
        self, folder: Path, step: int, definition: Definition, parts: Parts, first: int | None, after_us: int | None
    ) -> Parts:
        """Leave out files with numbers below ``first`` only; make many small files of one level one of the next."""
        kept = [part for part in parts if first is None or part.numbers is None or part.numbers.end > first]
        level = 0
        while self.count(same := [part for part in kept if part.level == level]) >= _MERGE_AT:
            table = self.forget(definition, together(read_table(folder, part.file) for part in same), after_us)
            kept = [part for part in kept if part not in same]
            if table is not None:
                for groups, rows in self.split(self.in_order(table)):
                    kept += self.store(folder, f"{step:010d}", groups, [rows], level + 1)
            level += 1
        return tuple(kept)
