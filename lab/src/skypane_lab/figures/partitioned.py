"""Paper 5, figures 6 and 7: how many records a second are split, and how many the nodes behind the split take."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.trees.split_run import SplitRun
from skypane_lab.trees.splitting import Batches, NodeCosts, Ring, Scheme

_OVERLAPS: Final = (1, 2, 5, 10, 20, 50, 100)
_NODES: Final = (1, 2, 3, 4, 5, 6)
_OVERLAP: Final = 100
_MANY_NODES: Final = 8
_FREE: Final = NodeCosts()._replace(other_us=0.0, update_us=0.0)
"""Nodes that are never full, so that the split is what limits."""
_PAPER: Final = {
    "panes": ("32 K/s a node", "near linear till the split is full"),
    "windows": ("5 K/s, then 0.8 K/s and 0.4 K/s more for each", "7 % with 2 nodes, below 12 % with 4"),
    "batches of 50": ("near linear", "27 % at most"),
}
_GAINS: Final = {(2, 10): 6_500, (33, 50): 1_200}
"""Records/s more between two batch sizes, as paper 5 has them, with a number of nodes that it does not state."""


def _schemes(sizes: tuple[int, ...]) -> dict[str, Callable[[int, int], Scheme]]:
    batches = {f"batches of {size}": partial(Batches, size=size) for size in sizes}
    return {"panes": Ring, "windows": Batches, **batches}


@cache
def _ran(scheme: Callable[[int, int], Scheme], overlap: int, nodes: int, costs: NodeCosts) -> SplitRun:
    return SplitRun(scheme(overlap, nodes), costs)


def split_rates() -> Figure:
    """6: the highest rate of the split by w / s."""
    lines: dict[str, list[float | None]] = {}
    for name, scheme in _schemes((2, 5, 10)).items():
        lines[name] = [_ran(scheme, overlap, _MANY_NODES, _FREE).records_per_s() / 1e3 for overlap in _OVERLAPS]
    rows = [[name, *(f"{value:,.1f}" for value in line if value is not None)] for name, line in lines.items()]
    labels = [f"{overlap}" for overlap in _OVERLAPS]
    panel = Panel("highest rate of the split", "window / slide", "thousand records/s", labels, lines)
    return Figure("Paper 5, fig. 6: the split", [panel], ["thousand records/s with w/s =", *labels], rows)


def scale_up() -> Figure:
    """7: rates by nodes with w / s = 100, and how busy the split is."""
    schemes = _schemes((2, 5, 10, 33, 50))
    runs = {name: [_ran(scheme, _OVERLAP, d, NodeCosts()) for d in _NODES] for name, scheme in schemes.items()}
    rates: dict[str, list[float | None]] = {name: [r.records_per_s() / 1e3 for r in row] for name, row in runs.items()}
    busy: dict[str, list[float | None]] = {name: [100 * r.split_load() for r in row] for name, row in runs.items()}
    nodes = list(_NODES)
    panels = [
        Panel("panes", "nodes", "thousand records/s", nodes, {"panes": rates.pop("panes")}),
        Panel("windows and batches", "nodes", "thousand records/s", nodes, rates),
        Panel("split, panes", "nodes", "% busy", nodes, {"panes": busy.pop("panes")}),
        Panel("split, windows and batches", "nodes", "% busy", nodes, busy),
    ]
    header = ["nodes", *(f"{d}" for d in _NODES), "paper 5"]
    return Figure(f"Paper 5, fig. 7: w/s {_OVERLAP}", panels, header, [*_table(runs), *_gains(runs)])


def _table(runs: dict[str, list[SplitRun]]) -> list[list[str]]:
    rows = []
    for name, row in runs.items():
        rate, split = _PAPER.get(name, ("", ""))
        rows.append([f"{name}, records/s", *(f"{run.records_per_s():,.0f}" for run in row), rate])
        rows.append([f"{name}, split busy", *(f"{run.split_load():.0%}" for run in row), split])
    return rows


def _gains(runs: dict[str, list[SplitRun]]) -> list[list[str]]:
    """What larger batches gain, and what the printed formula would have them gain."""
    rows = []
    for (small, large), paper in _GAINS.items():
        pairs = zip(runs[f"batches of {small}"], runs[f"batches of {large}"], strict=True)
        ours = [after.records_per_s() - before.records_per_s() for before, after in pairs]
        shown = [printed_rate(large, d) - printed_rate(small, d) for d in _NODES]
        name = f"batches of {large} instead of {small}"
        rows.append([name, "", *(f"{gain:+,.0f}" for gain in ours[1:]), f"{paper:+,}"])
        rows.append([f"{name}, printed formula", "", *(f"{gain:+,.0f}" for gain in shown[1:]), f"{paper:+,}"])
    return rows


def printed_rate(size: int, nodes: int, slide: int = 32) -> float:
    """The highest rate by paper 5's own formula, divided by the length of the batch, as it must be meant."""
    costs, window = NodeCosts(), _OVERLAP * slide
    batch = window + (size - 1) * slide
    updates = slide * size * (size + 1) / 2 + (window - slide)
    cost_us = updates * costs.update_us / batch + costs.other_us
    return nodes * size * slide / batch / cost_us * 1e6
