"""Calibration: make cost models by measuring - our kernels on this machine, or the papers' algorithm by counting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from skypane import kernels
from skypane.model.groups import Float64Array
from skypane.traffic.points import DISTRIBUTIONS
from skypane_lab.cost_model import CostModel, Curve, DistributionCost

_PAPER_PANE_RECORDS = 10_000
_PAPER_PANE_US = 650_000.0
"""Paper 1, figure 8: without bursts and without splitting seven workers keep up with ten such panes a second and
six do not, so one pane takes more than 0.6 s and less than 0.7 s."""

_REPEATS = 5


def points(distribution: str, attributes: int, count: int, seed: int) -> Float64Array:
    """Records of a distribution, one per row."""
    drawn = DISTRIBUTIONS[distribution](np.random.default_rng(seed), attributes, count)
    return np.ascontiguousarray(drawn.T)


def our_machine(attributes: int = 8, sizes: Sequence[int] = (300, 1_000, 3_000, 10_000, 30_000)) -> CostModel:
    """Our skyline kernels on this machine: partials of so many records, merges of two partials."""
    kernels.warm()
    distributions: dict[str, DistributionCost] = {}
    pairs: list[float] = []
    merge_us: list[float] = []
    for name in DISTRIBUTIONS:
        rows, times = [], []
        for size in sizes:
            table = points(name, attributes, size, size)
            rows.append(float(len(kernels.skyline(table))))
            times.append(best_us(kernels.skyline, table))
            left, right = (_partial(name, attributes, size, seed) for seed in (1, 2))
            pairs.append(len(right) * (len(left) + sum(map(len, kernels.merge(left, right)))) / 2.0)
            merge_us.append(best_us(kernels.merge, left, right))
        distributions[name] = DistributionCost(Curve.fit(sizes, rows), Curve.fit(sizes, times))
    return CostModel("our kernels", attributes, distributions, Curve.fit(pairs, merge_us, 1), task_us=20.0)


def _partial(distribution: str, attributes: int, size: int, seed: int) -> Float64Array:
    table = points(distribution, attributes, size, seed)
    return table[kernels.skyline(table)]


def best_us(work: Callable[..., object], *arguments: object) -> float:
    """The shortest processor time of a few runs: others on the machine cost time, but not this thread's."""
    best = float("inf")
    for _ in range(_REPEATS):
        started = time.thread_time_ns()
        work(*arguments)
        best = min(best, (time.thread_time_ns() - started) / 1_000.0)
    return best


def paper_machine(attributes: int = 8, sizes: Sequence[int] = (100, 300, 1_000, 3_000, 10_000, 20_000)) -> CostModel:
    """The papers' algorithm, block-nested loops record by record: comparisons are counted, and one has a fixed cost.

    That cost is chosen so that a pane of 10,000 independent records takes as long as paper 1's figure 8 implies. Row
    counts go up to ten times the sizes, from our kernels: windows are larger than panes.
    """
    row_sizes = (*sizes, 10 * sizes[-1])
    counted = {name: insertion_comparisons(points(name, attributes, sizes[-1], 7), sizes) for name in DISTRIBUTIONS}
    curves = {name: Curve.fit(sizes, counts) for name, counts in counted.items()}
    comparison_us = _PAPER_PANE_US / curves["independent"].at(_PAPER_PANE_RECORDS)
    distributions = {}
    for name, curve in curves.items():
        rows = [float(len(_partial(name, attributes, size, 7))) for size in row_sizes]
        time_us = Curve(curve.a + float(np.log(comparison_us)), curve.b, curve.c)
        distributions[name] = DistributionCost(Curve.fit(row_sizes, rows), time_us)
    merge = Curve(float(np.log(comparison_us * _compared_share(attributes, _PAPER_PANE_RECORDS))), 1.0)
    return CostModel("paper 1's machine", attributes, distributions, merge, task_us=5.0)


def _compared_share(attributes: int, size: int) -> float:
    """Of the pairs of a partial and a result, those that are compared: a row stops at its first dominator."""
    result, partial = (_partial("independent", attributes, size, seed) for seed in (1, 2))
    both = np.concatenate((result, partial))
    alone, compared = insertion_comparisons(both, (len(result), len(both)))
    rows = len(kernels.skyline(both))
    return (compared - alone) / (len(partial) * (len(result) + rows) / 2.0)


def insertion_comparisons(table: Float64Array, sizes: Sequence[int]) -> list[float]:
    """Pairs that block-nested loops compare until so many records are in; a record stops at its first dominator."""
    kept: Float64Array = np.empty_like(table)
    count, compared, at_size = 0, 0, []
    for index, row in enumerate(table, start=1):
        window = kept[:count]
        beaten = np.flatnonzero((window <= row).all(axis=1) & (window < row).any(axis=1))
        if len(beaten):
            compared += int(beaten[0]) + 1
        else:
            compared += count
            stays = ~((row <= window).all(axis=1) & (row < window).any(axis=1))
            left = int(stays.sum())
            if left < count:
                kept[:left] = window[stays]
            kept[left] = row
            count = left + 1
        if index in sizes:
            at_size.append(float(max(1, compared)))
    return at_size
