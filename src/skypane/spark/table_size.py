"""Table size: whether a table is so small that one task is faster than several, judged by its plan alone."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

_SMALL_BYTES = 4 << 20
_SMALL_BATCHES = 16
"""Spark serializes the rows of a Python list in batches of at most 1,024."""

# What one task computes from few rows in next to no time. A Python function is not among them, nor what makes many rows
# of one: there several tasks are worth their cost.
_CHEAP = frozenset({"Aggregate", "Filter", "GlobalLimit", "LocalLimit", "LocalRelation", "Project", "Range", "Union"})


def is_small(df: DataFrame) -> bool:
    """Whether the plan promises few rows and little work; nothing is run."""
    try:
        plan = df._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - Spark says it nowhere else
        return _is_small(plan)
    except Py4JError:  # a plan of another version of Spark: then two jobs, as for a large table
        return False


def _is_small(plan: Any) -> bool:
    kind = plan.getClass().getSimpleName()
    if kind == "LogicalRDD":
        return _is_short_list(plan.rdd())
    if kind == "InMemoryRelation":
        known = bool(plan.cacheBuilder().isCachedColumnBuffersLoaded())
    else:
        known = kind in _CHEAP or kind == "LogicalRelation"
    if not known:
        return False
    children = plan.children()
    if not children.size():
        return int(plan.stats().sizeInBytes()) <= _SMALL_BYTES
    return all(_is_small(children.apply(index)) for index in range(children.size()))


def _is_short_list(rdd: Any) -> bool:
    """Whether the rows are those of a Python list, and few: of all RDDs only these have a known length."""
    while rdd.dependencies().size():
        if rdd.dependencies().size() > 1:
            return False
        rdd = rdd.dependencies().apply(0).rdd()
    if rdd.getClass().getSimpleName() != "ParallelCollectionRDD":
        return False
    batches = 0
    for partition in rdd.partitions():
        batches += partition.values().size()
    return batches <= _SMALL_BATCHES
