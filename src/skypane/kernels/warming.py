"""Compiles every kernel ahead of time, so that worker processes find them in the cache."""

from __future__ import annotations

import numpy as np

from skypane.kernels.dominance_counts import kmax
from skypane.kernels.hashes import warm_hashes
from skypane.kernels.joins import dominance_join, merge
from skypane.kernels.orders import counting_order, window_members
from skypane.kernels.rankings import top_k_groups
from skypane.kernels.segments import combine_moments, segment_moments, segment_sum, segment_sum_pairs
from skypane.kernels.skylines import load_trees, skyline_groups
from skypane.kernels.sliding import warm_bounds, warm_sliding
from skypane.kernels.top_k_sweep import warm_top_k_sweep


def warm() -> None:
    """Compile, or load from the cache, all kernels for float64 and float32 tables."""
    offsets = np.array([0, 2, 3])
    panes = np.array([1, 1, 2])
    column = np.array([1.0, 2.0, 3.0])
    for dtype in (np.float64, np.float32):
        table = np.array([[1, 2], [2, 1], [2, 2]], dtype=dtype)
        skyline_groups(table, offsets)  # as a process does that has not loaded the trees yet
        load_trees(dtype)
        merge(table, table)
        kmax(table, offsets)
        dominance_join(table, panes, table, 3)
    top_k_groups(column, panes, offsets, 1)
    counting_order(panes, 3)
    window_members(panes, panes, panes, 3)
    hi, lo = segment_sum(column, offsets)
    segment_sum_pairs(hi, lo, np.array([0, 2]))
    combine_moments(*segment_moments(column, offsets), np.array([0, 2]))
    warm_hashes()
    warm_sliding()
    warm_bounds()
    warm_top_k_sweep()
