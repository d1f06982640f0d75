"""The window job: distributes key groups, or the windows of a heavy one, over tasks, each from files to files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path

import pyarrow as pa

from skypane.flow.joining import Joining, LocalJoin
from skypane.flow.late.past import Past
from skypane.flow.processing.base import WindowInputs
from skypane.flow.program import Program
from skypane.flow.reports import StateRows, WindowReport
from skypane.flow.shares import GroupRange, WindowShare, check_cover
from skypane.flow.stages import Move
from skypane.model.codec import from_text, to_text
from skypane.model.columns import PANE
from skypane.model.panes import PaneRange
from skypane.spark.jobs.pane_job import written
from skypane.spark.jobs.tasks import Tasks
from skypane.spark.store.files import map_table
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.past import load_past, store_revisions, store_sealed
from skypane.spark.store.state_files import load_state, store_state
from skypane.spark.store.writers import ArrowWriter, RowWriter, Written
from skypane.tables.grouping import count_runs
from skypane.tables.memory import keep_memory
from skypane.tables.rows import conform, keep_rows, present, together

SparkReport = WindowReport[Written, StoredPart]


@dataclass(frozen=True)
class WindowJob:
    """What every task of the window stage needs to know; travels to the workers."""

    program: Program
    step: int
    move: Move[Written]
    state: StateRows[StoredPart]
    shares: Sequence[WindowShare]
    state_folder: str
    answers: RowWriter
    answer_schema: pa.Schema
    late: RowWriter | None
    """Where late records go once they are judged."""
    failed: RowWriter | None
    """Where windows go on which a function of the user's fails."""
    sealed_files: frozenset[str]
    """The files of the state that stay as they are, see :mod:`skypane.spark.store.sealed`."""
    threads: int
    """How many threads a task may use: where there are fewer tasks than slots, those of the others."""

    def run(self, index: int, joining: Joining | None = None) -> SparkReport:
        """One task: reads its state and partials, writes answers and new state."""
        keep_memory()
        started = time.perf_counter_ns()
        share, folder = self.shares[index], Path(self.state_folder)
        groups, inputs = share.groups, self._inputs(share, folder)
        report = self.program.processing.run(
            self.move.before, self.move.after_us, inputs, joining or LocalJoin(self.threads)
        )
        stem = f"{self.step:010d}-{groups.first:03d}-{share.task}"
        state = StateRows(
            panes=store_panes(folder, stem, groups, self.program, self.move.after_us, report),
            buffer=store_state(folder, f"{stem}-buffer", groups, report.state.buffer),
            sealed=store_sealed(folder, stem, groups, report.state.sealed),
            revisions=store_revisions(folder, stem, groups, report.state.revisions),
            counters=store_state(folder, f"{stem}-counters", groups, report.state.counters),
        )
        files = report.with_rows(
            state=state,
            answers=written(self.answers, [conform(table, self.answer_schema) for table in report.answers]),
            late=written(self.late, report.late),
            failed=written(self.failed, report.failed),
        )
        return replace(
            files,
            rows_read=inputs.rows_read,
            rows_owned=inputs.rows_owned,
            joiners=share.joiners,
            busy_us=((time.perf_counter_ns() - started) // 1_000,),
        )

    def _inputs(self, share: WindowShare, folder: Path) -> WindowInputs:
        """The task's share of everything.

        Files are sorted by key group, and panes are not sorted in them: a task that answers some of the windows maps
        the slice of its key groups, looks at the column of panes, and takes the rows that it needs.
        """
        groups = share.groups
        fresh = [share.read(map_table(file.path)) for file in self.move.partials]
        late = [groups.slice_of(map_table(file.path)) for file in self.move.late if share.first_of_groups]
        like = [*fresh, *late] if self.program.definition.query.selective else fresh
        schema = like[0].schema if like else None
        buffers = self.program.processing.buffers

        def stored(parts: Iterable[StoredPart], *, as_now: bool) -> pa.Table | None:
            own = [part for part in parts if part.groups.overlaps(groups)]
            table = together(share.read(load_state(folder, part.file)) for part in own)
            return table if table is None or schema is None or not as_now else conform(table, schema)

        def stays(part: StoredPart) -> bool:
            return part.file.name in self.sealed_files

        def past(panes: PaneRange) -> Past:
            found = load_past(folder, self.state, groups, panes)
            if found.panes is None or schema is None or buffers:
                return found
            return replace(found, panes=conform(found.panes, schema))

        panes = stored(filterfalse(stays, self.state.panes), as_now=not buffers)
        sealed_rows = stored(filter(stays, self.state.panes), as_now=not buffers) if self._closes else None
        buffer, counters = stored(self.state.buffer, as_now=True), stored(self.state.counters, as_now=False)
        return WindowInputs(
            panes=panes,
            buffer=buffer,
            fresh=fresh,
            late=together(late),
            past=past,
            share=share,
            counters=counters,
            ending=self.move.ending,
            sealed_rows=present([sealed_rows]),
        )

    @property
    def _closes(self) -> bool:
        return self.program.definition.window.closes_windows(self.move.before.punctuation_us, self.move.after_us)


def store_panes(
    folder: Path,
    stem: str,
    groups: GroupRange,
    program: Program,
    after_us: int | None,
    report: WindowReport[pa.Table, pa.Table],
) -> tuple[StoredPart, ...]:
    """Write the rows of panes; those that are sealed by themselves, where they will not change any more."""
    if after_us is None or not program.processing.seals_rows:
        return store_state(folder, stem, groups, report.state.panes, report.open_panes)
    definition = program.definition
    parts: list[StoredPart] = []
    for table in report.state.panes:
        sealed = table.column(PANE).to_numpy() < definition.window.sealed_before(after_us)
        for some in (keep_rows(table, sealed), keep_rows(table, ~sealed)):
            if some.num_rows:
                parts += store_state(folder, stem, groups, [some], count_runs(some, [*definition.keys, PANE]))
    return tuple(parts)


def with_trusted_written(move: Move[Written], scratch: str) -> Move[Written]:
    """The move with partials of records that were held until now in a file, like the others."""
    if move.trusted is None:
        return move
    # Nothing, if they are all in the gaps between hopping windows.
    trusted = written(ArrowWriter(scratch), [move.trusted])
    return replace(move, partials=(*move.partials, *trusted), trusted=None)


def run_window_job(
    job: WindowJob, run_tasks: Tasks, *, in_driver: bool, joining: Callable[[WindowShare], Joining], at_once: int = 1
) -> SparkReport:
    """Run the window stage: in this process if there is little to do, or much that is to be joined, else on Spark.

    Only here can others be asked to join rows. ``at_once`` is how many threads do what is done here.
    """
    check_cover(job.shares)
    shares = enumerate(job.shares)
    here = {index: joining(share) for index, share in shares if in_driver or share.joiners > 1}
    there = [index for index in range(len(job.shares)) if index not in here]

    def run(number: int) -> str:
        return to_text(replace(job.run(there[number]), in_driver=False))

    texts = run_tasks(len(there), run) if there else []
    reports = {index: from_text(text, SparkReport) for index, text in zip(there, texts, strict=True)}
    if at_once > 1 and len(here) > 1:
        with ThreadPoolExecutor(at_once) as threads:
            reports |= zip(here, threads.map(job.run, here, here.values()), strict=True)
    else:
        reports |= {index: job.run(index, how) for index, how in here.items()}
    return WindowReport.merge([reports[index] for index in sorted(reports)])
