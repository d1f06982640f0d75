"""The join job: tasks find the bounds of the rows of one key that they own, from a file of all its rows to files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.flow.joining import Bounds, JoinRows, SharedJoin
from skypane.kernels.sliding import Shape
from skypane.spark.jobs.tasks import Tasks
from skypane.spark.store.files import map_table
from skypane.spark.store.writers import ArrowWriter, Written

_BOUNDS = ("critical", "died")


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
        rows = JoinRows(values, panes, fresh, np.array(self.offsets, dtype=np.int64), critical, died)
        found = SharedJoin(rows, self.shape, owners).bounds_of(task)
        written = ArrowWriter(self.scratch).write([pa.table(found._asdict())])
        return "" if written is None else written.path


def run_join_job(join: SharedJoin, tasks: int, scratch: str, run_tasks: Tasks) -> Iterable[Bounds]:
    """Leave the rows in a file, run the tasks, read what they found."""
    job = JoinJob(_sent(join, scratch).path, join.rows.offsets.tolist(), join.shape, scratch)
    for path in run_tasks(tasks, job.run):
        found = map_table(path) if path else None
        yield Bounds(*(_copied(found.column(name)) if found is not None else _NOTHING for name in _BOUNDS))


_NOTHING = np.zeros(0, dtype=np.int64)


def _sent(join: SharedJoin, scratch: str) -> Written:
    rows = join.rows
    values = pa.FixedSizeListArray.from_arrays(pa.array(rows.values.ravel()), rows.values.shape[1])
    columns = {"panes": rows.panes, "fresh": rows.fresh, "critical": rows.critical, "died": rows.died}
    written = ArrowWriter(scratch).write([pa.table({"values": values, **columns, "owners": join.owners})])
    assert written is not None
    return written


def _copied(column: pa.Array | pa.ChunkedArray) -> Any:
    """As an array of this process: kernels are compiled for arrays that can be written to."""
    return np.array(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
