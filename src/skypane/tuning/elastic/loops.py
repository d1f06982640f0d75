"""Loops: two control loops on one clock. The inner one samples; after some samples the outer one decides degrees.

The engine that measures is the inner loop: it moves the splitting threshold and passes a sample on every period.
Samples are gathered until they cover the outer period; then the controller sees their means, and degrees change (paper
2: ten samples of 250 ms to 2.5 s). Samples count by the time that they cover, so they need not be of equal length: a
long step of Spark is a sample, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import ElasticDecision, Snapshot
from skypane.tuning.elastic.damping import Damped, Dwell


@dataclass(frozen=True)
class InnerSample:
    """What was measured in one sampling period."""

    period_us: float
    rho_panes: float | None
    """Utilization of the stage; 0 if nothing came, ``None`` if it is unknown."""
    rho_windows: float | None
    panes: int = 0
    """Panes that were completed."""
    shards: int = 0
    """Of those panes, together."""
    pane_lag_us: float = 0.0
    """How far the stage is behind at the end of the period."""
    window_lag_us: float = 0.0
    pane_load: float | None = None
    """See :class:`~skypane.tuning.elastic.controllers.Snapshot`; either in all samples or in none."""


@dataclass(frozen=True)
class Mean:
    """A mean over time that grows; nothing that lasted no time counts."""

    total: float = 0.0
    time_us: float = 0.0

    def add(self, value: float | None, time_us: float) -> Mean:
        """One more value, which held for so long."""
        return self if value is None else Mean(self.total + value * time_us, self.time_us + time_us)

    @property
    def value(self) -> float:
        """The mean; 0 without samples."""
        return self.total / self.time_us if self.time_us > 0 else 0.0


@dataclass(frozen=True)
class Gathered:
    """The samples since the last decision."""

    elapsed_us: float = 0.0
    rho_panes: Mean = field(default_factory=Mean)
    rho_windows: Mean = field(default_factory=Mean)
    panes: int = 0
    shards: int = 0
    pane_load: Mean = field(default_factory=Mean)

    def add(self, sample: InnerSample) -> Gathered:
        """Add a sample."""
        return Gathered(
            self.elapsed_us + sample.period_us,
            self.rho_panes.add(sample.rho_panes, sample.period_us),
            self.rho_windows.add(sample.rho_windows, sample.period_us),
            self.panes + sample.panes,
            self.shards + sample.shards,
            self.pane_load.add(sample.pane_load, sample.period_us),
        )

    def snapshot(self, pane_degree: int, window_degree: int, last: InnerSample) -> Snapshot:
        """What the controller is to see; lag is that at the end of the period."""
        return Snapshot(
            rho_panes=self.rho_panes.value,
            shards_per_pane=self.shards / self.panes if self.panes else 1.0,
            rho_windows=self.rho_windows.value,
            pane_degree=pane_degree,
            window_degree=window_degree,
            pane_lag_us=last.pane_lag_us,
            window_lag_us=last.window_lag_us,
            pane_load=self.pane_load.value if self.pane_load.time_us > 0 else None,
        )


@dataclass(frozen=True)
class LoopState:
    """All that is remembered, and the degrees in force; plain data, for a manifest."""

    pane_degree: int
    window_degree: int
    gathered: Gathered = field(default_factory=Gathered)
    dwell: Dwell = field(default_factory=Dwell)


@dataclass(frozen=True)
class Decided:
    """A decision of the outer loop, and what it was decided from."""

    seen: Snapshot
    decision: ElasticDecision


@dataclass(frozen=True)
class Loops:
    """The two loops; samples in, degrees out now and then."""

    damped: Damped
    outer_us: float = 2_500_000.0
    inner_us: float | None = None
    """If samples come at a fixed distance: ``outer_us`` must be a whole multiple of it."""

    def __post_init__(self) -> None:
        if self.outer_us <= 0:
            raise OptionError(f"outer_us={self.outer_us!r} must be above 0.")
        if self.inner_us is not None and (self.inner_us <= 0 or self.outer_us % self.inner_us):
            raise OptionError(
                f"the outer period of {self.outer_us / 1e6:g} s is not a whole multiple of the sampling period of "
                f"{self.inner_us / 1e6:g} s. Choose one that is."
            )

    def start(self, pane_degree: int, window_degree: int) -> LoopState:
        """Before the first sample; degrees that are not allowed become the nearest ones that are."""
        return LoopState(self.damped.clamped(pane_degree), self.damped.clamped(window_degree))

    def sample(self, before: LoopState, sample: InnerSample) -> tuple[LoopState, Decided | None]:
        """Take in one sample; at the end of an outer period there is a decision, and degrees may differ."""
        gathered = before.gathered.add(sample)
        if gathered.elapsed_us < self.outer_us:
            return LoopState(before.pane_degree, before.window_degree, gathered, before.dwell), None
        seen = gathered.snapshot(before.pane_degree, before.window_degree, sample)
        decision, dwell = self.damped.decide(before.dwell, seen)
        after = LoopState(decision.pane_degree, decision.window_degree, Gathered(), dwell)
        return after, Decided(seen, decision)
