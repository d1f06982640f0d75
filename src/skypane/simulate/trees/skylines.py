"""VirtualSkyline: paper 3's spatial query on its machine - windows of a second every 10 ms, 300,000 records each.

Rows are the expected ones of independent points. What answers take is a cost for each row and one for each pair that is
compared; both are found from two of the paper's numbers, see :func:`calibrated`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from skypane.model.groups import Float64Array
from skypane.patterns import Pattern, Work
from skypane.patterns.extent import Extent
from skypane.simulate.cost_model import Curve
from skypane.simulate.trees.comparisons import WINDOW
from skypane.simulate.trees.floor import Machine
from skypane.simulate.trees.prices import Prices, VirtualQuery
from skypane.simulate.trees.tree_run import TreeRun, TreeStream

SPATIAL: Final = Work(Extent(1_000, 10), counts="ms")
PANE: Final = 3_000
ATTRIBUTES: Final = (4, 6)
WHOLE_WINDOW_US: Final = PANE / 650 * 1e6
"""One worker that answers whole windows takes 650 records/s, and a window every 3,000 records."""
JOINED_WINDOW_US: Final = PANE / (5 * 33_000 / 60) * 1e6
"""Sixty that join panes take 5 times 33,000 records/s."""


PRICES: Final = Prices(source_us=0.1, send_us=0.45, take_us=0.1, order_us=0.5)
"""An emitter's copy: chosen so that WF(PF(1,1), n) is best near n = 25."""


@dataclass(frozen=True)
class VirtualSkyline(VirtualQuery):
    """By the number of attributes."""

    attributes: int
    row_us: float
    pair_us: float
    whole_pairs: Curve
    """Compared for so many records."""
    joined_pairs: Curve
    """Compared for so many rows of partials that have a whole window's records."""

    def rows(self, records: float) -> float:
        """Expected."""
        return expected_rows(self.attributes, round(records))

    def part_us(self, records: float) -> float:
        """From records."""
        return self.row_us * records + self.pair_us * self.whole_pairs.at(records)

    def window_us(self, records: float, rows: float) -> float:
        """From records, or from the rows of panes."""
        if rows >= records:
            return self.part_us(records)
        return self.row_us * rows + self.pair_us * self.joined_pairs.at(rows)


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
    text = resources.files("skypane.simulate").joinpath("spatial.json").read_text()
    parts, pairs, rows, joined = np.array(json.loads(text)[str(attributes)], dtype=np.float64).T
    whole_pairs, joined_pairs = Curve.fit(list(parts), list(pairs)), Curve.fit(list(rows), list(joined))
    pane_rows = WINDOW / PANE * expected_rows(attributes, PANE)
    compared = [[WINDOW, whole_pairs.at(WINDOW)], [pane_rows, joined_pairs.at(pane_rows)]]
    row_us, pair_us = np.linalg.solve(np.array(compared), np.array([WHOLE_WINDOW_US, JOINED_WINDOW_US]))
    return VirtualSkyline(attributes, float(row_us), float(pair_us), whole_pairs, joined_pairs)


def spatial_run(tree: Pattern, attributes: int, prices: Prices, cores: int = 64) -> TreeRun:
    """At full speed, long enough for a few turns of all workers."""
    panes = WINDOW // PANE + 6 * max(tree.workers, 10)
    stream = TreeStream(SPATIAL, PANE, panes)
    return TreeRun(tree, stream, calibrated(attributes), prices, Machine(cores))
