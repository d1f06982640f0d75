"""Tasks: call a function once for each of so many numbers, each in a Spark task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

Tasks: TypeAlias = Callable[[int, Callable[[int], str]], list[str]]
"""Calls a function with each of so many numbers; what it returned, by number."""


def run_tasks(spark: SparkSession, tasks: int, run: Callable[[int], str]) -> list[str]:
    """What each task returned, by number."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            said = [run(number) for number in numbers]
            yield pa.RecordBatch.from_pydict({"task": pa.array(numbers, pa.int32()), "said": said})

    rows: list[Any] = spark.range(0, tasks, 1, tasks).mapInArrow(task, "task int, said string").collect()
    return [row.said for row in sorted(rows, key=lambda row: int(row.task))]
