"""Frames: the key and the window of each group, for queries that pass them to functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from skypane.model.groups import Int64Array
from skypane.model.panes import Panes
from skypane.model.window import Window


@dataclass(frozen=True)
class Placement:
    """Where a query runs: what it may have to know of the records, beside what it computes."""

    time: str
    keys: tuple[str, ...]
    window: Panes
    time_zone: str | None
    amendable: bool = False
    """Whether a pane that is sealed may still get records."""
    tolerant: bool = False
    """Whether the windows of a function that fails are set aside; else the error ends the query."""


class Frames:
    """The key and the window of each group; made when first asked for, since most queries never ask."""

    def __init__(self, keys: Callable[[], pa.Table], windows: Callable[[], Sequence[Window]]) -> None:
        self._make_keys, self._make_windows = keys, windows

    @classmethod
    def unknown(cls, groups: int) -> Frames:
        """Frames without keys, and with windows that are not read."""
        return cls(lambda: pa.table({}), lambda: [Window(0, 0)] * groups)

    @cached_property
    def keys(self) -> pa.Table:
        """One row for each group, with the key columns."""
        return self._make_keys()

    @cached_property
    def windows(self) -> Sequence[Window]:
        """One for each group."""
        return self._make_windows()

    def key(self, group: int) -> dict[str, Any]:
        """The key of a group, by column."""
        return {name: plain(self.keys.column(name)[group]) for name in self.keys.column_names}


def plain(value: pa.Scalar) -> Any:
    """A value of a key as Python has it; a time that Python's have no year for is one of NumPy's."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return pa.array([value]).to_numpy(zero_copy_only=False)[0]


class Failure(NamedTuple):
    """A group that has no answer, since a function of the user's failed."""

    group: int
    function: str
    error: str
    records: int


def windows_of(panes: Panes, window_ids: Int64Array, time_zone: str | None) -> list[Window]:
    """The windows with these numbers."""
    borders = (panes.window_start_us(window_ids), panes.window_end_us(window_ids))
    return [Window(start, end, time_zone) for start, end in zip(*(us.tolist() for us in borders), strict=True)]
