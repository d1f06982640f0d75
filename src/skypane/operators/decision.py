"""Decision: what the driver makes of a step's statistics - whom to trust, the punctuation, the ledger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.lateness.future_guard import FUTURE_REASON
from skypane.lateness.policy import Delays, Lateness
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.operators.admission import Frontier, keep_rows, quarantine_rows, times_us
from skypane.operators.definition import Definition
from skypane.operators.pane_stats import PaneStats
from skypane.operators.pane_worker import lift_accepted, rows_by_group, sorted_by_group


@dataclass(frozen=True)
class Decision:
    """The outcome of a step's pane stage, from which the window stage follows."""

    progress: Progress
    ledger: Ledger
    """This step's records by fate."""
    between_windows: int
    partials: pa.Table | None
    """Partials of the suspects that turned out to be trusted."""
    quarantined: pa.Table | None
    """The suspects that did not."""

    @property
    def partial_rows_by_group(self) -> dict[int, int]:
        """How many of these partial rows each key group has."""
        return rows_by_group(self.partials)


def decide(
    definition: Definition, policy: Lateness, frontier: Frontier, stats: PaneStats, suspects: pa.Table | None
) -> Decision:
    """Judge the suspects knowing all tasks, then advance the punctuation. Pure, and blind to task borders."""
    guard, before = frontier.guard, frontier.progress
    newest = guard.newest((*stats.newest_us, *before.future_evidence_us))
    anchor = guard.anchor(before.t_max_us, newest)
    if anchor is None and newest:
        anchor = newest[-1]  # The first few records of a stream: start from the oldest.
    start = max((t for t in (anchor, stats.trusted_us) if t is not None), default=None)
    times = np.zeros(0, dtype=np.int64) if suspects is None else times_us(suspects.column(definition.time))
    t_max = guard.trusted_until(start, times)
    trusted = times <= t_max if t_max is not None else np.zeros(len(times), dtype=np.bool_)
    partials, between, refused = None, 0, None
    if suspects is not None and trusted.any():
        partials, between = lift_accepted(definition, keep_rows(suspects, trusted))
        partials = sorted_by_group(partials)
    if suspects is not None and not trusted.all():
        rows = keep_rows(suspects, ~trusted)
        refused = quarantine_rows(rows, pa.array([FUTURE_REASON] * rows.num_rows))
    refused_count = len(times) - int(trusted.sum())
    ledger = stats.ledger + Ledger(int(trusted.sum()), 0, {FUTURE_REASON: refused_count} if refused_count else {})
    delays = Delays(stats.records, stats.max_delay_us)
    progress = before.advance(policy, guard, t_max, delays, times[~trusted].tolist())
    return Decision(progress, ledger, stats.between_windows + between, partials, refused)
