"""The window job: key groups dealt out to tasks; each reads its state and partials, writes answers and new state."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.operators.definition import Definition
from skypane.operators.pane_worker import rows_by_group
from skypane.operators.window_worker import WindowWorker
from skypane.scheduling.ranges import GroupRange
from skypane.spark.files import FileRef, map_table, read_table, write_table
from skypane.spark.manifest import StatePart
from skypane.spark.writers import RowWriter, Written

_CACHED_FILES = 4


@dataclass(frozen=True)
class WindowTaskResult:
    """What one task left behind."""

    state: StatePart | None
    answers: Written | None
    windows: int
    last_windows: Sequence[tuple[int, int]]
    work_us: int

    def to_json(self) -> str:
        """One line of text."""
        body = {
            "state": self.state.to_json() if self.state else None,
            "answers": self.answers,
            "windows": self.windows,
            "last_windows": self.last_windows,
            "work_us": self.work_us,
        }
        return json.dumps(body)

    @classmethod
    def from_json(cls, text: str) -> WindowTaskResult:
        """The inverse of :meth:`to_json`."""
        body = json.loads(text)
        return cls(
            state=StatePart.from_json(body["state"]) if body["state"] else None,
            answers=Written(*body["answers"]) if body["answers"] else None,
            windows=body["windows"],
            last_windows=[(end_us, rows) for end_us, rows in body["last_windows"]],
            work_us=body["work_us"],
        )


@dataclass(frozen=True)
class WindowJob:
    """What every task of the window stage needs to know; travels to the workers."""

    definition: Definition
    step: int
    before_us: int | None
    after_us: int | None
    ranges: Sequence[GroupRange]
    state: Sequence[StatePart]
    partials: Sequence[Written]
    state_folder: str
    answers: RowWriter
    answer_schema: pa.Schema

    def run(self, index: int) -> WindowTaskResult:
        """One task: its range of key groups, from files to files."""
        started = time.perf_counter_ns()
        span = self.ranges[index]
        folder = Path(self.state_folder)
        own = [span.slice_of(load_state(folder, part.file)) for part in self.state if part.groups.overlaps(span)]
        fresh = [span.slice_of(map_table(file.path)) for file in self.partials]
        state = pa.concat_tables(own) if own else None
        if state is not None and fresh:
            state = _conform(state, fresh[0].schema)
        advance = WindowWorker(self.definition).advance(state, fresh, self.before_us, self.after_us)
        answers = self.answers.write([_conform(table, self.answer_schema) for table in advance.answers])
        part = None
        if advance.state is not None:
            ref = write_table(folder, f"{self.step:010d}-{span.first:03d}", advance.state, durable=True)
            _cache[ref.name] = advance.state
            part = StatePart(span, ref, rows_by_group(advance.state), advance.open_panes)
        work_us = (time.perf_counter_ns() - started) // 1_000
        return WindowTaskResult(part, answers, advance.windows, advance.last_windows, work_us)


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
