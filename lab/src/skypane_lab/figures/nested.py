"""Paper 3, figures 15 to 18: the spatial query in farms, pane farms and farms of pane farms, by workers."""

from __future__ import annotations

from functools import cache
from typing import Final

from skypane.tuning.patterns import PaneFarm, Pattern, WinFarm
from skypane.tuning.patterns.parse import parse_pattern
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.trees.skylines import ATTRIBUTES, SPATIAL, expected_rows, spatial_run

_WORKERS: Final = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 60)
_REPLICAS: Final = (1, 2, 4, 5, 8, 10, 20, 25, 30, 40, 50, 60)
_PANES_MS: Final = (10, 20, 40, 50, 80, 100, 200, 250, 500)
_NESTED: Final = (
    "WF(60)",
    "PF(1,60) L1",
    "WF(PF(1,1) L1, 25)",
    "WF(PF(1,2) L1, 20) L1",
    "WF(PF(1,4) L1, 10) L1",
    "WF(PF(2,3) L2, 10) L1",
    "WF(PF(2,3) L2, 10) L2",
    "WF(PF(2,4) L2, 8) L1",
    "WF(PF(3,9) L2, 4) L1",
    "WF(PF(4,24) L2, 2) L1",
)
_TOLD: Final = {
    "WF(60)": "33",
    "PF(1,60) L1": "5 times WF(60)",
    "WF(PF(2,3) L2, 10) L1": "35 % above PF",
    "WF(PF(2,3) L2, 10) L2": "impaired",
    "WF(PF(2,4) L2, 8) L1": "35 % above PF",
}


@cache
def _rate(tree: Pattern, attributes: int) -> float:
    """Thousand records/s."""
    return spatial_run(tree, attributes).records_per_s() / 1e3


def _speed_up(title: str, kind: str, trees: dict[int, Pattern], paper: dict[int, str]) -> Figure:
    """Throughput and scalability by workers."""
    rates: dict[str, list[float | None]] = {}
    times: dict[str, list[float | None]] = {"ideal": [float(n) for n in trees]}
    for attributes in ATTRIBUTES:
        found = [_rate(tree, attributes) for tree in trees.values()]
        rates[f"{attributes} attributes"] = list(found)
        times[f"{attributes} attributes"] = [value / found[0] for value in found]
    across = list(trees)
    panels = [
        Panel("throughput", "workers", "thousand records/s", across, rates),
        Panel("scalability", "workers", "times one worker", across, times),
    ]
    rows = []
    for index, n in enumerate(trees):
        values = [f"{line[index]:,.2f}" for lines in (rates, times) for name, line in lines.items() if name != "ideal"]
        rows.append([f"{n}", *values, paper.get(n, "")])
    header = [kind, *(f"{a} attributes, K/s" for a in ATTRIBUTES), *(f"{a}: times" for a in ATTRIBUTES), "paper 3"]
    return Figure(title, panels, header, rows)


def window_farm() -> Figure:
    """15: whole windows to workers in turn."""
    trees: dict[int, Pattern] = {n: WinFarm(n) for n in _WORKERS}
    paper = {1: "0.65 K/s", 60: "33 K/s, 52 times"}
    return _speed_up("Paper 3, fig. 15: WF(n)", "n of WF(n)", trees, paper)


def pane_farm() -> Figure:
    """16: panes by one, windows by others."""
    trees: dict[int, Pattern] = {m: PaneFarm(1, m, level=1) for m in _WORKERS}
    paper = {60: "5 times WF(60), near ideal"}
    return _speed_up("Paper 3, fig. 16: PF(1,m) L1", "m of PF(1,m) L1", trees, paper)


def pane_lengths() -> Figure:
    """17: rows by pane length; and farms of pane farms, whose panes grow with the replicas."""
    sizes: dict[str, list[float | None]] = {
        f"{a} attributes": [expected_rows(a, 300 * ms) for ms in _PANES_MS] for a in ATTRIBUTES
    }
    lines: dict[str, list[float | None]] = {}
    for attributes in ATTRIBUTES:
        lines[f"WF(PF(1,1), n), {attributes}"] = [_rate(_replicated(n), attributes) for n in _REPLICAS]
        lines[f"PF(1,n), {attributes}"] = [_rate(PaneFarm(1, n, level=1), attributes) for n in _REPLICAS]
    panels = [
        Panel("sub-skyline", "pane, ms", "rows", list(_PANES_MS), sizes),
        Panel("throughput, by attributes", "n", "thousand records/s", list(_REPLICAS), lines),
    ]
    rows = []
    for index, n in enumerate(_REPLICAS):
        pane = SPATIAL.windows.every(n).pane
        kept = [f"{expected_rows(a, 300 * pane):,.0f}" for a in ATTRIBUTES]
        rows.append([f"{n}", f"{pane}", *kept, *(f"{line[index]:,.1f}" for line in lines.values())])
    header = [
        "n",
        "inner pane, ms",
        *(f"rows, {a} attributes" for a in ATTRIBUTES),
        *(f"{name}, K/s" for name in lines),
    ]
    return Figure("Paper 3, fig. 17: pane length", panels, header, rows)


def _replicated(n: int) -> Pattern:
    return WinFarm(PaneFarm(1, 1, level=1), n)


def nestings() -> Figure:
    """18: nested trees beside plain ones."""
    trees = [parse_pattern(text) for text in _NESTED]
    lines: dict[str, list[float | None]] = {
        f"{attributes} attributes": [_rate(tree, attributes) for tree in trees] for attributes in ATTRIBUTES
    }
    labels = [f"{number}" for number in range(1, len(trees) + 1)]
    panel = Panel("throughput, in the table's order", "tree", "thousand records/s", labels, lines)
    rows = []
    for index, (text, tree) in enumerate(zip(_NESTED, trees, strict=True)):
        cells = []
        for line in lines.values():
            rate, plain = line[index] or 0.0, line[1] or 1.0
            cells += [f"{rate:,.0f}", f"{rate / plain:.2f}"]
        rows.append([f"{index + 1}", text, f"{tree.threads(SPATIAL)}", *cells, _TOLD.get(text, "")])
    names = [f"{a} attributes: {what}" for a in ATTRIBUTES for what in ("K/s", "over PF(1,60)")]
    return Figure("Paper 3, fig. 18: nested trees", [panel], ["", "tree", "threads", *names, "paper 3"], rows)
