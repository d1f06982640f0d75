"""Decision: what a step makes of its pane stage's report - whom to believe, the watermark, the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.id_rows import known_ids
from skypane.flow.distinct.in_doubt import copies_in_doubt
from skypane.flow.distinct.known_ids import KnownIds
from skypane.flow.panes.held import accepted_of, in_doubt, reasons_of, refused_of, still_held, without_past
from skypane.flow.panes.worker import accepted_in
from skypane.flow.processing.base import Processing
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, R
from skypane.lateness.past_guard import PAST_REASON, FirstTimes
from skypane.lateness.policy import Judgement, Observation
from skypane.lateness.progress import Progress, Seen
from skypane.lateness.punctuator import Punctuator
from skypane.lateness.suspects import Known, Suspects, Verdict, judge
from skypane.model.ending import Ending
from skypane.model.ledger import Ledger
from skypane.tables.rows import keep_rows, present, together, without_internal
from skypane.tables.times import times_us


@dataclass(frozen=True)
class Decision(Generic[R]):
    """The outcome of a step's pane stage, from which the window stage follows."""

    progress: Progress
    report: PaneReport[R]
    """What the tasks have seen, and the suspects, which are judged now: its ledger has all records of the step."""
    partials: pa.Table | None = None
    """Partials of the suspects that are believed."""
    quarantined: pa.Table | None = None
    """The suspects that are refused."""
    held: pa.Table | None = None
    """The suspects that stay, or become, held."""
    duplicates: pa.Table | None = None
    """The suspects that are duplicates."""
    ids: pa.Table | None = None
    """The ids of the suspects that are believed, where duplicates are found."""


def decide(
    program: Program,
    punctuator: Punctuator,
    before: Progress,
    seen: PaneReport[R],
    suspects: pa.Table | None,
    held: pa.Table | None,
    judged: Judgement,
    now_us: int,
    ids: KnownIds | None = None,
    oldest_us: int | None = None,
) -> Decision[R]:
    """Judge the suspects knowing all tasks, then advance the watermark. Pure, and blind to task borders.

    ``judged`` is about the late records of the step before this one, ``now_us`` when the source cut the batch. ``ids``
    were accepted before, or by this pane stage; ``oldest_us`` is the oldest time that can be true, where the pane stage
    has refused what is older.
    """
    guard, records = punctuator.guard, int(seen.overdue.records)
    table, doubted, past = without_past(*in_doubt(program.definition, suspects, held), oldest_us)
    verdict = judge(guard, _known(punctuator, before, seen, now_us), doubted, now_us)
    fresh = ~doubted.held
    # Neither what is not believed teaches anything, nor what was held: it has waited for others.
    learned = records - int((fresh & ~verdict.accepted).sum())
    overdue = replace(seen.overdue, records=float(learned))
    observation = Observation(learned, seen.missed, max_delay_us=seen.max_delay_us, overdue=overdue, judged=judged)
    resolved = _resolve(program, table, doubted, verdict, ids, past)
    report = replace(PaneReport[R].merge([seen, resolved.report], guard), suspected=0)
    shown = Seen(verdict.t_max_us, observation, verdict.recent_us, partitions=report.partitions, now_us=now_us)
    return resolved.decision(punctuator.advance(before, shown), report)


def oldest_of_first_us(
    program: Program,
    punctuator: Punctuator,
    before: Progress,
    seen: PaneReport[R],
    suspects: pa.Table | None,
    held: pa.Table | None,
    now_us: int,
) -> int | None:
    """The oldest time that can be true before there is a watermark, by all records that have come; ``None`` for any.

    Also ``None`` if no record is older.
    """
    if before.t_max_us is not None:
        return None
    guard = punctuator.guard
    _, doubted = in_doubt(program.definition, suspects, held)
    held_times = FirstTimes.of(doubted.times_us[doubted.held], guard.limit_us(before.t_max_us, now_us))
    times = FirstTimes.merge([seen.first_times, held_times])
    t_max_us = judge(guard, _known(punctuator, before, seen, now_us), doubted, now_us).t_max_us
    reached_us = None if t_max_us is None else t_max_us - program.definition.allowed_lateness_us
    oldest_us = punctuator.past.oldest_of_first_us(times, reached_us)
    return oldest_us if oldest_us is not None and times.reach_before(oldest_us) else None


def decide_ending(
    program: Program,
    punctuator: Punctuator,
    before: Progress,
    held: pa.Table | None,
    ending: Ending,
    now_us: int,
    ids: KnownIds | None = None,
) -> Decision[Any]:
    """A step without records: what to make of those that are held, and what to close by the clock."""
    table, doubted = in_doubt(program.definition, None, held)
    nothing: PaneReport[pa.Table] = PaneReport()
    verdict = judge(punctuator.guard, _known(punctuator, before, nothing, now_us), doubted, now_us, ending)
    resolved = _resolve(program, table, doubted, verdict, ids)
    if verdict.accepted.any():
        partitions = resolved.report.partitions
        shown = Seen(verdict.t_max_us, Observation(0), verdict.recent_us, partitions=partitions, now_us=now_us)
        before = before.move(punctuator.sources, shown)
    held_us = min(doubted.times_us[verdict.still_held].tolist(), default=None)
    return resolved.decision(
        punctuator.end(program.definition.window, before, ending, now_us, held_us), resolved.report
    )


def _known(punctuator: Punctuator, before: Progress, seen: PaneReport[R], now_us: int) -> Known:
    """What is known beside the suspects."""
    return Known(
        t_max_us=before.t_max_us,
        recent_us=before.recent_us,
        trusted_us=seen.trusted_us,
        newest_us=seen.newest_us,
        records=int(seen.overdue.records),
        live_from_us=punctuator.guard.live_from_us(before.t_max_us, before.advanced_us, now_us),
    )


@dataclass(frozen=True)
class _Resolution:
    """The suspects, judged: what is lifted, refused and held of them, and how the report changes."""

    report: PaneReport[Any]
    """Counts alone; the rows are below."""
    partials: pa.Table | None
    quarantined: pa.Table | None
    held: pa.Table | None
    duplicates: pa.Table | None
    ids: pa.Table | None

    def decision(self, progress: Progress, report: PaneReport[R]) -> Decision[R]:
        """With all that was decided."""
        return Decision(
            progress=progress,
            report=report,
            partials=self.partials,
            quarantined=self.quarantined,
            held=self.held,
            duplicates=self.duplicates,
            ids=self.ids,
        )


def _resolve(
    program: Program,
    table: pa.Table | None,
    doubted: Suspects,
    verdict: Verdict,
    known: KnownIds | None,
    past: pa.Table | None = None,
) -> _Resolution:
    """Lift what is believed, refuse what is contradicted, hold the rest; duplicates leave before that.

    Those of the past were held, too, and are refused.
    """
    definition, processing = program.definition, program.processing
    refused_past = 0 if past is None else past.num_rows
    held_before, duplicates = int(doubted.held.sum()) + refused_past, None
    if definition.distinct is not None and table is not None:
        copies = copies_in_doubt(definition.distinct, table, doubted, verdict, known or KnownIds.of([]))
        duplicates = without_internal(keep_rows(table, copies)) if copies.any() else None
        table, verdict = keep_rows(table, ~copies), verdict.only(~copies)
    accepted = accepted_of(table, verdict)
    report: PaneReport[Any] = PaneReport() if accepted is None else accepted_in(definition, accepted)
    ledger = Ledger(
        accepted=report.ledger.accepted,
        quarantined_by_reason={**dict(reasons_of(verdict)), **({PAST_REASON: refused_past} if refused_past else {})},
        held=int(verdict.still_held.sum()) - held_before,
        duplicate=0 if duplicates is None else duplicates.num_rows,
    )
    return _Resolution(
        report=replace(report, ledger=ledger),
        partials=_lifted(processing, definition, accepted),
        quarantined=together(present([refused_of(table, verdict), past])),
        held=still_held(table, verdict),
        duplicates=duplicates,
        ids=_ids_of(definition, accepted),
    )


def _lifted(processing: Processing, definition: Definition, accepted: pa.Table | None) -> pa.Table | None:
    return None if accepted is None else processing.merge([processing.lift(definition.after_admission(accepted))])


def _ids_of(definition: Definition, accepted: pa.Table | None) -> pa.Table | None:
    """The ids to remember, where duplicates are found."""
    if definition.distinct is None or accepted is None:
        return None
    return known_ids(definition.distinct, accepted, times_us(accepted.column(definition.time)))
