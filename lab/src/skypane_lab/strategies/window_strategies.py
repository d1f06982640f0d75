"""The window-stage strategies by name."""

from __future__ import annotations

from typing import Final

from skypane.model.errors import OptionError
from skypane_lab.strategies.window_feedback import WindowFeedback, WindowFeedbackMerge
from skypane_lab.strategies.window_round_robin import WindowRoundRobin
from skypane_lab.strategies.window_strategy import WindowStrategy

_BY_NAME: Final[dict[str, type[WindowStrategy]]] = {
    kind.name: kind for kind in (WindowRoundRobin, WindowFeedback, WindowFeedbackMerge)
}
WINDOW_STRATEGIES: Final = tuple(_BY_NAME)


def window_strategy(name: str, degree: int) -> WindowStrategy:
    """A new strategy for ``degree`` workers."""
    if name not in _BY_NAME:
        raise OptionError(f"window strategy {name!r} is unknown; it must be one of {', '.join(WINDOW_STRATEGIES)}.")
    return _BY_NAME[name](degree)
