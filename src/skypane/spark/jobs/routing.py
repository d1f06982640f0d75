"""Routing: which task gets which records - all where they are read, each where a plan sends it, or each by its id."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import NumericType, TimestampNTZType, TimestampType

from skypane.flow.definition import Definition
from skypane.flow.plan import Routing
from skypane.model.columns import DISTINCT, ID
from skypane.spark.schemas import quoted


def bounded(df: DataFrame, max_tasks: int | None) -> DataFrame:
    """The records where they are, in at most so many partitions; by default, in as many as Spark has slots for.

    More tasks than slots are not faster, but each has its own start and adds a shard to every pane that it touches.
    """
    spark = df.sparkSession
    if max_tasks is None:
        if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
            return df  # Spark asks for executors only while tasks wait
        max_tasks = spark.sparkContext.defaultParallelism  # of now: executors of a cluster register one by one
    return df.coalesce(max_tasks)


def by_id(df: DataFrame, definition: Definition, tasks: int | None) -> DataFrame:
    """All records of one id in one of so many partitions, in the order in which duplicates are found.

    Each partition has a range of the hashes, so that its task reads only the files of that range. Spark sorts on disk
    where memory is short. Records without an id go anywhere.
    """
    degree = tasks or df.sparkSession.sparkContext.defaultParallelism
    place = F.shiftright(F.coalesce(quoted(DISTINCT), quoted(ID)), 48) + F.lit(2**15)
    worker = F.call_function("div", place * F.lit(degree), F.lit(2**16)).cast("int")
    return df.repartitionById(degree, worker).sortWithinPartitions(*map(quoted, (DISTINCT, definition.time, ID)))


def routed(df: DataFrame, definition: Definition, plan: Routing) -> DataFrame:
    """The records in ``plan.degree`` partitions: partition ``i`` is what worker ``i`` gets."""
    return df.repartitionById(plan.degree, worker_of(df, definition, plan))


def worker_of(df: DataFrame, definition: Definition, plan: Routing) -> Column:
    """The worker of each record; any of them quarantines one without a time."""
    pane = pane_of(df, definition)
    by_hash = F.pmod(_hash(df, definition), F.lit(plan.width))
    otherwise = F.pmod(_hash(df, definition) if plan.splits_unplanned else pane, F.lit(plan.degree)).cast("int")
    if not plan.table:
        return F.coalesce(otherwise, F.lit(0))
    # As text: one literal, which Spark reads once, instead of a Java object for each of thousands of numbers.
    table = F.from_json(F.lit(json.dumps(list(plan.table))), "array<int>")
    place = F.try_subtract(pane, F.lit(plan.first_pane))  # a record may say any time at all
    planned = (place >= 0) & (place < len(plan.table) // plan.width)
    entry = F.get(table, F.try_add(F.try_multiply(place, F.lit(plan.width)), by_hash).try_cast("int"))
    return F.coalesce(F.when(planned, entry), otherwise, F.lit(0))


def pane_of(df: DataFrame, definition: Definition) -> Column:
    """The pane of each record, as the pane worker will find it; null without a time."""
    time = quoted(definition.time)
    if isinstance(df.schema[definition.time].dataType, TimestampNTZType):
        # Read as UTC, in which panes are cut, whatever the zone of the session. Spark fails on times that another zone
        # cannot express; plans do not contain them.
        known = time.between(F.expr("timestamp_ntz'0001-01-02'"), F.expr("timestamp_ntz'9999-12-30'"))
        time = F.when(known, F.from_utc_timestamp(time.cast(TimestampType()), F.current_timezone()))
    us, pane_us = F.unix_micros(time), F.lit(definition.window.pane_us)
    # Spark's division of whole numbers rounds towards zero; panes before 1970 end at smaller numbers.
    return F.call_function("div", us, pane_us) - F.when(us % pane_us < 0, 1).otherwise(0)


def _hash(df: DataFrame, definition: Definition) -> Column:
    """Of what the record says, not of where it was read: a task that Spark repeats sends its records as before.

    Time and numbers are enough to spread records, and can be hashed whatever else there is.
    """
    names = [field.name for field in df.schema.fields if isinstance(field.dataType, NumericType)]
    return F.xxhash64(*(quoted(name) for name in dict.fromkeys((definition.time, *names))))
