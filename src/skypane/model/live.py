"""Live: records that count for a while from their own time on; the answer holds at every instant, not at window ends.

A record of time ``t`` is live at the instants ``t <= x < t + life``. There are no windows: answers are made of the
records' own times, to the microsecond. Panes only decide what is late and how far answers are final, and they carry
statistics, so they are coarse, and each stands for the instants that it spans: pane ``p`` is over, and what happened in
it emitted, when the watermark has passed its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.model.panes import PaneRange, Panes

_LONGEST_US = 2**59
_PANES_PER_LIFE = 100
_LEAST_PANE_US, _MAX_PANE_US = 1_000, 1_000_000
"""Shorter panes would not make steps come sooner; longer ones would be felt, however long records live."""


@dataclass(frozen=True)
class LiveSpec(Panes):
    """Records that live for ``life_us``."""

    processing = "live"
    default_emit = "updates"
    answers_label = "changes emitted"
    lengths = "lives"

    life_us: int
    grain_us: int
    """The length of a pane."""

    def __post_init__(self) -> None:
        if self.life_us <= 0 or self.grain_us <= 0:
            raise OptionError(f"live(...) must be longer than zero, not {self.life_us} us.")
        if max(self.life_us, self.grain_us) > _LONGEST_US:
            raise OptionError("live(...) must be shorter than 18,000 years.")

    @classmethod
    def parse(cls, life: Duration) -> LiveSpec:
        """From a duration as people write it."""
        life_us = parse_duration_us(life, "live")
        return cls(life_us, min(max(life_us // _PANES_PER_LIFE, _LEAST_PANE_US), _MAX_PANE_US))

    @property
    def pane_us(self) -> int:
        """How long a pane lasts."""
        return self.grain_us

    @property
    def panes_per_window(self) -> int:
        """The granularity of emissions: the instants of one pane."""
        return 1

    @property
    def panes_per_slide(self) -> int:
        """Every pane is emitted."""
        return 1

    def pane_of(self, time_us: Int64Array) -> Int64Array:
        """The pane of each time."""
        return np.floor_divide(time_us, self.pane_us)

    def window_start_us(self, window: Int64Array) -> Int64Array:
        """The first instant of each pane."""
        return window * self.pane_us

    def window_end_us(self, window: Int64Array) -> Int64Array:
        """The first instant after each pane."""
        return (window + 1) * self.pane_us

    def sealed_before(self, punctuation_us: int) -> int:
        """Panes with a smaller number end at or before the watermark."""
        return punctuation_us // self.pane_us

    def closed_before(self, punctuation_us: int) -> int:
        """The changes of a pane are emitted as soon as it is sealed."""
        return self.sealed_before(punctuation_us)

    def overdue_us(self, pane: Int64Array, front_us: int) -> Int64Array:
        """How long each pane has been over when the stream has come to ``front_us``; negative while it is not."""
        return front_us - (pane + 1) * self.pane_us

    def finished_us(self, newest_us: int) -> int:
        """The end of the pane in which the last record expires."""
        return ((newest_us + self.life_us) // self.pane_us + 1) * self.pane_us

    def oldest_neighbour(self, pane: int) -> int:
        """The oldest pane with records that are live together with some of this one."""
        return pane - self._panes_per_life

    def neighbours(self, panes: Int64Array) -> PaneRange:
        """The panes with records that are live together with some of these."""
        return PaneRange(int(panes.min()) - self._panes_per_life, int(panes.max()) + self._panes_per_life + 1)

    @property
    def _panes_per_life(self) -> int:
        return -(-self.life_us // self.pane_us)

    @property
    def reach_us(self) -> int:
        """As long as a record lives."""
        return self.life_us

    def explain(self) -> str:
        """How far answers follow; ``str()`` is for the lives."""
        return f"emitted in panes of {format_duration_us(self.pane_us)}"

    def describe(self) -> Mapping[str, object]:
        """The length of life and of panes, for ``explain()``."""
        return {"life_us": self.life_us, "pane_us": self.pane_us}

    def __str__(self) -> str:
        return f"every instant, from the records of the last {format_duration_us(self.life_us)}"
