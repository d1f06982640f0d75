"""The papers' figures, simulated or measured again: ``draw(name, folder)`` writes a plot and a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from skypane_lab.figures import (
    control,
    elastic_game,
    elastic_panes,
    elastic_rules,
    elastic_streams,
    kernels,
    live_rates,
    live_sets,
    merges,
    nested,
    order,
    panes,
    partitioned,
    streams,
    windows,
    yahoo,
)
from skypane_lab.figures.plotting import Figure

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
    "p2-surface": elastic_rules.surface,
    "p2-9": elastic_panes.artificial,
    "p2-10a": elastic_panes.without_splitting,
    "p2-10b": elastic_panes.with_splitting,
    "p2-14": elastic_game.over_time,
    "p2-15": elastic_game.against_static,
    "p2-t4": elastic_streams.skyline,
    "p2-t5": elastic_streams.top_delta,
    "p2-16": elastic_streams.power,
    "p2-17": elastic_game.by_periods,
    "p2-18": elastic_game.under_load,
    "p3-15": nested.window_farm,
    "p3-16": nested.pane_farm,
    "p3-17": nested.pane_lengths,
    "p3-18": nested.nestings,
    "p3-20": yahoo.latencies,
    "p3-21": yahoo.many_campaigns,
    "p3-22": yahoo.one_campaign,
    "p3-23": yahoo.threads_or_tasks,
    "p3-24": yahoo.latency_of_batches,
    "p4-4": live_sets.live_set_sizes,
    "p4-6": live_rates.reduces,
    "p4-7": live_sets.on_demand_and_least_loaded,
    "p4-8": live_sets.least_loaded_with_ownership,
    "p4-9": live_sets.all_ownerships,
    "p4-10": live_rates.by_window,
    "p4-11": live_rates.by_rate,
    "p4-12": live_rates.by_ownership,
    "p4-13": live_rates.highest_rates,
    "p5-6": partitioned.split_rates,
    "p5-7": partitioned.scale_up,
}
"""By the number in paper 1 (8c stands for 8c to 8f), or with p2 in paper 2 (p2-12 stands for 12 and 13,
p2-t4 for table 4), with p3 in paper 3, with p4 in paper 4 (p4-9 has its table I), with p5 in paper 5; pid and held have
no counterparts there."""


def draw(name: str, folder: Path) -> list[Path]:
    """Make one figure and write it."""
    return FIGURES[name]().write(folder, name)
