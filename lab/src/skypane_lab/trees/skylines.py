"""VirtualSkyline: paper 3's spatial query on its machine - windows of a second every 10 ms, 300,000 records each.

Rows are the expected ones of independent points. What a record takes grows with the skyline that it is compared with;
rows of panes are harder than records, most of which are dominated by nearly everybody. Three of the paper's numbers say
how long both take, see :func:`calibrated`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from skypane.model.groups import Float64Array
from skypane.tuning.patterns import Pattern, Work
from skypane.tuning.patterns.extent import Extent
from skypane_lab.trees.floor import Machine
from skypane_lab.trees.prices import Prices, VirtualQuery
from skypane_lab.trees.tree_run import TreeRun, TreeStream

SPATIAL: Final = Work(Extent(1_000, 10), counts="ms")
PANE: Final = 3_000
WINDOW: Final = 300_000
"""Records."""
ATTRIBUTES: Final = (4, 6)
WHOLE_WINDOW_US: Final = PANE / 650 * 1e6
"""One worker that answers whole windows takes 650 records/s, and a window every 3,000 records."""
JOINED_WINDOW_US: Final = PANE / (5 * 33_000 / 60) * 1e6
"""Sixty that join panes take 5 times 33,000 records/s."""
GROWTH: Final = 0.78
"""A record takes as long as this power of the skyline: about the least with which one answers panes at that rate."""
PRICES: Final = Prices(source_us=0.1, send_us=0.45, take_us=0.1, order_us=0.5)
"""A copy of the emitter: chosen so that WF(PF(1,1), n) is best near 25, and ten replicas get more than PF(1,60)."""
_TURNS: Final = 6
_UNBOUNDED: Final = 1_000_000_000
"""Every worker gets every record, and takes seconds for a window: with bounded queues the emitter would wait for it,
and all others for the emitter."""


@dataclass(frozen=True)
class VirtualSkyline(VirtualQuery):
    """By the number of attributes."""

    attributes: int
    record_us: float
    """In a whole window."""
    row_us: float
    """Of a pane, when panes are joined to a window."""

    def rows(self, records: float) -> float:
        """Expected."""
        return expected_rows(self.attributes, round(records))

    def part_us(self, records: float) -> float:
        """From records."""
        share = self.rows(records) / self.rows(WINDOW)
        return float(records * self.record_us * share**GROWTH)

    def window_us(self, records: float, rows: float) -> float:
        """From records, or from the rows of panes."""
        return self.part_us(records) if rows >= records else rows * self.row_us


def expected_rows(attributes: int, records: int) -> float:
    """Of the skyline of so many independent points."""
    return 0.0 if records < 1 else float(_expected(attributes)[min(records, WINDOW) - 1])


@cache
def _expected(attributes: int) -> Float64Array:
    """By records from 1 on: with one attribute one; with one more, the sum of the k-th over k."""
    if attributes == 1:
        return np.ones(WINDOW)
    return np.asarray(np.cumsum(_expected(attributes - 1) / np.arange(1, WINDOW + 1)), dtype=np.float64)


@cache
def calibrated(attributes: int) -> VirtualSkyline:
    """Such that one worker answers a whole window, and one of sixty a window of panes, as fast as in paper 3."""
    pane_rows = WINDOW / PANE * expected_rows(attributes, PANE)
    return VirtualSkyline(attributes, WHOLE_WINDOW_US / WINDOW, JOINED_WINDOW_US / pane_rows)


def spatial_run(tree: Pattern, attributes: int) -> TreeRun:
    """At full speed, long enough for a few turns of all workers."""
    panes = WINDOW // PANE + _TURNS * max(tree.workers, 10)
    machine = Machine(cores=64, queue_size=_UNBOUNDED)
    return TreeRun(tree, TreeStream(SPATIAL, PANE, panes), calibrated(attributes), PRICES, machine)
