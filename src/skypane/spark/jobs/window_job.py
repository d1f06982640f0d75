"""The window job: key groups dealt out to tasks; each reads its state and partials, writes answers and new state."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.flow.definition import Definition
from skypane.flow.late.past import PaneRange, Past
from skypane.flow.windows.task import WindowInputs, run_window_task
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.scheduling.ranges import GroupRange
from skypane.spark.store.files import FileRef, map_table, read_table, write_table
from skypane.spark.store.manifest import PartKind, PastPart, StatePart
from skypane.spark.store.past import load_past, store_past
from skypane.spark.store.writers import RowWriter, Written
from skypane.tables.rows import rows_by_group

_CACHED_FILES = 4


@dataclass(frozen=True)
class WindowTaskResult:
    """What one task left behind."""

    state: Sequence[StatePart]
    past: Sequence[PastPart]
    answers: Written | None
    late: Written | None
    judged: Judgement
    windows: int
    revised: int
    last_windows: Sequence[tuple[int, int]]
    work_us: int

    def to_json(self) -> str:
        """One line of text."""
        body = {
            "state": [part.to_json() for part in self.state],
            "past": [part.to_json() for part in self.past],
            "answers": self.answers,
            "late": self.late,
            "judged": [self.judged.late, self.judged.harmful],
            "windows": self.windows,
            "revised": self.revised,
            "last_windows": self.last_windows,
            "work_us": self.work_us,
        }
        return json.dumps(body)

    @classmethod
    def from_json(cls, text: str) -> WindowTaskResult:
        """The inverse of :meth:`to_json`."""
        body = json.loads(text)
        return cls(
            state=[StatePart.from_json(part) for part in body["state"]],
            past=[PastPart.from_json(part) for part in body["past"]],
            answers=Written(*body["answers"]) if body["answers"] else None,
            late=Written(*body["late"]) if body["late"] else None,
            judged=Judgement(*body["judged"]),
            windows=body["windows"],
            revised=body["revised"],
            last_windows=[(end_us, rows) for end_us, rows in body["last_windows"]],
            work_us=body["work_us"],
        )


@dataclass(frozen=True)
class WindowJob:
    """What every task of the window stage needs to know; travels to the workers."""

    definition: Definition
    step: int
    before: Progress
    after_us: int | None
    ranges: Sequence[GroupRange]
    state: Sequence[StatePart]
    past: Sequence[PastPart]
    partials: Sequence[Written]
    late_records: Sequence[Written]
    state_folder: str
    answers: RowWriter
    answer_schema: pa.Schema
    late: RowWriter | None
    """Where late records go once they are judged."""
    threads: int
    """How many threads a task may use: where there are fewer tasks than slots, those of the others."""

    def run(self, index: int) -> WindowTaskResult:
        """One task: its range of key groups, from files to files."""
        started = time.perf_counter_ns()
        span, folder = self.ranges[index], Path(self.state_folder)
        outputs = run_window_task(self.definition, self.before, self.after_us, self._inputs(span, folder), self.threads)
        advance = outputs.advance
        stem = f"{self.step:010d}-{span.first:03d}"
        return WindowTaskResult(
            state=[
                *_store(folder, stem, span, "panes", advance.state, advance.open_panes),
                *_store(folder, f"{stem}-buffer", span, "buffer", outputs.buffer, 0),
            ],
            past=store_past(folder, stem, span, advance.past),
            answers=self.answers.write([_conform(table, self.answer_schema) for table in advance.answers]),
            late=None if self.late is None else self.late.write(outputs.late),
            judged=outputs.judged,
            windows=advance.windows,
            revised=advance.revised,
            last_windows=advance.last_windows,
            work_us=(time.perf_counter_ns() - started) // 1_000,
        )

    def _inputs(self, span: GroupRange, folder: Path) -> WindowInputs:
        """The task's share of everything."""
        fresh = [span.slice_of(map_table(file.path)) for file in self.partials]
        late = [span.slice_of(map_table(file.path)) for file in self.late_records]
        like = [*fresh, *late] if self.definition.query.selective else fresh
        schema = like[0].schema if like else None

        def stored(kind: str) -> pa.Table | None:
            parts = [part for part in self.state if part.kind == kind and part.groups.overlaps(span)]
            tables = [span.slice_of(load_state(folder, part.file)) for part in parts]
            same_rows = kind == "buffer" or self.definition.processing != "in_order"
            if not tables or schema is None or not same_rows:
                return pa.concat_tables(tables) if tables else None
            return _conform(pa.concat_tables(tables), schema)

        def past(panes: PaneRange) -> Past:
            found = load_past(folder, self.past, span, panes)
            if found.panes is None or schema is None or self.definition.processing == "in_order":
                return found
            return replace(found, panes=_conform(found.panes, schema))

        return WindowInputs(stored("panes"), stored("buffer"), fresh, pa.concat_tables(late) if late else None, past)


def _store(
    folder: Path, stem: str, span: GroupRange, kind: PartKind, table: pa.Table | None, panes: int
) -> list[StatePart]:
    """Write a table of the new state, if there is one."""
    if table is None:
        return []
    ref = write_table(folder, stem, table, durable=True)
    _cache[ref.name] = table
    return [StatePart(span, ref, rows_by_group(table), panes, kind)]


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns as this run has them, in front of what the slide has added to its state.

    The state may be of a session that ordered its columns, or showed its times, otherwise.
    """
    added = [field for field in table.schema if field.name not in schema.names]
    wanted = pa.schema([*schema, *added])
    return table if table.schema.equals(wanted) else table.select(wanted.names).cast(wanted)


def run_window_job(job: WindowJob, spark: SparkSession, *, inline: bool) -> list[WindowTaskResult]:
    """Run the window stage: in this process if there is little to do, else on Spark."""
    tasks = len(job.ranges)
    if inline:
        return [job.run(index) for index in range(tasks)]

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            indices = batch.column(0).to_pylist()
            summaries = [job.run(index).to_json() for index in indices]
            yield pa.RecordBatch.from_pydict({"task": pa.array(indices, pa.int32()), "summary": summaries})

    rows: list[Any] = spark.range(0, tasks, 1, tasks).mapInArrow(task, "task int, summary string").collect()
    return [WindowTaskResult.from_json(row.summary) for row in sorted(rows, key=lambda row: int(row.task))]


_cache: OrderedDict[str, pa.Table] = OrderedDict()
"""State tables this process used last: names are unique and files never change, so an entry is never stale."""


def load_state(folder: Path, ref: FileRef) -> pa.Table:
    """A state file, from this process's memory if it is there."""
    table = _cache.pop(ref.name, None)
    if table is None:
        table = read_table(folder, ref)
    _cache[ref.name] = table
    while len(_cache) > _CACHED_FILES:
        _cache.popitem(last=False)
    return table
