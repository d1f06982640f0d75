"""Row windows: windows of so many records of a key, whatever time they take.

The records of a key have **ranks**: 0, 1, 2, ... by time, equal times by record id. Window ``j`` has the ranks
``j * slide .. j * slide + size - 1``, and there is no window before the first. A record gets its rank when no older one
can come any more, so ranks depend on which records are accepted, and on nothing else.

Two kinds of panes are about. Records are admitted, and their times sealed, by panes of time, one window each: that is
:class:`RowWindows`. Windows consist of panes of ranks: those are :attr:`RowWindows.ranks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.ending import Ending
from skypane.model.groups import Int64Array
from skypane.model.numbers import whole_number
from skypane.model.panes import Panes
from skypane.model.windows import WindowSpec

GRAIN_US = 100_000
"""The panes of time: a window may be answered so much later than the watermark would allow."""
_REACH_US = 6_000_000
"""No length of time is in the question, so waiting is bounded as for the shortest windows: by a minute."""


class RankPanes(WindowSpec):
    """The arithmetic of windows with ranks instead of times."""

    def first_window(self, pane: Int64Array) -> Int64Array:
        """The oldest window that contains each pane; the first of all is number 0."""
        return np.maximum(super().first_window(pane), 0)

    def complete(self, count: Int64Array) -> Int64Array:
        """How many windows are complete after so many records."""
        return np.maximum((count - self.size_us) // self.slide_us + 1, 0)

    def started(self, count: Int64Array) -> Int64Array:
        """How many windows have a record after so many."""
        return (count - 1) // self.slide_us + 1

    def first_rank(self, window: Int64Array) -> Int64Array:
        """The rank of the first record of each window."""
        return self.window_start_us(window)


@dataclass(frozen=True)
class RowWindows(Panes):
    """Windows of ``size`` records of a key that start every ``slide`` records."""

    size: int
    slide: int
    ttl_us: int | None = None
    """A key whose next record is more than this behind its last one begins anew; ``None``: never."""

    processing = "ranked"
    panes_per_window = 1
    panes_per_slide = 1
    reach_us = _REACH_US
    pane_us = GRAIN_US

    @classmethod
    def parse(cls, size: int, slide: int | None = None, ttl: Duration | None = None) -> RowWindows:
        """From what people write; no slide means tumbling."""
        size = whole_number(size, "window_rows")
        slide = size if slide is None else whole_number(slide, "slide")
        return cls(size, slide, None if ttl is None else parse_duration_us(ttl, "ttl"))

    @property
    def rows(self) -> RowWindows:
        """These windows are counted in records."""
        return self

    @property
    def ranks(self) -> RankPanes:
        """The panes of ranks."""
        return RankPanes(self.size, self.slide)

    def pane_of(self, time_us: Int64Array) -> Int64Array:
        """The pane of each time."""
        return np.floor_divide(time_us, GRAIN_US)

    def sealed_before(self, punctuation_us: int) -> int:
        """Panes with a smaller number are sealed: they end at or before the watermark."""
        return punctuation_us // GRAIN_US

    def closed_before(self, punctuation_us: int) -> int:
        """What is sealed is counted, and perhaps completes a window."""
        return self.sealed_before(punctuation_us)

    def sealed_until_us(self, punctuation_us: int) -> int:
        """Records that are older have been counted; all others are not older."""
        return self.sealed_before(punctuation_us) * GRAIN_US

    def overdue_us(self, pane: Int64Array, front_us: int) -> Int64Array:
        """How long each pane has been over when the stream has come to ``front_us``; negative while it is not."""
        return front_us - (pane + 1) * GRAIN_US

    def finished_us(self, newest_us: int) -> int:
        """The end of the pane of ``newest_us``."""
        return (newest_us // GRAIN_US + 1) * GRAIN_US

    def window_start_us(self, window: Int64Array) -> Int64Array:
        """When each pane starts."""
        return window * GRAIN_US

    def window_end_us(self, window: Int64Array) -> Int64Array:
        """When each pane ends."""
        return (window + 1) * GRAIN_US

    def emits_partial(self, ending: Ending | None) -> bool:
        """When the stream pauses or is over; no clock says that a window has ended."""
        return ending in ("idle", "all")

    def explain(self) -> str:
        """The panes of a window in words; ``str()`` is for the windows."""
        rows = self.ranks.pane_us
        panes = f"{self.ranks.panes_per_window} panes" if self.ranks.panes_per_window > 1 else "one pane"
        counted = f"counted once their time is sealed, {format_duration_us(GRAIN_US)} at a time"
        forgotten = "" if self.ttl_us is None else f"; a key is forgotten after {format_duration_us(self.ttl_us)}"
        return f"{panes} of {rows:,} records each, {counted}{forgotten}"

    def describe(self) -> Mapping[str, object]:
        """Size, slide, and when keys are forgotten."""
        return {"rows": self.size, "slide_rows": self.slide, "ttl_us": self.ttl_us}

    def __str__(self) -> str:
        if self.size == self.slide:
            return f"tumbling windows of {self.size:,} records"
        kind = "sliding" if self.slide < self.size else "hopping"
        return f"{kind} windows of {self.size:,} records every {self.slide:,}"
