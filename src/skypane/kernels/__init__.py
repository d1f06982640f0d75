"""Compiled kernels over plain arrays: tables in, row indices out. The only folder that imports numba.

Everywhere: a table is float64 or float32 of shape (records, attributes), smaller is better, without NaN;
infinities are allowed and -0.0 equals 0.0. Groups are given by offsets: the rows of group i are
offsets[i] to offsets[i + 1], and groups may be empty.
"""

from skypane.kernels import cache as cache  # first: it must choose the directory before numba is imported
from skypane.kernels.dominance_counts import kmax
from skypane.kernels.joins import dominance_join, merge
from skypane.kernels.orders import counting_order, window_members
from skypane.kernels.rankings import top_k_groups
from skypane.kernels.segments import (
    combine_moments,
    segment_max,
    segment_min,
    segment_moments,
    segment_sum,
    segment_sum_pairs,
)
from skypane.kernels.skylines import load_trees, skyline, skyline_groups
from skypane.kernels.warming import warm
from skypane.model.panes import NO_PANE

__all__ = [
    "NO_PANE",
    "combine_moments",
    "counting_order",
    "dominance_join",
    "kmax",
    "load_trees",
    "merge",
    "segment_max",
    "segment_min",
    "segment_moments",
    "segment_sum",
    "segment_sum_pairs",
    "skyline",
    "skyline_groups",
    "top_k_groups",
    "warm",
    "window_members",
]
