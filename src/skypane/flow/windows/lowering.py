"""Lowering: combined partials become the answers of windows - the one place where a query learns key and window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.groups import BoolArray, Int64Array
from skypane.queries.base import Grouped
from skypane.queries.frames import Failure, Frames, windows_of
from skypane.queries.reduce import with_frame
from skypane.tables.take import take_rows

FAILED: Final = pa.schema([("function", pa.string()), ("error", pa.string()), ("records", pa.int64())])
"""The columns of a failed window, after its key and the window."""


class Failed(NamedTuple):
    """Windows without an answer, since a function of the user's failed."""

    groups: Int64Array
    """Their numbers among the groups that were asked for."""
    window_ids: Int64Array
    rows: pa.Table
    """Columns: the keys, then function and error."""

    @classmethod
    def together(cls, parts: Sequence[Failed]) -> Failed | None:
        """Merge failed windows of several parts."""
        if not parts:
            return None
        groups, window_ids, rows = zip(*parts, strict=True)
        return cls(np.concatenate(groups), np.concatenate(window_ids), pa.concat_tables(rows))

    def where(self, mask: BoolArray) -> Failed:
        """The failed windows in ``mask``."""
        return Failed(self.groups[mask], self.window_ids[mask], self.rows.filter(pa.array(mask)))


Naming: TypeAlias = Callable[[Frames, Int64Array], Frames]
"""Keys and windows as the query is to learn them, of frames with the keys that rows have and the numbers of windows."""


class AnswerRows(NamedTuple):
    """The answer of each group, with its key; some may have failed."""

    answer: Grouped
    failed: Failed | None


def lowered(
    definition: Definition,
    whole: Grouped,
    source: pa.Table,
    rows: Int64Array,
    window_ids: Int64Array,
    naming: Naming | None = None,
) -> AnswerRows:
    """Ask the query; row ``rows[i]`` of ``source`` has the key of group ``i``, a window of number ``window_ids[i]``."""
    frames = Frames(
        lambda: take_rows(source.select(list(definition.keys)), rows),
        lambda: windows_of(definition.window, window_ids, definition.time_zone),
    )
    named = frames if naming is None else naming(frames, window_ids)
    answer, failures = definition.query.answer(whole.table, whole.groups, named)
    failed = _failed(failures, frames, window_ids) if failures else None
    return AnswerRows(answer if definition.query.selective else with_frame(answer, frames.keys), failed)


def _failed(failures: Sequence[Failure], frames: Frames, window_ids: Int64Array) -> Failed:
    groups = np.array([failure.group for failure in failures], dtype=np.int64)
    keys = take_rows(frames.keys, groups)
    described = pa.Table.from_pylist([failure._asdict() for failure in failures], FAILED)
    rows = pa.table([*keys.columns, *described.columns], names=[*keys.column_names, *described.column_names])
    return Failed(groups, window_ids[groups], rows)
