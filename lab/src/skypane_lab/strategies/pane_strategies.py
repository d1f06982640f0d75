"""The pane-stage strategies of the simulator by name: those that Spark has too, and ``combine`` under control."""

from __future__ import annotations

from typing import Final

from skypane.model.errors import OptionError
from skypane.tuning.splitting import pane_strategies
from skypane.tuning.splitting.pane_strategy import PaneStrategy
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane_lab.strategies.combine import Combine

PANE_STRATEGIES: Final = (*pane_strategies.PANE_STRATEGIES, Combine.name)


def pane_strategy(name: str, degree: int, control: ControlOptions | None = None) -> PaneStrategy:
    """A new strategy for ``degree`` workers; ``control`` only matters to those with a controller."""
    if name not in PANE_STRATEGIES:
        raise OptionError(f"pane strategy {name!r} is unknown; it must be one of {', '.join(PANE_STRATEGIES)}.")
    return Combine(degree, control) if name == Combine.name else pane_strategies.pane_strategy(name, degree, control)
