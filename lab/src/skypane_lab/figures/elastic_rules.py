"""Paper 2's rules as surfaces: by what the degrees are multiplied, over what was measured."""

from __future__ import annotations

from typing import Final

import numpy as np

from skypane.tuning.elastic.controllers import Fuzzy, Snapshot
from skypane_lab.figures.plotting import Figure, Panel

_DEGREE: Final = 10_000
"""So large that rounding does not show."""
_RULES: Final = Fuzzy(max_workers=4 * _DEGREE)
_SPLITTING: Final = {"moderate splitting": 1.0, "intensive splitting": 5.0}
_WINDOWS: Final = (0.3, 0.7, 0.9, 1.1, 1.5)


def multipliers(rho_panes: float, shards: float, rho_windows: float) -> tuple[float, float]:
    """Of pane and window degree."""
    decision = _RULES.decide(Snapshot(rho_panes, shards, rho_windows, _DEGREE, _DEGREE))
    return decision.pane_degree / _DEGREE, decision.window_degree / _DEGREE


def surface() -> Figure:
    """One line for each utilization of the window stage."""
    across = [float(x) for x in np.linspace(0.3, 1.5, 49)]
    panels, rows = [], []
    for name, shards in _SPLITTING.items():
        for index, stage in enumerate(("pane", "window")):
            lines: dict[str, list[float | None]] = {
                f"utilization of windows {rho:g}": [multipliers(x, shards, rho)[index] for x in across]
                for rho in _WINDOWS
            }
            title = f"{stage} degree, {name}"
            panels.append(Panel(title, "utilization of panes", "factor of the degree", across, lines, level=1.0))
        for rho in _WINDOWS:
            both = [multipliers(x, shards, rho) for x in (0.5, 0.7, 0.9, 1.1, 1.3)]
            rows.append([name, f"{rho:g}", *(f"{panes:.2f}, {windows:.2f}" for panes, windows in both)])
    header = ["splitting", "utilization of windows", *(f"of panes {x:g}" for x in (0.5, 0.7, 0.9, 1.1, 1.3))]
    return Figure("Paper 2's rules: factors of pane and window degree", panels, header, rows)
