"""Paper 1, figures 6, 7 and 14: what our kernels take on this machine, beside the papers' algorithm in comparisons."""

from __future__ import annotations

import numpy as np

from skypane import kernels
from skypane.model.groups import Float64Array
from skypane.traffic.points import DISTRIBUTIONS
from skypane_lab.calibration import best_us, insertion_comparisons, points
from skypane_lab.figures.plotting import Figure, Panel

_DIMENSIONS = (2, 4, 6, 8, 10, 12)


def _skyline(table: Float64Array) -> object:
    return kernels.skyline(table)


def _top_delta(table: Float64Array) -> object:
    best = table[kernels.skyline(table)]
    return kernels.kmax(best, np.array([0, len(best)], dtype=np.int64))


def by_dimension() -> Figure:
    """6: time per record over attributes, for three pane sizes and both queries."""
    kernels.warm()
    panels, rows = [], []
    for query, work in (("skyline", _skyline), ("top-delta", _top_delta)):
        lines: dict[str, list[float | None]] = {}
        for size in (2_000, 5_000, 10_000):
            line: list[float | None] = []
            for attributes in _DIMENSIONS:
                table = points("independent", attributes, size, size)
                line.append(best_us(work, table) / size)
            lines[f"{size:,} records"] = line
            rows.append([query, f"{size:,}", *(f"{value:.3f}" for value in line if value is not None)])
        panels.append(Panel(query, "attributes", "us per record", list(_DIMENSIONS), lines))
    header = ["query", "records per pane", *(f"{d} attributes" for d in _DIMENSIONS)]
    return Figure("Fig. 6: our kernels, us per record", panels, header, rows)


def by_distribution() -> Figure:
    """7: time per record, share of the pane in the skyline, and comparisons of the papers' algorithm."""
    kernels.warm()
    times: dict[str, list[float | None]] = {}
    compared: dict[str, list[float | None]] = {}
    rows = []
    size = 10_000
    for name in DISTRIBUTIONS:
        times[name], compared[name] = [], []
        cells = []
        for attributes in _DIMENSIONS:
            table = points(name, attributes, size, 1)
            took_us = best_us(kernels.skyline, table) / size
            counted = insertion_comparisons(table, (size,))[0] / size
            times[name].append(took_us)
            compared[name].append(counted)
            share = len(kernels.skyline(table)) / size
            cells.append(f"{took_us:.3f} us, {share:.1%}, {counted:,.0f}")
        rows.append([name, *cells])
    panels = [
        Panel("our kernel", "attributes", "us per record", list(_DIMENSIONS), times),
        Panel("block-nested loops", "attributes", "comparisons per record", list(_DIMENSIONS), compared),
    ]
    header = ["distribution", *(f"{d} attributes" for d in _DIMENSIONS)]
    return Figure("Fig. 7: panes of 10,000 records", panels, header, rows)


def panes_or_windows() -> Figure:
    """14: time with panes over time without, by panes per window."""
    kernels.warm()
    overlaps = (2, 4, 5, 10, 20)
    lines: dict[str, list[float | None]] = {}
    rows = []
    for attributes in (4, 6, 8):
        line: list[float | None] = []
        for overlap in overlaps:
            with_panes, without = _both_ways(attributes, overlap)
            line.append(with_panes / without)
        lines[f"{attributes} attributes"] = line
        rows.append([f"{attributes}", *(f"{value:.2f}" for value in line if value is not None)])
    panel = Panel("time with panes / time without", "panes per window", "ratio", list(overlaps), lines, level=1.0)
    return Figure("Fig. 14: panes against windows, our kernels", [panel], ["attributes", *map(str, overlaps)], rows)


def _both_ways(attributes: int, overlap: int) -> tuple[float, float]:
    """Time of ten windows of 20,000 records that slide by a pane: from pane skylines, and from all records."""
    size, count = 20_000 // overlap, 10
    panes = [points("independent", attributes, size, seed) for seed in range(overlap + count - 1)]
    windows = [np.concatenate(panes[first : first + overlap]) for first in range(count)]

    def by_panes() -> None:
        partials = [pane[kernels.skyline(pane)] for pane in panes]
        for first in range(count):
            kernels.skyline(np.concatenate(partials[first : first + overlap]))

    def by_windows() -> None:
        for window in windows:
            kernels.skyline(window)

    return best_us(by_panes), best_us(by_windows)
