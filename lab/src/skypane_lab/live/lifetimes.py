"""Lifetimes: of every record of a stream the first later one that dominates it."""

from __future__ import annotations

from typing import Final

import numpy as np

from skypane.kernels.sliding import STILL_ALIVE, slide_one
from skypane.model.groups import Float64Array, Int64Array

_SMALLEST_STEP: Final = 256
_LARGEST_STEP: Final = 20_000


def dominated_at(points: Float64Array, longest: int) -> Int64Array:
    """The number of the first later record that dominates each, if it comes less than ``longest`` records later.

    A step looks at as many new records as half of the live set: the look-up of a record takes longer the more of the
    new ones dominate it, and the live ones are looked up once a step.
    """
    count = len(points)
    found: Int64Array = np.full(count, STILL_ALIVE)
    live: Int64Array = np.empty(0, dtype=np.int64)
    low = 0
    while low < count:
        high = min(count, low + min(_LARGEST_STEP, max(_SMALLEST_STEP, len(live) // 2)))
        rows = np.concatenate((live, np.arange(low, high)))
        died: Int64Array = np.full(len(rows), STILL_ALIVE)
        # Only younger dominators are sought: a critical row just before each stands for all older ones.
        slide_one(points[rows], rows, rows >= low, rows - 1, died)
        found[rows] = died
        live = rows[(died == STILL_ALIVE) & (rows > high - longest)]
        low = high
    return found
