"""Comparisons: how many pairs of points a skyline takes, of all points or of the skylines of parts, counted on points.

The algorithm is sort and filter: in order of the sum of the attributes a point is compared with those kept until one
dominates it. What was counted is in ``spatial.json``, which :func:`counted` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from skypane.model.groups import Float64Array, Int64Array

WINDOW: Final = 300_000
"""Records in a window of paper 3's spatial query."""
PARTS: Final = (3_000, 6_000, 12_000, 15_000, 24_000, 30_000, 60_000, 75_000, 150_000, 300_000)
"""Into parts of so many records the window is cut."""
_BLOCK: Final = 512
_FIRST_LOOK: Final = 64


@dataclass
class _Kept:
    points: Float64Array
    count: int = 0
    compared: int = 0

    def add(self, block: Float64Array) -> None:
        """Those of a block that nobody dominates; all of it comes after what is kept."""
        earlier = self.count
        for row in block[self._survivors(block)]:
            others = self.points[earlier : self.count]
            beaten = np.flatnonzero((others <= row).all(axis=1))
            self.compared += int(beaten[0]) + 1 if len(beaten) else len(others)
            if not len(beaten):
                self.points[self.count] = row
                self.count += 1

    def _survivors(self, block: Float64Array) -> Int64Array:
        """Whom none of those kept before dominates; most meet somebody who does early."""
        alive, first, look = np.arange(len(block)), 0, _FIRST_LOOK
        while first < self.count and len(alive):
            others = self.points[first : min(self.count, first + look)]
            dominated = (others[None, :, :] <= block[alive][:, None, :]).all(axis=2)
            beaten = dominated.any(axis=1)
            self.compared += int(dominated.argmax(axis=1)[beaten].sum() + beaten.sum())
            self.compared += int((~beaten).sum()) * len(others)
            alive, first, look = alive[~beaten], first + len(others), min(4 * look, 4_096)
        return alive


def sorted_and_filtered(points: Float64Array) -> tuple[Float64Array, int]:
    """The skyline, and how many pairs were compared."""
    ordered = points[np.argsort(points.sum(axis=1), kind="stable")]
    kept = _Kept(np.empty_like(ordered))
    for start in range(0, len(ordered), _BLOCK):
        kept.add(ordered[start : start + _BLOCK])
    return kept.points[: kept.count].copy(), kept.compared


def counted(attributes: int, window: int = WINDOW, parts: tuple[int, ...] = PARTS, seed: int = 1) -> list[Any]:
    """By the records of a part: pairs for one part, rows of all parts of a window together, pairs for joining those."""
    points = np.random.default_rng(seed).random((window, attributes))
    found = []
    for size in parts:
        cut = [sorted_and_filtered(points[start : start + size]) for start in range(0, window - size + 1, size)]
        together = np.concatenate([rows for rows, _ in cut])
        joined = sorted_and_filtered(together)[1]
        found.append([size, round(float(np.mean([compared for _, compared in cut]))), len(together), joined])
    return found
