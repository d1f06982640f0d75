"""Engine: the whole data path in one process - the pure ``step`` that the Spark engine distributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.past import Past, forget_panes, forget_revisions, in_range
from skypane.flow.latency import Latencies, PaneClock
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.decision import Decision, decide
from skypane.flow.panes.stats import PaneStats
from skypane.flow.panes.worker import PaneOutput, PaneWorker
from skypane.flow.windows.task import WindowInputs, WindowOutputs, run_window_task
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.policy import Judgement, Lateness
from skypane.lateness.progress import Progress
from skypane.lateness.punctuator import Punctuator
from skypane.local.preparation import prepare
from skypane.model.ledger import Ledger
from skypane.scheduling.ranges import GroupRange, balanced_ranges
from skypane.tables.rows import rows_by_group, sorted_by_group


@dataclass(frozen=True)
class EngineState:
    """What one step hands to the next."""

    progress: Progress
    ledger: Ledger = field(default_factory=Ledger)
    panes: pa.Table | None = None
    buffer: pa.Table | None = None
    """With ``processing="in_order"``: records whose pane is not sealed yet."""
    past: Past = field(default_factory=Past)
    judged: Judgement = field(default_factory=Judgement)
    """About the late records of the last step."""
    clock: PaneClock = field(default_factory=PaneClock)

    @property
    def held_rows(self) -> int:
        """How many rows are kept for windows to come, buffered or in panes."""
        return sum(table.num_rows for table in (self.panes, self.buffer) if table is not None)


@dataclass(frozen=True)
class StepOutput:
    """What one step emits."""

    answers: list[pa.Table]
    late: list[pa.Table]
    quarantined: list[pa.Table]
    ledger: Ledger
    latencies: Latencies


@dataclass(frozen=True)
class Engine:
    """A continuous query with its lateness policy, on as many virtual tasks as wanted."""

    definition: Definition
    policy: Lateness
    guard: FutureGuard
    sources: SourcePartitions | None = None

    def start(self) -> EngineState:
        """Before the first record."""
        return EngineState(Progress.start(self.policy))

    def step(
        self, state: EngineState, tasks: Sequence[pa.Table], degree: int = 1, now_us: int = 0
    ) -> tuple[EngineState, StepOutput]:
        """One batch, cut at ``now_us``: a table for each pane-stage task; ``degree`` window-stage tasks."""
        frontier = Frontier(state.progress, self.guard)
        outputs = [self._pane_task(frontier, rows) for rows in tasks]
        stats = PaneStats.merge([output.stats for output in outputs], self.guard)
        suspects = _together(output.suspects for output in outputs)
        punctuator = Punctuator(self.policy, self.guard, self.sources)
        decision = decide(self.definition, punctuator, state.progress, stats, suspects, state.judged, now_us)
        partials = [*(output.partials for output in outputs), decision.partials]
        late = _together(output.late for output in outputs)
        windows = self._windows(state, _present(partials), late, decision.progress, degree)
        quarantined = [*(table for output in outputs for table in output.quarantined), decision.quarantined]
        return self._after(state, decision, windows, _present(quarantined), now_us)

    def flush(self, state: EngineState, degree: int = 1, now_us: int = 0) -> tuple[EngineState, StepOutput]:
        """Close and emit every window that is still open."""
        decision = Decision(state.progress.finish(self.definition.window), Ledger(), 0, {}, None, None)
        windows = self._windows(state, [], None, decision.progress, degree)
        return self._after(state, decision, windows, [], now_us)

    def _pane_task(self, frontier: Frontier, rows: pa.Table) -> PaneOutput:
        worker = PaneWorker(self.definition, frontier)
        worker.feed(prepare(self.definition.query, self.definition.keys, rows))
        return worker.finish()

    def _windows(
        self, state: EngineState, partials: Sequence[pa.Table], late: pa.Table | None, after: Progress, degree: int
    ) -> list[WindowOutputs]:
        """Deal key groups out to the tasks of the window stage."""
        late = None if late is None else sorted_by_group(late)
        sizes: Counter[int] = Counter()
        for table in (state.panes, state.buffer, late, *partials):
            sizes.update(rows_by_group(table))
        outputs = []
        for span in balanced_ranges(sizes, degree):
            inputs = WindowInputs(
                panes=_slice(state.panes, span),
                buffer=_slice(state.buffer, span),
                fresh=[span.slice_of(partial) for partial in partials],
                late=_slice(late, span),
                past=lambda panes, span=span: Past(  # type: ignore[misc]
                    None if state.past.panes is None else in_range(span.slice_of(state.past.panes), panes),
                    _slice(state.past.revisions, span),
                ),
            )
            outputs.append(run_window_task(self.definition, state.progress, after.punctuation_us, inputs))
        return outputs

    def _after(
        self,
        state: EngineState,
        decision: Decision,
        windows: Sequence[WindowOutputs],
        quarantined: list[pa.Table],
        now_us: int,
    ) -> tuple[EngineState, StepOutput]:
        """Gather what the tasks have left."""
        before, after = state.progress.punctuation_us, decision.progress.punctuation_us
        clock, latencies = state.clock.advance(self.definition.window, decision.records_by_pane, now_us, before, after)
        panes = _together([state.past.panes, *(output.advance.past.panes for output in windows)])
        log = _together([state.past.revisions, *(output.advance.past.revisions for output in windows)])
        new = EngineState(
            progress=decision.progress,
            ledger=state.ledger + decision.ledger,
            panes=_together(output.advance.state for output in windows),
            buffer=_together(output.buffer for output in windows),
            past=Past(
                forget_panes(self.definition, None if panes is None else sorted_by_group(panes), after),
                forget_revisions(self.definition, None if log is None else sorted_by_group(log), after),
            ),
            judged=sum((output.judged for output in windows), Judgement()),
            clock=clock,
        )
        answers = [table for output in windows for table in output.advance.answers]
        late = [table for output in windows for table in output.late]
        return new, StepOutput(answers, late, quarantined, decision.ledger, latencies)


def _present(tables: Iterable[pa.Table | None]) -> list[pa.Table]:
    return [table for table in tables if table is not None]


def _together(tables: Iterable[pa.Table | None]) -> pa.Table | None:
    found = _present(tables)
    return pa.concat_tables(found) if found else None


def _slice(table: pa.Table | None, span: GroupRange) -> pa.Table | None:
    return None if table is None else span.slice_of(table)
