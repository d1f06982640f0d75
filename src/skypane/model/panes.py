"""Panes: how records are cut into panes, and panes make windows. What the stages know of windows is this, and no more.

Panes and windows are whole numbers. A window is ``panes_per_window`` panes in a row, and starts ``panes_per_slide``
panes after the window before it; all arithmetic between the two is here. How a record finds its pane, and which panes
and windows the watermark has passed, the kind of window says, e.g. :class:`~skypane.model.windows.WindowSpec`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from skypane.model.ending import Ending
from skypane.model.groups import BoolArray, Int64Array

if TYPE_CHECKING:
    from skypane.model.row_windows import RowWindows

NO_PANE = -(2**62)
"""Older than any pane, and any window."""


class PaneRange(NamedTuple):
    """The panes ``first .. end - 1``."""

    first: int
    end: int

    def overlaps(self, first: int, last: int) -> bool:
        """Whether any pane from ``first`` to ``last`` is in it."""
        return first < self.end and self.first <= last


def range_of(panes: Collection[int]) -> PaneRange | None:
    """From the oldest to the newest; ``None`` if there is none."""
    return PaneRange(min(panes), max(panes) + 1) if panes else None


def range_of_all(found: Iterable[PaneRange | None]) -> PaneRange | None:
    """From the first pane of any range to the last."""
    known = [panes for panes in found if panes is not None]
    return PaneRange(min(p.first for p in known), max(p.end for p in known)) if known else None


Border: TypeAlias = Any
"""A number of a window or pane: an int for all keys, or an array with one for each, by the number of its counter."""


class Span(NamedTuple):
    """What one step closes: the windows ``first .. end - 1``, from the panes below ``sealed_before``."""

    first: Border
    end: Border
    sealed_before: Border
    joined_before: Border
    """The panes below this number were sealed by earlier steps."""


class Panes(ABC):
    """The panes of one continuous query."""

    processing: ClassVar[str | None] = None
    """How records become answers, by name, where such windows need a way of their own."""
    default_emit: ClassVar[str] = "full"
    """The name of the default emission."""
    answers_label: ClassVar[str] = "windows answered"
    """What a query's progress is counted in."""
    lengths: ClassVar[str] = "windows"
    """What :attr:`reach_us` is the length of, for people."""

    @property
    @abstractmethod
    def panes_per_window(self) -> int:
        """How many panes one window spans."""

    @property
    @abstractmethod
    def panes_per_slide(self) -> int:
        """By how many panes one window is ahead of the one before."""

    @abstractmethod
    def pane_of(self, time_us: Int64Array) -> Int64Array:
        """The pane of each time."""

    @abstractmethod
    def sealed_before(self, punctuation_us: int) -> int:
        """Panes with a smaller number are sealed: they end at or before the watermark."""

    @abstractmethod
    def closed_before(self, punctuation_us: int) -> int:
        """Windows with a smaller number are closed: they end at or before the watermark."""

    @abstractmethod
    def overdue_us(self, pane: Int64Array, front_us: int) -> Int64Array:
        """How long each pane has been over when the stream has come to ``front_us``; negative while it is not."""

    @abstractmethod
    def finished_us(self, newest_us: int) -> int:
        """The watermark that closes every window with a record up to ``newest_us``."""

    @abstractmethod
    def window_start_us(self, window: Int64Array) -> Int64Array:
        """When each window starts."""

    @abstractmethod
    def window_end_us(self, window: Int64Array) -> Int64Array:
        """When each window ends; its records are older than that."""

    @property
    @abstractmethod
    def reach_us(self) -> int:
        """How long a record can matter to windows: what waiting, judging and guarding are measured by."""

    @property
    @abstractmethod
    def pane_us(self) -> int:
        """How long a pane lasts."""

    @abstractmethod
    def explain(self) -> str:
        """The panes of a window in words; ``str()`` is for the windows."""

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """The fingerprint that a checkpoint keeps."""

    @property
    def rows(self) -> RowWindows | None:
        """How windows are counted in records, if they are: no time says then when one starts or ends."""
        return None

    @property
    def counted(self) -> bool:
        """Whether windows are counted in records."""
        return self.rows is not None

    def emits_partial(self, ending: Ending | None) -> bool:
        """Whether a step that the clock decided also emits windows that it cannot close."""
        del ending
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Panes of a window, and panes between the starts of two windows."""
        return self.panes_per_window, self.panes_per_slide

    @property
    def overlap(self) -> bool:
        """Whether a record can be in several windows."""
        return self.panes_per_window > self.panes_per_slide

    def first_window(self, pane: Int64Array) -> Int64Array:
        """The oldest window that contains each pane (newer than ``last_window`` where none does)."""
        return -np.floor_divide(self.panes_per_window - 1 - pane, self.panes_per_slide)

    def last_window(self, pane: Int64Array) -> Int64Array:
        """The newest window that contains each pane."""
        return np.floor_divide(pane, self.panes_per_slide)

    def in_some_window(self, pane: Int64Array) -> BoolArray:
        """Whether any window contains each pane: hopping windows leave gaps."""
        if self.panes_per_window >= self.panes_per_slide:
            return np.ones(len(pane), dtype=np.bool_)
        return self.first_window(pane) <= self.last_window(pane)

    def first_pane(self, window: int) -> int:
        """The oldest pane of a window."""
        return window * self.panes_per_slide

    def oldest_neighbour(self, pane: int) -> int:
        """The oldest pane that shares a window with this one."""
        return self.first_pane(int(self.first_window(np.array([pane]))[0]))

    def neighbours(self, panes: Int64Array) -> PaneRange:
        """The panes that share a window with any of these."""
        last = int(self.last_window(panes).max())
        return PaneRange(
            self.first_pane(int(self.first_window(panes).min())), self.first_pane(last) + self.panes_per_window
        )

    def span(self, before_us: int | None, after_us: int) -> Span:
        """What a watermark that moves from ``before_us`` to ``after_us`` closes."""
        first, joined = NO_PANE, NO_PANE
        if before_us is not None:
            first, joined = self.closed_before(before_us), self.sealed_before(before_us)
        return Span(first, self.closed_before(after_us), self.sealed_before(after_us), joined)

    def closes_windows(self, before_us: int | None, after_us: int | None) -> bool:
        """Whether such a move closes any window at all."""
        return after_us is not None and (
            before_us is None or self.closed_before(after_us) > self.closed_before(before_us)
        )

    def seals_panes(self, before_us: int | None, after_us: int | None) -> bool:
        """Whether such a move seals any pane at all: one that closes a window does, and with hopping windows others."""
        return after_us is not None and (
            before_us is None or self.sealed_before(after_us) > self.sealed_before(before_us)
        )
