"""The window job: key groups, or the windows of a heavy one, dealt out to tasks, each from files to files."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import Alone, Joining
from skypane.flow.late.past import Past
from skypane.flow.processing.base import WindowInputs
from skypane.flow.processing.choice import processing_of
from skypane.flow.reports import Kept, WindowReport
from skypane.flow.step import Move
from skypane.model.codec import from_text, to_text
from skypane.model.columns import PANE
from skypane.model.panes import PaneRange
from skypane.scheduling.partitioning import WindowShare
from skypane.scheduling.ranges import GroupRange
from skypane.spark.jobs.pane_job import written
from skypane.spark.jobs.tasks import Tasks
from skypane.spark.store.files import FileRef, map_table, read_table, write_table
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.past import load_past, store_revisions, store_sealed
from skypane.spark.store.writers import RowWriter, Written
from skypane.tables.grouping import count_runs
from skypane.tables.memory import keep_memory
from skypane.tables.rows import conform, keep_rows, panes_in, present, rows_by_group, together

SparkReport = WindowReport[Written, StoredPart]
_CACHED_FILES = 4
_CACHED_BYTES = 1 << 28
"""More files are kept while they are small."""


@dataclass(frozen=True)
class WindowJob:
    """What every task of the window stage needs to know; travels to the workers."""

    definition: Definition
    step: int
    move: Move[Written]
    kept: Kept[StoredPart]
    shares: Sequence[WindowShare]
    state_folder: str
    answers: RowWriter
    answer_schema: pa.Schema
    late: RowWriter | None
    """Where late records go once they are judged."""
    failed: RowWriter | None
    """Where windows go on which a function of the user's fails."""
    settled: frozenset[str]
    """The files of the state that stay as they are, see :mod:`skypane.spark.store.settled`."""
    threads: int
    """How many threads a task may use: where there are fewer tasks than slots, those of the others."""

    def run(self, index: int, joining: Joining | None = None) -> SparkReport:
        """One task: reads its state and partials, writes answers and new state."""
        keep_memory()
        started = time.perf_counter_ns()
        share, folder = self.shares[index], Path(self.state_folder)
        groups, inputs = share.groups, self._inputs(share, folder)
        processing = processing_of(self.definition)
        report = processing.run(self.move.before, self.move.after_us, inputs, joining or Alone(self.threads))
        stem = f"{self.step:010d}-{groups.first:03d}-{share.task}"
        kept = Kept(
            panes=store_panes(folder, stem, groups, self.definition, self.move.after_us, report),
            buffer=store_state(folder, f"{stem}-buffer", groups, report.kept.buffer),
            sealed=store_sealed(folder, stem, groups, report.kept.sealed),
            revisions=store_revisions(folder, stem, groups, report.kept.revisions),
            counters=store_state(folder, f"{stem}-counters", groups, report.kept.counters),
        )
        files = {
            "kept": kept,
            "answers": written(self.answers, [conform(table, self.answer_schema) for table in report.answers]),
            "late": written(self.late, report.late),
            "failed": written(self.failed, report.failed),
            "rows_read": inputs.rows_read,
            "rows_owned": inputs.rows_owned,
            "joiners": share.joiners,
            "busy_us": ((time.perf_counter_ns() - started) // 1_000,),
        }
        return WindowReport(**{**vars(report), **files})

    def _inputs(self, share: WindowShare, folder: Path) -> WindowInputs:
        """The task's share of everything.

        Files are sorted by key group, and panes are not sorted in them: a task that answers some of the windows maps
        the slice of its key groups, looks at the column of panes, and takes the rows that it needs.
        """
        groups = share.groups
        fresh = [share.read(map_table(file.path)) for file in self.move.partials]
        late = [groups.slice_of(map_table(file.path)) for file in self.move.late if share.first_of_groups]
        like = [*fresh, *late] if self.definition.query.selective else fresh
        schema = like[0].schema if like else None
        buffers = processing_of(self.definition).buffers

        def stored(parts: Iterable[StoredPart], *, as_now: bool) -> pa.Table | None:
            own = [part for part in parts if part.groups.overlaps(groups)]
            table = together(share.read(load_state(folder, part.file)) for part in own)
            return table if table is None or schema is None or not as_now else conform(table, schema)

        def stays(part: StoredPart) -> bool:
            return part.file.name in self.settled

        def past(panes: PaneRange) -> Past:
            found = load_past(folder, self.kept, groups, panes)
            if found.panes is None or schema is None or buffers:
                return found
            return replace(found, panes=conform(found.panes, schema))

        panes = stored(filterfalse(stays, self.kept.panes), as_now=not buffers)
        settled = stored(filter(stays, self.kept.panes), as_now=not buffers) if self._closes else None
        buffer, counters = stored(self.kept.buffer, as_now=True), stored(self.kept.counters, as_now=False)
        ending = self.move.ending
        return WindowInputs(
            panes, buffer, fresh, together(late), past, share, counters, ending, settled=present([settled])
        )

    @property
    def _closes(self) -> bool:
        return self.definition.window.closes_windows(self.move.before.punctuation_us, self.move.after_us)


def store_state(
    folder: Path, stem: str, groups: GroupRange, tables: Sequence[pa.Table], panes: int = 0
) -> tuple[StoredPart, ...]:
    """Write tables of the new state."""
    parts = []
    for table in tables:
        ref = write_table(folder, stem, table)
        _remember(ref, table)
        parts.append(StoredPart(groups, ref, rows_by_group(table), panes, numbers=panes_in(table)))
    return tuple(parts)


def store_panes(
    folder: Path,
    stem: str,
    groups: GroupRange,
    definition: Definition,
    after_us: int | None,
    report: WindowReport[pa.Table, pa.Table],
) -> tuple[StoredPart, ...]:
    """Write the rows of panes; those that are sealed by themselves, where they will not change any more."""
    if after_us is None or not processing_of(definition).settles:
        return store_state(folder, stem, groups, report.kept.panes, report.open_panes)
    parts: list[StoredPart] = []
    for table in report.kept.panes:
        sealed = table.column(PANE).to_numpy() < definition.window.sealed_before(after_us)
        for some in (keep_rows(table, sealed), keep_rows(table, ~sealed)):
            if some.num_rows:
                parts += store_state(folder, stem, groups, [some], count_runs(some, [*definition.keys, PANE]))
    return tuple(parts)


def run_window_job(
    job: WindowJob, run_tasks: Tasks, *, in_driver: bool, joining: Callable[[WindowShare], Joining]
) -> SparkReport:
    """Run the window stage: in this process if there is little to do, or much that is to be joined, else on Spark.

    Only here can others be asked to join rows.
    """
    shares = enumerate(job.shares)
    here = {index: joining(share) for index, share in shares if in_driver or share.joiners > 1}
    there = [index for index in range(len(job.shares)) if index not in here]

    def run(number: int) -> str:
        return to_text(replace(job.run(there[number]), in_driver=False))

    said = run_tasks(len(there), run) if there else []
    reports = {index: from_text(text, SparkReport) for index, text in zip(there, said, strict=True)}
    reports |= {index: job.run(index, how) for index, how in here.items()}
    return WindowReport.merge([reports[index] for index in sorted(reports)])


_cache: OrderedDict[str, tuple[pa.Table, int]] = OrderedDict()
"""State tables this process used last, and their bytes: files never change, so that an entry is never stale."""


def load_state(folder: Path, ref: FileRef) -> pa.Table:
    """A state file, from this process's memory if it is there."""
    table, _ = _cache.pop(ref.name, (None, 0))
    if table is None:
        table = read_table(folder, ref)
    _remember(ref, table)
    return table


def _remember(ref: FileRef, table: pa.Table) -> None:
    _cache[ref.name] = table, ref.bytes
    while len(_cache) > _CACHED_FILES and sum(size for _, size in _cache.values()) > _CACHED_BYTES:
        _cache.popitem(last=False)
