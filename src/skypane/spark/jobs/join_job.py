"""The join job: tasks find the bounds of the rows of one key that they own, from a file of all its rows to files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.flow.joining import Bounds, DistributedJoin, Joining, JoinRows, JoinSplit, JoinWork, LocalJoin
from skypane.flow.shares import WindowShare
from skypane.kernels.sliding import Shape
from skypane.spark.jobs.tasks import Tasks
from skypane.spark.store.files import map_table
from skypane.spark.store.writers import ArrowWriter, Written


@dataclass(frozen=True)
class JoinJob:
    """What every task needs to know; travels to the workers."""

    rows: str
    """The file of all rows, in the step's scratch folder."""
    offsets: Sequence[int]
    shape: Shape
    scratch: str

    def run(self, task: int) -> str:
        """One task: its file of bounds; no name if it owns nothing."""
        table = map_table(self.rows)
        panes, fresh, critical, died, owners = (_copied(table.column(name)) for name in table.column_names[1:])
        values = _copied(table.column(0).combine_chunks().flatten()).reshape(len(panes), -1)
        offsets = np.array(self.offsets, dtype=np.int64)
        rows = JoinRows(values=values, panes=panes, fresh=fresh, offsets=offsets, critical=critical, died=died)
        found = JoinWork(rows, self.shape, owners).bounds_of(task)
        written = ArrowWriter(self.scratch).write([pa.table(found._asdict())])
        return "" if written is None else written.path


@dataclass(frozen=True)
class JoinChoice:
    """How the driver joins the rows of a share that it answers: by itself, or with tasks that own some rows each."""

    sharing: JoinSplit
    threads: int
    scratch: str
    run_tasks: Tasks

    def __call__(self, share: WindowShare) -> Joining:
        """By the number of tasks that the share is worth."""
        if share.joiners < 2:
            return LocalJoin(self.threads)
        run = partial(run_join_job, scratch=self.scratch, run_tasks=self.run_tasks)
        return DistributedJoin(share.joiners, self.sharing, run, threads=self.threads)


def run_join_job(join: JoinWork, tasks: int, scratch: str, run_tasks: Tasks) -> Iterable[Bounds]:
    """Leave the rows in a file, run the tasks, read what they found."""
    rows, offsets = _sent(join, scratch).path, join.rows.offsets.tolist()
    job = JoinJob(rows=rows, offsets=offsets, shape=join.shape, scratch=scratch)
    for path in run_tasks(tasks, job.run):
        found = map_table(path) if path else None
        yield _NO_BOUNDS if found is None else Bounds._make(_copied(found.column(name)) for name in Bounds._fields)


_NO_BOUNDS = Bounds(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _sent(join: JoinWork, scratch: str) -> Written:
    rows = join.rows
    values = pa.FixedSizeListArray.from_arrays(pa.array(rows.values.ravel()), rows.values.shape[1])
    columns = {"panes": rows.panes, "fresh": rows.fresh, "critical": rows.critical, "died": rows.died}
    written = ArrowWriter(scratch).write([pa.table({"values": values, **columns, "owners": join.owners})])
    assert written is not None
    return written


def _copied(column: pa.Array | pa.ChunkedArray) -> Any:
    """As an array of this process: kernels are compiled for arrays that can be written to."""
    return np.array(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
