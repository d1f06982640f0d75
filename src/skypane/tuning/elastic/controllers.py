"""Elastic: how many workers the two stages should have, from what was measured. Snapshot in, degrees out.

Four controllers with one interface: the fuzzy one of paper 2, a band (``Threshold``), the useful time of the workers
(``Ds2``), and none (``Fixed``). All are pure: the same snapshot gives the same decision, so a replay repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from skypane.model.errors import OptionError
from skypane.tuning.elastic.fuzzy import Fired, Rule, RuleBase, Trapezoid, Variable, triangle

SET_POINT: Final = 0.9
"""The target utilization: slightly faster than the stream."""
MAX_WORKERS: Final = 59
"""What fits the authors' logs best; both stages together."""


@dataclass(frozen=True)
class Snapshot:
    """What was measured over one control period."""

    rho_panes: float
    """Utilization of the pane stage: work that came over work that could be done; above 1 it falls behind."""
    shards_per_pane: float
    """Of the panes that were completed in the period; 1 if none was."""
    rho_windows: float
    pane_degree: int
    window_degree: int
    pane_lag_us: float = 0.0
    """How far the stage is behind: how long the work that waits has waited, or would take. Only damping looks at it."""
    window_lag_us: float = 0.0
    pane_load: float | None = None
    """Work that came over work that could be done, of all pane workers alike; ``rho_panes`` weighs each by its share.

    The splitting holds ``rho_panes`` at the set-point, with more workers than are needed, too; this falls then.
    ``None``: not known, ``rho_panes`` stands for it.
    """


@dataclass(frozen=True)
class ElasticDecision:
    """The degrees from now on, and why."""

    pane_degree: int
    window_degree: int
    fired: tuple[Fired, ...] = ()
    """The rules that had a say."""
    held: tuple[str, ...] = ()
    """What the damping did not follow, and why (:mod:`skypane.tuning.elastic.damping`)."""


class ElasticController(Protocol):
    """Decides the degrees of both stages from a snapshot."""

    @property
    def name(self) -> str:
        """For options and explanations."""
        ...

    def decide(self, seen: Snapshot) -> ElasticDecision:
        """The degrees for the next period."""
        ...


UTILIZATION: Final = Variable(
    {
        "fast": Trapezoid(0.0, 0.0, 0.5, 0.9),
        "acceptable": triangle(0.5, 0.9, 1.3),
        "slow": Trapezoid(0.9, 1.3, 2.0, 2.0),
    },
    lowest=0.0,
    highest=2.0,
)
MULTIPLIERS: Final[Mapping[str, float]] = {
    "decrease": 0.5,
    "slightly decrease": 0.75,
    "keep": 1.0,
    "slightly increase": 1.25,
    "increase": 1.5,
}
_TABLE: Final = (
    # pane stage, splitting, window stage -> pane workers, window workers; "" for: whatever it is
    ("fast", "", "fast", "decrease", "decrease"),
    ("fast", "", "acceptable", "decrease", "keep"),
    ("fast", "", "slow", "decrease", "increase"),
    ("acceptable", "moderate", "fast", "keep", "decrease"),
    ("acceptable", "moderate", "acceptable", "keep", "keep"),
    ("acceptable", "moderate", "slow", "keep", "increase"),
    # More pane workers split panes less, which saves comparisons later - unless windows need the workers more.
    ("acceptable", "intensive", "fast", "slightly increase", "decrease"),
    ("acceptable", "intensive", "acceptable", "slightly increase", "keep"),
    ("acceptable", "intensive", "slow", "keep", "increase"),
    # A faster pane stage will press the window stage harder.
    ("slow", "", "fast", "increase", "slightly decrease"),
    ("slow", "", "acceptable", "increase", "slightly increase"),
    ("slow", "", "slow", "slightly increase", "increase"),
)


def _rules(table: Sequence[tuple[str, str, str, str, str]]) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            {name: term for name, term in zip(("panes", "splitting", "windows"), row[:3], strict=True) if term},
            {"pane workers": row[3], "window workers": row[4]},
        )
        for row in table
    )


def _splitting(max_workers: float) -> Variable:
    """The sets of the authors' program, which fit its logs better than those of the paper (1.5 and 4.5)."""
    terms = {"moderate": Trapezoid(1.0, 1.0, 2.0, 5.0), "intensive": Trapezoid(2.0, 3.5, max_workers, max_workers)}
    return Variable(terms, lowest=1.0, highest=max_workers)


@dataclass(frozen=True)
class Fuzzy:
    """Paper 2's controller: twelve rules about both stages at once; degrees change by at most half."""

    name: ClassVar[str] = "fuzzy"

    max_workers: int = MAX_WORKERS
    by_load: bool = False
    """Look at ``pane_load``, where it is known, instead of ``rho_panes``.

    By the rules the pane stage grows as long as panes are split much and windows are fine, since more workers split
    less. Where they do not, because one worker cannot take a whole pane in time, it grows without end; the load falls
    then, and ends it.
    """

    def __post_init__(self) -> None:
        if self.max_workers < 2:
            raise OptionError(f"max_workers={self.max_workers} must be at least 2: each stage needs one.")

    def decide(self, seen: Snapshot) -> ElasticDecision:
        """Ask the rules, multiply, round, cap."""
        base = RuleBase(
            {"panes": UTILIZATION, "splitting": _splitting(max(5.0, self.max_workers)), "windows": UTILIZATION},
            MULTIPLIERS,
            _rules(_TABLE),
        )
        panes_seen = seen.pane_load if self.by_load and seen.pane_load is not None else seen.rho_panes
        concluded = base.conclude({"panes": panes_seen, "splitting": seen.shards_per_pane, "windows": seen.rho_windows})
        panes = multiplied(seen.pane_degree, concluded.outputs.get("pane workers", 1.0))
        windows = multiplied(seen.window_degree, concluded.outputs.get("window workers", 1.0))
        return ElasticDecision(*capped(panes, windows, self.max_workers), concluded.fired)


@dataclass(frozen=True)
class Threshold:
    """Each stage by itself: one half more above the band, a quarter less below it."""

    name: ClassVar[str] = "threshold"

    low: float = 0.6
    high: float = 1.0
    max_workers: int = MAX_WORKERS

    def decide(self, seen: Snapshot) -> ElasticDecision:
        """Stay inside the band."""
        panes = self._stage(seen.pane_degree, seen.rho_panes)
        windows = self._stage(seen.window_degree, seen.rho_windows)
        return ElasticDecision(*capped(panes, windows, self.max_workers))

    def _stage(self, degree: int, rho: float) -> int:
        if rho > self.high:
            return math.ceil(1.5 * degree)
        return max(1, math.floor(0.75 * degree)) if rho < self.low else degree


@dataclass(frozen=True)
class Ds2:
    """As many workers as the stream needs at the speed that they showed while they worked (Kalavri et al., 2018).

    Between ``set_point`` and ``keeps_up`` they stay: the stage keeps up, and what was measured is not that exact. Else
    a load on the border between two degrees would have now the one and now the other.
    """

    name: ClassVar[str] = "ds2"

    set_point: float = SET_POINT
    keeps_up: float = 1.0
    max_workers: int = MAX_WORKERS

    def decide(self, seen: Snapshot) -> ElasticDecision:
        """In one go, for each stage by itself: utilization times degree is the work that comes, in workers."""
        pane_load = seen.rho_panes if seen.pane_load is None else seen.pane_load
        panes, windows = self._stage(seen.pane_degree, pane_load), self._stage(seen.window_degree, seen.rho_windows)
        return ElasticDecision(*capped(panes, windows, self.max_workers))

    def _stage(self, degree: int, rho: float) -> int:
        if self.set_point < rho <= self.keeps_up:
            return degree
        return max(1, math.ceil(degree * rho / self.set_point - 1e-9))


@dataclass(frozen=True)
class Fixed:
    """The degrees stay as they are."""

    name: ClassVar[str] = "fixed"

    def decide(self, seen: Snapshot) -> ElasticDecision:
        """Return the fixed degrees."""
        return ElasticDecision(seen.pane_degree, seen.window_degree)


def multiplied(degree: int, factor: float) -> int:
    """A degree times a factor, rounded half away from zero, never below 1.

    Rounding alone would keep small degrees too long, or change them too soon: 1, 2 and 3 have borders of their own,
    read off the authors' logs.
    """
    stays = {1: (0.0, 1.25), 2: (0.563, 1.25), 3: (0.793, 1.17)}
    low, high = stays.get(degree, (1.0, 1.0))
    if low <= factor < high:
        return degree
    return max(2 if degree == 1 else 1, math.floor(degree * factor + 0.5))


def capped(panes: int, windows: int, max_workers: int) -> tuple[int, int]:
    """Both scaled down alike if there are too many together; what is still too much the pane stage gives up."""
    if panes + windows > max_workers:
        share = max_workers / (panes + windows)
        panes, windows = (max(1, math.floor(degree * share + 0.5)) for degree in (panes, windows))
        if panes + windows > max_workers:
            panes, windows = (panes - 1, windows) if panes > 1 else (panes, windows - 1)
    return panes, windows
