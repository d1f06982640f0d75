"""Revisions in places that only grow: which rows are the last word on each window."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from skypane.model.columns import PREFIX, REVISION, WINDOW
from skypane.model.errors import SchemaError
from skypane.spark.schemas import quoted

_LAST = f"{PREFIX}last"


def latest_revisions(df: DataFrame, *, key: str | Sequence[str] = ()) -> DataFrame:
    """The newest answer of every key and window, from results with ``allowed_lateness`` that were only appended.

    ``sp.ParquetSink`` and ``sp.MemorySink`` replace revised answers themselves; this is for functions, logs and topics.
    """
    keys = (key,) if isinstance(key, str) else tuple(key)
    for name in (*keys, WINDOW, REVISION):
        if name not in df.columns:
            raise SchemaError(f"{name!r} is not a column. The columns are: {', '.join(df.columns)}.")
    answers = Window.partitionBy(*(quoted(name) for name in (*keys, WINDOW)))
    marked = df.withColumn(_LAST, F.max(REVISION).over(answers))
    return marked.where(F.col(_LAST) == F.col(REVISION)).drop(_LAST)
