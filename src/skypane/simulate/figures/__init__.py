"""The papers' figures, simulated or measured again: ``draw(name, folder)`` writes a plot and a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from skypane.simulate.figures import control, kernels, merges, order, panes, streams, windows
from skypane.simulate.figures.plotting import Figure

FIGURES: Final[dict[str, Callable[[], Figure]]] = {
    "6": kernels.by_dimension,
    "7": kernels.by_distribution,
    "8a": panes.optimal_degrees,
    "8b": panes.splitting,
    "8c": panes.utilizations,
    "8g": panes.selected,
    "8h": panes.imbalances,
    "pid": control.settling,
    "held": control.held,
    "9": order.in_order_or_not,
    "10": order.open_panes,
    "12": windows.by_burstiness,
    "13": windows.imbalances,
    "14": kernels.panes_or_windows,
    "15": streams.degrees,
    "17": streams.latencies,
    "p2-11": merges.filtering,
    "p2-12": merges.merge_tasks,
}
"""By the number in paper 1 (8c stands for 8c to 8f), or with p2 in paper 2 (p2-12 stands for 12 and 13);
pid and held have no counterparts there."""


def draw(name: str, folder: Path) -> list[Path]:
    """Make one figure and write it."""
    return FIGURES[name]().write(folder, name)
