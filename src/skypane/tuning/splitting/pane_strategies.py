"""The pane-stage strategies: those with a name, and what a user gives instead of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skypane.model.errors import OptionError
from skypane.tuning.splitting.adaptive import Adaptive
from skypane.tuning.splitting.adaptive_pid import AdaptivePid
from skypane.tuning.splitting.pane_strategy import PaneStrategy, check_degree
from skypane.tuning.splitting.round_robin import PaneRoundRobin, TupleRoundRobin
from skypane.tuning.splitting.splitting_controller import ControlOptions

StrategyFactory = Callable[[int], PaneStrategy]
"""A new strategy for so many workers: a class derived from :class:`PaneStrategy`, or a function of the degree."""

_BY_NAME: Final[dict[str, type[PaneStrategy]]] = {
    kind.name: kind for kind in (PaneRoundRobin, TupleRoundRobin, Adaptive, AdaptivePid)
}
PANE_STRATEGIES: Final = tuple(_BY_NAME)
"""They send records to workers; ``combine`` leaves them where they are and needs no plan."""
SPLITTINGS: Final = ("combine", *PANE_STRATEGIES)


def pane_strategy(name: str, degree: int, control: ControlOptions | None = None) -> PaneStrategy:
    """A new strategy for ``degree`` workers; ``control`` only matters to those with a controller."""
    if name not in _BY_NAME:
        raise OptionError(f"pane strategy {name!r} is unknown; it must be one of {', '.join(PANE_STRATEGIES)}.")
    return AdaptivePid(degree, control) if name == AdaptivePid.name else _BY_NAME[name](degree)


def strategy_factory(given: str | StrategyFactory) -> StrategyFactory:
    """What makes the strategies that a user asks for, by name or by something that makes them."""
    if not isinstance(given, str):
        return given
    return lambda degree: pane_strategy(given, degree)


def strategy_name(given: str | StrategyFactory) -> str:
    """The name of what a user asks for, for explanations."""
    return given if isinstance(given, str) else given(1).name


def check_splitting(splitting: str | StrategyFactory, pane_degree: int | None) -> None:
    """Refuse what cannot be meant, by the name of the option."""
    if not isinstance(splitting, str):
        check_factory(splitting, "splitting", reserved=SPLITTINGS)
    elif splitting not in SPLITTINGS:
        raise OptionError(
            f"splitting={splitting!r} is unknown; it must be one of {', '.join(SPLITTINGS)}, or a class derived from "
            "sp.extend.PaneStrategy."
        )
    if pane_degree is not None:
        check_degree(pane_degree, "pane_degree")


def check_factory(factory: object, option: str, reserved: tuple[str, ...] = PANE_STRATEGIES) -> None:
    """Refuse what makes no strategy, or one whose state would be taken for another's."""
    remedy = "Give a class derived from sp.extend.PaneStrategy, or a function of the degree that makes one."
    if isinstance(factory, PaneStrategy):
        raise OptionError(f"{option}={factory!r} is one strategy, for {factory.degree} workers. {remedy}")
    if not callable(factory):
        raise OptionError(f"{option}={factory!r} is no pane strategy. {remedy}")
    made = factory(1)
    if not isinstance(made, PaneStrategy):
        raise OptionError(f"{option}={factory!r} makes {made!r}, which is no pane strategy. {remedy}")
    kind, name = type(made), getattr(made, "name", None)
    if not isinstance(name, str) or not name:
        raise OptionError(f'{option}: {kind.__name__} has no name. Give it one, e.g. name = "my_strategy".')
    if name in reserved and kind is not _BY_NAME.get(name):
        raise OptionError(f"{option}: {kind.__name__} has the name of a built-in strategy, {name!r}. Choose another.")
