"""Lateness plots: latency against loss, and what each policy costs, as one PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skypane.lateness_study.study import Outcome
from skypane.traffic.plots import BLUE, GREY, RED, new_figure, save_figure

_NEVER = 1e-6
"""Where "nothing lost" stands on a logarithmic axis."""


def plot_outcomes(outcomes: Sequence[Outcome], path: Path, title: str) -> Path:
    """Three panels: window latency by policy, latency against loss and harm, rows held."""
    figure = new_figure(rows=3)
    by_policy, trade, held = figure.subplots(3, 1)
    names = [outcome.policy for outcome in outcomes]
    places = range(len(names))
    seconds = [outcome.window_latency_ms / 1e3 for outcome in outcomes]
    by_policy.bar(places, seconds, width=0.55, color=BLUE, label="mean")
    by_policy.scatter(places, [o.window_latency_p99_ms / 1e3 for o in outcomes], color=RED, s=22, zorder=3, label="p99")
    by_policy.set(ylabel="window latency, s")
    by_policy.legend(fontsize=8, frameon=False, ncols=2, loc="upper right")
    by_policy.margins(y=0.25)
    by_policy.set_title(title, fontsize=10, loc="left")
    trade.scatter([max(o.late_share, _NEVER) for o in outcomes], seconds, color=GREY, s=26, label="late")
    trade.scatter([max(o.harm_share, _NEVER) for o in outcomes], seconds, color=RED, s=26, marker="x", label="harmful")
    for index, (outcome, latency) in enumerate(zip(outcomes, seconds, strict=True)):
        low, high = sorted((max(outcome.late_share, _NEVER), max(outcome.harm_share, _NEVER)))
        trade.plot([low, high], [latency, latency], color=GREY, linewidth=0.6)
        trade.annotate(
            outcome.policy, (high, latency), fontsize=7, xytext=(5, 2 - 9 * (index % 2)), textcoords="offset points"
        )
    trade.set(xscale="log", xlabel="share of records (leftmost: none)", ylabel="window latency, s")
    trade.set_xlim(right=8.0)
    trade.legend(fontsize=8, frameon=False, loc="lower left")
    held.bar(places, [outcome.held_rows for outcome in outcomes], width=0.55, color=BLUE)
    held.set(ylabel="rows held")
    for axes in (by_policy, held):
        axes.set_xticks(list(places), names, rotation=20, ha="right")
    return save_figure(figure, path)
