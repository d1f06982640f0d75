"""Ending: whether a query over what is available now ran to the end of it, or was stopped on the way."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

from skypane.spark.store.checkpoint import Checkpoint


def ran_to_the_end(query: StreamingQuery, checkpoint: Checkpoint) -> bool:
    """Placeholder."""
    return not checkpoint.pending_batch()
