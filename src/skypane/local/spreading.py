"""Spreading: the records of a batch over the tasks of the pane stage, as a routing says, or as they come."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.flow.definition import Definition
from skypane.flow.plan import Routing, StagePlan
from skypane.model.columns import DISTINCT, ID
from skypane.model.groups import Int64Array
from skypane.tables.rows import together
from skypane.tables.times import times_us


def spread(definition: Definition, tables: Sequence[pa.Table], plan: StagePlan) -> Sequence[pa.Table]:
    """A table for each task: those that there are, put together to at most ``pane_tasks``, or as they are routed."""
    routing, degree = plan.routing, plan.pane_tasks
    if definition.distinct is not None:
        return _by_id(definition, tables, routing.degree if routing is not None else degree or len(tables))
    if routing is None:
        return tables if degree is None or len(tables) <= degree else _bounded(tables, degree)
    rows = together(tables)
    if rows is None:
        return tables
    workers = _workers(definition, rows, routing)
    return [rows.filter(pa.array(workers == worker)) for worker in range(routing.degree)]


def _by_id(definition: Definition, tables: Sequence[pa.Table], degree: int) -> Sequence[pa.Table]:
    """All records of one id to one task, in the order in which duplicates are found."""
    rows = together(tables)
    if rows is None:
        return tables
    by_time = [(name, "ascending") for name in (DISTINCT, definition.time, ID)]
    rows = rows.sort_by(by_time)
    hashes = pc.coalesce(rows.column(DISTINCT), rows.column(ID)).to_numpy()
    return [rows.filter(pa.array(hashes % degree == task)) for task in range(degree)]


def _bounded(tables: Sequence[pa.Table], degree: int) -> list[pa.Table]:
    """Neighbours together, as Spark's ``coalesce`` does it."""
    borders = [index * len(tables) // degree for index in range(degree + 1)]
    return [pa.concat_tables(tables[low:high]) for low, high in pairwise(borders) if low < high]


def _workers(definition: Definition, rows: pa.Table, routing: Routing) -> Int64Array:
    """The worker of each row; any of them quarantines one without a time."""
    times = rows.column(definition.time)
    known = times.is_valid().to_numpy()
    panes = np.zeros(rows.num_rows, dtype=np.int64)
    panes[known] = definition.window.pane_of(times_us(times.drop_null()))
    numbers = zip(panes.tolist(), range(rows.num_rows), strict=True)
    return np.array([routing.worker(pane, number) for pane, number in numbers], dtype=np.int64)
