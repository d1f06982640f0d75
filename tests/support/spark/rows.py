"""Runs of a query to its end, and rows in a form that can be compared."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.spark.streams import WAIT_S


def run(query: ContinuousQuery, **options: Any) -> sp.RunningQuery:
    """Process what the source has; fail if the query fails."""
    running = query.start(available_now=True, **options)
    assert running.await_termination(WAIT_S)
    return running


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def rows_of(df: DataFrame) -> list[str]:
    return texts(df.toArrow().to_pylist())
