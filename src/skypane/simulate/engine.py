"""Engine: the whole data path in one process - the pure ``step`` that the Spark engine distributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Lateness
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.operators.admission import Frontier
from skypane.operators.decision import decide
from skypane.operators.definition import Definition
from skypane.operators.pane_stats import PaneStats
from skypane.operators.pane_worker import PaneWorker, rows_by_group
from skypane.operators.window_worker import WindowWorker
from skypane.scheduling.ranges import balanced_ranges
from skypane.simulate.preparation import prepare


@dataclass(frozen=True)
class EngineState:
    """What one step hands to the next."""

    progress: Progress
    ledger: Ledger = field(default_factory=Ledger)
    panes: pa.Table | None = None


@dataclass(frozen=True)
class StepOutput:
    """What one step emits."""

    answers: list[pa.Table]
    late: list[pa.Table]
    quarantined: list[pa.Table]
    ledger: Ledger


@dataclass(frozen=True)
class Engine:
    """A continuous query with its lateness policy, on as many virtual tasks as wanted."""

    definition: Definition
    policy: Lateness
    guard: FutureGuard

    def start(self) -> EngineState:
        """Before the first record."""
        return EngineState(Progress.start(self.policy))

    def step(self, state: EngineState, tasks: Sequence[pa.Table], degree: int = 1) -> tuple[EngineState, StepOutput]:
        """One batch: a table for each pane-stage task; ``degree`` window-stage tasks."""
        frontier = Frontier(state.progress, self.guard)
        outputs = []
        for rows in tasks:
            worker = PaneWorker(self.definition, frontier)
            worker.feed(prepare(self.definition.query, self.definition.keys, rows))
            outputs.append(worker.finish())
        stats = PaneStats.merge([output.stats for output in outputs], self.guard)
        suspects = [output.suspects for output in outputs if output.suspects is not None]
        decision = decide(
            self.definition, self.policy, frontier, stats, pa.concat_tables(suspects) if suspects else None
        )
        partials = [output.partials for output in outputs] + [decision.partials]
        after, answers = self._windows(state, [p for p in partials if p is not None], decision.progress, degree)
        late = [table for output in outputs for table in output.late]
        quarantined = [table for output in outputs for table in output.quarantined]
        if decision.quarantined is not None:
            quarantined.append(decision.quarantined)
        after = replace(after, ledger=state.ledger + decision.ledger)
        return after, StepOutput(answers, late, quarantined, decision.ledger)

    def flush(self, state: EngineState, degree: int = 1) -> tuple[EngineState, StepOutput]:
        """Close and emit every window that is still open."""
        after, answers = self._windows(state, [], state.progress.finish(self.definition.window), degree)
        return after, StepOutput(answers, [], [], Ledger())

    def _windows(
        self, state: EngineState, partials: list[pa.Table], progress: Progress, degree: int
    ) -> tuple[EngineState, list[pa.Table]]:
        tables = [table for table in (state.panes, *partials) if table is not None]
        if not tables:
            return replace(state, progress=progress), []
        worker = WindowWorker(self.definition)
        kept: list[pa.Table] = []
        answers: list[pa.Table] = []
        sizes: Counter[int] = Counter()
        for table in tables:
            sizes.update(rows_by_group(table))
        for span in balanced_ranges(sizes, degree):
            own = [span.slice_of(partial) for partial in partials]
            panes = None if state.panes is None else span.slice_of(state.panes)
            advance = worker.advance(panes, own, state.progress.punctuation_us, progress.punctuation_us)
            answers += advance.answers
            if advance.state is not None:
                kept.append(advance.state)
        return replace(state, progress=progress, panes=pa.concat_tables(kept) if kept else None), answers
