"""Damping: follows a controller of degrees, but not at every turn; what it must remember is plain data.

Scaling up happens at once, since waiting only adds to the backlog; only a change that is not worth it (below) is left
out while the stage is not behind. Scaling down happens when

* the controller has asked for fewer workers for ``dwell_periods`` periods in a row (after any change the count starts
  again), and then only down to the most that it asked for in one of them, so that a pause between two bursts costs
  nothing, and one period that was measured badly changes nothing;
* the stage is not behind: no lag above ``tolerated_lag_us``;
* it is worth it: by at least a share of ``dead_band``. Of degrees up to 10 that is any change.

Degrees stay within ``min_degree`` and ``max_degree``. Where both stages share ``max_workers``, a stage that grows may
take those of a stage that shrinks at once: that moves workers instead of giving them up.

``decide`` is a pure function of what it remembers and what was measured: ``Dwell`` goes into a manifest like any other
dataclass (:mod:`skypane.model.codec`), and a replay repeats the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from skypane.model.codec import from_text, to_text
from skypane.model.errors import DataError, OptionError
from skypane.tuning.elastic.controllers import ElasticController, ElasticDecision, Snapshot, capped
from skypane.tuning.elastic.fuzzy import Fired


@dataclass(frozen=True)
class StageDwell:
    """For how many periods in a row a stage needed fewer workers, and the most that it needed in one of them."""

    periods: int = 0
    enough: int = 0


@dataclass(frozen=True)
class Dwell:
    """What damping remembers from one decision to the next."""

    panes: StageDwell = field(default_factory=StageDwell)
    windows: StageDwell = field(default_factory=StageDwell)


class _Stage(NamedTuple):
    """One stage in one decision."""

    name: str
    degree: int
    wanted: int
    lag_us: float


@dataclass(frozen=True)
class Damped:
    """A controller that does not flap: any controller with the rules above around it."""

    controller: ElasticController
    dwell_periods: int = 2
    """1 follows every decision to shrink."""
    tolerated_lag_us: float = 0.0
    """Work that waits no longer than this is no lag."""
    dead_band: float = 0.1
    """Share of the workers: fewer than so many are neither added nor given up, or degrees would swing for ever."""
    min_degree: int = 1
    max_degree: int | None = None
    """Of each stage; ``None``: whatever the controller says."""
    max_workers: int | None = None
    """Of both stages together; ``None`` where they take turns, so that each may have all."""

    def __post_init__(self) -> None:
        if self.dwell_periods < 1:
            raise OptionError(f"dwell_periods={self.dwell_periods!r} must be at least 1.")
        if not 0.0 <= self.dead_band < 1.0:
            raise OptionError(f"dead_band={self.dead_band!r} must be a number from 0 to below 1.")
        if self.min_degree < 1:
            raise OptionError(f"min_degree={self.min_degree!r} must be at least 1.")
        if self.max_degree is not None and self.max_degree < self.min_degree:
            raise OptionError(f"max_degree={self.max_degree!r} is below min_degree={self.min_degree!r}.")
        if self.max_workers is not None and self.max_workers < 2 * self.min_degree:
            raise OptionError(f"max_workers={self.max_workers!r} does not suffice for min_degree of both stages.")

    @property
    def name(self) -> str:
        """The controller's name."""
        return self.controller.name

    def decide(self, before: Dwell, seen: Snapshot) -> tuple[ElasticDecision, Dwell]:
        """The degrees for the next period, and what to remember."""
        decided = _decided(self.controller, seen)
        panes = _Stage("pane", seen.pane_degree, self.clamped(decided.pane_degree), seen.pane_lag_us)
        windows = _Stage("window", seen.window_degree, self.clamped(decided.window_degree), seen.window_lag_us)
        pane_degree, pane_held = self._follow(before.panes, panes)
        window_degree, window_held = self._follow(before.windows, windows)
        max_workers = self.max_workers
        if max_workers is not None and pane_degree + window_degree > max_workers:
            pane_degree, window_degree = capped(panes.wanted, windows.wanted, max_workers)
            pane_held = window_held = ""
        dwell = Dwell(_dwell(before.panes, panes, pane_degree), _dwell(before.windows, windows, window_degree))
        held = tuple(reason for reason in (pane_held, window_held) if reason)
        return ElasticDecision(pane_degree, window_degree, decided.fired, held), dwell

    def clamped(self, degree: int) -> int:
        """Limit a degree to the allowed range."""
        return max(self.min_degree, degree if self.max_degree is None else min(self.max_degree, degree))

    def _follow(self, before: StageDwell, stage: _Stage) -> tuple[int, str]:
        """The degree, and why it differs from the controller's decision."""
        now, behind = self.clamped(stage.degree), stage.lag_us > self.tolerated_lag_us
        stays = f"{stage.name} degree stays at {now}, not {stage.wanted}: "
        small = abs(stage.wanted - now) < self.dead_band * now
        if stage.wanted >= now:
            held = small and not behind and stage.wanted > now
            return (now, stays + "too small a change") if held else (stage.wanted, "")
        if behind:
            return now, stays + f"{stage.lag_us / 1e6:.3g} s behind"
        if small:
            return now, stays + "too small a change"
        periods = before.periods + 1
        if periods < self.dwell_periods:
            return now, stays + f"period {periods} that wants fewer"
        return max(stage.wanted, before.enough), ""


def _decided(controller: ElasticController, seen: Snapshot) -> ElasticDecision:
    """What a controller says, which may be anybody's."""
    decided = controller.decide(seen)
    degrees = [getattr(decided, name, None) for name in ("pane_degree", "window_degree")]
    if not isinstance(decided, ElasticDecision) or not all(type(degree) is int for degree in degrees):
        raise OptionError(
            f"the controller {controller.name!r} decided {decided!r}: decide() must return an ElasticDecision with two "
            "whole numbers, pane_degree and window_degree."
        )
    return replace(decided, fired=_reasons(controller, decided))


def _reasons(controller: ElasticController, decided: ElasticDecision) -> tuple[Fired, ...]:
    """They are stored with the decision, so they must be such as can be read again."""
    try:
        return from_text(to_text(decided.fired), tuple[Fired, ...])
    except (DataError, TypeError) as error:
        raise OptionError(
            f"the controller {controller.name!r} decided {decided!r}: fired must be pairs of a text and a number, what "
            "had a say and how much, or be left out."
        ) from error


def _dwell(before: StageDwell, stage: _Stage, degree: int) -> StageDwell:
    if degree != stage.degree or stage.wanted >= stage.degree:
        return StageDwell()
    return StageDwell(before.periods + 1, max(before.enough, stage.wanted))
