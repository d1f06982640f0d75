"""Windows and panes: the arithmetic of sliding windows, aligned to the epoch exactly like Spark's ``F.window``.

Laws (executed in tests/model/test_windows.py):

* a record of time ``t`` is in window ``j`` iff ``j * slide <= t < j * slide + size``;
* every window is a whole number of panes, and a record is in exactly one pane;
* ``first_window(p) .. last_window(p)`` are exactly the windows that contain pane ``p`` (none where windows leave gaps).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.model.panes import Panes

FARTHEST_US = 2**61
"""Times no farther from the epoch (73,000 years) are used: their windows, and differences of them, fit in 64 bits."""
_LONGEST_US = 2**59


@dataclass(frozen=True)
class WindowSpec(Panes):
    """Windows of ``size_us`` that start every ``slide_us``: sliding, tumbling (equal) or hopping (slide > size)."""

    size_us: int
    slide_us: int

    def __post_init__(self) -> None:
        if self.size_us <= 0 or self.slide_us <= 0:
            raise OptionError(
                f"window size and slide must be longer than zero, not {self.size_us}, {self.slide_us} us."
            )
        if max(self.size_us, self.slide_us) > _LONGEST_US:
            raise OptionError("window size and slide must be shorter than 18,000 years.")

    @classmethod
    def parse(cls, size: Duration, slide: Duration | None = None) -> WindowSpec:
        """From durations as people write them; no slide means tumbling."""
        size_us = parse_duration_us(size, "window size")
        return cls(size_us, size_us if slide is None else parse_duration_us(slide, "slide"))

    @property
    def pane_us(self) -> int:
        """The pane length: the longest that divides both size and slide."""
        return math.gcd(self.size_us, self.slide_us)

    @property
    def panes_per_window(self) -> int:
        """How many panes one window spans."""
        return self.size_us // self.pane_us

    @property
    def panes_per_slide(self) -> int:
        """By how many panes one window is ahead of the one before."""
        return self.slide_us // self.pane_us

    def pane_of(self, time_us: Int64Array) -> Int64Array:
        """The pane of each time."""
        return np.floor_divide(time_us, self.pane_us)

    def window_start_us(self, window: Int64Array) -> Int64Array:
        """When each window starts."""
        return window * self.slide_us

    def window_end_us(self, window: Int64Array) -> Int64Array:
        """When each window ends; its records are older than that."""
        return window * self.slide_us + self.size_us

    def sealed_before(self, punctuation_us: int) -> int:
        """Panes with a smaller number are sealed: they end at or before the watermark."""
        return punctuation_us // self.pane_us

    def closed_before(self, punctuation_us: int) -> int:
        """Windows with a smaller number are closed: they end at or before the watermark."""
        return (punctuation_us - self.size_us) // self.slide_us + 1

    def overdue_us(self, pane: Int64Array, front_us: int) -> Int64Array:
        """How long each pane has been over when the stream has come to ``front_us``; negative while it is not."""
        return front_us - (pane + 1) * self.pane_us

    def finished_us(self, newest_us: int) -> int:
        """The end of the last window that has a record of ``newest_us``."""
        newest = self.last_window(self.pane_of(np.array([newest_us])))
        return int(self.window_end_us(newest)[0])

    @property
    def reach_us(self) -> int:
        """A window, or the distance to the next one where that is longer."""
        return max(self.size_us, self.slide_us)

    def explain(self) -> str:
        """The panes of a window in words; ``str()`` is for the windows."""
        panes = f"{self.panes_per_window} panes" if self.panes_per_window > 1 else "one pane"
        return f"{panes} of {format_duration_us(self.pane_us)} each"

    def describe(self) -> Mapping[str, object]:
        """Size and slide."""
        return {"size_us": self.size_us, "slide_us": self.slide_us}

    def __str__(self) -> str:
        size, slide = format_duration_us(self.size_us), format_duration_us(self.slide_us)
        if self.size_us == self.slide_us:
            return f"tumbling windows of {size}"
        return f"{'sliding' if self.slide_us < self.size_us else 'hopping'} windows of {size} every {slide}"
