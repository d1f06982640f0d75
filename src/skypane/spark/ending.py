"""Ending: whether a query over what is available now ran to the end of it, or was stopped on the way."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery


def ran_to_the_end(query: StreamingQuery) -> bool:
    """Whether Spark found nothing more to read, rather than being told to stop (``spark.streams``, its web page).

    Both look the same in what Spark says of a query that has ended: no error. Only the flag that its own
    ``processAllAvailable()`` waits for tells them apart.
    """
    return bool(query._jsq.streamingQuery().noNewData())  # noqa: SLF001 - there is no public way
