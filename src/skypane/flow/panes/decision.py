"""Decision: what the driver makes of a step's statistics - whom to trust, the punctuation, the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import quarantine_rows
from skypane.flow.panes.worker import accepted_in, lift_accepted
from skypane.flow.reports import PaneReport, R
from skypane.lateness.future_guard import FUTURE_REASON, FutureGuard
from skypane.lateness.policy import Judgement, Observation
from skypane.lateness.progress import Progress, Seen
from skypane.lateness.punctuator import Punctuator
from skypane.model.ledger import Ledger
from skypane.tables.rows import keep_rows, sorted_by_group
from skypane.tables.times import times_us


@dataclass(frozen=True)
class Decision:
    """The outcome of a step's pane stage, from which the window stage follows."""

    progress: Progress
    ledger: Ledger
    """This step's records by fate."""
    records_by_pane: Mapping[int, int]
    """Accepted records of the newest panes."""
    partials: pa.Table | None
    """Partials of the suspects that turned out to be trusted."""
    quarantined: pa.Table | None
    """The suspects that did not."""


@dataclass(frozen=True)
class _Suspects:
    """Records too far in the future for one task to judge, judged."""

    t_max_us: int | None
    trusted: pa.Table | None
    refused: pa.Table | None
    refused_us: list[int]


def decide(
    definition: Definition,
    punctuator: Punctuator,
    before: Progress,
    seen: PaneReport[R],
    suspects: pa.Table | None,
    judged: Judgement,
    now_us: int,
) -> Decision:
    """Judge the suspects knowing all tasks, then advance the punctuation. Pure, and blind to task borders.

    ``judged`` is about the late records of the step before this one, ``now_us`` when the source cut the batch.
    """
    guard = punctuator.guard
    found = _judge_suspects(definition, guard, before, seen, suspects)
    partials, quarantined = None, None
    if found.trusted is not None:
        partials = sorted_by_group(lift_accepted(definition, found.trusted))
        seen = PaneReport.merge([seen, accepted_in(definition, found.trusted)], guard)
    if found.refused is not None:
        quarantined = quarantine_rows(found.refused, pa.array([FUTURE_REASON] * found.refused.num_rows))
        refused = Ledger(quarantined_by_reason={FUTURE_REASON: found.refused.num_rows})
        seen = PaneReport.merge([seen, PaneReport(ledger=refused)], guard)
    known = seen.ledger.accepted + seen.ledger.late
    overdue = replace(seen.overdue, records=float(known))  # without those that were not believed
    observation = Observation(known, seen.ledger.late, max_delay_us=seen.max_delay_us, overdue=overdue, judged=judged)
    shown = Seen(found.t_max_us, observation, found.refused_us, seen.newest_by_partition_us, now_us)
    return Decision(punctuator.advance(before, shown), seen.ledger, seen.records_by_pane, partials, quarantined)


def _judge_suspects(
    definition: Definition, guard: FutureGuard, before: Progress, seen: PaneReport[R], suspects: pa.Table | None
) -> _Suspects:
    """Trust the suspects that all tasks together speak for."""
    newest = guard.newest((*seen.newest_us, *before.future_evidence_us))
    anchor = guard.anchor(before.t_max_us, newest)
    if anchor is None and newest:
        anchor = newest[-1]  # The first few records of a stream: start from the oldest.
    start = max((t for t in (anchor, seen.trusted_us) if t is not None), default=None)
    times = np.zeros(0, dtype=np.int64) if suspects is None else times_us(suspects.column(definition.time))
    t_max = guard.trusted_until(start, times)
    if suspects is None:
        return _Suspects(t_max, None, None, [])
    trusted = times <= t_max if t_max is not None else np.zeros(len(times), dtype=np.bool_)
    return _Suspects(
        t_max,
        keep_rows(suspects, trusted) if trusted.any() else None,
        keep_rows(suspects, ~trusted) if not trusted.all() else None,
        times[~trusted].tolist(),
    )
