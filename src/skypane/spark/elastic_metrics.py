"""ElasticMetrics: what degrees were decided from, and why, after each step."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.tuning.elastic.fuzzy import Fired
from skypane.tuning.tuner import TuningReport


@dataclass(frozen=True)
class ElasticMetrics:
    """Elastic degrees after a step; the step itself had the degrees that were decided before, if slots were there."""

    target_pane_degree: int
    """The degrees decided for the next steps."""
    target_window_degree: int
    ready: int | None
    """Slots that were there and warm; ``None`` if Spark gives as many as tasks wait for."""
    rho_panes: float | None
    """Utilization of the stage in this step, at the degree that was decided; above 1 it falls behind."""
    rho_windows: float | None
    backlog_ms: float | None
    """How long the source's backlog would take at the present speed; ``None`` if it does not report one."""
    decisions: int
    """How many decisions there were so far."""
    shards_per_pane: float | None
    """What the last decision was made from; ``None`` before the first."""
    decided_rho_panes: float | None
    decided_rho_windows: float | None
    fired: tuple[Fired, ...]
    """The rules that fired, with their weights."""
    held: tuple[str, ...]
    """Changes that the controller requested and damping held back, with the reason."""
    limit: str | None
    """Set while there is more work than the highest degree can do."""


def elastic_metrics(tuning: TuningReport) -> ElasticMetrics | None:
    """Convert the tuner's report to metrics."""
    target, state = tuning.target, tuning.elastic
    if target is None or state is None:
        return None
    sample, decided = state.sample, state.decided
    seen, decision = (None, None) if decided is None else (decided.seen, decided.decision)
    return ElasticMetrics(
        target_pane_degree=target.panes,
        target_window_degree=target.windows,
        ready=state.ready,
        rho_panes=None if sample is None else sample.rho_panes,
        rho_windows=None if sample is None else sample.rho_windows,
        backlog_ms=None if state.backlog_us is None else state.backlog_us / 1e3,
        decisions=state.decisions,
        shards_per_pane=None if seen is None else seen.shards_per_pane,
        decided_rho_panes=None if seen is None else seen.rho_panes,
        decided_rho_windows=None if seen is None else seen.rho_windows,
        fired=() if decision is None else decision.fired,
        held=() if decision is None else decision.held,
        limit=state.limit,
    )
