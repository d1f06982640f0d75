"""The pane-stage strategies by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skypane.model.errors import OptionError
from skypane.scheduling.adaptive import Adaptive
from skypane.scheduling.adaptive_pid import AdaptivePid
from skypane.scheduling.pane_strategy import PaneStrategy
from skypane.scheduling.round_robin import PaneRoundRobin, TupleRoundRobin
from skypane.scheduling.splitting_controller import ControlOptions

_PLAIN: Final[dict[str, Callable[[int], PaneStrategy]]] = {
    PaneRoundRobin.name: PaneRoundRobin,
    TupleRoundRobin.name: TupleRoundRobin,
    Adaptive.name: Adaptive,
}
_CONTROLLED: Final[dict[str, Callable[[int, ControlOptions | None], PaneStrategy]]] = {
    AdaptivePid.name: AdaptivePid,
}
PANE_STRATEGIES: Final = (*_PLAIN, *_CONTROLLED)


def pane_strategy(name: str, degree: int, control: ControlOptions | None = None) -> PaneStrategy:
    """A new strategy for ``degree`` workers; ``control`` only matters to those with a controller."""
    if name in _PLAIN:
        return _PLAIN[name](degree)
    if name in _CONTROLLED:
        return _CONTROLLED[name](degree, control)
    raise OptionError(f"pane strategy {name!r} is unknown; it must be one of {', '.join(PANE_STRATEGIES)}.")
