"""Decision: what a step makes of its pane stage's report - whom to believe, the punctuation, the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.held import accepted_of, in_doubt, reasons_of, refused_of, still_held
from skypane.flow.panes.worker import accepted_in
from skypane.flow.processing.choice import processing_of
from skypane.flow.reports import PaneReport, R
from skypane.lateness.policy import Judgement, Observation
from skypane.lateness.progress import Progress, Seen
from skypane.lateness.punctuator import Punctuator
from skypane.lateness.suspects import Ending, Known, Suspects, Verdict, judge
from skypane.model.ledger import Ledger


@dataclass(frozen=True)
class Decision:
    """The outcome of a step's pane stage, from which the window stage follows."""

    progress: Progress
    ledger: Ledger = field(default_factory=Ledger)
    """This step's records by fate."""
    records_by_pane: Mapping[int, int] = field(default_factory=dict)
    """Accepted records of the newest panes."""
    partials: pa.Table | None = None
    """Partials of the suspects that are believed."""
    quarantined: pa.Table | None = None
    """The suspects that are refused."""
    held: pa.Table | None = None
    """The suspects that stay, or become, held."""


def decide(
    definition: Definition,
    punctuator: Punctuator,
    before: Progress,
    seen: PaneReport[R],
    suspects: pa.Table | None,
    held: pa.Table | None,
    judged: Judgement,
    now_us: int,
) -> Decision:
    """Judge the suspects knowing all tasks, then advance the punctuation. Pure, and blind to task borders.

    ``judged`` is about the late records of the step before this one, ``now_us`` when the source cut the batch.
    """
    guard, records = punctuator.guard, int(seen.overdue.records)
    live_from = guard.live_from_us(before.t_max_us, before.advanced_us, now_us)
    known = Known(before.t_max_us, before.recent_us, seen.trusted_us, seen.newest_us, records, live_from)
    table, doubted = in_doubt(definition, suspects, held)
    verdict = judge(guard, known, doubted, now_us)
    fresh = ~doubted.held
    # Neither what is not believed teaches anything, nor what was held: it has waited for others.
    learned = records - int((fresh & ~verdict.accepted).sum())
    overdue = replace(seen.overdue, records=float(learned))
    observation = Observation(learned, seen.missed, max_delay_us=seen.max_delay_us, overdue=overdue, judged=judged)
    settled = _settle(definition, table, doubted, verdict)
    report = PaneReport.merge([seen, settled.report], guard)
    shown = Seen(verdict.t_max_us, observation, verdict.recent_us, report.partitions, now_us)
    return settled.decision(punctuator.advance(before, shown), report)


def decide_ending(
    definition: Definition,
    punctuator: Punctuator,
    before: Progress,
    held: pa.Table | None,
    ending: Ending,
    now_us: int,
) -> Decision:
    """A step without records: what to make of those that are held, and what to close by the clock."""
    table, doubted = in_doubt(definition, None, held)
    live_from = punctuator.guard.live_from_us(before.t_max_us, before.advanced_us, now_us)
    known = Known(before.t_max_us, before.recent_us, live_from_us=live_from)
    verdict = judge(punctuator.guard, known, doubted, now_us, ending)
    settled = _settle(definition, table, doubted, verdict)
    if verdict.accepted.any():
        shown = Seen(verdict.t_max_us, Observation(0), verdict.recent_us, settled.report.partitions, now_us)
        before = before.move(punctuator.sources, shown)
    held_us = min(doubted.times_us[verdict.kept].tolist(), default=None)
    return settled.decision(punctuator.end(definition.window, before, ending, now_us, held_us), settled.report)


@dataclass(frozen=True)
class _Settled:
    """The suspects, judged: what is lifted, refused and held of them, and how the report changes."""

    report: PaneReport[pa.Table]
    partials: pa.Table | None
    quarantined: pa.Table | None
    held: pa.Table | None

    def decision(self, progress: Progress, report: PaneReport[pa.Table]) -> Decision:
        """With all that was decided."""
        return Decision(progress, report.ledger, report.records_by_pane, self.partials, self.quarantined, self.held)


def _settle(definition: Definition, table: pa.Table | None, doubted: Suspects, verdict: Verdict) -> _Settled:
    """Lift what is believed, refuse what is contradicted, hold the rest."""
    accepted = accepted_of(table, verdict)
    report: PaneReport[pa.Table] = PaneReport() if accepted is None else accepted_in(definition, accepted)
    newly_held = int(verdict.kept.sum()) - int(doubted.held.sum())
    ledger = Ledger(report.ledger.accepted, 0, dict(reasons_of(verdict)), newly_held)
    return _Settled(
        replace(report, ledger=ledger),
        None if accepted is None else processing_of(definition).merge([processing_of(definition).lift(accepted)]),
        refused_of(table, verdict),
        still_held(table, verdict),
    )
